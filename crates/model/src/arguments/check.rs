//! What an argument's value may be, and the checks that several kinds of arguments share, with RabbitMQ's texts.

use amqp::table::{Table, Value};

use super::queue_type::QueueType;
use crate::resource::{PreconditionFailed, Resource};

/// Why one argument is wrong: as RabbitMQ prints it, a term or a text in double quotes; of our own, a sentence.
pub(super) type ArgumentCheck = Result<(), String>;

/// What there is to know of one argument.
pub(super) struct Argument {
    pub(super) name: &'static str,
    /// The queue types that take it, as bits of [`QueueType::bit`].
    pub(super) types: u8,
    /// Whether a second declaration must have the same value.
    pub(super) is_compared: bool,
    pub(super) check: fn(&Value<'_>, Table<'_>) -> ArgumentCheck,
}

/// Checks the arguments of one queue type: first the values of those that it takes, in the list's order, then that none
/// belongs to another type only.
pub(super) fn check(
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

pub(super) fn check_one(argument: &Argument, table: Table<'_>, queue: Resource<'_>) -> Result<(), PreconditionFailed> {
    let Some(value) = table.get(argument.name) else { return Ok(()) };
    (argument.check)(&value, table)
        .map_err(|reason| PreconditionFailed(format!("invalid arg '{}' for {queue}: {reason}", argument.name)))
}

pub(super) fn accept(_: &Value<'_>, _: Table<'_>) -> ArgumentCheck {
    Ok(())
}

pub(super) fn check_integer(value: &Value<'_>, _: Table<'_>) -> ArgumentCheck {
    integer(value).map(drop)
}

pub(super) fn check_non_negative(value: &Value<'_>, _: Table<'_>) -> ArgumentCheck {
    match integer(value)? {
        number @ ..0 => Err(format!("{{value_negative,{number}}}")),
        _ => Ok(()),
    }
}

pub(super) fn check_positive(value: &Value<'_>, table: Table<'_>) -> ArgumentCheck {
    if integer(value)? == 0 { Err("{value_zero,0}".to_owned()) } else { check_non_negative(value, table) }
}

pub(super) fn check_bool(value: &Value<'_>, _: Table<'_>) -> ArgumentCheck {
    value.as_bool().map(drop).ok_or_else(|| unacceptable_type(value))
}

pub(super) fn check_text(value: &Value<'_>, _: Table<'_>) -> ArgumentCheck {
    text(value).map(drop)
}

pub(super) fn integer(value: &Value<'_>) -> Result<i64, String> {
    value.as_i64().ok_or_else(|| format!("\"expected integer, got {}\"", value.type_name()))
}

pub(super) fn text<'a>(value: &Value<'a>) -> Result<&'a [u8], String> {
    value.as_bytes().ok_or_else(|| unacceptable_type(value))
}

pub(super) fn unacceptable_type(value: &Value<'_>) -> String {
    format!("{{unacceptable_type,{}}}", value.type_name())
}

pub(super) fn invalid_type(value: &Value<'_>, name: &str, of: Resource<'_>) -> PreconditionFailed {
    PreconditionFailed(format!("invalid type '{}' for arg '{name}' in {of}", value.type_name()))
}
