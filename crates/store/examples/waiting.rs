//! Fills a set of waiting messages with more than memory holds, restarts, and releases all of it: rates and memory for each million.
//!
//! Times are arguments: nothing waits for a clock. SPREAD_S is the time over which due times are spread at random; with 0 all delays
//! are equal. With 0 millions it releases what is in the directory. STEP_MS is how far time advances from one release to the next; with 0
//! everything is due at once.
//!
//! `cargo run --release -p store --example waiting -- [DIR] [MILLIONS] [BODY_LEN] [SPREAD_S] [STEP_MS]`

#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a measurement, not a service")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Wake, Waker};
use std::thread::Thread;
use std::time::{Duration, Instant};

use model::ids::{Place, QueueId, SegmentId};
use parking_lot::Mutex;
use queue::{Ask, DelayId, Delays, Message, MovedMessage, PlacedMessage, Progress, RestoredGeneration, SettledDelays};
use store::file::RealDisk;
use store::{
    CollectedResidents, Content, Kind, LaneResidents, LoadAnswer, Options, QueueOwner, RecordBatch, RecoveredStore,
    Resident, Store,
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

/// A set under one lock, as a shard has it.
struct Broker {
    store: OnceLock<Arc<Store>>,
    set: Mutex<Delays<Held>>,
    next_id: AtomicU64,
    loaded: AtomicU64,
    lost: AtomicU64,
    releaser: Mutex<Option<Thread>>,
}

impl Broker {
    fn new(store: &Arc<Store>, recovered: RecoveredStore) -> Arc<Broker> {
        let held = |content| Held { content, place: None };
        let last = recovered.queues.keys().map(|id| id.0).max().unwrap_or(0);
        let generations: BTreeMap<_, _> = recovered.queues.into_iter().collect();
        let set = Delays::restore(generations.into_iter().map(|(generation, recovered)| RestoredGeneration {
            generation,
            ranges: recovered.ranges.into_iter().map(|recovered| recovered.range).collect(),
            messages: recovered.messages.into_iter().map(|(seq, content)| (seq, held(content))).collect(),
        }));
        let broker = Broker {
            store: OnceLock::new(),
            set: Mutex::new(set),
            next_id: AtomicU64::new(last + 1),
            loaded: AtomicU64::new(0),
            lost: AtomicU64::new(0),
            releaser: Mutex::new(None),
        };
        let _ = broker.store.set(store.clone());
        Arc::new(broker)
    }

    fn store(&self) -> &Store {
        self.store.get().unwrap()
    }

    fn ask(&self, asks: &mut Vec<Ask>) {
        asks.drain(..).for_each(|ask| self.store().load(ask.generation, ask.load));
    }
}

impl QueueOwner for Broker {
    fn collect(&self, is_old: &dyn Fn(&Content) -> bool, out: &mut CollectedResidents) {
        let mut found = Vec::new();
        self.set.lock().in_memory(&mut |held| is_old(&held.content), &mut |id, held| found.push((id, held.clone())));
        found.sort_by_key(|(id, _): &(DelayId, Held)| *id);
        let mut found = found.into_iter().peekable();
        while let Some((DelayId { generation: queue, .. }, _)) = found.peek() {
            let queue = *queue;
            let mut residents = Vec::new();
            while let Some((id, held)) = found.next_if(|(id, _)| id.generation == queue) {
                residents.push(Resident { seq: id.seq, body_len: held.len(), content: held.content });
            }
            out.lanes.push(LaneResidents { queue, lane: 0, is_journaled: true, residents });
        }
    }

    fn relocate(&self, queue: QueueId, _lane: u8, placed: &[PlacedMessage]) {
        for placed in placed.chunks(4096) {
            let mut dead = Vec::new();
            let mut set = self.set.lock();
            set.relocate(queue, placed, &mut dead);
            self.store().settle_slots(&dead);
        }
    }

    fn loaded(&self, _queue: QueueId, loaded: LoadAnswer) {
        assert!(loaded.error.is_none(), "{:?}", loaded.error);
        let held = |content, place| Held { content, place: Some(place) };
        let entries = loaded.entries.into_iter().map(|entry| (entry.seq, held(entry.content, entry.place))).collect();
        let mut asks = Vec::new();
        let mut set = self.set.lock();
        let answered = set.loaded(&loaded.load, entries, loaded.next_slot, &mut asks);
        drop(set);
        self.ask(&mut asks);
        self.lost.fetch_add(answered.lost_count, Ordering::Relaxed);
        self.loaded.fetch_add(1, Ordering::Release);
        if let Some(releaser) = &*self.releaser.lock() {
            releaser.unpark();
        }
    }

    fn unload(&self) {
        self.set.lock().unload();
    }

    fn moved(&self, queue: QueueId, from: &[SegmentId], moved: &[MovedMessage]) {
        let mut dead = Vec::new();
        let mut set = self.set.lock();
        let alive = self.store().settle_moved(moved);
        let lost = set.move_ranges(queue, from, &alive, &mut dead);
        self.store().settle_slots(&dead);
        self.lost.fetch_add(lost, Ordering::Relaxed);
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

const START_MS: u64 = 1_720_000_000_000;
const BATCH_LEN: u64 = 200;

fn random(n: u64) -> u64 {
    let mixed = (n + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed ^ (mixed >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 20
}

fn fill(broker: &Broker, count: u64, body_len: usize, spread_ms: u64) {
    let store = broker.store();
    let mut writer = store.chunk_writer(Kind::Journaled);
    let mut batch = RecordBatch::new();
    let mut report = Report::new("fill", store);
    let body = vec![7u8; body_len];
    let mut published = 0;
    while published < count {
        report.waited += wait_uncongested(store);
        let contents: Vec<_> = (0..BATCH_LEN).map(|_| writer.copy(&[&body])).collect();
        let mut set = broker.set.lock();
        for (n, content) in (published..).zip(contents) {
            // A constant delay: a hundred a millisecond.
            let due = START_MS + if spread_ms > 0 { random(n) % spread_ms } else { n / 100 };
            let next_id = || QueueId(broker.next_id.fetch_add(1, Ordering::Relaxed));
            let id = set.insert(due, Held { content: content.clone(), place: None }, next_id);
            batch.publish(&content, &[(id.generation, id.seq)]);
        }
        store.append(&mut batch);
        drop(set);
        published += BATCH_LEN;
        report.count(BATCH_LEN);
    }
}

fn release(broker: &Broker, step_ms: u64) {
    let store = broker.store();
    *broker.releaser.lock() = Some(std::thread::current());
    let mut batch = RecordBatch::new();
    let mut report = Report::new("release", store);
    let (mut out, mut asks, mut ids) = (Vec::new(), Vec::new(), Vec::new());
    let mut settled = SettledDelays::default();
    let mut places: Vec<Place> = Vec::new();
    let mut now = if step_ms > 0 { START_MS } else { START_MS * 2 };
    let mut last = 0;
    let mut longest = Duration::ZERO;
    loop {
        let loads_before = broker.loaded.load(Ordering::Acquire);
        let start = Instant::now();
        let mut set = broker.set.lock();
        let progress = set.release(now, 1000, &mut out, &mut asks);
        for (id, _) in &out {
            assert!(last <= id.due_ms() && id.due_ms() <= now, "released out of order");
            last = id.due_ms();
        }
        ids.extend(out.iter().map(|(id, _)| *id));
        set.settle(ids.iter().copied(), &mut settled);
        for (generation, first, last) in settled.records.drain(..) {
            batch.settle(generation, first, last);
        }
        places.extend(settled.messages.drain(..).filter_map(|(_, held)| held.place));
        if !batch.is_empty() {
            store.append(&mut batch);
        }
        store.settle_slots(&places);
        for id in set.take_ended() {
            batch.drop_queue(id);
        }
        let count = set.count();
        drop(set);
        longest = longest.max(start.elapsed());
        broker.ask(&mut asks);
        report.count(out.len() as u64);
        places.clear();
        ids.clear();
        out.clear();
        match progress {
            Progress::More => {}
            Progress::Done if count == 0 => break,
            Progress::Done => now += step_ms,
            Progress::Loading => {
                let start = Instant::now();
                while broker.loaded.load(Ordering::Acquire) == loads_before {
                    std::thread::park_timeout(Duration::from_millis(20));
                }
                report.waited += start.elapsed();
            }
        }
    }
    println!("longest step under the lock: {longest:?}");
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

fn open(dir: &Path) -> (Arc<Store>, Arc<Broker>) {
    let start = Instant::now();
    let mut options = Options::new(dir.to_owned());
    options.journal.salt = start.elapsed().subsec_nanos().into();
    let (store, recovered) = Store::open(options, Arc::new(RealDisk)).unwrap();
    let opened = start.elapsed();
    let broker = Broker::new(&store, recovered);
    store.start(broker.clone());
    let set = broker.set.lock();
    println!(
        "opened in {opened:?}, restored in {:?} with {} messages, {} in {} runs, rss {} MiB",
        start.elapsed() - opened,
        set.count(),
        set.paged_count(),
        set.ranges().count(),
        rss() >> 20
    );
    drop(set);
    (store, broker)
}

fn close(store: &Store, broker: &Broker) {
    let start = Instant::now();
    store.close().unwrap();
    println!("closed in {:?}, {} lost", start.elapsed(), broker.lost.load(Ordering::Relaxed));
}

fn main() {
    let mut args = std::env::args().skip(1);
    let dir = PathBuf::from(args.next().unwrap_or_else(|| "waiting-data".to_owned()));
    let mut number = |default| args.next().map_or(default, |arg| arg.parse().unwrap());
    let (millions, body_len, spread_s, step_ms): (u64, u64, u64, u64) =
        (number(10), number(100), number(3600), number(0));
    if millions > 0 {
        let _ = std::fs::remove_dir_all(&dir);
        let (store, broker) = open(&dir);
        fill(&broker, millions * 1_000_000, body_len as usize, spread_s * 1000);
        close(&store, &broker);
        drop((store, broker));
        // A process of its own: its memory is that of a restart.
        let program = std::env::current_exe().unwrap();
        let rest = [0, body_len, spread_s, step_ms].map(|number| number.to_string());
        assert!(std::process::Command::new(program).arg(&dir).args(rest).status().unwrap().success());
        return;
    }
    let (store, broker) = open(&dir);
    release(&broker, step_ms);
    close(&store, &broker);
    drop((store, broker));
    let _ = std::fs::remove_dir_all(&dir);
}
