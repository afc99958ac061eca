//! The broker's settings at its start. Where the values come from (files, environment, command line) is the binary's business; the defaults
//! are RabbitMQ's.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use model::arguments::QueueType;
use model::config::{AuthMechanism, CertificateLogin, Config, DefaultUser, Login};
use model::pattern::Pattern;
use model::user::CredentialValidator;
use model::vhost::VhostDefaults;

use crate::backend::AuthStep;
use crate::events::EventSink;
use crate::lockout::LockoutOptions;
use crate::random::{RandomError, fill_random};
use crate::statistics;

/// Options of a broker.
#[derive(Debug, Clone)]
pub struct Options {
    /// When the process began that the broker runs in, and perhaps others did before it: the node's uptime is counted from there.
    pub process_started_at: Instant,
    /// Longest frame that is offered to clients, in bytes.
    pub frame_len_max: u32,
    /// Longest frame before a connection is open, in bytes.
    pub initial_frame_len_max: u32,
    /// Channels that a connection may have; 0 for no limit.
    pub channel_max: u16,
    /// Heartbeat interval that is offered, in seconds; 0 for none.
    pub heartbeat_s: u16,
    /// How long a client may take until its connection is open.
    pub handshake_timeout: Duration,
    /// Open connections at a time.
    pub connection_max: Option<usize>,
    /// Consumers that a channel may have.
    pub consumer_max_per_channel: Option<usize>,
    /// Longest body, in bytes.
    pub message_len_max: u64,
    /// How clients may log in.
    pub mechanisms: Vec<AuthMechanism>,
    /// Which part of its certificate is the name of a client that logs in with `EXTERNAL`.
    pub certificate_login: CertificateLogin,
    /// The login of a client that uses `ANONYMOUS`.
    pub anonymous_login: Option<Login>,
    /// Users that may log in over loopback only.
    pub loopback_users: Vec<String>,
    /// The user, password, vhost and permissions that a new data directory gets.
    pub default_user: DefaultUser,
    /// Whether definitions are imported into the broker as soon as it has started: a new data directory then gets no user and no vhost
    /// but theirs, as in RabbitMQ.
    pub imports_definitions: bool,
    /// What vhosts get when they are made.
    pub vhost_defaults: VhostDefaults,
    /// Which passwords may be set.
    pub credential_validator: CredentialValidator,
    /// Resident memory above which publishers are blocked, in bytes.
    pub memory_limit_len: u64,
    /// Gives memory that is free back to the operating system. An allocator does so only while it is used, and a broker whose
    /// publishers are blocked uses it little: without this the alarm might never end.
    pub release_memory: fn(),
    /// Fills bytes with random numbers: [`crate::fill_random`], but in tests.
    pub fill_random: fn(&mut [u8]) -> Result<(), RandomError>,
    /// Free disk below which publishers are blocked, in bytes.
    pub disk_free_limit_len: u64,
    /// The RabbitMQ version that clients may take this for.
    pub compatible_version: String,
    /// What the server properties `product` and `product_name` say.
    pub product: String,
    /// What the server property `product_version` says.
    pub product_version: String,
    /// The cluster's name.
    pub cluster_name: String,
    /// The node's name.
    pub node: String,
    /// The authorities on users, in the order in which they are asked. Not empty.
    pub auth_steps: Vec<AuthStep>,
    /// When logins are refused for their failures.
    pub lockout: LockoutOptions,
    /// Where events go besides the exchange for them.
    pub event_sink: Option<Arc<dyn EventSink>>,
    /// What is remembered of what has been counted.
    pub statistics: statistics::Options,
    /// Whether `basic.qos` with `global` is allowed.
    pub permits_global_qos: bool,
    /// Whether local random exchanges may be declared.
    pub permits_local_random_exchanges: bool,
    /// How many parameters of vhosts there may be of a component, in all vhosts together.
    pub parameter_limits: BTreeMap<String, usize>,
    /// Whether every delayed message that is mandatory is returned to its publisher, as by RabbitMQ's plugin, and not only one that
    /// no queue would take now.
    pub returns_every_delayed: bool,
    /// Names of queues that are watched from the moment on that they are there, as long as no more are than may be.
    pub watched_queues: Option<Pattern>,
    /// Whether a declaration or a binding is answered at once, and durable with the next confirm. Not in a group.
    pub answers_definitions_at_once: bool,
    /// Whether queues may be declared that are neither durable nor exclusive.
    pub permits_transient_nonexclusive_queues: bool,
    /// The type of queues that are declared without one, in vhosts that have no default of their own.
    pub default_queue_type: QueueType,
    /// How long a consumer of a quorum queue may hold a message, unless something else is set for it.
    pub consumer_timeout: Duration,
    /// Whether a client that declares an existing quorum queue as a classic one may go on.
    pub permits_quorum_queues_declared_as_classic: bool,
}

impl Default for Options {
    fn default() -> Self {
        let defaults = Config::default();
        Self {
            process_started_at: Instant::now(),
            frame_len_max: 131_072,
            initial_frame_len_max: 8192,
            channel_max: 2047,
            heartbeat_s: 60,
            handshake_timeout: Duration::from_secs(10),
            connection_max: None,
            consumer_max_per_channel: None,
            message_len_max: 16 << 20,
            mechanisms: defaults.auth_mechanisms,
            certificate_login: defaults.ssl_cert_login_from,
            anonymous_login: defaults.anonymous_login,
            loopback_users: vec!["guest".into()],
            default_user: defaults.default_user,
            imports_definitions: false,
            vhost_defaults: defaults.vhost_defaults,
            credential_validator: defaults.credential_validator,
            memory_limit_len: u64::MAX,
            release_memory: || (),
            fill_random,
            disk_free_limit_len: 50_000_000,
            compatible_version: "4.3.0".into(),
            product: "Warren".into(),
            product_version: env!("CARGO_PKG_VERSION").into(),
            cluster_name: "warren".into(),
            node: "warren@localhost".into(),
            auth_steps: vec![AuthStep::internal()],
            lockout: LockoutOptions::default(),
            event_sink: None,
            statistics: statistics::Options::default(),
            permits_global_qos: true,
            permits_local_random_exchanges: true,
            parameter_limits: BTreeMap::new(),
            returns_every_delayed: false,
            answers_definitions_at_once: false,
            watched_queues: None,
            permits_transient_nonexclusive_queues: true,
            default_queue_type: defaults.default_queue_type,
            consumer_timeout: defaults.consumer_timeout,
            permits_quorum_queues_declared_as_classic: false,
        }
    }
}
