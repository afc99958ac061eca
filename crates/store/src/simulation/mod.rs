//! A small broker over the real queues, and what it should find at any position of the journal: for tests that decide the order of
//! everything, here and in the crate that drives consensus.

mod broker;
mod check;
mod held;
mod history;
mod seeds;

pub use broker::{Broker, Legacy, Seen};
pub use check::check;
#[cfg(test)]
pub(crate) use check::read_ranges;
#[cfg(test)]
pub(crate) use held::{Held, Open, body_len_of, content_of, number_of};
#[cfg(test)]
pub(crate) use history::Event;
pub use history::{DurableQueue, DurableState, History, MessageNumber};
pub use seeds::for_each_seed;
