//! What a queue should hold and do next, in sorted vectors and maps.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use ::model::ids::{Place, QueueSeq};
use ::queue::{Consumer, ConsumerId, Counts, Credit, DrainedCredit, DropReason, Message, Rules};

use crate::fixture::{Disk, Door, Note};

#[derive(Default)]
pub(super) struct Model {
    pub(super) next_seq: u64,
    /// Every message that is ready or unacked.
    pub(super) messages: BTreeMap<QueueSeq, KnownKey>,
    pub(super) ready: BTreeSet<QueueSeq>,
    pub(super) unacked: BTreeMap<QueueSeq, Option<ConsumerId>>,
    /// Dropped, and not elsewhere yet.
    pub(super) leaving: BTreeMap<QueueSeq, (DropReason, Counts)>,
    /// Waiting to be tried again, and until when.
    pub(super) waiting: BTreeMap<QueueSeq, u64>,
    /// Ready ones that waited when the process ended: they are set aside when their turn comes.
    pub(super) waits_again: BTreeMap<QueueSeq, u64>,
    pub(super) counts: BTreeMap<QueueSeq, Counts>,
    pub(super) handed_out: BTreeSet<QueueSeq>,
    pub(super) rules: Rules,
    /// The queue's time to live, from each seq on.
    pub(super) ttls: Vec<(QueueSeq, Option<u64>)>,
    /// Messages from here on have come since the last dispatch.
    pub(super) fresh_from: u64,
    pub(super) now_ms: u64,
    pub(super) is_single_active: bool,
    /// In the order in which they came.
    pub(super) arrivals: Vec<ConsumerId>,
    pub(super) active: Option<ConsumerId>,
    pub(super) consumers: HashMap<ConsumerId, Taker>,
    /// Drains that have ended as soon as they were asked for.
    pub(super) drained: Vec<DrainedCredit>,
    /// By which header messages are in groups.
    pub(super) header: Option<String>,
    /// The groups of messages that are unacked or wait; some are no longer either.
    pub(super) grouped: BTreeMap<QueueSeq, u64>,
    /// Messages that were overtaken before groups changed.
    pub(super) may_be_redelivered: BTreeSet<QueueSeq>,
    /// Consumers that can take a message, by priority, next first.
    pub(super) turns: BTreeMap<i32, Vec<ConsumerId>>,
}

pub(super) struct KnownKey {
    pub(super) note: Note,
    pub(super) place: Option<Place>,
}

#[derive(Debug)]
pub(super) struct Taker {
    pub(super) consumer: Consumer<Door>,
    pub(super) door: Door,
    pub(super) times: u32,
    pub(super) unacked: u32,
    pub(super) is_parked: bool,
    /// Deliveries ever.
    pub(super) delivered: u64,
    /// Where its credit is granted.
    pub(super) grants: Option<Grants>,
}

/// What a consumer has granted, counted from when it came.
#[derive(Debug, Default)]
pub(super) struct Grants {
    pub(super) granted: u64,
    pub(super) drained: u64,
    pub(super) is_draining: bool,
}

impl Taker {
    pub(super) fn new(consumer: Consumer<Door>, times: u32) -> Self {
        let grants = consumer.credit.is_granted().then(Grants::default);
        let door = consumer.gate.clone();
        Taker { consumer, door, times, unacked: 0, is_parked: false, delivered: 0, grants }
    }

    pub(super) fn has_credit(&self) -> bool {
        match &self.grants {
            Some(_) => self.left() > 0,
            None => self.consumer.no_ack || self.consumer.credit.left().is_none_or(|window| self.unacked < window),
        }
    }

    /// How much of what it granted is neither delivered nor given back.
    pub(super) fn left(&self) -> u64 {
        self.grants.as_ref().map_or(0, |grants| grants.granted - grants.drained - self.delivered)
    }

    /// All that is left is given back.
    pub(super) fn end_drain(&mut self, consumer: ConsumerId) -> DrainedCredit {
        let left = self.left();
        let grants = self.grants.as_mut().unwrap();
        assert!(grants.is_draining, "{consumer:?} does not drain");
        (grants.drained, grants.is_draining) = (grants.drained + left, false);
        let delivery_count = self.delivered + grants.drained;
        DrainedCredit { consumer, count: left as u32, delivery_count: self.count(delivery_count) }
    }

    pub(super) fn is_draining(&self) -> bool {
        self.grants.as_ref().is_some_and(|grants| grants.is_draining)
    }

    /// A delivery count as the queue has it.
    pub(super) fn count(&self, count: u64) -> u32 {
        self.consumer.credit.delivery_count().wrapping_add(count as u32)
    }

    /// It is handed a message.
    pub(super) fn take(&mut self) {
        assert!(self.has_credit());
        self.times -= 1;
        self.delivered += 1;
        self.unacked += u32::from(!self.consumer.no_ack);
    }

    /// Its credit in the queue.
    pub(super) fn check(&self, credit: Credit) {
        let Some(grants) = &self.grants else {
            let window = self.consumer.credit.left().filter(|_| !self.consumer.no_ack);
            assert_eq!(credit.left(), window.map(|window| window - self.unacked), "what is left of the window");
            return;
        };
        assert_eq!(credit.left(), Some(self.left() as u32), "what is left of the grant");
        assert_eq!(credit.delivery_count(), self.count(self.delivered + grants.drained));
        assert_eq!(credit.is_draining(), grants.is_draining);
    }
}

impl Model {
    pub(super) fn is_waiting(&self) -> bool {
        self.turns.values().flatten().any(|id| self.consumers[id].times > 0)
    }

    /// The consumer that gets the next message. Those before it whose gate refuses leave the turns.
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
                taker.take();
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

    /// The ready message that is delivered next, and those of each priority.
    pub(super) fn head(&self) -> Option<QueueSeq> {
        self.ready.iter().copied().min_by_key(|seq| (Reverse(self.priority(*seq)), *seq))
    }

    pub(super) fn priority(&self, seq: QueueSeq) -> u8 {
        self.messages[&seq].note.priority()
    }

    /// The first ready messages of all priorities, the highest first.
    pub(super) fn heads(&self) -> Vec<QueueSeq> {
        let mut heads: BTreeMap<Reverse<u8>, QueueSeq> = BTreeMap::new();
        for seq in &self.ready {
            heads.entry(Reverse(self.priority(*seq))).or_insert(*seq);
        }
        heads.into_values().collect()
    }

    pub(super) fn expiry(&self, seq: QueueSeq) -> Option<u64> {
        let queues = self.ttls.iter().rev().find(|(from, _)| *from <= seq).and_then(|(_, ttl_ms)| *ttl_ms);
        let (ttl_ms, entered_at_ms) = self.messages[&seq].note.time();
        queues.into_iter().chain(ttl_ms).min().map(|ttl_ms| entered_at_ms + ttl_ms)
    }

    /// Whether more is ready than may be.
    pub(super) fn is_beyond(&self) -> bool {
        let Rules { length_max, bytes_max, refuses_beyond, .. } = self.rules;
        let is_beyond = length_max.is_some_and(|max| self.ready.len() as u64 > max)
            || bytes_max.is_some_and(|max| self.bytes(&self.ready) > max);
        is_beyond && !refuses_beyond
    }

    /// Whether the message alone is more than may be ready.
    pub(super) fn fits_never(&self, seq: QueueSeq) -> bool {
        let Rules { length_max, bytes_max, .. } = self.rules;
        length_max == Some(0) || bytes_max.is_some_and(|max| self.bytes([&seq]) > max)
    }

    /// A ready or unacked message was dropped.
    pub(super) fn drop_message(&mut self, seq: QueueSeq, note: &Note, reason: DropReason, disk: &mut Disk) {
        let counts = self.counts.remove(&seq).unwrap_or_default();
        self.waits_again.remove(&seq);
        if self.rules.keeps_dropped {
            self.leaving.insert(seq, (reason, counts));
        } else {
            self.forget(seq, note, disk);
        }
    }

    /// The consumer that is to be active now, if only one may be.
    pub(super) fn choose_active(&mut self) {
        if !self.is_single_active || self.active.is_some() {
            return;
        }
        let consumers = &self.consumers;
        let next = self.arrivals.iter().copied().min_by_key(|id| Reverse(consumers[id].consumer.priority));
        self.active = next;
        if let Some(id) = next.filter(|id| consumers[id].has_credit()) {
            self.turns.entry(self.consumers[&id].consumer.priority).or_default().push(id);
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
        assert_eq!(self.head(), Some(seq), "the lowest seq of the highest priority goes first");
        self.hand_out_any(seq, note, holder, disk)
    }

    /// A ready message is handed out. Whether it had been before.
    pub(super) fn hand_out_any(
        &mut self,
        seq: QueueSeq,
        note: &Note,
        holder: Option<Option<ConsumerId>>,
        disk: &mut Disk,
    ) -> bool {
        self.ready.remove(&seq);
        assert!(self.waits_again.remove(&seq).is_none_or(|until_ms| until_ms <= self.now_ms), "{seq} was to wait");
        assert_eq!(note.name(), self.messages[&seq].note.name());
        assert!(note.has_body(), "a message without its body was handed out");
        match holder {
            Some(holder) => {
                self.unacked.insert(seq, holder);
            }
            None => {
                self.counts.remove(&seq);
                self.forget(seq, note, disk);
            }
        }
        !self.handed_out.insert(seq)
    }

    /// The head waits on, as it did when the process ended. Whether it does.
    pub(super) fn wait_again(&mut self) -> bool {
        let Some(seq) = self.head() else { return false };
        let Some(until_ms) = self.waits_again.get(&seq).copied().filter(|until_ms| *until_ms > self.now_ms) else {
            return false;
        };
        self.waits_again.remove(&seq);
        self.ready.remove(&seq);
        self.waiting.insert(seq, until_ms);
        true
    }

    /// What is in memory waits on, as it did when the process ended.
    pub(super) fn resume_waits(&mut self) {
        let (messages, now_ms) = (&self.messages, self.now_ms);
        let waits = |seq: &QueueSeq, until_ms: &mut u64| *until_ms > now_ms && messages[seq].place.is_none();
        let resumed: Vec<_> = self.waits_again.extract_if(.., waits).collect();
        for (seq, until_ms) in resumed {
            self.ready.remove(&seq);
            self.waiting.insert(seq, until_ms);
            if self.header.is_some() {
                self.note_group(seq);
            }
        }
    }

    /// A message has left.
    pub(super) fn forget(&mut self, seq: QueueSeq, note: &Note, disk: &mut Disk) {
        self.waits_again.remove(&seq);
        let known = self.messages.remove(&seq).unwrap();
        assert_eq!(note.name(), known.note.name());
        assert_eq!(note.place(), known.place, "place of {seq}");
        if let Some(place) = known.place {
            disk.settle(place);
        }
    }

    pub(super) fn is_journaled(&self, seq: QueueSeq) -> bool {
        self.messages[&seq].note.is_journaled()
    }

    pub(super) fn bytes<'a>(&self, seqs: impl IntoIterator<Item = &'a QueueSeq>) -> u64 {
        seqs.into_iter().map(|seq| u64::from(self.messages[seq].note.len())).sum()
    }
}
