//! The trace that a message belongs to, as its headers say.

use std::sync::Arc;

use broker::tap::Event;

use super::traceparent::TraceParent;

/// The longest `tracestate` that is passed on: as many characters as W3C Trace Context asks for. Of a longer one nothing is.
const STATE_LEN_MAX: usize = 512;

/// A trace: its header `traceparent`, and `tracestate` where there is one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Trace {
    pub(super) parent: TraceParent,
    /// What tracing systems pass on to each other, not looked at.
    pub(super) state: Option<Arc<str>>,
}

impl Trace {
    /// The trace of an event's message.
    pub(super) fn of(event: &Event<'_>) -> Option<Self> {
        let view = event.message.as_ref()?.header.view()?;
        let headers = view.headers()?;
        let parent = TraceParent::parse(headers.get("traceparent")?.as_bytes()?)?;
        let state = headers.get("tracestate").and_then(|state| state.as_bytes()).and_then(read_state);
        Some(Trace { parent, state })
    }
}

fn read_state(bytes: &[u8]) -> Option<Arc<str>> {
    let text = std::str::from_utf8(bytes).ok()?.trim_matches([' ', '\t']);
    let is_printable = text.bytes().all(|byte| byte == b'\t' || (b' '..=b'~').contains(&byte));
    (!text.is_empty() && text.len() <= STATE_LEN_MAX && is_printable).then(|| text.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_that_is_too_long_or_no_text_is_not_passed_on() {
        assert_eq!(read_state(b" vendor=1,other=2 ").as_deref(), Some("vendor=1,other=2"));
        assert_eq!(read_state(&[b'a'; STATE_LEN_MAX]).map(|state| state.len()), Some(STATE_LEN_MAX));
        assert_eq!(read_state(&[b'a'; STATE_LEN_MAX + 1]), None);
        for wrong in [&b""[..], b"  ", b"a=\n", b"a=\xff"] {
            assert_eq!(read_state(wrong), None);
        }
    }
}
