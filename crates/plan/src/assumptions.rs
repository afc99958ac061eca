//! Every figure that is no input, with where it comes from. A figure that changes in its source changes here.

use crate::formula::Formula;
use crate::quantity::{Quantity, Unit};

/// A figure.
#[derive(Debug)]
pub(crate) struct Assumption {
    name: &'static str,
    value: f64,
    unit: Unit,
}

impl Assumption {
    const fn new(name: &'static str, value: f64, unit: Unit) -> Self {
        Assumption { name, value, unit }
    }

    /// As a term of a formula.
    pub(crate) fn term(&self) -> Formula {
        Formula::Term(Quantity::new(self.name, self.value, self.unit))
    }
}

/// Where the lengths of frames and methods come from.
pub(crate) const FROM_AMQP: &str = "AMQP 0-9-1, as encoded by the crate amqp";
/// `basic.publish` without its names: frame 8, ids 4, ticket 2, lengths of two names 2, flags 1.
pub(crate) const PUBLISH: Assumption = Assumption::new("basic.publish without names", 17.0, Unit::Bytes);
/// `basic.deliver` without its names: frame 8, ids 4, lengths of three names 3, delivery tag 8, redelivered 1.
pub(crate) const DELIVER: Assumption = Assumption::new("basic.deliver without names", 24.0, Unit::Bytes);
/// A consumer tag that the broker has made: `amq.ctag-` and 22 characters.
pub(crate) const CONSUMER_TAG: Assumption = Assumption::new("consumer tag", 31.0, Unit::Bytes);
/// A header frame without properties: frame 8, class 2, weight 2, body's size 8, flags 2.
pub(crate) const HEADER: Assumption = Assumption::new("header frame without properties", 22.0, Unit::Bytes);
/// What every frame has around its payload: kind, channel, length, end.
pub(crate) const FRAME: Assumption = Assumption::new("frame", amqp::frame::FRAME_OVERHEAD as f64, Unit::Bytes);
/// `basic.ack`: frame 8, ids 4, delivery tag 8, multiple 1.
pub(crate) const ACK: Assumption = Assumption::new("basic.ack", 21.0, Unit::Bytes);

/// Where the lengths of TLS's records come from.
pub(crate) const FROM_TLS: &str = "TLS 1.3: header 5, type 1, tag 16 bytes; each message and ack in its own record";
/// What a record carries.
pub(crate) const RECORD_CONTENT: Assumption = Assumption::new("TLS record", 16_384.0, Unit::Bytes);
/// What is around that.
pub(crate) const RECORD: Assumption = Assumption::new("record overhead", 22.0, Unit::Bytes);

/// Where the lengths of packets come from.
pub(crate) const FROM_TCP: &str = "Ethernet with 1,500 B, IPv4, TCP with timestamps; each message and ack in its own packet, \
                                   one TCP ack for two packets";
/// What a packet carries: 1500 without 20 of IPv4, 20 of TCP, 12 of timestamps.
pub(crate) const SEGMENT: Assumption = Assumption::new("packet", 1_448.0, Unit::Bytes);
/// What is around that: preamble 8, Ethernet 14 and 4, gap 12, IPv4 20, TCP 32.
pub(crate) const PACKET: Assumption = Assumption::new("packet overhead", 90.0, Unit::Bytes);

/// Where lengths in the journal come from.
pub(crate) const FROM_JOURNAL: &str = "docs/formats/journal.md, docs/formats/content.md";
/// A content without names, properties and body: version 1, time 8, two lengths 2, header's length 4, header 14.
pub(crate) const CONTENT: Assumption = Assumption::new("content's own", 29.0, Unit::Bytes);
/// A batch with the record of a publish, without queues: 16, 8 and 8.
pub(crate) const PUBLISH_RECORD: Assumption = Assumption::new("batch and record", 32.0, Unit::Bytes);
/// What that has for each queue.
pub(crate) const PUBLISH_QUEUE: Assumption = Assumption::new("record's queue", 16.0, Unit::Bytes);
/// A batch with the record of an ack: 16 and 32.
pub(crate) const SETTLE_RECORD: Assumption = Assumption::new("record of an ack", 48.0, Unit::Bytes);
/// The header of a commit, of a node alone and in a cluster.
pub(crate) const COMMIT: Assumption = Assumption::new("commit header", 64.0, Unit::Bytes);
pub(crate) const COMMIT_IN_CLUSTER: Assumption = Assumption::new("commit header", 96.0, Unit::Bytes);
/// What a commit's length is a multiple of.
pub(crate) const PAGE: Assumption = Assumption::new("page", 4_096.0, Unit::Bytes);

/// Where lengths in segments come from.
pub(crate) const FROM_SEGMENT: &str = "docs/formats/segment.md";
/// What a slot has before its content.
pub(crate) const SLOT: Assumption = Assumption::new("slot", 20.0, Unit::Bytes);
/// A slot that names another one's content.
pub(crate) const SHARED_SLOT: Assumption = Assumption::new("slot that shares", 28.0, Unit::Bytes);
/// From this length on several queues share a content.
pub(crate) const SHARED_FROM: f64 = 4_096.0;

/// How often a leader commits, at most.
pub(crate) const FROM_PACE: &str = "at most one commit per millisecond: docs/dev/cluster.md";
pub(crate) const COMMITS_IN_CLUSTER: Assumption = Assumption::new("commits at most", 1_000.0, Unit::PerSecond);
/// How often a node alone does, if the disk's time is not known.
pub(crate) const FROM_ONE_JOURNAL: &str =
    "measured with one journal: docs/dev/cluster.md; set your disk's time with --sync-us";
pub(crate) const COMMITS_ALONE: Assumption = Assumption::new("commits at most", 7_880.0, Unit::PerSecond);

/// What a write and a sync take, and how far commits of a cluster are apart.
pub(crate) const SYNC: Assumption = Assumption::new("a write and a sync", 127.0, Unit::Micros);
pub(crate) const PACE: Assumption = Assumption::new("pace of commits", 1_000.0, Unit::Micros);
pub(crate) const FROM_CONFIRM: &str = "a confirm waits for the current commit and its own, in a cluster also on a follower's disk; \
    excludes busy processors and the network to the client";

/// What a data directory has besides messages.
pub(crate) const FROM_STORE: &str = "warren.journal.bound, docs/durability.md, disk_free_limit";
pub(crate) const JOURNAL: Assumption = Assumption::new("journal", 268_435_456.0, Unit::Bytes);
pub(crate) const JOURNAL_IN_CLUSTER: Assumption = Assumption::new("journal", 134_217_728.0, Unit::Bytes);
pub(crate) const RESERVE: Assumption = Assumption::new("reserve", 52_428_800.0, Unit::Bytes);
pub(crate) const FREE: Assumption = Assumption::new("what has to stay free", 50e6, Unit::Bytes);

/// Memory.
pub(crate) const FROM_FLAT: &str = "measured with a backlog of millions: CHANGELOG.md; ARCHITECTURE.md, invariant 18";
pub(crate) const BROKER_MEMORY: Assumption = Assumption::new("broker", 96.0 * 1_048_576.0, Unit::Memory);
pub(crate) const FROM_IDLE: &str =
    "at most, with one channel: ARCHITECTURE.md, invariant 18; each further channel counts the same";
pub(crate) const CONNECTION_MEMORY: Assumption = Assumption::new("connection", 20_480.0, Unit::Memory);
pub(crate) const FROM_QUORUM: &str = "a quorum queue takes 1.9 KiB on the leader: docs/dev/cluster.md, whole brokers";
pub(crate) const QUEUE_MEMORY: Assumption = Assumption::new("queue", 1_946.0, Unit::Memory);
pub(crate) const FROM_WATERMARK: &str = "the memory alarm is raised at 60 %: docs/alarms.md";
pub(crate) const WATERMARK: Assumption = Assumption::new("memory alarm", 0.6, Unit::Share);

pub(crate) const FROM_SOCKETS: &str = "measured for an idle TCP connection: 3 to 4 KiB";
pub(crate) const SOCKET_MEMORY: Assumption = Assumption::new("kernel's socket", 4_096.0, Unit::Memory);
pub(crate) const FROM_SEND_BUFFERS: &str =
    "maximum of net.ipv4.tcp_wmem, for data that clients leave unread; not included in the memory needed";
pub(crate) const SEND_BUFFER: Assumption = Assumption::new("send buffer", 4_194_304.0, Unit::Memory);

/// Processor time: bench/RESULTS.md, messages per broker CPU-second of Warren.
pub(crate) const FROM_PERSISTENT: &str =
    "356,883 messages per CPU-second: bench/RESULTS.md, dq-confirm-multiack; override with --cpu-us";
pub(crate) const CPU_PERSISTENT: Assumption = Assumption::new("processor time per message", 2.8, Unit::Micros);
pub(crate) const FROM_CONFIRMED: &str = "57,389 messages per CPU-second: bench/RESULTS.md, confirm-every-n, \
    confirm_window=1, publishers=20; override with --cpu-us";
pub(crate) const CPU_CONFIRMED: Assumption = Assumption::new("processor time per message", 17.4, Unit::Micros);
pub(crate) const FROM_TRANSIENT: &str =
    "756,405 messages per CPU-second: bench/RESULTS.md, ndq-multiack; override with --cpu-us";
pub(crate) const CPU_TRANSIENT: Assumption = Assumption::new("processor time per message", 1.32, Unit::Micros);
/// Those messages had bodies of a kilobyte at most.
pub(crate) const FROM_BYTES: &str = "1 KiB costs 0.9 µs more than 16 B: bench/results/throughput.md";
pub(crate) const CPU_BYTE: Assumption = Assumption::new("processor time a byte", 0.000_9, Unit::Micros);
pub(crate) const BODY_MEASURED: Assumption = Assumption::new("what was measured", 1_024.0, Unit::Bytes);
pub(crate) const FROM_MEASURED_CPU: &str = "as given; includes everything the broker does";
/// What a commit costs, whatever is in it.
pub(crate) const FROM_LONE: &str = "58 to 62 µs: docs/dev/lone-messages.md, 10,000/s";
pub(crate) const CPU_COMMIT: Assumption = Assumption::new("processor time a commit", 62.0, Unit::Micros);
/// What it costs to wake threads that sleep between messages: at low rates all of them for each message, at high rates hardly any.
pub(crate) const FROM_WAKING: &str =
    "measured at 200 to 20,000/s, one publisher and one consumer: docs/dev/lone-messages.md";
pub(crate) const WAKING: Assumption = Assumption::new("waking threads, at most", 0.19, Unit::Cores);
pub(crate) const WAKING_HALF: Assumption = Assumption::new("half of that at", 1_000.0, Unit::PerSecond);
pub(crate) const FROM_REPLICATION: &str = "515 µs with its message at 1,000/s: docs/dev/cluster.md, whole brokers";
pub(crate) const CPU_COMMIT_OF_LEADER: Assumption = Assumption::new("processor time a commit", 512.0, Unit::Micros);
pub(crate) const FROM_FOLLOWER: &str =
    "0.42 of the leader's at 1,000/s: docs/dev/cluster.md; excludes client traffic that it forwards";
pub(crate) const CPU_COMMIT_OF_FOLLOWER: Assumption = Assumption::new("processor time a commit", 216.0, Unit::Micros);

/// Open files of the store: 128 segments, 32 files of the journal, and listeners, checkpoints and others.
pub(crate) const FROM_FILES: &str =
    "128 segments, 32 journal files and a few others: crates/store/src/handles.rs, docs/configuration.md";
pub(crate) const STORE_FILES: Assumption = Assumption::new("files of the store", 256.0, Unit::Count);
