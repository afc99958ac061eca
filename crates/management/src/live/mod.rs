//! What happens, sent while it happens: server-sent events at `/api/live`.
//!
//! ```text
//!  events of the broker ─► subscription (bounded) ─┐
//!  a timer ─► counters ────────────────────────────┴─► feed ─► body, as far as the socket takes it
//! ```
//!
//! - `feed_request`: what a request asks for. `places`: how many there may be, and whose.
//!   `viewer`: what its user may see, checked again and again.
//! - `numbers`, `changes`: what is sent, `watched_connections` of which connections. `feed`: when it is sent.
//!
//! A feed is made as it is read: one that is not read makes nothing, holds nothing but what its subscription keeps, and learns afterwards
//! how much it has missed.

mod changes;
mod feed;
mod feed_request;
mod feeds;
mod numbers;
mod places;
mod viewer;
mod watched_connections;

pub(crate) use feed::Feed;
pub(crate) use feed_request::FeedRequest;
pub(crate) use feeds::Feeds;
pub(crate) use places::{FeedSlot, Watcher};
pub(crate) use viewer::{LostRight, Viewer};
