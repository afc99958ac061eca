//! Dead letters: what queues have given up, on its way to their dead-letter exchanges.
//!
//! A queue sets aside what it gives up and goes on; it stands in the queue's line until it is all there and those before it have gone. One
//! thread at a time brings on what is first in a line, so that it arrives in the order in which it left: when the queue's lock is gone, the messages are routed, and then removed there and added
//! to their new queues under the locks of all of them, in one batch of the journal. So a message is never nowhere, nor twice: what a
//! crash finds in its old queue is given up once more. That may fill other queues, which give up messages in turn: they come next.
//!
//! Under the strategy at-least-once a message that finds no queue, or one that refuses it, stays where it is and is tried again.

mod headers;
mod line;

pub(crate) use headers::copied_keys;
pub(crate) use line::Line;

use std::sync::Arc;

use amqp::content::ContentHeader;
use model::features::DeadLetter;
use model::ids::{QueueId, QueueSeq};
use queue::{Counts, DropReason};
use store::Content;

use crate::batch::{self, Publish};
use crate::broker::Broker;
use crate::delayed::header;
use crate::dispatch::Work;
use crate::message::{History, Parts};
use crate::publish::{PERSISTENT, Terms};
use crate::queue_handle::{QueueHandle, Targets};
use crate::shard::{Cell, Locked};
use crate::vhost::{Routing, Vhost};

use self::headers::Death;

/// A message that a queue has given up.
#[derive(Debug)]
pub(crate) struct Leaver {
    pub(crate) queue: Arc<QueueHandle>,
    /// Its position, where it is set aside. `None`: it never was in the queue.
    pub(crate) seq: Option<QueueSeq>,
    pub(crate) content: Content,
    pub(crate) reason: DropReason,
    /// How often it had come back to this queue.
    pub(crate) counts: Counts,
}

/// Messages that are brought on at once: locks are held for no more.
const BROUGHT_COUNT_MAX: usize = 256;
/// The same for their bytes.
const BROUGHT_LEN_MAX: u64 = 1 << 20;
/// How long dead letters wait for a disk that is full, before it is looked at again.
const HELD_FOR_MS: u64 = 1_000;
/// How long a message waits that has found no queue.
const RETRY_AFTER_MS: u64 = 5_000;

/// A leaver with where it goes.
struct Routed {
    leaver: Leaver,
    /// `None`: it goes nowhere.
    publish: Option<(Publish, Targets)>,
    is_at_least_once: bool,
}

/// Brings the first of what a queue has given up to where it goes. No lock is held. Says whether there may be more.
///
/// Not while the disk is full: as a publisher's, a dead letter takes room before what it was in is free, which acknowledgements need.
pub(crate) fn bring(work: &mut Work, broker: &Broker, queue: &QueueHandle) -> bool {
    if broker.store.is_disk_full() {
        hold(work, broker, queue);
        return false;
    }
    // A thread that comes later waits, and finds nothing or what was given up later.
    let _turn = queue.dead_letter_turn.lock();
    let take = |cell: &mut Cell| {
        let Cell { queue, line, .. } = cell;
        line.take(BROUGHT_COUNT_MAX, BROUGHT_LEN_MAX, |seq| queue.is_leaving(seq))
    };
    let leavers = broker.shards.with_queue(queue, take).unwrap_or_default();
    if leavers.is_empty() {
        return false;
    }
    let len: u64 = leavers.iter().map(|leaver| u64::from(leaver.content.len())).sum();
    let may_be_more = leavers.len() == BROUGHT_COUNT_MAX || len >= BROUGHT_LEN_MAX;
    let now_ms = work.now_ms(broker);
    let routed: Vec<Routed> = leavers.into_iter().map(|leaver| route(broker, leaver, now_ms)).collect();
    let shards = routed.iter().fold(0, |shards, routed| {
        let targets = routed.publish.as_ref().map_or(0, |(_, targets)| targets.shards);
        shards | targets | routed.leaver.queue.shard_bit()
    });
    let delays = routed.iter().filter_map(|routed| routed.publish.as_ref()?.1.delay.as_ref());
    let sets: Vec<_> = delays.flat_map(|delay| delay.sets.iter().cloned()).collect();
    broker.shards.with_many(shards, sets, |locked| {
        let mut refs: Vec<(QueueId, QueueSeq)> = Vec::new();
        let mut touched: Vec<Arc<QueueHandle>> = Vec::new();
        for routed in routed {
            move_on(work, broker, locked, routed, &mut refs, &mut touched);
        }
        batch::dispatch_touched(work, broker, locked, &mut touched);
        work.commit(broker)
    });
    may_be_more
}

/// What a queue has given up waits for a while.
fn hold(work: &mut Work, broker: &Broker, queue: &QueueHandle) {
    let until_ms = work.now_ms(broker).saturating_add(HELD_FOR_MS);
    broker.shards.with_queue(queue, |cell| {
        if cell.line.hold_until(until_ms) {
            work.set_timer(cell);
        }
    });
}

fn move_on(
    work: &mut Work,
    broker: &Broker,
    locked: &mut Locked<'_>,
    routed: Routed,
    refs: &mut Vec<(QueueId, QueueSeq)>,
    touched: &mut Vec<Arc<QueueHandle>>,
) {
    let Routed { leaver, mut publish, is_at_least_once } = routed;
    if is_at_least_once && leaver.seq.is_some() && !is_welcome(work, broker, locked, publish.as_mut()) {
        stay(work, locked, &leaver, broker);
        return;
    }
    if let Some(seq) = leaver.seq {
        // The queue may have been deleted meanwhile, and its messages with it.
        let Some(cell) = locked.get(&leaver.queue) else { return };
        let from = work.settled.len();
        cell.queue.depart(&[seq], &mut work.settled);
        if work.settled.len() == from {
            return;
        }
        if cell.touch() {
            touched.push(cell.handle.clone());
        }
        if is_at_least_once {
            cell.handle.vhost.stripe().handed(cell.handle.is_quorum()).deaths_confirmed.add(1);
        }
        work.settle(cell, from);
    }
    if let Some((mut publish, targets)) = publish {
        batch::put(work, broker, locked, &mut publish, &targets, refs, touched);
    }
}

/// Whether every queue takes the message, or has it, and there is one.
fn is_welcome(
    work: &mut Work,
    broker: &Broker,
    locked: &mut Locked<'_>,
    publish: Option<&mut (Publish, Targets)>,
) -> bool {
    let Some((publish, targets)) = publish else { return false };
    let mut takes = |queue: &Arc<QueueHandle>| {
        let Some(cell) = locked.get(queue) else { return true };
        !cell.queue.refuses(publish.body_len) || work.has_key_in(cell, broker, publish)
    };
    !targets.is_empty() && targets.queues.iter().all(&mut takes)
}

/// The message stays set aside, to be tried again.
fn stay(work: &mut Work, locked: &mut Locked<'_>, leaver: &Leaver, broker: &Broker) {
    let until_ms = work.now_ms(broker).saturating_add(RETRY_AFTER_MS);
    let (Some(cell), Some(seq)) = (locked.get(&leaver.queue), leaver.seq) else { return };
    if cell.stuck.is_empty() {
        cell.stuck_until_ms = until_ms;
    }
    cell.stuck.push(seq);
    work.set_timer(cell);
}

impl Work {
    /// A queue gives up a message that never was in it.
    pub(crate) fn turn_away(&mut self, cell: &mut Cell, content: Content, reason: DropReason) {
        let queue = cell.handle.clone();
        cell.line.push(Leaver { queue, seq: None, content, reason, counts: Counts::default() });
        self.bring_later(cell);
    }

    /// Something of what the queue has given up may go on, once the locks are gone.
    pub(crate) fn bring_later(&mut self, cell: &Cell) {
        if self.giving_up.last().is_none_or(|last| last.id() != cell.handle.id()) {
            self.giving_up.push(cell.handle.clone());
        }
    }

    /// Brings on what has been held, when it is time.
    pub(crate) fn bring_held(&mut self, cell: &Cell, now_ms: u64) {
        if cell.line.held_until().is_some_and(|at_ms| at_ms <= now_ms) {
            self.bring_later(cell);
        }
    }

    /// Gives messages up once more that found no queue, when it is time.
    pub(crate) fn retry_stuck(&mut self, cell: &mut Cell, now_ms: u64) {
        if !cell.stuck.is_empty() && cell.stuck_until_ms <= now_ms {
            let stuck = std::mem::take(&mut cell.stuck);
            self.drop_again(cell, &stuck);
        }
    }
}

fn route(broker: &Broker, leaver: Leaver, now_ms: u64) -> Routed {
    let features = leaver.queue.features();
    let vhost = broker.vhosts.get(leaver.queue.definition.vhost.as_str());
    let (Some(dead_letter), Some(vhost)) = (&features.dead_letter, vhost) else {
        // No longer wanted elsewhere.
        return Routed { leaver, publish: None, is_at_least_once: false };
    };
    let publish = rewritten(broker, &vhost, dead_letter, &leaver, now_ms);
    Routed { leaver, publish, is_at_least_once: dead_letter.is_at_least_once }
}

/// The message as it arrives at the dead-letter exchange, and its queues. `None` if there are none.
fn rewritten(
    broker: &Broker,
    vhost: &Vhost,
    dead_letter: &DeadLetter,
    leaver: &Leaver,
    now_ms: u64,
) -> Option<(Publish, Targets)> {
    let parts = Parts::read(leaver.content.bytes())?;
    let header = ContentHeader::decode(parts.header).ok()?;
    let has_copies = !parts.history.has_lost_copies;
    let copied_keys = if has_copies { headers::copied_keys(header.properties.headers) } else { Vec::new() };
    let keys_before: Vec<&[u8]> = std::iter::once(parts.routing_key).chain(copied_keys.iter().copied()).collect();
    let death = Death {
        queue: leaver.queue.name().as_bytes(),
        reason: leaver.reason,
        exchange: parts.exchange,
        routing_keys: &keys_before,
        at_s: broker.clock.shown_ms(now_ms) / 1000,
        expiration: header.properties.expiration,
    };
    let table = headers::with_death(header.properties.headers, parts.history.has_died, &death);
    let routing_keys: Vec<&[u8]> = match &dead_letter.routing_key {
        Some(key) => vec![key],
        None => keys_before.iter().copied().chain(parts.history.hidden_keys()).collect(),
    };
    let exchange = dead_letter.exchange.as_bytes();
    let mut properties = header.properties;
    properties.expiration = None;
    properties.headers = Some(table.as_table());
    let mut payload = Vec::with_capacity(parts.header.len() + 256);
    ContentHeader { properties, ..header }.encode(&mut payload);
    // As in RabbitMQ failures are counted from queue to queue; how often it was held is what its last queue knew.
    let before = parts.history.counts;
    let delivery_count = before.delivery_count.saturating_add(leaver.counts.delivery_count);
    let of_queue = Some(leaver.counts.acquired_count).filter(|count| *count > 0 && delivery_count > 0);
    let counts = Counts { delivery_count, acquired_count: of_queue.unwrap_or(before.acquired_count) };
    let has_lost_copies = parts.history.has_lost_copies || dead_letter.routing_key.is_some();
    let hidden_keys = if has_lost_copies { b"" } else { parts.history.hidden_keys };
    let history = History { ttl_ms: None, counts, has_died: true, has_lost_copies, hidden_keys };
    let (routing_key, body) = (routing_keys[0], parts.body);
    let parts = Parts { published_at_ms: now_ms, history, exchange, routing_key, header: &payload, body };
    let content = || parts.to_kept();
    let due_ms = header::delay_in(header.properties.headers).map(|delay_ms| broker.clock.due_ms(delay_ms));
    let is_delayed = due_ms.is_some();
    let routing =
        Routing { exchange, routing_keys: &routing_keys, properties: &properties, content: &content, is_delayed };
    let targets = targets(vhost, &routing)?;
    let is_persistent = properties.delivery_mode == Some(PERSISTENT);
    let content = broker.chunks.write(targets.kind(is_persistent), parts.len(), |out| parts.write(out));
    let terms = Terms { is_persistent, ttl_ms: None, priority: properties.priority, due_ms: due_ms.unwrap_or(0) };
    Some((Publish::new(content, body.len(), terms), targets))
}

/// The queues of a dead letter, but for those in which it would go round in circles.
fn targets(vhost: &Vhost, routing: &Routing<'_>) -> Option<Targets> {
    // An exchange that is not there is as good as one without bindings.
    let routed = vhost.route_dead(routing).ok()?.targets;
    let headers = routing.properties.headers?;
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
    (!routed.is_empty()).then_some(routed)
}
