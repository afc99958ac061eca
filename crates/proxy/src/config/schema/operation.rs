//! Stopping, threads, the log.

use std::time::Duration;

use model::config::{LogFormatter, LogLevel};

use super::super::kinds::{DURATION_OR_INFINITY, parse_duration_or_infinity};
use super::{Key, Row, Section, TIME_OR_NONE, Type};

pub(super) const SECTION: Section = Section { title: "Operation", keys: KEYS };

const LEVELS: Type =
    Type::OneOf(&["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency", "none"]);

pub(crate) const TERM_CLIENT_CLOSE_TIMEOUT: Key<Duration> = Key::duration(
    "proxy.term_client_close_timeout",
    TIME_OR_NONE,
    "0",
    "How long the proxy waits, after SIGTERM, for clients to disconnect, before it closes their connections.",
)
.reloadable();
pub(crate) const TERM_TIMEOUT: Key<Option<Duration>> = Key::new(
    "proxy.term_timeout",
    Type::Own(&DURATION_OR_INFINITY),
    "infinity",
    "How long the proxy then waits for clients to confirm the close, before it exits.",
    parse_duration_or_infinity,
)
.reloadable();
pub(crate) const WORKER_THREADS: Key<usize> = Key::integer(
    "proxy.worker_threads",
    Type::Integer(0, 1024),
    "0",
    "The number of threads for connections. 0: one for every two processors, because clients often run on the same host. Each \
         thread has its own upstream connections.",
);
pub(crate) const LOG_LEVEL: Key<LogLevel> = Key::new(
    "proxy.log.level",
    LEVELS,
    "info",
    "The lowest level that is logged, to stderr. In AMQProxy's options and variables, `trace`, `warn` and `fatal` are `debug`, \
     `warning` and `critical`.",
    LogLevel::parse,
)
.reloadable();
pub(crate) const LOG_FORMATTER: Key<LogFormatter> = Key::new(
    "proxy.log.formatter",
    Type::OneOf(&["plaintext", "json"]),
    "plaintext",
    "The format of a log line.",
    |text| Some(if text == "json" { LogFormatter::Json } else { LogFormatter::Plaintext }),
);

const KEYS: &[Row] =
    &[TERM_CLIENT_CLOSE_TIMEOUT.row, TERM_TIMEOUT.row, WORKER_THREADS.row, LOG_LEVEL.row, LOG_FORMATTER.row];
