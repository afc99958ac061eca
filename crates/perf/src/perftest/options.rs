//! What a command says, with types.

use std::path::PathBuf;
use std::time::Duration;

use super::value::StreamOffset;
use crate::plan::{Arguments, ExitWhen};

/// What a command asks for, apart from help.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// `--id`.
    pub id: Option<String>,
    /// `--time`.
    pub time: Option<Duration>,
    /// `--pmessages`, for each producer channel.
    pub producer_messages: Option<u64>,
    /// `--cmessages`, for each consumer channel.
    pub consumer_messages: Option<u64>,
    /// `--exit-when`.
    pub exit_when: Option<ExitWhen>,
    /// `--shutdown-timeout`.
    pub shutdown_timeout: Duration,
    /// `--interval`.
    pub interval: Duration,
    /// `--warm-up`.
    pub warm_up: Duration,
    /// `--seed`.
    pub seed: Option<u64>,
    /// `--threads`.
    pub threads: Option<usize>,
    /// `--nice`.
    pub nice: Option<i32>,
    /// `--agents`.
    pub agents: Vec<String>,
    /// `--agent-token`.
    pub agent_token: Option<String>,
    /// Where the broker is and how to connect.
    pub connection: ConnectionSettings,
    /// Exchange, queues and bindings.
    pub topology: Topology,
    /// The publishers.
    pub producers: Producers,
    /// The consumers.
    pub consumers: Consumers,
    /// What is written.
    pub output: OutputSettings,
}

/// How to connect.
#[derive(Clone, Debug, PartialEq)]
pub struct ConnectionSettings {
    /// Addresses; never empty. Not looked at yet.
    pub uris: Vec<String>,
    /// Which address a connection gets.
    pub allocation: Allocation,
    /// TLS, for `amqps` addresses.
    pub tls: TlsSettings,
    /// Whether to authenticate with the client certificate.
    pub is_sasl_external: bool,
    /// Heartbeat to ask for; `None`: as the broker likes.
    pub heartbeat: Option<Duration>,
    /// Largest frame to ask for; `None`: as the broker likes.
    pub frame_len_max: Option<u32>,
    /// A lost connection is tried again after a random time between these; `None`: never.
    pub recovery_interval: Option<(Duration, Duration)>,
    /// The sockets' send buffer; `None`: as the system likes.
    pub send_buffer_len: Option<u32>,
    /// The sockets' receive buffer; `None`: as the system likes.
    pub receive_buffer_len: Option<u32>,
    /// Whether small packets are sent at once.
    pub has_no_delay: bool,
    /// How long brokers may take to come up; `None`: they are there, or the run fails.
    pub startup_timeout: Option<Duration>,
    /// How many brokers have to be there before the run starts.
    pub startup_count: usize,
    /// Where passwords come from, instead of the address.
    pub oauth2: Option<Oauth2Settings>,
}

/// Which address a connection gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Allocation {
    /// Any.
    #[default]
    Random,
    /// One after the other.
    RoundRobin,
}

/// TLS of connections.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TlsSettings {
    /// Certificates to trust; `None`: the system's.
    pub ca: Option<PathBuf>,
    /// The client certificate and its key.
    pub identity: Option<(PathBuf, PathBuf)>,
    /// Whether any certificate is trusted.
    pub is_insecure: bool,
    /// The name to ask for; `None`: the host's.
    pub server_name: Option<String>,
}

/// How to get a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Oauth2Settings {
    /// The token endpoint.
    pub token_endpoint: String,
    /// The client's id.
    pub client_id: String,
    /// The client's secret.
    pub client_secret: String,
    /// The grant type.
    pub grant_type: String,
    /// Further parameters.
    pub parameters: Vec<(String, String)>,
}

/// Exchange, queues and bindings.
#[derive(Clone, Debug, PartialEq)]
pub struct Topology {
    /// The exchange's name; empty is the default exchange.
    pub exchange: String,
    /// The exchange's type.
    pub exchange_kind: String,
    /// Which queues there are.
    pub queues: QueueNames,
    /// Routing key of messages and bindings; `None`: the queue's name if queues are taken in turn, else a random one.
    pub routing_key: Option<String>,
    /// Whether queues are left unbound.
    pub skips_bindings: bool,
    /// Whether existing exchanges and queues are used as they are.
    pub is_predeclared: bool,
    /// Whether queues are deleted with their last consumer.
    pub is_auto_delete: bool,
    /// Whether queues belong to their consumer's connection.
    pub is_exclusive: bool,
    /// Arguments of queues, their type among them.
    pub arguments: Arguments,
}

/// Which queues there are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QueueNames {
    /// One for each consumer, named by the broker.
    ServerNamed,
    /// Each consumer takes all of these.
    Fixed(Vec<String>),
    /// Producers and consumers take them in turn.
    InTurn(Vec<String>),
    /// The same, one a line in this file.
    File(PathBuf),
}

/// The publishers.
#[derive(Clone, Debug, PartialEq)]
pub struct Producers {
    /// How many connections.
    pub count: u32,
    /// Channels of each.
    pub channels: u32,
    /// Messages a second, for each channel; `None`: as fast as possible.
    pub rate: Option<f64>,
    /// Rates in rotation; count before `rate`.
    pub variable_rate: Vec<(u32, Duration)>,
    /// Time between two messages of a channel; counts before both.
    pub interval: Option<Duration>,
    /// Size of bodies.
    pub size: u32,
    /// Sizes in rotation; count before `size`.
    pub variable_size: Vec<(u32, Duration)>,
    /// Where bodies come from.
    pub body: BodySource,
    /// Properties, by PerfTest's names, and headers.
    pub properties: Arguments,
    /// Whether messages and queues are durable.
    pub is_persistent: bool,
    /// Whether unroutable messages come back.
    pub is_mandatory: bool,
    /// Whether each message has a routing key of its own.
    pub has_random_keys: bool,
    /// How many random keys are drawn and used in turn; 0 is a new one for each message.
    pub random_key_count: u32,
    /// How many messages may wait for their confirm; `None`: no confirms. 0 is any number.
    pub confirm: Option<u32>,
    /// How long a confirm may take.
    pub confirm_timeout: Option<Duration>,
    /// Messages in a transaction; 0 is no transactions.
    pub tx_size: u32,
    /// Each starts at a random time within this.
    pub start_delay_max: Duration,
}

/// Where bodies come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BodySource {
    /// Sequence number, time, and zeros.
    Stamped,
    /// Files, in turn, with a content type.
    Files(Vec<PathBuf>, Option<String>),
    /// Random JSON documents.
    Json {
        /// How many documents.
        documents: u32,
        /// How many fields to choose from.
        fields: u32,
    },
}

/// The consumers.
#[derive(Clone, Debug, PartialEq)]
pub struct Consumers {
    /// How many connections.
    pub count: u32,
    /// Channels of each.
    pub channels: u32,
    /// Messages a second, for each channel.
    pub rate: Option<f64>,
    /// Deliveries that a consumer may have unacked; 0 is no limit.
    pub prefetch: u16,
    /// Deliveries that a channel may have unacked; 0 is no limit.
    pub channel_prefetch: u16,
    /// Whether there are no acks.
    pub is_auto_ack: bool,
    /// One ack for so many deliveries.
    pub ack_every: u32,
    /// Whether deliveries are nacked.
    pub is_nack: bool,
    /// Whether nacked messages are requeued.
    pub is_requeue: bool,
    /// Acks in a transaction; 0 is no transactions.
    pub tx_size: u32,
    /// How long a message is worked on.
    pub latency: Duration,
    /// Times of work in rotation; count before `latency`.
    pub variable_latency: Vec<(u32, Duration)>,
    /// Time between two `basic.get`; `None`: `basic.consume`.
    pub polling: Option<Duration>,
    /// Arguments of `basic.consume`.
    pub arguments: Arguments,
    /// Where consumers of streams start.
    pub stream_offset: Option<StreamOffset>,
    /// Whether they start one second apart.
    pub is_slow_start: bool,
    /// They start after this.
    pub start_delay: Duration,
}

/// What is written, and where to.
#[derive(Clone, Debug, PartialEq)]
pub struct OutputSettings {
    /// Milliseconds by the wall clock, rather than microseconds by the monotonic one.
    pub uses_millis: bool,
    /// How lines look.
    pub format: Format,
    /// CSV, too.
    pub csv: Option<PathBuf>,
    /// JSON of the results.
    pub json: Option<PathBuf>,
    /// The report.
    pub html: Option<PathBuf>,
    /// InfluxDB's line protocol: a file, or an http:// or https:// URL.
    pub influx: Option<String>,
    /// Whether there is a dashboard on a terminal.
    pub has_dashboard: bool,
    /// Processes of the broker.
    pub broker_pids: Vec<u32>,
    /// The broker's management API.
    pub management_url: Option<String>,
    /// What is served to Prometheus.
    pub metrics: MetricsSettings,
}

/// How lines look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// All in words.
    #[default]
    Default,
    /// A table.
    Compact,
}

/// What is served to Prometheus.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricsSettings {
    /// Whether it is served.
    pub is_served: bool,
    /// Under which path.
    pub path: String,
    /// On which port.
    pub port: u16,
    /// What names begin with.
    pub prefix: String,
    /// Labels of all metrics.
    pub labels: Vec<(String, String)>,
    /// Constant metrics.
    pub constants: Vec<(String, f64)>,
    /// Whether the command line is a metric's label.
    pub has_command_line: bool,
}
