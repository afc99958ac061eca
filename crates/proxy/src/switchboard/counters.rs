//! What has happened.

/// What has happened so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// Accepted client connections.
    pub clients: u64,
    /// Messages published by clients, and sent on over shared upstream connections.
    pub published: u64,
    /// Channels opened upstream for the pool.
    pub channels_opened: u64,
    /// Channels given to a client that another one had before.
    pub channels_reused: u64,
    /// Upstream connections dialled.
    pub connections_dialled: u64,
    /// Upstream connections that could not be opened, or were lost.
    pub connections_lost: u64,
    /// Clients that got an upstream connection of their own.
    pub moved: u64,
    /// Errors of publishes whose client had disconnected.
    pub late_errors: u64,
    /// Mandatory messages that were returned after their client had disconnected.
    pub late_returns: u64,
    /// Publishes refused by the upstream (`basic.nack`) whose client had disconnected.
    pub late_nacks: u64,
    /// Publishes that were not confirmed when their connection was lost, or for very long, and whose client had disconnected.
    pub late_losses: u64,
    /// Logins that upstreams refused.
    pub logins_refused: u64,
    /// Logins that were believed because they had been accepted lately.
    pub logins_remembered: u64,
    /// Clients let go because they did not read.
    pub slow_clients: u64,
}

impl Counters {
    /// Adds another thread's.
    pub(crate) fn add(&mut self, other: &Counters) {
        let Counters {
            clients,
            published,
            channels_opened,
            channels_reused,
            connections_dialled,
            connections_lost,
            moved,
            late_errors,
            late_returns,
            late_nacks,
            late_losses,
            logins_refused,
            logins_remembered,
            slow_clients,
        } = other;
        self.clients += clients;
        self.published += published;
        self.channels_opened += channels_opened;
        self.channels_reused += channels_reused;
        self.connections_dialled += connections_dialled;
        self.connections_lost += connections_lost;
        self.moved += moved;
        self.late_errors += late_errors;
        self.late_returns += late_returns;
        self.late_nacks += late_nacks;
        self.late_losses += late_losses;
        self.logins_refused += logins_refused;
        self.logins_remembered += logins_remembered;
        self.slow_clients += slow_clients;
    }
}
