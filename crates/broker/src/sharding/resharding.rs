//! What policies make of exchanges: shards are made, bound and unbound. The caller learns of it when it is done.
//!
//! No message is lost by it: a new binding is made before the old one is undone, and shards that are too many stay as they are, bound and
//! with consumers by the exchange's name. Without a policy a shard is unbound, but never deleted.

use std::collections::BTreeMap;
use std::sync::Arc;

use amqp::table::{Table, TableBuf, Value};
use engine::Positions;
use model::arguments::{QUEUE_TYPE, QueueArguments, QueueShape, QueueType, default_queue_type};
use model::definition;
use model::features::{ExchangeFeatures, Sharding};
use model::ids::QueueId;
use model::policy::{EffectivePolicy, Policy, PolicyRanking, Target};
use routing::{BindingSpec, Destination, Removed};

use super::name;
use crate::binding_request::{BindingEnd, BindingRequest};
use crate::broker::Broker;
use crate::events::Event;
use crate::identity::Origin;
use crate::vhost::{Declared, Vhost};
use crate::vhost_access::check_new_binding;
use engine::queue_handle::QueueHandle;
use message::StoredContent;

/// The user that makes and binds shards, by RabbitMQ's name.
const SHARDING_USER: &str = "rmq-sharding";

/// What is done and still to be reported, when no lock is held any longer.
#[derive(Default)]
struct Done {
    events: Vec<Event>,
    removed: Vec<Removed>,
    /// What exchanges have kept for shards that were bound to them.
    histories: Vec<(QueueId, Vec<StoredContent>)>,
    position: Positions,
}

impl Vhost {
    /// Makes, binds and unbinds shards as the policies that hold now want it. Says where that is durable.
    pub(crate) fn shard_exchanges(&self, broker: &Broker) -> Positions {
        let done = self.sharded.change(|in_force| {
            let mut done = Done::default();
            let policies = self.policies();
            if in_force.is_empty() && !have_shards(&policies) {
                return done;
            }
            let ranking = PolicyRanking::of(&policies);
            let before = std::mem::take(in_force);
            for exchange in self.exchanges() {
                let name = exchange.name.as_str();
                let wanted = wanted_for(&exchange, &ranking.effective(Target::Exchange, name));
                self.reshard(broker, &exchange, before.get(name), wanted.as_ref(), &mut done);
                in_force.extend(wanted.map(|wanted| (Box::from(name), wanted)));
            }
            done
        });
        self.report(broker, done)
    }

    /// Makes and binds the shards of an exchange that has just been declared. Says where that is durable.
    pub(crate) fn shard_new_exchange(&self, broker: &Broker, exchange: &definition::Exchange) -> Positions {
        if !have_shards(&self.policies()) {
            return Positions::NONE;
        }
        let done = self.sharded.change(|in_force| {
            let mut done = Done::default();
            let name = exchange.name.as_str();
            // There may have been another one of this name, which is deleted with its bindings.
            in_force.remove(name);
            let wanted = wanted_for(exchange, &EffectivePolicy::of(&self.policies(), Target::Exchange, name));
            self.reshard(broker, exchange, None, wanted.as_ref(), &mut done);
            in_force.extend(wanted.map(|wanted| (Box::from(name), wanted)));
            done
        });
        self.report(broker, done)
    }

    /// Brings an exchange from one sharding to another.
    fn reshard(
        &self,
        broker: &Broker,
        exchange: &definition::Exchange,
        before: Option<&Sharding>,
        wanted: Option<&Sharding>,
        done: &mut Done,
    ) {
        if before == wanted {
            return;
        }
        let mut bound = Vec::new();
        let left = before.filter(|before| wanted.is_none_or(|wanted| wanted.routing_key != before.routing_key));
        if let Some(Sharding { routing_key, .. }) = left {
            let found = self.shards_of(exchange.name.as_str(), |binding| {
                binding.routing_key == &**routing_key && binding.arguments == Table::EMPTY
            });
            bound.extend(found.into_iter().map(|(_, shard)| shard));
        }
        if let Some(wanted) = wanted
            && self.can_be_sharded(broker, exchange, wanted)
        {
            let made = self.shards_for(broker, exchange, wanted.shards_per_node, done);
            for shard in bound.iter().chain(&made) {
                self.bind_shard(broker, exchange, shard, &wanted.routing_key, done);
            }
        }
        if let Some(Sharding { routing_key, .. }) = left {
            for shard in &bound {
                let spec = spec_of(exchange, shard, routing_key);
                // Where it is deleted already, so are its bindings.
                let Ok(removal) = self.unbind(broker, &spec) else { continue };
                done.removed.push(removal.removed);
                done.position.add(removal.position);
            }
        }
    }

    /// Whether shards can have names, and can be bound. What keeps them from it is logged: no caller waits for it.
    fn can_be_sharded(&self, broker: &Broker, exchange: &definition::Exchange, wanted: &Sharding) -> bool {
        let last = wanted.shards_per_node.saturating_sub(1);
        let refused = match name::of_shard(exchange.name.as_str(), &broker.options.node, last) {
            None => Some("its name is too long for those of its shards".to_owned()),
            Some(shard) => {
                let request = BindingRequest {
                    source: &exchange.name,
                    destination: BindingEnd::Queue(&shard),
                    routing_key: &wanted.routing_key,
                    arguments: Table::EMPTY,
                };
                check_new_binding(exchange.exchange_type, &request).err().map(|refusal| refusal.text)
            }
        };
        if let Some(reason) = &refused {
            tracing::warn!(vhost = %self.name(), exchange = %exchange.name, %reason, "an exchange got no shards");
        }
        refused.is_none()
    }

    /// An exchange's shards of the numbers up to a count. Those that are not there are made.
    fn shards_for(
        &self,
        broker: &Broker,
        exchange: &definition::Exchange,
        count: u64,
        done: &mut Done,
    ) -> Vec<Arc<QueueHandle>> {
        let mut shards = Vec::new();
        let mut elsewhere = None;
        let arguments = self.shard_arguments(broker, exchange);
        for number in 0..count {
            let Some(name) = name::of_shard(exchange.name.as_str(), &broker.options.node, number) else { break };
            let existing = self.queue(name.as_bytes()).or_else(|| {
                elsewhere.get_or_insert_with(|| self.shards_by_name(exchange.name.as_str())).remove(&number)
            });
            if let Some(existing) = existing {
                shards.push(existing);
                continue;
            }
            let make = |id| definition::Queue {
                vhost: self.name().clone(),
                name: name.clone(),
                id,
                is_durable: exchange.is_durable,
                is_auto_delete: false,
                is_exclusive: false,
                arguments: arguments.clone(),
            };
            match self.declare_queue(broker, None, make, &name) {
                Declared::New(queue, position) => {
                    done.event(Event::queue_created(&queue));
                    done.position.add(position);
                    shards.push(queue);
                }
                Declared::Existing(queue) => shards.push(queue),
                Declared::VhostDeleted => break,
                Declared::LimitReached { queue_max } => {
                    tracing::warn!(
                        vhost = %self.name(), exchange = %exchange.name, wanted = count, made = number, queue_max,
                        "an exchange got fewer shards than its policy wants, because its vhost has as many queues as it may"
                    );
                    break;
                }
            }
        }
        // Only its connection uses an exclusive queue, whatever it is called.
        shards.retain(|shard| shard.owner.is_none());
        shards
    }

    /// Shards are of the type that queues are of for which none was asked for. One that is not built is not asked for either.
    fn shard_arguments(&self, broker: &Broker, exchange: &definition::Exchange) -> QueueArguments {
        let shape = QueueShape { is_durable: exchange.is_durable, is_exclusive: false, is_auto_delete: false };
        let table = match default_queue_type(broker.default_queue_type(&self.facts()), shape) {
            QueueType::Classic | QueueType::Stream => TableBuf::new(),
            QueueType::Quorum => TableBuf::new().with(QUEUE_TYPE, Value::LongStr(QueueType::Quorum.name().as_bytes())),
        };
        QueueArguments::from_stored(table).expect("a type of ours")
    }

    /// The queues that are called as an exchange's shards, whichever node made them and whether or not they are bound.
    fn shards_by_name(&self, exchange: &str) -> BTreeMap<u64, Arc<QueueHandle>> {
        let shards = self.queues().into_iter().filter_map(|queue| {
            let (of, number) = name::parse(queue.name())?;
            (of == exchange).then_some((number, queue.clone()))
        });
        shards.collect()
    }

    fn bind_shard(
        &self,
        broker: &Broker,
        exchange: &definition::Exchange,
        shard: &QueueHandle,
        routing_key: &[u8],
        done: &mut Done,
    ) {
        let name = &shard.definition.name;
        let destination = definition::Destination::Queue(name.clone());
        match self.bind(broker, &spec_of(exchange, shard, routing_key), destination) {
            Ok((changed, history)) if changed.is_new => {
                let (source, destination) = (&exchange.name, BindingEnd::Queue(name));
                let request = BindingRequest { source, destination, routing_key, arguments: Table::EMPTY };
                done.event(Event::binding_created(self.name(), &request));
                done.position.add(changed.position);
                done.histories.push((shard.id(), history));
            }
            Ok(_) => {}
            // The one or the other has just been deleted, or the exchange is another one by now.
            Err(error) => {
                tracing::warn!(vhost = %self.name(), shard = %name, %error, "a shard could not be bound");
            }
        }
    }

    /// Emits what is done, and hands over what exchanges have kept.
    fn report(&self, broker: &Broker, done: Done) -> Positions {
        done.events.into_iter().for_each(|event| broker.emit(event));
        for removed in &done.removed {
            broker.emit_removals(self.name(), removed, SHARDING_USER, Origin::broker());
        }
        let handed_over =
            done.histories.iter().map(|(queue, history)| self.hand_over(broker, history, &Destination::Queue(*queue)));
        handed_over.fold(done.position, |all, position| all.and(position))
    }
}

impl Done {
    fn event(&mut self, event: Event) {
        self.events.push(event.by(SHARDING_USER, Origin::broker()));
    }
}

/// Whether any policy asks for shards.
fn have_shards(policies: &[Arc<Policy>]) -> bool {
    policies.iter().any(|policy| policy.definition.settings().contains_key("shards-per-node"))
}

/// What policies want of an exchange. The default exchange has all queues, and none of its own.
fn wanted_for(exchange: &definition::Exchange, policy: &EffectivePolicy) -> Option<Sharding> {
    let features = ExchangeFeatures::of(exchange.exchange_type, &exchange.arguments, policy);
    features.sharding.filter(|_| !exchange.name.is_default())
}

fn spec_of<'a>(exchange: &'a definition::Exchange, shard: &QueueHandle, routing_key: &'a [u8]) -> BindingSpec<'a> {
    let destination = Destination::Queue(shard.id());
    BindingSpec { source: exchange.name.as_bytes(), destination, routing_key, arguments: Table::EMPTY }
}
