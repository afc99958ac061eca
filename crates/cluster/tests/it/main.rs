//! Links between nodes: their bytes, and their sockets.

#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod frames;
mod handshake;
mod links;
mod nodes;
