//! Arguments of a consumer.

use amqp::table::{Table, Value};

use super::check::{Argument, ArgumentCheck, accept, check, check_bool, check_integer, check_non_negative};
use super::queue_type::QueueType;
use crate::resource::{PreconditionFailed, Resource};

/// What a consumer asks for beyond the fields of `basic.consume`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ConsumerArguments {
    /// `x-priority`: consumers of a higher one come first. Values beyond 32 bits count as the nearest that fits.
    pub priority: i32,
    /// `x-consumer-timeout`: how long it may hold a message of a quorum queue, in milliseconds, instead of what the queue says.
    pub timeout_ms: Option<u64>,
}

impl ConsumerArguments {
    /// Checks a consumer's arguments against the type of its queue.
    pub fn parse(
        table: Table<'_>,
        queue_type: QueueType,
        queue: Resource<'_>,
    ) -> Result<ConsumerArguments, PreconditionFailed> {
        check(ARGUMENTS, queue_type, table, queue)?;
        let priority = table.get("x-priority").and_then(|value| value.as_i64()).unwrap_or_default();
        let priority = priority.clamp(i64::from(i32::MIN), i64::from(i32::MAX));
        let timeout = table.get("x-consumer-timeout").and_then(|value| value.as_i64());
        Ok(ConsumerArguments {
            priority: i32::try_from(priority).expect("clamped on the line before"),
            timeout_ms: timeout.and_then(|timeout| u64::try_from(timeout).ok()),
        })
    }
}

const C: u8 = QueueType::Classic.bit();
const Q: u8 = QueueType::Quorum.bit();
const S: u8 = QueueType::Stream.bit();

/// All that RabbitMQ knows.
const ARGUMENTS: &[Argument] = &[
    argument("x-priority", C | Q | S, check_integer),
    argument("x-cancel-on-ha-failover", C, accept),
    argument("x-credit", C | S, accept),
    argument("x-consumer-timeout", Q, check_non_negative),
    argument("x-stream-offset", S, accept),
    argument("x-stream-filter", S, accept),
    argument("x-stream-match-unfiltered", S, check_bool),
];

const fn argument(name: &'static str, types: u8, check: fn(&Value<'_>, Table<'_>) -> ArgumentCheck) -> Argument {
    Argument { name, types, is_compared: false, check }
}

#[cfg(test)]
mod tests {
    use amqp::table::TableBuf;

    use super::*;
    use crate::name::{QueueName, VhostName};

    #[track_caller]
    fn check_priority(table: TableBuf, expected: Result<i32, &str>) {
        let (vhost, queue) = (VhostName::parse(b"/").unwrap(), QueueName::parse(b"q").unwrap());
        let of = Resource::queue(&vhost, &queue);
        let parsed = ConsumerArguments::parse(table.as_table(), QueueType::Classic, of);
        assert_eq!(parsed.map(|a| a.priority).map_err(|e| e.0), expected.map_err(str::to_owned));
    }

    #[test]
    fn the_priority_is_any_integer() {
        check_priority(TableBuf::new(), Ok(0));
        check_priority(TableBuf::new().with("x-priority", Value::I8(-3)), Ok(-3));
        check_priority(TableBuf::new().with("x-priority", Value::I64(i64::MAX)), Ok(i32::MAX));
        check_priority(
            TableBuf::new().with("x-priority", Value::LongStr(b"1")),
            Err("invalid arg 'x-priority' for queue 'q' in vhost '/': \"expected integer, got longstr\""),
        );
    }

    #[test]
    fn mirroring_is_ignored() {
        check_priority(TableBuf::new().with("x-cancel-on-ha-failover", Value::Bool(true)), Ok(0));
        check_priority(TableBuf::new().with("x-cancel-on-ha-failover", Value::LongStr(b"true")), Ok(0));
    }

    #[test]
    fn a_classic_queue_takes_no_stream_offset() {
        check_priority(
            TableBuf::new().with("x-stream-offset", Value::LongStr(b"first")),
            Err("invalid arg 'x-stream-offset' for queue 'q' in vhost '/' of queue type rabbit_classic_queue"),
        );
    }

    #[test]
    fn a_consumer_of_a_quorum_queue_has_a_time_of_its_own() {
        let (vhost, queue) = (VhostName::parse(b"/").unwrap(), QueueName::parse(b"q").unwrap());
        let parse = |value: Value<'_>, queue_type| {
            let table = TableBuf::new().with("x-consumer-timeout", value);
            let parsed = ConsumerArguments::parse(table.as_table(), queue_type, Resource::queue(&vhost, &queue));
            parsed.map(|arguments| arguments.timeout_ms).map_err(|error| error.0)
        };
        assert_eq!(parse(Value::I32(9000), QueueType::Quorum), Ok(Some(9000)));
        assert_eq!(parse(Value::I32(0), QueueType::Quorum), Ok(Some(0)));
        let refused = |reason| Err(format!("invalid arg 'x-consumer-timeout' for queue 'q' in vhost '/'{reason}"));
        assert_eq!(parse(Value::I32(-1), QueueType::Quorum), refused(": {value_negative,-1}"));
        assert_eq!(parse(Value::LongStr(b"1"), QueueType::Quorum), refused(": \"expected integer, got longstr\""));
        assert_eq!(parse(Value::I32(1), QueueType::Classic), refused(" of queue type rabbit_classic_queue"));
        assert_eq!(ConsumerArguments::default().timeout_ms, None);
    }

    #[test]
    fn unknown_arguments_are_ignored() {
        check_priority(TableBuf::new().with("x-foo", Value::Void), Ok(0));
    }
}
