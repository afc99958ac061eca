//! A pool: a login's upstream connections into a vhost, which its clients share, and what upstreams last said of it.

use std::rc::Rc;

use super::ids::{ClientId, LoginId, UpstreamConnectionId};
use super::lane::{Kind, Lane};
use super::login_check::LoginCheck;
use super::poisoned_queues::PoisonedQueues;
use crate::limits::REFUSED_PAUSE_MS;

#[derive(Debug)]
pub(super) struct Pool {
    login: LoginId,
    vhost: Rc<str>,
    /// Whether upstreams let this login into this vhost; also why the last upstream connection could not be had.
    check: LoginCheck,
    lanes: [Lane; 2],
    /// Channels that an upstream connection may have, as far as the upstream has shown: a user may be limited.
    channel_limit: usize,
    client_count: usize,
    /// Since when it has had no client.
    idle_since_ms: u64,
    /// When the upstream refused an upstream connection last.
    refused_ms: Option<u64>,
    /// Whether there is no upstream connection for clients that publish, and has not been for a moment. Only where that is of account.
    is_away: bool,
    /// Queues for which an upstream has closed an upstream connection.
    poisoned_queues: PoisonedQueues,
    /// The spool's [count](crate::spool::Spool::filled_count) when nothing of it was there: while it is the same, nothing is. So its lock
    /// is not taken for each publish while something of another user is kept.
    unheld_at: Option<u64>,
}

impl Pool {
    pub(super) fn new(login: LoginId, vhost: Rc<str>, now_ms: u64) -> Self {
        Pool {
            login,
            vhost,
            check: LoginCheck::default(),
            lanes: <[Lane; 2]>::default(),
            channel_limit: usize::MAX,
            client_count: 0,
            idle_since_ms: now_ms,
            refused_ms: None,
            is_away: false,
            poisoned_queues: PoisonedQueues::default(),
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
        self.check.waiter_count() + self.lanes.iter().map(Lane::waiter_count).sum::<usize>()
    }

    /// Forgets clients that wait no more.
    pub(super) fn retain_waiters(&mut self, is_there: impl Fn(&ClientId) -> bool) {
        self.check.retain_waiters(&is_there);
        self.lanes.iter_mut().for_each(|lane| lane.retain_waiters(&is_there));
    }

    /// Whether it has to be remembered.
    pub(super) fn is_used(&self) -> bool {
        let has_connections = self.connections().chain(self.opening()).next().is_some();
        self.client_count > 0 || self.check.connection().is_some() || has_connections || self.is_away
    }

    /// Whether an upstream has closed an upstream connection for what this method is about.
    pub(super) fn poisoned_queues(&self) -> &PoisonedQueues {
        &self.poisoned_queues
    }

    pub(super) fn poisoned_queues_mut(&mut self) -> &mut PoisonedQueues {
        &mut self.poisoned_queues
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
    /// Whether upstreams let its login in.
    pub(super) fn check(&self) -> &LoginCheck {
        &self.check
    }

    pub(super) fn check_mut(&mut self) -> &mut LoginCheck {
        &mut self.check
    }

    /// An upstream has refused an upstream connection.
    pub(super) fn note_refused(&mut self, now_ms: u64) {
        self.refused_ms = Some(now_ms);
    }

    /// Whether an upstream has refused an upstream connection just now, and is not to be asked again at once.
    pub(super) fn is_refused(&self, now_ms: u64) -> bool {
        self.refused_ms.is_some_and(|refused_ms| now_ms < refused_ms + REFUSED_PAUSE_MS)
    }

    /// Whether there is no upstream connection for clients that publish, and has not been for a moment.
    pub(super) fn is_away(&self) -> bool {
        self.is_away
    }

    pub(super) fn set_away(&mut self, is_away: bool) {
        self.is_away = is_away;
    }
}

/// Its clients and upstream connections.
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

    /// One of its upstream connections is lost: what it has learnt is kept for a while from now on.
    pub(super) fn touch(&mut self, now_ms: u64) {
        self.idle_since_ms = self.idle_since_ms.max(now_ms);
    }

    /// Where it has no client, as if none had come for long.
    pub(super) fn retire(&mut self) {
        if self.client_count == 0 {
            self.idle_since_ms = 0;
        }
    }

    /// Channels that an upstream connection may have, as far as the upstream has shown.
    pub(super) fn channel_limit(&self) -> usize {
        self.channel_limit
    }

    /// The upstream has shown that an upstream connection may have no more than so many.
    pub(super) fn limit_channels(&mut self, limit: usize) {
        self.channel_limit = self.channel_limit.min(limit);
    }

    pub(super) fn lane(&mut self, kind: Kind) -> &mut Lane {
        &mut self.lanes[kind as usize]
    }

    pub(super) fn lane_of(&self, kind: Kind) -> &Lane {
        &self.lanes[kind as usize]
    }

    /// All its open upstream connections.
    pub(super) fn connections(&self) -> impl Iterator<Item = UpstreamConnectionId> {
        self.lanes.iter().flat_map(Lane::connections)
    }

    pub(super) fn has_connections(&self) -> bool {
        self.connections().next().is_some()
    }

    /// Upstream connections that are being opened for it.
    pub(super) fn opening(&self) -> impl Iterator<Item = UpstreamConnectionId> {
        self.lanes.iter().filter_map(Lane::opening)
    }
}
