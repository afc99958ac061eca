//! The state machine: publish, dispatch, get, settle, requeue, purge.

use std::num::NonZeroU32;

use model::ids::QueueSeq;

use crate::consumers::{ConsumeError, Consumer, ConsumerId, ConsumerView, Consumers, Gate};
use crate::lane::{Head, Lane, Load, Source};
use crate::limits::{MESSAGE_OVERHEAD, OUTRUN_LEN};
use crate::message::Message;
use crate::ranges::PagedRange;
use crate::unacked::Unacked;

/// What was asked for when the queue was declared, as far as it matters here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Settings {
    /// The queue goes when its last consumer goes.
    pub auto_delete: bool,
}

/// What recovery knows of a queue. Nothing of it is trusted to be sorted.
#[derive(Debug)]
pub struct Restored<M> {
    /// The seq that the next message gets.
    pub next_seq: QueueSeq,
    /// The highest seq that may have been handed out before; `None` if any may have been.
    pub watermark: Option<QueueSeq>,
    /// Messages in segments.
    pub ranges: Vec<PagedRange>,
    /// Messages in memory.
    pub messages: Vec<(QueueSeq, M)>,
}

/// One attempt to hand a message to a consumer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery<M> {
    /// To whom.
    pub consumer: ConsumerId,
    /// Its position.
    pub seq: QueueSeq,
    /// The message.
    pub message: M,
    /// It may have been handed out before.
    pub redelivered: bool,
    /// It is settled by this; the queue knows nothing more of it.
    pub no_ack: bool,
}

/// What [`Queue::get`] found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Get<M> {
    /// No ready message.
    Empty,
    /// The head.
    Message(Got<M>),
    /// The head must be loaded first: ask again after the next [`Queue::loaded`]. `None` if that load has been asked for already.
    Loading(Option<Load>),
}

/// A message taken with [`Queue::get`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Got<M> {
    /// Its position.
    pub seq: QueueSeq,
    /// The message.
    pub message: M,
    /// It may have been handed out before.
    pub redelivered: bool,
    /// Ready messages that remain.
    pub remaining: u64,
}

/// Messages that a purge took out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Purged<M> {
    /// Those that were in memory, in no order.
    pub messages: Vec<(QueueSeq, M)>,
    /// Those that were only in segments: all that is alive in these slots.
    pub ranges: Vec<PagedRange>,
}

impl<M> Default for Purged<M> {
    fn default() -> Self {
        Purged { messages: Vec::new(), ranges: Vec::new() }
    }
}

/// A queue. See the crate's page.
#[derive(Debug)]
pub struct Queue<M, G> {
    /// Messages that are only in this process's life, and those that last.
    pub(crate) lanes: [Lane<M>; 2],
    pub(crate) unacked: Unacked<M>,
    /// None while nobody consumes.
    consumers: Option<Box<Consumers<G>>>,
    ready_count: u64,
    ready_bytes: u64,
    next_seq: QueueSeq,
    /// The highest seq ever handed out, or 0. Invariant: it is lower than `next_seq`.
    pub(crate) delivered: QueueSeq,
    next_consumer: NonZeroU32,
    had_consumer: bool,
    settings: Settings,
}

impl<M: Message, G: Gate> Queue<M, G> {
    /// A queue that nobody has used.
    pub fn new(settings: Settings) -> Self {
        Queue {
            lanes: [Lane::new(), Lane::new()],
            unacked: Unacked::new(),
            consumers: None,
            ready_count: 0,
            ready_bytes: 0,
            next_seq: QueueSeq::FIRST,
            delivered: QueueSeq(0),
            next_consumer: NonZeroU32::MIN,
            had_consumer: false,
            settings,
        }
    }

    /// A queue after a restart.
    pub fn restore(settings: Settings, mut restored: Restored<M>) -> Self {
        let mut queue = Queue::new(settings);
        restored.messages.sort_by_key(|(seq, _)| *seq);
        restored.messages.dedup_by_key(|(seq, _)| *seq);
        let last_in_memory = restored.messages.last().map_or(QueueSeq(0), |(seq, _)| *seq);
        let last_in_ranges = restored.ranges.iter().map(|range| range.last_seq).max().unwrap_or(QueueSeq(0));
        queue.next_seq = restored.next_seq.max(last_in_memory.next()).max(last_in_ranges.next());
        let last = QueueSeq(queue.next_seq.0 - 1);
        queue.delivered = restored.watermark.unwrap_or(last).min(last);
        for (seq, message) in restored.messages {
            queue.ready_count += 1;
            queue.ready_bytes += u64::from(message.len());
            queue.lanes[lane_of(message.is_journalled())].publish(seq, message);
        }
        for range in restored.ranges {
            queue.page(range);
        }
        queue.ready_count += queue.paged_count();
        queue.ready_bytes += queue.paged_bytes();
        queue
    }

    /// Appends a message.
    #[inline]
    pub fn publish(&mut self, message: M) -> QueueSeq {
        let seq = self.next_seq;
        self.next_seq = seq.next();
        self.ready_count += 1;
        self.ready_bytes += u64::from(message.len());
        self.lanes[lane_of(message.is_journalled())].publish(seq, message);
        if let Some(consumers) = &mut self.consumers {
            consumers.published();
        }
        seq
    }

    /// Hands ready messages, lowest seq first, to the consumers: by turns, one message each, among those of the highest
    /// priority that have credit and whose gate opens. Appends to `deliveries`.
    ///
    /// Answers with a load if messages must be read from a segment for this to go on: at once, or soon. Each is asked for
    /// only once. Dispatch again after its answer.
    pub fn dispatch(&mut self, deliveries: &mut Vec<Delivery<M>>) -> Option<Load> {
        let consumers = self.consumers.as_deref_mut()?;
        let start = deliveries.len();
        while let Some((lane, Head { seq, len, source })) = head(&self.lanes) {
            let lane = &mut self.lanes[lane];
            if source == Source::Paged {
                let load = if consumers.is_waiting() { lane.ask(true) } else { None };
                if load.is_some() {
                    return load;
                }
                break;
            }
            let Some(turn) = consumers.take_turn(len) else { break };
            let message = lane.take(source).expect("the head was just seen");
            self.ready_count -= 1;
            self.ready_bytes -= u64::from(len);
            let redelivered = seq <= self.delivered;
            self.delivered = self.delivered.max(seq);
            if !turn.no_ack {
                self.unacked.insert(seq, to_keep(&message), Some(turn.id));
            }
            deliveries.push(Delivery { consumer: turn.id, seq, message, redelivered, no_ack: turn.no_ack });
        }
        let is_reading = deliveries.len() > start || consumers.is_waiting();
        if is_reading { self.lanes.iter_mut().find_map(Lane::ask_ahead) } else { None }
    }

    /// Adds a consumer. Dispatch after it.
    pub fn consume(&mut self, consumer: Consumer<G>) -> Result<ConsumerId, ConsumeError> {
        if let Some(consumers) = &self.consumers {
            consumers.check(&consumer)?;
        }
        let consumers = self.consumers.get_or_insert_with(|| Box::new(Consumers::new()));
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
    }

    /// Takes the head.
    pub fn get(&mut self, no_ack: bool) -> Get<M> {
        let Some((lane, Head { seq, source, .. })) = head(&self.lanes) else { return Get::Empty };
        let lane = &mut self.lanes[lane];
        if source == Source::Paged {
            return Get::Loading(lane.ask(true));
        }
        let message = lane.take(source).expect("the head was just seen");
        self.ready_count -= 1;
        self.ready_bytes -= u64::from(message.len());
        let redelivered = seq <= self.delivered;
        self.delivered = self.delivered.max(seq);
        if !no_ack {
            self.unacked.insert(seq, to_keep(&message), None);
        }
        Get::Message(Got { seq, message, redelivered, remaining: self.ready_count })
    }

    /// Acks, or rejects without requeue, messages that were handed out; appends them to `settled`. Seqs that are not unacked are
    /// passed over. Dispatch after it: consumers may have got credit.
    pub fn settle(&mut self, seqs: &[QueueSeq], settled: &mut Vec<(QueueSeq, M)>) {
        for &seq in seqs {
            let Some((message, holder)) = self.unacked.remove(seq) else { continue };
            give_credit(&mut self.consumers, holder);
            settled.push((seq, message));
        }
    }

    /// Puts messages that were handed out back to where they were; they are redelivered next. Seqs that are not unacked are
    /// passed over. Dispatch after it.
    pub fn requeue(&mut self, seqs: &[QueueSeq]) {
        for &seq in seqs {
            let Some((message, holder)) = self.unacked.remove(seq) else { continue };
            give_credit(&mut self.consumers, holder);
            self.ready_count += 1;
            self.ready_bytes += u64::from(message.len());
            self.lanes[lane_of(message.is_journalled())].put_back(seq, message, &self.unacked);
        }
    }

    /// Removes all ready messages, appends them to `purged`, and says how many they were.
    pub fn purge(&mut self, purged: &mut Purged<M>) -> u64 {
        for lane in &mut self.lanes {
            lane.purge_into(purged);
        }
        self.ready_bytes = 0;
        std::mem::take(&mut self.ready_count)
    }

    /// Removes all unacked messages, for a queue that is being deleted.
    pub fn drain_unacked(&mut self, drained: &mut Vec<(QueueSeq, M)>) {
        for (_, _, holder) in self.unacked.iter() {
            give_credit(&mut self.consumers, holder);
        }
        self.unacked.drain_into(drained);
    }

    /// The answer to a load: the messages in its slots before `next_slot`, each with its place, by ascending seq. Dispatch
    /// after it, whatever it said.
    ///
    /// A load that failed is answered with no message and its own `first_slot`; it will be asked for again.
    /// Answers with the number of messages that should have been there and were not: they are lost.
    pub fn loaded(&mut self, load: &Load, entries: Vec<(QueueSeq, M)>, next_slot: u32) -> u64 {
        let lane = &mut self.lanes[lane_of(!load.segment.is_transient())];
        let before = (lane.paged_count() + lane.loaded_count(), lane.paged_bytes() + lane.loaded_bytes());
        lane.loaded(load, entries, next_slot);
        let after = (lane.paged_count() + lane.loaded_count(), lane.paged_bytes() + lane.loaded_bytes());
        self.recount(before, after)
    }

    /// Whether a load is on its way.
    pub fn is_loading(&self) -> bool {
        self.lanes.iter().any(|lane| lane.is_loading())
    }

    /// Lets go of ready messages that lie in segments too, for when memory is short, and gives up a load that is on its way. They will
    /// be loaded again.
    pub fn unload(&mut self) {
        for lane in &mut self.lanes {
            lane.unload(&self.unacked);
        }
    }

    /// Whether publishers outrun consumers that would take more: much waits, though not for slow consumers' credit.
    pub fn is_outrun(&self) -> bool {
        self.ready_bytes + self.ready_count * MESSAGE_OVERHEAD > OUTRUN_LEN
            && self.consumers.as_ref().is_some_and(|consumers| consumers.is_hungry())
    }

    /// Messages that wait for a consumer.
    pub fn ready_count(&self) -> u64 {
        self.ready_count
    }

    /// Bytes of their bodies.
    pub fn ready_bytes(&self) -> u64 {
        self.ready_bytes
    }

    /// Messages that were handed out and are not settled.
    pub fn unacked_count(&self) -> u64 {
        self.unacked.count()
    }

    /// Bytes of their bodies.
    pub fn unacked_bytes(&self) -> u64 {
        self.unacked.bytes()
    }

    /// Ready messages that are in a segment and not in memory.
    pub fn paged_count(&self) -> u64 {
        self.lanes.iter().map(Lane::paged_count).sum()
    }

    /// Bytes of their bodies.
    pub fn paged_bytes(&self) -> u64 {
        self.lanes.iter().map(Lane::paged_bytes).sum()
    }

    /// The ready messages that are in a segment and not in memory, lane by lane.
    pub fn ranges(&self) -> impl Iterator<Item = &PagedRange> {
        self.lanes.iter().flat_map(Lane::ranges)
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

    /// Unacked messages and who holds them (`None`: someone who took it with get).
    pub fn unacked(&self) -> impl Iterator<Item = (QueueSeq, &M, Option<ConsumerId>)> {
        self.unacked.iter()
    }

    /// The highest seq ever handed out, or 0: after a restart, what is at or below it is redelivered.
    pub fn last_delivered(&self) -> QueueSeq {
        self.delivered
    }

    /// The seq that the next message gets.
    pub fn next_seq(&self) -> QueueSeq {
        self.next_seq
    }

    /// No ready message: what `if-empty` asks.
    pub fn is_empty(&self) -> bool {
        self.ready_count == 0
    }

    /// No consumer: what `if-unused` asks.
    pub fn is_unused(&self) -> bool {
        self.consumers.is_none()
    }

    /// It is an auto-delete queue, had a consumer, and the last one went.
    pub fn is_abandoned(&self) -> bool {
        self.settings.auto_delete && self.had_consumer && self.is_unused()
    }

    /// Puts messages that lie in a segment among the ranges of their lane.
    pub(crate) fn page(&mut self, range: PagedRange) {
        self.lanes[lane_of(!range.segment.is_transient())].page(range, &self.unacked);
    }

    /// Some ready messages, counted by (count, bytes) `before`, have turned out to be those counted `after`. How many are missing.
    pub(crate) fn recount(&mut self, before: (u64, u64), after: (u64, u64)) -> u64 {
        self.ready_count = (self.ready_count + after.0).saturating_sub(before.0);
        self.ready_bytes = (self.ready_bytes + after.1).saturating_sub(before.1);
        before.0.saturating_sub(after.0)
    }
}

/// Which lane a message belongs to.
#[inline]
pub(crate) fn lane_of(is_journalled: bool) -> usize {
    usize::from(is_journalled)
}

/// The lane whose head goes next, and that head.
#[inline]
fn head<M: Message>(lanes: &[Lane<M>; 2]) -> Option<(usize, Head)> {
    match (lanes[0].head(), lanes[1].head()) {
        (None, right) => right.map(|head| (1, head)),
        (Some(left), Some(right)) if right.seq < left.seq => Some((1, right)),
        (Some(left), _) => Some((0, left)),
    }
}

/// What stays here of a message that is handed out.
#[inline]
fn to_keep<M: Message>(message: &M) -> M {
    let mut kept = message.clone();
    if kept.place().is_some() {
        kept.release_body();
    }
    kept
}

#[inline]
fn give_credit<G: Gate>(consumers: &mut Option<Box<Consumers<G>>>, holder: Option<ConsumerId>) {
    if let (Some(consumers), Some(holder)) = (consumers, holder) {
        consumers.give_credit(holder);
    }
}
