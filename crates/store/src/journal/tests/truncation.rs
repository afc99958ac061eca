//! A journal that is cut off ends there or where it did, whenever the power fails, and continues from there.

use consensus::LogId;

use super::entries::{change, entries};
use super::group::{received, test_replicated};
use super::*;
use crate::Random;
use crate::journal::truncate::truncate;

/// A replicated journal of some files with entries of all kinds, closed; where it had retired files up to.
fn journal_of(disk: &SimDisk, random: &mut Random, entry_count: u64) -> JournalPosition {
    test_replicated(true);
    let mut world = World::new(disk, &small_options());
    world.file_all();
    let mut from = JournalPosition::START;
    for number in 0..entry_count {
        match random.below(8) {
            0 => drop(world.journal.append_members(&change())),
            1 => {
                let id = world.group.as_ref().unwrap().next(number / 4 + 1);
                world.journal.receive(ReceivedCommit::empty(id, world.journal.appended())).unwrap();
            }
            2 => {
                let id = world.group.as_ref().unwrap().next(number / 4 + 1);
                let commit = received(&mut world, id, &format!("{number} from the leader"));
                world.journal.receive(commit).unwrap();
            }
            _ => drop(world.publish(&format!("{number} {}", "x".repeat(random.below(20_000) as usize)))),
        }
        world.commit_all().unwrap();
        world.file_all();
        if random.percent(5) {
            from = world.journal.synced();
            world.journal.retire(from);
        }
    }
    match random.below(3) {
        0 => {}
        _ => world.journal.record_synced(),
    }
    from
}

/// Where the journal can be cut off.
fn borders(found: &[FoundEntry], from: JournalPosition) -> Vec<JournalPosition> {
    found.iter().map(|entry| entry.first).chain([found.last().map_or(from, |last| last.end)]).collect()
}

/// Opens the journal, appends two entries, and finds them behind those that are expected.
#[track_caller]
fn check_goes_on(disk: &SimDisk, from: JournalPosition, expected: &[FoundEntry], seed: u64) {
    let end = expected.last().map_or(from, |last| last.end);
    let (mut world, _) = World::open(disk, &small_options(), from).unwrap();
    assert_eq!(world.journal.appended(), end, "seed {seed}");
    assert_eq!(world.journal.flushed(), end, "seed {seed}");
    // Another leader's.
    let last = expected.last().map_or(world.group.as_ref().unwrap().last(), |last| last.head.id);
    world.group.as_ref().unwrap().set_last(last.term.0 + 1, last.index.0);
    world.publish("after");
    world.commit_all().unwrap();
    world.publish(&"y".repeat(30_000));
    world.commit_all().unwrap();
    world.file_all();
    let (end, spans) = (world.journal.appended(), world.journal.closed_files());
    disk.restart();
    let void = Recovery::open(Arc::new(disk.clone()), Path::new(DIR), from, 0).unwrap().void;
    assert!(void.is_empty(), "seed {seed}");
    let found = entries(disk, from).unwrap();
    for span in spans.iter().filter(|span| span.first >= from) {
        let last = found.iter().rfind(|entry| entry.first >= span.first && entry.end <= span.end);
        assert_eq!(span.last, last.map(|entry| entry.head.id), "seed {seed}: {spans:?}");
    }
    assert_eq!(found[..expected.len()], *expected, "seed {seed}");
    let added: Vec<_> = found[expected.len()..].iter().map(|entry| entry.head.id).collect();
    let next = |by| LogId::new(last.term.0 + 1, last.index.0 + by);
    assert_eq!(added, [next(1), next(2)], "seed {seed}");
    assert_eq!(found.last().unwrap().end, end);
    let (again, _) = World::open(disk, &small_options(), from).unwrap();
    assert_eq!(again.journal.appended(), end);
    let first = found[0].head.id.index;
    let read = EntryReader::new().read(&again.journal, first, 99, u64::MAX).unwrap().unwrap();
    let is_same = |(read, found): (&ReceivedCommit, &FoundEntry)| (read.head, read.first) == (found.head, found.first);
    assert!(read.len() == found.len() && read.iter().zip(&found).all(is_same), "seed {seed}");
}

fn cut(disk: &SimDisk, from: JournalPosition, to: JournalPosition) -> Result<(), OpenError> {
    let disk: Arc<dyn Disk> = Arc::new(disk.clone());
    truncate(&disk, Path::new(DIR), from, 0, to)
}

/// Cuts a journal off at each of its entries, with the power cut at each operation, and then once without.
fn check_cut(seed: u64, entry_count: u64) {
    let mut random = Random::new(seed);
    let disk = SimDisk::new(random.next());
    let from = journal_of(&disk, &mut random, entry_count);
    if random.percent(50) {
        disk.restart()
    } else {
        disk.kill_process()
    }
    let old = entries(&disk, from).unwrap();
    let borders = borders(&old, from);
    for (kept, to) in borders.into_iter().enumerate() {
        let mut is_done = false;
        let mut cut_at = 0;
        while !is_done {
            let disk = disk.fork();
            let start = disk.operation_count();
            disk.cut_power_at(start + cut_at);
            let result = cut(&disk, from, to);
            is_done = !disk.is_cut();
            assert_eq!(result.is_ok(), is_done, "seed {seed}, to {to}: {result:?}");
            assert!(is_done || cut_at < 30, "seed {seed}");
            if random.percent(30) {
                disk.kill_process()
            } else {
                disk.restart()
            }
            let found =
                entries(&disk, from).unwrap_or_else(|error| panic!("seed {seed}, to {to}, cut {cut_at}: {error}"));
            let is_cut_off = found == old[..kept];
            assert!(
                is_cut_off || (found == old && !is_done),
                "seed {seed}, to {to}, cut {cut_at}: {} of {}",
                found.len(),
                old.len()
            );
            check_goes_on(&disk, from, &found, seed);
            cut_at += 1;
        }
    }
}

#[test]
fn a_journal_is_cut_off_there_or_not_at_all() {
    for seed in seeds(10, 12) {
        check_cut(seed, 5 + seed % 20);
    }
}

/// Also while the next start puts all in order, and the one after that.
#[test]
fn what_was_cut_off_does_not_return() {
    for seed in seeds(11, 150) {
        let mut random = Random::new(seed);
        let disk = SimDisk::new(random.next());
        let from = journal_of(&disk, &mut random, 5 + seed % 20);
        disk.kill_process();
        let old = entries(&disk, from).unwrap();
        let kept = random.below(old.len() as u64 + 1) as usize;
        cut(&disk, from, borders(&old, from)[kept]).unwrap();
        for life in 0..3 {
            disk.cut_power_at(disk.operation_count() + random.below(25));
            if let Ok((mut world, _)) = World::open(&disk, &small_options(), from) {
                world.file_all();
            }
            if random.percent(30) {
                disk.kill_process()
            } else {
                disk.restart()
            }
            let found = entries(&disk, from).unwrap_or_else(|error| panic!("seed {seed}, life {life}: {error}"));
            assert_eq!(found, old[..kept], "seed {seed}, life {life}");
        }
        check_goes_on(&disk, from, &old[..kept], seed);
    }
}

/// A life after a truncation: entries are appended in a term of their own and files retired, until it is over or the power fails. Returns
/// up to where a checkpoint has all, and what was promised.
fn live(
    disk: &SimDisk,
    random: &mut Random,
    (from, last, term): (JournalPosition, LogId, u64),
) -> (JournalPosition, JournalPosition) {
    let Ok((mut world, _)) = World::open(disk, &small_options(), from) else {
        assert!(disk.is_cut());
        return (from, from);
    };
    world.group.as_ref().unwrap().set_last(term, last.index.0);
    let (mut retired_to, mut ends) = (from, Vec::new());
    for _ in 0..random.below(25) {
        match random.below(10) {
            0 => world.file_all(),
            1 => {
                let synced = world.journal.synced();
                let ends: Vec<_> = ends.iter().filter(|end| **end <= synced).collect();
                if let Some(end) = ends.get(random.below(ends.len().max(1) as u64) as usize) {
                    // The checkpoint is in force before the journal is retired.
                    retired_to = retired_to.max(**end);
                    world.journal.retire(retired_to);
                }
            }
            2 => ends.push(world.journal.append_members(&change())),
            _ => ends.push(world.publish(&"x".repeat(random.below(20_000) as usize))),
        }
        let _ = world.commit_all();
        if disk.is_cut() {
            break;
        }
    }
    (retired_to, world.journal.flushed())
}

/// It is cut off, continues, is cut off further back, and so on, while the power fails and files are used again.
#[test]
fn a_journal_is_cut_off_many_times() {
    for seed in seeds(12, 400) {
        let mut random = Random::new(seed);
        let disk = SimDisk::new(random.next());
        let mut from = journal_of(&disk, &mut random, 10);
        disk.restart();
        let mut is_killed = false;
        for round in 0..10 {
            let old = entries(&disk, from).unwrap_or_else(|error| panic!("seed {seed}, round {round}: {error}"));
            let kept = random.below(old.len() as u64 + 1) as usize;
            let to = borders(&old, from)[kept];
            if is_killed || random.percent(40) {
                cut(&disk, from, to).unwrap();
            } else {
                disk.cut_power_at(disk.operation_count() + random.below(12));
                let _ = cut(&disk, from, to);
                disk.restart();
            }
            let expected = entries(&disk, from).unwrap();
            let is_either = expected == old[..kept] || expected == old;
            assert!(is_either, "seed {seed}, round {round}: {} or {kept} became {}", old.len(), expected.len());
            if random.percent(70) {
                disk.cut_power_at(disk.operation_count() + random.below(100));
            }
            let last = expected.last().map_or(LogId::new(1, 1), |last| last.head.id);
            let before = from;
            let (retired_to, promised) = live(&disk, &mut random, (from, last, round + 100));
            from = retired_to;
            // What only the page cache has then is lost if the power fails during the truncation.
            is_killed = random.percent(30);
            if is_killed {
                disk.kill_process()
            } else {
                disk.restart()
            }
            let found = entries(&disk, from).unwrap_or_else(|error| panic!("seed {seed}, round {round}: {error}"));
            let still: Vec<_> = expected.iter().filter(|entry| entry.end > from).cloned().collect();
            assert_eq!(found[..still.len()], still[..], "seed {seed}, round {round}, from {before} and {from}");
            let is_new = |entry: &FoundEntry| entry.head.id.term.0 == round + 100;
            assert!(found[still.len()..].iter().all(is_new), "seed {seed}, round {round}: {found:?}");
            let end = found.last().map_or(from, |last| last.end);
            assert!(end >= promised, "seed {seed}, round {round}: {end} instead of {promised}");
        }
    }
}

/// A kernel that has failed to write the last commits and forgotten it: what is kept of them is written again, before a header says that it
/// was synced.
#[test]
fn what_only_the_page_cache_has_is_kept_when_the_rest_is_cut_off() {
    for seed in 0..100 {
        test_replicated(true);
        let disk = SimDisk::new(seed);
        let mut world = World::new(&disk, &small_options());
        world.file_all();
        world.publish("one");
        world.commit_all().unwrap();
        for index in 3..6 {
            let commit = received(&mut world, LogId::new(1, index), "unsynced");
            world.journal.receive(commit).unwrap();
        }
        disk.fail_syncs(2);
        world.commit_all().unwrap_err();
        disk.kill_process();
        let old = entries(&disk, JournalPosition::START).unwrap();
        if old.len() < 3 {
            continue;
        }
        cut(&disk, JournalPosition::START, old[2].first).unwrap();
        disk.restart();
        assert_eq!(entries(&disk, JournalPosition::START).unwrap(), old[..2], "seed {seed}");
    }
}

/// Only the file's header shows it.
#[test]
fn what_is_kept_of_the_last_commits_is_known_to_be_synced() {
    let disk = SimDisk::new(0);
    test_replicated(true);
    let mut world = World::new(&disk, &small_options());
    world.file_all();
    world.publish("one");
    world.commit_all().unwrap();
    world.journal.append_members(&change());
    world.commit_all().unwrap();
    disk.kill_process();
    let end = entries(&disk, JournalPosition::START).unwrap()[1].end;
    cut(&disk, JournalPosition::START, end).unwrap();
    let recovery = Recovery::open(Arc::new(disk.clone()), Path::new(DIR), JournalPosition::START, 0).unwrap();
    let path = &recovery.files.last().unwrap().path;
    assert!(entries(&disk, JournalPosition::START).unwrap().len() == 2 && recovery.files.len() == 2);
    disk.flip_bit(path, 4096 + 97, 0);
    assert!(matches!(entries(&disk, JournalPosition::START), Err(OpenError::Corrupt { .. })));
}

/// What was cut off had been synced, and its file shows it. A file that has it is not used again: should its next header be torn, a start
/// would miss what it had.
#[test]
fn a_file_that_was_cut_off_is_not_used_again() {
    let disk = SimDisk::new(0);
    test_replicated(true);
    let mut world = World::new(&disk, &small_options());
    world.file_all();
    for number in 0..30 {
        world.publish(&format!("{number} {}", "x".repeat(4_000)));
        world.commit_all().unwrap();
        world.file_all();
    }
    disk.kill_process();
    let to = entries(&disk, JournalPosition::START).unwrap()[1].end;
    cut(&disk, JournalPosition::START, to).unwrap();
    let (mut world, _) = World::open(&disk, &small_options(), JournalPosition::START).unwrap();
    let (mut begun, mut from) = (Vec::new(), to);
    while begun.len() < 6 {
        // A page each, and next to nothing for positions: the journal does not get to where it ended before.
        world.journal.append_members(&change());
        world.commit_all().unwrap();
        world.file_all();
        let current = world.writer.shared().files.lock().in_use().1.unwrap().path.clone();
        if begun.last() == Some(&current) {
            continue;
        }
        let torn = disk.fork();
        (0..2).for_each(|page| torn.flip_bit(&current, page * 4096 + 20, 0));
        torn.kill_process();
        let before = entries(&torn, from).unwrap_or_else(|error| panic!("{} begun: {error}", begun.len()));
        assert_eq!(before.len() + 1, entries(&disk, from).unwrap().len());
        begun.push(current);
        from = entries(&disk, from).unwrap()[0].end;
        world.journal.retire(from);
        world.file_all();
    }
}

#[test]
fn a_journal_is_cut_off_between_commits_only() {
    let disk = SimDisk::new(0);
    let from = journal_of(&disk, &mut Random::new(1), 8);
    disk.kill_process();
    let old = entries(&disk, from).unwrap();
    let end = old.last().unwrap().end.0;
    for to in [1, old[0].end.0 - 1, old[2].first.0 + 1, end + 1] {
        assert!(matches!(cut(&disk, from, JournalPosition(to)), Err(OpenError::Missing { .. })), "{to}");
    }
    assert_eq!(entries(&disk, from).unwrap(), old);
    let middle = old[4].first;
    assert!(matches!(cut(&disk, middle, old[2].first), Err(OpenError::Missing { .. })), "a checkpoint has that");
    cut(&disk, middle, middle).unwrap();
    assert_eq!(entries(&disk, from).unwrap(), old[..4]);
}

#[test]
fn what_a_node_alone_has_written_is_not_cut_off() {
    let disk = SimDisk::new(0);
    test_replicated(false);
    let mut world = World::new(&disk, &small_options());
    let one = world.publish("one");
    world.commit_all().unwrap();
    let alone = world.publish("two");
    world.commit_all().unwrap();
    disk.restart();
    cut(&disk, JournalPosition::START, alone).unwrap();
    assert!(matches!(cut(&disk, JournalPosition::START, one), Err(OpenError::Missing { .. })));
    test_replicated(true);
    let (mut world, _) = World::open(&disk, &small_options(), JournalPosition::START).unwrap();
    world.file_all();
    world.publish("three");
    world.commit_all().unwrap();
    disk.restart();
    assert!(matches!(cut(&disk, JournalPosition::START, one), Err(OpenError::Missing { .. })));
    cut(&disk, JournalPosition::START, alone).unwrap();
    let (world, said) = World::open(&disk, &small_options(), JournalPosition::START).unwrap();
    assert_eq!((said.len(), world.journal.appended()), (2, alone));
}

#[test]
fn a_journal_is_cut_off_on_a_full_disk() {
    let disk = SimDisk::new(0);
    let from = journal_of(&disk, &mut Random::new(2), 8);
    disk.kill_process();
    let old = entries(&disk, from).unwrap();
    disk.set_faults(crate::file::Faults { capacity: Some(disk.used()), ..Default::default() });
    cut(&disk, from, old[3].first).unwrap();
    disk.restart();
    assert_eq!(entries(&disk, from).unwrap(), old[..3]);
    let (mut world, _) = World::open(&disk, &small_options(), from).unwrap();
    world.file_all();
    world.publish("after");
    assert_eq!(world.commit_all(), Ok(Progress::Idle));
}

#[test]
fn an_empty_journal_is_cut_off_where_it_is() {
    let disk = SimDisk::new(0);
    disk.create_dir(Path::new(DIR)).unwrap();
    cut(&disk, JournalPosition::START, JournalPosition::START).unwrap();
    assert!(cut(&disk, JournalPosition::START, JournalPosition(1)).is_err());
}

/// What says that the journal is cut off could not be synced, and the kernel has forgotten that: it is said once more.
#[test]
fn a_truncation_that_failed_is_done_again() {
    for failing in 0..4 {
        for seed in 0..20 {
            let disk = SimDisk::new(seed);
            let from = journal_of(&disk, &mut Random::new(7), 20);
            disk.kill_process();
            let old = entries(&disk, from).unwrap();
            let to = old[3].first;
            disk.fail_sync_pattern(&[&vec![false; failing][..], &[true]].concat());
            let _ = cut(&disk, from, to);
            disk.fail_sync_pattern(&[]);
            if entries(&disk, from).unwrap().len() == 3 || seed % 2 == 0 {
                cut(&disk, from, to).unwrap();
                disk.restart();
                assert_eq!(entries(&disk, from).unwrap(), old[..3], "seed {seed}, sync {failing}");
            }
        }
    }
}
