//! Clients whose frames are to be looked at again. The last one that was put in comes out first.

use super::ids::ClientId;

#[derive(Debug, Default)]
pub(super) struct WakeQueue(Vec<ClientId>);

impl WakeQueue {
    pub(super) fn push(&mut self, id: ClientId) {
        self.0.push(id);
    }

    /// Clients in the order in which they began to wait: the client that waits longest comes out first.
    pub(super) fn extend(&mut self, waiters: impl IntoIterator<Item = ClientId, IntoIter: DoubleEndedIterator>) {
        self.0.extend(waiters.into_iter().rev());
    }

    /// As [`extend`](Self::extend), and the client that waits longest comes out last.
    pub(super) fn extend_reversed(&mut self, waiters: impl IntoIterator<Item = ClientId>) {
        self.0.extend(waiters);
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Turns around the order of those that were put in since there were so many.
    pub(super) fn reverse_from(&mut self, before: usize) {
        self.0[before..].reverse();
    }

    pub(super) fn pop(&mut self) -> Option<ClientId> {
        self.0.pop()
    }
}
