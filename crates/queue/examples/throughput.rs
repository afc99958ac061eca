//! Prints what a message costs in a queue: `cargo run --release -p queue --example throughput`.
//!
//! Each round publishes a batch, dispatches it and, unless the consumers need not ack, settles it; as a busy connection does.

#![allow(clippy::print_stdout, reason = "printing is what it is for")]

use std::cell::Cell;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::Instant;

use model::ids::Place;
use queue::{Consumer, Credit, Effects, Gate, Message, Queue, Settings};

/// The size of the broker's handle, and its costs: cloning counts a reference.
#[derive(Clone)]
struct Handle {
    _chunk: Arc<()>,
    len: u32,
    place: Option<u64>,
    group: u64,
}

impl Message for Handle {
    fn len(&self) -> u32 {
        self.len
    }

    fn is_journaled(&self) -> bool {
        true
    }

    /// The hash alone: what it costs to read a header is the broker's.
    fn group(&self, _header: &str) -> Option<NonZeroU64> {
        NonZeroU64::new(self.group)
    }

    fn place(&self) -> Option<Place> {
        None
    }

    fn set_place(&mut self, place: Place) {
        self.place = Some(place.slot.into());
    }
}

struct Room(Cell<u64>);

impl Gate for Room {
    fn try_acquire(&self, len: u32) -> bool {
        self.0.set(self.0.get() + u64::from(len));
        true
    }
}

/// Each row is the best of so many runs: the machine may have other things to do.
const RUN_COUNT: usize = 7;
const MESSAGE_COUNT: usize = 2_000_000;
/// Groups in turn, where there are any.
const GROUP_COUNT: u64 = 1000;

fn main() {
    println!("Queue: {} bytes", size_of::<Queue<Handle, Room>>());
    println!("{:>9} {:>6} {:>6} {:>6} {:>10}", "consumers", "batch", "ack", "groups", "ns/message");
    for consumer_count in [1, 5] {
        for batch in [1, 256, 10_000] {
            for no_ack in [true, false] {
                for has_groups in [false, true] {
                    let runs = (0..RUN_COUNT).map(|_| measure(consumer_count, batch, no_ack, has_groups));
                    let ns = runs.fold(f64::MAX, f64::min);
                    let word = |is_so| if is_so { "yes" } else { "no" };
                    let (ack, groups) = (word(!no_ack), word(has_groups));
                    println!("{consumer_count:>9} {batch:>6} {ack:>6} {groups:>6} {ns:>10.1}");
                }
            }
        }
    }
}

fn measure(consumer_count: usize, batch: usize, no_ack: bool, has_groups: bool) -> f64 {
    let mut queue = Queue::new(Settings::default());
    queue.set_groups(has_groups.then_some("group"));
    for _ in 0..consumer_count {
        let consumer = Consumer {
            gate: Room(Cell::new(0)),
            no_ack,
            exclusive: false,
            priority: 0,
            credit: Credit::UNLIMITED,
            timeout_ms: None,
        };
        queue.consume(consumer).expect("none is exclusive");
    }
    let handle = Handle { _chunk: Arc::new(()), len: 100, place: None, group: 0 };
    let mut effects: Effects<Handle> = Effects::default();
    let mut seqs = Vec::new();
    let mut settled = Vec::new();
    let start = Instant::now();
    for _ in 0..MESSAGE_COUNT / batch {
        for _ in 0..batch {
            // Spread as hashes are.
            let group = (queue.next_seq().0 % GROUP_COUNT + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            queue.publish(Handle { group, ..handle.clone() });
        }
        queue.dispatch(0, &mut effects);
        assert_eq!(effects.deliveries.len(), batch);
        if no_ack {
            effects.deliveries.clear();
            continue;
        }
        seqs.extend(effects.deliveries.drain(..).map(|delivery| delivery.seq));
        queue.settle(&seqs, &mut settled);
        seqs.clear();
        settled.clear();
    }
    let message_count = MESSAGE_COUNT / batch * batch;
    start.elapsed().as_nanos() as f64 / message_count as f64
}
