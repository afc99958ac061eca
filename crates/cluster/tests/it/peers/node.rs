//! A node for tests: its links, and what its handler has got.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use cluster::wire::{EntryBytes, EntryToSend, ExpectedPeer, FileRequest, Identity, Lane, Local, NodeName, Payload};
use cluster::{
    CallAnswer, FileAnswer, ForwardedClient, LinkHandler, LinkTls, Links, PeerAddress, PeerEvent, SendError, Setup,
};
use consensus::{Body, Entry, GroupId, Index, Kind, LogId, MemberId, Message, Term};
use parking_lot::Mutex;

use crate::nodes::{identity, local};

/// Longer than anything here takes.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(20);

/// What a handler has got.
#[derive(Debug)]
pub(crate) enum Heard {
    Message(NodeName, GroupId, Message, Vec<EntryBytes>),
    Event(NodeName, PeerEvent),
    File(FileRequest, FileAnswer),
    Call(NodeName, String, Vec<u8>, CallAnswer),
    Client(NodeName, ForwardedClient),
}

/// Tells the test.
struct Teller(Mutex<Sender<Heard>>);

impl Teller {
    fn tell(&self, heard: Heard) {
        // A test that has ended does not listen.
        let _ = self.0.lock().send(heard);
    }
}

impl LinkHandler for Teller {
    fn message(&self, from: &Identity, group: GroupId, message: Message, entries: Vec<EntryBytes>) {
        self.tell(Heard::Message(from.name.clone(), group, message, entries));
    }

    fn peer_changed(&self, peer: &NodeName, event: PeerEvent) {
        self.tell(Heard::Event(peer.clone(), event));
    }

    fn file_wanted(&self, _from: &Identity, request: FileRequest, answer: FileAnswer) {
        self.tell(Heard::File(request, answer));
    }

    fn called(&self, from: &Identity, name: &str, payload: &[u8], answer: CallAnswer) {
        self.tell(Heard::Call(from.name.clone(), name.to_owned(), payload.to_vec(), answer));
    }

    fn forwarded(&self, from: &Identity, client: ForwardedClient) {
        self.tell(Heard::Client(from.name.clone(), client));
    }
}

/// A handler that no test listens to.
pub(crate) fn deaf() -> Arc<dyn LinkHandler> {
    Arc::new(Teller(Mutex::new(channel().0)))
}

/// A node.
pub(crate) struct Node {
    pub(crate) links: Links,
    pub(crate) tls: Option<Arc<LinkTls>>,
    pub(crate) heard: Receiver<Heard>,
    pub(crate) letter: char,
}

impl Node {
    /// `rabbit@a` and so on, without peers.
    pub(crate) fn start(letter: char) -> Self {
        Self::start_as(local(letter), letter, None)
    }

    pub(crate) fn start_as(local: Local, letter: char, tls: Option<Arc<LinkTls>>) -> Self {
        Self::start_at(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), local, letter, tls)
    }

    pub(crate) fn start_at(listen: SocketAddr, local: Local, letter: char, tls: Option<Arc<LinkTls>>) -> Self {
        let (tx, heard) = channel();
        let handler = Arc::new(Teller(Mutex::new(tx)));
        let links = Links::start(Setup { listen, local, tls: tls.clone(), peers: Vec::new() }, handler).unwrap();
        Node { links, tls, heard, letter }
    }

    pub(crate) fn name(&self) -> NodeName {
        identity(self.letter).name
    }

    /// Where others find it.
    pub(crate) fn place(&self) -> PeerAddress {
        place(self.letter, self.links.address().port())
    }

    /// Waits for something in particular, past all else.
    #[track_caller]
    pub(crate) fn wait_for<T>(&self, mut find: impl FnMut(Heard) -> Option<T>) -> T {
        loop {
            let heard = self.heard.recv_timeout(TIMEOUT).expect("it comes in time");
            if let Some(found) = find(heard) {
                return found;
            }
        }
    }

    #[track_caller]
    pub(crate) fn wait_for_event(&self, peer: &Node, is_it: impl Fn(&PeerEvent) -> bool) -> PeerEvent {
        let name = peer.name();
        self.wait_for(|heard| match heard {
            Heard::Event(of, event) if of == name && is_it(&event) => Some(event),
            _ => None,
        })
    }

    /// Waits until all lanes to these peers are there.
    #[track_caller]
    pub(crate) fn wait_for_lanes(&self, peers: &[&Node]) {
        let mut missing: Vec<(NodeName, Lane)> = peers
            .iter()
            .flat_map(|peer| [Lane::Votes, Lane::Commits, Lane::Calls].map(|lane| (peer.name(), lane)))
            .collect();
        self.wait_for(|heard| {
            if let Heard::Event(name, PeerEvent::Connected { lane, .. }) = heard {
                missing.retain(|waited| *waited != (name.clone(), lane));
            }
            missing.is_empty().then_some(())
        });
    }

    /// The next message, past events.
    #[track_caller]
    pub(crate) fn wait_for_message(&self) -> (NodeName, Message, Vec<EntryBytes>) {
        self.wait_for(|heard| match heard {
            Heard::Message(from, GroupId(3), message, entries) => Some((from, message, entries)),
            _ => None,
        })
    }

    pub(crate) fn send(&self, to: &Node, message: &Message, entries: &[EntryToSend]) -> Result<(), SendError> {
        self.links.send(&to.name(), GroupId(3), message, entries)
    }
}

pub(crate) fn place(letter: char, port: u16) -> PeerAddress {
    let Identity { name, member, .. } = identity(letter);
    PeerAddress { node: ExpectedPeer { name, member }, host: "127.0.0.1".to_owned(), port }
}

/// Makes peers of all of them, and waits until they are linked.
#[track_caller]
pub(crate) fn link(nodes: &[&Node]) {
    introduce(nodes);
    for node in nodes {
        let others: Vec<_> = nodes.iter().copied().filter(|other| other.letter != node.letter).collect();
        node.wait_for_lanes(&others);
    }
}

pub(crate) fn introduce(nodes: &[&Node]) {
    for node in nodes {
        let others = nodes.iter().filter(|other| other.letter != node.letter);
        node.links.set_peers(others.map(|other| other.place()).collect());
    }
}

pub(crate) fn member(letter: char) -> MemberId {
    identity(letter).member.unwrap()
}

pub(crate) fn message(from: char, to: char, body: Body) -> Message {
    Message { from: member(from), to: member(to), term: Term(5), body }
}

pub(crate) fn heartbeat(from: char, to: char, committed: u64) -> Message {
    message(from, to, Body::Heartbeat { committed: Index(committed) })
}

/// One entry of records, and its contents.
pub(crate) fn append(from: char, to: char, index: u64, payload: Arc<dyn Payload>) -> (Message, Vec<EntryToSend>) {
    let len = payload.byte_count();
    let entry = Entry { id: LogId::new(5, index), kind: Kind::Records, len: len as u32 };
    let previous = LogId::new(5, index - 1);
    let body = Body::Append { previous, committed: Index(0), entries: vec![entry] };
    (message(from, to, body), vec![EntryToSend { first: 1000 + index, metas_len: len.min(3), payload }])
}
