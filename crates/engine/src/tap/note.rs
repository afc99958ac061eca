//! What happens under the locks of a section: noted there, reported when they are released.

use std::sync::Arc;

use model::ids::QueueSeq;
use queue::DropReason;
use store::Content;

use super::{Client, Event, Taps};
use crate::delayed::DelaySet;
use crate::lane::LaneNumber;
use crate::queue_handle::QueueHandle;
use crate::targets::Targets;
use message::Parts;

/// Where it happened.
#[derive(Debug)]
pub(crate) enum Place {
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
    /// It is sent to a dead-letter exchange.
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
    pub(crate) place: Place,
    pub(crate) what: What,
    pub(crate) content: Option<Content>,
    pub(crate) client: Option<Arc<Client>>,
}

impl Note {
    /// Reports it. No lock is held.
    #[cold]
    pub(crate) fn report(&self, taps: &Taps) {
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
        taps.report(&Event { what, vhost, queue, seq, client, lane: LaneNumber::NONE, publish: 0, message });
    }
}
