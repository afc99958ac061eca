//! Every number a reviewer would ask about.

use crate::wire::preamble::Versions;

/// The versions of the link that this program speaks.
pub const VERSIONS: Versions = Versions { lowest: 1, highest: 1 };
/// Bytes of a node's name.
pub const NODE_NAME_LEN_MAX: usize = 255;
/// Bytes of a frame of the handshake, its length apart.
pub const HANDSHAKE_FRAME_LEN_MAX: usize = 1024;

/// Bytes of a frame with heartbeats, votes and the like.
pub const VOTES_FRAME_LEN_MAX: u32 = 64 << 10;
/// Bytes of a frame with entries: one entry may be as long as a transaction of the largest messages. Memory is taken as bytes arrive.
pub const COMMITS_FRAME_LEN_MAX: u32 = u32::MAX - 1;
/// Bytes of a piece of a file.
pub const FILE_PIECE_LEN_MAX: usize = 256 << 10;
/// Bytes of a frame of the lane of files.
pub const FILES_FRAME_LEN_MAX: u32 = FILE_PIECE_LEN_MAX as u32 + 64;
/// Bytes of what a call brings, or of its answer.
pub const CALL_LEN_MAX: usize = 8 << 20;
/// Bytes of a call's name.
pub const CALL_NAME_LEN_MAX: usize = 64;
/// Bytes of a frame of the lane of calls.
pub const CALLS_FRAME_LEN_MAX: u32 = CALL_LEN_MAX as u32 + 128;
/// Bytes of the header before a client's stream: certificates have many names.
pub const FORWARD_FRAME_LEN_MAX: u32 = 64 << 10;
/// Names of a certificate that are passed on.
pub const CERTIFICATE_NAMES_MAX: usize = 100;
/// Bytes of a text of a certificate that is passed on.
pub const CERTIFICATE_TEXT_LEN_MAX: usize = 4096;
