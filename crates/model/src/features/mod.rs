//! What arguments, policies and the type of a queue or an exchange come to: values that the broker acts upon.
//!
//! Where an argument and a policy set the same number, the smaller one counts. Where they set anything else, the argument
//! counts, except for what is said at [`QueueFeatures::of`]. All of it is read anew whenever a policy changes; two that are
//! equal ask for the same.
//!
//! Deliberately absent: whether what is asked for is allowed. Arguments and policies are checked when they are set; what
//! is here ignores a value that makes no sense, as RabbitMQ does with one that was stored before it was checked.

mod deduplication;
mod exchange;
mod queue;
mod retry;
mod settings;

pub use deduplication::Deduplication;
pub use exchange::{DelayedType, ExchangeFeatures, Sharding};
pub use queue::{DeadLetter, QueueFeatures};
pub use retry::{BackOff, DelayedRetry, RetryOf};
