//! What one thread measures, until it is collected: counts, every latency, and whose messages came.

use std::collections::BTreeMap;
use std::sync::Arc;

use hdrhistogram::Histogram;

use super::seen::Sightings;
use crate::histogram;
use crate::results::Counts;

/// Latencies that are measured.
#[derive(Clone, Debug)]
pub(crate) struct LatencyHistograms {
    /// From when a message was due until a consumer had it.
    pub(crate) consumer: Histogram<u64>,
    /// From when it was sent until a consumer had it.
    pub(crate) consumer_sent: Histogram<u64>,
    /// From when a message was due until it was confirmed.
    pub(crate) confirm: Histogram<u64>,
    /// From when it was sent until it was confirmed.
    pub(crate) confirm_sent: Histogram<u64>,
    /// From when a message was due until it was sent.
    pub(crate) lateness: Histogram<u64>,
    /// From when a URL was asked for until the answer was there, by what it is counted under.
    pub(crate) answers: BTreeMap<Arc<str>, Histogram<u64>>,
}

impl LatencyHistograms {
    pub(crate) fn new() -> Self {
        let empty = histogram::empty();
        LatencyHistograms {
            consumer: empty.clone(),
            consumer_sent: empty.clone(),
            confirm: empty.clone(),
            confirm_sent: empty.clone(),
            lateness: empty,
            answers: BTreeMap::new(),
        }
    }

    /// Those of messages.
    pub(crate) fn five(&self) -> [&Histogram<u64>; 5] {
        [&self.consumer, &self.consumer_sent, &self.confirm, &self.confirm_sent, &self.lateness]
    }

    /// The same, in the same order.
    pub(crate) fn five_mut(&mut self) -> [&mut Histogram<u64>; 5] {
        [&mut self.consumer, &mut self.consumer_sent, &mut self.confirm, &mut self.confirm_sent, &mut self.lateness]
    }

    /// Adds another's.
    pub(crate) fn add(&mut self, other: &Self) {
        for (ours, theirs) in self.five_mut().into_iter().zip(other.five()) {
            if !theirs.is_empty() {
                ours.add(theirs).expect("all have the same bounds");
            }
        }
        for (name, theirs) in &other.answers {
            let ours = self.answers.entry(Arc::clone(name)).or_insert_with(histogram::empty);
            ours.add(theirs).expect("all have the same bounds");
        }
    }
}

/// What one thread has measured since it was last collected.
#[derive(Clone, Debug)]
pub(crate) struct Recorder {
    pub(crate) counts: Counts,
    pub(crate) latencies: LatencyHistograms,
    pub(crate) sighted: Sightings,
    /// When a message last came; 0 is never.
    pub(crate) consumed_at: u64,
}

impl Recorder {
    pub(crate) fn new() -> Self {
        Recorder {
            counts: Counts::default(),
            latencies: LatencyHistograms::new(),
            sighted: Sightings::default(),
            consumed_at: 0,
        }
    }

    /// A message was sent at `sent`, due at `due`.
    #[inline]
    pub(crate) fn published(&mut self, body_len: usize, due: u64, sent: u64, is_scheduled: bool) {
        self.counts.published += 1;
        self.counts.published_bytes += body_len as u64;
        if is_scheduled {
            self.latencies.lateness.saturating_record(sent - due);
        }
    }

    /// It was confirmed, now.
    #[inline]
    pub(crate) fn confirmed(&mut self, due: u64, sent: u64, at: u64) {
        self.counts.confirmed += 1;
        self.latencies.confirm.saturating_record(at.saturating_sub(due));
        self.latencies.confirm_sent.saturating_record(at.saturating_sub(sent));
    }

    /// A message has come, `age_ns` after it was sent, which was `late_ns` after it was due.
    #[inline]
    pub(crate) fn consumed(&mut self, body_len: usize, timing: Option<(u64, u64)>) {
        self.counts.consumed += 1;
        self.counts.consumed_bytes += body_len as u64;
        if let Some((age_ns, late_ns)) = timing {
            self.latencies.consumer_sent.saturating_record(age_ns);
            self.latencies.consumer.saturating_record(age_ns.saturating_add(late_ns));
        }
    }

    /// The answer to a request took so long.
    pub(crate) fn answered(&mut self, name: &Arc<str>, took_ns: u64) {
        let answers = self.latencies.answers.entry(Arc::clone(name)).or_insert_with(histogram::empty);
        answers.saturating_record(took_ns);
    }

    /// Hands over all that was measured, and begins anew.
    pub(crate) fn take(&mut self) -> Recorder {
        std::mem::replace(self, Recorder::new())
    }
}

/// One thread's work and what it came to, over one interval.
#[derive(Debug)]
pub(crate) struct CollectedInterval {
    pub(crate) recorder: Recorder,
    /// CPU time of the thread so far, in nanoseconds.
    pub(crate) cpu_ns: u64,
    pub(crate) connections: u32,
    pub(crate) blocked: u32,
    pub(crate) users: u32,
}

impl CollectedInterval {
    pub(crate) fn take(recorder: &mut Recorder, gauges: &super::worker::Gauges) -> Self {
        CollectedInterval {
            recorder: recorder.take(),
            cpu_ns: super::clock::thread_cpu_ns(),
            connections: gauges.connections.get(),
            blocked: gauges.blocked.get(),
            users: gauges.users.get(),
        }
    }
}
