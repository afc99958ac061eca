//! Why a connection or a channel is closed: a reply code and text, and the method that was to blame.

use amqp::ReplyCode;
use amqp::method::{Method, channel, connection};

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

/// Whether an upstream refuses a user, or the user's way into a vhost, with these words, and not one connection more.
pub(crate) fn says_no_access(code: u16, text: &str) -> bool {
    let is_refused = code == amqp::ReplyCode::AccessRefused.code();
    let is_limit = text.contains("limit (");
    !is_limit && (is_refused || text.contains("not found") || text.contains("refused for user"))
}
