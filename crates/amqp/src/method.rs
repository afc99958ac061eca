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
use crate::wire::{Malformed, Reader};

/// Something that can be the payload of a method frame: a [`Method`], or one method's struct.
pub trait EncodeMethod {
    /// Appends class id, method id and arguments.
    fn encode_method(&self, out: &mut Vec<u8>);
}

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

/// Why a payload is no method.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// No class or method with these ids.
    #[error("unknown method {method_id} of class {class_id}")]
    Unknown {
        /// As sent by the peer.
        class_id: u16,
        /// As sent by the peer.
        method_id: u16,
    },
    /// A known method (or no room even for ids, then both are 0) with arguments that cannot be read.
    #[error("method {method_id} of class {class_id}: {reason}")]
    Malformed {
        /// As sent by the peer.
        class_id: u16,
        /// As sent by the peer.
        method_id: u16,
        /// What is wrong with the arguments.
        reason: Malformed,
    },
}

impl DecodeError {
    /// The class id as sent by the peer, for the close method.
    #[must_use]
    pub fn class_id(&self) -> u16 {
        match *self {
            Self::Unknown { class_id, .. } | Self::Malformed { class_id, .. } => class_id,
        }
    }

    /// The method id as sent by the peer, for the close method.
    #[must_use]
    pub fn method_id(&self) -> u16 {
        match *self {
            Self::Unknown { method_id, .. } | Self::Malformed { method_id, .. } => method_id,
        }
    }
}
