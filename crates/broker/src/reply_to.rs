//! Direct reply-to: consumers of `amq.rabbitmq.reply-to`, which have an address and no queue.
//!
//! A requester consumes from the pseudo-queue and publishes with `reply-to: amq.rabbitmq.reply-to`; the broker replaces
//! that by the consumer's address. A publish to the address through the default exchange reaches the
//! requester's channel. Replies are never stored: they are lost when the requester disconnects (RabbitMQ's direct reply-to).

use std::collections::HashMap;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use model::name::VhostName;
use parking_lot::Mutex;
use store::Content;

use engine::gate::window_cost;
use engine::lane::LaneNumber;
use engine::outbox::{ConnectionEvent, Outbox};

/// The pseudo-queue's name.
pub(crate) const QUEUE: &str = "amq.rabbitmq.reply-to";
const ADDRESS_PREFIX: &str = "amq.rabbitmq.reply-to.";

/// Whether a routing key is the address of a reply consumer.
#[inline]
pub(crate) fn is_address(routing_key: &[u8]) -> bool {
    routing_key.starts_with(ADDRESS_PREFIX.as_bytes())
}

/// A consumer of `amq.rabbitmq.reply-to`.
#[derive(Debug)]
pub(crate) struct ReplyConsumer {
    pub(crate) tag: Box<[u8]>,
    /// What replaces `reply-to` in requests that its lane publishes.
    pub(crate) address: Arc<str>,
}

#[derive(Debug)]
struct Place {
    vhost: VhostName,
    outbox: Arc<Outbox>,
    lane: LaneNumber,
    address: Arc<str>,
}

/// All reply consumers of the broker, by address.
#[derive(Debug, Default)]
pub(crate) struct Replies {
    places: Mutex<HashMap<Arc<str>, Place>>,
}

impl Replies {
    /// A consumer with a new address made of `token`, which cannot be guessed. It has two parts, as RabbitMQ's: clients take them apart.
    pub(crate) fn register(
        &self,
        token: [u8; 16],
        vhost: VhostName,
        outbox: Arc<Outbox>,
        lane: LaneNumber,
        tag: Box<[u8]>,
    ) -> ReplyConsumer {
        let [first, second] = [&token[..8], &token[8..]].map(|part| URL_SAFE_NO_PAD.encode(part));
        let address: Arc<str> = format!("{ADDRESS_PREFIX}{first}.{second}").into();
        self.places.lock().insert(address.clone(), Place { vhost, outbox, lane, address: address.clone() });
        ReplyConsumer { tag, address }
    }

    pub(crate) fn forget(&self, consumer: &ReplyConsumer) {
        self.places.lock().remove(&consumer.address);
    }

    /// Whether a requester still has this address.
    pub(crate) fn is_there(&self, vhost: &str, address: &[u8]) -> bool {
        let Ok(address) = std::str::from_utf8(address) else { return false };
        self.places.lock().get(address).is_some_and(|place| place.vhost.as_str() == vhost)
    }

    /// Sends a reply. False when no consumer has the address.
    pub(crate) fn send(&self, vhost: &str, address: &[u8], content: Content) -> bool {
        let Ok(address) = std::str::from_utf8(address) else { return false };
        let places = self.places.lock();
        let Some(place) = places.get(address).filter(|place| place.vhost.as_str() == vhost) else { return false };
        let (outbox, lane, address) = (place.outbox.clone(), place.lane, place.address.clone());
        drop(places);
        // A requester that does not read loses replies rather than making the broker keep them.
        if outbox.try_acquire_overdrawn(window_cost(content.len())) {
            outbox.notify(ConnectionEvent::Reply { lane, address, content });
        }
        true
    }
}
