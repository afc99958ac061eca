//! Every number of the proxy that a reviewer would ask about and that no key sets.

/// Bytes that may wait for an upstream connection's socket. Beyond it nothing more is read from the clients that write to that upstream
/// connection, until half of it is sent.
pub(crate) const UPSTREAM_OUTPUT_LEN_MAX: usize = 1 << 20;

/// Bytes that may wait for a client's socket. Beyond it nothing more is read from that client, nor, where it has an upstream connection of
/// its own, from that upstream connection.
pub(crate) const CLIENT_OUTPUT_LEN_MAX: usize = 1 << 20;

/// A client for which more waits does not read: it is let go, since its neighbours on a shared upstream connection cannot wait for it. What
/// it can have asked for before nothing more was read from it is far less.
pub(crate) const CLIENT_OUTPUT_LEN_GONE: usize = 256 << 20;

/// The longest message that is held until it is whole. A longer one is sent over an upstream connection of its client's own, where half
/// of it harms no other client.
pub(crate) const HELD_LEN_MAX: u64 = 16 << 20;

/// How long a client may take to answer a close, and an upstream.
pub(crate) const CLOSE_TIMEOUT_MS: u64 = 5_000;

/// How long a client whose close was answered may take to close its socket: RabbitMQ's time.
pub(crate) const PARTING_TIMEOUT_MS: u64 = 30_000;

/// How long a client whose login was refused, and that cannot be notified, waits: guessing is to be slow.
pub(crate) const REFUSED_LOGIN_DELAY_MS: u64 = 1_000;

/// The longest token by which a client logs in: before a connection is tuned frames have 4096 bytes (AMQP 0-9-1, 2.3.5), of which the
/// client's properties take some.
pub(crate) const LOGIN_TOKEN_LEN_MAX: usize = 3_500;

/// How long an upstream waits for the vhost of a login that it has accepted, before the upstream connection is given up: less than the
/// timeout of its own.
pub(crate) const LOGIN_CONNECTION_TIMEOUT_MS: u64 = 8_000;

/// When to ask again for an upstream that may be usable at any moment: one that is being tried, drains, or has just failed.
pub(crate) const LOOK_AGAIN_MS: u64 = 100;

/// Vhosts of one upstream that it refuses to every user for now, and that are remembered. Beyond it the one that is asked for again first
/// is forgotten.
pub(crate) const REFUSED_VHOST_COUNT_MAX: usize = 1024;

/// How long such a vhost is remembered when it may be asked for again, and no client does.
pub(crate) const REFUSED_VHOST_MEMORY_MS: u64 = 600_000;

/// What is kept of the words of an upstream's last error, in bytes.
pub(crate) const ERROR_LEN_MAX: usize = 512;

/// Users, and addresses, that have no connection and are remembered until their tokens are back. Beyond it one that leaves is forgotten at
/// once, and has all tokens when he returns: memory is worth more.
pub(crate) const IDLE_ACCOUNT_COUNT_MAX: usize = 65_536;

/// How long between two alarms of one limit.
pub(crate) const ALARM_INTERVAL_MS: u64 = 1000;

/// For how long nothing is read from a client whose user has sent too much, before it is asked again whether that is enough: limits may
/// have been raised.
pub(crate) const BYTE_WAIT_MAX_MS: u64 = 1000;

/// What is said of a user's name where a limit is reached, in bytes: the sentence has to fit into a close.
pub(crate) const USER_SHOWN_LEN_MAX: usize = 128;

/// How long publishes of a disconnected client may wait for their confirm. A queue that cannot confirm would fill the pool with their
/// channels.
pub(crate) const UNCONFIRMED_TIMEOUT_MS: u64 = 120_000;

/// Files that no client gets, so that there are some for connections to upstreams: a quarter of those that the process may have, but at
/// least so many, since the process opens some for itself.
pub(crate) const LINE_FILE_COUNT_MIN: u64 = 24;

/// and no more than so many.
pub(crate) const LINE_FILE_COUNT_MAX: u64 = 1024;

/// How long an upstream that has refused a connection of a login and vhost is not asked for another.
pub(crate) const REFUSED_PAUSE_MS: u64 = 1_000;

/// Of what is kept of a user and vhost, so little that publishers wait until it is sent on instead of adding to it.
pub(crate) const SPOOL_FEW_COUNT: u64 = 256;
pub(crate) const SPOOL_FEW_LEN: u64 = 1 << 20;

/// So lately something must have been sent on, for the rest to be worth waiting for.
pub(crate) const SPOOL_MOVING_MS: u64 = 1_000;

/// Bytes of the spool's journal files. What is still kept when it is full is moved to segments.
pub(crate) const SPOOL_JOURNAL_LEN_MAX: u64 = 64 << 20;

/// Bytes of what is kept that are in memory.
pub(crate) const SPOOL_CHUNKS_LEN: u64 = 32 << 20;

/// Bytes of one of the spool's segments.
pub(crate) const SPOOL_SEGMENT_LEN: u64 = 16 << 20;

/// Publishes of a user and vhost that are being sent on and wait for their confirm, and their bytes.
pub(crate) const SPOOL_WINDOW_COUNT: usize = 1024;
pub(crate) const SPOOL_WINDOW_LEN: usize = 8 << 20;

/// How long what could not be sent on rests before it is tried again; doubled so often each time that it fails.
pub(crate) const SPOOL_RETRY_MS: u64 = 1_000;
pub(crate) const SPOOL_RETRY_DOUBLINGS_MAX: u32 = 5;

/// After so many connections in a row that were lost with nothing sent on, one message at a time is under way.
pub(crate) const SPOOL_CAREFUL_LOST_COUNT: u32 = 2;

/// How long one user's messages are sent on while others wait for their turn.
pub(crate) const SPOOL_TURN_MS: u64 = 10_000;

/// Users and vhosts whose messages are sent on at once, each over a connection of its own.
pub(crate) const SPOOL_FORWARDER_COUNT_MAX: usize = 16;

/// How long a channel of a pool is kept open that no client has used, and how many unused ones are closed at a time: an upstream has work
/// with it.
pub(crate) const CHANNEL_IDLE_MS: u64 = 60_000;
pub(crate) const IDLE_CHANNEL_CLOSE_COUNT: usize = 32;

/// After how long a channel that waits for confirms of a disconnected client is no longer one that others wait for: so long, and so many
/// times what a confirm takes otherwise.
pub(crate) const LONG_PARKED_MS: u64 = 1_000;
pub(crate) const LONG_PARKED_WAYS: u64 = 4;
