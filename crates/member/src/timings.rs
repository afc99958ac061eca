//! How long a leader's commits take until a majority has them.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use consensus::Index;

/// More than are ever under way: a leader writes at most so much that is not committed.
const COUNT_MAX: usize = 4096;

/// How long it takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Timings {
    /// From the writer's place in the log to a majority's disks, of the entry that was committed last.
    pub commit_latency: Duration,
    /// How long the oldest entry waits that is not committed; zero: there is none.
    pub oldest_uncommitted: Duration,
}

/// The entries that a leader has under way.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    under_way: VecDeque<(Index, Instant)>,
    last: Duration,
}

impl Watch {
    pub(crate) fn proposed(&mut self, index: Index, now: Instant) {
        if self.under_way.len() < COUNT_MAX {
            self.under_way.push_back((index, now));
        }
    }

    pub(crate) fn committed(&mut self, index: Index, now: Instant) {
        while let Some((first, since)) = self.under_way.front().copied()
            && first <= index
        {
            self.last = now.saturating_duration_since(since);
            self.under_way.pop_front();
        }
    }

    /// This member no longer leads: what was under way is another's.
    pub(crate) fn clear(&mut self) {
        self.under_way.clear();
    }

    pub(crate) fn read(&self, now: Instant) -> Timings {
        let oldest = self.under_way.front().map(|(_, since)| now.saturating_duration_since(*since));
        Timings { commit_latency: self.last, oldest_uncommitted: oldest.unwrap_or_default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_waits_and_the_last_has_taken() {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let mut watch = Watch::default();
        (1..=3).for_each(|index| watch.proposed(Index(index), at(index)));
        watch.committed(Index(2), at(10));
        let timings = |commit, oldest| Timings {
            commit_latency: Duration::from_millis(commit),
            oldest_uncommitted: Duration::from_millis(oldest),
        };
        assert_eq!(watch.read(at(13)), timings(8, 10));
        watch.committed(Index(3), at(14));
        assert_eq!(watch.read(at(20)), timings(11, 0));
    }
}
