//! Sharded exchanges: a policy gives an exchange queues of its own, its shards (`shards-per-node`, `routing-key`), and its name stands
//! for the one of them with the fewest consumers; as in RabbitMQ's sharding plugin.
//!
//! ```text
//!  policy, exchange ─► resharding      ─► queues and bindings, journalled and listed as any other
//!  basic.consume x  ─► queue_to_read   ─► sharding: x - NODE - 1
//! ```
//!
//! A shard is a queue like any other. Only its name makes it one, and that it is bound to its exchange; so those that came from
//! elsewhere, under another node's name, are as good as those made here. While one consumer takes a shard no other one chooses, so
//! that no two choose the same. A queue that has the exchange's name keeps it.
//!
//! Deliberately absent: the shards of [`engine::shard`], which are sets of queues under one lock; and whatever happens over HTTP, where a
//! queue is known by its own name alone.

mod name;
mod resharding;

use std::sync::Arc;

use amqp::table::Value;
use model::erlang::value_term;
use model::name::{ExchangeName, QueueName};
use parking_lot::MutexGuard;
use routing::{BindingRef, Destination};

use crate::broker::Broker;
use crate::vhost::{BindingsOf, InForce, Vhost};
use engine::queue_handle::QueueHandle;
use model::refusal::{self, Outcome};

/// The queue that a client reads from that named it, or its exchange. While this is there, no other client chooses a shard: a consumer
/// keeps it until the queue knows the consumer.
pub(crate) struct QueueToRead<'a> {
    pub(crate) name: QueueName,
    _turn: Option<MutexGuard<'a, InForce>>,
}

impl Vhost {
    /// The queue of this name; or where there is none, but a sharded exchange, its shard with the fewest consumers.
    pub(crate) fn queue_to_read(&self, name: QueueName) -> Outcome<QueueToRead<'_>> {
        let Some(turn) = self.turn_of_sharded(&name) else { return Ok(QueueToRead { name, _turn: None }) };
        let shards = self.shards_of(name.as_str(), |_| true);
        let chosen = shards.iter().min_by_key(|(number, shard)| (shard.gauges.consumer_count.get(), *number));
        match chosen {
            Some((_, shard)) => Ok(QueueToRead { name: shard.definition.name.clone(), _turn: Some(turn) }),
            None => {
                let name = value_term(&Value::LongStr(name.as_bytes()));
                refusal::precondition_failed(format!("Error finding sharded queue for: {name}"))
            }
        }
    }

    /// The queue that a client means that declares one of this name: a sharded exchange's first shard, whether it exists or not.
    pub(crate) fn queue_to_declare(&self, broker: &Broker, name: QueueName) -> QueueName {
        if self.turn_of_sharded(&name).is_none() {
            return name;
        }
        let shards = self.shards_of(name.as_str(), |_| true);
        match shards.iter().find(|(number, _)| *number == 0) {
            Some((_, first)) => first.definition.name.clone(),
            None => name::of_shard(name.as_str(), &broker.options.node, 0).unwrap_or(name),
        }
    }

    /// 406 for what cannot be done to all shards of an exchange by its name.
    pub(crate) fn refuse_sharded(&self, name: &QueueName, what: &str) -> Outcome<()> {
        if self.turn_of_sharded(name).is_none() {
            return Ok(());
        }
        let name = value_term(&Value::LongStr(name.as_bytes()));
        refusal::precondition_failed(format!("Can't {what} sharded queue: {name}"))
    }

    /// The turn to choose, if a name is that of a sharded exchange and of no queue.
    fn turn_of_sharded(&self, name: &QueueName) -> Option<MutexGuard<'_, InForce>> {
        if !self.sharded.has_any() || self.queue(name.as_bytes()).is_some() {
            return None;
        }
        let in_force = self.sharded.lock();
        let is_sharded = in_force.contains_key(name.as_str()) && self.exchange(name.as_str()).is_some();
        is_sharded.then_some(in_force)
    }

    /// The queues that are bound to an exchange as its shards, by bindings that `is_meant` accepts; with their numbers.
    fn shards_of(&self, exchange: &str, is_meant: impl Fn(&BindingRef<'_>) -> bool) -> Vec<(u64, Arc<QueueHandle>)> {
        let Ok(source) = ExchangeName::parse(exchange.as_bytes()) else { return Vec::new() };
        let found = self.with_bindings(BindingsOf::Source(&source), |binding| match binding.destination {
            Destination::Queue(id) if is_meant(&binding) => {
                let (of, number) = name::parse(std::str::from_utf8(binding.destination_name).ok()?)?;
                (of == exchange).then_some((number, id))
            }
            _ => None,
        });
        found.into_iter().flatten().filter_map(|(number, id)| Some((number, self.queue_of(id)?))).collect()
    }
}
