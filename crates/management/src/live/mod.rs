//! What goes on, told while it goes on: server-sent events at `/api/live`.
//!
//! ```text
//!  events of the broker ─► subscription (bounded) ─┐
//!  a timer ─► counters ────────────────────────────┴─► feed ─► body, as far as the socket takes it
//! ```
//!
//! - `feed_request`: what a request asks for. `viewer`: what its user may see, checked again and again.
//! - `numbers`, `changes`: what is told, `watched_connections` of which connections. `feed`: when it is told.
//!
//! A feed is made as it is read: one that is not read makes nothing, holds nothing but what its subscription keeps, and is told
//! afterwards how much it has missed.

mod changes;
mod feed;
mod feed_request;
mod numbers;
mod viewer;
mod watched_connections;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use tokio::sync::watch;

pub(crate) use feed::Feed;
pub(crate) use feed_request::FeedRequest;
pub(crate) use viewer::{LostRight, Viewer};

use crate::limits::LIVE_COUNT_MAX;
use crate::stage::Stage;

/// How many feeds there are, and when they end.
#[derive(Debug, Default)]
pub(crate) struct Live {
    open: Arc<AtomicUsize>,
    /// None where no server serves.
    stage: OnceLock<watch::Receiver<Stage>>,
}

/// One of the feeds that there may be; given back when dropped.
#[derive(Debug)]
pub(crate) struct FeedSlot(Arc<AtomicUsize>);

impl Live {
    /// Feeds end when the connections do that a service answers: all of them are of one group.
    pub(crate) fn end_with(&self, stage: impl FnOnce() -> watch::Receiver<Stage>) {
        self.stage.get_or_init(stage);
    }

    /// None: there are as many as may be.
    pub(crate) fn take_place(&self) -> Option<FeedSlot> {
        let place = FeedSlot(self.open.clone());
        // Given back by the place if it was one too many.
        (self.open.fetch_add(1, Ordering::Relaxed) < LIVE_COUNT_MAX).then_some(place)
    }

    pub(crate) fn stage(&self) -> Option<watch::Receiver<Stage>> {
        self.stage.get().cloned()
    }
}

impl Drop for FeedSlot {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
