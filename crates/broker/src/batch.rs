//! What one read of a connection brought, taken to the queues together: publishes and settlements.
//!
//! The shards concerned are locked once, in order; the state machines run; everything of the client's that lasts is
//! appended to the journal as one batch, so it is durable as a whole or not at all. (A watermark that has to be opened
//! goes ahead of it.)

use std::borrow::Cow;
use std::cell::RefCell;
use std::sync::Arc;

use model::arguments::Overflow;
use model::ids::{JournalPosition, QueueId, QueueSeq};
use queue::{ConsumerId, DropReason, Message};
use store::Content;

use crate::broker::Broker;
use crate::deduplication::MessageKeys;
use crate::delayed::{Delay, DelaySet, LockedSets};
use crate::dispatch::Work;
use crate::gate::{ConsumerGate, window_cost};
use crate::limits::BATCH_COUNT;
use crate::message::Held;
use crate::publish::Terms;
use crate::queue_handle::{QueueHandle, Targets};
use crate::shard::{Cell, Locked};

/// A message that is ready to go to its queues.
#[derive(Debug)]
pub(crate) struct Publish {
    /// Until it is taken by the only one that wants it.
    content: Option<Content>,
    pub(crate) body_len: u32,
    /// Index into [`Batch::bound`].
    bound: u32,
    /// Until when it waits where its targets delay it, in milliseconds since 1970.
    pub(crate) due_ms: u64,
    /// The publish's number on a channel in confirm mode, else 0.
    pub(crate) confirm_seq: u64,
    pub(crate) channel: u16,
    /// The property.
    priority: Option<u8>,
    pub(crate) is_persistent: bool,
    pub(crate) has_ttl: bool,
    /// Whether its confirm waits for the disk. Known once the batch has been applied.
    pub(crate) waits_for_disk: bool,
    /// Whether some queue has refused it. Known once the batch has been applied.
    pub(crate) is_refused: bool,
    /// Whether it was dropped for one that may not be durable yet. Known once the batch has been applied.
    pub(crate) awaits_original: bool,
    /// What duplicates of it are known by, where that matters.
    pub(crate) keys: Option<Box<MessageKeys>>,
}

const HAS_CONTENT: &str = "a message's content is taken last";

impl Publish {
    /// One that nobody waits for to be confirmed.
    #[inline(always)]
    pub(crate) fn new(content: Content, body_len: usize, terms: Terms) -> Self {
        Self {
            content: Some(content),
            body_len: body_len as u32,
            bound: 0,
            due_ms: terms.due_ms,
            confirm_seq: 0,
            channel: 0,
            priority: terms.priority,
            is_persistent: terms.is_persistent,
            has_ttl: terms.ttl_ms.is_some(),
            waits_for_disk: false,
            is_refused: false,
            awaits_original: false,
            keys: None,
        }
    }

    /// The same, to be confirmed on a channel by this number; 0: it is not in confirm mode.
    #[inline(always)]
    pub(crate) fn confirmed_as(self, channel: u16, confirm_seq: u64) -> Self {
        Self { channel, confirm_seq, ..self }
    }

    #[inline]
    pub(crate) fn content(&self) -> &Content {
        self.content.as_ref().expect(HAS_CONTENT)
    }

    /// As one of its queues holds it.
    #[inline]
    pub(crate) fn held_by(&self, queue: &QueueHandle) -> Held {
        self.held(queue, self.content().clone())
    }

    /// As the only one of its queues holds it.
    #[inline(always)]
    fn taken_by(&mut self, queue: &QueueHandle) -> Held {
        let content = self.content.take().expect(HAS_CONTENT);
        self.held(queue, content)
    }

    #[inline(always)]
    fn held(&self, queue: &QueueHandle, content: Content) -> Held {
        let is_journalled = self.is_persistent && queue.is_journalled();
        Held::new(content, self.body_len, is_journalled, self.has_ttl, queue.priorities.of(self.priority))
    }
}

/// Where messages go that came one after the other on one channel.
#[derive(Debug)]
pub(crate) struct Bound {
    pub(crate) targets: Arc<Targets>,
    pub(crate) channel: u16,
    /// How many they are.
    pub(crate) count: u32,
}

/// Deliveries of one queue that a client settled.
#[derive(Debug)]
pub(crate) struct Settlement {
    pub(crate) queue: Arc<QueueHandle>,
    /// Who held them.
    holder: Option<ConsumerId>,
    /// The end of its seqs in [`Batch::seqs`]; they start where the one before ends.
    pub(crate) end: usize,
}

/// The gathered work of a connection.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    pub(crate) publishes: Vec<Publish>,
    pub(crate) bound: Vec<Bound>,
    pub(crate) settlements: Vec<Settlement>,
    pub(crate) seqs: Vec<QueueSeq>,
    shards: u64,
    /// Where messages wait.
    sets: Vec<Arc<DelaySet>>,
    /// Bytes of publishes, while consumers of their queues would take more than they get. Counts on until it is taken: many who send
    /// little at a time outrun consumers, too.
    pub(crate) outrun_len: u64,
}

thread_local! {
    static WORK: RefCell<Scratch> = RefCell::default();
}

#[derive(Default)]
struct Scratch {
    work: Work,
    refs: Vec<(QueueId, QueueSeq)>,
    touched: Vec<Arc<QueueHandle>>,
}

impl Bound {
    /// Counts what has come to an exchange, and where it went from there.
    fn count_in(&self, broker: &Broker) {
        let Some(counted) = &self.targets.counted else { return };
        let count = u64::from(self.count);
        let routed = count * self.targets.queues.len() as u64;
        counted.exchange.published_in.add(count);
        broker.statistics.exchanges.note(&counted.exchange);
        if routed == 0 {
            return;
        }
        counted.exchange.published_out.add(routed);
        for edge in &counted.edges {
            edge.published.add(count);
            broker.statistics.edges.note(edge);
        }
        self.targets.queues[0].vhost.stripe().routed(routed);
    }
}

impl Batch {
    pub(crate) fn is_empty(&self) -> bool {
        self.publishes.is_empty() && self.settlements.is_empty()
    }

    /// Adds a message for `targets`.
    #[inline(always)]
    pub(crate) fn publish(&mut self, targets: &Arc<Targets>, mut publish: Publish) {
        match self.bound.last_mut() {
            Some(last) if Arc::ptr_eq(&last.targets, targets) && last.channel == publish.channel => last.count += 1,
            _ => self.bind(targets, publish.channel),
        }
        publish.bound = self.bound.len() as u32 - 1;
        self.publishes.push(publish);
        if let (Some(headers), Some(publish)) = (&targets.key_headers, self.publishes.last_mut()) {
            // Before any lock is taken.
            headers.iter().for_each(|header| _ = publish.key_in(header));
        }
    }

    fn bind(&mut self, targets: &Arc<Targets>, channel: u16) {
        self.bound.push(Bound { targets: targets.clone(), channel, count: 1 });
        self.shards |= targets.shards;
        if let Some(delay) = &targets.delay {
            self.sets.extend(delay.sets.iter().cloned());
        }
    }

    /// Adds a settled delivery.
    pub(crate) fn settle(&mut self, queue: &Arc<QueueHandle>, holder: Option<ConsumerId>, seq: QueueSeq) {
        self.seqs.push(seq);
        let end = self.seqs.len();
        match self.settlements.last_mut() {
            Some(last) if last.queue.id() == queue.id() && last.holder == holder => last.end = end,
            _ => {
                self.shards |= queue.shard_bit();
                self.settlements.push(Settlement { queue: queue.clone(), holder, end });
            }
        }
    }

    /// Brings everything to its queues. Calls `done` for each publish with where it is durable, if it has to be; it may have been
    /// refused.
    /// Gives the position where all of it is durable, settlements too.
    pub(crate) fn apply(
        &mut self,
        broker: &Broker,
        mut done: impl FnMut(&Publish, Option<JournalPosition>),
    ) -> Option<JournalPosition> {
        if self.is_empty() {
            return None;
        }
        let mut is_outrun = false;
        let position = WORK.with_borrow_mut(|scratch| {
            let Scratch { work, refs, touched } = scratch;
            let sets = std::mem::take(&mut self.sets);
            let position = broker.shards.with_many(self.shards, sets, |locked| {
                let mut start = 0;
                for settlement in &self.settlements {
                    let seqs = &self.seqs[start..settlement.end];
                    start = settlement.end;
                    let Some(cell) = locked.get(&settlement.queue) else { continue };
                    let from = work.settled.len();
                    cell.queue.settle(&held_ones(&cell.queue, seqs, settlement.holder), &mut work.settled);
                    cell.handle.count_acked((work.settled.len() - from) as u64);
                    work.settle(cell, from);
                    if cell.touch() {
                        touched.push(cell.handle.clone());
                    }
                }
                for publish in &mut self.publishes {
                    let targets = &self.bound[publish.bound as usize].targets;
                    put(work, broker, locked, publish, targets, refs, touched);
                }
                is_outrun = dispatch_touched(work, broker, locked, touched) | locked.sets.is_outrun();
                work.commit(broker)
            });
            work.finish(broker);
            position
        });
        if is_outrun {
            let cost = |publish: &Publish| window_cost(publish.body_len as usize) as u64;
            self.outrun_len += self.publishes.iter().map(cost).sum::<u64>();
        }
        for publish in &self.publishes {
            done(publish, if publish.waits_for_disk { position } else { None });
        }
        self.publishes.clear();
        self.bound.drain(..).for_each(|bound| bound.count_in(broker));
        self.settlements.clear();
        self.seqs.clear();
        self.shards = 0;
        position
    }

    pub(crate) fn has_no_room(&self) -> bool {
        self.publishes.capacity() + self.seqs.capacity() == 0
    }

    /// Whether it has no more room than for what one read brings; a transaction may have needed more.
    pub(crate) fn is_worth_keeping(&self) -> bool {
        self.publishes.capacity().max(self.seqs.capacity()) <= 4 * BATCH_COUNT
    }

    /// Exchanges room with another one; both are empty.
    pub(crate) fn swap_room(&mut self, other: &mut Self) {
        std::mem::swap(self, other);
        std::mem::swap(&mut self.outrun_len, &mut other.outrun_len);
    }

    /// Gives back the memory of an empty one.
    pub(crate) fn shrink(&mut self) {
        *self = Self { outrun_len: self.outrun_len, ..Self::default() };
    }
}

/// Those of a client's deliveries that have not been taken away from it meanwhile, for having been held too long.
#[inline]
pub(crate) fn held_ones<'a>(
    queue: &queue::Queue<Held, ConsumerGate>,
    seqs: &'a [QueueSeq],
    holder: Option<ConsumerId>,
) -> Cow<'a, [QueueSeq]> {
    if !queue.has_timed_out() {
        return Cow::Borrowed(seqs);
    }
    seqs.iter().copied().filter(|seq| queue.is_held_by(*seq, holder)).collect()
}

/// The same of deliveries that different ones held.
pub(crate) fn still_held(
    queue: &queue::Queue<Held, ConsumerGate>,
    deliveries: &[(QueueSeq, Option<ConsumerId>)],
) -> Vec<QueueSeq> {
    let is_held =
        |(seq, holder): &&(QueueSeq, Option<ConsumerId>)| !queue.has_timed_out() || queue.is_held_by(*seq, *holder);
    deliveries.iter().filter(is_held).map(|(seq, _)| *seq).collect()
}

/// Adds a message to its queues, or where it waits. Afterwards it knows whether one has refused it, and whether its confirm waits for
/// the disk; its content may have been taken. `refs` is only room.
#[inline(always)]
pub(crate) fn put(
    work: &mut Work,
    broker: &Broker,
    locked: &mut Locked<'_>,
    publish: &mut Publish,
    targets: &Targets,
    refs: &mut Vec<(QueueId, QueueSeq)>,
    touched: &mut Vec<Arc<QueueHandle>>,
) {
    if !put_in_one(work, broker, locked, publish, targets, touched) {
        put_in_all(work, broker, locked, publish, targets, refs, touched);
    }
}

/// Adds a message as most are added: to one queue, which drops no duplicates. Says whether it was one of those.
#[inline(always)]
fn put_in_one(
    work: &mut Work,
    broker: &Broker,
    locked: &mut Locked<'_>,
    publish: &mut Publish,
    targets: &Targets,
    touched: &mut Vec<Arc<QueueHandle>>,
) -> bool {
    let Some(queue) = targets.only() else { return false };
    let Some(cell) = locked.get(queue) else { return true };
    if cell.key_set.is_some() {
        return false;
    }
    if work.refuses(cell, broker, publish) {
        publish.is_refused = true;
        return true;
    }
    publish.waits_for_disk = publish.is_persistent && queue.is_journalled();
    // Before it is there, for then its content is the queue's; nobody comes between under the lock.
    if publish.waits_for_disk {
        work.records.publish(publish.content(), &[(queue.id(), cell.queue.next_seq())]);
    }
    cell.queue.publish(publish.taken_by(queue));
    work.arrivals.note(queue, publish, broker.statistics.options.has_histograms);
    if cell.touch() {
        touched.push(cell.handle.clone());
    }
    true
}

/// Adds any message.
fn put_in_all(
    work: &mut Work,
    broker: &Broker,
    locked: &mut Locked<'_>,
    publish: &mut Publish,
    targets: &Targets,
    refs: &mut Vec<(QueueId, QueueSeq)>,
    touched: &mut Vec<Arc<QueueHandle>>,
) {
    refs.clear();
    if let Some(keys) = &targets.keys
        && work.is_duplicate_at(keys, broker, locked, publish, targets)
    {
        publish.waits_for_disk = publish.awaits_original;
        return;
    }
    let mut is_taken = targets.delay.is_some();
    for queue in &targets.queues {
        let Some(cell) = locked.get(queue) else { continue };
        if cell.key_set.is_some() && work.is_duplicate_in(cell, broker, publish) {
            is_taken = true;
            continue;
        }
        if work.refuses(cell, broker, publish) {
            publish.is_refused = true;
            continue;
        }
        is_taken = true;
        let held = publish.held_by(queue);
        let is_journalled = held.is_journalled();
        let seq = cell.queue.publish(held);
        cell.handle.count_published(publish, broker.statistics.options.has_histograms);
        if cell.key_set.is_some() {
            work.remember_in(cell, broker, publish, seq, is_journalled);
        }
        if is_journalled {
            refs.push((queue.id(), seq));
        }
        if cell.touch() {
            touched.push(cell.handle.clone());
        }
    }
    if let Some(delay) = &targets.delay {
        delay_until(delay, work, broker, &mut locked.sets, publish, refs);
    }
    let is_journalled = !refs.is_empty();
    if let Some(keys) = &targets.keys
        && is_taken
        && !publish.is_refused
    {
        // Who hears of a refusal publishes it again.
        work.remember_at(keys, broker, locked, publish, is_journalled);
    }
    publish.waits_for_disk = is_journalled || publish.awaits_original;
    if is_journalled {
        work.records.publish(publish.content(), refs);
        work.keys.record(&mut work.records);
    }
    work.take_replaced(locked);
}

/// Adds a message where it waits.
fn delay_until(
    delay: &Delay,
    work: &mut Work,
    broker: &Broker,
    sets: &mut LockedSets<'_>,
    publish: &Publish,
    refs: &mut Vec<(QueueId, QueueSeq)>,
) {
    for set in &delay.sets {
        let is_journalled = publish.is_persistent && set.is_durable;
        let held = Held::new(publish.content().clone(), publish.body_len, is_journalled, publish.has_ttl, 0);
        if let Some(id) = sets.get(set).insert(set, work, broker, publish.due_ms, held)
            && is_journalled
        {
            refs.push((id.generation, id.seq));
        }
    }
}

/// Dispatches the queues that were touched, and empties their list. Says whether publishers outrun the consumers of one.
pub(crate) fn dispatch_touched(
    work: &mut Work,
    broker: &Broker,
    locked: &mut Locked<'_>,
    touched: &mut Vec<Arc<QueueHandle>>,
) -> bool {
    let mut is_outrun = false;
    work.arrivals.end(broker.statistics.options.has_histograms);
    for queue in touched.drain(..) {
        let cell = locked.get(&queue).expect("a touched queue is there while its shard is locked");
        cell.is_touched = false;
        work.dispatch(cell, broker);
        cell.report(broker);
        is_outrun |= cell.queue.is_outrun();
    }
    is_outrun
}

impl Work {
    /// Whether a queue has too much to take this message, too. What it can hand out now does not count.
    #[inline]
    fn refuses(&mut self, cell: &mut Cell, broker: &Broker, publish: &Publish) -> bool {
        cell.queue.refuses(publish.body_len) && self.refuses_still(cell, broker, publish)
    }

    fn refuses_still(&mut self, cell: &mut Cell, broker: &Broker, publish: &Publish) -> bool {
        self.dispatch(cell, broker);
        let is_refused = cell.queue.refuses(publish.body_len);
        if is_refused && cell.handle.features().overflow == Overflow::RejectPublishDlx {
            cell.handle.count_died(DropReason::MaxLength);
            self.turn_away(cell, publish.content().clone(), DropReason::MaxLength);
        }
        is_refused
    }
}

/// Runs `act` with this thread's scratch work and room, and finishes what it has gathered and committed.
pub(crate) fn with_scratch<T>(
    broker: &Broker,
    act: impl FnOnce(&mut Work, &mut Vec<(QueueId, QueueSeq)>, &mut Vec<Arc<QueueHandle>>) -> T,
) -> T {
    WORK.with_borrow_mut(|Scratch { work, refs, touched }| {
        let result = act(work, refs, touched);
        work.finish(broker);
        result
    })
}

/// Runs `act` with this thread's scratch work on one queue and finishes it. `None` when the queue is gone.
pub(crate) fn with_queue<T>(
    broker: &Broker,
    queue: &QueueHandle,
    act: impl FnOnce(&mut Cell, &mut Work) -> T,
) -> Option<(T, Option<JournalPosition>)> {
    WORK.with_borrow_mut(|Scratch { work, .. }| {
        let result = broker.shards.with_queue(queue, |cell| {
            let result = act(cell, work);
            cell.report(broker);
            (result, work.commit(broker))
        });
        work.finish(broker);
        result
    })
}
