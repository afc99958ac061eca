//! Dead letters: what queues have given up, on its way to their dead-letter exchanges.
//!
//! A queue sets aside what it gives up and continues; it stands in the queue's line until it is all there and those before it have left.
//! One thread at a time brings on what is first in a line, so that it arrives in the order in which it left: when the queue's lock is
//! released, the messages are routed, and then removed there and added to their new queues under the locks of all of them, in one batch of
//! the journal. So a message is never nowhere, nor twice: what a crash finds in its old queue is given up once more. That may fill other
//! queues, which give up messages in turn: they come next, as far as a [`Turn`] reaches. What is left then is the timers', so that no chain
//! of deaths keeps a thread from others.
//!
//! Under the strategy at-least-once a message that finds no queue, or one that refuses it, stays where it is and is tried again.

mod headers;
mod letter;
mod line;
mod turn;

pub(crate) use headers::{copied_keys, name_of};
pub(crate) use letter::{DeadLetter, StuckLetter};
pub(crate) use line::Line;
pub(crate) use turn::Turn;

use std::sync::Arc;

use message::{History, Parts};
use model::features;
use model::ids::QueueSeq;
use queue::{Counts, DropReason};
use store::Content;

use crate::delayed::header;
use crate::engine::Engine;
use crate::publish::{Publish, PublishOptions};
use crate::queue_handle::QueueHandle;
use crate::router::{Routing, VhostRouter};
use crate::section::Section;
use crate::shard::QueueEntry;
use crate::tap::{Kind, NoteOf};
use crate::targets::Targets;
use crate::trace_points::REPUBLISH;
use crate::transfer::{Arrival, Leave, Transfer};
use crate::work::Work;

use self::headers::Death;

/// Messages that are republished at once: locks are held for no more.
const BATCH_COUNT_MAX: usize = 256;
/// The same for their bytes.
const BATCH_LEN_MAX: u64 = 1 << 20;
/// How long dead letters wait for a disk that is full, before it is looked at again.
const HELD_FOR_MS: u64 = 1_000;
/// How long a message waits that has found no queue.
const RETRY_AFTER_MS: u64 = 5_000;
/// Messages of a queue that are tried again under one lock. The rest is due at once.
const RETRIED_COUNT_MAX: usize = 1_024;

/// Where a dead letter is, and what its queue promises.
struct Source {
    letter: DeadLetter,
    is_at_least_once: bool,
}

/// Republishes the first of what a queue has given up. No lock is held. Says whether there may be more.
///
/// Nothing when the turn is over: the rest is due at once, on the timers' thread. And not while the disk is full: as a publisher's, a dead
/// letter takes room before what it was in is free, which acknowledgements need.
pub(crate) fn republish(work: &mut Work<'_>, queue: &QueueHandle, turn: &mut Turn) -> bool {
    let engine = work.engine;
    if turn.is_over() {
        hold(work, queue, 0);
        return false;
    }
    let _call = REPUBLISH.enter(|arguments| {
        arguments.text("queue", queue.name());
    });
    if engine.store.is_disk_full() {
        hold(work, queue, HELD_FOR_MS);
        return false;
    }
    // A thread that comes later waits, and finds nothing or what was given up later.
    let _turn = queue.dead_letter_turn.lock();
    let take = |entry: &mut QueueEntry| {
        let QueueEntry { queue, line, .. } = entry;
        line.take(BATCH_COUNT_MAX, BATCH_LEN_MAX, |seq| queue.is_leaving(seq))
    };
    let letters = engine.shards.with_queue(queue, take).unwrap_or_default();
    if letters.is_empty() {
        return false;
    }
    let len: u64 = letters.iter().map(|letter| u64::from(letter.content.len())).sum();
    turn.spend(letters.len(), len);
    let may_be_more = letters.len() == BATCH_COUNT_MAX || len >= BATCH_LEN_MAX;
    let now_ms = work.now_ms();
    let mut transfers: Vec<_> = letters.into_iter().map(|letter| route(engine, letter, now_ms)).collect();
    let shards = transfers.iter().fold(0, |shards, transfer| shards | transfer.source.letter.queue.shard_bit());
    work.transfer(&mut transfers, shards, Vec::new(), &mut FromQueues);
    may_be_more
}

/// What a queue has given up waits for a while, and then for the timers' thread.
fn hold(work: &mut Work<'_>, queue: &QueueHandle, for_ms: u64) {
    let until_ms = work.now_ms().saturating_add(for_ms);
    work.engine.shards.with_queue(queue, |entry| {
        if entry.line.hold_until(until_ms) {
            work.set_timer(entry);
        }
    });
}

/// Dead letters leave their queues for good. Not one that has to arrive, and would not.
struct FromQueues;

impl Leave<Source> for FromQueues {
    fn leave(&mut self, section: &mut Section<'_, '_>, transfer: &mut Transfer<Source>) -> bool {
        let Source { letter, is_at_least_once } = &transfer.source;
        // It never was in the queue.
        let Some(seq) = letter.seq else {
            note(section.work, transfer);
            return true;
        };
        if *is_at_least_once && !section.all_targets_accept(transfer.arrival.as_mut()) {
            section.hold_for_retry(letter, seq);
            return false;
        }
        // The queue may have been deleted meanwhile, and its messages with it.
        let Some((entry, work)) = section.queue(&letter.queue) else { return false };
        let from = work.section_effects.settled.len();
        entry.queue.remove_dead_lettered(&[seq], &mut work.section_effects.settled);
        if work.section_effects.settled.len() == from {
            return false;
        }
        work.touch(entry);
        if *is_at_least_once {
            entry.handle.vhost.stripe().handed(entry.handle.is_quorum()).deaths_confirmed.add(1);
        }
        work.settle(entry, from);
        note(work, transfer);
        true
    }
}

/// Notes that a dead letter leaves.
fn note(work: &mut Work<'_>, transfer: &Transfer<Source>) {
    if work.wanted.has(Kind::DeadLettered) {
        let DeadLetter { queue, seq, content, reason, .. } = &transfer.source.letter;
        let targets = transfer.arrival.as_ref().map(|arrival| arrival.targets.clone());
        work.note(queue, *seq, Some(content), NoteOf::DeadLettered(*reason, targets));
    }
}

impl Section<'_, '_> {
    /// Whether every queue takes the message, or has it, and there is one.
    fn all_targets_accept(&mut self, arrival: Option<&mut Arrival>) -> bool {
        let Some(Arrival { publish, targets }) = arrival else { return false };
        let mut accepts = |queue: &Arc<QueueHandle>| {
            let Some((entry, work)) = self.queue(queue) else { return true };
            !entry.queue.refuses(publish.body_len) || work.has_key_in(entry, publish)
        };
        !targets.is_empty() && targets.queues.iter().all(&mut accepts)
    }

    /// The message stays set aside, to be tried again.
    fn hold_for_retry(&mut self, letter: &DeadLetter, seq: QueueSeq) {
        let Some((entry, work)) = self.queue(&letter.queue) else { return };
        let until_ms = work.now_ms().saturating_add(RETRY_AFTER_MS);
        entry.stuck.push_back(StuckLetter { seq, until_ms });
        work.set_timer(entry);
    }
}

impl Work<'_> {
    /// A queue gives up a message that never was in it.
    pub(crate) fn refuse_publish(&mut self, entry: &mut QueueEntry, content: Content, reason: DropReason) {
        let queue = entry.handle.clone();
        entry.line.push(DeadLetter { queue, seq: None, content, reason, counts: Counts::default() });
        self.republish_later(entry);
    }

    /// Something of what the queue has given up may move on, once the locks are released.
    pub(crate) fn republish_later(&mut self, entry: &QueueEntry) {
        if self.section_effects.giving_up.back().is_none_or(|last| last.id() != entry.handle.id()) {
            self.section_effects.giving_up.push_back(entry.handle.clone());
        }
    }

    /// Republishes what has been held, when it is time.
    pub(crate) fn republish_held(&mut self, entry: &QueueEntry, now_ms: u64) {
        if entry.line.held_until().is_some_and(|at_ms| at_ms <= now_ms) {
            self.republish_later(entry);
        }
    }

    /// Gives messages up once more that found no queue, when it is time.
    pub(crate) fn retry_stuck(&mut self, entry: &mut QueueEntry, now_ms: u64) {
        let is_due = |stuck: &&StuckLetter| stuck.until_ms <= now_ms;
        let due_count = entry.stuck.iter().take(RETRIED_COUNT_MAX).take_while(is_due).count();
        if due_count > 0 {
            let due: Vec<_> = entry.stuck.drain(..due_count).map(|stuck| stuck.seq).collect();
            self.retry_dead_letters(entry, &due);
        }
    }
}

fn route(engine: &Engine, letter: DeadLetter, now_ms: u64) -> Transfer<Source> {
    let features = letter.queue.features();
    let vhost = engine.router.vhost(letter.queue.definition.vhost.as_str());
    let (Some(settings), Some(vhost)) = (&features.dead_letter, vhost) else {
        // No longer wanted elsewhere.
        return Transfer { source: Source { letter, is_at_least_once: false }, arrival: None };
    };
    let arrival = rewritten(engine, &*vhost, settings, &letter, now_ms);
    Transfer { source: Source { letter, is_at_least_once: settings.is_at_least_once }, arrival }
}

/// The message as it arrives at the dead-letter exchange, and its queues. `None` if there are none.
fn rewritten(
    engine: &Engine,
    vhost: &dyn VhostRouter,
    settings: &features::DeadLetter,
    letter: &DeadLetter,
    now_ms: u64,
) -> Option<Arrival> {
    let parts = Parts::read(letter.content.bytes())?;
    let view = parts.header.view()?;
    let headers = view.headers();
    let has_copies = !parts.history.has_lost_copies;
    let copied_keys = if has_copies { headers::copied_keys(headers) } else { Vec::new() };
    let keys_before: Vec<&[u8]> = std::iter::once(parts.routing_key).chain(copied_keys.iter().copied()).collect();
    let death = Death {
        queue: letter.queue.name().as_bytes(),
        reason: letter.reason,
        exchange: parts.exchange,
        routing_keys: &keys_before,
        at_s: engine.clock.shown_ms(now_ms) / 1000,
        expiration: view.expiration(),
    };
    let table = headers::with_death(headers, parts.history.has_died, &death);
    let routing_keys: Vec<&[u8]> = match &settings.routing_key {
        Some(key) => vec![key],
        None => keys_before.iter().copied().chain(parts.history.hidden_keys()).collect(),
    };
    let exchange = settings.exchange.as_bytes();
    let view = view.without_expiration().with_headers(Some(table.as_table()));
    let header = view.encode();
    // As in RabbitMQ failures are counted from queue to queue; until the next one has had it back, it counts as held as often as it failed.
    let delivery_count = parts.history.counts.delivery_count.saturating_add(letter.counts.delivery_count);
    let counts = Counts { delivery_count, acquired_count: delivery_count };
    let has_lost_copies = parts.history.has_lost_copies || settings.routing_key.is_some();
    let hidden_keys = if has_lost_copies { b"" } else { parts.history.hidden_keys };
    let history = History { ttl_ms: None, counts, has_died: true, has_lost_copies, hidden_keys };
    let (routing_key, body) = (routing_keys[0], parts.body);
    let parts = Parts { published_at_ms: now_ms, history, exchange, routing_key, header: header.as_header(), body };
    let content = || parts.to_kept();
    let due_ms = header::delay_in(headers).map(|delay_ms| engine.clock.due_ms(delay_ms));
    let is_delayed = due_ms.is_some();
    let routing = Routing { exchange, routing_keys: &routing_keys, view: &view, content: &content, is_delayed };
    let targets = targets(vhost, &routing)?;
    let is_persistent = view.is_persistent();
    let content = engine.chunks.write(targets.kind(is_persistent), parts.len(), |out| parts.write(out));
    let options =
        PublishOptions { is_persistent, ttl_ms: None, priority: view.priority(), due_ms: due_ms.unwrap_or(0) };
    Some(Arrival { publish: Publish::new(content, body.len(), options), targets: Arc::new(targets) })
}

/// The queues of a dead letter, but for those in which it would go round in circles.
fn targets(vhost: &dyn VhostRouter, routing: &Routing<'_>) -> Option<Targets> {
    // An exchange that is not there is as good as one without bindings.
    let routed = vhost.route_dead_letter(routing)?;
    let headers = routing.view.headers()?;
    let is_circle = |queue: &Arc<QueueHandle>| headers::is_circle(headers, queue.name().as_bytes());
    let routed = if routed.queues.iter().any(is_circle) {
        let queues = Targets::new(routed.queues.iter().filter(|queue| !is_circle(queue)).cloned());
        let queues = queues.with_keys(routed.keys);
        match routed.delay {
            Some(delay) => queues.with_delay(delay.sets.into_vec()),
            None => queues,
        }
    } else {
        routed
    };
    for queue in routed.queues.iter().filter(|queue| headers::has_died_in(headers, queue.name().as_bytes())) {
        queue.counters.losses().came_round.add(1);
    }
    (!routed.is_empty()).then_some(routed)
}
