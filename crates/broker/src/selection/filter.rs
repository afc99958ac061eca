//! Which messages are meant.

use amqp::table::{Table, Value};

use message::Parts;

/// Which messages of a queue are meant: those to which all of this applies.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MessageFilter {
    /// Entered the queue at this time or later, in milliseconds since 1970.
    pub entered_from_ms: Option<u64>,
    /// Entered the queue at this time or sooner, in milliseconds since 1970.
    pub entered_to_ms: Option<u64>,
    /// Came over this exchange.
    pub exchange: Option<Vec<u8>>,
    /// With this routing key.
    pub routing_key: Option<Vec<u8>>,
    /// With this header, of any value or, shown as text, of this one.
    pub header: Option<(String, Option<String>)>,
    /// With these bytes somewhere in the body.
    pub body: Option<Vec<u8>>,
    /// That may, or may not, have been handed out before.
    pub is_redelivered: Option<bool>,
    /// That have been dead-lettered, or not.
    pub is_dead: Option<bool>,
    /// First dead-lettered for this reason: `rejected`, `expired`, `maxlen` or `delivery_limit`.
    pub death_reason: Option<String>,
}

impl MessageFilter {
    /// Whether the filter selects a message.
    pub(super) fn means(&self, parts: &Parts<'_>, has_been_handed_out: bool) -> bool {
        let is_redelivered = is_redelivered(parts, has_been_handed_out);
        let is = |wanted: &Option<Vec<u8>>, found: &[u8]| wanted.as_ref().is_none_or(|wanted| wanted == found);
        let is_then = self.entered_from_ms.is_none_or(|from_ms| from_ms <= parts.published_at_ms)
            && self.entered_to_ms.is_none_or(|to_ms| parts.published_at_ms <= to_ms);
        is_then
            && self.is_redelivered.is_none_or(|wanted| wanted == is_redelivered)
            && is(&self.exchange, parts.exchange)
            && is(&self.routing_key, parts.routing_key)
            && self.means_headers(parts)
            && self.body.as_ref().is_none_or(|wanted| has_bytes(parts.body, wanted))
    }

    fn means_headers(&self, parts: &Parts<'_>) -> bool {
        if self.header.is_none() && self.is_dead.is_none() && self.death_reason.is_none() {
            return true;
        }
        let view = parts.header.view();
        let headers = view.as_ref().and_then(|view| view.headers()).unwrap_or(Table::EMPTY);
        let reason = headers.get("x-first-death-reason");
        let has_reason =
            |wanted: &String| reason.as_ref().and_then(|reason| reason.as_bytes()) == Some(wanted.as_bytes());
        self.header.as_ref().is_none_or(|(name, value)| has_header(headers, name, value.as_deref()))
            && self.is_dead.is_none_or(|wanted| wanted == reason.is_some())
            && self.death_reason.as_ref().is_none_or(has_reason)
    }
}

/// Whether a message would be delivered as redelivered: it may have been handed out here, or has failed elsewhere.
pub(super) fn is_redelivered(parts: &Parts<'_>, has_been_handed_out: bool) -> bool {
    has_been_handed_out || parts.history.counts.delivery_count > 0
}

/// Whether there is a header of this name and, if one is given, of this value.
pub(crate) fn has_header(headers: Table<'_>, name: &str, wanted: Option<&str>) -> bool {
    headers.get(name).is_some_and(|value| wanted.is_none_or(|wanted| has_text(&value, wanted)))
}

fn has_text(value: &Value<'_>, wanted: &str) -> bool {
    match value {
        Value::LongStr(text) => *text == wanted.as_bytes(),
        Value::Bool(is) => wanted == is.to_string(),
        Value::F32(number) => wanted.parse() == Ok(*number),
        Value::F64(number) => wanted.parse() == Ok(*number),
        other => other.as_i64().is_some_and(|number| wanted.parse() == Ok(number)),
    }
}

/// Whether `wanted` is somewhere in `bytes`.
fn has_bytes(bytes: &[u8], wanted: &[u8]) -> bool {
    let Some((first, rest)) = wanted.split_first() else { return true };
    let mut bytes = bytes;
    while let Some(at) = bytes.iter().position(|byte| byte == first) {
        bytes = &bytes[at + 1..];
        if bytes.starts_with(rest) {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_found_wherever_they_are() {
        let is_found = |bytes: &str, wanted: &str| has_bytes(bytes.as_bytes(), wanted.as_bytes());
        assert!(is_found("an order", "") && is_found("an order", "an") && is_found("an order", "order"));
        assert!(is_found("aaab", "aab") && is_found("x", "x"));
        assert!(!is_found("an order", "orders") && !is_found("", "x") && !is_found("aaa", "aaaa"));
    }

    #[test]
    fn values_are_compared_as_text() {
        assert!(has_text(&Value::I32(-5), "-5") && !has_text(&Value::I32(5), "5.0"));
        assert!(has_text(&Value::Bool(true), "true") && has_text(&Value::F64(1.5), "1.5"));
        assert!(has_text(&Value::LongStr(b"5"), "5") && !has_text(&Value::Void, ""));
    }
}
