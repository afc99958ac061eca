//! One exchange's bindings in the form in which its type looks them up: the list of all exchange types.
//!
//! A further type is a file of its own with `bind`, `unbind` and `route`, a variant here and in [`ExchangeType`]. What it
//! needs to know of a message besides key and headers becomes a field of [`Routable`]; if it looks at more than the
//! routing key, [`Router::is_by_key_only`] must say so.

use amqp::table::Table;

use crate::binding::BindingEntry;
use crate::direct::Direct;
use crate::exchange::ExchangeType;
use crate::fanout::Fanout;
use crate::header_fields::HeaderFields;
use crate::headers::{self, Headers, InvalidMatch};
use crate::route::Routable;
use crate::seed::HashSeed;
use crate::slab::Handle;
use crate::target::{Place, Reached, Target};
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
}

impl Router {
    pub(crate) fn new(kind: ExchangeType, seed: HashSeed) -> Self {
        match kind {
            ExchangeType::Direct => Self::Direct(Direct::new(seed)),
            ExchangeType::Fanout => Self::Fanout(Fanout::default()),
            ExchangeType::Topic => Self::Topic(Topic::new(seed)),
            ExchangeType::Headers => Self::Headers(Headers::new(seed)),
        }
    }

    /// Whether all that it looks at is the routing key, so that results may be remembered by it.
    #[inline]
    pub(crate) fn is_by_key_only(&self) -> bool {
        !matches!(self, Self::Headers(_))
    }

    /// Whether a binding may have these arguments.
    pub(crate) fn check(&self, arguments: Table<'_>) -> Result<(), InvalidMatch> {
        match self {
            Self::Headers(_) => headers::check(arguments),
            _ => Ok(()),
        }
    }

    /// Adds a binding, whose arguments are checked and sorted.
    pub(crate) fn bind(&mut self, routing_key: &[u8], arguments: Table<'_>, target: Target) -> Place {
        match self {
            Self::Default => unreachable!("nothing is bound to the default exchange"),
            Self::Direct(direct) => direct.bind(routing_key, target),
            Self::Fanout(fanout) => fanout.bind(target),
            Self::Topic(topic) => topic.bind(routing_key, target),
            Self::Headers(headers) => headers.bind(arguments, target),
        }
    }

    /// Removes a binding. Returns the one that has the same place from now on, if another moved there.
    pub(crate) fn unbind(&mut self, place: Place) -> Option<Handle<BindingEntry>> {
        match self {
            Self::Default => unreachable!("nothing is bound to the default exchange"),
            Self::Direct(direct) => direct.unbind(place),
            Self::Fanout(fanout) => fanout.unbind(place),
            Self::Topic(topic) => topic.unbind(place),
            Self::Headers(headers) => headers.unbind(place),
        }
    }

    /// Adds what the message's bindings lead to.
    #[inline]
    pub(crate) fn route(
        &self,
        message: &Routable<'_>,
        headers: &mut HeaderFields<'_>,
        walk: &mut Walk,
        reached: &mut Reached,
    ) {
        match self {
            Self::Default => unreachable!("the default exchange's bindings are not here"),
            Self::Direct(direct) => message.keys().for_each(|key| direct.route(key, reached)),
            Self::Fanout(fanout) => fanout.route(reached),
            Self::Topic(topic) => message.keys().for_each(|key| topic.route(key, walk, reached)),
            Self::Headers(by_headers) => by_headers.route(headers, reached),
        }
    }
}
