//! HistoryBudget for histories of objects other than the node and its vhosts.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// How many there are.
#[derive(Debug, Default)]
pub(crate) struct HistoryBudget {
    count: AtomicUsize,
    /// Bytes that they take.
    len: AtomicUsize,
    /// There was no room for one more since the last look.
    is_short: AtomicBool,
}

/// The place of one of them. Dropped, it is there for another.
#[derive(Debug)]
pub(crate) struct HistoryPermit {
    budget: Arc<HistoryBudget>,
    len: usize,
}

impl HistoryPermit {
    /// The history takes so many bytes now.
    pub(crate) fn resize(&mut self, len: usize) {
        if len != self.len {
            self.budget.len.fetch_add(len.wrapping_sub(self.len), Ordering::Relaxed);
            self.len = len;
        }
    }
}

impl Drop for HistoryPermit {
    fn drop(&mut self) {
        self.resize(0);
        self.budget.count.fetch_sub(1, Ordering::Relaxed);
    }
}

impl HistoryBudget {
    /// HistoryBudget for one more, unless there are so many already: then the next look makes some.
    pub(crate) fn take(self: &Arc<Self>, most: usize) -> Option<HistoryPermit> {
        let permit = self.take_spare(most);
        if permit.is_none() {
            self.is_short.store(true, Ordering::Relaxed);
        }
        permit
    }

    /// The same, but that no other history has to go for it.
    pub(crate) fn take_spare(self: &Arc<Self>, most: usize) -> Option<HistoryPermit> {
        let add = |count: usize| (count < most).then_some(count + 1);
        self.count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add).ok()?;
        Some(HistoryPermit { budget: self.clone(), len: 0 })
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    /// Bytes that they take.
    pub(crate) fn len(&self) -> usize {
        self.len.load(Ordering::Relaxed)
    }

    /// Whether there was no room for one more since this was last asked.
    pub(crate) fn take_shortage(&self) -> bool {
        self.is_short.swap(false, Ordering::Relaxed)
    }
}
