//! Every option, once: the parser, the usage texts, the environment and `docs/perf-options.md` are all made from here.
//!
//! The names and defaults are those of PerfTest 2.22.1, with a few that older or newer versions have.

/// What an option is for; the sections of the documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// Says something and ends.
    Information,
    /// How long it runs.
    Run,
    /// Where the broker is, and how to connect.
    Connection,
    /// Exchanges, queues, bindings.
    Topology,
    /// Publishers and their messages.
    Publishing,
    /// Consumers.
    Consuming,
    /// What is shown while it runs.
    Output,
    /// Metrics: what `--metrics-help` shows.
    Metrics,
    /// Several instances at once.
    Instances,
    /// What PerfTest does not have.
    Ours,
}

/// What may follow an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// Nothing.
    Nothing,
    /// One value. If the option is given several times, the first one counts, as in PerfTest.
    One,
    /// One value or none.
    Perhaps,
    /// One value or more, and the option may be repeated.
    Many,
}

/// What becomes of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Treatment {
    /// It does what it does in PerfTest, or what the help says.
    Effective,
    /// It is accepted, and changes nothing. The reason, as the end of a sentence.
    NoEffect(&'static str),
}

/// One option.
#[derive(Clone, Copy, Debug)]
pub struct OptionEntry {
    /// Behind one dash; empty if there is none.
    pub short: &'static str,
    /// Behind two dashes; also its environment variable, in capitals.
    pub long: &'static str,
    /// What may follow.
    pub takes: Takes,
    /// Its value if it is not given; empty if that is nothing worth saying.
    pub default: &'static str,
    /// What it is for.
    pub help: &'static str,
    /// What becomes of it.
    pub treatment: Treatment,
    /// Where it belongs.
    pub group: Group,
}

impl OptionEntry {
    /// Its environment variable, without a prefix.
    #[must_use]
    pub fn variable(&self) -> String {
        self.long.replace('-', "_").to_ascii_uppercase()
    }

    /// As it is written in messages: `--size`.
    #[must_use]
    pub fn name(&self) -> String {
        format!("--{}", self.long)
    }
}

use Group::{Connection, Consuming, Information, Instances, Metrics, Ours, Output, Publishing, Run, Topology};
use Takes::{Many, Nothing, One, Perhaps};

const fn entry(
    group: Group,
    short: &'static str,
    long: &'static str,
    takes: Takes,
    default: &'static str,
    help: &'static str,
) -> OptionEntry {
    OptionEntry { short, long, takes, default, help, treatment: Treatment::Effective, group }
}

const fn no_effect(
    group: Group,
    short: &'static str,
    long: &'static str,
    takes: Takes,
    help: &'static str,
    reason: &'static str,
) -> OptionEntry {
    OptionEntry { short, long, takes, default: "", help, treatment: Treatment::NoEffect(reason), group }
}

const NO_THREADS: &str = "all connections share a few threads, see --threads";
const NO_JVM: &str = "Warren has no JVM";
const NO_DATADOG: &str =
    "Datadog is not supported; its agent can read --metrics-prometheus, and --influx has the same numbers";
const NO_SYNC: &str = "instances do not find each other over Kubernetes; see --agents";
const NO_NETTY: &str = "Warren does not use Netty";

/// All of them.
pub static OPTIONS: &[OptionEntry] = &[
    entry(Information, "?", "help", Nothing, "", "show the options"),
    entry(Information, "v", "version", Nothing, "", "show the version"),
    entry(Information, "mh", "metrics-help", Nothing, "", "show the options for metrics"),
    entry(Information, "env", "environment-variables", Nothing, "", "show the options as environment variables"),
    entry(Run, "d", "id", One, "test- and the time", "name of the run, at the beginning of each line"),
    entry(Run, "z", "time", One, "no limit", "end after this many seconds"),
    entry(
        Run,
        "C",
        "pmessages",
        One,
        "0, no limit",
        "each producer channel stops after this many messages; the run ends when all have",
    ),
    entry(
        Run,
        "D",
        "cmessages",
        One,
        "0, no limit",
        "each consumer channel stops after this many messages; the run ends when all have",
    ),
    entry(
        Run,
        "ew",
        "exit-when",
        One,
        "",
        "end when the queues are empty (`empty`), or when consumers have received nothing for a second (`idle`)",
    ),
    entry(
        Run,
        "st",
        "shutdown-timeout",
        One,
        "5",
        "how many seconds consumers may take at the end to receive the remaining messages",
    ),
    entry(Run, "i", "interval", One, "1", "seconds between two lines of output"),
    entry(
        Connection,
        "h",
        "uri",
        One,
        "amqp://localhost",
        "the broker's URL: amqp:// or amqps://, user, password, host, port, virtual host",
    ),
    entry(Connection, "H", "uris", One, "", "several URLs, separated by commas; instead of --uri"),
    entry(
        Connection,
        "cal",
        "connection-allocation",
        One,
        "random",
        "which of --uris a connection gets: `random` or `round-robin` (PerfTest after 2.22)",
    ),
    entry(Connection, "M", "framemax", One, "0, no limit", "the maximum frame size to negotiate, in bytes"),
    entry(
        Connection,
        "b",
        "heartbeat",
        One,
        "0, the broker's interval",
        "the heartbeat interval to negotiate, in seconds",
    ),
    entry(
        Connection,
        "se",
        "sasl-external",
        Nothing,
        "false",
        "authenticate with the client certificate (SASL EXTERNAL)",
    ),
    entry(
        Connection,
        "sni",
        "server-name-indication",
        One,
        "the host's name",
        "server name for TLS; of several, separated by commas, the first is sent",
    ),
    no_effect(
        Connection,
        "udsc",
        "use-default-ssl-context",
        Nothing,
        "use the JVM's TLS settings",
        "Warren has no JVM; certificates are always checked, see --tls-ca and --tls-insecure",
    ),
    entry(
        Connection,
        "dcr",
        "disable-connection-recovery",
        Nothing,
        "false",
        "do not reconnect when a connection is lost",
    ),
    entry(
        Connection,
        "cri",
        "connection-recovery-interval",
        One,
        "5",
        "seconds before a reconnect; `30-60` is a random time between the two",
    ),
    entry(
        Connection,
        "sst",
        "servers-startup-timeout",
        One,
        "fail at once",
        "how many seconds to wait for brokers that do not answer yet",
    ),
    entry(
        Connection,
        "sul",
        "servers-up-limit",
        One,
        "all of --uri or --uris",
        "how many brokers must answer within --servers-startup-timeout",
    ),
    entry(
        Connection,
        "tsbs",
        "tcp-send-buffer-size",
        One,
        "65536",
        "the sockets' send buffer, in bytes; 0: chosen by the system",
    ),
    entry(
        Connection,
        "trbs",
        "tcp-receive-buffer-size",
        One,
        "65536",
        "the sockets' receive buffer, in bytes; 0: chosen by the system",
    ),
    entry(Connection, "tnd", "tcp-no-delay", One, "true", "whether small packets are sent at once (TCP_NODELAY)"),
    entry(
        Connection,
        "o2uri",
        "oauth2-token-endpoint",
        One,
        "",
        "the URL to get an OAuth 2 token from, which is used as the password",
    ),
    entry(Connection, "o2id", "oauth2-client-id", One, "", "OAuth 2 client id; required with --oauth2-token-endpoint"),
    entry(
        Connection,
        "o2sec",
        "oauth2-client-secret",
        One,
        "",
        "OAuth 2 client secret; required with --oauth2-token-endpoint",
    ),
    entry(Connection, "o2gr", "oauth2-grant-type", One, "client_credentials", "OAuth 2 grant type"),
    entry(
        Connection,
        "o2p",
        "oauth2-parameters",
        Many,
        "",
        "another parameter of the token request, such as orgId=1234",
    ),
    no_effect(Connection, "hst", "heartbeat-sender-threads", One, "threads that send heartbeats", NO_THREADS),
    no_effect(Connection, "niot", "nio-threads", One, "threads for non-blocking I/O", NO_THREADS),
    no_effect(Connection, "niotp", "nio-thread-pool", One, "thread pool for non-blocking I/O", NO_THREADS),
    no_effect(Connection, "nty", "netty", Nothing, "use Netty (PerfTest after 2.22)", NO_NETTY),
    no_effect(Connection, "ntyt", "netty-threads", One, "Netty's threads (PerfTest after 2.22)", NO_NETTY),
    no_effect(Connection, "ntyep", "netty-epoll", Nothing, "Netty over epoll (PerfTest after 2.22)", NO_NETTY),
    no_effect(Connection, "ntykq", "netty-kqueue", Nothing, "Netty over kqueue (PerfTest after 2.22)", NO_NETTY),
    entry(Topology, "t", "type", One, "direct", "the exchange's type"),
    entry(
        Topology,
        "e",
        "exchange",
        Perhaps,
        "the exchange's type",
        "the exchange; without a name, or as `amq.default`, the default exchange",
    ),
    entry(
        Topology,
        "u",
        "queue",
        One,
        "named by the broker, one for each consumer",
        "queues, separated by commas; each consumer consumes from all of them",
    ),
    entry(Topology, "k", "routing-key", One, "random, one for the run", "the routing key of messages and bindings"),
    entry(Topology, "sb", "skip-binding-queues", Nothing, "false", "do not bind the queues"),
    entry(
        Topology,
        "p",
        "predeclared",
        Nothing,
        "false",
        "use existing exchanges and queues unchanged; declare only those that are missing",
    ),
    entry(
        Topology,
        "ad",
        "auto-delete",
        One,
        "true",
        "whether queues are deleted with their last consumer; never with --quorum-queue or --stream-queue",
    ),
    entry(Topology, "E", "exclusive", Nothing, "false", "exclusive queues of the consumer's connection"),
    entry(
        Topology,
        "qa",
        "queue-args",
        Many,
        "",
        "the queues' arguments, separated by commas: x-max-length=10,x-max-priority=5",
    ),
    entry(
        Topology,
        "qp",
        "queue-pattern",
        One,
        "",
        "numbered queues, such as perf-test-%d or perf-test-%03d; producers and consumers use them in turn",
    ),
    entry(Topology, "qpf", "queue-pattern-from", One, "", "the first number for --queue-pattern"),
    entry(Topology, "qpt", "queue-pattern-to", One, "", "the last number for --queue-pattern"),
    entry(
        Topology,
        "qf",
        "queue-file",
        One,
        "",
        "a file with one queue per line; producers and consumers use them in turn",
    ),
    entry(
        Topology,
        "qq",
        "quorum-queue",
        Nothing,
        "false",
        "quorum queues; implies --flag persistent and --auto-delete false",
    ),
    entry(
        Topology,
        "sq",
        "stream-queue",
        Nothing,
        "false",
        "streams of 20 GB in segments of 500 MB; implies --flag persistent, --auto-delete false and --qos 200",
    ),
    entry(
        Topology,
        "mlb",
        "max-length-bytes",
        One,
        "no limit",
        "the maximum size of a queue: 100mb, 20gb (powers of 1000); 0: no limit, also for streams",
    ),
    entry(Topology, "smssb", "stream-max-segment-size-bytes", One, "500mb", "size of a stream's segments, at most 3gb"),
    entry(Topology, "ma", "max-age", One, "no limit", "how long a stream keeps messages: PT10M30S, P5DT8H"),
    entry(
        Topology,
        "ll",
        "leader-locator",
        One,
        "chosen by the broker",
        "the location of leaders of quorum queues and streams: `client-local` or `balanced`",
    ),
    entry(Publishing, "x", "producers", One, "1", "producers, each with a connection of its own"),
    entry(
        Publishing,
        "X",
        "producer-channel-count",
        One,
        "1",
        "channels of each producer; each publishes at the full --rate",
    ),
    entry(Publishing, "r", "rate", One, "no limit", "messages per second of each producer channel; may be a fraction"),
    entry(
        Publishing,
        "P",
        "publishing-interval",
        One,
        "",
        "seconds between two messages of a producer channel, at least 0.1; instead of --rate",
    ),
    entry(
        Publishing,
        "vr",
        "variable-rate",
        Many,
        "",
        "messages per second and for how many seconds, such as 100:60; repeated for several, which are used in turn",
    ),
    entry(Publishing, "s", "size", One, "12", "message size in bytes; less than 12 is 12"),
    entry(
        Publishing,
        "vs",
        "variable-size",
        Many,
        "",
        "message size and for how many seconds, such as 1000:30; repeated for several, which are used in turn",
    ),
    entry(
        Publishing,
        "B",
        "body",
        One,
        "",
        "files whose content is sent unchanged, separated by commas, in turn; the time is then in a header",
    ),
    entry(Publishing, "T", "body-content-type", One, "", "the content type of --body"),
    entry(Publishing, "jb", "json-body", Nothing, "false", "random JSON documents of --size"),
    entry(Publishing, "bfc", "body-field-count", One, "1000", "different field names and values of --json-body"),
    entry(Publishing, "bc", "body-count", One, "100", "different documents of --json-body"),
    entry(
        Publishing,
        "mp",
        "message-properties",
        One,
        "",
        "properties, separated by commas: priority=5,timestamp=2026-01-31T12:00:00Z; unknown properties become headers",
    ),
    entry(Publishing, "f", "flag", Many, "", "`persistent` (queues are then durable), `mandatory`; repeat for both"),
    entry(Publishing, "K", "random-routing-key", Nothing, "false", "a new random routing key for each message"),
    entry(
        Publishing,
        "rkcs",
        "routing-key-cache-size",
        One,
        "0, a new key each time",
        "generate this many keys for --random-routing-key, and use them in turn",
    ),
    entry(
        Publishing,
        "c",
        "confirm",
        One,
        "-1, no confirms",
        "the maximum number of unconfirmed messages per channel; 0: no limit",
    ),
    entry(Publishing, "ct", "confirm-timeout", One, "30", "seconds until a missing confirm fails the run; -1: never"),
    entry(Publishing, "m", "ptxsize", One, "0, no transactions", "messages per transaction"),
    entry(
        Publishing,
        "prsd",
        "producer-random-start-delay",
        One,
        "0",
        "each producer starts at a random time within this many seconds",
    ),
    no_effect(Publishing, "pst", "producer-scheduler-threads", One, "threads for --publishing-interval", NO_THREADS),
    entry(Consuming, "y", "consumers", One, "1", "consumers, each with a connection of its own"),
    entry(Consuming, "Y", "consumer-channel-count", One, "1", "channels of each consumer; each is a consumer"),
    entry(Consuming, "R", "consumer-rate", One, "no limit", "messages per second of each consumer channel"),
    entry(Consuming, "q", "qos", One, "0, no limit", "the maximum number of unacked deliveries per consumer"),
    entry(Consuming, "Q", "global-qos", One, "0, no limit", "the maximum number of unacked deliveries per channel"),
    entry(Consuming, "a", "autoack", Nothing, "false", "consume without acks"),
    entry(Consuming, "A", "multi-ack-every", One, "0, each one", "one ack per this many deliveries; at most --qos"),
    entry(Consuming, "na", "nack", Nothing, "false", "nack instead of ack"),
    entry(Consuming, "re", "requeue", One, "true", "whether nacked messages return to the queue"),
    entry(Consuming, "n", "ctxsize", One, "0, no transactions", "acks per transaction"),
    entry(Consuming, "L", "consumer-latency", One, "0", "how many microseconds a consumer works on a message"),
    entry(
        Consuming,
        "vl",
        "variable-latency",
        Many,
        "",
        "microseconds of work and for how many seconds, such as 1000:60; repeated for several, which are used in turn",
    ),
    entry(Consuming, "po", "polling", Nothing, "false", "consume with basic.get"),
    entry(Consuming, "pi", "polling-interval", One, "0", "milliseconds between two basic.get"),
    entry(Consuming, "ca", "consumer-args", One, "", "arguments of basic.consume, separated by commas: x-priority=10"),
    entry(
        Consuming,
        "sco",
        "stream-consumer-offset",
        One,
        "next",
        "where consumers of streams start: `first`, `last`, `next`, a number, or a time such as 2022-06-03T07:45:54Z",
    ),
    entry(Consuming, "S", "slow-start", Nothing, "false", "start consumers one second apart"),
    entry(Consuming, "csd", "consumer-start-delay", One, "0", "start consumers after this many seconds"),
    no_effect(Consuming, "ctp", "consumers-thread-pools", One, "thread pools for consumers", NO_THREADS),
    entry(
        Output,
        "ms",
        "use-millis",
        Nothing,
        "false",
        "latency in milliseconds, by the wall clock; for producers and consumers on different machines",
    ),
    entry(Output, "mf", "metrics-format", One, "default", "the format of lines: `default` or `compact`"),
    entry(Output, "o", "output-file", One, "", "also write the lines to this file as CSV"),
    no_effect(Output, "", "verbose", Nothing, "print each message", "single messages are not printed"),
    no_effect(
        Output,
        "",
        "verbose-full",
        Nothing,
        "print each message with properties and body",
        "single messages are not printed",
    ),
    no_effect(Output, "l", "legacy-metrics", Nothing, "lines as in PerfTest 2.1", "PerfTest removed it"),
    entry(
        Metrics,
        "em",
        "exposed-metrics",
        One,
        "",
        "constant metrics to serve, separated by commas: expected_published=50000",
    ),
    entry(Metrics, "mt", "metrics-tags", One, "", "labels of all metrics, separated by commas: env=test,region=eu"),
    entry(
        Metrics,
        "mcla",
        "metrics-command-line-arguments",
        Nothing,
        "false",
        "a metric with the command line as a label",
    ),
    entry(Metrics, "mpx", "metrics-prefix", One, "perftest_", "the prefix of metric names"),
    entry(Metrics, "mpr", "metrics-prometheus", Nothing, "false", "serve the metrics to Prometheus"),
    entry(Metrics, "mpe", "metrics-prometheus-endpoint", One, "/metrics", "the path for Prometheus"),
    entry(Metrics, "mpp", "metrics-prometheus-port", One, "8080", "the port for Prometheus"),
    no_effect(Metrics, "mc", "metrics-client", Nothing, "metrics of the Java client", "Warren has no Java client"),
    no_effect(Metrics, "mcl", "metrics-class-loader", Nothing, "metrics of the JVM's class loader", NO_JVM),
    no_effect(Metrics, "mjm", "metrics-jvm-memory", Nothing, "metrics of the JVM's memory", NO_JVM),
    no_effect(Metrics, "mjgc", "metrics-jvm-gc", Nothing, "metrics of the JVM's garbage collection", NO_JVM),
    no_effect(Metrics, "mjp", "metrics-processor", Nothing, "metrics of the processor, taken by the JVM", NO_JVM),
    no_effect(Metrics, "mjt", "metrics-jvm-thread", Nothing, "metrics of the JVM's threads", NO_JVM),
    no_effect(Metrics, "mjx", "metrics-jmx", Nothing, "metrics over JMX", NO_JVM),
    no_effect(Metrics, "mda", "metrics-datadog", Nothing, "metrics to Datadog", NO_DATADOG),
    no_effect(Metrics, "mdk", "metrics-datadog-api-key", One, "Datadog's API key", NO_DATADOG),
    no_effect(Metrics, "mds", "metrics-datadog-step-size", One, "seconds between two reports to Datadog", NO_DATADOG),
    no_effect(Metrics, "mdak", "metrics-datadog-application-key", One, "Datadog's application key", NO_DATADOG),
    no_effect(Metrics, "mdh", "metrics-datadog-host-tag", One, "the tag that is Datadog's host", NO_DATADOG),
    no_effect(
        Metrics,
        "mdd",
        "metrics-datadog-descriptions",
        Nothing,
        "descriptions of metrics for Datadog",
        NO_DATADOG,
    ),
    no_effect(Metrics, "mdu", "metrics-datadog-uri", One, "Datadog's URL", NO_DATADOG),
    no_effect(Instances, "ei", "expected-instances", One, "how many instances start together", NO_SYNC),
    no_effect(
        Instances,
        "isn",
        "instance-sync-namespace",
        One,
        "the Kubernetes namespace in which instances find each other",
        NO_SYNC,
    ),
    no_effect(Instances, "ist", "instance-sync-timeout", One, "how long instances wait for each other", NO_SYNC),
    entry(
        Ours,
        "",
        "agents",
        One,
        "",
        "the machines that take part in the run, each with `warren perf agent`: HOST[:PORT], separated by commas",
    ),
    entry(Ours, "", "agent-token", One, "", "the token that the agents were started with"),
    entry(
        Ours,
        "",
        "broker-pid",
        Many,
        "",
        "a process of the broker on this machine, whose CPU, memory and disk use are measured",
    ),
    entry(
        Ours,
        "",
        "management-url",
        One,
        "",
        "the broker's management API, such as http://guest:guest@localhost:15672; its queue statistics are stored with the results",
    ),
    entry(Ours, "", "json", One, "", "write the results to this file, for `warren perf compare` and `report`"),
    entry(Ours, "", "html", One, "", "write a report with charts to this file"),
    entry(
        Ours,
        "",
        "influx",
        One,
        "",
        "write samples in InfluxDB's line protocol to this file, or to this http:// or https:// URL",
    ),
    entry(Ours, "", "seed", One, "random", "the seed of all random values; the same number repeats a run"),
    entry(Ours, "", "threads", One, "one for each processor", "the number of worker threads"),
    entry(
        Ours,
        "",
        "nice",
        One,
        "unchanged",
        "the nice value of these threads, from 0 to 19; threads that query the management API are not affected",
    ),
    entry(Ours, "", "warm-up", One, "0", "seconds at the start that are shown but not part of the summary"),
    entry(Ours, "", "no-dashboard", Nothing, "false", "print lines, even on a terminal"),
    entry(
        Ours,
        "",
        "tls-ca",
        One,
        "the system's",
        "trusted certificates, in a PEM file, for the broker and for https:// URLs",
    ),
    entry(Ours, "", "tls-cert", One, "", "the client certificate, in a PEM file; requires --tls-key"),
    entry(Ours, "", "tls-key", One, "", "the client certificate's key, in a PEM file"),
    entry(Ours, "", "tls-insecure", Nothing, "false", "trust any certificate, also of https:// URLs"),
];
