//! A join that an operator has ordered: the node asks again and again, until it is let in, refused, or time is up.

use std::time::{Duration, Instant};

use consensus::MemberId;

use super::discovery::JoinTarget;
use super::inbox::Reply;
use super::report::JoinReply;
use crate::address::Address;
use crate::control::ControlError;
use crate::formation::SeedNode;
use crate::peers::{NameError, PeerStatistics};
use crate::roster::Roster;
use crate::wire::{Lane, NodeName};

/// Between two tries to join.
const JOIN_INTERVAL: Duration = Duration::from_millis(300);
/// How long an operator waits for a node that cannot be reached.
const UNREACHABLE_TIMEOUT: Duration = Duration::from_secs(5);

/// See the module. One at a time.
#[derive(Default)]
pub(super) struct OperatorJoin(Option<Attempt>);

struct Attempt {
    target: JoinTarget,
    /// As which member this node is to join.
    member: MemberId,
    next_at: Instant,
    begun_at: Instant,
    until: Instant,
    /// Why it was not let in yet.
    why: Option<String>,
    /// The target answers, and is not ready yet.
    is_reached: bool,
    /// Why the target does not want this node.
    rejection: Option<String>,
    reply: Reply,
}

/// What is to be done now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum JoinStep {
    /// The node is asked to let this one in, as that member.
    Ask(SeedNode, MemberId),
    /// Which node is at that address is to be found out.
    FindName(Address),
}

/// A cluster has let this node in.
pub(super) struct JoinPermit {
    pub(super) member: MemberId,
    pub(super) roster: Roster,
    pub(super) reply: Reply,
}

impl OperatorJoin {
    pub(super) fn is_under_way(&self) -> bool {
        self.0.is_some()
    }

    pub(super) fn begin(
        &mut self,
        target: JoinTarget,
        member: MemberId,
        reply: Reply,
        order_timeout: Duration,
        now: Instant,
    ) {
        self.0 = Some(Attempt {
            target,
            member,
            next_at: now,
            begun_at: now,
            until: now + order_timeout,
            why: None,
            is_reached: false,
            rejection: None,
            reply,
        });
    }

    /// What is to be done now, if it is time to. `statistics`: of the links of this node. `answer_timeout`: how long a try may take.
    pub(super) fn advance(
        &mut self,
        now: Instant,
        answer_timeout: Duration,
        statistics: impl FnOnce() -> Vec<PeerStatistics>,
    ) -> Option<JoinStep> {
        let attempt = self.0.as_mut()?;
        if let Some(error) = attempt.why_no_answer(now, statistics) {
            self.fail(error);
            return None;
        }
        if now >= attempt.until {
            let (by, why) = (attempt.target.to_string(), attempt.why.take());
            self.fail(ControlError::Refused { by, why: why.unwrap_or_else(|| "no answer".to_owned()) });
            return None;
        }
        if now < attempt.next_at {
            return None;
        }
        attempt.next_at = now + JOIN_INTERVAL + answer_timeout;
        Some(match attempt.target.clone() {
            JoinTarget::Node(peer) => JoinStep::Ask(peer, attempt.member),
            JoinTarget::At(address) => JoinStep::FindName(address),
        })
    }

    /// A peer does not want this node: for good, by this sentence, or for now.
    pub(super) fn rejected(&mut self, peer: &NodeName, sentence: Option<String>) {
        let Some(attempt) = &mut self.0 else { return };
        if matches!(&attempt.target, JoinTarget::Node(target) if target.name == *peer) {
            attempt.is_reached = sentence.is_none();
            attempt.rejection = sentence;
        }
    }

    /// It was found out which node is at an address, or why that is not known.
    pub(super) fn named(&mut self, address: Address, name: Result<NodeName, NameError>, now: Instant) {
        let Some(attempt) = self.0.as_mut().filter(|attempt| attempt.target == JoinTarget::At(address.clone())) else {
            return;
        };
        match name {
            Ok(name) => {
                attempt.target = JoinTarget::Node(SeedNode { name, address });
                attempt.next_at = now;
            }
            Err(NameError { sentence, is_final: true, .. }) => self.fail(ControlError::Impossible(sentence)),
            Err(NameError { sentence, is_reached: false, .. }) if attempt.is_unreachable(now) => {
                let name = attempt.target.to_string();
                self.fail(ControlError::Unreachable { name, why: sentence });
            }
            Err(NameError { sentence, .. }) => {
                attempt.next_at = now + JOIN_INTERVAL;
                attempt.why = Some(sentence);
            }
        }
    }

    /// The target has answered. Returns the permit, if this node may join: then the order is the caller's to answer.
    pub(super) fn answered(
        &mut self,
        peer: &SeedNode,
        member: MemberId,
        answer: JoinReply,
        now: Instant,
    ) -> Option<JoinPermit> {
        let is_meant =
            |attempt: &&mut Attempt| attempt.member == member && attempt.target == JoinTarget::Node(peer.clone());
        let attempt = self.0.as_mut().filter(is_meant)?;
        attempt.next_at = now + JOIN_INTERVAL;
        match answer {
            JoinReply::Later(why) => attempt.why = Some(why),
            JoinReply::Elsewhere(name, address) => {
                attempt.target = JoinTarget::Node(SeedNode { name, address });
                attempt.next_at = now;
            }
            JoinReply::Never(why) => {
                let by = attempt.target.to_string();
                self.fail(ControlError::Refused { by, why });
            }
            JoinReply::Open(roster) => {
                let Attempt { member, reply, .. } = self.0.take()?;
                return Some(JoinPermit { member, roster, reply });
            }
        }
        None
    }

    fn fail(&mut self, error: ControlError) {
        if let Some(attempt) = self.0.take() {
            attempt.reply.give(Err(error));
        }
    }
}

impl Attempt {
    /// Whether it had time enough to reach the target.
    fn is_unreachable(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.begun_at) >= UNREACHABLE_TIMEOUT
    }

    /// Why the target does not answer, once it had time enough.
    fn why_no_answer(&self, now: Instant, statistics: impl FnOnce() -> Vec<PeerStatistics>) -> Option<ControlError> {
        let JoinTarget::Node(peer) = &self.target else { return None };
        if self.is_reached || !self.is_unreachable(now) {
            return None;
        }
        let of_peer = statistics().into_iter().find(|of| of.name == peer.name)?;
        if of_peer.is_connected(Lane::Calls) {
            return None;
        }
        let name = self.target.to_string();
        let unreachable = || Some(ControlError::Unreachable { name, why: of_peer.last_failure? });
        self.rejection.clone().map(ControlError::Impossible).or_else(unreachable)
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot::{self, Receiver};

    use super::*;
    use crate::wire::ClusterId;

    const ANSWER_TIMEOUT: Duration = Duration::from_secs(3);
    const ORDER_TIMEOUT: Duration = Duration::from_secs(60);

    type Outcome = Receiver<Result<String, ControlError>>;

    fn seed(letter: char) -> SeedNode {
        let name = NodeName::new(&format!("rabbit@{letter}")).unwrap();
        SeedNode { name, address: Address::new(&letter.to_string(), 25_672).unwrap() }
    }

    fn member() -> MemberId {
        MemberId::new(7).unwrap()
    }

    fn begun(target: JoinTarget, now: Instant) -> (OperatorJoin, Outcome) {
        let (tx, outcome) = oneshot::channel();
        let mut join = OperatorJoin::default();
        join.begin(target, member(), Reply::Here(tx), ORDER_TIMEOUT, now);
        (join, outcome)
    }

    fn advance(join: &mut OperatorJoin, now: Instant) -> Option<JoinStep> {
        join.advance(now, ANSWER_TIMEOUT, Vec::new)
    }

    #[track_caller]
    fn check_fails(join: &OperatorJoin, mut outcome: Outcome, expected: &str) {
        assert!(!join.is_under_way());
        assert_eq!(outcome.try_recv().unwrap().unwrap_err().to_string(), expected);
    }

    #[test]
    fn a_node_asks_until_it_is_let_in() {
        let start = Instant::now();
        let (mut join, _outcome) = begun(JoinTarget::At(seed('b').address), start);
        assert_eq!(advance(&mut join, start), Some(JoinStep::FindName(seed('b').address)));
        assert_eq!(advance(&mut join, start), None);
        join.named(seed('b').address, Ok(seed('b').name), start);
        assert_eq!(advance(&mut join, start), Some(JoinStep::Ask(seed('b'), member())));
        assert!(join.answered(&seed('b'), member(), JoinReply::Later("it forms".to_owned()), start).is_none());
        assert_eq!(advance(&mut join, start + JOIN_INTERVAL), Some(JoinStep::Ask(seed('b'), member())));
        let elsewhere = JoinReply::Elsewhere(seed('c').name, seed('c').address);
        assert!(join.answered(&seed('b'), member(), elsewhere, start).is_none());
        assert_eq!(advance(&mut join, start), Some(JoinStep::Ask(seed('c'), member())), "the leader, at once");
        let open = || JoinReply::Open(Roster::new(ClusterId::new(5).unwrap()));
        assert!(join.answered(&seed('b'), member(), open(), start).is_none(), "an old answer");
        assert!(join.answered(&seed('c'), member(), open(), start).is_some());
        assert!(!join.is_under_way());
    }

    #[test]
    fn a_refusal_ends_it() {
        let start = Instant::now();
        let (mut join, outcome) = begun(JoinTarget::Node(seed('b')), start);
        join.answered(&seed('b'), member(), JoinReply::Never("it is full".to_owned()), start);
        check_fails(&join, outcome, "rabbit@b refuses: it is full");
    }

    #[test]
    fn time_ends_it_with_the_last_reason() {
        let start = Instant::now();
        let (mut join, outcome) = begun(JoinTarget::Node(seed('b')), start);
        join.answered(&seed('b'), member(), JoinReply::Later("it forms".to_owned()), start);
        assert_eq!(advance(&mut join, start + ORDER_TIMEOUT), None);
        check_fails(&join, outcome, "rabbit@b refuses: it forms");
    }

    #[test]
    fn an_address_that_no_node_answers_at_ends_it_after_a_while() {
        let start = Instant::now();
        let (mut join, outcome) = begun(JoinTarget::At(seed('b').address), start);
        let no_name = || Err(NameError { sentence: "no one listens".to_owned(), is_final: false, is_reached: false });
        join.named(seed('b').address, no_name(), start);
        assert!(join.is_under_way());
        join.named(seed('b').address, no_name(), start + UNREACHABLE_TIMEOUT);
        check_fails(&join, outcome, "b:25672 cannot be reached: no one listens");
    }
}
