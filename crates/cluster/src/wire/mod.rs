//! A link between two nodes, as bytes: no socket, no clock, no random numbers.
//!
//! ```text
//!  dialling node                                     accepting node
//!    preamble: versions, a nonce ────────────────►
//!        ◄──────────────────────────────────────── preamble: versions, a nonce
//!    proof of the secret ────────────────────────►
//!        ◄──────────────────────────────────────── hello: cluster, name, member, … with a proof over it
//!    hello, with a proof over both ──────────────►
//!        ◄──────────────────────────────────────── welcome
//!    frames of the lane ◄────────────────────────►
//! ```
//!
//! Either side may send a refusal in place of its next step, and closes. Before a side has proved that it has the secret it learns versions
//! and a random number, and nothing else.
//!
//! - [`Dialler`], [`Acceptor`] (`handshake`): the two sides; `preamble`: the first bytes, and what they are if they are not ours;
//!   `proof`: the secret; `hello`: a node's identity; [`Refusal`]: why not, with the sentence that both sides say.
//! - [`FrameReader`], [`OutgoingFrame`], [`FrameWriter`] (`frame`): frames with a length and a checksum, which carry: `replicated`,
//!   messages of members with the contents of entries; `calls`; `files`; `forward`, the header of a client's stream.
//! - [`Lane`]: each is a connection of its own, so that what is small and urgent never stands behind what is large.
//! - `limits`: every number.
//!
//! All numbers are little-endian. Layouts are at the top of the modules that own them.

mod calls;
mod error;
mod files;
mod forward;
mod frame;
mod handshake;
mod hello;
mod lane;
mod limits;
mod preamble;
mod proof;
pub(crate) mod reader;
mod refusal;
mod replicated;

pub use calls::CallFrame;
pub use error::FrameError;
pub use files::{FileFrame, FileName, FileRequest};
pub use forward::{ForwardHeader, ListenerKind};
pub use frame::{FrameReader, FrameWriter, OutgoingFrame, Payload};
pub use handshake::{Acceptor, Agreement, Dialler, ExpectedPeer, HandshakeError, Local, Progress, Recognition};
pub use hello::{ClusterId, Hello, Identity, NodeName};
pub use lane::Lane;
pub use limits::*;
pub use preamble::{ForeignProtocol, NONCE_LEN, PREAMBLE_LEN, Versions};
pub use proof::Secret;
pub use refusal::Refusal;
pub use replicated::{EntryBytes, EntryToSend, encode_replicated, replicated};
