//! Arguments of exchanges that make any of them do more: delay messages, drop duplicates.

use amqp::table::{Table, Value};

use super::check::ArgumentCheck;
use super::exchange::ExchangeType;
use super::plain::{check_count, check_flag, check_name};
use crate::resource::{PreconditionFailed, Resource};

/// The argument that says how an `x-delayed-message` exchange routes a message when its time has come.
pub const DELAYED_TYPE: &str = "x-delayed-type";

type Check = fn(&Value<'_>, Table<'_>) -> ArgumentCheck;

const OPTIONS: &[(&str, Check)] = &[
    ("x-delayed-exchange", check_flag),
    ("x-delayed-release-rate", check_count),
    ("x-message-deduplication", check_flag),
    ("x-cache-size", check_count),
    ("x-cache-ttl", check_count),
    ("x-deduplication-header", check_name),
];

/// Checks those that are there.
pub(super) fn check_options(table: Table<'_>, exchange: Resource<'_>) -> Result<(), PreconditionFailed> {
    for (name, check) in OPTIONS {
        let Some(value) = table.get(name) else { continue };
        check(&value, table)
            .map_err(|reason| PreconditionFailed(format!("invalid arg '{name}' for {exchange}: {reason}")))?;
    }
    Ok(())
}

/// The type of exchange that `x-delayed-type` names, for an `x-delayed-message` exchange.
pub fn parse_delayed_type(arguments: Table<'_>) -> Result<ExchangeType, PreconditionFailed> {
    let invalid = |what: &str| PreconditionFailed(format!("Invalid argument, {what}"));
    let name = arguments.get(DELAYED_TYPE).and_then(|value| value.as_bytes());
    let name = name.ok_or_else(|| invalid("'x-delayed-type' must be an existing exchange type"))?;
    match ExchangeType::parse(name)? {
        ExchangeType::DelayedMessage => Err(invalid("'x-delayed-message' can't be used for 'x-delayed-type'")),
        exchange_type => Ok(exchange_type),
    }
}

#[cfg(test)]
mod tests {
    use amqp::table::TableBuf;

    use super::*;
    use crate::name::{ExchangeName, VhostName};

    #[track_caller]
    fn check(name: &str, value: Value<'_>, expected: Result<(), &str>) {
        let (vhost, exchange) = (VhostName::parse(b"/").unwrap(), ExchangeName::parse(b"x").unwrap());
        let table = TableBuf::new().with(name, value);
        let checked = check_options(table.as_table(), Resource::exchange(&vhost, &exchange));
        let expected =
            expected.map_err(|reason| format!("invalid arg '{name}' for exchange 'x' in vhost '/': {reason}"));
        assert_eq!(checked.map_err(|error| error.0), expected);
    }

    #[test]
    fn options_are_flags_numbers_and_names() {
        check("x-message-deduplication", Value::Bool(true), Ok(()));
        check("x-message-deduplication", Value::LongStr(b"true"), Err("it must be true or false, not the text 'true'"));
        check("x-cache-size", Value::I32(128), Ok(()));
        check("x-cache-size", Value::I32(0), Err("it must be a whole number above 0, not 0"));
        check("x-cache-ttl", Value::I32(-1), Err("it must be a whole number above 0, not -1"));
        check("x-deduplication-header", Value::LongStr(b"id"), Ok(()));
        check(
            "x-delayed-release-rate",
            Value::LongStr(b"5"),
            Err("it must be a whole number above 0, not the text '5'"),
        );
        check("x-deduplication-header", Value::Void, Err("it must be a text, not a value of the type void"));
        check("x-anything", Value::Void, Ok(()));
    }

    #[track_caller]
    fn check_delayed(value: Option<Value<'_>>, expected: Result<ExchangeType, &str>) {
        let table = value.map_or_else(TableBuf::new, |value| TableBuf::new().with(DELAYED_TYPE, value));
        let parsed = parse_delayed_type(table.as_table());
        assert_eq!(parsed.map_err(|error| error.0), expected.map_err(str::to_owned));
    }

    #[test]
    fn a_delayed_exchange_routes_as_another() {
        let missing = Err("Invalid argument, 'x-delayed-type' must be an existing exchange type");
        check_delayed(None, missing);
        check_delayed(Some(Value::I32(1)), missing);
        check_delayed(Some(Value::LongStr(b"zz")), Err("unknown exchange type 'zz'"));
        let itself = Err("Invalid argument, 'x-delayed-message' can't be used for 'x-delayed-type'");
        check_delayed(Some(Value::LongStr(b"x-delayed-message")), itself);
        check_delayed(Some(Value::LongStr(b"topic")), Ok(ExchangeType::Topic));
    }
}
