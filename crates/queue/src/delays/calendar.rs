//! Waiting messages in memory, by due time.
//!
//! A tree of blocks rather than of messages: neighbours lie together, an arrival is an append to its block, a message costs its own
//! size and no allocation, and no step ever sorts or moves more than a block. A block is put in order when it is full or
//! something is taken from it. Random due times leave blocks about two thirds full.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;

use super::key::Key;
use super::limits::{BLOCK_LEN, LOADED_OVERHEAD};
use crate::message::Message;

#[derive(Debug)]
pub(super) struct CalendarEntry<M> {
    pub(super) key: Key,
    pub(super) message: M,
}

#[derive(Debug)]
struct Block<M> {
    entries: Vec<CalendarEntry<M>>,
    is_sorted: bool,
}

impl<M> Block<M> {
    fn new(entry: CalendarEntry<M>) -> Self {
        let mut entries = Vec::with_capacity(BLOCK_LEN);
        entries.push(entry);
        Block { entries, is_sorted: true }
    }

    #[inline]
    fn push(&mut self, entry: CalendarEntry<M>) {
        self.is_sorted = self.is_sorted && self.entries.last().is_none_or(|last| last.key < entry.key);
        self.entries.push(entry);
    }

    fn sort(&mut self) {
        if !self.is_sorted {
            self.entries.sort_unstable_by_key(|entry| entry.key);
            self.is_sorted = true;
        }
    }

    /// Adds an entry to a full block, by beginning another one: it is returned with its least key.
    fn overflow(&mut self, entry: CalendarEntry<M>) -> (Key, Self) {
        self.sort();
        if self.entries.last().is_none_or(|last| last.key < entry.key) {
            return (entry.key, Block::new(entry));
        }
        let mut entries = Vec::with_capacity(BLOCK_LEN);
        entries.extend(self.entries.drain(BLOCK_LEN / 2..));
        let first = entries[0].key;
        let mut next = Block { entries, is_sorted: true };
        if first < entry.key {
            next.push(entry)
        } else {
            self.push(entry)
        }
        (first, next)
    }

    fn find(&self, key: Key) -> Option<usize> {
        match self.is_sorted {
            true => self.entries.binary_search_by_key(&key, |entry| entry.key).ok(),
            false => self.entries.iter().position(|entry| entry.key == key),
        }
    }
}

/// Invariants: blocks are not empty and do not overlap, no block of `rest` has a key below its own in the tree, and `front`, which
/// comes before all of them, is empty only if there are none.
#[derive(Debug)]
pub(super) struct Calendar<M> {
    front: VecDeque<CalendarEntry<M>>,
    rest: BTreeMap<Key, Block<M>>,
    totals: Totals,
}

#[derive(Debug, Default)]
struct Totals {
    count: u64,
    bytes: u64,
    /// Of these, what lies in segments too.
    placed_count: u64,
    placed_bytes: u64,
}

impl Totals {
    #[inline]
    fn note<M: Message>(&mut self, message: &M, is_here: bool) {
        let (bytes, placed) = (u64::from(message.len()), u64::from(message.place().is_some()));
        if is_here {
            self.count += 1;
            self.bytes += bytes;
            self.placed_count += placed;
            self.placed_bytes += placed * bytes;
        } else {
            self.count -= 1;
            self.bytes -= bytes;
            self.placed_count -= placed;
            self.placed_bytes -= placed * bytes;
        }
    }
}

impl<M: Message> Calendar<M> {
    pub(super) fn new() -> Self {
        Calendar { front: VecDeque::new(), rest: BTreeMap::new(), totals: Totals::default() }
    }

    pub(super) fn count(&self) -> u64 {
        self.totals.count
    }

    /// Of the messages those that lie only here.
    pub(super) fn unplaced_count(&self) -> u64 {
        self.totals.count - self.totals.placed_count
    }

    /// Bytes of bodies.
    pub(super) fn bytes(&self) -> u64 {
        self.totals.bytes
    }

    /// What messages that lie in segments too take in memory, about.
    pub(super) fn placed_cost(&self) -> u64 {
        self.totals.placed_bytes + self.totals.placed_count * LOADED_OVERHEAD
    }

    #[inline]
    pub(super) fn first_key(&self) -> Option<Key> {
        self.front.front().map(|entry| entry.key)
    }

    /// Adds a message. One with its key is not here.
    #[inline]
    pub(super) fn insert(&mut self, key: Key, message: M) {
        self.totals.note(&message, true);
        let entry = CalendarEntry { key, message };
        let Some((first_of_rest, _)) = self.rest.first_key_value() else { return self.insert_in_front(entry) };
        if key < *first_of_rest {
            return self.insert_in_front(entry);
        }
        // Of the same delay, each is due after those before it.
        let is_last = self.rest.last_key_value().is_some_and(|(first_of_last, _)| *first_of_last <= key);
        let block = match is_last {
            true => self.rest.last_entry().map(|last| last.into_mut()),
            false => self.rest.range_mut(..=key).next_back().map(|(_, block)| block),
        };
        let block = block.expect("the first block begins before it");
        if block.entries.len() < BLOCK_LEN {
            block.push(entry);
        } else {
            let (first, next) = block.overflow(entry);
            self.rest.insert(first, next);
        }
    }

    /// Adds messages by rising key; none with such a key is here. Neighbours lie in one block, which is looked for once.
    pub(super) fn insert_rising(&mut self, messages: impl IntoIterator<Item = (Key, M)>) {
        let mut messages = messages.into_iter().peekable();
        while let Some((key, message)) = messages.next() {
            self.insert(key, message);
            let end = self.rest.range((Bound::Excluded(key), Bound::Unbounded)).next().map(|(end, _)| *end);
            let Some((_, block)) = self.rest.range_mut(..=key).next_back() else { continue };
            let goes_there = |(key, _): &(Key, M)| end.is_none_or(|end| *key < end);
            while block.entries.len() < BLOCK_LEN
                && let Some((key, message)) = messages.next_if(goes_there)
            {
                self.totals.note(&message, true);
                block.push(CalendarEntry { key, message });
            }
        }
    }

    fn insert_in_front(&mut self, entry: CalendarEntry<M>) {
        let at = match self.front.back() {
            Some(last) if last.key > entry.key => self.front.partition_point(|other| other.key < entry.key),
            _ => self.front.len(),
        };
        if self.front.len() < BLOCK_LEN {
            self.front.insert(at, entry);
            return;
        }
        if at == self.front.len() {
            self.rest.insert(entry.key, Block::new(entry));
            return;
        }
        self.front.insert(at, entry);
        let mut entries = Vec::with_capacity(BLOCK_LEN);
        entries.extend(self.front.drain(BLOCK_LEN / 2..));
        self.rest.insert(entries[0].key, Block { entries, is_sorted: true });
    }

    #[inline]
    pub(super) fn pop_first(&mut self) -> Option<CalendarEntry<M>> {
        let entry = self.front.pop_front()?;
        self.totals.note(&entry.message, false);
        if self.front.is_empty() {
            self.refill();
        }
        Some(entry)
    }

    /// Takes one message out, if it is here and `is_wanted`.
    pub(super) fn remove(&mut self, key: Key, is_wanted: impl FnOnce(&M) -> bool) -> Option<M> {
        let is_in_front = self.front.back().is_some_and(|last| key <= last.key);
        let entry = if is_in_front {
            let at = self.front.binary_search_by_key(&key, |entry| entry.key).ok()?;
            self.front.get(at).filter(|entry| is_wanted(&entry.message))?;
            let entry = self.front.remove(at)?;
            if self.front.is_empty() {
                self.refill();
            }
            entry
        } else {
            let (&at_block, block) = self.rest.range_mut(..=key).next_back()?;
            // What is taken out together lies together.
            block.sort();
            let at = block.find(key)?;
            let entries = &mut block.entries;
            if !is_wanted(&entries[at].message) {
                return None;
            }
            let entry = entries.remove(at);
            if entries.is_empty() {
                self.rest.remove(&at_block);
            } else if entries.len() * 4 < entries.capacity() {
                entries.shrink_to(entries.len() * 2);
            }
            entry
        };
        self.totals.note(&entry.message, false);
        Some(entry.message)
    }

    /// Takes many messages out, of those that are here and `are_wanted`. `each` is called for every key, one after the other.
    ///
    /// `keys` rise. Each block is visited once, which is much less than taking them out one by one.
    pub(super) fn take_all(&mut self, keys: &[Key], are_wanted: impl Fn(&M) -> bool, mut each: impl FnMut(Option<M>)) {
        debug_assert!(keys.is_sorted(), "keys rise");
        let mut rest = keys;
        if let Some(last) = self.front.back().map(|entry| entry.key) {
            let (keys, behind) = rest.split_at(rest.partition_point(|key| *key <= last));
            if !keys.is_empty() {
                rest = behind;
                let mut entries = Vec::from(std::mem::take(&mut self.front));
                self.take_from(&mut entries, keys, &are_wanted, &mut each);
                self.front = entries.into();
            }
        }
        while let Some(first) = rest.first() {
            let Some((&at_block, block)) = self.rest.range_mut(..=first).next_back() else {
                each(None);
                rest = &rest[1..];
                continue;
            };
            block.sort();
            let last = block.entries.last().map_or(at_block, |entry| entry.key);
            // At least one, which may be in a gap between two blocks.
            let (keys, behind) = rest.split_at(rest.partition_point(|key| *key <= last).max(1));
            rest = behind;
            let mut entries = std::mem::take(&mut block.entries);
            self.take_from(&mut entries, keys, &are_wanted, &mut each);
            if entries.is_empty() {
                self.rest.remove(&at_block);
                continue;
            }
            if entries.len() * 4 < entries.capacity() {
                entries.shrink_to(entries.len() * 2);
            }
            if let Some(block) = self.rest.get_mut(&at_block) {
                block.entries = entries;
            }
        }
        if self.front.is_empty() {
            self.refill();
        }
    }

    /// Takes messages out of one block.
    fn take_from(
        &mut self,
        entries: &mut Vec<CalendarEntry<M>>,
        keys: &[Key],
        are_wanted: &impl Fn(&M) -> bool,
        each: &mut impl FnMut(Option<M>),
    ) {
        let (mut looked_for, mut passed) = (0, 0);
        let is_taken = |entry: &mut CalendarEntry<M>| {
            looked_for += keys[looked_for..].iter().take_while(|key| **key < entry.key).count();
            keys.get(looked_for) == Some(&entry.key) && are_wanted(&entry.message)
        };
        for entry in entries.extract_if(.., is_taken) {
            let missing = keys[passed..].iter().take_while(|key| **key < entry.key).count();
            (0..missing).for_each(|_| each(None));
            passed += missing + 1;
            self.totals.note(&entry.message, false);
            each(Some(entry.message));
        }
        keys[passed..].iter().for_each(|_| each(None));
    }

    pub(super) fn get(&self, key: Key) -> Option<&M> {
        let is_in_front = self.front.back().is_some_and(|last| key <= last.key);
        if is_in_front {
            let at = self.front.binary_search_by_key(&key, |entry| entry.key).ok()?;
            return self.front.get(at).map(|entry| &entry.message);
        }
        let (_, block) = self.rest.range(..=key).next_back()?;
        block.find(key).map(|at| &block.entries[at].message)
    }

    /// Changes a message that lies in a segment; it still does afterwards.
    pub(super) fn change_placed(&mut self, key: Key, change: impl FnOnce(&mut M)) -> bool {
        let Some(mut message) = self.remove(key, |message| message.place().is_some()) else { return false };
        change(&mut message);
        self.insert(key, message);
        true
    }

    /// All, in no order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &CalendarEntry<M>> {
        self.front.iter().chain(self.rest.values().flat_map(|block| &block.entries))
    }

    /// So many from this key on, in order.
    pub(super) fn copy_from(&mut self, key: Key, count_max: usize) -> Vec<(Key, M)> {
        let copy = |entry: &CalendarEntry<M>| (entry.key, entry.message.clone());
        let is_wanted = |entry: &&CalendarEntry<M>| key <= entry.key;
        let mut copied: Vec<_> = self.front.iter().filter(is_wanted).take(count_max).map(copy).collect();
        let first = self.rest.range(..=key).next_back().map_or(key, |(first, _)| *first);
        for (_, block) in self.rest.range_mut(first..) {
            if copied.len() >= count_max {
                break;
            }
            block.sort();
            let left = count_max - copied.len();
            copied.extend(block.entries.iter().filter(is_wanted).take(left).map(copy));
        }
        copied
    }

    /// Takes out what lies in segments too and is due later than `due`.
    pub(super) fn take_placed(&mut self, due: u64) -> Vec<CalendarEntry<M>> {
        if self.totals.placed_count == 0 {
            return Vec::new();
        }
        let is_taken = |entry: &CalendarEntry<M>| entry.key.due > due && entry.message.place().is_some();
        let keys: Vec<Key> = self.iter().filter(|entry| is_taken(entry)).map(|entry| entry.key).collect();
        let take = |key| self.remove(key, |_| true).map(|message| CalendarEntry { key, message });
        keys.into_iter().filter_map(take).collect()
    }

    /// Empties it.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = CalendarEntry<M>> + use<M> {
        let drained = std::mem::replace(self, Calendar::new());
        drained.front.into_iter().chain(drained.rest.into_values().flat_map(|block| block.entries))
    }

    /// The front block has become empty.
    fn refill(&mut self) {
        match self.rest.pop_first() {
            Some((_, mut block)) => {
                block.sort();
                self.front = block.entries.into();
            }
            None if self.front.capacity() > KEPT_LEN => self.front = VecDeque::new(),
            None => {}
        }
    }
}

/// Entries whose space an empty calendar keeps.
const KEPT_LEN: usize = 8;

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use model::ids::{Place, QueueId};
    use proptest::prelude::*;

    use super::*;
    use crate::delays::key::seq_of;

    #[derive(Debug, Clone)]
    struct Card(u32, Option<Place>);

    impl Message for Card {
        fn len(&self) -> u32 {
            self.0
        }
        fn is_journaled(&self) -> bool {
            true
        }
        fn place(&self) -> Option<Place> {
            self.1
        }
        fn set_place(&mut self, place: Place) {
            self.1 = Some(place);
        }
    }

    fn key(number: u32) -> Key {
        Key::new(QueueId(1), seq_of(u64::from(number / 3), number + 1))
    }

    #[test]
    fn an_entry_costs_sixteen_bytes_beside_its_message() {
        assert_eq!(size_of::<CalendarEntry<[u64; 4]>>(), 48);
    }

    #[test]
    fn ascending_entries_fill_their_blocks() {
        let mut calendar = Calendar::new();
        (0..10_000).for_each(|number| calendar.insert(key(number), Card(1, None)));
        assert_eq!(calendar.rest.len() + 1, 10_000usize.div_ceil(BLOCK_LEN));
        assert!((0..10_000).all(|number| calendar.pop_first().unwrap().key == key(number)));
        assert!(calendar.pop_first().is_none());
    }

    #[derive(Debug, Clone)]
    enum Step {
        Insert(Vec<u32>),
        InsertRising(BTreeSet<u32>),
        Pop(u16),
        Remove(Vec<u32>),
        /// Those of these whose number leaves this rest when it is divided by three.
        TakeAll(BTreeSet<u32>, u32),
    }

    fn step() -> impl Strategy<Value = Step> {
        let numbers = || {
            let ascending = (0u32..3000, 1u32..300).prop_map(|(first, count)| (first..first + count).collect());
            prop_oneof![prop::collection::vec(0u32..3000, 0..200), ascending]
        };
        prop_oneof![
            4 => numbers().prop_map(Step::Insert),
            3 => numbers().prop_map(|numbers| Step::InsertRising(numbers.into_iter().collect())),
            1 => (0u16..300).prop_map(Step::Pop),
            2 => numbers().prop_map(Step::Remove),
            2 => (numbers(), 0u32..3).prop_map(|(numbers, rest)| Step::TakeAll(numbers.into_iter().collect(), rest)),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn it_is_a_sorted_list(steps in prop::collection::vec(step(), 1..12), from in 0u32..3000) {
            let mut calendar = Calendar::new();
            let mut model = BTreeMap::new();
            for step in steps {
                match step {
                    Step::Insert(numbers) => for number in numbers {
                        if model.insert(key(number), number).is_none() {
                            calendar.insert(key(number), Card(number, None));
                        }
                    },
                    Step::InsertRising(numbers) => {
                        let new = numbers.into_iter().filter(|number| model.insert(key(*number), *number).is_none());
                        let new: Vec<_> = new.map(|number| (key(number), Card(number, None))).collect();
                        calendar.insert_rising(new);
                    }
                    Step::Pop(count) => for _ in 0..count {
                        let popped = calendar.pop_first().map(|entry| (entry.key, entry.message.0));
                        prop_assert_eq!(popped, model.pop_first());
                    },
                    Step::Remove(numbers) => for number in numbers {
                        prop_assert_eq!(calendar.get(key(number)).map(|card| card.0), model.get(&key(number)).copied());
                        prop_assert!(calendar.remove(key(number), |_| false).is_none());
                        prop_assert_eq!(calendar.remove(key(number), |_| true).map(|card| card.0), model.remove(&key(number)));
                    },
                    Step::TakeAll(numbers, rest) => {
                        let keys: Vec<Key> = numbers.iter().map(|number| key(*number)).collect();
                        let mut taken = Vec::new();
                        calendar.take_all(&keys, |card| card.0 % 3 == rest, |card| taken.push(card.map(|card| card.0)));
                        let expected = keys.iter().map(|key| {
                            model.get(key).filter(|number| **number % 3 == rest)?;
                            model.remove(key)
                        });
                        prop_assert_eq!(taken, expected.collect::<Vec<_>>());
                    }
                }
                let mut all: Vec<_> = calendar.iter().map(|entry| (entry.key, entry.message.0)).collect();
                all.sort_unstable();
                prop_assert_eq!(&all, &model.iter().map(|(key, number)| (*key, *number)).collect::<Vec<_>>());
                prop_assert_eq!(calendar.count(), model.len() as u64);
                prop_assert_eq!(calendar.bytes(), model.values().map(|len| u64::from(*len)).sum::<u64>());
                prop_assert_eq!(calendar.first_key(), model.keys().next().copied());
                let some: Vec<_> = calendar.copy_from(key(from), 500).into_iter().map(|(key, _)| key).collect();
                prop_assert_eq!(some, model.range(key(from)..).take(500).map(|(key, _)| *key).collect::<Vec<_>>());
                for (first, block) in &calendar.rest {
                    prop_assert!(!block.entries.is_empty() && block.entries.iter().all(|entry| *first <= entry.key));
                }
                prop_assert!(!calendar.front.is_empty() || calendar.rest.is_empty());
            }
        }
    }
}
