//! Each rule, where it speaks and where it does not.

use super::super::facts::{Mean, Share, SlowRequest, SlowRequests, Wait};
use super::*;

fn calm() -> Facts {
    Facts {
        seconds: 5.0,
        memory: Share { used: 100 << 20, limit: 1 << 30 },
        disk_free_len: 100 << 30,
        disk_limit_len: 1 << 30,
        files: Share { used: 100, limit: 65_536 },
        syncs: Some(Mean { count: 500.0, mean_ms: 2.0 }),
        connection_count: 12,
        busy_processors: Some(0.4),
        processor_count: 2,
        queues: vec![Queue {
            name: "calm".to_owned(),
            vhost: "/".to_owned(),
            messages: 999,
            before: 999,
            ..Queue::default()
        }],
        ..Facts::default()
    }
}

#[track_caller]
fn check(change: impl FnOnce(&mut Facts), expected: &[(Weight, &str)]) {
    let mut facts = calm();
    change(&mut facts);
    let found = findings(&facts);
    let shown: Vec<_> = found.iter().map(|finding| (finding.weight, finding.text.as_str())).collect();
    assert_eq!(shown, expected);
}

/// A queue of the vhost `/` that had so many messages and has so many now.
fn queue(name: &str, before: u64, messages: u64) -> Queue {
    Queue { name: name.to_owned(), vhost: "/".to_owned(), before, messages, ready: messages, ..Queue::default() }
}

fn consumers(prefetch: u64, count: usize) -> Vec<Consumer> {
    vec![Consumer { prefetch, acks: true }; count]
}

#[test]
fn a_request_that_took_a_second_is_slow() {
    let request =
        |ms, waits| SlowRequest { request: "GET /api/queues".to_owned(), at: "13:14:34".to_owned(), ms, waits };
    let slow = |all| Some(SlowRequests { has_recorder: true, all });
    check(|facts| facts.slow_requests = slow(vec![request(999.0, Vec::new())]), &[]);
    let text = "GET /api/queues was slow: it took 3200 ms at 13:14:34.";
    check(|facts| facts.slow_requests = slow(vec![request(3_200.0, Vec::new())]), &[(Weight::Warning, text)]);
    let wait = Wait { kind: "lock".to_owned(), holder: "a::b".to_owned(), ms: 3_000.0 };
    let all = vec![request(3_200.0, vec![wait]), request(1_000.0, Vec::new()), request(1.0, Vec::new())];
    let text = "GET /api/queues was slow: it took 3200 ms at 13:14:34, 3000 ms of it for a lock that a::b held; so was another.";
    check(|facts| facts.slow_requests = slow(all), &[(Weight::Warning, text)]);
}

#[test]
fn what_is_out_of_order_in_the_cluster_comes_first() {
    let change = |facts: &mut Facts| {
        facts.disk_alarm = true;
        facts.disk_free_len = 1 << 20;
        facts.cluster_troubles = vec![(true, "rabbit@b is gone.".to_owned()), (false, "rabbit@c is late.".to_owned())];
    };
    let alarm = "The disk alarm is on, so publishers wait: 1.0 MiB are free, and 1.0 GiB is the limit.";
    let expected =
        [(Weight::Problem, "rabbit@b is gone."), (Weight::Problem, alarm), (Weight::Warning, "rabbit@c is late.")];
    check(change, &expected);
}

#[test]
fn a_broker_without_troubles_has_no_findings() {
    check(|_| (), &[]);
}

#[test]
fn a_queue_grows_because_its_one_consumer_is_slow() {
    let orders = Queue {
        unacked: 1,
        published_per_s: 1_225.0,
        acked_per_s: 25.0,
        consumers: consumers(1, 1),
        ..queue("orders", 10_000, 16_000)
    };
    let text = "orders grows by 1,200 messages a second; its one consumer has prefetch 1 and takes 40 ms a message.";
    check(|facts| facts.queues.push(orders.clone()), &[(Weight::Problem, text)]);
    let many = Queue { unacked: 30, consumers: consumers(10, 3), acked_per_s: 60.0, ..orders.clone() };
    let text = "orders grows by 1,200 messages a second; its 3 consumers have prefetch 10 and take 50 ms a message.";
    check(|facts| facts.queues.push(many.clone()), &[(Weight::Problem, text)]);
    let hung = Queue { acked_per_s: 0.0, ..orders.clone() };
    let text =
        "orders grows by 1,200 messages a second; its one consumer has prefetch 1 and acknowledged nothing meanwhile.";
    check(|facts| facts.queues.push(hung), &[(Weight::Problem, text)]);
    let single = Queue { is_single_active: true, ..many };
    let text = "orders grows by 1,200 messages a second; only one of its 3 consumers is active, which takes 17 ms.";
    check(|facts| facts.queues.push(single), &[(Weight::Problem, text)]);
    let idle = Queue { unacked: 10, consumers: consumers(100, 1), ..orders };
    let text = "orders grows by 1,200 messages a second; 1,225 come in and 25 are acknowledged a second, though its consumer has \
                room for more: the way to it is slow, or the broker.";
    check(|facts| facts.queues.push(idle), &[(Weight::Problem, text)]);
}

#[test]
fn a_queue_without_consumers_grows_or_stands() {
    let text = "orders (in shop) grows by 2 messages a second; it has no consumer.";
    let orders = Queue { vhost: "shop".to_owned(), ..queue("orders", 0, 10) };
    check(|facts| facts.queues.push(orders), &[(Weight::Problem, text)]);
    let dead = Queue { dead_letters_of: vec!["orders".to_owned()], ..queue("dead", 100, 200) };
    let text = "dead grows by 20 messages a second; these are dead letters of orders, and it has no consumer.";
    check(|facts| facts.queues.push(dead.clone()), &[(Weight::Problem, text)]);
    let still = Queue { before: 5_000, messages: 5_000, ..dead };
    let text = "dead has 5,000 messages, dead letters of orders, and no consumer.";
    check(|facts| facts.queues.push(still), &[(Weight::Warning, text)]);
    check(|facts| facts.queues.push(queue("few", 900, 900)), &[]);
}

#[test]
fn consumers_that_do_nothing_are_told_of() {
    let stalled = Queue { unacked: 20, consumers: consumers(10, 2), ..queue("jobs", 500, 500) };
    let text =
        "jobs stands still with 500 messages; its 2 consumers have prefetch 10 and acknowledged nothing in 5 seconds.";
    check(|facts| facts.queues.push(stalled.clone()), &[(Weight::Problem, text)]);
    check(|facts| facts.queues.push(Queue { acked_per_s: 5.0, ..stalled.clone() }), &[]);
    check(|facts| facts.queues.push(Queue { unacked: 3, ..stalled }), &[]);
}

#[test]
fn messages_that_go_round_are_told_of() {
    let round = |per_s| Queue { came_round_per_s: per_s, ..queue("b", 1, 1) };
    let text =
        "Messages go round: queue b, 7,800 laps a second. They are rejected as fast as they come back as dead letters.";
    check(|facts| facts.queues.push(round(7_800.2)), &[(Weight::Warning, text)]);
    check(|facts| facts.queues.push(round(99.0)), &[]);
}

#[test]
fn only_the_fastest_of_many_growing_queues_are_named() {
    let many = (1..=15).map(|number| queue(&format!("q{number}"), 0, number * 10)).collect();
    let mut facts = Facts { queues: many, ..calm() };
    facts.queues.reverse();
    let found = findings(&facts);
    assert_eq!(found.len(), 11);
    assert!(found[0].text.starts_with("q15 grows by 30 "), "{found:?}");
    assert_eq!(found[10].text, "5 more queues grow.");
}

#[test]
fn alarms_and_losses_come_first() {
    check(
        |facts| {
            facts.error_count = 2;
            facts.last_error = Some("a file could not be written".to_owned());
            facts.memory_alarm = true;
            facts.memory.used = 1100 << 20;
            facts.disk_alarm = true;
            facts.disk_free_len = 1 << 20;
            facts.blocked_count = 3;
            facts.slowed_count = 3;
            facts.lost_message_count = 1;
        },
        &[
            (
                Weight::Problem,
                "The memory alarm is on, so publishers wait: 1.1 GiB are in use, and 1.0 GiB is the limit.",
            ),
            (Weight::Problem, "The disk alarm is on, so publishers wait: 1.0 MiB are free, and 1.0 GiB is the limit."),
            (Weight::Problem, "3 connections are kept from publishing."),
            (Weight::Problem, "1 message is lost to damaged files: `warren ctl list_data_losses` says which."),
            (
                Weight::Warning,
                "2 errors are among the last lines of the log, the last one: a file could not be written",
            ),
        ],
    );
}

#[test]
fn what_is_near_a_limit_is_told_before_it_is_reached() {
    check(
        |facts| facts.memory.used = 900 << 20,
        &[(Weight::Warning, "Memory is at 88 % of the limit above which publishers wait: 900.0 MiB of 1.0 GiB.")],
    );
    check(
        |facts| facts.files.used = 60_000,
        &[(
            Weight::Warning,
            "60,000 of 65,536 open files are in use: clients are refused when there are no more. Raise the limit (ulimit -n, \
             LimitNOFILE).",
        )],
    );
    check(
        |facts| facts.disk_free_len = 1500 << 20,
        &[(Weight::Warning, "The disk has 1.5 GiB free, and publishers wait below 1.0 GiB.")],
    );
    check(
        |facts| facts.busy_processors = Some(1.9),
        &[(Weight::Warning, "The broker uses 1.9 of 2 processors, which is all there is: profile.svg shows what for.")],
    );
}

#[test]
fn slow_disks_and_churn_are_told_of() {
    check(
        |facts| facts.syncs = Some(Mean { count: 40.0, mean_ms: 45.0 }),
        &[(
            Weight::Warning,
            "The disk is slow: a sync takes 45 ms on average, and no persistent message is confirmed sooner.",
        )],
    );
    check(|facts| facts.syncs = Some(Mean { count: 0.0, mean_ms: 45.0 }), &[]);
    check(
        |facts| facts.connections_opened_per_s = 40.0,
        &[(
            Weight::Warning,
            "40 connections a second are opened: clients should keep theirs, or go through `warren proxy`.",
        )],
    );
    check(
        |facts| facts.slowed_count = 1,
        &[(Weight::Remark, "1 connection is slowed down: they publish faster than consumers or the disk keep up.")],
    );
}

#[test]
fn unlimited_consumers_and_redeliveries_are_told_of() {
    let held = Queue { unacked: 20_000, consumers: consumers(0, 1), acked_per_s: 5.0, ..queue("bulk", 20_000, 20_000) };
    let text =
        "20,000 messages of bulk are with consumers that have no prefetch: they all come back when one of these goes.";
    check(|facts| facts.queues.push(held), &[(Weight::Warning, text)]);
    let again =
        Queue { delivered_per_s: 100.0, redelivered_per_s: 90.0, consumers: consumers(10, 1), ..queue("jobs", 10, 10) };
    let text = "Of 100 deliveries a second of jobs, 90 are redeliveries: consumers reject or lose what they get.";
    check(|facts| facts.queues.push(again), &[(Weight::Warning, text)]);
}
