//! Checks of arguments that RabbitMQ does not have. They say in a sentence what is wrong; those of RabbitMQ's arguments say it as RabbitMQ
//! does.

use amqp::table::{Table, Value};

use super::check::ArgumentCheck;

/// Characters that are shown of a text.
const SHOWN_LEN: usize = 50;

pub(super) fn check_flag(value: &Value<'_>, _: Table<'_>) -> ArgumentCheck {
    value.as_bool().map(drop).ok_or_else(|| must_be("true or false", value))
}

pub(super) fn check_count(value: &Value<'_>, _: Table<'_>) -> ArgumentCheck {
    value.as_i64().filter(|number| *number > 0).map(drop).ok_or_else(|| must_be("a whole number above 0", value))
}

pub(super) fn check_name(value: &Value<'_>, _: Table<'_>) -> ArgumentCheck {
    value.as_bytes().map(drop).ok_or_else(|| must_be("a text", value))
}

pub(super) fn check_word(value: &Value<'_>, words: &[&str]) -> ArgumentCheck {
    let is_known = value.as_bytes().is_some_and(|given| words.iter().any(|word| word.as_bytes() == given));
    if is_known { Ok(()) } else { Err(must_be(&format!("'{}'", words.join("' or '")), value)) }
}

fn must_be(what: &str, value: &Value<'_>) -> String {
    format!("it must be {what}, not {}", shown(value))
}

fn shown(value: &Value<'_>) -> String {
    if let Some(number) = value.as_i64() {
        return number.to_string();
    }
    match (value, value.as_bytes()) {
        (Value::Bool(is), _) => is.to_string(),
        (_, Some(bytes)) => {
            let text = String::from_utf8_lossy(bytes);
            let start: String = text.chars().take(SHOWN_LEN).collect();
            let rest = if start.len() < text.len() { "…" } else { "" };
            format!("the text '{start}{rest}'")
        }
        _ => format!("a value of the type {}", value.type_name()),
    }
}
