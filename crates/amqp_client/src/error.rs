//! What can go wrong, by what the caller does next.

use std::io;
use std::time::Duration;

use net::DialError;

/// Why a connection could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// No broker answers there, or not the way that was asked for. Try another address, or later.
    #[error(transparent)]
    Dial(#[from] DialError),
    /// Something answers there that is no AMQP 0-9-1 broker.
    #[error("{address} does not speak AMQP 0-9-1: {reason}")]
    NotAmqp {
        /// Host and port.
        address: String,
        /// What came instead.
        reason: String,
    },
    /// The broker does not let this user in. Trying again does not help.
    #[error("{address} refuses the login of user '{user}': {text}")]
    LoginRefused {
        /// Host and port.
        address: String,
        /// The user that wanted in.
        user: String,
        /// The broker's words.
        text: String,
    },
    /// The broker does not refuse the login, but closes the connection before it is open: an unknown vhost, a limit.
    #[error("{address} refuses the connection: {code} {text}")]
    Refused {
        /// Host and port.
        address: String,
        /// The reply code.
        code: u16,
        /// The broker's words.
        text: String,
        /// Whether it had accepted the login: then it is the vhost that it refuses, or one connection more.
        has_logged_in: bool,
    },
    /// The connection broke before it was open.
    #[error("{address} closed the socket before the connection was open: {source}")]
    Lost {
        /// Host and port.
        address: String,
        /// What the socket said.
        source: io::Error,
    },
    /// The broker took longer than the time allowed.
    #[error("{address} did not open the connection within {} s", timeout.as_secs_f64())]
    TimedOut {
        /// Host and port.
        address: String,
        /// The time that it had.
        timeout: Duration,
    },
}

impl OpenError {
    /// Whether the same attempt may succeed later without a change of what was asked for.
    #[must_use]
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Dial(_) | Self::Lost { .. } | Self::TimedOut { .. } => true,
            Self::NotAmqp { .. } | Self::LoginRefused { .. } | Self::Refused { .. } => false,
        }
    }
}

/// Why a connection is over.
#[derive(Debug, thiserror::Error)]
pub enum Closed {
    /// The broker closed it: it shuts down, an operator wants it, or the client broke a rule.
    #[error("the broker closed the connection: {code} {text}")]
    ByBroker {
        /// The reply code.
        code: u16,
        /// The broker's words.
        text: String,
    },
    /// It was closed from here.
    #[error("the connection was closed")]
    ByUs,
    /// The socket broke.
    #[error("the connection was lost: {0}")]
    Lost(#[from] io::Error),
    /// Not even a heartbeat came for longer than was agreed.
    #[error("the broker was silent for {} s", .0.as_secs_f64())]
    Silent(Duration),
    /// Bytes that make no sense.
    #[error("the broker sent what is not AMQP: {0}")]
    Garbled(String),
}

/// Why a request has no answer.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// The broker refused it, and closed the channel.
    #[error("{code} {text}")]
    Refused {
        /// The reply code.
        code: u16,
        /// The broker's words.
        text: String,
    },
    /// The connection is over.
    #[error(transparent)]
    Closed(#[from] Closed),
    /// The broker took longer than the time allowed. What it says later belongs to no call: close the connection.
    #[error("the broker has not answered within {} s", .0.as_secs_f64())]
    TimedOut(Duration),
}
