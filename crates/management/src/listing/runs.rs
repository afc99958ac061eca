//! Sorting without ever taking long: objects are sorted a few at a time, into runs, and runs are merged as far as somebody takes
//! what comes out.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::vec;

use super::keys::Keys;

/// Objects of a run.
pub(crate) const RUN_COUNT: usize = 512;

/// Objects that are being collected.
pub(super) struct Runs<V> {
    done: Vec<vec::IntoIter<Entry<V>>>,
    current: Vec<Entry<V>>,
    /// Objects that have come.
    count: usize,
    /// How many of the first ones are wanted.
    wanted_count: usize,
    is_reversed: bool,
}

struct Entry<V> {
    keys: Keys,
    /// When it came: of two with the same keys the earlier one comes first.
    at: usize,
    object: V,
}

impl<V> Runs<V> {
    /// None yet. Only the first `wanted_count` will be wanted.
    pub(super) fn new(wanted_count: usize, is_reversed: bool) -> Self {
        Self { done: Vec::new(), current: Vec::new(), count: 0, wanted_count, is_reversed }
    }

    /// How many have come.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    pub(super) fn push(&mut self, keys: Keys, object: V) {
        self.current.push(Entry { keys, at: self.count, object });
        self.count += 1;
        if self.current.len() == RUN_COUNT {
            self.end_run();
        }
    }

    fn end_run(&mut self) {
        let mut run = std::mem::take(&mut self.current);
        run.sort_unstable_by(|a, b| a.compare(b, self.is_reversed));
        // Nobody sees what comes after so many of its own run.
        run.truncate(self.wanted_count);
        run.shrink_to_fit();
        self.done.push(run.into_iter());
    }

    /// All that have come, in order.
    pub(super) fn merge(mut self) -> Merge<V> {
        self.end_run();
        let (is_reversed, mut runs) = (self.is_reversed, self.done);
        let first_of = |(run, entries): (usize, &mut vec::IntoIter<Entry<V>>)| {
            entries.next().map(|entry| Head { entry, run, is_reversed })
        };
        let heads = runs.iter_mut().enumerate().filter_map(first_of).collect();
        Merge { runs, heads }
    }
}

impl<V> Entry<V> {
    fn compare(&self, other: &Self, is_reversed: bool) -> Ordering {
        let order = self.keys.compare(&other.keys).then(self.at.cmp(&other.at));
        if is_reversed { order.reverse() } else { order }
    }
}

/// Sorted objects, of many runs.
pub(super) struct Merge<V> {
    runs: Vec<vec::IntoIter<Entry<V>>>,
    heads: BinaryHeap<Head<V>>,
}

/// The first object that is left of a run.
struct Head<V> {
    entry: Entry<V>,
    run: usize,
    is_reversed: bool,
}

impl<V> Iterator for Merge<V> {
    type Item = V;

    fn next(&mut self) -> Option<V> {
        let mut head = self.heads.peek_mut()?;
        match self.runs[head.run].next() {
            // What follows takes its place, and finds its own when the borrow ends.
            Some(entry) => Some(std::mem::replace(&mut head.entry, entry).object),
            None => Some(std::collections::binary_heap::PeekMut::pop(head).entry.object),
        }
    }
}

impl<V> Ord for Head<V> {
    /// The greatest is the one that comes first.
    fn cmp(&self, other: &Self) -> Ordering {
        other.entry.compare(&self.entry, self.is_reversed)
    }
}

impl<V> PartialOrd for Head<V> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<V> PartialEq for Head<V> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl<V> Eq for Head<V> {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::listing::keys::Sorting;
    use crate::listing::{Query, Table, number};
    use proptest::prelude::*;

    /// A number to sort by, and one to be known by.
    type Thing = (u64, usize);

    static TABLE: Table<Thing, ()> = Table {
        title: "Thing",
        columns: &[number("key", |thing: &Thing, ()| Some(thing.0))],
        order: |a, b| a.1.cmp(&b.1),
        name: |thing| thing.1.to_string().into(),
    };

    fn sorted(things: &[Thing], wanted_count: usize, is_reversed: bool) -> Vec<Thing> {
        let sorting = Sorting::of(&Query::parse("sort=key"), &TABLE);
        let mut runs = Runs::new(wanted_count, is_reversed);
        for thing in things {
            runs.push(sorting.keys_of(thing, &(), &mut Vec::new()), *thing);
        }
        assert_eq!(runs.count(), things.len());
        runs.merge().take(wanted_count).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

        #[test]
        fn runs_merge_into_what_sorting_all_gives(
            keys in proptest::collection::vec(0..50_u64, 0..2000), wanted in 0..2500_usize, is_reversed in any::<bool>(),
        ) {
            let things: Vec<Thing> = keys.into_iter().enumerate().map(|(at, key)| (key, at)).collect();
            let mut expected = things.clone();
            expected.sort_unstable();
            if is_reversed {
                expected.reverse();
            }
            expected.truncate(wanted);
            prop_assert_eq!(sorted(&things, wanted, is_reversed), expected);
        }
    }
}
