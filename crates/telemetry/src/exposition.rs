//! The text format that Prometheus reads, version 0.0.4: numbers in, bytes out.
//!
//! ```text
//!  # TYPE rabbitmq_queue_messages gauge
//!  # HELP rabbitmq_queue_messages Messages that are ready or unacked
//!  rabbitmq_queue_messages{vhost="/",queue="orders"} 3
//! ```
//!
//! All series of a metric follow its two lines of comment, which come in either order. Every endpoint of ours is written with this; nothing
//! here knows what is counted.

/// The type of the answers.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4";

/// What kind of number a metric is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Never decreases while the node runs.
    Counter,
    /// Rises and falls.
    Gauge,
    /// Counts by size.
    Histogram,
    /// A count and a sum.
    Summary,
    /// Says something with its labels.
    Untyped,
}

impl Kind {
    /// What the format calls it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
            Kind::Summary => "summary",
            Kind::Untyped => "untyped",
        }
    }
}

/// A number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value {
    /// A count, a length.
    Integer(u64),
    /// Seconds, a share.
    Real(f64),
    /// The same, with a point even where nothing follows it: `3.0`.
    Decimal(f64),
}

impl From<u64> for Value {
    fn from(value: u64) -> Value {
        Value::Integer(value)
    }
}

impl From<usize> for Value {
    fn from(value: usize) -> Value {
        Value::Integer(value as u64)
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Value {
        Value::Integer(u64::from(value))
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Value {
        Value::Real(value)
    }
}

/// A metric's name, in its parts: what comes before it at this endpoint, itself, and what follows for some of its series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Name<'a> {
    /// What all names of an endpoint begin with.
    pub prefix: &'a str,
    /// The metric.
    pub name: &'a str,
    /// What distinguishes its series: `_count`, `_sum`.
    pub suffix: &'a str,
}

impl<'a> Name<'a> {
    /// The same with this suffix.
    #[must_use]
    pub fn with(self, suffix: &'a str) -> Name<'a> {
        Name { suffix, ..self }
    }

    fn write(self, out: &mut Vec<u8>) {
        for part in [self.prefix, self.name, self.suffix] {
            out.extend_from_slice(part.as_bytes());
        }
    }
}

/// The two lines before a metric's series, in the order in which RabbitMQ has them.
pub fn write_head(out: &mut Vec<u8>, name: Name<'_>, kind: Kind, help: &str) {
    write_type(out, name, kind);
    write_help(out, name, help);
}

/// The two lines before a metric's series, in the order in which PerfTest and AMQProxy have them.
pub fn write_head_help_first(out: &mut Vec<u8>, name: Name<'_>, kind: Kind, help: &str) {
    write_help(out, name, help);
    write_type(out, name, kind);
}

fn write_type(out: &mut Vec<u8>, name: Name<'_>, kind: Kind) {
    out.extend_from_slice(b"# TYPE ");
    name.write(out);
    out.push(b' ');
    out.extend_from_slice(kind.name().as_bytes());
    out.push(b'\n');
}

fn write_help(out: &mut Vec<u8>, name: Name<'_>, help: &str) {
    out.extend_from_slice(b"# HELP ");
    name.write(out);
    out.push(b' ');
    for &byte in help.as_bytes() {
        match byte {
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            _ => out.push(byte),
        }
    }
    out.push(b'\n');
}

/// One series.
pub fn write_sample(out: &mut Vec<u8>, name: Name<'_>, labels: impl FnOnce(&mut Labels<'_>), value: Value) {
    name.write(out);
    let mut written = Labels { out, is_empty: true };
    labels(&mut written);
    if !written.is_empty {
        written.out.push(b'}');
    }
    out.push(b' ');
    match value {
        Value::Integer(value) => write_whole(out, value),
        Value::Real(value) => out.extend_from_slice(real(value).as_bytes()),
        Value::Decimal(value) => out.extend_from_slice(decimal(value).as_bytes()),
    }
    out.push(b'\n');
}

/// The labels of a series that is being written.
pub struct Labels<'a> {
    out: &'a mut Vec<u8>,
    is_empty: bool,
}

impl Labels<'_> {
    /// One more label, whatever is in its value.
    pub fn put(&mut self, name: &str, value: &str) {
        self.out.push(if std::mem::take(&mut self.is_empty) { b'{' } else { b',' });
        self.out.extend_from_slice(name.as_bytes());
        self.out.extend_from_slice(b"=\"");
        for &byte in value.as_bytes() {
            match byte {
                b'\\' => self.out.extend_from_slice(b"\\\\"),
                b'"' => self.out.extend_from_slice(b"\\\""),
                b'\n' => self.out.extend_from_slice(b"\\n"),
                _ => self.out.push(byte),
            }
        }
        self.out.push(b'"');
    }
}

/// A histogram as it is counted: how many were up to each bound and above the one before, and beyond the last.
#[derive(Debug, Clone, PartialEq)]
pub struct Buckets {
    /// In order.
    pub bounds: Vec<f64>,
    /// One more than bounds.
    pub counts: Vec<u64>,
    /// Of all that was counted.
    pub sum: Value,
}

/// The series of one histogram. Its counts add up from bucket to bucket, as Prometheus wants them.
pub fn write_buckets(out: &mut Vec<u8>, name: Name<'_>, labels: impl Fn(&mut Labels<'_>), buckets: &Buckets) {
    debug_assert_eq!(buckets.bounds.len() + 1, buckets.counts.len(), "a count for each bound, and one beyond");
    let bounds = buckets.bounds.iter().map(|&bound| bound_text(bound)).chain(["+Inf".to_owned()]);
    let mut total = 0_u64;
    for (bound, count) in bounds.zip(&buckets.counts) {
        total += count;
        let labels = |written: &mut Labels<'_>| {
            labels(written);
            written.put("le", &bound);
        };
        write_sample(out, name.with("_bucket"), labels, total.into());
    }
    write_sample(out, name.with("_count"), &labels, total.into());
    write_sample(out, name.with("_sum"), &labels, buckets.sum);
}

/// A bound as RabbitMQ's dashboards look for it, which is also how Prometheus 3 writes any: `100.0`, `1e+06`.
fn bound_text(bound: f64) -> String {
    if bound >= 1e6 {
        let exponent = bound.log10().floor() as i32;
        let mantissa = bound / 10_f64.powi(exponent);
        return format!("{mantissa}e+{exponent:02}");
    }
    if bound.fract() == 0.0 { format!("{bound:.1}") } else { bound.to_string() }
}

fn real(value: f64) -> String {
    endless(value).map_or_else(|| value.to_string(), str::to_owned)
}

fn decimal(value: f64) -> String {
    endless(value).map_or_else(|| format!("{value:?}"), str::to_owned)
}

/// What the format calls a value that is no number of digits.
fn endless(value: f64) -> Option<&'static str> {
    match value {
        _ if value.is_nan() => Some("NaN"),
        f64::INFINITY => Some("+Inf"),
        f64::NEG_INFINITY => Some("-Inf"),
        _ => None,
    }
}

fn write_whole(out: &mut Vec<u8>, mut value: u64) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAME: Name<'_> = Name { prefix: "rabbitmq_", name: "things", suffix: "" };

    #[track_caller]
    fn check(write: impl FnOnce(&mut Vec<u8>), expected: &str) {
        let mut out = Vec::new();
        write(&mut out);
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn a_metric_begins_with_its_type_and_what_it_means() {
        let expected = "# TYPE rabbitmq_things gauge\n# HELP rabbitmq_things a\\\\b\\nc\n";
        check(|out| write_head(out, NAME, Kind::Gauge, "a\\b\nc"), expected);
        let expected = "# HELP rabbitmq_things a\\\\b\\nc\n# TYPE rabbitmq_things gauge\n";
        check(|out| write_head_help_first(out, NAME, Kind::Gauge, "a\\b\nc"), expected);
    }

    #[test]
    fn a_series_without_labels_has_no_braces() {
        check(|out| write_sample(out, NAME, |_| (), 0_u64.into()), "rabbitmq_things 0\n");
        check(|out| write_sample(out, NAME, |_| (), u64::MAX.into()), "rabbitmq_things 18446744073709551615\n");
    }

    #[test]
    fn names_that_users_choose_cannot_break_out_of_a_label() {
        let labels = |labels: &mut Labels<'_>| {
            labels.put("vhost", "a\"} 1\nb{c=\"");
            labels.put("queue", "\\");
        };
        let expected = "rabbitmq_things{vhost=\"a\\\"} 1\\nb{c=\\\"\",queue=\"\\\\\"} 1\n";
        check(|out| write_sample(out, NAME, labels, true.into()), expected);
    }

    #[test]
    fn real_numbers_are_written_so_that_they_read_back() {
        for (value, text) in [
            (0.25, "0.25"),
            (3.0, "3"),
            (1e-7, "0.0000001"),
            (f64::NAN, "NaN"),
            (f64::INFINITY, "+Inf"),
            (f64::NEG_INFINITY, "-Inf"),
        ] {
            check(|out| write_sample(out, NAME, |_| (), value.into()), &format!("rabbitmq_things {text}\n"));
        }
    }

    #[test]
    fn decimal_numbers_always_have_a_point() {
        for (value, text) in [(3.0, "3.0"), (0.25, "0.25"), (f64::NAN, "NaN"), (f64::NEG_INFINITY, "-Inf")] {
            check(|out| write_sample(out, NAME, |_| (), Value::Decimal(value)), &format!("rabbitmq_things {text}\n"));
        }
    }

    #[test]
    fn bounds_are_written_as_dashboards_look_for_them() {
        let bounds = [0.001, 0.25, 1.0, 100.0, 1000.0, 10_000.0, 100_000.0, 1e6, 1e7, 5e7, 1e8, 2.5e9];
        let texts: Vec<String> = bounds.into_iter().map(bound_text).collect();
        let expected = "0.001 0.25 1.0 100.0 1000.0 10000.0 100000.0 1e+06 1e+07 5e+07 1e+08 2.5e+09";
        assert_eq!(texts.join(" "), expected);
    }

    #[test]
    fn counts_of_a_histogram_add_up() {
        let buckets = Buckets { bounds: vec![100.0, 1e6], counts: vec![2, 0, 3], sum: 7_u64.into() };
        let expected = "rabbitmq_things_bucket{a=\"b\",le=\"100.0\"} 2\n\
                        rabbitmq_things_bucket{a=\"b\",le=\"1e+06\"} 2\n\
                        rabbitmq_things_bucket{a=\"b\",le=\"+Inf\"} 5\n\
                        rabbitmq_things_count{a=\"b\"} 5\n\
                        rabbitmq_things_sum{a=\"b\"} 7\n";
        check(|out| write_buckets(out, NAME, |labels| labels.put("a", "b"), &buckets), expected);
    }
}
