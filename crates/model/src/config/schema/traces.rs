//! Keys of traces: files of what happens to messages, and spans for OpenTelemetry.

use std::time::Duration;

use super::{Key, Row, Section, Type, effective};

pub(super) const SECTION: Section = Section { title: "Traces of messages", keys: KEYS };

pub(crate) const TRACING_DIR: Key<String> = Key::text(
    "tracing.dir",
    Type::Text,
    "",
    "The directory of trace files. See [traces](tracing-messages.md). Default: `traces` in the data directory.",
);
pub(crate) const TRACING_FILE_LEN_MAX: Key<u64> = Key::size(
    "warren.tracing.file_len_max",
    Type::Size(4096, 1 << 40),
    "16MiB",
    "The maximum size of a trace file. After that, the trace continues in a new file.",
);
pub(crate) const TRACING_FILE_COUNT_MAX: Key<u32> = Key::integer(
    "warren.tracing.file_count_max",
    Type::Integer(1, 1000),
    "4",
    "The maximum number of files of one trace. Beyond that, the oldest is deleted.",
);
pub(crate) const TRACING_ENDED_LEN_MAX: Key<u64> = Key::size(
    "warren.tracing.ended_len_max",
    Type::Size(4096, 1 << 40),
    "256MiB",
    "The maximum size of the files of all ended traces together. Beyond that, the oldest are deleted.",
);
pub(crate) const OTLP_ENDPOINT: Key<String> = Key::text(
    "warren.otlp.endpoint",
    Type::Secret,
    "",
    "The URL that spans are posted to, such as `http://localhost:4318`, by OTLP over HTTP as JSON. Default: none, spans are not \
         sent.",
);
pub(crate) const OTLP_SAMPLE_RATE: Key<f64> = Key::float(
    "warren.otlp.sample_rate",
    Type::Float(0.0, 1.0),
    "1",
    "The fraction of the traces sampled by publishers for which spans are sent.",
);
pub(crate) const OTLP_CACERTFILE: Key<String> = Key::text(
    "warren.otlp.cacertfile",
    Type::Text,
    "",
    "File of the authorities that may have signed the server's certificate. Default: the system's.",
);
pub(crate) const OTLP_TIMEOUT: Key<Duration> = Key::duration(
    "warren.otlp.timeout",
    Type::DurationMs(100, 60_000),
    "10000",
    "How long a request may take, including the connection.",
);

const KEYS: &[Row] = &[
    TRACING_DIR.row,
    TRACING_FILE_LEN_MAX.row,
    TRACING_FILE_COUNT_MAX.row,
    TRACING_ENDED_LEN_MAX.row,
    OTLP_ENDPOINT.row,
    effective("warren.otlp.headers.$name", Type::Secret, "", "A header of these requests."),
    OTLP_SAMPLE_RATE.row,
    OTLP_CACERTFILE.row,
    OTLP_TIMEOUT.row,
];
