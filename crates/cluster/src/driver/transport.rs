//! Sends a member's messages over the links.

use std::sync::Arc;

use consensus::{GroupId, MemberId, Message};
use member::Transport;
use parking_lot::RwLock;
use store::journal::SharedCommit;

use crate::peers::Links;
use crate::wire::{EntryToSend, NodeName, Payload};

/// The one group there is.
pub(crate) const GROUP: GroupId = GroupId(1);

/// Sends over links, once there are any.
#[derive(Default)]
pub(crate) struct LinkTransport {
    links: RwLock<Option<Arc<Links>>>,
}

/// A commit that is sent from where the journal keeps it.
struct CommitPayload(Arc<SharedCommit>);

impl Payload for CommitPayload {
    fn byte_count(&self) -> u64 {
        self.0.len()
    }

    fn for_each_run(&self, each: &mut dyn FnMut(&[u8])) {
        let mut slices = Vec::new();
        self.0.slices(&mut slices);
        slices.iter().for_each(|slice| each(slice));
    }
}

impl LinkTransport {
    pub(super) fn connect(&self, links: Arc<Links>) {
        *self.links.write() = Some(links);
    }

    pub(super) fn close(&self) {
        let links = self.links.write().take();
        drop(links);
    }

    pub(super) fn links(&self) -> Option<Arc<Links>> {
        self.links.read().clone()
    }

    /// Which node a member is, if that is known.
    pub(super) fn find(&self, member: MemberId) -> Option<NodeName> {
        self.links()?.find(member)
    }
}

impl Transport for LinkTransport {
    fn send(&self, message: Message, commits: Vec<Arc<SharedCommit>>) -> bool {
        let Some(links) = self.links() else { return false };
        let Some(peer) = links.find(message.to) else { return false };
        let entries: Vec<_> = commits
            .into_iter()
            .map(|commit| EntryToSend {
                first: commit.first.0,
                metas_len: commit.metas_len(),
                payload: Arc::new(CommitPayload(commit)),
            })
            .collect();
        links.send(&peer, GROUP, &message, &entries).is_ok()
    }
}
