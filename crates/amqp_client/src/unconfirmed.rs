//! Publishes that wait for their confirm. Confirms come in any order, one or many at a time.

use std::collections::VecDeque;

/// The publishes of one channel that wait for their confirm, each with what its publisher wants to know of it then.
///
/// Invariant: every tag below `first` is settled, and `first` itself is not, if there is any.
#[derive(Clone, Debug)]
pub struct Unconfirmed<T> {
    first: u64,
    waiting: VecDeque<Option<T>>,
    count: usize,
}

impl<T> Default for Unconfirmed<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Unconfirmed<T> {
    /// As after `confirm.select`: the first publish has the tag 1.
    #[must_use]
    pub fn new() -> Self {
        Unconfirmed { first: 1, waiting: VecDeque::new(), count: 0 }
    }

    /// A publish was sent. Returns its tag.
    #[inline]
    pub fn push(&mut self, publish: T) -> u64 {
        self.waiting.push_back(Some(publish));
        self.count += 1;
        self.first + self.waiting.len() as u64 - 1
    }

    /// How many wait.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether none waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The one that waits longest.
    #[must_use]
    pub fn oldest(&self) -> Option<&T> {
        self.waiting.front()?.as_ref()
    }

    /// Takes a confirm, positive or not: `each` gets every publish that it settles, in their order. A tag that was
    /// settled before, or that nothing was published with, settles nothing.
    #[inline]
    pub fn settle(&mut self, tag: u64, is_multiple: bool, mut each: impl FnMut(T)) {
        let Some(index) = tag.checked_sub(self.first) else { return };
        let index = usize::try_from(index).unwrap_or(usize::MAX);
        if is_multiple {
            // What lies beyond has not been published: a broker's mistake that costs nothing.
            for _ in 0..index.saturating_add(1).min(self.waiting.len()) {
                self.first += 1;
                if let Some(publish) = self.waiting.pop_front().flatten() {
                    self.count -= 1;
                    each(publish);
                }
            }
        } else if let Some(publish) = self.waiting.get_mut(index).and_then(Option::take) {
            self.count -= 1;
            each(publish);
        }
        while let Some(None) = self.waiting.front() {
            self.waiting.pop_front();
            self.first += 1;
        }
    }

    /// Those that still wait, in their order: what a lost connection leaves in doubt.
    pub fn into_rest(self) -> impl Iterator<Item = T> {
        self.waiting.into_iter().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check_settled(published: u64, confirms: &[(u64, bool)], settled: &[u64]) {
        let mut unconfirmed = Unconfirmed::new();
        for tag in 1..=published {
            assert_eq!(unconfirmed.push(tag), tag);
        }
        let mut seen = Vec::new();
        for (tag, is_multiple) in confirms {
            unconfirmed.settle(*tag, *is_multiple, |tag| seen.push(tag));
        }
        assert_eq!(seen, settled);
        assert_eq!(unconfirmed.len() as u64, published - settled.len() as u64);
    }

    #[test]
    fn each_publish_is_settled_once() {
        check_settled(3, &[(1, false), (2, false), (3, false)], &[1, 2, 3]);
        check_settled(3, &[(3, false), (1, false), (2, false), (2, false)], &[3, 1, 2]);
        check_settled(5, &[(3, true), (1, false), (5, true)], &[1, 2, 3, 4, 5]);
        check_settled(5, &[(2, false), (4, true)], &[2, 1, 3, 4]);
    }

    #[test]
    fn tags_that_were_never_published_settle_nothing() {
        check_settled(2, &[(0, false), (3, false), (u64::MAX, false)], &[]);
        check_settled(2, &[(9, true)], &[1, 2]);
    }

    proptest! {
        #[test]
        fn agrees_with_a_set_of_tags(steps in proptest::collection::vec((any::<bool>(), 1u64..40, any::<bool>()), 1..200)) {
            let mut unconfirmed = Unconfirmed::new();
            let mut model = std::collections::BTreeSet::new();
            let mut published = 0;
            for (is_publish, tag, is_multiple) in steps {
                if is_publish {
                    published += 1;
                    prop_assert_eq!(unconfirmed.push(published), published);
                    model.insert(published);
                    continue;
                }
                let mut seen = Vec::new();
                unconfirmed.settle(tag, is_multiple, |tag| seen.push(tag));
                let expected: Vec<u64> =
                    model.iter().copied().filter(|have| *have == tag || (is_multiple && *have < tag)).collect();
                model.retain(|have| !expected.contains(have));
                prop_assert_eq!(seen, expected);
                prop_assert_eq!(unconfirmed.len(), model.len());
                prop_assert_eq!(unconfirmed.oldest(), model.first());
            }
            let rest: Vec<u64> = unconfirmed.into_rest().collect();
            prop_assert_eq!(rest, model.into_iter().collect::<Vec<_>>());
        }
    }
}
