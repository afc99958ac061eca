//! A member's core, whose journal is not open.

use std::time::Duration;

use consensus::{BallotFile, Base, Entry, GroupId, Log, MemberId, Opening, Term, Timing};
use store::group::Pulled;
use store::journal::CommitKind;

use super::*;

fn member(number: u64) -> MemberId {
    MemberId::new(number).unwrap()
}

/// The second of these.
fn engine(voters: &[u64]) -> RaftEngine {
    let base = Base::of_new_group(voters.iter().copied().map(member));
    let opening = Opening {
        group: GroupId(1),
        member: member(2),
        ballot: BallotFile::Fresh,
        checkpoint: base.id.index,
        log: Log::new(base),
        timing: Timing { heartbeat_ticks: 2, election_ticks: 10 },
        seed: 1,
    };
    RaftEngine::open(opening).unwrap()
}

fn core() -> Core {
    Core::new(engine(&[1, 2, 3]), Ends::new(Index(1), JournalPosition(100)))
}

/// Numbers of so many writes, as an engine gives them.
pub(super) fn numbers(count: u64) -> Vec<ReadyNumber> {
    let (mut engine, mut out) = (engine(&[1, 2, 3]), Ready::default());
    let mut number = |term| {
        let body = Body::Append { previous: LogId::new(1, 1), committed: Index(1), entries: Vec::new() };
        engine.step(Message { from: member(1), to: member(2), term: Term(term), body });
        engine.ready(&mut out);
        out.number.expect("each term has a ballot")
    };
    (2..2 + count).map(&mut number).collect()
}

/// A leader sends entries behind the first, of so many bytes each.
fn append(core: &mut Core, from: u64, term: u64, lens: &[u32]) {
    let (mut entries, mut commits, mut end) = (Vec::new(), Vec::new(), JournalPosition(100));
    for (len, index) in lens.iter().zip(2..) {
        entries.push(Entry { id: LogId::new(term, index), kind: Kind::Records, len: *len });
        let payload = vec![0; *len as usize];
        let commit = SharedCommit::of_payload(CommitKind::Records, end, u64::from(*len), payload);
        end = commit.end();
        commits.push(Arc::new(commit));
    }
    let body = Body::Append { previous: LogId::new(1, 1), committed: Index(1), entries };
    core.receive(Message { from: member(from), to: member(2), term: Term(term), body }, commits);
}

fn write_ballot(core: &mut Core) {
    let (number, _) = core.wanted_ballot().expect("the term is new");
    core.ballot_written(number);
}

#[test]
fn nothing_counts_before_the_ballot_of_its_term_lasts() {
    let mut core = core();
    append(&mut core, 1, 2, &[10, 10, 10]);
    core.flushed(JournalPosition(130));
    assert!(!core.has_outgoing());
    assert_eq!(core.engine.status().persisted, Index(1));
    write_ballot(&mut core);
    assert!(core.has_outgoing());
    assert_eq!(core.engine.status().persisted, Index(4));
}

#[test]
fn what_an_old_journal_syncs_of_replaced_entries_acknowledges_nothing() {
    let of_three = |core: &mut Core| {
        append(core, 1, 2, &[10, 10, 10]);
        write_ballot(core);
    };
    let mut undisturbed = core();
    of_three(&mut undisturbed);
    undisturbed.flushed(JournalPosition(130));
    assert_eq!(undisturbed.engine.status().persisted, Index(4));

    let mut core = core();
    of_three(&mut core);
    core.flushed(JournalPosition(120));
    // Another leader has other entries from the second on. The journal that has the old ones is still open, and syncs them.
    append(&mut core, 3, 3, &[5, 5]);
    write_ballot(&mut core);
    assert_eq!(core.ends.end(), JournalPosition(110));
    core.flushed(JournalPosition(130));
    assert_eq!(core.engine.status().persisted, Index(1));
}

/// How far a checkpoint reaches that was fetched is written down nowhere, and a journal that begins with it ends before. Those that
/// fetched it from there put it in force though they lacked records of which it has effects.
#[test]
fn a_leader_announces_a_checkpoint_that_reaches_as_far_as_its_log() {
    let announcement = Pulled::empty(LogId::new(1, 1), 0).announcement().clone();
    let reached = |core: &Core| core.announcement().unwrap().reached;
    let mut core = Core::new(engine(&[2]), Ends::new(Index(1), JournalPosition(100)));
    core.set_announcement(Some(announcement.clone()));
    assert_eq!(reached(&core), announcement.reached);
    while core.status().role != Role::Leader {
        core.tick(Duration::ZERO);
        if core.wanted_ballot().is_some() {
            write_ballot(&mut core);
        }
    }
    assert!(reached(&core) >= JournalPosition(100));
    // It was elected before its journal was open.
    core.set_announcement(Some(announcement));
    assert_eq!(reached(&core), core.ends().end());
}
