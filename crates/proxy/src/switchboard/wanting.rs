//! How lines come to be wanted, and are let go.

use super::ids::PoolId;
use super::lane::Kind;
use super::line::{Line, Use};
use super::{Effect, LineId, Switchboard};
use crate::limits::CLOSE_PATIENCE_MS;

impl Switchboard {
    /// Another line for a pool, unless one is coming or there are as many as there may be.
    pub(super) fn want_line(&mut self, pool_id: PoolId, kind: Kind) {
        let (now_ms, may_dial) = (self.now_ms, self.may_dial());
        let lines = &self.lines;
        let pool = self.pools.pool(pool_id);
        let (login, vhost, is_refused) = (pool.login(), pool.vhost().clone(), pool.is_refused(now_ms));
        let lane = pool.lane(kind);
        let is_usable = |line: &LineId| lines[*line].takes(kind);
        let count = lane.lines().filter(is_usable).count();
        if lane.opening().is_some() || count >= self.options.pool_line_max || is_refused {
            return;
        }
        if !may_dial {
            // Calls do with a line for publishes.
            self.close_unused_line((kind == Kind::Calls).then_some(pool_id));
            return;
        }
        let line = self.dial(Line::new(Use::Shared(pool_id, kind), login, Some(vhost), now_ms));
        self.pools.pool(pool_id).lane(kind).set_opening(line);
    }

    /// Makes room for a line that somebody needs, where there may be no more: one that nobody uses goes, but none of a pool that can use
    /// what it has.
    pub(super) fn close_unused_line(&mut self, kept: Option<PoolId>) {
        let is_unused = |line: &Line| {
            let Use::Shared(pool, _) = line.usage() else { return false };
            kept != Some(pool) && line.is_running() && line.is_unused()
        };
        let unused = self.lines.iter().find(|(_, line)| is_unused(line)).map(|(id, _)| id);
        if let Some(id) = unused {
            self.close_line(id);
        }
    }

    /// Somebody is to see whether a pool's login is let in still. That is one line more than there may be, for a moment.
    pub(super) fn want_check(&mut self, pool_id: PoolId) {
        let now_ms = self.now_ms;
        let pool = self.pools.pool(pool_id);
        if pool.checking().is_some() || pool.opening().next().is_some() || pool.is_refused(now_ms) {
            return;
        }
        let (login, vhost) = (pool.login(), pool.vhost().clone());
        let line = self.dial(Line::new(Use::Check(pool_id), login, Some(vhost), self.now_ms));
        self.pools.pool(pool_id).set_checking(line);
    }

    /// Whether there may be another line.
    pub(super) fn may_dial(&self) -> bool {
        self.options.line_max == 0 || self.lines.counted_len() < self.options.line_max
    }

    pub(super) fn dial(&mut self, line: Line) -> LineId {
        self.counters.lines_dialled += 1;
        self.pools.retain_login(line.login());
        let (client, vhost) = (line.owner(), line.vhost().cloned());
        let id = self.lines.insert(line);
        self.effects.push(Effect::Dial { line: id, vhost, client });
        id
    }

    /// Ends a line: politely if it is open.
    pub(super) fn close_line(&mut self, id: LineId) {
        let until_ms = self.now_ms + CLOSE_PATIENCE_MS;
        if self.lines[id].close(until_ms) {
            self.effects.line_changed(id);
        }
    }
}
