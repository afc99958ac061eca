//! How far a connection has come.

use std::time::Instant;

/// How far a connection has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// The client has not logged in, or not into a virtual host.
    Opening,
    /// It may publish and consume.
    Running,
    /// The server has closed the connection: all but the client's answer is ignored.
    Closing {
        /// When the socket is closed, whatever the client does.
        until: Instant,
    },
    /// A refused login of a client that understands no reason: the socket is closed after a while.
    Refused {
        /// When.
        until: Instant,
    },
    /// The client has closed the connection and was answered: it closes its socket next, and what it still sends is thrown away. It would
    /// find the end of the stream rather than the answer if the server closed first.
    Parting {
        /// When the socket is closed, whatever the client does.
        until: Instant,
    },
    /// What is in the output is the last. Then the server ends its direction, and throws away what comes until the client has ended the
    /// other one: a socket that is closed with something unread takes back what was sent last.
    Closed {
        /// When the socket is closed, whatever the client does.
        until: Instant,
    },
}

impl Phase {
    /// When the socket is closed, whatever the client does.
    pub(crate) fn until(self) -> Option<Instant> {
        match self {
            Phase::Closing { until }
            | Phase::Refused { until }
            | Phase::Parting { until }
            | Phase::Closed { until } => Some(until),
            Phase::Opening | Phase::Running => None,
        }
    }
}
