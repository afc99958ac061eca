//! A webhook, the notices that it is still to get, and what has become of the rest.

use alerts::{DeliveryOutcome, DeliveryStats, NextStep, Notice, Outbox};
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::rule_set::WebhookTarget;

/// A webhook at work.
#[derive(Debug)]
pub struct Receiver {
    name: Box<str>,
    inner: Mutex<Inner>,
    /// There is something new: a notice, another URL, the end.
    pub(super) news: Notify,
}

#[derive(Debug)]
struct Inner {
    target: WebhookTarget,
    outbox: Outbox,
    /// Why the last attempt failed, if it did.
    last_error: Option<String>,
    is_closed: bool,
}

/// How things stand with a webhook.
#[derive(Debug, Clone, Default)]
pub struct ReceiverState {
    /// Notices that wait.
    pub waiting_count: usize,
    /// What has become of the others.
    pub stats: DeliveryStats,
    /// Why the last attempt failed, if it did.
    pub last_error: Option<String>,
}

impl Receiver {
    pub(super) fn new(target: WebhookTarget) -> Self {
        let name = target.webhook.name.clone();
        let inner = Inner { target, outbox: Outbox::default(), last_error: None, is_closed: false };
        Self { name, inner: Mutex::new(inner), news: Notify::new() }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn target(&self) -> WebhookTarget {
        self.inner.lock().target.clone()
    }

    /// It is another one from now on, under the same name: what failed before may work.
    pub(super) fn change(&self, target: WebhookTarget) {
        let mut inner = self.inner.lock();
        if inner.target != target {
            inner.target = target;
            inner.outbox.try_at_once();
            self.news.notify_one();
        }
    }

    /// Adds a notice. Returns how many notices were dropped for it.
    pub(super) fn push(&self, notice: Notice, now_ms: u64) -> u64 {
        let dropped = self.noting_dropped(|inner| inner.outbox.push(notice, now_ms)).1;
        self.news.notify_one();
        dropped
    }

    /// What to do now, and how many notices have become too old; None: the webhook is closed.
    pub(super) fn next(&self, now_ms: u64) -> Option<(NextStep, u64)> {
        if self.inner.lock().is_closed {
            return None;
        }
        Some(self.noting_dropped(|inner| inner.outbox.next(now_ms)))
    }

    /// What has come of an attempt. How many notices were given up for it.
    pub(super) fn settle(&self, outcome: DeliveryOutcome, error: Option<String>, now_ms: u64, jitter: f64) -> u64 {
        let settle = |inner: &mut Inner| {
            inner.outbox.settle(outcome, now_ms, jitter);
            inner.last_error = error;
        };
        self.noting_dropped(settle).1
    }

    /// Stops deliveries. Returns how many notices wait.
    pub(super) fn close(&self) -> u64 {
        let mut inner = self.inner.lock();
        inner.is_closed = true;
        self.news.notify_one();
        inner.outbox.waiting_count() as u64
    }

    /// How things stand now.
    pub fn state(&self) -> ReceiverState {
        let inner = self.inner.lock();
        ReceiverState {
            waiting_count: inner.outbox.waiting_count(),
            stats: inner.outbox.stats(),
            last_error: inner.last_error.clone(),
        }
    }

    fn noting_dropped<T>(&self, act: impl FnOnce(&mut Inner) -> T) -> (T, u64) {
        let mut inner = self.inner.lock();
        let before = inner.outbox.stats().dropped;
        let result = act(&mut inner);
        (result, inner.outbox.stats().dropped - before)
    }
}
