//! What operators set.

/// What operators set.
#[derive(Debug, Clone)]
pub struct Options {
    /// Channels that a client may open.
    pub channel_max: u16,
    /// The longest frame, in bytes.
    pub frame_len_max: u32,
    /// What is offered to clients, in seconds; 0 for none.
    pub client_heartbeat_s: u16,
    /// What is asked of upstreams, in seconds; 0 leaves it to them.
    pub upstream_heartbeat_s: u16,
    /// How long a handshake may take.
    pub handshake_timeout_ms: u64,
    /// For how long a login that an upstream has accepted is believed.
    pub login_fresh_ms: u64,
    /// How long a client waits for an upstream connection before it is closed.
    pub upstream_wait_ms: u64,
    /// Open channels on a shared upstream connection at most.
    pub upstream_channel_max: u16,
    /// Shared upstream connections for one login and vhost at most, of each kind (for publishes, for everything else); clients beyond wait
    /// for a channel.
    pub pool_connection_max: usize,
    /// Upstream connections in all, own ones too; 0 for no limit.
    pub upstream_connection_max: usize,
    /// After what time without a client a shared upstream connection is closed; one of each pool stays longer.
    pub upstream_idle_ms: u64,
    /// After what time without a client the last upstream connection of a pool is closed.
    pub pool_idle_ms: u64,
    /// Whether logins are checked before the vhost is known. Not where vhosts lead to different upstreams.
    pub checks_login_first: bool,
    /// How long an upstream's handshake may pause.
    pub upstream_handshake_timeout_ms: u64,
    /// How long a publish waits for an upstream connection before its upstream counts as away. Only where there is a spool.
    pub spool_after_ms: u64,
    /// Whether it is asked for each client if there is room for its user.
    pub asks_for_clients: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            channel_max: 2047,
            frame_len_max: amqp::limits::FRAME_LEN_MAX,
            client_heartbeat_s: 60,
            upstream_heartbeat_s: 60,
            handshake_timeout_ms: 10_000,
            login_fresh_ms: 60_000,
            upstream_wait_ms: 15_000,
            upstream_channel_max: 1024,
            pool_connection_max: 64,
            upstream_connection_max: 0,
            upstream_idle_ms: 5_000,
            pool_idle_ms: 600_000,
            checks_login_first: true,
            upstream_handshake_timeout_ms: 4_000,
            spool_after_ms: 1_000,
            asks_for_clients: false,
        }
    }
}
