//! The log: to stderr, one event a line, as text for people or as JSON.

use std::io::{self, IsTerminal};

use model::config::{Log, LogFormatter, LogLevel};
use tracing::Subscriber;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::fmt::format::Format;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Layer, Registry, fmt, reload};

use crate::log_fields::EscapedFields;
use crate::log_json::EscapingWriter;

/// Changes how severe has to be what is logged, while the process runs.
pub(crate) struct LogLevelHandle(reload::Handle<LevelFilter, Registry>);

impl LogLevelHandle {
    /// From now on what is less severe is not logged.
    pub(crate) fn set(&self, level: LogLevel) {
        // It fails where nothing logs any more, and then there is nothing to change.
        let _ = self.0.reload(filter(level));
    }
}

/// Starts logging. Events before this are lost; call it once.
pub(crate) fn start(log: &Log) -> LogLevelHandle {
    let (filter, handle) = reload::Layer::new(filter(log.level));
    let filtered = tracing_subscriber::registry().with(filter);
    let stderr = std::io::stderr;
    match log.formatter {
        LogFormatter::Json => filtered.with(objects(stderr)).init(),
        LogFormatter::Plaintext => filtered.with(lines(stderr, stderr().is_terminal())).init(),
    }
    LogLevelHandle(handle)
}

/// Events as text.
pub(crate) fn lines<S, W>(writer: W, ansi: bool) -> fmt::Layer<S, EscapedFields, Format, W>
where
    S: Subscriber + for<'span> LookupSpan<'span>,
    W: for<'writer> MakeWriter<'writer> + 'static,
{
    fmt::layer().with_writer(writer).with_ansi(ansi).fmt_fields(EscapedFields)
}

/// Events as JSON.
pub(crate) fn objects<S, W>(writer: impl Fn() -> W + Send + Sync + 'static) -> impl Layer<S>
where
    S: Subscriber + for<'span> LookupSpan<'span>,
    W: io::Write,
{
    fmt::layer().with_writer(move || EscapingWriter(writer())).json().flatten_event(true)
}

fn filter(level: LogLevel) -> LevelFilter {
    match level {
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Info | LogLevel::Notice => LevelFilter::INFO,
        LogLevel::Warning => LevelFilter::WARN,
        LogLevel::Error | LogLevel::Critical | LogLevel::Alert | LogLevel::Emergency => LevelFilter::ERROR,
        LogLevel::None => LevelFilter::OFF,
    }
}
