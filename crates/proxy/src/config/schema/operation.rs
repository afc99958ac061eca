//! Stopping, threads, the log.

use super::super::kinds::DURATION_OR_INFINITY;
use super::{Key, Section, TIME_OR_NONE, Type, effective};

pub(super) const SECTION: Section = Section { title: "Operation", keys: KEYS };

const LEVELS: Type =
    Type::OneOf(&["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency", "none"]);

const KEYS: &[Key] = &[
    effective(
        "proxy.term_client_close_timeout",
        TIME_OR_NONE,
        "0",
        "After SIGTERM, how long the proxy waits for clients to close by themselves, before it tells them to.",
    )
    .reloadable(),
    effective(
        "proxy.term_timeout",
        Type::Own(&DURATION_OR_INFINITY),
        "infinity",
        "How long the proxy waits for them after that, before it ends without them.",
    )
    .reloadable(),
    effective(
        "proxy.worker_threads",
        Type::Integer(0, 1024),
        "0",
        "Threads for connections; 0: one for every two processors, since the clients often run on the same host. Each thread has \
         upstream connections of its own.",
    ),
    effective(
        "proxy.log.level",
        LEVELS,
        "info",
        "The least severe level that is logged, to stderr. AMQProxy's `trace`, `warn` and `fatal` are `debug`, `warning` and \
         `critical`, where its options and variables say them.",
    )
    .reloadable(),
    effective("proxy.log.formatter", Type::OneOf(&["plaintext", "json"]), "plaintext", "The format of a log line."),
];
