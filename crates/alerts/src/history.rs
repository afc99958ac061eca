//! The last changes, in memory.

use std::collections::VecDeque;

use crate::limits::HISTORY_COUNT;
use crate::notice::Notice;

/// The last changes, the oldest first.
#[derive(Debug, Default)]
pub struct History(VecDeque<Notice>);

impl History {
    /// Adds one, if it is a change.
    pub fn add(&mut self, notice: &Notice) {
        if !notice.is_change() {
            return;
        }
        if self.0.len() >= HISTORY_COUNT {
            self.0.pop_front();
        }
        self.0.push_back(notice.clone());
    }

    /// The changes, the latest first.
    pub fn latest(&self) -> impl Iterator<Item = &Notice> {
        self.0.iter().rev()
    }
}
