//! Messages that are dropped because another of the same key is there, or was.
//!
//! A queue or an exchange that drops duplicates has a [`KeySet`]: of a queue it lies in its entry, of an exchange in a shard of its own
//! choice, so that a batch locks it like a queue. Whether a message is a duplicate is decided where it is put into its queues
//! ([`crate::batch::put`]), under their locks.
//!
//! ```text
//!   publish ─► route: which headers hold keys ─► batch: keys are made ─► locks of shards
//!                ─► known at the exchange? ─► known in a queue? ─► queue ─► journal: message and keys in one batch
//! ```
//!
//! **A key never outlives its message**, or a publisher that publishes that again would lose it. So a key is recorded with the message that
//! it stands for, only if that is journaled, and only if no queue has refused it; and one of a message that waits is deleted in the batch
//! in which that leaves.
//!
//! **A duplicate is confirmed when its original is durable**: where the journal ends when it comes. A persistent message is no duplicate of
//! a transient one, which a crash would take with it.
//!
//! - `key`: what is hashed. `definition`: records. `set`: a [`KeySet`]. `exchange_keys`, `exchange`: those of an exchange. `key_work`:
//!   what a section gathers. `checks`: what a locked section
//!   does with them. `recovery`: the way back.
//!
//! Deliberately absent: the order of keys and how long they are known; see [`queue::Keys`].

mod checks;
mod definition;
mod exchange;
mod exchange_keys;
mod key;
mod key_work;
pub mod recovery;
mod set;

pub(crate) use checks::key_set_of;
pub use exchange_keys::ExchangeKeys;
pub use key::MessageKeys;
pub use key_work::KeyWork;
pub use set::{KeySet, Site};
