//! Prints what a key costs: `cargo run --release -p queue --example keys`.
//!
//! Each row has so many keys remembered, and looks one up, remembers it and forgets the oldest (a window), or frees the oldest (while it
//! waits).

#![allow(clippy::print_stdout, reason = "printing is what it is for")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use queue::{KeyRules, Keys, MessageKey, RememberedKey};

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

const PUBLISH_COUNT: u64 = 1_000_000;

/// Spread over all bits, as a hash is.
fn key(number: u64) -> MessageKey {
    let half = u128::from(number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    MessageKey(half << 64 | u128::from(number.wrapping_mul(0xd134_2543_de82_ef95)))
}

fn measure(count: u64, while_waiting: bool) {
    let before_len = ALLOCATED.load(Ordering::Relaxed);
    let mut keys = Keys::new(KeyRules { while_waiting, count_max: count, ttl_ms: None });
    let mut forgotten = Vec::new();
    let mut publish = |keys: &mut Keys, number: u64| {
        assert!(keys.find(key(number), 0).is_none());
        let new = RememberedKey { number, key: key(number), expires_at_ms: u64::MAX, is_journaled: true };
        keys.remember(new, &mut forgotten);
        forgotten.clear();
    };
    (0..count).for_each(|number| publish(&mut keys, number));
    let len = ALLOCATED.load(Ordering::Relaxed) - before_len;
    let started_at = Instant::now();
    for number in count..count + PUBLISH_COUNT {
        if while_waiting {
            keys.free(number - count);
        }
        publish(&mut keys, number);
    }
    let new_ns = started_at.elapsed().as_nanos() as f64 / PUBLISH_COUNT as f64;
    let started_at = Instant::now();
    let is_known = |number: u64| keys.find(key(PUBLISH_COUNT + number * 7919 % count), 0).is_some();
    assert!((0..PUBLISH_COUNT).all(is_known));
    let duplicate_ns = started_at.elapsed().as_nanos() as f64 / PUBLISH_COUNT as f64;
    let meaning = if while_waiting { "while waiting" } else { "window" };
    println!("{meaning:>14} {count:>9} {new_ns:>12.0} {duplicate_ns:>16.0} {:>14.0}", len as f64 / count as f64);
}

fn main() {
    println!("{:>14} {:>9} {:>12} {:>16} {:>14}", "", "keys", "new, ns", "duplicate, ns", "bytes a key");
    for while_waiting in [false, true] {
        for count in [128, 10_000, 1_000_000] {
            measure(count, while_waiting);
        }
    }
}
