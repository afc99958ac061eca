//! Keys of shovels.

use super::{Key, Section, Type, effective, no_effect};

pub(super) const SECTION: Section = Section { title: "Shovels", keys: KEYS };

const COUNT: Type = Type::Integer(0, 65_535);

const KEYS: &[Key] = &[
    effective(
        "shovel.topology.predeclared",
        Type::Bool,
        "false",
        "Whether what shovels consume and publish to has to be there already, where they do not say otherwise.",
    ),
    no_effect("shovel.operating_mode", Type::Text, "shovels are always there"),
    no_effect("shovel.local.max_credit", Type::Text, "shovels within the broker have a prefetch count as others have"),
    effective(
        "warren.links.allowed_hosts.$number",
        Type::Text,
        "",
        "A host that shovels may connect to, or all below a domain (`*.example.com`). Default: all.",
    ),
    effective(
        "warren.links.tls_directories.$number",
        Type::Text,
        "",
        "A directory from which files may be read that the URIs of shovels and upstreams name: see \
        [shovels](shovels.md#which-files-they-may-read), also for the default.",
    ),
    effective(
        "warren.shovels.$name.src-uri",
        Type::Secret,
        "",
        "A shovel of the configuration, and where its messages come from: \
        see [shovels](shovels.md), also for what the other keys mean.",
    ),
    effective("warren.shovels.$name.src-uri.$number", Type::Secret, "", "Of several, the first that answers."),
    effective(
        "warren.shovels.$name.src-protocol",
        Type::OneOf(&["amqp091", "local"]),
        "",
        "How the source is spoken to.",
    ),
    effective("warren.shovels.$name.src-queue", Type::Text, "", "The queue that is consumed."),
    effective(
        "warren.shovels.$name.src-queue-args.$argument",
        Type::Text,
        "",
        "An argument with which it is declared.",
    ),
    effective(
        "warren.shovels.$name.src-exchange",
        Type::Text,
        "",
        "Or the exchange to which a queue of its own is bound.",
    ),
    effective("warren.shovels.$name.src-exchange-key", Type::Text, "", "With this key."),
    effective("warren.shovels.$name.src-consumer-args.$argument", Type::Text, "", "An argument of the consumer."),
    effective(
        "warren.shovels.$name.src-prefetch-count",
        COUNT,
        "",
        "Messages that are on their way at most. Default: 1000.",
    ),
    effective("warren.shovels.$name.src-predeclared", Type::Bool, "", "Whether the source has to be there already."),
    effective("warren.shovels.$name.dest-uri", Type::Secret, "", "Where its messages go."),
    effective("warren.shovels.$name.dest-uri.$number", Type::Secret, "", "Of several, the first that answers."),
    effective(
        "warren.shovels.$name.dest-protocol",
        Type::OneOf(&["amqp091", "local", "http"]),
        "",
        "How the destination is spoken to.",
    ),
    effective("warren.shovels.$name.dest-queue", Type::Text, "", "The queue that is published to."),
    effective(
        "warren.shovels.$name.dest-queue-args.$argument",
        Type::Text,
        "",
        "An argument with which it is declared.",
    ),
    effective("warren.shovels.$name.dest-exchange", Type::Text, "", "Or the exchange. Default: the message's own."),
    effective("warren.shovels.$name.dest-exchange-key", Type::Text, "", "The routing key. Default: the message's own."),
    effective("warren.shovels.$name.dest-publish-properties.$property", Type::Text, "", "A property of all messages."),
    effective(
        "warren.shovels.$name.dest-add-forward-headers",
        Type::Bool,
        "",
        "Whether headers say which way messages came.",
    ),
    effective("warren.shovels.$name.dest-add-timestamp-header", Type::Bool, "", "Whether a header says when."),
    effective(
        "warren.shovels.$name.dest-predeclared",
        Type::Bool,
        "",
        "Whether the destination has to be there already.",
    ),
    effective(
        "warren.shovels.$name.dest-timeout",
        Type::Integer(1, 3600),
        "",
        "Seconds that a web server may take to answer.",
    ),
    effective(
        "warren.shovels.$name.dest-refused",
        Type::OneOf(&["retry", "dead-letter"]),
        "",
        "What becomes of messages that a web server refuses for good.",
    ),
    effective(
        "warren.shovels.$name.ack-mode",
        Type::OneOf(&["on-confirm", "on-publish", "no-ack"]),
        "",
        "When messages are acknowledged at the source. Default: when the destination has confirmed them.",
    ),
    effective(
        "warren.shovels.$name.reconnect-delay",
        Type::Integer(0, 86_400),
        "",
        "Seconds to wait after a failure. Default: 1.",
    ),
];
