//! Bindings that are followed: federation that feeds an exchange from other brokers has to know what is bound to it.

use std::collections::HashMap;

use model::definition::{Binding, BindingChange, Destination};
use model::name::{ExchangeName, QueueName, VhostName};
use routing::{BindingRef, RemovedBinding};
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;

use super::topology::Vhost;
use crate::limits::FOLLOWED_CHANGE_COUNT_MAX;

/// The followers of each exchange's bindings. A follower ends with its exchange, or when it takes too few of its changes.
#[derive(Debug, Default)]
pub(super) struct FollowedBindings(HashMap<Box<[u8]>, Vec<mpsc::Sender<BindingChange>>>);

impl FollowedBindings {
    /// A binding was made or undone. Sent under the topology's lock, so in the order in which it happened.
    pub(super) fn notify(&mut self, change: impl FnOnce() -> Option<BindingChange>, source: &[u8]) {
        let Some(followers) = self.0.get_mut(source) else { return };
        let Some(change) = change() else { return };
        followers.retain(|follower| match follower.try_send(change.clone()) {
            Ok(()) => true,
            Err(TrySendError::Full(_) | TrySendError::Closed(_)) => false,
        });
        if followers.is_empty() {
            self.0.remove(source);
        }
    }

    /// An exchange is deleted.
    pub(super) fn forget(&mut self, exchange: &[u8]) {
        self.0.remove(exchange);
    }
}

impl Vhost {
    /// The bindings of an exchange now, and what changes afterwards. None where there is no such exchange.
    pub(crate) fn follow_bindings(&self, exchange: &str) -> Option<(Vec<Binding>, mpsc::Receiver<BindingChange>)> {
        let mut topology = self.topology.write();
        topology.exchanges.exchange(exchange.as_bytes())?;
        let bindings = topology.exchanges.bindings_from(exchange.as_bytes());
        let now = bindings.filter_map(|binding| shown(&self.name, &binding)).collect();
        let (sender, receiver) = mpsc::channel(FOLLOWED_CHANGE_COUNT_MAX);
        let followers = topology.followed.0.entry(exchange.as_bytes().into()).or_default();
        followers.retain(|follower| !follower.is_closed());
        followers.push(sender);
        Some((now, receiver))
    }
}

fn shown(vhost: &VhostName, binding: &BindingRef<'_>) -> Option<Binding> {
    let destination = match binding.destination {
        routing::Destination::Queue(_) => Destination::Queue(QueueName::parse(binding.destination_name).ok()?),
        routing::Destination::Exchange(name) => Destination::Exchange(ExchangeName::parse(name).ok()?),
    };
    let source = ExchangeName::parse(binding.source).ok()?;
    Some(Binding::new(vhost.clone(), source, destination, binding.routing_key, binding.arguments))
}

/// What followers get of a binding that was undone.
pub(super) fn undone(vhost: &VhostName, binding: &RemovedBinding) -> Option<BindingChange> {
    let name = &binding.destination_name;
    let destination = match binding.queue {
        Some(_) => Destination::Queue(QueueName::parse(name).ok()?),
        None => Destination::Exchange(ExchangeName::parse(name).ok()?),
    };
    let source = ExchangeName::parse(&binding.source).ok()?;
    let arguments = binding.arguments.as_table();
    let binding = Binding::new(vhost.clone(), source, destination, &binding.routing_key, arguments);
    Some(BindingChange { binding, is_added: false })
}
