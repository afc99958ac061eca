//! Whether a second declaration means the same as the first.
//!
//! RabbitMQ compares values without their types: an integer's width does not matter, nor whether text came as a string
//! or as bytes. No `x-queue-type` is `classic`.

use amqp::table::{Table, Value};

use super::queue_type::QUEUE_TYPE;
use crate::erlang;
use crate::resource::{PreconditionFailed, Resource};

/// The type of a queue whose arguments name none.
const CLASSIC: Value<'_> = Value::LongStr(b"classic");

/// Compares the values of these names in two tables.
pub(super) fn check_arguments<'n>(
    of: Resource<'_>,
    names: impl IntoIterator<Item = &'n str>,
    current: Table<'_>,
    received: Table<'_>,
) -> Result<(), PreconditionFailed> {
    names.into_iter().try_for_each(|name| check_argument(of, name, current.get(name), received.get(name)))
}

/// Compares a property that is true or false, such as `durable`.
pub(crate) fn check_flag(
    of: Resource<'_>,
    name: &str,
    current: bool,
    received: bool,
) -> Result<(), PreconditionFailed> {
    if current == received {
        return Ok(());
    }
    Err(inequivalent(of, name, &format!("'{received}'"), &format!("'{current}'")))
}

/// Compares a property that is a name of RabbitMQ's own, such as an exchange's `type`.
pub fn check_name(of: Resource<'_>, name: &str, current: &str, received: &str) -> Result<(), PreconditionFailed> {
    if current == received {
        return Ok(());
    }
    let print = |value| format!("'{}'", erlang::atom(value));
    Err(inequivalent(of, name, &print(received), &print(current)))
}

fn check_argument(
    of: Resource<'_>,
    name: &str,
    current: Option<Value<'_>>,
    received: Option<Value<'_>>,
) -> Result<(), PreconditionFailed> {
    match (current, received) {
        (None, None) => Ok(()),
        (Some(current), None) if name == QUEUE_TYPE => check_argument(of, name, Some(current), Some(CLASSIC)),
        (None, Some(received)) if name == QUEUE_TYPE => check_argument(of, name, Some(CLASSIC), Some(received)),
        (Some(current), Some(received)) if same(&current, &received) => Ok(()),
        (Some(current), Some(received)) => {
            let print = |value| format!("'{}'", erlang::in_sentence(value));
            Err(inequivalent(of, name, &print(&received), &print(&current)))
        }
        (current, received) => Err(inequivalent(of, name, &with_type(received), &with_type(current))),
    }
}

fn inequivalent(of: Resource<'_>, name: &str, received: &str, current: &str) -> PreconditionFailed {
    PreconditionFailed(format!("inequivalent arg '{name}' for {of}: received {received} but current is {current}"))
}

fn with_type(value: Option<Value<'_>>) -> String {
    match value {
        None => "none".to_owned(),
        Some(value) => format!("the value '{}' of type '{}'", erlang::in_sentence(&value), value.type_name()),
    }
}

/// Whether two values are equal when their types are left aside. Inside tables and arrays the types do count.
fn same(a: &Value<'_>, b: &Value<'_>) -> bool {
    if let (Some(a), Some(b)) = (as_integer(a), as_integer(b)) {
        return a == b;
    }
    if let (Some(a), Some(b)) = (as_bytes(a), as_bytes(b)) {
        return a == b;
    }
    if let (Some(a), Some(b)) = (as_float(a), as_float(b)) {
        return a == b;
    }
    match (a, b) {
        (Value::Table(a), Value::Array(b)) | (Value::Array(b), Value::Table(a)) => a.is_empty() && b.is_empty(),
        _ => a == b,
    }
}

fn as_integer(value: &Value<'_>) -> Option<i128> {
    match *value {
        Value::Timestamp(seconds) => Some(i128::from(seconds)),
        _ => value.as_i64().map(i128::from),
    }
}

fn as_bytes<'a>(value: &Value<'a>) -> Option<&'a [u8]> {
    match *value {
        Value::LongStr(bytes) | Value::Binary(bytes) => Some(bytes),
        _ => None,
    }
}

fn as_float(value: &Value<'_>) -> Option<f64> {
    match *value {
        Value::F32(value) => Some(f64::from(value)),
        Value::F64(value) => Some(value),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use amqp::table::TableBuf;

    use super::*;
    use crate::name::{ExchangeName, QueueName, VhostName};

    #[track_caller]
    fn check(name: &str, current: Option<Value<'_>>, received: Option<Value<'_>>, expected: Result<(), &str>) {
        let table = |value: Option<Value<'_>>| match value {
            Some(value) => TableBuf::new().with(name, value),
            None => TableBuf::new(),
        };
        let (vhost, queue) = (VhostName::parse(b"/").unwrap(), QueueName::parse(b"q").unwrap());
        let of = Resource::queue(&vhost, &queue);
        let checked = check_arguments(of, [name], table(current).as_table(), table(received).as_table());
        assert_eq!(checked.map_err(|e| e.0), expected.map_err(str::to_owned));
    }

    #[test]
    fn types_do_not_matter() {
        check("x-max-length", Some(Value::I64(5)), Some(Value::U8(5)), Ok(()));
        check("x-max-length", Some(Value::Timestamp(5)), Some(Value::I16(5)), Ok(()));
        check("x-overflow", Some(Value::LongStr(b"a")), Some(Value::Binary(b"a")), Ok(()));
        check("x-foo", Some(Value::F32(0.5)), Some(Value::F64(0.5)), Ok(()));
    }

    #[test]
    fn different_values_are_named_without_types() {
        check(
            "x-message-ttl",
            Some(Value::I32(1000)),
            Some(Value::I64(2000)),
            Err("inequivalent arg 'x-message-ttl' for queue 'q' in vhost '/': received '2000' but current is '1000'"),
        );
        check(
            "x-message-ttl",
            Some(Value::I32(1)),
            Some(Value::F64(1.0)),
            Err("inequivalent arg 'x-message-ttl' for queue 'q' in vhost '/': received '1.0' but current is '1'"),
        );
    }

    #[test]
    fn a_missing_value_is_none_and_the_other_has_its_type() {
        check(
            "x-dead-letter-exchange",
            Some(Value::LongStr(b"dlx")),
            None,
            Err("inequivalent arg 'x-dead-letter-exchange' for queue 'q' in vhost '/': \
                 received none but current is the value 'dlx' of type 'longstr'"),
        );
        check(
            "x-max-length",
            None,
            Some(Value::I32(10)),
            Err("inequivalent arg 'x-max-length' for queue 'q' in vhost '/': \
                 received the value '10' of type 'signedint' but current is none"),
        );
    }

    #[test]
    fn classic_and_no_queue_type_are_the_same() {
        check("x-queue-type", None, Some(Value::LongStr(b"classic")), Ok(()));
        check("x-queue-type", Some(Value::LongStr(b"classic")), None, Ok(()));
        check(
            "x-queue-type",
            None,
            Some(Value::LongStr(b"quorum")),
            Err(
                "inequivalent arg 'x-queue-type' for queue 'q' in vhost '/': received 'quorum' but current is 'classic'",
            ),
        );
        check(
            "x-queue-type",
            Some(Value::LongStr(b"quorum")),
            None,
            Err(
                "inequivalent arg 'x-queue-type' for queue 'q' in vhost '/': received 'classic' but current is 'quorum'",
            ),
        );
        check(
            "x-foo",
            None,
            Some(Value::LongStr(b"classic")),
            Err("inequivalent arg 'x-foo' for queue 'q' in vhost '/': \
             received the value 'classic' of type 'longstr' but current is none"),
        );
    }

    #[test]
    fn properties_are_compared_as_terms() {
        let (vhost, exchange) = (VhostName::parse(b"/").unwrap(), ExchangeName::parse(b"x").unwrap());
        let of = Resource::exchange(&vhost, &exchange);
        assert_eq!(check_flag(of, "durable", true, true), Ok(()));
        assert_eq!(
            check_flag(of, "durable", true, false).unwrap_err().to_string(),
            "inequivalent arg 'durable' for exchange 'x' in vhost '/': received 'false' but current is 'true'"
        );
        assert_eq!(check_name(of, "type", "direct", "direct"), Ok(()));
        assert_eq!(
            check_name(of, "type", "direct", "x-random").unwrap_err().to_string(),
            "inequivalent arg 'type' for exchange 'x' in vhost '/': received ''x-random'' but current is 'direct'"
        );
    }
}
