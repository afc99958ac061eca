//! What is called with what arrives.

use std::io;

use consensus::{GroupId, Message};
use net::{DetachedStream, Stream};

use super::call_answer::CallAnswer;
use super::file_answer::FileAnswer;
use crate::wire::{EntryBytes, FileRequest, ForwardHeader, Identity, Lane, NodeName, Refusal};

/// What a node does with what its peers send.
///
/// All of it is called on the thread of the links, in the order of arrival on each lane, and while it runs no other connection is served:
/// it must not wait for a disk or a peer. Longer work runs elsewhere, with the answer that it was given. It may send.
///
/// A panic in it ends the process: what it was about to do for the group is neither done nor undone.
pub trait LinkHandler: Send + Sync + 'static {
    /// A member of a group sends a message. `from.member` is the same as `message.from`, and `message.to` is this node's, if it has one.
    /// The contents are those of entries of records, in the message's order.
    fn message(&self, from: &Identity, group: GroupId, message: Message, entries: Vec<EntryBytes>);

    /// Something has changed about the connections from this node to a peer.
    fn peer_changed(&self, peer: &NodeName, event: PeerEvent);

    /// A peer wants a file. The answer may be given from a thread that reads it.
    fn file_wanted(&self, from: &Identity, request: FileRequest, answer: FileAnswer);

    /// A node asks something; it need not be a peer yet.
    fn called(&self, from: &Identity, name: &str, payload: &[u8], answer: CallAnswer);

    /// A peer passes a client's connection on. To refuse it, drop it.
    fn forwarded(&self, from: &Identity, client: ForwardedClient);
}

/// What has changed about a peer. Each is reported as soon as it is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PeerEvent {
    /// What is sent on this lane reaches it from now on.
    Connected {
        /// Votes, commits or calls: the others have connections when they are needed.
        lane: Lane,
        /// Its identity.
        identity: Identity,
    },
    /// The connection is lost, and what was under way on it with it.
    Lost {
        /// Which.
        lane: Lane,
        /// Why, as far as is known.
        reason: String,
    },
    /// Its host answers, and no process listens there: it has ended. Reported at each attempt.
    Refused,
    /// One of both does not want the other. Reported at each attempt.
    Rejected {
        /// In words that name both.
        sentence: String,
        /// If it was said on the link.
        refusal: Option<Refusal>,
    },
}

/// A client's connection that came by a peer.
#[derive(Debug)]
pub struct ForwardedClient {
    /// Whose it is.
    pub header: ForwardHeader,
    /// The peer.
    pub by: NodeName,
    pub(super) stream: DetachedStream,
}

impl ForwardedClient {
    /// The stream, as if this node had accepted it. To be called inside the runtime that is to serve it.
    ///
    /// # Errors
    ///
    /// The runtime cannot watch the socket.
    pub fn attach(self) -> io::Result<Stream> {
        let ForwardHeader { peer, local, tls, .. } = self.header;
        Ok(Stream::forwarded(self.stream.attach()?, net::proxy_protocol::Endpoints { peer, local }, tls))
    }
}
