//! Which clients may come in, and what limits hold them.

use super::*;

fn rate(per_s: u64, burst: u64) -> Rate {
    Rate { per_s, burst }
}

fn ip(address: &str) -> Option<IpAddr> {
    Some(address.parse().unwrap())
}

#[track_caller]
fn check_refused(result: Result<(), Refusal>, text: &str) {
    assert_eq!(result.unwrap_err().to_string(), text);
}

fn counts(guard: &Guard, limit: Limit) -> (u64, u64) {
    let shown = guard.snapshot().limits.into_iter().find(|shown| shown.limit == limit).unwrap();
    (shown.counts.reached, shown.counts.refused)
}

#[test]
fn nothing_is_limited_unless_set() {
    let mut guard = Guard::new(Options::default());
    for _ in 0..10_000 {
        guard.arrive(ip("10.0.0.1"), 0).unwrap();
        guard.log_in("u", 0).unwrap();
        assert_eq!(guard.spend("u", u64::MAX, 0), Spending::Allowed);
    }
    assert!(guard.take_alarms().is_empty());
}

#[test]
fn connections_in_all_are_limited() {
    let mut guard = Guard::new(Options { connection_max: 2, ..Options::default() });
    guard.arrive(ip("10.0.0.1"), 0).unwrap();
    guard.arrive(None, 0).unwrap();
    check_refused(guard.arrive(ip("10.0.0.2"), 0), "connection limit (2) is reached");
    guard.leave(None, None, 0);
    guard.arrive(ip("10.0.0.2"), 0).unwrap();
}

#[test]
fn connections_of_an_address_are_limited() {
    let mut guard = Guard::new(Options { address_connection_max: 1, ..Options::default() });
    guard.arrive(ip("10.0.0.1"), 0).unwrap();
    check_refused(guard.arrive(ip("::ffff:10.0.0.1"), 0), "connection limit (1) of address 10.0.0.1 is reached");
    guard.arrive(ip("10.0.0.2"), 0).unwrap();
    guard.arrive(ip("2001:db8::1"), 0).unwrap();
    check_refused(guard.arrive(ip("2001:db8::2"), 0), "connection limit (1) of network 2001:db8::/64 is reached");
    guard.arrive(ip("2001:db8:0:1::1"), 0).unwrap();
    guard.leave(ip("2001:db8::1"), None, 0);
    guard.arrive(ip("2001:db8::2"), 0).unwrap();
    for _ in 0..3 {
        guard.arrive(None, 0).unwrap();
    }
}

#[test]
fn connections_of_a_user_are_limited() {
    let mut guard = Guard::new(Options { user_connection_max: 1, ..Options::default() });
    for _ in 0..3 {
        guard.arrive(ip("10.0.0.1"), 0).unwrap();
    }
    guard.log_in("u", 0).unwrap();
    check_refused(guard.log_in("u", 0), "connection limit (1) of user 'u' is reached");
    guard.log_in("v", 0).unwrap();
    guard.leave(ip("10.0.0.1"), None, 0);
    check_refused(guard.log_in("u", 0), "connection limit (1) of user 'u' is reached");
    guard.leave(ip("10.0.0.1"), Some("u"), 0);
    guard.arrive(ip("10.0.0.1"), 0).unwrap();
    guard.log_in("u", 0).unwrap();
    assert_eq!(guard.snapshot().connection_count, 2);
    assert_eq!(
        guard.networks().map(|(network, count)| (network.to_string(), count)).collect::<Vec<_>>(),
        [("address 10.0.0.1".to_owned(), 2)]
    );
    let mut users: Vec<(&str, u64)> = guard.users().collect();
    users.sort_unstable();
    assert_eq!(users, [("u", 1), ("v", 1)]);
}

#[test]
fn name_in_a_refusal_is_short_and_harmless() {
    let mut guard = Guard::new(Options { user_connection_max: 1, ..Options::default() });
    let long = format!("a\n{}", "é".repeat(500));
    for user in ["a'\n\0b", &long] {
        guard.arrive(None, 0).unwrap();
        guard.arrive(None, 0).unwrap();
        guard.log_in(user, 0).unwrap();
    }
    check_refused(guard.log_in("a'\n\0b", 0), r"connection limit (1) of user 'a\'\n\0b' is reached");
    let text = guard.log_in(&long, 0).unwrap_err().to_string();
    assert_eq!(text, format!(r"connection limit (1) of user 'a\n{}' is reached", "é".repeat(63)));
    assert!(text.len() < 255 - "NOT_ALLOWED - ".len());
}

#[test]
fn connections_come_at_a_rate() {
    let options = Options { connection_rate: rate(10, 3), address_connection_rate: rate(1, 2), ..Options::default() };
    let mut guard = Guard::new(options);
    guard.arrive(ip("10.0.0.1"), 0).unwrap();
    guard.arrive(ip("10.0.0.1"), 0).unwrap();
    check_refused(guard.arrive(ip("10.0.0.1"), 999), "connection rate limit (1/s) of address 10.0.0.1 is reached");
    guard.arrive(ip("10.0.0.1"), 1000).unwrap();
    guard.arrive(ip("10.0.0.2"), 1000).unwrap();
    guard.arrive(None, 1000).unwrap();
    check_refused(guard.arrive(None, 1000), "connection rate limit (10/s) is reached");
    check_refused(guard.arrive(None, 1099), "connection rate limit (10/s) is reached");
    guard.arrive(None, 1100).unwrap();
}

#[test]
fn refused_ones_take_nothing_from_others() {
    let options = Options { connection_rate: rate(2, 0), address_connection_rate: rate(1, 0), ..Options::default() };
    let mut guard = Guard::new(options);
    guard.arrive(ip("10.0.0.1"), 0).unwrap();
    for _ in 0..100 {
        guard.arrive(ip("10.0.0.1"), 0).unwrap_err();
    }
    guard.arrive(ip("10.0.0.2"), 0).unwrap();
    for _ in 0..100 {
        check_refused(guard.arrive(ip("10.0.0.3"), 0), "connection rate limit (2/s) is reached");
    }
    guard.arrive(ip("10.0.0.3"), 500).unwrap();
    assert_eq!((guard.snapshot().connection_count, guard.snapshot().network_count), (3, 3));
}

#[test]
fn leaving_and_coming_back_brings_no_new_tokens() {
    let options = Options { address_connection_rate: rate(1, 2), user_byte_rate: rate(100, 0), ..Options::default() };
    let mut guard = Guard::new(options);
    for _ in 0..2 {
        guard.arrive(ip("10.0.0.1"), 0).unwrap();
        guard.log_in("u", 0).unwrap();
        guard.spend("u", 75, 0);
        guard.leave(ip("10.0.0.1"), Some("u"), 0);
    }
    guard.tick(0);
    guard.arrive(ip("10.0.0.1"), 0).unwrap_err();
    assert_eq!(guard.spend("u", 0, 0), Spending::Wait { ms: 500 });
}

#[test]
fn bytes_are_a_debt() {
    let mut guard = Guard::new(Options { user_byte_rate: rate(1000, 500), ..Options::default() });
    guard.arrive(None, 0).unwrap();
    guard.log_in("u", 0).unwrap();
    assert_eq!(guard.spend("u", 500, 0), Spending::Allowed);
    assert_eq!(guard.spend("u", 1, 0), Spending::Wait { ms: 1 });
    assert_eq!(guard.spend("u", 299, 0), Spending::Wait { ms: 300 });
    assert_eq!(guard.spend("u", 0, 299), Spending::Wait { ms: 1 });
    assert_eq!(guard.spend("u", 0, 300), Spending::Allowed);
    assert_eq!(guard.spend("u", 10_000, 300), Spending::Wait { ms: 1000 }, "a long message needs several waits");
    assert_eq!(guard.spend("u", 0, 10_299), Spending::Wait { ms: 1 });
    assert_eq!(guard.spend("u", 0, 10_300), Spending::Allowed);
    assert_eq!(counts(&guard, Limit::UserByteRate), (3, 3), "asking again is not counted");
}

#[test]
fn one_user_does_not_wait_for_another() {
    let mut guard = Guard::new(Options { user_byte_rate: rate(1000, 0), ..Options::default() });
    for user in ["u", "v"] {
        guard.arrive(None, 0).unwrap();
        guard.log_in(user, 0).unwrap();
    }
    assert_eq!(guard.spend("u", 1500, 0), Spending::Wait { ms: 500 });
    assert_eq!(guard.spend("v", 1000, 0), Spending::Allowed);
}

#[test]
fn all_together_wait_for_the_rate_of_all() {
    let options = Options { byte_rate: rate(2000, 0), user_byte_rate: rate(1500, 0), ..Options::default() };
    let mut guard = Guard::new(options);
    for user in ["u", "v"] {
        guard.arrive(None, 0).unwrap();
        guard.log_in(user, 0).unwrap();
    }
    assert_eq!(guard.spend("u", 1500, 0), Spending::Allowed);
    assert_eq!(guard.spend("v", 600, 0), Spending::Wait { ms: 50 });
    assert_eq!(guard.spend("v", 1200, 0), Spending::Wait { ms: 650 });
    let alarms: Vec<String> = guard.take_alarms().iter().map(|alarm| alarm.refusal.to_string()).collect();
    assert_eq!(alarms, ["byte rate limit (2000 B/s) is reached"]);
    assert_eq!(counts(&guard, Limit::ByteRate), (2, 2));
}

#[test]
fn alarm_only_refuses_nothing_and_tells() {
    let options = Options {
        is_alarm_only: true,
        connection_max: 1,
        user_connection_max: 1,
        user_byte_rate: rate(100, 0),
        ..Options::default()
    };
    let mut guard = Guard::new(options);
    for _ in 0..3 {
        guard.arrive(None, 0).unwrap();
        guard.log_in("u", 0).unwrap();
        assert_eq!(guard.spend("u", 1_000_000, 0), Spending::Allowed);
    }
    assert_eq!(guard.snapshot().connection_count, 3);
    let alarms = guard.take_alarms();
    assert!(alarms.iter().all(|alarm| alarm.is_alarm_only));
    let texts: Vec<String> = alarms.iter().map(|alarm| alarm.refusal.to_string()).collect();
    assert_eq!(
        texts,
        [
            "connection limit (1) is reached",
            "connection limit (1) of user 'u' is reached",
            "byte rate limit (100 B/s) of user 'u' is reached"
        ]
    );
    assert_eq!(counts(&guard, Limit::Connections), (2, 0));
    assert_eq!(counts(&guard, Limit::UserConnections), (2, 0));
    assert_eq!(counts(&guard, Limit::UserByteRate), (3, 0));
}

#[test]
fn what_was_only_for_alarm_is_no_debt_later() {
    let limits = Options { user_byte_rate: rate(100, 0), connection_rate: rate(1, 0), ..Options::default() };
    let mut guard = Guard::new(Options { is_alarm_only: true, ..limits.clone() });
    for _ in 0..50 {
        guard.arrive(None, 0).unwrap();
    }
    guard.log_in("u", 0).unwrap();
    guard.spend("u", 1_000_000, 0);
    guard.set_options(limits);
    assert_eq!(guard.spend("u", 0, 0), Spending::Allowed);
    assert_eq!(guard.spend("u", 1, 0), Spending::Wait { ms: 10 });
    guard.arrive(None, 999).unwrap_err();
    guard.arrive(None, 1000).unwrap();
}

#[test]
fn alarm_of_a_limit_comes_once_a_second() {
    let mut guard = Guard::new(Options { user_connection_max: 1, connection_max: 1, ..Options::default() });
    guard.arrive(None, 5).unwrap();
    guard.log_in("u", 5).unwrap();
    let mut told = Vec::new();
    for now_ms in (10..3010).step_by(10) {
        guard.log_in("u", now_ms).unwrap_err();
        told.extend(guard.take_alarms());
    }
    let told: Vec<(u64, u64)> = told.iter().map(|alarm| (alarm.at_ms, alarm.untold_count)).collect();
    assert_eq!(told, [(10, 0), (1010, 99), (2010, 99)]);
    guard.arrive(None, 3000).unwrap_err();
    let told = guard.take_alarms();
    assert_eq!((told.len(), told[0].refusal.limit), (1, Limit::Connections), "another limit has its own second");
}

#[test]
fn alarms_that_nobody_takes_are_counted() {
    let mut guard = Guard::new(Options { connection_max: 1, ..Options::default() });
    guard.arrive(None, 0).unwrap();
    for now_ms in [0, 500, 1000, 2000] {
        guard.arrive(None, now_ms).unwrap_err();
    }
    let alarms = guard.take_alarms();
    assert_eq!((alarms.len(), alarms[0].at_ms, alarms[0].untold_count), (1, 2000, 3));
}

#[test]
fn who_has_no_connection_is_forgotten_when_the_tokens_are_back() {
    let options = Options { address_connection_rate: rate(1, 2), user_byte_rate: rate(100, 0), ..Options::default() };
    let mut guard = Guard::new(options);
    guard.arrive(ip("10.0.0.1"), 0).unwrap();
    guard.log_in("u", 0).unwrap();
    guard.log_in("silent", 0).unwrap();
    guard.spend("u", 300, 0);
    guard.arrive(None, 0).unwrap();
    guard.leave(None, Some("silent"), 0);
    assert_eq!(guard.snapshot().idle_count, 0, "who has taken nothing is forgotten at once");
    guard.leave(ip("10.0.0.1"), Some("u"), 0);
    assert_eq!(guard.snapshot().idle_count, 2);
    guard.tick(999);
    assert_eq!(guard.snapshot().idle_count, 2);
    guard.tick(1000);
    assert_eq!(guard.snapshot().idle_count, 1);
    guard.tick(3000);
    assert_eq!(guard.snapshot().idle_count, 0);
}

#[test]
fn many_addresses_do_not_fill_the_memory() {
    let mut guard = Guard::new(Options { address_connection_rate: rate(1, 0), ..Options::default() });
    let address = |step: u32| Some(IpAddr::from(step.to_be_bytes()));
    for step in 0..70_000 {
        guard.arrive(address(step), 0).unwrap();
        guard.leave(address(step), None, 0);
    }
    assert_eq!(guard.snapshot().idle_count, 65_536);
    guard.arrive(address(0), 0).unwrap_err();
    guard.arrive(address(69_999), 0).unwrap();
}

#[test]
fn new_limits_hold_for_those_who_come() {
    let mut guard = Guard::new(Options::default());
    for _ in 0..3 {
        guard.arrive(ip("2001:db8::1"), 0).unwrap();
        guard.log_in("u", 0).unwrap();
    }
    guard.set_options(Options {
        address_connection_max: 3,
        user_connection_max: 2,
        ipv6_prefix_len: 128,
        ..Options::default()
    });
    check_refused(guard.arrive(ip("2001:db8::2"), 0), "connection limit (3) of network 2001:db8::/64 is reached");
    guard.leave(ip("2001:db8::1"), Some("u"), 0);
    check_refused(guard.log_in("u", 0), "connection limit (2) of user 'u' is reached");
    assert_eq!((guard.snapshot().connection_count, guard.snapshot().network_count), (2, 1));
}

#[test]
fn clock_that_goes_back_gives_nothing() {
    let mut guard = Guard::new(Options { connection_rate: rate(1, 0), ..Options::default() });
    guard.arrive(None, 10_000).unwrap();
    guard.arrive(None, 0).unwrap_err();
    guard.arrive(None, 10_999).unwrap_err();
    guard.arrive(None, 11_000).unwrap();
}
