//! All streams of events: how many there may be, and when they end.

use std::sync::{Arc, OnceLock};

use tokio::sync::watch;

use super::places::{FeedSlot, NoPlace, Places, Watcher};
use crate::options::LiveLimits;
use crate::stage::Stage;

/// How many feeds there may be, and when they end.
#[derive(Debug)]
pub(crate) struct Feeds {
    places: Arc<Places>,
    /// None where no server serves.
    stage: OnceLock<watch::Receiver<Stage>>,
}

impl Feeds {
    pub(crate) fn new(limits: LiveLimits) -> Feeds {
        Feeds { places: Places::new(limits), stage: OnceLock::new() }
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
