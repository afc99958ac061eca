//! The wire: AMQP 0-9-1 as RabbitMQ speaks it. Bytes in, values out, and back.
//!
//! ```text
//!  frame     where one frame ends and the next begins; writing of frames
//!  method    the payload of a method frame: every method of AMQP 0-9-1 and of RabbitMQ's extensions
//!  content   the payload of a header frame: body length and properties; cutting a body into frames
//!  table     field tables: headers and arguments
//!  reply     reply codes and texts
//!  uri       where a broker is, and as which user: amqp[s]://user:password@host:port/vhost
//!  sasl      users and passwords in logins
//!  handshake from the protocol header to connection.open-ok, both sides
//!  server    what a server checks of frames, and what it says about them
//!  limits    every bound of the above
//! ```
//!
//! Values borrow from the input; nothing is copied or allocated to decode. Everything that a peer can send is either a
//! value or an error, never a panic. Both directions of every method are here, since the broker and the client use the
//! same codec.
//!
//! Not here: sockets and buffers (`net`), and what any method means (`broker`).
//!
//! `generated/` is written by `examples/generate` from `protocol/amqp0-9-1.txt`; a test keeps them together.

pub mod content;
pub mod frame;
mod generated;
pub mod handshake;
pub mod limits;
pub mod method;
mod method_codec;
pub mod reply;
pub mod sasl;
pub mod server;
pub mod table;
pub mod uri;
mod wire;

pub use content::{ContentHeader, Properties};
pub use frame::{Frame, FrameKind};
pub use method::{Method, access, basic, channel, confirm, connection, exchange, queue, tx};
pub use reply::ReplyCode;
pub use table::{Array, ArrayBuf, Table, TableBuf, Value};
pub use uri::Uri;
pub use wire::Malformed;
