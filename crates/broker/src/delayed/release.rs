//! The way out: what is due is routed by the bindings of now, and goes from its set to its queues in one batch of the journal.

use std::sync::Arc;

use amqp::content::ContentHeader;
use queue::DelayId;
use store::{Content, Kind};

use super::DelaySet;
use super::header::with_negated_delay;
use crate::batch::{self, Publish};
use crate::broker::Broker;
use crate::dead_letters::copied_keys;
use crate::message::{Held, Parts};
use crate::publish::PERSISTENT;
use crate::queue_handle::Targets;
use crate::vhost::Routing;

/// Messages that are released at once: locks are held for no more, and others' timers wait for no more.
const RELEASED_COUNT_MAX: usize = 256;

/// A message that is due, with where it goes.
struct Released {
    id: DelayId,
    /// `None`: it goes nowhere.
    publish: Option<(Publish, Targets)>,
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
        let count_max = state.pace.allowed(rate, RELEASED_COUNT_MAX, now_ms);
        state.delays.release(now_ms, count_max, &mut due, &mut asks);
        state.pace.note_released(rate, due.len());
        false
    });
    if is_replaced {
        return;
    }
    asks.drain(..).for_each(|ask| broker.store.load(ask.generation, ask.load));
    move_on(broker, set, due);
}

/// Brings messages that are leaving a set to their queues.
pub(crate) fn move_on(broker: &Broker, set: &Arc<DelaySet>, leaving: Vec<(DelayId, Held)>) {
    let now_ms = broker.clock.now_ms();
    let mut released: Vec<Released> = leaving
        .into_iter()
        .map(|(id, held)| Released { id, publish: route(broker, set, &held.into_content(), now_ms) })
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
                    None => broker.counters.dropped_unroutable.add(1),
                }
            }
            locked.sets.get(set).set_timer(set, work, broker);
            batch::dispatch_touched(work, broker, locked, touched);
            work.commit(broker);
            settled
        })
    });
    drop(freed);
}

/// The message as it enters its queues, and these. `None` if there are none.
fn route(broker: &Broker, set: &DelaySet, content: &Content, now_ms: u64) -> Option<(Publish, Targets)> {
    let vhost = broker.vhosts.get(&set.site.vhost)?;
    let parts = Parts::read(content.bytes())?;
    let header = ContentHeader::decode(parts.header).ok()?;
    let copies = if parts.history.has_lost_copies { Vec::new() } else { copied_keys(header.properties.headers) };
    let keys = std::iter::once(parts.routing_key).chain(copies).chain(parts.history.hidden_keys());
    let routing_keys: Vec<&[u8]> = keys.collect();
    let headers = header.properties.headers.map(with_negated_delay);
    let mut properties = header.properties;
    properties.headers = headers.as_ref().map(|headers| headers.as_table());
    let mut payload = Vec::with_capacity(parts.header.len() + 16);
    ContentHeader { properties, ..header }.encode(&mut payload);
    let parts = Parts { published_at_ms: now_ms, header: &payload, ..parts };
    let content = || parts.to_kept();
    let routing = Routing {
        exchange: &set.site.exchange,
        routing_keys: &routing_keys,
        properties: &properties,
        content: &content,
        due_ms: None,
    };
    // An exchange that is not there is as good as one without bindings.
    let targets = vhost.route_from(&routing).ok()?.targets;
    if targets.is_empty() {
        return None;
    }
    let is_persistent = properties.delivery_mode == Some(PERSISTENT);
    let kind = if is_persistent && targets.is_journalled { Kind::Journalled } else { Kind::Transient };
    let publish = Publish {
        content: broker.chunks.write(kind, parts.len(), |out| parts.write(out)),
        body_len: parts.body.len() as u32,
        is_persistent,
        targets: 0,
        channel: 0,
        confirm_seq: 0,
        has_ttl: parts.history.ttl_ms.is_some(),
        priority: properties.priority,
        is_refused: false,
        awaits_original: false,
        keys: None,
    };
    Some((publish, targets))
}
