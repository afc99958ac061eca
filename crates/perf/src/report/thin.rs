//! Fewer samples, for pages that have to stay small however long a run was.
//!
//! Neighbours are put together: counts are added, of percentiles the worst is kept, for an average of percentiles would hide
//! what one looks for. The JSON keeps every sample.

use std::collections::BTreeMap;

use crate::results::{BrokerUsage, Counts, Percentiles, Sample, Usage};

/// At most `limit` samples, and how many of the old ones each new one stands for.
pub(super) fn thin(samples: &[Sample], limit: usize) -> (Vec<Sample>, usize) {
    let step = samples.len().div_ceil(limit.max(1)).max(1);
    (samples.chunks(step).map(together).collect(), step)
}

fn together(samples: &[Sample]) -> Sample {
    let mut samples = samples.iter();
    let Some(first) = samples.next() else { return Sample::default() };
    samples.fold(first.clone(), |sum, next| Sample {
        end_s: next.end_s,
        duration_s: sum.duration_s + next.duration_s,
        counts: counts(sum.counts, next.counts),
        consumer_latency: worst(sum.consumer_latency, next.consumer_latency),
        consumer_latency_sent: worst(sum.consumer_latency_sent, next.consumer_latency_sent),
        confirm_latency: worst(sum.confirm_latency, next.confirm_latency),
        confirm_latency_sent: worst(sum.confirm_latency_sent, next.confirm_latency_sent),
        lateness: worst(sum.lateness, next.lateness),
        backlog: sum.backlog.max(next.backlog),
        connections: next.connections,
        blocked: sum.blocked.max(next.blocked),
        users: next.users,
        generator: usage(sum.generator, next.generator),
        broker: broker(sum.broker, next.broker),
        probes: probes(sum.probes, &next.probes),
    })
}

fn counts(mut sum: Counts, next: Counts) -> Counts {
    sum.add(&next);
    sum
}

/// Of each percentile the larger.
fn worst(a: Option<Percentiles>, b: Option<Percentiles>) -> Option<Percentiles> {
    let (Some(a), Some(b)) = (a, b) else { return a.or(b) };
    let count = a.count + b.count;
    let sum = a.mean_ns * a.count as f64 + b.mean_ns * b.count as f64;
    Some(Percentiles {
        count,
        min_ns: a.min_ns.min(b.min_ns),
        mean_ns: if count > 0 { sum / count as f64 } else { 0.0 },
        p50_ns: a.p50_ns.max(b.p50_ns),
        p75_ns: a.p75_ns.max(b.p75_ns),
        p90_ns: a.p90_ns.max(b.p90_ns),
        p95_ns: a.p95_ns.max(b.p95_ns),
        p99_ns: a.p99_ns.max(b.p99_ns),
        p999_ns: a.p999_ns.max(b.p999_ns),
        p9999_ns: a.p9999_ns.max(b.p9999_ns),
        max_ns: a.max_ns.max(b.max_ns),
    })
}

/// What is used up is added; of memory the last is kept.
fn usage(a: Usage, b: Usage) -> Usage {
    Usage {
        cpu_s: add_s(a.cpu_s, b.cpu_s),
        waited_s: add_s(a.waited_s, b.waited_s),
        memory: b.memory.or(a.memory),
        disk_read: add(a.disk_read, b.disk_read),
        disk_written: add(a.disk_written, b.disk_written),
        network_in: add(a.network_in, b.network_in),
        network_out: add(a.network_out, b.network_out),
    }
}

fn add_s(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    a.zip(b).map(|(a, b)| a + b).or(a).or(b)
}

fn add(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    a.zip(b).map(|(a, b)| a + b).or(a).or(b)
}

fn broker(a: Option<BrokerUsage>, b: Option<BrokerUsage>) -> Option<BrokerUsage> {
    let (Some(a), Some(b)) = (a, b) else { return a.or(b) };
    Some(BrokerUsage { usage: usage(a.usage, b.usage), ready: b.ready.or(a.ready), unacked: b.unacked.or(a.unacked) })
}

fn probes(mut a: BTreeMap<String, Percentiles>, b: &BTreeMap<String, Percentiles>) -> BTreeMap<String, Percentiles> {
    for (name, percentiles) in b {
        let known = a.remove(name);
        a.extend(worst(known, Some(*percentiles)).map(|worst| (name.clone(), worst)));
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(second: u64, p99_ns: u64) -> Sample {
        Sample {
            end_s: second as f64,
            duration_s: 1.0,
            counts: Counts { published: 10, ..Counts::default() },
            consumer_latency: Some(Percentiles { count: 10, mean_ns: p99_ns as f64, p99_ns, ..Percentiles::default() }),
            generator: Usage { cpu_s: Some(0.5), memory: Some(second), ..Usage::default() },
            ..Sample::default()
        }
    }

    #[test]
    fn few_samples_stay_as_they_are() {
        let samples: Vec<_> = (1..=5).map(|second| sample(second, second)).collect();
        assert_eq!(thin(&samples, 5), (samples, 1));
        assert_eq!(thin(&[], 5), (Vec::new(), 1));
    }

    #[test]
    fn neighbours_are_added_and_the_worst_percentile_is_kept() {
        let samples: Vec<_> =
            [7, 90, 8, 1, 2, 3, 4].iter().zip(1..).map(|(p99, second)| sample(second, *p99)).collect();
        let (thinned, step) = thin(&samples, 3);
        assert_eq!(step, 3);
        assert_eq!(thinned.len(), 3);
        let first = &thinned[0];
        assert_eq!((first.end_s, first.duration_s, first.counts.published), (3.0, 3.0, 30));
        let latency = first.consumer_latency.unwrap();
        assert_eq!((latency.count, latency.mean_ns, latency.p99_ns), (30, 35.0, 90));
        assert_eq!((first.generator.cpu_s, first.generator.memory), (Some(1.5), Some(3)));
        assert_eq!(thinned[2].end_s, 7.0);
    }
}
