//! The client against brokers that follow a script, over real sockets.

#![allow(clippy::unwrap_used)]

mod handshake;
mod scripted;
mod traffic;
