//! Which numbers objects have, by RabbitMQ's names, in the order in which they lie in samples.

/// Messages that wait, and messages that are handed out and not settled.
pub const READY: &str = "messages_ready";
/// See [`READY`].
pub const UNACKED: &str = "messages_unacknowledged";

/// Of a queue: what has happened to its messages, and how many there are.
pub const QUEUE: [&str; 12] = [
    "publish",
    "get",
    "get_no_ack",
    "get_empty",
    "deliver",
    "deliver_no_ack",
    "redeliver",
    "ack",
    "disk_reads",
    "disk_writes",
    READY,
    UNACKED,
];

/// Of an exchange.
pub const EXCHANGE: [&str; 2] = ["publish_in", "publish_out"];

/// Of the way from an exchange to a queue, and from a channel to either.
pub const EDGE: [&str; 1] = ["publish"];

/// Of a channel.
pub const CHANNEL: [&str; 11] = [
    "publish",
    "confirm",
    "return_unroutable",
    "drop_unroutable",
    "get",
    "get_no_ack",
    "get_empty",
    "deliver",
    "deliver_no_ack",
    "redeliver",
    "ack",
];

/// Of a consumer.
pub const CONSUMER: [&str; 4] = ["deliver", "deliver_no_ack", "redeliver", "ack"];

/// Of a connection: bytes, and the numbers of reads and writes.
pub const CONNECTION: [&str; 4] = ["recv_oct", "send_oct", "recv_cnt", "send_cnt"];

/// Of a vhost, and of all vhosts together.
pub const VHOST: [&str; 17] = [
    "publish",
    "confirm",
    "return_unroutable",
    "drop_unroutable",
    "get",
    "get_no_ack",
    "get_empty",
    "deliver",
    "deliver_no_ack",
    "redeliver",
    "ack",
    "disk_reads",
    "disk_writes",
    READY,
    UNACKED,
    "recv_oct",
    "send_oct",
];

/// Of the node besides.
pub const NODE: [&str; 12] = [
    "connection_created",
    "connection_closed",
    "channel_created",
    "channel_closed",
    "queue_declared",
    "queue_created",
    "queue_deleted",
    "mem_used",
    "disk_free",
    "fd_used",
    "sockets_used",
    "proc_used",
];

/// How many numbers an object has.
pub const QUEUE_COUNT: usize = QUEUE.len();
/// See [`QUEUE_COUNT`].
pub const EXCHANGE_COUNT: usize = EXCHANGE.len();
/// See [`QUEUE_COUNT`].
pub const EDGE_COUNT: usize = EDGE.len();
/// See [`QUEUE_COUNT`].
pub const CHANNEL_COUNT: usize = CHANNEL.len();
/// See [`QUEUE_COUNT`].
pub const CONSUMER_COUNT: usize = CONSUMER.len();
/// See [`QUEUE_COUNT`].
pub const CONNECTION_COUNT: usize = CONNECTION.len();
/// See [`QUEUE_COUNT`].
pub const VHOST_COUNT: usize = VHOST.len();
/// See [`QUEUE_COUNT`].
pub const NODE_COUNT: usize = NODE.len();
