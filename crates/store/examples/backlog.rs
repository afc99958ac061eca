//! Fills a queue with more messages than memory holds, restarts, and drains it: rates and memory for each million.
//!
//! With 0 millions it drains what is in the directory.
//!
//! `cargo run --release -p store --example backlog -- [DIR] [MILLIONS] [BODY_LEN] [QUEUES] [BATCH]`

#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a measurement, not a service")]

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Wake, Waker};
use std::thread::Thread;
use std::time::{Duration, Instant};

use model::ids::{Place, QueueId, QueueSeq, SegmentId};
use parking_lot::Mutex;
use queue::{Effects, Gate, Get, Message, MovedMessage, PlacedMessage, Queue, RestoredQueue, Settings};
use store::file::RealDisk;
use store::{
    CollectedResidents, Content, Kind, LaneResidents, LoadAnswer, Options, QueueOwner, QueueState, RecordBatch,
    RecoveredStore, Resident, Store,
};

#[derive(Clone)]
struct Held {
    content: Content,
    place: Option<Place>,
}

impl Message for Held {
    fn len(&self) -> u32 {
        self.content.len()
    }
    fn is_journaled(&self) -> bool {
        true
    }
    fn place(&self) -> Option<Place> {
        self.place
    }
    fn set_place(&mut self, place: Place) {
        self.place = Some(place);
    }
}

struct Open;

impl Gate for Open {
    fn try_acquire(&self, _len: u32) -> bool {
        true
    }
}

/// Some queues under one lock each, as shards are.
struct Broker {
    store: OnceLock<Arc<Store>>,
    queues: Vec<Mutex<Queue<Held, Open>>>,
    loaded: AtomicU64,
    drainer: Mutex<Option<Thread>>,
}

impl Broker {
    fn new(store: &Arc<Store>, recovered: RecoveredStore, queue_count: u64) -> Arc<Broker> {
        let mut recovered = recovered.queues;
        let queues = (0..queue_count).map(|id| {
            let Some(recovered) = recovered.remove(&QueueId(id)) else { return Queue::new(Settings::default()) };
            let held = |content| Held { content, place: None };
            Queue::restore(
                Settings::default(),
                RestoredQueue {
                    next_seq: recovered.next_seq,
                    watermark: recovered.watermark,
                    ranges: recovered.ranges.into_iter().map(|recovered| (recovered.lane, recovered.range)).collect(),
                    messages: recovered.messages.into_iter().map(|(seq, content)| (seq, held(content))).collect(),
                    returned: Vec::new(),
                    may_expire: false,
                },
            )
        });
        let queues = queues.map(Mutex::new).collect();
        let broker = Broker { store: OnceLock::new(), queues, loaded: AtomicU64::new(0), drainer: Mutex::new(None) };
        let _ = broker.store.set(store.clone());
        Arc::new(broker)
    }

    fn ready_count(&self) -> u64 {
        self.queues.iter().map(|queue| queue.lock().ready_count()).sum()
    }

    fn store(&self) -> &Store {
        self.store.get().unwrap()
    }
}

impl QueueOwner for Broker {
    fn collect(&self, is_old: &dyn Fn(&Content) -> bool, out: &mut CollectedResidents) {
        for (id, queue) in self.queues.iter().enumerate() {
            let id = QueueId(id as u64);
            let queue = queue.lock();
            out.queues.push(QueueState { queue: id, next_seq: queue.next_seq(), watermark: None, may_expire: false });
            let mut found = Vec::new();
            queue.in_memory(&mut |held| is_old(&held.content), &mut found);
            drop(queue);
            let resident =
                |(seq, held): (QueueSeq, Held)| Resident { seq, body_len: held.len(), content: held.content };
            let residents: Vec<_> = found.into_iter().map(resident).collect();
            if !residents.is_empty() {
                out.lanes.push(LaneResidents { queue: id, lane: 0, is_journaled: true, residents });
            }
        }
    }

    fn relocate(&self, queue: QueueId, lane: u8, placed: &[PlacedMessage]) {
        let mut dead = Vec::new();
        let mut queue = self.queues[queue.0 as usize].lock();
        queue.relocate(lane, placed, &mut dead);
        self.store().settle_slots(&dead);
    }

    fn loaded(&self, queue: QueueId, loaded: LoadAnswer) {
        let held = |content, place| Held { content, place: Some(place) };
        let entries = loaded.entries.into_iter().map(|entry| (entry.seq, held(entry.content, entry.place))).collect();
        assert!(loaded.error.is_none(), "{:?}", loaded.error);
        let lost = self.queues[queue.0 as usize].lock().loaded(
            &loaded.load,
            entries,
            loaded.next_slot,
            &mut Effects::default(),
        );
        assert_eq!(lost, 0);
        self.loaded.fetch_add(1, Ordering::Release);
        if let Some(drainer) = &*self.drainer.lock() {
            drainer.unpark();
        }
    }

    fn unload(&self) {
        self.queues.iter().for_each(|queue| queue.lock().unload());
    }

    fn moved(&self, queue: QueueId, from: &[SegmentId], moved: &[MovedMessage]) {
        let mut dead = Vec::new();
        let mut queue = self.queues[queue.0 as usize].lock();
        assert_eq!(queue.move_ranges(from, moved, &mut dead), 0);
        self.store().settle_slots(&dead);
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn wait_uncongested(store: &Store) -> Duration {
    let start = Instant::now();
    while store.is_congested() {
        store.when_uncongested(Waker::from(Arc::new(Unpark(std::thread::current()))));
        if store.is_congested() {
            std::thread::park_timeout(Duration::from_millis(100));
        }
    }
    start.elapsed()
}

fn fill(broker: &Broker, count: u64, body_len: usize, batch_len: u64) {
    let store = broker.store();
    let mut writer = store.chunk_writer(Kind::Journaled);
    let mut batch = RecordBatch::new();
    let mut report = Report::new("fill", store);
    let body = vec![7u8; body_len];
    let mut published = 0;
    while published < count {
        report.waited += wait_uncongested(store);
        let id = published / batch_len % broker.queues.len() as u64;
        let contents: Vec<_> = (0..batch_len).map(|_| writer.copy(&[&body])).collect();
        let mut queue = broker.queues[id as usize].lock();
        for content in contents {
            let seq = queue.publish(Held { content: content.clone(), place: None });
            batch.publish(&content, &[(QueueId(id), seq)]);
        }
        store.append(&mut batch);
        drop(queue);
        published += batch_len;
        report.count(batch_len);
    }
}

fn drain(broker: &Broker, count: u64, batch_len: u64) {
    let store = broker.store();
    *broker.drainer.lock() = Some(std::thread::current());
    let mut batch = RecordBatch::new();
    let mut report = Report::new("drain", store);
    let mut places = Vec::new();
    let mut drained = 0;
    while drained < count {
        let mut gained = 0;
        let loads_before = broker.loaded.load(Ordering::Acquire);
        for (id, queue) in broker.queues.iter().enumerate() {
            let id = QueueId(id as u64);
            let mut queue = queue.lock();
            let mut wanted = None;
            for _ in 0..batch_len {
                match queue.get(true, 0, &mut Effects::default()) {
                    Get::Message(got) => {
                        batch.settle(id, got.seq, got.seq);
                        places.extend(got.message.place);
                        gained += 1;
                    }
                    Get::Loading(load) => {
                        wanted = load;
                        break;
                    }
                    Get::Empty => break,
                }
            }
            if !batch.is_empty() {
                store.append(&mut batch);
                store.settle_slots(&places);
                places.clear();
            }
            drop(queue);
            if let Some(load) = wanted {
                store.load(id, load);
            }
        }
        drained += gained;
        report.count(gained);
        if gained == 0 {
            let start = Instant::now();
            while broker.loaded.load(Ordering::Acquire) == loads_before {
                std::thread::park_timeout(Duration::from_millis(20));
            }
            report.waited += start.elapsed();
        }
    }
}

/// Says for each million how fast it was, and how much memory the process has.
struct Report<'a> {
    what: &'static str,
    store: &'a Store,
    start: Instant,
    counted: u64,
    waited: Duration,
}

impl<'a> Report<'a> {
    fn new(what: &'static str, store: &'a Store) -> Self {
        Report { what, store, start: Instant::now(), counted: 0, waited: Duration::ZERO }
    }

    fn count(&mut self, count: u64) {
        let before = self.counted / 1_000_000;
        self.counted += count;
        if self.counted / 1_000_000 > before {
            let elapsed = std::mem::replace(&mut self.start, Instant::now()).elapsed();
            let waited = std::mem::take(&mut self.waited);
            let stats = self.store.stats();
            println!(
                "{:5} {:3} M: {:7.0}/s, waited {:4.1} of {:4.1} s, rss {:5} MiB, chunks {:4} MiB, journal {:4} MiB, {} segments of {} MiB",
                self.what,
                self.counted / 1_000_000,
                1e6 / elapsed.as_secs_f64(),
                waited.as_secs_f64(),
                elapsed.as_secs_f64(),
                rss() >> 20,
                stats.chunk_len >> 20,
                stats.journal_unretired_len >> 20,
                stats.segment_count,
                stats.segment_len >> 20,
            );
        }
    }
}

fn rss() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok()).unwrap_or(0) << 10
}

fn open(dir: &Path, queue_count: u64) -> (Arc<Store>, Arc<Broker>) {
    let start = Instant::now();
    let mut options = Options::new(dir.to_owned());
    options.journal.salt = start.elapsed().subsec_nanos().into();
    let (store, recovered) = Store::open(options, Arc::new(RealDisk)).unwrap();
    let broker = Broker::new(&store, recovered, queue_count);
    store.start(broker.clone());
    println!("opened in {:?} with {} messages, rss {} MiB", start.elapsed(), broker.ready_count(), rss() >> 20);
    (store, broker)
}

fn main() {
    let mut args = std::env::args().skip(1);
    let dir = PathBuf::from(args.next().unwrap_or_else(|| "backlog-data".to_owned()));
    let mut number = |default| args.next().map_or(default, |arg| arg.parse().unwrap());
    let (millions, body_len, queue_count, batch_len) = (number(10), number(1024), number(1), number(200));
    if millions > 0 {
        let _ = std::fs::remove_dir_all(&dir);
        let (store, broker) = open(&dir, queue_count);
        fill(&broker, millions * 1_000_000, body_len as usize, batch_len);
        let start = Instant::now();
        store.close().unwrap();
        println!("closed in {:?}", start.elapsed());
    }

    let (store, broker) = open(&dir, queue_count);
    drain(&broker, broker.ready_count(), batch_len);
    store.close().unwrap();
    drop((store, broker));
    let _ = std::fs::remove_dir_all(&dir);
}
