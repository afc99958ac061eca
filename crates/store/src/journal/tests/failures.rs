//! Writes and syncs that fail: what was confirmed is there, and what could not be made durable is never confirmed.

use super::power_loss::check_lives;
use super::*;
use crate::file::Faults;

#[test]
fn what_was_promised_survives_failed_syncs_and_writes() {
    for seed in seeds(2, 2500) {
        check_lives(seed, Faults { sync_failure_percent: 8, ..Faults::default() });
        check_lives(seed, Faults { sync_failure_percent: 4, write_failure_percent: 4, ..Faults::default() });
    }
}

/// Two commits are durable, syncing the third fails once; then the power fails.
#[track_caller]
fn check_failed_sync(seed: u64, confirm_after: ConfirmAfter) {
    let options = Options { confirm_after, ..small_options() };
    let disk = SimDisk::new(seed);
    let mut world = World::new(&disk, &options);
    world.publish("one");
    world.commit_all().unwrap();
    world.publish("two");
    world.commit_all().unwrap();
    world.writer.sync_once().unwrap();
    let before = world.journal.synced();
    let end = world.publish("three");
    disk.fail_syncs(1);
    world.commit_all().unwrap();
    world.writer.sync_once().unwrap();
    assert!(before < end && world.journal.synced() == end && !world.journal.is_failed());
    let after = world.publish("four");
    world.commit_all().unwrap();
    world.writer.sync_once().unwrap();
    assert_eq!(world.journal.synced(), after);
    disk.restart();
    let (_, said) = World::open(&disk, &options, JournalPosition::START).unwrap();
    assert_eq!(said.len(), 4, "seed {seed}");
}

#[test]
fn a_failed_sync_is_answered_by_writing_to_another_file() {
    for seed in 0..100 {
        check_failed_sync(seed, ConfirmAfter::Sync);
        check_failed_sync(seed, ConfirmAfter::Write);
    }
}

#[test]
fn a_file_that_failed_is_never_used_again() {
    in_both_layouts(|| {
        let disk = SimDisk::new(0);
        let mut world = World::new(&disk, &small_options());
        world.file_all();
        world.publish("one");
        disk.fail_syncs(1);
        world.commit_all().unwrap();
        let names = disk.list(Path::new(DIR)).unwrap();
        world.journal.retire(world.journal.synced());
        world.file_all();
        let left = disk.list(Path::new(DIR)).unwrap();
        assert!(!left.contains(&names[0]), "{names:?} became {left:?}");
    });
}

#[test]
fn after_two_failures_nothing_is_confirmed_any_more() {
    in_both_layouts(|| {
        for seed in 0..50 {
            let disk = SimDisk::new(seed);
            let mut world = World::new(&disk, &small_options());
            let durable = world.publish("one");
            world.commit_all().unwrap();
            world.publish("two");
            disk.fail_syncs(2);
            let failed = world.commit_all().unwrap_err();
            assert_eq!(failed.durable, durable);
            assert!(world.journal.is_failed() && world.journal.is_congested());
            assert_eq!(world.journal.failure(), Some(failed));
            assert!(world.events.lock().contains(&Event::Failed));
            world.publish("three");
            world.commit_all().unwrap_err();
            assert_eq!(world.journal.durable(), durable);
            disk.restart();
            let (_, said) = World::open(&disk, &small_options(), JournalPosition::START).unwrap();
            assert!((1..=2).contains(&said.len()), "seed {seed}: {said:?}");
        }
    });
}

/// The kernel forgets what a failed sync did not write, and a dead process cannot inform the next one.
#[test]
fn what_only_the_page_cache_has_is_not_taken_for_durable() {
    in_both_layouts(|| {
        for seed in 0..200 {
            let disk = SimDisk::new(seed);
            let mut world = World::new(&disk, &small_options());
            world.publish("one");
            world.commit_all().unwrap();
            world.publish("two");
            disk.fail_syncs(2);
            world.commit_all().unwrap_err();
            disk.kill_process();
            let (world, said) = World::open(&disk, &small_options(), JournalPosition::START).unwrap();
            let durable = world.journal.durable();
            disk.restart();
            let (world, said_again) = World::open(&disk, &small_options(), JournalPosition::START).unwrap();
            assert!(world.journal.durable() >= durable, "seed {seed}");
            assert_eq!(said, said_again, "seed {seed}");
        }
    });
}

/// A world that syncs beside the writer, with one commit for which a sync is under way and one that came after.
fn with_sync_under_way(disk: &SimDisk) -> (World, [JournalPosition; 2]) {
    let options = Options { confirm_after: ConfirmAfter::Write, ..small_options() };
    let mut world = World::new(disk, &options);
    world.file_all();
    world.syncer = Some(world.writer.split_syncer());
    let first = world.publish("one");
    world.commit_all().unwrap();
    world.writer.sync_soon().unwrap();
    let second = world.publish("two");
    world.commit_all().unwrap();
    assert_eq!(world.journal.durable(), second);
    (world, [first, second])
}

#[test]
fn what_is_synced_beside_the_writer_counts_when_the_writer_knows() {
    let disk = SimDisk::new(0);
    let (mut world, [first, second]) = with_sync_under_way(&disk);
    world.syncer.as_ref().unwrap().sync_once();
    assert_eq!(world.journal.synced(), JournalPosition::START);
    world.commit_all().unwrap();
    assert_eq!(world.journal.synced(), first, "what came after the sync began is not synced");
    world.writer.sync_once().unwrap();
    assert_eq!(world.journal.synced(), second);
}

#[test]
fn a_sync_beside_the_writer_that_fails_is_answered_by_writing_all_again() {
    for seed in 0..100 {
        let disk = SimDisk::new(seed);
        let (mut world, [_, second]) = with_sync_under_way(&disk);
        disk.fail_syncs(1);
        world.syncer.as_ref().unwrap().sync_once();
        // The next sync would report success.
        world.writer.sync_once().unwrap();
        assert_eq!(world.journal.synced(), second);
        disk.restart();
        let (_, said) = World::open(&disk, &small_options(), JournalPosition::START).unwrap();
        assert_eq!(said.len(), 2, "seed {seed}");
    }
}

#[test]
fn what_is_synced_beside_the_writer_survives_failed_syncs_and_writes() {
    for seed in seeds(4, 1500) {
        check_lives(seed, Faults { sync_failure_percent: 10, write_failure_percent: 5, ..Faults::default() });
    }
}
