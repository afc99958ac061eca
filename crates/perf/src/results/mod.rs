//! A run's outcome: the JSON file that is kept, compared and drawn. `docs/formats/perf-results.md` describes it.
//!
//! Field names say their unit. Times of samples are seconds since the start of the run; latencies are nanoseconds.
//! A reader refuses a newer [`SCHEMA`], and takes fields that it does not know for what they are: another version's.

mod file;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use file::LoadError;
pub(crate) use file::{check_writable, write_whole};

/// The version of the format.
pub const SCHEMA: u32 = 1;

/// Everything that one command measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// [`SCHEMA`].
    pub schema: u32,
    /// `warren perf`'s version.
    pub version: String,
    /// The workload's name, or PerfTest's `--id`.
    pub name: String,
    /// What the workload is for, in a few sentences.
    pub description: String,
    /// The words of the command, passwords left out.
    pub command: Vec<String>,
    /// The workload file's text, if there was one.
    pub workload: Option<String>,
    /// When it started, RFC 3339 in UTC.
    pub started_at: String,
    /// What everything random was drawn from.
    pub seed: u64,
    /// The machine that the command was given on: it generated the load, if there were no agents.
    pub machine: Machine,
    /// What the broker says of itself.
    pub broker: Option<Broker>,
    /// Machines that generated the load instead.
    pub agents: Vec<String>,
    /// How many processors the load was generated with: the machine's, or those of all agents. 0 in older files.
    #[serde(default)]
    pub generator_processors: u32,
    /// The runs: one, or one for each combination of a sweep.
    pub runs: Vec<Run>,
    /// What the user should know: options that were ignored, a generator that was the bottleneck.
    pub warnings: Vec<String>,
}

impl Results {
    /// How many processors the load was generated with; 0 if that is not known.
    #[must_use]
    pub fn processors(&self) -> u32 {
        if self.generator_processors > 0 { self.generator_processors } else { self.machine.processors }
    }
}

/// A machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// Operating system and kernel.
    pub system: String,
    /// The processor's name.
    pub processor: String,
    /// How many processors the process may use.
    pub processors: u32,
    /// Memory in bytes.
    pub memory: u64,
}

/// What a broker says of itself in `connection.start`, and where it is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Broker {
    /// Addresses, without passwords.
    pub uris: Vec<String>,
    /// The server property `product`, such as `RabbitMQ`.
    pub product: String,
    /// The server property `version`.
    pub version: String,
    /// The server property `product_name` with `product_version`, if it has them: Warren names itself there.
    pub variant: Option<String>,
    /// The server property `platform`.
    pub platform: String,
}

/// One run of a plan.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Tells it from the others of a sweep: `confirm_window=13, publishers=5`. Empty if it is the only one.
    pub label: String,
    /// The values of the sweep, by the variable's name.
    pub variables: BTreeMap<String, Variable>,
    /// Its phases.
    pub phases: Vec<PhaseMark>,
    /// One for each interval, in order.
    pub samples: Vec<Sample>,
    /// All of it, without warm-up.
    pub summary: Summary,
    /// Why it ended before its time, if it did.
    pub interrupted: Option<String>,
    /// Whether what was expected came true.
    pub verdicts: Vec<Verdict>,
}

/// A value of a sweep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Variable {
    /// A number, which a chart can have along its axis.
    Number(f64),
    /// Anything else.
    Text(String),
}

/// A phase, as it was.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PhaseMark {
    /// Its name.
    pub name: String,
    /// When it started.
    pub start_s: f64,
    /// When it ended.
    pub end_s: f64,
}

/// What happened in one interval.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// When the interval ended.
    pub end_s: f64,
    /// How long it was.
    pub duration_s: f64,
    /// What was counted in it.
    pub counts: Counts,
    /// From when a message was due until a consumer had it.
    pub consumer_latency: Option<Percentiles>,
    /// From when it was sent until a consumer had it.
    pub consumer_latency_sent: Option<Percentiles>,
    /// From when a message was due until it was confirmed.
    pub confirm_latency: Option<Percentiles>,
    /// From when it was sent until it was confirmed.
    pub confirm_latency_sent: Option<Percentiles>,
    /// How late messages were sent, after they were due.
    pub lateness: Option<Percentiles>,
    /// Messages that are published and not yet consumed, as far as this run knows; negative if it also consumes others'.
    pub backlog: i64,
    /// Connections of this run that are open.
    pub connections: u32,
    /// Of those, how many the broker has blocked.
    pub blocked: u32,
    /// Simulated users that are at work.
    pub users: u32,
    /// The generator's own use of the machine.
    pub generator: Usage,
    /// The broker's, if it is watched.
    pub broker: Option<BrokerUsage>,
    /// How long answers to probes took, by the probe's name.
    pub probes: BTreeMap<String, Percentiles>,
}

/// Things that are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Messages published.
    pub published: u64,
    /// Bytes of their bodies.
    pub published_bytes: u64,
    /// Messages confirmed.
    pub confirmed: u64,
    /// Messages refused by the broker (`basic.nack` to a publisher).
    pub nacked: u64,
    /// Messages returned as unroutable.
    pub returned: u64,
    /// Messages consumed.
    pub consumed: u64,
    /// Bytes of their bodies.
    pub consumed_bytes: u64,
    /// Deliveries that were marked redelivered.
    pub redelivered: u64,
    /// Bytes that the sockets took.
    pub sent_wire_bytes: u64,
    /// Bytes that the sockets gave.
    pub received_wire_bytes: u64,
    /// Connections that were opened.
    pub connections_opened: u64,
    /// Connections that were lost, and are tried again.
    pub connections_lost: u64,
    /// Things that churn has made and removed.
    pub churned: u64,
    /// Users' scripts that were done.
    pub scripts_done: u64,
    /// Users' scripts that failed.
    pub scripts_failed: u64,
    /// Requests of probes and scripts that failed, or had another status than they should.
    pub requests_failed: u64,
}

/// So much a second; nothing where there was no time.
pub(crate) fn per_second(amount: f64, duration_s: f64) -> f64 {
    if duration_s > 0.0 { amount / duration_s } else { 0.0 }
}

impl Counts {
    /// Adds others.
    pub fn add(&mut self, other: &Counts) {
        self.published += other.published;
        self.published_bytes += other.published_bytes;
        self.confirmed += other.confirmed;
        self.nacked += other.nacked;
        self.returned += other.returned;
        self.consumed += other.consumed;
        self.consumed_bytes += other.consumed_bytes;
        self.redelivered += other.redelivered;
        self.sent_wire_bytes += other.sent_wire_bytes;
        self.received_wire_bytes += other.received_wire_bytes;
        self.connections_opened += other.connections_opened;
        self.connections_lost += other.connections_lost;
        self.churned += other.churned;
        self.scripts_done += other.scripts_done;
        self.scripts_failed += other.scripts_failed;
        self.requests_failed += other.requests_failed;
    }
}

/// What the broker uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BrokerUsage {
    /// Processes that are watched: CPU, memory and disk.
    pub usage: Usage,
    /// Messages ready, as the management API says.
    pub ready: Option<u64>,
    /// Messages unacked, as the management API says.
    pub unacked: Option<u64>,
}

/// What a process uses. `None` where it cannot be known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    /// CPU seconds, user and system, of all threads.
    pub cpu_s: Option<f64>,
    /// Seconds for which threads were ready to run and had no processor, added up over all threads.
    pub waited_s: Option<f64>,
    /// Resident memory in bytes, at the end of the interval; the most of it in a summary.
    pub memory: Option<u64>,
    /// Bytes read from disk.
    pub disk_read: Option<u64>,
    /// Bytes written to disk, at most: the lesser of what the processes made dirty and what the disks of their files wrote.
    pub disk_written: Option<u64>,
    /// Bytes received, over all that shares its network.
    pub network_in: Option<u64>,
    /// Bytes sent, over all that shares its network.
    pub network_out: Option<u64>,
}

impl Usage {
    /// What was used in both of two stretches of time.
    pub(crate) fn plus(self, other: Usage) -> Usage {
        let sum = |one: Option<u64>, other: Option<u64>| {
            one.map_or(other, |one| Some(one.saturating_add(other.unwrap_or(0))))
        };
        let sum_s = |one: Option<f64>, other: Option<f64>| one.map_or(other, |one| Some(one + other.unwrap_or(0.0)));
        Usage {
            cpu_s: sum_s(self.cpu_s, other.cpu_s),
            waited_s: sum_s(self.waited_s, other.waited_s),
            memory: self.memory.max(other.memory),
            disk_read: sum(self.disk_read, other.disk_read),
            disk_written: sum(self.disk_written, other.disk_written),
            network_in: sum(self.network_in, other.network_in),
            network_out: sum(self.network_out, other.network_out),
        }
    }
}

/// Percentiles, each exact to three digits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Percentiles {
    /// How many were measured.
    pub count: u64,
    /// Least.
    pub min_ns: u64,
    /// Mean.
    pub mean_ns: f64,
    /// Half are at most this.
    pub p50_ns: u64,
    /// 75 of 100 are at most this.
    pub p75_ns: u64,
    /// 90 of 100.
    pub p90_ns: u64,
    /// 95 of 100.
    pub p95_ns: u64,
    /// 99 of 100.
    pub p99_ns: u64,
    /// 999 of 1,000.
    pub p999_ns: u64,
    /// 9,999 of 10,000.
    pub p9999_ns: u64,
    /// Most.
    pub max_ns: u64,
}

/// A whole run, without warm-up.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// How long it was measured.
    pub duration_s: f64,
    /// What was counted.
    pub counts: Counts,
    /// Latencies.
    pub latencies: Latencies,
    /// How long answers to probes took, by the probe's name.
    pub probes: BTreeMap<String, Distribution>,
    /// What became of each publisher's sequence; over the whole run, warm-up included.
    pub sequence: Sequence,
    /// The generator's own use of the machine.
    pub generator: Usage,
    /// The broker's.
    pub broker: Option<BrokerUsage>,
    /// Whether the generator itself was the bottleneck, and why it looks so.
    pub bottleneck: Option<String>,
}

/// Latencies of a whole run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Latencies {
    /// From when a message was due until a consumer had it.
    pub consumer: Option<Distribution>,
    /// From when it was sent until a consumer had it.
    pub consumer_sent: Option<Distribution>,
    /// From when a message was due until it was confirmed.
    pub confirm: Option<Distribution>,
    /// From when it was sent until it was confirmed.
    pub confirm_sent: Option<Distribution>,
    /// How late messages were sent, after they were due.
    pub lateness: Option<Distribution>,
}

/// All of a distribution.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Distribution {
    /// The percentiles that people quote.
    pub percentiles: Percentiles,
    /// The percentile curve: share of messages (0 to 1), and the latency that they do not exceed.
    pub curve: Vec<(f64, u64)>,
    /// The histogram itself: HdrHistogram's V2 format, compressed, in base64, so that results can be merged later.
    pub histogram: String,
}

/// What became of publishers' sequences.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sequence {
    /// Whether it was followed to the end: publishers and consumers were both here, each message reached one queue, and none was
    /// left with a consumer.
    pub is_complete: bool,
    /// Why it was not.
    pub incomplete_because: Option<String>,
    /// All publishers together.
    pub total: SequenceCounts,
    /// Publishers with anything to report, at most 1,000.
    pub publishers: Vec<PublisherSequence>,
}

/// One publisher's sequence.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PublisherSequence {
    /// The publisher: group and number.
    pub publisher: String,
    /// What became of its messages.
    pub counts: SequenceCounts,
}

/// What became of messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SequenceCounts {
    /// Came after a later one, in the same queue.
    pub out_of_order: u64,
    /// Came again, and were not marked redelivered.
    pub duplicate: u64,
    /// Came again, marked redelivered.
    pub redelivered: u64,
    /// Were to come (confirmed, or sent where there are no confirms), and never did.
    pub lost: u64,
}

/// Whether one thing that was expected came true.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// What was expected, in words: `consumer latency max at most 1 ms`.
    pub expected: String,
    /// What was measured, in words: `0.83 ms`.
    pub measured: String,
    /// Whether it came true.
    pub passed: bool,
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;

    use super::*;

    /// Results in which every struct of the format occurs.
    fn everything() -> Results {
        let distribution = || Some(Distribution::default());
        let latencies = Latencies {
            consumer: distribution(),
            consumer_sent: distribution(),
            confirm: distribution(),
            confirm_sent: distribution(),
            lateness: distribution(),
        };
        let sequence = Sequence { publishers: vec![PublisherSequence::default()], ..Sequence::default() };
        let summary = Summary { latencies, sequence, broker: Some(BrokerUsage::default()), ..Summary::default() };
        let run = Run {
            phases: vec![PhaseMark::default()],
            samples: vec![Sample { consumer_latency: Some(Percentiles::default()), ..Sample::default() }],
            summary,
            verdicts: vec![Verdict::default()],
            ..Run::default()
        };
        Results { schema: SCHEMA, broker: Some(Broker::default()), runs: vec![run], ..Results::default() }
    }

    fn names<'a>(value: &'a Value, found: &mut BTreeSet<&'a str>) {
        match value {
            Value::Object(fields) => fields.iter().for_each(|(name, value)| {
                found.insert(name);
                names(value, found);
            }),
            Value::Array(values) => values.iter().for_each(|value| names(value, found)),
            _ => {}
        }
    }

    #[test]
    fn page_names_every_field() {
        let page = include_str!("../../../../docs/formats/perf-results.md");
        let json = serde_json::to_value(everything()).unwrap();
        let mut found = BTreeSet::new();
        names(&json, &mut found);
        assert!(found.len() > 90, "{} fields: one of the structs was not serialized", found.len());
        let missing: Vec<_> = found.iter().filter(|name| !page.contains(&format!("`{name}`"))).collect();
        assert!(missing.is_empty(), "docs/formats/perf-results.md lacks {missing:?}");
    }
}
