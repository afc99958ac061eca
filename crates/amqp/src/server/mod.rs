//! What a server checks of a client's frames, and what it says about them, in RabbitMQ's words: the broker and the proxy say the same.
//!
//! ```text
//!  handshake   capabilities of both sides; what a client may answer to connection.tune
//!  content     header and body frames after a method: which may come next, and whether all have come
//!  violation   reply codes and texts where a frame breaks the rules of the protocol
//! ```
//!
//! Nothing here reads, writes or remembers a connection: values go in, and a value or a [`Violation`] comes out. What a valid method
//! leads to is said elsewhere.

mod content;
mod handshake;
mod violation;

pub use content::ContentProgress;
pub use handshake::{ClientCapabilities, ON_BEHALF_OF, agree, server_capabilities};
pub use violation::{Violation, check_heartbeat};
