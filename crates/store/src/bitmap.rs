//! Which slots of a segment are settled: one bit a slot, allocated when the first one is.
//!
//! On disk (in a checkpoint) it is a row of tokens, each a varint `count << 2 | kind` over words of 64 slots:
//!
//!  | kind 0: count words of zeros | kind 1: count words of ones | kind 2: count words follow, u64 each |
//!
//! so that a backlog which is consumed from its front costs a few bytes. Bits beyond the last slot are zero; a last
//! word that is full of settled slots counts as ones.

use crate::varint::{self, Malformed, Reader};

const KIND_ZEROS: u64 = 0;
const KIND_ONES: u64 = 1;
const KIND_WORDS: u64 = 2;

/// The settled slots of one segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Bitmap {
    slot_count: u32,
    set_count: u32,
    /// Empty until the first bit is set.
    words: Vec<u64>,
}

impl Bitmap {
    pub(crate) fn new(slot_count: u32) -> Self {
        Bitmap { slot_count, set_count: 0, words: Vec::new() }
    }

    /// Bytes that it takes beside itself.
    pub(crate) fn memory_len(&self) -> usize {
        self.words.capacity() * size_of::<u64>()
    }

    pub(crate) fn slot_count(&self) -> u32 {
        self.slot_count
    }

    pub(crate) fn set_count(&self) -> u32 {
        self.set_count
    }

    pub(crate) fn is_full(&self) -> bool {
        self.set_count == self.slot_count
    }

    pub(crate) fn is_set(&self, slot: u32) -> bool {
        self.words.get(slot as usize / 64).is_some_and(|word| word >> (slot % 64) & 1 == 1)
    }

    /// Sets the bits of `[first, end)`, as far as there are such slots; returns how many were not set before.
    pub(crate) fn set(&mut self, first: u32, end: u32) -> u32 {
        let end = end.min(self.slot_count);
        if first >= end {
            return 0;
        }
        if self.words.is_empty() {
            self.words = vec![0; (self.slot_count as usize).div_ceil(64)];
        }
        let mut newly = 0;
        for (index, mask) in masks(first, end) {
            let word = &mut self.words[index];
            newly += (mask & !*word).count_ones();
            *word |= mask;
        }
        self.set_count += newly;
        assert!(self.set_count <= self.slot_count, "more slots settled than there are");
        newly
    }

    /// How many of `[first, end)` are set.
    pub(crate) fn count(&self, first: u32, end: u32) -> u32 {
        let end = end.min(self.slot_count);
        if self.words.is_empty() || first >= end {
            return 0;
        }
        masks(first, end).map(|(index, mask)| (self.words[index] & mask).count_ones()).sum()
    }

    /// The first slot at or after `slot` and before `end` that is not set.
    pub(crate) fn next_clear(&self, slot: u32, end: u32) -> Option<u32> {
        let end = end.min(self.slot_count);
        if slot >= end {
            return None;
        }
        if self.words.is_empty() {
            return Some(slot);
        }
        for (index, mask) in masks(slot, end) {
            let clear = !self.words[index] & mask;
            if clear != 0 {
                return Some(index as u32 * 64 + clear.trailing_zeros());
            }
        }
        None
    }

    /// The last slot at or after `first` and before `end` that is not set.
    pub(crate) fn last_clear(&self, first: u32, end: u32) -> Option<u32> {
        let end = end.min(self.slot_count);
        if first >= end {
            return None;
        }
        if self.words.is_empty() {
            return Some(end - 1);
        }
        for (index, mask) in masks(first, end).rev() {
            let clear = !self.words[index] & mask;
            if clear != 0 {
                return Some(index as u32 * 64 + 63 - clear.leading_zeros());
            }
        }
        None
    }

    /// The clear slots of `[first, end)` as runs `(first, end)`.
    pub(crate) fn clear_runs(&self, first: u32, end: u32) -> Vec<(u32, u32)> {
        let end = end.min(self.slot_count);
        let mut runs = Vec::new();
        let mut at = first;
        while let Some(run_first) = self.next_clear(at, end) {
            let run_end = self.next_set(run_first, end);
            runs.push((run_first, run_end));
            at = run_end;
        }
        runs
    }

    fn next_set(&self, slot: u32, end: u32) -> u32 {
        if self.words.is_empty() {
            return end;
        }
        for (index, mask) in masks(slot, end) {
            let set = self.words[index] & mask;
            if set != 0 {
                return index as u32 * 64 + set.trailing_zeros();
            }
        }
        end
    }

    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        let kind_at = |index: usize| {
            let slots_here = (self.slot_count - index as u32 * 64).min(64);
            let full = u64::MAX >> (64 - slots_here);
            match self.words[index] {
                0 => KIND_ZEROS,
                word if word == full => KIND_ONES,
                _ => KIND_WORDS,
            }
        };
        let word_count = (self.slot_count as usize).div_ceil(64);
        if self.words.is_empty() {
            if word_count > 0 {
                varint::put(out, (word_count as u64) << 2 | KIND_ZEROS);
            }
            return;
        }
        let mut start = 0;
        while start < word_count {
            let kind = kind_at(start);
            let mut end = start + 1;
            while end < word_count && kind_at(end) == kind {
                end += 1;
            }
            varint::put(out, ((end - start) as u64) << 2 | kind);
            if kind == KIND_WORDS {
                self.words[start..end].iter().for_each(|word| out.extend_from_slice(&word.to_le_bytes()));
            }
            start = end;
        }
    }

    pub(crate) fn decode(slot_count: u32, reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let word_count = u64::from(slot_count.div_ceil(64));
        let mut bitmap = Bitmap::new(slot_count);
        let mut at = 0u64;
        while at < word_count {
            let token = reader.varint()?;
            let count = token >> 2;
            if count == 0 || count > word_count - at {
                return Err(Malformed);
            }
            match token & 3 {
                KIND_ZEROS => {}
                // The products fit: `at + count` is at most the number of words of a u32 of slots.
                KIND_ONES => {
                    bitmap.set((at * 64) as u32, ((at + count) * 64).min(u64::from(slot_count)) as u32);
                }
                KIND_WORDS => {
                    for index in at..at + count {
                        bitmap.put_word(index as usize, reader.u64()?)?;
                    }
                }
                _ => return Err(Malformed),
            }
            at += count;
        }
        Ok(bitmap)
    }

    fn put_word(&mut self, index: usize, word: u64) -> Result<(), Malformed> {
        let slots_here = (self.slot_count - index as u32 * 64).min(64);
        if word & !(u64::MAX >> (64 - slots_here)) != 0 {
            return Err(Malformed);
        }
        if self.words.is_empty() {
            self.words = vec![0; (self.slot_count as usize).div_ceil(64)];
        }
        self.words[index] = word;
        self.set_count += word.count_ones();
        Ok(())
    }
}

/// The words that hold `[first, end)`, each with the bits that belong to it. `first < end`.
fn masks(first: u32, end: u32) -> impl DoubleEndedIterator<Item = (usize, u64)> {
    let (first_word, last_word) = (first as usize / 64, (end - 1) as usize / 64);
    (first_word..=last_word).map(move |index| {
        let from = if index == first_word { first % 64 } else { 0 };
        let to = if index == last_word { (end - 1) % 64 } else { 63 };
        (index, (u64::MAX >> (63 - to)) & (u64::MAX << from))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check_round_trip(bitmap: &Bitmap, len_max: usize) {
        let mut out = Vec::new();
        bitmap.encode(&mut out);
        assert!(out.len() <= len_max, "{} bytes, expected at most {len_max}", out.len());
        let mut reader = Reader::new(&out);
        let decoded = Bitmap::decode(bitmap.slot_count(), &mut reader).unwrap();
        assert!(reader.is_empty());
        assert_eq!(decoded.set_count(), bitmap.set_count());
        for slot in 0..bitmap.slot_count() {
            assert_eq!(decoded.is_set(slot), bitmap.is_set(slot), "slot {slot}");
        }
    }

    #[test]
    fn a_backlog_consumed_from_its_front_costs_a_few_bytes() {
        let mut bitmap = Bitmap::new(1_000_000);
        check_round_trip(&bitmap, 4);
        bitmap.set(0, 777_777);
        check_round_trip(&bitmap, 20);
        bitmap.set(0, 1_000_000);
        assert!(bitmap.is_full());
        check_round_trip(&bitmap, 4);
    }

    #[test]
    fn slots_beyond_the_last_are_ignored() {
        let mut bitmap = Bitmap::new(70);
        assert_eq!(bitmap.set(65, 1000), 5);
        assert_eq!(bitmap.set(70, 71), 0);
        assert!(!bitmap.is_set(70));
        assert_eq!(bitmap.next_clear(64, 1000), Some(64));
        assert_eq!(bitmap.next_clear(65, 1000), None);
    }

    #[test]
    fn no_slots_need_no_bytes() {
        check_round_trip(&Bitmap::new(0), 0);
        assert!(Bitmap::new(0).is_full());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn it_is_a_set_of_slots(slot_count in 0u32..400, sets in prop::collection::vec((0u32..400, 0u32..100), 0..12)) {
            let mut bitmap = Bitmap::new(slot_count);
            let mut model = vec![false; slot_count as usize];
            for (first, len) in sets {
                let mut newly = 0;
                for slot in first..(first + len).min(slot_count) {
                    newly += u32::from(!std::mem::replace(&mut model[slot as usize], true));
                }
                prop_assert_eq!(bitmap.set(first, first + len), newly);
            }
            let clear: Vec<u32> = (0..slot_count).filter(|slot| !model[*slot as usize]).collect();
            prop_assert_eq!(bitmap.set_count() as usize, slot_count as usize - clear.len());
            prop_assert_eq!(bitmap.next_clear(7, slot_count), clear.iter().copied().find(|slot| *slot >= 7));
            prop_assert_eq!(bitmap.last_clear(7, 300), clear.iter().copied().rfind(|slot| (7..300).contains(slot)));
            prop_assert_eq!(bitmap.count(3, 90) as usize, model.iter().take(90).skip(3).filter(|set| **set).count());
            let runs: Vec<u32> = bitmap.clear_runs(0, slot_count).into_iter().flat_map(|(first, end)| first..end).collect();
            prop_assert_eq!(runs, clear);
            check_round_trip(&bitmap, 1000);
        }

        #[test]
        fn any_bytes_decode_or_are_malformed(slot_count in 0u32..5000, bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            if let Ok(bitmap) = Bitmap::decode(slot_count, &mut Reader::new(&bytes)) {
                prop_assert!(bitmap.set_count() <= slot_count);
            }
        }
    }
}
