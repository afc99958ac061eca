//! What a publish asks by its properties and headers, wherever it comes from, and how long its body may be.

use std::sync::Arc;

use amqp::table::{Table, Value};
use message::View;
use model::user::Tags;

use crate::identity::Identity;
use crate::limits::MESSAGE_LEN_MAX;
use crate::reply_to;
use engine::clock::Clock;
use engine::delayed::header;
use engine::publish::PublishOptions;
use model::refusal::{self, Outcome};

/// Refuses a body that is longer than configured.
pub(crate) fn check_body_len(body_len: u64, message_len_max: u64) -> Outcome<()> {
    if is_body_len_allowed(body_len, message_len_max) {
        return Ok(());
    }
    let len_max = message_len_max.min(MESSAGE_LEN_MAX);
    refusal::precondition_failed(format!("message size {body_len} is larger than configured max size {len_max}"))
}

#[inline]
pub(crate) fn is_body_len_allowed(body_len: u64, message_len_max: u64) -> bool {
    body_len <= message_len_max.min(MESSAGE_LEN_MAX)
}

/// What a publish asks that not every publish does; found by one look at the properties.
pub(crate) struct ParsedProperties<'a> {
    pub(crate) headers: Option<Table<'a>>,
    pub(crate) options: PublishOptions,
    pub(crate) has_sender_selected: bool,
    pub(crate) wants_fast_reply: bool,
}

impl<'a> ParsedProperties<'a> {
    /// Refuses what the user may not ask.
    // Always, as with the header itself: what it answers is large. The clock comes by its handle: it is read only for a delay.
    #[inline(always)]
    pub(crate) fn of(view: &'a View<'_>, identity: &Identity, clock: &Arc<Clock>) -> Outcome<Self> {
        if let Some(user_id) = view.user_id()
            && user_id != identity.name().as_bytes()
            && !identity.user.tags.has(Tags::IMPERSONATOR)
        {
            return refusal::precondition_failed(format!(
                "user_id property set to '{}' but authenticated user was '{}'",
                String::from_utf8_lossy(user_id),
                identity.name()
            ));
        }
        let ttl_ms = match view.expiration() {
            Some(expiration) => Some(parse_expiration(&String::from_utf8_lossy(expiration))?),
            None => None,
        };
        let headers = view.headers().filter(|headers| !headers.is_empty());
        let (mut has_sender_selected, mut delay_ms) = (false, None);
        for (name, value) in headers.iter().flat_map(Table::iter) {
            match name {
                b"CC" | b"BCC" => has_sender_selected = true,
                b"x-delay" => delay_ms = delay_ms.or_else(|| header::delay_ms(&value)),
                _ => {}
            }
        }
        Ok(ParsedProperties {
            headers,
            options: PublishOptions {
                is_persistent: view.is_persistent(),
                ttl_ms,
                priority: view.priority(),
                due_ms: delay_ms.map_or(0, |delay_ms| clock.due_ms(delay_ms)),
            },
            has_sender_selected,
            wants_fast_reply: view.reply_to() == Some(reply_to::QUEUE.as_bytes()),
        })
    }
}

/// Expirations are whole milliseconds in decimal; the reasons are RabbitMQ's.
fn parse_expiration(text: &str) -> Outcome<u64> {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let digit_count = unsigned.bytes().take_while(u8::is_ascii_digit).count();
    let (number, rest) = text.split_at(text.len() - unsigned.len() + digit_count);
    let reason = if digit_count == 0 {
        "no_integer".to_owned()
    } else if !rest.is_empty() {
        format!("{{leftover_string,\"{rest}\"}}")
    } else {
        match number.parse::<i128>() {
            Ok(milliseconds @ 0..=EXPIRATION_MS_MAX) => return Ok(milliseconds as u64),
            Ok(milliseconds) if milliseconds < 0 => format!("{{value_negative,{milliseconds}}}"),
            _ => format!("{{value_too_large,{}}}", number.trim_start_matches('+')),
        }
    };
    refusal::precondition_failed(format!("invalid expiration '{text}': {reason}"))
}

/// RabbitMQ's longest time to live: ten years.
const EXPIRATION_MS_MAX: i128 = 10 * 365 * 24 * 60 * 60 * 1000;

/// The keys of a BCC header, each a shortstr. Longer ones match no binding's key.
pub(crate) fn hidden_keys_of(headers: &Table<'_>) -> Vec<u8> {
    let mut hidden = Vec::new();
    if let Some(Value::Array(keys)) = headers.get("BCC") {
        for key in keys.iter().filter_map(|key| key.as_bytes()) {
            if let Ok(len) = u8::try_from(key.len()) {
                hidden.push(len);
                hidden.extend_from_slice(key);
            }
        }
    }
    hidden
}

/// Adds the routing keys of the CC and BCC headers (RabbitMQ's sender-selected distribution).
pub(crate) fn sender_selected_keys<'a>(headers: &Table<'a>, keys: &mut Vec<&'a [u8]>) -> Outcome<()> {
    collect_keys(headers, "CC", keys)?;
    collect_keys(headers, "BCC", keys)
}

fn collect_keys<'a>(headers: &Table<'a>, name: &str, keys: &mut Vec<&'a [u8]>) -> Outcome<()> {
    match headers.get(name) {
        None => Ok(()),
        Some(Value::Array(array)) => {
            for value in array.iter() {
                // As in RabbitMQ what is no text is no key, and no fault either.
                if let Value::LongStr(key) = value {
                    keys.push(key);
                }
            }
            Ok(())
        }
        Some(other) => unacceptable_type(name, other.type_name()),
    }
}

fn unacceptable_type<T>(header: &str, kind: &str) -> Outcome<T> {
    refusal::precondition_failed(format!("invalid message: {{unacceptable_type_in_header,\"{header}\",{kind}}}"))
}
