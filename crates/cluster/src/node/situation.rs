//! Where clients go while this node does not serve them.

use std::time::Duration;

use crate::wire::NodeName;

/// What becomes of clients of a node that serves none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Situation {
    /// They are passed on to this peer.
    Following(NodeName),
    /// They are held: it is about to be known where they go.
    Waiting,
    /// They are held: this node was elected, and is about to serve them. No other one still does.
    Elected,
    /// They are refused, with this reason.
    Refusing(String),
}

/// How many of the voters can be reached, this node included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Reach {
    pub(super) reachable: usize,
    pub(super) of: usize,
}

impl Reach {
    pub(super) fn is_majority(self) -> bool {
        self.reachable > self.of / 2
    }
}

/// What a member knows that does not serve.
pub(super) struct MemberFacts<'a> {
    pub(super) own: &'a NodeName,
    /// The node that leads, as the driver has reported it.
    pub(super) leader: Option<&'a NodeName>,
    /// By its engine this member leads.
    pub(super) is_elected: bool,
    /// Why this node is no longer a member, if its peers report that.
    pub(super) own_removal: Option<&'a str>,
    pub(super) leaderless_for: Duration,
    /// How long an election may take.
    pub(super) election_time_max: Duration,
}

/// The situation of a node that is in no cluster yet. `waits_for`: why not, if that is known.
pub(super) fn of_forming(waits_for: Option<String>) -> Situation {
    match waits_for {
        Some(why) => Situation::Refusing(format!("this node is not in a cluster yet: {why}")),
        None => Situation::Waiting,
    }
}

/// The situation of a member that does not serve.
pub(super) fn of_member(facts: &MemberFacts<'_>, reach: impl FnOnce() -> Reach) -> Situation {
    match facts.leader {
        Some(leader) if leader != facts.own => return Situation::Following(leader.clone()),
        _ if facts.is_elected => return Situation::Elected,
        Some(_) => return Situation::Waiting,
        None => {}
    }
    if let Some(why) = facts.own_removal {
        return Situation::Refusing(why.to_owned());
    }
    let reach = reach();
    if reach.is_majority() || reach.of == 0 || facts.leaderless_for < facts.election_time_max {
        return Situation::Waiting;
    }
    let Reach { reachable, of } = reach;
    Situation::Refusing(format!(
        "this node is in a minority: it reaches {reachable} of {of} nodes, itself included, and serves nothing until it reaches a \
         majority"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ELECTION: Duration = Duration::from_secs(2);

    #[track_caller]
    fn check(leader: Option<&str>, is_elected: bool, reachable: usize, leaderless_for: Duration, expected: &Situation) {
        let own = NodeName::new("rabbit@a").unwrap();
        let leader = leader.map(|leader| NodeName::new(leader).unwrap());
        let facts = MemberFacts {
            own: &own,
            leader: leader.as_ref(),
            is_elected,
            own_removal: None,
            leaderless_for,
            election_time_max: ELECTION,
        };
        assert_eq!(of_member(&facts, || Reach { reachable, of: 3 }), *expected);
    }

    #[test]
    fn clients_follow_the_leader_even_into_a_minority() {
        let following = Situation::Following(NodeName::new("rabbit@b").unwrap());
        check(Some("rabbit@b"), false, 1, ELECTION, &following);
    }

    #[test]
    fn clients_are_held_until_a_node_that_is_elected_serves() {
        check(Some("rabbit@a"), true, 3, Duration::ZERO, &Situation::Elected);
        check(Some("rabbit@a"), false, 3, Duration::ZERO, &Situation::Waiting);
    }

    #[test]
    fn a_minority_refuses_clients_after_an_election_has_had_its_time() {
        check(None, false, 1, ELECTION / 2, &Situation::Waiting);
        check(None, false, 2, ELECTION, &Situation::Waiting);
        let sentence = "this node is in a minority: it reaches 1 of 3 nodes, itself included, and serves nothing until it reaches a \
                        majority";
        check(None, false, 1, ELECTION, &Situation::Refusing(sentence.to_owned()));
    }
}
