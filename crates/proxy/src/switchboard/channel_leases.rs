//! Which channel of which upstream connection a client's channel uses.

use amqp::method::channel;

use super::channel::Stage;
use super::client::Client;
use super::ids::PoolId;
use super::lane::Kind;
use super::upstream_connection::ConnectionUse;
use super::wait::Waits;
use super::{ClientId, Switchboard, UpstreamConnectionId};

/// What becomes of a channel's channel.
enum LeaseFit {
    /// It is the right one.
    Stays,
    /// The channel gets another one, as soon as nothing is under way here.
    Leaves,
    /// The same, on this upstream connection.
    GoesTo(UpstreamConnectionId),
}

/// Of a pool's channels, one in so many is to be left before another upstream connection is opened.
const SPARE_SHARE: usize = 8;

impl Switchboard {
    /// The channel of a shared upstream connection that this channel of a client uses. `None`: there is none now, and the client waits.
    pub(super) fn lease_channel(
        &mut self,
        id: ClientId,
        number: u16,
        kind: Kind,
    ) -> Option<(UpstreamConnectionId, u16)> {
        let client = &self.clients[id];
        let (pool, lease) = (client.pool()?, client.channel(number)?.lease());
        let mut elsewhere = None;
        if let Some(lease) = lease {
            match self.fit(lease, kind) {
                LeaseFit::Stays => return Some(lease),
                LeaseFit::Leaves => {}
                LeaseFit::GoesTo(connection) => elsewhere = Some(connection),
            }
            if !self.is_channel_quiet(id, number) {
                self.wait_for(id, Waits::Quiet);
                return None;
            }
            self.return_lease(id, number);
        }
        let found = match elsewhere {
            Some(connection) => {
                let at = self.open_channel(connection);
                if let Some(channel) = self.connections[connection].channel_mut(at) {
                    // No other client is to find it free there.
                    channel.soil();
                }
                Some((connection, at))
            }
            None => self.find_channel(pool, kind),
        };
        // Better among those that publish than nowhere.
        let is_stuck = found.is_none() && kind == Kind::Calls && !self.may_dial();
        let found = match is_stuck {
            true => self.find_channel(pool, Kind::Publishes),
            false => found,
        };
        let Some((connection_id, at)) = found else {
            self.wait_for_connection(id, pool, kind);
            return None;
        };
        let (published, was_used) = self.connections[connection_id].channels_mut().occupy(at, (id, number))?;
        self.counters.channels_reused += u64::from(was_used);
        if self.connections[connection_id].takes_names() {
            let name = self.clients[id].name();
            self.connections[connection_id].send(at, &channel::OnBehalfOf { client: name.as_bytes() });
        }
        let client = &mut self.clients[id];
        client.stop_waiting();
        client.channel_mut(number)?.lease_to((connection_id, at), published);
        self.update_blocked(id);
        Some((connection_id, at))
    }

    /// Whether what a channel does next is to be done on the channel it has.
    #[inline]
    fn fit(&mut self, (id, at): (UpstreamConnectionId, u16), kind: Kind) -> LeaseFit {
        let connection = &mut self.connections[id];
        let ConnectionUse::Shared(pool, of) = connection.usage() else { return LeaseFit::Stays };
        // A client that always has something under way would stay for ever.
        if connection.is_draining() && self.connection_with_room(pool, of).is_some() {
            return LeaseFit::Leaves;
        }
        let connection = &mut self.connections[id];
        match (kind, of) {
            (Kind::Publishes, Kind::Publishes) => LeaseFit::Stays,
            (Kind::Publishes, Kind::Calls) if connection.is_blocked() => LeaseFit::Stays,
            (Kind::Publishes, Kind::Calls) => {
                self.blocked_calls_connection(pool).map_or(LeaseFit::Stays, LeaseFit::GoesTo)
            }
            // What it asks is not to be asked where others publish, nor where an alarm has stopped them.
            (Kind::Calls, Kind::Publishes) if connection.channel(at).is_some_and(|there| there.is_clean()) => {
                LeaseFit::Leaves
            }
            (Kind::Calls, _) if connection.is_blocked() => LeaseFit::Leaves,
            (Kind::Calls, _) => LeaseFit::Stays,
        }
    }

    /// An upstream connection for calls that an alarm has stopped, since a client published there. What others publish meanwhile is sent
    /// there as well: one more upstream connection would be stopped for it, and with it all that only ask.
    fn blocked_calls_connection(&mut self, pool: PoolId) -> Option<UpstreamConnectionId> {
        let (connections, limit) = (&self.connections, usize::from(self.options.upstream_channel_max));
        let pool = self.pools.pool(pool);
        let limit = limit.min(pool.channel_limit());
        let is_open = |id: &UpstreamConnectionId| {
            let connection = &connections[*id];
            connection.is_blocked()
                && connection.is_running()
                && !connection.is_draining()
                && connection.channels_left(limit) > 0
        };
        pool.lane(Kind::Calls).connections().find(is_open)
    }

    /// The client looks at its frame again when the upstream connection has sent what waits to be written to it. That is for the upstream
    /// connection's heartbeats to judge.
    pub(super) fn wait_for_room(&mut self, id: ClientId, connection: UpstreamConnectionId) {
        self.connections[connection].add_waiter(id);
        self.wait_for(id, Waits::Room);
    }

    /// Whether nothing is under way for a client's channel on a shared upstream connection.
    pub(super) fn is_channel_quiet(&mut self, id: ClientId, number: u16) -> bool {
        let Some(channel) = self.clients[id].channel(number) else { return true };
        let is_asked = !channel.is_answered() || channel.stage() == Stage::Closing;
        let is_quiet = channel.lease().is_none_or(|(connection, at)| {
            self.connections[connection].channel(at).is_none_or(|there| there.is_quiet())
        });
        !is_asked && is_quiet
    }

    /// Whether nothing is under way for any of a client's channels on shared upstream connections.
    pub(super) fn is_client_quiet(&mut self, id: ClientId) -> bool {
        self.clients[id].channel_numbers().into_iter().all(|number| self.is_channel_quiet(id, number))
    }

    /// A client's channel, on which nothing is under way, gives back its channel and has another when it next says something.
    pub(super) fn return_lease(&mut self, id: ClientId, number: u16) {
        let Some(channel) = self.clients[id].channel_mut(number) else { return };
        if let Some((connection, at)) = channel.return_lease() {
            self.release_lease(connection, at);
            self.update_blocked(id);
        }
    }

    /// A client's channels on which nothing is under way give back their channels.
    pub(super) fn return_quiet_leases(&mut self, id: ClientId) {
        for number in self.clients[id].channel_numbers() {
            if self.is_channel_quiet(id, number) {
                self.return_lease(id, number);
            }
        }
    }

    /// A channel that is free, or a new one. None while enough channels wait for confirms of disconnected clients.
    fn find_channel(&mut self, pool: PoolId, kind: Kind) -> Option<(UpstreamConnectionId, u16)> {
        if self.parkable_count(pool, kind) == 0 {
            return None;
        }
        self.free_channel(pool, kind).or_else(|| self.new_channel(pool, kind))
    }

    /// How many more channels may be parked.
    fn parkable_count(&mut self, pool: PoolId, kind: Kind) -> usize {
        let parked_count = self.parked_count(pool, kind);
        self.pools.pool(pool).lane(kind).pace().parked_max().saturating_sub(parked_count)
    }

    /// Channels whose clients have disconnected, and that wait for their confirms.
    fn parked_count(&mut self, pool: PoolId, kind: Kind) -> usize {
        let connections = &self.connections;
        self.pools.pool(pool).lane(kind).connections().map(|id| connections[id].channels().parked_count()).sum()
    }

    fn free_channel(&mut self, pool: PoolId, kind: Kind) -> Option<(UpstreamConnectionId, u16)> {
        loop {
            let (connection_id, at) = self.pools.pool(pool).lane(kind).pop_free()?;
            let connection = &mut self.connections[connection_id];
            let is_usable = connection.takes(kind) && connection.channel(at).is_some_and(|channel| channel.is_free());
            if is_usable {
                return Some((connection_id, at));
            }
        }
    }

    /// Opens a channel on the fullest upstream connection that has room, so that those that are not needed become empty. It need not be
    /// answered before it is used.
    fn new_channel(&mut self, pool_id: PoolId, kind: Kind) -> Option<(UpstreamConnectionId, u16)> {
        let connection_id = self.connection_with_room(pool_id, kind)?;
        Some((connection_id, self.open_channel(connection_id)))
    }

    /// The fullest upstream connection that has room for a channel. Where little is left, or none, another upstream connection is wanted.
    pub(super) fn connection_with_room(&mut self, pool_id: PoolId, kind: Kind) -> Option<UpstreamConnectionId> {
        let connections = &self.connections;
        let pool = self.pools.pool(pool_id);
        let limit = usize::from(self.options.upstream_channel_max).min(pool.channel_limit());
        let room_of = |id: UpstreamConnectionId| {
            let connection = &connections[id];
            let room = connection.channels_left(limit);
            (connection.takes(kind) && room > 0).then_some((room, id))
        };
        let lane = pool.lane(kind);
        let (mut room_all, mut best) = (0, None);
        for (room, id) in lane.connections().filter_map(room_of) {
            room_all += room;
            best = Some(best.map_or((room, id), |best: (usize, UpstreamConnectionId)| best.min((room, id))));
        }
        let upstream_connection_count = lane.upstream_connection_count();
        if room_all * SPARE_SHARE < limit * upstream_connection_count.max(1) {
            self.request_connection(pool_id, kind);
        }
        best.map(|(_, connection_id)| connection_id)
    }

    fn open_channel(&mut self, connection_id: UpstreamConnectionId) -> u16 {
        let at = self.connections[connection_id].open_channel();
        self.counters.channels_opened += 1;
        self.effects.upstream_changed(connection_id);
        at
    }

    /// A client's channel uses its channel no longer: the pool gets it back, or it is closed.
    pub(super) fn release_lease(&mut self, connection_id: UpstreamConnectionId, at: u16) {
        let now_ms = self.now_ms;
        let connection = &mut self.connections[connection_id];
        let ConnectionUse::Shared(pool, kind) = connection.usage() else { return };
        let is_running = connection.is_running();
        let Some(channel) = connection.channels_mut().release(at, now_ms) else { return };
        let (is_closing, is_clean, is_free) = (channel.is_closing(), channel.is_clean(), channel.is_free());
        if !is_running || is_closing {
            return;
        }
        if !is_clean {
            self.close_connection_channel(connection_id, at);
        } else if is_free {
            self.channel_is_free(pool, kind, connection_id, at);
        } else {
            connection.channels_mut().park(at);
        }
    }

    /// All that a channel had published was confirmed, so long after the last of it.
    pub(super) fn note_confirmed(&mut self, connection_id: UpstreamConnectionId, wait_ms: u64, was_parked: bool) {
        let now_ms = self.now_ms;
        let ConnectionUse::Shared(pool_id, kind) = self.connections[connection_id].usage() else { return };
        if self.pools.pool(pool_id).lane(kind).pace_mut().note(wait_ms, was_parked, now_ms) {
            let parked_count = self.parked_count(pool_id, kind);
            self.pools.pool(pool_id).lane(kind).pace_mut().judge(parked_count, now_ms);
            self.wake_waiters(pool_id, kind);
        }
    }

    pub(super) fn close_connection_channel(&mut self, connection_id: UpstreamConnectionId, at: u16) {
        if self.connections[connection_id].close_channel(at) {
            self.effects.upstream_changed(connection_id);
        }
    }

    pub(super) fn channel_is_free(&mut self, pool: PoolId, kind: Kind, connection_id: UpstreamConnectionId, at: u16) {
        let connection = &mut self.connections[connection_id];
        connection.channels_mut().unpark(at);
        if connection.is_draining() {
            self.close_connection_channel(connection_id, at);
            return;
        }
        self.pools.pool(pool).lane(kind).push_free(connection_id, at);
        self.wake_waiter(pool, kind);
        if kind == Kind::Publishes && !self.may_dial() {
            // It has to do for those as well.
            self.wake_waiter(pool, Kind::Calls);
        }
    }

    /// Channels may be had again: so many clients look again, clients that wait longest.
    pub(super) fn wake_waiters(&mut self, pool: PoolId, kind: Kind) {
        let count = self.parkable_count(pool, kind).min(self.pools.pool(pool).lane(kind).waiter_count());
        let before = self.wake_queue.len();
        (0..count).for_each(|_| self.wake_waiter(pool, kind));
        // The last one that was woken looks first.
        self.wake_queue.reverse_from(before);
    }

    /// There is a channel, or a number for one: the client that waits longest looks again.
    pub(super) fn wake_waiter(&mut self, pool: PoolId, kind: Kind) {
        if self.parkable_count(pool, kind) == 0 {
            return;
        }
        while let Some(id) = self.pools.pool(pool).lane(kind).pop_waiter() {
            let waits = |client: &Client| client.waits() == Waits::Pool(kind) && client.pool() == Some(pool);
            if self.clients.get(id).is_some_and(waits) {
                self.wake_queue.push(id);
                return;
            }
        }
    }

    /// The client looks at its frame again when its pool has an upstream connection or a channel for it.
    fn wait_for_connection(&mut self, id: ClientId, pool: PoolId, kind: Kind) {
        self.wait_for(id, Waits::Pool(kind));
        self.pools.pool(pool).lane(kind).add_waiter(id);
        if self.parkable_count(pool, kind) > 0 {
            self.connection_with_room(pool, kind);
        }
    }
}
