//! Messages that wait until they are due: the other state machine of this crate.
//!
//! A set of waiting messages is ordered by due time. So that the store treats it as it treats a queue, a message's *seq says when it
//! is due*:
//!
//! ```text
//!  QueueSeq | due: milliseconds since 2020, 42 bits | arrival: 22 bits |
//! ```
//!
//! Journal records, settlements, segments whose ranges rise by seq, bitmaps, checkpoints, compaction and recovery work
//! unchanged. Arrivals are counted within a **generation**, which has a [`QueueId`](model::ids::QueueId) of its own; when four million
//! have arrived, or
//! after a restart or a purge, the next generation begins. A set is all of its generations, merged by due time, and among equals in
//! the order of arrival. A generation in which nothing waits any longer, and in which nothing will, is reported as ended.
//!
//! ```text
//!   insert                                                     settle
//!     │                                                          ▲
//!     ▼                                                          │
//!   calendar: in memory, by due time ───── release ────────► released
//!     │   ▲                                    │
//!     │   └── loaded (soon due) ◄── runs ◄─────┼── put_back
//!     └────── relocate (any) ────────►         └─► caller: journals it, puts it into its queues
//! ```
//!
//! - `set`: [`Delays`], its inserts and releases. `ahead`: what is read before it is due. `loading`: loads and their answers. `seek`:
//!   finding and cancelling one message. `paging`: listing. `spill`: the way to segments and between them.
//! - `key`: ids and due times. `calendar`: what is in memory. `runs`: what lies in segments. `released_messages`: what is released and not
//!   settled. `generations`: ids and their counts.
//! - `limits`: every number.
//!
//! **Memory is flat.** What lies in segments is a list of runs of slots, each with a lower bound of when its first message is
//! due. Only what is due within seconds is read ahead, and of many runs no more than there is room for.
//!
//! Deliberately absent: clocks (the caller says what time it is), files, the exchange that the messages were published to,
//! and where they go.

mod ahead;
mod calendar;
mod generations;
mod key;
mod limits;
mod loading;
mod paging;
mod released_messages;
mod runs;
mod seek;
mod set;
mod spill;

pub use key::DelayId;
pub use loading::{Ask, LoadOutcome};
pub use paging::{Page, PageNumber};
pub use seek::{Cancel, Find, SearchEnd, SearchOutcome};
pub use set::{Delays, Progress, PurgedDelays, RestoredGeneration, SettledDelays};
