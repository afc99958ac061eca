//! The data path: queues under locks, and everything that moves messages into them, out of them and between them.
//!
//! ```text
//!   publishes, acks ─► Batch ─► Section (locks of shards) ─► put ─► queue ─► dispatch ─► commit: journal, Outbox ─► finish
//!                                   ▲                                                          │
//!                                   └──── transfer: dead letters, delayed messages, moves ◄────┘
//! ```
//!
//! - `engine`: what the path shares. `section`, `work`: a locked section, and what it gathers. `batch`, `put`, `publish`, `targets`:
//!   messages
//!   on their way in. `dispatch`, `watermark`, `outbox`, `gate`, `grants`: on their way out. `transfer`: from one place to others.
//! - `shard`: queues and their locks. `queue_handle`, `queue_ids`, `features`, `durability`: what is known of a queue. `held`,
//!   `chunks`, `grouping`: a message in a queue, and its bytes. `lane`: the order that it came in.
//! - `dead_letters`, `delayed`, `deduplication`: what queues and exchanges do besides.
//! - `residents`: the store's questions. `pending_reads`: reads that operators wait for. `timers`, `clock`, `maintenance`: time.
//!   `statistics`: counts. `probe`, `timing`: messages that are timed on their way. `effort`: what takes the processors' time.
//!   `watchers`: what watches any of it.
//! - `position`: where something is in the journals of stores, and how far these are. `engine` alone knows the stores' own positions.
//! - `router`: what the engine asks the topology. `tap`, `notes`: what happens to messages, reported to those that watch.
//!
//! Deliberately absent: exchanges and bindings, vhosts, connections and sessions, users and permissions, and what operators are shown. The
//! engine knows them by [`router::Router`] and by [`outbox::Outbox`] alone.

mod abort;
pub mod batch;
pub mod chunks;
pub mod clock;
mod dead_letters;
pub mod deduplication;
pub mod delayed;
mod dispatch;
mod durability;
pub mod effort;
mod engine;
pub mod features;
pub mod gate;
pub mod grants;
mod grouping;
pub mod lane;
mod limits;
pub mod maintenance;
mod notes;
pub mod outbox;
pub mod pause;
pub mod pending_reads;
pub mod position;
pub mod probe;
pub mod publish;
mod put;
pub mod queue_handle;
pub mod queue_ids;
pub mod queued_message;
pub mod residents;
pub mod router;
pub mod section;
pub mod shard;
mod shard_number;
pub mod statistics;
pub mod tap;
pub mod targets;
pub mod timers;
mod timing;
mod trace_points;
pub mod transfer;
pub mod watchers;
pub mod watermark;
pub mod work;

pub use engine::{Engine, JOURNAL, Options};
pub use limits::{BATCH_COUNT, PROBE_COUNT, WATCHED_QUEUE_COUNT_MAX};
pub use position::{Position, Positions};
pub use shard_number::shard_of;
pub use trace_points::TRACE_POINTS;
