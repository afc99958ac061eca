//! What can be seen of a running broker, as far as plain numbers go: counters and gauges that sit beside the thing they
//! count.
//!
//! A counter is one relaxed atomic. Whoever makes a thing happen counts it, in batches where it works in batches; whoever
//! shows it reads it without a lock. There is no registry, no name and no text here: the owner of a counter knows what it
//! is called.

mod counter;

pub use counter::{Counter, Gauge};
