//! The targets of a message: what one routing gave.

use std::sync::Arc;

use store::Kind;

use crate::deduplication::ExchangeKeys;
use crate::delayed::{Delay, DelaySet};
use crate::durability::Durability;
use crate::queue_handle::QueueHandle;
use crate::statistics::{Edge, ExchangeCounters};

/// The targets of a publish: the queues that one routing gave.
#[derive(Debug, Default)]
pub struct Targets {
    /// The queues.
    pub queues: Box<[Arc<QueueHandle>]>,
    /// Which messages to them some of them journal.
    pub(crate) durability: Durability,
    /// The shards to lock.
    pub(crate) shards: u64,
    /// Where it waits, if it is delayed.
    pub delay: Option<Box<Delay>>,
    /// Keys of the exchange that it was published to, if that drops duplicates.
    pub(crate) keys: Option<Arc<ExchangeKeys>>,
    /// The headers that hold keys which any of these asks for.
    pub(crate) key_headers: Option<Box<[Arc<str>]>>,
    /// What is counted of a message that a client published.
    pub counted: Option<Box<Counted>>,
}

/// What is counted of messages that come to an exchange and go to some queues.
#[derive(Debug)]
pub struct Counted {
    /// The exchange.
    pub exchange: Arc<ExchangeCounters>,
    pub(crate) edges: Box<[Arc<Edge>]>,
}

impl Targets {
    /// These queues, and nothing else to be done.
    pub fn new(queues: impl IntoIterator<Item = Arc<QueueHandle>>) -> Self {
        let queues: Box<[_]> = queues.into_iter().collect();
        let durability = queues.iter().fold(Durability::NONE, |durability, queue| durability.or(queue.durability));
        let shards = queues.iter().fold(0, |bits, queue| bits | queue.shard_bit());
        let mut targets =
            Self { queues, durability, shards, delay: None, keys: None, key_headers: None, counted: None };
        let headers: Vec<_> = targets.queues.iter().filter_map(|queue| queue.key_header()).collect();
        headers.into_iter().for_each(|header| targets.add_key_header(header));
        targets
    }

    /// The same, of a message that was published to an exchange which drops duplicates, if there are any.
    pub fn with_keys(mut self, keys: Option<Arc<ExchangeKeys>>) -> Self {
        if let Some(keys) = &keys {
            self.shards |= keys.shard_bit();
            self.add_key_header(keys.header.clone());
        }
        Self { keys, ..self }
    }

    /// The same, of messages that clients publish to this exchange.
    pub fn counted_at(self, exchange: Arc<ExchangeCounters>) -> Self {
        let edges = self.queues.iter().filter_map(|queue| queue.edge_from(&exchange)).collect();
        Self { counted: Some(Box::new(Counted { exchange, edges })), ..self }
    }

    fn add_key_header(&mut self, header: Arc<str>) {
        let mut headers = self.key_headers.take().map_or_else(Vec::new, <[_]>::into_vec);
        if !headers.contains(&header) {
            headers.push(header);
        }
        self.key_headers = Some(headers.into());
    }

    /// The same, and these exchanges, at which it waits.
    pub fn with_delay(self, sets: Vec<Arc<DelaySet>>) -> Self {
        if sets.is_empty() {
            return self;
        }
        let durability = sets.iter().fold(self.durability, |durability, set| durability.or(set.durability()));
        let delay = Some(Box::new(Delay { sets: sets.into(), is_returned: false }));
        Self { durability, delay, ..self }
    }

    /// The queue, if a message is routed to just one and nothing else is to be done with it.
    #[inline]
    pub fn only(&self) -> Option<&Arc<QueueHandle>> {
        match &*self.queues {
            [queue] if self.delay.is_none() && self.keys.is_none() => Some(queue),
            _ => None,
        }
    }

    /// Which kind of content a message for them is.
    #[inline]
    pub fn kind(&self, is_persistent: bool) -> Kind {
        if self.durability.keeps(is_persistent) { Kind::Journaled } else { Kind::Transient }
    }

    /// Whether no queue takes the message, now or later.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.queues.is_empty() && self.delay.is_none()
    }
}
