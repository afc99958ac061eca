//! Messages that wait at an exchange until they are due.
//!
//! An exchange delays if its type is `x-delayed-message` or a policy sets it. Routing ends there for a message whose header `x-delay` is
//! above zero: it is put into the exchange's [`DelaySet`], and comes out of it into queues when its time has come, by the bindings of then.
//!
//! ```text
//!   publish ─► route: set, not queues ─► batch ─► lock of the set ─► Delays::insert ─► journal ─► confirm
//!                                                        ⋮
//!   timer ─► lock of the set: Delays::release ─► route, write the content anew (no lock)
//!            ─► locks of the set and of the queues' shards: settle there, publish here, one batch of the journal
//! ```
//!
//! So a message is never nowhere, nor twice: what a crash finds in its set is released once more. The sets' locks are taken before those of
//! shards, in the order of the sets' numbers.
//!
//! - `set`: a [`DelaySet`] and its lock. `registry`: whose a generation is. `header`: what `x-delay` says. `definition`: what is durable
//!   of a set besides its messages. `release`: the way out. `residents`: the store's questions. `pace`: the most that are released in a
//!   second. `flow`: publishers that are too fast. `changes`: what comes in and leaves. `operators`: finding, listing, cancelling;
//!   `waiters`: operators that wait for that.
//!
//! Deliberately absent: the order in which messages are due, and what of them is in memory; see [`queue::Delays`].

mod changes;
pub mod definition;
mod flow;
pub mod header;
pub mod operators;

mod pace;
mod registry;
pub mod release;
pub mod residents;
mod set;
mod waiters;

pub use registry::DelaySets;
pub use set::{Delay, DelaySet, LockedSets};
