//! What a section notes of what happens under its locks: reported when they are released ([`crate::tap`]).

use std::sync::Arc;

use model::ids::QueueSeq;
use queue::DropReason;
use store::Content;

use crate::delayed::DelaySet;
use crate::queue_handle::QueueHandle;
use crate::queued_message::QueuedMessage;
use crate::shard::QueueEntry;
use crate::tap::{Client, Kind, Note, NoteOf, Place, Scope};
use crate::targets::Targets;
use crate::work::Work;

/// Things that one section notes; what is more is counted as missed.
const NOTE_COUNT_MAX: usize = 16_384;

impl Work<'_> {
    /// Notes something that happens to a message of a queue, if anyone wants to hear of it.
    #[cold]
    pub fn note(&mut self, queue: &Arc<QueueHandle>, seq: Option<QueueSeq>, content: Option<&Content>, what: NoteOf) {
        self.note_at(Place::Queue(queue.clone(), seq), content.cloned(), what);
    }

    /// The same of a message that waits at an exchange, or did.
    #[cold]
    pub(crate) fn note_delayed(&mut self, set: &Arc<DelaySet>, content: Option<&Content>, what: NoteOf) {
        self.note_at(Place::Exchange(set.clone()), content.cloned(), what);
    }

    fn note_at(&mut self, place: Place, content: Option<Content>, what: NoteOf) {
        if self.section_effects.notes.len() >= NOTE_COUNT_MAX {
            self.engine.taps.missed.add(1);
            return;
        }
        let client = self.section_effects.client.clone();
        self.section_effects.notes.push(Note { place, what, content, client });
    }

    /// Whether anyone wants to hear of what happens in a queue.
    #[cold]
    pub(crate) fn is_watched(&self, queue: &QueueHandle, kind: Kind) -> bool {
        let (vhost, client) = (queue.definition.vhost.as_str(), self.section_effects.client.as_deref());
        self.engine.taps.has_listeners(&Scope { kind, vhost, exchange: None, queue: Some(queue), client })
    }

    /// Notes messages that were acknowledged.
    #[cold]
    pub(crate) fn note_acked(&mut self, entry: &QueueEntry, from: usize) {
        if !self.is_watched(&entry.handle, Kind::Acked) {
            return;
        }
        let settled = std::mem::take(&mut self.section_effects.settled);
        for (seq, held) in &settled[from..] {
            self.note(&entry.handle, Some(*seq), held.known_content(), NoteOf::Acked);
        }
        self.section_effects.settled = settled;
    }

    /// Notes messages that a consumer gives back or does not want.
    #[cold]
    pub fn note_given_back(&mut self, entry: &QueueEntry, seqs: &[QueueSeq], is_rejected: bool) {
        let kind = if is_rejected { Kind::Rejected } else { Kind::Requeued };
        if !self.is_watched(&entry.handle, kind) {
            return;
        }
        for &seq in seqs {
            let what = if is_rejected { NoteOf::Rejected } else { NoteOf::Requeued };
            let content = entry.queue.unacked_message(seq).and_then(QueuedMessage::known_content).cloned();
            self.note_at(Place::Queue(entry.handle.clone(), Some(seq)), content, what);
        }
    }

    /// Notes messages that the queue has just given up. Those that a consumer does not want have been noted as that.
    #[cold]
    pub(crate) fn note_given_up(&mut self, entry: &QueueEntry) {
        let dropped = std::mem::take(&mut self.section_effects.queue_effects.dropped);
        for dropped in &dropped {
            if dropped.reason != DropReason::Rejected {
                let content = dropped.message.known_content();
                self.note(&entry.handle, Some(dropped.seq), content, NoteOf::GivenUp(dropped.reason));
            }
        }
        self.section_effects.queue_effects.dropped = dropped;
    }

    /// Notes a message that an operator moves or deletes, if anyone wants to hear of it.
    pub fn note_by_operator(
        &mut self,
        queue: &Arc<QueueHandle>,
        seq: QueueSeq,
        held: &QueuedMessage,
        targets: Option<&Arc<Targets>>,
    ) {
        let kind = if targets.is_some() { Kind::Moved } else { Kind::Deleted };
        if self.wanted.has(kind) {
            let what = targets.map_or(NoteOf::Deleted, |targets| NoteOf::Moved(targets.clone()));
            self.note(queue, Some(seq), held.known_content(), what);
        }
    }

    /// From now on this client causes what this section does.
    #[cold]
    pub fn on_behalf_of(&mut self, client: Option<Arc<Client>>) {
        self.section_effects.client = client;
    }
}
