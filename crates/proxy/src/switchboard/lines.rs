//! All lines of a thread, and how many of them count among those that there may be.

use std::ops::{Index, IndexMut};

use super::ids::LineId;
use super::line::Line;
use super::slots::Slots;

#[derive(Debug)]
pub(super) struct Lines {
    lines: Slots<LineId, Line>,
    /// Lines that may be replaced before they are gone.
    uncounted: usize,
}

impl Lines {
    pub(super) fn new() -> Self {
        Lines { lines: Slots::new(), uncounted: 0 }
    }

    pub(super) fn insert(&mut self, line: Line) -> LineId {
        self.lines.insert(line)
    }

    pub(super) fn remove(&mut self, id: LineId) {
        if self.lines.remove(id).is_some_and(|line| line.is_uncounted()) {
            self.uncounted -= 1;
        }
    }

    /// No client gets a channel on this one any more, and it counts no longer.
    pub(super) fn drain(&mut self, id: LineId) {
        if self.lines[id].drain() {
            self.uncounted += 1;
        }
    }

    #[inline]
    pub(super) fn get(&self, id: LineId) -> Option<&Line> {
        self.lines.get(id)
    }

    #[inline]
    pub(super) fn get_mut(&mut self, id: LineId) -> Option<&mut Line> {
        self.lines.get_mut(id)
    }

    pub(super) fn len(&self) -> usize {
        self.lines.len()
    }

    /// How many count among those that there may be.
    pub(super) fn counted_len(&self) -> usize {
        self.lines.len() - self.uncounted
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (LineId, &Line)> {
        self.lines.iter()
    }

    /// All ids at this moment, for work that may change what is there.
    pub(super) fn ids(&self) -> Vec<LineId> {
        self.lines.ids()
    }
}

impl Index<LineId> for Lines {
    type Output = Line;

    #[inline]
    fn index(&self, id: LineId) -> &Line {
        &self.lines[id]
    }
}

impl IndexMut<LineId> for Lines {
    #[inline]
    fn index_mut(&mut self, id: LineId) -> &mut Line {
        &mut self.lines[id]
    }
}
