//! What happens on the broker that operators may want to know: for the audit log, and as messages on the exchange
//! `amq.rabbitmq.event`, with the routing keys and headers that RabbitMQ's plugin of that name gives them.
//!
//! Never emitted under a lock: a message of an event takes the locks of its queues.

use std::fmt;
use std::path::Path;

use amqp::content::Properties;
use amqp::table::{ArrayBuf, Table, TableBuf, Value};
use model::definition;
use model::name::{ExchangeName, VhostName};
use model::policy::Policy;

use crate::binding_request::{BindingEnd, BindingRequest};
use crate::connections::{ConnectionHandle, ConsumerHandle};
use crate::identity::{Interface, Origin};
use engine::clock::wall_ms;
use engine::lane::LaneNumber;
use engine::queue_handle::QueueHandle;
use message::{HeaderBuf, History, Parts, View};

/// The exchange on which events are published, in the default vhost.
pub(crate) const EXCHANGE: &str = "amq.rabbitmq.event";

/// Something that happened.
#[derive(Debug, Clone)]
pub struct Event {
    /// What: the routing key, such as `queue.created`.
    pub name: &'static str,
    /// Its number since the broker's start; 0 before it is emitted.
    pub id: u64,
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
    /// About what: the headers.
    pub fields: TableBuf,
    /// The user that did it.
    pub user: Option<Box<str>>,
    /// From where.
    pub origin: Option<Origin>,
}

/// Where events go besides the exchange.
pub trait EventSink: Send + Sync + fmt::Debug {
    /// Takes an event. Must not wait.
    fn take(&self, event: &Event);
}

fn text(text: &str) -> Value<'_> {
    Value::LongStr(text.as_bytes())
}

impl Event {
    /// It happens now.
    #[must_use]
    pub fn new(name: &'static str) -> Self {
        Self { name, id: 0, at_ms: wall_ms(), fields: TableBuf::new(), user: None, origin: None }
    }

    pub(crate) fn with(mut self, name: &str, value: Value<'_>) -> Self {
        self.fields = self.fields.with(name, value);
        self
    }

    /// With a text among its headers.
    #[must_use]
    pub fn with_text(self, name: &str, value: &str) -> Self {
        self.with(name, text(value))
    }

    pub(crate) fn with_bool(self, name: &str, value: bool) -> Self {
        self.with(name, Value::Bool(value))
    }

    /// With a number among its headers.
    #[must_use]
    pub fn with_number(self, name: &str, value: i64) -> Self {
        self.with(name, Value::I64(value))
    }

    pub(crate) fn with_table(self, name: &str, value: Table<'_>) -> Self {
        self.with(name, Value::Table(value))
    }

    pub(crate) fn with_list<'a>(self, name: &str, texts: impl Iterator<Item = &'a str>) -> Self {
        let list = texts.fold(ArrayBuf::new(), |list, item| list.with(text(item)));
        self.with(name, Value::Array(list.as_array()))
    }

    /// From where it was done.
    pub(crate) fn from(mut self, origin: Origin) -> Self {
        self.origin = Some(origin);
        self
    }

    /// Adds the user that did it, and from where.
    pub(crate) fn by(mut self, user: &str, origin: Origin) -> Self {
        self.user = Some(user.into());
        self.origin = Some(origin);
        self.with_text("user_who_performed_action", user)
    }

    pub(crate) fn of_queue(name: &'static str, queue: &QueueHandle) -> Self {
        Event::new(name).with_text("name", queue.name()).with_text("vhost", queue.definition.vhost.as_str())
    }

    pub(crate) fn queue_created(queue: &QueueHandle) -> Self {
        let definition = &queue.definition;
        Event::of_queue("queue.created", queue)
            .with_bool("durable", definition.is_durable)
            .with_bool("auto_delete", definition.is_auto_delete)
            .with_bool("exclusive", definition.is_exclusive)
            .with_text("type", definition.arguments.queue_type().module())
            .with_table("arguments", definition.arguments.table())
    }

    pub(crate) fn queue_deleted(queue: &QueueHandle) -> Self {
        Event::of_queue("queue.deleted", queue).with_text("type", queue.definition.arguments.queue_type().module())
    }

    /// Another policy of a user's holds for a queue, or none does any longer.
    pub(crate) fn queue_policy(queue: &QueueHandle, policy: Option<&Policy>) -> Self {
        let name = if policy.is_some() { "queue.policy.updated" } else { "queue.policy.cleared" };
        let module = queue.definition.arguments.queue_type().module();
        let event = Event::of_queue(name, queue).with_text("type", module);
        policy.map_or(event.clone(), |policy| event.with_policy(policy))
    }

    /// What a policy says.
    pub(crate) fn with_policy(self, policy: &Policy) -> Self {
        let settings = model::json::to_table(policy.definition.settings()).unwrap_or_default();
        self.with_text("pattern", policy.pattern.as_str())
            .with_text("apply-to", policy.apply_to.name())
            .with_number("priority", policy.priority)
            .with_table("definition", settings.as_table())
    }

    /// What an operator says about a vhost.
    pub(crate) fn of_vhost(name: &'static str, vhost: &model::vhost::Vhost) -> Self {
        let metadata = &vhost.metadata;
        Event::new(name)
            .with_text("name", vhost.name.as_str())
            .with_text("description", &metadata.description)
            .with_list("tags", metadata.tags.iter().map(String::as_str))
            .with_text("default_queue_type", metadata.default_queue_type.as_deref().unwrap_or_default())
            .with_bool("protected_from_deletion", vhost.is_protected)
            .with_bool("tracing", false)
    }

    pub(crate) fn alarm(is_set: bool, source: &str, node: &str) -> Self {
        let event = Event::new(if is_set { "alarm.set" } else { "alarm.cleared" });
        event.with_text("source", source).with_text("node", node)
    }

    /// Another node of the cluster can be reached, or no longer. RabbitMQ has no such events, nor the next one.
    #[must_use]
    pub fn node(is_up: bool, name: &str) -> Self {
        Event::new(if is_up { "node.up" } else { "node.down" }).with_text("name", name)
    }

    /// Another node leads the cluster.
    #[must_use]
    pub fn leader_changed(leader: &str, term: u64) -> Self {
        Event::new("leader.changed").with_text("leader", leader).with_number("term", term.cast_signed())
    }

    /// RabbitMQ has no such event.
    pub(crate) fn queue_purged(queue: &QueueHandle, count: u64) -> Self {
        Event::of_queue("queue.purged", queue).with_number("messages", count.cast_signed())
    }

    /// RabbitMQ has no such event, nor the next two.
    pub(crate) fn messages_deleted(queue: &QueueHandle, count: u64) -> Self {
        Event::of_queue("queue.messages.deleted", queue).with_number("messages", count.cast_signed())
    }

    pub(crate) fn messages_moved(queue: &QueueHandle, count: u64) -> Self {
        Event::of_queue("queue.messages.moved", queue).with_number("messages", count.cast_signed())
    }

    pub(crate) fn messages_redriven(queue: &QueueHandle, count: u64) -> Self {
        Event::of_queue("queue.messages.redriven", queue).with_number("messages", count.cast_signed())
    }

    /// RabbitMQ has no such event.
    pub(crate) fn backup_created(dir: &Path, len: u64) -> Self {
        Event::new("backup.created").with_text("name", &dir.to_string_lossy()).with_number("bytes", len.cast_signed())
    }

    pub(crate) fn exchange_created(exchange: &definition::Exchange) -> Self {
        Event::new("exchange.created")
            .with_text("name", exchange.name.as_str())
            .with_text("vhost", exchange.vhost.as_str())
            .with_text("type", exchange.exchange_type.name())
            .with_bool("durable", exchange.is_durable)
            .with_bool("auto_delete", exchange.is_auto_delete)
            .with_bool("internal", exchange.is_internal)
            .with_text("policy", "")
            .with_table("arguments", exchange.arguments.table())
    }

    pub(crate) fn exchange_deleted(vhost: &VhostName, name: &ExchangeName) -> Self {
        Event::new("exchange.deleted").with_text("name", name.as_str()).with_text("vhost", vhost.as_str())
    }

    fn of_binding(name: &'static str, vhost: &VhostName, binding: &BindingRequest<'_>) -> Self {
        let (kind, destination) = match binding.destination {
            BindingEnd::Queue(name) => ("queue", name.as_str()),
            BindingEnd::Exchange(name) => ("exchange", name.as_str()),
        };
        Event::new(name)
            .with_text("source_name", binding.source.as_str())
            .with_text("source_kind", "exchange")
            .with_text("destination_name", destination)
            .with_text("destination_kind", kind)
            .with("routing_key", Value::LongStr(binding.routing_key))
            .with_table("arguments", binding.arguments)
            .with_text("vhost", vhost.as_str())
    }

    pub(crate) fn binding_created(vhost: &VhostName, binding: &BindingRequest<'_>) -> Self {
        Event::of_binding("binding.created", vhost, binding)
    }

    pub(crate) fn binding_deleted(vhost: &VhostName, binding: &BindingRequest<'_>) -> Self {
        Event::of_binding("binding.deleted", vhost, binding)
    }
}

/// Events of connections, channels and consumers.
impl Event {
    fn of_connection(name: &'static str, connection: &ConnectionHandle) -> Self {
        let (peer, local) = (connection.peer, connection.local);
        let event = Event::new(name)
            .with_text("name", &connection.name())
            .with_text("peer_host", &peer.ip().to_string())
            .with_number("peer_port", peer.port().into())
            .with_text("host", &local.ip().to_string())
            .with_number("port", local.port().into())
            .with_number("connected_at", connection.connected_at_ms.cast_signed());
        let Some(opened) = connection.opened.get() else { return event };
        let origin = Origin { peer: Some(peer), interface: Interface::Amqp };
        let user_provided_name = opened.client_properties.as_table().get("connection_name");
        let event = match user_provided_name.and_then(|value| value.as_str()) {
            Some(name) => event.with_text("user_provided_name", name),
            None => event,
        };
        event
            .with_text("user", opened.identity.name())
            .with_text("vhost", opened.vhost.as_str())
            .with_table("client_properties", opened.client_properties.as_table())
            .by(opened.identity.name(), origin)
    }

    pub(crate) fn connection_created(connection: &ConnectionHandle, node: &str) -> Self {
        let event = Event::of_connection("connection.created", connection)
            .with_text("node", node)
            .with_text("type", "network")
            .with_text("protocol", "AMQP 0-9-1")
            .with_bool("ssl", connection.tls.is_some());
        // As in RabbitMQ there in any case, and empty without TLS.
        let tls = connection.tls.as_ref();
        let peer = tls.and_then(|tls| tls.peer.as_ref());
        let facts = [
            ("ssl_protocol", tls.map(|tls| tls.protocol)),
            ("ssl_cipher", tls.map(|tls| tls.cipher)),
            ("ssl_key_exchange", tls.map(|tls| tls.key_exchange)),
            ("ssl_hash", tls.map(|tls| tls.hash)),
            ("peer_cert_subject", peer.map(|peer| &*peer.subject)),
            ("peer_cert_issuer", peer.map(|peer| &*peer.issuer)),
            ("peer_cert_validity", peer.map(|peer| &*peer.validity)),
            ("peer_cert_serial_number", peer.map(|peer| &*peer.serial_number)),
        ];
        let event =
            facts.into_iter().fold(event, |event, (name, text)| event.with_text(name, text.unwrap_or_default()));
        let Some(opened) = connection.opened.get() else { return event };
        event
            .with_text("auth_mechanism", &opened.mechanism)
            .with_number("channel_max", opened.channel_max.into())
            .with_number("frame_max", opened.frame_max.into())
            .with_number("timeout", opened.heartbeat_s.into())
    }

    pub(crate) fn connection_closed(connection: &ConnectionHandle, node: &str) -> Self {
        Event::of_connection("connection.closed", connection).with_text("node", node)
    }

    fn of_channel(name: &'static str, connection: &ConnectionHandle, number: LaneNumber) -> Self {
        let connection_name = connection.name();
        let event = Event::new(name)
            .with_text("name", &format!("{connection_name} ({number})"))
            .with_text("connection", &connection_name)
            .with_number("number", number.0.into());
        let Some(opened) = connection.opened.get() else { return event };
        let origin = Origin { peer: Some(connection.peer), interface: Interface::Amqp };
        let event = event.with_text("user", opened.identity.name()).with_text("vhost", opened.vhost.as_str());
        event.by(opened.identity.name(), origin)
    }

    pub(crate) fn channel_created(connection: &ConnectionHandle, number: LaneNumber) -> Self {
        Event::of_channel("channel.created", connection, number)
    }

    pub(crate) fn channel_closed(connection: &ConnectionHandle, number: LaneNumber) -> Self {
        Event::of_channel("channel.closed", connection, number)
    }

    fn of_consumer(name: &'static str, connection: &ConnectionHandle, consumer: &ConsumerHandle) -> Self {
        let event = Event::new(name)
            .with("consumer_tag", Value::LongStr(&consumer.tag))
            .with_text("channel", &format!("{} ({})", connection.name(), consumer.channel))
            .with_text("queue", consumer.queue.name())
            .with_text("vhost", consumer.queue.definition.vhost.as_str());
        let Some(opened) = connection.opened.get() else { return event };
        event.by(opened.identity.name(), Origin { peer: Some(connection.peer), interface: Interface::Amqp })
    }

    pub(crate) fn consumer_created(connection: &ConnectionHandle, consumer: &ConsumerHandle) -> Self {
        Event::of_consumer("consumer.created", connection, consumer)
            .with_bool("exclusive", consumer.is_exclusive)
            .with_bool("ack_required", !consumer.no_ack)
            .with_number("prefetch_count", consumer.prefetch.into())
            .with_table("arguments", consumer.arguments.as_table())
    }

    pub(crate) fn consumer_deleted(connection: &ConnectionHandle, consumer: &ConsumerHandle) -> Self {
        Event::of_consumer("consumer.deleted", connection, consumer)
    }
}

/// An event as a message.
impl Event {
    pub(crate) fn view<'a>(&self, headers: Table<'a>) -> View<'a> {
        let properties = Properties {
            headers: Some(headers),
            delivery_mode: Some(PERSISTENT),
            timestamp: Some(self.at_ms / 1000),
            ..Properties::default()
        };
        View::of(properties, 0)
    }

    pub(crate) fn header(&self) -> HeaderBuf {
        let headers = self.fields.clone().with("timestamp_in_ms", Value::I64(self.at_ms.cast_signed()));
        self.view(headers.as_table()).encode()
    }

    pub(crate) fn parts<'a>(&'a self, header: &'a HeaderBuf) -> Parts<'a> {
        let (exchange, routing_key) = (EXCHANGE.as_bytes(), self.name.as_bytes());
        let (history, header) = (History::default(), header.as_header());
        Parts { published_at_ms: self.at_ms, history, exchange, routing_key, header, body: b"" }
    }
}

const PERSISTENT: u8 = 2;
