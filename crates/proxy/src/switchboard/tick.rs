//! What time brings: heartbeats, patience that ends, lines that nobody uses.

use std::borrow::Cow;
use std::time::Duration;

use amqp::ReplyCode;
use amqp::frame::put_heartbeat;

use ::client::Unconfirmed;

use super::client::{Phase, Waits};
use super::client_handshake::is_fresh;
use super::line::{LineChannel, LinePhase, Use};
use super::pool::{Kind, PoolId};
use super::{ClientId, Effect, LineId, Notice, Refusal, Switchboard};
use crate::limits::{
    CHANNEL_IDLE_MS, IDLE_CHANNEL_CLOSE_COUNT, LONG_PARKED_MS, LONG_PARKED_WAYS, UNCONFIRMED_PATIENCE_MS,
};

impl Switchboard {
    /// To be said about twice a second.
    pub fn tick(&mut self, now_ms: u64) {
        self.now_ms = now_ms;
        let clients: Vec<ClientId> = self.clients.iter().map(|(id, _)| ClientId(id)).collect();
        for id in clients {
            self.tick_client(id);
        }
        self.tell_given_up();
        let lines: Vec<LineId> = self.lines.iter().map(|(id, _)| LineId(id)).collect();
        for id in lines {
            self.tick_line(id);
        }
        self.forget_waiters();
        // A disk that was full tells nobody when it is not.
        self.wake_spool_waiters();
        self.tick_pools();
        let fresh_ms = self.options.login_fresh_ms;
        self.pools.forget_idle(|accepted_ms| is_fresh(accepted_ms, fresh_ms, now_ms));
        self.run_woken();
    }

    fn tick_client(&mut self, id: ClientId) {
        let now_ms = self.now_ms;
        let waits = self.clients[id.0].waits;
        let patience_ms = match waits {
            Waits::Quiet | Waits::Room | Waits::Answer => UNCONFIRMED_PATIENCE_MS,
            _ => self.options.line_wait_ms,
        };
        let is_in_alarm = waits == Waits::Quiet && self.is_blocked(id);
        let client = &mut self.clients[id.0];
        // An alarm may take its time, and so may then what has waited for its end. Who has gone holds a place for what it said, though
        // not for ever.
        let is_patient = is_in_alarm || matches!(waits, Waits::Room | Waits::Answer | Waits::Nothing);
        if is_patient && client.ended_ms.is_none() && client.phase == Phase::Running {
            client.waiting = client.waiting.map(|(patience, _)| (patience, now_ms));
        }
        match client.phase {
            Phase::Header | Phase::StartOk | Phase::TuneOk | Phase::Open if client.waiting.is_none() => {
                if now_ms >= client.joined_ms + self.options.handshake_timeout_ms {
                    self.end_client(id);
                }
                return;
            }
            Phase::Leaving { until_ms } if now_ms >= until_ms => {
                let is_said = client.own.is_none_or(|line| self.lines[line.0].output.is_empty());
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
        let since_ms = client.waiting.map(|(_, since_ms)| since_ms).max(client.ended_ms);
        if since_ms.is_some_and(|since_ms| now_ms >= since_ms + patience_ms) {
            self.give_up(id, patience_ms);
            return;
        }
        self.note_away(id);
        let client = &self.clients[id.0];
        let (is_wanted, own) = (matches!(client.waits, Waits::OwnLine | Waits::Quiet), client.own);
        match own {
            None if client.waits == Waits::OwnLine => self.wake(id),
            // What it was for has failed meanwhile.
            Some(line) if !is_wanted && !client.has_moved && !client.is_full() && self.lines[line.0].is_running() => {
                self.part_from_line(id);
                self.close_line(line);
            }
            _ => {}
        }
        self.beat_client(id);
    }

    /// There has been no line for a client for too long.
    fn give_up(&mut self, id: ClientId, waited_ms: u64) {
        let (phase, capabilities) = (self.clients[id.0].phase, self.clients[id.0].capabilities);
        let (pool, login) = (self.clients[id.0].pool, self.clients[id.0].login);
        let trouble = match (pool, login) {
            (Some(pool), _) => self.pools.pool(pool).trouble.clone(),
            (None, Some(login)) => self.pools.login(login).trouble.clone(),
            (None, None) => None,
        };
        let waited_s = Duration::from_millis(waited_ms).as_secs_f64();
        let waits = self.clients[id.0].waits;
        let what = match waits {
            Waits::SpoolRoom => "the spool is full, and there was no upstream connection",
            Waits::SpoolEnd => "what was kept before could not be sent on",
            Waits::Quiet => "what was under way was neither confirmed nor answered",
            Waits::Room | Waits::Answer => "the upstream took no more",
            Waits::Nothing => "what was answered was not read",
            Waits::Pool(Kind::Publishes) if pool.is_some_and(|pool| self.has_pool_line(pool)) => {
                "no channel of an upstream connection was left"
            }
            _ => "no upstream connection",
        };
        let text = format!("{what} within {waited_s} s");
        let (told, in_full) = match trouble {
            None => (text.clone(), text),
            // Where upstreams are is not for whoever comes along.
            Some(trouble) if pool.is_none() => {
                (format!("{text}: the proxy's log says why"), format!("{text}: {trouble}"))
            }
            Some(trouble) => {
                let text = format!("{text}: {trouble}");
                (text.clone(), text)
            }
        };
        if phase == Phase::StartOk && !capabilities.authentication_failure_close {
            // It expects nothing but to be let in.
            self.end_client(id);
        } else {
            self.close_client(id, &Refusal::new(ReplyCode::ConnectionForced, &told));
        }
        let user = login.map_or_else(|| "".into(), |login| self.pools.login(login).user.clone());
        *self.given_up.entry((user, in_full)).or_default() += 1;
    }

    /// One word for all who have waited in vain for the same: there may be thousands.
    fn tell_given_up(&mut self) {
        for ((user, text), count) in std::mem::take(&mut self.given_up) {
            self.effects.push(Effect::Log(Notice::GaveUp { user: user.to_string(), text, count }));
        }
    }

    fn beat_client(&mut self, id: ClientId) {
        let now_ms = self.now_ms;
        let client = &mut self.clients[id.0];
        // Who has ended says no more, and to write to it may break what it said before.
        if client.heartbeat_s == 0 || client.phase != Phase::Running || client.ended_ms.is_some() {
            return;
        }
        let beat_ms = u64::from(client.heartbeat_s) * 1000;
        if !client.may_read() || client.is_paused {
            // Who is not listened to cannot be silent.
            client.heard_ms = now_ms;
        }
        if now_ms >= client.heard_ms + 2 * beat_ms {
            self.end_client(id);
            return;
        }
        if now_ms >= client.said_ms + beat_ms / 2 && client.output.is_empty() {
            put_heartbeat(client.output.end());
            self.client_changed(id);
        }
    }

    fn tick_line(&mut self, id: LineId) {
        let now_ms = self.now_ms;
        let is_heard = self.line_wants(id).read;
        let line = &mut self.lines[id.0];
        match line.phase {
            LinePhase::Start | LinePhase::Tune | LinePhase::OpenOk
                if now_ms >= line.heard_ms + self.options.line_handshake_timeout_ms =>
            {
                self.end_line(id, Some("it said nothing while the connection was being opened"));
            }
            // Nothing is closed there that is not open yet.
            LinePhase::LoggedIn { until_ms } if now_ms >= until_ms => self.end_line(id, None),
            LinePhase::Closing { until_ms } if now_ms >= until_ms => self.end_line(id, None),
            LinePhase::Running => {
                let beat_ms = u64::from(line.heartbeat_s) * 1000;
                if !is_heard {
                    line.heard_ms = now_ms;
                }
                if beat_ms > 0 && now_ms >= line.heard_ms + 2 * beat_ms {
                    self.end_line(id, Some("it was silent for two heartbeats"));
                    return;
                }
                if beat_ms > 0 && now_ms >= line.said_ms + beat_ms / 2 && line.output.is_empty() {
                    put_heartbeat(line.output.end());
                    self.line_changed(id);
                }
                if self.lines[id.0].is_draining {
                    self.leave_line(id);
                }
                self.close_parked_channels(id);
                self.forget_long_parked(id);
                self.close_idle_line(id);
            }
            _ => {}
        }
    }

    pub(super) fn end_line(&mut self, id: LineId, fault: Option<&'static str>) {
        let line = &mut self.lines[id.0];
        line.phase = LinePhase::Over;
        line.fault = fault.map(Cow::Borrowed);
        if fault.is_some() {
            // Nobody is there to whom it could be said.
            line.output.clear();
        }
        self.line_changed(id);
    }

    /// Closes a shared line that nobody has used for long, or that nobody is to use any more.
    pub(super) fn close_idle_line(&mut self, id: LineId) {
        let now_ms = self.now_ms;
        let line = &self.lines[id.0];
        let Use::Shared(pool_id, kind) = line.usage else { return };
        if line.used_count > 0 || !line.is_confirmed() {
            return;
        }
        let idle_ms = now_ms - line.idle_since_ms.min(now_ms);
        let is_draining = line.is_draining;
        let pool = self.pools.pool(pool_id);
        let pool_idle_ms = if pool.client_count == 0 { now_ms - pool.idle_since_ms.min(now_ms) } else { 0 };
        let others =
            pool.lane(kind).lines.iter().filter(|other| **other != id && self.lines[other.0].is_running()).count();
        let is_kept = others == 0 && kind == Kind::Publishes;
        let is_surplus = !is_kept && idle_ms >= self.options.line_idle_ms;
        let is_last = is_kept && pool_idle_ms >= self.options.pool_idle_ms.max(1);
        if is_draining || is_surplus || is_last {
            self.close_line(id);
        }
    }

    /// Channels whose clients have gone and whose publishes nobody confirms are closed: the pool would be full of them.
    fn close_parked_channels(&mut self, id: LineId) {
        let now_ms = self.now_ms;
        let line = &self.lines[id.0];
        let is_parked = |there: &LineChannel| {
            let is_left = there.owner.is_none() && !there.is_closing && !there.unconfirmed.is_empty();
            is_left && now_ms >= there.ownerless_since_ms + UNCONFIRMED_PATIENCE_MS
        };
        let numbered = (1u16..).zip(&line.channels).filter_map(|(at, there)| Some((at, there.as_ref()?)));
        let parked: Vec<(u16, usize)> =
            numbered.filter(|(_, there)| is_parked(there)).map(|(at, there)| (at, there.unconfirmed.len())).collect();
        let count: usize = parked.iter().map(|(_, count)| count).sum();
        if count == 0 {
            return;
        }
        self.counters.late_losses += count as u64;
        let (user, vhost) = self.names(id);
        self.effects.push(Effect::Log(Notice::Unconfirmed { user, vhost, count }));
        for (at, _) in parked {
            if let Some(there) = self.lines[id.0].channel(at) {
                there.unconfirmed = Unconfirmed::new();
            }
            self.close_line_channel(id, at);
        }
    }

    /// What waits for its confirms for much longer than others do waits for something of its own: others are not to wait for that.
    fn forget_long_parked(&mut self, id: LineId) {
        let now_ms = self.now_ms;
        let line = &mut self.lines[id.0];
        let Use::Shared(pool, kind) = line.usage else { return };
        if line.parked_count == 0 {
            return;
        }
        let way_ms = self.pools.pool(pool).lane(kind).pace.way_ms().unwrap_or(0);
        let is_long = |there: &LineChannel| {
            there.is_parked && now_ms >= there.ownerless_since_ms + LONG_PARKED_MS + LONG_PARKED_WAYS * way_ms
        };
        let numbered = (1u16..).zip(&line.channels);
        let long: Vec<u16> =
            numbered.filter(|(_, there)| there.as_ref().is_some_and(is_long)).map(|(at, _)| at).collect();
        long.into_iter().for_each(|at| line.unpark(at));
    }

    /// Closes channels that a pool has had too many of for a while. Those that were used last lie on top, so these are at the bottom.
    fn close_idle_channels(&mut self, pool: PoolId, kind: Kind) {
        let now_ms = self.now_ms;
        let lines = &self.lines;
        let free = &mut self.pools.pool(pool).lane(kind).free;
        let is_idle = |(line, at): &&(LineId, u16)| {
            let there = lines[line.0].channels.get(usize::from(*at) - 1).and_then(Option::as_ref);
            there.is_none_or(|there| now_ms >= there.ownerless_since_ms + CHANNEL_IDLE_MS)
        };
        // One is kept, for whoever comes once in a while.
        let count_max = free.len().saturating_sub(1).min(IDLE_CHANNEL_CLOSE_COUNT);
        let idle_count = free.iter().take(count_max).take_while(is_idle).count();
        let idle: Vec<(LineId, u16)> = free.drain(..idle_count).collect();
        for (line, at) in idle {
            if self.lines[line.0].is_running() && self.lines[line.0].channel(at).is_some_and(|there| there.is_free()) {
                self.close_line_channel(line, at);
            }
        }
    }

    /// Forgets who has gone while it waited.
    fn forget_waiters(&mut self) {
        let clients = &self.clients;
        let is_there = |id: &ClientId| clients.get(id.0).is_some_and(|client| client.waits != Waits::Nothing);
        for id in self.pools.pool_ids() {
            self.pools.pool(id).retain_waiters(is_there);
        }
        for id in self.pools.login_ids() {
            self.pools.login(id).waiters.retain(is_there);
        }
    }

    /// Channels that nobody uses are closed; lines are wanted anew for those who wait, where the last attempt failed.
    fn tick_pools(&mut self) {
        for id in self.pools.pool_ids() {
            for kind in [Kind::Publishes, Kind::Calls] {
                self.close_idle_channels(id, kind);
                let lane = self.pools.pool(id).lane(kind);
                let (is_wanted, has_free) = (!lane.waiters.is_empty(), !lane.free.is_empty());
                // They may wait for the confirms of others, which may not come soon.
                if is_wanted && (has_free || self.line_with_room(id, kind).is_some()) {
                    self.wake_waiters(id, kind);
                }
            }
            self.tick_away(id);
            if !self.pools.pool(id).entering.is_empty() {
                self.ask_for_pool(id);
            }
        }
        for id in self.pools.login_ids() {
            if !self.pools.login(id).waiters.is_empty() {
                self.check_login(id);
            }
        }
    }
}
