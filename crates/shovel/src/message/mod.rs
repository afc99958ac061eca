//! What becomes of a message on its way: where it is published, and with which properties. No I/O, no clock.

use amqp::table::{ArrayBuf, Table, TableBuf, Value};
use amqp::{Properties, basic};
use amqp_client::{Content, Route};
use model::shovel::{BrokerDestination, PublishProperties, Source, SourceQueue, Target};

use crate::status::{Ends, ShovelId};

/// Says which way a message came: an array of tables, the latest shovel first.
const SHOVELLED: &str = "x-shovelled";
/// Says when it was last shovelled, in seconds.
const SHOVELLED_AT: &str = "x-shovelled-timestamp";

/// Says that the source had given the message out before, so that the destination may have it already.
const REDELIVERED: &str = "x-shovelled-redelivered";

/// How the messages of a shovel are published.
#[derive(Debug)]
pub(crate) struct Forwarding {
    exchange: Option<Box<str>>,
    key: Option<Box<str>>,
    is_mandatory: bool,
    properties: Option<Box<PublishProperties>>,
    /// The newest entry of [`SHOVELLED`].
    way: Option<TableBuf>,
    adds_timestamp: bool,
    /// The route of the last message, and of which one.
    route: Option<Route>,
    route_of: (Vec<u8>, Vec<u8>),
    encoded: Vec<u8>,
}

impl Forwarding {
    pub(crate) fn new(
        source: &Source,
        destination: &BrokerDestination,
        id: &ShovelId,
        cluster_name: &str,
        ends: &Ends,
    ) -> Self {
        let (exchange, key) = match &destination.to {
            Target::Queue { name, .. } => (Some("".into()), Some(name.clone())),
            Target::Exchange { name, key } => (name.clone(), key.clone()),
        };
        let way = destination.adds_forward_headers.then(|| way(source, destination, id, cluster_name, ends));
        Forwarding {
            // A deleted queue is a failure, and not the end of its messages.
            is_mandatory: matches!(destination.to, Target::Queue { .. }),
            exchange,
            key,
            properties: destination.properties.clone(),
            way,
            adds_timestamp: destination.adds_timestamp_header,
            route: None,
            route_of: (Vec::new(), Vec::new()),
            encoded: Vec::new(),
        }
    }

    /// Where a delivery is published, and with which properties, encoded. `None`: a name is too long, which no broker sends.
    pub(crate) fn forward<'a>(
        &'a mut self,
        deliver: &basic::Deliver<'_>,
        content: &Content<'a>,
        now_s: impl FnOnce() -> u64,
    ) -> Option<(&'a Route, &'a [u8])> {
        self.choose_route(deliver);
        let changes = self.properties.is_some() || self.way.is_some() || self.adds_timestamp || deliver.redelivered;
        // Those that cannot be read are left as they are.
        let is_changed = changes && self.change(content, deliver.redelivered, now_s).is_some();
        let properties = if is_changed { &self.encoded } else { content.properties_bytes() };
        Some((self.route.as_ref()?, properties))
    }

    fn choose_route(&mut self, deliver: &basic::Deliver<'_>) {
        let exchange = self.exchange.as_deref().map_or(deliver.exchange, str::as_bytes);
        let key = self.key.as_deref().map_or(deliver.routing_key, str::as_bytes);
        if self.route.is_none() || self.route_of.0 != exchange || self.route_of.1 != key {
            self.route = Route::new(exchange, key, self.is_mandatory);
            self.route_of.0.clear();
            self.route_of.0.extend_from_slice(exchange);
            self.route_of.1.clear();
            self.route_of.1.extend_from_slice(key);
        }
    }

    /// Encodes the properties with which a message is published. `None`: its own make no sense.
    fn change(&mut self, content: &Content<'_>, is_redelivered: bool, now_s: impl FnOnce() -> u64) -> Option<()> {
        let mut properties = content.properties()?;
        if let Some(wanted) = &self.properties {
            set(&mut properties, wanted);
        }
        let now = self.adds_timestamp.then(|| Value::I64(i64::try_from(now_s()).unwrap_or(i64::MAX)));
        let added = [(SHOVELLED_AT, now), (REDELIVERED, is_redelivered.then_some(Value::Bool(true)))];
        let mut headers = self.way.as_ref().map(|way| with_way(properties.headers, way));
        for (name, value) in added {
            let Some(value) = value else { continue };
            let own = || properties.headers.map(|headers| headers.to_owned()).unwrap_or_default();
            // The names are short.
            let _ = headers.get_or_insert_with(own).set(name.as_bytes(), value);
        }
        if let Some(headers) = &headers {
            properties.headers = Some(headers.as_table());
        }
        self.encoded.clear();
        properties.encode(&mut self.encoded);
        Some(())
    }
}

fn set<'a>(properties: &mut Properties<'a>, wanted: &'a PublishProperties) {
    let text = |to: &mut Option<&'a [u8]>, wanted: &'a Option<Box<str>>| {
        if let Some(wanted) = wanted {
            *to = Some(wanted.as_bytes());
        }
    };
    text(&mut properties.content_type, &wanted.content_type);
    text(&mut properties.content_encoding, &wanted.content_encoding);
    text(&mut properties.correlation_id, &wanted.correlation_id);
    text(&mut properties.reply_to, &wanted.reply_to);
    text(&mut properties.expiration, &wanted.expiration);
    text(&mut properties.message_id, &wanted.message_id);
    text(&mut properties.kind, &wanted.kind);
    text(&mut properties.user_id, &wanted.user_id);
    text(&mut properties.app_id, &wanted.app_id);
    text(&mut properties.cluster_id, &wanted.cluster_id);
    properties.delivery_mode = wanted.delivery_mode.or(properties.delivery_mode);
    properties.priority = wanted.priority.or(properties.priority);
    properties.timestamp = wanted.timestamp.or(properties.timestamp);
}

/// The headers with a new entry in front of the way that the message came.
fn with_way(headers: Option<Table<'_>>, way: &TableBuf) -> TableBuf {
    let mut headers = headers.map(|headers| headers.to_owned()).unwrap_or_default();
    let mut ways = ArrayBuf::new().with(Value::Table(way.as_table()));
    if let Some(Value::Array(earlier)) = headers.as_table().get(SHOVELLED) {
        for entry in earlier.iter() {
            ways.push(entry);
        }
    }
    // The name is short.
    let _ = headers.set(SHOVELLED.as_bytes(), Value::Array(ways.as_array()));
    headers
}

fn way(source: &Source, destination: &BrokerDestination, id: &ShovelId, cluster_name: &str, ends: &Ends) -> TableBuf {
    let mut way = TableBuf::new();
    let mut tell = |name: &str, text: &str| {
        // The names are short.
        let _ = way.push(name.as_bytes(), Value::LongStr(text.as_bytes()));
    };
    tell("shovelled-by", cluster_name);
    tell("shovel-type", if id.vhost.is_some() { "dynamic" } else { "static" });
    tell("shovel-name", &id.name);
    if let Some(vhost) = &id.vhost {
        tell("shovel-vhost", vhost.as_str());
    }
    tell("src-uri", &ends.source_uri);
    tell("dest-uri", &ends.destination_uri);
    match &source.from {
        SourceQueue::Queue { name, .. } => tell("src-queue", name),
        SourceQueue::Exchange { name, key } => {
            tell("src-exchange", name);
            tell("src-exchange-key", key);
        }
    }
    match &destination.to {
        Target::Queue { name, .. } => tell("dest-queue", name),
        Target::Exchange { name, key } => {
            name.iter().for_each(|name| tell("dest-exchange", name));
            key.iter().for_each(|key| tell("dest-exchange-key", key));
        }
    }
    way
}

#[cfg(test)]
mod tests;
