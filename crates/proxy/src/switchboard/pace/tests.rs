//! How many channels a pool opens.

use std::collections::VecDeque;

use super::*;

/// An upstream: how far away it is, and how much it confirms. Clients come at a rate of their own and wait for their turn.
struct Play {
    pace: Pace,
    now_ms: u64,
    way_ms: u64,
    /// Of each confirm, when the publish was and when the upstream has it in hand.
    standing: VecDeque<(u64, u64)>,
    /// When the publish was, and when its confirm comes.
    coming: VecDeque<(u64, u64)>,
    per_s: u64,
    credit: u64,
    waiting_count: u64,
    arriving: u64,
    confirmed_count: u64,
    parked_most: usize,
    random: u64,
    /// Capacity varies by so many percent up and down, from one millisecond to the next.
    noise: u64,
}

impl Play {
    fn new(way_ms: u64, per_s: u64) -> Self {
        Play {
            pace: Pace::default(),
            now_ms: 1_000_000,
            way_ms,
            standing: VecDeque::new(),
            coming: VecDeque::new(),
            per_s,
            credit: 0,
            waiting_count: 0,
            arriving: 0,
            confirmed_count: 0,
            parked_most: 0,
            random: 1,
            noise: 0,
        }
    }

    fn random(&mut self, below: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % below
    }

    fn parked_count(&self) -> usize {
        self.standing.len() + self.coming.len()
    }

    /// So many clients come in a second, for so long. Gives how many publishes were confirmed in a second.
    fn pass(&mut self, clients_per_s: u64, ms: u64) -> u64 {
        (self.confirmed_count, self.parked_most) = (0, 0);
        for _ in 0..ms {
            self.millisecond(clients_per_s);
        }
        self.confirmed_count * 1_000 / ms
    }

    fn millisecond(&mut self, clients_per_s: u64) {
        self.now_ms += 1;
        self.arriving += clients_per_s;
        self.waiting_count += self.arriving / 1_000;
        self.arriving %= 1_000;
        let noise = if self.noise == 0 { 100 } else { 100 - self.noise + self.random(2 * self.noise + 1) };
        self.credit += self.per_s * noise / 100;
        while self.credit >= 1_000 {
            self.credit -= 1_000;
            let is_there = |(_, there_ms): &mut (u64, u64)| *there_ms <= self.now_ms;
            match self.standing.pop_front_if(is_there) {
                Some((published_ms, _)) => self.coming.push_back((published_ms, self.now_ms + self.way_ms.div_ceil(2))),
                // What was not used is lost.
                None => self.credit %= 1_000,
            }
        }
        let now_ms = self.now_ms;
        while let Some((published_ms, _)) = self.coming.pop_front_if(|(_, comes_ms)| *comes_ms <= now_ms) {
            self.confirmed_count += 1;
            if self.pace.note(now_ms - published_ms, true, now_ms) {
                self.pace.judge(self.parked_count(), now_ms);
            }
        }
        while self.waiting_count > 0 && self.parked_count() < self.pace.parked_max() {
            self.waiting_count -= 1;
            self.standing.push_back((now_ms, now_ms + self.way_ms / 2));
        }
        self.parked_most = self.parked_most.max(self.parked_count());
    }
}

#[test]
fn nobody_waits_where_an_upstream_keeps_up() {
    for way_ms in [0, 1, 10, 100] {
        let mut play = Play::new(way_ms, 20_000);
        for clients_per_s in [10, 1_000, 5_000, 9_000] {
            play.pass(clients_per_s, 2_000);
            let confirmed_per_s = play.pass(clients_per_s, 5_000);
            assert_eq!((confirmed_per_s, play.waiting_count), (clients_per_s, 0), "{way_ms} ms, {clients_per_s}/s");
        }
        assert!(play.pace.way_ms() <= Some(way_ms + 1));
    }
}

/// Clients come faster than an upstream confirms: it has always enough to do, and little stands in line.
#[track_caller]
fn check_overload(way_ms: u64, per_s: u64, noise: u64) {
    let mut play = Play { noise, ..Play::new(way_ms, per_s) };
    play.pass(per_s * 2, 1_000 + 20 * way_ms);
    // Some probes are among it.
    let share = play.pass(per_s * 2, 150_000) as f64 / per_s as f64;
    assert!(share > 0.97, "{way_ms} ms, {per_s}/s, noise {noise}: {share}, {:?}", play.pace);
    let most = 64 + per_s * (2 * way_ms + 6) / 1_000;
    assert!(play.parked_most as u64 <= most, "{way_ms} ms, {per_s}/s, noise {noise}: {} of {most}", play.parked_most);
}

#[test]
fn an_upstream_that_falls_behind_has_enough_to_do_and_no_more() {
    for way_ms in [0, 1, 10, 50, 100] {
        for per_s in [200, 2_000, 8_000] {
            for noise in [0, 50] {
                check_overload(way_ms, per_s, noise);
            }
        }
    }
}

#[test]
fn what_stood_in_connection_before_it_was_seen_is_waited_for() {
    let mut play = Play::new(1, 20_000);
    play.pass(2_000, 1_000);
    play.standing.extend((0..20_000).map(|_| (play.now_ms, play.now_ms)));
    play.per_s = 5_000;
    play.pass(10_000, 12_000);
    let confirmed_per_s = play.pass(10_000, 5_000);
    assert!(confirmed_per_s > 4_900 && play.parked_most < 100, "{confirmed_per_s}, {}", play.parked_most);
}

#[test]
fn a_way_that_becomes_longer_is_covered_again() {
    for (way_ms, longer_ms) in [(1, 10), (1, 100), (10, 15), (50, 100), (100, 140), (100, 1_000)] {
        for (clients_per_s, per_s) in [(500, 20_000), (5_000, 20_000), (8_000, 4_000)] {
            let mut play = Play::new(way_ms, per_s);
            play.pass(clients_per_s, 5_000);
            play.way_ms = longer_ms;
            play.pass(clients_per_s, 3_000 + 20 * longer_ms);
            let wanted = clients_per_s.min(per_s);
            let confirmed_per_s = play.pass(clients_per_s, 5_000);
            let what = format!("{way_ms} to {longer_ms} ms, {clients_per_s}/s of {per_s}: {:?}", play.pace);
            assert!(confirmed_per_s * 100 >= wanted * 97, "{confirmed_per_s}; {what}");
            let most = 64 + wanted * (2 * longer_ms + 6) / 1_000;
            assert!(per_s > clients_per_s || play.parked_most as u64 <= most, "{} of {most}; {what}", play.parked_most);
        }
    }
}

#[test]
fn a_way_that_becomes_shorter_is_seen_although_something_always_stands_in_connection() {
    let mut play = Play::new(100, 4_000);
    play.pass(8_000, 5_000);
    play.way_ms = 1;
    play.pass(8_000, 70_000);
    play.pass(8_000, 10_000);
    assert!(play.parked_most < 50 && play.pace.way_ms() <= Some(2), "{:?}", play.pace);
}

#[test]
fn a_stall_is_got_over() {
    let mut play = Play::new(1, 5_000);
    play.pass(4_000, 3_000);
    play.per_s = 0;
    play.pass(4_000, 700);
    play.per_s = 5_000;
    play.pass(4_000, 7_000);
    assert_eq!((play.pass(4_000, 5_000), play.waiting_count), (4_000, 0), "{:?}", play.pace);
}

#[test]
fn little_is_never_held_up() {
    let mut pace = Pace::default();
    for now_ms in (0..100_000).step_by(300) {
        assert!(pace.parked_max() >= PARKED_FLOOR);
        // Sometimes quick, mostly not.
        if pace.note(if now_ms % 7 == 0 { 1 } else { 200 }, true, now_ms) {
            pace.judge(1, now_ms);
        }
    }
    assert!(pace.parked_max() >= PARKED_FLOOR);
}

#[test]
fn who_has_rested_is_not_probed_for_it() {
    let mut pace = Pace::default();
    let mut go_on = |wait_ms, begin_ms| {
        let end_ms = (begin_ms..).find(|now_ms| pace.note(wait_ms, true, *now_ms)).expect("a turn ends");
        pace.judge(10, end_ms);
        assert_eq!(pace.probe_turn_count, None, "{pace:?}");
        end_ms + 1
    };
    let mut now_ms = go_on(1, 1_000_000);
    now_ms = go_on(1, now_ms) + 2 * PROBE_INTERVAL_MS;
    // The first says nothing yet, and then something stands in line.
    now_ms = go_on(5, now_ms);
    go_on(5, now_ms);
}
