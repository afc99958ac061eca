//! Keys of traces: files of what happens to messages, and spans for OpenTelemetry.

use super::{Key, Section, Type, effective};

pub(super) const SECTION: Section = Section { title: "Traces of messages", keys: KEYS };

const KEYS: &[Key] = &[
    effective(
        "tracing.dir",
        Type::Text,
        "",
        "The directory of trace files: see [traces](tracing-messages.md). Default: `traces` in the data directory.",
    ),
    effective(
        "warren.tracing.file_len_max",
        Type::Size(4096, 1 << 40),
        "16MiB",
        "How long a trace file may become, before another is begun.",
    ),
    effective(
        "warren.tracing.file_count_max",
        Type::Integer(1, 1000),
        "4",
        "How many files of one trace there may be: the oldest goes.",
    ),
    effective(
        "warren.tracing.ended_len_max",
        Type::Size(4096, 1 << 40),
        "256MiB",
        "How long the files of all traces that have ended may be together: the oldest go.",
    ),
    effective(
        "warren.otlp.endpoint",
        Type::Secret,
        "",
        "Where spans are posted to, such as `http://localhost:4318`, by OTLP over HTTP as JSON. Default: nowhere.",
    ),
    effective("warren.otlp.headers.$name", Type::Secret, "", "A header of every such request."),
    effective(
        "warren.otlp.sample_rate",
        Type::Float(0.0, 1.0),
        "1",
        "Of which part of the traces that their publishers sample there are spans.",
    ),
    effective(
        "warren.otlp.cacertfile",
        Type::Text,
        "",
        "File of the authorities that the server's certificate is to be from. Default: the system's.",
    ),
    effective(
        "warren.otlp.timeout",
        Type::DurationMs(100, 60_000),
        "10000",
        "How long a request may take, connection included.",
    ),
];
