//! What the generated methods have in common: how they are written, and why a payload is none of them.

use crate::wire::Malformed;

/// Something that can be the payload of a method frame: a [`Method`](crate::Method), or one method's struct.
pub trait EncodeMethod {
    /// Appends class id, method id and arguments.
    fn encode_method(&self, out: &mut Vec<u8>);
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
