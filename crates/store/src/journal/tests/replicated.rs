//! What holds for the journal of a node that is alone holds for a group's: the same lives, and damage to entries of all kinds.

use consensus::LogId;

use super::entries::{change, entries};
use super::group::test_replicated;
use super::power_loss::{check_lives, check_lives_with};
use super::*;
use crate::Random;
use crate::file::Faults;
use crate::journal::format::FILE_HEADER_LEN;

#[test]
fn what_was_promised_survives_power_cuts() {
    test_replicated(true);
    for seed in seeds(20, 3000) {
        check_lives(seed, Faults::default());
    }
}

/// A node alone becomes a member, and is alone again.
#[test]
fn what_was_promised_survives_in_both_layouts() {
    for seed in seeds(23, 2000) {
        let faults = Faults { sync_failure_percent: seed % 3 * 4, ..Faults::default() };
        check_lives_with(seed, faults, |random| test_replicated(random.percent(50)));
    }
}

#[test]
fn what_was_promised_survives_failed_syncs_and_writes() {
    test_replicated(true);
    for seed in seeds(21, 1000) {
        check_lives(seed, Faults { sync_failure_percent: 8, ..Faults::default() });
        check_lives(seed, Faults { sync_failure_percent: 4, write_failure_percent: 4, ..Faults::default() });
    }
}

#[test]
fn what_was_promised_survives_on_a_small_disk() {
    test_replicated(true);
    for seed in seeds(22, 400) {
        check_lives(seed, Faults { capacity: Some(200 << 10), ..Faults::default() });
    }
}

const FILE: &str = "/data/journal/000001.journal";

/// A journal of one file with a commit of each kind, each a page; the last is an empty one.
fn journal_of_all_kinds(is_synced_told: bool) -> SimDisk {
    test_replicated(true);
    let disk = SimDisk::new(0);
    let mut world = World::new(&disk, &small_options());
    world.publish("one");
    world.commit_all().unwrap();
    for _ in 0..2 {
        let id = world.group.as_ref().unwrap().next(1);
        world.journal.receive(ReceivedCommit::empty(id, world.journal.appended())).unwrap();
        world.commit_all().unwrap();
        world.journal.append_members(&change());
        world.commit_all().unwrap();
    }
    let id = world.group.as_ref().unwrap().next(1);
    world.journal.receive(ReceivedCommit::empty(id, world.journal.appended())).unwrap();
    world.commit_all().unwrap();
    if is_synced_told {
        world.journal.record_synced();
    }
    disk.kill_process();
    disk
}

fn page_of(entry: u64) -> u64 {
    FILE_HEADER_LEN + entry * 4096
}

/// Each bit of header and metas of a commit that holds nothing.
fn each_bit(mut check: impl FnMut(u64, u8)) {
    (0..(96 + 8) * 8).for_each(|bit| check(bit / 8, (bit % 8) as u8));
}

#[test]
fn an_empty_commit_that_had_been_synced_is_not_cut_off() {
    let disk = journal_of_all_kinds(false);
    for entry in [1, 3] {
        each_bit(|byte, bit| {
            let disk = disk.fork();
            disk.flip_bit(Path::new(FILE), page_of(entry) + byte, bit);
            let error = entries(&disk, JournalPosition::START).unwrap_err();
            let OpenError::Corrupt { place, .. } = &error else { panic!("{error}") };
            assert_eq!(place.offset, page_of(entry), "byte {byte}");
            assert!(replay(&disk, JournalPosition::START, &mut ChunkWriter::new(ChunkBudget::new())).is_err());
        });
    }
}

#[test]
fn the_last_empty_commit_is_cut_off_unless_it_is_known_to_have_been_synced() {
    for is_synced_told in [false, true] {
        let disk = journal_of_all_kinds(is_synced_told);
        each_bit(|byte, bit| {
            let disk = disk.fork();
            disk.flip_bit(Path::new(FILE), page_of(5) + byte, bit);
            match entries(&disk, JournalPosition::START) {
                Ok(found) => assert!(!is_synced_told && found.len() == 5),
                Err(OpenError::Short { place, .. }) => assert!(is_synced_told && place.offset == page_of(5)),
                Err(error) => panic!("{error}"),
            }
        });
    }
}

/// A commit that holds nothing is shorter than any record: it is marked all the same, and all that follows stays.
#[test]
fn damaged_entries_can_be_repaired_for_a_node_alone() {
    let mut random = Random::new(5);
    for hits in [&[1][..], &[2], &[1, 2], &[0, 1, 2, 3, 4], &[4], &[0]] {
        let disk = journal_of_all_kinds(false);
        let before = entries(&disk, JournalPosition::START).unwrap();
        for hit in hits {
            disk.flip_bit(Path::new(FILE), page_of(*hit as u64) + random.below(96), 2);
        }
        let shared: Arc<dyn Disk> = Arc::new(disk.clone());
        let mut contents = ChunkWriter::new(ChunkBudget::new());
        let repaired = repair(&shared, Path::new(DIR), JournalPosition::START, 0, &mut contents).unwrap();
        let lost: u64 = repaired.losses.iter().map(|loss| loss.end.0 - loss.place.position.0).sum();
        let expected: u64 = hits.iter().map(|hit| before[*hit].end.0 - before[*hit].first.0).sum();
        assert_eq!(lost, expected, "{hits:?}");
        disk.restart();
        let (world, said) = World::open(&disk, &small_options(), JournalPosition::START).unwrap();
        assert_eq!(world.journal.appended(), before[5].end, "positions stay");
        assert_eq!(said.iter().any(|(_, text)| text.starts_with("publish")), !hits.contains(&0));
        let error = entries(&disk, JournalPosition::START).unwrap_err();
        assert!(error.to_string().contains("no longer be used in a cluster"), "{error}");
    }
}

#[test]
fn a_file_whose_start_is_damaged_is_written_anew() {
    let disk = SimDisk::new(0);
    test_replicated(true);
    let mut world = World::new(&disk, &small_options());
    world.file_all();
    while world.journal.closed_files().len() < 2 {
        let id = world.group.as_ref().unwrap().next(1);
        world.journal.receive(ReceivedCommit::empty(id, world.journal.appended())).unwrap();
        world.commit_all().unwrap();
        world.file_all();
    }
    let end = world.journal.appended();
    disk.kill_process();
    let recovery = Recovery::open(Arc::new(disk.clone()), Path::new(DIR), JournalPosition::START, 0).unwrap();
    for page in 0..2 {
        disk.flip_bit(&recovery.files[1].path, page * 4096 + 20, 0);
    }
    assert!(matches!(entries(&disk, JournalPosition::START), Err(OpenError::Corrupt { .. })));
    let shared: Arc<dyn Disk> = Arc::new(disk.clone());
    let mut contents = ChunkWriter::new(ChunkBudget::new());
    let losses = repair(&shared, Path::new(DIR), JournalPosition::START, 0, &mut contents).unwrap().losses;
    assert_eq!(losses.iter().map(|loss| loss.end.0 - loss.place.position.0).collect::<Vec<_>>(), [8]);
    let (world, _) = World::open(&disk, &small_options(), JournalPosition::START).unwrap();
    assert_eq!(world.journal.appended(), end);
}

/// A program's fault: the log has no gaps, and terms do not fall.
#[test]
fn entries_that_do_not_follow_on_one_another_are_refused() {
    for (term, index, is_right) in [(1, 3, true), (2, 3, true), (1, 2, false), (1, 4, false), (0, 3, false)] {
        test_replicated(true);
        let disk = SimDisk::new(0);
        let mut world = World::new(&disk, &small_options());
        world.publish("one");
        world.commit_all().unwrap();
        let commit = ReceivedCommit::empty(LogId::new(term, index), world.journal.appended());
        world.journal.receive(commit).unwrap();
        world.commit_all().unwrap();
        assert_eq!(entries(&disk, JournalPosition::START).is_ok(), is_right, "{index}@{term}");
    }
}
