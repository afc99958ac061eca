//! A leader whose disk hangs. It could go on for long: the others make a majority without it. But what needs its own disk, checkpoints and
//! files for new members, stands still; and what it has not written is in its memory only.
//!
//! ```text
//!  on one operation of the journal for
//!    1 s   it hands over to a voter that has caught up
//!    2 s   it is silent: no ticks, and nothing leaves. The others miss its heartbeats, and elect one of them
//!  until that operation has ended. If another leads by then it follows, as soon as it hears so.
//! ```
//!
//! A follower whose disk hangs does not acknowledge, and that is all.

use std::time::Duration;

use consensus::{Engine, Role, Status};

use super::Core;

/// A leader whose disk has been at one thing for so long hands over.
const HAND_OVER_AFTER: Duration = Duration::from_secs(1);
/// So long: it is silent, and others elect one of them.
const SILENT_AFTER: Duration = Duration::from_secs(2);

impl Core {
    /// Time has passed. The disk has been at work on one thing for so long.
    pub(crate) fn tick(&mut self, disk_time: Duration) {
        if self.failure.is_some() || self.is_silenced(disk_time) {
            return;
        }
        if disk_time >= HAND_OVER_AFTER {
            self.hand_over(disk_time);
        }
        self.engine.tick();
        self.pump();
    }

    /// Whether this member leads and should not: its disk hangs. What it has not sent it will not; the others hear nothing, and elect
    /// one of them.
    fn is_silenced(&mut self, disk_time: Duration) -> bool {
        let is_silent = disk_time >= SILENT_AFTER && {
            let status = self.engine.status();
            status.role == Role::Leader && status.members.voters.len() > 1
        };
        let was_silent = self.sending.set_silent(is_silent);
        if is_silent && !was_silent {
            tracing::error!(?disk_time, "the disk hangs: this node leaves the lead to others");
        }
        if was_silent && !is_silent {
            for peer in self.engine.peers() {
                self.engine.unreachable(peer.member);
            }
        }
        is_silent
    }

    /// The disk hangs: another should lead.
    fn hand_over(&mut self, disk_time: Duration) {
        let Status { role: Role::Leader, members, committed, handing_over_to: None, .. } = self.engine.status() else {
            return;
        };
        let peers = self.engine.peers().into_iter();
        let able = peers.filter(|peer| members.voters.contains(&peer.member) && peer.has_caught_up(committed));
        if let Some(peer) = able.max_by_key(|peer| (peer.is_active, peer.upto)) {
            tracing::warn!(?disk_time, to = peer.member.get(), "the disk hangs: handing over");
            self.engine.transfer(peer.member);
        }
    }
}

#[cfg(test)]
mod tests {
    use consensus::{
        BallotFile, Base, GroupId, Index, Log, MemberChange, MemberId, MemberStep, Opening, RaftEngine, Refusal, Timing,
    };
    use model::ids::JournalPosition;

    use super::*;
    use crate::tail::Ends;

    fn id(number: usize) -> MemberId {
        MemberId::new(number as u64).unwrap()
    }

    /// Members without journals, whose disks are as quick as the test wants.
    struct Group(Vec<Core>);

    impl Group {
        fn new(count: usize, voters: usize) -> Group {
            let base = Base::of_new_group((1..=voters).map(id));
            let core = |number| {
                let opening = Opening {
                    group: GroupId(1),
                    member: id(number),
                    ballot: BallotFile::Fresh,
                    checkpoint: Index(1),
                    log: Log::new(base.clone()),
                    timing: Timing { heartbeat_ticks: 2, election_ticks: 10 },
                    seed: number as u64,
                };
                Core::new(RaftEngine::open(opening).unwrap(), Ends::new(Index(1), JournalPosition(100)))
            };
            Group((1..=count).map(core).collect())
        }

        /// Delivers all that is said, and has all written but by members in `hanging`.
        fn settle(&mut self, hanging: &[usize]) {
            loop {
                let mut is_done = true;
                for number in 1..=self.0.len() {
                    let core = &mut self.0[number - 1];
                    if !hanging.contains(&number) {
                        if let Some((ballot, _)) = core.wanted_ballot() {
                            core.ballot_written(ballot);
                        }
                        core.flushed(core.ends.end());
                    }
                    for outgoing in std::iter::from_fn(|| core.next_outgoing()).collect::<Vec<_>>() {
                        is_done = false;
                        let to = outgoing.message.to.get() as usize;
                        self.0[to - 1].receive(outgoing.message, outgoing.commits.into_iter().flatten().collect());
                    }
                }
                if is_done {
                    return;
                }
            }
        }

        fn tick_until_one_leads(&mut self, numbers: &[usize], hanging: &[usize]) -> usize {
            for _ in 0..100 {
                for number in numbers {
                    self.0[number - 1].tick(Duration::ZERO);
                    self.settle(hanging);
                    if let Some(leader) = numbers.iter().find(|number| self.role(**number) == Role::Leader) {
                        return *leader;
                    }
                }
            }
            panic!("none was elected");
        }

        fn role(&self, number: usize) -> Role {
            self.0[number - 1].engine.status().role
        }
    }

    #[test]
    fn a_leader_whose_disk_hangs_hands_over_after_a_second() {
        let mut group = Group::new(3, 3);
        let leader = group.tick_until_one_leads(&[1, 2, 3], &[]);
        group.0[leader - 1].tick(Duration::from_millis(990));
        group.settle(&[leader]);
        assert_eq!(group.role(leader), Role::Leader);
        group.0[leader - 1].tick(Duration::from_secs(1));
        group.settle(&[leader]);
        assert_eq!(group.role(leader), Role::Follower);
        assert_eq!((1..=3).filter(|number| group.role(*number) == Role::Leader).count(), 1);
    }

    #[test]
    fn a_leader_whose_disk_hangs_for_longer_is_silent_and_hears_who_leads() {
        let mut group = Group::new(3, 3);
        let leader = group.tick_until_one_leads(&[1, 2, 3], &[]);
        for _ in 0..20 {
            group.0[leader - 1].tick(Duration::from_secs(2));
            assert!(!group.0[leader - 1].has_outgoing());
        }
        let others: Vec<_> = (1..=3).filter(|number| *number != leader).collect();
        // What it is asked meanwhile it does not answer, for that rests on a ballot.
        let next = group.tick_until_one_leads(&others, &[leader]);
        (0..3).for_each(|_| group.0[next - 1].tick(Duration::ZERO));
        group.settle(&[leader]);
        assert_eq!(group.0[leader - 1].engine.status().leader, Some(id(next)));
        // It is one of them again when its disk is.
        group.settle(&[]);
        (0..3).for_each(|_| group.0[next - 1].tick(Duration::ZERO));
        group.settle(&[]);
        assert_eq!(group.0[leader - 1].engine.status().persisted, group.0[next - 1].engine.status().last.index);
    }

    #[test]
    fn a_disk_that_works_again_in_time_costs_nothing() {
        let mut group = Group::new(3, 3);
        let leader = group.tick_until_one_leads(&[1, 2, 3], &[]);
        let term = group.0[leader - 1].engine.status().term();
        group.0[leader - 1].tick(Duration::from_secs(2));
        for _ in 0..30 {
            (0..3).for_each(|other| group.0[other].tick(Duration::ZERO));
            group.settle(&[]);
        }
        assert_eq!((group.role(leader), group.0[leader - 1].engine.status().term()), (Role::Leader, term));
    }

    #[test]
    fn a_leader_alone_stays_one() {
        let mut group = Group::new(2, 1);
        let leader = group.tick_until_one_leads(&[1], &[]);
        group.0[leader - 1].tick(Duration::from_secs(9));
        group.settle(&[leader]);
        assert_eq!(group.role(leader), Role::Leader);
    }

    #[test]
    fn who_has_nothing_gets_no_vote() {
        let mut group = Group::new(2, 1);
        group.tick_until_one_leads(&[1], &[]);
        group.settle(&[]);
        let change = |step| MemberChange::of(step);
        group.0[0].engine.change(&change(MemberStep::AddLearner(id(2)))).unwrap();
        group.0[0].pump();
        let promote = change(MemberStep::AddVoter(id(2)));
        // It is there, and has not said yet what it has.
        group.0[0].flushed(JournalPosition::MAX);
        assert!(group.0[0].engine.status().members.learners.contains(&id(2)));
        assert_eq!(group.0[0].queue_change(&promote), Err(Refusal::NotCaughtUp));
        assert!(!group.0[0].transfer(id(2)));
        group.settle(&[]);
        assert!(!group.0[0].has_outgoing(), "all was delivered");
        assert_eq!(group.0[0].queue_change(&promote), Ok(()));
    }
}
