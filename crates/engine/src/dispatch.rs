//! What queues are asked under their locks: to hand out, to take back, to give up, to purge; and what follows from it for the journal, for
//! segments and for keys of messages.

use model::ids::{Place, QueueSeq};
use std::sync::Arc;

use queue::{DroppedMessage, Get, Message, Return, SeenMessage, Take};
use store::{RecordBatch, Returns};

use crate::dead_letters::DeadLetter;
use crate::outbox::{ConnectionEvent, Outbox};
use crate::position::{Position, Positions};
use crate::queue_handle::QueueHandle;
use crate::queued_message::QueuedMessage;
use crate::shard::QueueEntry;
use crate::tap::{Kind, NoteOf};
use crate::work::{RequestedRead, Run, Work};
use model::ids::QueueId;

/// Whether messages are given up for the first time, or have found no place then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Why {
    First,
    Again,
}

/// Joins neighbours into ranges, so that a thousand acks in a row are one record.
#[derive(Debug, Default)]
pub(crate) struct Ranges {
    current: Option<(QueueSeq, QueueSeq)>,
}

impl Ranges {
    #[inline]
    pub(crate) fn push(&mut self, seq: QueueSeq, mut emit: impl FnMut(QueueSeq, QueueSeq)) {
        match &mut self.current {
            Some((_, last)) if last.0 + 1 == seq.0 => *last = seq,
            current => {
                if let Some((first, last)) = current.replace((seq, seq)) {
                    emit(first, last);
                }
            }
        }
    }

    pub(crate) fn end(self, mut emit: impl FnMut(QueueSeq, QueueSeq)) {
        if let Some((first, last)) = self.current {
            emit(first, last);
        }
    }
}

impl Work<'_> {
    /// Hands out what the queue has ready to consumers that can take it, and lets go what has expired or is too much. `store` learns of it
    /// in [`Work::commit`].
    pub fn dispatch(&mut self, entry: &mut QueueEntry) {
        let start = self.section_effects.queue_effects.deliveries.len();
        let now_ms = if entry.queue.is_timed() { self.now_ms() } else { 0 };
        entry.queue.dispatch(now_ms, &mut self.section_effects.queue_effects);
        self.take_effects(entry);
        if !self.section_effects.queue_effects.drained.is_empty() {
            self.take_drained(entry);
        }
        if entry.queue.is_timed() {
            self.set_timer(entry);
        }
        if self.section_effects.queue_effects.deliveries.len() == start {
            return;
        }
        if !entry.probes.is_empty() {
            self.time_deliveries(entry, start);
        }
        let hold_until = self.deliveries_wait_until(entry);
        let waits_for_majority = self.waits_for_majority(entry);
        let mut settled = Ranges::default();
        let id = entry.handle.id();
        let (mut redelivered_count, mut no_ack_count) = (0, 0);
        let mut current: Option<(queue::ConsumerId, usize)> = None;
        for (index, delivery) in self.section_effects.queue_effects.deliveries.iter().enumerate().skip(start) {
            redelivered_count += u64::from(delivery.redelivered);
            no_ack_count += u64::from(delivery.no_ack);
            if delivery.no_ack && delivery.message.is_journaled() {
                settled.push(delivery.seq, |first, last| self.section_effects.records.settle(id, first, last));
                self.section_effects.places.extend(delivery.message.place());
            } else if delivery.no_ack {
                self.section_effects.places.extend(delivery.message.place());
            }
            if delivery.no_ack
                && let Some(set) = &mut entry.key_set
            {
                set.free(delivery.seq, &mut self.section_effects.records);
            }
            match current {
                Some((consumer, run)) if consumer == delivery.consumer => {
                    self.section_effects.runs[run].end = index + 1
                }
                _ => {
                    let gate =
                        &entry.queue.consumer(delivery.consumer).expect("a delivery has a consumer").consumer.gate;
                    current = Some((delivery.consumer, self.section_effects.runs.len()));
                    self.section_effects.runs.push(Run {
                        outbox: gate.outbox.clone(),
                        consumer: gate.consumer,
                        end: index + 1,
                        hold_until,
                        waits_for_majority,
                    });
                }
            }
        }
        settled.end(|first, last| self.section_effects.records.settle(id, first, last));
        let count = (self.section_effects.queue_effects.deliveries.len() - start) as u64;
        entry.handle.count_delivered(count, no_ack_count, redelivered_count);
    }

    /// Until when deliveries of a queue, which has just been dispatched, have to wait: opens its watermark if they go beyond it. Appended
    /// at once, for the next section that dispatches the queue must know the position; it is rare.
    pub fn deliveries_wait_until(&mut self, entry: &mut QueueEntry) -> Positions {
        let QueueEntry { watermark, queue, handle, .. } = entry;
        let covered = watermark.cover(queue.last_delivered(), || self.open_watermark(handle));
        let position = match self.engine.is_replicated {
            true => Positions::from(covered).and(self.majority_has_it_by(entry)),
            false => covered.into(),
        };
        if position.is_empty() || self.engine.durable().reach_all(position) { Positions::NONE } else { position }
    }

    /// Whether a queue hands out only what a majority of the cluster's nodes has: a quorum queue of a cluster, as RabbitMQ's do, and any
    /// while messages are on their way to it that arrive as a whole.
    fn waits_for_majority(&self, entry: &QueueEntry) -> bool {
        self.engine.is_replicated && (entry.handle.is_quorum() || self.section_effects.is_whole)
    }

    /// Until when deliveries of a queue of a cluster wait for a majority of the nodes.
    fn majority_has_it_by(&self, entry: &QueueEntry) -> Positions {
        match self.waits_for_majority(entry) {
            true => self.engine.journal_end(),
            false => entry.whole_by,
        }
    }

    /// A consumer came to a queue with a closed watermark: opens it now, so that it is durable by the time a message comes.
    pub fn preopen_watermark(&mut self, entry: &mut QueueEntry) {
        let QueueEntry { watermark, handle, .. } = entry;
        watermark.preopen(|| self.open_watermark(handle));
    }

    fn open_watermark(&mut self, handle: &Arc<QueueHandle>) -> Position {
        self.engine.open_watermarks.lock().push(handle.clone());
        if self.section_effects.is_whole {
            // What has been gathered is to be in one batch with what comes: the mark precedes it.
            let mut records = RecordBatch::new();
            records.watermark(handle.id(), None);
            return self.append_before(&mut records);
        }
        self.section_effects.records.watermark(handle.id(), None);
        self.append()
    }

    /// Gives messages back that were handed out. Dispatch after it.
    pub fn give_back(&mut self, entry: &mut QueueEntry, seqs: &[QueueSeq], how: Return) {
        if self.wanted.has(Kind::Requeued) {
            self.note_given_back(entry, seqs, false);
        }
        let now_ms = if entry.queue.is_timed() { self.now_ms() } else { 0 };
        entry.queue.requeue(seqs, how, now_ms, &mut self.section_effects.queue_effects);
        self.take_effects(entry);
    }

    /// The same, and hands them out again.
    pub fn requeue(&mut self, entry: &mut QueueEntry, seqs: &[QueueSeq], how: Return) {
        self.give_back(entry, seqs, how);
        self.dispatch(entry);
    }

    /// Takes messages away from the consumers that have them, so that none gets them again.
    pub fn reject(&mut self, entry: &mut QueueEntry, seqs: &[QueueSeq], has_failed: bool) {
        if self.wanted.has(Kind::Rejected) {
            self.note_given_back(entry, seqs, true);
        }
        entry.queue.reject(seqs, has_failed, &mut self.section_effects.queue_effects);
        self.take_effects(entry);
    }

    /// The answer to a load. Dispatch after it. Says how many messages are lost.
    pub(crate) fn loaded(
        &mut self,
        entry: &mut QueueEntry,
        load: &queue::Load,
        entries: Vec<(QueueSeq, QueuedMessage)>,
        next_slot: u32,
        lost: &[(u32, u32)],
    ) -> u64 {
        entry.handle.count_read(entries.len() as u64);
        let lost_count = entry.queue.lose(load, lost)
            + entry.queue.loaded(load, entries, next_slot, &mut self.section_effects.queue_effects);
        self.take_effects(entry);
        if lost_count > 0 && !entry.line.is_empty() {
            // Those behind a lost one wait for it no longer.
            self.republish_later(entry);
        }
        lost_count
    }

    /// Gives up messages once more that were set aside and could not be brought elsewhere.
    pub(crate) fn retry_dead_letters(&mut self, entry: &mut QueueEntry, seqs: &[QueueSeq]) {
        entry.queue.retry_dead_letters(seqs, &mut self.section_effects.queue_effects);
        self.take_effects_of(entry, Why::Again);
    }

    /// Takes everything back from consumers that hold a message for too long, and notifies them.
    pub(crate) fn time_out(&mut self, entry: &mut QueueEntry, now_ms: u64) {
        for consumer in entry.queue.time_out(now_ms, &mut self.section_effects.queue_effects) {
            let (consumer, outbox) = (consumer.gate.consumer, consumer.gate.outbox);
            outbox.notify(ConnectionEvent::ConsumerTimedOut { consumer, queue: entry.handle.id() });
        }
        self.take_effects(entry);
        if entry.queue.takes_back_more() {
            // Whatever rules the queue has been given meanwhile.
            self.set_timer(entry);
        }
    }

    /// The queue has been used: it expires later.
    pub fn note_used(&mut self, entry: &mut QueueEntry) {
        if entry.queue.is_timed() {
            entry.queue.note_used(self.now_ms());
            self.set_timer(entry);
        }
    }

    /// Takes the head, for `basic.get`. Where it has to be read first, that is asked for, and `waiter` is woken when it is there. Also says
    /// until when the message has to wait for the journal.
    pub fn get(
        &mut self,
        entry: &mut QueueEntry,
        no_ack: bool,
        waiter: &Arc<Outbox>,
    ) -> (Get<QueuedMessage>, Positions) {
        let now_ms = if entry.queue.is_timed() { self.now_ms() } else { 0 };
        entry.queue.note_used(now_ms);
        let got = entry.queue.get(no_ack, now_ms, &mut self.section_effects.queue_effects);
        self.take_effects(entry);
        if entry.queue.is_timed() {
            self.set_timer(entry);
        }
        let mut wait_until = Positions::NONE;
        match &got {
            Get::Message(got) => {
                wait_until = self.deliveries_wait_until(entry);
                if no_ack {
                    self.let_go(entry, [(got.seq, got.message.clone())]);
                }
                entry.handle.count_got(no_ack, got.redelivered);
            }
            Get::Loading(load) => {
                entry.load_waiters.push(waiter.clone());
                if let Some(load) = load {
                    self.want(entry.handle.id(), load.clone());
                }
            }
            Get::Empty => entry.handle.count_got_empty(),
        }
        (got, wait_until)
    }

    /// Messages that were handed out have been acknowledged.
    pub fn ack(&mut self, entry: &mut QueueEntry, seqs: &[QueueSeq]) {
        let from = self.section_effects.settled.len();
        entry.queue.settle(seqs, &mut self.section_effects.settled);
        entry.handle.count_acked((self.section_effects.settled.len() - from) as u64);
        if self.wanted.has(Kind::Acked) {
            self.note_acked(entry, from);
        }
        self.settle(entry, from);
    }

    /// Carries out what a queue asks for besides deliveries.
    pub(crate) fn take_effects(&mut self, entry: &mut QueueEntry) {
        self.take_effects_of(entry, Why::First);
    }

    fn take_effects_of(&mut self, entry: &mut QueueEntry, why: Why) {
        let id = entry.handle.id();
        self.section_effects
            .wanted
            .extend(self.section_effects.queue_effects.loads.drain(..).map(|load| RequestedRead { queue: id, load }));
        for returned in self.section_effects.queue_effects.returned.drain(..).filter(|returned| returned.is_journaled) {
            let returns = Returns { counts: returned.counts, waits_until_ms: returned.waits_until_ms };
            self.section_effects.records.returned(id, returned.seq, returns);
        }
        if !self.section_effects.queue_effects.dropped.is_empty()
            || !self.section_effects.queue_effects.leaving.is_empty()
        {
            self.take_dropped(entry, why);
        }
    }

    fn take_dropped(&mut self, entry: &mut QueueEntry, why: Why) {
        let from = self.section_effects.settled.len();
        let is_kept = entry.queue.rules().keeps_dropped;
        if why == Why::First {
            self.section_effects
                .queue_effects
                .dropped
                .iter()
                .for_each(|dropped| entry.handle.count_died(dropped.reason));
            if self.wanted.has(Kind::Expired) || self.wanted.has(Kind::Dropped) {
                self.note_given_up(entry);
            }
        }
        if !is_kept {
            self.section_effects.settled.extend(
                self.section_effects.queue_effects.dropped.drain(..).map(|dropped| (dropped.seq, dropped.message)),
            );
        }
        self.line_up(entry);
        self.section_effects.settled[from..].sort_unstable_by_key(|(seq, _)| *seq);
        self.settle(entry, from);
    }

    /// What leaves takes its place in the queue's line.
    fn line_up(&mut self, entry: &mut QueueEntry) {
        let handle = entry.handle.clone();
        let leaver = |dropped: DroppedMessage<QueuedMessage>| {
            let DroppedMessage { seq, message, reason, counts } = dropped;
            DeadLetter { queue: handle.clone(), seq: Some(seq), content: message.into_content(), reason, counts }
        };
        let mut dropped = self.section_effects.queue_effects.dropped.drain(..).peekable();
        for seq in self.section_effects.queue_effects.leaving.drain(..) {
            match dropped.next_if(|dropped| dropped.seq == seq) {
                Some(dropped) => entry.line.push(leaver(dropped)),
                None => entry.line.announce(seq),
            }
        }
        dropped.for_each(|dropped| entry.line.fill(leaver(dropped)));
        if !entry.line.is_empty() {
            self.republish_later(entry);
        }
    }

    /// Notes delayed messages that have left for good: journals them and marks their slots.
    pub(crate) fn settle_delayed<'m>(
        &mut self,
        records: &[(QueueId, QueueSeq, QueueSeq)],
        messages: impl Iterator<Item = &'m QueuedMessage>,
    ) {
        records
            .iter()
            .for_each(|(generation, first, last)| self.section_effects.records.settle(*generation, *first, *last));
        self.section_effects.places.extend(messages.filter_map(Message::place));
    }

    /// Takes one message out of the middle of a queue, as it was seen. It is the caller's to let it go ([`Work::let_go`]).
    pub fn take_seen(&mut self, entry: &mut QueueEntry, seen: &SeenMessage<QueuedMessage>) -> Take<QueuedMessage> {
        let read = seen.message.place().map(|_: Place| &seen.message);
        entry.queue.take(seen.position.seq, read, |place| self.engine.store.is_alive(place))
    }

    /// Lets go for good of messages that have been taken out of a queue. Returns how many there were.
    pub fn let_go(
        &mut self,
        entry: &mut QueueEntry,
        messages: impl IntoIterator<Item = (QueueSeq, QueuedMessage)>,
    ) -> u64 {
        let from = self.section_effects.settled.len();
        self.section_effects.settled.extend(messages);
        self.section_effects.settled[from..].sort_unstable_by_key(|(seq, _)| *seq);
        let count = self.section_effects.settled.len() - from;
        self.settle(entry, from);
        count as u64
    }

    /// Removes some of what is ready from the queue, and says how much that was: where that is very much, before [`Work::purge`] removes
    /// the rest. Nothing where it is not to be had in pieces.
    pub fn purge_some(&mut self, entry: &mut QueueEntry, count_max: usize) -> u64 {
        let from = self.section_effects.settled.len();
        let count = entry.queue.purge_some(count_max, &mut self.section_effects.settled);
        self.section_effects.settled[from..].sort_unstable_by_key(|(seq, _)| *seq);
        self.settle(entry, from);
        if self.wanted.has(Kind::Purged) && count > 0 {
            self.note(&entry.handle, None, None, NoteOf::Purged(count));
        }
        count
    }

    /// Removes all that is ready from the queue, and says how much that was.
    pub fn purge(&mut self, entry: &mut QueueEntry) -> u64 {
        let id = entry.handle.id();
        let mut purged = queue::PurgedMessages::default();
        let count = entry.queue.purge(&mut purged);
        if self.wanted.has(Kind::Purged) {
            self.note(&entry.handle, None, None, NoteOf::Purged(count));
        }
        if let Some(set) = &mut entry.key_set
            && set.is_while_waiting()
        {
            set.forget_all_but(
                &purged.kept,
                &self.engine.queue_ids,
                &mut self.section_effects.keys,
                &mut self.section_effects.records,
            );
        }
        for range in purged.ranges.iter().filter(|range| !range.segment.is_transient()) {
            let mut first = range.first_seq;
            let start = purged.kept.partition_point(|kept| *kept < first);
            for &kept in purged.kept[start..].iter().take_while(|kept| **kept <= range.last_seq) {
                if first < kept {
                    self.section_effects.records.settle(id, first, QueueSeq(kept.0 - 1));
                }
                first = kept.next();
            }
            if first <= range.last_seq {
                self.section_effects.records.settle(id, first, range.last_seq);
            }
        }
        self.section_effects.ranges.append(&mut purged.ranges);
        let from = self.section_effects.settled.len();
        self.section_effects.settled.append(&mut purged.messages);
        // Dead letters that have found no other queue are this one's.
        let stuck: Vec<_> = std::mem::take(&mut entry.stuck).into_iter().map(|stuck| stuck.seq).collect();
        entry.queue.remove_dead_lettered(&stuck, &mut self.section_effects.settled);
        self.section_effects.settled[from..].sort_unstable_by_key(|(seq, _)| *seq);
        self.settle(entry, from);
        count + stuck.len() as u64
    }

    /// Notes messages that have left a queue for good: journals them, marks their slots and frees their keys.
    pub fn settle(&mut self, entry: &mut QueueEntry, from: usize) {
        let id = entry.handle.id();
        let mut ranges = Ranges::default();
        for (seq, message) in &self.section_effects.settled[from..] {
            if message.is_journaled() {
                ranges.push(*seq, |first, last| self.section_effects.records.settle(id, first, last));
            }
            self.section_effects.places.extend(message.place());
        }
        ranges.end(|first, last| self.section_effects.records.settle(id, first, last));
        if let Some(set) = &mut entry.key_set {
            self.section_effects.settled[from..]
                .iter()
                .for_each(|(seq, _)| set.free(*seq, &mut self.section_effects.records));
            let queue = &entry.queue;
            let is_empty = queue.is_empty() && queue.unacked_count() + queue.set_aside_count() == 0;
            if is_empty && set.is_while_waiting() && !set.is_empty() {
                // Those of messages that a damaged segment has lost, and of others that leave with these.
                set.forget_all(&mut self.section_effects.keys, &mut self.section_effects.records);
            }
        }
    }
}
