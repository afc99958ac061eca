//! What time brings: heartbeats, timeouts, upstream connections that no client uses.

use std::borrow::Cow;
use std::time::Duration;

use amqp::ReplyCode;
use amqp::handshake::ClientHandshake;

use super::client::Phase;
use super::client_handshake::is_fresh;
use super::ids::PoolId;
use super::lane::Kind;
use super::upstream_channels::UpstreamChannel;
use super::upstream_connection::{ConnectionUse, UpstreamPhase};
use super::wait::Waits;
use super::{ClientId, Notice, Refusal, Switchboard, UpstreamConnectionId};
use crate::limits::{
    CHANNEL_IDLE_MS, IDLE_CHANNEL_CLOSE_COUNT, LONG_PARKED_MS, LONG_PARKED_WAYS, UNCONFIRMED_TIMEOUT_MS,
};

impl Switchboard {
    /// To be said about twice a second.
    pub fn tick(&mut self, now_ms: u64) {
        self.now_ms = now_ms;
        for id in self.clients.ids() {
            self.tick_client(id);
        }
        self.effects.log_given_up();
        for id in self.connections.ids() {
            self.tick_connection(id);
        }
        self.forget_waiters();
        // A disk that was full does not signal when it no longer is.
        self.wake_spool_waiters();
        self.tick_pools();
        let fresh_ms = self.options.login_fresh_ms;
        self.pools.forget_idle(|accepted_ms| is_fresh(accepted_ms, fresh_ms, now_ms));
        self.run_woken();
    }

    fn tick_client(&mut self, id: ClientId) {
        let now_ms = self.now_ms;
        let waits = self.clients[id].waits();
        let timeout_ms = match waits {
            Waits::Quiet | Waits::Room | Waits::Answer => UNCONFIRMED_TIMEOUT_MS,
            _ => self.options.upstream_wait_ms,
        };
        let is_in_alarm = waits == Waits::Quiet && self.is_blocked(id);
        let client = &mut self.clients[id];
        // An alarm may take its time, and so may then what has waited for its end. A disconnected client holds a place for what it said,
        // though not for ever.
        let is_patient = is_in_alarm || matches!(waits, Waits::Room | Waits::Answer | Waits::Nothing);
        if is_patient && !client.has_ended() && client.is_running() {
            client.restart_timeout(now_ms);
        }
        match client.phase() {
            Phase::Handshake(_) if !client.is_waiting() => {
                if client.is_handshake_late(self.options.handshake_timeout_ms, now_ms) {
                    self.end_client(id);
                }
                return;
            }
            Phase::Leaving { until_ms } if now_ms >= until_ms => {
                let is_said = client.own().is_none_or(|connection| self.connections[connection].output().is_empty());
                if is_said {
                    self.part_from_client(id);
                } else {
                    self.end_client(id);
                }
                return;
            }
            Phase::Closing { until_ms } | Phase::Parting { until_ms } | Phase::Refused { until_ms }
                if now_ms >= until_ms =>
            {
                self.end_client(id);
                return;
            }
            Phase::Closing { .. }
            | Phase::Refused { .. }
            | Phase::Leaving { .. }
            | Phase::Parting { .. }
            | Phase::Over => return,
            _ => {}
        }
        let since_ms = client.waiting_since_ms().max(client.ended_ms());
        if since_ms.is_some_and(|since_ms| now_ms >= since_ms + timeout_ms) {
            self.give_up(id, timeout_ms);
            return;
        }
        self.note_away(id);
        let client = &self.clients[id];
        let (is_wanted, own) = (matches!(client.waits(), Waits::OwnConnection | Waits::Quiet), client.own());
        match own {
            None if client.waits() == Waits::OwnConnection => self.wake_queue.push(id),
            // What it was for has failed meanwhile.
            Some(connection)
                if !is_wanted
                    && !client.has_moved()
                    && !client.is_full()
                    && self.connections[connection].is_running() =>
            {
                self.part_from_connection(id);
                self.close_connection(connection);
            }
            _ => {}
        }
        self.beat_client(id);
    }

    /// There has been no upstream connection for a client for too long.
    fn give_up(&mut self, id: ClientId, waited_ms: u64) {
        let capabilities = self.clients[id].capabilities();
        let (pool, login) = (self.clients[id].pool(), self.clients[id].login());
        let last_error = match (pool, login) {
            (Some(pool), _) => self.pools.pool(pool).check().last_error().map(str::to_owned),
            (None, Some(login)) => self.pools.login(login).check().last_error().map(str::to_owned),
            (None, None) => None,
        };
        let waited_s = Duration::from_millis(waited_ms).as_secs_f64();
        let waits = self.clients[id].waits();
        let what = match waits {
            Waits::SpoolRoom => "the spool is full, and no upstream connection was available",
            Waits::SpoolEnd => "earlier stored messages could not be forwarded",
            Waits::Quiet => "pending requests were neither confirmed nor answered",
            Waits::Room | Waits::Answer => "the upstream took no more",
            Waits::Nothing => "responses were not read",
            Waits::Pool(Kind::Publishes) if pool.is_some_and(|pool| self.has_pool_connection(pool)) => {
                "no channel of an upstream connection was left"
            }
            _ => "no upstream connection",
        };
        let text = format!("{what} within {waited_s} s");
        let (for_client, for_log) = match last_error {
            None => (text.clone(), text),
            // A client that is not logged in is not to learn where upstreams are.
            Some(last_error) if pool.is_none() => {
                (format!("{text}: the proxy's log contains the reason"), format!("{text}: {last_error}"))
            }
            Some(last_error) => {
                let text = format!("{text}: {last_error}");
                (text.clone(), text)
            }
        };
        if self.clients[id].is_logging_in() && !capabilities.authentication_failure_close {
            // It expects nothing but to be let in.
            self.end_client(id);
        } else {
            self.close_client(id, &Refusal::new(ReplyCode::ConnectionForced, &for_client));
        }
        let user = login.map_or_else(|| "".into(), |login| self.pools.login(login).user().clone());
        self.effects.gave_up(user, for_log);
    }

    fn beat_client(&mut self, id: ClientId) {
        match self.clients[id].beat(self.now_ms) {
            None => self.end_client(id),
            Some(true) => self.effects.client_changed(id),
            Some(false) => {}
        }
    }

    fn tick_connection(&mut self, id: UpstreamConnectionId) {
        let now_ms = self.now_ms;
        let is_heard = self.upstream_wants(id).read;
        let connection = &mut self.connections[id];
        match connection.phase() {
            // Nothing is closed there that is not open yet.
            UpstreamPhase::Handshake(ClientHandshake::LoggedIn) if connection.is_vhost_late(now_ms) => {
                self.end_connection(id, None);
            }
            // Its vhost may take longer than an answer of the handshake.
            UpstreamPhase::Handshake(ClientHandshake::LoggedIn) => {}
            UpstreamPhase::Handshake(_)
                if connection.is_silent_for(self.options.upstream_handshake_timeout_ms, now_ms) =>
            {
                self.end_connection(id, Some("it sent nothing while the connection was being opened"));
            }
            UpstreamPhase::Closing { until_ms } if now_ms >= until_ms => self.end_connection(id, None),
            UpstreamPhase::Running => {
                match connection.beat(is_heard, now_ms) {
                    None => return self.end_connection(id, Some("it was silent for two heartbeats")),
                    Some(true) => self.effects.upstream_changed(id),
                    Some(false) => {}
                }
                if self.connections[id].is_draining() {
                    self.leave_connection(id);
                }
                self.close_parked_channels(id);
                self.forget_long_parked(id);
                self.close_idle_connection(id);
            }
            _ => {}
        }
    }

    pub(super) fn end_connection(&mut self, id: UpstreamConnectionId, fault: Option<&'static str>) {
        let connection = &mut self.connections[id];
        connection.give_up(fault.map(Cow::Borrowed));
        if fault.is_some() {
            // The upstream is not there, and cannot be notified.
            connection.output_mut().clear();
        }
        self.effects.upstream_changed(id);
    }

    /// Closes a shared upstream connection that no client has used for long, or that none is to use.
    pub(super) fn close_idle_connection(&mut self, id: UpstreamConnectionId) {
        let now_ms = self.now_ms;
        let connection = &self.connections[id];
        let ConnectionUse::Shared(pool_id, kind) = connection.usage() else { return };
        if !connection.is_unused() {
            return;
        }
        let idle_ms = connection.channels().idle_ms(now_ms);
        let is_draining = connection.is_draining();
        let pool = self.pools.pool(pool_id);
        let pool_idle_ms = if pool.client_count() == 0 { now_ms.saturating_sub(pool.idle_since_ms()) } else { 0 };
        let others =
            pool.lane(kind).connections().filter(|other| *other != id && self.connections[*other].is_running()).count();
        let is_kept = others == 0 && kind == Kind::Publishes;
        let is_surplus = !is_kept && idle_ms >= self.options.upstream_idle_ms;
        let is_last = is_kept && pool_idle_ms >= self.options.pool_idle_ms.max(1);
        if is_draining || is_surplus || is_last {
            self.close_connection(id);
        }
    }

    /// Closes channels whose clients have disconnected and whose publishes the upstream does not confirm: the pool would be full of them.
    fn close_parked_channels(&mut self, id: UpstreamConnectionId) {
        let now_ms = self.now_ms;
        let connection = &self.connections[id];
        let is_parked = |there: &UpstreamChannel| {
            let is_left = there.owner().is_none() && !there.is_closing() && there.unconfirmed_count() > 0;
            is_left && there.is_left_for(UNCONFIRMED_TIMEOUT_MS, now_ms)
        };
        let numbered = connection.channels().numbered().filter(|(_, there)| is_parked(there));
        let parked: Vec<(u16, usize)> = numbered.map(|(at, there)| (at, there.unconfirmed_count())).collect();
        let count: usize = parked.iter().map(|(_, count)| count).sum();
        if count == 0 {
            return;
        }
        self.counters.late_losses += count as u64;
        let (user, vhost) = self.names(id);
        self.effects.log(Notice::Unconfirmed { user, vhost, count });
        for (at, _) in parked {
            if let Some(there) = self.connections[id].channel_mut(at) {
                there.forget_unconfirmed();
            }
            self.close_connection_channel(id, at);
        }
    }

    /// What waits for its confirms for much longer than others do waits for something of its own: others are not to wait for that.
    fn forget_long_parked(&mut self, id: UpstreamConnectionId) {
        let now_ms = self.now_ms;
        let connection = &mut self.connections[id];
        let ConnectionUse::Shared(pool, kind) = connection.usage() else { return };
        if connection.channels().parked_count() == 0 {
            return;
        }
        let way_ms = self.pools.pool(pool).lane(kind).pace().way_ms().unwrap_or(0);
        let is_long = |there: &UpstreamChannel| {
            there.is_parked() && there.is_left_for(LONG_PARKED_MS + LONG_PARKED_WAYS * way_ms, now_ms)
        };
        let long: Vec<u16> =
            connection.channels().numbered().filter(|(_, there)| is_long(there)).map(|(at, _)| at).collect();
        long.into_iter().for_each(|at| connection.channels_mut().unpark(at));
    }

    /// Closes channels that a pool has had too many of for a while. One is kept, for a client that comes once in a while.
    fn close_idle_channels(&mut self, pool: PoolId, kind: Kind) {
        let now_ms = self.now_ms;
        let connections = &self.connections;
        let is_idle = |connection: UpstreamConnectionId, at: u16| {
            connections[connection].channel(at).is_none_or(|there| there.is_left_for(CHANNEL_IDLE_MS, now_ms))
        };
        for (connection, at) in self.pools.pool(pool).lane(kind).take_idle(IDLE_CHANNEL_CLOSE_COUNT, is_idle) {
            if self.connections[connection].is_running()
                && self.connections[connection].channel(at).is_some_and(|there| there.is_free())
            {
                self.close_connection_channel(connection, at);
            }
        }
    }

    /// Forgets clients that have disconnected while they waited.
    fn forget_waiters(&mut self) {
        let clients = &self.clients;
        let is_there = |id: &ClientId| clients.get(*id).is_some_and(|client| client.waits() != Waits::Nothing);
        for id in self.pools.pool_ids() {
            self.pools.pool(id).retain_waiters(is_there);
        }
        for id in self.pools.login_ids() {
            self.pools.login(id).check_mut().retain_waiters(is_there);
        }
    }

    /// Channels that no client uses are closed; upstream connections are wanted anew for clients that wait, where the last attempt failed.
    fn tick_pools(&mut self) {
        for id in self.pools.pool_ids() {
            for kind in [Kind::Publishes, Kind::Calls] {
                self.close_idle_channels(id, kind);
                let lane = self.pools.pool(id).lane(kind);
                let (is_wanted, has_free) = (lane.waiter_count() > 0, lane.has_free());
                // They may wait for the confirms of others, which may not come soon.
                if is_wanted && (has_free || self.connection_with_room(id, kind).is_some()) {
                    self.wake_waiters(id, kind);
                }
            }
            self.tick_away(id);
            if self.pools.pool(id).check().has_waiters() {
                self.ask_for_pool(id);
            }
        }
        for id in self.pools.login_ids() {
            if self.pools.login(id).check().has_waiters() {
                self.check_login(id);
            }
        }
    }
}
