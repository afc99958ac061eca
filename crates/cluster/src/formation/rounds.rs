//! Rounds: look names up, ask all how they stand, decide; and, where that is to found, a bid.

use std::collections::{BTreeMap, BTreeSet};

use super::consent::{Bid, Founder};
use super::limits::{ANSWER_WAIT_MS, DISCOVERY_WAIT_MS, REST_WAIT_MS};
use super::question::{NodeState, Question, Reply, Status};
use super::reason::{FormationFailure, MissingPeer, WaitReason};
use super::{Canvass, Formation, Order, PeerAnswer, SeedNode, Stage};
use crate::wire::{ClusterId, NodeName};

/// What a round came to.
enum Decision {
    Wait(WaitReason),
    GiveUp(FormationFailure),
    Found(ClusterId),
    Join(SeedNode),
    Bid,
    /// Of a node with data: what asked it to found has to wait for ever.
    StayOutside(WaitReason),
}

impl Formation {
    /// Says what is to be done now. To be called after each fact, and at `next_at`.
    pub fn run(&mut self, now: u64, orders: &mut Vec<Order>) {
        if let Some(why) = &self.gave_up {
            let order = Order::GiveUp(why.clone());
            return self.push_once(order, orders);
        }
        match self.state {
            NodeState::Member(_) => return self.settle(Order::GoOn, orders),
            NodeState::HasData | NodeState::Empty
                if !self.is_asked_to_found && (self.state == NodeState::HasData || !self.settings.is_configured) =>
            {
                return self.settle(Order::StayAlone, orders);
            }
            _ if !self.settings.is_configured => {
                // There is no list: nothing that others could be doing meanwhile.
                let order = Order::Found(self.draw);
                self.stage = Stage::Settled;
                return self.push_once(order, orders);
            }
            _ => {}
        }
        self.begin_round(now, orders);
        self.ask_all(now, orders);
        self.end_round(now, orders);
        self.canvass(now, orders);
    }

    fn settle(&mut self, order: Order, orders: &mut Vec<Order>) {
        self.stage = Stage::Settled;
        self.waiting = match self.waiting.take() {
            Some(waiting @ WaitReason::Outside { .. }) => Some(waiting),
            _ => None,
        };
        self.push_once(order, orders);
    }

    /// What ends the formation is said once.
    fn push_once(&mut self, order: Order, orders: &mut Vec<Order>) {
        if self.last_end.as_ref() != Some(&order) {
            self.last_end = Some(order.clone());
            orders.push(order);
        }
    }

    /// A reason to wait is said when it is another one than before.
    pub(super) fn waiting_anew(&mut self, waiting: WaitReason) -> bool {
        // How long it still waits for the rest is no news.
        let is_same = match (&self.waiting, &waiting) {
            (Some(WaitReason::Rest { missing: before, .. }), WaitReason::Rest { missing, .. }) => before == missing,
            (before, waiting) => before.as_ref() == Some(waiting),
        };
        self.waiting = Some(waiting);
        !is_same
    }

    fn wait(&mut self, waiting: WaitReason, orders: &mut Vec<Order>) {
        if self.waiting_anew(waiting.clone()) {
            orders.push(Order::Wait(waiting));
        }
    }

    fn begin_round(&mut self, now: u64, orders: &mut Vec<Order>) {
        if let Stage::Discovering { until } = self.stage
            && now >= until
        {
            self.not_discovered("looking them up takes too long", now);
        }
        let Stage::Idle { next_at } = self.stage else { return };
        if let Some(why) = self.last_failure.clone() {
            if self.failures > self.settings.retry_limit {
                let why = FormationFailure::Discovery { tries: self.failures, why };
                self.gave_up = Some(why.clone());
                self.stage = Stage::Settled;
                return self.push_once(Order::GiveUp(why), orders);
            }
            self.wait(WaitReason::Discovery { why }, orders);
        }
        if now >= next_at {
            self.stage = Stage::Discovering { until: now + DISCOVERY_WAIT_MS };
            orders.push(Order::Discover);
        }
    }

    /// Names are known: all of them are to be asked.
    pub(super) fn begin_asking(&mut self) {
        if matches!(self.stage, Stage::Discovering { .. }) {
            // Until is set when they are asked: no time is known here.
            self.stage = Stage::Asking { waiting: BTreeSet::new(), until: 0 };
            self.heard.clear();
            self.asked.clear();
        }
    }

    fn ask_all(&mut self, now: u64, orders: &mut Vec<Order>) {
        let Stage::Asking { waiting, until } = &mut self.stage else { return };
        if *until != 0 {
            return;
        }
        *until = now + ANSWER_WAIT_MS;
        for peer in self.listed.iter().filter(|listed| listed.name != self.own.name) {
            waiting.insert(peer.name.clone());
            self.last_number += 1;
            self.asked.insert(self.last_number, peer.name.clone());
            orders.push(Order::Ask { number: self.last_number, peer: peer.clone(), question: Question::Status });
        }
    }

    pub(super) fn take_reply(&mut self, peer: &NodeName, reply: Reply) {
        match (&mut self.stage, reply) {
            (Stage::Asking { waiting, .. }, Reply::Status(status)) if status.name == *peer => {
                waiting.remove(peer);
                if let Some(chosen) = &status.chosen {
                    self.chosen = Some(chosen.clone());
                }
                self.heard.insert(peer.clone(), PeerAnswer::Status(status));
            }
            (Stage::Canvassing { canvass, .. }, Reply::Promised(bid, agreed)) if bid == canvass.bid => {
                canvass.promised.insert(peer.clone(), agreed);
            }
            (Stage::Canvassing { canvass, .. }, Reply::Agreed(bid)) if bid == canvass.bid && canvass.put.is_some() => {
                canvass.agreed.insert(peer.clone());
            }
            (Stage::Canvassing { until, .. }, Reply::Outbid(bid)) => {
                self.highest_round = self.highest_round.max(bid.round);
                *until = 0;
            }
            // It has become a member meanwhile.
            (Stage::Canvassing { until, .. }, Reply::Status(_)) => *until = 0,
            _ => {}
        }
    }

    fn end_round(&mut self, now: u64, orders: &mut Vec<Order>) {
        let Stage::Asking { waiting, until } = &mut self.stage else { return };
        if !waiting.is_empty() && now < *until {
            return;
        }
        for name in std::mem::take(waiting) {
            self.heard.insert(name, PeerAnswer::Failure("no answer".to_owned()));
        }
        self.stage = Stage::Idle { next_at: now + self.settings.interval_ms };
        match self.decide(now) {
            Decision::Wait(waiting) => self.wait(waiting, orders),
            Decision::StayOutside(waiting) => {
                self.is_asked_to_found = false;
                self.wait(waiting, orders);
                self.settle(Order::StayAlone, orders);
            }
            Decision::GiveUp(why) => {
                self.gave_up = Some(why.clone());
                self.stage = Stage::Settled;
                self.push_once(Order::GiveUp(why), orders);
            }
            Decision::Found(cluster) => {
                self.stage = Stage::Settled;
                self.push_once(Order::Found(cluster), orders);
            }
            Decision::Join(peer) => {
                if !matches!(&self.waiting, Some(WaitReason::Join { by, .. }) if *by == peer.name) {
                    self.wait(WaitReason::Join { by: peer.name.clone(), why: None }, orders);
                }
                self.stage = Stage::Joining { peer: peer.clone() };
                orders.push(Order::Join(peer));
            }
            Decision::Bid => {
                self.wait(WaitReason::Consent, orders);
                self.bid(now, orders);
            }
        }
    }

    fn statuses(&self) -> impl Iterator<Item = &Status> {
        self.heard.values().filter_map(|heard| match heard {
            PeerAnswer::Status(status) => Some(status),
            PeerAnswer::Failure(_) => None,
        })
    }

    fn decide(&mut self, now: u64) -> Decision {
        if let Some(decision) = self.decide_by_clusters() {
            return decision;
        }
        if let Some(chosen) = self.chosen.clone() {
            return self.decide_by_chosen(&chosen);
        }
        let with_data = self.statuses().find(|status| status.state == NodeState::HasData);
        if self.state == NodeState::Empty
            && let Some(peer) = with_data.and_then(|status| self.listed_as(&status.name))
        {
            return Decision::Join(peer);
        }
        if self.listed_as(&self.own.name).is_none() {
            return Decision::Wait(WaitReason::NotListed(self.own.name.clone()));
        }
        let missing = self.missing();
        let (reachable, of) = (self.listed.len() - missing.len(), self.listed.len().max(self.settings.size_hint));
        if reachable < self.needed() {
            self.majority_since = None;
            return Decision::Wait(WaitReason::Majority { reachable, needed: self.needed(), of, missing });
        }
        if self.state == NodeState::HasData {
            return Decision::Bid;
        }
        let since = *self.majority_since.get_or_insert(now);
        if !missing.is_empty() && now < since + REST_WAIT_MS {
            return Decision::Wait(WaitReason::Rest { missing, for_ms: since + REST_WAIT_MS - now });
        }
        match self.statuses().map(|status| &status.name).min() {
            Some(lowest) if *lowest < self.own.name => Decision::Wait(WaitReason::LowerName(lowest.clone())),
            _ => Decision::Bid,
        }
    }

    fn decide_by_clusters(&self) -> Option<Decision> {
        let mut members = self.statuses().filter_map(|status| match status.state {
            NodeState::Member(cluster) => Some((status, cluster)),
            _ => None,
        });
        let (first, cluster) = members.next()?;
        if self.state == NodeState::HasData {
            return Some(Decision::StayOutside(WaitReason::Outside { cluster, peer: first.name.clone() }));
        }
        if let Some((other, other_cluster)) = members.find(|(_, other)| *other != cluster) {
            let (one, other) = ((first.name.clone(), cluster), (other.name.clone(), other_cluster));
            return Some(Decision::GiveUp(FormationFailure::TwoClusters { one, other }));
        }
        let leader =
            first.leader.as_ref().map(|(name, address)| SeedNode { name: name.clone(), address: address.clone() });
        let peer = leader.filter(|leader| leader.name != self.own.name).or_else(|| self.listed_as(&first.name))?;
        Some(Decision::Join(peer))
    }

    fn decide_by_chosen(&self, chosen: &Founder) -> Decision {
        if chosen.name != self.own.name {
            let status = self.statuses().find(|status| status.name == chosen.name);
            return match (status, self.listed_as(&chosen.name)) {
                // It is asked, else it would stay alone.
                (Some(Status { state: NodeState::HasData, .. }), Some(peer)) if self.state == NodeState::Empty => {
                    Decision::Join(peer)
                }
                (status, _) => {
                    Decision::Wait(WaitReason::Founder { name: chosen.name.clone(), is_reachable: status.is_some() })
                }
            };
        }
        if chosen.member == self.own.member {
            return Decision::Found(chosen.cluster);
        }
        // Its directory was replaced. Whether the old one has founded is known only if all others say that they joined nothing.
        let is_empty = |name: &NodeName| self.statuses().any(|s| s.name == *name && s.state == NodeState::Empty);
        let others = self.listed.iter().map(|listed| &listed.name).filter(|name| **name != self.own.name);
        let missing: Vec<_> = others.filter(|name| !is_empty(name)).cloned().collect();
        match missing.is_empty() {
            true => Decision::Found(chosen.cluster),
            false => Decision::Wait(WaitReason::Replaced { missing }),
        }
    }

    fn listed_as(&self, name: &NodeName) -> Option<SeedNode> {
        self.listed.iter().find(|listed| listed.name == *name).cloned()
    }

    fn missing(&self) -> Vec<MissingPeer> {
        let missing = |listed: &SeedNode| match self.heard.get(&listed.name) {
            Some(PeerAnswer::Failure(why)) => Some(MissingPeer { name: listed.name.clone(), why: why.clone() }),
            _ => None,
        };
        self.listed.iter().filter_map(missing).collect()
    }

    fn needed(&self) -> usize {
        self.listed.len().max(self.settings.size_hint) / 2 + 1
    }

    fn bid(&mut self, now: u64, orders: &mut Vec<Order>) {
        self.highest_round += 1;
        let bid = Bid { round: self.highest_round, name: self.own.name.clone() };
        if self.consent.promise(&bid).is_err() {
            // Cannot be: the highest round is at least the promised one's.
            return;
        }
        orders.push(Order::Keep(self.consent.clone()));
        let mine = (self.own.name.clone(), self.consent.agreed.clone());
        let canvass = Canvass {
            bid: bid.clone(),
            needed: self.needed(),
            promised: BTreeMap::from([mine]),
            put: None,
            agreed: BTreeSet::new(),
        };
        self.stage = Stage::Canvassing { canvass, until: now + ANSWER_WAIT_MS };
        self.ask_voters(&Question::Promise(bid), orders);
    }

    /// The nodes that have answered in this round; others could not answer.
    fn ask_voters(&mut self, question: &Question, orders: &mut Vec<Order>) {
        self.asked.clear();
        let has_answered = |listed: &&SeedNode| matches!(self.heard.get(&listed.name), Some(PeerAnswer::Status(_)));
        for peer in self.listed.iter().filter(has_answered) {
            self.last_number += 1;
            self.asked.insert(self.last_number, peer.name.clone());
            orders.push(Order::Ask { number: self.last_number, peer: peer.clone(), question: question.clone() });
        }
    }

    fn canvass(&mut self, now: u64, orders: &mut Vec<Order>) {
        let Stage::Canvassing { canvass, until } = &mut self.stage else { return };
        let is_over = now >= *until;
        if canvass.put.is_none() && canvass.promised.len() >= canvass.needed {
            let before = canvass.promised.values().flatten().max_by(|(a, _), (b, _)| a.cmp(b));
            let own = Founder { name: self.own.name.clone(), member: self.own.member, cluster: self.draw };
            let founder = before.map_or(own, |(_, founder)| founder.clone());
            let bid = canvass.bid.clone();
            // Another bidder may have asked this node meanwhile.
            if self.consent.agree(&bid, &founder).is_ok() {
                canvass.put = Some(founder.clone());
                canvass.agreed.insert(self.own.name.clone());
                orders.push(Order::Keep(self.consent.clone()));
                self.ask_voters(&Question::Agree(bid, founder), orders);
            }
        }
        let Stage::Canvassing { canvass, .. } = &self.stage else { return };
        if let Some(founder) = &canvass.put
            && canvass.agreed.len() >= canvass.needed
        {
            let founder = founder.clone();
            self.chosen = Some(founder.clone());
            self.stage = Stage::Idle { next_at: now };
            match self.decide_by_chosen(&founder) {
                Decision::Found(cluster) => {
                    self.stage = Stage::Settled;
                    self.push_once(Order::Found(cluster), orders);
                }
                Decision::Wait(waiting) => {
                    self.stage = Stage::Idle { next_at: now + self.settings.interval_ms };
                    self.wait(waiting, orders);
                }
                // The next round finds it.
                _ => {}
            }
        } else if is_over {
            self.stage = Stage::Idle { next_at: now + self.settings.interval_ms };
        }
    }
}
