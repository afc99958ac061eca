//! What publishers without confirms say while their upstream is away is kept, and sent on later by a forwarder.
//!
//! An upstream is away from a pool when a client has waited for an upstream connection for a moment and there is none. While something is
//! kept for a pool's user and vhost, what its publishers say is put behind it; when little is left and it is being sent on, they wait for
//! the end, so that there is one. A channel on which something was kept says nothing else upstream before that is sent on.

use std::sync::Arc;

use amqp::handshake::ServerHandshake;

use super::client::Phase;
use super::frame_outcome::FrameOutcome;
use super::ids::{LoginId, PoolId};
use super::lane::Kind;
use super::upstream_connection::UpstreamConnection;
use super::wait::Waits;
use super::{ClientId, Switchboard};
use crate::spool::{Backlog, Spool};

/// Where a publish is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PublishRoute {
    /// Over an upstream connection.
    UpstreamConnection,
    /// To the spool.
    Spool,
    /// It waits for what is before it.
    Behind(Waits),
}

impl Switchboard {
    /// Keeps what cannot be sent.
    pub fn set_spool(&mut self, spool: Arc<Spool>) {
        self.spool.set(spool);
    }

    /// Something is different about the spool: clients that wait for it look again.
    pub fn spool_changed(&mut self, now_ms: u64) {
        self.now_ms = now_ms;
        self.wake_spool_waiters();
        self.run_woken();
    }

    pub(super) fn wake_spool_waiters(&mut self) {
        // The client that waits longest comes first.
        for id in self.spool.take_waiters().into_iter().rev() {
            let waits = self.clients.get(id).map(|client| client.waits());
            if matches!(waits, Some(Waits::SpoolRoom | Waits::SpoolEnd)) {
                self.wake_queue.push(id);
            }
        }
    }

    /// Where a whole publish of a client's channel is sent.
    pub(super) fn way(&mut self, id: ClientId, number: u16) -> PublishRoute {
        let Some(spool) = self.spool.get() else { return PublishRoute::UpstreamConnection };
        let client = &self.clients[id];
        let (Some(pool_id), Some(channel)) = (client.pool(), client.channel(number)) else {
            return PublishRoute::UpstreamConnection;
        };
        if channel.tags().is_some() {
            return PublishRoute::UpstreamConnection;
        }
        let has_lease = channel.lease().is_some();
        let (pool, login) = self.pools.with_login(pool_id);
        let (is_away, filled_count) = (pool.is_away(), spool.filled_count());
        if pool.is_unheld_at(filled_count) && (!is_away || has_lease) {
            return PublishRoute::UpstreamConnection;
        }
        // A user that upstreams no longer let in is to hear of it.
        let is_let_in = pool.is_away() || pool.check().accepted_ms().is_some();
        let is_token = login.has_token();
        let held = spool.holds(login.user(), pool.vhost(), self.now_ms);
        self.pools.pool(pool_id).set_unheld_at((held == Backlog::Nothing).then_some(filled_count));
        match held {
            Backlog::Nothing if !is_away || has_lease => PublishRoute::UpstreamConnection,
            _ if !is_let_in || is_token => PublishRoute::UpstreamConnection,
            // What is on its way already must not be overtaken.
            _ if has_lease && !self.is_channel_quiet(id, number) => PublishRoute::Behind(Waits::Quiet),
            Backlog::Little if !is_away => PublishRoute::Behind(Waits::SpoolEnd),
            _ => PublishRoute::Spool,
        }
    }

    /// Keeps a whole publish, which came in these parts. Where there is no room the client waits.
    pub(super) fn keep(&mut self, id: ClientId, number: u16, parts: &[&[u8]]) -> Option<()> {
        let pool_id = self.clients[id].pool()?;
        let (pool, login) = self.pools.with_login(pool_id);
        let is_away = pool.is_away();
        let spool = self.spool.get()?;
        let kept = spool.keep(login.user(), pool.vhost(), parts, self.now_ms);
        if self.clients[id].note_room(kept.is_ok()) {
            spool.note_full();
        }
        if is_away {
            // No client waits for it that would ask.
            self.request_connection(pool_id, Kind::Publishes);
        }
        let Ok(seq) = kept else {
            self.wait_for_spool(id, Waits::SpoolRoom);
            return None;
        };
        if let Some(channel) = self.clients[id].channel_mut(number) {
            channel.set_kept(Some(seq));
        }
        Some(())
    }

    /// The client looks at its frame again when the spool has room, or nothing more of its user and vhost.
    pub(super) fn wait_for_spool(&mut self, id: ClientId, what: Waits) -> FrameOutcome {
        self.spool.add_waiter(id);
        self.wait_for(id, what)
    }

    /// Whether a channel may say nothing upstream yet: what was kept of it is to be there first.
    pub(super) fn is_held_back(&mut self, id: ClientId, number: u16) -> bool {
        let client = &mut self.clients[id];
        let (Some(spool), Some(pool)) = (self.spool.get(), client.pool()) else { return false };
        let Some(channel) = client.channel_mut(number) else { return false };
        let Some(seq) = channel.kept() else { return false };
        let (pool, login) = self.pools.with_login(pool);
        let is_there = spool.holds_up_to(login.user(), pool.vhost(), seq);
        if !is_there {
            channel.set_kept(None);
        }
        is_there
    }

    /// Whether any channel of a client may say nothing upstream yet.
    pub(super) fn is_client_held_back(&mut self, id: ClientId) -> bool {
        if !self.spool.is_there() {
            return false;
        }
        self.clients[id].channel_numbers().into_iter().any(|number| self.is_held_back(id, number))
    }

    /// Whether a login is believed, since no upstream can be asked.
    pub(super) fn is_believed(&mut self, login_id: LoginId, vhost: Option<&str>) -> bool {
        let Some(spool) = self.spool.get() else { return false };
        let login = self.pools.login(login_id);
        spool.believes(login.user(), login.secret(), vhost, self.now_ms)
    }

    /// An upstream has let a pool's login in. By a token nothing was kept, and what was is not to be sent on with one.
    pub(super) fn report_accepted(&mut self, pool_id: PoolId) {
        let (pool, login) = self.pools.with_login(pool_id);
        if let Some(spool) = self.spool.get().filter(|_| !login.has_token()) {
            spool.accepted(login.user(), login.secret(), pool.vhost(), self.now_ms);
        }
    }

    /// An upstream does not let a login in; or not there, if a vhost is named.
    pub(super) fn report_refused(&mut self, login_id: LoginId, vhost: Option<&str>) {
        if let Some(spool) = self.spool.get() {
            let login = self.pools.login(login_id);
            spool.refused(login.user(), login.secret(), vhost);
        }
    }

    /// Sees whether the upstream is away that a client waits for.
    pub(super) fn note_away(&mut self, id: ClientId) {
        let client = &self.clients[id];
        let is_long = |since_ms| self.now_ms >= since_ms + self.options.spool_after_ms;
        if !self.spool.is_there() || !client.waiting_since_ms().is_some_and(is_long) {
            return;
        }
        let (phase, waits, login, pool) = (client.phase(), client.waits(), client.login(), client.pool());
        match (phase, waits, login, pool) {
            (Phase::Handshake(ServerHandshake::StartOk), Waits::Login, Some(login), _)
                if !self.has_connection(|connection| connection.login() == login) && self.is_believed(login, None) =>
            {
                self.pools.login(login).note_away();
                self.wake_queue.push(id);
            }
            (Phase::Handshake(ServerHandshake::Open), Waits::Login, Some(login), Some(pool)) => {
                let vhost = self.pools.pool(pool).vhost().clone();
                if !self.has_pool_connection(pool) && self.is_believed(login, Some(&vhost)) {
                    self.pools.pool(pool).set_away(true);
                    self.wake_queue.push(id);
                }
            }
            (Phase::Running, Waits::Pool(Kind::Publishes), _, Some(pool))
                if !self.has_pool_connection(pool) && self.is_only_absent(pool) =>
            {
                self.pools.pool(pool).set_away(true);
                let waiters = self.pools.pool(pool).lane(Kind::Publishes).take_waiters();
                self.wake_queue.extend(waiters);
            }
            _ => {}
        }
    }

    fn has_connection(&self, is_meant: impl Fn(&UpstreamConnection) -> bool) -> bool {
        self.connections.iter().any(|(_, connection)| connection.is_running() && is_meant(connection))
    }

    /// Whether there is an upstream connection for publishers of a pool.
    pub(super) fn has_pool_connection(&mut self, pool: PoolId) -> bool {
        let connections = &self.connections;
        self.pools
            .pool(pool)
            .lane(Kind::Publishes)
            .connections()
            .any(|connection| connections[connection].is_running() && !connections[connection].is_draining())
    }

    /// Whether a pool has no upstream connection for want of an upstream: not because it was refused, or there may be no more upstream
    /// connections.
    fn is_only_absent(&mut self, pool: PoolId) -> bool {
        let may_dial = self.may_dial();
        let pool = self.pools.pool(pool);
        pool.check().accepted_ms().is_some() && (may_dial || pool.opening().next().is_some())
    }

    /// What an absence asks for twice a second: an upstream connection as soon as there can be one. With no client left to need it, it is
    /// forgotten.
    pub(super) fn tick_away(&mut self, pool_id: PoolId) {
        let (now_ms, forget_ms) = (self.now_ms, self.options.pool_idle_ms);
        let pool = self.pools.pool(pool_id);
        if !pool.is_away() {
            return;
        }
        if pool.client_count() > 0 {
            self.request_connection(pool_id, Kind::Publishes);
        } else if now_ms >= pool.idle_since_ms() + forget_ms {
            pool.set_away(false);
        }
    }
}
