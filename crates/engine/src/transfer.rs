//! Moving messages from where they are to other queues: dead letters, delayed messages that are due, and what operators move.
//!
//! A message leaves its place and enters its queues under the locks of all of them, in one batch of the journal: it is never nowhere, nor
//! twice. In a cluster the queues hand it out when a majority of the nodes knows of the move. What differs is where it leaves from and
//! under which conditions, which the caller says.

use std::sync::Arc;

use queue::Counts;

use crate::delayed::DelaySet;
use crate::engine::Engine;
use crate::outbox::HANDED_OUT_AT_ONCE;
use crate::publish::Publish;
use crate::section::{Committed, Section};
use crate::targets::Targets;
use crate::work::Work;
use message::Parts;

/// A message as it arrives, and where.
#[derive(Debug)]
pub struct Arrival {
    /// The message.
    pub publish: Publish,
    /// Its queues, and where it waits.
    pub targets: Arc<Targets>,
}

/// A message that is to be moved.
#[derive(Debug)]
pub struct Transfer<S> {
    /// Where it is.
    pub source: S,
    /// What it becomes; `None`: it arrives nowhere.
    pub arrival: Option<Arrival>,
}

/// How messages leave their places: what differs between their movers. All of it happens under the locks of these places and of all queues
/// that messages move to.
pub trait Leave<S> {
    /// Before the first one.
    fn begin(&mut self, _section: &mut Section<'_, '_>) {}

    /// Takes a message from its place. Says whether it did: what stays does not arrive either.
    fn leave(&mut self, section: &mut Section<'_, '_>, transfer: &mut Transfer<S>) -> bool;

    /// After the last one, when queues have been dispatched. `consumers_lag`: whether consumers of one of them fall behind.
    fn end(&mut self, _section: &mut Section<'_, '_>, _consumers_lag: bool) {}
}

impl Work<'_> {
    /// Moves messages whose places are in these shards and sets.
    pub(crate) fn transfer<S>(
        &mut self,
        transfers: &mut [Transfer<S>],
        shards: u64,
        mut sets: Vec<Arc<DelaySet>>,
        mover: &mut impl Leave<S>,
    ) -> Committed {
        let arrivals = || transfers.iter().filter_map(|transfer| transfer.arrival.as_ref());
        let shards = arrivals().fold(shards, |shards, arrival| shards | arrival.targets.shards);
        let delays = arrivals().filter_map(|arrival| arrival.targets.delay.as_ref());
        sets.extend(delays.flat_map(|delay| delay.sets.iter().cloned()));
        let ((), committed) = self.section(shards, sets, |section| {
            mover.begin(section);
            section.begin_whole();
            for transfer in transfers.iter_mut() {
                if !mover.leave(section, transfer) {
                    continue;
                }
                if let Some(Arrival { publish, targets }) = &mut transfer.arrival {
                    section.put(publish, targets);
                }
            }
            let arrived = transfers.iter().filter_map(|transfer| transfer.arrival.as_ref());
            section.end_whole(arrived.map(|arrival| &*arrival.targets));
            let consumers_lag = section.dispatch_touched();
            section.work.note_handed_out_at_once();
            mover.end(section, consumers_lag);
        });
        committed
    }
}

impl Work<'_> {
    /// What had failed elsewhere has come, and is delivered to consumers that were waiting for it.
    fn note_handed_out_at_once(&mut self) {
        for delivery in &mut self.section_effects.queue_effects.deliveries {
            let is_new = !delivery.redelivered && delivery.counts == Counts::default();
            let content = delivery.message.known_content().filter(|_| is_new);
            let parts = content.and_then(|content| Parts::read(content.bytes()));
            if parts.is_some_and(|parts| parts.history.counts.delivery_count > 0) {
                delivery.counts.acquired_count = HANDED_OUT_AT_ONCE;
            }
        }
    }
}

impl Engine {
    /// Moves messages out of queues whose shards are named.
    pub fn transfer<S>(&self, transfers: &mut [Transfer<S>], shards: u64, mover: &mut impl Leave<S>) -> Committed {
        self.with_work(|work| work.transfer(transfers, shards, Vec::new(), mover))
    }
}
