//! How old queues' oldest messages are. Those in memory are asked at once; those in segments are read by a task of its own, and
//! remembered for as long as they are the oldest: a backlog without consumers is read once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use alerts::Age;
use broker::Broker;
use broker::view::{OldestView, QueueView};
use parking_lot::Mutex;
use std::collections::HashMap;

/// Messages that are read between two looks.
const READ_COUNT_MAX: usize = 256;

#[derive(Debug, Default)]
pub(super) struct Ages {
    inner: Mutex<Inner>,
    is_reading: AtomicBool,
}

#[derive(Debug, Default)]
struct Inner {
    /// By the queue's number.
    read: HashMap<u64, PublishTime>,
    missing: Vec<(QueueView, OldestView)>,
    look_count: u64,
}

#[derive(Debug)]
struct PublishTime {
    oldest: OldestView,
    published_at_ms: u64,
    used_in: u64,
}

impl Ages {
    /// How old the oldest ready message of a queue is.
    pub(super) fn of(&self, broker: &Broker, queue: &QueueView) -> Age {
        let Some(oldest) = broker.oldest_view_of(queue) else { return Age::Nothing };
        let age = |published_at_ms: u64| Age::Ms(broker.now_ms().saturating_sub(published_at_ms));
        if let Some(published_at_ms) = oldest.published_at_ms {
            return age(published_at_ms);
        }
        let mut inner = self.inner.lock();
        let Inner { read, missing, look_count } = &mut *inner;
        match read.get_mut(&queue.definition().id.0) {
            Some(read) if read.oldest.is_same(&oldest) => {
                read.used_in = *look_count;
                age(read.published_at_ms)
            }
            _ => {
                if missing.len() < READ_COUNT_MAX {
                    missing.push((queue.clone(), oldest));
                }
                Age::Unknown
            }
        }
    }

    /// Forgets what no rule asked for during the look.
    pub(super) fn end_of_look(&self) {
        let mut inner = self.inner.lock();
        let look_count = inner.look_count;
        inner.read.retain(|_, read| read.used_in == look_count);
        inner.look_count += 1;
    }

    /// Reads what the last look did not know, unless that is being done. A disk that hangs holds up nothing but this.
    pub(super) fn read_missing(self: Arc<Self>, broker: &Arc<Broker>) {
        let missing = std::mem::take(&mut self.inner.lock().missing);
        if missing.is_empty() || self.is_reading.swap(true, Ordering::AcqRel) {
            return;
        }
        let broker = broker.clone();
        tokio::spawn(async move {
            self.read_all(&broker, missing).await;
            self.is_reading.store(false, Ordering::Release);
        });
    }

    async fn read_all(&self, broker: &Broker, missing: Vec<(QueueView, OldestView)>) {
        for (queue, oldest) in missing {
            // None: it is no longer ready, and another message is the oldest.
            let Some(published_at_ms) = broker.read_oldest_ready_of(&queue, &oldest).await else { continue };
            let mut inner = self.inner.lock();
            // The next look is the one that uses it.
            let read = PublishTime { oldest, published_at_ms, used_in: inner.look_count };
            inner.read.insert(queue.definition().id.0, read);
        }
    }
}
