//! The lines at the end that PerfTest does not have: the whole run at a glance.
//!
//! ```text
//! summary of 60.0 s
//!   published      1,200,000     20,000 msg/s    229 MiB/s
//!   confirmed      1,200,000     20,000 msg/s
//!   consumed       1,200,000     20,000 msg/s    229 MiB/s
//!   latency in ms      min    mean     p50     p75     p95     p99   p99.9     max
//!     consumer       0.104    0.412    0.391    …
//!     confirm        0.088    …
//!   sequence       nothing lost, nothing twice, nothing out of order
//!   generator      0.38 of 2 processors, 24 MiB
//!   broker         1.21 processors, 180 MiB
//! ```

use std::fmt::Write as _;

use crate::results::{Counts, Distribution, Percentiles, Run, SequenceCounts, Summary, Usage, per_second};
use figures::format::{bytes, number, whole};

/// Columns of the names on the left.
const NAME_WIDTH: usize = 15;

/// A run's outcome, for a terminal. `processors` is how many the generator may use; 0 if that is not known.
#[must_use]
pub(crate) fn render_summary(run: &Run, processors: u32) -> String {
    let summary = &run.summary;
    let mut out = format!("summary of {:.1} s", summary.duration_s);
    // Writing to a String cannot fail, here and below.
    if let Some(reason) = &run.interrupted {
        let _ = write!(out, ", which ended early: {reason}");
    }
    out.push('\n');
    put_counts(&mut out, &summary.counts, summary.duration_s);
    put_latencies(&mut out, summary);
    put_sequence(&mut out, summary);
    put_usage(&mut out, "generator", &summary.generator, summary.duration_s, processors);
    if let Some(broker) = &summary.broker {
        put_usage(&mut out, "broker", &broker.usage, summary.duration_s, 0);
    }
    if let Some(bottleneck) = &summary.bottleneck {
        put(&mut out, "beware", &format!("the generator was the bottleneck: {bottleneck}"));
    }
    for verdict in &run.verdicts {
        let word = if verdict.passed { "passed" } else { "FAILED" };
        put(&mut out, word, &format!("{}: {}", verdict.expected, verdict.measured));
    }
    out
}

fn put(out: &mut String, name: &str, text: &str) {
    let _ = writeln!(out, "  {name:<NAME_WIDTH$}{text}");
}

fn put_counts(out: &mut String, counts: &Counts, duration_s: f64) {
    // Those that say something; the others only if there is something to say.
    let lines = [
        ("published", counts.published, Some(counts.published_bytes), false),
        ("confirmed", counts.confirmed, None, false),
        ("nacked", counts.nacked, None, true),
        ("returned", counts.returned, None, true),
        ("consumed", counts.consumed, Some(counts.consumed_bytes), false),
        ("redelivered", counts.redelivered, None, true),
        ("things churned", counts.churned, None, false),
        ("scripts done", counts.scripts_done, None, false),
        ("scripts failed", counts.scripts_failed, None, true),
        ("requests failed", counts.requests_failed, None, true),
        ("reconnections", counts.connections_lost, None, true),
    ];
    for (name, count, body_bytes, is_trouble) in lines {
        if count == 0 {
            continue;
        }
        let mut text = format!("{:>13}", whole(count as f64));
        if !is_trouble {
            let unit = if body_bytes.is_some() || name == "confirmed" { "msg/s" } else { "1/s" };
            let _ = write!(text, "  {:>11} {unit}", number(per_second(count as f64, duration_s)));
        }
        if let Some(body_bytes) = body_bytes {
            let _ = write!(text, "  {:>13}/s", bytes(per_second(body_bytes as f64, duration_s)));
        }
        put(out, name, &text);
    }
}

fn put_latencies(out: &mut String, summary: &Summary) {
    let latencies = &summary.latencies;
    let mut rows: Vec<(&str, &Distribution)> = Vec::new();
    for (name, due, sent) in [
        ("consumer", &latencies.consumer, &latencies.consumer_sent),
        ("confirm", &latencies.confirm, &latencies.confirm_sent),
    ] {
        let Some(due) = due.as_ref().filter(|latency| latency.percentiles.count > 0) else { continue };
        rows.push((name, due));
        // From when it was sent: of interest only where that was not when it was due.
        if let Some(sent) = sent.as_ref().filter(|sent| differs(&sent.percentiles, &due.percentiles)) {
            rows.push(("  since sent", sent));
        }
    }
    rows.extend(summary.probes.iter().map(|(name, probe)| (name.as_str(), probe)));
    if rows.is_empty() {
        return;
    }
    let header = ["min", "mean", "p50", "p75", "p95", "p99", "p99.9", "max"];
    put(out, "latency in ms", &header.map(|name| format!("{name:>8}")).concat());
    for (name, distribution) in rows {
        let of = &distribution.percentiles;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a mean of nanoseconds")]
        let mean_ns = of.mean_ns as u64;
        let numbers = [of.min_ns, mean_ns, of.p50_ns, of.p75_ns, of.p95_ns, of.p99_ns, of.p999_ns, of.max_ns];
        put(out, &format!("  {name}"), &numbers.map(|nanos| format!("{:>8}", millis(nanos))).concat());
    }
}

/// Whether the tail is another one, by more than a tenth.
fn differs(a: &Percentiles, b: &Percentiles) -> bool {
    let differ = |a: u64, b: u64| a.abs_diff(b) > a.max(b) / 10;
    differ(a.p99_ns, b.p99_ns) || differ(a.max_ns, b.max_ns)
}

fn put_sequence(out: &mut String, summary: &Summary) {
    let sequence = &summary.sequence;
    if !sequence.is_complete {
        let has_both = summary.counts.published > 0 && summary.counts.consumed > 0;
        if let Some(reason) = sequence.incomplete_because.as_ref().filter(|_| has_both) {
            put(out, "sequence", &format!("not known: {reason}"));
        }
        return;
    }
    let SequenceCounts { out_of_order, duplicate, redelivered, lost } = sequence.total;
    let say = |count: u64, what: &str| match count {
        0 => format!("nothing {what}"),
        count => format!("{} {what}", whole(count as f64)),
    };
    let mut text = [say(lost, "lost"), say(duplicate, "twice"), say(out_of_order, "out of order")].join(", ");
    if redelivered > 0 {
        let _ = write!(text, ", {} redelivered", whole(redelivered as f64));
    }
    put(out, "sequence", &text);
}

fn put_usage(out: &mut String, name: &str, usage: &Usage, duration_s: f64, processors: u32) {
    let mut parts = Vec::new();
    if let Some(cpu_s) = usage.cpu_s.filter(|_| duration_s > 0.0) {
        let share = cpu_s / duration_s;
        parts.push(if processors > 0 {
            format!("{share:.2} of {processors} processors")
        } else {
            format!("{share:.2} processors")
        });
    }
    if let Some(memory) = usage.memory {
        parts.push(bytes(memory as f64));
    }
    if let Some(written) = usage.disk_written.filter(|written| *written > 0 && duration_s > 0.0) {
        parts.push(format!("at most {}/s to disk", bytes(written as f64 / duration_s)));
    }
    if !parts.is_empty() {
        put(out, name, &parts.join(", "));
    }
}

/// Milliseconds, with microseconds where they matter.
fn millis(nanos: u64) -> String {
    let millis = nanos as f64 / 1e6;
    match millis {
        0.0..100.0 => format!("{millis:.3}"),
        100.0..10_000.0 => format!("{millis:.1}"),
        _ => format!("{millis:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::testing::percentiles;
    use crate::results::{BrokerUsage, Latencies, Sequence, Verdict};

    fn latency(micros: [u64; 5]) -> Option<Distribution> {
        Some(Distribution { percentiles: percentiles(micros), ..Distribution::default() })
    }

    #[test]
    fn all_that_can_be_said_is_said_in_few_lines() {
        let counts = Counts {
            published: 1_200_000,
            published_bytes: 1_200_000 * 1000,
            confirmed: 1_200_000,
            consumed: 1_199_999,
            consumed_bytes: 1_199_999 * 1000,
            returned: 3,
            ..Counts::default()
        };
        let usage = |cpu_s, mib: u64| Usage { cpu_s: Some(cpu_s), memory: Some(mib << 20), ..Usage::default() };
        let run = Run {
            summary: Summary {
                duration_s: 60.0,
                counts,
                latencies: Latencies {
                    consumer: latency([104, 391, 602, 2685, 145_000]),
                    consumer_sent: latency([104, 391, 602, 2685, 20_000]),
                    confirm: latency([88, 300, 400, 500, 600]),
                    confirm_sent: latency([88, 300, 400, 500, 590]),
                    lateness: None,
                },
                sequence: Sequence {
                    is_complete: true,
                    incomplete_because: None,
                    total: SequenceCounts { lost: 1, redelivered: 1234, ..SequenceCounts::default() },
                    publishers: Vec::new(),
                },
                generator: usage(22.8, 24),
                broker: Some(BrokerUsage {
                    usage: Usage { disk_written: Some(60 << 20), ..usage(72.6, 180) },
                    ..BrokerUsage::default()
                }),
                bottleneck: Some("it used all of its processors".to_owned()),
                ..Summary::default()
            },
            verdicts: vec![Verdict {
                expected: "consumer latency max at most 1 ms".to_owned(),
                measured: "145 ms".to_owned(),
                passed: false,
            }],
            ..Run::default()
        };
        let expected = "\
summary of 60.0 s
  published          1,200,000       20,000 msg/s       19.1 MiB/s
  confirmed          1,200,000       20,000 msg/s
  returned                   3
  consumed           1,199,999       20,000 msg/s       19.1 MiB/s
  latency in ms       min    mean     p50     p75     p95     p99   p99.9     max
    consumer        0.104   1.000   0.391   0.602   2.685   145.0   145.0   145.0
      since sent    0.104   1.000   0.391   0.602   2.685  20.000  20.000  20.000
    confirm         0.088   1.000   0.300   0.400   0.500   0.600   0.600   0.600
  sequence       1 lost, nothing twice, nothing out of order, 1,234 redelivered
  generator      0.38 of 2 processors, 24 MiB
  broker         1.21 processors, 180 MiB, at most 1 MiB/s to disk
  beware         the generator was the bottleneck: it used all of its processors
  FAILED         consumer latency max at most 1 ms: 145 ms
";
        assert_eq!(render_summary(&run, 2), expected);
    }

    #[test]
    fn what_is_not_known_is_not_shown() {
        let run = Run { interrupted: Some("interrupted".to_owned()), ..Run::default() };
        assert_eq!(render_summary(&run, 0), "summary of 0.0 s, which ended early: interrupted\n");
    }
}
