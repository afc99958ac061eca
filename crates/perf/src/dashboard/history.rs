//! What is remembered of the samples so far: the last one, and what sparklines show.

use std::collections::VecDeque;

use super::{Outline, Overall};
use crate::results::{Sample, per_second};

/// Values that a line remembers: more than any terminal is wide.
const VALUES_MAX: usize = 512;
/// From this share of its machines' processors on, the generator may be what limits the run.
const GENERATOR_BUSY: f64 = 0.8;

/// Values over time, the last ones.
#[derive(Clone, Debug, Default)]
pub(super) struct Series {
    values: VecDeque<u64>,
}

impl Series {
    fn push(&mut self, value: f64) {
        if self.values.len() == VALUES_MAX {
            self.values.pop_front();
        }
        self.values.push_back(value.max(0.0) as u64);
    }

    /// The last `count` values, in order.
    pub(super) fn last(&self, count: usize) -> Vec<u64> {
        let skipped = self.values.len().saturating_sub(count);
        self.values.iter().skip(skipped).copied().collect()
    }
}

/// What the dashboard shows.
#[derive(Clone, Debug, Default)]
pub(super) struct History {
    pub(super) outline: Outline,
    pub(super) sample: Sample,
    pub(super) overall: Overall,
    pub(super) published: Series,
    pub(super) confirmed: Series,
    pub(super) consumed: Series,
    pub(super) backlog: Series,
    /// Thousandths of a processor.
    pub(super) broker_cpu: Series,
    last_warning: Option<String>,
    warning_count: u64,
}

impl History {
    pub(super) fn new(outline: Outline) -> Self {
        History { outline, ..History::default() }
    }

    pub(super) fn push(&mut self, sample: &Sample, overall: Overall) {
        self.published.push(rate(sample, sample.counts.published));
        self.confirmed.push(rate(sample, sample.counts.confirmed));
        self.consumed.push(rate(sample, sample.counts.consumed));
        self.backlog.push(sample.backlog as f64);
        let cpu = sample.broker.and_then(|broker| broker.usage.cpu_s);
        self.broker_cpu.push(cpu.map_or(0.0, |cpu| per_second(cpu, sample.duration_s) * 1_000.0));
        self.sample = sample.clone();
        self.overall = overall;
    }

    pub(super) fn warn(&mut self, text: String) {
        self.last_warning = Some(text);
        self.warning_count += 1;
    }

    /// The share of its machines' processors that the generator takes.
    pub(super) fn generator_share(&self) -> Option<f64> {
        let cpu = per_second(self.sample.generator.cpu_s?, self.sample.duration_s);
        (self.outline.processors > 0).then(|| cpu / f64::from(self.outline.processors))
    }

    /// What matters most of what is wrong, now before earlier.
    pub(super) fn warning(&self) -> Option<String> {
        let Sample { blocked, connections, .. } = self.sample;
        if blocked > 0 {
            return Some(format!("the broker blocks {blocked} of {connections} connections"));
        }
        if let Some(share) = self.generator_share().filter(|share| *share >= GENERATOR_BUSY) {
            let percent = (share * 100.0).round();
            let whose = if self.outline.has_agents { "the agents'" } else { "this machine's" };
            return Some(format!("the generator takes {percent} % of {whose} CPU, and may be the bottleneck"));
        }
        let last = self.last_warning.as_ref()?;
        Some(match self.warning_count {
            0 | 1 => last.clone(),
            count => format!("{last} (and {} more)", count - 1),
        })
    }

    /// The phase of the last sample's end: its name, how much of it has passed and how long it is, in seconds.
    pub(super) fn phase(&self) -> Option<(&str, f64, f64)> {
        let mut start = 0.0;
        for (name, duration) in &self.outline.phases {
            let length = duration.as_secs_f64();
            if self.sample.end_s < start + length {
                return Some((name, (self.sample.end_s - start).max(0.0), length));
            }
            start += length;
        }
        None
    }
}

/// So many a second.
pub(super) fn rate(sample: &Sample, count: u64) -> f64 {
    per_second(count as f64, sample.duration_s)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::results::Usage;

    fn at(end_s: f64) -> Sample {
        Sample { end_s, duration_s: 1.0, connections: 5, ..Sample::default() }
    }

    #[test]
    fn series_forgets_the_oldest() {
        let mut series = Series::default();
        (0..1_000).for_each(|value| series.push(f64::from(value)));
        assert_eq!(series.last(3), [997, 998, 999]);
        assert_eq!(series.last(10_000).len(), VALUES_MAX);
    }

    #[test]
    fn phase_is_found_by_time() {
        let phases = vec![("a".to_owned(), Duration::from_secs(10)), ("b".to_owned(), Duration::from_secs(5))];
        let mut history = History::new(Outline { phases, ..Outline::default() });
        let mut check = |end_s, expected| {
            history.push(&at(end_s), Overall::default());
            assert_eq!(history.phase(), expected);
        };
        check(0.0, Some(("a", 0.0, 10.0)));
        check(12.0, Some(("b", 2.0, 5.0)));
        check(15.0, None);
    }

    #[test]
    fn what_is_wrong_now_is_told_before_what_was() {
        let mut history = History::new(Outline { processors: 2, ..Outline::default() });
        assert_eq!(history.warning(), None);
        history.warn("first".to_owned());
        history.warn("second".to_owned());
        assert_eq!(history.warning().unwrap(), "second (and 1 more)");
        let busy = Sample { generator: Usage { cpu_s: Some(1.8), ..Usage::default() }, ..at(1.0) };
        history.push(&busy, Overall::default());
        let expected = "the generator takes 90 % of this machine's CPU, and may be the bottleneck";
        assert_eq!(history.warning().unwrap(), expected);
        history.outline.has_agents = true;
        assert!(history.warning().unwrap().contains("90 % of the agents' CPU"));
        history.push(&Sample { blocked: 3, ..busy }, Overall::default());
        assert_eq!(history.warning().unwrap(), "the broker blocks 3 of 5 connections");
    }
}
