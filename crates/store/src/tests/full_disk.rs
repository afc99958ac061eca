//! A disk that fills up: publishers are stopped, consumers go on, and when they have made room so do publishers.

use std::sync::Arc;

use super::broker::{Broker, Legacy, Seen};
use super::history::History;
use super::power_loss::{check, options};
use super::seeds::for_each_seed;
use crate::file::{Faults, SimDisk};
use crate::{Random, Store};

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
    options.is_reserve_kept = true;
    let (store, recovered) = Store::open_stepped(options.clone(), Arc::new(disk.clone())).unwrap();
    let (seen, history) = (Seen::default(), History::default());
    let broker =
        Broker::restore(store.clone(), recovered, Legacy { seen, random, history, next_queue: 1, next_message: 1 });
    assert!(store.refill_reserve() && !store.is_disk_full());
    disk.set_faults(Faults { capacity: Some(32 * file_len), ..Faults::default() });

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
    // The alarm is on: nobody publishes any more.
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
