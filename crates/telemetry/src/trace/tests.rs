//! Sessions and what they see. Points and sessions are the process's: one test after the other.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use parking_lot::{Mutex, MutexGuard};

use super::*;

static DECLARE: Point = Point::new("test::declare", &["queue", "durable"], "Declares a queue.");
static LIST: Point = Point::new("test::list", &["vhost"], "Lists queues.");
static SORT: Point = Point::new("test::sort", &[], "Sorts rows.");
static HOLD: Point = Point::new("test::hold", &[], "Holds a lock.");
static COMMIT: Point = Point::new("test::commit", &["len"], "Commits.");
static SYNC: Point = Point::new("test::sync", &[], "Syncs a file.");

fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    register([&DECLARE, &LIST, &SORT, &HOLD, &COMMIT, &SYNC]);
    TURN.lock()
}

fn options(pattern: &str) -> CallsOptions {
    CallsOptions {
        pattern: Pattern::new(pattern),
        conditions: Vec::new(),
        limit: Limit { per_s: None, total: 1_000 },
        has_returns: false,
        body_len_max: 0,
    }
}

fn declare(queue: &str) {
    let mut call = DECLARE.enter(|arguments| {
        arguments.text("queue", queue).flag("durable", true).body("body", b"secret");
    });
    call.returns(|| "ok".to_owned());
}

/// All that a session has seen by now, as text.
fn seen(session: &CallsSession) -> Vec<String> {
    let mut lines = Vec::new();
    let mut cx = Context::from_waker(Waker::noop());
    loop {
        match session.poll_next(&mut cx) {
            Poll::Pending => return lines,
            Poll::Ready(Ok(TraceEvent::Call(call))) => lines.push(format!("{}({})", call.point, call.arguments)),
            Poll::Ready(Ok(TraceEvent::Return(ended))) => {
                lines.push(format!("{} --> {}", ended.point, ended.result.as_deref().unwrap_or_default()));
            }
            Poll::Ready(Err(end)) => {
                lines.push(format!("{:?}", end.tripped));
                return lines;
            }
        }
    }
}

#[test]
fn a_session_sees_the_calls_that_it_asked_for_and_no_others() {
    let _turn = alone();
    let mut wanted = options("test::decl*");
    wanted.conditions = vec![Condition::parse("queue=orders").expect("it is one")];
    wanted.has_returns = true;
    let session = CallsSession::open(wanted).expect("there is room");
    assert!(DECLARE.is_watched() && !LIST.is_watched() && is_active());
    declare("orders");
    declare("others");
    drop(LIST.enter(|_| unreachable!("it is not watched")));
    assert_eq!(seen(&session), [r#"test::declare(queue="orders", durable=true)"#, "test::declare --> ok"]);
    drop(session);
    assert!(!DECLARE.is_watched() && session_count() == 0);
    declare("orders");
}

#[test]
fn a_limit_ends_a_session_with_a_word_and_costs_nothing_from_then_on() {
    let _turn = alone();
    let session =
        CallsSession::open(CallsOptions { limit: Limit::default(), ..options("test::*") }).expect("there is room");
    (0..30).for_each(|_| declare("q"));
    assert!(!DECLARE.is_watched());
    let lines = seen(&session);
    assert_eq!((lines.len(), lines.last().map(String::as_str)), (11, Some("Rate(10)")));
    let total = Limit { per_s: None, total: 2 };
    let session = CallsSession::open(CallsOptions { limit: total, ..options("test::*") }).expect("there is room");
    declare("q");
    declare("q");
    assert!(!DECLARE.is_watched(), "it ends with the last one, not with the one after it");
    assert_eq!(seen(&session)[2..], ["Total(2)".to_owned()]);
}

#[test]
fn the_return_of_the_last_call_is_waited_for() {
    let _turn = alone();
    let total = Limit { per_s: None, total: 1 };
    let wanted = CallsOptions { limit: total, has_returns: true, ..options("test::declare") };
    let session = CallsSession::open(wanted).expect("there is room");
    let call = DECLARE.enter(|_| {});
    assert_eq!(seen(&session), ["test::declare()"]);
    drop(call);
    assert_eq!(seen(&session), ["test::declare --> ", "Total(1)"]);
}

#[test]
fn a_viewer_that_does_not_read_costs_a_mebibyte_at_most() {
    let _turn = alone();
    let wanted =
        CallsOptions { limit: Limit { per_s: None, total: u64::MAX }, body_len_max: 4, ..options("test::declare") };
    let session = CallsSession::open(wanted).expect("there is room");
    let name = "x".repeat(256);
    (0..10_000).for_each(|_| declare(&name));
    let lines = seen(&session);
    assert!(
        lines.len() < SESSION_LEN_MAX / 256 && lines.len() as u64 + session.missed_count() == 10_000,
        "{}",
        lines.len()
    );
    assert!(lines[0].ends_with(r#"durable=true, body="secr"… (6 bytes))"#), "{}", lines[0]);
    assert!(session.cost() > std::time::Duration::ZERO);
}

#[test]
fn there_are_eight_sessions_at_most() {
    let _turn = alone();
    let mut sessions: Vec<_> = (0..SESSION_COUNT_MAX).map(|_| CallsSession::open(options("test::list"))).collect();
    assert!(sessions.iter().all(Result::is_ok));
    assert_eq!(WallSession::open(Pattern::new("test::*")).err(), Some(OpenError::TooMany));
    sessions.remove(3).expect("it is open");
    let _wall = WallSession::open(Pattern::new("test::*")).expect("there is room");
    assert_eq!(CallsSession::open(options("test::list")).err(), Some(OpenError::TooMany));
}

#[test]
fn what_would_see_nothing_is_refused() {
    let _turn = alone();
    assert_eq!(CallsSession::open(options("nothing::*")).err(), Some(OpenError::NoPoint));
    let conditions = vec![Condition::parse("color=red").expect("it is one")];
    let error = CallsSession::open(CallsOptions { conditions, ..options("test::*") }).err();
    assert_eq!(error, Some(OpenError::NoArgument("color".to_owned())));
    assert_eq!(session_count(), 0);
}

fn tree_of(session: &WallSession) -> Vec<String> {
    session.with_tree(|tree, _| {
        let nodes = tree.nodes();
        let path = |mut place: usize| {
            let mut names = vec![format!("{} {}", nodes[place].kind.name(), nodes[place].name)];
            while let Some(parent) = nodes[place].parent {
                place = parent as usize;
                names.push(nodes[place].name.to_string());
            }
            names.join(" < ")
        };
        (0..nodes.len()).map(path).collect()
    })
}

#[test]
fn a_wait_for_a_lock_names_its_holder() {
    let _turn = alone();
    static LOCK: locks::Mutex<()> = locks::Mutex::new("the lock", ());
    let session = WallSession::open(Pattern::new("test::list")).expect("there is room");
    let (holds, is_held) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        let hold = || {
            let _call = HOLD.enter(|_| {});
            let _guard = LOCK.lock();
            holds.send(()).expect("it is waited for");
            // Until the other one waits for it.
            while session.with_tree(|tree, _| tree.nodes().len()) < 3 {
                std::thread::yield_now();
            }
        };
        let holding = std::thread::Builder::new().name("a holder".to_owned()).spawn_scoped(scope, hold);
        is_held.recv().expect("it is held");
        let _call = LIST.enter(|_| {});
        drop(SORT.enter(|_| {}));
        drop(LOCK.lock());
        holding.expect("there are threads").join().expect("it ends");
    });
    let expected =
        ["call test::list", "call test::sort < test::list", "lock the lock, held by test::hold < test::list"];
    assert_eq!(tree_of(&session), expected);
    session.with_tree(|tree, count| {
        let wait = &tree.nodes()[2];
        assert_eq!((wait.holder.as_deref(), wait.count, count), (Some("a holder"), 1, 1));
        let list = &tree.nodes()[0];
        assert_eq!(list.own_ns + tree.nodes()[1].total_ns + wait.total_ns, list.total_ns);
    });
}

#[test]
fn a_call_is_followed_across_its_awaits_and_into_the_thread_that_it_waits_for() {
    let _turn = alone();
    let session = WallSession::open(Pattern::new("test::list")).expect("there is room");
    let (order, mut ordered) = tokio::sync::mpsc::channel::<tokio::sync::oneshot::Sender<()>>(1);
    let journal = std::thread::Builder::new().name("a journal".to_owned()).spawn(move || {
        while let Some(done) = ordered.blocking_recv() {
            let commit = COMMIT.enter(|_| {});
            drop(SYNC.enter(|_| {}));
            drop(commit);
            done.send(()).expect("it is waited for");
        }
    });
    let waited = WaitReason { kind: WaitKind::Disk, name: "the commit", threads: &["a journal"] };
    let request = async {
        drop(SORT.enter(|_| {}));
        let (done, is_done) = tokio::sync::oneshot::channel();
        order.send(done).await.expect("it runs");
        waiting(waited, is_done).await.expect("it is done");
        // Nothing says what this is for.
        let mut is_first = true;
        poll_fn(|cx| {
            cx.waker().wake_by_ref();
            if std::mem::take(&mut is_first) { Poll::Pending } else { Poll::Ready(()) }
        })
        .await;
        7
    };
    let followed = CallDescription {
        name: || "a request".to_owned(),
        arguments: |_: &mut Arguments| {},
        result: |n: &i32| n.to_string(),
    };
    let other = async { drop(SORT.enter(|_| {})) };
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("there are runtimes");
    let ((result, _), ()) = runtime.block_on(async { tokio::join!(follow(&LIST, followed, request), other) });
    assert_eq!(result, 7);
    drop(order);
    journal.expect("there are threads").join().expect("it ends");
    let expected = [
        "call test::list",
        "call test::sort < test::list",
        "disk the commit < test::list",
        "elsewhere test::commit < the commit < test::list",
        "elsewhere test::sync < test::commit < the commit < test::list",
        "task not polled < test::list",
    ];
    assert_eq!(tree_of(&session), expected);
}

#[test]
fn a_call_is_followed_until_its_answer_while_its_task_works_on() {
    let _turn = alone();
    let wall = WallSession::open(Pattern::new("test::declare")).expect("there is room");
    let calls =
        CallsSession::open(CallsOptions { has_returns: true, ..options("test::declare") }).expect("there is room");
    let task = Task::new();
    let _running = task.enter(|| "a connection".to_owned());
    let begin = || {
        let call = DECLARE.enter(|_| {});
        drop(SORT.enter(|_| {}));
        call.answered_later().expect("there is a place")
    };
    let (mut first, mut second) = (begin(), begin());
    {
        let _apply = LIST.enter(|_| {});
        drop(HOLD.enter(|_| {}));
    }
    for call in [&mut first, &mut second] {
        call.waited_for_own_task("its batch", Instant::now());
        call.returns(|| "ack".to_owned());
    }
    let journal = std::thread::Builder::new().name("the journal of a test".to_owned());
    let journal = journal.spawn(|| drop(COMMIT.enter(|_| {}))).expect("there are threads");
    journal.join().expect("it ends");
    let disk = WaitReason { kind: WaitKind::Disk, name: "the disk", threads: &["not there", "the journal of a test"] };
    let durable_at = Instant::now();
    first.waited(&disk, durable_at);
    // What was before the end of the last wait is none.
    first.waited(&disk, durable_at);
    drop(first);
    drop(second);
    let expected = [
        "call test::declare",
        "call test::sort < test::declare",
        "task its batch < test::declare",
        "elsewhere test::list < its batch < test::declare",
        "elsewhere test::hold < test::list < its batch < test::declare",
        "disk the disk < test::declare",
        "elsewhere test::commit < the disk < test::declare",
    ];
    assert_eq!(tree_of(&wall), expected);
    wall.with_tree(|tree, count| {
        let counts: Vec<u64> = tree.nodes().iter().map(|node| node.count).collect();
        assert_eq!((counts, count), (vec![2, 2, 2, 2, 2, 1, 1], 2));
        let own: u64 = tree.nodes().iter().map(|node| node.own_ns).sum();
        assert_eq!(own, tree.nodes()[0].total_ns);
    });
    let answered = ["test::declare()", "test::declare()", "test::declare --> ack", "test::declare --> ack"];
    assert_eq!(seen(&calls), answered);
}

#[test]
fn not_more_calls_are_followed_to_their_answers_than_may_be() {
    let _turn = alone();
    let wanted =
        CallsOptions { has_returns: true, limit: Limit { per_s: None, total: u64::MAX }, ..options("test::declare") };
    let session = CallsSession::open(wanted).expect("there is room");
    let begin = || {
        let mut call = DECLARE.enter(|_| {});
        call.returns(|| "ok".to_owned());
        call.answered_later()
    };
    let followed: Vec<_> = (0..PENDING_ANSWER_COUNT_MAX).map(|_| begin()).collect();
    assert!(followed.iter().all(Option::is_some));
    assert_eq!(seen(&session).len(), PENDING_ANSWER_COUNT_MAX);
    assert!(begin().is_none());
    let told = "test::declare --> ok (the answer is not waited for: 1024 others are)";
    assert_eq!(seen(&session), ["test::declare()", told]);
    drop(followed);
    assert_eq!(seen(&session).len(), PENDING_ANSWER_COUNT_MAX);
    assert!(begin().is_some());
}

#[test]
fn the_recorder_keeps_calls_with_what_they_were_about_and_their_tasks() {
    let _turn = alone();
    assert_eq!(recorder().recording(), None);
    recorder().start(std::time::Duration::MAX);
    let task = Task::new();
    {
        let _running = task.enter(|| "connection 7".to_owned());
        declare("orders");
        let publish = DECLARE.enter(|arguments| _ = arguments.text("queue", "answered later"));
        drop(publish.answered_later());
    }
    let recording = recorder().recording().expect("it runs");
    recorder().stop();
    let moment = recording.moments.iter().find(|moment| moment.text == "orders").expect("it was recorded");
    assert_eq!(moment.name, "test::declare");
    let of_answer: Vec<bool> = recording
        .moments
        .iter()
        .filter(|moment| moment.text == "answered later")
        .map(|moment| moment.is_answered)
        .collect();
    assert!(!moment.is_answered && of_answer == [false, true], "{of_answer:?}");
    assert!(recording.tasks.iter().any(|(id, name)| *id == moment.task && **name == *"connection 7"));
    assert!(!DECLARE.is_watched() && !is_active() && recorder().recording().is_none());
}

#[test]
fn a_task_is_one_wherever_it_runs() {
    let _turn = alone();
    let session = CallsSession::open(options("test::declare")).expect("there is room");
    let task = Arc::new(Task::new());
    let of_thread = task.clone();
    let run = move || {
        let _running = of_thread.enter(|| "a connection".to_owned());
        declare("orders");
    };
    std::thread::spawn(run.clone()).join().expect("it ends");
    run();
    declare("by the thread");
    let mut tasks = Vec::new();
    while let Poll::Ready(Ok(TraceEvent::Call(call))) = session.poll_next(&mut Context::from_waker(Waker::noop())) {
        tasks.push(call.task);
    }
    assert_eq!(tasks.len(), 3);
    assert!(*tasks[0] == *"a connection" && tasks[0] == tasks[1] && tasks[2] != tasks[0], "{tasks:?}");
}
