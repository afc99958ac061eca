//! What raft-rs asks of the crate `protobuf`, and no more: three methods and an error.
//!
//! The engine's structs never leave the process: the wire format between nodes is `consensus`'s own. The true crate would be an advisory
//! about decoding (RUSTSEC-2024-0437), generated code, and a `protoc` that its build runs.

use std::fmt;

/// A struct of the engine that has a length and may have to become bytes.
pub trait Message: Default {
    /// What it counts as where the engine bounds a message.
    fn compute_size(&self) -> u32;

    /// It as bytes, which stay in an entry in memory.
    fn write_to_bytes(&self) -> Result<Vec<u8>, ProtobufError>;

    /// Becomes what `write_to_bytes` wrote; what no bytes become is the default.
    fn merge_from_bytes(&mut self, bytes: &[u8]) -> Result<(), ProtobufError>;
}

/// The bytes are not of such a struct.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProtobufError;

impl fmt::Display for ProtobufError {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("not the bytes of a change of members")
    }
}

impl std::error::Error for ProtobufError {}
