//! The journal of a group's leader: begun at a pace, and synced beside the writer.

use std::time::Instant;

use super::group::test_replicated;
use super::*;
use crate::journal::pending::WriterWait;
use crate::journal::threads::{Work, next_work};

fn work(world: &World, now: Instant) -> Work {
    let shared = world.writer.shared();
    next_work(shared, &world.writer, &shared.work.lock(), now)
}

fn world(disk: &SimDisk, is_replicated: bool) -> World {
    test_replicated(is_replicated);
    let mut world = World::new(disk, &small_options());
    world.file_all();
    world
}

#[test]
fn commits_are_begun_at_a_pace_and_one_after_a_pause_at_once() {
    let disk = SimDisk::new(0);
    let mut world = world(&disk, true);
    let start = Instant::now();
    let at = |micros| start + Duration::from_micros(micros);
    let paced = |micros| Work::Wait(Some(Duration::from_micros(micros)), WriterWait::No);
    world.publish("one");
    assert_eq!(work(&world, at(0)), Work::Commit);
    assert_eq!(world.writer.commit_at(at(0)).unwrap(), Progress::Committed);
    assert!(matches!(work(&world, at(100)), Work::Wait(None, WriterWait::UntilWoken)));
    world.publish("two");
    assert_eq!(work(&world, at(100)), paced(900));
    world.publish("three");
    assert_eq!(work(&world, at(999)), paced(1));
    assert_eq!(work(&world, at(1_000)), Work::Commit);
    // From its own start, whenever that was.
    assert_eq!(world.writer.commit_at(at(1_700)).unwrap(), Progress::Committed);
    world.publish("four");
    assert_eq!(work(&world, at(2_500)), paced(200));
    assert_eq!(work(&world, at(5_000)), Work::Commit);
    // One that ends waits for nothing.
    world.writer.shared().shutdown.stop();
    assert_eq!(work(&world, at(2_000)), Work::Commit);
    assert_eq!(world.group.as_ref().unwrap().proposed.lock().len(), 2);
}

#[test]
fn a_node_alone_has_no_pace() {
    let disk = SimDisk::new(0);
    let mut world = world(&disk, false);
    let start = Instant::now();
    world.publish("one");
    world.writer.commit_at(start).unwrap();
    world.publish("two");
    assert_eq!(work(&world, start), Work::Commit);
}

#[test]
fn the_next_commit_does_not_wait_for_the_sync_of_the_last() {
    let disk = SimDisk::new(0);
    let mut world = world(&disk, true);
    let syncer = world.writer.split_syncer();
    let group = world.group.clone().unwrap();
    let first = world.publish("one");
    world.commit_all().unwrap();
    let second = world.publish("two");
    world.commit_all().unwrap();
    assert_eq!((world.journal.written(), world.journal.flushed()), (second, JournalPosition::START));
    assert_eq!(group.proposed.lock().len(), 2);
    // Others may have it first.
    world.journal.set_committed(second);
    assert_eq!((world.journal.durable(), world.journal.synced()), (second, JournalPosition::START));
    syncer.sync_once();
    let now = Instant::now();
    assert_eq!(work(&world, now), Work::LookAtSync);
    world.writer.look_at_sync(now).unwrap();
    assert_eq!(world.journal.flushed(), first, "what came after the sync began is not synced");
    // The next sync has begun without being asked for.
    syncer.sync_once();
    world.writer.look_at_sync(now).unwrap();
    assert_eq!((world.journal.synced(), &*group.flushed.lock()), (second, &vec![first, second]));
}

/// Of two voters the other one may have all, and this one's own disk is what is missing.
#[test]
fn who_waits_for_others_has_synced_all_before() {
    let disk = SimDisk::new(0);
    let mut world = world(&disk, true);
    let _syncer = world.writer.split_syncer();
    let group = world.group.clone().unwrap();
    let first = world.publish("one");
    world.commit_all().unwrap();
    assert!(group.flushed.lock().is_empty());
    *group.must_wait.lock() = true;
    world.publish("two");
    world.commit_all().unwrap();
    assert_eq!(*group.flushed.lock(), [first]);
}
