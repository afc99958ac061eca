//! Routes what comes by links to the node, at all times, and to its member, once it has one.

use std::collections::HashMap;
use std::sync::Arc;

use consensus::{GroupId, MemberId, Message};
use parking_lot::RwLock;

use crate::driver::CALLS;
use crate::peers::{CallAnswer, FileAnswer, ForwardedClient, LinkHandler, PeerEvent};
use crate::wire::{EntryBytes, FileRequest, Identity, NodeName};

/// What a node does with what its member does not deal with. Called on the links' thread: see [`LinkHandler`].
pub trait NodeCalls: Send + Sync + 'static {
    /// A node asks something.
    fn called(&self, from: &Identity, name: &str, payload: &[u8], answer: CallAnswer);

    /// Something has changed about the connections from this node to a peer.
    fn peer_changed(&self, peer: &NodeName, event: &PeerEvent);

    /// A peer passes a client's connection on. To refuse it, drop it.
    fn forwarded(&self, client: ForwardedClient);
}

/// See the module.
pub struct CallRouter {
    node: Arc<dyn NodeCalls>,
    member: RwLock<Option<Arc<dyn LinkHandler>>>,
    /// Of which start each member is listened to. None: all are.
    admitted: RwLock<Option<HashMap<MemberId, u64>>>,
}

impl CallRouter {
    /// One that listens to all members.
    #[must_use]
    pub fn new(node: Arc<dyn NodeCalls>) -> Arc<Self> {
        Arc::new(CallRouter { node, member: RwLock::default(), admitted: RwLock::default() })
    }

    /// One that listens to no member before it was [admitted](Self::admit).
    #[must_use]
    pub fn wary(node: Arc<dyn NodeCalls>) -> Arc<Self> {
        Arc::new(CallRouter { node, member: RwLock::default(), admitted: RwLock::new(Some(HashMap::new())) })
    }

    /// From now on this start of a member is listened to, and no other of its.
    pub fn admit(&self, member: MemberId, incarnation: u64) {
        if let Some(admitted) = &mut *self.admitted.write() {
            admitted.insert(member, incarnation);
        }
    }

    /// Whether this start of a member is listened to.
    #[must_use]
    pub fn is_admitted(&self, member: MemberId, incarnation: u64) -> bool {
        self.admitted.read().as_ref().is_none_or(|admitted| admitted.get(&member) == Some(&incarnation))
    }

    pub(crate) fn set_member(&self, member: Option<Arc<dyn LinkHandler>>) {
        *self.member.write() = member;
    }

    fn member(&self) -> Option<Arc<dyn LinkHandler>> {
        self.member.read().clone()
    }
}

impl LinkHandler for CallRouter {
    fn message(&self, from: &Identity, group: GroupId, message: Message, entries: Vec<EntryBytes>) {
        let is_admitted = from.member.is_some_and(|member| self.is_admitted(member, from.incarnation));
        if let (true, Some(member)) = (is_admitted, self.member()) {
            member.message(from, group, message, entries);
        }
    }

    fn peer_changed(&self, peer: &NodeName, event: PeerEvent) {
        self.node.peer_changed(peer, &event);
        if let Some(member) = self.member() {
            member.peer_changed(peer, event);
        }
    }

    fn file_wanted(&self, from: &Identity, request: FileRequest, answer: FileAnswer) {
        match self.member() {
            Some(member) => member.file_wanted(from, request, answer),
            None => answer.missing(),
        }
    }

    fn called(&self, from: &Identity, name: &str, payload: &[u8], answer: CallAnswer) {
        if !CALLS.contains(&name) {
            return self.node.called(from, name, payload, answer);
        }
        let is_admitted = from.member.is_some_and(|member| self.is_admitted(member, from.incarnation));
        if let (true, Some(member)) = (is_admitted, self.member()) {
            member.called(from, name, payload, answer);
        }
    }

    fn forwarded(&self, _: &Identity, client: ForwardedClient) {
        self.node.forwarded(client);
    }
}
