//! A function that can be watched.

use std::sync::atomic::{AtomicU32, Ordering};

use parking_lot::RwLock;

/// A function that can be watched. It is a static; [`register`] makes it known.
pub struct Point {
    name: &'static str,
    arguments: &'static [&'static str],
    about: &'static str,
    /// A bit for each session that watches.
    sessions: AtomicU32,
}

/// All points that are known.
static POINTS: RwLock<Vec<&'static Point>> = RwLock::new(Vec::new());

impl Point {
    /// A point that is not watched: its name as `family::function`, the names of its arguments, and a sentence about it.
    #[must_use]
    pub const fn new(name: &'static str, arguments: &'static [&'static str], about: &'static str) -> Point {
        Point { name, arguments, about, sessions: AtomicU32::new(0) }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The names of its arguments.
    #[must_use]
    pub fn arguments(&self) -> &'static [&'static str] {
        self.arguments
    }

    /// What it does, as a sentence.
    #[must_use]
    pub fn about(&self) -> &'static str {
        self.about
    }

    /// Whether a session watches it.
    #[inline(always)]
    #[must_use]
    pub fn is_watched(&self) -> bool {
        self.sessions() != 0
    }

    #[inline(always)]
    pub(super) fn sessions(&self) -> u32 {
        // A build to compare with: what its absence saves is what being off costs.
        if cfg!(without_trace_points) { 0 } else { self.sessions.load(Ordering::Relaxed) }
    }

    pub(super) fn watch(&self, bit: u32) {
        self.sessions.fetch_or(bit, Ordering::Relaxed);
    }

    pub(super) fn unwatch(&self, bit: u32) {
        self.sessions.fetch_and(!bit, Ordering::Relaxed);
    }
}

impl std::fmt::Debug for Point {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Point").field(&self.name).finish()
    }
}

/// Makes points known. Those that are known already are passed over.
pub fn register(points: impl IntoIterator<Item = &'static Point>) {
    let mut known = POINTS.write();
    known.extend(points);
    known.sort_unstable_by_key(|point| std::ptr::from_ref(*point));
    known.dedup_by(|one, other| std::ptr::eq(*one, *other));
}

/// All points that are known, by name.
#[must_use]
pub fn all() -> Vec<&'static Point> {
    let mut points = POINTS.read().clone();
    points.sort_by_key(|point| point.name);
    points
}

/// Ends a session's watch everywhere.
pub(super) fn unwatch_all(bit: u32) {
    POINTS.read().iter().for_each(|point| point.unwatch(bit));
}
