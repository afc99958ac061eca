//! A run's outcome, from all that was measured.

use std::collections::BTreeMap;

use super::{Measurements, seconds};
use crate::results::{
    BrokerUsage, Distribution, Latencies, PhaseMark, PublisherSequence, Run, Sequence, SequenceCounts, Summary, Usage,
};

/// A thread that works longer than this share of the time is the bottleneck, whatever else looks like it.
const BUSY_SHARE: f64 = 0.9;
/// Threads that wait longer than this share of the time in which they are ready to run are starved.
const STARVED_SHARE: f64 = 0.25;
/// And wait for so many seconds a second, all of them together: less is no matter, however little they run.
const STARVED_S: f64 = 0.05;
/// Publishers that are listed one by one in results.
const LISTED_PUBLISHERS: usize = 1_000;
impl Measurements<'_> {
    /// The run as it is reported. Publishers got the order to stop at `stopped_at`.
    pub(crate) fn into_run(mut self, stopped_at: u64) -> Run {
        let duration_s = seconds(self.measured_ns);
        let summary = Summary {
            duration_s,
            counts: self.measured,
            latencies: Latencies {
                consumer: Distribution::of(&self.latencies.consumer),
                consumer_sent: Distribution::of(&self.latencies.consumer_sent),
                confirm: Distribution::of(&self.latencies.confirm),
                confirm_sent: Distribution::of(&self.latencies.confirm_sent),
                lateness: Distribution::of(&self.latencies.lateness),
            },
            probes: self.answers(),
            sequence: self.sequence(),
            generator: self.measured_usage,
            broker: self.measured_broker.map(|usage| BrokerUsage { usage, ready: None, unacked: None }),
            bottleneck: self.bottleneck(),
        };
        if self.interrupted.is_none() && self.lost > 0 {
            let at = self.samples.iter().rev().find(|sample| sample.counts.consumed + sample.counts.published > 0);
            let at = at.map_or(0.0, |sample| sample.end_s);
            self.interrupted = Some(format!(
                "{} connections were lost and not restored; the last traffic was at {at:.1} s",
                self.lost
            ));
        }
        Run {
            label: String::new(),
            variables: BTreeMap::new(),
            phases: self.phases(stopped_at),
            samples: self.samples,
            summary,
            interrupted: self.interrupted,
            verdicts: Vec::new(),
        }
    }

    fn answers(&self) -> BTreeMap<String, Distribution> {
        let answers = self.latencies.answers.iter();
        answers.filter_map(|(name, histogram)| Some((name.to_string(), Distribution::of(histogram)?))).collect()
    }

    fn phases(&self, stopped_at: u64) -> Vec<PhaseMark> {
        let end_s = seconds(stopped_at - self.start);
        let mut start_s = 0.0;
        let marks = self.plan.phases.iter().map(|phase| {
            let mark = PhaseMark {
                name: phase.name.clone(),
                start_s,
                end_s: (start_s + phase.duration.as_secs_f64()).min(end_s),
            };
            start_s += phase.duration.as_secs_f64();
            mark
        });
        marks.filter(|mark| mark.start_s < mark.end_s).collect()
    }

    fn sequence(&self) -> Sequence {
        let complete = self.is_sequence_complete();
        let is_complete = complete.is_ok();
        let is_followed = self.is_sequence_followed().is_ok();
        let mut total = SequenceCounts::default();
        let mut listed = Vec::new();
        let mut missing_total = 0;
        for end in &self.publishers {
            let mut counts = self.seen.counts(end.publisher);
            if !is_followed {
                // The same message in several queues is no duplicate.
                counts.duplicate = 0;
            }
            let doubtful_seen =
                end.doubtful.iter().filter(|position| self.seen.has(end.publisher, **position)).count() as u64;
            let expected = end.expected.saturating_sub(end.returned);
            let missing = expected.saturating_sub(self.seen.count(end.publisher).saturating_sub(doubtful_seen));
            missing_total += missing;
            counts.lost = if is_complete && self.rest == Ok(0) { missing } else { 0 };
            total.out_of_order += counts.out_of_order;
            total.duplicate += counts.duplicate;
            total.redelivered += counts.redelivered;
            if counts != SequenceCounts::default() && listed.len() < LISTED_PUBLISHERS {
                listed.push(PublisherSequence { publisher: self.publisher_name(end.publisher), counts });
            }
        }
        // What still waits in queues was not lost; which publishers' it is, is not known.
        total.lost = if is_complete { missing_total.saturating_sub(self.rest.unwrap_or(0)) } else { 0 };
        let incomplete_because = complete.err().map(str::to_owned);
        Sequence { is_complete, incomplete_because, total, publishers: listed }
    }

    /// Whether it is known of all messages what became of them, or why not.
    fn is_sequence_complete(&self) -> Result<(), &'static str> {
        self.is_sequence_followed()?;
        if self.plan.publishers.is_empty() || self.plan.consumers.is_empty() {
            return Err("publishers and consumers were on different machines");
        }
        if self.publishers.iter().any(|end| end.is_unknown) {
            return Err("it is unknown which messages the broker had when a connection was lost");
        }
        if self.publishers.len() != self.plan.publisher_count() as usize {
            return Err("some publishers did not finish");
        }
        self.rest.map(drop)
    }

    fn publisher_name(&self, number: u32) -> String {
        let mut first = 0;
        for group in &self.plan.publishers {
            let count = group.connections * group.channels;
            if number < first + count {
                return format!("{}-{}", group.name, number - first);
            }
            first += count;
        }
        number.to_string()
    }

    fn bottleneck(&mut self) -> Option<String> {
        for (_, sum) in &self.shares {
            self.busiest_share = self.busiest_share.max(*sum as f64 / self.measured_ns.max(1) as f64);
        }
        if self.busiest_share >= BUSY_SHARE {
            return Some(format!(
                "one of the generator's {} threads used {:.0} % of a processor: with more threads or another machine, the broker may \
                 achieve more",
                self.shares.len(),
                self.busiest_share * 100.0
            ));
        }
        starvation(&self.measured_usage, seconds(self.measured_ns))
    }
}

/// Whether other programs took the processors that the generator's threads were ready to use.
fn starvation(usage: &Usage, duration_s: f64) -> Option<String> {
    let (ran_s, waited_s) = usage.cpu_s.zip(usage.waited_s)?;
    let share = waited_s / (ran_s + waited_s).max(f64::MIN_POSITIVE);
    (share >= STARVED_SHARE && waited_s >= STARVED_S * duration_s).then(|| {
        format!(
            "its threads waited for a processor for {:.0} % of the time in which they were ready to run, and the latencies include \
             this wait: other programs, perhaps the broker, use this machine",
            share * 100.0
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_generator_that_gets_no_processor_is_named() {
        let usage = |ran_s, waited_s| Usage { cpu_s: Some(ran_s), waited_s: Some(waited_s), ..Usage::default() };
        let text = starvation(&usage(6.0, 4.0), 10.0).unwrap();
        assert!(text.starts_with("its threads waited for a processor for 40 % of the time"), "{text}");
        assert_eq!(starvation(&usage(8.0, 2.0), 10.0), None, "a fifth is no rarity");
        assert_eq!(starvation(&usage(0.2, 0.3), 10.0), None, "it hardly has to run");
        assert_eq!(starvation(&Usage { cpu_s: Some(1.0), ..Usage::default() }, 1.0), None);
    }
}
