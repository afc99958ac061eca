//! Which queues a message is routed to.

use model::ids::QueueId;

use crate::draws::Draws;
use crate::exchanges::{DEFAULT_EXCHANGE, ExchangeEntry, Exchanges};
use crate::handles::{ExchangeHandle, ExchangeRef};
use crate::header_fields::{HeaderFields, HeaderFieldsMemory};
use crate::routable::Routable;
use crate::router::Router;
use crate::target::{Destinations, Node};
use crate::topic::Walk;

/// Where a message is routed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Route<'s> {
    /// The queues, each once, in no particular order. None: the message is unroutable.
    pub queues: &'s [QueueId],
    /// Whether the first exchange was declared internal, so that clients may not publish to it.
    pub is_internal: bool,
    /// Whether an alternate exchange was asked, of the first exchange or of one further on.
    pub used_alternate: bool,
    /// Whether exchange, routing key and whether it is delayed alone led here, so that the same do until the epoch changes.
    pub is_cacheable: bool,
    /// The exchanges that keep a history and have seen the message. It is for the broker to keep it.
    pub histories: &'s [ExchangeRef],
    /// The exchanges at which the message has to wait: it has come to them, and not beyond.
    pub delays: &'s [ExchangeRef],
}

/// There is no exchange of this name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no such exchange")]
pub struct NoSuchExchange;

/// The memory that routing needs, kept between messages so that none allocates. One serves any number of vhosts.
#[derive(Debug)]
pub struct RouteScratch {
    reached: Destinations,
    walk: Walk,
    headers: HeaderFieldsMemory,
    draws: Draws,
}

impl RouteScratch {
    /// Scratch memory. It allocates nothing until it is used. Exchanges that choose at random draw their numbers from the
    /// seed.
    #[must_use]
    pub fn new(random_seed: u64) -> Self {
        Self {
            reached: Destinations::default(),
            walk: Walk::default(),
            headers: HeaderFieldsMemory::default(),
            draws: Draws::new(random_seed),
        }
    }
}

impl Exchanges {
    /// Finds the queues for a message published to an exchange.
    ///
    /// Bindings to exchanges are followed, each exchange being asked once. An exchange of which nothing matched passes
    /// the message on to its alternate exchange, if that exists. As in RabbitMQ, the default exchange neither has an
    /// alternate nor is one: an exchange whose alternate it is passes nothing on.
    pub fn route<'s>(
        &self,
        exchange: &[u8],
        message: &Routable<'_>,
        scratch: &'s mut RouteScratch,
    ) -> Result<Route<'s>, NoSuchExchange> {
        let first = self.find_exchange(exchange).ok_or(NoSuchExchange)?;
        let RouteScratch { reached, walk, headers, draws } = scratch;
        let mut header_fields = HeaderFields::new(self.seed, message.headers, headers);
        let mut routed = Route {
            queues: &[],
            is_internal: self.exchanges[first].exchange.is_internal,
            used_alternate: false,
            is_cacheable: message.more_keys.is_empty(),
            histories: &[],
            delays: &[],
        };
        reached.clear();
        reached.exchanges.add(first);
        let mut asked_count = 0;
        while let Some(&handle) = reached.exchanges.added().get(asked_count) {
            asked_count += 1;
            let entry = &self.exchanges[handle];
            if message.is_delayed && entry.exchange.is_delaying {
                reached.delays.push(ExchangeRef(handle));
                continue;
            }
            routed.is_cacheable &= entry.router.is_by_key_only();
            if matches!(entry.router, Router::Default) {
                self.route_by_name(message, reached);
                continue;
            }
            let match_count = reached.match_count;
            if entry.router.has_history() {
                reached.histories.push(ExchangeRef(handle));
            }
            entry.router.route(message, &mut header_fields, walk, draws, reached);
            if reached.match_count == match_count
                && let Some(alternate) = self.find_alternate(entry)
            {
                routed.used_alternate |= reached.exchanges.add(alternate);
            }
        }
        header_fields.release(headers);
        routed.queues = &reached.queues;
        routed.histories = &reached.histories;
        routed.delays = &reached.delays;
        Ok(routed)
    }

    /// The name of an exchange that a message came by, before anything has changed.
    #[must_use]
    pub fn name_of(&self, exchange: ExchangeRef) -> &[u8] {
        &self.exchanges[exchange.0].exchange.name
    }

    fn route_by_name(&self, message: &Routable<'_>, reached: &mut Destinations) {
        for queue in message.keys().filter_map(|key| self.find_queue(key)) {
            reached.add(Node::Queue(queue, self.queues[queue].id));
        }
    }

    fn find_alternate(&self, entry: &ExchangeEntry) -> Option<ExchangeHandle> {
        let name = entry.exchange.effective_alternate()?;
        if name == DEFAULT_EXCHANGE { None } else { self.find_exchange(name) }
    }
}
