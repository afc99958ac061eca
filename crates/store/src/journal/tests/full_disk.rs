//! A disk without room: publishers wait, the reserve takes what must still be written, and room brings all back.

use super::power_loss::check_lives;
use super::*;
use crate::file::Faults;

fn fill(disk: &SimDisk, files: u64) {
    let synced_len = 2 * crate::file::PAGE_LEN as u64;
    disk.set_faults(Faults { capacity: Some(files * (64 << 10) + synced_len), ..Faults::default() });
}

#[test]
fn the_reserve_is_kept_for_what_must_be_written() {
    let disk = SimDisk::new(0);
    fill(&disk, 3);
    let mut world = World::new(&disk, &small_options());
    let body = "x".repeat(10_000);
    while !world.journal.is_reserve_in_use() {
        world.file_all();
        world.publish(&body);
        world.commit_all().unwrap();
    }
    assert!(world.journal.is_congested());
    assert_eq!(*world.events.lock(), [Event::FileClosed, Event::ReserveEntered]);
    // Acks and definitions go on, into what is left of this file and then into the reserve.
    let mut end = JournalPosition::START;
    for _ in 0..20 {
        world.batch.drop_queue(QueueId(1));
        end = world.journal.append(&mut world.batch);
        assert_eq!(world.commit_all(), Ok(Progress::Idle));
    }
    assert_eq!(world.journal.durable(), end);
    world.journal.retire(end);
    world.file_all();
    assert!(!world.journal.is_congested() && !world.journal.is_reserve_in_use());
    assert_eq!(world.events.lock().last(), Some(&Event::ReserveLeft));
}

#[test]
fn when_the_reserve_is_used_up_the_writer_waits_and_confirms_nothing() {
    let disk = SimDisk::new(0);
    fill(&disk, 2);
    let mut world = World::new(&disk, &small_options());
    let body = "x".repeat(10_000);
    let mut progress = Progress::Idle;
    while progress == Progress::Idle {
        world.publish(&body);
        progress = world.commit_all().unwrap();
    }
    assert_eq!(progress, Progress::NeedsFile);
    let end = world.journal.appended();
    assert!(world.journal.durable() < end && !world.journal.is_failed());
    fill(&disk, 10);
    assert_eq!(world.commit_all(), Ok(Progress::Idle));
    assert_eq!(world.journal.durable(), end);
}

/// What the writer made itself after a failed sync counted as wanted for ever, and the disk as full until the next file.
#[test]
fn a_disk_with_room_is_not_full_after_the_writer_made_a_file_itself() {
    let disk = SimDisk::new(0);
    fill(&disk, 2);
    let mut world = World::new(&disk, &small_options());
    world.filer.file_once();
    world.publish("one");
    disk.fail_syncs(1);
    world.commit_all().unwrap();
    assert_eq!(disk.list(Path::new(DIR)).unwrap().len(), 2, "the one that failed and the writer's own");
    world.file_all();
    assert!(world.journal.is_reserve_in_use());
    fill(&disk, 10);
    world.file_all();
    assert!(!world.journal.is_congested() && !world.journal.is_reserve_in_use());
    assert_eq!(world.events.lock().last(), Some(&Event::ReserveLeft));
}

/// Two files were ready all the time, so once the long one was taken there was nothing to do and nobody to notice.
#[test]
fn a_disk_with_room_is_not_full_after_a_commit_longer_than_a_file() {
    let disk = SimDisk::new(0);
    fill(&disk, 3);
    let mut world = World::new(&disk, &small_options());
    world.file_all();
    world.publish("one");
    world.commit_all().unwrap();
    world.file_all();
    let end = world.publish(&"x".repeat(150_000));
    assert_eq!(world.commit_all(), Ok(Progress::NeedsFile));
    assert_eq!(disk.list(Path::new(DIR)).unwrap().len(), 3, "what would not do is left as it is");
    assert!(world.journal.is_reserve_in_use());
    fill(&disk, 10);
    assert_eq!(world.commit_all(), Ok(Progress::Idle));
    assert_eq!(world.journal.durable(), end);
    world.file_all();
    assert!(!world.journal.is_congested() && !world.journal.is_reserve_in_use());
}

/// What was appended behind it waited, and so did the checkpoint that would have freed the disk, while files that nobody could use
/// were ready.
#[test]
fn a_commit_longer_than_a_file_takes_the_room_of_files_that_are_ready() {
    let disk = SimDisk::new(0);
    fill(&disk, 3);
    let mut world = World::new(&disk, &small_options());
    world.file_all();
    world.publish("one");
    world.commit_all().unwrap();
    world.file_all();
    let end = world.publish(&"x".repeat(100_000));
    assert_eq!(world.commit_all(), Ok(Progress::Idle));
    assert_eq!(world.journal.durable(), end);
    assert!(world.journal.is_congested());
    world.journal.retire(end);
    world.file_all();
    fill(&disk, 10);
    world.file_all();
    assert!(!world.journal.is_congested() && !world.journal.is_reserve_in_use());
}

/// All files that were ever in use stayed ready, however many.
#[test]
fn files_that_need_not_be_ready_can_be_removed() {
    let disk = SimDisk::new(0);
    let mut world = World::new(&disk, &small_options());
    while disk.list(Path::new(DIR)).unwrap().len() < 6 {
        world.file_all();
        world.publish(&"x".repeat(10_000));
        world.commit_all().unwrap();
    }
    world.journal.retire(world.journal.synced());
    world.file_all();
    assert_eq!(disk.list(Path::new(DIR)).unwrap().len(), 6);
    world.journal.remove_surplus();
    assert_eq!(disk.list(Path::new(DIR)).unwrap().len(), 3, "the one being written and two");
    assert!(!world.journal.is_congested());
}

#[test]
fn what_was_promised_survives_on_a_small_disk() {
    for seed in seeds(3, 1000) {
        check_lives(seed, Faults { capacity: Some(200 << 10), ..Faults::default() });
    }
}
