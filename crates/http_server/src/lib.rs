//! The shell of an HTTP/1.1 server: what the broker's HTTP API, the proxy's operations and the load generator's metrics have in common.
//!
//! ```text
//!  listener ─► accept     so many connections, so many an address
//!                │
//!                ▼
//!              serve      requests one after the other, within limits and write_timeout ─► the owner's answer, whole or in pieces
//! ```
//!
//! Deliberately absent: routes, logins, bodies of requests. These belong to the server's owner.

mod accept;
mod body;
mod connection;
mod host;
mod response;
mod write_timeout;

pub use accept::{ConnectionSlots, WhenFull, accept};
pub use body::{AnswerBody, BrokenBody, PIECE_LEN, PIECE_OBJECT_COUNT, Pieces, Source, Spent, Watcher};
pub use connection::{Limits, serve};
pub use host::{HostError, host};
pub use response::{not_allowed, respond};
