//! One exchange's bindings in the form in which its type looks them up: the list of all exchange types.
//!
//! A further type is a file of its own with `bind`, `unbind` and `route`, a variant here and in [`ExchangeType`]. What it
//! needs to know of a message besides key and headers becomes a field of [`Routable`]; if it looks at more than the
//! routing key, [`Router::is_by_key_only`] must return that.

use amqp::table::Table;

use crate::bind_error::BindError;
use crate::consistent_hash::{ConsistentHash, parse_weight};
use crate::direct::Direct;
use crate::draws::Draws;
use crate::exchange::ExchangeType;
use crate::fanout::Fanout;
use crate::federation_upstream::FederationUpstream;
use crate::handles::BindingHandle;
use crate::header_fields::HeaderFields;
use crate::headers::{self, Headers, InvalidMatch};
use crate::modulus_hash::ModulusHash;
use crate::random::Random;
use crate::routable::Routable;
use crate::seed::HashSeed;
use crate::target::{Destinations, Target, TargetPlace};
use crate::topic::{Topic, Walk};

/// An exchange's bindings.
#[derive(Debug)]
pub(crate) enum Router {
    /// The default exchange, whose bindings are the names of all queues: those are not here.
    Default,
    Direct(Direct),
    Fanout(Fanout),
    Topic(Topic),
    Headers(Headers),
    ConsistentHash(ConsistentHash),
    ModulusHash(ModulusHash),
    /// Local or not.
    Random(Random),
    /// Routes as a fanout exchange does; what it keeps is kept by the broker.
    RecentHistory(Fanout),
    FederationUpstream(FederationUpstream),
}

impl Router {
    pub(crate) fn new(kind: ExchangeType, arguments: Table<'_>, seed: HashSeed) -> Self {
        match kind.routing_type(arguments) {
            ExchangeType::Direct | ExchangeType::DelayedMessage => Self::Direct(Direct::new(seed)),
            ExchangeType::Fanout | ExchangeType::MessageDeduplication => Self::Fanout(Fanout::default()),
            ExchangeType::Topic => Self::Topic(Topic::new(seed)),
            ExchangeType::Headers => Self::Headers(Headers::new(seed)),
            ExchangeType::ConsistentHash => Self::ConsistentHash(ConsistentHash::new(arguments)),
            ExchangeType::ModulusHash => Self::ModulusHash(ModulusHash::new()),
            ExchangeType::Random | ExchangeType::LocalRandom => Self::Random(Random::default()),
            ExchangeType::RecentHistory => Self::RecentHistory(Fanout::default()),
            ExchangeType::FederationUpstream => Self::FederationUpstream(FederationUpstream::new(arguments)),
        }
    }

    /// Whether all that it looks at is the routing key, so that results may be remembered by it.
    #[inline]
    pub(crate) fn is_by_key_only(&self) -> bool {
        match self {
            Self::Default | Self::Direct(_) | Self::Fanout(_) | Self::Topic(_) | Self::ModulusHash(_) => true,
            // What routes by something else, by chance, or is to see every message.
            Self::Headers(_) | Self::Random(_) | Self::RecentHistory(_) | Self::FederationUpstream(_) => false,
            Self::ConsistentHash(hash) => hash.is_by_key(),
        }
    }

    /// Whether the broker keeps the messages that come by.
    #[inline]
    pub(crate) fn has_history(&self) -> bool {
        matches!(self, Self::RecentHistory(_))
    }

    /// Whether it needs the names of destinations.
    pub(crate) fn wants_names(&self) -> bool {
        matches!(self, Self::ConsistentHash(_) | Self::ModulusHash(_))
    }

    /// Whether a binding may have this key and these arguments.
    pub(crate) fn check(&self, routing_key: &[u8], arguments: Table<'_>) -> Result<(), BindError> {
        match self {
            Self::Headers(_) => headers::check(arguments).map_err(|InvalidMatch| BindError::InvalidMatch),
            Self::ConsistentHash(_) => parse_weight(routing_key).map(drop).map_err(BindError::InvalidWeight),
            _ => Ok(()),
        }
    }

    /// Adds a binding, which is checked, and its arguments sorted. The name is its destination's, if that is wanted.
    pub(crate) fn bind(
        &mut self,
        routing_key: &[u8],
        arguments: Table<'_>,
        name: Option<Box<[u8]>>,
        target: Target,
    ) -> TargetPlace {
        match self {
            Self::Default => unreachable!("nothing is bound to the default exchange"),
            Self::Direct(direct) => direct.bind(routing_key, target),
            Self::Fanout(fanout) | Self::RecentHistory(fanout) => fanout.bind(target),
            Self::FederationUpstream(upstream) => upstream.bind(target),
            Self::Topic(topic) => topic.bind(routing_key, target),
            Self::Headers(headers) => headers.bind(arguments, target),
            Self::ConsistentHash(hash) => hash.bind(routing_key, &name.expect(HAS_NAME), target),
            Self::ModulusHash(hash) => hash.bind(name.expect(HAS_NAME), target),
            Self::Random(random) => random.bind(target),
        }
    }

    /// Removes a binding. Returns the one that has the same place from now on, if another moved there.
    pub(crate) fn unbind(&mut self, place: TargetPlace) -> Option<BindingHandle> {
        match self {
            Self::Default => unreachable!("nothing is bound to the default exchange"),
            Self::Direct(direct) => direct.unbind(place),
            Self::Fanout(fanout) | Self::RecentHistory(fanout) => fanout.unbind(place),
            Self::FederationUpstream(upstream) => upstream.unbind(place),
            Self::Topic(topic) => topic.unbind(place),
            Self::Headers(headers) => headers.unbind(place),
            Self::ConsistentHash(hash) => hash.unbind(place),
            Self::ModulusHash(hash) => {
                hash.unbind(place);
                None
            }
            Self::Random(random) => random.unbind(place),
        }
    }

    /// Adds what the message's bindings lead to.
    #[inline]
    pub(crate) fn route(
        &self,
        message: &Routable<'_>,
        headers: &mut HeaderFields<'_>,
        walk: &mut Walk,
        draws: &mut Draws,
        reached: &mut Destinations,
    ) {
        match self {
            Self::Default => unreachable!("the default exchange's bindings are not here"),
            Self::Direct(direct) => message.keys().for_each(|key| direct.route(key, reached)),
            Self::Fanout(fanout) | Self::RecentHistory(fanout) => fanout.route(reached),
            Self::FederationUpstream(upstream) => upstream.route(message, reached),
            Self::Topic(topic) => message.keys().for_each(|key| topic.route(key, walk, reached)),
            Self::Headers(by_headers) => by_headers.route(headers, reached),
            Self::ConsistentHash(hash) => hash.route(message, reached),
            Self::ModulusHash(hash) => hash.route(message, reached),
            Self::Random(random) => random.route(draws, reached),
        }
    }
}

const HAS_NAME: &str = "a router that wants names is given them";
