//! The log: to stderr, one event a line, as text for people or as JSON.

use std::io::IsTerminal;

use model::config::{Log, LogFormatter, LogLevel};
use tracing::level_filters::LevelFilter;

/// Starts logging. Events before this are lost; call it once.
pub(crate) fn start(log: &Log) {
    let level = match log.level {
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Info | LogLevel::Notice => LevelFilter::INFO,
        LogLevel::Warning => LevelFilter::WARN,
        LogLevel::Error | LogLevel::Critical | LogLevel::Alert | LogLevel::Emergency => LevelFilter::ERROR,
        LogLevel::None => LevelFilter::OFF,
    };
    let builder = tracing_subscriber::fmt().with_max_level(level).with_writer(std::io::stderr);
    match log.formatter {
        LogFormatter::Json => builder.json().flatten_event(true).init(),
        LogFormatter::Plaintext => builder.with_ansi(std::io::stderr().is_terminal()).init(),
    }
}
