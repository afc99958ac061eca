//! What operators are shown.

use std::net::SocketAddr;

use super::lane::Kind;
use super::upstream_connection::{ConnectionUse, UpstreamPhase};
use super::{Counters, Switchboard};

/// Everything at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// What has happened so far.
    pub counters: Counters,
    /// Clients.
    pub client_count: usize,
    /// Open client connections.
    pub open_client_count: usize,
    /// Clients that wait for an upstream connection or a channel.
    pub waiting_client_count: usize,
    /// Upstream connections that are connected.
    pub upstream_connection_count: usize,
    /// Clients that have an upstream connection of their own.
    pub own_connection_count: usize,
    /// Bytes that wait for clients' sockets.
    pub client_output_len: usize,
    /// Each login and vhost.
    pub pools: Vec<PoolReport>,
}

/// A login and a vhost.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PoolReport {
    /// The user.
    pub user: String,
    /// Where.
    pub vhost: String,
    /// Clients of it.
    pub client_count: usize,
    /// Clients of it that wait for an upstream connection or a channel.
    pub waiting_client_count: usize,
    /// Whether there has been no upstream connection for publishers for a moment, and what they say is kept.
    pub is_away: bool,
    /// Channels for publishes that may be parked before its clients wait.
    pub parked_channel_max: usize,
    /// Why the last upstream connection could not be had.
    pub last_error: Option<String>,
    /// Its shared upstream connections.
    pub connections: Vec<UpstreamConnectionReport>,
}

/// A shared upstream connection.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UpstreamConnectionReport {
    /// The upstream's name, as the shell knows it.
    pub upstream: String,
    /// This side's address, as the shell knows it.
    pub address: Option<SocketAddr>,
    /// Whether it is for publishes alone.
    pub is_for_publishes: bool,
    /// Whether it is open.
    pub is_open: bool,
    /// Whether no more clients get a channel on it.
    pub is_draining: bool,
    /// Whether the upstream takes no publishes for now.
    pub is_blocked: bool,
    /// Open channels.
    pub channel_count: usize,
    /// Channels that a client uses.
    pub used_channel_count: usize,
    /// Channels whose client has disconnected, and that wait for their confirms.
    pub parked_channel_count: usize,
    /// Publishes that are not confirmed yet.
    pub unconfirmed_count: usize,
    /// Bytes that wait for its socket.
    pub output_len: usize,
}

impl Report {
    /// Of several threads, as one. Pools of the same user and vhost are put together.
    #[must_use]
    pub fn sum(reports: Vec<Report>) -> Report {
        let mut sum = Report::default();
        for report in reports {
            sum.counters.add(&report.counters);
            sum.client_count += report.client_count;
            sum.open_client_count += report.open_client_count;
            sum.waiting_client_count += report.waiting_client_count;
            sum.upstream_connection_count += report.upstream_connection_count;
            sum.own_connection_count += report.own_connection_count;
            sum.client_output_len += report.client_output_len;
            for pool in report.pools {
                sum.add_pool(pool);
            }
        }
        sum.pools.sort_by(|one, other| (&one.vhost, &one.user).cmp(&(&other.vhost, &other.user)));
        sum
    }

    fn add_pool(&mut self, pool: PoolReport) {
        let is_same = |other: &&mut PoolReport| other.user == pool.user && other.vhost == pool.vhost;
        match self.pools.iter_mut().find(is_same) {
            None => self.pools.push(pool),
            Some(same) => {
                same.client_count += pool.client_count;
                same.waiting_client_count += pool.waiting_client_count;
                same.is_away |= pool.is_away;
                same.parked_channel_max += pool.parked_channel_max;
                same.last_error = same.last_error.take().or(pool.last_error);
                same.connections.extend(pool.connections);
            }
        }
    }
}

impl Switchboard {
    /// Everything at this moment. The shell adds where upstream connections lead, which `upstream_of` knows.
    #[must_use]
    pub fn report(&self, upstream_of: impl Fn(super::UpstreamConnectionId) -> (String, Option<SocketAddr>)) -> Report {
        let mut report = Report { counters: self.counters, client_count: self.clients.len(), ..Report::default() };
        for (_, client) in self.clients.iter() {
            report.open_client_count += usize::from(client.is_running());
            report.waiting_client_count += usize::from(client.is_waiting());
            report.own_connection_count += usize::from(client.has_moved());
            report.client_output_len += client.output().len();
        }
        for (_, connection) in self.connections.iter() {
            let is_ended = connection.phase() == UpstreamPhase::Over && connection.output().is_empty();
            report.upstream_connection_count += usize::from(connection.phase() != UpstreamPhase::Dialling && !is_ended);
        }
        for (pool, login) in self.pools.iter() {
            let mut of = PoolReport {
                user: login.user().to_string(),
                vhost: pool.vhost().to_string(),
                client_count: pool.client_count(),
                waiting_client_count: pool.waiting_count(),
                is_away: pool.is_away(),
                parked_channel_max: pool.lane_of(Kind::Publishes).pace().parked_max(),
                last_error: pool.check().last_error().map(str::to_owned),
                connections: Vec::new(),
            };
            for id in pool.connections().chain(pool.opening()) {
                let Some(connection) = self.connections.get(id) else { continue };
                let (upstream, address) = upstream_of(id);
                of.connections.push(UpstreamConnectionReport {
                    upstream,
                    address,
                    is_for_publishes: matches!(connection.usage(), ConnectionUse::Shared(_, Kind::Publishes)),
                    is_open: connection.is_running(),
                    is_draining: connection.is_draining(),
                    is_blocked: connection.is_blocked(),
                    channel_count: connection.channels().open_count(),
                    used_channel_count: connection.channels().used_count(),
                    parked_channel_count: connection.channels().parked_count(),
                    unconfirmed_count: connection.channels().iter().map(|there| there.unconfirmed_count()).sum(),
                    output_len: connection.output().len(),
                });
            }
            report.pools.push(of);
        }
        report
    }
}
