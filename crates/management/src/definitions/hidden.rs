//! What of a vhost no document has.

use std::collections::HashSet;

use broker::Broker;
use broker::view::{BindingEndView, BindingView, ExchangeView, QueueView};
use model::name::RESERVED_PREFIX;

use super::binding::BindingIdentity;

/// Exclusive queues belong to connections, and are not for others.
pub(super) fn is_defined_queue(view: &QueueView) -> bool {
    !view.definition().is_exclusive
}

/// Exchanges that were declared: not those that every vhost has, nor internal ones.
pub(super) fn is_defined_exchange(view: &ExchangeView) -> bool {
    let name = view.definition.name.as_str();
    !name.is_empty() && !name.starts_with(RESERVED_PREFIX) && !view.definition.is_internal
}

/// Ends of a vhost that no document has, so that it has none of their bindings, either.
pub(super) struct HiddenEnds {
    queues: HashSet<String>,
    exchanges: HashSet<String>,
}

impl HiddenEnds {
    /// Exclusive queues, which belong to connections; and internal exchanges, but for those that the broker itself makes.
    pub(super) fn of(broker: &Broker, vhost: &str) -> HiddenEnds {
        let queues = broker.queue_views(vhost).into_iter().filter(|view| !is_defined_queue(view));
        let is_hidden = |definition: &model::definition::Exchange| {
            definition.is_internal && !definition.name.as_str().starts_with(RESERVED_PREFIX)
        };
        let exchanges = broker.exchange_views(vhost).into_iter().filter(|view| is_hidden(&view.definition));
        HiddenEnds {
            queues: queues.map(|view| view.definition().name.to_string()).collect(),
            exchanges: exchanges.map(|view| view.definition.name.to_string()).collect(),
        }
    }

    /// A binding as documents have it; None if they have not.
    pub(super) fn identity(&self, view: &BindingView) -> Option<BindingIdentity> {
        let is_hidden = match &view.destination {
            BindingEndView::Queue(name) => self.queues.contains(name),
            BindingEndView::Exchange(name) => self.exchanges.contains(name),
        };
        if view.source.is_empty() || is_hidden || self.exchanges.contains(&view.source) {
            return None;
        }
        BindingIdentity::of_view(view)
    }
}
