//! Nodes with real disks and sockets, in one process: how they become a cluster, and what operators make of it. What they serve is a store
//! without queues.

mod forming;
mod lives;
mod operators;
mod world;
