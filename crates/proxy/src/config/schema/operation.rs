//! Stopping, threads, the log.

use super::super::kinds::DURATION_OR_INFINITY;
use super::{Row, Section, TIME_OR_NONE, Type, effective};

pub(super) const SECTION: Section = Section { title: "Operation", keys: KEYS };

const LEVELS: Type =
    Type::OneOf(&["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency", "none"]);

const KEYS: &[Row] = &[
    effective(
        "proxy.term_client_close_timeout",
        TIME_OR_NONE,
        "0",
        "How long the proxy waits, after SIGTERM, for clients to disconnect, before it closes their connections.",
    )
    .reloadable(),
    effective(
        "proxy.term_timeout",
        Type::Own(&DURATION_OR_INFINITY),
        "infinity",
        "How long the proxy then waits for clients to confirm the close, before it exits.",
    )
    .reloadable(),
    effective(
        "proxy.worker_threads",
        Type::Integer(0, 1024),
        "0",
        "The number of threads for connections. 0: one for every two processors, because clients often run on the same host. Each \
         thread has its own upstream connections.",
    ),
    effective(
        "proxy.log.level",
        LEVELS,
        "info",
        "The lowest level that is logged, to stderr. In AMQProxy's options and variables, `trace`, `warn` and `fatal` are `debug`, \
         `warning` and `critical`.",
    )
    .reloadable(),
    effective("proxy.log.formatter", Type::OneOf(&["plaintext", "json"]), "plaintext", "The format of a log line."),
];
