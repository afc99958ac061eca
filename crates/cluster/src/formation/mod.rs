//! How a node comes to belong to a cluster: which one it joins, which node forms a new one, and what it waits for. No I/O, no clock, no
//! random numbers.
//!
//! ```text
//!  discovered(names) ─┐                          ┌─► Discover, Ask peers, Keep the consent
//!  answered, unanswered ─► Formation ─► run(now) ─┼─► Found the cluster, Join a peer, GoOn, StayAlone
//!  asked(question) ◄──┘                          └─► Wait for a reason, GiveUp with a sentence
//! ```
//!
//! - A member stays one.
//! - A node with data stays alone until another one asks it to let it join. Then it forms a cluster, with itself as its first member. So
//!   does an empty node that has no list of peers.
//! - An empty node with a list joins a cluster that a peer belongs to; else asks a peer with data to let it join; else, if a majority of
//!   the listed names can be reached and all are empty, the lowest name among them asks for consent and founds.
//! - Two clusters among the peers: it joins neither, and reports that.
//!
//! What nodes see of each other may be old, partial and contradictory. That never makes two clusters: a cluster is founded only by a node
//! that a majority of the listed names has agreed on ([`Consent`]). All else here only decides which node tries, and how soon.
//!
//! Files: `consent`: promises, which a file keeps; `question`: what nodes say to each other; `reason`: sentences; `rounds`: what is done
//! when.

mod consent;
mod limits;
mod question;
mod reason;
mod rounds;

use std::collections::{BTreeMap, BTreeSet};

use consensus::MemberId;

pub use consent::{Bid, Consent, Founder};
pub use limits::*;
pub use question::{CALL, NodeState, Question, Reply, Status, VERSION_LEN_MAX};
pub use reason::{FormationFailure, MissingPeer, WaitReason};

use crate::address::Address;
use crate::wire::{ClusterId, NodeName};

/// This node's identity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnIdentity {
    /// Its name.
    pub name: NodeName,
    /// The id of its directory.
    pub member: MemberId,
    /// Up to which level it knows formats.
    pub level: u32,
    /// Which Warren it is.
    pub version: String,
}

/// How a node looks for peers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// `cluster_formation.*`: whether it looks for any. If not, it stays alone until it is ordered to join, or asked to let another join.
    pub is_configured: bool,
    /// `cluster_formation.target_cluster_size_hint`: a majority is one of so many, if fewer are listed.
    pub size_hint: usize,
    /// `cluster_formation.discovery_retry_limit`: so often in a row may it fail to find out names.
    pub retry_limit: u32,
    /// `cluster_formation.discovery_retry_interval`.
    pub interval_ms: u64,
}

impl Settings {
    /// Of a node that has no `cluster_formation.*`.
    #[must_use]
    pub fn alone() -> Self {
        Settings { is_configured: false, size_hint: 0, retry_limit: 10, interval_ms: 500 }
    }
}

/// A name that discovery has found.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SeedNode {
    /// The name.
    pub name: NodeName,
    /// Where it is.
    pub address: Address,
}

/// What is to be done, in this order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Order {
    /// Names are looked up; then `discovered` or `not_discovered`.
    Discover,
    /// Written and synced before the next order is done, and before anything is answered.
    Keep(Consent),
    /// A peer is asked; then `answered` or `unanswered`, with that number.
    Ask {
        /// Which question it is.
        number: u64,
        /// Which peer.
        peer: SeedNode,
        /// What.
        question: Question,
    },
    /// A cluster of that id is founded, with this node as its only member; then `set_state`.
    Found(ClusterId),
    /// A peer is asked to let this node join its cluster, or to found one; then `set_state` or `not_joined`.
    Join(SeedNode),
    /// It is a member, and serves as one.
    GoOn,
    /// It serves alone, as it always did.
    StayAlone,
    /// To be said once in the log, and shown as long as it lasts.
    Wait(WaitReason),
    /// The start ends with this sentence.
    GiveUp(FormationFailure),
}

/// What becomes of a node that asks this one to let it join.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Admission {
    /// It can be let in: this node belongs to a cluster.
    Open(ClusterId),
    /// It asks again, soon.
    Later(String),
}

/// What is going on.
#[derive(Debug)]
enum Stage {
    Idle { next_at: u64 },
    Discovering { until: u64 },
    Asking { waiting: BTreeSet<NodeName>, until: u64 },
    Canvassing { canvass: Canvass, until: u64 },
    Joining { peer: SeedNode },
    Settled,
}

/// A bid that runs.
#[derive(Debug)]
struct Canvass {
    bid: Bid,
    needed: usize,
    promised: BTreeMap<NodeName, Option<(Bid, Founder)>>,
    /// What was put to all once enough had promised.
    put: Option<Founder>,
    agreed: BTreeSet<NodeName>,
}

/// What a peer has said in this round.
#[derive(Debug)]
enum PeerAnswer {
    Status(Status),
    Failure(String),
}

/// A node on its way into a cluster.
#[derive(Debug)]
pub struct Formation {
    own: OwnIdentity,
    state: NodeState,
    settings: Settings,
    consent: Consent,
    /// The id of the cluster, should this node found one.
    draw: ClusterId,
    leader: Option<(NodeName, Address)>,
    listed: Vec<SeedNode>,
    heard: BTreeMap<NodeName, PeerAnswer>,
    stage: Stage,
    /// What a majority has agreed on, as far as is known.
    chosen: Option<Founder>,
    /// Of a node that could stay alone: another wants to join it.
    is_asked_to_found: bool,
    highest_round: u64,
    /// Questions under way: whose answers are waited for.
    asked: BTreeMap<u64, NodeName>,
    last_number: u64,
    failures: u32,
    last_failure: Option<String>,
    majority_since: Option<u64>,
    waiting: Option<WaitReason>,
    gave_up: Option<FormationFailure>,
    /// How it ended, as it was ordered last: to be ordered once.
    last_end: Option<Order>,
}

impl Formation {
    /// Begins. `kept` is what this directory has kept, and `draw` a number of its own, drawn anew at each start.
    #[must_use]
    pub fn new(own: OwnIdentity, state: NodeState, settings: Settings, kept: Consent, draw: ClusterId) -> Self {
        let highest_round = kept.promised.as_ref().map_or(0, |bid| bid.round);
        Formation {
            own,
            state,
            settings,
            consent: kept,
            draw,
            leader: None,
            listed: Vec::new(),
            heard: BTreeMap::new(),
            stage: Stage::Idle { next_at: 0 },
            chosen: None,
            is_asked_to_found: false,
            highest_round,
            asked: BTreeMap::new(),
            last_number: 0,
            failures: 0,
            last_failure: None,
            majority_since: None,
            waiting: None,
            gave_up: None,
            last_end: None,
        }
    }

    /// What this node says of itself.
    #[must_use]
    pub fn status(&self) -> Status {
        Status {
            name: self.own.name.clone(),
            member: self.own.member,
            state: self.state,
            leader: self.leader.clone(),
            chosen: self.chosen.clone(),
            level: self.own.level,
            version: self.own.version.clone(),
        }
    }

    /// What it waits for, if it does.
    #[must_use]
    pub fn waiting(&self) -> Option<&WaitReason> {
        self.waiting.as_ref()
    }

    /// Why it has given up, if it has.
    #[must_use]
    pub fn gave_up(&self) -> Option<&FormationFailure> {
        self.gave_up.as_ref()
    }

    /// Names have been found.
    pub fn discovered(&mut self, mut names: Vec<SeedNode>) {
        names.sort_unstable();
        names.dedup_by(|a, b| a.name == b.name);
        self.listed = names;
        self.failures = 0;
        self.last_failure = None;
        self.begin_asking();
    }

    /// Names could not be found.
    pub fn not_discovered(&mut self, why: &str, now: u64) {
        if !matches!(self.stage, Stage::Discovering { .. }) {
            return;
        }
        self.failures += 1;
        self.last_failure = Some(why.to_owned());
        self.stage = Stage::Idle { next_at: now + self.settings.interval_ms };
    }

    /// This node has founded a cluster, joined one, or been reset.
    pub fn set_state(&mut self, state: NodeState) {
        self.state = state;
        self.stage = Stage::Settled;
        self.is_asked_to_found = false;
    }

    /// The node that leads this node's cluster, for nodes that ask.
    pub fn set_leader(&mut self, leader: Option<(NodeName, Address)>) {
        self.leader = leader;
    }

    /// A peer has not let this node join. `is_final`: it never will.
    pub fn not_joined(&mut self, why: &str, is_final: bool, now: u64) {
        let Stage::Joining { peer } = &self.stage else { return };
        let by = peer.name.clone();
        if is_final {
            self.gave_up = Some(FormationFailure::Refused { by, why: why.to_owned() });
            self.stage = Stage::Settled;
        } else {
            self.waiting_anew(WaitReason::Join { by, why: Some(why.to_owned()) });
            self.stage = Stage::Idle { next_at: now + self.settings.interval_ms };
        }
    }

    /// Another node, or an operator on it, asks to be let in.
    pub fn asked_to_let_join(&mut self, by: &NodeName, now: u64) -> Admission {
        if let NodeState::Member(cluster) = self.state {
            return Admission::Open(cluster);
        }
        let can_stay_alone = self.state == NodeState::HasData || !self.settings.is_configured;
        if !can_stay_alone {
            let reason = self.waiting.as_ref().map_or_else(|| "it has just started".to_owned(), WaitReason::to_string);
            return Admission::Later(format!("{} belongs to no cluster itself: {reason}", self.own.name));
        }
        if !self.is_asked_to_found {
            self.is_asked_to_found = true;
            self.stage = Stage::Idle { next_at: now };
        }
        let reason = self.waiting.as_ref().map_or_else(String::new, |waiting| format!(", {waiting}"));
        Admission::Later(format!("{} forms a cluster first, for {by}{reason}", self.own.name))
    }

    /// Another node asks. What is returned first, if anything, is written and synced before the reply leaves.
    pub fn asked(&mut self, question: &Question) -> (Option<Consent>, Reply) {
        if matches!(self.state, NodeState::Member(_)) {
            return (None, Reply::Status(self.status()));
        }
        let before = self.consent.clone();
        let reply = match question {
            Question::Status => Reply::Status(self.status()),
            Question::Promise(bid) => match self.consent.promise(bid) {
                Ok(()) => Reply::Promised(bid.clone(), self.consent.agreed.clone()),
                Err(higher) => Reply::Outbid(higher),
            },
            Question::Agree(bid, founder) => match self.consent.agree(bid, founder) {
                Ok(()) => Reply::Agreed(bid.clone()),
                Err(higher) => Reply::Outbid(higher),
            },
        };
        if let Some(bid) = &self.consent.promised {
            self.highest_round = self.highest_round.max(bid.round);
        }
        ((self.consent != before).then(|| self.consent.clone()), reply)
    }

    /// A peer has answered.
    pub fn answered(&mut self, number: u64, reply: Reply) {
        if let Some(peer) = self.asked.remove(&number) {
            self.take_reply(&peer, reply);
        }
    }

    /// A peer has not answered.
    pub fn unanswered(&mut self, number: u64, why: &str) {
        let Some(peer) = self.asked.remove(&number) else { return };
        if let Stage::Asking { waiting, .. } = &mut self.stage {
            waiting.remove(&peer);
            self.heard.insert(peer, PeerAnswer::Failure(why.to_owned()));
        }
    }

    /// When to call `run` again, if nothing is heard before. `None`: there is no need to.
    #[must_use]
    pub fn next_at(&self) -> Option<u64> {
        match &self.stage {
            Stage::Idle { next_at } => Some(*next_at),
            Stage::Discovering { until } | Stage::Asking { until, .. } | Stage::Canvassing { until, .. } => {
                Some(*until)
            }
            Stage::Joining { .. } | Stage::Settled => None,
        }
    }
}
