//! The limits, and what is said where one is reached.

use std::fmt;

use super::{Network, Options};
use crate::limits::USER_SHOWN_LEN_MAX;

/// What is limited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Limit {
    /// Connections in all.
    Connections,
    /// Connections of a user.
    UserConnections,
    /// Connections of an address.
    AddressConnections,
    /// Connections that come in a second, in all.
    ConnectionRate,
    /// Connections that come from an address in a second.
    AddressConnectionRate,
    /// Bytes in a second, in all.
    ByteRate,
    /// Bytes of a user in a second.
    UserByteRate,
}

impl Limit {
    /// All of them.
    pub const ALL: [Limit; 7] = [
        Limit::Connections,
        Limit::UserConnections,
        Limit::AddressConnections,
        Limit::ConnectionRate,
        Limit::AddressConnectionRate,
        Limit::ByteRate,
        Limit::UserByteRate,
    ];

    /// For metrics' labels and JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Limit::Connections => "connections",
            Limit::UserConnections => "user_connections",
            Limit::AddressConnections => "address_connections",
            Limit::ConnectionRate => "connection_rate",
            Limit::AddressConnectionRate => "address_connection_rate",
            Limit::ByteRate => "byte_rate",
            Limit::UserByteRate => "user_byte_rate",
        }
    }

    /// What is set for it; 0 for no limit.
    #[must_use]
    pub(crate) fn max_in(self, options: &Options) -> u64 {
        match self {
            Limit::Connections => options.connection_max,
            Limit::UserConnections => options.user_connection_max,
            Limit::AddressConnections => options.address_connection_max,
            Limit::ConnectionRate => options.connection_rate.per_s,
            Limit::AddressConnectionRate => options.address_connection_rate.per_s,
            Limit::ByteRate => options.byte_rate.per_s,
            Limit::UserByteRate => options.user_byte_rate.per_s,
        }
    }
}

/// Whose limit was reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// All together.
    All,
    /// A user. The name may be cut.
    User(String),
    /// An address, or several that count as one.
    Network(Network),
}

impl Subject {
    /// The client that logs in chooses the name's length.
    pub(super) fn user(name: &str) -> Self {
        Subject::User(name[..name.floor_char_boundary(USER_SHOWN_LEN_MAX)].to_owned())
    }
}

/// Why a client does not come in, in one sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Refusal {
    /// What was reached.
    pub limit: Limit,
    /// What is set for it.
    pub max: u64,
    /// Whose it is.
    pub subject: Subject,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let max = self.max;
        match self.limit {
            Limit::Connections | Limit::UserConnections | Limit::AddressConnections => {
                write!(f, "connection limit ({max})")?;
            }
            Limit::ConnectionRate | Limit::AddressConnectionRate => write!(f, "connection rate limit ({max}/s)")?,
            Limit::ByteRate | Limit::UserByteRate => write!(f, "byte rate limit ({max} B/s)")?,
        }
        match &self.subject {
            Subject::All => {}
            // It may contain anything, and this may go into a log.
            Subject::User(name) => write!(f, " of user '{}'", name.escape_debug())?,
            Subject::Network(network) => write!(f, " of {network}")?,
        }
        f.write_str(" is reached")
    }
}

/// A limit was reached: for the log, at most once a second for each limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alarm {
    /// Which, and whose.
    pub refusal: Refusal,
    /// Whether it is only an alarm: no client was refused or kept waiting.
    pub is_alarm_only: bool,
    /// When.
    pub at_ms: u64,
    /// How often the same limit was reached since the alarm before, by whomever, without one.
    pub untold_count: u64,
}
