//! A disk that fills up: publishers are stopped, consumers go on, and when they have made room so do publishers.

use std::sync::Arc;

use super::broker::{Broker, Legacy, Seen};
use super::history::History;
use super::power_loss::{check, options};
use super::random::Random;
use crate::Store;
use crate::file::{Faults, SimDisk};

fn run(seed: u64) {
    let mut random = Random::new(seed);
    let disk = SimDisk::new(seed);
    let mut options = options(&mut random);
    // In the proportions of the defaults: the reserved segment holds what is alive in a journal file.
    options.journal.file_len = 128 << 10;
    options.journal.unretired_len_max = 1 << 20;
    options.segment_len = 256 << 10;
    options.is_reserve_kept = true;
    let (store, recovered) = Store::open_stepped(options.clone(), Arc::new(disk.clone())).unwrap();
    let (seen, history) = (Seen::default(), History::default());
    let broker =
        Broker::restore(store.clone(), recovered, Legacy { seen, random, history, next_queue: 1, next_message: 1 });
    assert!(store.refill_reserve() && !store.is_disk_full());
    disk.set_faults(Faults { capacity: Some(4 << 20), ..Faults::default() });

    let mut published = 0;
    while !store.is_disk_full() {
        broker.publish();
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
    (0..40).for_each(run);
}
