//! Keys of messages that were taken in: a message that comes with one of them is a duplicate. The third state machine of this crate.
//!
//! A queue or an exchange that drops duplicates has one [`Keys`]. Each message that is taken in gets a *number* there, which rises: in a
//! queue its seq. Its key is known
//!
//! - **while it waits**: until the caller reports with [`Keys::free`] that the message has left, or
//! - **for a while**: until it has expired, whatever has become of the message,
//!
//! and in both cases only while it is among the last so many: the oldest is forgotten first.
//!
//! ```text
//!   by_key     key → number, when it expires, whether it is journaled   a duplicate is found by one look
//!   by_number  number → key, the oldest first                         what is too old, too much, or has left
//! ```
//!
//! Expired keys count as unknown at once, and are removed when they are the oldest. One behind an older key that lives longer keeps its
//! place until then, or until it comes again; that has no effect.
//!
//! A key that is *journaled* has a record. The caller gets the numbers of those that are forgotten, to remove it.
//!
//! Deliberately absent: clocks, what a key is made from, records, and which message it was.

mod hashing;
mod set;

pub use set::{KeyRules, Keys, KnownKey, MessageKey, RememberedKey};
