//! Entries are read back by index while the journal is written, retired and used again.

use consensus::{Index, LogId};

use super::entries::change;
use super::group::{received, test_replicated};
use super::*;
use crate::Random;

fn world() -> (SimDisk, World) {
    test_replicated(true);
    let disk = SimDisk::new(0);
    let mut world = World::new(&disk, &small_options());
    world.file_all();
    (disk, world)
}

fn append(world: &mut World, body: &str) {
    world.publish(body);
    world.commit_all().unwrap();
    world.file_all();
}

fn read(
    reader: &mut EntryReader,
    world: &World,
    first: u64,
    count_max: usize,
    len_max: u64,
) -> Option<Vec<ReceivedCommit>> {
    reader.read(&world.journal, Index(first), count_max, len_max).unwrap()
}

fn indexes(commits: Option<Vec<ReceivedCommit>>) -> Option<Vec<u64>> {
    commits.map(|commits| commits.iter().map(|commit| commit.head.id.index.0).collect())
}

#[test]
fn entries_are_read_by_index_and_length() {
    let (_, mut world) = world();
    for number in 2..12 {
        append(&mut world, &format!("{number}{}", "x".repeat(9_000)));
    }
    let mut reader = EntryReader::new();
    assert_eq!(indexes(read(&mut reader, &world, 2, 3, u64::MAX)), Some(vec![2, 3, 4]));
    assert_eq!(indexes(read(&mut reader, &world, 5, 100, 20_000)), Some(vec![5, 6]), "by length");
    assert_eq!(indexes(read(&mut reader, &world, 7, 100, 1)), Some(vec![7]), "one always");
    assert_eq!(indexes(read(&mut reader, &world, 3, 2, u64::MAX)), Some(vec![3, 4]), "back");
    assert_eq!(indexes(read(&mut reader, &world, 10, 9, u64::MAX)), Some(vec![10, 11]), "ahead, to the end");
    assert_eq!(indexes(read(&mut reader, &world, 12, 9, u64::MAX)), Some(vec![]), "not yet");
    append(&mut world, "twelve");
    assert_eq!(indexes(read(&mut reader, &world, 12, 9, u64::MAX)), Some(vec![12]));
    assert_eq!(indexes(read(&mut reader, &world, 1, 9, u64::MAX)), None, "before the log begins");
    let commits = read(&mut reader, &world, 2, 99, u64::MAX).unwrap();
    assert!(commits.windows(2).all(|pair| pair[0].end() == pair[1].first));
    assert_eq!(commits.last().unwrap().end(), world.journal.appended());
}

#[test]
fn what_is_not_on_the_disk_is_not_read() {
    let (_, mut world) = world();
    let mut reader = EntryReader::new();
    assert_eq!(indexes(read(&mut reader, &world, 2, 9, u64::MAX)), Some(vec![]));
    for index in 2..5 {
        let commit = received(&mut world, LogId::new(1, index), "body");
        world.journal.receive(commit).unwrap();
    }
    // Written, and not synced: more came.
    world.writer.commit_once().unwrap();
    assert_eq!(indexes(read(&mut reader, &world, 2, 9, u64::MAX)), Some(vec![]));
    world.commit_all().unwrap();
    assert_eq!(indexes(read(&mut reader, &world, 2, 9, u64::MAX)), Some(vec![2, 3, 4]));
}

/// What is read can be received elsewhere, and is then the same.
#[test]
fn what_is_read_makes_a_follower_that_is_equal() {
    let (_, mut leader) = world();
    for number in 0..10 {
        append(&mut leader, &format!("{number}{}", "x".repeat(9_000)));
    }
    leader.journal.append_members(&change());
    leader.commit_all().unwrap();
    let (disk, mut follower) = world();
    let mut reader = EntryReader::new();
    for commit in read(&mut reader, &leader, 2, 99, u64::MAX).unwrap() {
        follower.journal.receive(commit).unwrap();
        follower.commit_all().unwrap();
        follower.file_all();
    }
    let mut other = EntryReader::new();
    assert_eq!(read(&mut reader, &leader, 2, 99, u64::MAX), read(&mut other, &follower, 2, 99, u64::MAX));
    disk.restart();
    let (again, said) = World::open(&disk, &small_options(), JournalPosition::START).unwrap();
    assert_eq!((said.len(), again.journal.appended()), (10, leader.journal.appended()));
}

#[test]
fn reading_on_costs_no_search() {
    let (disk, mut world) = world();
    for _ in 0..10 {
        append(&mut world, "small");
    }
    let mut reader = EntryReader::new();
    read(&mut reader, &world, 2, 8, u64::MAX);
    // Everything before can be as bad as it likes: it is not looked at.
    disk.fail_reads(&Path::new(DIR).join("000001.journal"), 0..4096 * 9);
    assert_eq!(indexes(read(&mut reader, &world, 10, 2, u64::MAX)), Some(vec![10, 11]));
    assert!(EntryReader::new().read(&world.journal, Index(10), 2, u64::MAX).is_err());
}

#[test]
fn files_that_were_used_again_have_their_entries_no_more() {
    let (_, mut world) = world();
    let body = "x".repeat(9_000);
    let mut reader = EntryReader::new();
    for _ in 0..14 {
        append(&mut world, &body);
    }
    assert_eq!(indexes(read(&mut reader, &world, 2, 2, u64::MAX)), Some(vec![2, 3]));
    world.journal.retire(world.journal.synced());
    world.file_all();
    assert_eq!(indexes(read(&mut reader, &world, 4, 2, u64::MAX)), None, "the header is off");
    for _ in 0..14 {
        append(&mut world, &body);
    }
    assert_eq!(indexes(read(&mut reader, &world, 4, 2, u64::MAX)), None);
    assert_eq!(indexes(read(&mut reader, &world, 28, 9, u64::MAX)), Some(vec![28, 29]));
}

#[test]
fn a_damaged_entry_is_told() {
    let (disk, mut world) = world();
    for _ in 0..5 {
        append(&mut world, "body");
    }
    let path = Path::new(DIR).join("000001.journal");
    let mut reader = EntryReader::new();
    for offset in [3 * 4096 + 60, 3 * 4096 + 100] {
        disk.flip_bit(&path, offset, 3);
        let error = reader.read(&world.journal, Index(2), 9, u64::MAX).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::InvalidData);
        disk.flip_bit(&path, offset, 3);
    }
    assert_eq!(indexes(read(&mut reader, &world, 2, 9, u64::MAX)), Some(vec![2, 3, 4, 5, 6]));
}

/// The file that was read failed, and all went on in another.
#[test]
fn a_reader_follows_to_the_file_that_took_over() {
    let (disk, mut world) = world();
    let mut reader = EntryReader::new();
    append(&mut world, "two");
    assert_eq!(indexes(read(&mut reader, &world, 2, 9, u64::MAX)), Some(vec![2]));
    disk.fail_syncs(1);
    append(&mut world, "three");
    append(&mut world, "four");
    assert_eq!(indexes(read(&mut reader, &world, 3, 9, u64::MAX)), Some(vec![3, 4]));
}

/// After a truncation the file still has what was cut off, behind its end.
#[test]
fn a_reader_does_not_find_what_was_cut_off() {
    let (disk, mut world) = world();
    let mut ends = vec![JournalPosition::START];
    for number in 2..8 {
        append(&mut world, &format!("old {number}"));
        ends.push(world.journal.appended());
    }
    let mut reader = EntryReader::new();
    assert_eq!(indexes(read(&mut reader, &world, 2, 3, u64::MAX)), Some(vec![2, 3, 4]));
    disk.kill_process();
    let shared: Arc<dyn Disk> = Arc::new(disk.clone());
    truncate(&shared, Path::new(DIR), JournalPosition::START, 0, ends[3]).unwrap();
    let (mut world, _) = World::open(&disk, &small_options(), JournalPosition::START).unwrap();
    world.group.as_ref().unwrap().set_last(9, 4);
    assert_eq!(indexes(read(&mut reader, &world, 5, 9, u64::MAX)), Some(vec![]));
    append(&mut world, "new 5");
    let commits = read(&mut reader, &world, 5, 9, u64::MAX).unwrap();
    assert_eq!(commits.iter().map(|commit| commit.head.id).collect::<Vec<_>>(), [LogId::new(9, 5)]);
    assert_eq!(indexes(read(&mut EntryReader::new(), &world, 2, 9, u64::MAX)), Some(vec![2, 3, 4, 5]));
}

/// A reader far behind, beside a journal whose files are used again all the time: it gets the right entries, or `None`.
#[test]
fn a_slow_reader_gets_what_was_written_or_learns_that_it_is_gone() {
    let (_, mut world) = world();
    let journal = world.journal.clone();
    let is_over = std::sync::atomic::AtomicBool::new(false);
    let body_of = |index: u64| format!("{index}:{}", "x".repeat((index * 7919 % 12_000) as usize));
    let (read_count, gone_count) = std::thread::scope(|scope| {
        let reading = scope.spawn(|| {
            let (mut reader, mut random) = (EntryReader::new(), Random::new(3));
            let (mut next, mut read_count, mut gone_count) = (2, 0, 0);
            while !is_over.load(std::sync::atomic::Ordering::SeqCst) {
                match reader.read(&journal, Index(next), 1 + random.below(4) as usize, 30_000).unwrap() {
                    None => {
                        gone_count += 1;
                        next += 5;
                    }
                    Some(commits) => {
                        for commit in commits {
                            assert_eq!(commit.head.id.index.0, next);
                            let content = &commit.payload[commit.metas_len as usize..];
                            assert_eq!(content, body_of(next).as_bytes());
                            next += 1;
                            read_count += 1;
                        }
                    }
                }
                if random.percent(10) {
                    next = next.saturating_sub(random.below(20)).max(2);
                }
            }
            (read_count, gone_count)
        });
        for index in 2..3000 {
            append(&mut world, &body_of(index));
            if index % 10 == 0 {
                world.journal.retire(world.journal.synced());
                world.file_all();
            }
        }
        is_over.store(true, std::sync::atomic::Ordering::SeqCst);
        reading.join().unwrap()
    });
    assert!(read_count > 100 && gone_count > 5, "read {read_count}, gone {gone_count}");
}
