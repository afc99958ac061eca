//! The rules for an engine's driver, each kept by the engine itself: `docs/dev/cluster.md` says why they are there.

use consensus::{
    Ballot, BallotFile, Base, Body, Engine, Entry, GroupId, Index, Kind, Log, LogId, MemberChange, MemberId,
    MemberStep, Message, NumberedBallot, OpenError, Opening, Proposal, RaftEngine, Ready, ReadyNumber, Refusal, Role,
    Round, Term, Timing,
};

const TIMING: Timing = Timing { heartbeat_ticks: 1, election_ticks: 5 };

fn id(number: u64) -> MemberId {
    MemberId::new(number).unwrap()
}

fn ids(numbers: &[u64]) -> Vec<MemberId> {
    numbers.iter().map(|number| id(*number)).collect()
}

fn records(term: u64, index: u64) -> Entry {
    Entry { id: LogId::new(term, index), kind: Kind::Records, len: 100 }
}

fn change(term: u64, index: u64, step: MemberStep) -> Entry {
    Entry { id: LogId::new(term, index), kind: Kind::Members(MemberChange::of(step)), len: 0 }
}

/// A ballot file in which a member has promised only its term.
fn promised(member: u64, term: u64) -> BallotFile {
    let ballot = Ballot { term: Term(term), vote: None };
    BallotFile::Whole { last: NumberedBallot::first(id(member), ballot), is_other_torn: false }
}

fn opening(member: u64, log: Log) -> Opening {
    let ballot = promised(member, log.last().term.0);
    let checkpoint = log.base().id.index;
    Opening { group: GroupId(1), member: id(member), ballot, log, checkpoint, timing: TIMING, seed: 7 }
}

fn log(voters: &[u64], entries: &[Entry]) -> Log {
    let mut log = Log::new(Base::of_new_group(ids(voters)));
    entries.iter().for_each(|entry| log.append(entry).unwrap());
    log
}

/// An engine, and what it wants.
struct Driver {
    engine: RaftEngine,
    ready: Ready,
}

impl Driver {
    fn new(opening: Opening) -> Self {
        let mut driver = Driver { engine: RaftEngine::open(opening).unwrap(), ready: Ready::default() };
        driver.look();
        driver
    }

    fn look(&mut self) -> &mut Ready {
        self.engine.ready(&mut self.ready);
        &mut self.ready
    }

    fn step(&mut self, from: u64, term: u64, body: Body) -> &mut Ready {
        let to = self.engine.status().member;
        self.engine.step(Message { from: id(from), to, term: Term(term), body });
        self.look()
    }

    /// Says that all is durable; what leaves by that.
    fn sync(&mut self, number: Option<ReadyNumber>) -> Vec<Body> {
        self.engine.persisted(number.unwrap());
        bodies(self.look())
    }

    /// Becomes the leader with the votes of another member, and syncs all.
    fn win(&mut self, voter: u64) {
        while self.engine.status().role == Role::Follower {
            self.engine.tick();
        }
        let term = self.look().send[0].term.0;
        let vote = |round| Body::Vote { round, is_granted: true, committed: LogId::default() };
        let number = self.step(voter, term, vote(Round::Trial)).number;
        self.sync(number);
        let number = self.step(voter, term, vote(Round::Election)).number;
        assert_eq!(self.engine.status().role, Role::Leader);
        self.sync(number);
    }
}

fn bodies(ready: &Ready) -> Vec<Body> {
    ready.send.iter().map(|message| message.body.clone()).collect()
}

fn append(previous: LogId, entries: &[Entry]) -> Body {
    Body::Append { previous, committed: Index(1), entries: entries.to_vec() }
}

#[test]
fn rule_1_what_is_to_be_appended_is_read_at_once() {
    let mut leader = Driver::new(opening(1, log(&[1, 2, 3], &[])));
    leader.win(2);
    let first = leader.engine.propose(Proposal { len: 100 }).unwrap();
    let second = leader.engine.propose(Proposal { len: 200 }).unwrap();
    let ready = leader.look();
    assert_eq!(
        ready.append.iter().map(|entry| (entry.id, entry.len)).collect::<Vec<_>>(),
        [(first, 100), (second, 200)]
    );
    // Nothing is durable, and both are there and under way already.
    let appended = leader.ready.append.clone();
    assert!(appended.iter().all(|entry| leader.engine.log().entry(entry.id.index).as_ref() == Some(entry)));
    let answer = Body::Appended { upto: Index(1), committed: Index(1) };
    let sent = bodies(leader.step(2, first.term.0, answer));
    assert!(sent.iter().any(|body| matches!(body, Body::Append { entries, .. } if entries.ends_with(&appended))));
}

#[test]
fn rule_2_nothing_else_happens_until_a_restore_is_durable() {
    let mut new = Driver::new(Opening { ballot: BallotFile::Fresh, ..opening(4, Log::default()) });
    let mut base = Base::of_new_group(ids(&[1, 2, 3, 4]));
    base.id = LogId::new(3, 50);
    let ready = new.step(1, 3, Body::Restore { base: base.clone() });
    let number = ready.number;
    assert_eq!((&ready.restore, ready.send.len()), (&Some(base), 0));
    for _ in 0..100 {
        new.engine.tick();
    }
    let ready = new.step(1, 3, append(LogId::new(3, 50), &[records(3, 51)]));
    assert!(ready.number.is_none() && ready.append.is_empty() && ready.send.is_empty());
    let answer = Body::Appended { upto: Index(50), committed: Index(0) };
    assert_eq!(new.sync(number), [answer]);
    assert_eq!(new.step(1, 3, append(LogId::new(3, 50), &[records(3, 51)])).append, [records(3, 51)]);
}

#[test]
fn rule_3_a_member_starts_with_what_its_checkpoint_has() {
    let entries = [records(1, 2), records(1, 3), records(1, 4)];
    let mut driver = Driver::new(Opening { checkpoint: Index(3), ..opening(1, log(&[1, 2, 3], &entries)) });
    assert_eq!(driver.look().committed, Index(3));
}

#[test]
fn rule_4_a_shipment_that_is_dropped_has_failed() {
    let mut leader = Driver::new(opening(1, log(&[1, 2, 3], &[])));
    leader.win(2);
    let term = leader.engine.status().term().0;
    let is_shipped_to = |leader: &Driver| leader.engine.peers().iter().any(|peer| peer.is_shipped_to);
    // The third member has nothing at all, and the log begins behind its first entry.
    let refused = Body::Refused { previous: Index(1), hint: LogId::default(), committed: Index(0) };
    let shipment = leader.step(3, term, refused).ship.pop().unwrap();
    assert_eq!((shipment.to(), shipment.base().id), (id(3), LogId::new(1, 1)));
    leader.look();
    assert!(is_shipped_to(&leader));
    drop(shipment);
    leader.look();
    assert!(!is_shipped_to(&leader));
    // It tries again when the member shows itself, and continues where the files end.
    let shipment = leader.step(3, term, Body::HeartbeatAnswer { committed: Index(0) }).ship.pop().unwrap();
    shipment.arrived();
    leader.look();
    let sent = bodies(leader.step(3, term, Body::HeartbeatAnswer { committed: Index(1) }));
    assert!(matches!(&sent[..], [Body::Append { previous, .. }] if previous.index == Index(1)), "{sent:?}");
}

/// A member is removed while files are under way to it, and comes back.
#[test]
fn rule_4_a_shipment_says_nothing_about_a_later_one() {
    let mut leader = Driver::new(opening(1, log(&[1, 2, 3], &[])));
    leader.win(2);
    let term = leader.engine.status().term().0;
    let commit = |leader: &mut Driver| {
        if let number @ Some(_) = leader.look().number {
            leader.sync(number);
        }
        let last = leader.engine.status().last.index;
        leader.step(2, term, Body::Appended { upto: last, committed: Index(1) });
        assert_eq!(leader.engine.status().applied, last);
    };
    commit(&mut leader);
    let refused = Body::Refused { previous: Index(1), hint: LogId::default(), committed: Index(0) };
    let first = leader.step(3, term, refused.clone()).ship.pop().unwrap();
    for step in [MemberStep::Remove(id(3)), MemberStep::AddLearner(id(3))] {
        leader.engine.change(&MemberChange::of(step)).unwrap();
        commit(&mut leader);
    }
    let last = leader.engine.status().last.index;
    leader.engine.checkpointed(last);
    let before = Index(last.0 - 1);
    let refused = Body::Refused { previous: before, hint: LogId::default(), committed: Index(0) };
    let second = leader.step(3, term, refused).ship.pop().unwrap();
    drop(first);
    leader.look();
    assert!(leader.engine.peers().iter().any(|peer| peer.is_shipped_to), "files are under way");
    drop(second);
    leader.look();
    assert!(!leader.engine.peers().iter().any(|peer| peer.is_shipped_to));
}

#[test]
fn rule_5_who_has_lost_what_it_promised_does_not_come_back() {
    let entries = [records(2, 2), records(2, 3)];
    let of = || opening(1, log(&[1, 2, 3], &entries));
    let check = |opening, error| assert_eq!(RaftEngine::open(opening).err(), Some(error));
    check(Opening { ballot: BallotFile::Damaged, ..of() }, OpenError::Ballot);
    check(Opening { ballot: BallotFile::Fresh, ..of() }, OpenError::Ballot);
    check(Opening { ballot: promised(2, 2), ..of() }, OpenError::OtherMember(id(2)));
    let behind = OpenError::BallotBehindLog { ballot: Term(1), log: Term(2) };
    check(Opening { ballot: promised(1, 1), ..of() }, behind);
    let behind = OpenError::LogBehindCheckpoint { log: Index(3), checkpoint: Index(4) };
    check(Opening { checkpoint: Index(4), ..of() }, behind);
    assert!(RaftEngine::open(of()).is_ok());
}

#[test]
fn rule_6_answers_wait_for_what_they_rest_on() {
    let mut follower = Driver::new(opening(2, log(&[1, 2, 3], &[])));
    let ready = follower.step(1, 2, append(LogId::new(1, 1), &[records(2, 2)]));
    assert_eq!((ready.append.len(), ready.send.len()), (1, 0));
    let first = ready.number;
    let ready = follower.step(1, 2, append(LogId::new(2, 2), &[records(2, 3)]));
    assert_eq!((ready.append.len(), ready.send.len()), (1, 0));
    let second = ready.number;
    let appended = |upto| Body::Appended { upto: Index(upto), committed: Index(1) };
    assert_eq!(follower.sync(first), [appended(2)]);
    // An answer that needs nothing more written waits for what is under way.
    let ready = follower.step(1, 2, append(LogId::new(2, 2), &[records(2, 3)]));
    assert_eq!((ready.number, ready.send.len()), (None, 0));
    assert_eq!(follower.sync(second), [appended(3), appended(3)]);
}

#[test]
fn rule_6_votes_wait_for_their_ballot() {
    let mut voter = Driver::new(opening(2, log(&[1, 2, 3], &[])));
    let ask = Body::Ask {
        round: Round::Election,
        last: LogId::new(1, 1),
        committed: LogId::new(1, 1),
        is_handed_over: false,
    };
    let ready = voter.step(3, 5, ask);
    assert_eq!(ready.ballot, Some(Ballot { term: Term(5), vote: Some(id(3)) }));
    assert!(ready.send.is_empty());
    let number = ready.number;
    assert!(matches!(&voter.sync(number)[..], [Body::Vote { round: Round::Election, is_granted: true, .. }]));
}

/// raft-rs sends a leader's messages at once, which is right where votes of others had to wait for its ballot.
#[test]
fn rule_6_a_leader_alone_says_nothing_before_its_ballot_is_durable() {
    let mut alone = Driver::new(opening(1, log(&[1], &[])));
    while alone.engine.status().role == Role::Follower {
        alone.engine.tick();
    }
    let number = alone.look().number;
    assert_eq!(alone.ready.ballot, Some(Ballot { term: Term(2), vote: Some(id(1)) }));
    alone.sync(number);
    let learner = MemberChange::of(MemberStep::AddLearner(id(2)));
    alone.engine.change(&learner).unwrap();
    let number = alone.look().number;
    alone.sync(number);
    assert!(alone.engine.status().members.learners.contains(&id(2)));
    // Now it starts again, with a learner that hears of everything.
    let mut disk = log(&[1], &[]);
    for index in 2..=alone.engine.log().last().index.0 {
        disk.append(&alone.engine.log().entry(Index(index)).unwrap()).unwrap();
    }
    let checkpoint = disk.last().index;
    let mut again = Driver::new(Opening { checkpoint, ..opening(1, disk) });
    while again.engine.status().role == Role::Follower {
        again.engine.tick();
    }
    let ready = again.look();
    assert!(ready.ballot.is_some() && ready.send.is_empty() && ready.ship.is_empty());
    let number = ready.number;
    assert!(!again.sync(number).is_empty());
}

#[test]
fn rule_7_all_changes_of_members_but_the_last_are_committed() {
    let entries = [
        change(1, 2, MemberStep::AddLearner(id(4))),
        records(1, 3),
        change(1, 4, MemberStep::AddVoter(id(4))),
        records(1, 5),
        change(1, 6, MemberStep::Remove(id(1))),
        records(1, 7),
    ];
    let driver = Driver::new(opening(2, log(&[1, 2, 3], &entries)));
    let status = driver.engine.status();
    assert_eq!((status.committed, status.applied), (Index(4), Index(4)));
    assert_eq!(status.members.voters, ids(&[1, 2, 3, 4]));
}

#[test]
fn rule_8_nothing_behind_a_change_is_called_committed_before_its_mark() {
    let mut leader = Driver::new(opening(1, log(&[1, 2, 3], &[])));
    leader.win(2);
    // What it leads with is on the others' disks.
    let acknowledge = |leader: &mut Driver| {
        let status = leader.engine.status();
        let number = leader.look().number;
        number.into_iter().for_each(|number| leader.engine.persisted(number));
        let upto = leader.engine.status().last.index;
        leader.step(2, status.term().0, Body::Appended { upto, committed: Index(1) }).committed
    };
    // A new leader does not know whether the last change was marked.
    assert_eq!(acknowledge(&mut leader), Index(1));
    let mark = |leader: &Driver| leader.engine.wanted_mark().expect("a mark is wanted");
    leader.engine.change(&mark(&leader)).unwrap();
    assert_eq!(leader.engine.wanted_mark(), None, "it is appended");
    let marked = acknowledge(&mut leader);
    assert_eq!((marked, leader.engine.status().is_settled), (leader.engine.status().last.index, true));

    let change = leader.engine.change(&MemberChange::of(MemberStep::AddLearner(id(4)))).unwrap();
    leader.engine.propose(Proposal { len: 100 }).unwrap();
    assert_eq!(acknowledge(&mut leader), change.index);
    assert!(!leader.engine.status().is_settled && leader.engine.status().committed > change.index);
    leader.engine.change(&mark(&leader)).unwrap();
    assert_eq!(acknowledge(&mut leader), leader.engine.status().last.index);
    assert!(leader.engine.status().is_settled && leader.engine.wanted_mark().is_none());
}

#[test]
fn one_change_runs_at_a_time_and_none_takes_the_leader() {
    let mut leader = Driver::new(opening(1, log(&[1, 2, 3], &[])));
    let step = |step| MemberChange::of(step);
    assert_eq!(leader.engine.change(&step(MemberStep::Remove(id(2)))), Err(Refusal::NotLeader { leader: None }));
    leader.win(2);
    let term = leader.engine.status().term().0;
    let first = leader.engine.change(&step(MemberStep::AddLearner(id(4))));
    assert_eq!(first, Err(Refusal::ChangeRuns), "its first entry is not committed yet");
    let last = leader.engine.status().last.index;
    leader.step(2, term, Body::Appended { upto: last, committed: Index(1) });
    assert_eq!(leader.engine.change(&step(MemberStep::Remove(id(1)))), Err(Refusal::OfTheLeader));
    assert_eq!(leader.engine.change(&MemberChange::default()), Err(Refusal::Impossible));
    leader.engine.change(&step(MemberStep::AddLearner(id(4)))).unwrap();
    assert_eq!(leader.engine.change(&step(MemberStep::AddLearner(id(5)))), Err(Refusal::ChangeRuns));
}

#[test]
fn who_hands_over_takes_no_proposals() {
    let mut leader = Driver::new(opening(1, log(&[1, 2, 3], &[])));
    leader.win(2);
    leader.engine.transfer(id(2));
    assert_eq!(leader.engine.propose(Proposal { len: 1 }), Err(Refusal::HandingOver { to: id(2) }));
    // The other did not take over within an election timeout: this one keeps leading.
    for _ in 0..TIMING.election_ticks {
        leader.step(2, 2, Body::HeartbeatAnswer { committed: Index(1) });
        leader.engine.tick();
    }
    assert!(leader.engine.propose(Proposal { len: 1 }).is_ok());
}

/// raft-rs asserts that a leader's log is durable, and relies on votes of others for that.
#[test]
fn who_is_left_alone_waits_for_its_disk() {
    let mut left = Driver::new(opening(2, log(&[1, 2], &[])));
    let number = left.step(1, 3, append(LogId::new(1, 1), &[change(3, 2, MemberStep::Remove(id(1)))])).number;
    left.sync(number);
    let more = Body::Append { previous: LogId::new(3, 2), committed: Index(2), entries: vec![records(3, 3)] };
    let number = left.step(1, 3, more).number;
    assert_eq!(left.engine.status().members.voters, ids(&[2]));
    for _ in 0..100 {
        left.engine.tick();
    }
    assert_eq!(left.engine.status().role, Role::Follower);
    left.sync(number);
    for _ in 0..100 {
        left.engine.tick();
    }
    assert_eq!(left.engine.status().role, Role::Leader);
}

/// raft-rs 0.7.0 leads on and panics at the next answer.
#[test]
fn a_leader_whom_an_earlier_one_removed_steps_down() {
    let mut leader = Driver::new(opening(1, log(&[1, 2, 3], &[change(1, 2, MemberStep::Remove(id(1)))])));
    leader.win(2);
    let (term, last) = (leader.engine.status().term().0, leader.engine.status().last.index);
    leader.step(2, term, Body::Appended { upto: last, committed: Index(1) });
    let status = leader.engine.status();
    assert_eq!((status.role, status.members.voters), (Role::Follower, ids(&[2, 3])));
    leader.step(3, term, Body::Appended { upto: last, committed: Index(1) });
}

/// A member that is shipped the checkpoint continues with the entries behind it.
#[test]
fn a_log_begins_no_later_than_its_checkpoint_ends() {
    let entries = [records(1, 2), records(1, 3), records(1, 4), records(1, 5)];
    let mut member = Driver::new(Opening { checkpoint: Index(4), ..opening(1, log(&[1, 2, 3], &entries)) });
    assert_eq!(member.engine.base_at(Index(5)), None, "it is not known to be committed");
    member.engine.compact(Index(5));
    assert_eq!(member.engine.status().base, LogId::new(1, 4));
    member.engine.compact(Index(2));
    assert_eq!(member.engine.status().base, LogId::new(1, 4));
}

/// A message that waited does not name what a new leader has replaced since.
#[test]
fn what_is_sent_is_in_the_log() {
    let mut leader = Driver::new(opening(1, log(&[1, 2, 3], &[])));
    leader.win(2);
    let (term, last) = (leader.engine.status().term().0, leader.engine.status().last);
    leader.step(2, term, Body::Appended { upto: last.index, committed: Index(1) });
    leader.engine.propose(Proposal { len: 100 }).unwrap();
    let replaced = append(last, &[records(term + 1, last.index.0 + 1)]);
    let number = leader.step(3, term + 1, replaced).number;
    let sent = leader.sync(number);
    assert!(sent.iter().all(|body| !matches!(body, Body::Append { .. })), "{sent:?}");
}

#[test]
fn a_shipment_of_an_earlier_term_says_nothing() {
    let mut leader = Driver::new(opening(1, log(&[1, 2, 3], &[])));
    let ship = |leader: &mut Driver| {
        leader.win(2);
        let status = leader.engine.status();
        let previous = Index(status.last.index.0 - 1);
        let refused = Body::Refused { previous, hint: LogId::default(), committed: Index(0) };
        leader.step(3, status.term().0, refused).ship.pop().unwrap()
    };
    let earlier = ship(&mut leader);
    let term = leader.engine.status().term().0 + 1;
    let number = leader.step(2, term, Body::Heartbeat { committed: Index(1) }).number;
    leader.sync(number);
    let later = ship(&mut leader);
    drop(earlier);
    leader.look();
    assert!(leader.engine.peers().iter().any(|peer| peer.is_shipped_to));
    drop(later);
    leader.look();
    assert!(!leader.engine.peers().iter().any(|peer| peer.is_shipped_to));
}
