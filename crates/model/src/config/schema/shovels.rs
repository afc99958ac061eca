//! Keys of shovels.

use super::{Key, Row, Section, Type, effective, no_effect};

pub(super) const SECTION: Section = Section { title: "Shovels", keys: KEYS };

const COUNT: Type = Type::Integer(0, 65_535);

pub(crate) const SHOVEL_TOPOLOGY_PREDECLARED: Key<bool> = Key::bool(
    "shovel.topology.predeclared",
    "false",
    "Whether the source and destination of shovels must exist already, for shovels that do not set this themselves.",
);

const KEYS: &[Row] = &[
    SHOVEL_TOPOLOGY_PREDECLARED.row,
    no_effect("shovel.operating_mode", Type::Text, "shovels always run"),
    no_effect("shovel.local.max_credit", Type::Text, "local shovels use a prefetch count, like all shovels"),
    effective(
        "warren.links.allowed_hosts.$number",
        Type::Text,
        "",
        "A host that shovels may connect to, or all hosts below a domain (`*.example.com`). Default: all hosts.",
    ),
    effective(
        "warren.links.tls_directories.$number",
        Type::Text,
        "",
        "A directory from which the URIs of shovels and upstreams may read files. See [shovels](shovels.md#which-files-they-may-read), \
         which also names the default.",
    ),
    effective(
        "warren.shovels.$name.src-uri",
        Type::Secret,
        "",
        "The source of a shovel that the configuration defines. [Shovels](shovels.md) describes this and the other keys.",
    ),
    effective(
        "warren.shovels.$name.src-uri.$number",
        Type::Secret,
        "",
        "One of several URIs. The first that answers is used.",
    ),
    effective(
        "warren.shovels.$name.src-protocol",
        Type::OneOf(&["amqp091", "local"]),
        "",
        "The protocol of the source.",
    ),
    effective("warren.shovels.$name.src-queue", Type::Text, "", "The queue to consume from."),
    effective(
        "warren.shovels.$name.src-queue-args.$argument",
        Type::Text,
        "",
        "An argument of the queue's declaration.",
    ),
    effective(
        "warren.shovels.$name.src-exchange",
        Type::Text,
        "",
        "Instead of a queue: the exchange that the shovel binds a queue of its own to.",
    ),
    effective("warren.shovels.$name.src-exchange-key", Type::Text, "", "The routing key of this binding."),
    effective("warren.shovels.$name.src-consumer-args.$argument", Type::Text, "", "An argument of the consumer."),
    effective(
        "warren.shovels.$name.src-prefetch-count",
        COUNT,
        "",
        "The maximum number of unconfirmed messages. Default: 1000.",
    ),
    effective("warren.shovels.$name.src-predeclared", Type::Bool, "", "Whether the source must exist already."),
    effective("warren.shovels.$name.dest-uri", Type::Secret, "", "The destination of the messages."),
    effective(
        "warren.shovels.$name.dest-uri.$number",
        Type::Secret,
        "",
        "One of several URIs. The first that answers is used.",
    ),
    effective(
        "warren.shovels.$name.dest-protocol",
        Type::OneOf(&["amqp091", "local", "http"]),
        "",
        "The protocol of the destination.",
    ),
    effective("warren.shovels.$name.dest-queue", Type::Text, "", "The queue to publish to."),
    effective(
        "warren.shovels.$name.dest-queue-args.$argument",
        Type::Text,
        "",
        "An argument of the queue's declaration.",
    ),
    effective(
        "warren.shovels.$name.dest-exchange",
        Type::Text,
        "",
        "Instead of a queue: the exchange to publish to. Default: the message's own.",
    ),
    effective("warren.shovels.$name.dest-exchange-key", Type::Text, "", "The routing key. Default: the message's own."),
    effective(
        "warren.shovels.$name.dest-publish-properties.$property",
        Type::Text,
        "",
        "A property that is set on all messages.",
    ),
    effective(
        "warren.shovels.$name.dest-add-forward-headers",
        Type::Bool,
        "",
        "Whether headers record the path of messages.",
    ),
    effective("warren.shovels.$name.dest-add-timestamp-header", Type::Bool, "", "Whether a header records the time."),
    effective("warren.shovels.$name.dest-predeclared", Type::Bool, "", "Whether the destination must exist already."),
    effective(
        "warren.shovels.$name.dest-timeout",
        Type::Integer(1, 3600),
        "",
        "How many seconds a web server may take to answer.",
    ),
    effective(
        "warren.shovels.$name.dest-refused",
        Type::OneOf(&["retry", "dead-letter"]),
        "",
        "What happens to messages that a web server refuses permanently.",
    ),
    effective(
        "warren.shovels.$name.ack-mode",
        Type::OneOf(&["on-confirm", "on-publish", "no-ack"]),
        "",
        "When messages are acknowledged at the source. Default: `on-confirm`, when the destination has confirmed them.",
    ),
    effective(
        "warren.shovels.$name.reconnect-delay",
        Type::Integer(0, 86_400),
        "",
        "How many seconds to wait after a failure. Default: 1.",
    ),
];
