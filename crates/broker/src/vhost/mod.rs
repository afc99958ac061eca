//! A vhost: its exchanges, bindings and queues by name, and their changes.
//!
//! Readers route under a read lock, and only when no cache knows the answer; changes take the write lock, change the
//! values, and append to the journal before they let go, so the journal has them in the order in which they happened.
//! Lock order: topology, then sets of delayed messages, then shards, then the journal.
//!
//! - `topology`: what a vhost is and has. `by_name`, `sharded_exchanges`: parts of that.
//! - `exchanges`, `bindings`, `queues`: how they are declared, bound and deleted. `removal`: what is deleted with them.
//! - `federated`: what policies have fed by other brokers. `followed_bindings`: which followers get bindings as they change.
//! - `parameters`: what is kept for shovels and federation.
//! - `policies`: what policies, types and arguments have queues and exchanges do. `policy_pass`: how changed ones come to
//!   them. `routes`: a message's route.

mod bindings;
mod by_name;
mod exchanges;
mod federated;
mod followed_bindings;
mod parameters;
mod policies;
mod policy_pass;
mod queues;
mod removal;
mod routes;
mod sharded_exchanges;
mod topology;

pub(crate) use bindings::BindingsOf;
pub use federated::Federated;
pub(crate) use parameters::PutParameter;
pub(crate) use policy_pass::PolicyPass;
pub(crate) use queues::{Declared, DeleteConditions, Deletion, settings_of};
pub(crate) use removal::Removal;
pub(crate) use sharded_exchanges::InForce;
pub(crate) use topology::Vhost;
