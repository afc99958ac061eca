//! Exchanges and bindings as they are listed.

use std::collections::HashMap;

use amqp::table::TableBuf;
use model::definition;
use model::name::{ExchangeName, QueueName, VhostName};
use model::policy::{EffectivePolicy, Target};
use routing::Destination;

use crate::broker::Broker;
use crate::vhost::BindingsOf;

/// An exchange.
#[derive(Debug, Clone)]
pub struct ExchangeView {
    /// What it is.
    pub definition: definition::Exchange,
    /// The policies that hold for it.
    pub policy: EffectivePolicy,
    /// Messages that wait there, if it delays or has done so.
    pub messages_delayed: Option<u64>,
    /// Messages that were dropped there, being duplicates, if it drops any.
    pub deduplicated_count: Option<u64>,
}

/// A binding; an implicit one's source is the default exchange.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BindingView {
    /// Where it is.
    pub vhost: VhostName,
    /// The name of the exchange from which messages come; empty for the default exchange.
    pub source: String,
    /// Where they go.
    pub destination: BindingEndView,
    /// The binding key.
    pub routing_key: Vec<u8>,
    /// Its arguments, sorted by name.
    pub arguments: TableBuf,
    /// Whether both its ends outlive a restart.
    pub is_durable: bool,
}

/// Where a binding leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BindingEndView {
    /// To the queue of this name.
    Queue(String),
    /// To the exchange of this name.
    Exchange(String),
}

/// Which bindings are to be shown.
#[derive(Debug, Clone, Copy)]
pub enum BindingFilter<'a> {
    /// All.
    All,
    /// Those from an exchange.
    Source(&'a ExchangeName),
    /// Those to an exchange.
    ToExchange(&'a ExchangeName),
    /// Those to a queue.
    ToQueue(&'a QueueName),
}

impl Broker {
    /// All exchanges of a vhost, by name; none if there is no such vhost.
    #[must_use]
    pub fn exchange_names(&self, vhost: &str) -> Vec<String> {
        let Some(vhost) = self.vhosts.get(vhost) else { return Vec::new() };
        vhost.exchanges().into_iter().map(|definition| definition.name.to_string()).collect()
    }

    /// The exchanges of a vhost, by name.
    #[must_use]
    pub fn exchange_views(&self, vhost: &str) -> Vec<ExchangeView> {
        let Some(vhost) = self.vhosts.get(vhost) else { return Vec::new() };
        let policies = vhost.policies();
        let delayed: HashMap<_, _> =
            vhost.delays().into_iter().map(|set| (set.site.exchange.clone(), set.waiting_count())).collect();
        let keys = vhost.exchange_keys();
        let view = |definition: definition::Exchange| {
            let policy = EffectivePolicy::of(&policies, Target::Exchange, definition.name.as_str());
            let messages_delayed = delayed.get(definition.name.as_bytes()).copied();
            let deduplicated_count = keys.get(definition.name.as_bytes()).map(|keys| keys.deduplicated.get());
            ExchangeView { definition, policy, messages_delayed, deduplicated_count }
        };
        vhost.exchanges().into_iter().map(view).collect()
    }

    /// The exchange of this name.
    #[must_use]
    pub fn exchange_view(&self, vhost: &str, name: &str) -> Option<ExchangeView> {
        let vhost = self.vhosts.get(vhost)?;
        let definition = vhost.exchange(name)?;
        let policy = EffectivePolicy::of(&vhost.policies(), Target::Exchange, name);
        let messages_delayed = vhost.delays_at(name).map(|set| set.waiting_count());
        let deduplicated_count = vhost.keys_at(name.as_bytes()).map(|keys| keys.deduplicated.get());
        Some(ExchangeView { definition, policy, messages_delayed, deduplicated_count })
    }

    /// Bindings of a vhost, in no particular order; none if there is no such vhost.
    #[must_use]
    pub fn binding_views(&self, vhost: &str, filter: BindingFilter<'_>) -> Vec<BindingView> {
        let Some(vhost) = self.vhosts.get(vhost) else { return Vec::new() };
        let of = match filter {
            BindingFilter::All => BindingsOf::All,
            BindingFilter::Source(name) => BindingsOf::Source(name),
            BindingFilter::ToExchange(name) => BindingsOf::Exchange(name),
            BindingFilter::ToQueue(name) => BindingsOf::Queue(name),
        };
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        vhost.with_bindings(of, |binding| BindingView {
            vhost: vhost.name().clone(),
            source: text(binding.source),
            destination: match binding.destination {
                Destination::Queue(_) => BindingEndView::Queue(text(binding.destination_name)),
                Destination::Exchange(_) => BindingEndView::Exchange(text(binding.destination_name)),
            },
            routing_key: binding.routing_key.to_vec(),
            arguments: binding.arguments.to_owned(),
            is_durable: binding.is_durable,
        })
    }

    /// How many bindings begin at each exchange of a vhost, by name; the default exchange's, which are implicit, are not counted.
    #[must_use]
    pub fn binding_counts(&self, vhost: &str) -> HashMap<Box<[u8]>, u64> {
        let mut counts: HashMap<Box<[u8]>, u64> = HashMap::new();
        let Some(vhost) = self.vhosts.get(vhost) else { return counts };
        vhost.with_bindings(BindingsOf::All, |binding| match counts.get_mut(binding.source) {
            Some(count) => *count += 1,
            None if binding.source.is_empty() => {}
            None => {
                counts.insert(binding.source.into(), 1);
            }
        });
        counts
    }
}
