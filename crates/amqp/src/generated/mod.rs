//! Written by `examples/generate` from `protocol/amqp0-9-1.txt`. Change that, not this.

pub mod access;
pub mod basic;
pub mod channel;
pub mod confirm;
pub mod connection;
pub mod exchange;
pub(crate) mod method;
pub(crate) mod properties;
pub mod queue;
pub mod tx;
