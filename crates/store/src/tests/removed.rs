//! Files that are removed under a running store: it notices, and ends.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::task::{Wake, Waker};
use std::thread::Thread;
use std::time::{Duration, Instant};

use model::ids::JournalPosition;

use super::power_loss::options;
use super::threads::TempDir;
use crate::file::{Disk, Faults, RealDisk, SimDisk};
use crate::{Options, Random, RecordBatch, Store};

const DATA: &str = "/data";

/// Definitions as large as this make a file full.
fn put(store: &Store, len: usize) {
    let mut batch = RecordBatch::new();
    batch.put(b"key", &vec![1; len]);
    store.append(&mut batch);
}

fn opened(disk: &SimDisk) -> Arc<Store> {
    let (store, _) = Store::open_stepped(options(&mut Random::new(1)), Arc::new(disk.clone())).unwrap();
    put(&store, 100);
    store.settle_down().unwrap();
    store
}

#[track_caller]
fn check_noticed(error: &impl ToString, path: &Path) {
    let (error, path) = (error.to_string(), path.display());
    assert!(error.contains(&format!("{path} no longer exists")), "{error}");
}

/// It went on confirming, and stopped as if all were well.
#[test]
fn a_stop_fails_where_files_are_gone() {
    for name in ["journal/000001.journal", "manifest", "lock"] {
        let disk = SimDisk::new(1);
        let store = opened(&disk);
        let path = Path::new(DATA).join(name);
        disk.rename(&path, &path.with_extension("moved")).unwrap();
        check_noticed(&store.close().unwrap_err(), &path);
        check_noticed(&store.failure().unwrap(), &path);
    }
}

/// The journal that it retires is all there is then.
#[test]
fn no_checkpoint_is_made_where_no_start_would_find_it() {
    for name in ["manifest", "lock"] {
        let disk = SimDisk::new(1);
        let store = opened(&disk);
        let path = Path::new(DATA).join(name);
        disk.remove(&path).unwrap();
        disk.create(&path).unwrap();
        check_noticed(&store.checkpoint_once().unwrap_err(), &path);
    }
}

/// It waited for room that no wait brings.
#[test]
fn a_directory_that_takes_no_files_any_more_is_noticed() {
    let disk = SimDisk::new(1);
    let store = opened(&disk);
    disk.set_faults(Faults { is_read_only: true, ..Faults::default() });
    let error = (0..100).find_map(|_| {
        put(&store, 10_000);
        let _ = store.settle_down();
        store.failure()
    });
    let error = error.expect("it is noticed when another file is needed").to_string();
    assert!(error.contains("no more files can be prepared in /data/journal"), "{error}");
    assert!(store.close().is_err());
}

#[test]
fn what_says_how_far_the_journal_is_synced_is_made_again() {
    let disk = SimDisk::new(1);
    let store = opened(&disk);
    let path = Path::new(DATA).join("synced");
    disk.remove(&path).unwrap();
    put(&store, 100);
    store.settle_down().unwrap();
    assert!(disk.open(&path).is_ok());
    store.close().unwrap();
}

/// Wakes a thread that is parked.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Waits until a store that works in a real directory has failed after something was done to that.
fn failure_after(change: impl FnOnce(&Path)) -> String {
    let dir = TempDir::new();
    let mut options = Options::small(dir.0.clone(), 1);
    options.journal.file_len = 64 << 10;
    let (store, _) = Store::open(options, Arc::new(RealDisk)).unwrap();
    put(&store, 100);
    store.shared.journal.wait_synced(store.appended()).unwrap();
    // What is never appended is awaited until the store has failed.
    store.when_durable(JournalPosition::MAX, Arc::new(Waker::from(Arc::new(Unpark(std::thread::current())))));
    change(&dir.0);
    put(&store, 100);
    let end = Instant::now() + Duration::from_secs(20);
    loop {
        if let Some(failed) = store.failure() {
            assert!(store.close().is_err());
            return failed.to_string();
        }
        let left = end.checked_duration_since(Instant::now()).expect("it is noticed in time");
        std::thread::park_timeout(left);
    }
}

/// Most likely no file can be made ready. On a busy machine all have been by then: then those in use are missed first.
#[track_caller]
fn check_notices_directory(error: &str) {
    let is_noticed = error.contains("no more files") || error.contains("no longer exists");
    assert!(is_noticed && error.contains("/journal"), "{error}");
}

/// No other file is needed, so that only a check for this file misses it.
#[test]
fn a_running_store_notices_that_its_journal_file_is_gone() {
    let remove = |dir: &Path| {
        for entry in std::fs::read_dir(dir.join("journal")).unwrap() {
            std::fs::remove_file(entry.unwrap().path()).unwrap();
        }
    };
    let error = failure_after(remove);
    assert!(error.contains(".journal no longer exists"), "{error}");
}

#[test]
fn a_running_store_notices_that_its_directory_is_gone() {
    let remove = |dir: &Path| {
        // The store may create a file meanwhile.
        while let Err(error) = std::fs::remove_dir_all(dir) {
            assert_eq!(error.kind(), std::io::ErrorKind::DirectoryNotEmpty);
        }
    };
    let error = failure_after(remove);
    check_notices_directory(&error);
}

#[test]
fn a_running_store_notices_that_its_directory_was_moved() {
    let mut moved = PathBuf::new();
    let change = |dir: &Path| {
        moved = dir.with_extension("moved");
        std::fs::rename(dir, &moved).unwrap();
    };
    let error = failure_after(change);
    std::fs::remove_dir_all(moved).unwrap();
    check_notices_directory(&error);
}
