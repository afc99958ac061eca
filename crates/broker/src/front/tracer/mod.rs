//! What a connection has reported of its messages to sinks, and is to report later.

mod messages;
mod replies;

use std::collections::VecDeque;
use std::sync::Arc;

use engine::Positions;
use engine::lane::LaneNumber;
use engine::statistics::ExchangeCounters;
use engine::tap::{Client, Kind, Kinds};
use model::ids::QueueId;
use store::Content;

use crate::limits::CLIENT_NAME_LEN_MAX;

/// What becomes of the publishes and settlements of a batch.
pub(super) const OF_BATCHES: Kinds =
    Kinds::of(&[Kind::Published, Kind::Returned, Kind::Stored, Kind::Confirmed, Kind::Acked, Kind::SetAside]);
/// What is sent to consumers.
pub(super) const DELIVERED: Kinds = Kinds::of(&[Kind::Delivered]);
/// What is answered to `basic.get`.
pub(super) const GOT: Kinds = Kinds::of(&[Kind::Got]);
/// What comes back from consumers.
pub(super) const GIVEN_BACK: Kinds = Kinds::of(&[Kind::Rejected, Kind::Requeued]);

/// What a connection has reported to sinks.
#[derive(Debug)]
pub(super) struct Tracer {
    client: Arc<Client>,
    /// The client that a proxy did something for last, and the same as one that causes something.
    proxied: Option<(Arc<str>, Arc<Client>)>,
    /// The numbers of the publishes in the batch that have been reported; 0: no sink wanted it.
    published: Vec<u64>,
    /// Publishes that were reported, and are again when they are confirmed.
    unconfirmed: VecDeque<Unconfirmed>,
    /// The last exchange and the last queue of which no sink wants to hear anything.
    unwatched: Unwatched,
}

/// What no sink wanted to hear of, as long as neither sinks nor the topology change.
#[derive(Debug, Default)]
struct Unwatched {
    at: (u64, u64),
    exchange: Option<Arc<ExchangeCounters>>,
    queue: Option<QueueId>,
}

impl Unwatched {
    /// What is known for this state of sinks and topology.
    fn at(&mut self, at: (u64, u64)) -> &mut Self {
        if self.at != at {
            *self = Unwatched { at, ..Unwatched::default() };
        }
        self
    }
}

/// A publish that waits.
#[derive(Debug)]
struct Unconfirmed {
    publish: u64,
    lane: LaneNumber,
    client: Arc<Client>,
    content: Content,
    /// Where it is durable.
    position: Positions,
}

/// The client that a proxy names, cut to a bound: bytes that are not UTF-8 become longer as text, and a property is bounded by the frame
/// alone.
pub(crate) fn client_name(name: &[u8]) -> Arc<str> {
    let name = String::from_utf8_lossy(name);
    name[..name.floor_char_boundary(CLIENT_NAME_LEN_MAX)].into()
}

impl Tracer {
    /// Of a connection of this client, which has reported nothing.
    fn new(client: Client) -> Self {
        let (proxied, published, unconfirmed, unwatched) = Default::default();
        Tracer { client: Arc::new(client), proxied, published, unconfirmed, unwatched }
    }

    /// Whether there is nothing left to report of what it has reported.
    pub(super) fn is_done(&self) -> bool {
        self.unconfirmed.is_empty() && self.published.is_empty()
    }

    /// The client that causes what happens on a lane.
    fn client_for(&mut self, on_behalf_of: Option<&Arc<str>>) -> Arc<Client> {
        let Some(name) = on_behalf_of else { return self.client.clone() };
        if let Some((known, client)) = &self.proxied
            && Arc::ptr_eq(known, name)
        {
            return client.clone();
        }
        let client = Arc::new(Client { on_behalf_of: Some(name.clone()), ..Client::clone(&self.client) });
        self.proxied = Some((name.clone(), client.clone()));
        client
    }
}
