//! One vhost's exchanges, bindings and names of queues.
//!
//! Every binding is listed in four places: its source's router, its source's `outgoing`, its destination's `incoming`
//! and one table of all bindings by what they are. It knows its position in each list, and removing it moves the last of
//! the list into the gap. So binding and unbinding take constant time however many bindings there are, and deleting a
//! queue costs what it is bound, not what is bound to its exchanges. What has very many bindings is unbound in pieces first, so that
//! messages are routed in between.

mod bind;
mod check;
mod list;

use std::collections::HashMap;

use amqp::table::Table;
use hashbrown::HashTable;
use model::ids::QueueId;
use rustc_hash::FxBuildHasher;

use crate::binding::{BindingEntry, RemovedBinding};
use crate::exchange::{Declaration, Exchange, ExchangeType};
use crate::handles::{BindingHandle, BindingKind, ExchangeHandle, ExchangeKind, QueueHandle, QueueKind};
use crate::router::Router;
use crate::seed::HashSeed;
use crate::slab::Slab;

/// Changes whenever the result of routing may change. Later is greater.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Epoch(pub u64);

/// The name of the default exchange, to which every queue is bound by its name, and nothing else.
pub const DEFAULT_EXCHANGE: &[u8] = b"";

/// The exchanges that a vhost has from its beginning, besides the default exchange.
const PREDECLARED: [(&[u8], ExchangeType); 6] = [
    (b"amq.direct", ExchangeType::Direct),
    (b"amq.fanout", ExchangeType::Fanout),
    (b"amq.headers", ExchangeType::Headers),
    (b"amq.match", ExchangeType::Headers),
    (TRACE_EXCHANGE, ExchangeType::Topic),
    (b"amq.topic", ExchangeType::Topic),
];

/// Where the firehose publishes what it traces. Internal.
pub(crate) const TRACE_EXCHANGE: &[u8] = b"amq.rabbitmq.trace";

/// One vhost's exchanges, bindings and names of queues.
#[derive(Debug)]
pub struct Exchanges {
    pub(crate) seed: HashSeed,
    epoch: Epoch,
    pub(crate) exchanges: Slab<ExchangeEntry, ExchangeKind>,
    exchanges_by_name: HashTable<ExchangeHandle>,
    pub(crate) queues: Slab<QueueEntry, QueueKind>,
    queues_by_name: HashTable<QueueHandle>,
    queues_by_id: HashMap<QueueId, QueueHandle, FxBuildHasher>,
    bindings: Slab<BindingEntry, BindingKind>,
    bindings_by_identity: HashTable<BindingHandle>,
}

/// An exchange with its bindings.
#[derive(Debug)]
pub(crate) struct ExchangeEntry {
    pub(crate) exchange: Exchange,
    pub(crate) router: Router,
    /// The bindings of which it is the source.
    outgoing: Vec<BindingHandle>,
    /// The bindings of which it is the destination.
    incoming: Vec<BindingHandle>,
}

/// A queue with the bindings that lead to it.
#[derive(Debug)]
pub(crate) struct QueueEntry {
    pub(crate) id: QueueId,
    name: Box<[u8]>,
    is_durable: bool,
    incoming: Vec<BindingHandle>,
}

/// Why an exchange was not deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DeleteError {
    /// There is none of this name.
    #[error("no such exchange")]
    Missing,
    /// It is the source of bindings, and was to be deleted only if it is not.
    #[error("the exchange is in use")]
    InUse,
    /// The vhost needs it.
    #[error("the exchange is predeclared")]
    Predeclared,
}

/// What went with the deletion of a queue, an exchange or a binding. Empty if nothing did.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Removed {
    /// Every binding that was deleted.
    pub bindings: Vec<RemovedBinding>,
    /// Every exchange that was deleted: the one named, if it was one, and all auto-delete ones of which the last binding
    /// was removed.
    pub exchanges: Vec<Exchange>,
}

/// What exchanges, queues and bindings take beside their entries: names, keys, and places in maps.
mod memory {
    pub(super) const EXCHANGE_LEN: usize = 512;
    pub(super) const QUEUE_LEN: usize = 64;
    pub(super) const BINDING_LEN: usize = 160;
}

impl Removed {
    /// Adds what went with another deletion.
    pub fn extend(&mut self, other: Removed) {
        self.bindings.extend(other.bindings);
        self.exchanges.extend(other.exchanges);
    }
}

impl Exchanges {
    /// The exchanges of a new vhost: the predeclared ones, without bindings.
    #[must_use]
    pub fn new(seed: HashSeed) -> Self {
        let mut exchanges = Self {
            seed,
            epoch: Epoch::default(),
            exchanges: Slab::new(),
            exchanges_by_name: HashTable::new(),
            queues: Slab::new(),
            queues_by_name: HashTable::new(),
            queues_by_id: HashMap::default(),
            bindings: Slab::new(),
            bindings_by_identity: HashTable::new(),
        };
        exchanges.predeclare(DEFAULT_EXCHANGE, ExchangeType::Direct, Router::Default);
        for (name, kind) in PREDECLARED {
            exchanges.predeclare(name, kind, Router::new(kind, Table::EMPTY, seed));
        }
        exchanges
    }

    /// Bytes that it takes, about: names and keys are taken to be as long as most are.
    #[must_use]
    pub fn memory_len(&self) -> usize {
        let slabs = self.exchanges.memory_len() + self.queues.memory_len() + self.bindings.memory_len();
        slabs
            + self.exchanges.len() * memory::EXCHANGE_LEN
            + self.queues.len() * memory::QUEUE_LEN
            + self.bindings.len() * memory::BINDING_LEN
    }

    /// Changes whenever the result of routing may change.
    #[must_use]
    pub fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// Declares an exchange. False if there is one of this name, which is left as it is.
    pub fn declare(&mut self, declaration: &Declaration<'_>) -> bool {
        let is_new = self.find_exchange(declaration.name).is_none();
        if is_new {
            let router = Router::new(declaration.kind, declaration.arguments, self.seed);
            self.insert_exchange(Exchange::new(declaration), router);
        }
        is_new
    }

    /// Sets or removes the alternate exchange that a policy gives to an exchange. False if there is no such exchange.
    pub fn set_policy_alternate(&mut self, name: &[u8], alternate: Option<&[u8]>) -> bool {
        let Some(handle) = self.find_exchange(name) else { return false };
        let policy_alternate = &mut self.exchanges[handle].exchange.policy_alternate;
        if policy_alternate.as_deref() != alternate {
            *policy_alternate = alternate.map(Into::into);
            self.advance_epoch();
        }
        true
    }

    /// Sets whether messages that are to be delayed wait at an exchange. False if there is no such exchange. Routes of other
    /// messages do not change by it.
    pub fn set_delaying(&mut self, name: &[u8], is_delaying: bool) -> bool {
        let Some(handle) = self.find_exchange(name) else { return false };
        self.exchanges[handle].exchange.is_delaying = is_delaying;
        self.advance_epoch();
        true
    }

    /// Deletes an exchange and its bindings.
    pub fn delete(&mut self, name: &[u8], if_unused: bool) -> Result<Removed, DeleteError> {
        let handle = self.find_exchange(name).ok_or(DeleteError::Missing)?;
        let entry = &self.exchanges[handle];
        if entry.exchange.is_predeclared {
            return Err(DeleteError::Predeclared);
        }
        if if_unused && !entry.outgoing.is_empty() {
            return Err(DeleteError::InUse);
        }
        let mut removed = Removed::default();
        self.remove_exchanges(vec![handle], &mut removed);
        self.advance_epoch();
        Ok(removed)
    }

    /// The exchange of this name.
    #[must_use]
    pub fn exchange(&self, name: &[u8]) -> Option<&Exchange> {
        self.find_exchange(name).map(|handle| &self.exchanges[handle].exchange)
    }

    /// All exchanges, in no particular order.
    pub fn exchanges(&self) -> impl Iterator<Item = &Exchange> {
        self.exchanges.iter().map(|(_, entry)| &entry.exchange)
    }

    /// How many exchanges there are, the predeclared ones included.
    #[must_use]
    pub fn exchange_count(&self) -> usize {
        self.exchanges.len()
    }

    /// Makes a queue known by its name, which binds it to the default exchange.
    ///
    /// # Panics
    /// If the name or the id is taken. Ids are never reused, and the broker asks [`queue`](Self::queue) first.
    pub fn queue_added(&mut self, name: &[u8], id: QueueId, is_durable: bool) {
        assert!(self.find_queue(name).is_none(), "queue {id:?} has the name of another");
        let queue = self.queues.insert(QueueEntry { id, name: name.into(), is_durable, incoming: Vec::new() });
        let previous = self.queues_by_id.insert(id, queue);
        assert!(previous.is_none(), "queue {id:?} is already known");
        let (seed, queues) = (self.seed, &self.queues);
        self.queues_by_name.insert_unique(seed.hash(name), queue, |queue| seed.hash(&queues[*queue].name));
        self.advance_epoch();
    }

    /// Forgets a queue and all bindings to it. Nothing is removed if it is not known.
    pub fn queue_deleted(&mut self, id: QueueId) -> Removed {
        let mut removed = Removed::default();
        let Some(queue) = self.queues_by_id.get(&id).copied() else { return removed };
        let mut unused = Vec::new();
        while let Some(binding) = self.queues[queue].incoming.last().copied() {
            unused.extend(self.remove_binding(binding, &mut removed));
        }
        self.remove_exchanges(unused, &mut removed);
        let hash = self.seed.hash(&self.queues[queue].name);
        let entry = self.queues_by_name.find_entry(hash, |other| *other == queue);
        entry.expect("every queue is in the table").remove();
        self.queues_by_id.remove(&id);
        self.queues.remove(queue);
        self.advance_epoch();
        removed
    }

    /// The queue of this name.
    #[must_use]
    pub fn queue(&self, name: &[u8]) -> Option<QueueId> {
        self.find_queue(name).map(|queue| self.queues[queue].id)
    }

    /// The name of a queue.
    #[must_use]
    pub fn queue_name(&self, id: QueueId) -> Option<&[u8]> {
        self.queues_by_id.get(&id).map(|queue| &*self.queues[*queue].name)
    }

    /// All queues with their names, in no particular order.
    pub fn queues(&self) -> impl Iterator<Item = (&[u8], QueueId)> {
        self.queues.iter().map(|(_, queue)| (&*queue.name, queue.id))
    }

    /// How many queues there are.
    #[must_use]
    pub fn queue_count(&self) -> usize {
        self.queues.len()
    }

    #[inline]
    pub(crate) fn find_exchange(&self, name: &[u8]) -> Option<ExchangeHandle> {
        let hash = self.seed.hash(name);
        self.exchanges_by_name.find(hash, |handle| *self.exchanges[*handle].exchange.name == *name).copied()
    }

    #[inline]
    pub(crate) fn find_queue(&self, name: &[u8]) -> Option<QueueHandle> {
        self.queues_by_name.find(self.seed.hash(name), |queue| *self.queues[*queue].name == *name).copied()
    }

    fn predeclare(&mut self, name: &[u8], kind: ExchangeType, router: Router) {
        let mut exchange = Exchange::new(&Declaration {
            name,
            kind,
            is_durable: true,
            is_auto_delete: false,
            is_internal: name == TRACE_EXCHANGE,
            alternate: None,
            arguments: Table::EMPTY,
        });
        exchange.is_predeclared = true;
        self.insert_exchange(exchange, router);
    }

    fn insert_exchange(&mut self, exchange: Exchange, router: Router) {
        let hash = self.seed.hash(&exchange.name);
        let entry = ExchangeEntry { exchange, router, outgoing: Vec::new(), incoming: Vec::new() };
        let handle = self.exchanges.insert(entry);
        let (seed, exchanges) = (self.seed, &self.exchanges);
        let hash_of = |handle: &ExchangeHandle| seed.hash(&exchanges[*handle].exchange.name);
        self.exchanges_by_name.insert_unique(hash, handle, hash_of);
        self.advance_epoch();
    }

    /// Removes exchanges and, one after the other, all that fall with them. (Not recursively: a client can make the chain
    /// as long as it likes.) None can be doomed twice, since it is doomed by losing its last outgoing binding.
    fn remove_exchanges(&mut self, mut doomed: Vec<ExchangeHandle>, removed: &mut Removed) {
        while let Some(handle) = doomed.pop() {
            while let Some(binding) = self.exchanges[handle].outgoing.last().copied() {
                self.remove_binding(binding, removed); // whether it is unused now does not matter
            }
            while let Some(binding) = self.exchanges[handle].incoming.last().copied() {
                doomed.extend(self.remove_binding(binding, removed));
            }
            let hash = self.seed.hash(&self.exchanges[handle].exchange.name);
            let entry = self.exchanges_by_name.find_entry(hash, |other| *other == handle);
            entry.expect("every exchange is in the table").remove();
            removed.exchanges.push(self.exchanges.remove(handle).exchange);
        }
    }

    /// Makes every remembered route be looked up again.
    pub fn advance_epoch(&mut self) {
        self.epoch.0 += 1;
    }
}
