//! What one run does, resolved: names are spelled out, rates are laid out in time, nothing is left to look up.
//!
//! Both front ends, PerfTest's command line and workload files, end in a [`Plan`]; the engine sees nothing else. Whether
//! the values fit together is checked where they are made: a plan is taken at its word.

mod distribution;
mod due;
mod random;
mod schedule;
mod script;

use std::fmt;
use std::time::Duration;

pub use distribution::Distribution;
pub use due::{Due, Next, RATE_MAX};
pub use random::Random;
pub use schedule::{Rate, Schedule, Segment};
pub use script::{Expectation as StepExpectation, Script, Step, Template, Throttle};

/// What one run does.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// The run's name: PerfTest's `--id`, or the workload's name and the values of its sweep.
    pub name: String,
    /// Makes everything random repeatable.
    pub seed: u64,
    /// Named stretches of time, in order. Schedules are laid out over them; here they are only marks for reports.
    pub phases: Vec<Phase>,
    /// How long publishers and consumers run; `None` is until they are done or the user interrupts.
    pub duration: Option<Duration>,
    /// What happens before this has passed is shown, but is not part of the summary.
    pub warm_up: Duration,
    /// How long, at the end, consumers may go on taking what has been published, once publishers have stopped.
    pub drain: Duration,
    /// Time between two samples.
    pub interval: Duration,
    /// Ends the run early.
    pub exit_when: Option<ExitWhen>,
    /// Declared first.
    pub exchanges: Vec<Exchange>,
    /// Declared and bound next.
    pub queues: Vec<Queues>,
    /// The publishers.
    pub publishers: Vec<Publishers>,
    /// The consumers.
    pub consumers: Vec<Consumers>,
    /// Connections that do nothing.
    pub idle_connections: u32,
    /// Things that are made and removed.
    pub churns: Vec<Churn>,
    /// URLs of the broker's management API that are asked for regularly, and how long the answer takes.
    pub probes: Vec<Probe>,
    /// Simulated users.
    pub users: Vec<Users>,
    /// What is to be true at the end; each becomes a verdict.
    pub expectations: Vec<Expectation>,
}

impl Plan {
    /// How many publishers there are: one a channel.
    pub(crate) fn publisher_count(&self) -> u32 {
        self.publishers.iter().map(|group| group.connections * group.channels).sum()
    }
}

/// A named stretch of time.
#[derive(Clone, Debug, PartialEq)]
pub struct Phase {
    /// As shown in reports.
    pub name: String,
    /// How long it is.
    pub duration: Duration,
}

/// What ends a run early (PerfTest's `--exit-when`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitWhen {
    /// Nor has a queue of the run any ready, after no consumer got a message for a second.
    Empty,
    /// No consumer got a message for a second.
    Idle,
}

/// A value of an argument or a header.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Sent as `t`.
    Bool(bool),
    /// Sent as `I` if it fits, else as `l`.
    Int(i64),
    /// Sent as `d`.
    Float(f64),
    /// Sent as `S`.
    Text(String),
    /// Sent as `A`.
    List(Vec<Value>),
    /// Seconds since 1970; sent as `T`.
    Timestamp(u64),
    /// Sent as `F`.
    Table(Vec<(String, Value)>),
}

/// Arguments of a declaration, or headers, in their order.
pub type Arguments = Vec<(String, Value)>;

/// An exchange to declare. The default exchange and those that exist already are not listed.
#[derive(Clone, Debug, PartialEq)]
pub struct Exchange {
    /// Its name.
    pub name: String,
    /// `direct`, `fanout`, `topic`, `headers`, or a plugin's.
    pub kind: String,
    /// Whether it lives through a restart.
    pub durable: bool,
    /// Whether it is deleted with its last binding.
    pub auto_delete: bool,
    /// Optional arguments.
    pub arguments: Arguments,
    /// Whether to only check that it is there.
    pub passive: bool,
    /// Whether one that is there already is taken as it is, whatever it is; it is declared only if it is missing
    /// (PerfTest's `--predeclared`).
    pub keep_existing: bool,
}

/// Queues that are declared alike.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Queues {
    /// Their names, in the order in which publishers and consumers are spread over them. An empty name is given by the
    /// broker, to the consumer that declares the queue.
    pub names: Vec<String>,
    /// Whether they live through a restart.
    pub durable: bool,
    /// Whether they belong to the connection that declares them: its consumer's.
    pub exclusive: bool,
    /// Whether they are deleted with their last consumer.
    pub auto_delete: bool,
    /// Optional arguments, `x-queue-type` among them.
    pub arguments: Arguments,
    /// Whether to only check that they are there.
    pub passive: bool,
    /// Whether those that are there already are taken as they are, whatever they are; only those that are missing are
    /// declared (PerfTest's `--predeclared`). Either way they are bound.
    pub keep_existing: bool,
    /// How each is bound.
    pub bindings: Vec<Binding>,
    /// Whether the run deletes them when it ends, and purges what was there when it starts.
    pub is_temporary: bool,
}

/// A binding of each queue of a set.
#[derive(Clone, Debug, PartialEq)]
pub struct Binding {
    /// The exchange's name.
    pub exchange: String,
    /// Routing keys.
    pub keys: BindingKeys,
    /// Optional arguments.
    pub arguments: Arguments,
}

/// With which keys a set of queues is bound.
#[derive(Clone, Debug, PartialEq)]
pub enum BindingKeys {
    /// Each queue by its own name.
    QueueName,
    /// Each queue with all of these.
    All(Vec<String>),
    /// Each key once: key `i` binds queue `i` modulo the number of queues.
    Spread(Vec<String>),
}

/// Publishers that do the same.
#[derive(Clone, Debug, PartialEq)]
pub struct Publishers {
    /// As shown in reports.
    pub name: String,
    /// How many connections they have.
    pub connections: u32,
    /// How many channels each connection has. Each channel is one publisher, with its own schedule and sequence.
    pub channels: u32,
    /// Where they publish to; empty is the default exchange.
    pub exchange: String,
    /// With which keys.
    pub routing: Routing,
    /// What the bodies are.
    pub body: Body,
    /// Properties of every message.
    pub properties: Properties,
    /// Whether the broker is to return what it cannot route.
    pub mandatory: bool,
    /// At most this many messages wait for their confirm, for each publisher. `None`: no confirms.
    pub confirm_window: Option<u32>,
    /// How long a confirm may take before the run fails. `None`: as long as it likes.
    pub confirm_timeout: Option<Duration>,
    /// Commit after so many messages; 0 is no transactions.
    pub tx_size: u32,
    /// When messages are due, for each publisher.
    pub schedule: Schedule,
    /// What a publisher waits after each message, in seconds; on top of the schedule, which does not stretch for it.
    pub think_time: Option<Distribution>,
    /// Stop after so many messages, for each publisher.
    pub message_limit: Option<u64>,
    /// Each starts at a random time within this.
    pub start_delay_max: Duration,
    /// A new connection after so many messages (open, publish, wait for confirms, close); `None`: one for the whole run.
    pub messages_per_connection: Option<u32>,
    /// A new channel after so many messages.
    pub messages_per_channel: Option<u32>,
}

/// Which routing key a message gets.
#[derive(Clone, Debug, PartialEq)]
pub enum Routing {
    /// Publisher `i` always uses key `i` modulo the number of keys.
    PerPublisher(Vec<String>),
    /// Each publisher uses the keys in turn, beginning at another one.
    InTurn(Vec<String>),
    /// Any of the keys, for each message.
    Random(Vec<String>),
    /// A new random key for each message (PerfTest's `--random-routing-key`).
    Fresh,
}

/// What the bodies are.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// Sequence number and time in the first 12 bytes, as PerfTest has them, and zeros up to the size.
    Stamped(Sizes),
    /// These, in turn, as they are. The time is put into the header `timestamp`, as PerfTest does.
    Given(Vec<Vec<u8>>),
}

/// How long bodies are, in bytes. Shorter than 12 becomes 12.
#[derive(Clone, Debug, PartialEq)]
pub enum Sizes {
    /// Drawn for each message.
    Drawn(Distribution),
    /// One size for each stretch of time, over and over (PerfTest's `--variable-size`).
    Cycle(Vec<(u32, Duration)>),
}

/// Properties of a message.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Properties {
    /// `content-type`.
    pub content_type: Option<String>,
    /// `content-encoding`.
    pub content_encoding: Option<String>,
    /// Whether `delivery-mode` is 2.
    pub persistent: bool,
    /// `priority`, drawn for each message.
    pub priority: Option<Distribution>,
    /// `correlation-id`.
    pub correlation_id: Option<String>,
    /// `reply-to`.
    pub reply_to: Option<String>,
    /// `expiration`, in milliseconds, as text.
    pub expiration: Option<String>,
    /// `message-id`.
    pub message_id: Option<String>,
    /// `timestamp`, in seconds.
    pub timestamp: Option<u64>,
    /// `type`.
    pub kind: Option<String>,
    /// `user-id`.
    pub user_id: Option<String>,
    /// `app-id`.
    pub app_id: Option<String>,
    /// `cluster-id`. The generator uses it to identify publishers; setting it switches that off.
    pub cluster_id: Option<String>,
    /// `headers`.
    pub headers: Arguments,
}

/// Consumers that do the same.
#[derive(Clone, Debug, PartialEq)]
pub struct Consumers {
    /// As shown in reports.
    pub name: String,
    /// How many connections they have.
    pub connections: u32,
    /// How many channels each connection has. Each channel is one consumer.
    pub channels: u32,
    /// What they consume.
    pub queues: ConsumedQueues,
    /// `basic.qos` for each consumer; 0 is unlimited, and is not sent.
    pub prefetch: u16,
    /// `basic.qos` for each channel; 0 is unlimited, and is not sent.
    pub channel_prefetch: u16,
    /// How deliveries are settled.
    pub settle: Settle,
    /// Commit after so many acks; 0 is no transactions.
    pub tx_size: u32,
    /// At most so many messages a second, for each consumer.
    pub rate: Option<f64>,
    /// How long a consumer works on a message, one after the other.
    pub processing: Processing,
    /// Stop after so many messages, for each consumer.
    pub message_limit: Option<u64>,
    /// Ask with `basic.get`, waiting this long after an empty answer or between two gets; `None`: `basic.consume`.
    pub polling: Option<Duration>,
    /// Arguments of `basic.consume`.
    pub arguments: Arguments,
    /// Whether no other connection may consume from the queue.
    pub exclusive: bool,
    /// They start after this.
    pub start_delay: Duration,
    /// Each starts this long after the one before it (PerfTest's `--slow-start`).
    pub start_gap: Duration,
    /// When they do not consume: from and to, since the start. Deliveries that are there already are held.
    pub pauses: Vec<(Duration, Duration)>,
}

/// What a consumer consumes.
#[derive(Clone, Debug, PartialEq)]
pub enum ConsumedQueues {
    /// Each consumer all of these.
    All(Vec<String>),
    /// Consumer `i` the queue `i` modulo the number of queues.
    Spread(Vec<String>),
}

/// How deliveries are settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settle {
    /// The broker takes them for settled when they are sent (`no-ack`).
    AutoAck,
    /// `basic.ack` for every so many deliveries, `multiple` if more than one.
    AckEvery(u32),
    /// `basic.nack` for every so many deliveries.
    NackEvery {
        /// How many at a time.
        count: u32,
        /// Whether they are requeued.
        requeue: bool,
    },
}

/// How long a consumer works on a message, in seconds.
#[derive(Clone, Debug, PartialEq)]
pub enum Processing {
    /// Not at all.
    None,
    /// Drawn for each message.
    Drawn(Distribution),
    /// One time for each stretch of time, over and over (PerfTest's `--variable-latency`).
    Cycle(Vec<(Duration, Duration)>),
}

/// Things that are made and removed again, over and over.
#[derive(Clone, Debug, PartialEq)]
pub struct Churn {
    /// As shown in reports.
    pub name: String,
    /// What is opened and closed, or made and removed.
    pub kind: ChurnKind,
    /// How many do this at the same time.
    pub workers: u32,
    /// How often a second, all of them together; `None`: as fast as possible.
    pub rate: Option<f64>,
    /// How long each thing lives, in seconds.
    pub lifetime: Distribution,
}

/// What is opened and closed, or made and removed.
#[derive(Clone, Debug, PartialEq)]
pub enum ChurnKind {
    /// Connections, each opened and closed.
    Connections,
    /// Channels of one connection a worker.
    Channels,
    /// Queues, declared and deleted.
    Queues {
        /// Whether they are durable.
        durable: bool,
        /// Optional arguments.
        arguments: Arguments,
    },
    /// Bindings of one queue a worker.
    Bindings {
        /// The exchange's name.
        exchange: String,
    },
}

/// A URL that is asked for regularly.
#[derive(Clone, Debug, PartialEq)]
pub struct Probe {
    /// As shown in reports.
    pub name: String,
    /// Path and query below the management URL.
    pub path: String,
    /// Time from one request to the next. A late answer delays none: those that are due wait for it, and that counts.
    pub every: Duration,
    /// How many tasks ask for it, each on its own.
    pub count: u32,
    /// The user to ask as, if not the management URL's.
    pub user: Option<ProbeUser>,
}

/// A user of the management API.
#[derive(Clone, PartialEq, Eq)]
pub struct ProbeUser {
    /// Its name.
    pub name: String,
    /// Its password.
    pub password: String,
}

impl fmt::Debug for ProbeUser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProbeUser").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Simulated users with the same script.
#[derive(Clone, Debug, PartialEq)]
pub struct Users {
    /// As shown in reports.
    pub name: String,
    /// How many there are.
    pub count: u32,
    /// How many arrive a second.
    pub arrival_rate: f64,
    /// What each does.
    pub script: Script,
    /// Whether a user who is done starts again, until the run ends.
    pub repeat: bool,
    /// How long the broker may take to answer a request, or to confirm what a step has published.
    pub answer_timeout: Duration,
}

/// Something that is to be true at the end.
#[derive(Clone, Debug, PartialEq)]
pub struct Expectation {
    /// What is measured.
    pub metric: Metric,
    /// Its limit.
    pub bound: Bound,
}

/// A limit of a measured value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// At most this.
    AtMost(f64),
    /// At least this.
    AtLeast(f64),
}

/// What an expectation is about. Latencies in milliseconds, from the intended time.
#[derive(Clone, Debug, PartialEq)]
pub enum Metric {
    /// A quantile (0 to 1) of the consumer latency; 1 is the maximum.
    ConsumerLatencyMs(f64),
    /// A quantile of the confirm latency.
    ConfirmLatencyMs(f64),
    /// A quantile of the time that a probe's answer takes.
    ProbeLatencyMs(String, f64),
    /// Messages published a second.
    PublishRate,
    /// Messages consumed a second.
    ConsumeRate,
    /// Messages that were confirmed (or published, without confirms), and never consumed.
    Lost,
    /// Messages that came again without being marked redelivered.
    Duplicates,
    /// Messages that came after a later one of the same publisher in the same queue.
    OutOfOrder,
    /// The broker's memory, at most, in MiB.
    BrokerMemoryMib,
    /// Steps of users' scripts that failed.
    FailedSteps,
}
