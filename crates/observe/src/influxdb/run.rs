//! A destination's thread: a round once an interval, and a last one at the end.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use broker::Broker;
use influx::Precision;
use tokio::sync::{oneshot, watch};
use tokio::time::{Instant, MissedTickBehavior, timeout_at};

use super::delivery_stats::since_1970;
use super::limits::FLUSH_TIMEOUT;
use super::outbox::Batch;
use super::round::{Round, Subject};

/// Where batches go.
pub(super) trait Destination {
    /// Waits until another batch should be made.
    async fn room(&mut self);
    /// Takes a batch.
    fn take(&mut self, batch: Batch);
    /// Waits until all that it was given has arrived, or will not.
    async fn flush(&mut self);
    /// The end: whatever has not arrived is lost.
    fn give_up(&mut self);
}

/// What a thread needs to know of rounds.
#[derive(Debug)]
pub(super) struct Rounds {
    pub(super) broker: Arc<Broker>,
    pub(super) subject: Subject,
    pub(super) interval: Duration,
    pub(super) precision: Precision,
}

/// A thread that takes statistics somewhere.
#[derive(Debug)]
pub(super) struct RoundsThread {
    name: &'static str,
    stop: watch::Sender<bool>,
    ended: oneshot::Receiver<()>,
}

impl RoundsThread {
    /// Starts it. The destination is made within its runtime.
    pub(super) fn start<D: Destination>(
        name: &'static str,
        rounds: Arc<Rounds>,
        destination: impl FnOnce() -> D + Send + 'static,
    ) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (stop, stopping) = watch::channel(false);
        let (ends, ended) = oneshot::channel();
        std::thread::Builder::new().name(name.to_owned()).spawn(move || {
            sampler::does(sampler::Work::Observing);
            runtime.block_on(async { rounds.run(destination(), stopping).await });
            runtime.shutdown_background();
            // An error means that the caller does not wait.
            let _ = ends.send(());
        })?;
        Ok(RoundsThread { name, stop, ended })
    }

    /// Makes a last round and waits for it, but not for ever: a disk or a server may hang.
    pub(super) async fn stop(self) {
        // An error means that it has ended.
        let _ = self.stop.send(true);
        // The thread's own patience comes first.
        match tokio::time::timeout(FLUSH_TIMEOUT + Duration::from_secs(1), self.ended).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) => tracing::error!(thread = self.name, "InfluxDB statistics thread ended unexpectedly"),
            Err(_) => {
                tracing::warn!(thread = self.name, "InfluxDB statistics thread hung, and was abandoned")
            }
        }
    }
}

impl Rounds {
    async fn run(&self, mut destination: impl Destination, mut stopping: watch::Receiver<bool>) {
        let mut rounds = tokio::time::interval(self.interval);
        rounds.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let many = async {
            loop {
                rounds.tick().await;
                self.make_one(&mut destination).await;
            }
        };
        tokio::select! {
            () = many => {}
            // An error means that the handle was dropped. A round that waits for room is left unfinished.
            _ = stopping.changed() => {}
        }
        let deadline = Instant::now() + FLUSH_TIMEOUT;
        let last = async {
            self.make_one(&mut destination).await;
            destination.flush().await;
        };
        // What has not arrived by then is counted as lost.
        let _ = timeout_at(deadline, last).await;
        destination.give_up();
    }

    /// Makes a round. It begins, and has its time, when there is room for its first lines.
    async fn make_one(&self, destination: &mut impl Destination) {
        destination.room().await;
        let mut round = Round::new(&self.broker, &self.subject, self.precision.at(since_1970()));
        loop {
            // What is wrong with one round may not be with the next one.
            let Ok(batch) = catch_unwind(AssertUnwindSafe(|| round.next_batch())) else {
                return tracing::error!("collecting statistics for InfluxDB panicked");
            };
            let Some(batch) = batch else { return };
            destination.take(batch);
            destination.room().await;
        }
    }
}
