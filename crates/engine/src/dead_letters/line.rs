//! What a queue has given up, in the order in which it did.
//!
//! Some of it has to be read from a segment before it can go on. What was given up after it waits for it here, so that dead letters arrive
//! in the order in which they left.

use std::collections::VecDeque;

use model::ids::QueueSeq;
use rustc_hash::FxHashMap;

use super::letter::DeadLetter;

/// A queue's line of letters. Takes no room while it is empty.
#[derive(Debug, Default)]
pub(crate) struct Line(Option<Box<Places>>);

#[derive(Debug, Default)]
struct Places {
    places: VecDeque<Place>,
    /// The number of the first of them, counted on for ever.
    first: u64,
    /// The numbers of those whose message is being read.
    awaited: FxHashMap<QueueSeq, u64>,
    /// Until then none of them moves on, in milliseconds since 1970; 0: any may.
    held_until_ms: u64,
}

#[derive(Debug)]
enum Place {
    /// Its message is being read.
    Awaited(QueueSeq),
    Here(DeadLetter),
}

impl Line {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// One more leaves, whose message is here.
    pub(crate) fn push(&mut self, letter: DeadLetter) {
        self.0.get_or_insert_default().places.push_back(Place::Here(letter));
    }

    /// One more leaves, whose message has to be read.
    pub(crate) fn announce(&mut self, seq: QueueSeq) {
        let places = self.0.get_or_insert_default();
        places.awaited.insert(seq, places.first + places.places.len() as u64);
        places.places.push_back(Place::Awaited(seq));
    }

    /// A message that was announced is here.
    pub(crate) fn fill(&mut self, letter: DeadLetter) {
        let places = self.0.get_or_insert_default();
        let number = letter.seq.and_then(|seq| places.awaited.remove(&seq));
        let place = number.and_then(|number| places.places.get_mut((number - places.first) as usize));
        match place {
            Some(place) => *place = Place::Here(letter),
            None => self.push(letter),
        }
    }

    /// Nothing moves on before this time, in milliseconds since 1970. Returns whether anything is there to wait for it.
    pub(crate) fn hold_until(&mut self, at_ms: u64) -> bool {
        self.0.as_mut().map(|places| places.held_until_ms = at_ms).is_some()
    }

    /// Until when nothing moves on, if it is held.
    pub(crate) fn held_until(&self) -> Option<u64> {
        self.0.as_ref().map(|places| places.held_until_ms).filter(|at_ms| *at_ms > 0)
    }

    /// Takes the first ones, up to these bounds or to the first that is still being read, and at least one if it is there. `is_leaving`:
    /// whether one that was announced is to come at all.
    pub(crate) fn take(
        &mut self,
        count_max: usize,
        len_max: u64,
        is_leaving: impl Fn(QueueSeq) -> bool,
    ) -> Vec<DeadLetter> {
        let mut taken = Vec::new();
        let mut left_len = len_max;
        let Some(places) = &mut self.0 else { return taken };
        places.held_until_ms = 0;
        while taken.len() < count_max && left_len > 0 {
            match places.places.front() {
                Some(Place::Awaited(seq)) if is_leaving(*seq) => break,
                Some(_) => {}
                None => break,
            }
            places.first += 1;
            match places.places.pop_front() {
                Some(Place::Here(letter)) => {
                    left_len = left_len.saturating_sub(u64::from(letter.content.len()));
                    taken.push(letter);
                }
                Some(Place::Awaited(seq)) => drop(places.awaited.remove(&seq)),
                None => {}
            }
        }
        if places.places.is_empty() {
            self.0 = None;
        }
        taken
    }
}
