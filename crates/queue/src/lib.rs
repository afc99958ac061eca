//! One queue's state machine: what is ready, what is unacked, which consumer gets the next message.
//!
//! A [`Queue`] takes facts (published, settled, loaded) and appends what follows from them to vectors that the caller
//! owns and reuses. It never blocks and never fails. It knows messages by a small handle `M` and consumers by a [`Gate`].
//!
//! ```text
//!            publish                                                 ack
//!               │                                                        ▲
//!               ▼                                                        │
//!   ready: for each priority two lanes (journaled, transient)        unacked ── reject ──┐
//!          ┌──────────┬────────┬─────────────────────┬──────┐            │                │
//!          │ returned │ loaded │ paged (in segments) │ fifo │ ─ dispatch ┴─► deliveries   │
//!          └──────────┴────────┴─────────────────────┴──────┘   get                       ▼
//!               ▲                    ▲                   │ └─── expired, beyond ───► dropped: lost, or set aside
//!            requeue ─ set aside     └──── relocate ─────┘      a limit                  until it is elsewhere
//!                      for a while
//! ```
//!
//! - `queue`: the state machine itself; `dropping`: what the queue drops; `returning`: what comes back; `taking`: what is taken out of the
//!   middle, `looking`: what is only looked at; `purge`: when all is to be removed, `purged_messages`: what was; `spill`: its messages' way
//!   to segments and from one segment to another.
//! - `ready`: what is ready, by priority; `lane`, `fifo`, `ranges`: of one priority. `unacked`: what has been handed out; `set_aside`: what
//!   is neither. `consumers`: whose turn it is; `credit`: how many messages a consumer may be handed; `grants`: credit that is granted, and
//!   drained; `holding`: which consumers hold messages for too long.
//! - `groups`: which consumer may get which ready message, where messages of a group stay with one consumer.
//! - `rules`, `expiry`: what the queue is asked to do. `effects`: what follows. `limits`: every number.
//! - `delays`: messages that wait until they are due, which are in no queue yet: a state machine of its own.
//! - `keys`: what distinguishes messages, where duplicates are dropped: another one.
//!
//! **A message is redelivered** if its seq is at or below the highest one of its priority ever handed out: dispatch takes the lowest seq
//! first, so no message needs a flag, in memory or on disk. Where groups let later ones overtake, those overtaken are listed.
//!
//! **Memory is flat.** A backlog in segments is a list of ranges, not of messages; a drained queue gives its buffers back. Nor
//! does a queue without rules, priorities or times to live pay for those.
//!
//! Deliberately absent: clocks, files, sockets, locks, the queue's name, what a delivery or a tag looks like on the wire, and where dropped
//! messages are sent. A replicated queue's commit mark will be an upper bound for the front.

mod browse;
mod consumer_timeout;
mod consumers;
mod credit;
mod delays;
mod effects;
mod expiry;
mod fifo;
mod grants;
mod groups;
mod keys;
mod lane;
mod limits;
mod limits_and_expiry;
mod memory;
mod message;
mod purge;
mod purged_messages;
mod queue;
mod ranges;
mod ready;
mod remove;
mod requeue;
mod rules;
mod set_aside;
mod spill;
mod tree_len;
mod unacked;

pub use browse::{Look, LookFailure, LookOutcome, Position, SeenMessage};
pub use consumers::{ConsumeError, Consumer, ConsumerId, ConsumerView, DrainedCredit, Gate};
pub use credit::{Credit, Grant};
pub use delays::{
    Ask, Cancel, DelayId, Delays, Find, LoadOutcome, Page, PageNumber, Progress, PurgedDelays, RestoredGeneration,
    SearchEnd, SearchOutcome, SettledDelays,
};
pub use effects::{Counts, Delivery, DropReason, DroppedMessage, Effects, ReturnedMessage};
pub use expiry::TtlHistory;
pub use keys::{KeyRules, Keys, KnownKey, MessageKey, RememberedKey};
pub use lane::Load;
pub use message::{Message, MovedMessage, PlacedMessage};
pub use purged_messages::PurgedMessages;
pub use queue::{FetchedMessage, Get, Queue, RestoredQueue, Settings};
pub use ranges::PagedRange;
pub use remove::Take;
pub use rules::{Return, Rules};
