//! One peer, as long as it is one.

use std::fmt;

use consensus::MemberId;
use parking_lot::Mutex;
use tokio::sync::{Notify, Semaphore};
use tokio::task::AbortHandle;

use super::calls::Calls;
use super::framed::FrameStream;
use super::limits::{
    COMMITS_COUNT_MAX, COMMITS_LEN_MAX, FETCHES_COUNT_MAX, FORWARDS_COUNT_MAX, VOTES_COUNT_MAX, VOTES_LEN_MAX,
};
use super::queue::LaneQueue;
use super::statistics::PeerCounters;
use crate::wire::{ExpectedPeer, Identity, Lane, NodeName};

/// Where a peer is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerAddress {
    /// The node there, and its id if that is known.
    pub node: ExpectedPeer,
    /// A name or an address.
    pub host: String,
    /// The port of its links.
    pub port: u16,
}

impl fmt::Display for PeerAddress {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let PeerAddress { node, host, port } = self;
        match host.contains(':') {
            true => write!(to, "{} ([{host}]:{port})", node.name),
            false => write!(to, "{} ({host}:{port})", node.name),
        }
    }
}

/// All that belongs to a peer.
#[derive(Debug)]
pub(super) struct PeerState {
    pub(super) name: NodeName,
    pub(super) address: Mutex<PeerAddress>,
    /// The identity that it reported when it was connected last.
    pub(super) identity: Mutex<Option<Identity>>,
    votes: LaneQueue,
    commits: LaneQueue,
    questions: LaneQueue,
    pub(super) calls: Calls,
    pub(super) fetches: Semaphore,
    pub(super) forwards: Semaphore,
    /// A connection for files that is of use again.
    pub(super) files: Mutex<Option<FrameStream>>,
    pub(super) counters: PeerCounters,
    /// There is reason to dial it now.
    pub(super) poke: Notify,
    /// What was logged last about a link that does not stand.
    last_logged: Mutex<Option<String>>,
    /// What keeps it connected.
    pub(super) tasks: Mutex<Vec<AbortHandle>>,
}

impl PeerState {
    pub(super) fn new(address: PeerAddress) -> Self {
        PeerState {
            name: address.node.name.clone(),
            address: Mutex::new(address),
            identity: Mutex::default(),
            votes: LaneQueue::new(VOTES_COUNT_MAX, VOTES_LEN_MAX),
            commits: LaneQueue::new(COMMITS_COUNT_MAX, COMMITS_LEN_MAX),
            // Calls have places of their own.
            questions: LaneQueue::new(usize::MAX, u64::MAX),
            calls: Calls::new(),
            fetches: Semaphore::new(FETCHES_COUNT_MAX),
            forwards: Semaphore::new(FORWARDS_COUNT_MAX),
            files: Mutex::default(),
            counters: PeerCounters::default(),
            poke: Notify::new(),
            last_logged: Mutex::default(),
            tasks: Mutex::default(),
        }
    }

    /// Its id, as it is known or as the peer said.
    pub(super) fn member(&self) -> Option<MemberId> {
        let known = self.address.lock().node.member;
        known.or_else(|| self.identity.lock().as_ref()?.member)
    }

    /// The queue of a lane that is always connected.
    pub(super) fn queue(&self, lane: Lane) -> &LaneQueue {
        match lane {
            Lane::Votes => &self.votes,
            Lane::Commits => &self.commits,
            Lane::Calls => &self.questions,
            Lane::Files | Lane::Forward => unreachable!("files and clients' streams have no queue"),
        }
    }

    /// Whether this is to be logged: it was not the last that was.
    pub(super) fn is_news(&self, sentence: &str) -> bool {
        let mut last = self.last_logged.lock();
        let is_news = last.as_deref() != Some(sentence);
        if is_news {
            *last = Some(sentence.to_owned());
        }
        is_news
    }

    /// It is connected: what is said next is news.
    pub(super) fn forget_logged(&self) {
        *self.last_logged.lock() = None;
    }

    /// It is no longer a peer.
    pub(super) fn close(&self) {
        self.tasks.lock().drain(..).for_each(|task| task.abort());
        self.calls.close();
        self.fetches.close();
        self.forwards.close();
        self.files.lock().take();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_is_shown_with_its_address() {
        let shown = |host: &str| {
            let node = ExpectedPeer { name: NodeName::new("rabbit@b").unwrap(), member: None };
            PeerAddress { node, host: host.to_owned(), port: 25672 }.to_string()
        };
        assert_eq!(shown("b.example"), "rabbit@b (b.example:25672)");
        assert_eq!(shown("fd00::2"), "rabbit@b ([fd00::2]:25672)");
    }
}
