//! Ready messages that are taken out of the middle: by an operator who deletes or moves them, by a newer one that replaces an older.
//!
//! A message in memory is simply taken. One that lies only in a segment has to be read first, for the queue knows neither its slot nor how
//! long it is: [`Queue::take`] answers with what to read, and is called again with what was found. Its range stays whole and counts one
//! less, as recovery's ranges do whose messages are settled in part; so a backlog from which every other message is taken costs no memory.
//! A set of seqs marks what is being read just then; it lasts until the read is answered.

use model::ids::{Place, QueueSeq};

use crate::consumers::Gate;
use crate::groups::Key;
use crate::lane::{Lane, Load};
use crate::message::Message;
use crate::queue::Queue;

/// What [`Queue::take`] has come to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Take<M> {
    /// It is out of the queue: settle it.
    Taken(M),
    /// It lies in a segment, in one of these places if it is there at all: read them, and ask again with what was found.
    Unread(Vec<Load>),
    /// It is not ready: no such message, or a consumer has it.
    Missing,
}

impl<M: Message, G: Gate> Queue<M, G> {
    /// Takes a ready message out, wherever it is. `read` is the message as it was read from a segment, if it was; `is_alive` says
    /// whether the slot of a place is settled in its segment: a message that has been taken must be, before it is asked for again.
    ///
    /// Dispatch after it: what is next may be due now.
    pub fn take(&mut self, seq: QueueSeq, read: Option<&M>, is_alive: impl FnOnce(Place) -> bool) -> Take<M> {
        if self.unacked.holder_of(seq).is_some() {
            return Take::Missing;
        }
        let in_memory = self.ready.lanes_mut().find_map(|lane| lane.take_from_memory(seq));
        if let Some(message) = in_memory {
            self.note_taken(seq, &message);
            return Take::Taken(message);
        }
        if let Some((message, place)) = read.and_then(|message| Some((message, message.place()?))) {
            let lane = self.ready.lane(message.priority(), message.is_journaled());
            if lane.has_in_range(seq, place) {
                if !is_alive(place) {
                    return Take::Missing;
                }
                lane.take_from_range(seq, place, message.len());
                self.note_taken(seq, message);
                return Take::Taken(message.clone());
            }
        }
        let loads: Vec<Load> = self.ready.lanes().flat_map(|lane| lane.seek(seq)).collect();
        if loads.is_empty() { Take::Missing } else { Take::Unread(loads) }
    }

    /// Whether a message is ready, as far as that is known without reading segments; `None`: it may be.
    pub fn is_ready(&self, seq: QueueSeq) -> Option<bool> {
        if self.unacked.holder_of(seq).is_some() {
            return Some(false);
        }
        if self.ready.lanes().any(|lane| lane.has_in_memory(seq)) {
            return Some(true);
        }
        let may_be_paged = self.ready.lanes().flat_map(Lane::ranges).any(|range| range.may_hold(seq));
        (!may_be_paged).then_some(false)
    }

    fn note_taken(&mut self, seq: QueueSeq, message: &M) {
        self.ready.count -= 1;
        self.ready.bytes -= u64::from(message.len());
        self.counts.forget(seq);
        if let Some(groups) = &mut self.ready.groups {
            groups.forget(Key::new(message.priority(), seq));
        }
    }
}
