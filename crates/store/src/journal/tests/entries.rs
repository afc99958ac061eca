//! Entries of a group's log come back as they were: in files of their layout, behind those of a node that was alone, and numbered once.

use consensus::{LogId, MemberChange, MemberId, MemberStep};

use super::group::{received, test_replicated};
use super::*;

/// All entries that the disk has behind a position.
pub(super) fn entries(disk: &SimDisk, from: JournalPosition) -> Result<Vec<FoundEntry>, OpenError> {
    let mut recovery = Recovery::open(Arc::new(disk.clone()), Path::new(DIR), from, 0)?;
    let mut found = Vec::new();
    let end = recovery.read_entries(&mut |entry| found.push(entry))?;
    assert!(found.last().is_none_or(|last| last.end == end));
    Ok(found)
}

fn ids(entries: &[FoundEntry]) -> Vec<LogId> {
    entries.iter().map(|entry| entry.head.id).collect()
}

pub(super) fn change() -> Vec<u8> {
    let mut bytes = Vec::new();
    MemberChange::of(MemberStep::AddLearner(MemberId::new(7).unwrap())).encode(&mut bytes);
    bytes
}

#[test]
fn every_kind_of_entry_comes_back() {
    test_replicated(true);
    let disk = SimDisk::new(0);
    let mut world = World::new(&disk, &small_options());
    let one = world.publish("one");
    world.commit_all().unwrap();
    let id = world.group.as_ref().unwrap().next(3);
    let empty = world.journal.receive(ReceivedCommit::empty(id, one)).unwrap();
    world.commit_all().unwrap();
    world.publish("two");
    let two = world.publish("three");
    let members = world.journal.append_members(&change());
    let four = world.publish("four");
    world.commit_all().unwrap();
    disk.restart();
    let found = entries(&disk, JournalPosition::START).unwrap();
    let entry = |term, index, kind, first, end, metas| FoundEntry {
        head: EntryHead { id: LogId::new(term, index), kind },
        first,
        end,
        metas,
    };
    let expected = [
        entry(1, 2, CommitKind::Records, JournalPosition::START, one, Vec::new()),
        entry(3, 3, CommitKind::Empty, one, empty, Vec::new()),
        entry(3, 4, CommitKind::Records, empty, two, Vec::new()),
        entry(3, 5, CommitKind::Members, two, members, change()),
        entry(3, 6, CommitKind::Records, members, four, Vec::new()),
    ];
    assert_eq!(found, expected);
    assert_eq!(entries(&disk, two).unwrap(), expected[3..]);
    let (world, said) = World::open(&disk, &small_options(), JournalPosition::START).unwrap();
    let ends: Vec<_> = said.iter().map(|(end, _)| *end).collect();
    assert_eq!((ends[0], &ends[2..], world.journal.appended()), (one, &[two, four][..], four));
}

#[test]
fn what_is_proposed_is_what_is_written() {
    test_replicated(true);
    let disk = SimDisk::new(0);
    let mut world = World::new(&disk, &small_options());
    for body in ["one", "two", &"x".repeat(3000)] {
        world.publish(body);
    }
    world.journal.append_members(&change());
    world.commit_all().unwrap();
    let group = world.group.clone().unwrap();
    let proposed = group.proposed.lock();
    let [records, members] = &proposed[..] else { panic!("{proposed:?}") };
    assert_eq!(
        (records.kind, records.first, records.end()),
        (CommitKind::Records, JournalPosition::START, members.first)
    );
    assert_eq!((members.kind, members.end()), (CommitKind::Members, world.journal.appended()));
    assert_eq!((members.to_payload(), members.metas_len()), (change(), members.len()));
    let mut reader = EntryReader::new();
    let read = reader.read(&world.journal, LogId::new(1, 2).index, 9, u64::MAX).unwrap().unwrap();
    for (commit, read) in proposed.iter().zip(&read) {
        let mut slices = Vec::new();
        commit.slices(&mut slices);
        assert_eq!(slices.iter().flat_map(|slice| slice.iter().copied()).collect::<Vec<_>>(), read.payload);
        assert_eq!((commit.to_payload(), commit.metas_len()), (read.payload.clone(), read.metas_len));
    }
    assert_eq!(read.len(), 2);
}

#[test]
fn what_is_received_is_written_as_it_came() {
    test_replicated(true);
    let disk = SimDisk::new(0);
    let mut world = World::new(&disk, &small_options());
    world.file_all();
    for (index, body) in (2..).zip(["one", "two", "three"]) {
        let commit = received(&mut world, LogId::new(4, index), body);
        let end = commit.end();
        assert_eq!(world.journal.receive(commit), Ok(end));
    }
    let before = disk.operation_count();
    world.commit_all().unwrap();
    assert_eq!(disk.operation_count() - before, 4, "three writes and one sync");
    assert_eq!(world.journal.flushed(), world.journal.appended());
    assert!(world.group.as_ref().unwrap().proposed.lock().is_empty(), "it has its number");
    disk.restart();
    assert_eq!(ids(&entries(&disk, JournalPosition::START).unwrap()), [2, 3, 4].map(|index| LogId::new(4, index)));
    let (_, said) = World::open(&disk, &small_options(), JournalPosition::START).unwrap();
    assert_eq!(said.len(), 3);
}

#[test]
fn what_does_not_continue_the_journal_is_not_received() {
    test_replicated(true);
    let mut world = World::new(&SimDisk::new(0), &small_options());
    let end = world.publish("one");
    let good = received(&mut world, LogId::new(1, 3), "two");
    for first in [0, end.0 - 1, end.0 + 1] {
        let commit = ReceivedCommit { first: JournalPosition(first), ..good.clone() };
        let refused = Err(ReceiveError::OutOfOrder { first: commit.first, appended: end });
        assert_eq!(world.journal.receive(commit), refused);
    }
    let id = good.head.id;
    let of_kind = |kind, metas_len, payload: &[u8]| {
        let head = EntryHead { id, kind };
        ReceivedCommit { head, first: end, metas_len, payload: payload.to_vec() }
    };
    let malformed = [
        of_kind(CommitKind::Records, 0, b""),
        of_kind(CommitKind::Records, 0, b"content"),
        of_kind(CommitKind::Records, 8, b"content"),
        of_kind(CommitKind::Empty, 8, b"12345678"),
        of_kind(CommitKind::Empty, 7, &[0; 7]),
        of_kind(CommitKind::Members, 0, b""),
        of_kind(CommitKind::Members, 1, b"12"),
    ];
    for commit in malformed {
        assert_eq!(world.journal.receive(commit), Err(ReceiveError::Malformed { id }));
    }
    assert_eq!(world.journal.appended(), end);
    assert!(world.journal.receive(good).is_ok());
    world.commit_all().unwrap();
}

/// What gathers behind a commit that came from the leader, or is a change of members, does not get into it.
#[test]
fn a_commit_with_a_number_takes_no_more() {
    test_replicated(true);
    let disk = SimDisk::new(0);
    let mut world = World::new(&disk, &small_options());
    let commit = received(&mut world, LogId::new(2, 9), "one");
    world.group.as_ref().unwrap().set_last(2, 9);
    world.journal.receive(commit).unwrap();
    world.publish("two");
    world.journal.append_members(&change());
    world.publish("three");
    world.commit_all().unwrap();
    disk.restart();
    assert_eq!(
        ids(&entries(&disk, JournalPosition::START).unwrap()),
        [9, 10, 11, 12].map(|index| LogId::new(2, index))
    );
}

#[test]
fn a_node_that_does_not_lead_writes_nothing_of_its_own() {
    test_replicated(true);
    let disk = SimDisk::new(0);
    let mut world = World::new(&disk, &small_options());
    let durable = world.publish("one");
    world.commit_all().unwrap();
    *world.group.as_ref().unwrap().leads.lock() = false;
    world.publish("two");
    let failed = world.commit_all().unwrap_err();
    assert_eq!((failed.durable, &*failed.reason), (durable, "this node is no longer the leader"));
    assert_eq!(failed.cause, FailureCause::LeadershipLost);
    assert!(world.journal.is_failed() && world.events.lock().contains(&Event::Failed));
    disk.restart();
    assert_eq!(entries(&disk, JournalPosition::START).unwrap().len(), 1);
}

/// A file that failed is answered by another, whose commits have the numbers they had.
#[test]
fn a_commit_that_is_written_again_keeps_its_number() {
    test_replicated(true);
    for seed in 0..50 {
        let disk = SimDisk::new(seed);
        let mut world = World::new(&disk, &small_options());
        world.file_all();
        let one = world.publish("one");
        world.commit_all().unwrap();
        let two = world.publish("two");
        disk.fail_syncs(1);
        world.commit_all().unwrap();
        let group = world.group.clone().unwrap();
        assert_eq!(
            (group.proposed.lock().len(), &group.flushed.lock()[..]),
            (2, &[one, two][..]),
            "asked once, told twice"
        );
        let three = world.publish("three");
        world.commit_all().unwrap();
        let spans = world.journal.closed_files();
        assert_eq!(spans.iter().map(|span| span.last).collect::<Vec<_>>(), [Some(LogId::new(1, 2))]);
        // Twice: the tail is written again at the start, too.
        for _ in 0..2 {
            disk.kill_process();
            assert_eq!(
                ids(&entries(&disk, JournalPosition::START).unwrap()),
                [2, 3, 4].map(|index| LogId::new(1, index))
            );
            let (again, _) = World::open(&disk, &small_options(), JournalPosition::START).unwrap();
            assert_eq!((again.journal.appended(), again.group.unwrap().last()), (three, LogId::new(1, 4)));
        }
    }
}

/// How far it has got: flushed, durable, synced.
#[track_caller]
fn check_marks(world: &World, flushed: JournalPosition, durable: JournalPosition, synced: JournalPosition) {
    let journal = &world.journal;
    assert_eq!((journal.flushed(), journal.durable(), journal.synced()), (flushed, durable, synced));
}

#[test]
fn confirms_wait_for_the_majority_and_for_nothing_else() {
    test_replicated(true);
    let disk = SimDisk::new(0);
    let mut world = World::new(&disk, &small_options());
    *world.group.as_ref().unwrap().commits_at_once.lock() = false;
    let start = JournalPosition::START;
    let one = world.publish("one");
    world.commit_all().unwrap();
    check_marks(&world, one, start, start);
    world.journal.set_committed(one);
    check_marks(&world, one, one, one);
    // The others were quicker.
    let two = world.publish("two");
    world.journal.set_committed(two);
    check_marks(&world, one, one, one);
    world.commit_all().unwrap();
    check_marks(&world, two, two, two);
    let three = world.publish("three");
    world.commit_all().unwrap();
    check_marks(&world, three, two, two);
    world.journal.record_synced();
    disk.restart();
    // What this disk had is noticed, committed or not.
    let mut recovery = Recovery::open(Arc::new(disk.clone()), Path::new(DIR), start, 0).unwrap();
    assert_eq!(recovery.synced, three);
    recovery.read_entries(&mut |_| {}).unwrap();
    recovery.set_committed(two);
    let group = Group::after(&recovery);
    let (journal, ..) = assemble(recovery, small_options(), Arc::new(|_| {}), Some(group)).unwrap();
    assert_eq!((journal.flushed(), journal.durable(), journal.synced()), (three, two, two));
}

#[test]
fn who_waits_is_woken_by_the_majority() {
    test_replicated(true);
    let mut world = World::new(&SimDisk::new(0), &small_options());
    *world.group.as_ref().unwrap().commits_at_once.lock() = false;
    let end = world.publish("one");
    world.commit_all().unwrap();
    let journal = world.journal.clone();
    std::thread::scope(|scope| {
        let durable = scope.spawn(|| journal.wait_durable(end));
        let synced = scope.spawn(|| journal.wait_synced(end));
        journal.set_committed(end);
        durable.join().unwrap().unwrap();
        synced.join().unwrap().unwrap();
    });
}

/// A directory of a node that was alone becomes a member's, and that of a member a node's that is alone.
#[test]
fn a_journal_may_have_files_of_both_layouts() {
    for seed in 0..20 {
        let disk = SimDisk::new(seed);
        let mut expected = Vec::new();
        for (life, is_replicated) in [false, true, true, false, true].into_iter().enumerate() {
            test_replicated(is_replicated);
            if life == 0 {
                disk.create_dir(Path::new(DIR)).unwrap();
            }
            let (mut world, said) = World::open(&disk, &small_options(), JournalPosition::START).unwrap();
            assert_eq!(said.len(), expected.len(), "seed {seed}, life {life}");
            for number in 0..12 {
                let body = format!("{life} {number} {}", "x".repeat(number * 900));
                world.publish(&body);
                expected.push(body);
                world.commit_all().unwrap();
                world.file_all();
            }
            if seed % 2 == 0 { disk.restart() } else { disk.kill_process() }
        }
        let (_, said) = replay(&disk, JournalPosition::START, &mut ChunkWriter::new(ChunkBudget::new())).unwrap();
        let is_as = |said: &Said, body: &String| said.1.contains(&body_text(body.as_bytes()));
        assert!(said.iter().zip(&expected).all(|(said, body)| is_as(said, body)), "seed {seed}");
        let found = entries(&disk, JournalPosition::START).unwrap();
        assert_eq!(found.len(), 36);
        assert!(found.iter().all(|entry| entry.head.kind == CommitKind::Records));
        // A file has one layout, whatever the start had to write again.
        let recovery = Recovery::open(Arc::new(disk.clone()), Path::new(DIR), JournalPosition::START, 0).unwrap();
        let layouts: Vec<_> = recovery.files.iter().map(|file| file.header.layout as u32).collect();
        assert!(layouts.contains(&1) && layouts.contains(&2), "{layouts:?}");
    }
    test_replicated(false);
}

/// Files were fetched: what the journal had before is nothing, from one switch of the manifest on.
#[test]
fn files_of_generations_that_do_not_count_hold_nothing() {
    test_replicated(true);
    let disk = SimDisk::new(0);
    let mut world = World::new(&disk, &small_options());
    while world.journal.closed_files().len() < 2 {
        world.publish(&"x".repeat(10_000));
        world.commit_all().unwrap();
        world.file_all();
    }
    world.journal.record_synced();
    let old_end = world.journal.appended();
    disk.kill_process();
    let open = |from: u64, generation_min| {
        Recovery::open(Arc::new(disk.clone()), Path::new(DIR), JournalPosition(from), generation_min)
    };
    let generation_min = open(0, 0).unwrap().generation_max + 1;
    // What it said of the old journal's end would be missed.
    assert!(matches!(open(77, generation_min), Err(OpenError::Missing { .. })));
    for _ in 0..2 {
        super::truncate::lower_synced(&disk, Path::new(DIR), JournalPosition(77)).unwrap();
    }
    for round in 0..3 {
        let mut recovery = open(77, generation_min).unwrap();
        let mut count = 0;
        recovery.read_entries(&mut |_| count += 1).unwrap();
        assert_eq!((count, recovery.void.len()), (round, if round == 0 { 3 } else { 0 }));
        let group = Group::after(&recovery);
        let (journal, mut writer, mut preallocator) =
            assemble(recovery, small_options(), Arc::new(|_| {}), Some(group.clone())).unwrap();
        group.join(&writer);
        let mut batch = RecordBatch::new();
        batch.drop_queue(QueueId(round as u64));
        let end = journal.append(&mut batch);
        while preallocator.prepare_once() == Preallocation::Done {}
        assert_eq!(writer.commit_once(), Ok(Progress::Committed));
        assert!(end < old_end && journal.synced() == end);
        disk.restart();
    }
    assert!(open(77, generation_min).unwrap().files.iter().all(|file| file.header.generation >= generation_min));
}

/// The end of what was there is known from elsewhere, so the loss of all files is noticed.
#[test]
fn a_journal_that_began_with_fetched_files_can_be_lost_like_any() {
    test_replicated(true);
    let disk = SimDisk::new(0);
    let mut world = World::new(&disk, &small_options());
    world.publish("one");
    world.commit_all().unwrap();
    world.journal.record_synced();
    disk.kill_process();
    for name in disk.list(Path::new(DIR)).unwrap() {
        disk.remove(&Path::new(DIR).join(name)).unwrap();
    }
    let opened = Recovery::open(Arc::new(disk.clone()), Path::new(DIR), JournalPosition::START, 1);
    assert!(matches!(opened, Err(OpenError::Missing { .. })));
}

#[test]
fn what_is_received_is_written_by_a_thread_at_once() {
    test_replicated(true);
    let disk = SimDisk::new(0);
    disk.create_dir(Path::new(DIR)).unwrap();
    let (recovery, _) = replay(&disk, JournalPosition::START, &mut ChunkWriter::new(ChunkBudget::new())).unwrap();
    let group = Group::after(&recovery);
    let (journal, threads) = start(recovery, small_options(), Arc::new(|_| {}), Some(group.clone())).unwrap();
    let mut first = JournalPosition::START;
    for index in 2..200 {
        first = journal.receive(ReceivedCommit::empty(LogId::new(1, index), first)).unwrap();
        // Nothing else wakes the writer.
        while index % 20 == 0 && journal.flushed() < first {
            std::thread::yield_now();
        }
    }
    threads.stop().unwrap();
    assert_eq!((journal.flushed(), group.flushed.lock().last().copied()), (first, Some(first)));
    disk.restart();
    assert_eq!(entries(&disk, JournalPosition::START).unwrap().len(), 198);
}
