//! The sockets of links: one thread, one listener, and for each peer a connection a lane that this node dials. What peers send comes on
//! those that they dial, so there is nothing to agree on about which node connects to which.
//!
//! ```text
//!  any thread ─► Links::send ─► `queue` ─► `dialler`, `pump` ─► peer's listener ─► `acceptor`, `pump` ─► LinkHandler, on its thread
//! ```
//!
//! - `dialler` keeps votes, commits and calls connected; `acceptor` serves what comes; `pump` moves frames both ways at once, `framed`
//!   in turns.
//! - `calls`, `files`: what has answers. Clients' streams ([`Links::forward`]) belong to the runtimes that use them.
//! - `shared`, `peer`, `statistics`: what is known. `limits`: every number.
//!
//! Votes and commits are dropped where a peer does not take them, and the sender gets an error; calls and files wait. A queue is empty when
//! a connection begins: what was under way on the one before is lost, which the engine makes good.

mod acceptor;
mod call_answer;
mod calls;
mod dialler;
mod file_answer;
mod files;
mod framed;
mod handler;
mod limits;
mod peer;
mod pump;
mod queue;
mod shared;
mod statistics;
mod tls;
mod unproved;

use std::collections::hash_map::Entry;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use consensus::{GroupId, MemberId, Message};
use net::{BindError, Listener, SocketOptions, Stream};
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::address::Address;
use crate::wire::{EntryToSend, FileRequest, ForwardHeader, Lane, Local, NodeName, encode_replicated};
use peer::PeerState;
use shared::Shared;

pub use call_answer::CallAnswer;
pub use calls::{CallError, PendingCall};
pub use dialler::NameError;
pub use file_answer::{FileAbandoned, FileAnswer};
pub use files::{Fetch, FetchError};
pub use handler::{ForwardedClient, LinkHandler, PeerEvent};
pub use peer::PeerAddress;
pub use queue::SendError;
pub use statistics::{LaneStatistics, PeerStatistics, RoundTrips};
pub use tls::{LinkTls, LinkTlsOptions};

/// What links begin with.
pub struct Setup {
    /// Where to listen. With port 0 the system chooses.
    pub listen: SocketAddr,
    /// This node's identity, and its secret. Without TLS there has to be one.
    pub local: Local,
    /// Mutual TLS, if wanted.
    pub tls: Option<Arc<LinkTls>>,
    /// The nodes to connect to.
    pub peers: Vec<PeerAddress>,
}

/// Why there are no links.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Any program that finds the port would be a node.
    #[error("nodes need a secret (warren.cluster.secret), or TLS with certificates on both sides")]
    Unprotected,
    /// The port cannot be had.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// The system gives no thread, or none of what it waits with.
    #[error("cannot start the links between nodes: {0}")]
    System(#[from] io::Error),
}

/// Why a client's connection cannot be passed on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ForwardError {
    /// There is no such peer.
    #[error("there is no such peer")]
    UnknownPeer,
    /// There is no connection to it.
    #[error("{0}")]
    Unreachable(String),
}

/// All links of a node. Dropped, they end, if not at once; [`close`](Self::close) waits for that.
pub struct Links {
    shared: Arc<Shared>,
    runtime: Handle,
    address: SocketAddr,
    /// Until they are closed. When the sender is dropped, the thread ends.
    thread: Mutex<Option<(oneshot::Sender<()>, JoinHandle<()>)>>,
}

impl Links {
    /// Listens, and connects to all peers. The handler may be called before this returns.
    ///
    /// # Errors
    ///
    /// There is neither a secret nor TLS, the port is taken, or the system refuses.
    pub fn start(setup: Setup, handler: Arc<dyn LinkHandler>) -> Result<Links, StartError> {
        let Setup { listen, local, tls, peers } = setup;
        if local.secret.is_absent() && tls.is_none() {
            return Err(StartError::Unprotected);
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let listener = {
            let _inside = runtime.enter();
            Listener::bind(listen, SocketOptions { backlog: limits::BACKLOG, ..SocketOptions::default() })?
        };
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared::new(local, tls, handler));
        let handle = runtime.handle().clone();
        handle.spawn(acceptor::accept(Arc::clone(&shared), listener));
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::Builder::new().name("cluster".to_owned()).spawn(move || {
            sampler::does(sampler::Work::Cluster);
            // An error means that the links have been dropped.
            let _ = runtime.block_on(stopped);
            runtime.shutdown_background();
        })?;
        let links = Links { shared, runtime: handle, address, thread: Mutex::new(Some((stop, thread))) };
        links.set_peers(peers);
        Ok(links)
    }

    /// Where they listen: the real port where port 0 was asked for.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// From now on these are the peers. Connections to those that stay are left alone; a new address counts when the peer is dialled next.
    pub fn set_peers(&self, addresses: Vec<PeerAddress>) {
        let mut peers = self.shared.peers.lock();
        peers.retain(|name, peer| {
            let stays = addresses.iter().any(|address| address.node.name == *name);
            if !stays {
                peer.close();
                self.shared.end_inbound(name);
            }
            stays
        });
        for address in addresses {
            match peers.entry(address.node.name.clone()) {
                Entry::Occupied(peer) => {
                    *peer.get().address.lock() = address;
                    peer.get().poke.notify_waiters();
                }
                Entry::Vacant(place) => {
                    let peer = Arc::new(PeerState::new(address));
                    for lane in [Lane::Votes, Lane::Commits, Lane::Calls] {
                        let keeping = dialler::keep_connected(Arc::clone(&self.shared), Arc::clone(&peer), lane);
                        peer.tasks.lock().push(self.runtime.spawn(keeping).abort_handle());
                    }
                    place.insert(peer);
                }
            }
        }
    }

    /// Which peer a member is, if that is known or was said.
    #[must_use]
    pub fn find(&self, member: MemberId) -> Option<NodeName> {
        let peers = self.shared.peers.lock();
        peers.values().find(|peer| peer.member() == Some(member)).map(|peer| peer.name.clone())
    }

    /// Which member a peer is, if that is known or was said.
    #[must_use]
    pub fn member_of(&self, peer: &NodeName) -> Option<MemberId> {
        self.shared.peer(peer)?.member()
    }

    /// Sets this node's identity: all connections are made anew, but those of clients.
    pub fn set_local(&self, local: Local) {
        for peer in self.shared.peers.lock().values() {
            peer.files.lock().take();
        }
        self.shared.local.send_replace(Arc::new(local));
    }

    /// Sends a message of a member, with the contents of its entries of records, which are copied when they are written. It may be lost
    /// like any message.
    ///
    /// # Errors
    ///
    /// It is not sent. The caller reports to its engine that the peer is unreachable.
    ///
    /// # Panics
    ///
    /// The entries are not those of the message.
    pub fn send(
        &self,
        peer: &NodeName,
        group: GroupId,
        message: &Message,
        entries: &[EntryToSend],
    ) -> Result<(), SendError> {
        let peer = self.shared.peer(peer).ok_or(SendError::UnknownPeer)?;
        let lane = Lane::of(message);
        let pushed = peer.queue(lane).push(encode_replicated(group, message, entries));
        if pushed.is_err() {
            peer.counters.lane(lane).dropped.add(1);
        }
        pushed
    }

    /// Asks a peer. Waits, within `time_limit`, for a connection, too.
    ///
    /// # Panics
    ///
    /// The payload is longer than [`CALL_LEN_MAX`](crate::wire::CALL_LEN_MAX).
    pub fn call(&self, peer: &NodeName, name: &str, payload: Vec<u8>, time_limit: Duration) -> PendingCall {
        assert!(payload.len() <= crate::wire::CALL_LEN_MAX, "a call of {} bytes", payload.len());
        let (mut tx, pending) = PendingCall::new();
        let Some(peer) = self.shared.peer(peer) else {
            let _ = tx.send(Err(CallError::UnknownPeer));
            return pending;
        };
        let name = name.to_owned();
        self.runtime.spawn(async move {
            let answered = tokio::select! {
                answered = timeout(time_limit, calls::call(&peer, &name, &payload)) => answered,
                () = tx.closed() => return,
            };
            let _ = tx.send(answered.unwrap_or(Err(CallError::TimedOut)));
        });
        pending
    }

    /// Asks a peer, and has something done with the answer, on the links' thread: it must not wait. Where the links are closed meanwhile
    /// it is not done.
    ///
    /// # Panics
    ///
    /// As [`Links::call`].
    pub fn call_then(
        &self,
        peer: &NodeName,
        name: &str,
        payload: Vec<u8>,
        time_limit: Duration,
        then: impl FnOnce(Result<Vec<u8>, CallError>) + Send + 'static,
    ) {
        let pending = self.call(peer, name, payload, time_limit);
        self.runtime.spawn(async move { then(pending.await) });
    }

    /// Asks the node at an address for its name, and has something done with the answer, as [`Links::call_then`]. A node without the secret
    /// neither reports its name nor learns anything.
    pub fn name_then(&self, address: Address, then: impl FnOnce(Result<NodeName, NameError>) + Send + 'static) {
        let shared = Arc::clone(&self.shared);
        self.runtime.spawn(async move { then(dialler::name_at(&shared, &address).await) });
    }

    /// Fetches a file from a peer. Waits for its turn if many are fetched.
    #[must_use]
    pub fn fetch(&self, peer: &NodeName, request: FileRequest) -> Fetch {
        let (to, fetch) = Fetch::new();
        let Some(peer) = self.shared.peer(peer) else {
            to.fail(FetchError::UnknownPeer);
            return fetch;
        };
        let shared = Arc::clone(&self.shared);
        self.runtime.spawn(async move { files::fetch(&shared, &peer, request, to).await });
        fetch
    }

    /// A connection to a peer that carries a client's bytes both ways from now on. It belongs to the runtime that this is awaited in, and
    /// ends as that stream does: what is shut down on one side is at its end on the other. Waits while many others are being made.
    ///
    /// # Errors
    ///
    /// The peer cannot be reached.
    pub async fn forward(&self, peer: &NodeName, header: &ForwardHeader) -> Result<Stream, ForwardError> {
        let peer = self.shared.peer(peer).ok_or(ForwardError::UnknownPeer)?;
        let counters = peer.counters.lane(Lane::Forward);
        let closed = |_| ForwardError::Unreachable("the link is closed".to_owned());
        let _place = peer.forwards.acquire().await.map_err(closed)?;
        let connected = dialler::connect(&self.shared, self.shared.local(), &peer, Lane::Forward).await;
        let (mut stream, _) = connected.map_err(|error| ForwardError::Unreachable(error.sentence))?;
        framed::send(&mut stream, &header.encode(), counters).await.map_err(ForwardError::Unreachable)?;
        counters.connects.add(1);
        Ok(stream)
    }

    /// Ends all connections, those of clients apart, and the thread. When this returns the port is free and the handler is not called any
    /// more, unless it is the handler that closes the links. Not to be called by a thread that holds what the handler may wait for.
    pub fn close(&self) {
        let is_another = |thread: &JoinHandle<()>| thread.thread().id() != std::thread::current().id();
        if let Some(thread) = self.stop().filter(is_another) {
            // It has nothing to say; a panic of a handler has ended the process.
            let _ = thread.join();
        }
    }

    fn stop(&self) -> Option<JoinHandle<()>> {
        let (stop, thread) = self.thread.lock().take()?;
        for (_, peer) in self.shared.peers.lock().drain() {
            peer.close();
        }
        drop(stop);
        Some(thread)
    }

    /// What has been counted, by peer, in the order of names.
    #[must_use]
    pub fn statistics(&self) -> Vec<PeerStatistics> {
        let peers: Vec<_> = self.shared.peers.lock().values().cloned().collect();
        let mut read: Vec<_> =
            peers.iter().map(|peer| peer.counters.read(&peer.name, peer.identity.lock().clone())).collect();
        read.sort_by(|a, b| a.name.cmp(&b.name));
        read
    }

    /// How many connections came to nothing of which it is not known whose they were, and why the last one did.
    #[must_use]
    pub fn strangers(&self) -> (u64, Option<String>) {
        self.shared.strangers.failures()
    }
}

impl Drop for Links {
    fn drop(&mut self) {
        // Without a wait: the thread may be in the handler, and wait there for what the one that drops this holds.
        let _ = self.stop();
    }
}
