//! All that is ready is removed: at once, or where it is very much, in pieces.

use model::ids::QueueSeq;

use crate::consumers::Gate;
use crate::message::Message;
use crate::purged_messages::PurgedMessages;
use crate::queue::Queue;

impl<M: Message, G: Gate> Queue<M, G> {
    /// Removes ready messages that are in memory, so many at most, appends them to `purged`, and returns how many they were: a purge of
    /// very many is done in pieces before it ends with [`Queue::purge`]. Not where messages are in groups.
    pub fn purge_some(&mut self, count_max: usize, purged: &mut Vec<(QueueSeq, M)>) -> u64 {
        if self.ready.groups.is_some() {
            return 0;
        }
        let start = purged.len();
        for lane in self.ready.lanes_mut() {
            lane.purge_some(start + count_max, purged);
        }
        for (seq, message) in &purged[start..] {
            self.counts.forget(*seq);
            self.ready.bytes -= u64::from(message.len());
        }
        let count = (purged.len() - start) as u64;
        self.ready.count -= count;
        count
    }

    /// Removes all ready messages, appends them to `purged`, and says how many they were.
    pub fn purge(&mut self, purged: &mut PurgedMessages<M>) -> u64 {
        for lane in self.ready.lanes_mut() {
            lane.purge_into(purged);
        }
        if let Some(groups) = &mut self.ready.groups {
            groups.purge();
        }
        // Of other lanes something unacked may lie inside a range.
        purged.kept.extend(self.unacked.iter().map(|(seq, ..)| seq));
        purged.kept.sort_unstable();
        self.counts.retain(|seq| purged.kept.binary_search(&seq).is_ok());
        self.ready.bytes = 0;
        std::mem::take(&mut self.ready.count)
    }
}
