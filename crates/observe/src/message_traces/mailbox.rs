//! What waits for one reader of a trace: bounded, and it never holds up who puts something in.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use tokio::sync::Notify;

use super::record::Record;

/// Records that wait at most; with their bytes this is the memory that a trace takes.
const RECORD_COUNT_MAX: usize = 8192;
/// Their bytes at most.
const RECORDS_LEN_MAX: usize = 4 << 20;

/// What waits for one reader.
#[derive(Debug, Default)]
pub(super) struct Mailbox {
    waiting: Mutex<Waiting>,
    /// For a reader that is a thread.
    has_come: Condvar,
    /// For a reader that is a task.
    news: Notify,
}

#[derive(Debug, Default)]
struct Waiting {
    records: VecDeque<Record>,
    len: usize,
    missed_count: u64,
    is_closed: bool,
}

/// What a reader is given.
#[derive(Debug, Default)]
pub(super) struct Taken {
    pub(super) records: VecDeque<Record>,
    /// So many were not kept since the last time, because too much waited.
    pub(super) missed_count: u64,
    /// Nothing comes any more.
    pub(super) is_closed: bool,
}

impl Mailbox {
    pub(super) fn new() -> Arc<Self> {
        Arc::default()
    }

    /// Puts something in, or counts it as missed.
    pub(super) fn push(&self, record: Record) {
        let mut waiting = self.waiting.lock();
        let len = record.len();
        if waiting.records.len() >= RECORD_COUNT_MAX || waiting.len + len > RECORDS_LEN_MAX {
            waiting.missed_count += 1;
            return;
        }
        waiting.len += len;
        let was_empty = waiting.records.is_empty();
        waiting.records.push_back(record);
        drop(waiting);
        if was_empty {
            self.wake();
        }
    }

    /// Nothing comes any more.
    pub(super) fn close(&self) {
        self.waiting.lock().is_closed = true;
        self.wake();
    }

    fn wake(&self) {
        self.has_come.notify_one();
        self.news.notify_one();
    }

    /// All there is.
    pub(super) fn take(&self) -> Taken {
        self.waiting.lock().take()
    }

    /// Waits until there is something, up to `patience`.
    pub(super) fn wait(&self, patience: Duration) -> Taken {
        let mut waiting = self.waiting.lock();
        if waiting.records.is_empty() && !waiting.is_closed {
            self.has_come.wait_for(&mut waiting, patience);
        }
        waiting.take()
    }

    /// Waits until something may have come.
    pub(super) async fn has_news(&self) {
        self.news.notified().await;
    }
}

impl Waiting {
    fn take(&mut self) -> Taken {
        self.len = 0;
        Taken {
            records: std::mem::take(&mut self.records),
            missed_count: std::mem::take(&mut self.missed_count),
            is_closed: self.is_closed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message_traces::testing::record;

    #[test]
    fn what_is_too_much_is_counted() {
        let mailbox = Mailbox::new();
        (0..RECORD_COUNT_MAX + 3).for_each(|_| mailbox.push(record(b"")));
        let taken = mailbox.take();
        assert_eq!((taken.records.len(), taken.missed_count), (RECORD_COUNT_MAX, 3));
        mailbox.push(record(&[0; RECORDS_LEN_MAX]));
        mailbox.push(record(b"small"));
        let taken = mailbox.take();
        assert_eq!((taken.records.len(), taken.missed_count), (1, 1));
        mailbox.close();
        assert!(mailbox.wait(Duration::from_secs(60)).is_closed);
    }
}
