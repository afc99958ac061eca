//! Arguments of queues, exchanges and consumers: checked as RabbitMQ checks them, with its texts, and kept as they came.
//!
//! The table itself is what is stored and listed; typed values are read from it on demand, so that a queue with no
//! arguments costs nothing. Unknown arguments are kept and ignored.

mod consumer;
mod equivalence;
mod exchange;
mod exchange_options;
mod plain;
mod queue;
mod queue_type;

pub use consumer::ConsumerArguments;
pub(crate) use equivalence::check_flag;
pub use equivalence::check_name;
pub use exchange::{ExchangeArguments, ExchangeType, HISTORY_COUNT};
pub use exchange_options::{DELAYED_TYPE, parse_delayed_type};
pub(crate) use queue::EXPIRY_MS_MAX;
pub use queue::{Overflow, QUEUE_TYPE, QueueArguments};
pub use queue_type::{QueueShape, QueueType, check_queue_type, check_server_named, default_queue_type};

use amqp::table::{Table, Value};

use crate::resource::{PreconditionFailed, Resource};

/// Why one argument is wrong: as RabbitMQ prints it, a term or a text in double quotes; of our own, a sentence.
type ArgumentCheck = Result<(), String>;

/// What there is to know of one argument.
struct Argument {
    name: &'static str,
    /// The queue types that take it, as bits of [`QueueType::bit`].
    types: u8,
    /// Whether a second declaration must have the same value.
    is_compared: bool,
    check: fn(&Value<'_>, Table<'_>) -> ArgumentCheck,
}

/// Checks the arguments of one queue type: first the values of those that it takes, in the list's order, then that none
/// belongs to another type only.
fn check(
    list: &[Argument],
    queue_type: QueueType,
    table: Table<'_>,
    queue: Resource<'_>,
) -> Result<(), PreconditionFailed> {
    let takes = |argument: &Argument| argument.types & queue_type.bit() != 0;
    for argument in list.iter().filter(|argument| takes(argument)) {
        check_one(argument, table, queue)?;
    }
    for (name, _) in table.iter() {
        let known = list.iter().find(|argument| argument.name.as_bytes() == name);
        if let Some(argument) = known.filter(|argument| !takes(argument)) {
            let (name, module) = (argument.name, queue_type.module());
            return Err(PreconditionFailed(format!("invalid arg '{name}' for {queue} of queue type {module}")));
        }
    }
    Ok(())
}

fn check_one(argument: &Argument, table: Table<'_>, queue: Resource<'_>) -> Result<(), PreconditionFailed> {
    let Some(value) = table.get(argument.name) else { return Ok(()) };
    (argument.check)(&value, table)
        .map_err(|reason| PreconditionFailed(format!("invalid arg '{}' for {queue}: {reason}", argument.name)))
}

fn accept(_: &Value<'_>, _: Table<'_>) -> ArgumentCheck {
    Ok(())
}

fn check_integer(value: &Value<'_>, _: Table<'_>) -> ArgumentCheck {
    integer(value).map(drop)
}

fn check_non_negative(value: &Value<'_>, _: Table<'_>) -> ArgumentCheck {
    match integer(value)? {
        number @ ..0 => Err(format!("{{value_negative,{number}}}")),
        _ => Ok(()),
    }
}

fn check_positive(value: &Value<'_>, table: Table<'_>) -> ArgumentCheck {
    if integer(value)? == 0 { Err("{value_zero,0}".to_owned()) } else { check_non_negative(value, table) }
}

fn check_bool(value: &Value<'_>, _: Table<'_>) -> ArgumentCheck {
    value.as_bool().map(drop).ok_or_else(|| unacceptable_type(value))
}

fn check_text(value: &Value<'_>, _: Table<'_>) -> ArgumentCheck {
    text(value).map(drop)
}

fn integer(value: &Value<'_>) -> Result<i64, String> {
    value.as_i64().ok_or_else(|| format!("\"expected integer, got {}\"", value.type_name()))
}

fn text<'a>(value: &Value<'a>) -> Result<&'a [u8], String> {
    value.as_bytes().ok_or_else(|| unacceptable_type(value))
}

fn unacceptable_type(value: &Value<'_>) -> String {
    format!("{{unacceptable_type,{}}}", value.type_name())
}

fn invalid_type(value: &Value<'_>, name: &str, of: Resource<'_>) -> PreconditionFailed {
    PreconditionFailed(format!("invalid type '{}' for arg '{name}' in {of}", value.type_name()))
}
