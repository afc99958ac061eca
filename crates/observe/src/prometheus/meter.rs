//! What scraping itself costs.

use std::time::Duration;

use telemetry::Counter;
use telemetry::exposition::{CONTENT_TYPE, Kind, Labels, Name, Value, write_head, write_sample};

use super::identity::Endpoint;

/// What the answers of one endpoint have cost so far.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    count: Counter,
    duration_ns: Counter,
    len: Counter,
}

impl Meter {
    /// One more answer is complete: how long making it has taken, without waiting for its reader, and its bytes before they were
    /// compressed.
    pub(crate) fn add(&self, took: Duration, len: u64) {
        self.count.add(1);
        self.duration_ns.add(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX));
        self.len.add(len);
    }

    /// Writes it as RabbitMQ does: two summaries without quantiles.
    pub(crate) fn write(&self, out: &mut Vec<u8>, endpoint: Endpoint) {
        let duration = Value::Real(self.duration_ns.get() as f64 / 1e9);
        for (name, help, sum) in [
            ("scrape_duration_seconds", "Time to generate responses", duration),
            ("scrape_size_bytes", "Length of responses before compression", self.len.get().into()),
        ] {
            let name = Name { prefix: "telemetry_", name, suffix: "" };
            write_head(out, name, Kind::Summary, help);
            if self.count.get() == 0 {
                continue;
            }
            for (suffix, value) in [("_count", self.count.get().into()), ("_sum", sum)] {
                let labels = |labels: &mut Labels<'_>| {
                    labels.put("registry", endpoint.registry());
                    labels.put("content_type", CONTENT_TYPE);
                };
                write_sample(out, name.with(suffix), labels, value);
            }
        }
    }
}

/// What the answers of each endpoint have cost.
#[derive(Debug, Default)]
pub struct Meters([Meter; Endpoint::ALL.len()]);

impl Meters {
    /// What those of one have cost.
    pub(super) fn of(&self, endpoint: Endpoint) -> &Meter {
        &self.0[endpoint as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_counted_from_the_first() {
        let meter = Meter::default();
        let text = |meter: &Meter| {
            let mut out = Vec::new();
            meter.write(&mut out, Endpoint::Aggregated);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(text(&meter).lines().count(), 4);
        meter.add(Duration::from_millis(250), 1000);
        let labels = "{registry=\"default\",content_type=\"text/plain; version=0.0.4\"}";
        let text = text(&meter);
        for line in ["duration_seconds_count{} 1", "duration_seconds_sum{} 0.25", "size_bytes_sum{} 1000"] {
            let line = format!("telemetry_scrape_{}\n", line.replace("{}", labels));
            assert!(text.contains(&line), "{line} is not in {text}");
        }
    }
}
