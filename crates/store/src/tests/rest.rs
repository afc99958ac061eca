//! What a store gives back when nothing more comes.

use std::path::PathBuf;
use std::sync::Arc;

use crate::file::SimDisk;
use crate::journal::PREPARED_COUNT;
use crate::simulation::{Broker, History, Legacy, Seen};
use crate::{Options, Random, Store};

/// Files of the journal that the backlog takes.
const FILE_COUNT: usize = 6;

#[test]
fn a_backlog_that_was_drained_leaves_no_journal_behind() {
    let disk = SimDisk::new(0);
    let mut options = Options::small(PathBuf::from("/data"), 1);
    options.journal.unretired_len_max = 4 * FILE_COUNT as u64 * options.journal.file_len;
    let (store, recovered) = Store::open_stepped(options.clone(), Arc::new(disk.clone())).unwrap();
    let (seen, history, random) = (Seen::default(), History::default(), Random::new(1));
    let broker =
        Broker::restore(store.clone(), recovered, Legacy { seen, random, history, next_queue: 1, next_message: 1 });
    let step = || {
        store.step_journal().unwrap();
        store.retire_once(&*broker).unwrap();
    };
    let closed_count = || store.shared.journal.closed_files().len();
    while closed_count() < FILE_COUNT {
        broker.publish();
        step();
    }
    store.trim_disk();
    step();
    assert!(closed_count() >= FILE_COUNT, "as long as messages come, files are kept for the next");
    while broker.consume() {
        step();
    }
    let checkpoint_len = store.shared.memory.budget().movable_len();
    assert_eq!(checkpoint_len, 0, "nothing is alive");
    // The first look sees what was appended before it.
    for _ in 0..2 {
        store.trim_disk();
        (0..2 * FILE_COUNT).for_each(|_| step());
    }
    assert_eq!((closed_count(), store.shared.journal.prepared_count()), (0, PREPARED_COUNT));
    store.trim_disk();
    assert!(!store.shared.journal.has_surplus());
}

#[test]
fn what_is_alive_is_not_written_again_for_a_journal_that_rests() {
    let disk = SimDisk::new(0);
    let mut options = Options::small(PathBuf::from("/data"), 1);
    options.journal.unretired_len_max = 1 << 30;
    options.journal.file_len = 256 << 10;
    let (store, recovered) = Store::open_stepped(options, Arc::new(disk)).unwrap();
    let (seen, history, random) = (Seen::default(), History::default(), Random::new(1));
    let broker =
        Broker::restore(store.clone(), recovered, Legacy { seen, random, history, next_queue: 1, next_message: 1 });
    // More than the chunk that is being written.
    while store.shared.memory.budget().movable_len() == 0 {
        broker.publish();
        store.step_journal().unwrap();
    }
    for _ in 0..3 {
        store.trim_disk();
        assert_eq!(store.retire_once(&*broker).unwrap(), None);
    }
}
