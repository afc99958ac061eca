//! Arguments of a consumer.

use amqp::table::{Table, Value};

use super::{Argument, Checked, QueueType, accept, check, check_bool, check_integer, check_non_negative};
use crate::resource::{PreconditionFailed, Resource};

/// What a consumer asks for beyond the fields of `basic.consume`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ConsumerArguments {
    /// `x-priority`: consumers of a higher one come first. Values beyond 32 bits count as the nearest that fits.
    pub priority: i32,
    /// `x-consumer-timeout`: how long it may hold a message, in milliseconds.
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
        let priority = i32::try_from(priority).expect("clamped on the line before");
        let timeout_ms = table.get("x-consumer-timeout").and_then(|value| value.as_i64());
        Ok(ConsumerArguments { priority, timeout_ms: timeout_ms.and_then(|timeout_ms| u64::try_from(timeout_ms).ok()) })
    }
}

const C: u8 = QueueType::Classic.bit();
const Q: u8 = QueueType::Quorum.bit();
const S: u8 = QueueType::Stream.bit();

/// All that RabbitMQ knows.
const ARGUMENTS: &[Argument] = &[
    argument("x-priority", C | Q | S, check_integer),
    argument("x-cancel-on-ha-failover", C, check_bool),
    argument("x-credit", C | S, accept),
    argument("x-consumer-timeout", Q, check_non_negative),
    argument("x-stream-offset", S, accept),
    argument("x-stream-filter", S, accept),
    argument("x-stream-match-unfiltered", S, check_bool),
];

const fn argument(name: &'static str, types: u8, check: fn(&Value<'_>, Table<'_>) -> Checked) -> Argument {
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
    fn mirroring_is_ignored_but_checked() {
        check_priority(TableBuf::new().with("x-cancel-on-ha-failover", Value::Bool(true)), Ok(0));
        check_priority(
            TableBuf::new().with("x-cancel-on-ha-failover", Value::I8(1)),
            Err("invalid arg 'x-cancel-on-ha-failover' for queue 'q' in vhost '/': {unacceptable_type,byte}"),
        );
    }

    #[test]
    fn a_classic_queue_takes_no_stream_offset() {
        check_priority(
            TableBuf::new().with("x-stream-offset", Value::LongStr(b"first")),
            Err("invalid arg 'x-stream-offset' for queue 'q' in vhost '/' of queue type rabbit_classic_queue"),
        );
    }

    #[test]
    fn unknown_arguments_are_ignored() {
        check_priority(TableBuf::new().with("x-foo", Value::Void), Ok(0));
    }
}
