//! Sorting without ever taking long: objects are sorted a few at a time, into runs, and runs are merged as far as their reader reads.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::vec;

use super::keys::Keys;

/// Objects of a run.
pub(crate) const RUN_COUNT: usize = 512;

/// Objects that are being collected.
pub(super) struct Runs<V> {
    done: Vec<vec::IntoIter<SortedItem<V>>>,
    current: Vec<SortedItem<V>>,
    /// Objects that have come.
    count: usize,
    /// How many of the first ones are wanted.
    wanted_count: usize,
    order: Order<V>,
}

/// The order of those that have the same keys, and whether all is reversed.
pub(super) struct Order<V> {
    /// Those that this has no order for either stay in the order in which they came.
    pub(super) of_ties: fn(&V, &V) -> Ordering,
    pub(super) is_reversed: bool,
}

impl<V> Clone for Order<V> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<V> Copy for Order<V> {}

struct SortedItem<V> {
    keys: Keys,
    /// When it came.
    at: usize,
    object: V,
}

impl<V> Runs<V> {
    /// None yet. Only the first `wanted_count` will be wanted.
    pub(super) fn new(wanted_count: usize, order: Order<V>) -> Self {
        Self { done: Vec::new(), current: Vec::new(), count: 0, wanted_count, order }
    }

    /// How many have come.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    pub(super) fn push(&mut self, keys: Keys, object: V) {
        self.current.push(SortedItem { keys, at: self.count, object });
        self.count += 1;
        if self.current.len() == RUN_COUNT {
            self.end_run();
        }
    }

    fn end_run(&mut self) {
        let mut run = std::mem::take(&mut self.current);
        run.sort_unstable_by(|a, b| a.compare(b, self.order));
        // What comes after so many of its own run is never shown.
        run.truncate(self.wanted_count);
        run.shrink_to_fit();
        self.done.push(run.into_iter());
    }

    /// All that have come, in order.
    pub(super) fn merge(mut self) -> Merge<V> {
        self.end_run();
        let (order, mut runs) = (self.order, self.done);
        let first_of = |(run, entries): (usize, &mut vec::IntoIter<SortedItem<V>>)| {
            entries.next().map(|entry| Head { entry, run, order })
        };
        let heads = runs.iter_mut().enumerate().filter_map(first_of).collect();
        Merge { runs, heads }
    }
}

impl<V> SortedItem<V> {
    fn compare(&self, other: &Self, Order { of_ties, is_reversed }: Order<V>) -> Ordering {
        let by_keys = self.keys.compare(&other.keys).then_with(|| of_ties(&self.object, &other.object));
        let order = by_keys.then(self.at.cmp(&other.at));
        if is_reversed { order.reverse() } else { order }
    }
}

/// Sorted objects, of many runs.
pub(super) struct Merge<V> {
    runs: Vec<vec::IntoIter<SortedItem<V>>>,
    heads: BinaryHeap<Head<V>>,
}

/// The first object that is left of a run.
struct Head<V> {
    entry: SortedItem<V>,
    run: usize,
    order: Order<V>,
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
        other.entry.compare(&self.entry, self.order)
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
    use crate::listing::keys::{SortScratch, Sorting};
    use crate::listing::order::compare;
    use crate::listing::{Query, Table, column, number, text};
    use crate::route::Kind::Any;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    /// A number, a text and something to sort by, and a number to be known by.
    type Thing = (u64, &'static str, Value, usize);

    static TABLE: Table<Thing, ()> = Table {
        title: "Thing",
        columns: &[
            number("number", |thing: &Thing, ()| Some(thing.0)),
            text("text", |thing, ()| Some(thing.1)),
            column("other", Any, |thing, (), cell| cell.value(&thing.2)),
        ],
        order: |a, b| a.3.cmp(&b.3),
        name: |thing| thing.3.to_string().into(),
    };

    /// What `runs` make of things; those with the same keys in the order in which they come, or the other way round.
    fn sorted(things: &[Thing], query: &str, wanted_count: usize, are_ties_turned: bool) -> Vec<usize> {
        let sorting = Sorting::of(&Query::parse(query), &TABLE);
        let of_ties: fn(&Thing, &Thing) -> Ordering =
            if are_ties_turned { |a, b| b.3.cmp(&a.3) } else { |_, _| Ordering::Equal };
        let (mut runs, mut room) =
            (Runs::new(wanted_count, Order { of_ties, is_reversed: sorting.is_reversed }), SortScratch::default());
        for thing in things {
            runs.push(sorting.keys_of(thing, &(), &mut room), thing.clone());
        }
        assert_eq!(runs.count(), things.len());
        runs.merge().take(wanted_count).map(|thing| thing.3).collect()
    }

    /// The order of one key, said once more.
    fn by_key(key: &str, a: &Thing, b: &Thing) -> Ordering {
        match key {
            "number" => a.0.cmp(&b.0),
            "text" => a.1.cmp(b.1),
            "other.x" => {
                let value = |thing: &Thing| thing.2.get("x").cloned().unwrap_or(json!(0));
                compare(&value(a), &value(b))
            }
            _ => Ordering::Equal,
        }
    }

    fn any_value() -> impl Strategy<Value = Value> {
        let number = 9_007_199_254_740_991_u64..9_007_199_254_740_995;
        prop_oneof![
            number.clone().prop_map(|number| json!({"x": number})),
            number.prop_map(|number| json!({"x": number as f64})),
            any::<bool>().prop_map(|is| json!({"x": is})),
            "[ab]{0,1}".prop_map(|text| json!({"x": text})),
            Just(json!({})),
            Just(json!(5)),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

        #[test]
        fn runs_merge_into_what_sorting_all_gives(
            values in proptest::collection::vec((0..50_u64, 0..3_usize, any_value()), 0..1500),
            keys in proptest::collection::vec(prop_oneof![Just("number"), Just("text"), Just("other.x"), Just("nosuch")], 1..4),
            wanted in 0..2000_usize,
            is_reversed in any::<bool>(),
            are_ties_turned in any::<bool>(),
        ) {
            let thing = |(at, (number, text, other))| (number, ["", "a", "ab"][text], other, at);
            let things: Vec<Thing> = values.into_iter().enumerate().map(thing).collect();
            let mut expected: Vec<&Thing> = things.iter().collect();
            expected.sort_by(|a, b| {
                let by_keys = keys.iter().map(|key| by_key(key, a, b)).find(|order| order.is_ne());
                let ties = if are_ties_turned { b.3.cmp(&a.3) } else { a.3.cmp(&b.3) };
                by_keys.unwrap_or(ties)
            });
            if is_reversed {
                expected.reverse();
            }
            let expected: Vec<usize> = expected.into_iter().take(wanted).map(|thing| thing.3).collect();
            let query = format!("sort={}&sort_reverse={is_reversed}", keys.join(","));
            prop_assert_eq!(sorted(&things, &query, wanted, are_ties_turned), expected, "{}", query);
        }
    }
}
