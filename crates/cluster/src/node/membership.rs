//! Which nodes belong to this node's cluster: the roster, the changes that are planned, and nodes that were removed a moment ago.
//!
//! A member is listened to once it has reported how far it is, and has found this one to be what it was: one that comes back with less than
//! it has reported before has lost what it had acknowledged, and must not vote or acknowledge again.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use consensus::{MemberId, Members};

use super::loss::{KnownMember, find_loss};
use super::plans::Plans;
use super::report::{JoinReply, PeerRejection, Report};
use crate::address::Address;
use crate::formation::SeedNode;
use crate::peers::PeerAddress;
use crate::plan::Aim;
use crate::roster::{Node, Roster, RosterUpdate, Stranger};
use crate::wire::{ClusterId, ExpectedPeer, Identity, NodeName};

/// How long a node that was removed is still talked to: it may wait for an answer.
const FAREWELL: Duration = Duration::from_secs(2);

/// See the module.
#[derive(Default)]
pub(super) struct Membership {
    /// None: this node belongs to no cluster.
    roster: Option<Roster>,
    plans: Plans,
    /// Nodes that were removed, and since when.
    removed: BTreeMap<MemberId, Instant>,
    /// Why this node is no longer a member, if its peers report that.
    own_removal: Option<String>,
}

/// What is known when a node reports itself.
pub(super) struct ReportFacts<'a> {
    pub(super) own: &'a NodeName,
    /// The members of the group, as far as applied here.
    pub(super) members: &'a Members,
    /// What the node has reported last.
    pub(super) last_report: Option<&'a Report>,
    /// Up to which entry the member has promised to have all.
    pub(super) promised: u64,
    pub(super) now_ms: u64,
}

/// What became of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReportOutcome {
    /// A later one has come before it.
    Outdated,
    /// It counts.
    Taken(RosterUpdate),
}

/// A node that was removed from the group, and is no longer in the roster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RemovedMember {
    pub(super) member: MemberId,
    pub(super) name: NodeName,
}

impl Membership {
    /// Of a node whose directory is that of a member of this cluster; None: it is no member's.
    pub(super) fn new(roster: Option<Roster>) -> Self {
        Membership { roster, ..Membership::default() }
    }

    pub(super) fn roster(&self) -> Option<&Roster> {
        self.roster.as_ref()
    }

    /// Which cluster this node belongs to.
    pub(super) fn cluster(&self) -> Option<ClusterId> {
        self.roster.as_ref().map(Roster::cluster)
    }

    /// Whether a calling node belongs to the same cluster.
    pub(super) fn is_peer(&self, identity: &Identity) -> bool {
        identity.cluster.is_some() && identity.cluster == self.cluster()
    }

    /// All nodes, by name.
    pub(super) fn nodes(&self) -> impl Iterator<Item = (&NodeName, &Node)> {
        self.roster.iter().flat_map(Roster::iter)
    }

    pub(super) fn node(&self, name: &NodeName) -> Option<&Node> {
        self.roster.as_ref()?.node(name)
    }

    /// The id of the node of a name, which an operator may have given.
    pub(super) fn find(&self, name: &str) -> Option<(NodeName, MemberId)> {
        let name = NodeName::new(name)?;
        let member = self.node(&name)?.member;
        Some((name, member))
    }

    pub(super) fn name_of(&self, member: MemberId) -> Option<&NodeName> {
        Some(self.roster.as_ref()?.of_member(member)?.0)
    }

    pub(super) fn plans(&mut self) -> &mut Plans {
        &mut self.plans
    }

    /// Whether a member is about to join.
    pub(super) fn expects(&self, member: MemberId) -> bool {
        self.plans.expects(member)
    }

    /// Whether a member was removed a moment ago, and is in the roster for its answer only.
    pub(super) fn is_leaving(&self, member: MemberId) -> bool {
        self.removed.contains_key(&member)
    }

    /// Why this node is no longer a member, if its peers report that.
    pub(super) fn own_removal(&self) -> Option<&str> {
        self.own_removal.as_deref()
    }

    /// Peers report that this node is no longer a member.
    pub(super) fn set_own_removal(&mut self, why: String) {
        self.own_removal = Some(why);
    }

    /// Peers know this node as a member.
    pub(super) fn forget_own_removal(&mut self) {
        self.own_removal = None;
    }

    /// This node belongs to a cluster from now on.
    pub(super) fn enter(&mut self, roster: Roster) {
        self.roster = Some(roster);
    }

    /// This node has left its cluster.
    pub(super) fn leave(&mut self) {
        *self = Membership::default();
    }

    /// The peers that this node's links connect to: all nodes of the cluster, and seed nodes that are not in it yet.
    pub(super) fn peer_addresses(&self, own: &NodeName, seeds: &[SeedNode]) -> Vec<PeerAddress> {
        let mut peers: Vec<PeerAddress> = Vec::new();
        for (name, node) in self.nodes() {
            peers.push(peer_address(name, &node.address, Some(node.member)));
        }
        for SeedNode { name, address } in seeds {
            if peers.iter().all(|peer| peer.node.name != *name) {
                peers.push(peer_address(name, address, None));
            }
        }
        peers.retain(|peer| peer.node.name != *own);
        peers
    }

    /// A node has reported its identity and progress: an error is why the report cannot be used.
    pub(super) fn take_report(
        &mut self,
        report: &Report,
        cluster: Option<ClusterId>,
        facts: &ReportFacts<'_>,
    ) -> Result<ReportOutcome, PeerRejection> {
        let stranger = |why: Stranger| PeerRejection::Stranger(why.to_string());
        let ReportFacts { own, members, last_report, promised, now_ms } = *facts;
        let Some(roster) = &mut self.roster else {
            return Err(PeerRejection::Stranger(format!("{own} belongs to no cluster")));
        };
        let is_new = members.voters.is_empty();
        if !is_new && !members.has(report.member) && !self.plans.expects(report.member) {
            return Err(PeerRejection::Stranger(format!(
                "{} no longer belongs to this cluster: reset it (warren ctl force_reset), and it may join as a new one",
                report.name
            )));
        }
        let mut is_changed = false;
        match roster.node(&report.name) {
            Some(node) if node.member == report.member && node.address == report.address => {}
            Some(node) if node.member != report.member && members.has(report.member) && !members.has(node.member) => {
                roster.replace(&report.name, report.member).map_err(stranger)?;
                is_changed = true;
            }
            _ => {
                let update = roster.add(&report.name, report.member, report.address.clone()).map_err(stranger)?;
                is_changed |= update == RosterUpdate::Changed;
            }
        }
        let last_report = last_report.filter(|last| last.member == report.member);
        if last_report.is_some_and(|last| is_later(last, report)) {
            return Ok(ReportOutcome::Outdated);
        }
        let incarnation = roster.node(&report.name).map_or(0, |node| node.incarnation);
        // What is refused changes nothing of what is known: it is refused as often as it comes.
        if let Some(loss) = find_loss(report, KnownMember { incarnation, promised }) {
            return Err(PeerRejection::Lost(loss));
        }
        let identity = Identity {
            cluster,
            name: report.name.clone(),
            member: Some(report.member),
            incarnation: report.incarnation,
            level: report.level,
        };
        let outcome = roster.update(&identity, Some(&report.version), now_ms, |_| true).map_err(stranger)?;
        Ok(ReportOutcome::Taken(if is_changed { RosterUpdate::Changed } else { outcome }))
    }

    /// Learns from a peer's roster where other members of the group are.
    pub(super) fn merge(&mut self, other: &Roster, own: (&NodeName, MemberId), members: &Members) -> RosterUpdate {
        let is_new = members.voters.is_empty();
        let Some(roster) = self.roster.as_mut().filter(|roster| roster.cluster() == other.cluster()) else {
            return RosterUpdate::Unchanged;
        };
        let mut is_changed = false;
        for (name, node) in other.iter() {
            let is_other = name != own.0 && node.member != own.1;
            if !is_other || !(is_new || members.has(node.member)) {
                continue;
            }
            match roster.node(name) {
                // What a node reports of itself counts for more.
                Some(known) if known.member == node.member => {}
                Some(known) if members.has(known.member) => {}
                Some(_) => {
                    is_changed |= roster.replace(name, node.member).is_ok();
                    is_changed |= roster.add(name, node.member, node.address.clone()).is_ok();
                }
                None => is_changed |= roster.add(name, node.member, node.address.clone()).is_ok(),
            }
        }
        if is_changed { RosterUpdate::Changed } else { RosterUpdate::Unchanged }
    }

    /// Takes nodes out of the roster that no longer belong to the group, a moment after they were removed from it.
    pub(super) fn prune(&mut self, own: MemberId, members: &Members, now: Instant) -> Vec<RemovedMember> {
        let Some(roster) = self.roster.as_mut().filter(|_| !members.voters.is_empty()) else { return Vec::new() };
        let is_removed = |member: MemberId| !members.has(member) && !self.plans.expects(member) && member != own;
        let found: Vec<_> = roster.iter().map(|(_, node)| node.member).filter(|member| is_removed(*member)).collect();
        self.removed.retain(|member, _| found.contains(member));
        for member in &found {
            self.removed.entry(*member).or_insert(now);
        }
        let is_over = |member: &MemberId| self.removed.get(member).is_some_and(|since| now - *since >= FAREWELL);
        let pruned = found.into_iter().filter(is_over);
        pruned.filter_map(|member| Some(RemovedMember { member, name: roster.remove(member)? })).collect()
    }

    /// What becomes of a node that asks the leader, which this node is, to let it join. If it may, that is planned.
    pub(super) fn admit(&mut self, report: &Report, members: &Members, is_connected: bool) -> JoinReply {
        let Some(roster) = &mut self.roster else { return JoinReply::Later("it forms a cluster".to_owned()) };
        let name = &report.name;
        if report.level < roster.level() {
            let (known, level) = (report.level, roster.level());
            return JoinReply::Never(format!("{name} knows formats up to level {known}, and {level} is in use"));
        }
        if !members.has(report.member) && !report.is_new {
            return JoinReply::Never(format!(
                "{name} was taken out of the cluster: reset it (warren ctl force_reset), and it may join as a new one"
            ));
        }
        let (aim, added) = match roster.node(name).map(|node| node.member) {
            Some(old) if old != report.member && is_connected && members.has(old) => {
                let name = name.clone();
                return JoinReply::Never(Stranger::Taken { name, known: old, claimed: report.member }.to_string());
            }
            Some(old) if old != report.member => {
                (Aim::Replace { old, new: report.member }, roster.replace(name, report.member))
            }
            _ => (Aim::Join(report.member), Ok(())),
        };
        let added = added.and_then(|()| roster.add(name, report.member, report.address.clone()));
        if let Err(why) = added {
            return JoinReply::Never(why.to_string());
        }
        if !self.plans.expects(report.member) && !members.voters.contains(&report.member) {
            tracing::info!(node = name.as_str(), member = report.member.get(), "a node joins the cluster");
            self.plans.add(aim);
        }
        JoinReply::Open(roster.clone())
    }
}

/// Whether one report was made after another one of the same start.
fn is_later(one: &Report, other: &Report) -> bool {
    one.incarnation == other.incarnation && one.number > other.number
}

fn peer_address(name: &NodeName, address: &Address, member: Option<MemberId>) -> PeerAddress {
    PeerAddress {
        node: ExpectedPeer { name: name.clone(), member },
        host: address.host().to_owned(),
        port: address.port(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::report::tests::report;
    use super::*;

    fn id(number: u64) -> MemberId {
        MemberId::new(number).unwrap()
    }

    fn cluster() -> ClusterId {
        ClusterId::new(5).unwrap()
    }

    fn name(letter: char) -> NodeName {
        NodeName::new(&format!("rabbit@{letter}")).unwrap()
    }

    fn address(letter: char) -> Address {
        Address::new(&letter.to_string(), 25_672).unwrap()
    }

    fn voters(numbers: &[u64]) -> Members {
        Members { voters: numbers.iter().copied().map(id).collect(), ..Members::default() }
    }

    /// Node `o`, member 1, with these others.
    fn membership(others: &[(char, u64)]) -> Membership {
        let mut roster = Roster::new(cluster());
        roster.add(&name('o'), id(1), address('o')).unwrap();
        for (letter, member) in others {
            roster.add(&name(*letter), id(*member), address(*letter)).unwrap();
        }
        Membership::new(Some(roster))
    }

    fn take_report(
        membership: &mut Membership,
        report: &Report,
        members: &Members,
        last_report: Option<&Report>,
        promised: u64,
    ) -> Result<ReportOutcome, PeerRejection> {
        let facts = ReportFacts { own: &name('o'), members, last_report, promised, now_ms: 1 };
        membership.take_report(report, Some(cluster()), &facts)
    }

    #[test]
    fn a_report_counts_unless_a_later_one_came_before_it() {
        let (mut membership, members) = (membership(&[('a', 7)]), voters(&[1, 7]));
        let first = take_report(&mut membership, &report(), &members, None, 0);
        assert_eq!(first, Ok(ReportOutcome::Taken(RosterUpdate::Changed)), "its address and its start are news");
        let later = Report { number: 6, ..report() };
        let again = take_report(&mut membership, &later, &members, Some(&report()), 0);
        assert_eq!(again, Ok(ReportOutcome::Taken(RosterUpdate::Unchanged)));
        assert_eq!(take_report(&mut membership, &report(), &members, Some(&later), 0), Ok(ReportOutcome::Outdated));
    }

    #[test]
    fn a_member_that_lost_what_it_promised_is_refused_and_nothing_of_it_is_kept() {
        let (mut membership, members) = (membership(&[('a', 7)]), voters(&[1, 7]));
        let outcome = take_report(&mut membership, &report(), &members, None, 12);
        assert!(matches!(outcome, Err(PeerRejection::Lost(_))), "{outcome:?}");
        assert_eq!(membership.node(&name('a')).unwrap().incarnation, 0);
    }

    #[test]
    fn a_node_that_no_one_expects_is_a_stranger() {
        let mut membership = membership(&[]);
        let outcome = take_report(&mut membership, &report(), &voters(&[1]), None, 0);
        assert!(matches!(outcome, Err(PeerRejection::Stranger(_))), "{outcome:?}");
        membership.plans().add(Aim::Join(report().member));
        assert!(take_report(&mut membership, &report(), &voters(&[1]), None, 0).is_ok());
    }

    #[test]
    fn a_removed_node_stays_in_the_roster_for_its_answer() {
        let (mut membership, start) = (membership(&[('a', 7)]), Instant::now());
        assert_eq!(membership.prune(id(1), &voters(&[]), start), [], "the members are not known yet");
        assert_eq!(membership.prune(id(1), &voters(&[1]), start), []);
        assert!(membership.is_leaving(id(7)));
        assert_eq!(membership.prune(id(1), &voters(&[1]), start + FAREWELL / 2), []);
        let removed = RemovedMember { member: id(7), name: name('a') };
        assert_eq!(membership.prune(id(1), &voters(&[1]), start + FAREWELL), [removed]);
        assert!(membership.node(&name('a')).is_none());
    }

    #[test]
    fn a_name_is_given_to_another_member_only_when_the_old_one_is_not_connected() {
        let members = voters(&[1, 3]);
        let joining = Report { is_new: true, ..report() };
        let mut membership = membership(&[('a', 3)]);
        assert!(matches!(membership.admit(&joining, &members, true), JoinReply::Never(_)));
        assert!(matches!(membership.admit(&joining, &members, false), JoinReply::Open(_)));
        assert!(membership.expects(joining.member));
        assert_eq!(membership.node(&name('a')).unwrap().member, joining.member);
    }

    #[test]
    fn a_member_that_was_removed_does_not_join_with_its_old_directory() {
        let reply = membership(&[]).admit(&Report { is_new: false, ..report() }, &voters(&[1]), false);
        assert!(matches!(reply, JoinReply::Never(_)), "{reply:?}");
    }

    #[test]
    fn links_go_to_all_other_nodes_and_to_seeds_that_are_no_members_yet() {
        let seeds = ['a', 'b', 'o'].map(|letter| SeedNode { name: name(letter), address: address(letter) });
        let addresses = membership(&[('a', 7)]).peer_addresses(&name('o'), &seeds);
        let peers: Vec<_> = addresses.iter().map(|peer| (peer.node.name.clone(), peer.node.member)).collect();
        assert_eq!(peers, [(name('a'), Some(id(7))), (name('b'), None)]);
    }
}
