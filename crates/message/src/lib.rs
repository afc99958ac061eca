//! A message as it lies in chunks, the journal and segments, and what the broker reads of it, whatever protocol it was published by.
//!
//! [`Parts`] is the layout of a whole content. The properties and headers in it are a [`Header`]: bytes in the [`Format`] of the
//! protocol that the message was published by, kept as they came, so that a delivery over the same protocol copies them. What decides
//! about messages reads a [`View`] of them, which is the same for all formats; a session of another protocol asks for its own encoding
//! ([`Header::to_amqp091`]).
//!
//! Absent: I/O, routing, and anything about queues. [`queue::Counts`] is here because a dead letter carries it along.

mod format;
mod header;
mod layout;
mod patch;
mod view;

pub use format::Format;
pub use header::{Header, HeaderBuf};
pub use layout::{History, Parts, StoredContent, address_of, kept};
pub use patch::Patch;
pub use view::View;
