//! The configuration as the broker uses it: typed, complete, consistent.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::time::Duration;

use super::alerts::{self, AlertOptions};
use super::backends::{self, Backends};
use super::certificate_login::{CertificateLogin, certificate_login};
use super::cluster::{self, ClusterOptions};
use super::influxdb::{self, InfluxdbOptions};
use super::links::{self, LinkOptions};
use super::listeners::{self, HttpListener, Listener, UnixListener};
use super::live::{self, LiveOptions};
use super::management::{self, ManagementOptions};
use super::network::networks;
use super::prometheus::{self, PrometheusOptions};
use super::remark::{ConfigError, Origin, Warning};
use super::shovels::{self, ShovelOptions};
use super::statistics::{self, StatisticsOptions};
use super::tls::{self, TlsOptions, tls_options};
use super::together;
use super::traces::{self, OtlpOptions, TraceFileOptions};
use super::value;
use super::values::Values;
use super::vhost_defaults;
use crate::arguments::QueueType;
use crate::name::{UserName, VhostName};
use crate::user::{CredentialValidator, Permission, Tags};
use crate::vhost::VhostDefaults;

/// Where none is set.
const MEMBER_JOURNAL_BOUND: u64 = 128 << 20;

/// The whole configuration. Fields are named as their keys are.
#[derive(Debug, Clone)]
pub struct Config {
    /// The files it was read from, in the order in which they count.
    pub files: Vec<String>,
    /// Where to listen for AMQP without TLS; may be empty.
    pub listeners: Vec<Listener>,
    /// Where to listen for AMQP with TLS; where there are any, there is `tls`.
    pub tls_listeners: Vec<Listener>,
    /// Where to listen for AMQP on Unix-domain sockets.
    pub unix_listeners: Vec<UnixListener>,
    /// Where to listen for the management API.
    pub management_listeners: Vec<HttpListener>,
    /// Where to listen for scrapes of metrics.
    pub prometheus_listeners: Vec<HttpListener>,
    /// Where there is the short list of queues, and nothing else.
    pub queue_info_listener: Option<HttpListener>,
    /// TLS of AMQP, if there is a certificate.
    pub tls: Option<TlsOptions>,
    /// How long the handshake of TLS may take.
    pub ssl_handshake_timeout: Duration,
    /// Whether connections to ports begin with a header of the PROXY protocol.
    pub proxy_protocol: bool,
    /// Whose headers are believed; None: those of all.
    pub proxy_protocol_trusted_senders: Option<Vec<RangeInclusive<IpAddr>>>,
    /// The most HTTP connections that one address has at a time, at each listener.
    pub http_max_connections_per_address: Option<u64>,
    /// Options of client sockets.
    pub tcp_listen_options: TcpOptions,
    /// How long a connection may take to log in.
    pub handshake_timeout: Duration,
    /// Proposed seconds between heartbeats.
    pub heartbeat: u16,
    /// Proposed length of the longest frame.
    pub frame_max: u32,
    /// Length of the longest frame before login, and the least that a client may ask for; at most `frame_max`.
    pub initial_frame_max: u32,
    /// Most channels of a connection; 0 means no limit.
    pub channel_max: u16,
    /// Most connections of the node.
    pub connection_max: Option<u64>,
    /// Most consumers of a channel.
    pub consumer_max_per_channel: Option<u64>,
    /// Largest body of a message, in bytes.
    pub max_message_size: u64,

    /// What the first start creates.
    pub default_user: DefaultUser,
    /// What vhosts get when they are made.
    pub vhost_defaults: VhostDefaults,
    /// Which passwords may be set.
    pub credential_validator: CredentialValidator,
    /// Users that may log in only from the host itself.
    pub loopback_users: Vec<String>,
    /// SASL mechanisms that are offered, in this order.
    pub auth_mechanisms: Vec<AuthMechanism>,
    /// Which part of a client's certificate is the user's name in EXTERNAL.
    pub ssl_cert_login_from: CertificateLogin,
    /// Who logs in by ANONYMOUS.
    pub anonymous_login: Option<Login>,

    /// When publishers are stopped for memory.
    pub vm_memory_high_watermark: MemoryWatermark,
    /// The memory that there is, if it is not to be asked of the system.
    pub total_memory_available_override_value: Option<u64>,
    /// When publishers are stopped for disk.
    pub disk_free_limit: DiskFreeLimit,

    /// What is logged.
    pub log: Log,
    /// The product's name that clients are told.
    pub product_name: String,
    /// The product's version that clients are told; None: the program's own.
    pub product_version: Option<String>,
    /// The cluster's name that clients are told; None: made from the host's name.
    pub cluster_name: Option<String>,
    /// What RabbitMQ phases out.
    pub deprecated_features: DeprecatedFeatures,
    /// The type of queues that are declared without one, in vhosts that have no default of their own.
    pub default_queue_type: QueueType,
    /// How long a consumer of a quorum queue may hold a message, unless it is told otherwise.
    pub consumer_timeout: Duration,
    /// Whether who declares an existing quorum queue as a classic one may go on.
    pub permits_quorum_queues_declared_as_classic: bool,
    /// Whether local random exchanges may be declared.
    pub local_random_exchanges: bool,
    /// `runtime_parameters.limits`: how many parameters of vhosts there may be, by component.
    pub parameter_limits: BTreeMap<String, usize>,
    /// `warren.delayed.strict`: whether every delayed message that is mandatory is returned.
    pub returns_every_delayed: bool,
    /// `warren.definitions.answer_after`: whether declarations and bindings are answered before they are synced.
    pub answers_definitions_at_once: bool,

    /// The node's name, or what is before its `@`; None: `rabbit`.
    pub node_name: Option<String>,
    /// The cluster, if this node is to be in one.
    pub cluster: ClusterOptions,
    /// Alerts.
    pub alerts: AlertOptions,
    /// Shovels of the configuration.
    pub shovels: ShovelOptions,
    /// What shovels and the links of federation may do.
    pub links: LinkOptions,
    /// Who knows users.
    pub backends: Backends,
    /// What is remembered of what is counted.
    pub statistics: StatisticsOptions,
    /// The HTTP API.
    pub management: ManagementOptions,
    /// Metrics for Prometheus.
    pub prometheus: PrometheusOptions,
    /// Statistics for InfluxDB.
    pub influxdb: InfluxdbOptions,
    /// Files of what happens to messages.
    pub trace_files: TraceFileOptions,
    /// Spans for OpenTelemetry; None: there are none.
    pub otlp: Option<OtlpOptions>,
    /// A file of definitions, or a directory of them, that every start imports.
    pub load_definitions: Option<String>,
    /// Whether what they have and this broker cannot do is left out.
    pub load_definitions_skip_unsupported: bool,
    /// Where and how messages are stored.
    pub store: StoreOptions,
    /// The recorder of the last calls.
    pub flight_recorder: FlightRecorderOptions,
    /// Streams of events.
    pub live: LiveOptions,
    /// Who did what is written there; None: nowhere.
    pub audit: Option<AuditOptions>,
    /// When logins are refused for their failures.
    pub lockout: Lockout,
    /// How long a stop waits for clients to go.
    pub shutdown_timeout: Duration,
    /// Threads for connections; None: one for each processor.
    pub worker_threads: Option<usize>,

    pub(super) values: Values,
}

/// Options of client sockets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TcpOptions {
    /// Connections that may wait to be accepted.
    pub backlog: u32,
    /// TCP_NODELAY.
    pub nodelay: bool,
    /// SO_KEEPALIVE.
    pub keepalive: bool,
    /// SO_SNDBUF, if set.
    pub sndbuf: Option<u32>,
    /// SO_RCVBUF, if set.
    pub recbuf: Option<u32>,
    /// SO_LINGER, if on.
    pub linger: Option<Duration>,
}

/// The user, vhost and permission that the first start creates.
#[derive(Clone, PartialEq, Eq)]
pub struct DefaultUser {
    /// The user's name.
    pub name: UserName,
    /// Its password, in plain.
    pub password: String,
    /// Its roles.
    pub tags: Tags,
    /// The vhost.
    pub vhost: VhostName,
    /// What the user may do in it.
    pub permission: Permission,
}

/// A name and a password.
#[derive(Clone, PartialEq, Eq)]
pub struct Login {
    /// The user's name.
    pub name: UserName,
    /// Its password, in plain.
    pub password: String,
}

/// How a client may log in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AuthMechanism {
    /// Name and password.
    Plain,
    /// Name and password in a field table.
    Amqplain,
    /// As a configured user.
    Anonymous,
    /// As the certificate says that the client showed to TLS.
    External,
}

impl AuthMechanism {
    /// All mechanisms.
    pub const ALL: [AuthMechanism; 4] =
        [AuthMechanism::Plain, AuthMechanism::Amqplain, AuthMechanism::Anonymous, AuthMechanism::External];

    /// The mechanism of this name, in capital letters.
    #[must_use]
    pub fn parse(name: &str) -> Option<AuthMechanism> {
        AuthMechanism::ALL.into_iter().find(|mechanism| mechanism.name() == name)
    }

    /// The name that clients see.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            AuthMechanism::Plain => "PLAIN",
            AuthMechanism::Amqplain => "AMQPLAIN",
            AuthMechanism::Anonymous => "ANONYMOUS",
            AuthMechanism::External => "EXTERNAL",
        }
    }
}

/// When publishers are stopped for memory.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum MemoryWatermark {
    /// At this fraction of what there is.
    Relative(f64),
    /// At so many bytes.
    Absolute(u64),
}

/// When publishers are stopped for disk.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum DiskFreeLimit {
    /// With so many bytes left.
    Absolute(u64),
    /// With so many times the memory left.
    MemoryRelative(f64),
}

/// What is logged, to stderr.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Log {
    /// The least severe level that is logged; `None` is nothing at all.
    pub level: LogLevel,
    /// The shape of a line.
    pub formatter: LogFormatter,
}

/// RabbitMQ's log levels, from the least severe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LogLevel {
    /// For who looks for an error.
    Debug,
    /// What happens.
    Info,
    /// What happens seldom.
    Notice,
    /// What may go wrong.
    Warning,
    /// What went wrong.
    Error,
    /// A part is out of service.
    Critical,
    /// Someone must act.
    Alert,
    /// The broker is out of service.
    Emergency,
    /// No event has this level.
    None,
}

/// The shape of a log line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LogFormatter {
    /// Text.
    Plaintext,
    /// One JSON object.
    Json,
}

/// Which of the features are permitted that RabbitMQ phases out.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DeprecatedFeatures(BTreeMap<String, bool>);

impl DeprecatedFeatures {
    /// Whether a feature is permitted, by RabbitMQ's name, such as `transient_nonexcl_queues` or `global_qos`.
    /// Everything is that the configuration does not forbid.
    #[must_use]
    pub fn permits(&self, feature: &str) -> bool {
        self.0.get(feature).copied().unwrap_or(true)
    }
}

/// Where and how messages are stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreOptions {
    /// The directory of all data.
    pub data_dir: String,
    /// When a persistent message is confirmed.
    pub confirm_after: ConfirmAfter,
    /// Most bytes of journal that are kept.
    pub journal_bound: u64,
    /// The same in a cluster.
    pub member_journal_bound: u64,
    /// Bytes of one journal file.
    pub journal_file_len: u64,
    /// Most bytes of messages in memory.
    pub chunk_bound: u64,
    /// How long it takes until all files of messages have been read once, to find damage.
    pub scrub_interval: Option<Duration>,
}

/// The recorder of the last calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlightRecorderOptions {
    /// Whether it runs from the start.
    pub is_enabled: bool,
    /// Requests that take so long have it saved.
    pub slow_request: Duration,
    /// So many files are kept.
    pub rotation_count: u64,
    /// How long they may be together, in bytes.
    pub total_len_max: u64,
}

/// The audit log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditOptions {
    /// Its file.
    pub file: String,
    /// The file is put aside before it grows longer than so many bytes.
    pub rotation_size: u64,
    /// So many files that were put aside are kept.
    pub rotation_count: u64,
}

/// When logins are refused for their failures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lockout {
    /// So many failures in a row lock a user out; None: never.
    pub user_failures: Option<u32>,
    /// So many failures in a row lock an address out; None: never.
    pub address_failures: Option<u32>,
    /// How long.
    pub duration: Duration,
}

/// When a persistent message is confirmed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ConfirmAfter {
    /// When it is on the disk.
    Fsync,
    /// When the operating system has it.
    Write,
}

/// Makes the configuration of checked values, or says why not.
pub(super) fn build(mut values: Values) -> Result<(Config, Vec<Warning>), ConfigError> {
    let mut warnings = values.judge();
    warnings.extend(together::check(&mut values));
    let values = values.accept()?;
    Ok((read(values), warnings))
}

fn audit(values: &Values) -> Option<AuditOptions> {
    let file = values.text("warren.audit.file").filter(|file| *file != "none")?;
    Some(AuditOptions {
        file: file.to_owned(),
        rotation_size: values.required_size("warren.audit.rotation_size"),
        rotation_count: values.integer("warren.audit.rotation_count"),
    })
}

fn lockout(values: &Values) -> Lockout {
    Lockout {
        user_failures: Some(values.integer("warren.lockout.user_failures")).filter(|&count| count > 0),
        address_failures: Some(values.integer("warren.lockout.address_failures")).filter(|&count| count > 0),
        duration: value::parse_duration(values.required("warren.lockout.duration"))
            .expect("a duration, as the schema says"),
    }
}

pub(super) fn read(values: Values) -> Config {
    let duration = |key| value::parse_duration(values.required(key)).expect("a duration, as the schema says");
    let text = |key| values.text(key).map(str::to_owned);
    let frame_len = |key| u32::try_from(values.required_size(key)).expect("the schema's range of frames fits 32 bits");
    Config {
        files: Vec::new(),
        listeners: listeners::listeners(&values, "tcp"),
        tls_listeners: listeners::listeners(&values, "ssl"),
        unix_listeners: listeners::unix_listeners(&values),
        management_listeners: listeners::management_listeners(&values),
        prometheus_listeners: listeners::prometheus_listeners(&values),
        queue_info_listener: listeners::queue_info_listener(&values),
        tls: tls_options(&values, "ssl_options", &tls::SNI),
        ssl_handshake_timeout: duration("ssl_handshake_timeout"),
        proxy_protocol: values.bool("proxy_protocol"),
        proxy_protocol_trusted_senders: networks(&values, &["warren", "proxy_protocol", "trusted_senders"]),
        http_max_connections_per_address: values.unbounded("warren.http.max_connections_per_address"),
        tcp_listen_options: tcp_options(&values),
        handshake_timeout: duration("handshake_timeout"),
        heartbeat: values.integer("heartbeat"),
        frame_max: frame_len("frame_max"),
        initial_frame_max: frame_len("initial_frame_max").min(frame_len("frame_max")),
        channel_max: values.integer("channel_max"),
        connection_max: values.unbounded("connection_max"),
        consumer_max_per_channel: values.unbounded("consumer_max_per_channel"),
        max_message_size: values.required_size("max_message_size"),
        audit: audit(&values),
        lockout: lockout(&values),
        node_name: text("warren.node_name"),
        cluster: cluster::read(&values),
        alerts: alerts::read(&values),
        shovels: shovels::read(&values),
        links: links::read(&values),
        backends: backends::read(&values),
        default_user: default_user(&values),
        vhost_defaults: vhost_defaults::read(&values),
        credential_validator: vhost_defaults::validator(&values),
        loopback_users: loopback_users(&values),
        auth_mechanisms: auth_mechanisms(&values),
        ssl_cert_login_from: certificate_login(&values),
        anonymous_login: anonymous_login(&values),
        vm_memory_high_watermark: match values.size("vm_memory_high_watermark.absolute") {
            Some(bytes) => MemoryWatermark::Absolute(bytes),
            None => {
                MemoryWatermark::Relative(values.float("vm_memory_high_watermark.relative").expect("it has a default"))
            }
        },
        total_memory_available_override_value: values.size("total_memory_available_override_value"),
        disk_free_limit: disk_free_limit(&values),
        log: log(&values),
        product_name: values.required("product.name").to_owned(),
        product_version: text("product.version"),
        cluster_name: text("cluster_name"),
        deprecated_features: DeprecatedFeatures(
            values
                .family(&["deprecated_features", "permit"])
                .map(|(name, is)| (name.to_owned(), is == "true"))
                .collect(),
        ),
        default_queue_type: default_queue_type(&values),
        consumer_timeout: duration("consumer_timeout"),
        permits_quorum_queues_declared_as_classic: values
            .bool("quorum_queue.property_equivalence.relaxed_checks_on_redeclaration"),
        local_random_exchanges: values.bool("exchange_types.local_random.enabled"),
        parameter_limits: parameter_limits(&values),
        returns_every_delayed: values.bool("warren.delayed.strict"),
        answers_definitions_at_once: values.required("warren.definitions.answer_after") == "write",
        statistics: statistics::read(&values),
        management: management::read(&values),
        prometheus: prometheus::read(&values),
        influxdb: influxdb::read(&values),
        trace_files: traces::read(&values),
        otlp: traces::read_otlp(&values),
        load_definitions: text("load_definitions"),
        load_definitions_skip_unsupported: values.bool("management.load_definitions_skip_unsupported"),
        store: StoreOptions {
            data_dir: values.required("warren.data_dir").to_owned(),
            confirm_after: match values.required("warren.confirm_after") {
                "write" => ConfirmAfter::Write,
                _ => ConfirmAfter::Fsync,
            },
            journal_bound: values.required_size("warren.journal.bound"),
            member_journal_bound: member_journal_bound(&values),
            journal_file_len: values.required_size("warren.journal.file_size"),
            chunk_bound: values.required_size("warren.chunks.bound"),
            scrub_interval: Some(duration("warren.scrub.interval")).filter(|interval| !interval.is_zero()),
        },
        flight_recorder: FlightRecorderOptions {
            is_enabled: values.bool("warren.flight_recorder.enabled"),
            slow_request: duration("warren.flight_recorder.slow_request"),
            rotation_count: values.integer("warren.flight_recorder.rotation_count"),
            total_len_max: values.required_size("warren.flight_recorder.total_len_max"),
        },
        live: live::read(&values),
        shutdown_timeout: duration("warren.shutdown_timeout"),
        worker_threads: Some(values.integer("warren.worker_threads")).filter(|&count| count > 0),
        values,
    }
}

/// What another node takes over with clients waiting, it reads first: up to half of it.
fn member_journal_bound(values: &Values) -> u64 {
    let key = "warren.journal.bound";
    let file_len = values.required_size("warren.journal.file_size");
    match values.origin(key) {
        Origin::Default => MEMBER_JOURNAL_BOUND.max(file_len * together::JOURNAL_FILE_COUNT_MIN),
        _ => values.required_size(key),
    }
}

fn tcp_options(values: &Values) -> TcpOptions {
    let buffer = |key| values.size(key).map(|len| u32::try_from(len).expect("the schema's range fits 32 bits"));
    let linger = Duration::from_secs(values.integer::<u64>("tcp_listen_options.linger.timeout"));
    TcpOptions {
        backlog: values.integer("tcp_listen_options.backlog"),
        nodelay: values.bool("tcp_listen_options.nodelay"),
        keepalive: values.bool("tcp_listen_options.keepalive"),
        sndbuf: buffer("tcp_listen_options.sndbuf"),
        recbuf: buffer("tcp_listen_options.recbuf"),
        linger: values.bool("tcp_listen_options.linger.on").then_some(linger),
    }
}

fn parameter_limits(values: &Values) -> BTreeMap<String, usize> {
    let limits = values.family(&["runtime_parameters", "limits"]);
    // The schema has them checked: they are numbers.
    limits.filter_map(|(component, limit)| Some((component.to_owned(), limit.parse().ok()?))).collect()
}

fn default_queue_type(values: &Values) -> QueueType {
    let name = values.required("default_queue_type");
    let named = |queue_type: &QueueType| name == queue_type.name() || name == queue_type.module();
    QueueType::ALL.into_iter().find(named).expect("the schema lists these names alone")
}

fn default_user(values: &Values) -> DefaultUser {
    let [configure, write, read] =
        ["default_permissions.configure", "default_permissions.write", "default_permissions.read"]
            .map(|key| values.required(key));
    DefaultUser {
        name: user_name(values, "default_user"),
        password: values.required("default_pass").to_owned(),
        tags: set_to_true(values, &["default_user_tags"]).collect(),
        vhost: VhostName::parse(values.required("default_vhost").as_bytes()).expect("a name, as the schema says"),
        permission: Permission::parse(configure, write, read).expect("patterns, as the schema says"),
    }
}

fn user_name(values: &Values, key: &str) -> UserName {
    UserName::parse(values.required(key).as_bytes()).expect("a name, as the schema says")
}

fn loopback_users(values: &Values) -> Vec<String> {
    if values.text("loopback_users") == Some("none") {
        return Vec::new();
    }
    set_to_true(values, &["loopback_users"]).map(str::to_owned).collect()
}

fn set_to_true<'a>(values: &'a Values, prefix: &'a [&'a str]) -> impl Iterator<Item = &'a str> {
    values.family(prefix).filter(|(_, is)| *is == "true").map(|(name, _)| name)
}

fn auth_mechanisms(values: &Values) -> Vec<AuthMechanism> {
    let parse = |(_, name)| AuthMechanism::parse(name).expect("a mechanism, as the schema says");
    values.family(&["auth_mechanisms"]).map(parse).collect()
}

fn anonymous_login(values: &Values) -> Option<Login> {
    if values.required("anonymous_login_user") == "none" {
        return None;
    }
    let password = values.required("anonymous_login_pass").to_owned();
    Some(Login { name: user_name(values, "anonymous_login_user"), password })
}

/// The relative limit counts only where the absolute one is not set.
fn disk_free_limit(values: &Values) -> DiskFreeLimit {
    match values.float("disk_free_limit.relative") {
        Some(factor) if values.origin("disk_free_limit.absolute") == Origin::Default => {
            DiskFreeLimit::MemoryRelative(factor)
        }
        _ => DiskFreeLimit::Absolute(values.required_size("disk_free_limit.absolute")),
    }
}

fn log(values: &Values) -> Log {
    let level = |name: &str| LogLevel::parse(name).expect("a level, as the schema says");
    let console = level(values.required("log.console.level"));
    let least = values.text("log.default.level").map_or(console, |name| console.max(level(name)));
    let formatter = match values.required("log.console.formatter") {
        "json" => LogFormatter::Json,
        _ => LogFormatter::Plaintext,
    };
    let is_on = values.bool("log.console") || together::is_log_wanted_elsewhere(values);
    Log { level: if is_on { least } else { LogLevel::None }, formatter }
}

impl LogLevel {
    /// All levels, from the least severe.
    pub const ALL: [LogLevel; 9] = [
        LogLevel::Debug,
        LogLevel::Info,
        LogLevel::Notice,
        LogLevel::Warning,
        LogLevel::Error,
        LogLevel::Critical,
        LogLevel::Alert,
        LogLevel::Emergency,
        LogLevel::None,
    ];

    /// The level of this name.
    #[must_use]
    pub fn parse(name: &str) -> Option<LogLevel> {
        LogLevel::ALL.into_iter().find(|level| level.name() == name)
    }

    /// RabbitMQ's name of the level.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            LogLevel::Debug => "debug",
            LogLevel::Info => "info",
            LogLevel::Notice => "notice",
            LogLevel::Warning => "warning",
            LogLevel::Error => "error",
            LogLevel::Critical => "critical",
            LogLevel::Alert => "alert",
            LogLevel::Emergency => "emergency",
            LogLevel::None => "none",
        }
    }
}

impl fmt::Debug for DefaultUser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let DefaultUser { name, tags, vhost, permission, .. } = self; // the password is not for logs
        f.debug_struct("DefaultUser")
            .field("name", name)
            .field("tags", tags)
            .field("vhost", vhost)
            .field("permission", permission)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Login").field("name", &self.name).finish_non_exhaustive()
    }
}
