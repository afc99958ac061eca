//! What all connections of a node have in common.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use ring::rand::{SecureRandom as _, SystemRandom};
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::handler::LinkHandler;
use super::limits::{CLOCK_DIFFERENCE_MAX, LOGGED_COUNT_MAX, SILENCE};
use super::peer::PeerState;
use super::statistics::PeerCounters;
use super::tls::LinkTls;
use crate::wire::{Agreement, Hello, Lane, Local, NONCE_LEN, NodeName, Recognition};

pub(super) struct Shared {
    pub(super) local: watch::Sender<Arc<Local>>,
    pub(super) tls: Option<Arc<LinkTls>>,
    handler: Arc<dyn LinkHandler>,
    pub(super) peers: Mutex<HashMap<NodeName, Arc<PeerState>>>,
    /// Of nodes that are no peers.
    pub(super) strangers: PeerCounters,
    /// Connections from peers, by lane: a new one ends the one before.
    inbound: Mutex<HashMap<(NodeName, Lane), AbortHandle>>,
    /// What was logged about connections that came to nothing, and when.
    logged: Mutex<HashMap<String, Instant>>,
    /// Peers whose clocks are said to differ.
    clocks: Mutex<HashSet<NodeName>>,
    random: SystemRandom,
}

impl Shared {
    pub(super) fn new(local: Local, tls: Option<Arc<LinkTls>>, handler: Arc<dyn LinkHandler>) -> Self {
        Shared {
            local: watch::Sender::new(Arc::new(local)),
            tls,
            handler,
            peers: Mutex::default(),
            strangers: PeerCounters::default(),
            inbound: Mutex::default(),
            logged: Mutex::default(),
            clocks: Mutex::default(),
            random: SystemRandom::new(),
        }
    }

    pub(super) fn local(&self) -> Arc<Local> {
        Arc::clone(&self.local.borrow())
    }

    pub(super) fn peer(&self, name: &NodeName) -> Option<Arc<PeerState>> {
        self.peers.lock().get(name).cloned()
    }

    pub(super) fn recognize(&self, name: &NodeName) -> Recognition {
        match self.peer(name) {
            Some(peer) => Recognition::Peer(peer.address.lock().node.member),
            None => Recognition::Unknown,
        }
    }

    /// Has the handler do something. Its panic must not be left to the runtime, which would go on.
    pub(super) fn handle(&self, call: impl FnOnce(&dyn LinkHandler)) {
        let _abort = AbortOnPanic;
        call(&*self.handler);
    }

    /// `None`: the system gives no random numbers, and without them there is no handshake.
    pub(super) fn nonce(&self) -> Option<[u8; NONCE_LEN]> {
        let mut nonce = [0; NONCE_LEN];
        self.random.fill(&mut nonce).ok().map(|()| nonce)
    }

    /// Logs it if the other's clock is another one.
    pub(super) fn compare_clocks(&self, agreement: &Agreement) {
        let name = &agreement.theirs.identity.name;
        let difference = difference(&agreement.ours, &agreement.theirs);
        let mut clocks = self.clocks.lock();
        match difference {
            None => {
                clocks.remove(name);
            }
            Some(sentence) => {
                if clocks.insert(name.clone()) {
                    tracing::warn!("{sentence}");
                }
            }
        }
    }

    /// Logs that a connection came to nothing, unless the same was logged just now.
    pub(super) fn log_once(&self, sentence: &str) {
        self.log_once_as(sentence, sentence);
    }

    /// The same of one of many sentences that mean the same.
    pub(super) fn log_once_as(&self, meaning: &str, sentence: &str) {
        let now = Instant::now();
        let mut logged = self.logged.lock();
        if logged.len() >= LOGGED_COUNT_MAX {
            logged.retain(|_, at| now.duration_since(*at) < SILENCE);
        }
        let is_news = logged.get(meaning).is_none_or(|at| now.duration_since(*at) >= SILENCE);
        if is_news && logged.len() < LOGGED_COUNT_MAX {
            logged.insert(meaning.to_owned(), now);
            tracing::warn!("{sentence}");
        }
    }

    /// The connection that a peer has opened last is the one that counts.
    pub(super) fn replace_inbound(&self, name: &NodeName, lane: Lane, task: AbortHandle) {
        let mut inbound = self.inbound.lock();
        if let Some(before) = inbound.insert((name.clone(), lane), task) {
            before.abort();
        }
    }

    /// Ends what a node has opened that is no longer a peer.
    pub(super) fn end_inbound(&self, name: &NodeName) {
        self.inbound.lock().retain(|(of, _), task| {
            if of == name {
                task.abort();
            }
            of != name
        });
    }
}

/// What is wrong with two clocks, if they are too far apart. Time limits of messages would mean different things on the two nodes.
fn difference(ours: &Hello, theirs: &Hello) -> Option<String> {
    let apart = Duration::from_millis(ours.clock_ms.abs_diff(theirs.clock_ms));
    let (ahead, behind) = if ours.clock_ms > theirs.clock_ms { (ours, theirs) } else { (theirs, ours) };
    (apart > CLOCK_DIFFERENCE_MAX).then(|| {
        let (ahead, behind) = (&ahead.identity.name, &behind.identity.name);
        format!("the clocks of two nodes differ: {ahead} is {} s ahead of {behind}", apart.as_secs())
    })
}

/// Milliseconds since 1970.
pub(super) fn clock_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}

/// Held while the handler works: a member that was half way must not go on.
struct AbortOnPanic;

impl Drop for AbortOnPanic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            tracing::error!("the handler of what a peer sent panicked; the process ends");
            std::process::abort();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Identity;

    #[test]
    fn clocks_may_differ_by_half_a_minute() {
        let hello = |name: &str, clock_ms| Hello {
            identity: Identity {
                cluster: None,
                name: NodeName::new(name).unwrap(),
                member: None,
                incarnation: 1,
                level: 1,
            },
            clock_ms,
            lane: Lane::Votes,
        };
        let (a, b) = (hello("rabbit@a", 100_000), hello("rabbit@b", 130_000));
        assert_eq!(difference(&a, &b), None);
        let b = hello("rabbit@b", 145_100);
        let sentence = "the clocks of two nodes differ: rabbit@b is 45 s ahead of rabbit@a";
        assert_eq!([difference(&a, &b).unwrap(), difference(&b, &a).unwrap()], [sentence, sentence]);
    }
}
