//! Which upstream is chosen, and which is left out.

use net::proxy_protocol::Version;
use net::{ClientTlsOptions, Trust};

use super::*;
use crate::limits::REFUSED_VHOST_COUNT_MAX;

fn upstream(name: &str, weight: u32, vhosts: &[&str]) -> UpstreamOptions {
    let vhosts = vhosts.iter().map(|vhost| (*vhost).to_owned()).collect();
    UpstreamOptions {
        name: name.to_owned(),
        address: format!("{name}:5672"),
        transport: Transport::default(),
        weight,
        vhosts,
    }
}

fn options(upstreams: &[UpstreamOptions]) -> Options {
    Options { upstreams: upstreams.to_vec(), ..Options::default() }
}

fn balance(upstreams: &[UpstreamOptions]) -> Balance {
    Balance::new(options(upstreams)).unwrap()
}

fn id(balance: &Balance, name: &str) -> UpstreamId {
    balance.id_of(name).unwrap()
}

fn fail(balance: &mut Balance, name: &str, now_ms: u64) -> Option<State> {
    let id = id(balance, name);
    balance.dialled(id, None, now_ms);
    balance.failed(id, None, now_ms, 0, "cannot connect")
}

fn open(balance: &mut Balance, name: &str, now_ms: u64) -> Option<State> {
    let id = id(balance, name);
    balance.dialled(id, None, now_ms);
    balance.opened(id, None)
}

fn shown(balance: &Balance, name: &str) -> Snapshot {
    balance.snapshot().into_iter().find(|upstream| upstream.options.name == name).unwrap()
}

/// All that may be chosen, by name, in the order of the options.
#[track_caller]
fn check_chosen(balance: &Balance, vhost: Option<&str>, now_ms: u64, names: &[&str]) {
    let chosen: std::collections::BTreeSet<UpstreamId> = (0..64)
        .map(|step| balance.choose(vhost, &[], now_ms, (step << 58) | 7))
        .map(|choice| match choice {
            Choice::Upstream(id) => id,
            other => panic!("nothing chosen: {other:?}"),
        })
        .collect();
    let chosen: Vec<&str> = chosen.iter().map(|id| balance.options_of(*id).unwrap().name.as_str()).collect();
    assert_eq!(chosen, names);
}

/// Numbers that look like random ones: splitmix64.
fn randoms(seed: u64) -> impl Iterator<Item = u64> {
    (1u64..).map(move |step| {
        let mut number = seed.wrapping_add(step.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        number ^ (number >> 31)
    })
}

#[test]
fn vhost_is_only_where_it_is_named() {
    let balance = balance(&[
        upstream("a", 1, &[]),
        upstream("b", 1, &["x", "y"]),
        upstream("c", 1, &["y"]),
        upstream("d", 1, &[]),
    ]);
    check_chosen(&balance, Some("x"), 0, &["b"]);
    check_chosen(&balance, Some("y"), 0, &["b", "c"]);
    check_chosen(&balance, Some("z"), 0, &["a", "d"]);
    check_chosen(&balance, None, 0, &["a", "b", "c", "d"]);
}

#[test]
fn vhost_that_nobody_serves_is_nowhere() {
    let balance = balance(&[upstream("a", 1, &["x"])]);
    assert_eq!(balance.choose(Some("y"), &[], 0, 0), Choice::Nowhere);
}

#[test]
fn named_vhost_does_not_fall_back_to_others() {
    let mut balance = balance(&[upstream("a", 1, &[]), upstream("b", 1, &["x"])]);
    for _ in 0..3 {
        fail(&mut balance, "b", 0);
    }
    assert_eq!(balance.choose(Some("x"), &[], 0, 0), Choice::Later { at_ms: 125 });
}

#[test]
fn connections_follow_weights() {
    let balance =
        balance(&[upstream("a", 1, &[]), upstream("b", 3, &[]), upstream("c", 6, &[]), upstream("d", 0, &[])]);
    let mut counts = [0u32; 4];
    for random in randoms(1).take(100_000) {
        let Choice::Upstream(UpstreamId(index)) = balance.choose(Some("/"), &[], 0, random) else { panic!() };
        counts[usize::try_from(index).unwrap()] += 1;
    }
    let expected = [10_000, 30_000, 60_000, 0];
    for (count, expected) in counts.into_iter().zip(expected) {
        assert!(count.abs_diff(expected) <= expected / 20, "{counts:?}");
    }
}

#[test]
fn weight_0_is_for_when_no_other_is_up() {
    let mut balance = balance(&[upstream("spare", 0, &[]), upstream("a", 1, &[])]);
    check_chosen(&balance, None, 0, &["a"]);
    let a = id(&balance, "a");
    assert_eq!(balance.choose(None, &[a], 0, 0), Choice::Upstream(id(&balance, "spare")));
    for _ in 0..3 {
        fail(&mut balance, "a", 0);
    }
    check_chosen(&balance, None, 0, &["spare"]);
}

#[test]
fn fewest_connections_for_the_weight_come_first() {
    let upstreams = [upstream("a", 1, &[]), upstream("b", 3, &[])];
    let mut balance = Balance::new(Options { strategy: Strategy::LeastConnections, ..options(&upstreams) }).unwrap();
    for random in randoms(2).take(400) {
        let Choice::Upstream(id) = balance.choose(None, &[], 0, random) else { panic!() };
        balance.dialled(id, None, 0);
        if random % 2 == 0 {
            balance.opened(id, None);
        }
    }
    assert_eq!(balance.connection_count_of(id(&balance, "a")), 100);
    assert_eq!(balance.connection_count_of(id(&balance, "b")), 300);
}

#[test]
fn equals_are_chosen_alike() {
    let upstreams = [upstream("a", 1, &[]), upstream("b", 1, &[]), upstream("c", 1, &[])];
    let balance = Balance::new(Options { strategy: Strategy::LeastConnections, ..options(&upstreams) }).unwrap();
    check_chosen(&balance, None, 0, &["a", "b", "c"]);
}

#[test]
fn failures_in_a_row_open_the_circuit() {
    let mut balance = balance(&[upstream("a", 1, &[])]);
    assert_eq!(fail(&mut balance, "a", 0), None);
    assert_eq!(fail(&mut balance, "a", 0), None);
    assert_eq!(open(&mut balance, "a", 0), None);
    assert_eq!(fail(&mut balance, "a", 0), None);
    assert_eq!(fail(&mut balance, "a", 0), None);
    check_chosen(&balance, None, 0, &["a"]);
    assert_eq!(fail(&mut balance, "a", 0), Some(State::Down));
    assert_eq!(balance.choose(None, &[], 0, 0), Choice::Later { at_ms: 125 });
    assert_eq!(balance.choose(None, &[], 124, 0), Choice::Later { at_ms: 125 });
    check_chosen(&balance, None, 125, &["a"]);
}

#[test]
fn half_open_circuit_lets_one_through() {
    let mut balance = balance(&[upstream("a", 1, &[])]);
    let a = id(&balance, "a");
    for _ in 0..3 {
        fail(&mut balance, "a", 0);
    }
    balance.dialled(a, None, 200);
    assert_eq!(shown(&balance, "a").circuit, Circuit::HalfOpen);
    assert_eq!(balance.choose(None, &[], 200, 0), Choice::Later { at_ms: 300 });
    assert_eq!(balance.opened(a, None), Some(State::Up));
    check_chosen(&balance, None, 201, &["a"]);
}

#[test]
fn attempt_that_was_given_up_leaves_its_place_to_another() {
    let mut balance = balance(&[upstream("a", 1, &[])]);
    let a = id(&balance, "a");
    for _ in 0..3 {
        fail(&mut balance, "a", 0);
    }
    balance.dialled(a, None, 200);
    balance.abandoned(a, None, 210);
    check_chosen(&balance, None, 210, &["a"]);
}

#[test]
fn an_attempt_whose_end_is_never_reported_blocks_until_its_timeout() {
    let mut balance = balance(&[upstream("a", 1, &[])]);
    for _ in 0..3 {
        fail(&mut balance, "a", 0);
    }
    balance.dialled(id(&balance, "a"), None, 200);
    assert_eq!(balance.choose(None, &[], 10_199, 0), Choice::Later { at_ms: 10_200 });
    check_chosen(&balance, None, 10_200, &["a"]);
}

#[test]
fn back_off_doubles_up_to_its_maximum() {
    for (random, share) in [(0, 2), (u64::MAX, 1)] {
        let upstreams = [upstream("a", 1, &[])];
        let mut balance = Balance::new(Options { failure_count_max: 1, ..options(&upstreams) }).unwrap();
        let a = id(&balance, "a");
        let mut now_ms = 5;
        for backoff_ms in [250, 500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000] {
            balance.dialled(a, None, now_ms);
            // As far as random numbers go: the most that is added is what the division leaves.
            let random = if share == 1 { backoff_ms / 2 } else { random };
            balance.failed(a, None, now_ms, random, "");
            let Choice::Later { at_ms } = balance.choose(None, &[], now_ms, 0) else { panic!() };
            assert_eq!(at_ms - now_ms, backoff_ms / share);
            now_ms = at_ms;
        }
        open(&mut balance, "a", now_ms);
        fail(&mut balance, "a", now_ms);
        assert_eq!(shown(&balance, "a").open_until_ms, Some(now_ms + 125), "a success is a new beginning");
    }
}

#[test]
fn failures_of_one_moment_are_one() {
    let mut balance = balance(&[upstream("a", 1, &[])]);
    let a = id(&balance, "a");
    for _ in 0..20 {
        balance.dialled(a, None, 0);
    }
    for _ in 0..20 {
        balance.failed(a, None, 0, 0, "");
    }
    assert_eq!(shown(&balance, "a").open_until_ms, Some(125));
    assert_eq!(shown(&balance, "a").consecutive_failure_count, 20);
}

#[test]
fn upstream_that_opens_late_closes_the_circuit() {
    let mut balance = balance(&[upstream("a", 1, &[])]);
    let a = id(&balance, "a");
    balance.dialled(a, None, 0);
    for _ in 0..3 {
        fail(&mut balance, "a", 0);
    }
    assert_eq!(balance.opened(a, None), Some(State::Up));
    check_chosen(&balance, None, 0, &["a"]);
}

#[test]
fn each_is_checked_every_interval_whatever_its_state() {
    let mut balance = balance(&[upstream("a", 1, &[]), upstream("b", 1, &[]), upstream("c", 1, &[])]);
    for _ in 0..3 {
        fail(&mut balance, "b", 0);
    }
    balance.drain(id(&balance, "c"));
    let all = |balance: &mut Balance, now_ms| std::iter::from_fn(|| balance.next_check(now_ms)).count();
    assert_eq!(all(&mut balance, 0), 3);
    assert_eq!(all(&mut balance, 9_999), 0);
    assert_eq!(balance.next_check_at_ms(), Some(10_000));
    assert_eq!(all(&mut balance, 10_000), 3);
    assert_eq!(all(&mut balance, 55_000), 3, "what was missed is not made up for");
}

#[test]
fn longest_overdue_is_checked_first() {
    let mut balance = balance(&[upstream("a", 1, &[]), upstream("b", 1, &[])]);
    assert_eq!(balance.next_check(0), Some(id(&balance, "a")));
    assert_eq!(balance.next_check(5_000), Some(id(&balance, "b")));
    assert_eq!(balance.next_check(16_000), Some(id(&balance, "a")));
}

#[test]
fn interval_of_0_checks_nothing() {
    let upstreams = [upstream("a", 1, &[])];
    let mut balance = Balance::new(Options { check_interval_ms: 0, ..options(&upstreams) }).unwrap();
    assert_eq!((balance.next_check(1_000_000), balance.next_check_at_ms()), (None, None));
}

#[test]
fn checks_open_and_close_circuits() {
    let mut balance = balance(&[upstream("a", 1, &[])]);
    let a = id(&balance, "a");
    assert_eq!(balance.checked(a, Err("says nothing"), 0, 0), None);
    assert_eq!(balance.checked(a, Err("says nothing"), 0, 0), None);
    assert_eq!(balance.checked(a, Err("says nothing"), 7, 0), Some(State::Down));
    let last_error = LastError { text: "says nothing".to_owned(), at_ms: 7 };
    assert_eq!(shown(&balance, "a").last_error, Some(last_error.clone()));
    assert_eq!(balance.checked(a, Ok(()), 8, 0), Some(State::Up));
    check_chosen(&balance, None, 8, &["a"]);
    let counters = Counters { checks_passed: 1, checks_failed: 3, ..Counters::default() };
    assert_eq!(shown(&balance, "a").counters, counters);
    assert_eq!(shown(&balance, "a").last_error, Some(last_error), "it can be read afterwards");
}

#[test]
fn draining_one_gets_no_connection_and_keeps_its_own() {
    let mut balance = balance(&[upstream("a", 1, &[]), upstream("b", 1, &[])]);
    let (a, b) = (id(&balance, "a"), id(&balance, "b"));
    open(&mut balance, "a", 0);
    balance.dialled(a, None, 0);
    assert_eq!(balance.drain(a), Some(State::Draining));
    check_chosen(&balance, None, 0, &["b"]);
    assert_eq!(balance.choose(None, &[b], 0, 0), Choice::Later { at_ms: 100 });
    assert_eq!(balance.connection_count_of(a), 2);
    balance.opened(a, None);
    balance.lost(a);
    balance.lost(a);
    assert_eq!(balance.connection_count_of(a), 0);
    assert_eq!(balance.undrain(a), Some(State::Up));
    check_chosen(&balance, None, 0, &["a", "b"]);
}

#[test]
fn drained_one_that_is_down_is_down_afterwards() {
    let mut balance = balance(&[upstream("a", 1, &[])]);
    let a = id(&balance, "a");
    balance.drain(a);
    for _ in 0..3 {
        assert_eq!(balance.checked(a, Err("refused"), 0, 0), None);
    }
    assert_eq!(balance.undrain(a), Some(State::Down));
}

#[test]
fn what_is_known_outlives_new_options() {
    let mut balance = balance(&[upstream("a", 1, &[]), upstream("b", 1, &[])]);
    let b = id(&balance, "b");
    open(&mut balance, "b", 0);
    for _ in 0..3 {
        fail(&mut balance, "b", 0);
    }
    balance.drain(b);
    balance.set_options(options(&[upstream("b", 7, &["x"]), upstream("c", 1, &[])]), 10).unwrap();
    let shown = shown(&balance, "b");
    assert_eq!((shown.id, shown.options.weight, shown.state, shown.connection_count), (b, 7, State::Draining, 1));
    assert_eq!(balance.undrain(b), Some(State::Down));
    assert_eq!(balance.choose(Some("x"), &[], 10, 0), Choice::Later { at_ms: 125 });
    check_chosen(&balance, Some("/"), 10, &["c"]);
    assert!(balance.id_of("a").is_none(), "without lines it is forgotten at once");
}

#[test]
fn removed_one_is_forgotten_after_its_last_connection() {
    let mut balance = balance(&[upstream("a", 1, &["x"]), upstream("b", 1, &[])]);
    let a = id(&balance, "a");
    open(&mut balance, "a", 0);
    balance.dialled(a, None, 0);
    balance.set_options(options(&[upstream("b", 1, &[])]), 0).unwrap();
    assert_eq!(balance.state_of(a), Some(State::Draining));
    check_chosen(&balance, Some("x"), 0, &["b"]);
    while let Some(checked) = balance.next_check(0) {
        assert_ne!(checked, a);
    }
    balance.lost(a);
    assert_eq!(balance.connection_count_of(a), 1);
    balance.failed(a, None, 0, 0, "refused");
    assert_eq!(balance.state_of(a), None);
    assert_eq!(balance.checked(a, Ok(()), 0, 0), None, "a check may end after it");
}

#[test]
fn removed_one_that_returns_is_the_same() {
    let mut balance = balance(&[upstream("a", 1, &[]), upstream("b", 1, &[])]);
    let a = id(&balance, "a");
    open(&mut balance, "a", 0);
    balance.set_options(options(&[upstream("b", 1, &[])]), 0).unwrap();
    balance.set_options(options(&[upstream("a", 1, &[])]), 0).unwrap();
    assert_eq!(
        (balance.id_of("a"), balance.state_of(a), balance.connection_count_of(a)),
        (Some(a), Some(State::Up), 1)
    );
}

#[test]
fn other_address_is_another_broker() {
    let mut balance = balance(&[upstream("a", 1, &[])]);
    for _ in 0..3 {
        fail(&mut balance, "a", 0);
    }
    while balance.next_check(0).is_some() {}
    balance.set_options(options(&[upstream("a", 2, &[])]), 0).unwrap();
    assert_eq!((shown(&balance, "a").state, balance.next_check(0)), (State::Down, None));
    balance.set_options(options(&[moved(&upstream("a", 2, &[]))]), 0).unwrap();
    assert_eq!((shown(&balance, "a").state, balance.next_check(0)), (State::Up, balance.id_of("a")));
}

fn moved(upstream: &UpstreamOptions) -> UpstreamOptions {
    UpstreamOptions { address: "elsewhere:5672".to_owned(), ..upstream.clone() }
}

#[test]
fn connections_to_an_address_of_before_are_left() {
    let a = upstream("a", 1, &[]);
    let mut balance = balance(std::slice::from_ref(&a));
    let old = id(&balance, "a");
    open(&mut balance, "a", 0);
    balance.set_options(options(&[moved(&a)]), 0).unwrap();
    let new = id(&balance, "a");
    assert_ne!(old, new);
    assert!(balance.should_drain(old, Some("/")) && !balance.should_drain(new, Some("/")));
    assert_eq!((balance.connection_count_of(old), balance.connection_count_of(new)), (1, 0));
    check_chosen(&balance, None, 0, &["a"]);
    balance.lost(old);
    assert_eq!(balance.state_of(old), None);
}

#[test]
fn connections_that_were_opened_in_another_way_are_left() {
    let a = upstream("a", 1, &[]);
    let with_tls =
        |tls| UpstreamOptions { transport: Transport { tls: Some(tls), ..Transport::default() }, ..a.clone() };
    let named = ClientTlsOptions { server_name: Some("b".to_owned()), ..ClientTlsOptions::trusting_any_server() };
    let proxied = Transport { proxy_protocol: Some(Version::V2), ..Transport::default() };
    let ways = [
        a.clone(),
        with_tls(ClientTlsOptions::trusting_any_server()),
        with_tls(named),
        with_tls(ClientTlsOptions::trusting(Trust::System)),
        UpstreamOptions { transport: proxied, ..a.clone() },
    ];
    let mut balance = balance(std::slice::from_ref(&a));
    for (index, next) in ways.iter().enumerate() {
        let old = id(&balance, "a");
        open(&mut balance, "a", 0);
        balance.set_options(options(std::slice::from_ref(next)), 0).unwrap();
        assert_eq!(balance.should_drain(old, Some("/")), index > 0, "{next:?}");
        assert!(!balance.should_drain(id(&balance, "a"), Some("/")));
    }
}

#[test]
fn address_of_before_that_returns_is_the_same_upstream() {
    let a = upstream("a", 1, &[]);
    let mut balance = balance(std::slice::from_ref(&a));
    let old = id(&balance, "a");
    open(&mut balance, "a", 0);
    balance.set_options(options(&[moved(&a)]), 0).unwrap();
    balance.set_options(options(&[a]), 0).unwrap();
    assert_eq!((id(&balance, "a"), balance.state_of(old), balance.connection_count_of(old)), (old, Some(State::Up), 1));
    assert_eq!(balance.snapshot().len(), 1);
}

#[test]
fn drained_name_drains_at_its_next_address() {
    let a = upstream("a", 1, &[]);
    let mut balance = balance(std::slice::from_ref(&a));
    balance.drain(id(&balance, "a"));
    balance.set_options(options(&[moved(&a)]), 0).unwrap();
    assert_eq!(shown(&balance, "a").state, State::Draining);
}

#[track_caller]
fn check_better_upstream(balance: &Balance, vhost: Option<&str>, names: &[&str]) {
    let has_better_upstream =
        |shown: &Snapshot| !balance.should_drain(shown.id, vhost) && balance.has_better_upstream(shown.id, vhost);
    let with_better = balance.snapshot().into_iter().filter(has_better_upstream);
    assert_eq!(with_better.map(|shown| shown.options.name).collect::<Vec<_>>(), names, "{vhost:?}");
}

#[test]
fn connections_to_one_that_is_down_are_left_for_one_that_is_up() {
    let mut balance = balance(&[upstream("a", 1, &[]), upstream("b", 1, &[]), upstream("c", 1, &["x"])]);
    check_better_upstream(&balance, Some("/"), &[]);
    for _ in 0..3 {
        fail(&mut balance, "a", 0);
        fail(&mut balance, "c", 0);
    }
    check_better_upstream(&balance, Some("/"), &["a"]);
    balance.drain(id(&balance, "b"));
    // Where no other upstream is up, an upstream connection that may work is better than none.
    check_better_upstream(&balance, Some("/"), &[]);
    check_better_upstream(&balance, Some("x"), &[]);
    balance.undrain(id(&balance, "b"));
    open(&mut balance, "a", 0);
    check_better_upstream(&balance, Some("/"), &[]);
}

#[test]
fn connections_to_a_reserve_are_left_when_another_one_is_up() {
    let mut balance = balance(&[upstream("spare", 0, &[]), upstream("a", 1, &[]), upstream("other", 0, &[])]);
    for _ in 0..3 {
        fail(&mut balance, "a", 0);
    }
    check_better_upstream(&balance, None, &["a"]);
    balance.checked(id(&balance, "a"), Ok(()), 0, 0);
    check_better_upstream(&balance, None, &["spare", "other"]);
}

#[test]
fn connections_of_a_vhost_that_others_serve_now_are_left() {
    let mut balance = balance(&[upstream("a", 1, &[]), upstream("b", 1, &["x"])]);
    let [a, b] = ["a", "b"].map(|name| id(&balance, name));
    let check = |balance: &Balance, vhost, left: [bool; 2]| {
        assert_eq!([a, b].map(|id| balance.should_drain(id, vhost)), left, "{vhost:?}");
    };
    check(&balance, Some("x"), [true, false]);
    check(&balance, Some("y"), [false, true]);
    check(&balance, None, [false, false]);
    balance.drain(b);
    check(&balance, Some("x"), [true, true]);
    check(&balance, None, [false, true]);
    balance.set_options(options(&[upstream("a", 1, &["z"]), upstream("b", 1, &["x"])]), 0).unwrap();
    // No upstream serves it any longer: connected clients may stay.
    check(&balance, Some("y"), [false, true]);
}

fn refuse(balance: &mut Balance, name: &str, vhost: &str, now_ms: u64) -> Option<State> {
    let id = id(balance, name);
    balance.dialled(id, Some(vhost), now_ms);
    balance.refused(id, vhost, now_ms, 0, "vhost is down")
}

#[test]
fn vhost_that_is_refused_somewhere_is_elsewhere_and_others_stay() {
    let mut balance = balance(&[upstream("a", 1, &[]), upstream("b", 1, &[])]);
    for _ in 0..10 {
        assert_eq!(refuse(&mut balance, "a", "x", 0), None);
    }
    check_chosen(&balance, Some("x"), 124, &["b"]);
    check_chosen(&balance, Some("x"), 125, &["a", "b"]);
    check_chosen(&balance, Some("y"), 0, &["a", "b"]);
    check_chosen(&balance, None, 0, &["a", "b"]);
    check_better_upstream(&balance, Some("x"), &[]);
    let shown = shown(&balance, "a");
    assert_eq!((shown.state, shown.consecutive_failure_count, shown.counters.failed), (State::Up, 0, 10));
    let refused = RefusedVhost { name: "x".to_owned(), text: "vhost is down".to_owned(), until_ms: 125 };
    assert_eq!(shown.refused_vhosts, [refused]);
}

#[test]
fn vhost_that_is_refused_everywhere_is_asked_for_again() {
    let mut balance = balance(&[upstream("a", 1, &[]), upstream("b", 1, &["y"])]);
    refuse(&mut balance, "a", "x", 0);
    assert_eq!(balance.choose(Some("x"), &[], 0, 0), Choice::Later { at_ms: 125 });
    assert_eq!(balance.refusal_of(Some("x")), Some("vhost is down"));
    balance.dialled(id(&balance, "a"), Some("x"), 125);
    assert_eq!(balance.choose(Some("x"), &[], 125, 0), Choice::Later { at_ms: 225 }, "one asks");
    balance.refused(id(&balance, "a"), "x", 130, 0, "vhost is down");
    assert_eq!(balance.choose(Some("x"), &[], 130, 0), Choice::Later { at_ms: 380 }, "twice as long");
    assert_eq!(open_in(&mut balance, "a", "x", 380), None);
    assert_eq!((balance.refusal_of(Some("x")), shown(&balance, "a").refused_vhosts.len()), (None, 0));
    refuse(&mut balance, "a", "x", 400);
    assert_eq!(balance.choose(Some("x"), &[], 400, 0), Choice::Later { at_ms: 525 }, "a success is a new beginning");
}

fn open_in(balance: &mut Balance, name: &str, vhost: &str, now_ms: u64) -> Option<State> {
    let id = id(balance, name);
    balance.dialled(id, Some(vhost), now_ms);
    balance.opened(id, Some(vhost))
}

#[test]
fn who_asks_for_a_refused_vhost_and_hears_nothing_of_it_leaves_its_place_to_another() {
    let mut balance = balance(&[upstream("a", 1, &[])]);
    let a = id(&balance, "a");
    refuse(&mut balance, "a", "x", 0);
    balance.dialled(a, Some("x"), 200);
    balance.abandoned(a, Some("x"), 210);
    check_chosen(&balance, Some("x"), 210, &["a"]);
    balance.dialled(a, Some("x"), 220);
    balance.failed(a, Some("x"), 230, 0, "cannot connect");
    check_chosen(&balance, Some("x"), 230, &["a"]);
}

#[test]
fn upstream_that_refuses_a_vhost_is_up_again() {
    let mut balance = balance(&[upstream("a", 1, &[])]);
    for _ in 0..3 {
        fail(&mut balance, "a", 0);
    }
    assert_eq!(refuse(&mut balance, "a", "x", 200), Some(State::Up));
    check_chosen(&balance, Some("y"), 200, &["a"]);
}

#[test]
fn vhost_that_is_refused_by_one_that_is_down_waits_for_both() {
    let mut balance = balance(&[upstream("a", 1, &[])]);
    refuse(&mut balance, "a", "x", 0);
    for _ in 0..3 {
        fail(&mut balance, "a", 100);
    }
    assert_eq!(balance.choose(Some("x"), &[], 100, 0), Choice::Later { at_ms: 225 });
    balance.drain(id(&balance, "a"));
    assert_eq!(balance.choose(Some("x"), &[], 100, 0), Choice::Later { at_ms: 200 });
    assert_eq!(balance.refusal_of(Some("x")), None, "that it is not up is the reason");
}

#[test]
fn connections_stay_at_a_reserve_while_the_others_refuse_their_vhost() {
    let mut balance = balance(&[upstream("a", 1, &[]), upstream("spare", 0, &[])]);
    refuse(&mut balance, "a", "x", 0);
    check_chosen(&balance, Some("x"), 0, &["spare"]);
    check_better_upstream(&balance, Some("x"), &[]);
    check_better_upstream(&balance, Some("y"), &["spare"]);
    open_in(&mut balance, "a", "x", 125);
    check_better_upstream(&balance, Some("x"), &["spare"]);
}

#[test]
fn refused_vhosts_are_forgotten_when_nobody_asks_for_them() {
    let mut balance = balance(&[upstream("a", 1, &[]), upstream("b", 1, &[])]);
    refuse(&mut balance, "a", "x", 0);
    refuse(&mut balance, "b", "y", 10);
    assert!(!balance.forget_refusals(600_124));
    assert!(balance.forget_refusals(600_125));
    let left = ["a", "b"].map(|name| shown(&balance, name).refused_vhosts.len());
    assert_eq!(left, [0, 1]);
}

#[test]
fn refused_vhosts_are_bounded() {
    let mut balance = balance(&[upstream("a", 1, &[])]);
    for number in 0..3000u64 {
        refuse(&mut balance, "a", &number.to_string(), number);
    }
    let shown = shown(&balance, "a").refused_vhosts;
    assert_eq!(shown.len(), REFUSED_VHOST_COUNT_MAX);
    assert!(shown.iter().any(|refused| refused.name == "2999"), "the newest are kept");
    assert!(shown.iter().all(|refused| refused.until_ms >= 3000 - 1024 + 125));
}

#[test]
fn shorter_interval_holds_at_once() {
    let upstreams = [upstream("a", 1, &[])];
    let mut balance = Balance::new(Options { check_interval_ms: 3_600_000, ..options(&upstreams) }).unwrap();
    balance.next_check(0);
    balance.set_options(Options { check_interval_ms: 1000, ..options(&upstreams) }, 500).unwrap();
    assert_eq!(balance.next_check_at_ms(), Some(1500));
}

#[test]
fn long_error_is_cut_between_characters() {
    let mut balance = balance(&[upstream("a", 1, &[])]);
    let a = id(&balance, "a");
    balance.dialled(a, None, 0);
    balance.failed(a, None, 0, 0, &format!("x{}", "é".repeat(1000)));
    assert_eq!(shown(&balance, "a").last_error.unwrap().text, format!("x{}", "é".repeat(255)));
}

#[test]
fn options_that_cannot_be_are_refused_and_change_nothing() {
    let good = options(&[upstream("a", 1, &[])]);
    let mut balance = Balance::new(good.clone()).unwrap();
    let cases = [
        (options(&[]), "no upstreams: name at least one"),
        (options(&[upstream("", 1, &[])]), "an upstream has no name"),
        (
            options(&[upstream("b", 1, &[]), upstream("b", 2, &[])]),
            "two upstreams have the name 'b': names must be unique",
        ),
        (
            Options { failure_count_max: 0, ..good.clone() },
            "the number of failures that open a circuit is 0: set 1 or more",
        ),
        (
            Options { backoff_min_ms: 0, ..good.clone() },
            "invalid back-off from 0 ms to 30000 ms: the minimum must be above 0 ms, and the maximum not below the minimum",
        ),
        (
            Options { backoff_min_ms: 500, backoff_max_ms: 499, ..good },
            "invalid back-off from 500 ms to 499 ms: the minimum must be above 0 ms, and the maximum not below the minimum",
        ),
    ];
    for (options, text) in cases {
        assert_eq!(balance.set_options(options, 0).unwrap_err().to_string(), text);
        check_chosen(&balance, None, 0, &["a"]);
    }
}
