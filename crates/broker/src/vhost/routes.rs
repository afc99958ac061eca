//! The route of a message.

use std::cell::RefCell;
use std::sync::Arc;

use amqp::table::{Table, Value};
use routing::{Epoch, Routable};

use super::topology::Vhost;
use engine::delayed::DelaySet;
use engine::queue_handle::QueueHandle;
use engine::router::{Routed, Routing, VhostRouter};
use engine::statistics::VhostCounters;
use engine::targets::Targets;
use message::StoredContent;
use model::refusal::{self, Outcome};

thread_local! {
    static SCRATCH: RefCell<routing::RouteScratch> = RefCell::new(routing::RouteScratch::new(random_seed()));
}

/// The sender of a message to an exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sender {
    Client,
    /// It is a dead letter.
    Queue,
    /// It has been here before, or is the broker's own.
    Broker,
}

impl Vhost {
    /// Finds a message's queues. Refuses an exchange that is not there, or that clients may not publish to.
    pub(crate) fn route(&self, routing: &Routing<'_>) -> Outcome<Routed> {
        self.find_route(routing, Sender::Client)
    }

    /// Finds a message's queues, from an internal exchange, too. It is no duplicate there.
    pub(crate) fn route_from(&self, routing: &Routing<'_>) -> Outcome<Routed> {
        self.find_route(routing, Sender::Broker)
    }

    /// A queue or exchange that is bound to one with a history gets every message exactly once: out of the history, which has it before the
    /// lock is free again, or by this route. No message is copied under the lock, so the route of one that is to be kept is looked for a
    /// second time when its copy is there.
    fn find_route(&self, routing: &Routing<'_>, sender: Sender) -> Outcome<Routed> {
        let message = routable(routing, routing.is_delayed);
        let mut kept = None;
        loop {
            let topology = self.topology.read();
            let routed = SCRATCH.with_borrow_mut(|scratch| {
                let Ok(routed) = topology.exchanges.route(routing.exchange, &message, scratch) else {
                    return self.no_exchange(routing.exchange).map(Some);
                };
                if routed.is_internal && sender == Sender::Client {
                    return refusal::access_refused(format!(
                        "cannot publish to internal exchange '{}' in vhost '{}'",
                        String::from_utf8_lossy(routing.exchange),
                        self.name
                    ));
                }
                if !routed.histories.is_empty() && !has_no_store(routing.view.headers()) {
                    let Some(kept) = &kept else { return Ok(None) };
                    let names = routed.histories.iter().map(|history| topology.exchanges.name_of(*history));
                    let histories = names.filter_map(|name| topology.histories.get(name));
                    histories.for_each(|history| history.add(StoredContent::clone(kept)));
                }
                let queues = routed.queues.iter().filter_map(|id| topology.queues.get(id).cloned());
                let cacheable_at = routed.is_cacheable.then(|| topology.exchanges.epoch());
                let mut targets = Targets::new(queues);
                if sender != Sender::Broker && !topology.keys.is_empty() {
                    targets = targets.with_keys(topology.keys.get(routing.exchange).cloned());
                }
                if routing.is_delayed {
                    let names = routed.delays.iter().map(|delay| topology.exchanges.name_of(*delay));
                    let sets = names.filter_map(|name| topology.delays.get(name).cloned());
                    targets = targets.with_delay(sets.collect());
                }
                if sender == Sender::Client {
                    targets = targets.counted_at(self.exchange_counters(routing.exchange));
                }
                Ok(Some(Routed { targets, cacheable_at }))
            })?;
            drop(topology);
            match routed {
                Some(routed) => return Ok(routed),
                None => kept = Some((routing.content)()),
            }
        }
    }

    /// The queues that a message without headers would go to; nothing keeps it. None: there is no such exchange.
    pub(crate) fn queues_for(&self, exchange: &[u8], routing_key: &[u8]) -> Option<Vec<Arc<QueueHandle>>> {
        let message = Routable::by_key(routing_key);
        let topology = self.topology.read();
        SCRATCH.with_borrow_mut(|scratch| {
            let routed = topology.exchanges.route(exchange, &message, scratch).ok()?;
            Some(routed.queues.iter().filter_map(|id| topology.queues.get(id).cloned()).collect())
        })
    }

    /// Whether any queue would take a message from one of these exchanges, were it not to wait there.
    pub(crate) fn would_route(&self, routing: &Routing<'_>, sets: &[Arc<DelaySet>]) -> bool {
        let message = routable(routing, false);
        let topology = self.topology.read();
        SCRATCH.with_borrow_mut(|scratch| {
            let mut takes = |set: &Arc<DelaySet>| {
                let routed = topology.exchanges.route(&set.site.exchange, &message, scratch);
                routed.is_ok_and(|routed| !routed.queues.is_empty())
            };
            sets.iter().any(&mut takes)
        })
    }
}

/// What the engine asks. An exchange that is not there is as good as one without bindings.
impl VhostRouter for Vhost {
    fn route_dead_letter(&self, routing: &Routing<'_>) -> Option<Targets> {
        Some(self.find_route(routing, Sender::Queue).ok()?.targets)
    }

    fn route_released(&self, routing: &Routing<'_>) -> Option<Routed> {
        self.route_from(routing).ok()
    }

    fn epoch(&self) -> Epoch {
        self.epoch()
    }

    fn counters(&self) -> &Arc<VhostCounters> {
        &self.counters
    }
}

/// What bindings look at.
fn routable<'a>(routing: &Routing<'a>, is_delayed: bool) -> Routable<'a> {
    let view = routing.view;
    Routable {
        routing_key: routing.routing_keys[0],
        more_keys: &routing.routing_keys[1..],
        headers: view.headers(),
        message_id: view.message_id(),
        correlation_id: view.correlation_id(),
        timestamp: view.timestamp(),
        is_delayed,
    }
}

/// Whether a message is not to be kept by any history.
fn has_no_store(headers: Option<Table<'_>>) -> bool {
    headers.is_some_and(|headers| headers.get("x-recent-history-no-store") == Some(Value::Bool(true)))
}

fn random_seed() -> u64 {
    let mut bytes = [0; 8];
    // It worked at the start; without it, threads only choose alike.
    let _ = getrandom::fill(&mut bytes);
    u64::from_ne_bytes(bytes)
}
