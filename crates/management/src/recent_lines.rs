//! The last lines of something that goes on, such as a log, in bounded memory.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;

/// Lines, of which the oldest make room. Clones are the same.
#[derive(Debug, Clone)]
pub struct RecentLines(Arc<Mutex<Lines>>);

#[derive(Debug)]
struct Lines {
    all: VecDeque<String>,
    len: usize,
    count_max: usize,
    len_max: usize,
}

impl RecentLines {
    /// So many lines at most, of so many bytes together. A longer line is cut.
    #[must_use]
    pub fn new(count_max: usize, len_max: usize) -> RecentLines {
        RecentLines(Arc::new(Mutex::new(Lines { all: VecDeque::new(), len: 0, count_max, len_max })))
    }

    /// Adds a line.
    pub fn push(&self, line: &str) {
        let mut lines = self.0.lock();
        let line = &line[..line.floor_char_boundary(lines.len_max)];
        lines.len += line.len();
        lines.all.push_back(line.to_owned());
        while lines.len > lines.len_max || lines.all.len() > lines.count_max {
            let Some(oldest) = lines.all.pop_front() else { break };
            lines.len -= oldest.len();
        }
    }

    /// The last so many, the oldest first.
    #[must_use]
    pub fn last(&self, count: usize) -> Vec<String> {
        let lines = self.0.lock();
        lines.all.iter().skip(lines.all.len().saturating_sub(count)).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_lines_make_room() {
        let lines = RecentLines::new(3, 10);
        ["a", "b", "c", "d"].iter().for_each(|line| lines.push(line));
        assert_eq!(lines.last(9), ["b", "c", "d"]);
        assert_eq!(lines.last(1), ["d"]);
        lines.push("12345678");
        assert_eq!(lines.last(9), ["c", "d", "12345678"]);
        lines.push("ääääää");
        assert_eq!(lines.last(9), ["äääää"]);
        assert!(lines.last(0).is_empty());
    }
}
