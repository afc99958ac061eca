//! How clients and upstream connections end, and which of the others are notified.

use amqp::method::connection;

use super::channel::Stage;
use super::client::Phase;
use super::upstream_connection::{ConnectionUse, UpstreamPhase};
use super::wait::Waits;
use super::{ClientId, Notice, Refusal, Switchboard, UpstreamConnectionId};
use crate::limits::{CLOSE_TIMEOUT_MS, PARTING_TIMEOUT_MS};

impl Switchboard {
    /// Closes a client's connection, and gives back all that it used.
    pub(super) fn close_client(&mut self, id: ClientId, refusal: &Refusal) {
        match self.clients[id].phase() {
            Phase::Closing { .. } | Phase::Over => return,
            // It has asked for the same.
            Phase::Leaving { .. } => return self.part_from_client(id),
            Phase::Parting { .. } => return self.end_client(id),
            _ => {}
        }
        self.release_client(id);
        let until_ms = self.now_ms + CLOSE_TIMEOUT_MS;
        let client = &mut self.clients[id];
        client.send(0, &refusal.to_connection());
        client.enter(Phase::Closing { until_ms });
        client.wake();
        self.effects.client_changed(id);
        // What it has sent already may hold its answer.
        self.wake_queue.push(id);
    }

    /// Nothing more is said to a client than what waits to be written.
    pub(super) fn end_client(&mut self, id: ClientId) {
        self.release_client(id);
        self.clients[id].enter(Phase::Over);
        self.effects.client_changed(id);
    }

    /// Answers a client's close. The client closes its socket when it has read that.
    pub(super) fn part_from_client(&mut self, id: ClientId) {
        self.release_client(id);
        let client = &mut self.clients[id];
        client.send(0, &connection::CloseOk);
        if client.has_ended() {
            return self.end_client(id);
        }
        // A second close is answered, and changes nothing else.
        if !matches!(client.phase(), Phase::Parting { .. }) {
            let silence_ms = Some(u64::from(client.heartbeat_s()) * 1000).filter(|silence_ms| *silence_ms > 0);
            let timeout_ms = silence_ms.map_or(PARTING_TIMEOUT_MS, |silence_ms| silence_ms.min(PARTING_TIMEOUT_MS));
            client.enter(Phase::Parting { until_ms: self.now_ms + timeout_ms });
        }
        client.wake();
        self.effects.client_changed(id);
    }

    /// The client closes its connection. Where it has an upstream connection of its own the upstream answers: objects of the connection are
    /// deleted then.
    pub(super) fn client_leaves(&mut self, id: ClientId) {
        let until_ms = self.now_ms + CLOSE_TIMEOUT_MS;
        let client = &mut self.clients[id];
        if client.own().is_some_and(|connection| self.connections[connection].is_running()) {
            client.enter(Phase::Leaving { until_ms });
            self.release_client(id);
            return;
        }
        self.part_from_client(id);
    }

    /// A client's socket is closed.
    pub(super) fn forget_client(&mut self, id: ClientId) {
        self.release_client(id);
        self.part_from_connection(id);
        self.leave_login(id);
    }

    /// Gives back all channels, and ends the upstream connection of its own.
    fn release_client(&mut self, id: ClientId) {
        let channels = self.clients[id].take_channels();
        for lease in channels.into_values().filter_map(|channel| channel.lease()) {
            self.release_lease(lease.0, lease.1);
        }
        if let Some(connection) = self.clients[id].own() {
            self.close_connection(connection);
        }
    }

    /// An upstream connection's socket is closed. Clients that had nothing on it that is lost continue over another one.
    pub(super) fn forget_connection(&mut self, id: UpstreamConnectionId, why: &str) {
        let now_ms = self.now_ms;
        let connection = &mut self.connections[id];
        let was_wanted = !matches!(connection.phase(), UpstreamPhase::Closing { .. } | UpstreamPhase::Over);
        if was_wanted || connection.closed_with().is_some() {
            self.counters.connections_lost += 1;
        }
        let was_refused = connection.closed_with().is_some();
        let (usage, login, waiters) = (connection.usage(), connection.login(), connection.take_waiters());
        let refusal = connection.closed_with().cloned().unwrap_or_else(|| {
            Refusal::new(amqp::ReplyCode::ConnectionForced, &format!("the upstream connection was lost: {why}"))
        });
        connection.enter(UpstreamPhase::Over);
        let users = connection.channels().iter().filter_map(|there| Some((there.owner()?, !there.is_quiet())));
        let users: Vec<((ClientId, u16), bool)> = users.collect();
        let left = connection.channels().iter().filter(|there| there.owner().is_none());
        let left_count: usize = left.map(|there| there.unconfirmed_count()).sum();
        self.wake_queue.extend_reversed(waiters);
        if left_count > 0 {
            self.counters.late_losses += left_count as u64;
            let (user, vhost) = self.names(id);
            self.effects.log(Notice::LateLoss { user, vhost, count: left_count });
        }
        match usage {
            ConnectionUse::Login(login) => {
                self.pools.login(login).check_mut().fail(id, why);
            }
            ConnectionUse::Check(pool) => {
                self.pools.pool(pool).check_mut().fail(id, why);
            }
            ConnectionUse::Shared(pool, kind) => {
                if self.connections[id].has_opened() {
                    // Up to now it was let in.
                    self.report_accepted(pool);
                }
                let pool = self.pools.pool(pool);
                if pool.lane(kind).forget(id) {
                    pool.check_mut().set_last_error(why);
                }
                pool.touch(now_ms);
            }
            ConnectionUse::Own(client) if !was_refused => self.own_connection_closed(client, &refusal, why),
            ConnectionUse::Own(client) => self.own_connection_lost(client, &refusal),
            ConnectionUse::None => {}
        }
        for ((client, number), is_busy) in users {
            self.lease_lost(client, number, id, is_busy, &refusal);
        }
        self.pools.drop_login(login);
    }

    /// A client's own upstream connection was closed, or lost.
    pub(super) fn own_connection_closed(&mut self, id: ClientId, refusal: &Refusal, why: &str) {
        match self.clients[id].has_moved() {
            true => self.own_connection_lost(id, refusal),
            false => self.own_connection_failed(id, why),
        }
    }

    /// An upstream connection was lost before its client used it: it waits for another one.
    fn own_connection_failed(&mut self, id: ClientId, why: &str) {
        self.part_from_connection(id);
        if let Some(pool) = self.clients[id].pool() {
            self.pools.pool(pool).check_mut().set_last_error(why);
        }
        let client = &mut self.clients[id];
        if matches!(client.waits(), Waits::OwnConnection | Waits::Quiet) {
            client.wait_for(Waits::OwnConnection, self.now_ms);
        }
    }

    /// From here on a client and what was its upstream connection do not know each other.
    pub(super) fn part_from_connection(&mut self, id: ClientId) {
        if let Some(connection) = self.clients[id].take_own()
            && let Some(connection) = self.connections.get_mut(connection)
        {
            connection.disown();
        }
    }

    pub(super) fn own_connection_lost(&mut self, id: ClientId, refusal: &Refusal) {
        self.part_from_connection(id);
        let client = &mut self.clients[id];
        match client.phase() {
            // As it wished.
            Phase::Leaving { .. } => self.part_from_client(id),
            Phase::Closing { .. } | Phase::Parting { .. } | Phase::Over => {}
            _ => self.close_client(id, refusal),
        }
    }

    /// The upstream connection under a client's channel is closed. If nothing was under way there, the channel has another one when it next
    /// says something.
    fn lease_lost(
        &mut self,
        id: ClientId,
        number: u16,
        connection: UpstreamConnectionId,
        is_busy: bool,
        refusal: &Refusal,
    ) {
        let Some(client) = self.clients.get_mut(id) else { return };
        let Some(channel) = client.channel_mut(number) else { return };
        if channel.lease().is_none_or(|(lease, _)| lease != connection) {
            return;
        }
        channel.return_lease();
        if is_busy || !channel.is_answered() || channel.stage() == Stage::Closing {
            self.close_client(id, refusal);
            return;
        }
        self.update_blocked(id);
        if matches!(self.clients[id].waits(), Waits::Quiet | Waits::Room) {
            self.wake_queue.push(id);
        }
    }
}
