//! Reply codes and texts where a client's frame breaks the rules of the protocol.

use std::borrow::Cow;

use crate::content::{BASIC_CLASS_ID, ContentError};
use crate::frame::{Frame, FrameError};
use crate::method::DecodeError;
use crate::reply::ReplyCode;

/// Why a server closes a connection or a channel for a frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// AMQP's code.
    pub code: ReplyCode,
    /// The explanation, without the code's name in front (see [`ReplyCode::text`]).
    pub text: Cow<'static, str>,
}

impl Violation {
    pub(super) fn new(code: ReplyCode, text: impl Into<Cow<'static, str>>) -> Self {
        Violation { code, text: text.into() }
    }

    /// A payload that is no content header. Where it is not about the class, `code` says how the server takes it.
    #[must_use]
    pub fn content_header(error: ContentError, code: ReplyCode) -> Self {
        match error {
            ContentError::UnknownClass(class) => Self::new(
                ReplyCode::UnexpectedFrame,
                format!("expected content header for class {BASIC_CLASS_ID}, got one for class {class} instead"),
            ),
            ContentError::Weight(_) | ContentError::Malformed(_) => Self::new(code, error.to_string()),
        }
    }

    /// A frame of content on a channel where no method announced it.
    #[must_use]
    pub fn content_without_method() -> Self {
        Self::new(ReplyCode::UnexpectedFrame, "expected method frame, got non method frame instead")
    }

    /// A frame of content on channel 0.
    #[must_use]
    pub fn content_on_channel_0() -> Self {
        Self::new(ReplyCode::UnexpectedFrame, "content frame on channel 0")
    }

    /// A frame of content during the handshake.
    #[must_use]
    pub fn content_in_handshake() -> Self {
        Self::new(ReplyCode::UnexpectedFrame, "content frame before the connection is open")
    }

    /// A frame on a channel during the handshake; `name` is the method's, or says that it is one.
    #[must_use]
    pub fn channel_in_handshake(name: &str) -> Self {
        Self::new(ReplyCode::UnexpectedFrame, format!("{name} on a channel before the connection is open"))
    }

    /// A method of channel 0 that does not come next in the handshake.
    #[must_use]
    pub fn method_in_handshake(name: &str) -> Self {
        Self::new(ReplyCode::CommandInvalid, format!("unexpected method {name} during the handshake"))
    }

    /// A method of the handshake, or of a server, on channel 0 of an open connection.
    #[must_use]
    pub fn method_while_running() -> Self {
        Self::new(ReplyCode::ChannelError, "unexpected method in connection state running")
    }

    /// A mechanism that connection.start did not offer.
    #[must_use]
    pub fn unknown_mechanism(mechanism: &str) -> Self {
        Self::new(ReplyCode::CommandInvalid, format!("unknown authentication mechanism '{mechanism}'"))
    }

    /// A login that was refused. The text says no more than by which mechanism.
    #[must_use]
    pub fn login_refused(mechanism: &str) -> Self {
        let text = format!(
            "Login was refused using authentication mechanism {mechanism}. For details see the broker logfile."
        );
        Self::new(ReplyCode::AccessRefused, text)
    }

    /// A secret in connection.update-secret that was refused.
    #[must_use]
    pub fn secret_refused() -> Self {
        Self::new(ReplyCode::NotAllowed, "New secret was refused by one of the backends")
    }

    /// A frame on a channel that is not open.
    #[must_use]
    pub fn channel_not_open() -> Self {
        Self::new(ReplyCode::ChannelError, "expected 'channel.open'")
    }

    /// channel.open on a channel that is open.
    #[must_use]
    pub fn channel_open_twice() -> Self {
        Self::new(ReplyCode::ChannelError, "second 'channel.open' seen")
    }

    /// A channel more than was negotiated.
    #[must_use]
    pub fn too_many_channels(open_count: usize, channel_max: u16) -> Self {
        let text =
            format!("number of channels opened ({open_count}) has reached the negotiated channel_max ({channel_max})");
        Self::new(ReplyCode::NotAllowed, text)
    }
}

impl From<FrameError> for Violation {
    #[cold]
    fn from(error: FrameError) -> Self {
        Self::new(ReplyCode::FrameError, error.to_string())
    }
}

impl From<DecodeError> for Violation {
    #[cold]
    fn from(error: DecodeError) -> Self {
        let code = match error {
            DecodeError::Unknown { .. } => ReplyCode::CommandInvalid,
            DecodeError::Malformed { .. } => ReplyCode::FrameError,
        };
        Self::new(code, error.to_string())
    }
}

/// A heartbeat is empty and belongs to no channel.
pub fn check_heartbeat(frame: &Frame<'_>) -> Result<(), Violation> {
    if frame.channel != 0 {
        return Err(Violation::new(ReplyCode::UnexpectedFrame, format!("heartbeat on channel {}", frame.channel)));
    }
    if !frame.payload.is_empty() {
        return Err(Violation::new(ReplyCode::FrameError, "heartbeat with a payload"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::FrameKind;

    #[track_caller]
    fn check(violation: impl Into<Violation>, code: ReplyCode, text: &str) {
        let violation = violation.into();
        assert_eq!((violation.code, &*violation.text), (code, text));
    }

    #[test]
    fn a_heartbeat_is_empty_and_on_channel_0() {
        let beat = |channel, payload| check_heartbeat(&Frame { kind: FrameKind::Heartbeat, channel, payload });
        assert_eq!(beat(0, b""), Ok(()));
        check(beat(3, b"").unwrap_err(), ReplyCode::UnexpectedFrame, "heartbeat on channel 3");
        check(beat(0, b"x").unwrap_err(), ReplyCode::FrameError, "heartbeat with a payload");
    }

    #[test]
    fn codes_say_what_was_wrong() {
        let unknown = DecodeError::Unknown { class_id: 60, method_id: 99 };
        check(unknown, ReplyCode::CommandInvalid, "unknown method 99 of class 60");
        let malformed = DecodeError::Malformed { class_id: 60, method_id: 40, reason: crate::Malformed::Truncated };
        check(malformed, ReplyCode::FrameError, "method 40 of class 60: payload ends too early");
        check(FrameError::BadEnd { found: 0 }, ReplyCode::FrameError, "frame ends in 0 instead of 206");
        let other_class = Violation::content_header(ContentError::UnknownClass(50), ReplyCode::SyntaxError);
        let text = "expected content header for class 60, got one for class 50 instead";
        check(other_class, ReplyCode::UnexpectedFrame, text);
        let weight = Violation::content_header(ContentError::Weight(1), ReplyCode::SyntaxError);
        check(weight, ReplyCode::SyntaxError, "content header has weight 1 instead of 0");
        let channels = Violation::too_many_channels(7, 7);
        let text = "number of channels opened (7) has reached the negotiated channel_max (7)";
        check(channels, ReplyCode::NotAllowed, text);
    }
}
