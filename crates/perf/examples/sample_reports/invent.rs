//! Invented results that look like real ones.

use std::collections::BTreeMap;
use std::time::Duration;

use perf::histogram;
use perf::plan::{Bound, Expectation, Metric};
use perf::report::verdict::verdicts;
use perf::results::{
    Broker, BrokerUsage, Counts, Distribution, Latencies, Machine, Percentiles, PhaseMark, PublisherSequence, Results,
    Run, SCHEMA, Sample, Sequence, SequenceCounts, Summary, Usage, Variable,
};

/// Numbers that only look random (splitmix64).
struct Dice(u64);

impl Dice {
    /// Between 0 and 1.
    fn roll(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Around 1, within a few percent.
    fn about(&mut self) -> f64 {
        0.97 + 0.06 * self.roll()
    }

    /// A latency: mostly around `median_us`, rarely a good deal more.
    fn latency(&mut self, median_us: f64) -> Duration {
        let bulk = (0..4).map(|_| self.roll()).sum::<f64>() / 2.0;
        let tail = if self.roll() < 0.01 { 4.0 * (-self.roll().max(1e-9).ln()) } else { 0.0 };
        Duration::from_nanos((median_us * 1_000.0 * (0.35 + 0.65 * bulk + tail)) as u64)
    }
}

/// What the broker is asked to do.
struct Load {
    seconds: u64,
    rate: fn(f64) -> f64,
    capacity: f64,
    median_us: f64,
    phases: &'static [(&'static str, f64, f64)],
    probes: bool,
}

struct Recorders {
    consumer: hdrhistogram::Histogram<u64>,
    consumer_sent: hdrhistogram::Histogram<u64>,
    confirm: hdrhistogram::Histogram<u64>,
    confirm_sent: hdrhistogram::Histogram<u64>,
    lateness: hdrhistogram::Histogram<u64>,
    probe: hdrhistogram::Histogram<u64>,
}

impl Recorders {
    fn new() -> Self {
        let [consumer, consumer_sent, confirm, confirm_sent, lateness, probe] = [(); 6].map(|()| histogram::empty());
        Recorders { consumer, consumer_sent, confirm, confirm_sent, lateness, probe }
    }

    fn add(&mut self, other: &Recorders) {
        let pairs = [
            (&mut self.consumer, &other.consumer),
            (&mut self.consumer_sent, &other.consumer_sent),
            (&mut self.confirm, &other.confirm),
            (&mut self.confirm_sent, &other.confirm_sent),
            (&mut self.lateness, &other.lateness),
            (&mut self.probe, &other.probe),
        ];
        pairs.into_iter().for_each(|(all, part)| all.add(part).expect("both have the same bounds"));
    }
}

fn run(load: &Load, seed: u64) -> Run {
    let mut dice = Dice(seed);
    let mut all = Recorders::new();
    let mut samples: Vec<Sample> = Vec::new();
    let mut backlog = 0.0_f64;
    let mut total = Counts::default();
    let (mut broker_cpu, mut generator_cpu, mut written) = (0.0, 0.0, 0);
    for second in 0..load.seconds {
        let time = second as f64;
        let offered = (load.rate)(time) * dice.about();
        let served = (offered + backlog).min(load.capacity * dice.about());
        backlog = (backlog + offered - served).max(0.0);
        let counts = Counts {
            published: offered as u64,
            published_bytes: offered as u64 * 1_024,
            confirmed: (offered * dice.about().min(1.0)) as u64,
            consumed: served as u64,
            consumed_bytes: served as u64 * 1_024,
            sent_wire_bytes: offered as u64 * 1_110,
            received_wire_bytes: served as u64 * 1_090,
            ..Counts::default()
        };
        let busy = offered / load.capacity;
        let wait_us = backlog / load.capacity * 1e6;
        let (sample, recorded) = sample(&mut dice, load, second, counts, busy, wait_us, backlog);
        broker_cpu += sample.broker.and_then(|broker| broker.usage.cpu_s).unwrap_or(0.0);
        generator_cpu += sample.generator.cpu_s.unwrap_or(0.0);
        written += sample.broker.and_then(|broker| broker.usage.disk_written).unwrap_or(0);
        total.published += counts.published;
        total.published_bytes += counts.published_bytes;
        total.confirmed += counts.confirmed;
        total.consumed += counts.consumed;
        total.consumed_bytes += counts.consumed_bytes;
        total.sent_wire_bytes += counts.sent_wire_bytes;
        total.received_wire_bytes += counts.received_wire_bytes;
        all.add(&recorded);
        samples.push(sample);
    }
    let memory = samples.iter().filter_map(|sample| sample.broker?.usage.memory).max();
    let summary = Summary {
        duration_s: load.seconds as f64,
        counts: total,
        latencies: Latencies {
            consumer: Distribution::of(&all.consumer),
            consumer_sent: Distribution::of(&all.consumer_sent),
            confirm: Distribution::of(&all.confirm),
            confirm_sent: Distribution::of(&all.confirm_sent),
            lateness: Distribution::of(&all.lateness),
        },
        probes: Distribution::of(&all.probe).map(|probe| ("overview".to_owned(), probe)).into_iter().collect(),
        sequence: Sequence { is_complete: true, ..Sequence::default() },
        generator: Usage { cpu_s: Some(generator_cpu), memory: Some(41 << 20), ..Usage::default() },
        broker: Some(BrokerUsage {
            usage: Usage { cpu_s: Some(broker_cpu), memory, disk_written: Some(written), ..Usage::default() },
            ..BrokerUsage::default()
        }),
        bottleneck: None,
    };
    let mark = |&(name, start_s, end_s): &(&str, f64, f64)| PhaseMark { name: name.to_owned(), start_s, end_s };
    Run { phases: load.phases.iter().map(mark).collect(), samples, summary, ..Run::default() }
}

fn sample(
    dice: &mut Dice,
    load: &Load,
    second: u64,
    counts: Counts,
    busy: f64,
    wait_us: f64,
    backlog: f64,
) -> (Sample, Recorders) {
    let mut recorded = Recorders::new();
    for _ in 0..400 {
        let late = dice.latency(18.0 + 30.0 * busy * busy);
        let confirm = dice.latency(load.median_us * (1.6 + busy));
        let arrive =
            dice.latency(load.median_us * (0.8 + busy)) + Duration::from_micros((wait_us * dice.about()) as u64);
        histogram::record(&mut recorded.lateness, late);
        histogram::record(&mut recorded.confirm_sent, confirm);
        histogram::record(&mut recorded.confirm, late + confirm);
        histogram::record(&mut recorded.consumer_sent, arrive);
        histogram::record(&mut recorded.consumer, late + arrive);
    }
    let mut probes = BTreeMap::new();
    if load.probes && second.is_multiple_of(2) {
        (0..10).for_each(|_| histogram::record(&mut recorded.probe, dice.latency(2_500.0 * (1.0 + busy))));
        probes.extend(Percentiles::of(&recorded.probe).map(|probe| ("overview".to_owned(), probe)));
    }
    let broker = BrokerUsage {
        usage: Usage {
            waited_s: Some(0.02 * busy),
            cpu_s: Some((0.05 + 1.1 * busy.min(1.0)) * dice.about()),
            memory: Some((38 << 20) + (backlog * 240.0) as u64 + (dice.roll() * 3e6) as u64),
            disk_read: Some(0),
            disk_written: Some(counts.published * 1_150),
            network_in: Some(counts.published * 1_110),
            network_out: Some(counts.consumed * 1_090),
        },
        ready: Some(backlog as u64),
        unacked: Some((120.0 * dice.about()) as u64),
    };
    let sample = Sample {
        end_s: second as f64 + 1.0,
        duration_s: 1.0,
        counts,
        consumer_latency: Percentiles::of(&recorded.consumer),
        consumer_latency_sent: Percentiles::of(&recorded.consumer_sent),
        confirm_latency: Percentiles::of(&recorded.confirm),
        confirm_latency_sent: Percentiles::of(&recorded.confirm_sent),
        lateness: Percentiles::of(&recorded.lateness),
        backlog: backlog as i64,
        connections: 20,
        blocked: 0,
        users: 0,
        generator: Usage { cpu_s: Some(0.3 * (0.2 + busy) * dice.about()), memory: Some(41 << 20), ..Usage::default() },
        broker: Some(broker),
        probes,
    };
    (sample, recorded)
}

fn results(name: &str, description: &str, runs: Vec<Run>) -> Results {
    Results {
        schema: SCHEMA,
        version: "0.1.0".to_owned(),
        name: name.to_owned(),
        description: description.to_owned(),
        command: ["warren", "perf", "run", "peak.toml", "--uri", "amqp://guest@127.0.0.1:5672", "--set", "size=1 KiB"]
            .map(str::to_owned)
            .to_vec(),
        workload: Some("name = \"invented\"\n\n[[phases]]\nname = \"base\"\nduration = \"30s\"\n".to_owned()),
        started_at: "2026-11-20T14:03:27Z".to_owned(),
        seed: 42,
        machine: Machine {
            system: "Linux 6.12".to_owned(),
            processor: "AMD EPYC 9354".to_owned(),
            processors: 4,
            memory: 16 << 30,
        },
        broker: Some(Broker {
            uris: vec!["amqp://127.0.0.1:5672".to_owned()],
            product: "RabbitMQ".to_owned(),
            version: "4.3.0".to_owned(),
            variant: Some("Warren 0.1.0".to_owned()),
            platform: "Rust".to_owned(),
        }),
        agents: Vec::new(),
        generator_processors: 4,
        runs,
        warnings: Vec::new(),
    }
}

fn expect(metric: Metric, bound: Bound) -> Expectation {
    Expectation { metric, bound }
}

const PHASES: &[(&str, f64, f64)] =
    &[("base", 0.0, 30.0), ("ramp", 30.0, 50.0), ("peak", 50.0, 80.0), ("after", 80.0, 120.0)];

fn peak_rate(time: f64) -> f64 {
    match time {
        t if t < 30.0 => 20_000.0,
        t if t < 50.0 => 20_000.0 + (t - 30.0) * 1_800.0,
        t if t < 80.0 => 56_000.0,
        _ => 15_000.0,
    }
}

/// Two minutes with a peak that is a little too much. `slowness` below 1 is a faster broker.
pub(crate) fn peak(slowness: f64) -> Results {
    let capacity = 52_000.0 / slowness.sqrt();
    let load =
        Load { seconds: 120, rate: peak_rate, capacity, median_us: 310.0 * slowness, phases: PHASES, probes: true };
    let mut run = run(&load, 7);
    let expectations = [
        expect(Metric::ConsumerLatencyMs(0.5), Bound::AtMost(5.0)),
        expect(Metric::ConfirmLatencyMs(0.99), Bound::AtMost(20.0)),
        expect(Metric::ConsumeRate, Bound::AtLeast(25_000.0)),
        expect(Metric::Lost, Bound::AtMost(0.0)),
        expect(Metric::BrokerMemoryMib, Bound::AtMost(256.0)),
        expect(Metric::ProbeLatencyMs("overview".to_owned(), 0.99), Bound::AtMost(100.0)),
    ];
    run.verdicts = verdicts(&expectations, &run.summary, &run.samples);
    let description = "Ten publishers and ten consumers of 1 KiB messages on ten durable queues. \
                       The rate triples for half a minute, which is a little more than the broker can take.";
    results("A peak and what it leaves behind", description, vec![run])
}

fn swept(label: String, variables: &[(&str, f64)], capacity: f64, median_us: f64, seed: u64) -> Run {
    let load = Load { seconds: 20, rate: |_| 1e9, capacity, median_us, phases: &[], probes: false };
    // As fast as possible: what is published is what the broker takes.
    let load = Load { rate: |_| 30_000.0, capacity: load.capacity, ..load };
    let scale = capacity / 30_000.0;
    let mut run = Run { label, ..run(&Load { capacity: 36_000.0, ..load }, seed) };
    run.variables = variables.iter().map(|(name, value)| ((*name).to_owned(), Variable::Number(*value))).collect();
    let counts = &mut run.summary.counts;
    for count in [&mut counts.published, &mut counts.confirmed, &mut counts.consumed] {
        *count = (*count as f64 * scale) as u64;
    }
    for sample in &mut run.samples {
        for count in [&mut sample.counts.published, &mut sample.counts.confirmed, &mut sample.counts.consumed] {
            *count = (*count as f64 * scale) as u64;
        }
    }
    let expectations =
        [expect(Metric::ConsumerLatencyMs(0.99), Bound::AtMost(12.0)), expect(Metric::Lost, Bound::AtMost(0.0))];
    run.verdicts = verdicts(&expectations, &run.summary, &run.samples);
    run
}

/// Two variables: what confirm windows and publishers do to rate and latency.
pub(crate) fn sweep() -> Results {
    let mut runs = Vec::new();
    for publishers in [1.0_f64, 4.0, 16.0] {
        for window in [1.0_f64, 4.0, 16.0, 64.0, 256.0, 1_024.0] {
            let rate = 60_000.0 * publishers.sqrt() / 4.0 * (window / (window + 12.0));
            let median_us = 180.0 + window * publishers * 0.9;
            let variables = [("confirm_window", window), ("publishers", publishers)];
            let label = format!("confirm_window={window}, publishers={publishers}");
            runs.push(swept(label, &variables, rate, median_us, (window + publishers * 7.0) as u64));
        }
    }
    results("Confirm windows", "How rate and latency grow with the messages that may wait for their confirm.", runs)
}

/// One variable.
pub(crate) fn sweep_of_one() -> Results {
    let sizes = [16.0_f64, 256.0, 1_024.0, 16_384.0, 131_072.0];
    let of = |size: f64| {
        swept(format!("size={size}"), &[("size", size)], 6e5 / (8.0 + size.sqrt()), 150.0 + size / 60.0, size as u64)
    };
    results("Message sizes", "", sizes.map(of).to_vec())
}

/// Cut short, with the generator at its limit and messages astray.
pub(crate) fn interrupted() -> Results {
    let load =
        Load { seconds: 37, rate: |_| 48_000.0, capacity: 52_000.0, median_us: 400.0, phases: PHASES, probes: false };
    let mut run = run(&load, 3);
    run.interrupted = Some("the broker closed all connections after 37 s: CONNECTION_FORCED - shutdown".to_owned());
    run.summary.bottleneck =
        Some("its CPU was 97 % busy, and the median message was sent 11 ms after it was due".to_owned());
    let counts = SequenceCounts { lost: 212, out_of_order: 3, duplicate: 1, redelivered: 40 };
    run.summary.sequence.total = counts;
    run.summary.sequence.publishers = vec![PublisherSequence { publisher: "orders 3".to_owned(), counts }];
    run.summary.broker = None;
    run.samples.iter_mut().for_each(|sample| sample.broker = None);
    let expectations =
        [expect(Metric::Lost, Bound::AtMost(0.0)), expect(Metric::BrokerMemoryMib, Bound::AtMost(256.0))];
    run.verdicts = verdicts(&expectations, &run.summary, &run.samples);
    let mut results = results("Crash under load", "The broker is killed while it is busy.", vec![run]);
    results.warnings = vec!["--heartbeat is ignored".to_owned(), "the management API did not answer".to_owned()];
    results
}

/// All was well until the user pressed Ctrl-C.
pub(crate) fn cut_short() -> Results {
    let mut results = peak(0.6);
    let run = &mut results.runs[0];
    run.samples.truncate(70);
    run.interrupted = Some("Ctrl-C".to_owned());
    results
}

/// Every text is out to do harm.
pub(crate) fn hostile() -> Results {
    const TEXT: &str =
        "</script><script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\">'\"&<!--";
    let mut results = interrupted();
    let text = || TEXT.to_owned();
    results.name = text();
    results.description = text();
    results.command = vec![text(), "it's".to_owned()];
    results.workload = Some(text());
    results.started_at = text();
    results.agents = vec![text()];
    results.warnings = vec![text()];
    results.machine.processor = text();
    results.broker =
        Some(Broker { uris: vec![text()], product: text(), version: text(), variant: Some(text()), platform: text() });
    let run = &mut results.runs[0];
    run.label = text();
    run.interrupted = Some(text());
    run.summary.bottleneck = Some(text());
    run.phases.iter_mut().for_each(|phase| phase.name = text());
    run.verdicts.iter_mut().for_each(|verdict| (verdict.expected, verdict.measured) = (text(), text()));
    run.summary.sequence.publishers.iter_mut().for_each(|publisher| publisher.publisher = text());
    if let (Some(probe), Some(sample)) = (run.summary.latencies.confirm.clone(), run.samples.first_mut()) {
        sample.probes.insert(text(), probe.percentiles);
        run.summary.probes.insert(text(), probe);
    }
    run.variables.insert(text(), Variable::Text(text()));
    let second = run.clone();
    results.runs.push(second);
    results
}
