//! What joins this broker with others, for shovels and for federation.
//!
//! ```text
//!  transfer          which deliveries are published, confirmed and settled                     no I/O
//!  end               connecting to one of several URIs, with TLS, or to this process's own broker
//!  tls_files         the door through which a file that a URI names is read: from which directories, how much, on which thread
//!  host              what the process gives: connections to its own broker, its name, its permission
//! ```
//!
//! Not here: what is consumed and where it is published, and when a connection is tried again.

mod end;
mod host;
mod tls_files;
mod transfer;

pub use end::{ConnectError, End, Wish, connect};
pub use host::{Host, OwnConnection};
pub use tls_files::{Author, TlsFiles};
pub use transfer::{Outcome, Settlement, Taken, Transfer};

/// The channel on which messages come and go: it is open from the beginning.
pub const CHANNEL: u16 = 1;
