//! Policies: what an operator sets for all queues and exchanges whose names match.
//!
//! Of each kind (users' and operators') the one with the highest priority counts; the two are merged. Texts of refusals are
//! RabbitMQ's.

mod apply_to;
mod change;
mod definition;
mod effective;
mod keys;
mod kind;
mod ranking;
mod rule;

pub use apply_to::{ApplyTo, Target};
pub use change::{ChangedPolicies, PolicyChange};
pub use definition::{PolicyDefinition, PolicyError};
pub use effective::EffectivePolicy;
pub(crate) use keys::SHARDS_PER_NODE_MAX;
pub use keys::without_effect;
pub use kind::PolicyKind;
pub use ranking::PolicyRanking;
pub use rule::Policy;

#[cfg(test)]
mod tests;
