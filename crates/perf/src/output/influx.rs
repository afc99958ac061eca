//! Samples in InfluxDB's line protocol:
//!
//! ```text
//!  perftest,id=test-1,env=ci published=20i,published_rate=19.98,latency_p99_ns=2907000i,… 1700000001000000000
//!  perftest_probe,id=test-1,env=ci,probe=queues count=1i,p50_ns=…,… 1700000001000000000
//! ```

use std::io::Write;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use influx::{Fields, Precision, Tags};

use super::outlet::Outlet;
use super::run_output::RunOutput;
use crate::plan::Plan;
use crate::results::{Counts, Percentiles, Sample, Usage, per_second};

/// How lines look.
#[derive(Clone, Debug)]
pub(super) struct Lines {
    /// `id` and the others.
    tags: Tags,
    /// Since 1970.
    started_at: Duration,
}

impl Lines {
    pub(super) fn new(id: &str, labels: &[(String, String)]) -> Self {
        let mut tags = Tags::default();
        tags.put("id", id);
        labels.iter().for_each(|(name, value)| tags.put(name, value));
        Lines { tags, started_at: Duration::ZERO }
    }

    /// Samples count from this time.
    pub(super) fn start(&mut self, at: SystemTime) {
        self.started_at = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    }

    pub(super) fn render(&self, sample: &Sample) -> String {
        let since_start = Duration::try_from_secs_f64(sample.end_s).unwrap_or_default();
        let at = Precision::Nanoseconds.at(self.started_at.saturating_add(since_start));
        let mut out = String::new();
        influx::write(&mut out, "perftest", at, |tags| tags.put_all(&self.tags), |fields| put_sample(fields, sample));
        for (name, percentiles) in &sample.probes {
            let tags = |tags: &mut Tags| {
                tags.put_all(&self.tags);
                tags.put("probe", name);
            };
            let fields = |fields: &mut Fields<'_>| put_percentiles(fields, "", Some(percentiles));
            influx::write(&mut out, "perftest_probe", at, tags, fields);
        }
        out
    }
}

fn put_sample(fields: &mut Fields<'_>, sample: &Sample) {
    let counts = &sample.counts;
    for (name, count) in [
        ("published", counts.published),
        ("confirmed", counts.confirmed),
        ("nacked", counts.nacked),
        ("returned", counts.returned),
        ("consumed", counts.consumed),
        ("redelivered", counts.redelivered),
    ] {
        fields.count(name, count);
        fields.float(&format!("{name}_rate"), per_second(count as f64, sample.duration_s));
    }
    for (name, count) in [
        ("published_bytes", counts.published_bytes),
        ("consumed_bytes", counts.consumed_bytes),
        ("sent_wire_bytes", counts.sent_wire_bytes),
        ("received_wire_bytes", counts.received_wire_bytes),
        ("connections_opened", counts.connections_opened),
        ("connections_lost", counts.connections_lost),
        ("connections", sample.connections.into()),
        ("blocked", sample.blocked.into()),
        ("users", sample.users.into()),
    ] {
        fields.count(name, count);
    }
    fields.integer("backlog", sample.backlog);
    put_percentiles(fields, "latency_", sample.consumer_latency.as_ref());
    put_percentiles(fields, "confirm_latency_", sample.confirm_latency.as_ref());
    put_percentiles(fields, "lateness_", sample.lateness.as_ref());
    put_usage(fields, "generator_", &sample.generator);
    if let Some(broker) = &sample.broker {
        put_usage(fields, "broker_", &broker.usage);
        put_known(fields, "broker_ready", broker.ready);
        put_known(fields, "broker_unacked", broker.unacked);
    }
}

fn put_percentiles(fields: &mut Fields<'_>, prefix: &str, percentiles: Option<&Percentiles>) {
    let Some(percentiles) = percentiles else { return };
    for (name, number) in [
        ("count", percentiles.count),
        ("min_ns", percentiles.min_ns),
        ("p50_ns", percentiles.p50_ns),
        ("p75_ns", percentiles.p75_ns),
        ("p90_ns", percentiles.p90_ns),
        ("p95_ns", percentiles.p95_ns),
        ("p99_ns", percentiles.p99_ns),
        ("p999_ns", percentiles.p999_ns),
        ("p9999_ns", percentiles.p9999_ns),
        ("max_ns", percentiles.max_ns),
    ] {
        fields.count(&format!("{prefix}{name}"), number);
    }
    fields.float(&format!("{prefix}mean_ns"), percentiles.mean_ns);
}

fn put_usage(fields: &mut Fields<'_>, prefix: &str, usage: &Usage) {
    for (name, seconds) in [("cpu_s", usage.cpu_s), ("waited_s", usage.waited_s)] {
        if let Some(seconds) = seconds {
            fields.float(&format!("{prefix}{name}"), seconds);
        }
    }
    for (name, number) in [
        ("memory", usage.memory),
        ("disk_read", usage.disk_read),
        ("disk_written", usage.disk_written),
        ("network_in", usage.network_in),
        ("network_out", usage.network_out),
    ] {
        put_known(fields, &format!("{prefix}{name}"), number);
    }
}

fn put_known(fields: &mut Fields<'_>, name: &str, number: Option<u64>) {
    if let Some(number) = number {
        fields.count(name, number);
    }
}

/// Writes lines to a file.
pub(crate) struct InfluxFile<W> {
    outlet: Outlet<W>,
    lines: Lines,
}

impl<W: Write + Send> InfluxFile<W> {
    /// Lines of a run. The name is for the warning when it cannot be written.
    pub(crate) fn new(writer: W, name: &str, id: &str, labels: &[(String, String)]) -> Self {
        InfluxFile { outlet: Outlet::new(writer, Some(name.to_owned())), lines: Lines::new(id, labels) }
    }
}

impl<W: Write + Send> RunOutput for InfluxFile<W> {
    fn started(&mut self, _plan: &Plan, at: SystemTime) {
        self.lines.start(at);
    }

    fn sample(&mut self, sample: &Sample, _totals: &Counts) {
        self.outlet.write(&self.lines.render(sample));
    }

    fn take_warning(&mut self) -> Option<String> {
        self.outlet.take_warning()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::testing::{percentiles, sample};

    fn lines(id: &str, labels: &[(&str, &str)]) -> Lines {
        let labels: Vec<_> = labels.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let mut lines = Lines::new(id, &labels);
        lines.start(UNIX_EPOCH + Duration::from_secs(1_700_000_000));
        lines
    }

    #[test]
    fn a_sample_is_a_line() {
        let mut sample = sample(1.5, 1.0, 20);
        sample.consumer_latency = Some(percentiles([1, 2, 3, 4, 5]));
        let text = lines("test-1", &[("env", "ci")]).render(&sample);
        assert!(
            text.starts_with("perftest,id=test-1,env=ci published=20i,published_rate=20.0,confirmed=20i,"),
            "{text}"
        );
        assert!(text.contains(",latency_p99_ns=5000i,") && !text.contains("confirm_latency"), "{text}");
        assert!(text.ends_with(" 1700000001500000000\n"), "{text}");
        assert_eq!(text.lines().count(), 1);
    }

    #[test]
    fn a_probe_is_a_line_of_its_own() {
        let mut sample = sample(1.0, 1.0, 20);
        sample.probes.insert("all queues".to_owned(), percentiles([1, 2, 3, 4, 5]));
        let text = lines("t", &[]).render(&sample);
        assert!(
            text.lines().nth(1).unwrap().starts_with("perftest_probe,id=t,probe=all\\ queues count=20i,min_ns=1000i,")
        );
    }

    #[test]
    fn tags_cannot_break_a_line() {
        let text = lines("a b,c=d", &[("x y", "one\ntwo"), ("empty", "")]).render(&sample(1.0, 1.0, 20));
        assert!(text.starts_with("perftest,id=a\\ b\\,c\\=d,x\\ y=one\\ntwo published=20i,"), "{text}");
        assert_eq!(text.lines().count(), 1);
    }
}
