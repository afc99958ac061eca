//! What becomes of a message that comes over a link: whether it is passed on, and which way it says it has come. No I/O.
//!
//! Each link puts itself in front of the header `x-received-from`. A message that came over as many links as the link allows, or that was
//! here before, is passed no further. A queue's messages may go round: they say how often they came over the link.

use amqp::table::{ArrayBuf, TableBuf};
use amqp::{Array, Table, Value, basic};
use amqp_client::Content;

use crate::bindings::has_been_at;

const RECEIVED_FROM: &str = "x-received-from";
const VISIT_COUNT: &str = "visit-count";

/// How messages of a link are changed.
#[derive(Clone, Debug)]
pub(crate) struct Way {
    /// The upstream, without users.
    pub(crate) uri: Box<str>,
    pub(crate) trusts_user_id: bool,
    pub(crate) kind: WayKind,
}

/// What differs between exchanges and queues.
#[derive(Clone, Debug)]
pub(crate) enum WayKind {
    Exchange {
        /// The exchange here.
        name: Box<str>,
        max_hops: u32,
        /// This cluster, and the vhost here.
        cluster_name: Box<str>,
        vhost: Box<str>,
        /// The cluster at the other end, where it says.
        upstream_cluster_name: Option<Box<str>>,
        upstream_vhost: Box<str>,
    },
    Queue {
        /// The queue here.
        name: Box<str>,
    },
}

impl Way {
    /// Writes the properties with which a message is passed on. False: it is not.
    pub(crate) fn forward(&self, deliver: &basic::Deliver<'_>, content: &Content<'_>, encoded: &mut Vec<u8>) -> bool {
        encoded.clear();
        let Some(mut properties) = content.properties() else {
            // What cannot be read is left as it is.
            encoded.extend_from_slice(content.properties_bytes());
            return true;
        };
        let headers = properties.headers.unwrap_or_default();
        let Some(headers) = self.headers(deliver, headers) else { return false };
        properties.headers = Some(headers.as_table());
        if !self.trusts_user_id {
            properties.user_id = None;
        }
        properties.encode(encoded);
        true
    }

    fn headers(&self, deliver: &basic::Deliver<'_>, headers: Table<'_>) -> Option<TableBuf> {
        let earlier = headers.get(RECEIVED_FROM).and_then(|value| value.as_array());
        match &self.kind {
            WayKind::Exchange { name, max_hops, cluster_name, vhost, upstream_cluster_name, upstream_vhost } => {
                if let Some(earlier) = earlier
                    && (earlier.iter().count() >= *max_hops as usize || has_been_at(earlier, Some(cluster_name), vhost))
                {
                    return None;
                }
                let mut hop = self.hop("exchange", name, deliver.redelivered);
                if let Some(name) = upstream_cluster_name {
                    hop = hop.with("cluster-name", Value::LongStr(name.as_bytes()));
                }
                let hop = hop.with("vhost", Value::LongStr(upstream_vhost.as_bytes()));
                Some(with_hop(headers.to_owned(), &hop, earlier.iter().flat_map(Array::iter)))
            }
            WayKind::Queue { name } => {
                let is_this = |hop: &Value<'_>| self.is_this(hop, name);
                let visits = earlier.iter().flat_map(Array::iter).find(is_this);
                let visits = visits.and_then(|hop| hop.as_table()?.get(VISIT_COUNT)?.as_i64()).unwrap_or(0);
                let hop = self.hop("queue", name, deliver.redelivered);
                let hop = hop.with(VISIT_COUNT, Value::I64(visits.saturating_add(1)));
                let mut own = with_former_copies(headers);
                if earlier.is_none() {
                    // Where it was published at first: after that it is known to have come by its queue's name.
                    let text = Value::LongStr;
                    // The names are short.
                    let _ = own.set(b"x-original-exchange", text(deliver.exchange));
                    let _ = own.set(b"x-original-routing-key", text(deliver.routing_key));
                }
                let others = earlier.iter().flat_map(Array::iter).filter(|hop| !is_this(hop));
                Some(with_hop(own, &hop, others))
            }
        }
    }

    fn hop(&self, kind: &str, name: &str, is_redelivered: bool) -> TableBuf {
        TableBuf::new()
            .with("uri", Value::LongStr(self.uri.as_bytes()))
            .with(kind, Value::LongStr(name.as_bytes()))
            .with("redelivered", Value::Bool(is_redelivered))
    }

    /// Whether a message came over this link before.
    fn is_this(&self, hop: &Value<'_>, queue: &str) -> bool {
        let Some(hop) = hop.as_table() else { return false };
        let says = |name, text: &str| hop.get(name).and_then(|value| value.as_bytes()) == Some(text.as_bytes());
        says("uri", &self.uri) && says("queue", queue)
    }
}

fn with_hop<'a>(mut headers: TableBuf, hop: &TableBuf, earlier: impl Iterator<Item = Value<'a>>) -> TableBuf {
    let mut hops = ArrayBuf::new().with(Value::Table(hop.as_table()));
    earlier.for_each(|hop| hops.push(hop));
    // The name is short.
    let _ = headers.set(RECEIVED_FROM.as_bytes(), Value::Array(hops.as_array()));
    headers
}

/// The headers, with the message's other queues only listed as former ones: it has been there.
fn with_former_copies(headers: Table<'_>) -> TableBuf {
    let mut own = headers.to_owned();
    if let Some(copies) = headers.get("CC") {
        own.remove(b"CC");
        // The name is short.
        let _ = own.set(b"x-original-cc", copies);
    }
    own
}

#[cfg(test)]
mod tests;
