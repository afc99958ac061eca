//! The firehose: messages of a traced vhost, as messages of `amq.rabbitmq.trace`, with RabbitMQ's keys and headers.
//!
//! A message is traced on the thread that it is published or delivered on, and only if a queue is bound for it: what no queue wants to
//! hear of costs a look into a table once for many messages. What comes by the exchange itself is not traced.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Weak};

use amqp::content::Properties;
use amqp::table::{ArrayBuf, TableBuf, Value};
use engine::Engine;
use engine::batch::Batch;
use engine::publish::{Publish, PublishOptions};
use engine::router::Routing;
use engine::tap::{Event, Kind, Kinds, Scope, Sink, What, routing_keys};
use engine::targets::Targets;
use message::{History, Parts, View};
use parking_lot::{Mutex, RwLock};
use routing::Epoch;

/// The exchange that they come by.
pub(crate) const EXCHANGE: &str = "amq.rabbitmq.trace";
/// Routes that are remembered; all are forgotten when there are more.
const ROUTE_COUNT_MAX: usize = 4096;

/// The vhosts whose messages are traced, and what traces them.
#[derive(Default)]
pub(crate) struct FirehoseSwitch {
    traced: Arc<RwLock<BTreeSet<Box<str>>>>,
    /// None while there are none.
    sink: Mutex<Option<Arc<dyn Sink>>>,
}

impl std::fmt::Debug for FirehoseSwitch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FirehoseSwitch").field("traced", &self.traced).finish_non_exhaustive()
    }
}

/// What makes messages of what happens to messages.
struct Firehose {
    engine: Weak<Engine>,
    traced: Arc<RwLock<BTreeSet<Box<str>>>>,
    node: String,
    routes: RwLock<HashMap<RouteKey, (Epoch, Arc<Targets>)>>,
}

/// A vhost and a routing key.
type RouteKey = (Box<str>, Vec<u8>);

impl FirehoseSwitch {
    /// Whether a vhost's messages are traced.
    pub(crate) fn is_on(&self, vhost: &str) -> bool {
        self.traced.read().contains(vhost)
    }

    /// From now on messages of a vhost are traced, or no longer: until the broker ends.
    pub(crate) fn turn(&self, engine: &Arc<Engine>, node: &str, vhost: &str, is_traced: bool) {
        // Held to the end: of two changes the later one counts.
        let mut sink = self.sink.lock();
        let (has_changed, has_any) = {
            let mut traced = self.traced.write();
            let has_changed = if is_traced { traced.insert(vhost.into()) } else { traced.remove(vhost) };
            (has_changed, !traced.is_empty())
        };
        if has_changed {
            engine.taps.note_change();
            tracing::info!(vhost, is_traced, "tracing of messages was switched");
        }
        match &*sink {
            None if has_any => {
                let (traced, node, routes) = (self.traced.clone(), node.to_owned(), RwLock::default());
                let firehose: Arc<dyn Sink> =
                    Arc::new(Firehose { engine: Arc::downgrade(engine), traced, node, routes });
                engine.taps.add(firehose.clone());
                *sink = Some(firehose);
            }
            Some(firehose) if !has_any => {
                engine.taps.remove(firehose);
                *sink = None;
            }
            _ => {}
        }
    }
}

impl Sink for Firehose {
    fn kinds(&self) -> Kinds {
        Kinds::of(&[Kind::Published, Kind::Delivered, Kind::Got])
    }

    fn wants(&self, scope: &Scope<'_>) -> bool {
        let Some(key) = key_of(scope) else { return true };
        let Some(engine) = self.engine.upgrade() else { return false };
        self.traced.read().contains(scope.vhost) && self.targets(&engine, scope.vhost, &key).is_some()
    }

    fn take(&self, event: &Event<'_>) {
        let Some(message) = event.message.filter(|message| message.exchange != EXCHANGE.as_bytes()) else { return };
        let Some(key) = key_of(&event.scope()) else { return };
        let Some(engine) = self.engine.upgrade().filter(|_| self.traced.read().contains(event.vhost)) else { return };
        let Some(targets) = self.targets(&engine, event.vhost, &key) else { return };
        let Some(headers) = headers(event, &message, &self.node) else { return };
        let properties = Properties { headers: Some(headers.as_table()), ..Properties::default() };
        let header = View::of(properties, message.body.len()).encode();
        let parts = Parts {
            published_at_ms: engine.clock.now_ms(),
            history: History::default(),
            exchange: EXCHANGE.as_bytes(),
            routing_key: &key,
            header: header.as_header(),
            body: message.body,
        };
        let content = engine.chunks.write(targets.kind(false), parts.len(), |out| parts.write(out));
        let mut batch = Batch::default();
        batch.publish(&targets, Publish::new(content, message.body.len(), PublishOptions::default()));
        batch.apply(&engine, |_, _| ());
    }
}

impl Firehose {
    /// The queues that want to hear of something. None: there are none.
    fn targets(&self, engine: &Engine, vhost: &str, key: &[u8]) -> Option<Arc<Targets>> {
        let place = (Box::from(vhost), key.to_vec());
        let vhost = engine.router().vhost(vhost)?;
        let epoch = vhost.epoch();
        if let Some((known_at, targets)) = self.routes.read().get(&place)
            && *known_at == epoch
        {
            return (!targets.is_empty()).then(|| targets.clone());
        }
        let routing = Routing {
            exchange: EXCHANGE.as_bytes(),
            routing_keys: &[key],
            view: &View::of(Properties::default(), 0),
            content: &|| Arc::from([]),
            is_delayed: false,
        };
        let routed = vhost.route_released(&routing)?;
        let targets = Arc::new(routed.targets);
        if routed.cacheable_at == Some(epoch) {
            let mut routes = self.routes.write();
            if routes.len() >= ROUTE_COUNT_MAX {
                routes.clear();
            }
            routes.insert(place, (epoch, targets.clone()));
        }
        (!targets.is_empty()).then_some(targets)
    }
}

/// The routing key of what happens there. None: it is not known before each message is looked at.
fn key_of(scope: &Scope<'_>) -> Option<Vec<u8>> {
    let (prefix, name) = match scope.kind {
        Kind::Published => (&b"publish."[..], scope.exchange?),
        _ => (&b"deliver."[..], scope.queue?.name().as_bytes()),
    };
    Some([prefix, name].concat())
}

/// The headers, sorted by name as RabbitMQ has them.
fn headers(event: &Event<'_>, message: &Parts<'_>, node: &str) -> Option<TableBuf> {
    let view = message.header.view()?;
    let keys = routing_keys(message, view.headers());
    let texts = |texts: &mut dyn Iterator<Item = &[u8]>| {
        texts.fold(ArrayBuf::new(), |array, text| array.with(Value::LongStr(text)))
    };
    let (connection, user) = event.client.map_or(("", ""), |client| (&*client.connection, &*client.user));
    let properties = shown_properties(view.properties());
    let mut headers = TableBuf::new()
        .with("channel", Value::I32(event.lane.0.into()))
        .with("connection", Value::LongStr(connection.as_bytes()))
        .with("exchange_name", Value::LongStr(message.exchange))
        .with("node", Value::LongStr(node.as_bytes()))
        .with("properties", Value::Table(properties.as_table()));
    headers = match event.what {
        What::Published(targets) => {
            let routed = texts(&mut routed_queues(message, &keys, targets).into_iter());
            headers.with("routed_queues", Value::Array(routed.as_array()))
        }
        What::Delivered { is_redelivered, .. } | What::Got { is_redelivered, .. } => {
            headers.with("redelivered", Value::I32(is_redelivered.into()))
        }
        _ => return None,
    };
    let keys = texts(&mut keys.iter().copied());
    Some(
        headers
            .with("routing_keys", Value::Array(keys.as_array()))
            .with("user", Value::LongStr(user.as_bytes()))
            .with("vhost", Value::LongStr(event.vhost.as_bytes())),
    )
}

/// The names of the queues that a message is routed to. As in RabbitMQ the default exchange also names queues that do not exist.
#[must_use]
pub fn routed_queues<'a>(message: &Parts<'_>, keys: &[&'a [u8]], targets: &'a Targets) -> Vec<&'a [u8]> {
    if message.exchange.is_empty() {
        let mut names = keys.to_vec();
        names.sort_unstable();
        names.dedup();
        return names;
    }
    targets.queues.iter().map(|queue| queue.name().as_bytes()).collect()
}

/// Properties as a table, from the last to the first, as RabbitMQ has them: its numbers have 32 bits.
#[must_use]
pub fn shown_properties(properties: &Properties<'_>) -> TableBuf {
    let Properties {
        content_type,
        content_encoding,
        headers,
        delivery_mode,
        priority,
        correlation_id,
        reply_to,
        expiration,
        message_id,
        timestamp,
        kind,
        user_id,
        app_id,
        cluster_id,
    } = *properties;
    let fields = [
        ("cluster_id", cluster_id.map(Value::LongStr)),
        ("app_id", app_id.map(Value::LongStr)),
        ("user_id", user_id.map(Value::LongStr)),
        ("type", kind.map(Value::LongStr)),
        ("timestamp", timestamp.map(|seconds| Value::I32(seconds as i32))),
        ("message_id", message_id.map(Value::LongStr)),
        ("expiration", expiration.map(Value::LongStr)),
        ("reply_to", reply_to.map(Value::LongStr)),
        ("correlation_id", correlation_id.map(Value::LongStr)),
        ("priority", priority.map(|priority| Value::I32(priority.into()))),
        ("delivery_mode", delivery_mode.map(|mode| Value::I32(mode.into()))),
        ("headers", headers.map(Value::Table)),
        ("content_encoding", content_encoding.map(Value::LongStr)),
        ("content_type", content_type.map(Value::LongStr)),
    ];
    fields.into_iter().fold(TableBuf::new(), |table, (name, value)| match value {
        Some(value) => table.with(name, value),
        None => table,
    })
}
