//! Each thread's chunk writers: where messages are copied to when they come in, without a lock.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use store::{ChunkWriter, Content, Kind, Store};

/// The way to this thread's writers.
pub struct Chunks {
    store: Arc<Store>,
    /// Distinguishes brokers of one process.
    broker: u64,
}

struct Writers {
    broker: u64,
    journaled: ChunkWriter,
    transient: ChunkWriter,
}

thread_local! {
    static WRITERS: RefCell<Option<Writers>> = const { RefCell::new(None) };
}

static NEXT_BROKER: AtomicU64 = AtomicU64::new(0);

/// Lets go of this thread's writers: each keeps a chunk open, also when its broker has stopped.
pub fn release_thread() {
    WRITERS.set(None);
}

impl Chunks {
    /// For threads that write into the chunks of this store.
    pub fn new(store: Arc<Store>) -> Self {
        Self { store, broker: NEXT_BROKER.fetch_add(1, Ordering::Relaxed) }
    }

    #[cold]
    fn writers(&self) -> Writers {
        let [journaled, transient] = [Kind::Journaled, Kind::Transient].map(|kind| self.store.chunk_writer(kind));
        Writers { broker: self.broker, journaled, transient }
    }

    /// A content of `len` bytes, filled by `fill`.
    #[inline(always)]
    pub fn write(&self, kind: Kind, len: usize, fill: impl FnOnce(&mut [u8])) -> Content {
        WRITERS.with_borrow_mut(|writers| {
            let writers = match writers {
                Some(writers) if writers.broker == self.broker => writers,
                writers => writers.insert(self.writers()),
            };
            let writer = match kind {
                Kind::Journaled => &mut writers.journaled,
                Kind::Transient => &mut writers.transient,
            };
            writer.write(len, fill)
        })
    }
}

#[cfg(test)]
mod tests {
    use store::ChunkBudget;

    use super::*;

    #[test]
    fn a_thread_lets_go_of_what_it_keeps_for_a_broker_that_is_gone() {
        let writer = || ChunkWriter::new(ChunkBudget::new());
        let mut writers = Writers { broker: 0, journaled: writer(), transient: writer() };
        let chunk = Arc::downgrade(writers.journaled.copy(&[b"x"]).chunk());
        WRITERS.set(Some(writers));
        assert_eq!(chunk.strong_count(), 1);
        release_thread();
        assert_eq!(chunk.strong_count(), 0);
    }
}
