//! A [`Backlog`] between threads: what puts something in never waits, and the viewer, a task or a thread, is woken.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use crate::backlog::{Backlog, Bound};

/// What waits for one viewer.
#[derive(Debug)]
pub struct Mailbox<T> {
    inner: Mutex<Inner<T>>,
    /// For a viewer that is a thread.
    has_come: Condvar,
}

#[derive(Debug)]
struct Inner<T> {
    backlog: Backlog<T>,
    /// A viewer that is a task, while it waits.
    viewer: Option<Waker>,
    is_closed: bool,
}

/// What a viewer is given next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Received<T> {
    /// So many items were dropped since the last time.
    Missed(u64),
    /// The oldest that waits.
    Item(T),
}

/// All that a viewer is given at once.
#[derive(Debug)]
pub struct ReceivedAll<T> {
    items: VecDeque<(T, usize)>,
    /// So many were dropped since the last time.
    pub missed_count: u64,
    /// No more items come.
    pub is_closed: bool,
}

impl<T> ReceivedAll<T> {
    /// What waited, the oldest first.
    pub fn items(&self) -> impl ExactSizeIterator<Item = &T> {
        self.items.iter().map(|(item, _)| item)
    }
}

impl<T> Mailbox<T> {
    /// An empty one.
    #[must_use]
    pub fn new(bound: Bound) -> Self {
        let inner = Inner { backlog: Backlog::new(bound), viewer: None, is_closed: false };
        Mailbox { inner: Mutex::new(inner), has_come: Condvar::new() }
    }

    /// Puts an item of so many bytes in, drops what is too much, and wakes the viewer.
    pub fn push(&self, item: T, len: usize) {
        if let Some(viewer) = self.push_unwoken(item, len) {
            viewer.wake();
        }
    }

    /// The same for a caller that holds locks: gives what is to be woken when they are released, for a waker may do anything.
    #[must_use]
    pub fn push_unwoken(&self, item: T, len: usize) -> Option<Waker> {
        let mut inner = self.inner.lock();
        inner.backlog.push(item, len);
        let viewer = inner.viewer.take();
        drop(inner);
        self.has_come.notify_one();
        viewer
    }

    /// No more items come.
    pub fn close(&self) {
        let mut inner = self.inner.lock();
        inner.is_closed = true;
        let viewer = inner.viewer.take();
        drop(inner);
        self.has_come.notify_one();
        if let Some(viewer) = viewer {
            viewer.wake();
        }
    }

    /// What comes next, if there is anything: first how many are missed, and then the oldest.
    #[must_use]
    pub fn take(&self) -> Option<Received<T>> {
        self.inner.lock().take()
    }

    /// Waits for what comes next.
    pub async fn next(&self) -> Received<T> {
        poll_fn(|cx| self.poll(cx, Inner::take)).await
    }

    /// All there is.
    pub fn take_all(&self) -> ReceivedAll<T> {
        self.inner.lock().take_all()
    }

    /// Waits until there is something, or the end, and gives all there is.
    pub async fn next_all(&self) -> ReceivedAll<T> {
        poll_fn(|cx| self.poll(cx, |inner| (inner.has_news() || inner.is_closed).then(|| inner.take_all()))).await
    }

    /// The same for a thread, which waits so long at most.
    pub fn wait_all(&self, timeout: Duration) -> ReceivedAll<T> {
        let mut inner = self.inner.lock();
        if !inner.has_news() && !inner.is_closed {
            self.has_come.wait_for(&mut inner, timeout);
        }
        inner.take_all()
    }

    fn poll<R>(&self, cx: &mut Context<'_>, take: impl FnOnce(&mut Inner<T>) -> Option<R>) -> Poll<R> {
        let mut inner = self.inner.lock();
        match take(&mut inner) {
            Some(taken) => Poll::Ready(taken),
            None => {
                inner.viewer = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl<T> Inner<T> {
    fn has_news(&self) -> bool {
        !self.backlog.is_empty() || self.backlog.missed_count() > 0
    }

    fn take(&mut self) -> Option<Received<T>> {
        match self.backlog.take_missed_count() {
            0 => self.backlog.pop().map(Received::Item),
            missed_count => Some(Received::Missed(missed_count)),
        }
    }

    fn take_all(&mut self) -> ReceivedAll<T> {
        let missed_count = self.backlog.take_missed_count();
        ReceivedAll { items: self.backlog.take_all(), missed_count, is_closed: self.is_closed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backlog::Overflow;

    fn mailbox() -> Mailbox<u8> {
        Mailbox::new(Bound { count_max: 2, len_max: 10, overflow: Overflow::DropOldest })
    }

    #[test]
    fn a_viewer_that_is_slow_is_given_what_it_missed_first() {
        let mailbox = mailbox();
        assert_eq!(mailbox.take(), None);
        [1, 2, 3].into_iter().for_each(|item| mailbox.push(item, 1));
        let all: Vec<_> = std::iter::from_fn(|| mailbox.take()).collect();
        assert_eq!(all, [Received::Missed(1), Received::Item(2), Received::Item(3)]);
    }

    #[test]
    fn a_viewer_waits_for_news_or_the_end() {
        let mailbox = mailbox();
        assert_eq!(mailbox.wait_all(Duration::from_millis(1)).items().len(), 0);
        let mut cx = Context::from_waker(Waker::noop());
        let mut next = std::pin::pin!(mailbox.next_all());
        assert!(next.as_mut().poll(&mut cx).is_pending());
        mailbox.push(1, 1);
        let Poll::Ready(all) = next.poll(&mut cx) else { panic!("something has come") };
        assert_eq!((all.items().collect::<Vec<_>>(), all.missed_count, all.is_closed), (vec![&1], 0, false));
        mailbox.close();
        assert!(mailbox.wait_all(Duration::from_secs(60)).is_closed);
    }
}
