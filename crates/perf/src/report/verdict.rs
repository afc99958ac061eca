//! Whether what was expected came true, with the words of both.
//!
//! A quantile is the upper end of its histogram's bucket, a thousandth wide: what is just at its limit may be found above it.
//! What was expected but not measured did not come true: a test that looks at nothing must not pass.

use crate::plan::{Bound, Expectation, Metric};
use crate::results::{Distribution, Sample, Summary, Verdict, per_second};
use figures::format;

/// One verdict for each expectation, in their order. Memory is the most that any sample saw, warm-up included.
#[must_use]
pub fn verdicts(expectations: &[Expectation], summary: &Summary, samples: &[Sample]) -> Vec<Verdict> {
    expectations.iter().map(|expectation| judge(expectation, summary, samples)).collect()
}

fn judge(expectation: &Expectation, summary: &Summary, samples: &[Sample]) -> Verdict {
    let Expectation { metric, bound } = expectation;
    let unit = unit(metric);
    let (word, limit) = match *bound {
        Bound::AtMost(limit) => ("at most", limit),
        Bound::AtLeast(limit) => ("at least", limit),
    };
    let expected = format!("{} {word} {}{unit}", subject(metric), format::number(limit));
    match measure(metric, summary, samples) {
        Ok(value) => {
            let passed = match bound {
                Bound::AtMost(_) => value <= limit,
                Bound::AtLeast(_) => value >= limit,
            };
            Verdict { expected, measured: format!("{}{unit}", measured(value, limit)), passed }
        }
        Err(why) => Verdict { expected, measured: format!("not measured: {why}"), passed: false },
    }
}

/// A value beside its limit. Where three digits make the two look the same, more of them.
fn measured(value: f64, limit: f64) -> String {
    let text = format::number(value);
    if value != limit && text == format::number(limit) { value.to_string() } else { text }
}

fn subject(metric: &Metric) -> String {
    match metric {
        Metric::ConsumerLatencyMs(quantile) => format!("consumer latency {}", quantile_name(*quantile)),
        Metric::ConfirmLatencyMs(quantile) => format!("confirm latency {}", quantile_name(*quantile)),
        Metric::ProbeLatencyMs(name, quantile) => format!("probe {name} {}", quantile_name(*quantile)),
        Metric::PublishRate => "publish rate".to_owned(),
        Metric::ConsumeRate => "consume rate".to_owned(),
        Metric::Lost => "lost messages".to_owned(),
        Metric::Duplicates => "duplicate messages".to_owned(),
        Metric::OutOfOrder => "messages out of order".to_owned(),
        Metric::BrokerMemoryMib => "broker memory".to_owned(),
        Metric::FailedSteps => "failed steps".to_owned(),
    }
}

fn unit(metric: &Metric) -> &'static str {
    match metric {
        Metric::ConsumerLatencyMs(_) | Metric::ConfirmLatencyMs(_) | Metric::ProbeLatencyMs(..) => " ms",
        Metric::PublishRate | Metric::ConsumeRate => " messages/s",
        Metric::BrokerMemoryMib => " MiB",
        Metric::Lost | Metric::Duplicates | Metric::OutOfOrder | Metric::FailedSteps => "",
    }
}

/// `p50`, `p99.9`, `max`.
fn quantile_name(quantile: f64) -> String {
    if quantile >= 1.0 {
        return "max".to_owned();
    }
    // Six decimals, so that 0.999 * 100 is 99.9 and not what floating point makes of it.
    let percent = format!("{:.6}", quantile * 100.0);
    format!("p{}", percent.trim_end_matches('0').trim_end_matches('.'))
}

fn measure<'a>(metric: &Metric, summary: &'a Summary, samples: &[Sample]) -> Result<f64, &'a str> {
    match metric {
        Metric::ConsumerLatencyMs(quantile) => {
            quantile_ms(summary.latencies.consumer.as_ref(), *quantile).ok_or("no message with a time was consumed")
        }
        Metric::ConfirmLatencyMs(quantile) => {
            quantile_ms(summary.latencies.confirm.as_ref(), *quantile).ok_or("no message was confirmed")
        }
        Metric::ProbeLatencyMs(name, quantile) => {
            quantile_ms(summary.probes.get(name), *quantile).ok_or("the probe had no answer")
        }
        Metric::PublishRate => rate(summary.counts.published, summary),
        Metric::ConsumeRate => rate(summary.counts.consumed, summary),
        Metric::Lost => followed(summary, |counts| counts.lost),
        Metric::Duplicates => followed(summary, |counts| counts.duplicate),
        Metric::OutOfOrder => followed(summary, |counts| counts.out_of_order),
        Metric::BrokerMemoryMib => {
            let sampled = samples.iter().filter_map(|sample| sample.broker?.usage.memory);
            let most = sampled.chain(summary.broker.and_then(|broker| broker.usage.memory)).max();
            most.map(|bytes| bytes as f64 / 1_048_576.0).ok_or("the broker is not watched")
        }
        // A script ends at the first step that fails, so the scripts that failed are the steps that failed.
        Metric::FailedSteps => Ok(summary.counts.scripts_failed as f64),
    }
}

fn quantile_ms(distribution: Option<&Distribution>, quantile: f64) -> Option<f64> {
    let distribution = distribution.filter(|distribution| distribution.percentiles.count > 0)?;
    Some(distribution.value_at_quantile(quantile) as f64 / 1e6)
}

fn rate(count: u64, summary: &Summary) -> Result<f64, &'static str> {
    if summary.duration_s > 0.0 {
        Ok(per_second(count as f64, summary.duration_s))
    } else {
        Err("the run ended before it started")
    }
}

fn followed(summary: &Summary, count: fn(&crate::results::SequenceCounts) -> u64) -> Result<f64, &str> {
    let found = count(&summary.sequence.total);
    // What was found was found, even where not all could be followed.
    if summary.sequence.is_complete || found > 0 {
        return Ok(found as f64);
    }
    Err(summary.sequence.incomplete_because.as_deref().unwrap_or("publishers' sequences could not be followed"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::time::Duration;

    use super::*;
    use crate::histogram;
    use crate::results::{BrokerUsage, Counts, Latencies, Sequence, SequenceCounts, Usage};

    fn latencies_us(values: std::ops::RangeInclusive<u64>) -> Option<Distribution> {
        let mut all = histogram::empty();
        values.for_each(|us| histogram::record(&mut all, Duration::from_micros(us)));
        Distribution::of(&all)
    }

    fn summary() -> Summary {
        Summary {
            duration_s: 10.0,
            counts: Counts { published: 100_000, consumed: 99_900, scripts_failed: 3, ..Counts::default() },
            latencies: Latencies {
                consumer: latencies_us(1..=1_000),
                confirm: latencies_us(1..=500),
                ..Latencies::default()
            },
            probes: BTreeMap::from([("overview".to_owned(), latencies_us(1..=20_000).unwrap())]),
            sequence: Sequence {
                is_complete: true,
                incomplete_because: None,
                total: SequenceCounts { lost: 100, out_of_order: 2, ..SequenceCounts::default() },
                publishers: Vec::new(),
            },
            ..Summary::default()
        }
    }

    #[track_caller]
    fn check(metric: Metric, bound: Bound, expected: &str, measured: &str, passed: bool) {
        let sample = |mib: u64| Sample {
            broker: Some(BrokerUsage {
                usage: Usage { memory: Some(mib << 20), ..Usage::default() },
                ..BrokerUsage::default()
            }),
            ..Sample::default()
        };
        let verdicts = verdicts(&[Expectation { metric, bound }], &summary(), &[sample(100), sample(300), sample(200)]);
        let wanted = Verdict { expected: expected.to_owned(), measured: measured.to_owned(), passed };
        assert_eq!(verdicts, [wanted]);
    }

    #[test]
    fn each_metric_has_its_words() {
        use Bound::{AtLeast, AtMost};
        let latency = Metric::ConsumerLatencyMs;
        check(latency(1.0), AtMost(1.0), "consumer latency max at most 1 ms", "1.000447 ms", false);
        check(latency(0.99), AtMost(1.0), "consumer latency p99 at most 1 ms", "0.99 ms", true);
        check(latency(0.42), AtMost(0.5), "consumer latency p42 at most 0.5 ms", "0.42 ms", true);
        check(Metric::ConfirmLatencyMs(0.999), AtMost(0.1), "confirm latency p99.9 at most 0.1 ms", "0.5 ms", false);
        let probe = Metric::ProbeLatencyMs("overview".to_owned(), 0.5);
        check(probe, AtMost(50.0), "probe overview p50 at most 50 ms", "10 ms", true);
        check(
            Metric::PublishRate,
            AtLeast(10_000.0),
            "publish rate at least 10,000 messages/s",
            "10,000 messages/s",
            true,
        );
        check(
            Metric::ConsumeRate,
            AtLeast(10_000.0),
            "consume rate at least 10,000 messages/s",
            "9,990 messages/s",
            false,
        );
        check(Metric::Lost, AtMost(0.0), "lost messages at most 0", "100", false);
        check(Metric::Duplicates, AtMost(0.0), "duplicate messages at most 0", "0", true);
        check(Metric::OutOfOrder, AtMost(2.0), "messages out of order at most 2", "2", true);
        check(Metric::BrokerMemoryMib, AtMost(256.0), "broker memory at most 256 MiB", "300 MiB", false);
        check(Metric::FailedSteps, AtMost(0.0), "failed steps at most 0", "3", false);
    }

    #[test]
    fn what_was_not_measured_did_not_come_true() {
        let metrics = [
            Metric::ConsumerLatencyMs(0.5),
            Metric::ConfirmLatencyMs(0.5),
            Metric::ProbeLatencyMs("none".to_owned(), 0.5),
            Metric::PublishRate,
            Metric::Lost,
            Metric::BrokerMemoryMib,
        ];
        let expectations = metrics.map(|metric| Expectation { metric, bound: Bound::AtMost(1e9) });
        for verdict in verdicts(&expectations, &Summary::default(), &[]) {
            assert!(!verdict.passed, "{verdict:?}");
            assert!(verdict.measured.starts_with("not measured: "), "{verdict:?}");
        }
    }
}
