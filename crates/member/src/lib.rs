//! A member of a group: a data directory of which a majority of nodes has the same, commit by commit.
//!
//! ```text
//!             Following                            Leading                              Lost
//!  journal ◄─ commits of the leader     journal ◄─ store ◄─ the node's broker     the store fails, and is dropped
//!  files   ◄─ fetched from the leader   engine  ◄─ its writer, commit by commit   then Following again
//! ```
//!
//! The group's log is the journal: an entry is a commit. [`Member`] owns the engine and does what that wants: it writes ballots, hands
//! commits to the journal, sends messages with the commits that they name. The journal's writer asks it for a place in the log before it
//! writes a commit, and reports what is on disk; the network hands it messages; a clock ticks. All of these may call at once: the engine
//! is behind one lock (`core`), under which nothing waits: what takes a disk, beside the journal, is `disk_work`.
//!
//! A follower has no queues: a journal and files. So a member that is elected opens a store as at any start, and one that no longer leads
//! drops it. Opening, closing, cutting off what was not committed, and beginning with shipped files are all one thing:
//! the journal is closed, its directory is changed by one durable step, and it is opened again (`rebuild`).
//!
//! At every moment the directory is one that an ordinary start opens: [`store::group`] sees to that. No file is opened here.

mod core;
mod disk_job;
mod error;
mod found_entry;
mod member;
mod notices;
mod options;
mod outgoing;
#[cfg(any(test, feature = "simulation"))]
pub mod simulation;
mod tail;
#[cfg(test)]
mod tests;
mod timings;
mod trace_points;
mod transport;
mod wanted_ballots;

pub use error::MemberError;
pub use member::{Installed, Member};
pub use notices::Situation;
pub use options::Options;
pub use timings::Timings;
pub use trace_points::TRACE_POINTS;
pub use transport::Transport;
