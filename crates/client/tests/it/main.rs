//! The client against brokers that follow a script, over real sockets.

mod handshake;
mod scripted;
mod traffic;
