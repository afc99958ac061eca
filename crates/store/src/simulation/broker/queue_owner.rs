//! What the store asks of the broker in the middle of its work; other threads do something meanwhile.

use model::ids::{QueueId, SegmentId};
use queue::{Effects, MovedMessage, PlacedMessage};

use super::super::held::Held;
use super::{Broker, State};
use crate::queue_owner::{CollectedResidents, LaneResidents, LoadAnswer, QueueState, Resident};
use crate::{Content, QueueOwner, ReadError};

impl QueueOwner for Broker {
    fn collect(&self, is_old: &dyn Fn(&Content) -> bool, out: &mut CollectedResidents) {
        self.interfere_deeply();
        let ids: Vec<_> = self.state.lock().queues.keys().copied().collect();
        for id in ids {
            self.state.lock().collect(id, is_old, out);
            self.interfere_deeply();
        }
    }

    fn relocate(&self, queue: QueueId, lane: u8, placed: &[PlacedMessage]) {
        self.interfere_deeply();
        {
            let mut state = self.state.lock();
            let mut dead = Vec::new();
            match state.queues.get_mut(&queue) {
                Some(cell) => cell.queue.relocate(lane, placed, &mut dead),
                None => dead.extend(placed.iter().map(|placed| placed.place)),
            }
            self.store.settle_slots(&dead);
        }
        self.interfere_deeply();
    }

    fn loaded(&self, queue: QueueId, loaded: LoadAnswer) {
        let mut state = self.state.lock();
        state.seen.loaded += loaded.entries.len() as u64;
        let Some(cell) = state.queues.get_mut(&queue) else { return };
        let is_journaled = !loaded.load.segment.is_transient();
        let held = |content, place| Held::new(queue, content, is_journaled, Some(place));
        let entries: Vec<_> =
            loaded.entries.into_iter().map(|entry| (entry.seq, held(entry.content, entry.place))).collect();
        if let Some(error) = &loaded.error {
            assert!(matches!(error, ReadError::Io { .. }), "{error}");
        }
        if !loaded.lost.is_empty() {
            // The power is cut: a queue that asks often enough gets the error that nothing can be read, and hears no more before the next
            // start.
            assert!(loaded.error.is_some(), "messages of queue {queue} are lost, and nothing failed");
            return;
        }
        let lost = cell.queue.loaded(&loaded.load, entries, loaded.next_slot, &mut Effects::default());
        assert_eq!(lost, 0, "messages of queue {queue} are not where they should be");
    }

    fn moved(&self, queue: QueueId, from: &[SegmentId], moved: &[MovedMessage]) {
        self.interfere_with_loads();
        {
            let mut state = self.state.lock();
            let mut dead = Vec::new();
            match state.queues.get_mut(&queue) {
                Some(cell) => {
                    let lost = cell.queue.move_ranges(from, moved, &mut dead);
                    assert_eq!(lost, 0, "messages of queue {queue} were not copied");
                }
                None => dead.extend(moved.iter().map(|moved| moved.to)),
            }
            self.store.settle_slots(&dead);
        }
        self.interfere_with_loads();
    }
}

impl State {
    fn collect(&mut self, id: QueueId, is_old: &dyn Fn(&Content) -> bool, out: &mut CollectedResidents) {
        let Some(cell) = self.queues.get_mut(&id) else { return };
        if cell.is_durable {
            out.queues.push(QueueState {
                queue: id,
                next_seq: cell.queue.next_seq(),
                watermark: cell.watermark,
                may_expire: false,
            });
            out.returned.extend(cell.returned.iter().map(|(seq, returns)| (id, *seq, *returns)));
        }
        let mut found = Vec::new();
        cell.queue.in_memory(&mut |message| message.content.as_ref().is_some_and(is_old), &mut found);
        for (lane, is_journaled) in (0..3).flat_map(|lane| [(lane, false), (lane, true)]) {
            let of_lane =
                found.iter().filter(|(_, message)| (message.priority, message.is_journaled) == (lane, is_journaled));
            let residents: Vec<_> = of_lane
                .map(|(seq, message)| Resident {
                    seq: *seq,
                    content: message.content.clone().expect("a message without a place has its body"),
                    body_len: message.body_len,
                })
                .collect();
            if !residents.is_empty() {
                out.lanes.push(LaneResidents { queue: id, lane, is_journaled, residents });
            }
        }
    }
}
