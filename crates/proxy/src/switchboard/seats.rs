//! Which channel of which line a client's channel uses.

use super::channel::Stage;
use super::client::Client;
use super::ids::PoolId;
use super::lane::Kind;
use super::line::Use;
use super::wait::Waits;
use super::{ClientId, LineId, Switchboard};

/// What becomes of a channel's seat.
enum Fit {
    /// It is the right one.
    Stays,
    /// The channel gets another one, as soon as nothing is under way here.
    Leaves,
    /// The same, on this line.
    GoesTo(LineId),
}

/// Of a pool's channels, one in so many is to be left before another line is opened.
const SPARE_SHARE: usize = 8;

impl Switchboard {
    /// The channel of a shared line that this channel of a client uses. `None`: there is none now, and the client waits.
    pub(super) fn take_seat(&mut self, id: ClientId, number: u16, kind: Kind) -> Option<(LineId, u16)> {
        let client = &self.clients[id];
        let (pool, seat) = (client.pool()?, client.channel(number)?.seat());
        let mut elsewhere = None;
        if let Some(seat) = seat {
            match self.fit(seat, kind) {
                Fit::Stays => return Some(seat),
                Fit::Leaves => {}
                Fit::GoesTo(line) => elsewhere = Some(line),
            }
            if !self.is_channel_quiet(id, number) {
                self.wait_for(id, Waits::Quiet);
                return None;
            }
            self.leave_seat(id, number);
        }
        let found = match elsewhere {
            Some(line) => {
                let at = self.open_channel(line);
                if let Some(channel) = self.lines[line].channel_mut(at) {
                    // No other client is to find it free there.
                    channel.soil();
                }
                Some((line, at))
            }
            None => self.find_seat(pool, kind),
        };
        // Better among those who publish than nowhere.
        let is_stuck = found.is_none() && kind == Kind::Calls && !self.may_dial();
        let found = match is_stuck {
            true => self.find_seat(pool, Kind::Publishes),
            false => found,
        };
        let Some((line_id, at)) = found else {
            self.wait_for_line(id, pool, kind);
            return None;
        };
        let (published, was_used) = self.lines[line_id].channels_mut().occupy(at, (id, number))?;
        self.counters.channels_reused += u64::from(was_used);
        let client = &mut self.clients[id];
        client.stop_waiting();
        client.channel_mut(number)?.sit((line_id, at), published);
        self.tell_blocked(id);
        Some((line_id, at))
    }

    /// Whether what a channel does next is to be done on the seat it has.
    #[inline]
    fn fit(&mut self, (id, at): (LineId, u16), kind: Kind) -> Fit {
        let line = &mut self.lines[id];
        let Use::Shared(pool, of) = line.usage() else { return Fit::Stays };
        // Who always has something under way would stay for ever.
        if line.is_draining() && self.line_with_room(pool, of).is_some() {
            return Fit::Leaves;
        }
        let line = &mut self.lines[id];
        match (kind, of) {
            (Kind::Publishes, Kind::Publishes) => Fit::Stays,
            (Kind::Publishes, Kind::Calls) if line.is_blocked() => Fit::Stays,
            (Kind::Publishes, Kind::Calls) => self.blocked_calls_line(pool).map_or(Fit::Stays, Fit::GoesTo),
            // What it asks is not to be asked where others publish, nor where an alarm has stopped them.
            (Kind::Calls, Kind::Publishes) if line.channel(at).is_some_and(|there| there.is_clean()) => Fit::Leaves,
            (Kind::Calls, _) if line.is_blocked() => Fit::Leaves,
            (Kind::Calls, _) => Fit::Stays,
        }
    }

    /// A line for calls that an alarm has stopped, since somebody published there. What others publish meanwhile goes there as well: one more
    /// line would be stopped for it, and with it all who only ask.
    fn blocked_calls_line(&mut self, pool: PoolId) -> Option<LineId> {
        let (lines, limit) = (&self.lines, usize::from(self.options.line_channel_max));
        let pool = self.pools.pool(pool);
        let limit = limit.min(pool.channel_limit());
        let is_open = |id: &LineId| {
            let line = &lines[*id];
            line.is_blocked() && line.is_running() && !line.is_draining() && line.channels_left(limit) > 0
        };
        pool.lane(Kind::Calls).lines().find(is_open)
    }

    /// The client looks at its frame again when the line has sent what waits to be written to it. That is for the line's heartbeats to judge.
    pub(super) fn wait_for_room(&mut self, id: ClientId, line: LineId) {
        self.lines[line].add_waiter(id);
        self.wait_for(id, Waits::Room);
    }

    /// Whether nothing is under way for a client's channel on a shared line.
    pub(super) fn is_channel_quiet(&mut self, id: ClientId, number: u16) -> bool {
        let Some(channel) = self.clients[id].channel(number) else { return true };
        let is_asked = !channel.is_answered() || channel.stage() == Stage::Closing;
        let is_quiet =
            channel.seat().is_none_or(|(line, at)| self.lines[line].channel(at).is_none_or(|there| there.is_quiet()));
        !is_asked && is_quiet
    }

    /// Whether nothing is under way for any of a client's channels on shared lines.
    pub(super) fn is_client_quiet(&mut self, id: ClientId) -> bool {
        self.clients[id].channel_numbers().into_iter().all(|number| self.is_channel_quiet(id, number))
    }

    /// A client's channel, on which nothing is under way, gives back its seat and has another when it next says something.
    pub(super) fn leave_seat(&mut self, id: ClientId, number: u16) {
        let Some(channel) = self.clients[id].channel_mut(number) else { return };
        if let Some((line, at)) = channel.leave_seat() {
            self.release_seat(line, at);
            self.tell_blocked(id);
        }
    }

    /// A client's channels on which nothing is under way give back their seats.
    pub(super) fn leave_quiet_seats(&mut self, id: ClientId) {
        for number in self.clients[id].channel_numbers() {
            if self.is_channel_quiet(id, number) {
                self.leave_seat(id, number);
            }
        }
    }

    /// A channel that is free, or a new one. None while as many wait for confirms of clients that have gone as are to.
    fn find_seat(&mut self, pool: PoolId, kind: Kind) -> Option<(LineId, u16)> {
        if self.parkable_count(pool, kind) == 0 {
            return None;
        }
        self.free_seat(pool, kind).or_else(|| self.new_seat(pool, kind))
    }

    /// How many more channels may be parked.
    fn parkable_count(&mut self, pool: PoolId, kind: Kind) -> usize {
        let parked_count = self.parked_count(pool, kind);
        self.pools.pool(pool).lane(kind).pace().parked_max().saturating_sub(parked_count)
    }

    /// Channels whose clients have gone, and that wait for their confirms.
    fn parked_count(&mut self, pool: PoolId, kind: Kind) -> usize {
        let lines = &self.lines;
        self.pools.pool(pool).lane(kind).lines().map(|id| lines[id].channels().parked_count()).sum()
    }

    fn free_seat(&mut self, pool: PoolId, kind: Kind) -> Option<(LineId, u16)> {
        loop {
            let (line_id, at) = self.pools.pool(pool).lane(kind).pop_free()?;
            let line = &mut self.lines[line_id];
            let is_usable = line.takes(kind) && line.channel(at).is_some_and(|channel| channel.is_free());
            if is_usable {
                return Some((line_id, at));
            }
        }
    }

    /// Opens a channel on the fullest line that has room, so that those nobody needs become empty. It need not be answered before it is used.
    fn new_seat(&mut self, pool_id: PoolId, kind: Kind) -> Option<(LineId, u16)> {
        let line_id = self.line_with_room(pool_id, kind)?;
        Some((line_id, self.open_channel(line_id)))
    }

    /// The fullest line that has room for a channel. Where little is left, or none, another line is wanted.
    pub(super) fn line_with_room(&mut self, pool_id: PoolId, kind: Kind) -> Option<LineId> {
        let lines = &self.lines;
        let pool = self.pools.pool(pool_id);
        let limit = usize::from(self.options.line_channel_max).min(pool.channel_limit());
        let room_of = |id: LineId| {
            let line = &lines[id];
            let room = line.channels_left(limit);
            (line.takes(kind) && room > 0).then_some((room, id))
        };
        let lane = pool.lane(kind);
        let (mut room_all, mut best) = (0, None);
        for (room, id) in lane.lines().filter_map(room_of) {
            room_all += room;
            best = Some(best.map_or((room, id), |best: (usize, LineId)| best.min((room, id))));
        }
        let line_count = lane.line_count();
        if room_all * SPARE_SHARE < limit * line_count.max(1) {
            self.want_line(pool_id, kind);
        }
        best.map(|(_, line_id)| line_id)
    }

    fn open_channel(&mut self, line_id: LineId) -> u16 {
        let at = self.lines[line_id].open_channel();
        self.counters.channels_opened += 1;
        self.effects.line_changed(line_id);
        at
    }

    /// A client's channel uses its channel no longer: the pool gets it back, or it is closed.
    pub(super) fn release_seat(&mut self, line_id: LineId, at: u16) {
        let now_ms = self.now_ms;
        let line = &mut self.lines[line_id];
        let Use::Shared(pool, kind) = line.usage() else { return };
        let is_running = line.is_running();
        let Some(channel) = line.channels_mut().release(at, now_ms) else { return };
        let (is_closing, is_clean, is_free) = (channel.is_closing(), channel.is_clean(), channel.is_free());
        if !is_running || is_closing {
            return;
        }
        if !is_clean {
            self.close_line_channel(line_id, at);
        } else if is_free {
            self.seat_is_free(pool, kind, line_id, at);
        } else {
            line.channels_mut().park(at);
        }
    }

    /// All that a channel had published was confirmed, so long after the last of it.
    pub(super) fn note_confirmed(&mut self, line_id: LineId, wait_ms: u64, was_parked: bool) {
        let now_ms = self.now_ms;
        let Use::Shared(pool_id, kind) = self.lines[line_id].usage() else { return };
        if self.pools.pool(pool_id).lane(kind).pace_mut().note(wait_ms, was_parked, now_ms) {
            let parked_count = self.parked_count(pool_id, kind);
            self.pools.pool(pool_id).lane(kind).pace_mut().judge(parked_count, now_ms);
            self.wake_waiters(pool_id, kind);
        }
    }

    pub(super) fn close_line_channel(&mut self, line_id: LineId, at: u16) {
        if self.lines[line_id].close_channel(at) {
            self.effects.line_changed(line_id);
        }
    }

    pub(super) fn seat_is_free(&mut self, pool: PoolId, kind: Kind, line_id: LineId, at: u16) {
        let line = &mut self.lines[line_id];
        line.channels_mut().unpark(at);
        if line.is_draining() {
            self.close_line_channel(line_id, at);
            return;
        }
        self.pools.pool(pool).lane(kind).push_free(line_id, at);
        self.wake_waiter(pool, kind);
        if kind == Kind::Publishes && !self.may_dial() {
            // It has to do for those as well.
            self.wake_waiter(pool, Kind::Calls);
        }
    }

    /// Channels may be had again: so many clients look again, those that wait longest.
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

    /// The client looks at its frame again when its pool has a line or a channel for it.
    fn wait_for_line(&mut self, id: ClientId, pool: PoolId, kind: Kind) {
        self.wait_for(id, Waits::Pool(kind));
        self.pools.pool(pool).lane(kind).add_waiter(id);
        if self.parkable_count(pool, kind) > 0 {
            self.line_with_room(pool, kind);
        }
    }
}
