//! What makes nodes a cluster. So far: the links between them.
//!
//! - [`link`]: what travels on a link, without I/O: the handshake, the frames of each lane, what is refused and in which words.
//!
//! Knows no store and no broker: what a node does with what arrives is its handler's matter.

pub mod link;
