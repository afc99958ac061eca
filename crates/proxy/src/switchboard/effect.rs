//! What the switchboard asks of the shell, and what it reports to it.

use std::rc::Rc;

use super::ids::{ClientId, UpstreamConnectionId};

/// What is asked of the shell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// An upstream connection is wanted: say [`super::Switchboard::upstream_connected`] or [`super::Switchboard::upstream_lost`].
    Dial {
        /// Which.
        connection: UpstreamConnectionId,
        /// To where this vhost is; `None` while only the login is to be checked.
        vhost: Option<Rc<str>>,
        /// Whose own it is to be; `None` for one that is shared.
        client: Option<ClientId>,
    },
    /// A user wants in whose login is good: say [`super::Switchboard::client_admitted`]. Only where [`super::Options::asks_for_clients`].
    Admit {
        /// Which client.
        client: ClientId,
        /// The user that has logged in.
        user: Rc<str>,
    },
    /// Look at what this client [wants](super::Switchboard::client_wants): there is something new.
    ClientChanged(ClientId),
    /// Look at what this upstream connection [wants](super::Switchboard::upstream_wants): there is something new.
    UpstreamChanged(UpstreamConnectionId),
    /// Something for the log.
    Log(Notice),
}

/// What an operator may want to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// A publish failed after its client had disconnected, or had its channel closed.
    LateError {
        /// The user that had logged in.
        user: String,
        /// Where.
        vhost: String,
        /// The reply code.
        code: u16,
        /// The upstream's words.
        text: String,
    },
    /// A mandatory message came back after its client had disconnected.
    LateReturn {
        /// The user that had logged in.
        user: String,
        /// Where.
        vhost: String,
        /// The upstream's words.
        text: String,
    },
    /// A connection to an upstream was lost with publishes that were not confirmed, of disconnected clients.
    LateLoss {
        /// The user that had logged in.
        user: String,
        /// Where.
        vhost: String,
        /// How many.
        count: usize,
    },
    /// Publishes of disconnected clients were not confirmed for so long that their confirms are no longer waited for.
    Unconfirmed {
        /// The user that had logged in.
        user: String,
        /// Where.
        vhost: String,
        /// How many.
        count: usize,
    },
    /// A login was refused by the upstream.
    LoginRefused {
        /// The user.
        user: String,
        /// The upstream's words.
        text: String,
    },
    /// Clients were closed because there had been no upstream connection for them for too long.
    GaveUp {
        /// The user that had logged in, or wanted to.
        user: String,
        /// The text that the clients got that understand it.
        text: String,
        /// How many they were.
        count: usize,
    },
    /// A client does not read what it asked for, and was let go.
    SlowClient(ClientId),
    /// An upstream does not speak as agreed.
    Garbled {
        /// Which upstream connection.
        connection: UpstreamConnectionId,
        /// What it did.
        text: String,
    },
}
