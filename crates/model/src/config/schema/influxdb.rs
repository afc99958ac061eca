//! Keys of statistics for InfluxDB: where they go, who asks, and of what they are.

use super::{Key, Section, Type, effective};

pub(super) const SECTION: Section = Section { title: "Statistics for InfluxDB", keys: KEYS };

const KEYS: &[Key] = &[
    effective(
        "warren.influxdb.url",
        Type::Secret,
        "",
        "The URL that statistics are posted to, such as `http://localhost:8086`. See [InfluxDB](influxdb.md). Default: none, \
         statistics are not sent.",
    ),
    effective("warren.influxdb.org", Type::Text, "", "The organization, for InfluxDB 2."),
    effective("warren.influxdb.bucket", Type::Text, "", "The bucket, for InfluxDB 2 and 3."),
    effective("warren.influxdb.token", Type::Secret, "", "The token of requests."),
    effective("warren.influxdb.database", Type::Text, "", "The database, for InfluxDB 1, instead of a bucket."),
    effective(
        "warren.influxdb.retention_policy",
        Type::Text,
        "",
        "The retention policy. Default: that of the database.",
    ),
    effective("warren.influxdb.user", Type::Text, "", "The user of requests, instead of a token."),
    effective("warren.influxdb.password", Type::Secret, "", "That user's password."),
    effective(
        "warren.influxdb.cacertfile",
        Type::Text,
        "",
        "File of the authorities that may have signed the server's certificate. Default: the system's.",
    ),
    effective(
        "warren.influxdb.timeout",
        Type::DurationMs(100, 60_000),
        "10000",
        "How long a request may take, including the connection.",
    ),
    effective(
        "warren.influxdb.file",
        Type::Text,
        "",
        "A file that statistics are appended to, with or without a URL. Default: none.",
    ),
    effective(
        "warren.influxdb.interval",
        Type::DurationMs(100, 3_600_000),
        "10000",
        "How often statistics are collected.",
    ),
    effective(
        "warren.influxdb.precision",
        Type::OneOf(&["ns", "us", "ms", "s"]),
        "ns",
        "The unit of timestamps. A program that reads the file must know it.",
    ),
    effective(
        "warren.influxdb.objects.$number",
        Type::OneOf(&["node", "vhosts", "queues", "exchanges"]),
        "",
        "The objects whose statistics are collected.",
    )
    .family(&[
        ("warren.influxdb.objects.1", "node"),
        ("warren.influxdb.objects.2", "vhosts"),
        ("warren.influxdb.objects.3", "queues"),
        ("warren.influxdb.objects.4", "exchanges"),
    ]),
    effective("warren.influxdb.vhost", Type::Pattern, "", "The vhosts of these objects. Default: all."),
    effective("warren.influxdb.queue", Type::Pattern, "", "The queues. Default: all."),
    effective("warren.influxdb.exchange", Type::Pattern, "", "The exchanges. Default: all."),
    effective("warren.influxdb.tags.$name", Type::Text, "", "A tag that is added to every line."),
];
