//! What happens under the locks of a section: noted there, told when they are gone.

use std::sync::Arc;

use model::ids::QueueSeq;
use queue::DropReason;
use store::Content;

use super::{Client, Event, Kind, Scope, Taps};
use crate::delayed::DelaySet;
use crate::held::Held;
use crate::lane::LaneNumber;
use crate::queue_handle::QueueHandle;
use crate::shard::QueueEntry;
use crate::targets::Targets;
use crate::work::Work;
use message::Parts;

/// Things that one section notes; what is more is counted as missed.
const NOTE_COUNT_MAX: usize = 16_384;

/// Where it happened.
#[derive(Debug)]
enum Place {
    Queue(Arc<QueueHandle>, Option<QueueSeq>),
    Exchange(Arc<DelaySet>),
}

/// What has happened, in possession of what it needs.
#[derive(Debug)]
pub enum What {
    /// Its consumer has acknowledged it.
    Acked,
    /// Its consumer does not want it.
    Rejected,
    /// Its consumer gave it back.
    Requeued,
    /// Its queue gave it up.
    GivenUp(DropReason),
    /// It goes to a dead-letter exchange.
    DeadLettered(DropReason, Option<Arc<Targets>>),
    /// It waits at an exchange until then.
    SetAside(u64),
    /// It has waited for long enough.
    Released(Option<Arc<Targets>>),
    /// So many were purged.
    Purged(u64),
    /// An operator brings it to other queues.
    Moved(Arc<Targets>),
    /// An operator deletes it.
    Deleted,
}

/// Something that happened in a section.
#[derive(Debug)]
pub(crate) struct Note {
    place: Place,
    what: What,
    content: Option<Content>,
    client: Option<Arc<Client>>,
}

impl Note {
    /// Tells of it. No lock is held.
    #[cold]
    pub(crate) fn tell(&self, taps: &Taps) {
        let (vhost, queue, seq, exchange): (_, _, _, &[u8]) = match &self.place {
            Place::Queue(queue, seq) => (queue.definition.vhost.as_str(), Some(&**queue), *seq, b""),
            Place::Exchange(set) => (&*set.site.vhost, None, None, &*set.site.exchange),
        };
        let what = match &self.what {
            What::Acked => super::What::Acked,
            What::Rejected => super::What::Rejected,
            What::Requeued => super::What::Requeued,
            What::GivenUp(DropReason::Expired) => super::What::Expired,
            What::GivenUp(reason) => super::What::Dropped(*reason),
            What::DeadLettered(reason, targets) => {
                super::What::DeadLettered { reason: *reason, targets: targets.as_deref() }
            }
            What::SetAside(due_ms) => super::What::SetAside { exchange, due_ms: *due_ms },
            What::Released(targets) => super::What::Released { exchange, targets: targets.as_deref() },
            What::Purged(count) => super::What::Purged(*count),
            What::Moved(targets) => super::What::Moved(targets),
            What::Deleted => super::What::Deleted,
        };
        let message = self.content.as_ref().and_then(|content| Parts::read(content.bytes()));
        let client = self.client.as_deref();
        taps.tell(&Event { what, vhost, queue, seq, client, lane: LaneNumber::NONE, publish: 0, message });
    }
}

impl Work<'_> {
    /// Notes something that happens to a message of a queue, if anyone wants to hear of it.
    #[cold]
    pub fn note(&mut self, queue: &Arc<QueueHandle>, seq: Option<QueueSeq>, content: Option<&Content>, what: What) {
        self.note_at(Place::Queue(queue.clone(), seq), content.cloned(), what);
    }

    /// The same of a message that waits at an exchange, or did.
    #[cold]
    pub(crate) fn note_delayed(&mut self, set: &Arc<DelaySet>, content: Option<&Content>, what: What) {
        self.note_at(Place::Exchange(set.clone()), content.cloned(), what);
    }

    fn note_at(&mut self, place: Place, content: Option<Content>, what: What) {
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
            self.note(&entry.handle, Some(*seq), held.known_content(), What::Acked);
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
            let what = if is_rejected { What::Rejected } else { What::Requeued };
            let content = entry.queue.unacked_message(seq).and_then(Held::known_content).cloned();
            self.note_at(Place::Queue(entry.handle.clone(), Some(seq)), content, what);
        }
    }

    /// Notes messages that the queue has just given up. Those that a consumer does not want have been noted as that.
    #[cold]
    pub(crate) fn note_given_up(&mut self, entry: &QueueEntry) {
        let dropped = std::mem::take(&mut self.section_effects.effects.dropped);
        for dropped in &dropped {
            if dropped.reason != DropReason::Rejected {
                let content = dropped.message.known_content();
                self.note(&entry.handle, Some(dropped.seq), content, What::GivenUp(dropped.reason));
            }
        }
        self.section_effects.effects.dropped = dropped;
    }

    /// Notes a message that an operator moves or deletes, if anyone wants to hear of it.
    pub fn note_by_operator(
        &mut self,
        queue: &Arc<QueueHandle>,
        seq: QueueSeq,
        held: &Held,
        targets: Option<&Arc<Targets>>,
    ) {
        let kind = if targets.is_some() { Kind::Moved } else { Kind::Deleted };
        if self.wanted.has(kind) {
            let what = targets.map_or(What::Deleted, |targets| What::Moved(targets.clone()));
            self.note(queue, Some(seq), held.known_content(), what);
        }
    }

    /// From now on it is this client who causes what this section does.
    #[cold]
    pub fn on_behalf_of(&mut self, client: Option<Arc<Client>>) {
        self.section_effects.client = client;
    }
}
