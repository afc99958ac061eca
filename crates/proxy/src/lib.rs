//! The pooling proxy: many short-lived clients in front, a few long-lived connections behind.
//!
//! ```text
//!  switchboard   clients, upstream connections and pools: which client may use which upstream channel, and what becomes of every frame.
//!                No I/O, no clock: bytes in, bytes out, and upstream connections that it wants to have dialled
//!  balance       upstreams: which of them an upstream connection is dialled to, which are down, which drain. No I/O, no clock
//!  guard         which clients may come in, and how much they may send. No I/O, no clock
//!  spool         what publishers said while an upstream was away, on disk
//!  service       threads, sockets and timers around them
//!  config        what operators say, in files, variables and options, AMQProxy's included: parsed and checked, without I/O
//!  limits        numbers that no key sets
//! ```
//!
//! A *client* is a connection that was accepted, a *upstream connection* one that was dialled, an *upstream* a broker that upstream
//! connections lead to. Clients of one login and vhost share the upstream connections of a *pool*; one that does what could harm its
//! neighbours gets an upstream connection of its own first.
//!
//! Not here: what a broker does. The proxy knows the wire and nothing of queues.

pub mod balance;
pub mod config;
pub mod guard;
mod limits;
pub mod service;
pub mod spool;
pub mod switchboard;
