//! How members are added and removed: one change after the other, and never to where nothing can be decided.

use cluster::{Action, Aim, CAUGHT_UP_ENTRIES, Facts, MembershipPlan, PlanRefusal, PlanWaits};
use consensus::{Index, MemberId, MemberStep, Members, PeerStatus};
use proptest::prelude::*;

fn id(number: u64) -> MemberId {
    MemberId::new(number).unwrap()
}

/// A group that this test leads as member 1.
#[derive(Clone)]
struct Group {
    members: Members,
    peers: Vec<PeerStatus>,
    committed: u64,
}

impl Group {
    fn of(voters: u64) -> Self {
        let mut group =
            Group { members: Members::of_voters((1..=voters).map(id)), peers: Vec::new(), committed: 100_000 };
        (2..=voters).for_each(|number| group.peers.push(peer(number, 100_000)));
        group
    }

    fn next(&self, aim: Aim) -> Action {
        let Group { members, peers, committed } = self;
        MembershipPlan::new(aim).next(&Facts { own: id(1), members, peers, committed: Index(*committed) })
    }

    fn down(mut self, number: u64) -> Self {
        self.peers.iter_mut().filter(|peer| peer.member == id(number)).for_each(|peer| peer.is_active = false);
        self
    }

    fn can_decide(&self) -> bool {
        let is_up = |member| member == id(1) || self.peers.iter().any(|peer| peer.member == member && peer.is_active);
        self.members.is_majority(is_up)
    }

    /// What a change does once it is committed.
    fn apply(&mut self, step: MemberStep) {
        let member = step.member();
        self.members.voters.retain(|other| *other != member);
        self.members.learners.retain(|other| *other != member);
        match step {
            MemberStep::AddVoter(_) => self.members.voters.push(member),
            MemberStep::AddLearner(_) => {
                self.members.learners.push(member);
                self.peers.push(peer(member.get(), 0));
            }
            MemberStep::Remove(_) => self.peers.retain(|peer| peer.member != member),
        }
        self.members.voters.sort_unstable();
        self.members.learners.sort_unstable();
    }
}

fn peer(number: u64, upto: u64) -> PeerStatus {
    PeerStatus { member: id(number), upto: Index(upto), is_shipped_to: false, is_active: true }
}

#[test]
fn who_joins_learns_first_and_votes_when_it_has_caught_up() {
    let (mut group, aim) = (Group::of(1), Aim::Join(id(2)));
    assert_eq!(group.next(aim), Action::Propose(MemberStep::AddLearner(id(2))));
    group.apply(MemberStep::AddLearner(id(2)));
    assert_eq!(group.next(aim), Action::Wait(PlanWaits::CatchUp { entries: 100_000 }));
    group.peers[0].upto = Index(100_000 - CAUGHT_UP_ENTRIES);
    let mut shipped = group.clone();
    shipped.peers[0].is_shipped_to = true;
    assert_eq!(shipped.next(aim), Action::Wait(PlanWaits::CatchUp { entries: CAUGHT_UP_ENTRIES }));
    assert_eq!(group.clone().down(2).next(aim), Action::Wait(PlanWaits::Reach));
    assert_eq!(group.next(aim), Action::Propose(MemberStep::AddVoter(id(2))));
    group.apply(MemberStep::AddVoter(id(2)));
    assert_eq!(group.next(aim), Action::Done);
}

#[test]
fn who_has_nothing_gets_no_vote_however_little_there_is() {
    let (mut group, aim) = (Group::of(1), Aim::Join(id(2)));
    group.committed = 10;
    group.apply(MemberStep::AddLearner(id(2)));
    assert_eq!(group.next(aim), Action::Wait(PlanWaits::CatchUp { entries: 10 }));
    group.peers[0].upto = Index(1);
    assert_eq!(group.next(aim), Action::Propose(MemberStep::AddVoter(id(2))));
}

#[test]
fn the_old_one_goes_before_its_successor_comes() {
    let (mut group, aim) = (Group::of(3).down(3), Aim::Replace { old: id(3), new: id(4) });
    let mut steps = Vec::new();
    loop {
        match group.next(aim) {
            Action::Propose(step) => {
                steps.push(step);
                group.apply(step);
            }
            Action::Wait(PlanWaits::CatchUp { .. }) => {
                group.peers.iter_mut().for_each(|peer| peer.upto = Index(100_000))
            }
            action => break assert_eq!(action, Action::Done),
        }
    }
    assert_eq!(steps, [MemberStep::Remove(id(3)), MemberStep::AddLearner(id(4)), MemberStep::AddVoter(id(4))]);
}

#[test]
fn a_leader_that_leaves_hands_over_to_the_one_that_has_most() {
    let mut group = Group::of(3);
    group.peers[0].upto = Index(99_999);
    assert_eq!(group.next(Aim::Leave(id(1))), Action::HandOver(id(3)));
    group.peers[1].is_shipped_to = true;
    assert_eq!(group.next(Aim::Leave(id(1))), Action::HandOver(id(2)));
}

#[test]
fn the_last_voter_stays() {
    assert_eq!(Group::of(1).next(Aim::Leave(id(1))), Action::Refuse(PlanRefusal::LastVoter));
}

#[test]
fn nothing_is_removed_where_no_majority_would_be_left() {
    let group = Group::of(4).down(4);
    assert_eq!(group.next(Aim::Leave(id(4))), Action::Propose(MemberStep::Remove(id(4))));
    let refusal = PlanRefusal::NoMajority { reachable: 1, of: 2 };
    assert_eq!(Group::of(3).down(3).next(Aim::Leave(id(2))), Action::Refuse(refusal));
    assert_eq!(refusal.to_string(), "of the 2 nodes that would be left, 1 can be reached, which is no majority");
}

#[test]
fn a_learner_goes_without_more_ado_and_a_stranger_is_gone_already() {
    let mut group = Group::of(2).down(2);
    group.apply(MemberStep::AddLearner(id(3)));
    assert_eq!(group.next(Aim::Leave(id(3))), Action::Propose(MemberStep::Remove(id(3))));
    assert_eq!(group.next(Aim::Leave(id(9))), Action::Done);
}

#[test]
fn it_waits_while_another_change_runs() {
    let mut group = Group::of(3);
    (group.members.outgoing, group.members.ends_by_itself) = (vec![id(1)], true);
    assert_eq!(group.next(Aim::Join(id(4))), Action::Wait(PlanWaits::Change));
}

proptest! {
    /// Whatever is asked for, one after the other: members stay sound, there is a majority to be reached, and plans come to an end.
    #[test]
    fn plans_end_and_leave_a_group_that_can_decide(
        voters in 1..6_u64,
        aims in prop::collection::vec((0..3_u8, 1..9_u64, 10..20_u64, any::<bool>()), 1..12),
    ) {
        let mut group = Group::of(voters);
        for (kind, old, new, is_down) in aims {
            group.peers.iter_mut().for_each(|peer| peer.is_active = true);
            let aim = match kind {
                0 => Aim::Join(id(new)),
                1 => Aim::Leave(id(old)),
                _ => Aim::Replace { old: id(old), new: id(new) },
            };
            if is_down {
                group = group.down(old);
            }
            let could_decide = group.can_decide();
            for step in 0.. {
                prop_assert!(step < 10, "it has no end");
                match group.next(aim) {
                    Action::Propose(step) => group.apply(step),
                    Action::Wait(PlanWaits::CatchUp { .. }) => group.peers.iter_mut().for_each(|peer| peer.upto = Index(100_000)),
                    // The successor would go on, and here member 1 leads for ever.
                    Action::HandOver(to) => {
                        prop_assert!(group.members.voters.contains(&to));
                        break;
                    }
                    Action::Wait(_) | Action::Refuse(_) => break,
                    Action::Done => {
                        prop_assert!(kind == 0 || !group.members.has(id(old)));
                        prop_assert!(kind == 1 || group.members.voters.contains(&id(new)));
                        break;
                    }
                }
                prop_assert!(group.members.is_sound());
                prop_assert!(!could_decide || group.can_decide());
            }
        }
    }
}
