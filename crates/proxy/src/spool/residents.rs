//! The store's questions about queues: what still exists, where it was moved, what was read.

use std::sync::Weak;

use model::ids::{Place, QueueId, SegmentId};
use queue::{Effects, Message as _, MovedMessage, PlacedMessage};
use store::{CollectedResidents, Content, LaneResidents, LoadAnswer, QueueOwner, QueueState, Resident};

use super::spool_queue::SpoolQueue;
use super::stored_message::StoredMessage;
use super::{Spool, State};

/// Messages that get their new places under one lock.
const RELOCATED_COUNT: usize = 4096;

/// The spool, as its store knows it.
pub(super) struct SpoolResidents(pub(super) Weak<Spool>);

impl SpoolResidents {
    /// Acts on a queue. `None`: it does not exist; the places are those of which it was to be notified.
    fn with_spool_queue(
        &self,
        id: QueueId,
        places: impl Iterator<Item = Place>,
        act: impl FnOnce(&mut SpoolQueue, &mut Vec<Place>),
    ) {
        let Some(spool) = self.0.upgrade() else { return };
        let mut state = spool.state.lock();
        let mut dead = Vec::new();
        match state.spool_queues.get_mut(&id) {
            Some(spool_queue) => {
                let before = (spool_queue.count(), spool_queue.len());
                act(spool_queue, &mut dead);
                spool.recount(&mut state, id, before);
            }
            None => dead.extend(places),
        }
        spool.store.settle_slots(&dead);
    }
}

impl QueueOwner for SpoolResidents {
    fn collect(&self, is_old: &dyn Fn(&Content) -> bool, out: &mut CollectedResidents) {
        let Some(spool) = self.0.upgrade() else { return };
        let state: &State = &spool.state.lock();
        for (id, spool_queue) in &state.spool_queues {
            let (next_seq, watermark) = (spool_queue.queue.next_seq(), None);
            out.queues.push(QueueState { queue: *id, next_seq, watermark, may_expire: false });
            let mut found = Vec::new();
            spool_queue.queue.in_memory(&mut |kept: &StoredMessage| kept.content().is_some_and(is_old), &mut found);
            let resident = |(seq, kept): (_, StoredMessage)| {
                Some(Resident { seq, content: kept.content()?.clone(), body_len: kept.len() })
            };
            let residents: Vec<Resident> = found.into_iter().filter_map(resident).collect();
            if !residents.is_empty() {
                out.lanes.push(LaneResidents { queue: *id, lane: 0, is_journaled: true, residents });
            }
        }
    }

    fn relocate(&self, queue: QueueId, lane: u8, placed: &[PlacedMessage]) {
        // In parts, so that others get at the queues in between.
        for placed in placed.chunks(RELOCATED_COUNT) {
            let places = placed.iter().map(|placed| placed.place);
            self.with_spool_queue(queue, places, |spool_queue, dead| spool_queue.queue.relocate(lane, placed, dead));
        }
    }

    fn loaded(&self, queue: QueueId, loaded: LoadAnswer) {
        if let Some(error) = &loaded.error {
            tracing::error!(%error, "reading stored messages failed");
        }
        let kept = |content, place| StoredMessage::new(content, Some(place));
        let entries = loaded.entries.into_iter().map(|entry| (entry.seq, kept(entry.content, entry.place))).collect();
        self.with_spool_queue(queue, std::iter::empty(), |spool_queue, _| {
            let lost_count = spool_queue.queue.lose(&loaded.load, &loaded.lost);
            let answered = spool_queue.queue.loaded(&loaded.load, entries, loaded.next_slot, &mut Effects::default());
            warn_lost(lost_count + answered);
        });
        if let Some(spool) = self.0.upgrade() {
            spool.tell();
        }
    }

    fn unload(&self) {
        let Some(spool) = self.0.upgrade() else { return };
        for spool_queue in spool.state.lock().spool_queues.values_mut() {
            if !spool_queue.queue.is_loading() {
                spool_queue.queue.unload();
            }
        }
    }

    fn moved(&self, queue: QueueId, from: &[SegmentId], moved: &[MovedMessage]) {
        let places = moved.iter().map(|moved| moved.to);
        self.with_spool_queue(queue, places, |spool_queue, dead| {
            warn_lost(spool_queue.queue.move_ranges(from, moved, dead))
        });
    }
}

fn warn_lost(count: u64) {
    if count > 0 {
        tracing::error!(count, "stored messages lost to a damaged file");
    }
}
