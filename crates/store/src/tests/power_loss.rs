//! The power fails at any operation, again and again, also while the store is starting.
//!
//! After each start the state must be exactly what the journal said up to where it now ends, and that end must not lie before
//! what was said to be durable.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use model::ids::JournalPosition;

use super::meddling::Meddling;
use crate::file::{Disk, Faults, SimDisk};
use crate::fsck::{self, FsckError};
use crate::simulation::{Broker, History, Legacy, Seen, check, for_each_seed};
use crate::{Options, Random, RecoveredStore, Store};

const SEED_COUNT: u64 = 3000;

pub(super) fn options(random: &mut Random) -> Options {
    Options::small(PathBuf::from("/data"), random.next())
}

/// Opens the store; the power may fail meanwhile.
fn open(disk: &Arc<Meddling>, random: &mut Random) -> (Arc<Store>, RecoveredStore) {
    loop {
        if random.percent(30) {
            disk.cut_power_at(disk.operation_count() + random.below(12));
        }
        match Store::open_stepped(options(random), disk.clone()) {
            // What a start can do without may have failed.
            Ok(_) if disk.is_cut() => disk.restart(),
            Ok(opened) => {
                disk.cut_power_at(u64::MAX);
                return opened;
            }
            Err(error) => {
                assert!(disk.is_cut(), "the store does not open: {error}");
                disk.restart();
            }
        }
    }
}

/// What a crash leaves is not damage.
fn check_fsck(disk: &SimDisk) {
    let disk: Arc<dyn Disk> = Arc::new(disk.clone());
    match fsck::check(&disk, Path::new("/data")) {
        Ok(report) => assert!(report.is_sound(), "{report}"),
        // The power failed before there was anything in it.
        Err(error) => assert!(matches!(error, FsckError::NoDataDir { .. }), "{error}"),
    }
}

fn run(seed: u64) -> Seen {
    let mut random = Random::new(seed);
    let disk = Meddling::new(SimDisk::new(seed));
    let mut durable = JournalPosition::START;
    let mut was_closed = false;
    let mut legacy = Legacy {
        seen: Seen::default(),
        random: random.clone(),
        history: History::default(),
        next_queue: 1,
        next_message: 1,
    };
    for _ in 0..random.range(2..6) {
        let (store, recovered) = open(&disk, &mut random);
        check(&store, &recovered, &mut legacy.history, durable);
        assert!(recovered.was_clean || !was_closed, "a clean stop was not noticed");
        let expected = legacy.history.cut_at(store.appended()).clone();
        let broker = Broker::restore(store, recovered, legacy);
        expected.queues.iter().for_each(|(id, queue)| broker.expect(*id, &queue.messages));
        disk.set_broker(Arc::downgrade(&broker));
        if random.percent(30) {
            disk.set_faults(Faults { short_write_percent: 20, interrupt_percent: 10, ..Faults::default() });
        }
        if random.percent(80) {
            disk.cut_power_at(disk.operation_count() + random.below(120));
        }
        for _ in 0..random.below(160) {
            if let Err(error) = broker.act() {
                assert!(disk.is_cut(), "{error}");
                break;
            }
        }
        was_closed = false;
        if !disk.is_cut() && random.percent(15) {
            disk.cut_power_at(u64::MAX);
            disk.set_broker(Weak::new());
            broker.drain();
        }
        let (store, left) = broker.end();
        legacy = left;
        if !disk.is_cut() && random.percent(30) {
            was_closed = store.close().is_ok();
        }
        durable = store.durable();
        drop(store);
        match !disk.is_cut() && random.percent(30) {
            true => disk.kill_process(),
            false => disk.restart(),
        }
        if random.percent(20) {
            check_fsck(&disk);
        }
    }
    legacy.seen
}

#[test]
fn nothing_durable_is_lost_and_nothing_settled_returns() {
    let mut all = Seen::default();
    let is_whole = for_each_seed(SEED_COUNT, |seed| {
        let seen = run(seed);
        all.spilled += seen.spilled;
        all.checkpoints += seen.checkpoints;
        all.copied += seen.copied;
        all.removed += seen.removed;
        all.loaded += seen.loaded;
    });
    println!("{all:?}");
    let is_thorough = all.checkpoints > SEED_COUNT && all.copied > SEED_COUNT && all.loaded > 10 * SEED_COUNT;
    assert!(is_thorough || !is_whole, "the test has become too tame: {all:?}");
}
