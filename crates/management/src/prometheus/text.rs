//! The text format that Prometheus reads, version 0.0.4: numbers in, bytes out.
//!
//! ```text
//!  # TYPE rabbitmq_queue_messages gauge
//!  # HELP rabbitmq_queue_messages Messages that are ready or unacked
//!  rabbitmq_queue_messages{vhost="/",queue="orders"} 3
//! ```
//!
//! All series of a metric follow its two lines of comment. Nothing here knows a broker.

/// The type of the answers.
pub(crate) const CONTENT_TYPE: &str = "text/plain; version=0.0.4";

/// What kind of number a metric is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Never decreases while the node runs.
    Counter,
    /// Goes up and down.
    Gauge,
    /// Counts by size.
    Histogram,
    /// A count and a sum.
    Summary,
    /// Says something with its labels.
    Untyped,
}

impl Kind {
    pub(crate) fn name(self) -> &'static str {
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
pub(crate) enum Value {
    /// A count, a length.
    Whole(u64),
    /// Seconds, a share.
    Real(f64),
}

impl From<u64> for Value {
    fn from(value: u64) -> Value {
        Value::Whole(value)
    }
}

impl From<usize> for Value {
    fn from(value: usize) -> Value {
        Value::Whole(value as u64)
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Value {
        Value::Whole(u64::from(value))
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Value {
        Value::Real(value)
    }
}

/// A metric's name, in its parts: what comes before it at this endpoint, itself, and what follows for some of its series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Name {
    pub(crate) prefix: &'static str,
    pub(crate) name: &'static str,
    pub(crate) suffix: &'static str,
}

impl Name {
    /// The same with this suffix.
    pub(crate) fn with(self, suffix: &'static str) -> Name {
        Name { suffix, ..self }
    }

    fn write(self, out: &mut Vec<u8>) {
        for part in [self.prefix, self.name, self.suffix] {
            out.extend_from_slice(part.as_bytes());
        }
    }
}

/// The two lines before a metric's series, in the order in which RabbitMQ has them.
pub(crate) fn write_head(out: &mut Vec<u8>, name: Name, kind: Kind, help: &str) {
    out.extend_from_slice(b"# TYPE ");
    name.write(out);
    out.push(b' ');
    out.extend_from_slice(kind.name().as_bytes());
    out.extend_from_slice(b"\n# HELP ");
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
pub(crate) fn write_sample(out: &mut Vec<u8>, name: Name, labels: impl FnOnce(&mut Labels<'_>), value: Value) {
    name.write(out);
    let mut written = Labels { out, is_empty: true };
    labels(&mut written);
    if !written.is_empty {
        written.out.push(b'}');
    }
    out.push(b' ');
    match value {
        Value::Whole(value) => write_whole(out, value),
        Value::Real(value) => out.extend_from_slice(real(value).as_bytes()),
    }
    out.push(b'\n');
}

/// The labels of a series that is being written.
pub(crate) struct Labels<'a> {
    out: &'a mut Vec<u8>,
    is_empty: bool,
}

impl Labels<'_> {
    pub(crate) fn put(&mut self, name: &str, value: &str) {
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
pub(crate) struct Buckets {
    pub(crate) bounds: Vec<f64>,
    /// One more than bounds.
    pub(crate) counts: Vec<u64>,
    pub(crate) sum: Value,
}

/// The series of one histogram. Its counts add up from bucket to bucket, as Prometheus wants them.
pub(crate) fn write_buckets(out: &mut Vec<u8>, name: Name, labels: impl Fn(&mut Labels<'_>), buckets: &Buckets) {
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
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "+Inf".to_owned() } else { "-Inf".to_owned() };
    }
    value.to_string()
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

    const NAME: Name = Name { prefix: "rabbitmq_", name: "things", suffix: "" };

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
