//! The members of a group in one process, step by step and all by one seed: simulated disks, a simulated network, and clocks of different
//! rates. For tests, here and in other crates: they decide what happens to which node, and own what is done with the store of a member
//! that leads.

mod fetch;
mod group;
mod network;
mod node;
mod weather;

pub use consensus::Term;
pub use fetch::Fetch;
#[cfg(test)]
pub(crate) use group::dir;
pub use group::{Group, Seen};
pub use network::{Network, Wire};
pub use node::{Hang, Node};
