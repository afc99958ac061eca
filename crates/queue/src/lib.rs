//! One queue's state machine: what is ready, what is unacked, who gets the next message.
//!
//! A [`Queue`] takes facts (published, settled, loaded) and appends what follows from them to vectors that the caller
//! owns and reuses. It never blocks and never fails. It knows messages by a small handle `M` and consumers by a [`Gate`].
//!
//! ```text
//!            publish                                                 ack, reject
//!               │                                                        ▲
//!               ▼                                                        │
//!   ready: two lanes (journalled, transient), lowest seq first       unacked
//!          ┌──────────┬────────┬─────────────────────┬──────┐            │
//!          │ returned │ loaded │ paged (in segments) │ fifo │ ─ dispatch ┴─► deliveries
//!          └──────────┴────────┴─────────────────────┴──────┘   get
//!               ▲                    ▲                   │
//!            requeue                 └──── relocate ─────┘
//! ```
//!
//! - `queue`: the state machine itself; `spill`: its messages' way to segments and from one segment to another.
//! - `consumers`: whose turn it is. `unacked`: what has been handed out. `lane`, `fifo`, `ranges`: what is ready.
//! - `limits`: every number.
//! - `delays`: messages that wait until they are due, which are in no queue yet: a state machine of its own.
//!
//! **A message is redelivered** if its seq is at or below the highest one ever handed out: dispatch takes the lowest seq
//! first, so no message needs a flag, in memory or on disk.
//!
//! **Memory is flat.** A backlog in segments is a list of ranges, not of messages; a drained queue gives its buffers back.
//!
//! Deliberately absent: clocks, files, sockets, locks, the queue's name, and what a delivery or a tag looks like on the wire.
//! Message priorities will be more pairs of lanes (each with its own mark of what was handed out), TTL and length limits
//! will take the head off a lane as `get` does, delivery counts will be kept beside the returned messages, a replicated
//! queue's commit mark will be an upper bound for the head.

mod consumers;
mod delays;
mod fifo;
mod lane;
mod limits;
mod message;
mod queue;
mod ranges;
mod spill;
mod unacked;

pub use consumers::{ConsumeError, Consumer, ConsumerId, ConsumerView, Gate};
pub use delays::{
    Answered, Ask, Cancel, DelayId, Delays, Find, Found, Page, PageNumber, Progress, PurgedDelays, RestoredGeneration,
    SettledDelays, Sought,
};
pub use lane::Load;
pub use message::{Message, Moved, Placed};
pub use queue::{Delivery, Get, Got, Purged, Queue, Restored, Settings};
pub use ranges::PagedRange;
