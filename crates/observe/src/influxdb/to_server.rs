//! A server as a destination: batches wait in an outbox, and a task posts one after the other.

use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::delivery_stats::DeliveryStats;
use super::health::{Health, HealthChange};
use super::outbox::{Batch, NextStep, Outbox, PostOutcome};
use super::run::Destination;
use super::server::{PostAttempt, Server};
use crate::sending::{Sender, send_all};

pub(super) struct ToServer {
    shared: Arc<SharedOutbox>,
    task: JoinHandle<()>,
}

/// Shared by the thread that makes batches and the task that posts them.
struct SharedOutbox {
    /// How the log calls the server.
    name: String,
    inner: Mutex<Inner>,
    stats: Arc<DeliveryStats>,
    started_at: Instant,
    /// There is something to post, or the end.
    news: Notify,
    /// There may be room.
    room: Notify,
}

#[derive(Default)]
struct Inner {
    outbox: Outbox,
    health: Health,
    /// What waits is tried once more, and that is all.
    is_closing: bool,
}

impl ToServer {
    /// Begins to post. To be called within a tokio runtime.
    pub(super) fn start(server: Server, stats: Arc<DeliveryStats>) -> Self {
        let shared = Arc::new(SharedOutbox {
            name: server.name(),
            inner: Mutex::default(),
            stats,
            started_at: Instant::now(),
            news: Notify::new(),
            room: Notify::new(),
        });
        let mut sender = BatchSender { server, shared: shared.clone() };
        let task = tokio::spawn(async move { send_all(&mut sender).await });
        ToServer { shared, task }
    }
}

impl Destination for ToServer {
    async fn room(&mut self) {
        while !self.shared.inner.lock().outbox.wants_more() {
            self.shared.room.notified().await;
        }
    }

    fn take(&mut self, batch: Batch) {
        self.shared.push(batch);
    }

    async fn flush(&mut self) {
        self.shared.close();
        if (&mut self.task).await.is_err() {
            tracing::error!("InfluxDB sender task ended unexpectedly");
        }
    }

    fn give_up(&mut self) {
        self.task.abort();
        let line_count = self.shared.inner.lock().outbox.line_count();
        if line_count > 0 {
            self.shared.stats.dropped.add(line_count);
            tracing::warn!(
                server = self.shared.name,
                lost_lines = line_count,
                "sending the last statistics to InfluxDB failed"
            );
        }
    }
}

impl SharedOutbox {
    fn push(&self, batch: Batch) {
        let mut inner = self.inner.lock();
        let lost = inner.outbox.push(batch);
        self.lose(&mut inner, lost, "statistics for InfluxDB dropped because too many wait");
        self.stats.waiting.set(inner.outbox.line_count().cast_signed());
        drop(inner);
        self.news.notify_one();
    }

    /// No more batches come: what waits is tried at once, and not again.
    fn close(&self) {
        let mut inner = self.inner.lock();
        inner.is_closing = true;
        inner.outbox.try_at_once();
        drop(inner);
        self.news.notify_one();
    }

    /// What is to be posted now; None: it has ended.
    fn next(&self) -> Option<NextStep> {
        let mut inner = self.inner.lock();
        let next = inner.outbox.next(self.now_ms());
        (matches!(next, NextStep::Send(_)) || !inner.is_closing).then_some(next)
    }

    fn settle(&self, attempt: PostAttempt) {
        let mut inner = self.inner.lock();
        let change = inner.outbox.settle(attempt.outcome, self.now_ms(), fastrand::f64());
        if change.delivered > 0 {
            self.stats.write(change.delivered);
        }
        let error = attempt.error.unwrap_or_default();
        match attempt.outcome {
            PostOutcome::Delivered => {}
            PostOutcome::Failed { .. } => {
                if inner.health.failed().is_some() {
                    tracing::warn!(
                        server = self.name,
                        error,
                        "sending statistics to InfluxDB failed, and will be retried"
                    );
                }
                self.lose(&mut inner, change.lost, "statistics that InfluxDB did not accept dropped");
            }
            PostOutcome::Refused => {
                if inner.health.failed().is_some() {
                    tracing::warn!(
                        server = self.name,
                        error,
                        "statistics refused by InfluxDB, and lost until it accepts them"
                    );
                }
                self.stats.dropped.add(change.lost);
                inner.health.lose(change.lost);
            }
        }
        self.stats.waiting.set(inner.outbox.line_count().cast_signed());
        if change.ends_round
            && let Some(HealthChange::Recovered(lost_lines)) = inner.health.round_ended()
        {
            tracing::info!(server = self.name, lost_lines, "InfluxDB accepted statistics again");
        }
        drop(inner);
        self.room.notify_one();
    }

    fn lose(&self, inner: &mut Inner, line_count: u64, text: &str) {
        self.stats.dropped.add(line_count);
        if inner.health.lose(line_count) {
            tracing::warn!(server = self.name, "{text}");
        }
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.started_at.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

/// Posts batches, one after the other.
struct BatchSender {
    server: Server,
    shared: Arc<SharedOutbox>,
}

impl Sender for BatchSender {
    type Item = Bytes;

    fn next(&mut self) -> Option<NextStep> {
        self.shared.next()
    }

    async fn send(&mut self, lines: Bytes) {
        let attempt = match lines.is_empty() {
            // The end of a round without lines of its own.
            true => PostAttempt { outcome: PostOutcome::Delivered, error: None },
            false => self.server.post(lines).await,
        };
        self.shared.settle(attempt);
    }

    fn now_ms(&self) -> u64 {
        self.shared.now_ms()
    }

    fn news(&self) -> &Notify {
        &self.shared.news
    }
}
