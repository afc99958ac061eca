//! A vhost for tests: names instead of ids, and the cache used as a broker uses it.

use amqp::table::{Table, TableBuf};
use model::ids::QueueId;
use routing::{
    BindError, BindingRef, BindingSpec, CacheLimits, Declaration, Destination, ExchangeRef, ExchangeType, Exchanges,
    HashSeed, Removed, Routable, RouteCache, RouteScratch,
};

/// Exchanges with all that stands around them in a broker.
pub(crate) struct Vhost {
    pub(crate) exchanges: Exchanges,
    scratch: RouteScratch,
    cache: RouteCache<Vec<String>>,
    last_id: u64,
}

/// Small enough to be full often.
pub(crate) const CACHE_LIMITS: CacheLimits = CacheLimits { entry_count_max: 8, key_bytes_max: 100 };

/// The end of a binding: `q:NAME` or `e:NAME`.
pub(crate) fn spec<'a>(
    exchanges: &Exchanges,
    source: &'a str,
    to: &'a str,
    key: &'a str,
    arguments: Table<'a>,
) -> BindingSpec<'a> {
    let destination = match to.split_once(':') {
        Some(("q", name)) => Destination::Queue(exchanges.queue(name.as_bytes()).unwrap_or(QueueId(u64::MAX))),
        Some(("e", name)) => Destination::Exchange(name.as_bytes()),
        _ => panic!("{to:?} is neither q:NAME nor e:NAME"),
    };
    BindingSpec { source: source.as_bytes(), destination, routing_key: key.as_bytes(), arguments }
}

impl Vhost {
    pub(crate) fn new() -> Self {
        Self {
            exchanges: Exchanges::new(HashSeed::fixed()),
            scratch: RouteScratch::new(1),
            cache: RouteCache::new(HashSeed::fixed(), CACHE_LIMITS),
            last_id: 0,
        }
    }

    pub(crate) fn with_queues(names: &[&str]) -> Self {
        let mut vhost = Self::new();
        names.iter().for_each(|name| vhost.add_queue(name));
        vhost
    }

    pub(crate) fn add_queue(&mut self, name: &str) {
        self.last_id += 1;
        self.exchanges.queue_added(name.as_bytes(), QueueId(self.last_id), true);
    }

    pub(crate) fn delete_queue(&mut self, name: &str) -> Removed {
        let id = self.exchanges.queue(name.as_bytes()).expect("the queue exists");
        self.exchanges.queue_deleted(id)
    }

    #[track_caller]
    pub(crate) fn declare(&mut self, name: &str, kind: ExchangeType) {
        assert!(self.exchanges.declare(&declaration(name, kind)));
    }

    #[track_caller]
    pub(crate) fn declare_auto_delete(&mut self, name: &str) {
        let declaration = Declaration { is_auto_delete: true, ..declaration(name, ExchangeType::Direct) };
        assert!(self.exchanges.declare(&declaration));
    }

    #[track_caller]
    pub(crate) fn declare_with_alternate(&mut self, name: &str, kind: ExchangeType, alternate: &str) {
        let declaration = Declaration { alternate: Some(alternate.as_bytes()), ..declaration(name, kind) };
        assert!(self.exchanges.declare(&declaration));
    }

    pub(crate) fn try_bind(
        &mut self,
        source: &str,
        to: &str,
        key: &str,
        arguments: Table<'_>,
    ) -> Result<bool, BindError> {
        let spec = spec(&self.exchanges, source, to, key, arguments);
        self.exchanges.bind(&spec)
    }

    /// Makes a binding that is new.
    #[track_caller]
    pub(crate) fn bind(&mut self, source: &str, to: &str, key: &str) {
        assert_eq!(self.try_bind(source, to, key, Table::EMPTY), Ok(true));
    }

    /// Makes a binding that is new.
    #[track_caller]
    pub(crate) fn bind_with(&mut self, source: &str, to: &str, arguments: &TableBuf) {
        assert_eq!(self.try_bind(source, to, "", arguments.as_table()), Ok(true));
    }

    pub(crate) fn try_unbind(
        &mut self,
        source: &str,
        to: &str,
        key: &str,
        arguments: Table<'_>,
    ) -> Result<Removed, BindError> {
        let spec = spec(&self.exchanges, source, to, key, arguments);
        self.exchanges.unbind(&spec)
    }

    #[track_caller]
    pub(crate) fn unbind(&mut self, source: &str, to: &str, key: &str) -> Removed {
        self.try_unbind(source, to, key, Table::EMPTY).expect("unbinding is no error")
    }

    /// The names of the queues, sorted.
    #[track_caller]
    pub(crate) fn route(&mut self, exchange: &str, message: &Routable<'_>) -> Vec<String> {
        self.route_fresh(exchange, message).0
    }

    /// The names of the queues, sorted; whether an alternate exchange was asked; whether that may be remembered.
    #[track_caller]
    pub(crate) fn route_fresh(&mut self, exchange: &str, message: &Routable<'_>) -> (Vec<String>, bool, bool) {
        let routed =
            self.exchanges.route(exchange.as_bytes(), message, &mut self.scratch).expect("the exchange exists");
        let name = |id: &QueueId| self.exchanges.queue_name(*id).expect("the queue exists");
        let mut queues: Vec<_> =
            routed.queues.iter().map(|id| String::from_utf8_lossy(name(id)).into_owned()).collect();
        queues.sort();
        (queues, routed.used_alternate, routed.is_cacheable)
    }

    /// The names of the exchanges that are to keep the message.
    pub(crate) fn histories(&mut self, exchange: &str, message: &Routable<'_>) -> Vec<String> {
        let routed =
            self.exchanges.route(exchange.as_bytes(), message, &mut self.scratch).expect("the exchange exists");
        let name = |history: &ExchangeRef| String::from_utf8_lossy(self.exchanges.name_of(*history)).into_owned();
        routed.histories.iter().map(name).collect()
    }

    /// The same through the cache.
    pub(crate) fn route_cached(&mut self, exchange: &str, key: &str) -> Vec<String> {
        let epoch = self.exchanges.epoch();
        if let Some(queues) = self.cache.get(epoch, exchange.as_bytes(), key.as_bytes()) {
            return queues.clone();
        }
        let (queues, _, is_cacheable) = self.route_fresh(exchange, &Routable::by_key(key.as_bytes()));
        if is_cacheable {
            self.cache.insert(epoch, exchange.as_bytes(), key.as_bytes(), queues.clone());
        }
        assert!(self.cache.len() <= CACHE_LIMITS.entry_count_max);
        queues
    }
}

pub(crate) fn declaration(name: &str, kind: ExchangeType) -> Declaration<'_> {
    Declaration {
        name: name.as_bytes(),
        kind,
        is_durable: true,
        is_auto_delete: false,
        is_internal: false,
        alternate: None,
        arguments: Table::EMPTY,
    }
}

/// A binding in one line: `source --key--> destination {arguments}`.
pub(crate) fn describe(binding: &BindingRef<'_>) -> String {
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    let is_queue = matches!(binding.destination, Destination::Queue(_));
    line(
        &text(binding.source),
        is_queue,
        &text(binding.destination_name),
        &text(binding.routing_key),
        binding.arguments,
    )
}

/// What was removed, in sorted lines: bindings, and exchanges by name.
pub(crate) fn describe_removed(removed: &Removed) -> (Vec<String>, Vec<String>) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let mut bindings: Vec<_> = removed
        .bindings
        .iter()
        .map(|it| {
            let (source, to) = (text(&it.source), text(&it.destination_name));
            line(&source, it.queue.is_some(), &to, &text(&it.routing_key), it.arguments.as_table())
        })
        .collect();
    let mut exchanges: Vec<_> = removed.exchanges.iter().map(|it| text(&it.name)).collect();
    bindings.sort();
    exchanges.sort();
    (bindings, exchanges)
}

pub(crate) fn line(source: &str, is_queue: bool, to: &str, key: &str, arguments: Table<'_>) -> String {
    let kind = if is_queue { 'q' } else { 'e' };
    format!("{source} --{key}--> {kind}:{to} {arguments:?}")
}
