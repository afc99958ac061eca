//! What a sink keeps of something that happened: copied while it happens, written later by another thread.

use std::borrow::Cow;
use std::time::{SystemTime, UNIX_EPOCH};

use amqp::content::Properties;
use broker::tap::{Event, Kind, What, routing_keys};
use message::HeaderBuf;

/// How the addresses of direct replies begin.
const DIRECT_REPLY: &str = "amq.rabbitmq.reply-to.";

/// Something that happened, in possession of all that a trace says of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// When, in nanoseconds since 1970.
    pub at_ns: u64,
    /// What.
    pub kind: Kind,
    /// The vhost.
    pub vhost: String,
    /// The client that caused it: the connection's name and the user's.
    pub client: Option<(String, String)>,
    /// The client that a proxy says it did this for.
    pub on_behalf_of: Option<String>,
    /// On which channel; 0: none.
    pub channel: u16,
    /// The queue that it happened in.
    pub queue: Option<String>,
    /// The message's place there.
    pub seq: Option<u64>,
    /// The queues that the message went to.
    pub routed_queues: Option<Vec<Vec<u8>>>,
    /// Whether it is handed out not for the first time.
    pub is_redelivered: Option<bool>,
    /// What else there is to say.
    pub more: More,
    /// The message, where it was at hand.
    pub message: Option<Message>,
    /// The number of its publish, or 0.
    pub publish: u64,
    /// When it came to its queue, in milliseconds since 1970.
    pub entered_at_ms: u64,
}

/// What only some of it has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum More {
    /// Nothing.
    Nothing,
    /// The consumer's tag.
    Consumer(Vec<u8>),
    /// Why its queue gave it up.
    Reason(&'static str),
    /// Whether a queue has refused it.
    IsRefused(bool),
    /// Where it waits or waited, and until when in milliseconds since 1970.
    Delay(Vec<u8>, Option<u64>),
    /// How many there were.
    Count(u64),
}

/// A message, its body perhaps cut.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Where it was published.
    pub exchange: Vec<u8>,
    /// All of its routing keys.
    pub routing_keys: Vec<Vec<u8>>,
    /// Its properties and headers.
    pub header: HeaderBuf,
    /// As much of its body as is wanted.
    pub body: Vec<u8>,
    /// How long its body is.
    pub body_len: u64,
}

impl Record {
    /// Of something that happened, with so many bytes of the body.
    #[must_use]
    pub fn of(event: &Event<'_>, body_len_max: u64) -> Self {
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let message = event.message.as_ref().map(|message| {
            let view = message.header.view();
            let keys = routing_keys(message, view.as_ref().and_then(|view| view.headers()));
            let kept_len = usize::try_from(body_len_max).unwrap_or(usize::MAX).min(message.body.len());
            Message {
                exchange: message.exchange.to_vec(),
                routing_keys: keys.iter().map(|key| key.to_vec()).collect(),
                header: message.header.to_owned(),
                body: message.body[..kept_len].to_vec(),
                body_len: message.body.len() as u64,
            }
        });
        let routed_queues = event.targets().map(|targets| match &message {
            // In no queue: the address of its requester stands for one.
            Some(message) if targets.is_empty() && message.is_direct_reply() => message.routing_keys.clone(),
            _ => targets.queues.iter().map(|queue| queue.name().as_bytes().to_vec()).collect(),
        });
        let mut is_redelivered = None;
        let more = match event.what {
            What::Delivered { is_redelivered: is, consumer_tag, .. } => {
                is_redelivered = Some(is);
                More::Consumer(consumer_tag.to_vec())
            }
            What::Got { is_redelivered: is, .. } => {
                is_redelivered = Some(is);
                More::Nothing
            }
            What::Stored { is_refused } => More::IsRefused(is_refused),
            What::Dropped(_) | What::DeadLettered { .. } => event.reason().map_or(More::Nothing, More::Reason),
            What::SetAside { exchange, due_ms } => More::Delay(exchange.to_vec(), Some(due_ms)),
            What::Released { exchange, .. } => More::Delay(exchange.to_vec(), None),
            What::Purged(count) => More::Count(count),
            _ => More::Nothing,
        };
        Record {
            at_ns: u64::try_from(since_1970.as_nanos()).unwrap_or(u64::MAX),
            kind: event.kind(),
            vhost: event.vhost.to_owned(),
            client: event.client.map(|client| (client.connection.to_string(), client.user.to_string())),
            on_behalf_of: event.client.and_then(|client| client.on_behalf_of.as_deref().map(str::to_owned)),
            channel: event.lane.0,
            queue: event.queue.map(|queue| queue.name().to_owned()),
            seq: event.seq.map(|seq| seq.0),
            routed_queues,
            is_redelivered,
            more,
            message,
            publish: event.publish,
            entered_at_ms: event.message.as_ref().map_or(0, |message| message.published_at_ms),
        }
    }

    /// The queues that RabbitMQ's traces name: at the default exchange those of its keys, whether they are there or not.
    #[must_use]
    pub fn routed_queues_as_rabbitmq(&self) -> Option<Cow<'_, [Vec<u8>]>> {
        let routed = self.routed_queues.as_deref()?;
        match &self.message {
            Some(message) if message.exchange.is_empty() && self.kind == Kind::Published => {
                let mut names = message.routing_keys.clone();
                names.sort_unstable();
                names.dedup();
                Some(Cow::Owned(names))
            }
            _ => Some(Cow::Borrowed(routed)),
        }
    }

    /// How many bytes it takes, more or less.
    #[must_use]
    pub fn len(&self) -> usize {
        let message = self.message.as_ref().map_or(0, |message| {
            let keys: usize = message.routing_keys.iter().map(Vec::len).sum();
            message.exchange.len() + keys + message.header.as_header().bytes().len() + message.body.len()
        });
        size_of::<Self>() + self.vhost.len() + message
    }

    /// Never.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        false
    }
}

impl Message {
    /// Whether it answers a requester by its address (`amq.rabbitmq.reply-to.…`).
    fn is_direct_reply(&self) -> bool {
        let is_address = |key: &Vec<u8>| key.starts_with(DIRECT_REPLY.as_bytes());
        self.exchange.is_empty() && self.routing_keys.first().is_some_and(is_address)
    }

    /// Its properties, as an AMQP 0-9-1 client sees them.
    #[must_use]
    pub fn properties(&self) -> Properties<'_> {
        self.header.as_header().view().map(|view| *view.properties()).unwrap_or_default()
    }
}
