//! From the protocol header to `connection.open-ok` (AMQP 0-9-1, 2.2.4 and 4.2.3), for both sides and without I/O.
//!
//! ```text
//!  client    header           start-ok         tune-ok, open
//!  server            start             tune                    open-ok
//! ```
//!
//! Each side is a state that says what the peer sends next. What comes is given to it, and it returns what the peer has said or
//! asked for. The owner decides on the answer and calls the method for it, which appends the frames to send and enters the next
//! state. An owner that has to wait for its decision calls nothing, and may give the same frame again.
//!
//! ```text
//!  client   the client's side: log in, choose limits, open a vhost
//!  server   the server's side: offer, agree on limits, let in or close
//! ```
//!
//! Not here: whether a login is good (the owner's business), and what a server says about frames that break the rules
//! ([`server`](crate::server)).

mod client;
mod server;

pub use client::{ClientHandshake, HandshakeError, ServerReply, choose_limits, client_capabilities, offers_mechanism};
pub use server::{ClientRequest, ServerHandshake};
