//! How clients and lines end, and who is told.

use amqp::method::connection;

use super::channel::Stage;
use super::client::Phase;
use super::line::{LinePhase, Use};
use super::wait::Waits;
use super::{ClientId, LineId, Notice, Refusal, Switchboard};
use crate::limits::{CLOSE_PATIENCE_MS, PARTING_PATIENCE_MS};

impl Switchboard {
    /// Tells a client that its connection is closed, and gives back all that it used.
    pub(super) fn close_client(&mut self, id: ClientId, refusal: &Refusal) {
        match self.clients[id].phase() {
            Phase::Closing { .. } | Phase::Over => return,
            // It has asked for the same.
            Phase::Leaving { .. } => return self.part_from_client(id),
            Phase::Parting { .. } => return self.end_client(id),
            _ => {}
        }
        self.release_client(id);
        let until_ms = self.now_ms + CLOSE_PATIENCE_MS;
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
            let patience_ms = silence_ms.map_or(PARTING_PATIENCE_MS, |silence_ms| silence_ms.min(PARTING_PATIENCE_MS));
            client.enter(Phase::Parting { until_ms: self.now_ms + patience_ms });
        }
        client.wake();
        self.effects.client_changed(id);
    }

    /// The client closes its connection. Where it has a line of its own the upstream answers: what went with the connection is gone then.
    pub(super) fn client_leaves(&mut self, id: ClientId) {
        let until_ms = self.now_ms + CLOSE_PATIENCE_MS;
        let client = &mut self.clients[id];
        if client.own().is_some_and(|line| self.lines[line].is_running()) {
            client.enter(Phase::Leaving { until_ms });
            self.release_client(id);
            return;
        }
        self.part_from_client(id);
    }

    /// A client's socket is gone.
    pub(super) fn forget_client(&mut self, id: ClientId) {
        self.release_client(id);
        self.part_from_line(id);
        self.leave_login(id);
    }

    /// Gives back all channels, and ends the line of its own.
    fn release_client(&mut self, id: ClientId) {
        let channels = self.clients[id].take_channels();
        for seat in channels.into_values().filter_map(|channel| channel.seat()) {
            self.release_seat(seat.0, seat.1);
        }
        if let Some(line) = self.clients[id].own() {
            self.close_line(line);
        }
    }

    /// A line's socket is gone. Who had nothing on it that is lost goes on over another one.
    pub(super) fn forget_line(&mut self, id: LineId, why: &str) {
        let now_ms = self.now_ms;
        let line = &mut self.lines[id];
        let was_wanted = !matches!(line.phase(), LinePhase::Closing { .. } | LinePhase::Over);
        if was_wanted || line.closed_with().is_some() {
            self.counters.lines_lost += 1;
        }
        let was_refused = line.closed_with().is_some();
        let (usage, login, waiters) = (line.usage(), line.login(), line.take_waiters());
        let refusal = line.closed_with().cloned().unwrap_or_else(|| {
            Refusal::new(amqp::ReplyCode::ConnectionForced, &format!("the upstream connection was lost: {why}"))
        });
        line.enter(LinePhase::Over);
        let users = line.channels().iter().filter_map(|there| Some((there.owner()?, !there.is_quiet())));
        let users: Vec<((ClientId, u16), bool)> = users.collect();
        let left = line.channels().iter().filter(|there| there.owner().is_none());
        let left_count: usize = left.map(|there| there.unconfirmed_count()).sum();
        self.wake_queue.extend_reversed(waiters);
        if left_count > 0 {
            self.counters.late_losses += left_count as u64;
            let (user, vhost) = self.names(id);
            self.effects.log(Notice::LateLoss { user, vhost, count: left_count });
        }
        match usage {
            Use::Login(login) => {
                self.pools.login(login).fail_check(id, why);
            }
            Use::Check(pool) => {
                self.pools.pool(pool).fail_check(id, why);
            }
            Use::Shared(pool, kind) => {
                if self.lines[id].has_opened() {
                    // Up to now it was let in.
                    self.tell_accepted(pool);
                }
                let pool = self.pools.pool(pool);
                if pool.lane(kind).forget(id) {
                    pool.set_trouble(why);
                }
                pool.touch(now_ms);
            }
            Use::Own(client) if !was_refused => self.own_line_closed(client, &refusal, why),
            Use::Own(client) => self.own_line_lost(client, &refusal),
            Use::None => {}
        }
        for ((client, number), is_busy) in users {
            self.seat_lost(client, number, id, is_busy, &refusal);
        }
        self.pools.drop_login(login);
    }

    /// A client's own line was closed, or lost.
    pub(super) fn own_line_closed(&mut self, id: ClientId, refusal: &Refusal, why: &str) {
        match self.clients[id].has_moved() {
            true => self.own_line_lost(id, refusal),
            false => self.own_line_failed(id, why),
        }
    }

    /// A line was lost before its client used it: it waits for another one.
    fn own_line_failed(&mut self, id: ClientId, why: &str) {
        self.part_from_line(id);
        if let Some(pool) = self.clients[id].pool() {
            self.pools.pool(pool).set_trouble(why);
        }
        let client = &mut self.clients[id];
        if matches!(client.waits(), Waits::OwnLine | Waits::Quiet) {
            client.wait_for(Waits::OwnLine, self.now_ms);
        }
    }

    /// From here on a client and what was its line do not know each other.
    pub(super) fn part_from_line(&mut self, id: ClientId) {
        if let Some(line) = self.clients[id].take_own()
            && let Some(line) = self.lines.get_mut(line)
        {
            line.disown();
        }
    }

    pub(super) fn own_line_lost(&mut self, id: ClientId, refusal: &Refusal) {
        self.part_from_line(id);
        let client = &mut self.clients[id];
        match client.phase() {
            // As it wished.
            Phase::Leaving { .. } => self.part_from_client(id),
            Phase::Closing { .. } | Phase::Parting { .. } | Phase::Over => {}
            _ => self.close_client(id, refusal),
        }
    }

    /// The line under a client's channel is gone. If nothing was under way there, the channel has another one when it next says something.
    fn seat_lost(&mut self, id: ClientId, number: u16, line: LineId, is_busy: bool, refusal: &Refusal) {
        let Some(client) = self.clients.get_mut(id) else { return };
        let Some(channel) = client.channel_mut(number) else { return };
        if channel.seat().is_none_or(|(seat, _)| seat != line) {
            return;
        }
        channel.leave_seat();
        if is_busy || !channel.is_answered() || channel.stage() == Stage::Closing {
            self.close_client(id, refusal);
            return;
        }
        self.tell_blocked(id);
        if matches!(self.clients[id].waits(), Waits::Quiet | Waits::Room) {
            self.wake_queue.push(id);
        }
    }
}
