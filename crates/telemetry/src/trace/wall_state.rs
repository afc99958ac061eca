//! The state of a session that makes a tree of times, which the calls that it follows fill.

use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use super::pattern::Pattern;
use super::wall::Tree;

/// The state of a session that makes a tree of times.
#[derive(Debug)]
pub(super) struct WallState {
    pub(super) bit: u32,
    pub(super) pattern: Pattern,
    pub(super) tree: Mutex<Tree>,
    pub(super) request_count: AtomicU64,
    pub(super) cost_ns: AtomicU64,
}

impl WallState {
    /// A call that it followed has ended.
    pub(super) fn note_request(&self) {
        self.request_count.fetch_add(1, Ordering::Relaxed);
    }

    /// Work for it took so long.
    pub(super) fn note_cost(&self, ns: u64) {
        self.cost_ns.fetch_add(ns, Ordering::Relaxed);
    }
}
