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
        "After SIGTERM, how long clients are waited for that they close by themselves, before they are told to.",
    )
    .reloadable(),
    effective(
        "proxy.term_timeout",
        Type::Own(&DURATION_OR_INFINITY),
        "infinity",
        "How long they are waited for after that, before the proxy ends without them.",
    )
    .reloadable(),
    effective(
        "proxy.worker_threads",
        Type::Integer(0, 1024),
        "0",
        "Threads for connections; 0: one for every two processors, since whose connections they are runs there, too. Each has connections to \
         upstreams of its own.",
    ),
    effective(
        "proxy.log.level",
        LEVELS,
        "info",
        "The least severe level that is logged, to stderr. AMQProxy's `trace`, `warn` and `fatal` are `debug`, `warning` and \
         `critical`, where its options and variables say them.",
    )
    .reloadable(),
    effective("proxy.log.formatter", Type::OneOf(&["plaintext", "json"]), "plaintext", "The shape of a line."),
];
