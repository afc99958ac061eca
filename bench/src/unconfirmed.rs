//! Which publishes of a channel wait for their confirm. Confirms come in any order, one or many at a time.

use std::collections::VecDeque;

/// Invariant: every tag below `first` is settled, and `first` itself is not.
pub(crate) struct Unconfirmed {
    first: u64,
    /// For `first` and those after it, as far as any is known of: is it settled?
    settled: VecDeque<bool>,
    settled_count: u64,
}

impl Unconfirmed {
    pub(crate) fn new() -> Unconfirmed {
        Unconfirmed { first: 1, settled: VecDeque::new(), settled_count: 0 }
    }

    /// How many are confirmed, ever.
    pub(crate) fn settled_count(&self) -> u64 {
        self.settled_count
    }

    /// Takes a confirm; calls `each` with every tag that it settles for the first time.
    pub(crate) fn confirm(&mut self, tag: u64, multiple: bool, mut each: impl FnMut(u64)) {
        let Some(index) = tag.checked_sub(self.first) else { return };
        let index = index as usize;
        if self.settled.len() <= index {
            self.settled.resize(index + 1, false);
        }
        let start = if multiple { 0 } else { index };
        for at in start..=index {
            if !self.settled[at] {
                self.settled[at] = true;
                self.settled_count += 1;
                each(self.first + at as u64);
            }
        }
        while self.settled.front() == Some(&true) {
            self.settled.pop_front();
            self.first += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_confirms(confirms: &[(u64, bool)], settled: &[u64]) {
        let mut unconfirmed = Unconfirmed::new();
        let mut seen = Vec::new();
        for (tag, multiple) in confirms {
            unconfirmed.confirm(*tag, *multiple, |tag| seen.push(tag));
        }
        assert_eq!(seen, settled);
        assert_eq!(unconfirmed.settled_count(), settled.len() as u64);
    }

    #[test]
    fn each_tag_is_settled_once() {
        check_confirms(&[(1, false), (2, false), (3, false)], &[1, 2, 3]);
        check_confirms(&[(3, false), (1, false), (2, false), (2, false)], &[3, 1, 2]);
        check_confirms(&[(3, true), (1, false), (5, true)], &[1, 2, 3, 4, 5]);
        check_confirms(&[(2, false), (4, true)], &[2, 1, 3, 4]);
    }
}
