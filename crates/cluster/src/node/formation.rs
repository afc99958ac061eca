//! The formation of this node, on the node's own clock, and the peers that it talks to before they are in a roster.

use std::time::{Duration, Instant};

use super::report::JoinReply;
use crate::address::Address;
use crate::formation::{Admission, Consent, Formation, FormationFailure, NodeState, Order, Question, Reply, SeedNode};
use crate::peers::CallError;
use crate::wire::{ClusterId, NodeName};

/// In that time peers have noticed that a node which was reset is not the member that it was.
const RESET_NOTICED_AFTER: Duration = Duration::from_secs(20);

/// See the module.
pub(super) struct NodeFormation {
    formation: Formation,
    /// Peers that discovery has found, or that an operator has named.
    seeds: Vec<SeedNode>,
    /// Since when its directory is empty: until its peers notice, they may take it for a second node of its name.
    emptied_at: Option<Instant>,
    /// The formation's clock counts from here.
    started_at: Instant,
}

impl NodeFormation {
    pub(super) fn new(formation: Formation, now: Instant) -> Self {
        NodeFormation { formation, seeds: Vec::new(), emptied_at: None, started_at: now }
    }

    /// The directory has been emptied: it forms anew.
    pub(super) fn restart(&mut self, formation: Formation, now: Instant) {
        self.formation = formation;
        self.emptied_at = Some(now);
    }

    fn now_ms(&self, now: Instant) -> u64 {
        now.saturating_duration_since(self.started_at).as_millis() as u64
    }

    /// What is to be done now.
    pub(super) fn run(&mut self, now: Instant) -> Vec<Order> {
        let mut orders = Vec::new();
        self.formation.run(self.now_ms(now), &mut orders);
        orders
    }

    /// How long it may be until it runs again, if nothing happens before.
    pub(super) fn wait_time(&self, now: Instant) -> Option<Duration> {
        let next_at = self.formation.next_at()?;
        Some(Duration::from_millis(next_at.saturating_sub(self.now_ms(now))))
    }

    pub(super) fn seeds(&self) -> &[SeedNode] {
        &self.seeds
    }

    /// A peer is to be talked to. Returns whether its address is news.
    pub(super) fn add_seed(&mut self, peer: &SeedNode) -> bool {
        let is_news = !self.seeds.contains(peer);
        if is_news {
            self.seeds.retain(|seed| seed.name != peer.name);
            self.seeds.push(peer.clone());
        }
        is_news
    }

    pub(super) fn forget_seeds(&mut self) {
        self.seeds.clear();
    }

    /// Discovery has found these names.
    pub(super) fn discovered(&mut self, names: Vec<SeedNode>) {
        self.seeds.clone_from(&names);
        self.formation.discovered(names);
    }

    pub(super) fn not_discovered(&mut self, why: &str, now: Instant) {
        self.formation.not_discovered(why, self.now_ms(now));
    }

    /// A question of the formation has been answered, or has not.
    pub(super) fn answered(&mut self, number: u64, answer: Result<Vec<u8>, CallError>) {
        match answer.map(|bytes| Reply::decode(&bytes)) {
            Ok(Ok(reply)) => self.formation.answered(number, reply),
            Ok(Err(error)) => self.formation.unanswered(number, &error.to_string()),
            Err(error) => self.formation.unanswered(number, &error.to_string()),
        }
    }

    /// Answers a question of another node's formation. `leader`: the node that leads here, and where it is. A consent that is returned is
    /// written before the reply is given.
    pub(super) fn answer(
        &mut self,
        question: &Question,
        leader: Option<(NodeName, Address)>,
    ) -> (Option<Consent>, Reply) {
        self.formation.set_leader(leader);
        self.formation.asked(question)
    }

    /// A peer has not let this node join.
    pub(super) fn not_joined(&mut self, reply: JoinRefusal, now: Instant) {
        let now_ms = self.now_ms(now);
        let (why, is_final) = match reply {
            JoinRefusal::Later(why) => (why, false),
            JoinRefusal::Never(why) => {
                let is_noticed = |at: Instant| now.saturating_duration_since(at) >= RESET_NOTICED_AFTER;
                (why, self.emptied_at.is_none_or(is_noticed))
            }
        };
        self.formation.not_joined(&why, is_final, now_ms);
    }

    /// What becomes of a node that wants to join while there is no cluster here.
    pub(super) fn answer_join(&mut self, by: &NodeName, now: Instant) -> JoinReply {
        match self.formation.asked_to_let_join(by, self.now_ms(now)) {
            Admission::Open(_) => JoinReply::Later("it is about to form a cluster".to_owned()),
            Admission::Later(why) => JoinReply::Later(why),
        }
    }

    /// This node belongs to a cluster.
    pub(super) fn set_member(&mut self, cluster: ClusterId) {
        self.formation.set_state(NodeState::Member(cluster));
    }

    /// Why there is no cluster, in words.
    pub(super) fn waits_for(&self) -> Option<String> {
        let gave_up = self.formation.gave_up().map(FormationFailure::to_string);
        gave_up.or_else(|| self.formation.waiting().map(ToString::to_string))
    }
}

/// Why a peer has not let this node join.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum JoinRefusal {
    Later(String),
    Never(String),
}

#[cfg(test)]
mod tests {
    use consensus::MemberId;

    use super::*;
    use crate::formation::{OwnIdentity, Settings, Status};

    fn seed(letter: char) -> SeedNode {
        let name = NodeName::new(&format!("rabbit@{letter}")).unwrap();
        SeedNode { name, address: Address::new(&letter.to_string(), 25_672).unwrap() }
    }

    fn cluster() -> ClusterId {
        ClusterId::new(5).unwrap()
    }

    fn formation() -> Formation {
        let own = OwnIdentity {
            name: seed('a').name,
            member: MemberId::new(1).unwrap(),
            level: 1,
            version: "1.0.0".to_owned(),
        };
        let settings = Settings { is_configured: true, ..Settings::alone() };
        Formation::new(own, NodeState::Empty, settings, Consent::default(), cluster())
    }

    /// Node `a`, which has asked `b`, a member, to let it join.
    fn joining(formation: &mut NodeFormation, now: Instant) {
        assert_eq!(formation.run(now), [Order::Discover]);
        formation.discovered(vec![seed('a'), seed('b')]);
        let orders = formation.run(now);
        let [Order::Ask { number, .. }] = &orders[..] else { panic!("{orders:?}") };
        let status = Status {
            name: seed('b').name,
            member: MemberId::new(2).unwrap(),
            state: NodeState::Member(cluster()),
            leader: None,
            chosen: None,
            level: 1,
            version: "1.0.0".to_owned(),
        };
        formation.answered(*number, Ok(Reply::Status(status).encode()));
        assert_eq!(formation.run(now).last(), Some(&Order::Join(seed('b'))));
    }

    #[test]
    fn a_node_that_was_just_reset_is_not_refused_for_good() {
        let start = Instant::now();
        let mut node = NodeFormation::new(formation(), start);
        node.restart(formation(), start);
        joining(&mut node, start);
        node.not_joined(JoinRefusal::Never("there are two of its name".to_owned()), start + RESET_NOTICED_AFTER / 2);
        let orders = node.run(start + RESET_NOTICED_AFTER / 2);
        assert!(!orders.iter().any(|order| matches!(order, Order::GiveUp(_))), "{orders:?}");
    }

    #[test]
    fn a_refusal_is_final_for_a_node_that_peers_know_as_it_is() {
        let start = Instant::now();
        let mut node = NodeFormation::new(formation(), start);
        node.restart(formation(), start);
        joining(&mut node, start);
        let later = start + RESET_NOTICED_AFTER;
        node.not_joined(JoinRefusal::Never("it was taken out".to_owned()), later);
        assert!(matches!(node.run(later)[..], [Order::GiveUp(_)]));
        assert!(node.waits_for().unwrap().contains("it was taken out"));
    }

    #[test]
    fn a_seed_has_one_address() {
        let mut node = NodeFormation::new(formation(), Instant::now());
        assert!(node.add_seed(&seed('b')) && !node.add_seed(&seed('b')));
        let moved = SeedNode { address: seed('c').address, ..seed('b') };
        assert!(node.add_seed(&moved));
        assert_eq!(node.seeds(), [moved]);
    }
}
