//! The machine at one step each: what it waits for, and what it does about it.

use crate::facts::{Client, Facts, Shovel};
use crate::journal::{Baseline, Journal, Record, Step};
use crate::link::{Direction, PREFIX};
use crate::machine::{Action, CutOver, End, Machine, Wishes};
use crate::queue::{Queue, QueueId};

const LAG_MS: u64 = 6_000;

fn wishes() -> Wishes {
    Wishes { at_once: 10, cut_over: CutOver::Gone, until: Step::Finish, accepts: false, lag_ms: LAG_MS }
}

fn journal(step: Step) -> Journal {
    Journal { step, is_counted: true, ..Journal::new(Direction::Forward, "old", "new") }
}

/// One queue, with what is ready and unacked at the source, and what there is at the destination.
fn facts(now_ms: u64, ready: u64, unacked: u64, there: u64) -> Facts {
    let id = QueueId::new("/", "q");
    Facts {
        now_ms,
        source: [(id.clone(), Queue { ready, unacked, ..Queue::default() })].into(),
        destination: [(id, Queue { ready: there, ..Queue::default() })].into(),
        is_exact: true,
        ..Facts::default()
    }
}

fn client(consumer_count: usize, publishes: bool) -> Client {
    Client { name: "c".to_owned(), user: String::new(), vhost: String::new(), consumer_count, publishes }
}

#[test]
fn the_cut_over_waits_for_whom_it_says() {
    #[track_caller]
    fn check(cut_over: CutOver, clients: Vec<Client>, expected: Step) {
        let mut machine = Machine::new(journal(Step::CutOver), Wishes { cut_over, ..wishes() });
        machine.next(&Facts { clients, ..facts(0, 0, 0, 0) });
        assert_eq!(machine.step(), expected);
    }
    check(CutOver::Gone, vec![], Step::Drain);
    check(CutOver::Gone, vec![client(0, false)], Step::CutOver);
    check(CutOver::Idle, vec![client(0, false)], Step::Drain);
    check(CutOver::Idle, vec![client(0, false), client(1, false)], Step::CutOver);
    check(CutOver::Idle, vec![client(0, true)], Step::CutOver);
    check(CutOver::Now, vec![client(1, true)], Step::Drain);
}

#[test]
fn the_drain_ends_when_nothing_is_left_and_nothing_comes_back() {
    let settling = || {
        let mut machine = Machine::new(journal(Step::Drain), wishes());
        machine.next(&facts(0, 0, 0, 5));
        assert!(machine.is_settling() && machine.question().is_exact);
        machine
    };
    let after = |facts: Facts| {
        let mut machine = settling();
        machine.next(&facts);
        (machine.step(), machine.is_settling())
    };
    assert_eq!(after(facts(LAG_MS - 1, 0, 0, 5)), (Step::Drain, true), "its numbers may be older than that");
    assert_eq!(after(facts(LAG_MS, 0, 0, 5)), (Step::Verify, false));
    assert_eq!(after(facts(LAG_MS, 0, 1, 5)), (Step::Drain, true), "what is unacked may come back");
    assert_eq!(after(facts(LAG_MS, 1, 0, 5)), (Step::Drain, false), "on with what has come back");
    assert_eq!(after(Facts { is_exact: false, ..facts(LAG_MS, 0, 0, 5) }), (Step::Drain, true));
    let shovel = (("/".to_owned(), format!("{PREFIX}forward.0")), Shovel::default());
    assert_eq!(after(Facts { shovels: [shovel].into(), ..facts(LAG_MS, 0, 0, 5) }), (Step::Drain, true));
    let mut machine = Machine::new(journal(Step::Drain), wishes());
    for (ready, unacked) in [(1, 0), (0, 1)] {
        machine.next(&facts(0, ready, unacked, 0));
        assert!(!machine.is_settling(), "{ready} ready, {unacked} unacked");
    }
}

#[test]
fn counts_have_to_be_right_unless_that_is_accepted() {
    #[track_caller]
    fn check(accepts: bool, now: Facts, expected: (Step, Option<End>)) {
        let mut journal = journal(Step::Verify);
        let baseline = Baseline { source: 5, ..Baseline::default() };
        journal.queues.insert(QueueId::new("/", "q"), Record { baseline, ..Record::default() });
        let mut machine = Machine::new(journal, Wishes { accepts, ..wishes() });
        assert!(machine.question().is_exact);
        machine.next(&now);
        assert_eq!((machine.step(), machine.end()), expected);
    }
    check(false, facts(0, 0, 0, 5), (Step::Finish, None));
    check(false, facts(0, 0, 0, 4), (Step::Verify, Some(End::Fewer)));
    check(true, facts(0, 0, 0, 4), (Step::Finish, None));
    check(false, facts(0, 1, 0, 4), (Step::Drain, None));
    check(true, facts(0, 1, 0, 4), (Step::Finish, None));
    check(false, Facts { is_exact: false, ..facts(0, 0, 0, 5) }, (Step::Verify, None));
    // What consumers have taken does not lack.
    let mut taken = facts(0, 0, 0, 4);
    taken.destination.values_mut().for_each(|queue| queue.consumers = 1);
    check(false, taken, (Step::Finish, None));
}

#[test]
fn what_is_declared_meanwhile_comes_along() {
    let completes = |machine: &mut Machine, facts: &Facts| machine.next(facts).contains(&Action::Complete);
    let lacking = |now_ms| Facts { destination: [].into(), clients: vec![client(0, false)], ..facts(now_ms, 0, 0, 0) };
    let mut machine = Machine::new(journal(Step::CutOver), wishes());
    assert!(completes(&mut machine, &lacking(0)));
    assert!(!completes(&mut machine, &lacking(9_999)));
    assert!(completes(&mut machine, &lacking(10_000)));
    machine.has_failed(&Action::Complete);
    assert!(completes(&mut machine, &lacking(10_001)), "it was not done");
    // Once more when the last client has disconnected, for what was bound in the last moment.
    assert!(!completes(&mut machine, &facts(10_002, 1, 0, 0)));
    assert_eq!(machine.step(), Step::Drain);
    assert!(completes(&mut machine, &facts(10_003, 1, 0, 0)));
    assert!(!completes(&mut machine, &facts(30_000, 1, 0, 0)), "nothing lacks");
}

#[test]
fn nothing_is_moved_before_all_is_counted_and_saved() {
    let mut machine = Machine::new(Journal { is_counted: false, ..journal(Step::Feed) }, wishes());
    assert!(machine.question().is_exact);
    let saved = machine.journal().clone();
    let starts = |actions: Vec<Action>| actions.iter().any(|action| matches!(action, Action::Start(_)));
    assert!(!starts(machine.next(&Facts { is_exact: false, ..facts(0, 5, 0, 0) })));
    assert!(!machine.is_to_be_saved(&saved), "numbers may wait");
    assert!(!starts(machine.next(&facts(0, 5, 0, 0))));
    assert!(machine.is_to_be_saved(&saved));
    assert_eq!(machine.before(), 5);
    assert!(starts(machine.next(&facts(0, 5, 0, 0))));
    let saved = machine.journal().clone();
    machine.granted(vec!["/".to_owned()]);
    assert!(machine.is_to_be_saved(&saved), "what was given has to be taken back");
}

#[test]
fn what_the_migration_has_made_is_removed_shovels_first() {
    let mut machine = Machine::new(Journal { granted: vec!["/".to_owned()], ..journal(Step::Finish) }, wishes());
    assert!(machine.question().ways);
    let ours = ("/".to_owned(), format!("{PREFIX}forward.0"));
    let ways = [Vec::new(), vec![ours.clone()]];
    let mut now = Facts { ways: ways.clone(), ..facts(0, 0, 0, 0) };
    now.shovels.insert(ours.clone(), Shovel::default());
    assert_eq!(machine.next(&now), [Action::Stop(vec![ours])]);
    now.shovels.clear();
    assert_eq!(machine.next(&now), [Action::RemoveWays(ways)]);
    now.ways = Default::default();
    assert_eq!(machine.next(&now), [Action::Revoke]);
    machine.has_done(&Action::Revoke);
    assert_eq!(machine.next(&now), []);
    assert_eq!((machine.step(), machine.end()), (Step::Done, Some(End::Reached)));
}
