//! What is appended comes back, on a disk that works.

use super::*;

#[track_caller]
fn check_recovered(disk: &SimDisk, from: JournalPosition, bodies: &[&str]) {
    disk.restart();
    let (world, said) = World::open(disk, &small_options(), from).unwrap();
    let expected: Vec<_> = bodies
        .iter()
        .map(|body| format!("publish {} to [(QueueId(1), QueueSeq(1))]", body_text(body.as_bytes())))
        .collect();
    assert_eq!(said.into_iter().map(|(_, text)| text).collect::<Vec<_>>(), expected);
    assert_eq!(world.journal.appended(), world.journal.synced());
}

#[test]
fn every_kind_of_record_comes_back() {
    in_both_layouts(|| {
        let disk = SimDisk::new(0);
        let mut world = World::new(&disk, &small_options());
        let content = world.contents.copy(&[b"body"]);
        let batch = &mut world.batch;
        batch.publish(&content, &[(QueueId(1), QueueSeq(2)), (QueueId(3), QueueSeq(4))]);
        batch.publish(&content, &[]);
        batch.settle(QueueId(1), QueueSeq(2), QueueSeq(5));
        batch.settle(QueueId(1), QueueSeq(6), QueueSeq(6));
        batch.settle(QueueId(1), QueueSeq(8), QueueSeq(8));
        batch.settle(QueueId(2), QueueSeq(9), QueueSeq(9));
        batch.watermark(QueueId(1), Some(QueueSeq(7)));
        batch.watermark(QueueId(1), None);
        batch.drop_queue(QueueId(9));
        batch.put(b"key", b"value");
        batch.put(b"", b"");
        batch.delete(b"key");
        let counts = queue::Counts { delivery_count: 3, acquired_count: 4 };
        batch.returned(QueueId(1), QueueSeq(2), crate::Returns { counts, waits_until_ms: 5 });
        batch.clean_shutdown();
        let len = batch.len();
        let end = world.journal.append(&mut world.batch);
        assert_eq!(end, JournalPosition(len));
        assert!(world.batch.is_empty());
        assert_eq!(world.batch.len(), 0);
        world.commit_all().unwrap();
        disk.restart();
        let (_, said) = World::open(&disk, &small_options(), JournalPosition::START).unwrap();
        assert!(said.iter().all(|(position, _)| *position == end));
        let texts: Vec<_> = said.iter().map(|(_, text)| text.as_str()).collect();
        assert_eq!(
            texts,
            [
                "publish body… (4, 263fc950) to [(QueueId(1), QueueSeq(2)), (QueueId(3), QueueSeq(4))]",
                "publish body… (4, 263fc950) to []",
                "Settle { queue: QueueId(1), first: QueueSeq(2), last: QueueSeq(6) }",
                "Settle { queue: QueueId(1), first: QueueSeq(8), last: QueueSeq(8) }",
                "Settle { queue: QueueId(2), first: QueueSeq(9), last: QueueSeq(9) }",
                "Watermark { queue: QueueId(1), seq: Some(QueueSeq(7)) }",
                "Watermark { queue: QueueId(1), seq: None }",
                "DropQueue { queue: QueueId(9) }",
                "Put { key: [107, 101, 121], value: [118, 97, 108, 117, 101] }",
                "Put { key: [], value: [] }",
                "Delete { key: [107, 101, 121] }",
                "Returned { queue: QueueId(1), seq: QueueSeq(2), returns: Returns { counts: Counts { delivery_count: 3, \
                 acquired_count: 4 }, waits_until_ms: 5 } }",
                "CleanShutdown",
            ]
        );
    });
}

#[test]
fn a_commit_is_one_write_and_one_sync() {
    in_both_layouts(|| {
        let disk = SimDisk::new(0);
        let mut world = World::new(&disk, &small_options());
        world.file_all();
        for _ in 0..3 {
            world.publish("one");
            world.publish("two");
            let before = disk.operation_count();
            assert_eq!(world.writer.commit_once(), Ok(Progress::Committed));
            assert_eq!(disk.operation_count() - before, 2);
            assert_eq!(world.writer.commit_once(), Ok(Progress::Idle));
            assert_eq!(disk.operation_count() - before, 2, "an idle journal does nothing");
        }
    });
}

#[test]
fn records_are_durable_when_their_commit_is_synced() {
    let mut world = World::new(&SimDisk::new(0), &small_options());
    let end = world.publish("one");
    let journal = world.journal.clone();
    assert_eq!(
        (journal.appended(), journal.written(), journal.durable()),
        (end, JournalPosition(0), JournalPosition(0))
    );
    world.commit_all().unwrap();
    assert_eq!((journal.appended(), journal.written(), journal.durable()), (end, end, end));
    assert_eq!(journal.synced(), end);
}

#[test]
fn confirm_after_write_syncs_when_asked() {
    let options = Options { confirm_after: ConfirmAfter::Write, ..small_options() };
    let mut world = World::new(&SimDisk::new(0), &options);
    let first = world.publish("one");
    world.commit_all().unwrap();
    assert_eq!((world.journal.durable(), world.journal.synced()), (first, JournalPosition::START));
    world.writer.sync_once().unwrap();
    assert_eq!(world.journal.synced(), first);
}

#[test]
fn positions_go_on_after_a_restart() {
    in_both_layouts(|| {
        let disk = SimDisk::new(0);
        let mut world = World::new(&disk, &small_options());
        world.publish("one");
        world.commit_all().unwrap();
        let end = world.journal.appended();
        disk.restart();
        let (mut world, _) = World::open(&disk, &small_options(), JournalPosition::START).unwrap();
        assert_eq!(world.journal.appended(), end);
        assert!(world.publish("two") > end);
        world.commit_all().unwrap();
        check_recovered(&disk, JournalPosition::START, &["one", "two"]);
    });
}

#[test]
fn records_below_the_checkpoint_are_not_given() {
    in_both_layouts(|| {
        let disk = SimDisk::new(0);
        let mut world = World::new(&disk, &small_options());
        let ends: Vec<_> = ["one", "two", "three"].iter().map(|body| world.publish(body)).collect();
        world.commit_all().unwrap();
        check_recovered(&disk, ends[0], &["two", "three"]);
        check_recovered(&disk, ends[1], &["three"]);
        check_recovered(&disk, ends[2], &[]);
    });
}

#[test]
fn files_are_filled_closed_retired_and_used_again() {
    in_both_layouts(|| {
        let disk = SimDisk::new(0);
        let mut world = World::new(&disk, &small_options());
        let body = "x".repeat(10_000);
        for _ in 0..100 {
            let end = world.publish(&body);
            world.commit_all().unwrap();
            world.file_all();
            if world.journal.unretired_len() > 128 << 10 {
                world.journal.retire(end);
                assert!(world.journal.unretired_len() <= 64 << 10);
            }
        }
        assert!(world.events.lock().iter().filter(|event| **event == Event::FileClosed).count() > 10);
        assert!(disk.list(Path::new(DIR)).unwrap().len() <= 6);
        assert!(!world.journal.is_congested());
    });
}

#[test]
fn a_batch_larger_than_a_file_gets_a_file_of_its_own() {
    in_both_layouts(|| {
        let disk = SimDisk::new(0);
        let mut world = World::new(&disk, &small_options());
        let body = "x".repeat(1 << 20);
        world.publish("before");
        world.publish(&body);
        let end = world.publish("after");
        world.commit_all().unwrap();
        assert_eq!(world.journal.durable(), end);
        check_recovered(&disk, JournalPosition::START, &["before", &body, "after"]);
    });
}

#[test]
fn contents_that_lie_side_by_side_are_written_as_one() {
    let mut world = World::new(&SimDisk::new(0), &small_options());
    for _ in 0..50 {
        world.publish("side by side");
    }
    let commit = world.writer.shared().work.take().unwrap();
    assert_eq!(commit.run_count(), 1);
}

#[test]
fn a_chunk_knows_where_it_is_first_used() {
    in_both_layouts(|| {
        let disk = SimDisk::new(0);
        let mut world = World::new(&disk, &small_options());
        let first = world.publish("one");
        let content = world.contents.copy(&[b"two"]);
        assert_eq!(content.chunk().first_position(), JournalPosition::START);
        world.commit_all().unwrap();
        disk.restart();
        let mut contents = ChunkWriter::new(ChunkBudget::new());
        let mut positions = Vec::new();
        let mut recovery = Recovery::open(Arc::new(disk.clone()), Path::new(DIR), JournalPosition::START, 0).unwrap();
        let each: Each<'_> = &mut |end, record| {
            if let Record::Publish { content, .. } = record {
                positions.push((content.chunk().first_position(), end));
            }
        };
        recovery.replay(&mut contents, each).unwrap();
        assert_eq!(positions, [(JournalPosition::START, first)]);
    });
}

#[test]
fn publishers_wait_while_too_much_is_pending_or_unretired() {
    in_both_layouts(|| {
        let mut world = World::new(&SimDisk::new(0), &small_options());
        let body = "x".repeat(10_000);
        while !world.journal.is_congested() {
            world.publish(&body);
        }
        assert!(world.journal.appended() > JournalPosition(small_options().file_len / 2), "half a file");
        world.commit_all().unwrap();
        world.file_all();
        assert!(!world.journal.is_congested());
        while !world.journal.is_congested() {
            world.publish(&body);
            world.commit_all().unwrap();
            world.file_all();
        }
        assert!(world.journal.unretired_len() > 256 << 10);
        world.journal.retire(world.journal.synced());
        assert!(!world.journal.is_congested());
    });
}

/// Else all would wait for ever behind one that is longer than the journal may be: it is retired when something comes after it.
#[test]
fn publishers_do_not_wait_for_one_batch_however_long_it_is() {
    in_both_layouts(|| {
        for len in [100, 200, 300, 1000] {
            let mut world = World::new(&SimDisk::new(0), &small_options());
            world.publish("before");
            world.publish(&"x".repeat(len << 10));
            assert!(!world.journal.is_congested(), "{len} KiB are pending");
            while world.journal.durable() < world.journal.appended() {
                match world.writer.commit_once().unwrap() {
                    Progress::NeedsFile => assert_eq!(world.preallocator.prepare_once(), Preallocation::Done),
                    _ => assert!(!world.writer.shared().congestion.has(super::super::congestion::Cause::Unretired)),
                }
            }
            world.file_all();
            assert!(!world.journal.is_congested(), "{len} KiB are written");
            world.publish("after");
            world.commit_all().unwrap();
            world.file_all();
            assert!(!world.journal.is_congested(), "{len} KiB are followed by something");
            // They do wait for a second one.
            world.publish(&"x".repeat(len << 10));
            world.publish(&"x".repeat(len << 10));
            assert!(world.journal.is_congested(), "twice {len} KiB are pending");
            world.commit_all().unwrap();
            world.file_all();
            world.publish(&"x".repeat(60_000));
            world.publish(&"x".repeat(60_000));
            world.commit_all().unwrap();
            world.file_all();
            world.journal.retire(world.journal.synced());
            assert!(!world.journal.is_congested() && world.journal.unretired_len() <= 256 << 10);
        }
    });
}

#[test]
fn publishers_wait_while_no_file_is_ready() {
    let mut world = World::new(&SimDisk::new(0), &small_options());
    world.preallocator.prepare_once();
    world.publish("one");
    world.writer.commit_once().unwrap();
    assert!(world.journal.is_congested() && !world.journal.is_reserve_in_use());
    world.preallocator.prepare_once();
    assert!(!world.journal.is_congested());
}

/// A right checksum is no reason to trust what a record says.
#[test]
fn a_settlement_of_nothing_is_malformed() {
    let mut batch = RecordBatch::new();
    batch.settle(QueueId(1), QueueSeq(2), QueueSeq(2));
    let mut records = batch.metas()[16..].to_vec();
    records[8 + 8] = 3; // its first seq
    let decoded = super::record::decode(&mut records.as_slice());
    assert!(matches!(decoded, Err(super::record::DecodeError::Malformed)), "{decoded:?}");
}

/// Each commit began the wait for a sync anew: under a trickle none ever came.
#[test]
fn what_is_written_is_synced_in_time_however_much_follows() {
    let options =
        Options { confirm_after: ConfirmAfter::Write, sync_delay: Duration::from_millis(200), ..small_options() };
    let disk = SimDisk::new(0);
    let mut world = World::new(&disk, &options);
    world.file_all();
    let start = std::time::Instant::now();
    let at = |ms| start + Duration::from_millis(ms);
    let mut commit = |ms| {
        let end = world.publish("one");
        world.writer.commit_at(at(ms)).unwrap();
        assert_eq!(world.journal.durable(), end);
        (world.journal.synced() == end, world.writer.sync_due_in(at(ms)))
    };
    assert_eq!(commit(0), (false, Some(Duration::from_millis(200))));
    assert_eq!(commit(150), (false, Some(Duration::from_millis(50))));
    assert_eq!(commit(210), (true, None));
    assert_eq!(commit(300), (false, Some(Duration::from_millis(200))));
    assert_eq!(commit(499), (false, Some(Duration::from_millis(1))));
    assert_eq!(commit(500), (true, None));
}

/// A thread that had too much journal and one that made room for it decided at the same time, and the later decision won.
#[test]
fn too_much_unretired_journal_never_sticks() {
    let disk = SimDisk::new(0);
    let world = World::new(&disk, &small_options());
    let shared = world.writer.shared();
    let len = small_options().unretired_len_max + 1;
    for _ in 0..200 {
        let barrier = std::sync::Barrier::new(2);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                barrier.wait();
                for _ in 0..500 {
                    shared.grow_unretired(len);
                    shared.shrink_unretired(len);
                }
            });
            barrier.wait();
            for _ in 0..500 {
                shared.grow_unretired(len);
                shared.shrink_unretired(len);
            }
        });
        assert_eq!((world.journal.unretired_len(), world.journal.is_congested()), (0, false));
    }
}

#[test]
fn what_is_on_its_way_to_the_disk_takes_memory_until_it_is_synced() {
    let options = Options {
        confirm_after: ConfirmAfter::Write,
        file_len: 16 << 20,
        unretired_len_max: 256 << 20,
        pending_len_max: 32 << 20,
        ..small_options()
    };
    let mut world = World::new(&SimDisk::new(0), &options);
    assert_eq!(world.journal.memory_len(), 0);
    world.batch.put(b"key", &vec![0; 3 << 20]);
    world.journal.append(&mut world.batch);
    let gathered = world.journal.memory_len();
    assert!(gathered >= 3 << 20, "{gathered}");
    assert_eq!(world.commit_all(), Ok(Progress::Idle));
    assert_eq!(world.journal.memory_len(), gathered, "it is written, and not synced");
    world.writer.sync_once().unwrap();
    let kept = world.journal.memory_len();
    assert!(kept <= 1 << 20, "{kept} are kept for the next commits");
}
