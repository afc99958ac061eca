//! The crate from outside, over sockets of 127.0.0.1 and files of its own making.

#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod authority;
mod proxy_protocol;
mod tls_client;
mod tls_server;
mod websocket;
