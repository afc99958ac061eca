//! A request as its handler sees it: who, what, with which arguments.

use std::sync::Arc;

use broker::{Actor, Broker, Identity};
use bytes::Bytes;
use hyper::header::HeaderMap;
use serde_json::{Map, Value};

use crate::json::parse_object;
use crate::listing::Query;
use crate::path::Arguments;
use crate::problem::Problem;
use crate::request_context::RequestContext;
use crate::service::Service;
use crate::statistics::Ranges;
use crate::tags::is_administrator;

/// A request that may be answered.
pub(crate) struct Call {
    pub(crate) service: Arc<Service>,
    /// The user of the request, the broker itself for what needs no login; and the vhosts that it may enter.
    pub(crate) context: RequestContext,
    pub(crate) arguments: Arguments,
    pub(crate) query: Query,
    pub(crate) headers: HeaderMap,
    /// Whether the user has logged in; what needs a login is looked up only then.
    pub(crate) is_logged_in: bool,
    pub(crate) body: Bytes,
    /// None: this node was asked.
    pub(crate) forwarded_by: Option<ForwardedBy>,
    /// Whether it came over TLS, to the node that was asked.
    pub(crate) is_over_tls: bool,
}

/// The node that was asked: it does not lead, and has sent the connection on to this one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ForwardedBy(pub(crate) Arc<str>);

impl Call {
    pub(crate) fn broker(&self) -> &Arc<Broker> {
        &self.service.broker
    }

    /// The name of the node that was asked.
    pub(crate) fn asked_node(&self) -> &str {
        self.forwarded_by.as_ref().map_or(self.service.node(), |ForwardedBy(node)| node)
    }

    /// The user that asks.
    pub(crate) fn actor(&self) -> &Actor {
        &self.context.actor
    }

    pub(crate) fn identity(&self) -> &Identity {
        &self.context.actor.identity
    }

    /// Whether a listing is to have what is in a vhost.
    pub(crate) fn sees_vhost(&self, vhost: &str) -> bool {
        is_administrator(self.identity()) || self.context.enter(vhost).is_some()
    }

    /// An argument of the path, which the route's pattern has.
    pub(crate) fn argument(&self, name: &str) -> &str {
        self.arguments.get(name).unwrap_or_default()
    }

    /// The vhost of the path.
    pub(crate) fn vhost(&self) -> &str {
        self.argument("vhost")
    }

    /// Whether statistics are wanted, and shown at all.
    pub(crate) fn has_stats(&self) -> bool {
        !self.service.options.disables_stats && !self.query.is_true("disable_stats")
    }

    /// The histories that are wanted of one object; None where no rates are shown either.
    pub(crate) fn ranges(&self) -> Option<Arc<Ranges>> {
        self.ranges_of(false)
    }

    /// The same of each object of a list.
    pub(crate) fn ranges_of_list(&self) -> Option<Arc<Ranges>> {
        self.ranges_of(true)
    }

    fn ranges_of(&self, is_of_list: bool) -> Option<Arc<Ranges>> {
        (self.has_stats() && self.broker().has_rates()).then(|| Arc::new(Ranges::parse(&self.query, is_of_list)))
    }

    /// The body, which must be an object or nothing.
    pub(crate) fn object(&self) -> Result<Map<String, Value>, Problem> {
        parse_object(&self.body)
    }
}
