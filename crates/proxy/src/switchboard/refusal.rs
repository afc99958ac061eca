//! Why a connection or a channel is closed: a reply code and text, and the method that was to blame.

use amqp::ReplyCode;
use amqp::method::{DecodeError, Method, channel, connection};
use amqp::server::Violation;

/// What a close says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The reply code.
    pub code: u16,
    /// The reply text, at most 255 bytes.
    pub text: Vec<u8>,
    /// The class of the method that was to blame, or 0.
    pub class_id: u16,
    /// The method that was to blame, or 0.
    pub method_id: u16,
}

impl Refusal {
    /// Our own words.
    #[must_use]
    pub fn new(code: ReplyCode, explanation: &str) -> Self {
        Refusal { code: code.code(), text: code.text(explanation), class_id: 0, method_id: 0 }
    }

    /// Of a payload that is no method.
    pub(super) fn undecodable(error: DecodeError) -> Self {
        Refusal { class_id: error.class_id(), method_id: error.method_id(), ..Violation::from(error).into() }
    }

    pub(super) fn of_method(self, method: &Method<'_>) -> Self {
        Refusal { class_id: method.class_id(), method_id: method.method_id(), ..self }
    }

    /// What an upstream said.
    pub(super) fn of_connection(close: &connection::Close<'_>) -> Self {
        Refusal {
            code: close.reply_code,
            text: close.reply_text.to_vec(),
            class_id: close.class_id,
            method_id: close.method_id,
        }
    }

    pub(super) fn of_channel(close: &channel::Close<'_>) -> Self {
        Refusal {
            code: close.reply_code,
            text: close.reply_text.to_vec(),
            class_id: close.class_id,
            method_id: close.method_id,
        }
    }

    pub(super) fn to_connection(&self) -> connection::Close<'_> {
        connection::Close {
            reply_code: self.code,
            reply_text: &self.text,
            class_id: self.class_id,
            method_id: self.method_id,
        }
    }

    pub(super) fn to_channel(&self) -> channel::Close<'_> {
        channel::Close {
            reply_code: self.code,
            reply_text: &self.text,
            class_id: self.class_id,
            method_id: self.method_id,
        }
    }

    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.text).into_owned()
    }
}

impl From<Violation> for Refusal {
    #[cold]
    fn from(violation: Violation) -> Self {
        Refusal::new(violation.code, &violation.text)
    }
}

/// Whether an upstream refuses a user, or the user's way into a vhost, with these words, and not one connection more.
pub(crate) fn says_no_access(code: u16, text: &str) -> bool {
    let is_refused = code == amqp::ReplyCode::AccessRefused.code();
    let is_limit = text.contains("limit (");
    let is_access = is_refused || text.contains("not found") || text.contains("refused for user");
    is_access && !is_limit && !says_not_here(code, text)
}

/// Whether an upstream refuses every user for now with these words, or every user in a vhost, so that another one may let them in: it is
/// being stopped, has as many connections as it takes, or the vhost is down there.
pub(crate) fn says_not_here(code: u16, text: &str) -> bool {
    let is_upstream_fault =
        [ReplyCode::ConnectionForced, ReplyCode::InternalError].iter().any(|last_error| last_error.code() == code);
    is_upstream_fault || is_node_full(text)
}

/// Whether these are words about one vhost where they come after a login was accepted and before the connection is open: others may be well
/// there.
pub(crate) fn says_vhost_not_here(code: u16, text: &str) -> bool {
    says_not_here(code, text) && !is_node_full(text)
}

fn is_node_full(text: &str) -> bool {
    text.contains("node connection limit")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(code: u16, text: &str, is_no_access: bool, is_not_here: bool) {
        assert_eq!((says_no_access(code, text), says_not_here(code, text)), (is_no_access, is_not_here), "{text}");
    }

    #[test]
    fn words_about_a_vhost_are_told_from_those_about_a_node() {
        let is_down = "INTERNAL_ERROR - access to vhost 'v' refused for user 'u': vhost 'v' is down";
        let is_full = "NOT_ALLOWED - connection refused: node connection limit (1) is reached";
        let is_nobodys = "NOT_ALLOWED - access to vhost 'v' refused for user 'u'";
        assert_eq!(
            [(541, is_down), (320, "CONNECTION_FORCED - vhost 'v' is down"), (530, is_full), (530, is_nobodys)]
                .map(|(code, text)| says_vhost_not_here(code, text)),
            [true, true, false, false]
        );
    }

    #[test]
    fn words_about_a_user_are_told_from_those_about_an_upstream() {
        check(403, "ACCESS_REFUSED - Login was refused using authentication mechanism PLAIN", true, false);
        check(530, "NOT_ALLOWED - vhost v not found", true, false);
        check(530, "NOT_ALLOWED - access to vhost 'v' refused for user 'u'", true, false);
        check(
            530,
            "NOT_ALLOWED - access to vhost 'v' refused for user 'u': connection limit (1) is reached",
            false,
            false,
        );
        check(530, "NOT_ALLOWED - connection refused for user 'u': user connection limit (1) is reached", false, false);
        check(530, "NOT_ALLOWED - connection refused: node connection limit (1) is reached", false, true);
        check(541, "INTERNAL_ERROR - access to vhost 'v' refused for user 'u': vhost 'v' is down", false, true);
        check(320, "CONNECTION_FORCED - broker forced connection closure with reason 'shutdown'", false, true);
    }
}
