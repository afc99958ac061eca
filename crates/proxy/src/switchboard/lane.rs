//! The lines of a pool of one kind, their free channels, and the clients that wait for either.

use std::collections::VecDeque;

use super::ids::{ClientId, LineId};
use super::pace::Pace;

/// What is said over a line. What fails or is held up on one kind of lines does not harm those on the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Nothing but publishes.
    Publishes,
    /// Declarations, gets and the like, and what their clients publish: where a queue was declared it is known, on another of an upstream's
    /// nodes perhaps not yet.
    Calls,
}

#[derive(Debug, Default)]
pub(super) struct Lane {
    /// The line that is being opened.
    opening: Option<LineId>,
    /// Lines that are open.
    lines: Vec<LineId>,
    /// How many channels are to wait for the confirms of clients that have gone.
    pace: Pace,
    /// Channels that the next client may have as they are: the last one that was used first.
    free: Vec<(LineId, u16)>,
    /// Clients that wait for a line or a channel.
    waiters: VecDeque<ClientId>,
}

impl Lane {
    /// The line that is being opened.
    pub(super) fn opening(&self) -> Option<LineId> {
        self.opening
    }

    pub(super) fn set_opening(&mut self, line: LineId) {
        self.opening = Some(line);
    }

    /// The line that was being opened will not be.
    pub(super) fn drop_opening(&mut self) {
        self.opening = None;
    }

    /// The line that was being opened is open.
    pub(super) fn add(&mut self, line: LineId) {
        self.opening = None;
        self.lines.push(line);
    }

    /// A line is lost. Whether it was being opened.
    pub(super) fn forget(&mut self, id: LineId) -> bool {
        self.lines.retain(|line| *line != id);
        self.free.retain(|(line, _)| *line != id);
        self.opening.take_if(|line| *line == id).is_some()
    }

    /// Lines that are open.
    pub(super) fn lines(&self) -> impl Iterator<Item = LineId> {
        self.lines.iter().copied()
    }

    pub(super) fn line_count(&self) -> usize {
        self.lines.len()
    }

    pub(super) fn pace(&self) -> &Pace {
        &self.pace
    }

    pub(super) fn pace_mut(&mut self) -> &mut Pace {
        &mut self.pace
    }

    /// The next client may have this channel as it is.
    pub(super) fn push_free(&mut self, line: LineId, number: u16) {
        self.free.push((line, number));
    }

    /// A channel that may still be had as it is: the one that was used last.
    pub(super) fn pop_free(&mut self) -> Option<(LineId, u16)> {
        self.free.pop()
    }

    pub(super) fn has_free(&self) -> bool {
        !self.free.is_empty()
    }

    /// Takes free channels that are idle, at most so many and not the last one. Those that were used last lie on top, so these are at the bottom.
    pub(super) fn take_idle(&mut self, count_max: usize, is_idle: impl Fn(LineId, u16) -> bool) -> Vec<(LineId, u16)> {
        let count_max = self.free.len().saturating_sub(1).min(count_max);
        let idle_count = self.free.iter().take(count_max).take_while(|(line, at)| is_idle(*line, *at)).count();
        self.free.drain(..idle_count).collect()
    }

    /// A client waits for a line or a channel.
    pub(super) fn add_waiter(&mut self, client: ClientId) {
        self.waiters.push_back(client);
    }

    /// The client that has waited longest.
    pub(super) fn pop_waiter(&mut self) -> Option<ClientId> {
        self.waiters.pop_front()
    }

    pub(super) fn take_waiters(&mut self) -> VecDeque<ClientId> {
        std::mem::take(&mut self.waiters)
    }

    pub(super) fn waiter_count(&self) -> usize {
        self.waiters.len()
    }

    /// Forgets clients that wait no more.
    pub(super) fn retain_waiters(&mut self, is_there: impl Fn(&ClientId) -> bool) {
        self.waiters.retain(is_there);
    }
}
