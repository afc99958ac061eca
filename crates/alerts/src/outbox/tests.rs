//! What a webhook gets, when it fails and when it does not.

use std::collections::BTreeMap;
use std::sync::Arc;

use ::outbox::BACKOFF_MAX_MS;
use proptest::prelude::*;

use super::*;
use crate::notice::Alert;
use crate::rule::{Kind, Severity};

fn notice(alert: u8, status: Status, at_ms: u64) -> Notice {
    let alert = Alert {
        id: alert.to_string().into(),
        rule: "r".into(),
        kind: Kind::QueueLength,
        severity: Severity::Warning,
        vhost: None,
        queue: None,
        value: 1.0,
        threshold: 0.0,
        since_ms: at_ms,
    };
    Notice {
        status,
        alert,
        at_ms,
        is_reminder: false,
        reason: None,
        is_folded: false,
        is_handover: false,
        webhooks: Arc::default(),
    }
}

fn firing(alert: u8, at_ms: u64) -> Notice {
    notice(alert, Status::Firing, at_ms)
}

fn resolved(alert: u8, at_ms: u64) -> Notice {
    notice(alert, Status::Resolved, at_ms)
}

fn reminder(alert: u8, at_ms: u64) -> Notice {
    Notice { is_reminder: true, ..firing(alert, at_ms) }
}

fn folded(notice: Notice) -> Notice {
    Notice { is_folded: true, ..notice }
}

/// All that is sent if everything arrives.
fn drain(outbox: &mut Outbox, now_ms: u64) -> Vec<Notice> {
    let mut sent = Vec::new();
    while let NextStep::Send(notice) = outbox.next(now_ms) {
        sent.push(notice);
        outbox.settle(DeliveryOutcome::Delivered, now_ms, 0.0);
    }
    sent
}

#[track_caller]
fn check_full(count_max: usize, pushed: &[Notice], expected: &[Notice], dropped: u64) {
    let mut outbox = Outbox::new(count_max);
    pushed.iter().for_each(|notice| outbox.push(notice.clone(), 0));
    assert_eq!(drain(&mut outbox, 0), expected);
    assert_eq!(outbox.stats().dropped, dropped);
    assert_eq!(outbox.stats().folded, (pushed.len() - expected.len()) as u64 - dropped);
}

#[test]
fn a_firing_and_its_resolution_are_two_notices_while_there_is_room() {
    let both = [firing(1, 0), resolved(1, 1)];
    check_full(2, &both, &both, 0);
}

#[test]
fn without_room_a_resolution_takes_the_place_of_its_firing() {
    check_full(2, &[firing(1, 0), resolved(1, 1), firing(2, 2)], &[folded(resolved(1, 1)), firing(2, 2)], 0);
    let thrice = [firing(1, 0), resolved(1, 1), firing(1, 2), resolved(1, 3), firing(1, 4), resolved(1, 5)];
    check_full(2, &thrice, &[folded(resolved(1, 3)), folded(resolved(1, 5))], 0);
    check_full(2, &[resolved(1, 0), firing(1, 1), resolved(1, 2)], &[resolved(1, 0), folded(resolved(1, 2))], 0);
    // The oldest that can be folded, and no more than that.
    check_full(
        4,
        &[firing(0, 0), firing(1, 1), resolved(1, 2), firing(2, 3), resolved(2, 4)],
        &[firing(0, 0), folded(resolved(1, 2)), firing(2, 3), resolved(2, 4)],
        0,
    );
}

#[test]
fn without_room_reminders_go_first() {
    check_full(2, &[firing(1, 0), reminder(1, 1), firing(2, 2)], &[firing(1, 1), firing(2, 2)], 0);
    check_full(2, &[reminder(1, 0), reminder(1, 1), firing(2, 2)], &[reminder(1, 1), firing(2, 2)], 0);
    check_full(2, &[reminder(1, 0), resolved(1, 1), firing(2, 2)], &[resolved(1, 1), firing(2, 2)], 0);
}

#[test]
fn where_nothing_can_be_folded_the_oldest_is_dropped_and_counted() {
    check_full(2, &[firing(1, 0), firing(2, 1), firing(3, 2)], &[firing(2, 1), firing(3, 2)], 1);
    check_full(2, &[resolved(1, 0), firing(1, 1), firing(2, 2)], &[firing(1, 1), firing(2, 2)], 1);
}

#[test]
fn what_is_on_its_way_is_neither_folded_nor_dropped() {
    let mut outbox = Outbox::new(2);
    outbox.push(firing(1, 0), 0);
    assert_eq!(outbox.next(0), NextStep::Send(firing(1, 0)));
    assert_eq!(outbox.next(0), NextStep::Nothing, "one at a time");
    outbox.push(resolved(1, 1), 1);
    outbox.push(firing(2, 2), 2);
    outbox.settle(DeliveryOutcome::Failed, 2, 1.0);
    assert_eq!(drain(&mut outbox, 10_000), [firing(1, 0), firing(2, 2)]);
    assert_eq!(outbox.stats(), DeliveryStats { delivered: 2, failed: 1, dropped: 1, folded: 0 });
}

#[test]
fn a_webhook_that_fails_is_left_alone_for_longer_and_longer() {
    let mut outbox = Outbox::default();
    outbox.push(firing(1, 0), 0);
    let (mut now_ms, mut waits) = (0, Vec::new());
    for _ in 0..9 {
        assert_eq!(outbox.next(now_ms), NextStep::Send(firing(1, 0)));
        outbox.settle(DeliveryOutcome::Failed, now_ms, 1.0);
        let NextStep::NotBefore(until_ms) = outbox.next(now_ms) else { panic!("it is left alone") };
        waits.push(until_ms - now_ms);
        now_ms = until_ms;
    }
    assert_eq!(waits, [500, 1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000]);
    assert_eq!(drain(&mut outbox, now_ms).len(), 1);
    outbox.push(firing(1, now_ms), now_ms);
    let _ = outbox.next(now_ms);
    outbox.settle(DeliveryOutcome::Failed, now_ms, 0.0);
    assert_eq!(outbox.next(now_ms), NextStep::NotBefore(now_ms + 250), "it has worked meanwhile");
}

#[test]
fn a_notice_is_tried_for_an_hour_and_no_longer() {
    let mut outbox = Outbox::default();
    outbox.push(firing(1, 0), 0);
    outbox.push(resolved(1, 1), LIFETIME_MS / 2);
    let (mut now_ms, mut attempt_count) = (0, 0);
    while outbox.waiting_count() == 2 {
        match outbox.next(now_ms) {
            NextStep::Send(_) => {
                attempt_count += 1;
                outbox.settle(DeliveryOutcome::Failed, now_ms, 0.5);
            }
            NextStep::NotBefore(until_ms) => now_ms = until_ms,
            NextStep::Nothing => panic!("something waits"),
        }
    }
    assert!((60..120).contains(&attempt_count), "{attempt_count}");
    assert!(now_ms >= LIFETIME_MS && outbox.stats().dropped == 1);
    assert_eq!(drain(&mut outbox, now_ms + BACKOFF_MAX_MS), [resolved(1, 1)]);
}

#[test]
fn what_takes_the_place_of_an_older_notice_has_an_hour_of_its_own() {
    const MINUTE_MS: u64 = 60_000;
    let mut outbox = Outbox::new(2);
    outbox.push(firing(1, 0), 0);
    assert_eq!(drain(&mut outbox, 0), [firing(1, 0)]);
    outbox.push(reminder(1, 1), 1);
    outbox.push(resolved(1, 2), 59 * MINUTE_MS);
    outbox.push(firing(2, 3), 59 * MINUTE_MS);
    assert_eq!(outbox.stats().folded, 1);
    assert_eq!(drain(&mut outbox, 61 * MINUTE_MS), [resolved(1, 2), firing(2, 3)]);
    assert_eq!(outbox.stats().dropped, 0);
    // And those behind it, which are older, have no more than theirs.
    let mut outbox = Outbox::new(3);
    outbox.push(reminder(1, 0), 0);
    outbox.push(firing(2, 1), 1);
    outbox.push(resolved(1, 2), 59 * MINUTE_MS);
    outbox.push(firing(3, 3), 59 * MINUTE_MS);
    assert_eq!(drain(&mut outbox, 61 * MINUTE_MS), [resolved(1, 2), firing(3, 3)]);
    assert_eq!(outbox.stats().dropped, 1);
}

#[test]
fn what_is_refused_holds_nothing_up() {
    let mut outbox = Outbox::default();
    outbox.push(firing(1, 0), 0);
    outbox.push(firing(2, 0), 0);
    let _ = outbox.next(0);
    outbox.settle(DeliveryOutcome::Refused, 0, 0.0);
    assert_eq!(outbox.next(0), NextStep::Send(firing(2, 0)));
    assert_eq!(outbox.stats(), DeliveryStats { delivered: 0, failed: 1, dropped: 1, folded: 0 });
}

#[derive(Debug, Clone)]
enum Step {
    /// Something of this alert changes: fires, is reminded of, is over.
    Change {
        alert: u8,
        is_reminder: bool,
    },
    /// An attempt, if one is due, that ends like this.
    Attempt(DeliveryOutcome),
    Wait(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let outcome = prop_oneof![
        3 => Just(DeliveryOutcome::Delivered),
        3 => Just(DeliveryOutcome::Failed),
        1 => Just(DeliveryOutcome::Refused),
    ];
    prop_oneof![
        4 => (0_u8..6, any::<bool>()).prop_map(|(alert, is_reminder)| Step::Change { alert, is_reminder }),
        4 => outcome.prop_map(Step::Attempt),
        1 => (0_u64..LIFETIME_MS / 4).prop_map(Step::Wait),
    ]
}

/// All that was ever pushed, and what has become of it: a list from which nothing is taken.
#[derive(Default)]
struct Model {
    pushed: Vec<Notice>,
    /// Alerts that fire.
    is_firing: BTreeMap<u8, bool>,
    sent: Vec<(Notice, DeliveryOutcome)>,
}

impl Model {
    fn change(&mut self, alert: u8, is_reminder: bool, now_ms: u64) -> Notice {
        let is_firing = self.is_firing.entry(alert).or_default();
        // The time distinguishes notices: no two are pushed at the same.
        let notice = match (*is_firing, is_reminder) {
            (true, true) => reminder(alert, now_ms),
            (true, false) => resolved(alert, now_ms),
            (false, _) => firing(alert, now_ms),
        };
        *is_firing = notice.status == Status::Firing;
        self.pushed.push(notice.clone());
        notice
    }

    fn delivered(&self, alert: u8) -> Vec<&Notice> {
        let id = alert.to_string();
        let delivered = self.sent.iter().filter(|(_, outcome)| *outcome == DeliveryOutcome::Delivered);
        delivered.map(|(notice, _)| notice).filter(|notice| *notice.alert.id == *id).collect()
    }
}

proptest! {
    #[test]
    fn nothing_is_lost_reordered_or_repeated_without_end(
        steps in prop::collection::vec(step(), 0..200),
        count_max in 2_usize..12,
        is_patient in any::<bool>(),
    ) {
        let (mut outbox, mut model, mut now_ms) = (Outbox::new(count_max), Model::default(), 0);
        let (mut has_been_full, mut has_lost) = (false, false);
        for step in steps {
            now_ms += 1;
            match step {
                Step::Change { alert, is_reminder } => {
                    has_been_full |= outbox.waiting_count() >= count_max;
                    outbox.push(model.change(alert, is_reminder, now_ms), now_ms);
                }
                Step::Attempt(outcome) => match outbox.next(now_ms) {
                    NextStep::Send(notice) => {
                        let outcome = if is_patient && outcome == DeliveryOutcome::Refused { DeliveryOutcome::Failed } else { outcome };
                        outbox.settle(outcome, now_ms, 0.5);
                        model.sent.push((notice, outcome));
                    }
                    NextStep::NotBefore(until_ms) => prop_assert!(until_ms > now_ms && until_ms <= now_ms + BACKOFF_MAX_MS),
                    NextStep::Nothing => prop_assert_eq!(outbox.waiting_count(), 0),
                },
                // A patient run never waits for so long that something is too old.
                Step::Wait(ms) => now_ms += if is_patient { ms / 1000 } else { ms },
            }
            prop_assert!(outbox.waiting_count() <= count_max);
            let stats = outbox.stats();
            has_lost |= stats.dropped > 0;
            let accounted = stats.delivered + stats.dropped + stats.folded + outbox.waiting_count() as u64;
            prop_assert_eq!(accounted, model.pushed.len() as u64, "every notice is somewhere");
        }
        // Everything that is left arrives.
        for _ in 0..2 {
            now_ms += BACKOFF_MAX_MS;
            for notice in drain(&mut outbox, now_ms) {
                model.sent.push((notice, DeliveryOutcome::Delivered));
            }
        }
        has_lost |= outbox.stats().dropped > 0;
        if !has_been_full && !has_lost {
            let delivered: Vec<&Notice> =
                model.sent.iter().filter(|(_, outcome)| *outcome == DeliveryOutcome::Delivered).map(|(notice, _)| notice).collect();
            prop_assert_eq!(delivered, model.pushed.iter().collect::<Vec<_>>(), "all of it, in its order");
        }
        for alert in 0..6 {
            let delivered = model.delivered(alert);
            prop_assert!(delivered.is_sorted_by(|a, b| a.at_ms < b.at_ms), "once each, in order");
            let last = model.pushed.iter().rfind(|notice| *notice.alert.id == *alert.to_string());
            if !has_lost {
                let statuses = (delivered.last().map(|notice| notice.status), last.map(|notice| notice.status));
                prop_assert_eq!(statuses.0, statuses.1, "the last notice has been delivered");
            }
            if !has_lost && !has_been_full {
                prop_assert!(delivered.iter().all(|notice| !notice.is_folded));
            }
        }
    }

    #[test]
    fn a_receiver_that_never_answers_is_asked_a_bounded_number_of_times(
        jitters in prop::collection::vec(0.0_f64..1.0, 200),
    ) {
        let mut outbox = Outbox::default();
        outbox.push(firing(1, 0), 0);
        let (mut now_ms, mut jitters) = (0, jitters.into_iter().cycle());
        let mut attempt_count = 0;
        while outbox.waiting_count() > 0 {
            match outbox.next(now_ms) {
                NextStep::Send(_) => {
                    attempt_count += 1;
                    outbox.settle(DeliveryOutcome::Failed, now_ms, jitters.next().unwrap_or(0.0));
                }
                NextStep::NotBefore(until_ms) => now_ms = until_ms,
                NextStep::Nothing => prop_assert_eq!(outbox.waiting_count(), 0),
            }
        }
        prop_assert!(attempt_count < 150, "{} attempts", attempt_count);
        prop_assert_eq!(outbox.stats().dropped, 1);
    }
}

/// `cargo test --release -p alerts -- --ignored --nocapture a_push`
#[test]
#[ignore = "a measurement"]
fn a_push_to_a_full_outbox_costs_little() {
    let id = |number: u64| format!("{number:016x}{number:016x}").into();
    let mut outbox = Outbox::default();
    let mut push = |number: u64, status| {
        let mut notice = notice(0, status, number);
        notice.alert.id = id(number);
        outbox.push(notice, 0);
    };
    for (what, from, status) in
        [("fill", 0, Status::Firing), ("nothing folds", 1000, Status::Firing), ("all fold", 1000, Status::Resolved)]
    {
        let started_at = std::time::Instant::now();
        (from..from + 1000).for_each(|number| push(number, status));
        eprintln!("{what}: {:?} a push", started_at.elapsed() / 1000);
    }
}
