//! Each rule, where it speaks and where it does not.

use super::super::facts::{
    Client, Consumer, DeadLetters, Mean, Node, Processors, Share, SlowRequest, SlowRequests, Wait,
};
use super::super::lengths::Lengths;
use super::*;

fn node(name: &str) -> Node {
    Node {
        name: name.to_owned(),
        memory: Share { used: 100 << 20, limit: 1 << 30 },
        disk_free_len: 100 << 30,
        disk_limit_len: 1 << 30,
        files: Share { used: 100, limit: 65_536 },
        ..Node::default()
    }
}

fn calm() -> Facts {
    Facts {
        seconds: 5.0,
        nodes: vec![node("rabbit@a")],
        syncs: Some(Mean { count: 500.0, mean_ms: 2.0 }),
        clients: vec![Client::default(); 12],
        processors: Some(Processors { used: 0.4, waited: 0.1, ..Processors::default() }),
        processor_count: 2,
        queues: vec![queue("calm", 999, 999)],
        ..Facts::default()
    }
}

#[track_caller]
fn check(change: impl FnOnce(&mut Facts), expected: &[(Weight, &str, &str)]) {
    let mut facts = calm();
    change(&mut facts);
    let found = findings(&facts);
    let shown: Vec<_> = found.iter().map(|finding| (finding.weight, finding.kind, finding.text.as_str())).collect();
    assert_eq!(shown, expected);
}

#[track_caller]
fn check_queue(queue: Queue, expected: &[(Weight, &str, &str)]) {
    check(|facts| facts.queues.push(queue), expected);
}

/// A queue of the vhost `/` that had so many messages and has so many now.
fn queue(name: &str, before: u64, now: u64) -> Queue {
    let lengths = Lengths((0..=5).map(|look| before + (now - before) * look / 5).collect());
    Queue { name: name.to_owned(), vhost: "/".to_owned(), lengths, ready: now, ..Queue::default() }
}

fn consumers(prefetch: u64, count: usize) -> Vec<Consumer> {
    vec![Consumer { prefetch, acks: true, round_trip_ms: Some(0.05), ..Consumer::default() }; count]
}

fn client(name: &str) -> Client {
    Client { name: name.to_owned(), state: "running".to_owned(), ..Client::default() }
}

#[test]
fn a_broker_without_troubles_has_no_findings() {
    check(|_| (), &[]);
    assert_eq!(exit_status(&findings(&calm())), 0);
}

#[test]
fn the_exit_status_is_of_what_matters_most() {
    let status = |change: fn(&mut Facts)| {
        let mut facts = calm();
        change(&mut facts);
        exit_status(&findings(&facts))
    };
    assert_eq!(status(|facts| facts.clients[0].state = "flow".to_owned()), 0, "a remark");
    assert_eq!(status(|facts| facts.rates.connections_opened = 40.0), 3);
    assert_eq!(status(|facts| (facts.rates.connections_opened, facts.lost_message_count) = (40.0, 1)), 4);
}

#[test]
fn a_request_that_took_a_second_is_slow() {
    let request = |ms, waits| SlowRequest {
        request: "GET /api/queues".to_owned(),
        at: "13:14:34".to_owned(),
        ms,
        waits,
        ..SlowRequest::default()
    };
    let slow = |all| Some(SlowRequests { has_recorder: true, all });
    check(|facts| facts.slow_requests = slow(vec![request(999.0, Vec::new())]), &[]);
    let text = "GET /api/queues was slow: it took 3200 ms at 13:14:34.";
    check(
        |facts| facts.slow_requests = slow(vec![request(3_200.0, Vec::new())]),
        &[(Weight::Warning, "slow_request", text)],
    );
    let read = SlowRequest { reader_ms: 3_000.0, len: 70 << 20, ..request(3_200.0, Vec::new()) };
    let text = "GET /api/queues took 3200 ms at 13:14:34: its reader took 3000 ms of it until it had the 70.0 MiB of the answer.";
    check(|facts| facts.slow_requests = slow(vec![read]), &[(Weight::Remark, "slow_reader", text)]);
    let wait = Wait { kind: "lock".to_owned(), holder: "a::b".to_owned(), ms: 3_000.0 };
    let all = vec![request(3_200.0, vec![wait]), request(1_000.0, Vec::new()), request(1.0, Vec::new())];
    let text = "GET /api/queues was slow: it took 3200 ms at 13:14:34, 3000 ms of it for a lock that a::b held; so was another.";
    check(|facts| facts.slow_requests = slow(all), &[(Weight::Warning, "slow_request", text)]);
}

#[test]
fn what_is_out_of_order_in_the_cluster_comes_first() {
    let change = |facts: &mut Facts| {
        facts.nodes[0].disk_alarm = true;
        facts.nodes[0].disk_free_len = 1 << 20;
        facts.cluster_troubles = vec![(true, "rabbit@b is gone.".to_owned()), (false, "rabbit@c is late.".to_owned())];
    };
    let alarm = "The disk alarm is on, so publishers wait: 1.0 MiB are free, and 1.0 GiB is the limit.";
    let expected = [
        (Weight::Problem, "cluster", "rabbit@b is gone."),
        (Weight::Problem, "disk_alarm", alarm),
        (Weight::Warning, "cluster", "rabbit@c is late."),
    ];
    check(change, &expected);
}

#[test]
fn every_node_has_its_limits() {
    let change =
        |facts: &mut Facts| facts.nodes.push(Node { disk_alarm: true, disk_free_len: 1 << 20, ..node("rabbit@b") });
    let text = "rabbit@b: The disk alarm is on, so publishers wait: 1.0 MiB are free, and 1.0 GiB is the limit.";
    check(change, &[(Weight::Problem, "disk_alarm", text)]);
}

#[test]
fn an_alarm_says_what_holds_the_memory() {
    let change = |facts: &mut Facts| {
        facts.nodes[0].memory = Share { used: 1100 << 20, limit: 1 << 30 };
        facts.nodes[0].memory_alarm = true;
        facts.memory_owners = vec![("bodies of messages".to_owned(), 900 << 20), ("the program".to_owned(), 30 << 20)];
        facts.queues.push(Queue { message_bytes: 800 << 20, ..queue("big", 800, 800) });
        facts.clients = vec![
            Client { state: "blocked".to_owned(), ..client("shop") },
            Client { state: "blocking".to_owned(), ..client("idle") },
        ];
    };
    let text = "The memory alarm is on, so publishers wait: 1.1 GiB are in use, and 1.0 GiB is the limit. It holds: bodies of messages \
                900.0 MiB. The longest queue is big with 800.0 MiB in 800 messages.";
    let expected = [
        (Weight::Problem, "memory_alarm", text),
        (Weight::Problem, "blocked", "1 connection is blocked from publishing: shop."),
    ];
    check(change, &expected);
}

#[test]
fn a_queue_grows_because_its_one_consumer_is_slow() {
    let orders = Queue {
        unacked: 1,
        unacked_before: 1,
        published_per_s: 1_225.0,
        acked_per_s: 25.0,
        consumers: consumers(1, 1),
        ..queue("orders", 10_000, 16_000)
    };
    let text = "orders grows by 1,200 messages a second; its one consumer has prefetch 1 and takes 40 ms a message.";
    check_queue(orders.clone(), &[(Weight::Problem, "slow_consumer", text)]);
    let many = Queue { unacked: 30, consumers: consumers(10, 3), acked_per_s: 60.0, ..orders.clone() };
    let text = "orders grows by 1,200 messages a second; its 3 consumers have prefetch 10 and take 50 ms a message.";
    check_queue(many.clone(), &[(Weight::Problem, "slow_consumer", text)]);
    let hung = Queue { acked_per_s: 0.0, ..orders.clone() };
    let text = "orders grows by 1,200 messages a second; its one consumer has prefetch 1, holds 1 of its messages and acknowledged \
                nothing meanwhile.";
    check_queue(hung, &[(Weight::Problem, "stalled_consumer", text)]);
    let single = Queue { is_single_active: true, ..many };
    let text = "orders grows by 1,200 messages a second; only one of its 3 consumers is active, which takes 17 ms.";
    check_queue(single, &[(Weight::Problem, "single_active_consumer", text)]);
    let idle = Queue { unacked: 10, consumers: consumers(100, 1), ..orders };
    let text = "orders grows by 1,200 messages a second; 1,225 are published and 25 are acknowledged a second, although its consumer has \
                room for more: the way to it is slow, or the broker.";
    check_queue(idle, &[(Weight::Problem, "slow_delivery", text)]);
}

#[test]
fn a_queue_grows_because_the_network_is_slow() {
    let mut orders = Queue {
        unacked: 1,
        unacked_before: 1,
        published_per_s: 200.0,
        acked_per_s: 24.0,
        consumers: consumers(1, 1),
        ..queue("orders", 0, 880)
    };
    orders.consumers[0].round_trip_ms = Some(40.0);
    let text = "orders grows by 176 messages a second; its one consumer has prefetch 1, and the network round trip takes 40 ms, which \
                is 96 % of the time for which it has a message: a prefetch of 10 would be enough.";
    check_queue(orders.clone(), &[(Weight::Problem, "far_consumer", text)]);
    // One that is far and slow as well is slow.
    let slow = Queue { acked_per_s: 5.0, ..orders.clone() };
    let text = "orders grows by 176 messages a second; its one consumer has prefetch 1 and takes 200 ms a message.";
    check_queue(slow, &[(Weight::Problem, "slow_consumer", text)]);
    orders.consumers[0] =
        Consumer { prefetch: 0, acks: true, client: "shop".to_owned(), unread_len: 1 << 20, ..Consumer::default() };
    let text = "orders grows by 176 messages a second; its consumer shop does not read its connection.";
    check_queue(orders, &[(Weight::Problem, "unread", text)]);
}

#[test]
fn a_queue_without_consumers_grows_or_stands() {
    let text = "orders (in shop) grows by 2 messages a second; it has no consumer.";
    let orders = Queue { vhost: "shop".to_owned(), ..queue("orders", 0, 10) };
    check_queue(orders, &[(Weight::Problem, "no_consumer", text)]);
    let dead = Queue { dead_letters_of: vec!["orders".to_owned()], ..queue("dead", 100, 200) };
    let text = "dead grows by 20 messages a second; these are dead letters of orders, and it has no consumer.";
    check_queue(dead.clone(), &[(Weight::Problem, "dead_letters", text)]);
    let still = Queue { lengths: Lengths(vec![5_000; 6]), ..dead };
    let text = "dead has 5,000 messages, dead letters of orders, and no consumer.";
    check_queue(still, &[(Weight::Warning, "backlog", text)]);
    check_queue(queue("few", 900, 900), &[]);
}

#[test]
fn consumers_that_do_nothing_are_told_of() {
    let stalled = Queue { unacked: 20, consumers: consumers(10, 2), ..queue("jobs", 500, 500) };
    let text = "jobs makes no progress with 500 messages; its 2 consumers have prefetch 10 and acknowledged nothing in 5 seconds.";
    check_queue(stalled.clone(), &[(Weight::Problem, "stalled_consumer", text)]);
    check_queue(Queue { acked_per_s: 5.0, ..stalled.clone() }, &[]);
    check_queue(Queue { rejected_per_s: 5.0, dead_letters: DeadLetters::Kept, ..stalled.clone() }, &[]);
    check_queue(Queue { unacked: 3, ..stalled }, &[]);
}

#[test]
fn messages_that_go_round_are_told_of() {
    let round = |per_s| Queue { came_round_per_s: per_s, ..queue("b", 1, 1) };
    let text =
        "Messages go round: queue b, 7,800 laps a second. They are rejected as fast as they come back as dead letters.";
    check_queue(round(7_800.2), &[(Weight::Warning, "dead_letter_loop", text)]);
    check_queue(round(99.0), &[]);
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
fn messages_that_are_lost_are_told_of_with_their_publishers() {
    let full = Queue { over_length_per_s: 50.0, publishers: vec!["shop".to_owned()], ..queue("orders", 100, 100) };
    let text = "orders loses 50 messages a second: they are dropped, because it is as long as it may be, and it has no dead letter \
                exchange. Published by shop.";
    check_queue(full.clone(), &[(Weight::Warning, "dropped_over_length", text)]);
    check_queue(Queue { dead_letters: DeadLetters::Kept, ..full }, &[]);
    let expired =
        Queue { expired_per_s: 0.4, dead_letters: DeadLetters::Nowhere("dlx".to_owned()), ..queue("orders", 1, 1) };
    let text = "orders loses 0.4 messages a second: they are dropped, because they expired before a consumer took them, and no queue is \
                bound to its dead letter exchange dlx.";
    check_queue(expired, &[(Weight::Warning, "expired", text)]);
    let refusing = Queue { refused_per_s: 20.0, ..queue("orders", 10, 10) };
    let text = "orders refuses 20 publishes a second: it is as long as it may be.";
    check_queue(refusing, &[(Weight::Warning, "refused", text)]);
    let text = "shop publishes 30 messages a second that no queue is bound for: they are lost. Bind a queue, or give the exchange an \
                alternate exchange.";
    let lost = Client { unroutable_dropped_per_s: 30.0, ..client("shop") };
    check(|facts| facts.clients.push(lost), &[(Weight::Problem, "unroutable_dropped", text)]);
    let text = "shop publishes 30 messages a second that no queue is bound for: they are returned to it.";
    let returned = Client { unroutable_returned_per_s: 30.0, ..client("shop") };
    check(|facts| facts.clients.push(returned), &[(Weight::Warning, "unroutable_returned", text)]);
}

#[test]
fn alarms_and_losses_come_first() {
    check(
        |facts| {
            facts.error_count = 2;
            facts.last_error = Some("a file could not be written".to_owned());
            facts.lost_message_count = 1;
        },
        &[
            (
                Weight::Problem,
                "data_loss",
                "1 message is lost to damaged files: `warren ctl list_data_losses` lists them.",
            ),
            (
                Weight::Warning,
                "log_errors",
                "2 errors are among the last lines of the log, the last one: a file could not be written",
            ),
        ],
    );
}

#[test]
fn what_is_near_a_limit_is_told_before_it_is_reached() {
    let text = "Memory is at 88 % of the limit above which publishers wait: 900.0 MiB of 1.0 GiB.";
    check(|facts| facts.nodes[0].memory.used = 900 << 20, &[(Weight::Warning, "memory", text)]);
    let text = "60,000 of 65,536 open files are in use: clients are refused when all are in use. Raise the limit (ulimit -n, \
                LimitNOFILE).";
    check(|facts| facts.nodes[0].files.used = 60_000, &[(Weight::Warning, "open_files", text)]);
    let text = "The disk has 1.5 GiB free, and publishers wait below 1.0 GiB.";
    check(|facts| facts.nodes[0].disk_free_len = 1500 << 20, &[(Weight::Warning, "disk", text)]);
}

#[test]
fn processors_are_busy_taken_or_kept_from_it() {
    let check = |processors: Processors, expected: &[(Weight, &str, &str)]| {
        check(|facts| facts.processors = Some(processors), expected)
    };
    let used = |used, waited| Processors { used, waited, ..Processors::default() };
    let text = "The broker uses 1.9 of 2 processors, which are all processors: profile.svg shows for what.";
    check(used(1.9, 3.0), &[(Weight::Warning, "busy", text)]);
    let text = "Other programs use the processors: the broker waited for a processor for 75 % of the time in which it had work.";
    check(used(0.2, 0.6), &[(Weight::Problem, "processors_taken", text)]);
    check(used(0.02, 0.19), &[]);
    check(used(1.0, 0.6), &[]);
    let text = "The broker's control group withholds 0.5 processors from it: raise its limit (CPUQuota, `cpu` of a container).";
    check(Processors { throttled: 0.5, ..used(0.2, 0.6) }, &[(Weight::Problem, "throttled", text)]);
    let text = "The hypervisor gives 0.4 of this machine's 2 processors to others.";
    check(Processors { stolen: 0.4, ..used(0.2, 0.6) }, &[(Weight::Problem, "stolen_processors", text)]);
}

#[test]
fn slow_disks_are_told_of() {
    let syncs = |mean_ms| Some(Mean { count: 40.0, mean_ms });
    let text = "The disk is slow: a sync takes 45 ms on average, and no persistent message is confirmed faster.";
    check(|facts| facts.syncs = syncs(45.0), &[(Weight::Warning, "slow_disk", text)]);
    let text = "The disk is slow: a sync takes 200 ms on average, and no persistent message is confirmed faster.";
    check(|facts| facts.syncs = syncs(200.0), &[(Weight::Problem, "slow_disk", text)]);
    check(|facts| facts.syncs = Some(Mean { count: 0.0, mean_ms: 45.0 }), &[]);
}

#[test]
fn churn_and_errors_of_clients_are_told_of() {
    let text = "40 connections a second are opened: clients should keep their connections, or use `warren proxy`.";
    check(|facts| facts.rates.connections_opened = 40.0, &[(Weight::Warning, "connection_churn", text)]);
    let text = "40 channels a second are opened: clients should keep their channels.";
    check(|facts| facts.rates.channels_opened = 40.0, &[(Weight::Warning, "channel_churn", text)]);
    let text = "100 queues a second are declared: declare a long-lived queue only once.";
    check(|facts| facts.rates.queues_declared = 100.0, &[(Weight::Warning, "queue_churn", text)]);
    let change = |facts: &mut Facts| {
        (facts.rates.logins_failed, facts.rates.connections_failed) = (2.0, 2.0);
        facts.refusals =
            vec!["2026-11-26T10:00:01Z  WARN broker::session: login was refused peer=1.2.3.4:5".to_owned()];
    };
    let text = "2 logins a second are refused. The last one: login was refused peer=1.2.3.4:5";
    check(change, &[(Weight::Warning, "logins_refused", text)]);
    let text = "3 channels a second are closed for errors of their clients.";
    check(|facts| facts.rates.channels_failed = 3.0, &[(Weight::Warning, "channel_errors", text)]);
    let text = "1 connection is slowed down: they publish faster than consumers or the disk can process.";
    check(|facts| facts.clients[0].state = "flow".to_owned(), &[(Weight::Remark, "flow", text)]);
}

#[test]
fn what_a_client_does_to_itself_is_told_with_its_name() {
    let check = |client: Client, expected: &[(Weight, &str, &str)]| check(|facts| facts.clients.push(client), expected);
    let far = Client { round_trip_ms: Some(40.0), confirmed_per_s: 24.0, unconfirmed: 1, ..client("shop") };
    let text = "shop waits for each confirm before it publishes the next message, and the network round trip takes 40 ms: it publishes 24 \
                messages a second and cannot publish more. Let it publish several messages before it waits, or move it nearer to the \
                broker.";
    check(far.clone(), &[(Weight::Warning, "far_publisher", text)]);
    check(Client { unconfirmed: 50, ..far.clone() }, &[]);
    check(Client { confirmed_per_s: 2.0, ..far }, &[]);
    let text = "shop does not read its connection: 1,048,576 bytes wait.";
    check(Client { unread_len: 1 << 20, ..client("shop") }, &[(Weight::Warning, "unread", text)]);
    let text = "shop has 300 channels, and on 299 of them nothing ever happened: it may open one for each operation and never close it.";
    check(
        Client { channel_count: 300, idle_channel_count: 299, ..client("shop") },
        &[(Weight::Warning, "channel_leak", text)],
    );
    let text = "shop polls: 20 basic.get a second, of which 18 find nothing. A consumer costs less, and gets messages at once.";
    check(Client { got_per_s: 2.0, got_empty_per_s: 18.0, ..client("shop") }, &[(Weight::Warning, "polling", text)]);
    check(Client { got_per_s: 2.0, got_empty_per_s: 1.0, ..client("shop") }, &[]);
}

#[test]
fn unlimited_consumers_and_redeliveries_are_told_of() {
    let held = Queue {
        unacked: 5_000,
        unacked_before: 5_000,
        consumers: consumers(0, 1),
        acked_per_s: 5.0,
        ..queue("bulk", 5_000, 5_000)
    };
    let text = "5,000 messages of bulk are with consumers that have no prefetch: they all return to the queue when such a consumer \
         disconnects.";
    check_queue(held.clone(), &[(Weight::Warning, "no_prefetch", text)]);
    check_queue(Queue { acked_per_s: 20_000.0, ..held }, &[]);
    let again =
        Queue { delivered_per_s: 100.0, redelivered_per_s: 90.0, consumers: consumers(10, 1), ..queue("jobs", 10, 10) };
    let text = "Of 100 deliveries a second of jobs, 90 are redeliveries: consumers return or lose what they get.";
    check_queue(again, &[(Weight::Warning, "redeliveries", text)]);
}

#[test]
fn a_thousand_queues_that_nothing_uses_are_worth_a_remark() {
    let unused = |count: u64| (0..count).map(|number| Queue { is_unused: true, ..queue(&format!("q{number}"), 0, 0) });
    let text = "1,000 of 1,001 queues have no consumer, no message, and had none published into them since the broker started; q0 is one. \
                An `x-expires` removes such queues.";
    check(|facts| facts.queues.extend(unused(1_000)), &[(Weight::Remark, "unused_queues", text)]);
    check(|facts| facts.queues.extend(unused(999)), &[]);
}
