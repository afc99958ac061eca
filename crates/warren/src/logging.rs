//! The log: to stderr, one event a line, as text for people or as JSON.

use std::io::{self, IsTerminal};

use management::{LogControl, RecentLines};
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

/// What is kept of the log in memory, for `/api/log`: the last lines.
const RECENT_COUNT: usize = 2_000;
const RECENT_LEN: usize = 256 << 10;

/// Changes how severe has to be what is logged, while the process runs, and knows what was logged last.
pub(crate) struct LogLevelHandle {
    filter: reload::Handle<LevelFilter, Registry>,
    recent: RecentLines,
}

impl LogLevelHandle {
    /// From now on what is less severe is not logged.
    pub(crate) fn set(&self, level: LogLevel) {
        // It fails where nothing logs now, and then there is nothing to change.
        let _ = self.filter.reload(filter(level));
    }

    /// What operators may do with it.
    pub(crate) fn into_control(self) -> LogControl {
        let recent = self.recent.clone();
        LogControl { set_level: Box::new(move |level| self.set(level)), recent }
    }
}

/// Starts logging. Events before this are lost; call it once.
pub(crate) fn start(log: &Log) -> LogLevelHandle {
    let (filter, handle) = reload::Layer::new(filter(log.level));
    let recent = RecentLines::new(RECENT_COUNT, RECENT_LEN);
    let kept = recent.clone();
    let keep = lines(move || KeptLine { lines: kept.clone(), text: Vec::new() }, false);
    let filtered = tracing_subscriber::registry().with(filter).with(keep);
    let stderr = std::io::stderr;
    match log.formatter {
        LogFormatter::Json => filtered.with(objects(stderr)).init(),
        LogFormatter::Plaintext => filtered.with(lines(stderr, stderr().is_terminal())).init(),
    }
    LogLevelHandle { filter: handle, recent }
}

/// An event that is being written for callers that ask for the last lines.
struct KeptLine {
    lines: RecentLines,
    text: Vec<u8>,
}

impl io::Write for KeptLine {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.text.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for KeptLine {
    fn drop(&mut self) {
        let text = String::from_utf8_lossy(&self.text);
        self.lines.push(text.trim_end());
    }
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
