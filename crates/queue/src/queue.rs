//! The state machine: publish, dispatch, get, settle, purge.
//!
//! What the queue drops is in `dropping`, what comes back in `returning`.

use std::num::NonZeroU32;

use model::ids::QueueSeq;

use crate::consumer_timeout::HeldDeliveries;
use crate::consumers::{ConsumeError, Consumer, ConsumerId, ConsumerView, Consumers, Gate, Turn};
use crate::effects::{Counts, Delivery, Effects};
use crate::expiry::TtlHistory;
use crate::lane::{Head, Lane, Load, Source};
use crate::limits::{LAG_LEN, MESSAGE_OVERHEAD};
use crate::message::Message;
use crate::ranges::PagedRange;
use crate::ready::{Front, Ready};
use crate::requeue::ReturnCounts;
use crate::rules::Rules;
use crate::set_aside::SetAside;
use crate::unacked::Unacked;

/// What was asked for when the queue was declared, as far as it never changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Settings {
    /// The queue is deleted when its last consumer leaves.
    pub auto_delete: bool,
    /// One consumer at a time gets messages.
    pub single_active_consumer: bool,
    /// It follows the rules of quorum queues: what came back is delivered first, in the order in which it came back; a single active
    /// consumer gives way to one of a higher priority.
    pub is_quorum: bool,
}

/// What recovery knows of a queue. Nothing of it is trusted to be sorted.
#[derive(Debug)]
pub struct RestoredQueue<M> {
    /// The seq that the next message gets.
    pub next_seq: QueueSeq,
    /// The highest seq that may have been handed out before; `None` if any may have been.
    pub watermark: Option<QueueSeq>,
    /// Messages in segments, each range with its messages' priority.
    pub ranges: Vec<(u8, PagedRange)>,
    /// Messages in memory.
    pub messages: Vec<(QueueSeq, M)>,
    /// Those that had come back: their counts, and until when each waits, in milliseconds since 1970; 0: not at all.
    pub returned: Vec<(QueueSeq, Counts, u64)>,
    /// Whether some message in the ranges may have a time to live of its own.
    pub may_expire: bool,
}

/// What [`Queue::get`] found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Get<M> {
    /// No ready message.
    Empty,
    /// The head.
    Message(FetchedMessage<M>),
    /// The head must be loaded first: ask again after the next [`Queue::loaded`]. `None` if that load has been asked for
    /// already, or if so many were dropped before it that the rest is for the next time.
    Loading(Option<Load>),
}

/// A message taken with [`Queue::get`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchedMessage<M> {
    /// Its position.
    pub seq: QueueSeq,
    /// The message.
    pub message: M,
    /// It may have been handed out before.
    pub redelivered: bool,
    /// How often it has come back.
    pub counts: Counts,
    /// Ready messages that remain.
    pub remaining: u64,
}

/// A queue. See the crate's page.
#[derive(Debug)]
pub struct Queue<M, G> {
    pub(crate) ready: Ready<M>,
    /// Handed out or set aside.
    pub(crate) unacked: Unacked<M>,
    /// What is neither ready nor with a consumer; its messages are in `unacked`. None while there is nothing.
    pub(crate) set_aside: Option<Box<SetAside>>,
    /// None while there are no consumers.
    pub(crate) consumers: Option<Box<Consumers<G>>>,
    pub(crate) next_seq: QueueSeq,
    /// The last dispatch dropped as much as it may; the rest is due.
    pub(crate) drops_more: bool,
    /// Messages from here on have been published since the last dispatch.
    pub(crate) fresh_from: QueueSeq,
    next_consumer: NonZeroU32,
    had_consumer: bool,
    settings: Settings,
    /// None while there are no rules.
    pub(crate) rules: Option<Box<Rules>>,
    pub(crate) ttls: TtlHistory,
    /// Some message that is here may expire.
    pub(crate) may_expire: bool,
    pub(crate) counts: ReturnCounts,
    /// Deliveries, where consumers may hold them for so long only.
    pub(crate) held_deliveries: Option<Box<HeldDeliveries>>,
    pub(crate) has_timed_out: bool,
    /// How many callers are giving back more than they do at once: nothing is handed out until all of it is back.
    pub(crate) returning_count: u32,
    /// An operator has paused it: consumers get nothing.
    is_paused: bool,
    /// Drains go on, or have ended and are not reported. They may also have ended with their consumers.
    pub(crate) has_drains: bool,
    /// When the queue was last used, in milliseconds since 1970.
    pub(crate) used_at_ms: u64,
    /// How often messages in segments have been moved to others: callers that look at them must know.
    pub(crate) move_count: u32,
}

impl<M: Message, G: Gate> Queue<M, G> {
    /// A queue that has not been used.
    pub fn new(settings: Settings) -> Self {
        Queue {
            ready: Ready::new(settings.is_quorum),
            unacked: Unacked::new(),
            set_aside: None,
            consumers: None,
            next_seq: QueueSeq::FIRST,
            drops_more: false,
            fresh_from: QueueSeq::FIRST,
            next_consumer: NonZeroU32::MIN,
            had_consumer: false,
            settings,
            rules: None,
            ttls: TtlHistory::default(),
            may_expire: false,
            counts: ReturnCounts::default(),
            held_deliveries: None,
            has_timed_out: false,
            returning_count: 0,
            is_paused: false,
            has_drains: false,
            used_at_ms: 0,
            move_count: 0,
        }
    }

    /// A queue after a restart. Set its rules and times to live before it is used.
    pub fn restore(settings: Settings, mut restored: RestoredQueue<M>) -> Self {
        let mut queue = Queue::new(settings);
        restored.messages.sort_by_key(|(seq, _)| *seq);
        restored.messages.dedup_by_key(|(seq, _)| *seq);
        let last_in_memory = restored.messages.last().map_or(QueueSeq(0), |(seq, _)| *seq);
        let last_in_ranges = restored.ranges.iter().map(|(_, range)| range.last_seq).max().unwrap_or(QueueSeq(0));
        queue.next_seq = restored.next_seq.max(last_in_memory.next()).max(last_in_ranges.next());
        queue.fresh_from = queue.next_seq;
        let last = QueueSeq(queue.next_seq.0 - 1);
        queue.ready.set_delivered(restored.watermark.unwrap_or(last).min(last));
        queue.may_expire = restored.may_expire || restored.messages.iter().any(|(_, message)| message.has_ttl());
        for (seq, message) in restored.messages {
            queue.ready.publish(seq, message);
        }
        for (priority, range) in restored.ranges {
            queue.ready.page(priority, range, &queue.unacked);
        }
        queue.ready.count += queue.paged_count();
        queue.ready.bytes += queue.paged_bytes();
        queue.counts.restore(restored.returned);
        queue
    }

    /// Other rules from now on. Dispatch after it.
    pub fn set_rules(&mut self, rules: Rules) {
        self.rules = (rules != Rules::default()).then(|| Box::new(rules));
    }

    /// The rules.
    pub fn rules(&self) -> Rules {
        self.rules.as_deref().copied().unwrap_or_default()
    }

    /// From now on consumers get nothing, or get messages again. What they hold stays with them, and [`Queue::get`] still gives. Dispatch
    /// after it.
    pub fn set_paused(&mut self, is_paused: bool) {
        self.is_paused = is_paused;
    }

    /// Whether consumers get nothing.
    pub fn is_paused(&self) -> bool {
        self.is_paused
    }

    /// From now on messages that say the same in the header of this name are a group: while a consumer has messages of it unacked, others
    /// of
    /// it go to no other. `None`: no messages are. What has been handed out before is in no group. Whether that is a change;
    /// dispatch after it.
    pub fn set_groups(&mut self, header: Option<&str>) -> bool {
        let is_changed = self.ready.groups.as_ref().map(|groups| groups.header()) != header;
        if is_changed {
            self.ready.set_groups(header);
        }
        is_changed
    }

    /// Another time to live for the messages from here on, in milliseconds. Whether that is a change. Dispatch after it.
    pub fn set_ttl(&mut self, ttl_ms: Option<u64>) -> bool {
        let is_changed = self.ttls.change(self.next_seq, ttl_ms);
        self.may_expire |= !self.ttls.is_endless();
        is_changed
    }

    /// What holds for the messages that are here already, after a restart.
    pub fn restore_ttls(&mut self, ttls: TtlHistory) {
        self.may_expire |= !ttls.is_endless();
        self.ttls = ttls;
    }

    /// The times to live, each with the seq from which it holds.
    pub fn ttls(&self) -> &TtlHistory {
        &self.ttls
    }

    /// Whether messages in the ranges may have a time to live of their own: what [`RestoredQueue::may_expire`] wants to know.
    pub fn may_expire(&self) -> bool {
        self.may_expire
    }

    /// Appends a message.
    #[inline(always)]
    pub fn publish(&mut self, message: M) -> QueueSeq {
        let seq = self.next_seq;
        self.next_seq = seq.next();
        self.may_expire |= message.has_ttl();
        self.ready.publish(seq, message);
        if let Some(consumers) = &mut self.consumers {
            consumers.published();
        }
        seq
    }

    /// Hands ready messages, highest priority and then lowest seq first, to the consumers: by turns, one message each, among those
    /// of the highest priority that have credit and whose gate opens. Before that, what has waited for long enough is ready
    /// again; after it, what has expired or is too much is dropped, and drains end for which there is nothing.
    ///
    /// Loads are asked for where messages must be read from a segment for this to go on: at once, or soon. Each is asked for
    /// only once. Dispatch again after its answer.
    pub fn dispatch(&mut self, now_ms: u64, effects: &mut Effects<M>) {
        let start = effects.deliveries.len();
        if self.set_aside.is_some() {
            self.end_waits(now_ms);
        }
        if self.returning_count == 0
            && !self.is_paused
            && let Some(mut consumers) = self.consumers.take()
        {
            self.hand_out(&mut consumers, now_ms, effects);
            self.consumers = Some(consumers);
        }
        if self.may_expire || self.rules.is_some() {
            self.drop_head_if_due(now_ms, effects);
        }
        if self.has_drains {
            self.end_drains(start, now_ms, effects);
        }
        self.fresh_from = self.next_seq;
    }

    // By itself: what is inlined around it would take registers from its loop.
    #[inline(never)]
    fn hand_out(&mut self, consumers: &mut Consumers<G>, now_ms: u64, effects: &mut Effects<M>) {
        let start = effects.deliveries.len();
        let goes_on = match self.ready.groups {
            None => self.hand_out_in_order(consumers, now_ms, effects),
            Some(_) => self.hand_out_by_groups(consumers, now_ms, effects),
        };
        if goes_on && (effects.deliveries.len() > start || consumers.is_waiting()) {
            effects.loads.extend(self.ready.lanes_mut().find_map(Lane::ask_ahead));
        }
    }

    /// Says whether the store might be asked to read ahead: not while a read has just been asked for.
    // Always, as with what it calls: every message passes here, and fronts and turns are then never written to memory.
    #[inline(always)]
    fn hand_out_in_order(&mut self, consumers: &mut Consumers<G>, now_ms: u64, effects: &mut Effects<M>) -> bool {
        let is_watchful = self.is_watchful();
        let timeout_ms = self.consumer_timeout_ms();
        while let Some(front) = self.ready.front() {
            let Head { delivered_len, source, .. } = front.head;
            if source == Source::Paged {
                if consumers.is_waiting()
                    && let Some(load) = self.ready.lane_at(&front).ask(true)
                {
                    effects.loads.push(load);
                    return false;
                }
                break;
            }
            if is_watchful {
                if Self::has_dropped_enough(effects) {
                    return false;
                }
                if self.passes_over(&front, now_ms, effects) {
                    continue;
                }
            }
            let Some(turn) = consumers.take_turn(delivered_len) else { break };
            self.deliver(&front, turn, timeout_ms, now_ms, effects);
        }
        true
    }

    /// Hands the message at a front, which is in memory, to the consumer whose turn it is.
    #[inline(always)]
    pub(crate) fn deliver(
        &mut self,
        front: &Front,
        turn: Turn,
        timeout_ms: Option<u64>,
        now_ms: u64,
        effects: &mut Effects<M>,
    ) {
        let seq = front.head.seq;
        let redelivered = self.ready.note_delivered(front);
        let counts = if redelivered { self.counts.of(seq) } else { Counts::default() };
        if turn.no_ack {
            self.counts.forget(seq);
        } else {
            let message = self.ready.peek(front).expect("a front that is handed out is in memory");
            self.unacked.insert(seq, message.without_body(), Some(turn.id));
            if let Some(limit_ms) = timeout_ms {
                self.note_held(seq, turn.id, turn.timeout_ms.unwrap_or(limit_ms), now_ms);
            }
        }
        let (consumer, no_ack) = (turn.id, turn.no_ack);
        let make = |message| Delivery { consumer, seq, message, redelivered, no_ack, counts };
        self.ready.take_into(front, &mut effects.deliveries, make);
    }

    /// Whether messages have to be looked at before they are handed out.
    #[inline]
    pub(crate) fn is_watchful(&self) -> bool {
        self.may_expire || self.counts.has_waits()
    }

    #[inline]
    pub(crate) fn consumer_timeout_ms(&self) -> Option<u64> {
        self.rules.as_deref().and_then(|rules| rules.consumer_timeout_ms)
    }

    /// Adds a consumer. Dispatch after it.
    pub fn consume(&mut self, consumer: Consumer<G>) -> Result<ConsumerId, ConsumeError> {
        let Settings { single_active_consumer, is_quorum, .. } = self.settings;
        match &self.consumers {
            Some(consumers) => consumers.check(&consumer)?,
            None if consumer.exclusive && single_active_consumer => return Err(ConsumeError::InExclusiveUse),
            None => {}
        }
        let consumers =
            self.consumers.get_or_insert_with(|| Box::new(Consumers::new(single_active_consumer, is_quorum)));
        let id = consumers.add(self.next_consumer, consumer);
        self.next_consumer = self.next_consumer.checked_add(1).unwrap_or(NonZeroU32::MIN);
        self.had_consumer = true;
        Ok(id)
    }

    /// Removes a consumer. What it holds stays unacked. Dispatch after it is not needed.
    pub fn cancel(&mut self, consumer: ConsumerId) -> Option<Consumer<G>> {
        let consumers = self.consumers.as_deref_mut()?;
        let cancelled = consumers.remove(consumer);
        if consumers.count() == 0 {
            self.consumers = None;
            self.unload();
        }
        cancelled
    }

    /// The consumer's gate refused, and may open again. Dispatch after it.
    pub fn resume(&mut self, consumer: ConsumerId) {
        if let Some(consumers) = &mut self.consumers {
            consumers.resume(consumer);
        }
        if let Some(groups) = &mut self.ready.groups {
            groups.wake(consumer);
        }
    }

    /// Takes the head; where messages are in groups, the first whose group has no holder.
    pub fn get(&mut self, no_ack: bool, now_ms: u64, effects: &mut Effects<M>) -> Get<M> {
        if self.ready.groups.is_some() {
            return self.get_by_groups(no_ack, now_ms, effects);
        }
        let is_watchful = self.is_watchful();
        let front = loop {
            let Some(front) = self.ready.front() else { return Get::Empty };
            if front.head.source == Source::Paged {
                return Get::Loading(self.ready.lane_at(&front).ask(true));
            }
            if !is_watchful {
                break front;
            }
            if Self::has_dropped_enough(effects) {
                self.drops_more = true;
                return Get::Loading(None);
            }
            if !self.passes_over(&front, now_ms, effects) {
                break front;
            }
        };
        Get::Message(self.take_front(&front, no_ack, now_ms, effects))
    }

    /// Hands the message at a front, which is in memory, to the caller that asked for it.
    pub(crate) fn take_front(
        &mut self,
        front: &Front,
        no_ack: bool,
        now_ms: u64,
        effects: &mut Effects<M>,
    ) -> FetchedMessage<M> {
        let seq = front.head.seq;
        let redelivered = self.ready.note_delivered(front);
        let message = self.ready.take(front);
        let counts = if redelivered { self.counts.of(seq) } else { Counts::default() };
        if no_ack {
            self.counts.forget(seq);
        } else {
            self.unacked.insert(seq, message.without_body(), None);
        }
        if self.may_expire {
            // It may have been all that was in front of what has expired.
            self.drop_expired(now_ms, effects);
        }
        FetchedMessage { seq, message, redelivered, counts, remaining: self.ready.count }
    }

    /// Acks messages that were handed out; appends them to `settled`. Seqs that are not unacked are passed over. Dispatch after
    /// it: consumers may have got credit.
    pub fn settle(&mut self, seqs: &[QueueSeq], settled: &mut Vec<(QueueSeq, M)>) {
        for &seq in seqs {
            let Some((message, _)) = self.take_unacked(seq) else { continue };
            self.counts.forget(seq);
            settled.push((seq, message));
        }
    }

    /// Takes an unacked message from its holder.
    pub(crate) fn take_unacked(&mut self, seq: QueueSeq) -> Option<(M, Option<ConsumerId>)> {
        if self.set_aside.as_ref().is_some_and(|set_aside| set_aside.contains(seq)) {
            return None;
        }
        let (message, holder) = self.unacked.remove(seq)?;
        give_credit(&mut self.consumers, holder);
        if let Some(groups) = &mut self.ready.groups {
            groups.release(seq, holder);
        }
        Some((message, holder))
    }

    /// Removes all unacked messages, for a queue that is being deleted.
    pub fn drain_unacked(&mut self, drained: &mut Vec<(QueueSeq, M)>) {
        for (_, _, holder) in self.unacked.iter() {
            give_credit(&mut self.consumers, holder);
        }
        if let Some(groups) = &mut self.ready.groups {
            groups.release_all();
        }
        self.unacked.drain_into(drained);
        self.set_aside = None;
    }

    /// The answer to a load: the messages in its slots before `next_slot`, each with its place, by ascending seq. Dispatch
    /// after it, whatever it said.
    ///
    /// A load that failed is answered with no message and its own `first_slot`; it will be asked for again.
    /// Answers with the number of messages that should have been there and were not: they are lost.
    pub fn loaded(
        &mut self,
        load: &Load,
        entries: Vec<(QueueSeq, M)>,
        next_slot: u32,
        effects: &mut Effects<M>,
    ) -> u64 {
        if load.is_look() {
            return 0;
        }
        if load.is_single() {
            return self.dead_letter_loaded(load, entries, next_slot, effects);
        }
        let lane = self.ready.lane(load.lane, !load.segment.is_transient());
        let before = (lane.paged_count() + lane.loaded_count(), lane.paged_bytes() + lane.loaded_bytes());
        lane.loaded(load, entries, next_slot);
        let after = (lane.paged_count() + lane.loaded_count(), lane.paged_bytes() + lane.loaded_bytes());
        self.ready.recount(before, after)
    }

    /// What is in these runs `(first, end)` of slots of a load cannot be read, and was not settled. Called before [`Queue::loaded`] with
    /// the same load. Answers with the number of messages that are lost by it; without this they are counted as ready until all behind
    /// them in their segment has been loaded.
    pub fn lose(&mut self, load: &Load, lost: &[(u32, u32)]) -> u64 {
        if lost.is_empty() || load.is_look() || load.is_single() {
            return 0;
        }
        let lane = self.ready.lane(load.lane, !load.segment.is_transient());
        let before = (lane.paged_count(), lane.paged_bytes());
        lane.lose(load, lost);
        let after = (lane.paged_count(), lane.paged_bytes());
        self.ready.recount(before, after)
    }

    /// Whether a load is on its way.
    pub fn is_loading(&self) -> bool {
        self.ready.lanes().any(Lane::is_loading)
    }

    /// Lets go of ready messages that lie in segments too, for when memory is short, and gives up a load that is on its way. They will
    /// be loaded again.
    pub fn unload(&mut self) {
        self.remember_expiries();
        self.ready.unload(&self.unacked);
    }

    /// Whether consumers lag behind publishers though they would take more: much waits, and not for slow consumers' credit.
    pub fn consumers_lag(&mut self) -> bool {
        if self.ready.count == 0 || self.is_paused {
            return false;
        }
        // A header may be longer than the body. It is not counted for each message: those of a queue are mostly alike.
        let front = self.ready.front();
        let header_len = front.map_or(0, |front| front.head.delivered_len.saturating_sub(front.head.len));
        self.ready.bytes + self.ready.count * (MESSAGE_OVERHEAD + u64::from(header_len)) > LAG_LEN
            && self.consumers.as_ref().is_some_and(|consumers| consumers.has_demand())
            // Slower publishers would not help consumers that get nothing because of groups.
            && self.ready.groups.as_ref().is_none_or(|groups| !groups.holds_up)
    }

    /// Messages that wait for a consumer.
    pub fn ready_count(&self) -> u64 {
        self.ready.count
    }

    /// Bytes of their bodies.
    pub fn ready_bytes(&self) -> u64 {
        self.ready.bytes
    }

    /// Messages that were handed out and are not settled.
    pub fn unacked_count(&self) -> u64 {
        self.unacked.count() - self.set_aside_count()
    }

    /// Bytes of their bodies.
    pub fn unacked_bytes(&self) -> u64 {
        self.unacked.bytes() - self.set_aside.as_ref().map_or(0, |set_aside| set_aside.bytes())
    }

    /// Messages that are neither ready nor unacked: on their way elsewhere, or waiting to be tried again.
    pub fn set_aside_count(&self) -> u64 {
        self.set_aside.as_ref().map_or(0, |set_aside| set_aside.count())
    }

    /// Those of them that wait to be tried again.
    pub fn waiting_count(&self) -> u64 {
        self.set_aside.as_ref().map_or(0, |set_aside| set_aside.waiting_count())
    }

    /// Ready messages that are in a segment and not in memory.
    pub fn paged_count(&self) -> u64 {
        self.ready.lanes().map(Lane::paged_count).sum()
    }

    /// Bytes of their bodies.
    pub fn paged_bytes(&self) -> u64 {
        self.ready.lanes().map(Lane::paged_bytes).sum()
    }

    /// The ready messages that are in a segment and not in memory, lane by lane.
    pub fn ranges(&self) -> impl Iterator<Item = &PagedRange> {
        self.ready.lanes().flat_map(Lane::ranges)
    }

    /// Consumers, whether or not they can take messages now.
    pub fn consumer_count(&self) -> u32 {
        self.consumers.as_ref().map_or(0, |consumers| consumers.count())
    }

    /// All consumers, in no order.
    pub fn consumers(&self) -> impl Iterator<Item = ConsumerView<'_, G>> {
        self.consumers.iter().flat_map(|consumers| consumers.iter())
    }

    /// One consumer.
    pub fn consumer(&self, id: ConsumerId) -> Option<ConsumerView<'_, G>> {
        self.consumers.as_ref()?.get(id)
    }

    /// The exclusive consumer, if there is one.
    pub fn exclusive_consumer(&self) -> Option<ConsumerId> {
        self.consumers.as_ref()?.exclusive()
    }

    /// The single active consumer, where only one at a time gets messages.
    pub fn active_consumer(&self) -> Option<ConsumerId> {
        self.consumers.as_ref()?.active()
    }

    /// Unacked messages and which consumers hold them (`None`: a client that took it with get).
    pub fn unacked(&self) -> impl Iterator<Item = (QueueSeq, &M, Option<ConsumerId>)> {
        let is_set_aside = |seq| self.set_aside.as_ref().is_some_and(|set_aside| set_aside.contains(seq));
        self.unacked.iter().filter(move |(seq, ..)| !is_set_aside(*seq))
    }

    /// A message that is unacked.
    pub fn unacked_message(&self, seq: QueueSeq) -> Option<&M> {
        self.unacked.get(seq)
    }

    /// The highest seq ever handed out, or 0: after a restart, what is at or below it is redelivered.
    pub fn last_delivered(&self) -> QueueSeq {
        self.ready.last_delivered()
    }

    /// The seq that the next message gets.
    pub fn next_seq(&self) -> QueueSeq {
        self.next_seq
    }

    /// No ready message: what `if-empty` asks.
    pub fn is_empty(&self) -> bool {
        self.ready.count == 0
    }

    /// Whether no message waits for consumers to be able to take it. One that is being read waits for the disk.
    pub fn has_room(&self) -> bool {
        self.ready.count == 0 || self.consumers.as_ref().is_none_or(|consumers| consumers.is_waiting())
    }

    /// Whether it could do with messages of other queues: none is ready, and a consumer waits that is not another broker's. Those of
    /// federation links have priorities below zero.
    pub fn needs_messages(&self) -> bool {
        let is_wanted = self.ready.count == 0 && !self.is_paused;
        is_wanted && self.consumers.as_ref().is_some_and(|consumers| consumers.is_waiting_at(0))
    }

    /// No consumer: what `if-unused` asks.
    pub fn is_unused(&self) -> bool {
        self.consumers.is_none()
    }

    /// It is an auto-delete queue, had a consumer, and the last one went.
    pub fn is_abandoned(&self) -> bool {
        self.settings.auto_delete && self.had_consumer && self.is_unused()
    }
}

#[inline]
pub(crate) fn give_credit<G: Gate>(consumers: &mut Option<Box<Consumers<G>>>, holder: Option<ConsumerId>) {
    if let (Some(consumers), Some(holder)) = (consumers, holder) {
        consumers.give_credit(holder);
    }
}
