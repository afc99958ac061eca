//! What a queue should hold and do next, in sorted vectors and maps.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use ::model::ids::{Place, QueueSeq};
use ::queue::{Consumer, ConsumerId, Message};

use crate::fixture::{Disk, Door, Note};

#[derive(Default)]
pub(super) struct Model {
    pub(super) next_seq: u64,
    /// Every message that is ready or unacked.
    pub(super) messages: BTreeMap<QueueSeq, Known>,
    pub(super) ready: BTreeSet<QueueSeq>,
    pub(super) unacked: BTreeMap<QueueSeq, Option<ConsumerId>>,
    pub(super) handed_out: BTreeSet<QueueSeq>,
    pub(super) consumers: HashMap<ConsumerId, Taker>,
    /// Those who can take a message, by priority, next first.
    pub(super) turns: BTreeMap<i32, Vec<ConsumerId>>,
}

pub(super) struct Known {
    pub(super) note: Note,
    pub(super) place: Option<Place>,
}

pub(super) struct Taker {
    pub(super) consumer: Consumer<Door>,
    pub(super) door: Door,
    pub(super) times: u32,
    pub(super) unacked: u16,
    pub(super) is_parked: bool,
}

impl Taker {
    pub(super) fn has_credit(&self) -> bool {
        self.consumer.no_ack || self.consumer.prefetch == 0 || self.unacked < self.consumer.prefetch
    }
}

impl Model {
    pub(super) fn is_waiting(&self) -> bool {
        self.turns.values().flatten().any(|id| self.consumers[id].times > 0)
    }

    /// Who gets the next message. Those before him whose gate refuses leave the turns.
    pub(super) fn next_taker(&mut self) -> Option<ConsumerId> {
        for turns in self.turns.values_mut().rev() {
            while !turns.is_empty() {
                let id = turns.remove(0);
                let taker = self.consumers.get_mut(&id).unwrap();
                if taker.times == 0 {
                    assert!(taker.door.take_refused(), "{id:?} was passed over without being asked");
                    taker.is_parked = true;
                    continue;
                }
                taker.times -= 1;
                taker.unacked += u16::from(!taker.consumer.no_ack);
                if taker.has_credit() {
                    turns.push(id);
                }
                return Some(id);
            }
        }
        None
    }

    pub(super) fn give_credit(&mut self, holder: Option<ConsumerId>) {
        let Some((id, taker)) = holder.and_then(|id| Some((id, self.consumers.get_mut(&id)?))) else { return };
        let had_credit = taker.has_credit();
        taker.unacked -= 1;
        if !had_credit && taker.has_credit() && !taker.is_parked {
            self.turns.entry(taker.consumer.priority).or_default().push(id);
        }
    }

    /// The head is handed out. Whether it had been before.
    pub(super) fn hand_out(
        &mut self,
        seq: QueueSeq,
        note: &Note,
        holder: Option<Option<ConsumerId>>,
        disk: &mut Disk,
    ) -> bool {
        assert_eq!(self.ready.pop_first(), Some(seq), "the lowest seq goes first");
        assert_eq!(note.name(), self.messages[&seq].note.name());
        assert!(note.has_body(), "a message without its body was handed out");
        match holder {
            Some(holder) => {
                self.unacked.insert(seq, holder);
            }
            None => self.forget(seq, note, disk),
        }
        !self.handed_out.insert(seq)
    }

    /// A message is gone.
    pub(super) fn forget(&mut self, seq: QueueSeq, note: &Note, disk: &mut Disk) {
        let known = self.messages.remove(&seq).unwrap();
        assert_eq!(note.name(), known.note.name());
        assert_eq!(note.place(), known.place, "place of {seq}");
        if let Some(place) = known.place {
            disk.settle(place);
        }
    }

    pub(super) fn is_journalled(&self, seq: QueueSeq) -> bool {
        self.messages[&seq].note.is_journalled()
    }

    pub(super) fn bytes<'a>(&self, seqs: impl IntoIterator<Item = &'a QueueSeq>) -> u64 {
        seqs.into_iter().map(|seq| u64::from(self.messages[seq].note.len())).sum()
    }
}
