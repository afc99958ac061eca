//! A channel: what AMQP keeps for it between two methods. No rules here; they are in the files named after what a client
//! asks for ([`crate::session::publish`], [`crate::session::consume`], [`crate::session::settle`], …).

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::connections::ChannelHandle;
use crate::reply_to::ReplyConsumer;
use crate::session::assembly::Assembly;
use crate::session::confirms::Confirms;
use crate::session::last_route::LastRoute;
use crate::session::transaction::Transaction;
use crate::session::unacked::Unacked;
use crate::statistics::ChannelCounts;
use crate::usage::Seat;
use engine::gate::ChannelLimit;
use engine::targets::Targets;

/// An open channel, or one that was told to close and has not answered yet.
#[derive(Debug)]
pub(super) struct Channel {
    pub(super) number: u16,
    /// The server closed it: all but close and close-ok is ignored.
    pub(super) is_closing: bool,
    /// A publish whose content has not arrived in full.
    pub(super) assembly: Option<Box<Assembly>>,
    pub(super) last_route: Option<Box<LastRoute>>,
    pub(super) confirms: Option<Confirms>,
    pub(super) tx: Option<Box<Transaction>>,
    pub(super) next_delivery_tag: u64,
    pub(super) unacked: Unacked,
    /// `basic.qos` without `global`: for consumers that come after it. 0 is no limit.
    pub(super) prefetch: u16,
    pub(super) limit: Arc<ChannelLimit>,
    /// The session's number of each consumer, by tag.
    pub(super) consumers: HashMap<Box<[u8]>, u32>,
    /// The queue that an empty name means.
    pub(super) last_queue: Option<Arc<str>>,
    pub(super) reply_consumer: Option<ReplyConsumer>,
    /// Its place among its user's channels, while it is open.
    pub(super) seat: Option<Seat>,
    /// What it has done.
    pub(super) counts: ChannelCounts,
    /// What listings know of it.
    pub(super) handle: Arc<ChannelHandle>,
    /// Whether that has to be written down again.
    pub(super) is_changed: bool,
}

impl Channel {
    pub(super) fn new(number: u16) -> Self {
        Self {
            number,
            is_closing: false,
            assembly: None,
            last_route: None,
            confirms: None,
            tx: None,
            next_delivery_tag: 1,
            unacked: Unacked::default(),
            prefetch: 0,
            limit: Arc::default(),
            consumers: HashMap::new(),
            last_queue: None,
            reply_consumer: None,
            seat: None,
            counts: ChannelCounts::default(),
            handle: ChannelHandle::new(number),
            is_changed: false,
        }
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
}
