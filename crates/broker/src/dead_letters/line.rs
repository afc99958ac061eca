//! What a queue has given up, in the order in which it did.
//!
//! Some of it has to be read from a segment before it can go on. What was given up after it waits for it here, so that dead letters arrive
//! in the order in which they left.

use std::collections::VecDeque;

use model::ids::QueueSeq;
use rustc_hash::FxHashMap;

use super::Leaver;

/// A queue's line of leavers. Takes no room while it is empty.
#[derive(Debug, Default)]
pub(crate) struct Line(Option<Box<Places>>);

#[derive(Debug, Default)]
struct Places {
    places: VecDeque<Place>,
    /// The number of the first of them, counted on for ever.
    first: u64,
    /// The numbers of those whose message is being read.
    awaited: FxHashMap<QueueSeq, u64>,
}

#[derive(Debug)]
enum Place {
    /// Its message is being read.
    Awaited(QueueSeq),
    Here(Leaver),
}

impl Line {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// One more leaves, whose message is here.
    pub(crate) fn push(&mut self, leaver: Leaver) {
        self.0.get_or_insert_default().places.push_back(Place::Here(leaver));
    }

    /// One more leaves, whose message has to be read.
    pub(crate) fn announce(&mut self, seq: QueueSeq) {
        let places = self.0.get_or_insert_default();
        places.awaited.insert(seq, places.first + places.places.len() as u64);
        places.places.push_back(Place::Awaited(seq));
    }

    /// A message that was announced is here.
    pub(crate) fn fill(&mut self, leaver: Leaver) {
        let places = self.0.get_or_insert_default();
        let number = leaver.seq.and_then(|seq| places.awaited.remove(&seq));
        let place = number.and_then(|number| places.places.get_mut((number - places.first) as usize));
        match place {
            Some(place) => *place = Place::Here(leaver),
            None => self.push(leaver),
        }
    }

    /// Takes the first ones, so many at most, up to the first that is still being read. `is_leaving`: whether one that was announced is to
    /// come at all.
    pub(crate) fn take(&mut self, count_max: usize, is_leaving: impl Fn(QueueSeq) -> bool) -> Vec<Leaver> {
        let mut taken = Vec::new();
        let Some(places) = &mut self.0 else { return taken };
        while taken.len() < count_max {
            match places.places.front() {
                Some(Place::Awaited(seq)) if is_leaving(*seq) => break,
                Some(_) => {}
                None => break,
            }
            places.first += 1;
            match places.places.pop_front() {
                Some(Place::Here(leaver)) => taken.push(leaver),
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
