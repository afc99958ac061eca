//! A server as a destination: batches wait in an outbox, and a task posts one after the other.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::health::{Health, News};
use super::outbox::{Batch, Fate, Next, Outbox};
use super::run::Destination;
use super::server::{Posted, Server};
use super::tally::Tally;

pub(super) struct ToServer {
    desk: Arc<Desk>,
    task: JoinHandle<()>,
}

/// What whoever makes batches and whoever posts them share.
struct Desk {
    /// How the log calls the server.
    name: String,
    inner: Mutex<Inner>,
    tally: Arc<Tally>,
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
    pub(super) fn start(server: Server, tally: Arc<Tally>) -> Self {
        let desk = Arc::new(Desk {
            name: server.name(),
            inner: Mutex::default(),
            tally,
            started_at: Instant::now(),
            news: Notify::new(),
            room: Notify::new(),
        });
        let task = tokio::spawn(attend(server, desk.clone()));
        ToServer { desk, task }
    }
}

impl Destination for ToServer {
    async fn room(&mut self) {
        while !self.desk.inner.lock().outbox.wants_more() {
            self.desk.room.notified().await;
        }
    }

    fn take(&mut self, batch: Batch) {
        self.desk.push(batch);
    }

    async fn flush(&mut self) {
        self.desk.close();
        if (&mut self.task).await.is_err() {
            tracing::error!("the task that posts statistics to InfluxDB ended early");
        }
    }

    fn give_up(&mut self) {
        self.task.abort();
        let line_count = self.desk.inner.lock().outbox.line_count();
        if line_count > 0 {
            self.desk.tally.dropped.add(line_count);
            tracing::warn!(
                server = self.desk.name,
                lost_lines = line_count,
                "the last statistics did not reach InfluxDB"
            );
        }
    }
}

impl Desk {
    fn push(&self, batch: Batch) {
        let mut inner = self.inner.lock();
        let lost = inner.outbox.push(batch);
        self.lose(&mut inner, lost, "statistics for InfluxDB were lost, because too many wait");
        self.tally.waiting.set(inner.outbox.line_count().cast_signed());
        drop(inner);
        self.news.notify_one();
    }

    /// Nothing comes any more: what waits is tried at once, and not again.
    fn close(&self) {
        let mut inner = self.inner.lock();
        inner.is_closing = true;
        inner.outbox.try_at_once();
        drop(inner);
        self.news.notify_one();
    }

    /// What is to be posted now; None: nothing any more.
    fn next(&self) -> Option<Next> {
        let mut inner = self.inner.lock();
        let next = inner.outbox.next(self.now_ms());
        (matches!(next, Next::Send(_)) || !inner.is_closing).then_some(next)
    }

    fn settle(&self, posted: Posted) {
        let mut inner = self.inner.lock();
        let settled = inner.outbox.settle(posted.fate, self.now_ms(), fastrand::f64());
        if settled.delivered > 0 {
            self.tally.write(settled.delivered);
        }
        let error = posted.error.unwrap_or_default();
        match posted.fate {
            Fate::Delivered => {}
            Fate::Failed { .. } => {
                if inner.health.failed().is_some() {
                    tracing::warn!(
                        server = self.name,
                        error,
                        "statistics were not taken by InfluxDB, and will be tried again"
                    );
                }
                self.lose(&mut inner, settled.lost, "statistics that InfluxDB could not take were given up");
            }
            Fate::Refused => {
                if inner.health.failed().is_some() {
                    tracing::warn!(
                        server = self.name,
                        error,
                        "statistics were refused by InfluxDB, and are lost until it takes them"
                    );
                }
                self.tally.dropped.add(settled.lost);
                inner.health.lose(settled.lost);
            }
        }
        self.tally.waiting.set(inner.outbox.line_count().cast_signed());
        if settled.ends_round
            && let Some(News::Recovered(lost_lines)) = inner.health.round_ended()
        {
            tracing::info!(server = self.name, lost_lines, "InfluxDB took statistics again");
        }
        drop(inner);
        self.room.notify_one();
    }

    fn lose(&self, inner: &mut Inner, line_count: u64, text: &str) {
        self.tally.dropped.add(line_count);
        if inner.health.lose(line_count) {
            tracing::warn!(server = self.name, "{text}");
        }
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.started_at.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

/// Posts all that comes, until the end.
async fn attend(mut server: Server, desk: Arc<Desk>) {
    while let Some(next) = desk.next() {
        match next {
            Next::Nothing => desk.news.notified().await,
            Next::NotBefore(at_ms) => {
                let wait = Duration::from_millis(at_ms.saturating_sub(desk.now_ms()));
                // News may be the end.
                let _ = tokio::time::timeout(wait, desk.news.notified()).await;
            }
            // The end of a round without lines of its own.
            Next::Send(lines) if lines.is_empty() => desk.settle(Posted { fate: Fate::Delivered, error: None }),
            Next::Send(lines) => {
                let posted = server.post(lines).await;
                desk.settle(posted);
            }
        }
    }
}
