//! Where the latency of messages went: how long they were in each stage of their way.
//!
//! What is timed is a sample (see [`crate::probe`]), and each time is counted with the number of messages that it stands for.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use telemetry::{Latencies, LatencyCounts};

/// A stage of a message's way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub enum Stage {
    /// From when a read has brought it until its batch is about to be brought to the queues.
    SocketToRoute = 0,
    /// From then until it is in its queues, and durable if it is to last.
    RouteToCommit = 1,
    /// From then until the publisher's confirm is with the kernel. None for those that are not confirmed.
    CommitToConfirm = 2,
    /// From when it was about to be brought to its queue until its delivery is with the kernel.
    EnqueueToDeliver = 3,
    /// From then until the read that has brought its acknowledgement. None for consumers that acknowledge nothing.
    DeliverToAck = 4,
}

impl Stage {
    /// How many there are.
    pub const COUNT: usize = 5;
    /// All of them, as they follow each other.
    pub const ALL: [Stage; Self::COUNT] = [
        Stage::SocketToRoute,
        Stage::RouteToCommit,
        Stage::CommitToConfirm,
        Stage::EnqueueToDeliver,
        Stage::DeliverToAck,
    ];

    /// What it is called wherever it is shown.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Stage::SocketToRoute => "socket_to_route",
            Stage::RouteToCommit => "route_to_commit",
            Stage::CommitToConfirm => "commit_to_confirm",
            Stage::EnqueueToDeliver => "enqueue_to_deliver",
            Stage::DeliverToAck => "deliver_to_ack",
        }
    }
}

/// Recent times are compared with a look that is so old, or older.
const LOOK_AGE: Duration = Duration::from_secs(30);
/// Looks that are remembered.
const LOOK_COUNT: usize = 2;

/// What has been counted of each stage.
pub type StageCounts = [LatencyCounts; Stage::COUNT];

/// How long messages were in each stage: of the node, a vhost, or a queue that is watched.
#[derive(Debug)]
pub struct StageTimes {
    times: [Latencies; Stage::COUNT],
    made_at: Instant,
    /// When it was looked at lately, and what there was. None while it is not looked at.
    looks: Mutex<VecDeque<(Instant, StageCounts)>>,
}

impl Default for StageTimes {
    fn default() -> Self {
        Self { times: Default::default(), made_at: Instant::now(), looks: Mutex::default() }
    }
}

/// How long messages were in each stage lately, and in all.
#[derive(Debug, Clone)]
pub struct StagesView {
    /// What `recent` covers.
    pub recent_span: Duration,
    /// Since a look half a minute or longer ago; since the start, if there was none.
    pub recent: StageCounts,
    /// Since the start.
    pub total: StageCounts,
}

impl StageTimes {
    /// A message that stands for `weight` was so long in a stage.
    pub fn add(&self, stage: Stage, time: Duration, weight: u64) {
        let ns = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.times[stage as usize].add(ns, weight);
    }

    /// Bytes that it takes.
    #[must_use]
    pub fn memory_len(&self) -> usize {
        // What a look remembers is as long as what is counted.
        Stage::COUNT * Latencies::memory_len() * (1 + self.looks.lock().len())
    }

    /// What has been counted.
    #[must_use]
    pub fn counts(&self) -> StageCounts {
        std::array::from_fn(|stage| self.times[stage].counts())
    }

    /// The same, and what of it is recent. The look is remembered: what is recent for the next caller is counted from here.
    #[must_use]
    pub fn look(&self, now: Instant) -> StagesView {
        let total = self.counts();
        let mut looks = self.looks.lock();
        while looks.get(1).is_some_and(|(at, _)| now.saturating_duration_since(*at) >= LOOK_AGE) {
            looks.pop_front();
        }
        let before = looks.front().filter(|(at, _)| now.saturating_duration_since(*at) >= LOOK_AGE);
        let recent = match before {
            Some((_, before)) => std::array::from_fn(|stage| total[stage].since(&before[stage])),
            None => total.clone(),
        };
        let recent_span = now.saturating_duration_since(before.map_or(self.made_at, |(at, _)| *at));
        if looks.len() < LOOK_COUNT && looks.back().is_none_or(|(at, _)| now.saturating_duration_since(*at) >= LOOK_AGE)
        {
            looks.push_back((now, total.clone()));
        }
        StagesView { recent_span, recent, total }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_recent_begins_at_a_look_half_a_minute_ago() {
        let (times, start) = (StageTimes::default(), Instant::now());
        let at = |s| start + Duration::from_secs(s);
        let recent_count = |s| times.look(at(s)).recent[Stage::RouteToCommit as usize].count();
        let add = || times.add(Stage::RouteToCommit, Duration::from_millis(1), 1);
        add();
        assert_eq!(recent_count(0), 1);
        add();
        assert_eq!(recent_count(10), 2, "there is no look that is old enough");
        assert_eq!(recent_count(30), 1);
        add();
        assert_eq!(recent_count(45), 2);
        add();
        assert_eq!(recent_count(60), 2, "the look after half a minute counts");
        assert_eq!(recent_count(600), 0);
        assert_eq!(times.look(at(700)).total[Stage::RouteToCommit as usize].count(), 4);
    }
}
