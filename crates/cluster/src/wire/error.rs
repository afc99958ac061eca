//! Bytes that are no frame.

use thiserror::Error;

/// The bytes are not valid from a node: the caller closes the connection.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum FrameError {
    /// It ends too early.
    #[error("a frame is cut off")]
    Short,
    /// More bytes follow it.
    #[error("a frame is followed by something else")]
    Long,
    /// It says to be longer than frames of this lane are.
    #[error("a frame of {len} bytes, where {max} are allowed")]
    TooLong {
        /// What it says.
        len: u32,
        /// The limit of its lane.
        max: u32,
    },
    /// It was changed on its way.
    #[error("a frame whose checksum is wrong")]
    Checksum,
    /// It says what no node says.
    #[error("a frame with an impossible {0}")]
    Impossible(&'static str),
    /// The message in it is not valid.
    #[error("a frame with a broken message: {0}")]
    Message(#[from] consensus::DecodeError),
}
