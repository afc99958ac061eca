//! An AMQP 0-9-1 client made for throughput: for the load generator, the proxy's upstream side, shovels and tests.
//!
//! ```text
//!  options      how a connection is opened
//!  handshake    from the protocol header to connection.open-ok          ─┐ no I/O: bytes in, values out,
//!  session      an open connection: frames in, events out; methods out  ─┘ and back
//!  content      what a message carries
//!  connection   the socket around them, heartbeats, calls that wait for their answer
//!  unconfirmed  publishes that wait for their confirm
//!  back_off     how long to wait before connecting again
//! ```
//!
//! A [`Connection`] has no task, no lock and no channel of its own: it belongs to the task that uses it, which publishes
//! and acknowledges into a buffer as much as it likes and then waits for the socket once ([`Connection::turn`]). All that
//! one read brought is handed out as [`Event`]s that borrow from the input buffer. Channels are numbers; one connection
//! carries as many as the broker permits, and requests on them need not wait for each other's answers.
//!
//! Not here: pools of connections, and what to declare again after a connection was lost; its owner knows that.

mod back_off;
mod buffers;
mod connection;
mod content;
mod error;
mod handshake;
mod options;
mod session;
mod unconfirmed;

pub use amqp::uri::{Uri, UriError, without_passwords};
pub use back_off::BackOff;
pub use connection::{Answer, Connection, Turn};
pub use content::Content;
pub use error::{CallError, Closed, OpenError};
pub use options::{ConnectOptions, Credentials, Mechanism};
pub use session::{Event, Route, Server, Session, Tune};
pub use unconfirmed::Unconfirmed;
