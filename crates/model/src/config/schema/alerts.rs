//! Keys of alerts: rules, and the receivers of notices.

use std::time::Duration;

use super::{Key, Row, Section, Type, effective};

pub(super) const SECTION: Section = Section { title: "Alerts", keys: KEYS };

/// Any number from 0; no f64 beyond this counts single messages.
const NUMBER: Type = Type::Float(0.0, 9_007_199_254_740_992.0);
const DURATION: Type = Type::DurationMs(0, 2_592_000_000);

pub(crate) const INTERVAL: Key<Duration> =
    Key::duration("warren.alerts.interval", Type::DurationMs(100, 3_600_000), "5000", "How often rules are evaluated.");

const KEYS: &[Row] = &[
    INTERVAL.row,
    effective(
        "warren.alerts.rules.$name.kind",
        Type::OneOf(&[
            "queue-length",
            "no-consumers",
            "oldest-age",
            "growth",
            "memory-alarm",
            "disk-alarm",
            "data-loss",
            "cluster",
            "flow",
            "lock-outs",
            "connections",
            "unroutable",
        ]),
        "",
        "A rule, and what it watches. [Alerts](alerts.md) describes the kinds, and what the other keys mean for each of them.",
    ),
    effective("warren.alerts.rules.$name.vhost", Type::Pattern, "", "The vhosts that the rule watches. Default: all."),
    effective("warren.alerts.rules.$name.queue", Type::Pattern, "", "The queues that the rule watches. Default: all."),
    effective(
        "warren.alerts.rules.$name.unacked",
        Type::Bool,
        "",
        "Whether unacked messages count towards a queue's length.",
    ),
    effective("warren.alerts.rules.$name.above", NUMBER, "", "The threshold."),
    effective(
        "warren.alerts.rules.$name.clear",
        NUMBER,
        "",
        "A firing alert ends when the value is this or less. Default: 90 % of the threshold.",
    ),
    effective("warren.alerts.rules.$name.for", DURATION, "", "How long the condition must last before an alert fires."),
    effective(
        "warren.alerts.rules.$name.clear_for",
        DURATION,
        "",
        "How long the condition must have ended before the alert is resolved.",
    ),
    effective(
        "warren.alerts.rules.$name.repeat",
        Type::DurationMs(60_000, 2_592_000_000),
        "",
        "How often webhooks are notified again while the alert fires. Default: never.",
    ),
    effective(
        "warren.alerts.rules.$name.window",
        Type::DurationMs(1000, 2_592_000_000),
        "",
        "The period over which growth and rates are measured. Default: a minute.",
    ),
    effective(
        "warren.alerts.rules.$name.severity",
        Type::OneOf(&["info", "warning", "critical"]),
        "",
        "The severity of the rule's alerts. Default: `warning`.",
    ),
    effective(
        "warren.alerts.rules.$name.webhooks.$number",
        Type::Text,
        "",
        "The name of a webhook to notify. Default: all.",
    ),
    effective(
        "warren.alerts.webhooks.$name.url",
        Type::Secret,
        "",
        "A webhook: the `http://` or `https://` URL that alerts are posted to.",
    ),
    effective(
        "warren.alerts.webhooks.$name.headers.$header",
        Type::Secret,
        "",
        "A header of every request, such as `Authorization`.",
    ),
    effective(
        "warren.alerts.webhooks.$name.timeout",
        Type::DurationMs(100, 60_000),
        "",
        "How long an answer may take. Default: 5 seconds.",
    ),
    effective("warren.alerts.webhooks.$name.secret", Type::Secret, "", "The secret that requests are signed with."),
    effective(
        "warren.alerts.webhooks.$name.cacertfile",
        Type::Text,
        "",
        "File of the authorities that may have signed the webhook's certificate. Default: the system's.",
    ),
];
