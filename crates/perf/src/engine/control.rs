//! A run's stages: from connecting to the end, for all tasks on all threads.

use std::sync::{Arc, OnceLock};

use tokio::sync::watch;

/// Where a run is. It only ever moves forward.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stage {
    /// All tasks connect and get ready.
    Preparing,
    /// Publishers publish, consumers consume. Schedules count from this time (see [`now_ns`](super::clock::now_ns)), which
    /// may still be a few milliseconds ahead.
    Running {
        /// The run's start.
        start: u64,
    },
    /// Publishers have stopped; consumers take what is left.
    Draining,
    /// All close their connections.
    Ended,
}

/// Takes a run from one stage to the next.
#[derive(Debug)]
pub(crate) struct Conductor {
    stage: watch::Sender<Stage>,
    start: Arc<OnceLock<u64>>,
}

impl Conductor {
    /// Lets all begin. There is one start.
    pub(crate) fn start_at(&self, start: u64) {
        let start = *self.start.get_or_init(|| start);
        self.stage.send_replace(Stage::Running { start });
    }

    /// Publishers are to stop.
    pub(crate) fn drain(&self) {
        self.stage.send_replace(Stage::Draining);
    }

    /// All are to close their connections.
    pub(crate) fn end(&self) {
        self.stage.send_replace(Stage::Ended);
    }
}

/// Notifies tasks of the run's stage.
#[derive(Clone, Debug)]
pub(crate) struct Control {
    stage: watch::Receiver<Stage>,
    start: Arc<OnceLock<u64>>,
}

impl Control {
    pub(crate) fn new() -> (Conductor, Self) {
        let (sender, receiver) = watch::channel(Stage::Preparing);
        let start = Arc::default();
        (Conductor { stage: sender, start: Arc::clone(&start) }, Control { stage: receiver, start })
    }

    pub(crate) fn stage(&self) -> Stage {
        *self.stage.borrow()
    }

    /// When the run has started, if it has. A task that was busy with something else may see a later stage first.
    pub(crate) fn start(&self) -> Option<u64> {
        self.start.get().copied()
    }

    /// Waits for the start. `None`: the run is over before it began.
    pub(crate) async fn started(&mut self) -> Option<u64> {
        // A dropped conductor means the end, here and below.
        let _ = self.stage.wait_for(|stage| *stage > Stage::Preparing).await;
        self.start()
    }

    /// Waits for the stage after this one, which may be any later one.
    pub(crate) async fn after(mut self, stage: Stage) -> Stage {
        self.stage.wait_for(|next| *next > stage).await.map_or(Stage::Ended, |next| *next)
    }

    /// Waits until publishers are to stop.
    pub(crate) async fn draining(mut self) {
        let _ = self.stage.wait_for(|stage| *stage >= Stage::Draining).await;
    }

    /// Waits until all is over.
    pub(crate) async fn ended(mut self) {
        let _ = self.stage.wait_for(|stage| *stage >= Stage::Ended).await;
    }
}
