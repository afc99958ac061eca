//! Reply codes: why a connection or channel was closed, or a message returned.

use crate::limits::SHORT_STR_LEN_MAX;

/// A reply code of `connection.close`, `channel.close` or `basic.return`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u16)]
pub enum ReplyCode {
    /// Normal close.
    Success = 200,
    /// A message was too large.
    ContentTooLarge = 311,
    /// A mandatory message had no queue to go to.
    NoRoute = 312,
    /// An immediate message had no consumer to go to.
    NoConsumers = 313,
    /// An operator, or a rule, ended the connection.
    ConnectionForced = 320,
    /// No such vhost.
    InvalidPath = 402,
    /// Not permitted.
    AccessRefused = 403,
    /// No such exchange or queue.
    NotFound = 404,
    /// The queue belongs to another connection.
    ResourceLocked = 405,
    /// The arguments do not fit what exists, or what is allowed.
    PreconditionFailed = 406,
    /// Bytes that are no frame.
    FrameError = 501,
    /// A frame with illegal values.
    SyntaxError = 502,
    /// A method that may not come now.
    CommandInvalid = 503,
    /// A channel that is not open, or open already.
    ChannelError = 504,
    /// A frame that may not come now.
    UnexpectedFrame = 505,
    /// Out of some resource.
    ResourceError = 506,
    /// Against the rules of this server.
    NotAllowed = 530,
    /// Not offered by this server.
    NotImplemented = 540,
    /// The server's own fault.
    InternalError = 541,
}

impl ReplyCode {
    /// All codes, in the order of their numbers.
    pub const ALL: [ReplyCode; 19] = [
        Self::Success,
        Self::ContentTooLarge,
        Self::NoRoute,
        Self::NoConsumers,
        Self::ConnectionForced,
        Self::InvalidPath,
        Self::AccessRefused,
        Self::NotFound,
        Self::ResourceLocked,
        Self::PreconditionFailed,
        Self::FrameError,
        Self::SyntaxError,
        Self::CommandInvalid,
        Self::ChannelError,
        Self::UnexpectedFrame,
        Self::ResourceError,
        Self::NotAllowed,
        Self::NotImplemented,
        Self::InternalError,
    ];

    /// The number on the wire.
    #[must_use]
    pub fn code(self) -> u16 {
        self as u16
    }

    /// The code with this number.
    #[must_use]
    pub fn from_code(code: u16) -> Option<Self> {
        Self::ALL.into_iter().find(|reply| reply.code() == code)
    }

    /// The name that begins a reply text, such as `NOT_FOUND`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Success => "REPLY_SUCCESS",
            Self::ContentTooLarge => "CONTENT_TOO_LARGE",
            Self::NoRoute => "NO_ROUTE",
            Self::NoConsumers => "NO_CONSUMERS",
            Self::ConnectionForced => "CONNECTION_FORCED",
            Self::InvalidPath => "INVALID_PATH",
            Self::AccessRefused => "ACCESS_REFUSED",
            Self::NotFound => "NOT_FOUND",
            Self::ResourceLocked => "RESOURCE_LOCKED",
            Self::PreconditionFailed => "PRECONDITION_FAILED",
            Self::FrameError => "FRAME_ERROR",
            Self::SyntaxError => "SYNTAX_ERROR",
            Self::CommandInvalid => "COMMAND_INVALID",
            Self::ChannelError => "CHANNEL_ERROR",
            Self::UnexpectedFrame => "UNEXPECTED_FRAME",
            Self::ResourceError => "RESOURCE_ERROR",
            Self::NotAllowed => "NOT_ALLOWED",
            Self::NotImplemented => "NOT_IMPLEMENTED",
            Self::InternalError => "INTERNAL_ERROR",
        }
    }

    /// Whether it closes the whole connection (a "hard error") and not just the channel.
    #[must_use]
    pub fn is_connection_error(self) -> bool {
        match self {
            Self::Success
            | Self::ContentTooLarge
            | Self::NoRoute
            | Self::NoConsumers
            | Self::AccessRefused
            | Self::NotFound
            | Self::ResourceLocked
            | Self::PreconditionFailed => false,
            Self::ConnectionForced
            | Self::InvalidPath
            | Self::FrameError
            | Self::SyntaxError
            | Self::CommandInvalid
            | Self::ChannelError
            | Self::UnexpectedFrame
            | Self::ResourceError
            | Self::NotAllowed
            | Self::NotImplemented
            | Self::InternalError => true,
        }
    }

    /// The text of a close method, as RabbitMQ writes it: `NOT_FOUND - no queue 'q' in vhost '/'`, at most 255 bytes. A
    /// longer one is cut between two characters and ends in `...`.
    #[must_use]
    pub fn text(self, explanation: &str) -> Vec<u8> {
        const CUT: &str = "...";
        let mut text = format!("{} - {explanation}", self.name());
        if text.len() > SHORT_STR_LEN_MAX {
            text.truncate(text.floor_char_boundary(SHORT_STR_LEN_MAX - CUT.len()));
            text.push_str(CUT);
        }
        text.into_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_and_numbers_are_one_to_one() {
        for reply in ReplyCode::ALL {
            assert_eq!(ReplyCode::from_code(reply.code()), Some(reply));
        }
        assert_eq!(ReplyCode::from_code(201), None);
        assert!(ReplyCode::ALL.is_sorted_by_key(|reply| reply.code()));
    }

    #[test]
    fn text_begins_with_the_name() {
        assert_eq!(ReplyCode::NotFound.text("no queue 'q' in vhost '/'"), b"NOT_FOUND - no queue 'q' in vhost '/'");
    }

    #[test]
    fn no_character_is_cut_in_two() {
        for pad_len in 0..4 {
            for character in ["x", "\u{fc}", "\u{20ac}", "\u{1f407}"] {
                let explanation = "x".repeat(pad_len) + &character.repeat(300);
                let text = String::from_utf8(ReplyCode::NotFound.text(&explanation)).expect("whole characters");
                assert!((252..=255).contains(&text.len()) && text.ends_with("..."), "{text}");
            }
        }
    }

    #[test]
    fn long_text_is_cut_to_what_a_shortstr_holds() {
        let text = ReplyCode::NotFound.text(&"x".repeat(1000));
        assert_eq!(text.len(), 255);
        assert!(text.ends_with(b"x..."));
        assert_eq!(ReplyCode::NotFound.text(&"x".repeat(243)).len(), 255);
        assert!(ReplyCode::NotFound.text(&"x".repeat(243)).ends_with(b"xxx"));
    }
}
