//! A pool: a login's lines into a vhost, which its clients share, and what upstreams last said of it.

use std::rc::Rc;

use super::ids::{ClientId, LineId, LoginId};
use super::lane::{Kind, Lane};
use super::suspects::Suspects;
use crate::limits::REFUSED_PAUSE_MS;

#[derive(Debug)]
pub(super) struct Pool {
    login: LoginId,
    vhost: Rc<str>,
    /// When an upstream let this login into this vhost last.
    accepted_ms: Option<u64>,
    /// The line that only sees whether the login is let in still.
    checking: Option<LineId>,
    /// Clients that wait for that.
    entering: Vec<ClientId>,
    lanes: [Lane; 2],
    /// Channels that a line may have, as far as the upstream has shown: a user may be limited.
    channel_limit: usize,
    client_count: usize,
    /// Since when it has had no client.
    idle_since_ms: u64,
    /// Why the last line could not be had.
    trouble: Option<String>,
    /// When the upstream refused a line last.
    refused_ms: Option<u64>,
    /// Whether there is no line for clients that publish, and has not been for a moment. Only where that is of account.
    is_away: bool,
    /// Queues for which an upstream has closed a line.
    suspects: Suspects,
    /// The spool's [count](crate::spool::Spool::filled_count) when nothing of it was there: while it is the same, nothing is. So its lock is
    /// not taken for each publish while something of another user is kept.
    unheld_at: Option<u64>,
}

impl Pool {
    pub(super) fn new(login: LoginId, vhost: Rc<str>, now_ms: u64) -> Self {
        Pool {
            login,
            vhost,
            accepted_ms: None,
            checking: None,
            entering: Vec::new(),
            lanes: <[Lane; 2]>::default(),
            channel_limit: usize::MAX,
            client_count: 0,
            idle_since_ms: now_ms,
            trouble: None,
            refused_ms: None,
            is_away: false,
            suspects: Suspects::default(),
            unheld_at: None,
        }
    }

    pub(super) fn login(&self) -> LoginId {
        self.login
    }

    pub(super) fn vhost(&self) -> &Rc<str> {
        &self.vhost
    }

    /// Clients that wait for anything.
    pub(super) fn waiting_count(&self) -> usize {
        self.entering.len() + self.lanes.iter().map(Lane::waiter_count).sum::<usize>()
    }

    /// Forgets clients that wait no more.
    pub(super) fn retain_waiters(&mut self, is_there: impl Fn(&ClientId) -> bool) {
        self.entering.retain(&is_there);
        self.lanes.iter_mut().for_each(|lane| lane.retain_waiters(&is_there));
    }

    /// Whether it has to be remembered.
    pub(super) fn is_used(&self) -> bool {
        let has_lines = self.lines().chain(self.opening()).next().is_some();
        self.client_count > 0 || self.checking.is_some() || has_lines || self.is_away
    }

    /// Whether an upstream has closed a line for what this method is about.
    pub(super) fn suspects(&self) -> &Suspects {
        &self.suspects
    }

    pub(super) fn suspects_mut(&mut self) -> &mut Suspects {
        &mut self.suspects
    }

    /// Whether nothing of it was in the spool when the spool's count was this.
    #[inline]
    pub(super) fn is_unheld_at(&self, filled_count: u64) -> bool {
        self.unheld_at == Some(filled_count)
    }

    pub(super) fn set_unheld_at(&mut self, filled_count: Option<u64>) {
        self.unheld_at = filled_count;
    }
}

/// Whether its login is let in.
impl Pool {
    /// When an upstream let this login into this vhost last.
    pub(super) fn accepted_ms(&self) -> Option<u64> {
        self.accepted_ms
    }

    /// An upstream lets it in. Gives the clients that waited for that.
    pub(super) fn accept(&mut self, accepted_ms: u64) -> Vec<ClientId> {
        self.accepted_ms = Some(accepted_ms);
        self.trouble = None;
        self.take_entering()
    }

    /// An upstream does not let it in any more.
    pub(super) fn revoke(&mut self) {
        self.accepted_ms = None;
    }

    /// An upstream has refused a line.
    pub(super) fn note_refused(&mut self, now_ms: u64) {
        self.refused_ms = Some(now_ms);
    }

    /// Whether an upstream has refused a line just now, and is not to be asked again at once.
    pub(super) fn is_refused(&self, now_ms: u64) -> bool {
        self.refused_ms.is_some_and(|refused_ms| now_ms < refused_ms + REFUSED_PAUSE_MS)
    }

    /// The line that only sees whether the login is let in still.
    pub(super) fn checking(&self) -> Option<LineId> {
        self.checking
    }

    pub(super) fn set_checking(&mut self, line: LineId) {
        self.checking = Some(line);
    }

    /// The line that was to see it has, or will not.
    pub(super) fn end_check(&mut self) {
        self.checking = None;
    }

    /// The line that was to see it is lost.
    pub(super) fn fail_check(&mut self, line: LineId, why: &str) {
        if self.checking.take_if(|checking| *checking == line).is_some() {
            self.set_trouble(why);
        }
    }

    /// A client waits to be let in.
    pub(super) fn add_entering(&mut self, client: ClientId) {
        self.entering.push(client);
    }

    pub(super) fn has_entering(&self) -> bool {
        !self.entering.is_empty()
    }

    pub(super) fn take_entering(&mut self) -> Vec<ClientId> {
        std::mem::take(&mut self.entering)
    }

    /// Why the last line could not be had.
    pub(super) fn trouble(&self) -> Option<&str> {
        self.trouble.as_deref()
    }

    pub(super) fn set_trouble(&mut self, why: &str) {
        self.trouble = Some(why.to_owned());
    }

    pub(super) fn clear_trouble(&mut self) {
        self.trouble = None;
    }

    /// Whether there is no line for clients that publish, and has not been for a moment.
    pub(super) fn is_away(&self) -> bool {
        self.is_away
    }

    pub(super) fn set_away(&mut self, is_away: bool) {
        self.is_away = is_away;
    }
}

/// Its clients and lines.
impl Pool {
    pub(super) fn client_count(&self) -> usize {
        self.client_count
    }

    pub(super) fn join(&mut self) {
        self.client_count += 1;
    }

    pub(super) fn leave(&mut self, now_ms: u64) {
        self.client_count -= 1;
        if self.client_count == 0 {
            self.idle_since_ms = now_ms;
        }
    }

    /// Since when it has had no client.
    pub(super) fn idle_since_ms(&self) -> u64 {
        self.idle_since_ms
    }

    /// One of its lines is lost: what it has learnt is kept for a while from now on.
    pub(super) fn touch(&mut self, now_ms: u64) {
        self.idle_since_ms = self.idle_since_ms.max(now_ms);
    }

    /// Where it has no client, as if none had come for long.
    pub(super) fn retire(&mut self) {
        if self.client_count == 0 {
            self.idle_since_ms = 0;
        }
    }

    /// Channels that a line may have, as far as the upstream has shown.
    pub(super) fn channel_limit(&self) -> usize {
        self.channel_limit
    }

    /// The upstream has shown that a line may have no more than so many.
    pub(super) fn limit_channels(&mut self, limit: usize) {
        self.channel_limit = self.channel_limit.min(limit);
    }

    pub(super) fn lane(&mut self, kind: Kind) -> &mut Lane {
        &mut self.lanes[kind as usize]
    }

    pub(super) fn lane_of(&self, kind: Kind) -> &Lane {
        &self.lanes[kind as usize]
    }

    /// All its open lines.
    pub(super) fn lines(&self) -> impl Iterator<Item = LineId> {
        self.lanes.iter().flat_map(Lane::lines)
    }

    pub(super) fn has_lines(&self) -> bool {
        self.lines().next().is_some()
    }

    /// Lines that are being opened for it.
    pub(super) fn opening(&self) -> impl Iterator<Item = LineId> {
        self.lanes.iter().filter_map(Lane::opening)
    }
}
