//! What the test did, by journal position, and hence what must be there at any position.

use std::collections::BTreeMap;

use model::ids::{JournalPosition, QueueId, QueueSeq};

use crate::Returns;

/// The number of a message: determines its content.
pub type MessageNumber = u64;

/// A record that was appended.
#[derive(Debug, Clone)]
pub(crate) enum Event {
    Publish { queue: QueueId, seq: QueueSeq, message: MessageNumber },
    Settle { queue: QueueId, seq: QueueSeq },
    Watermark { queue: QueueId, seq: Option<QueueSeq> },
    Returned { queue: QueueId, seq: QueueSeq, returns: Returns },
    Drop { queue: QueueId },
    Put { key: Vec<u8>, value: Vec<u8> },
    Delete { key: Vec<u8> },
}

/// What lasts of a queue.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DurableQueue {
    /// Its messages.
    pub messages: BTreeMap<QueueSeq, MessageNumber>,
    /// No message above has been delivered.
    pub watermark: Option<QueueSeq>,
    /// How often messages have come back.
    pub returned: BTreeMap<QueueSeq, Returns>,
    /// The highest seq that any record names.
    pub named: u64,
}

/// What lasts of everything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DurableState {
    /// The definitions, by key.
    pub definitions: BTreeMap<Vec<u8>, Vec<u8>>,
    /// The queues of which there is a record.
    pub queues: BTreeMap<QueueId, DurableQueue>,
}

impl DurableState {
    fn apply(&mut self, event: &Event) {
        match event {
            Event::Publish { queue, seq, message } => {
                self.queue(*queue, *seq).messages.insert(*seq, *message);
            }
            Event::Settle { queue, seq } => {
                let queue = self.queue(*queue, *seq);
                queue.messages.remove(seq);
                queue.returned.remove(seq);
            }
            Event::Watermark { queue, seq } => {
                self.queue(*queue, seq.unwrap_or(QueueSeq(0))).watermark = *seq;
            }
            Event::Returned { queue, seq, returns } => {
                self.queue(*queue, *seq).returned.insert(*seq, *returns);
            }
            Event::Drop { queue } => {
                self.queues.remove(queue);
            }
            Event::Put { key, value } => {
                self.definitions.insert(key.clone(), value.clone());
            }
            Event::Delete { key } => {
                self.definitions.remove(key);
            }
        }
    }

    fn queue(&mut self, queue: QueueId, named: QueueSeq) -> &mut DurableQueue {
        let queue = self.queues.entry(queue).or_default();
        queue.named = queue.named.max(named.0);
        queue
    }
}

/// All events since a state that is known to be durable.
#[derive(Debug, Clone, Default)]
pub struct History {
    base: DurableState,
    events: Vec<(JournalPosition, Event)>,
    /// All that ever was.
    published: BTreeMap<(QueueId, QueueSeq), MessageNumber>,
}

impl History {
    pub(crate) fn append(&mut self, position: JournalPosition, events: impl IntoIterator<Item = Event>) {
        for event in events {
            if let Event::Publish { queue, seq, message } = event {
                self.published.insert((queue, seq), message);
            }
            self.events.push((position, event));
        }
    }

    /// Which message has ever been at this place.
    #[must_use]
    pub fn published(&self, queue: QueueId, seq: QueueSeq) -> Option<MessageNumber> {
        self.published.get(&(queue, seq)).copied()
    }

    /// Ends that batches have had.
    #[must_use]
    pub fn positions(&self) -> Vec<JournalPosition> {
        let mut positions: Vec<_> = self.events.iter().map(|(position, _)| *position).collect();
        positions.dedup();
        positions
    }

    /// What was appended up to `end`, as another history continues from there.
    #[must_use]
    pub fn branch_at(&self, end: JournalPosition) -> History {
        let mut branch = self.clone();
        branch.events.retain(|(position, _)| *position <= end);
        branch
    }

    /// What is there at `end`.
    #[must_use]
    pub fn state_at(&self, end: JournalPosition) -> DurableState {
        self.clone().cut_at(end).clone()
    }

    /// What is there when the journal ends at `end`. What came later has never been.
    pub fn cut_at(&mut self, end: JournalPosition) -> &DurableState {
        for (position, event) in std::mem::take(&mut self.events) {
            if position <= end {
                self.base.apply(&event);
            }
        }
        &self.base
    }
}
