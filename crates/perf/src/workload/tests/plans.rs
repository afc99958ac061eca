//! Texts and the plans that they become.

use super::*;
use crate::plan::*;
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn the_smallest_workload_has_sensible_defaults() {
    let plan = plan_of(
        r#"
        [[queues]]
        name = "q"
        [[publishers]]
        queue = "q"
        [[consumers]]
        queue = "q"
        "#,
    );
    let expected = Plan {
        name: "test".to_owned(),
        seed: 1,
        drain: 10 * SECOND,
        interval: SECOND,
        queues: vec![Queues {
            names: vec!["q".to_owned()],
            durable: true,
            exclusive: false,
            auto_delete: false,
            arguments: Vec::new(),
            passive: false,
            keep_existing: false,
            bindings: Vec::new(),
            is_temporary: true,
        }],
        publishers: vec![Publishers {
            name: "publishers".to_owned(),
            connections: 1,
            channels: 1,
            exchange: String::new(),
            routing: Routing::PerPublisher(vec!["q".to_owned()]),
            body: Body::Stamped(Sizes::Drawn(Distribution::Fixed(12.0))),
            properties: Properties::default(),
            mandatory: false,
            confirm_window: None,
            confirm_timeout: Some(30 * SECOND),
            tx_size: 0,
            schedule: Schedule::constant(Rate::Unlimited),
            think_time: None,
            message_limit: None,
            start_delay_max: Duration::ZERO,
            messages_per_connection: None,
            messages_per_channel: None,
        }],
        consumers: vec![Consumers {
            name: "consumers".to_owned(),
            connections: 1,
            channels: 1,
            queues: ConsumedQueues::Spread(vec!["q".to_owned()]),
            prefetch: 0,
            channel_prefetch: 0,
            settle: Settle::AckEvery(1),
            tx_size: 0,
            rate: None,
            processing: Processing::None,
            message_limit: None,
            polling: None,
            arguments: Vec::new(),
            exclusive: false,
            start_delay: Duration::ZERO,
            start_gap: Duration::ZERO,
            pauses: Vec::new(),
        }],
        ..Plan::default()
    };
    assert_eq!(plan, expected);
}

#[test]
fn patterns_are_numbered_by_any_two_of_count_from_and_to() {
    for (numbers, expected) in [
        ("count = 3", &["q-1", "q-2", "q-3"][..]),
        ("count = 2\nfrom = 5", &["q-5", "q-6"]),
        ("count = 2\nto = 5", &["q-4", "q-5"]),
        ("from = 0\nto = 1", &["q-0", "q-1"]),
        ("to = 2", &["q-1", "q-2"]),
        ("from = 7", &["q-7"]),
        ("from = 8\nto = 9\ncount = 2", &["q-8", "q-9"]),
        ("", &["q-1"]),
    ] {
        let plan = plan_of(&format!("idle_connections = 1\n[[queues]]\nname = 'q-%d'\n{numbers}"));
        assert_eq!(plan.queues[0].names, expected, "{numbers}");
    }
}

#[test]
fn queues_exchanges_and_bindings_are_spelled_out() {
    let plan = plan_of(
        r#"
        idle_connections = 5
        [[exchanges]]
        name = "x-%d"
        count = 2
        type = "topic"
        durable = false
        auto_delete = true
        arguments = { alternate-exchange = "y" }
        [[exchanges]]
        name = "y"
        passive = true
        [[queues]]
        name = "q-%02d"
        from = 9
        to = 11
        type = "quorum"
        keep = true
        keep_existing = true
        arguments = { x-max-length = 5, z = [1, 2.5, true], a = { b = "c" } }
        bindings = [
            { exchange = "y" },
            { exchange = "x-%d", keys = ["a.*", "b.#"], arguments = { x-match = "all" } },
            { exchange = "x-2", keys = { pattern = "k-%d", to = 3 }, spread = true },
        ]
        [[queues]]
        name = ""
        exclusive = true
        bindings = { exchange = "amq.fanout", key = "" }
        [[queues]]
        name = "existing"
        passive = true
        "#,
    );
    let text = |text: &str| Value::Text(text.to_owned());
    assert_eq!(plan.idle_connections, 5);
    assert_eq!(
        plan.exchanges[1],
        Exchange {
            name: "x-2".to_owned(),
            kind: "topic".to_owned(),
            durable: false,
            auto_delete: true,
            arguments: vec![("alternate-exchange".to_owned(), text("y"))],
            passive: false,
            keep_existing: false,
        }
    );
    assert_eq!(plan.exchanges.len(), 3);
    let binding = |exchange: &str, keys: BindingKeys, arguments: Arguments| Binding {
        exchange: exchange.to_owned(),
        keys,
        arguments,
    };
    let both = BindingKeys::All(vec!["a.*".to_owned(), "b.#".to_owned()]);
    let matching = vec![("x-match".to_owned(), text("all"))];
    assert_eq!(
        plan.queues[0],
        Queues {
            names: vec!["q-09".to_owned(), "q-10".to_owned(), "q-11".to_owned()],
            durable: true,
            exclusive: false,
            auto_delete: false,
            arguments: vec![
                ("x-queue-type".to_owned(), text("quorum")),
                ("x-max-length".to_owned(), Value::Int(5)),
                ("z".to_owned(), Value::List(vec![Value::Int(1), Value::Float(2.5), Value::Bool(true)])),
                ("a".to_owned(), Value::Table(vec![("b".to_owned(), text("c"))])),
            ],
            passive: false,
            keep_existing: true,
            bindings: vec![
                binding("y", BindingKeys::QueueName, Vec::new()),
                binding("x-1", both.clone(), matching.clone()),
                binding("x-2", both, matching),
                binding("x-2", BindingKeys::Spread(["k-1", "k-2", "k-3"].map(str::to_owned).to_vec()), Vec::new()),
            ],
            is_temporary: false,
        }
    );
    assert!(plan.queues[1].exclusive && !plan.queues[1].durable);
    assert_eq!(plan.queues[1].names, [""]);
    // What was there before is not the run's to delete.
    assert!(plan.queues[2].passive && !plan.queues[2].is_temporary);
}

#[test]
fn publishers_have_all_their_options() {
    let plan = plan_of(
        r#"
        [[exchanges]]
        name = "x"
        [[queues]]
        name = "q"
        [[publishers]]
        name = "rich"
        count = 6
        connections = 3
        exchange = "x"
        keys = ["a", "b"]
        routing = "random"
        size = { choice = [[100, 3], ["1 kB", 1]] }
        persistent = true
        priority = { uniform = [1, 5] }
        headers = { z = 1, a = "b" }
        properties = { content_type = "text/plain", expiration = "30s", type = "t", timestamp = 5 }
        mandatory = true
        confirm_window = 10
        confirm_timeout = "5s"
        rate = 600
        think_time = { exponential = "10ms" }
        message_limit = 1000
        start_within = "2s"
        messages_per_connection = 7
        [[publishers]]
        name = "plain"
        queue = "q"
        bodies = ["one", "two"]
        tx_size = 3
        rate = { poisson = 9 }
        rate_per = "publisher"
        count = 2
        messages_per_channel = 4
        confirm_window = 0
        [[publishers]]
        name = "cycle"
        exchange = "x"
        routing = "fresh"
        size = { cycle = [[100, "1s"], ["2 kB", "500ms"]] }
        "#,
    );
    let expected = Publishers {
        name: "rich".to_owned(),
        connections: 3,
        channels: 2,
        exchange: "x".to_owned(),
        routing: Routing::Random(vec!["a".to_owned(), "b".to_owned()]),
        body: Body::Stamped(Sizes::Drawn(Distribution::Choice(vec![(100.0, 3.0), (1_000.0, 1.0)]))),
        properties: Properties {
            content_type: Some("text/plain".to_owned()),
            expiration: Some("30000".to_owned()),
            kind: Some("t".to_owned()),
            timestamp: Some(5),
            persistent: true,
            priority: Some(Distribution::Uniform(1.0, 5.0)),
            headers: vec![("z".to_owned(), Value::Int(1)), ("a".to_owned(), Value::Text("b".to_owned()))],
            ..Properties::default()
        },
        mandatory: true,
        confirm_window: Some(10),
        confirm_timeout: Some(5 * SECOND),
        tx_size: 0,
        schedule: Schedule::constant(Rate::Fixed(100.0)),
        think_time: Some(Distribution::Exponential(0.01)),
        message_limit: Some(1000),
        start_delay_max: 2 * SECOND,
        messages_per_connection: Some(7),
        messages_per_channel: None,
    };
    assert_eq!(plan.publishers[0], expected);
    let plain = &plan.publishers[1];
    assert_eq!(plain.body, Body::Given(vec![b"one".to_vec(), b"two".to_vec()]));
    assert_eq!(plain.schedule, Schedule::constant(Rate::Poisson(9.0)));
    assert_eq!((plain.tx_size, plain.confirm_window, plain.messages_per_channel), (3, None, Some(4)));
    assert_eq!(plan.publishers[2].routing, Routing::Fresh);
    assert_eq!(
        plan.publishers[2].body,
        Body::Stamped(Sizes::Cycle(vec![(100, SECOND), (2_000, Duration::from_millis(500))]))
    );
}

#[test]
fn a_group_that_publishes_to_several_exchanges_is_shared_by_them() {
    let plan = plan_of(
        "
        [[exchanges]]
        name = 'x-%d'
        count = 2
        [[queues]]
        name = 'q-%d'
        count = 3
        [[publishers]]
        name = 'load'
        exchange = 'x-%d'
        keys = { queues = 'q-%d' }
        count = 8
        connections = 4
        rate = 80
        ",
    );
    let found: Vec<_> = plan
        .publishers
        .iter()
        .map(|group| (group.name.as_str(), group.exchange.as_str(), group.connections, group.channels))
        .collect();
    assert_eq!(found, [("load to x-1", "x-1", 2, 2), ("load to x-2", "x-2", 2, 2)]);
    assert_eq!(plan.publishers[0].schedule, Schedule::constant(Rate::Fixed(10.0)));
    assert_eq!(plan.publishers[0].routing, Routing::InTurn(["q-1", "q-2", "q-3"].map(str::to_owned).to_vec()));
}

#[test]
fn consumers_have_all_their_options() {
    let plan = plan_of(
        r#"
        [[queues]]
        name = "q-%d"
        count = 3
        [[consumers]]
        name = "rich"
        count = 4
        connections = 2
        queues = ["q-1", "q-3"]
        each_consumes = "all"
        prefetch = 20
        channel_prefetch = 40
        ack_every = 10
        nack = "requeue"
        rate = 100
        processing = { normal = { mean = "5ms", deviation = "1ms" } }
        message_limit = 9
        arguments = { x-priority = 5 }
        exclusive = true
        start_delay = "1s"
        start_gap = "100ms"
        pauses = [["5s", "10s"]]
        [[consumers]]
        name = "auto"
        queue = "q-%d"
        auto_ack = true
        polling = "10ms"
        rate = 3
        rate_per = "consumer"
        processing = { cycle = [["5ms", "10s"]] }
        [[consumers]]
        name = "refusing"
        queue = "q-2"
        nack = "discard"
        tx_size = 5
        rate = "unlimited"
        "#,
    );
    let expected = Consumers {
        name: "rich".to_owned(),
        connections: 2,
        channels: 2,
        queues: ConsumedQueues::All(vec!["q-1".to_owned(), "q-3".to_owned()]),
        prefetch: 20,
        channel_prefetch: 40,
        settle: Settle::NackEvery { count: 10, requeue: true },
        tx_size: 0,
        rate: Some(25.0),
        processing: Processing::Drawn(Distribution::Normal { mean: 0.005, deviation: 0.001 }),
        message_limit: Some(9),
        polling: None,
        arguments: vec![("x-priority".to_owned(), Value::Int(5))],
        exclusive: true,
        start_delay: SECOND,
        start_gap: Duration::from_millis(100),
        pauses: vec![(5 * SECOND, 10 * SECOND)],
    };
    assert_eq!(plan.consumers[0], expected);
    let auto = &plan.consumers[1];
    assert_eq!(auto.settle, Settle::AutoAck);
    assert_eq!(auto.rate, Some(3.0));
    assert_eq!(auto.polling, Some(Duration::from_millis(10)));
    assert_eq!(auto.queues, ConsumedQueues::Spread(["q-1", "q-2", "q-3"].map(str::to_owned).to_vec()));
    assert_eq!(auto.processing, Processing::Cycle(vec![(Duration::from_millis(5), 10 * SECOND)]));
    assert_eq!(plan.consumers[2].settle, Settle::NackEvery { count: 1, requeue: false });
    assert_eq!((plan.consumers[2].rate, plan.consumers[2].tx_size), (None, 5));
}

/// The first group's schedule, for the lines of a workload's top and of its publishers.
#[track_caller]
fn schedule_of(top: &str, publishers: &str) -> Schedule {
    let text = format!("{top}\n[[queues]]\nname = 'q'\n[[publishers]]\nname = 'load'\nqueue = 'q'\n{publishers}");
    plan_of(&text).publishers.remove(0).schedule
}

fn segment(rate: Rate, seconds: f64) -> Segment {
    Segment { rate, duration: Some(Duration::from_secs_f64(seconds)) }
}

#[test]
fn rates_without_phases_are_laid_out_over_the_run() {
    let once = |segments: Vec<Segment>| Schedule { segments, repeat: false };
    let ramp = Rate::Ramp { from: 0.0, to: 10.0 };
    assert_eq!(schedule_of("", "rate = 'paused'"), Schedule::constant(Rate::Fixed(0.0)));
    assert_eq!(schedule_of("duration = '9s'", "rate = { from = 0, to = 10 }"), once(vec![segment(ramp, 9.0)]));
    assert_eq!(
        schedule_of("", "rate = { from = 0, to = 10, over = '4s' }"),
        once(vec![segment(ramp, 4.0), Segment { rate: Rate::Fixed(10.0), duration: None }])
    );
    assert_eq!(
        schedule_of("duration = '9s'", "rate = { from = 0, to = 10, over = '4s' }"),
        once(vec![segment(ramp, 4.0), segment(Rate::Fixed(10.0), 5.0)])
    );
    assert_eq!(
        schedule_of("duration = '9s'", "rate = { steps = [1, 2, 3] }"),
        once(vec![segment(Rate::Fixed(1.0), 3.0), segment(Rate::Fixed(2.0), 3.0), segment(Rate::Fixed(3.0), 3.0)])
    );
    assert_eq!(
        schedule_of("", "rate = { steps = [1, 2], every = '2s' }"),
        once(vec![segment(Rate::Fixed(1.0), 2.0), Segment { rate: Rate::Fixed(2.0), duration: None }])
    );
    assert_eq!(
        schedule_of("duration = '9s'", "rate = { steps = [[1, '2s'], 5] }"),
        once(vec![segment(Rate::Fixed(1.0), 2.0), segment(Rate::Fixed(5.0), 7.0)])
    );
    // However long it lasts, a round is laid out once.
    for top in ["", "duration = '5s'", "duration = '1d'"] {
        assert_eq!(
            schedule_of(top, "rate = { steps = [[1, '2s'], [5, '1s']], repeat = true }"),
            Schedule { segments: vec![segment(Rate::Fixed(1.0), 2.0), segment(Rate::Fixed(5.0), 1.0)], repeat: true }
        );
    }
}

const DAY: &str = "
[[phases]]
name = 'night'
duration = '2s'
[[phases]]
name = 'morning'
duration = '4s'
rates = { load = { from = 10, to = 50 } }
pause = ['sink']
[[phases]]
name = 'noon'
duration = '3s'
pause = ['load', 'sink']
";

#[test]
fn phases_give_groups_rates_of_their_own() {
    let ramp = Rate::Ramp { from: 5.0, to: 25.0 };
    let pause = |seconds| segment(Rate::Fixed(0.0), seconds);
    // Two publishers share the rates.
    let own_rate =
        schedule_of(DAY.replace(", 'sink'", "").replace("pause = ['sink']", "").as_str(), "rate = 20\ncount = 2");
    assert_eq!(
        own_rate,
        Schedule { segments: vec![segment(Rate::Fixed(10.0), 2.0), segment(ramp, 4.0), pause(3.0)], repeat: false }
    );
    let no_own_rate = schedule_of(DAY.replace(", 'sink'", "").replace("pause = ['sink']", "").as_str(), "count = 2");
    assert_eq!(no_own_rate, Schedule { segments: vec![pause(2.0), segment(ramp, 4.0), pause(3.0)], repeat: false });
    let only_paused = schedule_of(
        "[[phases]]\nname = 'a'\nduration = '1s'\n[[phases]]\nname = 'b'\nduration = '1s'\npause = ['load']",
        "",
    );
    assert_eq!(only_paused.segments, [segment(Rate::Unlimited, 1.0), pause(1.0)]);
}

#[test]
fn phases_are_marks_and_pauses_of_consumers() {
    let rest =
        "[[queues]]\nname = 'q'\n[[publishers]]\nname = 'load'\nqueue = 'q'\n[[consumers]]\nname = 'sink'\nqueue = 'q'";
    let plan = plan_of(&format!("{DAY}{rest}"));
    assert_eq!(plan.duration, Some(9 * SECOND));
    let marks: Vec<_> = plan.phases.iter().map(|phase| (phase.name.as_str(), phase.duration.as_secs())).collect();
    assert_eq!(marks, [("night", 2), ("morning", 4), ("noon", 3)]);
    assert_eq!(plan.consumers[0].pauses, [(2 * SECOND, 9 * SECOND)]);

    let plan = plan_of(&format!("repeat_phases = true\nduration = '14s'\n{DAY}{rest}"));
    assert_eq!(plan.duration, Some(14 * SECOND));
    let marks: Vec<_> = plan.phases.iter().map(|phase| (phase.name.as_str(), phase.duration.as_secs())).collect();
    assert_eq!(marks, [("night", 2), ("morning", 4), ("noon", 3), ("night", 2), ("morning", 3)]);
    assert_eq!(plan.consumers[0].pauses, [(2 * SECOND, 9 * SECOND), (11 * SECOND, 14 * SECOND)]);
    assert!(plan.publishers[0].schedule.repeat);
}

#[test]
fn churn_probes_and_expectations_are_read() {
    let plan = plan_of(
        r#"
        exit_when = "idle"
        [[exchanges]]
        name = "x"
        [[churn]]
        name = "links"
        kind = "bindings"
        exchange = "x"
        workers = 3
        rate = 5
        lifetime = "2s"
        [[churn]]
        name = "queues"
        kind = "queues"
        durable = false
        arguments = { x-expires = 1000 }
        [[probes]]
        name = "list"
        path = "/api/queues"
        every = "2s"
        [[probes]]
        name = "page"
        path = "/api/queues?page=1"
        every = "500ms"
        count = 10
        user = "ann"
        password = "secret"
        [expect]
        consumer_latency_p999_ms = 5
        confirm_latency_max_ms = 7.5
        probe_latency_p50_ms = { list = 200 }
        publish_rate_min = 100
        consume_rate_min = 90
        lost = 0
        duplicates = 1
        out_of_order = 2
        broker_memory_mib = 512
        failed_steps = 3
        "#,
    );
    assert_eq!(plan.exit_when, Some(ExitWhen::Idle));
    assert_eq!(
        plan.churns,
        [
            Churn {
                name: "links".to_owned(),
                kind: ChurnKind::Bindings { exchange: "x".to_owned() },
                workers: 3,
                rate: Some(5.0),
                lifetime: Distribution::Fixed(2.0),
            },
            Churn {
                name: "queues".to_owned(),
                kind: ChurnKind::Queues { durable: false, arguments: vec![("x-expires".to_owned(), Value::Int(1000))] },
                workers: 1,
                rate: None,
                lifetime: Distribution::Fixed(0.0),
            },
        ]
    );
    let ann = ProbeUser { name: "ann".to_owned(), password: "secret".to_owned() };
    assert!(!format!("{ann:?}").contains("secret"));
    let probe = |name: &str, path: &str, every, count, user| Probe {
        name: name.to_owned(),
        path: path.to_owned(),
        every,
        count,
        user,
    };
    assert_eq!(
        plan.probes,
        [
            probe("list", "/api/queues", 2 * SECOND, 1, None),
            probe("page", "/api/queues?page=1", SECOND / 2, 10, Some(ann)),
        ]
    );
    let expected = [
        (Metric::ConsumerLatencyMs(0.999), Bound::AtMost(5.0)),
        (Metric::ConfirmLatencyMs(1.0), Bound::AtMost(7.5)),
        (Metric::ProbeLatencyMs("list".to_owned(), 0.5), Bound::AtMost(200.0)),
        (Metric::PublishRate, Bound::AtLeast(100.0)),
        (Metric::ConsumeRate, Bound::AtLeast(90.0)),
        (Metric::Lost, Bound::AtMost(0.0)),
        (Metric::Duplicates, Bound::AtMost(1.0)),
        (Metric::OutOfOrder, Bound::AtMost(2.0)),
        (Metric::BrokerMemoryMib, Bound::AtMost(512.0)),
        (Metric::FailedSteps, Bound::AtMost(3.0)),
    ];
    assert_eq!(plan.expectations, expected.map(|(metric, bound)| Expectation { metric, bound }));
}

#[test]
fn users_follow_their_script() {
    let plan = plan_of(
        r#"
        [throttles]
        login = 10
        [[users]]
        name = "clients"
        count = 100
        arrival_rate = 20
        repeat = true
        steps = [
            { throttle = "login" },
            "connect",
            "open_channel",
            { declare_queue = "inbox-{user}", exclusive = true, arguments = { x-expires = 5 } },
            { declare_exchange = "x", type = "topic" },
            { bind = "{queue}", exchange = "x", key = "user.{user}.#" },
            { consume = "{queue}", prefetch = 10, ack_every = 5 },
            { repeat = 3, steps = [
                { set = "id", value = "{uuid}" },
                { publish = "user.{user}.{id}", exchange = "x", size = 100, count = 5, confirm = true, throttle = "login" },
                { think = { exponential = "2s" } },
            ] },
            { consume_until = 15, timeout = "5s" },
            { wait = "100ms" },
            { expect_received = 15 },
            { expect_received = true, min = 1 },
            { expect_queue_length = "{queue}", max = 0 },
            { expect_variable = "id", value = "{id}" },
            { http_get = "/api/overview", status = 204 },
            "cancel",
            { delete_queue = "{queue}" },
            "disconnect",
        ]
        "#,
    );
    let template = |text: &str| Template(text.to_owned());
    let users = &plan.users[0];
    assert_eq!((users.count, users.arrival_rate, users.repeat), (100, 20.0, true));
    assert_eq!(
        users.script.steps,
        [
            Step::Throttle(Throttle { name: "login".to_owned(), rate: 10.0 }),
            Step::Connect,
            Step::OpenChannel,
            Step::DeclareQueue {
                name: template("inbox-{user}"),
                durable: false,
                exclusive: true,
                auto_delete: false,
                arguments: vec![("x-expires".to_owned(), Value::Int(5))],
            },
            Step::DeclareExchange { name: template("x"), kind: "topic".to_owned(), durable: true },
            Step::Bind { queue: template("{queue}"), exchange: template("x"), key: template("user.{user}.#") },
            Step::Consume { queue: template("{queue}"), prefetch: 10, settle: Settle::AckEvery(5) },
            Step::Repeat {
                count: 3,
                steps: vec![
                    Step::Set { name: "id".to_owned(), value: template("{uuid}") },
                    Step::Publish {
                        exchange: template("x"),
                        key: template("user.{user}.{id}"),
                        size: Sizes::Drawn(Distribution::Fixed(100.0)),
                        properties: Properties::default(),
                        count: 5,
                        confirm: true,
                        throttle: Some(Throttle { name: "login".to_owned(), rate: 10.0 }),
                    },
                    Step::Think(Distribution::Exponential(2.0)),
                ],
            },
            Step::ConsumeUntil { count: 15, timeout: 5 * SECOND },
            Step::Wait(Duration::from_millis(100)),
            Step::Expect(StepExpectation::Received { min: 15, max: 15 }),
            Step::Expect(StepExpectation::Received { min: 1, max: u64::MAX }),
            Step::Expect(StepExpectation::QueueLength { queue: template("{queue}"), min: 0, max: 0 }),
            Step::Expect(StepExpectation::Variable { name: "id".to_owned(), value: template("{id}") }),
            Step::HttpGet { url: template("/api/overview"), status: 204 },
            Step::Cancel,
            Step::DeleteQueue { name: template("{queue}") },
            Step::Disconnect,
        ]
    );
}
