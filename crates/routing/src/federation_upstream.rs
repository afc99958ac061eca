//! The exchange of a federation link: every binding matches, but for messages that have come far enough or from where they would go.
//!
//! A link makes one at its upstream, binds what it wants to it, and takes from a queue behind it. Messages say in the header
//! `x-received-from` over which brokers they came; those that would go round in a circle are not sent at all.

use amqp::table::{Table, Value};

use crate::fanout::Fanout;
use crate::handles::BindingHandle;
use crate::routable::Routable;
use crate::target::{Destinations, Target, TargetPlace};

/// A federation upstream exchange's bindings.
#[derive(Debug)]
pub(crate) struct FederationUpstream {
    bindings: Fanout,
    hops_max: usize,
    /// The name and the vhost of the broker that the link belongs to, if both were said.
    downstream: Option<[Box<[u8]>; 2]>,
}

impl FederationUpstream {
    pub(crate) fn new(arguments: Table<'_>) -> Self {
        let hops = arguments.get("x-max-hops").and_then(|value| value.as_i64());
        let text = |name| arguments.get(name).and_then(|value| value.as_bytes()).map(Box::from);
        Self {
            bindings: Fanout::default(),
            hops_max: hops.map_or(usize::MAX, |hops| usize::try_from(hops).unwrap_or(0)),
            downstream: text("x-downstream-name").zip(text("x-downstream-vhost")).map(Into::into),
        }
    }

    pub(crate) fn bind(&mut self, target: Target) -> TargetPlace {
        self.bindings.bind(target)
    }

    pub(crate) fn unbind(&mut self, place: TargetPlace) -> Option<BindingHandle> {
        self.bindings.unbind(place)
    }

    pub(crate) fn route(&self, message: &Routable<'_>, reached: &mut Destinations) {
        let is_to_go = match message.header(b"x-received-from") {
            Some(Value::Array(hops)) => {
                hops.iter().count() < self.hops_max && !hops.iter().any(|hop| self.is_downstream(hop))
            }
            Some(_) | None => true,
        };
        if is_to_go {
            self.bindings.route(reached);
        }
    }

    fn is_downstream(&self, hop: Value<'_>) -> bool {
        let (Value::Table(hop), Some([name, vhost])) = (hop, &self.downstream) else { return false };
        let is = |key, expected: &[u8]| hop.get(key).is_some_and(|value| value.as_bytes() == Some(expected));
        is("cluster-name", name) && is("vhost", vhost)
    }
}
