//! Links between nodes, and how nodes come to be a cluster.

#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod control;
mod driver;
mod fake_control;
mod formation;
mod frames;
mod handshake;
mod no_queues;
mod node_task;
mod nodes;
mod peers;
mod plan;
mod roster;
mod troubles;
