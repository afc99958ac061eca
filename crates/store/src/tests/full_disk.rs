//! A disk that fills up: publishers are stopped, consumers go on, and when they have made room so do publishers.

use std::sync::Arc;

use model::ids::JournalPosition;

use super::power_loss::options;
use crate::file::{Faults, SimDisk};
use crate::journal::ConfirmAfter;
use crate::simulation::{Broker, History, Legacy, Seen, check, for_each_seed};
use crate::{Options, Random, RecoveredStore, Store, WorkError, journal};

/// How publishers behave before the alarm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Publishers {
    /// Each message is written before the next is published.
    Patient,
    /// They publish whenever they may, and the disk is slow.
    Eager,
}

fn run(seed: u64, publishers: Publishers) {
    let mut random = Random::new(seed);
    let disk = SimDisk::new(seed);
    let mut options = options(&mut random);
    // In the proportions of the defaults: the reserved segment holds what is alive in a journal file.
    // And what one client sends at once is little beside a file.
    let file_len = if publishers == Publishers::Eager { 512 << 10 } else { 128 << 10 };
    options.journal.file_len = file_len;
    options.journal.unretired_len_max = 8 * file_len;
    options.segment_len = 2 * file_len;
    options.journal.commit_len_max = 4 << 20;
    options.is_reserve_kept = true;
    let (store, recovered) = Store::open_stepped(options.clone(), Arc::new(disk.clone())).unwrap();
    let (seen, history) = (Seen::default(), History::default());
    let broker =
        Broker::restore(store.clone(), recovered, Legacy { seen, random, history, next_queue: 1, next_message: 1 });
    assert!(store.refill_reserve() && !store.is_disk_full());
    disk.set_faults(Faults { capacity: Some(disk.used() + 32 * file_len), ..Faults::default() });

    let mut published = 0;
    while !store.is_disk_full() {
        broker.publish();
        while publishers == Publishers::Eager && !store.is_congested() {
            broker.publish();
        }
        let _ = store.step_journal();
        let _ = store.retire_once(&*broker);
        published += 1;
        assert!(published < 10_000, "seed {seed}: the disk never fills up");
    }
    // The alarm is on: nothing more is published.
    let mut rounds = 0;
    while broker.consume() {
        let _ = store.step_journal();
        while store.load_once(&*broker) {}
        let _ = store.retire_once(&*broker);
        let _ = store.reclaim_once(&*broker);
        let _ = store.checkpoint_once();
        rounds += 1;
        assert!(rounds < 50_000, "seed {seed}: consumers do not get on");
    }
    for _ in 0..20 {
        while let Ok(Some(_)) = store.reclaim_once(&*broker) {}
        store.checkpoint_once().unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        let _ = store.step_journal();
        let _ = store.retire_once(&*broker);
        store.refill_reserve();
    }
    assert!(!store.is_disk_full(), "seed {seed}: the disk counts as full with {:?}", store.stats());
    broker.publish();
    store.close().unwrap_or_else(|error| panic!("seed {seed}: {error}"));

    let durable = store.durable();
    drop(store);
    let (store, mut legacy) = broker.end();
    drop(store);
    disk.restart();
    let (store, recovered) = Store::open_stepped(options, Arc::new(disk)).unwrap();
    check(&store, &recovered, &mut legacy.history, durable);
}

#[test]
fn a_full_disk_stops_publishers_and_nobody_else() {
    for_each_seed(40, |seed| run(seed, Publishers::Patient));
}

/// What they had been let publish did not fit the files that were left; before it was written no checkpoint could be made,
/// and without one no file was free.
#[test]
fn publishers_that_fill_all_they_may_leave_room_for_what_frees_the_disk() {
    for_each_seed(15, |seed| run(seed, Publishers::Eager));
}

/// Bounds of all sizes and their combinations, messages longer than a journal file among them.
fn small_bounds(random: &mut Random) -> Options {
    let mut options = options(random);
    let file_len = 32 << (10 + random.below(4));
    options.journal.file_len = file_len;
    options.journal.unretired_len_max = file_len * random.range(4..9);
    options.journal.commit_len_max = *random.pick(&[4 << 10, 64 << 10, 4 << 20]).unwrap();
    options.journal.confirm_after = if random.percent(80) { ConfirmAfter::Sync } else { ConfirmAfter::Write };
    options.segment_len = *random.pick(&[16 << 10, 256 << 10, 64 << 20]).unwrap();
    options.chunk_len_max = *random.pick(&[2 << 20, 8 << 20]).unwrap();
    options.is_reserve_kept = true;
    options
}

/// Not a byte is left, whichever process has taken them.
fn fill(disk: &SimDisk) {
    disk.set_faults(Faults { capacity: Some(disk.used()), ..Faults::default() });
}

/// Opens the store on a full disk. Only the power may keep it from that.
fn open_full(options: &Options, disk: &SimDisk, random: &mut Random) -> (Arc<Store>, RecoveredStore) {
    loop {
        fill(disk);
        if random.percent(30) {
            disk.cut_power_at(disk.operation_count() + random.below(20));
        }
        let options =
            Options { journal: journal::Options { salt: random.next(), ..options.journal.clone() }, ..options.clone() };
        match Store::open_stepped(options, Arc::new(disk.clone())) {
            // The power may have failed at something that a start can do without.
            Ok(opened) if disk.is_cut() => {
                drop(opened);
                disk.restart();
            }
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

/// What the store's threads do.
fn work(store: &Store, broker: &Arc<Broker>) -> Result<(), WorkError> {
    store.step_journal()?;
    while store.load_once(&**broker) {}
    // What finds no room is tried again.
    let _ = store.retire_once(&**broker);
    store.refill_reserve();
    let _ = store.reclaim_once(&**broker);
    if store.shared.has_doomed() && store.is_disk_full() {
        let _ = store.checkpoint_once();
    }
    Ok(())
}

/// Fills the disk at some moment, crashes at any, starts again without a free byte, and at the end takes out all that is there.
fn live_on_a_full_disk(seed: u64) {
    let mut random = Random::new(seed);
    let disk = SimDisk::new(seed);
    let options = small_bounds(&mut random);
    let mut durable = JournalPosition::START;
    let mut legacy = Legacy {
        seen: Seen::default(),
        random: random.clone(),
        history: History::default(),
        next_queue: 1,
        next_message: 1,
    };
    let life_count = random.range(1..5);
    for life in 0..life_count {
        let (store, recovered) = match life {
            0 => Store::open_stepped(options.clone(), Arc::new(disk.clone())).unwrap(),
            _ => open_full(&options, &disk, &mut random),
        };
        check(&store, &recovered, &mut legacy.history, durable);
        let expected = legacy.history.cut_at(store.appended()).clone();
        let broker = Broker::restore(store.clone(), recovered, legacy);
        expected.queues.iter().for_each(|(id, queue)| broker.expect(*id, &queue.messages));
        broker.be_careful();
        if life == 0 {
            assert!(store.refill_reserve() && !store.is_disk_full());
            // Either the store fills the disk itself, or another process does when the reserve is whole.
            let is_small = random.percent(50);
            let capacity = is_small.then(|| disk.used() + random.below(60 * options.journal.file_len));
            disk.set_faults(Faults { capacity, ..Faults::default() });
            for _ in 0..random.range(10..300) {
                broker.publish();
                if random.percent(60) {
                    work(&store, &broker).unwrap();
                }
            }
            while !store.refill_reserve() && !is_small {}
            fill(&disk);
        }
        let is_last = life + 1 == life_count;
        if !is_last && random.percent(70) {
            disk.cut_power_at(disk.operation_count() + random.below(200));
        }
        for _ in 0..random.below(100) {
            broker.serve();
            if random.percent(60) && work(&store, &broker).is_err() {
                assert!(disk.is_cut(), "the journal failed");
            }
            if disk.is_cut() {
                break;
            }
        }
        if is_last {
            take_all(&store, &broker);
            assert_eq!(store.stats().segment_count, 0, "no space comes back");
            disk.set_faults(Faults::default());
            for _ in 0..5 {
                work(&store, &broker).unwrap();
            }
            assert!(!store.is_disk_full(), "the alarm stays");
            broker.publish();
            store.close().unwrap();
        }
        durable = store.durable();
        if options.journal.confirm_after == ConfirmAfter::Write {
            durable = store.shared.journal.synced();
        }
        drop(store);
        let (store, left) = broker.end();
        legacy = left;
        drop(store);
        if random.percent(40) && !disk.is_cut() { disk.kill_process() } else { disk.restart() }
    }
    let (store, recovered) = open_full(&options, &disk, &mut random);
    check(&store, &recovered, &mut legacy.history, durable);
}

/// Consumers take and ack everything, on a disk without a free byte.
fn take_all(store: &Arc<Store>, broker: &Arc<Broker>) {
    broker.stop_publishers();
    let mut rounds = 0;
    while broker.consume() {
        work(store, broker).unwrap();
        rounds += 1;
        assert!(rounds < 20_000, "consumers do not get on");
    }
    broker.drain();
    for _ in 0..100 {
        work(store, broker).unwrap();
    }
    let retired = store.retire_once(&**broker).map(|_| ());
    let state = (store.is_disk_full(), store.shared.journal.closed_files(), store.shared.journal.missing_file());
    assert_eq!(store.durable(), store.appended(), "acks do not last: {retired:?} {state:?}");
}

#[test]
fn a_start_and_acks_always_succeed_in_the_reserve() {
    for_each_seed(1000, live_on_a_full_disk);
}
