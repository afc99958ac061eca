//! The keys of traces, typed.

use std::fmt;
use std::time::Duration;

use super::key::Key;
use super::schema::traces as keys;
use super::values::Values;

/// Options of trace files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceFileOptions {
    /// Where they are; None: in the data directory.
    pub directory: Option<String>,
    /// How long one may become, in bytes.
    pub file_len_max: u64,
    /// How many of one trace there may be.
    pub file_count_max: u32,
    /// How long those of all that have ended may be together, in bytes.
    pub ended_len_max: u64,
}

/// Where spans are sent, and what they cover.
#[derive(Clone, PartialEq)]
pub struct OtlpOptions {
    /// The server's URL. May have a password.
    pub endpoint: String,
    /// Headers of requests: mostly secrets.
    pub headers: Vec<(String, String)>,
    /// Of which part of the sampled traces there are spans.
    pub sample_rate: f64,
    /// File of authorities; None: the system's.
    pub cacertfile: Option<String>,
    /// How long a request may take.
    pub timeout: Duration,
}

/// Debugging output has no secrets.
impl fmt::Debug for OtlpOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OtlpOptions").field("sample_rate", &self.sample_rate).finish_non_exhaustive()
    }
}

/// A text that is not empty.
fn text(values: &Values, key: &Key<String>) -> Option<String> {
    values.find(key).filter(|text| !text.is_empty())
}

pub(super) fn read(values: &Values) -> TraceFileOptions {
    TraceFileOptions {
        directory: text(values, &keys::TRACING_DIR),
        file_len_max: values.get(&keys::TRACING_FILE_LEN_MAX),
        file_count_max: values.get(&keys::TRACING_FILE_COUNT_MAX),
        ended_len_max: values.get(&keys::TRACING_ENDED_LEN_MAX),
    }
}

/// None: no spans are sent.
pub(super) fn read_otlp(values: &Values) -> Option<OtlpOptions> {
    let headers = values.family(&["warren", "otlp", "headers"]);
    Some(OtlpOptions {
        endpoint: text(values, &keys::OTLP_ENDPOINT)?,
        headers: headers.map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
        sample_rate: values.find(&keys::OTLP_SAMPLE_RATE).unwrap_or(1.0),
        cacertfile: text(values, &keys::OTLP_CACERTFILE),
        timeout: values.get(&keys::OTLP_TIMEOUT),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, Source};

    fn parsed(text: &str) -> Config {
        let source = Source { name: "rabbitmq.conf".to_owned(), text: text.to_owned() };
        Config::parse(&[source], &[], &[]).unwrap().0
    }

    #[test]
    fn traces_are_bounded_where_nothing_is_said() {
        let config = parsed("");
        let expected =
            TraceFileOptions { directory: None, file_len_max: 16 << 20, file_count_max: 4, ended_len_max: 256 << 20 };
        assert_eq!((config.trace_files, config.otlp), (expected, None));
    }

    #[test]
    fn rabbitmqs_key_names_the_directory() {
        assert_eq!(parsed("tracing.dir = /var/t").trace_files.directory.as_deref(), Some("/var/t"));
    }

    #[test]
    fn spans_have_headers_and_a_rate() {
        let text = "warren.otlp.endpoint = http://h:4318\nwarren.otlp.headers.api-key = s3cret\nwarren.otlp.sample_rate = 0.25";
        let otlp = parsed(text).otlp.unwrap();
        assert_eq!((otlp.headers[0].0.as_str(), otlp.sample_rate), ("api-key", 0.25));
        assert!(!format!("{otlp:?}").contains("s3cret"));
    }

    #[test]
    fn recordings_have_a_bound_together() {
        let len_max = |text: &str| parsed(text).flight_recorder.total_len_max;
        assert_eq!(len_max(""), 256 << 20);
        assert_eq!(len_max("warren.flight_recorder.total_len_max = 1MiB"), 1 << 20);
    }
}
