//! Methods: what a peer asks for or answers.
//!
//! ```text
//!  | class_id u16 | method_id u16 | arguments … |
//! ```
//!
//! The modules `connection`, `channel`, … hold one struct for each method, [`Method`] is any of them. Short and long
//! strings are bytes; those that RabbitMQ wants to be UTF-8 (names in methods without content) have been checked to be.
//! Arguments that no longer mean anything, such as `ticket`, are kept as they came.

pub use crate::generated::method::Method;
pub use crate::generated::{access, basic, channel, confirm, connection, exchange, queue, tx};
pub use crate::method_codec::{DecodeError, EncodeMethod};
use crate::wire::Reader;

/// The payload of a method frame, if it is a well-formed `basic.publish`: the method that comes most often, without a look at what
/// others it might be.
#[inline]
#[must_use]
pub fn decode_publish(payload: &[u8]) -> Option<basic::Publish<'_>> {
    let (&[0, 60, 0, 40], arguments) = payload.split_first_chunk::<4>()? else { return None };
    let mut reader = Reader::new(arguments);
    let publish = basic::Publish::decode(&mut reader).ok()?;
    reader.close().ok()?;
    Some(publish)
}
