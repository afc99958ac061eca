//! Rules over days: what is pending, fires and resolves.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::facts::{Age, QueueFacts};
use crate::limits::TRACKED_COUNT_MAX;

const QUIET: NodeFacts = NodeFacts {
    is_memory_low: false,
    is_disk_low: false,
    has_data_loss: false,
    cluster_trouble_count: 0,
    connection_count: 0,
    flow_count: 0,
    connection_max: None,
    lockout_count: 0,
    unroutable_count: 0,
};

fn rule(name: &str, members: &Value) -> Rule {
    Rule::parse(name, members.as_object().unwrap()).unwrap()
}

fn names(names: &[&str]) -> Vec<Box<str>> {
    names.iter().map(|name| (*name).into()).collect()
}

fn engine(members: Value) -> Engine {
    let mut engine = Engine::new("n");
    assert!(engine.set_rules(vec![rule("r", &members)], &names(&["a"]), 0).is_empty());
    engine
}

/// A queue in the vhost `/`: its number, ready messages, consumers and the age of the oldest one.
#[derive(Clone, Copy)]
struct Seen(u64, u64, u64, Age);

fn ready(id: u64, ready_count: u64) -> Seen {
    Seen(id, ready_count, 0, Age::Unknown)
}

/// One look at these queues, whose names are `q` and their number.
fn look(engine: &mut Engine, now_ms: u64, queues: &[Seen]) -> Vec<(String, Status)> {
    let notices = look_whole(engine, now_ms, &QUIET, queues);
    notices
        .into_iter()
        .map(|notice| (notice.alert.queue.as_deref().unwrap_or_default().to_owned(), notice.status))
        .collect()
}

fn look_whole(engine: &mut Engine, now_ms: u64, node: &NodeFacts, queues: &[Seen]) -> Vec<Notice> {
    let mut pass = engine.start(now_ms, node);
    if pass.vhost("/") {
        for &Seen(id, ready_count, consumer_count, age) in queues {
            let name = format!("q{id}");
            let facts = QueueFacts { id, name: &name, ready_count, unacked_count: 5, consumer_count };
            pass.queue("/", &facts, || age);
        }
    }
    pass.end()
}

fn fired(queue: &str) -> (String, Status) {
    (queue.to_owned(), Status::Firing)
}

fn over(queue: &str) -> (String, Status) {
    (queue.to_owned(), Status::Resolved)
}

#[test]
fn every_queue_has_a_state_of_its_own() {
    let mut engine = engine(json!({"kind": "queue-length", "above": 10, "for": 20}));
    assert!(look(&mut engine, 0, &[ready(1, 11), ready(2, 5)]).is_empty());
    assert!(look(&mut engine, 10, &[ready(1, 11), ready(2, 50)]).is_empty());
    assert_eq!(engine.alert_states().count(), 2);
    assert_eq!(look(&mut engine, 20, &[ready(1, 11), ready(2, 50)]), [fired("q1")]);
    assert_eq!(look(&mut engine, 30, &[ready(1, 2), ready(2, 50)]), [over("q1"), fired("q2")]);
    assert_eq!((engine.firing_count(Severity::Warning), engine.firing_count(Severity::Critical)), (1, 0));
    assert!(look(&mut engine, 40, &[ready(1, 2), ready(2, 60)]).is_empty());
    let alert_states: Vec<_> = engine.alert_states().map(|state| (state.alert.value, state.alert.since_ms)).collect();
    assert_eq!(alert_states, [(60.0, 30)]);
}

#[test]
fn a_queue_that_goes_takes_its_alert_with_it() {
    let mut engine = engine(json!({"kind": "queue-length", "above": 10}));
    assert_eq!(look(&mut engine, 0, &[ready(1, 11)]), [fired("q1")]);
    let notices = look_whole(&mut engine, 1, &QUIET, &[]);
    assert_eq!(notices.iter().map(|notice| notice.reason).collect::<Vec<_>>(), [Some(Reason::OutOfScope)]);
    assert_eq!(engine.alert_states().count(), 0);
}

/// A receiver identifies an alert by the id, which the new queue has, too: its last notice has to be true.
#[test]
fn of_a_queue_that_is_declared_again_the_old_alert_ends_before_the_new_one_begins() {
    let mut engine = engine(json!({"kind": "queue-length", "above": 10}));
    let mut at = |now_ms, id| {
        let mut pass = engine.start(now_ms, &QUIET);
        assert!(pass.vhost("/"));
        let facts = QueueFacts { id, name: "q", ready_count: 11, unacked_count: 0, consumer_count: 0 };
        pass.queue("/", &facts, || Age::Unknown);
        pass.end().into_iter().map(|notice| (notice.status, notice.reason, notice.alert.id)).collect::<Vec<_>>()
    };
    let first = at(0, 1);
    let id = first[0].2.clone();
    assert_eq!(first, [(Status::Firing, None, id.clone())]);
    let second = at(1, 2);
    assert_eq!(second, [(Status::Resolved, Some(Reason::OutOfScope), id.clone()), (Status::Firing, None, id)]);
}

#[test]
fn a_rule_means_the_queues_that_its_patterns_match() {
    let of = |scope: Value| {
        let mut members = json!({"kind": "queue-length", "above": 10});
        members.as_object_mut().unwrap().extend(scope.as_object().unwrap().clone());
        look(&mut engine(members), 0, &[ready(1, 11), ready(2, 11), ready(12, 11)])
    };
    assert_eq!(of(json!({"queue": "^q1"})), [fired("q1"), fired("q12")]);
    assert_eq!(of(json!({"queue": "2$", "vhost": "^/$"})), [fired("q2"), fired("q12")]);
    assert_eq!(of(json!({"vhost": "^other$"})), []);
}

#[test]
fn each_kind_counts_what_it_says() {
    let check = |members: Value, queue: Seen, is_firing: bool| {
        assert_eq!(!look(&mut engine(members.clone()), 0, &[queue]).is_empty(), is_firing, "{members}");
    };
    check(json!({"kind": "queue-length", "above": 10}), ready(1, 10), false);
    check(json!({"kind": "queue-length", "above": 10, "unacked": true}), ready(1, 6), true);
    check(json!({"kind": "no-consumers"}), ready(1, 1), true);
    check(json!({"kind": "no-consumers"}), ready(1, 0), false);
    check(json!({"kind": "no-consumers"}), Seen(1, 5, 1, Age::Nothing), false);
    check(json!({"kind": "oldest-age", "above": 60}), Seen(1, 1, 0, Age::Ms(60_001)), true);
    check(json!({"kind": "oldest-age", "above": 60}), Seen(1, 1, 0, Age::Ms(60_000)), false);
    check(json!({"kind": "oldest-age", "above": 0}), Seen(1, 1, 0, Age::Unknown), false);
    check(json!({"kind": "oldest-age", "above": 0}), Seen(1, 0, 0, Age::Ms(5)), false);
}

#[test]
fn an_age_that_is_not_known_changes_nothing() {
    let mut engine = engine(json!({"kind": "oldest-age", "above": 60}));
    assert_eq!(look(&mut engine, 0, &[Seen(1, 1, 0, Age::Ms(61_000))]), [fired("q1")]);
    assert_eq!(look(&mut engine, 1, &[Seen(1, 1, 0, Age::Unknown)]), []);
    assert_eq!(look(&mut engine, 2, &[Seen(1, 1, 0, Age::Nothing)]), [over("q1")]);
}

#[test]
fn no_age_is_asked_for_where_no_rule_wants_it() {
    let asked = |members: Value, name: &str, ready_count| {
        let (mut engine, mut count) = (engine(members), 0);
        let mut pass = engine.start(0, &QUIET);
        if pass.vhost("/") {
            let facts = QueueFacts { id: 1, name, ready_count, unacked_count: 0, consumer_count: 0 };
            pass.queue("/", &facts, || {
                count += 1;
                Age::Nothing
            });
        }
        let _ = pass.end();
        count
    };
    let oldest = json!({"kind": "oldest-age", "above": 1, "queue": "^q"});
    assert_eq!(asked(oldest.clone(), "q", 1), 1);
    assert_eq!(asked(oldest.clone(), "q", 0), 0);
    assert_eq!(asked(oldest, "other", 1), 0);
    assert_eq!(asked(json!({"kind": "queue-length", "above": 0}), "q", 1), 0);
}

#[test]
fn growth_fires_while_a_queue_grows_and_ends_when_it_stops() {
    let mut engine = engine(json!({"kind": "growth", "above": 10, "window": 10_000}));
    let mut events = Vec::new();
    for second in 0..60 {
        // 20 a second for half a minute.
        let count = second.min(30) * 20;
        for (_, status) in look(&mut engine, second * 1000, &[ready(1, count), ready(2, 100_000)]) {
            events.push((second, status));
        }
    }
    let [(10..=11, Status::Firing), (35..=42, Status::Resolved)] = events[..] else { panic!("{events:?}") };
}

#[test]
fn rules_about_the_node_watch_its_numbers() {
    let check = |members: Value, facts: NodeFacts, is_firing: bool| {
        let mut engine = engine(members.clone());
        // Counters count from the first look on.
        assert!(look_whole(&mut engine, 0, &QUIET, &[]).is_empty());
        let notices = look_whole(&mut engine, 30_000, &facts, &[]);
        assert_eq!(notices.len(), usize::from(is_firing), "{members}");
        assert!(notices.iter().all(|notice| notice.alert.queue.is_none() && notice.alert.vhost.is_none()));
    };
    let memory = NodeFacts { is_memory_low: true, ..QUIET };
    check(json!({"kind": "memory-alarm"}), memory, true);
    check(json!({"kind": "disk-alarm"}), memory, false);
    check(json!({"kind": "disk-alarm"}), NodeFacts { is_disk_low: true, ..QUIET }, true);
    check(json!({"kind": "cluster"}), NodeFacts { cluster_trouble_count: 1, ..QUIET }, true);
    check(json!({"kind": "cluster", "above": 1}), NodeFacts { cluster_trouble_count: 1, ..QUIET }, false);
    check(json!({"kind": "data-loss"}), memory, false);
    check(json!({"kind": "data-loss"}), NodeFacts { has_data_loss: true, ..QUIET }, true);
    let flow = NodeFacts { connection_count: 4, flow_count: 1, connection_max: Some(10), ..QUIET };
    check(json!({"kind": "flow"}), flow, true);
    check(json!({"kind": "flow", "above": 25}), flow, false);
    check(json!({"kind": "connections", "above": 39}), flow, true);
    check(json!({"kind": "connections", "above": 40}), flow, false);
    check(json!({"kind": "connections", "above": 0}), NodeFacts { connection_max: None, ..flow }, false);
    check(json!({"kind": "lock-outs"}), NodeFacts { lockout_count: 1, ..QUIET }, true);
    check(json!({"kind": "unroutable", "above": 9}), NodeFacts { unroutable_count: 10, ..QUIET }, true);
    check(json!({"kind": "unroutable", "above": 10}), NodeFacts { unroutable_count: 10, ..QUIET }, false);
}

#[test]
fn a_lock_out_is_over_when_none_has_come_for_a_window() {
    let mut engine = engine(json!({"kind": "lock-outs", "window": "1m"}));
    let mut at = |seconds: u64, lockout_count| {
        look_whole(&mut engine, seconds * 1000, &NodeFacts { lockout_count, ..QUIET }, &[]).len()
    };
    assert_eq!([at(0, 7), at(10, 8), at(20, 8), at(69, 8), at(81, 8)], [0, 1, 0, 0, 1]);
}

#[test]
fn objects_beyond_the_bound_are_counted_only() {
    let mut engine = engine(json!({"kind": "queue-length", "above": 0}));
    let queues: Vec<Seen> = (0..TRACKED_COUNT_MAX as u64 + 7).map(|id| ready(id, 1)).collect();
    assert_eq!(look(&mut engine, 0, &queues).len(), TRACKED_COUNT_MAX);
    assert_eq!(engine.alert_states().count(), TRACKED_COUNT_MAX);
    assert_eq!(engine.untracked_counts().collect::<Vec<_>>(), [("r", 7)]);
    // Where some are over, others are tracked.
    let rest: Vec<Seen> = queues.into_iter().skip(7).collect();
    assert_eq!(look(&mut engine, 1, &rest).len(), 7, "those that were deleted");
    assert_eq!(look(&mut engine, 2, &rest).len(), 7, "those that had no place");
    assert_eq!(engine.untracked_counts().count(), 0);
}

#[test]
fn a_rule_that_changes_keeps_what_fires_and_one_that_goes_ends_it() {
    let mut engine = engine(json!({"kind": "queue-length", "above": 10}));
    assert_eq!(look(&mut engine, 0, &[ready(1, 11), ready(2, 11)]).len(), 2);
    let narrower = rule("r", &json!({"kind": "queue-length", "above": 5, "queue": "^q1$", "severity": "critical"}));
    let notices = engine.set_rules(vec![narrower.clone()], &names(&["a"]), 1);
    let reported: Vec<_> = notices.iter().map(|notice| (notice.alert.queue.as_deref(), notice.reason)).collect();
    assert_eq!(reported, [(Some("q2"), Some(Reason::OutOfScope))]);
    assert_eq!(look(&mut engine, 2, &[ready(1, 11), ready(2, 11)]), []);
    assert_eq!(engine.alert_states().next().unwrap().alert.severity, Severity::Critical);
    assert!(engine.set_rules(vec![narrower], &names(&["a"]), 3).is_empty(), "nothing has changed");
    let notices = engine.set_rules(Vec::new(), &[], 4);
    assert_eq!(notices.iter().map(|notice| notice.reason).collect::<Vec<_>>(), [Some(Reason::RuleRemoved)]);
    assert_eq!((engine.firing_count(Severity::Critical), engine.needs()), (0, Needs::default()));
}

#[test]
fn whom_a_rule_tells_from_now_on_learns_what_fires_and_whom_it_tells_no_more_that_it_is_over() {
    let of = |webhooks: &[&str]| vec![rule("r", &json!({"kind": "queue-length", "above": 10, "webhooks": webhooks}))];
    let mut engine = Engine::new("n");
    let reported = |notices: Vec<Notice>| -> Vec<_> {
        let reported = |notice: Notice| (notice.status, notice.reason, notice.is_change(), notice.webhooks.to_vec());
        notices.into_iter().map(reported).collect()
    };
    let all = names(&["a", "b", "c"]);
    assert_eq!(reported(engine.set_rules(of(&["a", "b"]), &all, 0)), []);
    let fired = reported(look_whole(&mut engine, 0, &QUIET, &[ready(1, 11), ready(2, 5)]));
    assert_eq!(fired, [(Status::Firing, None, true, names(&["a", "b"]))]);
    let both = [
        (Status::Resolved, Some(Reason::OutOfScope), false, names(&["a"])),
        (Status::Firing, None, false, names(&["c"])),
    ];
    assert_eq!(reported(engine.set_rules(of(&["b", "c"]), &all, 1)), both);
    assert_eq!(reported(engine.set_rules(of(&["b", "c"]), &all, 2)), []);
    // All that there are, and one that was not there.
    let rest = [(Status::Firing, None, false, names(&["a"]))];
    assert_eq!(reported(engine.set_rules(of(&[]), &all, 3)), rest);
    let more = names(&["a", "b", "c", "d"]);
    assert_eq!(reported(engine.set_rules(of(&[]), &more, 4)), [(Status::Firing, None, false, names(&["d"]))]);
    assert_eq!(reported(engine.set_rules(of(&["missing"]), &more, 5))[0].3, more);
    assert_eq!(reported(engine.set_rules(of(&["missing"]), &names(&["missing"]), 6))[0].3, names(&["missing"]));
    let over = reported(look_whole(&mut engine, 7, &QUIET, &[]));
    assert_eq!(over, [(Status::Resolved, Some(Reason::OutOfScope), true, names(&["missing"]))]);
}

#[test]
fn a_rule_that_measures_otherwise_keeps_what_fires_until_it_has_measured() {
    let growth = |more: Value| {
        let mut members = json!({"kind": "growth", "above": 10, "window": "10s"});
        members.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        members
    };
    for more in [json!({"window": "20s"}), json!({"window": "5s"}), json!({"queue": "^q"}), json!({"vhost": "^/$"})] {
        let mut engine = engine(growth(json!({})));
        let mut reported = Vec::new();
        for second in 0..100 {
            if second == 30 {
                assert!(engine.set_rules(vec![rule("r", &growth(more.clone()))], &names(&["a"]), 30_000).is_empty());
            }
            // 20 a second for a minute.
            let count = second.min(60) * 20;
            // The other one has been full all the time.
            let notices = look(&mut engine, second * 1000, &[ready(1, count), ready(2, 100_000)]);
            reported.extend(notices.into_iter().map(|(queue, status)| (second, queue, status)));
        }
        let [(10..=13, first, Status::Firing), (61..=85, last, Status::Resolved)] = &reported[..] else {
            panic!("{more}: {reported:?}")
        };
        assert_eq!((&**first, &**last), ("q1", "q1"));
    }
}

#[test]
fn a_rate_over_a_longer_window_is_not_over_before_that_has_passed() {
    let rate = |window: &str| rule("r", &json!({"kind": "unroutable", "above": 50, "window": window}));
    let mut engine = Engine::new("n");
    assert!(engine.set_rules(vec![rate("1m")], &[], 0).is_empty());
    let mut reported = Vec::new();
    for second in 0..1500 {
        if second == 300 {
            assert!(engine.set_rules(vec![rate("10m")], &[], 300_000).is_empty());
        }
        // 60 a minute for a quarter of an hour.
        let facts = NodeFacts { unroutable_count: second.min(900), ..QUIET };
        let notices = look_whole(&mut engine, second * 1000, &facts, &[]);
        reported.extend(notices.into_iter().map(|notice| (second, notice.status)));
    }
    let [(50..=55, Status::Firing), (950..=1100, Status::Resolved)] = reported[..] else { panic!("{reported:?}") };
}

#[test]
fn nothing_is_looked_at_that_no_rule_wants() {
    let needs = |members: Value| engine(members).needs();
    assert_eq!(needs(json!({"kind": "memory-alarm"})), Needs::default());
    assert_eq!(needs(json!({"kind": "flow"})), Needs { flow: true, ..Needs::default() });
    assert_eq!(needs(json!({"kind": "growth", "above": 1})), Needs { queues: true, ..Needs::default() });
    let mut engine = engine(json!({"kind": "growth", "above": 1, "vhost": "^a$"}));
    let mut pass = engine.start(0, &QUIET);
    assert!(!pass.vhost("b") && pass.vhost("a"));
}

proptest! {
    /// However lengths go up and down: firing and resolution take turns, each when it has to come.
    #[test]
    fn firing_and_resolution_take_turns(
        lengths in prop::collection::vec(0_u64..20, 1..100),
        for_ms in 0_u64..4,
        clear_for_ms in 0_u64..4,
        clear in 0_u64..10,
    ) {
        let members =
            json!({"kind": "queue-length", "above": 10, "clear": clear, "for": for_ms, "clear_for": clear_for_ms});
        let mut engine = engine(members);
        let (mut is_firing, mut above_since, mut clear_since) = (false, None, None);
        for (now_ms, length) in lengths.into_iter().enumerate() {
            let now_ms = now_ms as u64;
            let reported = look(&mut engine, now_ms, &[ready(1, length)]);
            // The naive model: since when has it been so?
            above_since = (length > 10).then(|| above_since.unwrap_or(now_ms));
            clear_since = (length <= clear).then(|| clear_since.unwrap_or(now_ms));
            let expected = match is_firing {
                false if above_since.is_some_and(|since| now_ms - since >= for_ms) => Some(fired("q1")),
                true if clear_since.is_some_and(|since| now_ms - since >= clear_for_ms) => Some(over("q1")),
                _ => None,
            };
            if expected.is_some() {
                is_firing = !is_firing;
                // What was before it fired is not how long it has been over.
                (above_since, clear_since) = (above_since.filter(|_| is_firing), None);
            }
            prop_assert_eq!(reported, expected.into_iter().collect::<Vec<_>>());
        }
    }
}

#[derive(Debug, Clone)]
enum Step {
    /// Of each of these queues, which one of its name it is and how many messages it has; or that there is none.
    Look(Vec<Option<(u64, u64)>>),
    /// The rules that there are from now on, and the webhooks.
    Rules(Vec<Rule>, Vec<Box<str>>),
}

const WEBHOOKS: [&str; 3] = ["a", "b", "c"];

fn step() -> impl Strategy<Value = Step> {
    let queue = prop::option::of((0_u64..2, prop_oneof![Just(0_u64), Just(20)]));
    let some = || prop::sample::subsequence(WEBHOOKS.to_vec(), 0..=3);
    let members = |(kind, queue, webhooks, repeat_ms): (usize, usize, Vec<&str>, bool)| {
        let kind = ["queue-length", "no-consumers"][kind];
        let queue = ["q", "0$"][queue];
        let mut members = json!({"kind": kind, "above": 10, "queue": queue, "webhooks": webhooks});
        if repeat_ms {
            members["repeat"] = json!(60_000);
        }
        members
    };
    let rule_of = move |name: &'static str| {
        let parts = (0..2_usize, 0..2_usize, some(), any::<bool>());
        prop::option::of(parts.prop_map(members).prop_map(move |members| rule(name, &members)))
    };
    prop_oneof![
        3 => prop::collection::vec(queue, 3).prop_map(Step::Look),
        2 => (rule_of("r"), rule_of("s"), some())
            .prop_map(|(r, s, webhooks)| Step::Rules(r.into_iter().chain(s).collect(), names(&webhooks))),
    ]
}

/// What a webhook knows from its notices.
#[derive(Debug, Default)]
struct Listener(std::collections::BTreeSet<Arc<str>>);

impl Listener {
    fn hear(&mut self, notice: &Notice) {
        let id = notice.alert.id.clone();
        match (notice.status, notice.is_reminder) {
            (Status::Firing, true) => {
                assert!(self.0.contains(&id), "reminded of what it was not notified of: {notice:?}")
            }
            (Status::Firing, false) => assert!(self.0.insert(id), "notified twice: {notice:?}"),
            (Status::Resolved, _) => assert!(self.0.remove(&id), "over without having been: {notice:?}"),
        }
    }
}

proptest! {
    /// Whatever becomes of queues, rules and webhooks: a webhook is notified of firing and resolution in turns, and knows what fires by its
    /// rules; a reader of changes alone, such as the history, knows what fires.
    #[test]
    fn whoever_listens_knows_what_fires(steps in prop::collection::vec(step(), 1..60)) {
        let mut engine = Engine::new("n");
        let mut listeners = std::collections::BTreeMap::<Box<str>, Listener>::new();
        let mut history = Listener::default();
        let mut rules = Vec::new();
        for (number, step) in (0_u64..).zip(steps) {
            let now_ms = number * 30_000;
            let notices = match step {
                Step::Rules(new, webhooks) => {
                    rules.clone_from(&new);
                    listeners.retain(|name, _| webhooks.contains(name));
                    listeners.extend(webhooks.iter().filter(|name| !listeners.contains_key(*name)).map(|name| {
                        (name.clone(), Listener::default())
                    }).collect::<Vec<_>>());
                    engine.set_rules(new, &webhooks, now_ms)
                }
                Step::Look(queues) => {
                    let mut pass = engine.start(now_ms, &QUIET);
                    if pass.vhost("/") {
                        for (at, (which, ready_count)) in (0_u64..).zip(queues).filter_map(|(at, queue)| Some((at, queue?))) {
                            let (id, name) = (at * 2 + which, format!("q{at}"));
                            let facts = QueueFacts { id, name: &name, ready_count, unacked_count: 0, consumer_count: 0 };
                            pass.queue("/", &facts, || Age::Unknown);
                        }
                    }
                    pass.end()
                }
            };
            for notice in &notices {
                for (_, listener) in listeners.iter_mut().filter(|(name, _)| notice.notifies(name)) {
                    listener.hear(notice);
                }
                if notice.is_change() {
                    history.hear(notice);
                }
            }
            let firing = |reported: &dyn Fn(&str) -> bool| -> std::collections::BTreeSet<Arc<str>> {
                let states = engine.alert_states().filter(|state| matches!(state.phase, Phase::Firing { .. }));
                states.filter(|state| reported(&state.alert.rule)).map(|state| state.alert.id.clone()).collect()
            };
            prop_assert_eq!(&history.0, &firing(&|_| true));
            for (name, listener) in &listeners {
                let is_notified = |rule: &str| rules.iter().any(|own: &Rule| *own.name == *rule && own.notifies(name));
                prop_assert_eq!(&listener.0, &firing(&is_notified), "{}", name);
            }
        }
    }
}

/// `cargo test --release -p alerts -- --ignored --nocapture a_look_at`
#[test]
#[ignore = "a measurement"]
fn a_look_at_a_hundred_thousand_queues_costs_little() {
    let names: Vec<String> = (0..100_000).map(|number| format!("queue-of-some-tenant-{number}")).collect();
    for members in [
        json!({"kind": "queue-length", "above": 1000, "queue": "tenant-[0-9]+$"}),
        json!({"kind": "queue-length", "above": 0, "queue": "tenant-[0-9]+$"}),
        json!({"kind": "no-consumers", "queue": "tenant-[0-9]+$"}),
        json!({"kind": "growth", "above": 1000, "queue": "tenant-[0-9]+$", "window": "1s"}),
        json!({"kind": "oldest-age", "above": 60, "queue": "tenant-[0-9]+$"}),
    ] {
        let mut engine = engine(members.clone());
        let looks = (1..20).map(|look| {
            let started_at = std::time::Instant::now();
            let mut pass = engine.start(look * 300, &QUIET);
            assert!(pass.vhost("/"));
            for (id, name) in (0..).zip(&names) {
                let facts = QueueFacts { id, name, ready_count: 1, unacked_count: 0, consumer_count: 0 };
                pass.queue("/", &facts, || Age::Ms(1));
            }
            let _ = pass.end();
            started_at.elapsed()
        });
        eprintln!("{members}: {:?}", looks.min());
    }
}
