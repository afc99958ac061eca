//! Shovels: what is moved from where to where, and how. Parsed from the value of a parameter of the component `shovel`, whose keys and
//! refusals are RabbitMQ's (`rabbit_shovel_parameters`).
//!
//! Beyond RabbitMQ: a destination may be a web server (`dest-protocol` `http`), and a source may end after a time
//! (`src-delete-after-duration`).

mod keys;

use std::time::Duration;

use amqp::{TableBuf, Uri};

/// The component of parameters that say which shovels wait. It is hidden: definitions stay ones that RabbitMQ can read.
pub const PAUSE_COMPONENT: &str = "warren.shovel-pause";

/// What a shovel is.
#[derive(Debug, Clone, PartialEq)]
pub struct Shovel {
    /// Where messages come from.
    pub source: Source,
    /// Their destination.
    pub destination: Destination,
    /// When the source is acknowledged.
    pub ack_mode: AckMode,
    /// How long to wait after a failure; `None`: for an operator.
    pub reconnect_delay: Option<Duration>,
}

/// When a message is acknowledged at the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AckMode {
    /// When the destination has confirmed it: none is lost.
    #[default]
    OnConfirm,
    /// When it has been published.
    OnPublish,
    /// When it is given out.
    NoAck,
}

impl AckMode {
    /// RabbitMQ's word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            AckMode::OnConfirm => "on-confirm",
            AckMode::OnPublish => "on-publish",
            AckMode::NoAck => "no-ack",
        }
    }
}

/// How an end is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// AMQP 0-9-1, over the network or, where the URI has no host, within the broker.
    Amqp091,
    /// Within the broker, whatever host the URI has.
    Local,
    /// HTTP: each message is posted to a web server.
    Http,
}

impl Protocol {
    /// RabbitMQ's word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Protocol::Amqp091 => "amqp091",
            Protocol::Local => "local",
            Protocol::Http => "http",
        }
    }
}

/// Where messages come from.
#[derive(Debug, Clone, PartialEq)]
pub struct Source {
    /// How it is spoken to: AMQP or within the broker.
    pub protocol: Protocol,
    /// One of these is connected to.
    pub uris: Vec<Uri>,
    /// What is consumed.
    pub from: SourceQueue,
    /// Arguments of the consumer.
    pub consumer_arguments: TableBuf,
    /// Messages that are on their way at most; 0: without a bound.
    pub prefetch: u16,
    /// When the shovel is done, and deletes itself.
    pub delete_after: DeleteAfter,
    /// So long after its start it is done.
    pub delete_after_duration: Option<Duration>,
    /// What is consumed must be there already.
    pub is_predeclared: bool,
}

/// What is consumed.
#[derive(Debug, Clone, PartialEq)]
pub enum SourceQueue {
    /// A queue, declared with these arguments where it is not there.
    Queue {
        /// Its name.
        name: Box<str>,
        /// Its arguments.
        arguments: TableBuf,
    },
    /// A queue of the shovel's own, bound to an exchange.
    Exchange {
        /// The exchange.
        name: Box<str>,
        /// The binding's key.
        key: Box<str>,
    },
}

/// When a shovel is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DeleteAfter {
    /// Never.
    #[default]
    Never,
    /// When it has moved as many messages as the queue had when it started.
    QueueLength,
    /// When it has moved so many messages.
    Count(u64),
}

/// The destination of messages.
#[derive(Debug, Clone, PartialEq)]
pub enum Destination {
    /// To a broker.
    Broker(Box<BrokerDestination>),
    /// To a web server.
    Http(HttpDestination),
}

/// A broker as the destination.
#[derive(Debug, Clone, PartialEq)]
pub struct BrokerDestination {
    /// How it is spoken to: AMQP or within the broker.
    pub protocol: Protocol,
    /// One of these is connected to.
    pub uris: Vec<Uri>,
    /// What is published to.
    pub to: Target,
    /// Whether the destination must exist already.
    pub is_predeclared: bool,
    /// What is set in the properties of each message, if anything is.
    pub properties: Option<Box<PublishProperties>>,
    /// Whether to add a header that says which way a message came (`x-shovelled`).
    pub adds_forward_headers: bool,
    /// Whether to add a header that says when (`x-shovelled-timestamp`).
    pub adds_timestamp_header: bool,
}

/// What is published to.
#[derive(Debug, Clone, PartialEq)]
pub enum Target {
    /// A queue, declared with these arguments where it is not there.
    Queue {
        /// Its name.
        name: Box<str>,
        /// Its arguments.
        arguments: TableBuf,
    },
    /// An exchange, with a key; what is not given is as the message was first published.
    Exchange {
        /// The exchange.
        name: Option<Box<str>>,
        /// The routing key.
        key: Option<Box<str>>,
    },
}

/// A web server as the destination: each message is the body of a POST.
#[derive(Debug, Clone, PartialEq)]
pub struct HttpDestination {
    /// One of these is asked.
    pub urls: Vec<Box<str>>,
    /// How long an answer may take.
    pub timeout: Duration,
    /// Whether what the server refuses for good (400 to 499) is dead-lettered instead of being tried again.
    pub dead_letters_refused: bool,
}

/// What is set in the properties of each message, whatever it has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PublishProperties {
    /// `content_type`.
    pub content_type: Option<Box<str>>,
    /// `content_encoding`.
    pub content_encoding: Option<Box<str>>,
    /// `delivery_mode`.
    pub delivery_mode: Option<u8>,
    /// `priority`.
    pub priority: Option<u8>,
    /// `correlation_id`.
    pub correlation_id: Option<Box<str>>,
    /// `reply_to`.
    pub reply_to: Option<Box<str>>,
    /// `expiration`.
    pub expiration: Option<Box<str>>,
    /// `message_id`.
    pub message_id: Option<Box<str>>,
    /// `timestamp`.
    pub timestamp: Option<u64>,
    /// `type`.
    pub kind: Option<Box<str>>,
    /// `user_id`.
    pub user_id: Option<Box<str>>,
    /// `app_id`.
    pub app_id: Option<Box<str>>,
    /// `cluster_id`.
    pub cluster_id: Option<Box<str>>,
}

impl Shovel {
    /// The vhosts of this broker that it connects to by URIs without a host: its author has to have access to them.
    pub fn vhosts_here(&self) -> impl Iterator<Item = &str> {
        let destinations = match &self.destination {
            Destination::Broker(broker) => Some((broker.protocol, &broker.uris)),
            Destination::Http(_) => None,
        };
        let ends = [Some((self.source.protocol, &self.source.uris)), destinations];
        let is_here = |protocol: Protocol, uri: &Uri| protocol == Protocol::Local || uri.is_hostless;
        ends.into_iter()
            .flatten()
            .flat_map(move |(protocol, uris)| uris.iter().filter(move |uri| is_here(protocol, uri)))
            .map(|uri| uri.vhost.as_str())
    }
}

#[cfg(test)]
mod tests;
