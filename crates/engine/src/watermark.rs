//! How far a durable queue has been delivered, as the journal knows it: what came back after a crash is marked redelivered by this.
//!
//! A queue journals no mark per delivery. Its watermark is *closed* (nothing above it has been delivered) or *open* (anything may have
//! been). It is opened before the first delivery beyond a closed mark, and such deliveries wait in their outboxes until that record is
//! durable. It is closed again when the queue's backlog has rested for a while, and at a clean stop.
//!
//! **Invariant: no message above a closed mark has been handed out.** Only [`Work::deliveries_wait_until`] and
//! [`Engine::close_watermarks`] change the mark of a queue that lives, both under its shard's lock, and each journals it there.

use std::sync::Arc;

use model::ids::{JournalPosition, QueueSeq};
use parking_lot::Mutex;
use store::RecordBatch;

use crate::engine::Engine;
use crate::queue_handle::QueueHandle;
use crate::shard::QueueEntry;
use crate::work::Work;

/// A queue's watermark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Watermark {
    mark: Mark,
    /// What had been delivered when it was last looked at whether the queue rests.
    delivered_then: QueueSeq,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    /// The queue is not durable: nothing is journalled.
    None,
    /// Nothing above has been delivered.
    Closed(QueueSeq),
    /// Anything may have been delivered, once the journal is durable up to here.
    Open(JournalPosition),
}

impl Watermark {
    /// Of a queue that is not durable.
    pub const NONE: Watermark = Watermark { mark: Mark::None, delivered_then: QueueSeq(0) };

    /// Nothing above `seq` has been delivered.
    #[must_use]
    pub const fn closed_at(seq: QueueSeq) -> Self {
        Self { mark: Mark::Closed(seq), delivered_then: QueueSeq(0) }
    }

    /// As a start finds it: closed at a mark, or open.
    #[must_use]
    pub const fn recovered(mark: Option<QueueSeq>) -> Self {
        match mark {
            Some(seq) => Self::closed_at(seq),
            None => Watermark { mark: Mark::Open(JournalPosition(0)), delivered_then: QueueSeq(0) },
        }
    }

    /// The mark that a checkpoint keeps: `None` where anything may have been delivered.
    #[must_use]
    pub(crate) fn closed_mark(&self) -> Option<QueueSeq> {
        match self.mark {
            Mark::Closed(seq) => Some(seq),
            Mark::None | Mark::Open(_) => None,
        }
    }
}

/// The queues whose watermark is open.
#[derive(Debug, Default)]
pub(crate) struct OpenWatermarks(Mutex<Vec<Arc<QueueHandle>>>);

impl Work<'_> {
    /// Until when deliveries of a queue, which has just been dispatched, have to wait: opens its watermark if they go beyond it. Appended at
    /// once, for the next section that dispatches the queue must know the position; it is rare.
    pub(crate) fn deliveries_wait_until(&mut self, entry: &mut QueueEntry) -> Option<JournalPosition> {
        let position = match entry.watermark.mark {
            Mark::None => return None,
            Mark::Closed(mark) if entry.queue.last_delivered() <= mark => return None,
            Mark::Closed(_) => self.open_watermark(entry),
            Mark::Open(position) => position,
        };
        (position > self.engine.store.durable()).then_some(position)
    }

    /// A consumer came to a queue with a closed watermark: opens it now, so that it is durable by the time a message comes.
    pub fn preopen_watermark(&mut self, entry: &mut QueueEntry) {
        if let Mark::Closed(_) = entry.watermark.mark {
            self.open_watermark(entry);
        }
    }

    pub(crate) fn open_watermark(&mut self, entry: &mut QueueEntry) -> JournalPosition {
        self.gathered.records.watermark(entry.handle.id(), None);
        let position = self.append();
        entry.watermark.mark = Mark::Open(position);
        self.engine.open_watermarks.0.lock().push(entry.handle.clone());
        position
    }
}

impl Engine {
    /// A queue has come that was found with this watermark: if it is open, it is closed in time.
    pub fn track_watermark(&self, handle: &Arc<QueueHandle>, watermark: Watermark) {
        if let Mark::Open(_) = watermark.mark {
            self.open_watermarks.0.lock().push(handle.clone());
        }
    }

    /// Writes down how far queues were delivered that have rested since the last time, or all of them at the end.
    ///
    /// A queue with an open watermark has all its messages marked redelivered after a crash, so it is closed as soon as
    /// its backlog rests.
    pub fn close_watermarks(&self, is_last: bool) {
        let opened = std::mem::take(&mut *self.open_watermarks.0.lock());
        for handle in opened {
            let is_closed = self.shards.with_queue(&handle, |entry| {
                let mark = entry.queue.last_delivered();
                let is_at_rest = std::mem::replace(&mut entry.watermark.delivered_then, mark) == mark;
                let closes = is_last || (is_at_rest && entry.queue.ready_count() > 0);
                if closes {
                    // Under the lock: nothing may be delivered between the mark and its record.
                    let mut records = RecordBatch::new();
                    records.watermark(handle.id(), Some(mark));
                    self.store.append(&mut records);
                    entry.watermark.mark = Mark::Closed(mark);
                }
                closes
            });
            if is_closed == Some(false) {
                self.open_watermarks.0.lock().push(handle);
            }
        }
    }
}
