//! Every number of the broker that a reviewer would ask about.

use std::time::Duration;

/// So many consumers leave a queue while it is locked: others are served before the next.
pub(crate) const LEAVING_COUNT_MAX: usize = 1024;

/// So many deliveries go back to a queue, or are acknowledged, and so many messages are purged, while it is locked: others are served
/// before the next.
pub(crate) const SETTLED_COUNT_MAX: usize = 4096;

/// A transaction with more bytes of messages than this takes long to commit.
pub(crate) const LONG_COMMIT_LEN: usize = 1 << 20;

/// So many bindings are removed while a vhost's topology is locked: messages are routed before the next.
pub(crate) const UNBOUND_COUNT_MAX: usize = 256;

/// So many places of bindings are looked at while a vhost's topology is locked, where all are listed.
pub(crate) const SHOWN_BINDING_COUNT: usize = 4096;

/// So many queues, and exchanges, are given changed policies before others have their turn.
pub(crate) const POLICY_TURN_COUNT: usize = 64;

/// A connection stops encoding deliveries when this much waits to be written, and stops reading at four times as much.
pub(crate) const OUTPUT_LEN: usize = 128 << 10;

/// How much one read may bring.
pub(crate) const READ_LEN: usize = 128 << 10;

/// A connection that publishes while the consumers of its queues lag pauses for [`PUBLISHER_PAUSE`] after so many bytes. Else the processor
/// would go
/// into taking messages in rather than handing them on, and a backlog would grow that has to be moved to disk and back.
pub(crate) const PUBLISHER_PAUSE_LEN: u64 = 64 << 10;

/// See [`PUBLISHER_PAUSE_LEN`]: so long for each connection that pauses at that time, so that fifty of them leave consumers as much as
/// one does.
/// Consumers that are merely slow stop no publisher.
pub(crate) const PUBLISHER_PAUSE: Duration = Duration::from_millis(1);

/// [`PUBLISHER_PAUSE`]s of one pause for one connection: what one read brings. A message of many megabytes is much more than consumers
/// have in
/// memory at a time, and still only one.
pub(crate) const PUBLISHER_PAUSES_MAX: u32 = 4;

/// The longest pause.
pub(crate) const PUBLISHER_PAUSE_MAX: Duration = Duration::from_millis(100);

/// Routes to more queues than this are not cached: finding them costs little beside filling them, and they would fill a connection's
/// memory.
pub(crate) const CACHED_TARGET_COUNT: usize = 64;

/// How long a refused login waits before its connection is closed, where the client cannot be notified (RabbitMQ: 1 s).
pub(crate) const REFUSED_LOGIN_DELAY: Duration = Duration::from_secs(1);

/// How long a client may take, at most, to send close-ok or to close its socket after the server's close. RabbitMQ's.
pub(crate) const CLOSE_TIMEOUT_MAX: Duration = Duration::from_secs(30);

/// How long a client may take to end its direction when the server has ended the other one: it has read all that there is.
pub(crate) const END_TIMEOUT: Duration = Duration::from_secs(5);

/// How long connections may take to end when their sockets are no longer looked at: their tasks have to have their turn.
pub(crate) const CUT_TIMEOUT: Duration = Duration::from_secs(5);

/// The longest body that any configuration may allow (RabbitMQ: 512 MiB).
pub(crate) const MESSAGE_LEN_MAX: u64 = 512 << 20;

/// Bytes of the name of a client that a proxy does something for: what is longer is cut.
pub(crate) const CLIENT_NAME_LEN_MAX: usize = 255;

/// Bytes of messages that a recent-history exchange keeps, whatever the count that it was declared with.
pub(crate) const HISTORY_LEN_MAX: usize = 16 << 20;

/// How often histories that have changed are recorded.
pub(crate) const HISTORY_INTERVAL: Duration = Duration::from_secs(5);

/// Exchanges, and queues, of which a channel knows how much it publishes to them.
pub(crate) const CHANNEL_EDGE_COUNT_MAX: usize = 32;

/// Events that are kept for operators who ask.
pub(crate) const RECENT_EVENT_COUNT_MAX: usize = 2000;
/// Bytes of these.
pub(crate) const RECENT_EVENT_LEN_MAX: usize = 1 << 20;

/// Sessions of users that have logged in for many requests.
pub(crate) const LOGIN_SESSION_COUNT_MAX: usize = 1000;
/// Those of one user.
pub(crate) const LOGIN_SESSION_OF_USER_COUNT_MAX: usize = 50;

/// How often memory and disk are looked at.
pub(crate) const ALARM_INTERVAL: Duration = Duration::from_secs(1);

/// How often queues that rest get their delivery watermark written.
pub(crate) const WATERMARK_INTERVAL: Duration = Duration::from_secs(5);

/// Events that wait for one follower.
pub(crate) const SUBSCRIPTION_EVENT_COUNT_MAX: usize = 1000;
/// Bytes of these.
pub(crate) const SUBSCRIPTION_LEN_MAX: usize = 1 << 20;

/// Where many batches come on a connection, one in so many on average is timed.
pub(crate) const BATCHES_EACH: u32 = 64;

/// Where batches come no more often than this, each is timed.
pub(crate) const BATCH_INTERVAL_RARE: Duration = Duration::from_millis(10);

/// So long a listing waits for a connection that is at work, to ask the kernel about its socket.
pub(crate) const SOCKET_PROBE_WAIT: Duration = Duration::from_millis(2);

/// Changes of bindings that wait for one follower at most: one that takes fewer begins anew with all bindings.
pub(crate) const FOLLOWED_CHANGE_COUNT_MAX: usize = 4096;
