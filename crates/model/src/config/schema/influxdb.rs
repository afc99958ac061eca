//! Keys of statistics for InfluxDB: where they are sent, with which login, and what they cover.

use std::time::Duration;

use super::{Key, Row, Section, Type, effective};
use crate::pattern::Pattern;

pub(super) const SECTION: Section = Section { title: "Statistics for InfluxDB", keys: KEYS };

pub(crate) const URL: Key<String> = Key::text(
    "warren.influxdb.url",
    Type::Secret,
    "",
    "The URL that statistics are posted to, such as `http://localhost:8086`. See [InfluxDB](influxdb.md). Default: none, \
         statistics are not sent.",
);
pub(crate) const ORG: Key<String> =
    Key::text("warren.influxdb.org", Type::Text, "", "The organization, for InfluxDB 2.");
pub(crate) const BUCKET: Key<String> =
    Key::text("warren.influxdb.bucket", Type::Text, "", "The bucket, for InfluxDB 2 and 3.");
pub(crate) const TOKEN: Key<String> = Key::text("warren.influxdb.token", Type::Secret, "", "The token of requests.");
pub(crate) const DATABASE: Key<String> =
    Key::text("warren.influxdb.database", Type::Text, "", "The database, for InfluxDB 1, instead of a bucket.");
pub(crate) const RETENTION_POLICY: Key<String> = Key::text(
    "warren.influxdb.retention_policy",
    Type::Text,
    "",
    "The retention policy. Default: that of the database.",
);
pub(crate) const USER: Key<String> =
    Key::text("warren.influxdb.user", Type::Text, "", "The user of requests, instead of a token.");
pub(crate) const PASSWORD: Key<String> =
    Key::text("warren.influxdb.password", Type::Secret, "", "That user's password.");
pub(crate) const CACERTFILE: Key<String> = Key::text(
    "warren.influxdb.cacertfile",
    Type::Text,
    "",
    "File of the authorities that may have signed the server's certificate. Default: the system's.",
);
pub(crate) const TIMEOUT: Key<Duration> = Key::duration(
    "warren.influxdb.timeout",
    Type::DurationMs(100, 60_000),
    "10000",
    "How long a request may take, including the connection.",
);
pub(crate) const FILE: Key<String> = Key::text(
    "warren.influxdb.file",
    Type::Text,
    "",
    "A file that statistics are appended to, with or without a URL. Default: none.",
);
pub(crate) const INTERVAL: Key<Duration> = Key::duration(
    "warren.influxdb.interval",
    Type::DurationMs(100, 3_600_000),
    "10000",
    "How often statistics are collected.",
);
pub(crate) const PRECISION: Key<String> = Key::text(
    "warren.influxdb.precision",
    Type::OneOf(&["ns", "us", "ms", "s"]),
    "ns",
    "The unit of timestamps. A program that reads the file must know it.",
);
pub(crate) const VHOST: Key<Pattern> =
    Key::pattern("warren.influxdb.vhost", "", "The vhosts of these objects. Default: all.");
pub(crate) const QUEUE: Key<Pattern> = Key::pattern("warren.influxdb.queue", "", "The queues. Default: all.");
pub(crate) const EXCHANGE: Key<Pattern> = Key::pattern("warren.influxdb.exchange", "", "The exchanges. Default: all.");

const KEYS: &[Row] = &[
    URL.row,
    ORG.row,
    BUCKET.row,
    TOKEN.row,
    DATABASE.row,
    RETENTION_POLICY.row,
    USER.row,
    PASSWORD.row,
    CACERTFILE.row,
    TIMEOUT.row,
    FILE.row,
    INTERVAL.row,
    PRECISION.row,
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
    VHOST.row,
    QUEUE.row,
    EXCHANGE.row,
    effective("warren.influxdb.tags.$name", Type::Text, "", "A tag that is added to every line."),
];
