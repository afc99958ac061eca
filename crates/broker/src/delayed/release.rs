//! The way out: what is due is routed by the bindings of now, and goes from its set to its queues in one batch of the journal.

use std::sync::Arc;

use amqp::content::ContentHeader;
use queue::{DelayId, Progress};
use routing::Epoch;
use store::Content;

use super::DelaySet;
use super::header::{DelayOver, with_delay_over};
use crate::batch::{self, Publish};
use crate::broker::Broker;
use crate::dead_letters::copied_keys;
use crate::message::{Held, Parts, kept};
use crate::publish::{PERSISTENT, Terms};
use crate::queue_handle::Targets;
use crate::vhost::{Routing, Vhost};

/// Messages that are released at once: locks are held for no more, and others' timers wait for no more.
const RELEASED_COUNT_MAX: usize = 1024;
/// Messages that are released in a millisecond as long as consumers of one of their queues would take more than they get: what is
/// released waits for them in its queue, where it may even have to be written to a segment once more, and releasing it takes the
/// processor's time from them.
const RELEASED_COUNT_OUTRUN: usize = 128;
/// A first message that is so late is a sign that messages come in faster than they leave, be it that consumers are behind.
const BEHIND_MS: u64 = 20;

/// A message that is due, with where it goes.
struct Released {
    id: DelayId,
    /// `None`: it goes nowhere.
    publish: Option<(Publish, Arc<Targets>)>,
}

/// Where the last message went, for the next that is like it.
struct LastRoute {
    epoch: Epoch,
    routing_key: Vec<u8>,
    targets: Arc<Targets>,
}

/// Releases what is due, as much as may be at once, and has the set looked after again when there is more. `timer_at_ms`: which of its
/// timers it was; one that an earlier has replaced does nothing.
pub(crate) fn release_due(broker: &Broker, set: &Arc<DelaySet>, timer_at_ms: u64) {
    let now_ms = broker.clock.now_ms();
    let rate = set.release_rate();
    let (mut due, mut asks) = (Vec::new(), Vec::new());
    let is_replaced = set.with(|state| {
        if state.timer_at_ms != timer_at_ms {
            return true;
        }
        state.timer_at_ms = 0;
        let count_max = if state.outran_at_ms > 0 { RELEASED_COUNT_OUTRUN } else { RELEASED_COUNT_MAX };
        let count_max = state.pace.allowed(rate, count_max, now_ms);
        let progress = state.delays.release(now_ms, count_max, &mut due, &mut asks);
        state.pace.note_released(rate, due.len());
        let is_late = |due_ms: u64| due_ms.saturating_add(BEHIND_MS) < now_ms;
        let is_behind = rate.is_none() && progress != Progress::Done && state.delays.next_due_ms().is_some_and(is_late);
        state.flow.note_released(due.len(), is_behind);
        false
    });
    if is_replaced {
        return;
    }
    asks.drain(..).for_each(|ask| broker.store.load(ask.generation, ask.load));
    move_on(broker, set, due);
}

/// Brings messages that are leaving a set to their queues.
fn move_on(broker: &Broker, set: &Arc<DelaySet>, leaving: Vec<(DelayId, Held)>) {
    let now_ms = broker.clock.now_ms();
    let vhost = broker.vhosts.get(&set.site.vhost);
    let mut last = None;
    let mut released: Vec<Released> = leaving
        .into_iter()
        .map(|(id, held)| {
            let content = held.into_content();
            let publish = vhost.as_ref().and_then(|vhost| route(broker, vhost, set, &content, now_ms, &mut last));
            Released { id, publish }
        })
        .collect();
    let shards = released.iter().filter_map(|released| released.publish.as_ref());
    let shards = shards.fold(0, |shards, (_, targets)| shards | targets.shards);
    let ids: Vec<DelayId> = released.iter().map(|released| released.id).collect();
    let freed = batch::with_scratch(broker, |work, refs, touched| {
        broker.shards.with_many(shards, vec![set.clone()], |locked| {
            let state = locked.sets.get(set);
            let settled = state.settle(set, work, broker, &ids);
            let is_settled = |id: DelayId| settled.messages.binary_search_by_key(&id, |(id, _)| *id).is_ok();
            // The exchange may have been deleted meanwhile, and its messages with it.
            released.retain(|released| is_settled(released.id));
            set.released.add(released.len() as u64);
            for released in &mut released {
                match &mut released.publish {
                    Some((publish, targets)) => {
                        batch::put(work, broker, locked, publish, targets, refs, touched);
                    }
                    None => drop(vhost.as_ref().map(|vhost| vhost.counters.stripe().dropped.add(1))),
                }
            }
            let is_outrun = batch::dispatch_touched(work, broker, locked, touched);
            let state = locked.sets.get(set);
            if !released.is_empty() {
                state.outran_at_ms = if is_outrun { now_ms } else { 0 };
            }
            state.set_timer(set, work, broker);
            work.commit(broker);
            settled
        })
    });
    drop(freed);
}

/// The message as it enters its queues, and these. `None` if there are none.
fn route(
    broker: &Broker,
    vhost: &Vhost,
    set: &DelaySet,
    content: &Content,
    now_ms: u64,
    last: &mut Option<LastRoute>,
) -> Option<(Publish, Arc<Targets>)> {
    let parts = Parts::read(content.bytes())?;
    let header = ContentHeader::decode(parts.header).ok()?;
    let properties = header.properties;
    let copies = if parts.history.has_lost_copies { Vec::new() } else { copied_keys(properties.headers) };
    let only = [parts.routing_key];
    let mut many = Vec::new();
    let routing_keys = if copies.is_empty() && parts.history.hidden_keys.is_empty() {
        &only[..]
    } else {
        many.extend(only.into_iter().chain(copies).chain(parts.history.hidden_keys()));
        &many
    };
    let delay_over = with_delay_over(&header, parts.header);
    let header = if let DelayOver::Anew(header) = &delay_over { header } else { parts.header };
    let parts = Parts { published_at_ms: now_ms, header, ..parts };
    let write = |out: &mut [u8]| {
        parts.write(out);
        if let DelayOver::InPlace(patch) = &delay_over {
            patch.apply(parts.header_in(out));
        }
    };
    let content = || kept(parts.len(), write);
    let routing = Routing {
        exchange: &set.site.exchange,
        routing_keys,
        properties: &properties,
        content: &content,
        is_delayed: false,
    };
    let targets = targets(vhost, &routing, last)?;
    let is_persistent = properties.delivery_mode == Some(PERSISTENT);
    let content = broker.chunks.write(targets.kind(is_persistent), parts.len(), write);
    let terms = Terms { is_persistent, ttl_ms: parts.history.ttl_ms, priority: properties.priority, due_ms: 0 };
    Some((Publish::new(content, parts.body.len(), terms), targets))
}

/// Where it goes, from now on. `None`: nowhere.
fn targets(vhost: &Vhost, routing: &Routing<'_>, last: &mut Option<LastRoute>) -> Option<Arc<Targets>> {
    let targets = match (routing.routing_keys, &*last) {
        (&[routing_key], Some(last)) if last.routing_key == routing_key && last.epoch == vhost.epoch() => {
            last.targets.clone()
        }
        (routing_keys, _) => {
            // An exchange that is not there is as good as one without bindings.
            let routed = vhost.route_from(routing).ok()?;
            let targets = Arc::new(routed.targets);
            if let (&[routing_key], Some(epoch)) = (routing_keys, routed.cacheable_at) {
                *last = Some(LastRoute { epoch, routing_key: routing_key.to_vec(), targets: targets.clone() });
            }
            targets
        }
    };
    (!targets.is_empty()).then_some(targets)
}
