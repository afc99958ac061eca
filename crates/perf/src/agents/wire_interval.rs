//! What a thread has measured, as it is sent: histograms in HdrHistogram's own form.

use std::collections::BTreeMap;
use std::sync::Arc;

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use crate::engine::recorder::{CollectedInterval, LatencyHistograms, Recorder};
use crate::engine::seen::{PLAUSIBLE_MAX, Sightings};
use crate::histogram;
use crate::results::Counts;

/// What one thread has measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct WireInterval {
    counts: Counts,
    /// In the order of [`LatencyHistograms::five`]; empty for an empty one.
    latencies: [String; 5],
    answers: BTreeMap<String, String>,
    sighted: Sightings,
    consumed_at: u64,
    cpu_ns: u64,
    connections: u32,
    blocked: u32,
    users: u32,
}

/// Why it cannot be taken.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WireIntervalError {
    #[error(transparent)]
    Histogram(#[from] histogram::DecodeError),
    #[error("a histogram has impossible values")]
    Range,
    #[error("it reports impossible counts")]
    Implausible,
}

impl WireInterval {
    pub(crate) fn new(collected: CollectedInterval) -> Self {
        let CollectedInterval { recorder, cpu_ns, connections, blocked, users } = collected;
        let answers = recorder.latencies.answers.iter();
        WireInterval {
            counts: recorder.counts,
            latencies: recorder.latencies.five().map(encode),
            answers: answers.map(|(name, histogram)| (name.to_string(), encode(histogram))).collect(),
            sighted: recorder.sighted,
            consumed_at: recorder.consumed_at,
            cpu_ns,
            connections,
            blocked,
            users,
        }
    }

    /// The same on the coordinator, whose clock is ahead by so much, of a run with so many publishers.
    pub(crate) fn into_collected(
        self,
        ahead_ns: i64,
        publisher_count: u32,
    ) -> Result<CollectedInterval, WireIntervalError> {
        if !self.sighted.is_plausible(publisher_count) || !is_plausible(&self.counts) {
            return Err(WireIntervalError::Implausible);
        }
        let mut latencies = LatencyHistograms::new();
        for (ours, text) in latencies.five_mut().into_iter().zip(&self.latencies) {
            *ours = decode(text)?;
        }
        for (name, text) in &self.answers {
            latencies.answers.insert(Arc::from(name.as_str()), decode(text)?);
        }
        let consumed_at = match self.consumed_at {
            0 => 0,
            at => at.saturating_add_signed(ahead_ns),
        };
        Ok(CollectedInterval {
            recorder: Recorder { counts: self.counts, latencies, sighted: self.sighted, consumed_at },
            cpu_ns: self.cpu_ns.min(PLAUSIBLE_MAX),
            connections: self.connections.min(u32::from(u16::MAX) * 64),
            blocked: self.blocked.min(u32::from(u16::MAX) * 64),
            users: self.users.min(u32::from(u16::MAX) * 64),
        })
    }
}

/// Adding them up never overflows.
fn is_plausible(counts: &Counts) -> bool {
    let Counts {
        published,
        published_bytes,
        confirmed,
        nacked,
        returned,
        consumed,
        consumed_bytes,
        redelivered,
        sent_wire_bytes,
        received_wire_bytes,
        connections_opened,
        connections_lost,
        churned,
        scripts_done,
        scripts_failed,
        requests_failed,
    } = *counts;
    let messages = [published, confirmed, nacked, returned, consumed, redelivered];
    let bytes = [published_bytes, consumed_bytes, sent_wire_bytes, received_wire_bytes];
    let others = [connections_opened, connections_lost, churned, scripts_done, scripts_failed, requests_failed];
    messages.iter().chain(&bytes).chain(&others).all(|count| *count < PLAUSIBLE_MAX)
}

fn encode(histogram: &Histogram<u64>) -> String {
    if histogram.is_empty() { String::new() } else { histogram::encode(histogram) }
}

/// A histogram with our bounds, whatever bounds it was sent with.
fn decode(text: &str) -> Result<Histogram<u64>, WireIntervalError> {
    let mut ours = histogram::empty();
    if !text.is_empty() {
        ours.add(histogram::decode(text)?).map_err(|_| WireIntervalError::Range)?;
    }
    Ok(ours)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn collected() -> CollectedInterval {
        let mut recorder = Recorder::new();
        recorder.published(100, 5_000, 7_000, true);
        recorder.confirmed(5_000, 7_000, 9_000);
        recorder.consumed(100, Some((1_500, 2_000)));
        recorder.consumed_at = 10_000;
        recorder.sighted.note(3, 70, false, true);
        recorder.answered(&Arc::from("list"), 1_000_000);
        CollectedInterval { recorder, cpu_ns: 1, connections: 2, blocked: 3, users: 4 }
    }

    #[test]
    fn what_is_sent_is_what_was_measured() {
        let interval = WireInterval::new(collected());
        let text = serde_json::to_string(&interval).unwrap();
        let received: WireInterval = serde_json::from_str(&text).unwrap();
        let (ours, theirs) = (collected(), received.into_collected(-1_000, 4).unwrap());
        assert_eq!(theirs.recorder.counts, ours.recorder.counts);
        assert_eq!(theirs.recorder.latencies.five(), ours.recorder.latencies.five());
        assert_eq!(theirs.recorder.latencies.answers, ours.recorder.latencies.answers);
        assert_eq!(theirs.recorder.sighted, ours.recorder.sighted);
        assert_eq!(theirs.recorder.consumed_at, 9_000);
        assert_eq!((theirs.cpu_ns, theirs.connections, theirs.blocked, theirs.users), (1, 2, 3, 4));
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let sent = || WireInterval::new(collected());
        assert!(matches!(sent().into_collected(0, 3), Err(WireIntervalError::Implausible)), "there is no publisher 3");
        let mut interval = sent();
        interval.counts.published = u64::MAX;
        assert!(matches!(interval.into_collected(0, 4), Err(WireIntervalError::Implausible)));
        let mut interval = sent();
        interval.latencies[1] = "AAAA".to_owned();
        assert!(matches!(interval.into_collected(0, 4), Err(WireIntervalError::Histogram(_))));
        let mut wide = Histogram::<u64>::new_with_bounds(1, u64::MAX / 2, 3).unwrap();
        wide.record(u64::MAX / 4).unwrap();
        let mut interval = sent();
        interval.latencies[0] = histogram::encode(&wide);
        assert!(matches!(interval.into_collected(0, 4), Err(WireIntervalError::Range)));
    }
}
