//! What one read of a connection brought, taken to the queues together: publishes and settlements.
//!
//! The shards concerned are locked once, in order; the state machines run; everything of the client's that is durable is
//! appended to the journal as one batch, so it is durable as a whole or not at all. (A watermark that has to be opened precedes it.)

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;

use model::ids::QueueSeq;
use queue::ConsumerId;

use crate::delayed::DelaySet;
use crate::effort;
use crate::engine::Engine;
use crate::gate::{ConsumerGate, window_cost};
use crate::lane::LaneNumber;
use crate::limits::BATCH_COUNT;
use crate::position::Positions;
use crate::probe::BatchProbe;
use crate::publish::Publish;
use crate::queue_handle::QueueHandle;
use crate::queued_message::QueuedMessage;
use crate::section::{Committed, Section};
use crate::tap::Client;
use crate::targets::Targets;
use crate::trace_points::APPLY;
use crate::watchers::Watchers;

/// Where messages go that came one after the other on one lane.
#[derive(Debug)]
pub struct BatchRoute {
    /// Their queues.
    pub targets: Arc<Targets>,
    /// Their lane.
    pub lane: LaneNumber,
    /// How many they are.
    pub count: u32,
}

/// Deliveries of one queue that a client settled. None of them: the queue is only served.
#[derive(Debug)]
struct Settlement {
    queue: Arc<QueueHandle>,
    /// The consumer that held them.
    holder: Option<ConsumerId>,
    /// The end of its seqs in [`Batch::seqs`]; they start where the one before ends.
    end: usize,
}

/// The gathered work of a connection.
#[derive(Debug, Default)]
pub struct Batch {
    publishes: Vec<Publish>,
    routes: Vec<BatchRoute>,
    settlements: Vec<Settlement>,
    seqs: Vec<QueueSeq>,
    shards: u64,
    /// Where messages wait.
    sets: Vec<Arc<DelaySet>>,
    /// Bytes of the publishes.
    published_len: u64,
    /// Bytes of publishes, while consumers of their queues would take more than they get. Counts on until it is taken: many publishers
    /// that send little at a time are faster than consumers, too.
    backpressure_len: u64,
    /// The client that published and settled it, where that is reported.
    pub client: Option<Arc<Client>>,
    /// The message that is timed, where one is.
    probe: Option<Box<BatchProbe>>,
}

impl BatchRoute {
    /// Counts what has come to an exchange, and where it went from there.
    fn count_in(&self, engine: &Engine) {
        let Some(counted) = &self.targets.counted else { return };
        let count = u64::from(self.count);
        let routed = count * self.targets.queues.len() as u64;
        counted.exchange.published_in.add(count);
        engine.statistics.exchanges.note(&counted.exchange);
        if routed == 0 {
            return;
        }
        counted.exchange.published_out.add(routed);
        for edge in &counted.edges {
            edge.published.add(count);
            engine.statistics.edges.note(edge);
        }
        self.targets.queues[0].vhost.stripe().routed(routed);
    }
}

impl Batch {
    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.publishes.is_empty() && self.settlements.is_empty()
    }

    /// What was published.
    pub fn publishes(&self) -> &[Publish] {
        &self.publishes
    }

    /// Where its publishes are routed.
    pub fn routes(&self) -> &[BatchRoute] {
        &self.routes
    }

    /// Where one of its publishes is routed.
    pub fn targets_of(&self, publish: &Publish) -> &Targets {
        &self.routes[publish.route as usize].targets
    }

    /// Adds a message for `targets`.
    #[inline(always)]
    pub fn publish(&mut self, targets: &Arc<Targets>, mut publish: Publish) {
        match self.routes.last_mut() {
            Some(last) if Arc::ptr_eq(&last.targets, targets) && last.lane == publish.lane => last.count += 1,
            _ => self.add_route(targets, publish.lane),
        }
        publish.route = self.routes.len() as u32 - 1;
        self.published_len += window_cost(publish.content().len()) as u64;
        self.publishes.push(publish);
        if let (Some(headers), Some(publish)) = (&targets.key_headers, self.publishes.last_mut()) {
            // Before any lock is taken.
            headers.iter().for_each(|header| _ = publish.key_in(header));
        }
    }

    fn add_route(&mut self, targets: &Arc<Targets>, lane: LaneNumber) {
        self.routes.push(BatchRoute { targets: targets.clone(), lane, count: 1 });
        self.shards |= targets.shards;
        if let Some(delay) = &targets.delay {
            self.sets.extend(delay.sets.iter().cloned());
        }
    }

    /// Has one of its messages timed.
    pub fn set_probe(&mut self, probe: BatchProbe) {
        self.probe = Some(Box::new(probe));
    }

    /// The message that was timed, once the batch has been applied.
    pub fn take_probe(&mut self) -> Option<Box<BatchProbe>> {
        self.probe.take()
    }

    /// Whether a delivery of a queue is among those that are settled.
    pub fn settles(&self, queue: &QueueHandle, seq: QueueSeq) -> bool {
        let mut start = 0;
        self.settlements.iter().any(|settlement| {
            let seqs = &self.seqs[start..settlement.end];
            start = settlement.end;
            // Most are settled in order: the last seq then decides without a look at each.
            let is_beyond = seqs.first().max(seqs.last()).is_none_or(|last| *last < seq);
            !is_beyond && settlement.queue.id() == queue.id() && seqs.contains(&seq)
        })
    }

    /// Adds a settled delivery.
    pub fn settle(&mut self, queue: &Arc<QueueHandle>, holder: Option<ConsumerId>, seq: QueueSeq) {
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

    /// Has a queue, to which something was given back, hand out what it can.
    pub fn serve(&mut self, queue: &Arc<QueueHandle>) {
        if self.settlements.last().is_none_or(|last| last.queue.id() != queue.id()) {
            self.shards |= queue.shard_bit();
            self.settlements.push(Settlement { queue: queue.clone(), holder: None, end: self.seqs.len() });
        }
    }

    /// Brings everything to its queues. Calls `done` for each publish with where it is durable, if it has to be; it may have been
    /// refused.
    /// Gives the position where all of it is durable, settlements too.
    pub fn apply(&mut self, engine: &Engine, mut done: impl FnMut(&Publish, Positions)) -> Positions {
        if self.is_empty() {
            return Positions::NONE;
        }
        let position = self.enqueue(engine);
        self.conclude(engine, position, &mut done);
        position
    }

    /// The same for a transaction: in a cluster its messages are handed out when a majority of the nodes has all of it.
    pub fn apply_as_a_whole(&mut self, engine: &Engine, mut done: impl FnMut(&Publish, Positions)) -> Positions {
        let position = self.enqueue_as_a_whole(engine);
        self.conclude(engine, position, &mut done);
        position
    }

    #[inline(always)]
    fn conclude(&mut self, engine: &Engine, position: Positions, done: &mut impl FnMut(&Publish, Positions)) {
        for publish in self.publishes.drain(..) {
            done(&publish, if publish.outcome.waits_for_disk { position } else { Positions::NONE });
            if publish.is_spent() {
                // There is nothing to free, and most are so.
                std::mem::forget(publish);
            }
        }
        self.routes.drain(..).for_each(|route| route.count_in(engine));
        self.settlements.clear();
        self.seqs.clear();
        self.shards = 0;
    }

    // Two forms of the same: most batches are no transactions, and do not ask whether they are.
    fn enqueue(&mut self, engine: &Engine) -> Positions {
        self.enqueue_all::<false>(engine)
    }

    fn enqueue_as_a_whole(&mut self, engine: &Engine) -> Positions {
        self.enqueue_all::<true>(engine)
    }

    #[inline(always)]
    fn enqueue_all<const IS_WHOLE: bool>(&mut self, engine: &Engine) -> Positions {
        let watchers = Watchers::NONE.with_left(&self.probe).with(self.client.is_some());
        let committed = match watchers.with(APPLY.is_watched()).with(effort::viewer_count()).are_there() {
            true => self.enqueue_watched::<IS_WHOLE>(engine),
            false => self.in_section::<IS_WHOLE>(engine, |_| (), Self::put_all),
        };
        engine.store.relieve_memory();
        let published_len = std::mem::take(&mut self.published_len);
        if committed.consumers_lag {
            self.backpressure_len += published_len;
        }
        committed.position
    }

    /// Runs the batch's section: settles, then puts.
    #[inline(always)]
    fn in_section<const IS_WHOLE: bool>(
        &mut self,
        engine: &Engine,
        begin: impl FnOnce(&mut Section<'_, '_>),
        put: impl FnOnce(&mut Self, &mut Section<'_, '_>),
    ) -> Committed {
        let sets = std::mem::take(&mut self.sets);
        let ((), committed) = engine.section(self.shards, sets, |section| {
            begin(section);
            self.settle_all(section);
            if IS_WHOLE {
                section.begin_whole();
            }
            put(self, section);
            if IS_WHOLE {
                section.end_whole(self.routes.iter().map(|route| &*route.targets));
            }
        });
        committed
    }

    #[inline(always)]
    fn put_all(&mut self, section: &mut Section<'_, '_>) {
        for publish in &mut self.publishes {
            section.put(publish, &self.routes[publish.route as usize].targets);
        }
    }

    /// The same for those that watch.
    #[cold]
    #[inline(never)]
    fn enqueue_watched<const IS_WHOLE: bool>(&mut self, engine: &Engine) -> Committed {
        let _call = APPLY.enter(|arguments| {
            arguments.number("publishes", self.publishes.len()).number("settlements", self.seqs.len());
            arguments.number("shards", self.shards.count_ones());
        });
        let (client, mut probe) = (self.client.take(), self.probe.take());
        let began_at = effort::is_counted().then(Instant::now);
        let mut locked_at = None;
        let begin = |section: &mut Section<'_, '_>| {
            locked_at = began_at.map(|_| Instant::now());
            if client.is_some() {
                section.work.on_behalf_of(client);
            }
        };
        let committed = self.in_section::<IS_WHOLE>(engine, begin, |batch, section| match &mut probe {
            None => batch.put_all(section),
            Some(probe) => batch.put_timed(section, probe),
        });
        self.probe = probe;
        if let (Some(began_at), Some(locked_at)) = (began_at, locked_at) {
            self.share_effort(began_at, locked_at);
        }
        committed
    }

    /// Puts all in three parts: what is before the message that is timed, that one, and what is after it.
    fn put_timed(&mut self, section: &mut Section<'_, '_>, probe: &mut BatchProbe) {
        let mut start = 0;
        for (part, end) in [probe.index, probe.index + 1, self.publishes.len()].into_iter().enumerate() {
            let end = end.min(self.publishes.len());
            for publish in &mut self.publishes[start..end] {
                section.put(publish, &self.routes[publish.route as usize].targets);
            }
            start = end;
            if let Some(publish) = self.publishes.get(probe.index) {
                section.time(probe, part, publish, &self.routes[publish.route as usize].targets);
            }
        }
    }

    /// Its queues share the time that it has taken, by how much of it was for each; and that for which it had to wait for their locks.
    fn share_effort(&self, began_at: Instant, locked_at: Instant) {
        let (waited, worked) = (locked_at.saturating_duration_since(began_at), locked_at.elapsed());
        let routed = self.routes.iter().flat_map(|route| route.targets.queues.iter().map(|queue| (queue, route.count)));
        let mut start = 0;
        let settled = self.settlements.iter().map(|settlement| {
            let count = settlement.end - std::mem::replace(&mut start, settlement.end);
            (&settlement.queue, count as u32)
        });
        let shares: Vec<(&Arc<QueueHandle>, u32)> = routed.chain(settled).collect();
        let whole = shares.iter().map(|(_, count)| u64::from(*count)).sum::<u64>().max(1) as f64;
        for (queue, count) in shares {
            let share = f64::from(count) / whole;
            queue.effort.work(worked.mul_f64(share));
            queue.effort.wait(waited.mul_f64(share));
        }
    }

    fn settle_all(&self, section: &mut Section<'_, '_>) {
        let mut start = 0;
        for settlement in &self.settlements {
            let seqs = &self.seqs[start..settlement.end];
            start = settlement.end;
            let Some((entry, work)) = section.queue(&settlement.queue) else { continue };
            let seqs = still_held_by(&entry.queue, seqs, settlement.holder);
            work.ack(entry, &seqs);
            work.touch(entry);
        }
    }

    /// How often the connection is to pause for consumers: once for each `len` bytes of publishes that came while they fell behind, at most
    /// so often. What is left over counts on.
    pub fn take_pauses(&mut self, len: u64, count_max: u64) -> u64 {
        let count = (self.backpressure_len / len).min(count_max);
        self.backpressure_len %= len;
        count
    }

    /// Bytes that it takes beside itself.
    #[must_use]
    pub fn memory_len(&self) -> usize {
        self.publishes.capacity() * size_of::<Publish>()
            + self.seqs.capacity() * size_of::<QueueSeq>()
            + self.routes.capacity() * size_of::<BatchRoute>()
            + self.settlements.capacity() * size_of::<Settlement>()
    }

    /// Whether it holds no memory.
    pub fn has_no_room(&self) -> bool {
        self.publishes.capacity() + self.seqs.capacity() == 0
    }

    /// Whether it has no more room than for what one read brings; a transaction may have needed more.
    pub fn is_worth_keeping(&self) -> bool {
        self.publishes.capacity().max(self.seqs.capacity()) <= 4 * BATCH_COUNT
    }

    /// Exchanges room with another one; both are empty.
    pub fn swap_room(&mut self, other: &mut Self) {
        std::mem::swap(self, other);
        std::mem::swap(&mut self.backpressure_len, &mut other.backpressure_len);
    }

    /// Gives back the memory of an empty one.
    pub fn shrink(&mut self) {
        *self = Self { backpressure_len: self.backpressure_len, ..Self::default() };
    }
}

/// Those of a client's deliveries that have not been taken away from it meanwhile, for having been held too long.
#[inline]
fn still_held_by<'a>(
    queue: &queue::Queue<QueuedMessage, ConsumerGate>,
    seqs: &'a [QueueSeq],
    holder: Option<ConsumerId>,
) -> Cow<'a, [QueueSeq]> {
    if !queue.has_timed_out() {
        return Cow::Borrowed(seqs);
    }
    seqs.iter().copied().filter(|seq| queue.is_held_by(*seq, holder)).collect()
}

/// The same of deliveries that different consumers held.
pub fn still_held(
    queue: &queue::Queue<QueuedMessage, ConsumerGate>,
    deliveries: &[(QueueSeq, Option<ConsumerId>)],
) -> Vec<QueueSeq> {
    let is_held =
        |(seq, holder): &&(QueueSeq, Option<ConsumerId>)| !queue.has_timed_out() || queue.is_held_by(*seq, *holder);
    deliveries.iter().filter(is_held).map(|(seq, _)| *seq).collect()
}
