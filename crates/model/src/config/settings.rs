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
use super::schema as keys;
use super::shovels::{self, ShovelOptions};
use super::statistics::{self, StatisticsOptions};
use super::tls::{self, TlsOptions, tls_options};
use super::together;
use super::traces::{self, OtlpOptions, TraceFileOptions};
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
    /// The login that ANONYMOUS stands for.
    pub anonymous_login: Option<Login>,

    /// When publishers are stopped for memory.
    pub vm_memory_high_watermark: MemoryWatermark,
    /// The memory that there is, if it is not to be asked of the system.
    pub total_memory_available_override_value: Option<u64>,
    /// When publishers are stopped for disk.
    pub disk_free_limit: DiskFreeLimit,

    /// What is logged.
    pub log: Log,
    /// The product's name that clients get.
    pub product_name: String,
    /// The product's version that clients get; None: the program's own.
    pub product_version: Option<String>,
    /// The cluster's name that clients get; None: made from the host's name.
    pub cluster_name: Option<String>,
    /// What RabbitMQ phases out.
    pub deprecated_features: DeprecatedFeatures,
    /// The type of queues that are declared without one, in vhosts that have no default of their own.
    pub default_queue_type: QueueType,
    /// How long a consumer of a quorum queue may hold a message, unless the queue or the consumer says otherwise.
    pub consumer_timeout: Duration,
    /// Whether a client may declare an existing quorum queue as a classic one.
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
    /// The back ends that know users.
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
    /// The audit log, of who did what; None: there is none.
    pub audit: Option<AuditOptions>,
    /// When logins are refused for their failures.
    pub lockout: Lockout,
    /// How long a stop waits for clients to disconnect.
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
    /// For the search for an error.
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
    let file = values.find(&keys::warren::AUDIT_FILE).filter(|file| file != "none")?;
    Some(AuditOptions {
        file,
        rotation_size: values.get(&keys::warren::AUDIT_ROTATION_SIZE),
        rotation_count: values.get(&keys::warren::AUDIT_ROTATION_COUNT),
    })
}

fn lockout(values: &Values) -> Lockout {
    Lockout {
        user_failures: Some(values.get(&keys::warren::LOCKOUT_USER_FAILURES)).filter(|&count| count > 0),
        address_failures: Some(values.get(&keys::warren::LOCKOUT_ADDRESS_FAILURES)).filter(|&count| count > 0),
        duration: values.get(&keys::warren::LOCKOUT_DURATION),
    }
}

pub(super) fn read(values: Values) -> Config {
    Config {
        files: Vec::new(),
        listeners: listeners::listeners(&values, "tcp"),
        tls_listeners: listeners::listeners(&values, "ssl"),
        unix_listeners: listeners::unix_listeners(&values),
        management_listeners: listeners::management_listeners(&values),
        prometheus_listeners: listeners::prometheus_listeners(&values),
        queue_info_listener: listeners::queue_info_listener(&values),
        tls: tls_options(&values, "ssl_options", &tls::SNI),
        ssl_handshake_timeout: values.get(&keys::tls::HANDSHAKE_TIMEOUT),
        proxy_protocol: values.get(&keys::connections::PROXY_PROTOCOL),
        proxy_protocol_trusted_senders: networks(&values, &["warren", "proxy_protocol", "trusted_senders"]),
        http_max_connections_per_address: values.get(&keys::management_listeners::MAX_CONNECTIONS_PER_ADDRESS),
        tcp_listen_options: tcp_options(&values),
        handshake_timeout: values.get(&keys::connections::HANDSHAKE_TIMEOUT),
        heartbeat: values.get(&keys::connections::HEARTBEAT),
        frame_max: values.get(&keys::connections::FRAME_MAX),
        initial_frame_max: values
            .get(&keys::connections::INITIAL_FRAME_MAX)
            .min(values.get(&keys::connections::FRAME_MAX)),
        channel_max: values.get(&keys::connections::CHANNEL_MAX),
        connection_max: values.get(&keys::connections::CONNECTION_MAX),
        consumer_max_per_channel: values.get(&keys::connections::CONSUMER_MAX_PER_CHANNEL),
        max_message_size: values.get(&keys::connections::MAX_MESSAGE_SIZE),
        audit: audit(&values),
        lockout: lockout(&values),
        node_name: values.find(&keys::warren::NODE_NAME),
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
        vm_memory_high_watermark: match values.find(&keys::resources::MEMORY_WATERMARK_ABSOLUTE) {
            Some(bytes) => MemoryWatermark::Absolute(bytes),
            None => MemoryWatermark::Relative(values.get(&keys::resources::MEMORY_WATERMARK_RELATIVE)),
        },
        total_memory_available_override_value: values.find(&keys::resources::TOTAL_MEMORY_AVAILABLE),
        disk_free_limit: disk_free_limit(&values),
        log: log(&values),
        product_name: values.get(&keys::logging::PRODUCT_NAME),
        product_version: values.find(&keys::logging::PRODUCT_VERSION),
        cluster_name: values.find(&keys::logging::CLUSTER_NAME),
        deprecated_features: DeprecatedFeatures(
            values
                .family(&["deprecated_features", "permit"])
                .map(|(name, is)| (name.to_owned(), is == "true"))
                .collect(),
        ),
        default_queue_type: default_queue_type(&values),
        consumer_timeout: values.get(&keys::queues::CONSUMER_TIMEOUT),
        permits_quorum_queues_declared_as_classic: values.get(&keys::queues::RELAXED_CHECKS_ON_REDECLARATION),
        local_random_exchanges: values.get(&keys::queues::LOCAL_RANDOM_ENABLED),
        parameter_limits: parameter_limits(&values),
        returns_every_delayed: values.get(&keys::warren::DELAYED_STRICT),
        answers_definitions_at_once: values.get(&keys::warren::DEFINITIONS_ANSWER_AFTER) == "write",
        statistics: statistics::read(&values),
        management: management::read(&values),
        prometheus: prometheus::read(&values),
        influxdb: influxdb::read(&values),
        trace_files: traces::read(&values),
        otlp: traces::read_otlp(&values),
        load_definitions: values.find(&keys::queues::LOAD_DEFINITIONS),
        load_definitions_skip_unsupported: values.get(&keys::management::LOAD_DEFINITIONS_SKIP_UNSUPPORTED),
        store: StoreOptions {
            data_dir: values.get(&keys::warren::DATA_DIR),
            confirm_after: match &*values.get(&keys::warren::CONFIRM_AFTER) {
                "write" => ConfirmAfter::Write,
                _ => ConfirmAfter::Fsync,
            },
            journal_bound: values.get(&keys::warren::JOURNAL_BOUND),
            member_journal_bound: member_journal_bound(&values),
            journal_file_len: values.get(&keys::warren::JOURNAL_FILE_SIZE),
            chunk_bound: values.get(&keys::warren::CHUNKS_BOUND),
            scrub_interval: Some(values.get(&keys::warren::SCRUB_INTERVAL)).filter(|interval| !interval.is_zero()),
        },
        flight_recorder: FlightRecorderOptions {
            is_enabled: values.get(&keys::warren::FLIGHT_RECORDER_ENABLED),
            slow_request: values.get(&keys::warren::FLIGHT_RECORDER_SLOW_REQUEST),
            rotation_count: values.get(&keys::warren::FLIGHT_RECORDER_ROTATION_COUNT),
            total_len_max: values.get(&keys::warren::FLIGHT_RECORDER_TOTAL_LEN_MAX),
        },
        live: live::read(&values),
        shutdown_timeout: values.get(&keys::warren::SHUTDOWN_TIMEOUT),
        worker_threads: Some(values.get(&keys::warren::WORKER_THREADS)).filter(|&count| count > 0),
        values,
    }
}

/// What another node takes over with clients waiting, it reads first: up to half of it.
fn member_journal_bound(values: &Values) -> u64 {
    match values.origin(keys::warren::JOURNAL_BOUND.name()) {
        Origin::Default => {
            let file_len = values.get(&keys::warren::JOURNAL_FILE_SIZE);
            MEMBER_JOURNAL_BOUND.max(file_len * together::JOURNAL_FILE_COUNT_MIN)
        }
        _ => values.get(&keys::warren::JOURNAL_BOUND),
    }
}

fn tcp_options(values: &Values) -> TcpOptions {
    let linger = Duration::from_secs(values.get(&keys::connections::TCP_LINGER_TIMEOUT));
    TcpOptions {
        backlog: values.get(&keys::connections::TCP_BACKLOG),
        nodelay: values.get(&keys::connections::TCP_NODELAY),
        keepalive: values.get(&keys::connections::TCP_KEEPALIVE),
        sndbuf: values.find(&keys::connections::TCP_SNDBUF),
        recbuf: values.find(&keys::connections::TCP_RECBUF),
        linger: values.get(&keys::connections::TCP_LINGER_ON).then_some(linger),
    }
}

fn parameter_limits(values: &Values) -> BTreeMap<String, usize> {
    let limits = values.family(&["runtime_parameters", "limits"]);
    // The schema has them checked: they are numbers.
    limits.filter_map(|(component, limit)| Some((component.to_owned(), limit.parse().ok()?))).collect()
}

fn default_queue_type(values: &Values) -> QueueType {
    let name = values.get(&keys::queues::DEFAULT_QUEUE_TYPE);
    let named = |queue_type: &QueueType| name == queue_type.name() || name == queue_type.module();
    QueueType::ALL.into_iter().find(named).expect("the schema lists these names alone")
}

fn default_user(values: &Values) -> DefaultUser {
    DefaultUser {
        name: values.get(&keys::access::DEFAULT_USER),
        password: values.get(&keys::access::DEFAULT_PASS),
        tags: set_to_true(values, &["default_user_tags"]).collect(),
        vhost: values.get(&keys::access::DEFAULT_VHOST),
        permission: Permission {
            configure: values.get(&keys::access::DEFAULT_PERMISSIONS_CONFIGURE),
            write: values.get(&keys::access::DEFAULT_PERMISSIONS_WRITE),
            read: values.get(&keys::access::DEFAULT_PERMISSIONS_READ),
        },
    }
}

fn loopback_users(values: &Values) -> Vec<String> {
    if values.find(&keys::access::LOOPBACK_USERS).is_some() {
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
    let name = values.get(&keys::access::ANONYMOUS_LOGIN_USER);
    (name.as_str() != "none").then(|| Login { name, password: values.get(&keys::access::ANONYMOUS_LOGIN_PASS) })
}

/// The relative limit counts only where the absolute one is not set.
fn disk_free_limit(values: &Values) -> DiskFreeLimit {
    match values.find(&keys::resources::DISK_FREE_LIMIT_RELATIVE) {
        Some(factor) if values.origin(keys::resources::DISK_FREE_LIMIT_ABSOLUTE.name()) == Origin::Default => {
            DiskFreeLimit::MemoryRelative(factor)
        }
        _ => DiskFreeLimit::Absolute(values.get(&keys::resources::DISK_FREE_LIMIT_ABSOLUTE)),
    }
}

fn log(values: &Values) -> Log {
    let level = |name: &str| LogLevel::parse(name).expect("a level, as the schema says");
    let console = level(&values.get(&keys::logging::LOG_CONSOLE_LEVEL));
    let least = values.find(&keys::logging::LOG_DEFAULT_LEVEL).map_or(console, |name| console.max(level(&name)));
    let formatter = match &*values.get(&keys::logging::LOG_CONSOLE_FORMATTER) {
        "json" => LogFormatter::Json,
        _ => LogFormatter::Plaintext,
    };
    let is_on = values.get(&keys::logging::LOG_CONSOLE) || together::is_log_wanted_elsewhere(values);
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
