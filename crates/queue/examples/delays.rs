//! Prints what a message costs that waits until it is due: `cargo run --release -p queue --example delays`.
//!
//! Each row inserts so many messages in batches, a millisecond apart, and releases and settles what has become due in between.

#![allow(clippy::print_stdout, reason = "printing is what it is for")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use model::ids::{Place, QueueId, SegmentId};
use queue::{Delays, Message, PagedRange, Progress, RestoredGeneration, SettledDelays};

/// Counts what is allocated.
struct Counting;

static ALLOCATED: AtomicUsize = AtomicUsize::new(0);

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[expect(unsafe_code, reason = "an allocator is made of nothing else; this one only counts")]
// SAFETY: every call is passed on as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATED.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        ALLOCATED.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(at, layout) }
    }
}

/// The size of the broker's handle, and its costs: cloning counts a reference.
#[derive(Clone)]
struct Handle {
    _chunk: Arc<()>,
    len: u32,
    place: Option<(u32, u32)>,
}

impl Message for Handle {
    fn len(&self) -> u32 {
        self.len
    }

    fn is_journaled(&self) -> bool {
        true
    }

    fn place(&self) -> Option<Place> {
        self.place.map(|(segment, slot)| Place { segment: SegmentId(segment), slot })
    }

    fn set_place(&mut self, place: Place) {
        self.place = Some((place.segment.0, place.slot));
    }
}

/// Each row is the best of so many runs: the machine may have other things to do.
const RUN_COUNT: usize = 3;
const MESSAGE_COUNT: u64 = 2_000_000;
/// Messages that arrive in a millisecond.
const BATCH_LEN: u64 = 100;
const START_MS: u64 = 1_720_000_000_000;

fn main() {
    println!("Delays: {} bytes, handle: {} bytes", size_of::<Delays<Handle>>(), size_of::<Handle>());
    println!("{:>22} {:>10} {:>10} {:>10} {:>10}", "delays", "insert ns", "release ns", "most", "bytes each");
    let row = |name: &str, delay: fn(u64) -> u64| {
        let runs: Vec<_> = (0..RUN_COUNT).map(|_| measure(delay)).collect();
        let best = |of: fn(&Row) -> f64| runs.iter().map(of).fold(f64::MAX, f64::min);
        let (insert, release) = (best(|row| row.insert_ns), best(|row| row.release_ns));
        println!("{name:>22} {insert:>10.1} {release:>10.1} {:>10} {:>10.1}", runs[0].most, runs[0].bytes_each);
    };
    row("1 s", |_| 1_000);
    row("10 s", |_| 10_000);
    row("1 s and 10 s", |n| if n.is_multiple_of(2) { 1_000 } else { 10_000 });
    row("100, up to 10 s", |n| n % 100 * 100);
    row("random, up to 10 s", |n| (n.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) % 10_000);
    row("random, up to 1 h", |n| (n.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) % 3_600_000);
    print_range_cost();
}

struct Row {
    insert_ns: f64,
    release_ns: f64,
    most: u64,
    bytes_each: f64,
}

fn measure(delay: fn(u64) -> u64) -> Row {
    let handle = Handle { _chunk: Arc::new(()), len: 100, place: None };
    let mut set = Delays::new();
    let (mut out, mut asks, mut ids, mut settled) = (Vec::new(), Vec::new(), Vec::new(), SettledDelays::default());
    let (mut inserting, mut releasing) = (std::time::Duration::ZERO, std::time::Duration::ZERO);
    let (mut released, mut most, mut bytes_each) = (0, 0, 0.0);
    let before = ALLOCATED.load(Ordering::Relaxed);
    let mut next_id = 0;
    let mut now = START_MS;
    let mut sent = 0;
    while released < MESSAGE_COUNT {
        let start = Instant::now();
        if sent < MESSAGE_COUNT {
            for n in sent..sent + BATCH_LEN {
                set.insert(now + delay(n), handle.clone(), || {
                    next_id += 1;
                    QueueId(next_id)
                });
            }
            sent += BATCH_LEN;
        } else {
            now = set.wake_at_ms().unwrap_or(now).max(now);
        }
        let inserted = Instant::now();
        inserting += inserted - start;
        if set.count() > most && sent.is_multiple_of(100_000) {
            most = set.count();
            bytes_each = (ALLOCATED.load(Ordering::Relaxed) - before) as f64 / most as f64;
        }
        now += 1;
        let start = Instant::now();
        while set.release(now, 1000, &mut out, &mut asks) == Progress::More || !out.is_empty() {
            released += out.len() as u64;
            ids.extend(out.drain(..).map(|(id, _)| id));
            set.settle(ids.iter().copied(), &mut settled);
            ids.clear();
            settled.messages.clear();
            settled.records.clear();
        }
        releasing += start.elapsed();
    }
    let each = |duration: std::time::Duration| duration.as_nanos() as f64 / MESSAGE_COUNT as f64;
    Row { insert_ns: each(inserting), release_ns: each(releasing), most, bytes_each }
}

/// What a run of slots costs, whatever is in it.
fn print_range_cost() {
    let range_count = 10_000;
    let before = ALLOCATED.load(Ordering::Relaxed);
    let range = |number: u32| PagedRange {
        segment: SegmentId(number),
        first_slot: 0,
        end_slot: 500_000,
        count: 500_000,
        bytes: 50_000_000,
        first_seq: model::ids::QueueSeq((1 << 60) + u64::from(number)),
        last_seq: model::ids::QueueSeq(1 << 61),
    };
    let ranges = (0..range_count).map(range).collect();
    let set: Delays<Handle> =
        Delays::restore([RestoredGeneration { generation: QueueId(1), ranges, messages: Vec::new() }]);
    let bytes = ALLOCATED.load(Ordering::Relaxed) - before;
    println!("{} messages in {range_count} runs: {} bytes a run", set.count(), bytes / range_count as usize);
}
