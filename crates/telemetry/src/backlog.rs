//! What waits for a viewer that may be slow: bounded, so that it costs no more than that whatever the viewer does. What does not fit is
//! dropped and counted.

use std::collections::VecDeque;

/// What is dropped when too much waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overflow {
    /// The oldest make room: for a viewer of what happens now.
    DropOldest,
    /// The newest has no room: for a viewer of all that happened, up to a gap.
    DropNewest,
}

/// How much may wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bound {
    /// So many items.
    pub count_max: usize,
    /// So many bytes of them, as the owner counts bytes.
    pub len_max: usize,
    /// What is dropped beyond it.
    pub overflow: Overflow,
}

/// Items that wait for one viewer, the oldest first. Never more than its bound.
#[derive(Debug)]
pub struct Backlog<T> {
    bound: Bound,
    /// Each with its bytes.
    items: VecDeque<(T, usize)>,
    len: usize,
    missed_count: u64,
}

impl<T> Backlog<T> {
    /// An empty one.
    #[must_use]
    pub const fn new(bound: Bound) -> Self {
        Backlog { bound, items: VecDeque::new(), len: 0, missed_count: 0 }
    }

    /// Puts an item of so many bytes in, or counts it as missed, or drops and counts older ones for it.
    pub fn push(&mut self, item: T, len: usize) {
        let Bound { count_max, len_max, overflow } = self.bound;
        if overflow == Overflow::DropNewest && (self.items.len() >= count_max || self.len.saturating_add(len) > len_max)
        {
            self.missed_count += 1;
            return;
        }
        self.len += len;
        self.items.push_back((item, len));
        while self.items.len() > count_max || self.len > len_max {
            // A single item that is too long is dropped, too.
            if self.pop().is_none() {
                break;
            }
            self.missed_count += 1;
        }
    }

    /// The oldest.
    pub fn pop(&mut self) -> Option<T> {
        let (item, len) = self.items.pop_front()?;
        self.len -= len;
        Some(item)
    }

    /// All, at once: each with its bytes.
    pub fn take_all(&mut self) -> VecDeque<(T, usize)> {
        self.len = 0;
        std::mem::take(&mut self.items)
    }

    /// How many items wait.
    #[must_use]
    pub fn count(&self) -> usize {
        self.items.len()
    }

    /// Whether nothing waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// How many items were dropped, all in all or since they were [taken](Self::take_missed_count).
    #[must_use]
    pub fn missed_count(&self) -> u64 {
        self.missed_count
    }

    /// How many items were dropped; they are counted anew from here on.
    pub fn take_missed_count(&mut self) -> u64 {
        std::mem::take(&mut self.missed_count)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What happens to a backlog.
    #[derive(Debug, Clone, Copy)]
    enum Step {
        Push(usize),
        Pop,
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![3 => (0_usize..12).prop_map(Step::Push), 2 => Just(Step::Pop)]
    }

    /// The same with nothing but a list of numbers and lengths. Returns what was popped, what is left, and how many are missed.
    fn model(bound: Bound, steps: &[Step]) -> (Vec<usize>, Vec<usize>, u64) {
        let (mut waiting, mut popped, mut missed, mut next) = (Vec::<(usize, usize)>::new(), Vec::new(), 0, 0);
        let fits = |waiting: &[(usize, usize)]| {
            waiting.len() <= bound.count_max && waiting.iter().map(|(_, len)| len).sum::<usize>() <= bound.len_max
        };
        for step in steps {
            match step {
                Step::Pop if waiting.is_empty() => {}
                Step::Pop => popped.push(waiting.remove(0).0),
                Step::Push(len) => {
                    waiting.push((next, *len));
                    next += 1;
                    while !fits(&waiting) {
                        match bound.overflow {
                            Overflow::DropOldest => drop(waiting.remove(0)),
                            Overflow::DropNewest => drop(waiting.pop()),
                        }
                        missed += 1;
                    }
                }
            }
        }
        (popped, waiting.into_iter().map(|(number, _)| number).collect(), missed)
    }

    proptest! {
        #[test]
        fn what_fits_comes_in_order_and_the_rest_is_counted(
            count_max in 1_usize..6,
            len_max in 0_usize..20,
            drops_oldest: bool,
            steps in prop::collection::vec(step(), 0..60),
        ) {
            let overflow = if drops_oldest { Overflow::DropOldest } else { Overflow::DropNewest };
            let bound = Bound { count_max, len_max, overflow };
            let (mut backlog, mut popped, mut pushed_count) = (Backlog::new(bound), Vec::new(), 0);
            for step in &steps {
                match step {
                    Step::Push(len) => {
                        backlog.push(pushed_count, *len);
                        pushed_count += 1;
                    }
                    Step::Pop => popped.extend(backlog.pop()),
                }
                prop_assert!(backlog.count() <= count_max && backlog.len <= len_max);
            }
            let missed = backlog.take_missed_count();
            prop_assert_eq!(backlog.missed_count(), 0);
            let left: Vec<usize> = backlog.take_all().into_iter().map(|(number, _)| number).collect();
            prop_assert_eq!(popped.len() + left.len() + usize::try_from(missed).unwrap(), pushed_count);
            prop_assert_eq!((popped, left, missed), model(bound, &steps));
            prop_assert_eq!(backlog.len, 0);
        }
    }
}
