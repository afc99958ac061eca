//! A lane: what the broker keeps for it between two requests, whatever the protocol. No rules here; they are in the files named after
//! what a client asks for ([`super::publish`], [`super::consume`], [`super::settle`], …).

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use engine::gate::ChannelLimit;
use engine::lane::LaneNumber;
use engine::targets::Targets;

use super::confirms::Confirms;
use super::last_route::LastRoute;
use super::transaction::Transaction;
use super::unacked::{Unacked, UnackedDelivery};
use crate::connections::ChannelHandle;
use crate::reply_to::ReplyConsumer;
use crate::statistics::{ChannelCounts, Observable as _};
use crate::usage::Permit;

/// An order of publishes and deliveries in a connection. `S` is what its protocol keeps of it besides.
#[derive(Debug)]
pub(crate) struct Lane<S> {
    pub(super) number: LaneNumber,
    pub(super) last_route: Option<Box<LastRoute>>,
    pub(super) confirms: Option<Confirms>,
    pub(super) tx: Option<Box<Transaction>>,
    pub(super) next_delivery_tag: u64,
    pub(super) unacked: Unacked,
    /// How many deliveries each consumer that comes from now on may have unacked; 0 is no limit.
    pub(super) prefetch: u16,
    pub(super) limit: Arc<ChannelLimit>,
    /// The connection's number of each consumer, by tag.
    pub(super) consumers: HashMap<Box<[u8]>, u32>,
    pub(super) reply_consumer: Option<ReplyConsumer>,
    /// The client that a proxy uses it for.
    pub(super) on_behalf_of: Option<Arc<str>>,
    /// Its place among its user's channels, while it is open.
    pub(super) permit: Option<Permit>,
    /// What it has done.
    pub(super) counts: ChannelCounts,
    /// What listings know of it.
    pub(super) handle: Arc<ChannelHandle>,
    /// Whether that has to be written down again.
    pub(super) is_changed: bool,
    /// What the protocol keeps.
    pub(crate) state: S,
}

impl<S> Lane<S> {
    /// A lane that listings do not know yet, with what its protocol keeps of it.
    pub(crate) fn new(number: LaneNumber, state: S) -> Self {
        Self {
            number,
            last_route: None,
            confirms: None,
            tx: None,
            next_delivery_tag: 1,
            unacked: Unacked::default(),
            prefetch: 0,
            limit: Arc::default(),
            consumers: HashMap::new(),
            reply_consumer: None,
            on_behalf_of: None,
            permit: None,
            counts: ChannelCounts::default(),
            handle: ChannelHandle::new(number.0),
            is_changed: false,
            state,
        }
    }
}

impl<S> Lane<S> {
    /// Its number.
    #[inline]
    pub(crate) fn number(&self) -> LaneNumber {
        self.number
    }

    /// How many deliveries each consumer that comes from now on may have unacked; 0 is no limit.
    pub(crate) fn prefetch(&self) -> u16 {
        self.prefetch
    }

    /// What happens on it is another client's doing from now on, as the proxy says that uses it.
    pub(crate) fn act_on_behalf_of(&mut self, client: Arc<str>) {
        self.on_behalf_of = Some(client);
    }

    /// The number of the last publish that is confirmed; 0: there was none.
    pub(crate) fn last_confirm_seq(&self) -> u64 {
        self.confirms.as_ref().map_or(0, Confirms::last_seq)
    }

    /// Its consumers get nothing more that they have to acknowledge: it ends.
    pub(crate) fn stop_serving(&self) {
        self.limit.close();
    }

    /// What replaces `reply-to` in its requests.
    #[cfg(test)]
    pub(crate) fn reply_consumer_address(&self) -> Option<Arc<str>> {
        Some(self.reply_consumer.as_ref()?.address.clone())
    }

    /// Writes down how things stand, for listings.
    pub(super) fn report(&mut self) {
        self.is_changed = false;
        let handle = &self.handle;
        let set = |gauge: &telemetry::Gauge, count: usize| gauge.set(count as i64);
        set(&handle.unacked_count, self.unacked.len());
        set(&handle.unconfirmed_count, self.confirms.as_ref().map_or(0, Confirms::unconfirmed_count));
        let (publishes, acks) = self.tx.as_ref().map_or((0, 0), |tx| tx.counts());
        set(&handle.uncommitted_count, publishes);
        set(&handle.uncommitted_ack_count, acks);
        set(&handle.consumer_count, self.consumers.len() + usize::from(self.reply_consumer.is_some()));
        set(&handle.prefetch_count, usize::from(self.prefetch));
        set(&handle.global_prefetch_count, self.limit.limit() as usize);
        handle.counters.report(&self.counts);
        handle.is_confirming.store(self.confirms.is_some(), Ordering::Relaxed);
        handle.is_transactional.store(self.tx.is_some(), Ordering::Relaxed);
    }

    /// Notes where it has published.
    pub(super) fn note_places(&self, targets: &Targets, count: u32) {
        let exchange = targets.counted.as_ref().map(|counted| &counted.exchange);
        self.handle.counters.edges.lock().note(exchange, &targets.queues, count.into());
    }

    /// The tag of the next delivery.
    #[inline]
    pub(super) fn take_delivery_tag(&mut self) -> u64 {
        let tag = self.next_delivery_tag;
        self.next_delivery_tag += 1;
        tag
    }

    /// Bytes that it takes.
    pub(super) fn memory_len(&self) -> usize {
        let confirms = self.confirms.as_ref().map_or(0, Confirms::memory_len);
        let names = self.consumers.capacity() * size_of::<(Box<[u8]>, u32)>();
        size_of::<Self>()
            + size_of::<ChannelHandle>()
            + self.handle.observed().memory_len()
            + size_of::<ChannelLimit>()
            + self.unacked.capacity() * size_of::<UnackedDelivery>()
            + confirms
            + names
    }
}
