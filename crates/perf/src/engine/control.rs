//! How a run goes: from connecting to the end, for all tasks on all threads.

use tokio::sync::watch;

/// Where a run is. It only ever goes forward.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stage {
    /// Everybody connects and gets ready.
    Preparing,
    /// Publishers publish, consumers consume. Schedules count from this time (see [`now_ns`](super::clock::now_ns)), which
    /// may still be a few milliseconds ahead.
    Running {
        /// The run's start.
        start: u64,
    },
    /// Publishers have stopped; consumers take what is there.
    Draining,
    /// All close their connections.
    Ended,
}

/// Tells tasks how the run goes.
#[derive(Clone, Debug)]
pub(crate) struct Control(watch::Receiver<Stage>);

impl Control {
    pub(crate) fn new() -> (watch::Sender<Stage>, Self) {
        let (sender, receiver) = watch::channel(Stage::Preparing);
        (sender, Control(receiver))
    }

    pub(crate) fn stage(&self) -> Stage {
        *self.0.borrow()
    }

    /// Waits for the start. `None`: the run is over before it began.
    pub(crate) async fn started(&mut self) -> Option<u64> {
        let stage = self.0.wait_for(|stage| *stage > Stage::Preparing).await.map(|stage| *stage);
        match stage {
            Ok(Stage::Running { start }) => Some(start),
            _ => None,
        }
    }

    /// Waits for the stage after this one, which may be any later one.
    pub(crate) async fn after(mut self, stage: Stage) -> Stage {
        // Nobody left to tell us is the end as well, here and below.
        self.0.wait_for(|next| *next > stage).await.map_or(Stage::Ended, |next| *next)
    }

    /// Waits until publishers are to stop.
    pub(crate) async fn draining(mut self) {
        let _ = self.0.wait_for(|stage| *stage >= Stage::Draining).await;
    }

    /// Waits until all is over.
    pub(crate) async fn ended(mut self) {
        let _ = self.0.wait_for(|stage| *stage >= Stage::Ended).await;
    }
}
