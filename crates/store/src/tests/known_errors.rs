//! Errors that the store had, each with its story.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Wake, Waker};
use std::time::Duration;

use model::ids::{JournalPosition, Place, QueueId, QueueSeq, SegmentId};
use parking_lot::Mutex;
use queue::{Get, MovedMessage, PagedRange, PlacedMessage, Queue, RestoredQueue, Settings};

use crate::chunk::CHUNK_LEN;
use crate::file::{Disk, Faults, SimDisk};
use crate::load::{LoadOutcome, Loader};
use crate::simulation::{Broker, Held, History, Legacy, Open, Seen};
use crate::threads::{Rest, retire_step};
use crate::{
    ChunkWriter, CollectedResidents, Content, DamagedSegment, Kind, LaneResidents, LoadAnswer, Options, QueueOwner,
    Random, ReclaimReport, RecordBatch, Resident, Store,
};

/// Queues whose messages stay in memory until the store has moved them.
#[derive(Default)]
struct Lanes(Mutex<Vec<LaneResidents>>);

impl Lanes {
    fn add(&self, queue: QueueId, is_journaled: bool, contents: &[Content]) {
        let residents = contents.iter().zip(1..).map(|(content, seq)| Resident {
            seq: QueueSeq(seq),
            content: content.clone(),
            body_len: content.len(),
        });
        self.0.lock().push(LaneResidents { queue, lane: 0, is_journaled, residents: residents.collect() });
    }
}

impl QueueOwner for Lanes {
    fn collect(&self, is_old: &dyn Fn(&Content) -> bool, out: &mut CollectedResidents) {
        out.lanes = self.0.lock().clone();
        out.lanes.iter_mut().for_each(|lane| lane.residents.retain(|resident| is_old(&resident.content)));
        out.lanes.retain(|lane| !lane.residents.is_empty());
    }

    fn relocate(&self, queue: QueueId, _lane: u8, placed: &[PlacedMessage]) {
        for lane in self.0.lock().iter_mut().filter(|lane| lane.queue == queue) {
            lane.residents.retain(|resident| placed.iter().all(|placed| placed.seq != resident.seq));
        }
    }

    fn loaded(&self, _queue: QueueId, _loaded: LoadAnswer) {}

    fn moved(&self, _queue: QueueId, _from: &[SegmentId], _moved: &[MovedMessage]) {}
}

fn open(disk: &SimDisk, options: Options) -> Arc<Store> {
    Store::open_stepped(options, Arc::new(disk.clone())).unwrap().0
}

fn options() -> Options {
    Options::small(PathBuf::from("/data"), 1)
}

/// Journals a message of a queue that has no other.
fn publish(store: &Store, queue: QueueId, content: &Content) -> JournalPosition {
    let mut batch = RecordBatch::new();
    batch.publish(content, &[(queue, QueueSeq(1))]);
    store.append(&mut batch)
}

fn large(writer: &mut ChunkWriter) -> Content {
    writer.copy(&[&[b'x'; CHUNK_LEN]])
}

#[derive(Default)]
struct Count(AtomicU32);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// Memory was full of contents that were on their way to consumers. When nothing could be moved, the thread that moves slept
/// until something would happen. The consumers took their messages, and nothing happened: the publishers were not woken.
#[test]
fn publishers_go_on_when_consumers_have_made_room_in_memory() {
    let (disk, lanes, mut has_failed) = (SimDisk::new(0), Lanes::default(), false);
    let store = open(&disk, options());
    let mut writer = store.chunk_writer(Kind::Transient);
    let contents: Vec<_> = (0..10).map(|_| large(&mut writer)).collect();
    assert!(store.is_congested());
    let count = Arc::new(Count::default());
    store.when_uncongested(Waker::from(count.clone()));
    for _ in 0..3 {
        let rest = retire_step(&store.shared, &lanes, &mut has_failed);
        assert!(matches!(rest, Rest::AtLeast(_)), "{rest:?}");
        assert!(store.shared.memory.is_awaited(), "a wait for a signal would begin");
    }
    drop(contents);
    assert_eq!(count.0.load(Ordering::SeqCst), 0);
    assert_eq!(retire_step(&store.shared, &lanes, &mut has_failed), Rest::UntilRaised);
    assert_eq!(count.0.load(Ordering::SeqCst), 1);
}

/// A start reads the journal into memory, which may be more than is kept there. Publishers that had waited for a start, or for another
/// node to take over, waited until that was moved, too: for a third of a second.
#[test]
fn what_a_start_has_read_does_not_hold_publishers_up() {
    let disk = SimDisk::new(0);
    let mut options = Options::small("/data".into(), 1);
    options.journal.unretired_len_max = 1 << 30;
    let (len_max, room) = (options.chunk_len_max, options.chunk_len_max / 4);
    let open = || Store::open_stepped(options.clone(), Arc::new(disk.clone())).unwrap();
    let (store, recovered) = open();
    let (seen, history, random) = (Seen::default(), History::default(), Random::new(1));
    let legacy = Legacy { seen, random, history, next_queue: 1, next_message: 1 };
    let broker = Broker::restore(store.clone(), recovered, legacy);
    while store.shared.memory.budget().movable_len() <= len_max + room {
        broker.publish();
        store.step_journal().unwrap();
    }
    assert!(store.is_congested());
    drop((store, broker));

    let (store, recovered) = open();
    let len = store.shared.memory.budget().movable_len();
    assert!(len > len_max && !store.is_congested(), "{:?}", store.stats());
    let mut writer = store.chunk_writer(Kind::Transient);
    let mut contents = Vec::new();
    while !store.is_congested() {
        contents.push(writer.copy(&[&[b'x'; 10_000]]));
    }
    assert!(store.shared.memory.budget().movable_len() <= len + room + 2 * CHUNK_LEN as u64, "there is an end to it");
    contents.clear();
    // Consumers take it; moving it to segments is as good.
    drop(recovered);
    assert_eq!(retire_step(&store.shared, &Lanes::default(), &mut false), Rest::UntilRaised);
    while !store.is_congested() {
        contents.push(writer.copy(&[&[b'x'; 10_000]]));
    }
    assert!(
        store.shared.memory.budget().movable_len() <= len_max + 2 * CHUNK_LEN as u64,
        "afterwards the bound is what it was"
    );
}

/// Whether publishers must wait was asked by a method that had memory moved by the way: what was asked more often moved more.
#[test]
fn asking_whether_publishers_must_wait_changes_nothing() {
    let store = open(&SimDisk::new(0), options());
    let mut writer = store.chunk_writer(Kind::Transient);
    let _contents: Vec<_> = (0..10).map(|_| large(&mut writer)).collect();
    assert!(store.is_congested() && store.is_memory_short());
    assert!(!store.shared.signals.retire.is_raised());
    store.relieve_memory();
    assert!(store.shared.signals.retire.is_raised());
}

/// Each thread has a chunk that it writes to, whether anything in it is alive or not. With a small bound and many threads these alone
/// were more than the bound, and no publisher ever went on.
#[test]
fn any_number_of_writers_leaves_room() {
    let store = open(&SimDisk::new(0), options());
    let mut writers: Vec<_> = (0..50).map(|_| store.chunk_writer(Kind::Journaled)).collect();
    writers.iter_mut().for_each(|writer| drop(writer.copy(&[b"gone at once"])));
    assert!(!store.is_memory_short() && !store.is_congested(), "{:?}", store.stats());
}

/// The messages of a deleted queue were settled by the next checkpoint. With publishers stopped, because the disk is full
/// say, there was none, and the space that the deletion should have freed was not.
#[test]
fn a_deleted_queue_is_reclaimed_without_other_traffic() {
    let (disk, lanes) = (SimDisk::new(0), Lanes::default());
    let store = open(&disk, options());
    let content = store.chunk_writer(Kind::Journaled).copy(&[&[b'x'; 5000]]);
    lanes.add(QueueId(1), true, std::slice::from_ref(&content));
    let end = publish(&store, QueueId(1), &content);
    assert_eq!(store.retire_to(end, 0, &lanes).unwrap().message_count, 1);
    assert_eq!(store.reclaim_once(&lanes).unwrap(), None);
    store.shared.signals.reclaim.wait(Some(Duration::ZERO)); // lowers it
    let mut batch = RecordBatch::new();
    batch.drop_queue(QueueId(1));
    store.append(&mut batch);
    assert!(store.shared.signals.reclaim.is_raised());
    assert_eq!(store.reclaim_once(&lanes).unwrap(), Some(ReclaimReport::Removed(1)));
    assert!(store.shared.has_doomed(), "only a checkpoint is missing, which the reclaiming thread makes");
}

/// On a full disk with full memory the messages that need not last were written first, found no room, and so no checkpoint
/// was made: the one thing that would have retired journal files.
#[test]
fn a_spill_that_finds_no_room_keeps_no_journal() {
    let (disk, lanes) = (SimDisk::new(0), Lanes::default());
    let store = open(&disk, options());
    let mut writer = store.chunk_writer(Kind::Transient);
    lanes.add(QueueId(1), false, &[large(&mut writer)]);
    let mut batch = RecordBatch::new();
    batch.drop_queue(QueueId(2));
    let end = store.append(&mut batch);
    store.step_journal().unwrap();
    store.step_journal().unwrap();
    disk.set_faults(Faults { capacity: Some(512 << 10), ..Faults::default() });
    store.retire_to(end, u64::MAX, &lanes).unwrap_err();
    assert_eq!(store.shared.checkpointer.lock().current().position, end);
    assert!(store.is_disk_full());
    disk.set_faults(Faults::default());
    assert!(store.refill_reserve() && !store.is_disk_full());
}

/// What was alive in several journal files was written until the disk was full, then on in the reserve, and not to its end: the
/// reserve was spent, and no file had come free.
#[test]
fn journal_files_are_retired_one_by_one_when_the_disk_is_nearly_full() {
    let disk = SimDisk::new(0);
    let store = open(&disk, options());
    let mut writer = store.chunk_writer(Kind::Journaled);
    for _ in 0..12 {
        publish(&store, QueueId(1), &writer.copy(&[&[b'x'; 10_000]]));
        (0..3).for_each(|_| store.step_journal().unwrap());
    }
    let ends: Vec<_> = store.shared.journal.closed_files().iter().map(|file| file.end).collect();
    assert!(store.shared.retire_goal().unwrap().position > ends[1]);
    let leave = |room: u64| {
        disk.set_faults(Faults { capacity: Some(1 << 30), ..Faults::default() });
        let used = (1 << 30) - disk.free_space(std::path::Path::new("/data")).unwrap();
        disk.set_faults(Faults { capacity: Some(used + room), ..Faults::default() });
    };
    leave(200 << 10);
    assert!(store.shared.retire_goal().unwrap().position > ends[1]);
    leave(40 << 10);
    assert!(!store.is_disk_full());
    assert_eq!(store.shared.retire_goal().unwrap().position, ends[0]);
    store.retire_once(&Lanes::default()).unwrap();
    assert_eq!(store.shared.checkpointer.lock().current().position, ends[0]);
}

/// A manifest that could not be synced was read from the page cache by the next start, which removed the checkpoint before. Then the
/// power failed, and the manifest before was there again.
#[test]
fn a_start_removes_no_checkpoint_that_a_power_cut_brings_back() {
    for seed in 0..30 {
        let disk = SimDisk::new(seed);
        let store = open(&disk, options());
        store.checkpoint_once().unwrap();
        disk.fail_sync_pattern(&[false, false, true]); // the checkpoint's, its copy's, then the manifest's
        let error = store.checkpoint_once().unwrap_err().to_string();
        assert!(error.contains("manifest"), "{error}");
        drop(store);
        disk.kill_process();
        drop(open(&disk, options()));
        disk.restart();
        drop(open(&disk, options()));
    }
}

/// A store with one segment, that holds so many messages of one queue, and where the slots are.
fn with_segment(disk: &SimDisk, count: u32) -> (Arc<Store>, SegmentId, std::path::PathBuf, Vec<u64>) {
    let lanes = Lanes::default();
    let store = open(disk, Options { segment_len: 1 << 20, ..options() });
    let mut writer = store.chunk_writer(Kind::Journaled);
    let contents: Vec<_> = (0..count).map(|number| writer.copy(&[&number.to_le_bytes()])).collect();
    lanes.add(QueueId(1), true, &contents);
    let mut batch = RecordBatch::new();
    contents.iter().zip(1..).for_each(|(content, seq)| batch.publish(content, &[(QueueId(1), QueueSeq(seq))]));
    let end = store.append(&mut batch);
    store.retire_to(end, 0, &lanes).unwrap();
    let segment = store.shared.catalog.all().pop().unwrap();
    let offsets = store.shared.handles.open(&segment).unwrap().1.slots(0).map(|slot| slot.offset).collect();
    (store.clone(), segment.id, store.shared.dir.paths().segment(segment.id), offsets)
}

fn load(store: &Store, segment: SegmentId, first_slot: u32, end_slot: u32) -> LoadOutcome {
    let range = PagedRange {
        segment,
        first_slot,
        end_slot,
        count: end_slot - first_slot,
        bytes: 1000,
        first_seq: QueueSeq(1),
        last_seq: QueueSeq(1000),
    };
    let restored = RestoredQueue {
        next_seq: QueueSeq(1001),
        watermark: None,
        ranges: vec![(0, range)],
        messages: Vec::new(),
        returned: Vec::new(),
        may_expire: false,
    };
    let mut queue: Queue<Held, Open> = Queue::restore(Settings::default(), restored);
    let Get::Loading(Some(load)) = queue.get(false, 0, &mut queue::Effects::default()) else {
        panic!("it has nothing in memory")
    };
    Loader::new(&store.shared).load(&store.shared, QueueId(1), load)
}

/// Walking from slot to slot, a reader took the length of each from its header. After a wrong one it found nothing until the next
/// slot whose offset it knew: up to 63 good messages were lost to their queue, and a load that began in between never got on.
#[test]
fn a_damaged_length_loses_one_message() {
    let disk = SimDisk::new(0);
    let (store, segment, path, offsets) = with_segment(&disk, 200);
    disk.flip_bit(&path, offsets[70] + 5, 0); // its content_len
    let mut next = 0;
    let mut seqs = Vec::new();
    while next < 200 {
        let LoadOutcome::Loaded(loaded) = load(&store, segment, next, 200) else { panic!("stuck at {next}") };
        assert!(loaded.next_slot > next);
        next = loaded.next_slot;
        seqs.extend(loaded.entries.iter().map(|entry| entry.seq.0));
    }
    assert_eq!(seqs, (1..=200).filter(|seq| *seq != 71).collect::<Vec<_>>());
    let LoadOutcome::Loaded(loaded) = load(&store, segment, 75, 80) else { panic!("stuck behind the damage") };
    assert_eq!((loaded.entries.len(), loaded.next_slot), (5, 80));
}

/// Queues waited for ever for messages of a segment that was cut short, removed, or damaged at its ends: each load was answered with
/// nothing, and asked for again. What can still be found is read, and the rest is passed over.
#[test]
fn a_segment_that_is_damaged_anywhere_keeps_no_queue_waiting() {
    type Harm<'a> = &'a dyn Fn(&SimDisk, &std::path::Path, &[u64], u64);
    let cut_at = |len: u64| move |disk: &SimDisk, path: &std::path::Path, _: &[u64], _: u64| truncate(disk, path, len);
    let check = |what: &str, harm: Harm<'_>, is_open: bool, read: std::ops::Range<u64>| {
        let disk = SimDisk::new(0);
        let (store, segment, path, offsets) = with_segment(&disk, 200);
        let len = store.shared.catalog.get(segment).unwrap().file_len;
        if is_open {
            store.shared.handles.get(&store.shared.catalog.get(segment).unwrap()).unwrap();
        } else {
            store.shared.handles.forget(segment);
        }
        harm(&disk, &path, &offsets, len);
        let lost_count = 200 - read.clone().count() as u64;
        assert_eq!(load_all(&store, segment, 200), read.map(|seq| seq + 1).collect::<Vec<_>>(), "{what}, {is_open}");
        // A queue that asks again gets the same answer, and nothing is counted twice.
        load_all(&store, segment, 200);
        let damaged: Vec<_> = store.acknowledge_damage();
        assert_eq!(damaged.len(), usize::from(!is_open || lost_count > 0), "{what}, {is_open}: {damaged:?}");
        assert_eq!(damaged.iter().map(DamagedSegment::lost_count).sum::<u64>(), lost_count, "{what}, {is_open}");
        load_all(&store, segment, 200);
        assert!(!store.has_damage() && store.lost_count() == lost_count, "{what}, {is_open}");
    };
    for is_open in [false, true] {
        check("empty", &cut_at(0), is_open, 0..0);
        check("cut in the header", &cut_at(10), is_open, 0..0);
        check("cut in a slot", &|disk, path, offsets, _| truncate(disk, path, offsets[120] + 3), is_open, 0..120);
        check("cut between slots", &|disk, path, offsets, _| truncate(disk, path, offsets[64]), is_open, 0..64);
        check("cut in the footer", &|disk, path, _, len| truncate(disk, path, len - 33), is_open, 0..200);
        check("cut in the trailer", &|disk, path, _, len| truncate(disk, path, len - 1), is_open, 0..200);
        check("header", &|disk, path, _, _| disk.flip_bit(path, 3, 0), is_open, 0..200);
        check("footer", &|disk, path, _, len| disk.flip_bit(path, len - 33, 0), is_open, 0..200);
        check("trailer", &|disk, path, _, len| disk.flip_bit(path, len - 10, 0), is_open, 0..200);
    }
    check("removed", &|disk, path, _, _| disk.remove(path).unwrap(), false, 0..0);
    check("not readable", &|disk, path, _, len| disk.fail_reads(path, 0..len), false, 0..0);
}

fn truncate(disk: &SimDisk, path: &std::path::Path, len: u64) {
    disk.open(path).unwrap().truncate(len).unwrap();
}

/// The seqs that a queue gets which asks until it has an answer for every slot.
fn load_all(store: &Store, segment: SegmentId, count: u32) -> Vec<u64> {
    let (mut next, mut seqs, mut wait_count) = (0, Vec::new(), 0);
    while next < count {
        let loaded = match load(store, segment, next, count) {
            LoadOutcome::Loaded(loaded) => loaded,
            LoadOutcome::Stuck(loaded) => {
                wait_count += 1;
                assert!(wait_count < 5, "a queue waits for slot {next}");
                loaded
            }
        };
        next = loaded.next_slot;
        seqs.extend(loaded.entries.iter().map(|entry| entry.seq.0));
    }
    seqs
}

/// A copy whose source could not be read was tried again each second, and nothing else was ever compacted.
#[test]
fn a_segment_that_cannot_be_read_is_copied_once() {
    let disk = SimDisk::new(0);
    let (store, segment, path, offsets) = with_segment(&disk, 2000);
    store.settle_slots(&(0..1900).map(|slot| Place { segment, slot }).collect::<Vec<_>>());
    disk.fail_reads(&path, offsets[1950]..offsets[1950] + 1);
    let lanes = Lanes::default();
    store.reclaim_once(&lanes).unwrap_err();
    assert_eq!(store.reclaim_once(&lanes).unwrap(), None);
    let names = disk.list(&store.shared.dir.paths().segments()).unwrap();
    assert_eq!(names.len(), 1, "what was begun is gone: {names:?}");
}

/// A stop on a full disk waited for room: the last record could not be written.
#[test]
fn a_full_disk_does_not_keep_the_store_from_closing() {
    let disk = SimDisk::new(0);
    let (store, _) = Store::open(options(), Arc::new(disk.clone())).unwrap();
    store.start(Arc::new(Lanes::default()));
    disk.set_faults(Faults { capacity: Some(0), ..Faults::default() });
    let mut writer = store.chunk_writer(Kind::Journaled);
    for queue in 1..=3 {
        publish(&store, QueueId(queue), &large(&mut writer));
    }
    let (closed, outcome) = std::sync::mpsc::channel();
    std::thread::spawn(move || drop(closed.send(store.close())));
    let error = outcome.recv_timeout(Duration::from_secs(60)).expect("it closes").unwrap_err();
    assert!(error.to_string().contains("disk is full"), "{error}");
}
