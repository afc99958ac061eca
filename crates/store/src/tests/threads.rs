//! The same store on a real disk, with its threads: everything published is consumed once, in order, over restarts.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use crate::file::RealDisk;
use crate::reclaim::Policy;
use crate::simulation::{Broker, History, Legacy, Seen, check};
use crate::{Options, QueueOwner, Random, Store};

/// A directory that is removed at the end.
pub(super) struct TempDir(pub(super) PathBuf);

impl TempDir {
    pub(super) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("warren-store-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        TempDir(std::env::temp_dir().join(name))
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub(super) fn options(dir: &TempDir, salt: u64) -> Options {
    let mut options = Options::new(dir.0.clone());
    options.journal.file_len = 256 << 10;
    options.journal.unretired_len_max = 1 << 20;
    options.journal.salt = salt;
    options.segment_len = 128 << 10;
    options.chunk_len_max = 8 << 20;
    options.reclaim = Policy { garbage_len_min: 64 << 10, fanout: 3, copy_len_max: 1 << 20, copy_count_max: 10_000 };
    options
}

#[test]
fn threads_retire_reclaim_and_read_while_clients_work() {
    let dir = TempDir::new();
    let (seen, history) = (Seen::default(), History::default());
    let mut legacy = Legacy { seen, random: Random::new(1), history, next_queue: 1, next_message: 1 };
    for salt in 1..4 {
        let (store, recovered) = Store::open(options(&dir, salt), Arc::new(RealDisk)).unwrap();
        check(&store, &recovered, &mut legacy.history, store.durable());
        assert_eq!(recovered.was_clean, salt > 1);
        let expected = legacy.history.cut_at(store.appended()).clone();
        let broker = Broker::restore(store.clone(), recovered, legacy);
        expected.queues.iter().for_each(|(id, queue)| broker.expect(*id, &queue.messages));
        let owner: Arc<dyn QueueOwner> = broker.clone();
        store.start(owner);

        let start = Instant::now();
        while start.elapsed() < Duration::from_millis(700) {
            if store.is_congested() {
                // Publishers wait; the others go on.
                broker.consume();
                std::thread::yield_now();
            } else {
                broker.serve();
            }
        }
        let start = Instant::now();
        while broker.consume() {
            assert!(start.elapsed() < Duration::from_secs(60), "readers do not answer: {:?}", store.stats());
            std::thread::yield_now();
        }
        for _ in 0..50 {
            broker.serve();
        }
        store.close().unwrap();
        drop(store);
        let (store, left) = broker.end();
        legacy = left;
        drop(store);
    }
}

#[test]
fn a_second_process_is_refused() {
    let dir = TempDir::new();
    let _first = Store::open(options(&dir, 1), Arc::new(RealDisk)).unwrap();
    let error = Store::open(options(&dir, 2), Arc::new(RealDisk)).map(drop).unwrap_err();
    assert!(error.to_string().contains("in use"), "{error}");
}
