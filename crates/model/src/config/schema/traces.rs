//! Keys of traces: files of what happens to messages, and spans for OpenTelemetry.

use super::{Key, Section, Type, effective};

pub(super) const SECTION: Section = Section { title: "Traces of messages", keys: KEYS };

const KEYS: &[Key] = &[
    effective(
        "tracing.dir",
        Type::Text,
        "",
        "The directory of trace files. See [traces](tracing-messages.md). Default: `traces` in the data directory.",
    ),
    effective(
        "warren.tracing.file_len_max",
        Type::Size(4096, 1 << 40),
        "16MiB",
        "The maximum size of a trace file. After that, the trace continues in a new file.",
    ),
    effective(
        "warren.tracing.file_count_max",
        Type::Integer(1, 1000),
        "4",
        "The maximum number of files of one trace. Beyond that, the oldest is deleted.",
    ),
    effective(
        "warren.tracing.ended_len_max",
        Type::Size(4096, 1 << 40),
        "256MiB",
        "The maximum size of the files of all ended traces together. Beyond that, the oldest are deleted.",
    ),
    effective(
        "warren.otlp.endpoint",
        Type::Secret,
        "",
        "The URL that spans are posted to, such as `http://localhost:4318`, by OTLP over HTTP as JSON. Default: none, spans are not \
         sent.",
    ),
    effective("warren.otlp.headers.$name", Type::Secret, "", "A header of these requests."),
    effective(
        "warren.otlp.sample_rate",
        Type::Float(0.0, 1.0),
        "1",
        "The fraction of the traces sampled by publishers for which spans are sent.",
    ),
    effective(
        "warren.otlp.cacertfile",
        Type::Text,
        "",
        "File of the authorities that may have signed the server's certificate. Default: the system's.",
    ),
    effective(
        "warren.otlp.timeout",
        Type::DurationMs(100, 60_000),
        "10000",
        "How long a request may take, including the connection.",
    ),
];
