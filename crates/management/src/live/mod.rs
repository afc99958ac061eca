//! What goes on, told while it goes on: server-sent events at `/api/live`.
//!
//! ```text
//!  events of the broker ─► subscription (bounded) ─┐
//!  a timer ─► counters ────────────────────────────┴─► feed ─► body, as far as the socket takes it
//! ```
//!
//! - `feed_request`: what a request asks for. `places`: how many there may be, and whose.
//!   `viewer`: what its user may see, checked again and again.
//! - `numbers`, `changes`: what is told, `watched_connections` of which connections. `feed`: when it is told.
//!
//! A feed is made as it is read: one that is not read makes nothing, holds nothing but what its subscription keeps, and is told
//! afterwards how much it has missed.

mod changes;
mod feed;
mod feed_request;
mod numbers;
mod places;
mod viewer;
mod watched_connections;

use std::sync::{Arc, OnceLock};

use tokio::sync::watch;

pub(crate) use feed::Feed;
pub(crate) use feed_request::FeedRequest;
pub(crate) use viewer::{LostRight, Viewer};

pub(crate) use places::{FeedSlot, Watcher};

use crate::options::LiveLimits;
use crate::stage::Stage;
use places::{NoPlace, Places};

/// How many feeds there are, and when they end.
#[derive(Debug)]
pub(crate) struct Live {
    places: Arc<Places>,
    /// None where no server serves.
    stage: OnceLock<watch::Receiver<Stage>>,
}

impl Live {
    pub(crate) fn new(limits: LiveLimits) -> Live {
        Live { places: Places::new(limits), stage: OnceLock::new() }
    }

    /// Feeds end when the connections do that a service answers: all of them are of one group.
    pub(crate) fn end_with(&self, stage: impl FnOnce() -> watch::Receiver<Stage>) {
        self.stage.get_or_init(stage);
    }

    /// A place for another one.
    pub(crate) fn take_place(&self, watcher: Watcher) -> Result<FeedSlot, NoPlace> {
        Places::take(&self.places, watcher)
    }

    pub(crate) fn stage(&self) -> Option<watch::Receiver<Stage>> {
        self.stage.get().cloned()
    }
}
