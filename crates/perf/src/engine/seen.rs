//! Which messages of each publisher have come: to count what is lost and what came twice.
//!
//! Consumers on several threads see parts of the same sequences. Each notes what it saw in an interval as words of 64
//! bits ([`Sightings`]); once an interval these are taken together ([`SeenMessages`]), where a stretch without a hole costs
//! nothing. So memory does not grow with the length of a run, only with what is missing.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::results::SequenceCounts;

/// Sequence numbers on the wire have 32 bits; a sighting is at most this far from the last one.
const HALF: u64 = 1 << 31;

/// More than this is not counted in one interval, nor in a run.
pub(crate) const PLAUSIBLE_MAX: u64 = 1 << 52;

/// The position of a 32-bit sequence number, given one near it that is known in full.
#[inline]
pub(crate) fn unwrapped(sequence: u32, near: u64) -> u64 {
    let candidate = (near & !0xffff_ffff) | u64::from(sequence);
    if candidate + HALF < near {
        candidate + (1 << 32)
    } else if candidate > near + HALF && candidate >= 1 << 32 {
        candidate - (1 << 32)
    } else {
        candidate
    }
}

/// 64 messages of a sequence: number of the word, and a bit for each.
type Word = (u64, u64);

/// What one thread saw of one publisher's sequence in one interval.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Sighting {
    /// In the order in which they came; a word may occur more than once.
    plain: Vec<Word>,
    /// The same, for deliveries marked redelivered.
    redelivered: Vec<Word>,
    duplicate: u64,
    redelivered_again: u64,
    out_of_order: u64,
}

/// What one thread saw in one interval, by publisher.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Sightings {
    publishers: FxHashMap<u32, Sighting>,
}

impl Sightings {
    /// A message has come. `is_late`: after a later one of the same publisher, to the same consumer from the same queue.
    #[inline]
    pub(crate) fn note(&mut self, publisher: u32, position: u64, is_redelivered: bool, is_late: bool) {
        let sighting = self.publishers.entry(publisher).or_default();
        let (word, bit) = (position / 64, 1 << (position % 64));
        let (words, again) = if is_redelivered {
            (&mut sighting.redelivered, &mut sighting.redelivered_again)
        } else {
            (&mut sighting.plain, &mut sighting.duplicate)
        };
        match words.last_mut() {
            Some((last, bits)) if *last == word => {
                *again += u64::from(*bits & bit != 0);
                *bits |= bit;
            }
            _ => words.push((word, bit)),
        }
        sighting.out_of_order += u64::from(is_late && !is_redelivered);
    }

    /// Whether all of it can be so, in a run of so many publishers: what another machine says is not taken on trust.
    pub(crate) fn is_plausible(&self, publisher_count: u32) -> bool {
        self.publishers.iter().all(|(publisher, sighting)| {
            let counts = [sighting.duplicate, sighting.redelivered_again, sighting.out_of_order];
            let words = sighting.plain.iter().chain(&sighting.redelivered);
            *publisher < publisher_count
                && counts.into_iter().all(|count| count < PLAUSIBLE_MAX)
                && words.into_iter().all(|(word, _)| *word < PLAUSIBLE_MAX)
        })
    }
}

/// One publisher's sequence, as far as it was seen.
#[derive(Clone, Debug, Default)]
struct Sequence {
    /// All words below this are complete.
    base: u64,
    /// Words from there on, as far as anything of them was seen.
    words: BTreeMap<u64, u64>,
    seen: u64,
    counts: SequenceCounts,
}

impl Sequence {
    /// Adds sightings of one word. Returns how many of them were there before.
    fn add(&mut self, (word, bits): Word) -> u64 {
        if word < self.base {
            return u64::from(bits.count_ones());
        }
        let known = self.words.entry(word).or_default();
        let again = u64::from((*known & bits).count_ones());
        self.seen += u64::from((bits & !*known).count_ones());
        *known |= bits;
        while self.words.first_key_value() == Some((&self.base, &u64::MAX)) {
            self.words.pop_first();
            self.base += 1;
        }
        again
    }
}

/// All that was seen in a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct SeenMessages {
    publishers: FxHashMap<u32, Sequence>,
}

impl SeenMessages {
    /// Takes what the threads saw in one interval.
    pub(crate) fn add(&mut self, all: impl IntoIterator<Item = Sightings>) {
        let all: Vec<Sightings> = all.into_iter().collect();
        // A message that comes back has been somewhere before: what came first has to be known first.
        for (publisher, sighting) in all.iter().flat_map(|sighted| &sighted.publishers) {
            let sequence = self.publishers.entry(*publisher).or_default();
            sequence.counts.duplicate += sighting.duplicate;
            sequence.counts.out_of_order += sighting.out_of_order;
            for word in &sighting.plain {
                sequence.counts.duplicate += sequence.add(*word);
            }
        }
        for (publisher, sighting) in all.iter().flat_map(|sighted| &sighted.publishers) {
            let sequence = self.publishers.entry(*publisher).or_default();
            sequence.counts.redelivered += sighting.redelivered_again;
            for word in &sighting.redelivered {
                sequence.counts.redelivered += sequence.add(*word);
            }
        }
    }

    /// How many different messages of a publisher were seen.
    pub(crate) fn count(&self, publisher: u32) -> u64 {
        self.publishers.get(&publisher).map_or(0, |sequence| sequence.seen)
    }

    /// Whether a publisher's message at a position was seen.
    pub(crate) fn has(&self, publisher: u32, position: u64) -> bool {
        let (word, bit) = (position / 64, 1 << (position % 64));
        self.publishers.get(&publisher).is_some_and(|sequence| {
            word < sequence.base || sequence.words.get(&word).is_some_and(|bits| bits & bit != 0)
        })
    }

    /// What became of a publisher's messages, but for those that are lost.
    pub(crate) fn counts(&self, publisher: u32) -> SequenceCounts {
        self.publishers.get(&publisher).map_or_else(SequenceCounts::default, |sequence| sequence.counts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sequence_numbers_go_on_beyond_32_bits() {
        assert_eq!(unwrapped(5, 3), 5);
        assert_eq!(unwrapped(0, u64::from(u32::MAX)), 1 << 32);
        assert_eq!(unwrapped(u32::MAX, 1 << 32), u64::from(u32::MAX));
        assert_eq!(unwrapped(7, (5 << 32) + 9), (5 << 32) + 7);
        assert_eq!(unwrapped(u32::MAX, 0), u64::from(u32::MAX));
    }

    #[test]
    fn stretch_without_a_hole_costs_nothing() {
        let mut seen = SeenMessages::default();
        for interval in 0..10 {
            let mut sighted = Sightings::default();
            for position in interval * 1000..(interval + 1) * 1000 {
                sighted.note(1, position, false, false);
            }
            assert!(sighted.publishers[&1].plain.len() <= 17);
            seen.add([sighted]);
        }
        assert_eq!(seen.count(1), 10_000);
        assert!(seen.publishers[&1].words.len() <= 1);
    }

    #[test]
    fn message_that_comes_back_marked_is_no_duplicate() {
        let mut seen = SeenMessages::default();
        let (mut one, mut other) = (Sightings::default(), Sightings::default());
        one.note(1, 5, true, false);
        other.note(1, 5, false, false);
        other.note(1, 5, false, true);
        seen.add([one, other]);
        let counts = seen.counts(1);
        assert_eq!((counts.redelivered, counts.duplicate, counts.out_of_order), (1, 1, 1));
        assert_eq!(seen.count(1), 1);
    }

    proptest! {
        #[test]
        fn agrees_with_a_set(
            intervals in proptest::collection::vec(
                proptest::collection::vec((0usize..3, 0u64..500, any::<bool>()), 0..300), 1..6)
        ) {
            let mut seen = SeenMessages::default();
            let mut model = std::collections::HashSet::new();
            let (mut duplicate, mut redelivered) = (0, 0);
            for interval in intervals {
                let mut threads = vec![Sightings::default(); 3];
                // The same order as the threads' sightings are looked at: first those that are not marked.
                for marked in [false, true] {
                    for (thread, position, is_redelivered) in interval.iter().filter(|seen| seen.2 == marked) {
                        threads[*thread].note(7, *position, *is_redelivered, false);
                        let is_again = u64::from(!model.insert(*position));
                        *(if marked { &mut redelivered } else { &mut duplicate }) += is_again;
                    }
                }
                seen.add(threads);
            }
            prop_assert_eq!(seen.count(7), model.len() as u64);
            prop_assert_eq!(seen.counts(7).duplicate, duplicate);
            prop_assert_eq!(seen.counts(7).redelivered, redelivered);
        }
    }
}
