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
    in_both_layouts(|| {
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
    });
}

#[test]
fn when_the_reserve_is_used_up_the_writer_waits_and_confirms_nothing() {
    in_both_layouts(|| {
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
    });
}

/// What the writer made itself after a failed sync counted as wanted for ever, and the disk as full until the next file.
#[test]
fn a_disk_with_room_is_not_full_after_the_writer_made_a_file_itself() {
    in_both_layouts(|| {
        let disk = SimDisk::new(0);
        fill(&disk, 2);
        let mut world = World::new(&disk, &small_options());
        world.preallocator.prepare_once();
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
    });
}

/// Two files were ready all the time, so once the long one was taken there was nothing to do and no thread to notice.
#[test]
fn a_disk_with_room_is_not_full_after_a_commit_longer_than_a_file() {
    in_both_layouts(|| {
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
    });
}

/// What was appended behind it waited, and so did the checkpoint that would have freed the disk, while files that could not be used
/// were ready.
#[test]
fn a_commit_longer_than_a_file_takes_the_room_of_files_that_are_ready() {
    in_both_layouts(|| {
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
    });
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

fn lens_of_files(disk: &SimDisk) -> Vec<u64> {
    let dir = Path::new(DIR);
    disk.list(dir)
        .unwrap()
        .iter()
        .filter(|name| name.ends_with("journal"))
        .map(|name| disk.open(&dir.join(name)).unwrap().len().unwrap())
        .collect()
}

/// A checkpoint of a few bytes found no room, while files were ready that were longer than anything that waited for them.
#[test]
fn files_that_are_ready_give_room_and_one_stays_for_the_next_commit() {
    let disk = SimDisk::new(0);
    let mut world = World::new(&disk, &small_options());
    world.file_all();
    world.publish("one");
    world.commit_all().unwrap();
    world.file_all();
    let full = disk.used();
    disk.set_faults(Faults { capacity: Some(full), ..Faults::default() });
    assert_eq!(lens_of_files(&disk), [64 << 10; 3]);
    let is_given = |len| world.journal.give_room(len) && full - disk.used() >= len;
    assert!(is_given(10_000), "a whole file is let go first");
    assert_eq!(lens_of_files(&disk), [64 << 10; 2]);
    assert!(is_given(80_000), "then the last one is shortened");
    assert_eq!(lens_of_files(&disk), [64 << 10, 48 << 10]);
    assert!(!is_given(120_000), "but still a commit fits in it");
    assert_eq!(lens_of_files(&disk), [64 << 10, 48 << 10]);
    assert!(is_given(100_000));

    fill_up(&disk);
    for _ in 0..8 {
        world.publish(&"x".repeat(7_000));
    }
    world.commit_all().unwrap();
    assert_eq!(world.writer.shared().files.lock().count_prepared(0), 0, "it is used as any other");
    disk.set_faults(Faults::default());
    let end = world.publish(&"x".repeat(30_000));
    assert_eq!(world.commit_all(), Ok(Progress::Idle));
    assert_eq!(world.journal.durable(), end);
    world.journal.retire(end);
    world.file_all();
    world.journal.remove_surplus();
    assert_eq!(lens_of_files(&disk), [64 << 10; 3], "none is short any more");
    drop(world);
    let (_, said) = World::open(&disk, &small_options(), end).unwrap();
    assert!(said.iter().all(|(position, _)| *position > end), "{said:?}");
}

/// Not a byte is left.
fn fill_up(disk: &SimDisk) {
    disk.set_faults(Faults { capacity: Some(disk.used()), ..Faults::default() });
}

/// Each start wrote the tail to one more file, and soon there was none.
#[test]
fn starts_that_write_the_tail_again_go_on_for_ever_on_a_full_disk() {
    in_both_layouts(|| {
        let disk = SimDisk::new(0);
        let mut world = World::new(&disk, &small_options());
        world.file_all();
        let end = world.publish("one");
        world.commit_all().unwrap();
        world.file_all();
        let count = lens_of_files(&disk).len();
        for _ in 0..10 {
            // Nothing says that it was synced.
            disk.kill_process();
            fill_up(&disk);
            let (opened, said) = World::open(&disk, &small_options(), JournalPosition::START).unwrap();
            assert_eq!((said.len(), opened.journal.durable()), (1, end));
            world = opened;
            world.file_all();
            assert_eq!(lens_of_files(&disk).len(), count);
        }
        world.publish("two");
        assert_eq!(world.commit_all(), Ok(Progress::Idle));
    });
}

/// Each start closes a file with next to nothing in it: soon there was no room, though most of the files' was never used.
#[test]
fn what_closed_files_have_too_much_is_room_for_others() {
    in_both_layouts(|| {
        let disk = SimDisk::new(0);
        let mut world = World::new(&disk, &small_options());
        let mut bodies = Vec::new();
        for start in 0..4 {
            world.file_all();
            bodies.push(format!("start {start}"));
            world.publish(bodies.last().unwrap());
            world.commit_all().unwrap();
            drop(world);
            disk.restart();
            (world, _) = World::open(&disk, &small_options(), JournalPosition::START).unwrap();
        }
        world.publish("one more");
        world.commit_all().unwrap();
        let used = disk.used();
        assert!(world.journal.cut_closed() && disk.used() < used - (100 << 10));
        assert!(!world.journal.cut_closed(), "there is nothing more");
        let end = world.journal.appended();
        drop(world);
        disk.restart();
        let (mut world, said) = World::open(&disk, &small_options(), JournalPosition::START).unwrap();
        assert_eq!((said.len(), world.journal.appended()), (bodies.len() + 1, end));
        world.commit_all().unwrap();
        world.journal.retire(world.journal.synced());
        world.file_all();
        assert!(lens_of_files(&disk).iter().all(|len| *len == 64 << 10), "none is used again");
    });
}

/// As above, where what is ready is shorter than a file should be, but long enough.
#[test]
fn a_commit_goes_to_a_shorter_file_that_was_made_elsewhere() {
    in_both_layouts(|| {
        let disk = SimDisk::new(0);
        fill(&disk, 1);
        let mut world = World::new(&disk, &small_options());
        world.file_all();
        while world.commit_all().unwrap() == Progress::Idle {
            world.publish(&"x".repeat(5_000));
        }
        let (path, len, len_min) = world.journal.missing_file().unwrap();
        assert!(len == 64 << 10 && (9_000..17_000).contains(&len_min), "{len_min}");
        fill(&disk, 2);
        let file = disk.create(&path).unwrap();
        file.allocate(len_min).unwrap();
        world.journal.adopt(path, file, len_min);
        disk.sync_dir(Path::new(DIR)).unwrap();
        fill_up(&disk);
        assert_eq!(world.commit_all(), Ok(Progress::Idle));
        assert_eq!(world.journal.durable(), world.journal.appended());
    });
}

#[test]
fn what_was_promised_survives_on_a_small_disk() {
    for seed in seeds(3, 1000) {
        check_lives(seed, Faults { capacity: Some(200 << 10), ..Faults::default() });
    }
}
