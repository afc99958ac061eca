//! Metrics in Prometheus' text format, by PerfTest's names and types.
//!
//! Rates are gauges, of the last interval; latencies are summaries, whose quantiles are those of the last interval too. Not
//! served is `confirm_size`: how many confirms come in one frame is not counted here.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use telemetry::exposition::{Kind, Labels, Name, Value, write_head_help_first, write_sample};

use super::run_output::RunOutput;
use crate::perftest::MetricsSettings;
use crate::plan::{Plan, Rate, Schedule};
use crate::results::{Counts, Percentiles, Sample, per_second};

/// So many intervals a maximum stays.
const MAX_INTERVALS: usize = 3;

/// The metrics, as they are now.
#[derive(Debug)]
pub(crate) struct Prometheus {
    prefix: String,
    /// All metrics have them; `name="value"`, by name.
    labels: Vec<Label>,
    constants: Vec<(String, f64)>,
    command_line: Option<String>,
    expected: ExpectedRates,
    last: Last,
    consumer: Latency,
    confirm: Latency,
}

/// Rates that the plan asks for.
#[derive(Debug, Default)]
struct ExpectedRates {
    published: Vec<(Schedule, f64)>,
    consumed: Option<f64>,
}

/// Rates of the last interval.
#[derive(Debug, Default)]
struct Last {
    end_s: f64,
    published: f64,
    confirmed: f64,
    nacked: f64,
    returned: f64,
    consumed: f64,
}

#[derive(Debug, Default)]
struct Latency {
    last: Percentiles,
    count: u64,
    sum_s: f64,
    maxima: VecDeque<u64>,
}

impl Prometheus {
    /// Nothing has happened yet. The command line is what `--metrics-command-line-arguments` shows.
    #[must_use]
    pub(crate) fn new(settings: &MetricsSettings, command_line: &[String], plan: &Plan) -> Self {
        let mut labels: Vec<Label> =
            settings.labels.iter().map(|(name, value)| (metric_name(name), value.clone())).collect();
        labels.sort();
        labels.dedup_by(|b, a| a.0 == b.0);
        Prometheus {
            prefix: settings.prefix.clone(),
            labels,
            constants: settings.constants.clone(),
            command_line: settings.has_command_line.then(|| shown_command_line(command_line)),
            expected: ExpectedRates::of(plan),
            last: Last::default(),
            consumer: Latency::default(),
            confirm: Latency::default(),
        }
    }

    /// The next interval.
    pub(crate) fn update(&mut self, sample: &Sample) {
        let counts = &sample.counts;
        let per_s = |count: u64| per_second(count as f64, sample.duration_s);
        self.last = Last {
            end_s: sample.end_s,
            published: per_s(counts.published),
            confirmed: per_s(counts.confirmed),
            nacked: per_s(counts.nacked),
            returned: per_s(counts.returned),
            consumed: per_s(counts.consumed),
        };
        self.consumer.update(sample.consumer_latency.as_ref());
        self.confirm.update(sample.confirm_latency.as_ref());
    }

    /// The text that is served.
    #[must_use]
    pub(crate) fn render(&self) -> Vec<u8> {
        let mut families = self.families();
        families.sort_by(|a, b| a.name.cmp(&b.name));
        families.dedup_by(|b, a| a.name == b.name);
        let mut out = Vec::new();
        for family in &families {
            let name = Name { prefix: "", name: &family.name, suffix: "" };
            write_head_help_first(&mut out, name, family.kind, family.help);
            for Line { suffix, label, value } in &family.lines {
                let labels = |labels: &mut Labels<'_>| self.put_labels(label.as_ref(), labels);
                write_sample(&mut out, name.with(suffix), labels, *value);
            }
        }
        out
    }

    /// Those with a value given on the command line come first: they count before those that are worked out.
    fn families(&self) -> Vec<Family> {
        let mut families: Vec<Family> =
            self.constants.iter().map(|(name, value)| self.gauge(name, *value, None)).collect();
        if let Some(command_line) = &self.command_line {
            families.push(self.gauge("args", 1.0, Some(("command_line".to_owned(), command_line.clone()))));
        }
        if let Some(rate) = self.expected.published_at(self.last.end_s) {
            families.push(self.gauge("expected_published", rate, None));
        }
        if let Some(rate) = self.expected.consumed {
            families.push(self.gauge("expected_consumed", rate, None));
        }
        let last = &self.last;
        for (name, value) in [
            ("published", last.published),
            ("confirmed", last.confirmed),
            ("nacked", last.nacked),
            ("returned", last.returned),
            ("consumed", last.consumed),
        ] {
            families.push(self.gauge(name, value, None));
        }
        families.extend(self.latency("latency_seconds", "message latency", &self.consumer));
        families.extend(self.latency("confirm_latency_seconds", "confirm latency", &self.confirm));
        families
    }

    fn gauge(&self, name: &str, value: f64, label: Option<Label>) -> Family {
        let lines = vec![Line { suffix: "", label, value: Value::Decimal(value) }];
        // PerfTest gives these no help; a space is what remains.
        Family { name: self.full_name(name), help: " ", kind: Kind::Gauge, lines }
    }

    fn latency(&self, name: &str, help: &'static str, latency: &Latency) -> [Family; 2] {
        let last = &latency.last;
        let quantiles = [("0.5", last.p50_ns), ("0.75", last.p75_ns), ("0.95", last.p95_ns), ("0.99", last.p99_ns)];
        let quantile = |(quantile, nanos): (&str, u64)| Line {
            suffix: "",
            label: Some(("quantile".to_owned(), quantile.to_owned())),
            value: Value::Decimal(seconds(nanos)),
        };
        let mut lines: Vec<Line> = quantiles.map(quantile).into();
        lines.push(Line { suffix: "_count", label: None, value: latency.count.into() });
        lines.push(Line { suffix: "_sum", label: None, value: Value::Decimal(latency.sum_s) });
        let max = latency.maxima.iter().max().copied().unwrap_or(0);
        let max_lines = vec![Line { suffix: "", label: None, value: Value::Decimal(seconds(max)) }];
        [
            Family { name: self.full_name(name), help, kind: Kind::Summary, lines },
            Family { name: self.full_name(&format!("{name}_max")), help, kind: Kind::Gauge, lines: max_lines },
        ]
    }

    fn full_name(&self, name: &str) -> String {
        metric_name(&format!("{}{name}", self.prefix))
    }

    /// The common labels and one more, by name; a quantile is the last.
    fn put_labels(&self, label: Option<&Label>, written: &mut Labels<'_>) {
        let mut labels: Vec<&Label> = self.labels.iter().chain(label).collect();
        labels.sort_by_key(|(name, _)| (name == "quantile", name));
        labels.iter().for_each(|(name, value)| written.put(name, value));
    }
}

struct Family {
    name: String,
    help: &'static str,
    kind: Kind,
    lines: Vec<Line>,
}

struct Line {
    /// Behind the name.
    suffix: &'static str,
    /// Beside the common ones.
    label: Option<Label>,
    value: Value,
}

/// Name and value.
type Label = (String, String);

impl Latency {
    fn update(&mut self, percentiles: Option<&Percentiles>) {
        self.last = percentiles.copied().unwrap_or_default();
        self.count += self.last.count;
        self.sum_s += self.last.mean_ns * self.last.count as f64 / 1e9;
        self.maxima.push_back(self.last.max_ns);
        while self.maxima.len() > MAX_INTERVALS {
            self.maxima.pop_front();
        }
    }
}

impl ExpectedRates {
    fn of(plan: &Plan) -> Self {
        let count = |connections: u32, channels: u32| f64::from(connections) * f64::from(channels);
        let published =
            plan.publishers.iter().map(|group| (group.schedule.clone(), count(group.connections, group.channels)));
        let consumed: Option<Vec<f64>> = plan
            .consumers
            .iter()
            .map(|group| group.rate.map(|rate| rate * count(group.connections, group.channels)))
            .collect();
        ExpectedRates {
            published: published.collect(),
            consumed: consumed.filter(|rates| !rates.is_empty()).map(|rates| rates.iter().sum()),
        }
    }

    /// `None` if any publisher publishes as fast as it can.
    fn published_at(&self, second: f64) -> Option<f64> {
        let rates: Option<Vec<f64>> =
            self.published.iter().map(|(schedule, count)| rate_at(schedule, second).map(|rate| rate * count)).collect();
        rates.filter(|rates| !rates.is_empty()).map(|rates| rates.iter().sum())
    }
}

/// The rate of a schedule at some time.
fn rate_at(schedule: &Schedule, second: f64) -> Option<f64> {
    let round_s: Option<f64> =
        schedule.segments.iter().map(|segment| segment.duration.map(|duration| duration.as_secs_f64())).sum();
    let mut rest = match round_s {
        Some(round_s) if schedule.repeat && round_s > 0.0 => second % round_s,
        _ => second,
    };
    for segment in &schedule.segments {
        let duration_s = segment.duration.map_or(f64::INFINITY, |duration| duration.as_secs_f64());
        if rest < duration_s {
            return match segment.rate {
                Rate::Unlimited => None,
                Rate::Fixed(rate) | Rate::Poisson(rate) => Some(rate),
                Rate::Ramp { from, to } => Some(from + (to - from) * rest / duration_s),
            };
        }
        rest -= duration_s;
    }
    Some(0.0)
}

/// Metrics that an engine updates and a server shows.
#[derive(Clone, Debug)]
pub(crate) struct SharedPrometheus(Arc<Mutex<Prometheus>>);

impl SharedPrometheus {
    /// Shares these.
    #[must_use]
    pub(crate) fn new(prometheus: Prometheus) -> Self {
        SharedPrometheus(Arc::new(Mutex::new(prometheus)))
    }

    /// The text that is served.
    #[must_use]
    pub(crate) fn render(&self) -> Vec<u8> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).render()
    }
}

impl RunOutput for SharedPrometheus {
    fn sample(&mut self, sample: &Sample, _totals: &Counts) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).update(sample);
    }
}

/// Options that say where the broker is, with its password, or that are about metrics, are not shown.
fn shown_command_line(words: &[String]) -> String {
    const HIDDEN: [&str; 11] = [
        "uri",
        "uris",
        "metrics-prometheus",
        "metrics-prometheus-endpoint",
        "metrics-prometheus-port",
        "metrics-tags",
        "metrics-prefix",
        "metrics-command-line-arguments",
        "oauth2-client-secret",
        "management-url",
        "influx",
    ];
    crate::perftest::without_options(words, &HIDDEN).join(" ")
}

/// What may not be in a name becomes an underscore.
fn metric_name(name: &str) -> String {
    let mut out: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' || c == ':' { c } else { '_' }).collect();
    while out.contains("__") {
        out = out.replace("__", "_");
    }
    if out.starts_with(|c: char| c.is_ascii_digit()) {
        out.insert(0, '_');
    }
    out
}

fn seconds(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::testing::{percentiles, sample};
    use crate::perftest::{self, Command};

    fn prometheus(command: &str) -> Prometheus {
        let words: Vec<String> = command.split_whitespace().map(str::to_owned).collect();
        let Ok(Command::Run { options, .. }) = perftest::parse(&words, &|_| None) else { panic!() };
        let plan = options.plan("test", 1, &|_| Err(std::io::Error::other("no files"))).unwrap();
        Prometheus::new(&options.output.metrics, &words, &plan)
    }

    fn rendered(prometheus: &Prometheus) -> String {
        String::from_utf8(prometheus.render()).unwrap()
    }

    fn names(text: &str) -> Vec<&str> {
        text.lines().filter_map(|line| line.strip_prefix("# TYPE ")).collect()
    }

    #[test]
    fn the_text_is_perftests() {
        let mut prometheus = prometheus(
            "-h amqp://me:secret@localhost:5710 -d prom -x 1 -y 1 -r 20 -c 5 -f mandatory -z 7 -mpr -mpp 5715 \
             -mt env=test,region=eu -em expected_published=50000,answer=42 -mcla -o /tmp/out.csv",
        );
        let mut sample = sample(1.0, 1.0, 21);
        sample.consumer_latency = Some(percentiles([1000, 1500, 2000, 4000, 4100]));
        sample.confirm_latency = Some(percentiles([1000, 1500, 2000, 4000, 4100]));
        prometheus.update(&sample);
        // Written by PerfTest 2.22.1, with other values and confirm_size.
        let expected = "\
# HELP perftest_answer  
# TYPE perftest_answer gauge
perftest_answer{env=\"test\",region=\"eu\"} 42.0
# HELP perftest_args  
# TYPE perftest_args gauge
perftest_args{command_line=\"-d prom -x 1 -y 1 -r 20 -c 5 -f mandatory -z 7 -em expected_published=50000,answer=42 -o \
    /tmp/out.csv\",env=\"test\",region=\"eu\"} 1.0
# HELP perftest_confirm_latency_seconds confirm latency
# TYPE perftest_confirm_latency_seconds summary
perftest_confirm_latency_seconds{env=\"test\",region=\"eu\",quantile=\"0.5\"} 0.0015
perftest_confirm_latency_seconds{env=\"test\",region=\"eu\",quantile=\"0.75\"} 0.002
perftest_confirm_latency_seconds{env=\"test\",region=\"eu\",quantile=\"0.95\"} 0.004
perftest_confirm_latency_seconds{env=\"test\",region=\"eu\",quantile=\"0.99\"} 0.0041
perftest_confirm_latency_seconds_count{env=\"test\",region=\"eu\"} 20
perftest_confirm_latency_seconds_sum{env=\"test\",region=\"eu\"} 0.02
# HELP perftest_confirm_latency_seconds_max confirm latency
# TYPE perftest_confirm_latency_seconds_max gauge
perftest_confirm_latency_seconds_max{env=\"test\",region=\"eu\"} 0.0041
# HELP perftest_confirmed  
# TYPE perftest_confirmed gauge
perftest_confirmed{env=\"test\",region=\"eu\"} 21.0
# HELP perftest_consumed  
# TYPE perftest_consumed gauge
perftest_consumed{env=\"test\",region=\"eu\"} 21.0
# HELP perftest_expected_published  
# TYPE perftest_expected_published gauge
perftest_expected_published{env=\"test\",region=\"eu\"} 50000.0
# HELP perftest_latency_seconds message latency
# TYPE perftest_latency_seconds summary
perftest_latency_seconds{env=\"test\",region=\"eu\",quantile=\"0.5\"} 0.0015
perftest_latency_seconds{env=\"test\",region=\"eu\",quantile=\"0.75\"} 0.002
perftest_latency_seconds{env=\"test\",region=\"eu\",quantile=\"0.95\"} 0.004
perftest_latency_seconds{env=\"test\",region=\"eu\",quantile=\"0.99\"} 0.0041
perftest_latency_seconds_count{env=\"test\",region=\"eu\"} 20
perftest_latency_seconds_sum{env=\"test\",region=\"eu\"} 0.02
# HELP perftest_latency_seconds_max message latency
# TYPE perftest_latency_seconds_max gauge
perftest_latency_seconds_max{env=\"test\",region=\"eu\"} 0.0041
# HELP perftest_nacked  
# TYPE perftest_nacked gauge
perftest_nacked{env=\"test\",region=\"eu\"} 0.0
# HELP perftest_published  
# TYPE perftest_published gauge
perftest_published{env=\"test\",region=\"eu\"} 21.0
# HELP perftest_returned  
# TYPE perftest_returned gauge
perftest_returned{env=\"test\",region=\"eu\"} 0.0
";
        assert_eq!(rendered(&prometheus), expected);
    }

    #[test]
    fn names_have_no_odd_letters() {
        let text = rendered(&prometheus("-mpx x-y. -mt my-env=te\"st,a.b=c -em my-own=3"));
        assert!(text.contains("x_y_my_own{a_b=\"c\",my_env=\"te\\\"st\"} 3.0\n"), "{text}");
    }

    #[test]
    fn without_labels_there_are_no_braces() {
        assert!(rendered(&prometheus("")).contains("\nperftest_published 0.0\n"));
    }

    #[test]
    fn expected_rates_are_those_of_all_channels() {
        let text = rendered(&prometheus("-r 20 -x 2 -X 2 -R 5 -y 3"));
        assert!(
            text.contains("perftest_expected_published 80.0\n") && text.contains("perftest_expected_consumed 15.0\n")
        );
        assert!(!names(&rendered(&prometheus("-x 1"))).iter().any(|name| name.contains("expected")));
        assert!(rendered(&prometheus("-P 0.5 -x 3 -y 0")).contains("perftest_expected_published 6.0\n"));
    }

    #[test]
    fn an_expected_rate_follows_its_schedule() {
        let mut prometheus = prometheus("-vr 10:1 -vr 30:2 -x 2");
        for (end_s, expected) in [(0.5, 20.0), (1.5, 60.0), (2.9, 60.0), (3.5, 20.0)] {
            prometheus.update(&sample(end_s, 1.0, 0));
            assert!(rendered(&prometheus).contains(&format!("perftest_expected_published {expected:?}\n")), "{end_s}");
        }
    }

    #[test]
    fn a_maximum_stays_for_a_few_intervals() {
        let mut prometheus = prometheus("");
        let mut busy = sample(1.0, 1.0, 1);
        busy.consumer_latency = Some(percentiles([1, 1, 1, 1, 5_000_000]));
        prometheus.update(&busy);
        for _ in 0..2 {
            prometheus.update(&sample(2.0, 1.0, 0));
        }
        assert!(rendered(&prometheus).contains("perftest_latency_seconds_max 5.0\n"));
        prometheus.update(&sample(4.0, 1.0, 0));
        let text = rendered(&prometheus);
        assert!(
            text.contains("perftest_latency_seconds_max 0.0\n") && text.contains("perftest_latency_seconds_count 20\n")
        );
    }
}
