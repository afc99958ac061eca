//! Notices that one webhook has still to get, and when: a queue, a wait that grows with each failure, and an end.
//!
//! ```text
//!  push ─► waiting ─► next ─► (sent) ─┬─ Delivered ─► the next one
//!            │ ▲                      ├─ Refused ───► dropped: it would be refused again
//!            │ └── not before ◄───────┴─ Failed       a webhook that fails is left alone for a while, twice as long each time
//!            └─► folded, when there is no room: a firing and its resolution become one; dropped, when nothing can be folded
//! ```
//!
//! One notice is on its way at a time, so notices of an alert arrive in order. A notice leaves the queue when it is delivered, refused,
//! folded or too old; the last three are counted, so nothing is lost silently and nothing is repeated without end. A
//! receiver that answered too late may have what it is sent again: it knows it by its id, its status and its time.

use rustc_hash::FxHashMap;

use crate::limits::{LIFETIME_MS, WAITING_COUNT_MAX};
use crate::notice::{Notice, Status};

/// What has become of notices for one webhook.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DeliveryStats {
    /// Notices that arrived.
    pub delivered: u64,
    /// Attempts that failed.
    pub failed: u64,
    /// Notices that were given up: refused, too old, or more than there was room for.
    pub dropped: u64,
    /// Notices that others have in them: a firing its resolution, a reminder what came after it.
    pub folded: u64,
}

/// What an attempt has come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliveryOutcome {
    /// The receiver has it.
    Delivered,
    /// The receiver will never take it, for what it is.
    Refused,
    /// Perhaps later.
    Failed,
}

/// What is to be done now. Times are in milliseconds since 1970.
pub type NextStep = outbox::NextStep<Notice>;

/// Notices for one webhook.
#[derive(Debug)]
pub struct Outbox {
    waiting: outbox::Outbox<PendingNotice>,
    count_max: usize,
    stats: DeliveryStats,
}

#[derive(Debug)]
struct PendingNotice {
    notice: Notice,
    since_ms: u64,
}

impl Default for Outbox {
    fn default() -> Self {
        Outbox::new(WAITING_COUNT_MAX)
    }
}

impl Outbox {
    /// With room for so many notices.
    #[must_use]
    pub fn new(count_max: usize) -> Outbox {
        assert!(count_max >= 2, "one may be on its way, and cannot make room");
        Outbox { waiting: outbox::Outbox::default(), count_max, stats: DeliveryStats::default() }
    }

    /// Adds a notice.
    pub fn push(&mut self, notice: Notice, now_ms: u64) {
        self.waiting.push(PendingNotice { notice, since_ms: now_ms });
        if self.waiting.len() > self.count_max && !self.fold() {
            // What is newest says most about how things stand. What is on its way has an end of its own.
            self.waiting.remove(self.waiting.start());
            self.stats.dropped += 1;
        }
    }

    /// What is to be done now.
    pub fn next(&mut self, now_ms: u64) -> NextStep {
        self.drop_old(now_ms);
        self.waiting.next(now_ms).map(|first| first.notice.clone())
    }

    /// What has come of what was to be sent. `jitter` is any number from 0 to 1: it keeps many that failed together from coming back
    /// together.
    pub fn settle(&mut self, outcome: DeliveryOutcome, now_ms: u64, jitter: f64) {
        match outcome {
            DeliveryOutcome::Failed => {
                self.stats.failed += 1;
                self.waiting.retry(0, now_ms, jitter);
                return;
            }
            DeliveryOutcome::Refused => {
                self.stats.failed += 1;
                self.stats.dropped += 1;
            }
            DeliveryOutcome::Delivered => self.stats.delivered += 1,
        }
        self.waiting.settle();
    }

    /// The webhook is another one from now on: what it did before does not count.
    pub fn try_at_once(&mut self) {
        self.waiting.forget_failures();
    }

    /// How many wait, the one on its way included.
    #[must_use]
    pub fn waiting_count(&self) -> usize {
        self.waiting.len()
    }

    /// What has become of the others.
    #[must_use]
    pub fn stats(&self) -> DeliveryStats {
        self.stats
    }

    /// Also what waits behind something that has come to its place later.
    fn drop_old(&mut self, now_ms: u64) {
        if self.waiting.start() > 0 {
            return;
        }
        let before = self.waiting.len();
        self.waiting.retain(|waiting| now_ms.saturating_sub(waiting.since_ms) < LIFETIME_MS);
        self.stats.dropped += (before - self.waiting.len()) as u64;
    }

    /// Makes one of two notices of the same alert that wait, the oldest that can be. False: there are none.
    fn fold(&mut self) -> bool {
        let Some((at, behind)) = self.find_pair() else { return false };
        let Some(later) = self.waiting.remove(behind) else { return false };
        let earlier = &self.waiting[at].notice;
        let is_folded = match (earlier.status, later.notice.status) {
            // A reminder has nothing that what comes after it has not.
            _ if earlier.is_reminder => later.notice.is_folded,
            // It fired, and is resolved: that is one notice. So it is when it had fired and ended before, without a delivery.
            (_, Status::Resolved) => true,
            // A reminder of what has not been delivered yet says it.
            (_, Status::Firing) => earlier.is_folded,
        };
        let is_reminder = earlier.is_reminder && later.notice.is_reminder;
        // In the place of the first: it has waited for so long, and nothing of this alert comes between. It is as old as what it says.
        self.waiting[at] =
            PendingNotice { notice: Notice { is_folded, is_reminder, ..later.notice }, since_ms: later.since_ms };
        self.stats.folded += 1;
        true
    }

    /// The places of two notices that follow each other, of the same alert, and can be one.
    fn find_pair(&self) -> Option<(usize, usize)> {
        let start = self.waiting.start();
        let mut last_of = FxHashMap::default();
        let mut found: Option<(usize, usize)> = None;
        for (place, waiting) in self.waiting.iter().enumerate().skip(start) {
            if found.is_some_and(|(oldest, _)| oldest == start) {
                break;
            }
            let Some(at) = last_of.insert(&*waiting.notice.alert.id, place) else { continue };
            let is_older = found.is_none_or(|(oldest, _)| at < oldest);
            if is_older && can_fold(&self.waiting[at].notice, &waiting.notice) {
                found = Some((at, place));
            }
        }
        found
    }
}

/// It was resolved, and fires anew: both have to be delivered. Everything else is one notice.
fn can_fold(earlier: &Notice, later: &Notice) -> bool {
    (earlier.status, later.status) != (Status::Resolved, Status::Firing)
}

#[cfg(test)]
mod tests;
