//! How a connection is opened.

use std::time::Duration;

use amqp::TableBuf;
use net::{ClientTls, DialOptions};
use tokio::sync::watch;

/// How a client identifies itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mechanism {
    /// Name and password.
    #[default]
    Plain,
    /// By the TLS certificate.
    External,
}

/// The user that logs in, where it is not the URI's: a token from elsewhere as the password.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    /// The user's name.
    pub user: String,
    /// The user's password.
    pub password: String,
}

impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Credentials({})", self.user)
    }
}

/// How a connection is opened.
#[derive(Clone, Debug)]
pub struct ConnectOptions {
    /// Shown by the broker beside the connection (`connection_name`).
    pub name: Option<String>,
    /// Sent along with the client's own properties.
    pub properties: TableBuf,
    /// How to log in.
    pub mechanism: Mechanism,
    /// The user that logs in; otherwise the one that the URI names.
    pub credentials: Option<Credentials>,
    /// Passwords that follow one another, as tokens do that expire: new connections log in with the latest, instead of
    /// the one above, and open ones are updated (`connection.update-secret`).
    pub secrets: Option<watch::Receiver<String>>,
    /// Seconds between heartbeats; 0 leaves it to the broker. What the URI says precedes it.
    pub heartbeat: u16,
    /// Whether to go without heartbeats whatever the broker suggests.
    pub is_without_heartbeat: bool,
    /// The longest frame in bytes; 0 leaves it to the broker. What the URI says precedes it.
    pub frame_max: u32,
    /// Channels at most; 0 leaves it to the broker. What the URI says precedes it.
    pub channel_max: u16,
    /// For URIs with TLS.
    pub tls: Option<ClientTls>,
    /// The socket's options.
    pub dial: DialOptions,
    /// How long the broker may take, from the first byte sent until the connection is open.
    pub timeout: Duration,
    /// How long the broker may take to answer a request on an open connection ([`Connection::call`](crate::Connection::call)).
    pub answer_timeout: Duration,
}

impl Default for ConnectOptions {
    fn default() -> Self {
        ConnectOptions {
            name: None,
            properties: TableBuf::new(),
            mechanism: Mechanism::Plain,
            credentials: None,
            secrets: None,
            heartbeat: 0,
            is_without_heartbeat: false,
            frame_max: 0,
            channel_max: 0,
            tls: None,
            dial: DialOptions::default(),
            timeout: Duration::from_secs(60),
            answer_timeout: Duration::from_secs(120),
        }
    }
}
