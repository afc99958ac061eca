//! How upstream connections come to be wanted, and are let go.

use super::ids::PoolId;
use super::lane::Kind;
use super::upstream_connection::{ConnectionUse, UpstreamConnection};
use super::{Effect, Switchboard, UpstreamConnectionId};
use crate::limits::CLOSE_TIMEOUT_MS;

impl Switchboard {
    /// Another upstream connection for a pool, unless one is coming or there are as many as there may be.
    pub(super) fn request_connection(&mut self, pool_id: PoolId, kind: Kind) {
        let (now_ms, may_dial) = (self.now_ms, self.may_dial());
        let connections = &self.connections;
        let pool = self.pools.pool(pool_id);
        let (login, vhost, is_refused) = (pool.login(), pool.vhost().clone(), pool.is_refused(now_ms));
        let lane = pool.lane(kind);
        let is_usable = |connection: &UpstreamConnectionId| connections[*connection].takes(kind);
        let count = lane.connections().filter(is_usable).count();
        if lane.opening().is_some() || count >= self.options.pool_connection_max || is_refused {
            return;
        }
        if !may_dial {
            // Calls do with an upstream connection for publishes.
            self.close_unused_connection((kind == Kind::Calls).then_some(pool_id));
            return;
        }
        let connection =
            self.dial(UpstreamConnection::new(ConnectionUse::Shared(pool_id, kind), login, Some(vhost), now_ms));
        self.pools.pool(pool_id).lane(kind).set_opening(connection);
    }

    /// Makes room for an upstream connection that a client needs, where there may be no more: closes one that no client uses, but none of a
    /// pool that can use what it has.
    pub(super) fn close_unused_connection(&mut self, kept: Option<PoolId>) {
        let is_unused = |connection: &UpstreamConnection| {
            let ConnectionUse::Shared(pool, _) = connection.usage() else { return false };
            kept != Some(pool) && connection.is_running() && connection.is_unused()
        };
        let unused = self.connections.iter().find(|(_, connection)| is_unused(connection)).map(|(id, _)| id);
        if let Some(id) = unused {
            self.close_connection(id);
        }
    }

    /// An upstream is to see whether a pool's login is let in still. That is one upstream connection more than there may be, for a moment.
    pub(super) fn want_check(&mut self, pool_id: PoolId) {
        let now_ms = self.now_ms;
        let pool = self.pools.pool(pool_id);
        if pool.check().connection().is_some() || pool.opening().next().is_some() || pool.is_refused(now_ms) {
            return;
        }
        let (login, vhost) = (pool.login(), pool.vhost().clone());
        let connection =
            self.dial(UpstreamConnection::new(ConnectionUse::Check(pool_id), login, Some(vhost), self.now_ms));
        self.pools.pool(pool_id).check_mut().start(connection);
    }

    /// Whether there may be another upstream connection.
    pub(super) fn may_dial(&self) -> bool {
        self.options.upstream_connection_max == 0
            || self.connections.counted_len() < self.options.upstream_connection_max
    }

    pub(super) fn dial(&mut self, connection: UpstreamConnection) -> UpstreamConnectionId {
        self.counters.connections_dialled += 1;
        self.pools.retain_login(connection.login());
        let (client, vhost) = (connection.owner(), connection.vhost().cloned());
        let id = self.connections.insert(connection);
        self.effects.push(Effect::Dial { connection: id, vhost, client });
        id
    }

    /// Ends an upstream connection: politely if it is open.
    pub(super) fn close_connection(&mut self, id: UpstreamConnectionId) {
        let until_ms = self.now_ms + CLOSE_TIMEOUT_MS;
        if self.connections[id].close(until_ms) {
            self.effects.upstream_changed(id);
        }
    }
}
