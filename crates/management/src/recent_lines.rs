//! The last lines of an endless text, such as a log, in bounded memory.

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
    /// How many there have been: the number of the last one.
    count: u64,
}

impl RecentLines {
    /// So many lines at most, of so many bytes together. A longer line is cut.
    #[must_use]
    pub fn new(count_max: usize, len_max: usize) -> RecentLines {
        RecentLines(Arc::new(Mutex::new(Lines { all: VecDeque::new(), len: 0, count_max, len_max, count: 0 })))
    }

    /// Adds a line.
    pub fn push(&self, line: &str) {
        let mut lines = self.0.lock();
        let line = &line[..line.floor_char_boundary(lines.len_max)];
        lines.len += line.len();
        lines.count += 1;
        lines.all.push_back(line.to_owned());
        while lines.len > lines.len_max || lines.all.len() > lines.count_max {
            let Some(oldest) = lines.all.pop_front() else { break };
            lines.len -= oldest.len();
        }
    }

    /// The number of the last line; 0 before the first one.
    #[must_use]
    pub fn last_id(&self) -> u64 {
        self.0.lock().count
    }

    /// Those that are kept and have come after the one of this number, with their numbers, the oldest first.
    #[must_use]
    pub fn after(&self, id: u64) -> Vec<(u64, String)> {
        let lines = self.0.lock();
        let first = lines.count - lines.all.len() as u64 + 1;
        let skipped = usize::try_from(id.saturating_add(1).saturating_sub(first)).unwrap_or(usize::MAX);
        (first..).zip(&lines.all).skip(skipped).map(|(id, line)| (id, line.clone())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(lines: &RecentLines) -> Vec<String> {
        lines.after(0).into_iter().map(|(_, line)| line).collect()
    }

    #[test]
    fn the_oldest_lines_make_room() {
        let lines = RecentLines::new(3, 10);
        assert!(lines.after(0).is_empty() && lines.last_id() == 0);
        ["a", "b", "c", "d"].iter().for_each(|line| lines.push(line));
        assert_eq!(all(&lines), ["b", "c", "d"]);
        lines.push("12345678");
        assert_eq!(all(&lines), ["c", "d", "12345678"]);
        lines.push("ääääää");
        assert_eq!(all(&lines), ["äääää"]);
    }

    #[test]
    fn lines_are_numbered_from_the_first_one_on() {
        let lines = RecentLines::new(2, 10);
        ["a", "b", "c"].iter().for_each(|line| lines.push(line));
        assert_eq!(lines.after(0), [(2, "b".to_owned()), (3, "c".to_owned())]);
        assert_eq!(lines.after(2), [(3, "c".to_owned())]);
        assert!(lines.after(3).is_empty() && lines.after(u64::MAX).is_empty());
        assert_eq!(lines.last_id(), 3);
    }
}
