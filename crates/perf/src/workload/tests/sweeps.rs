//! Sweeps, variables, overrides and scale.

use super::*;
use crate::plan::{Body, Distribution, Rate, Sizes};

const BASE: &str = r#"
[[queues]]
name = "q-%d"
count = 10
[[publishers]]
queue = "q-%d"
count = 20
rate = 1000
[[consumers]]
queue = "q-%d"
count = 10
[[users]]
count = 6
steps = ["connect"]
"#;

fn with_base(text: &str) -> String {
    format!("{text}\n{BASE}")
}

#[track_caller]
fn labels(text: &str, settings: &[&str]) -> Vec<String> {
    let workload = read_with(text, 1.0, settings).unwrap_or_else(|error| panic!("{error}"));
    workload.runs.into_iter().map(|run| run.label).collect()
}

#[test]
fn a_sweep_makes_a_run_of_each_combination() {
    let text = with_base("[sweep]\nconfirm_window = [1, 200]\npublishers = [1, 5, 20]");
    let workload = read(&text, "load/sweep.toml", &Overrides::default()).unwrap();
    assert_eq!(workload.name, "sweep");
    let found: Vec<_> = workload
        .runs
        .iter()
        .map(|run| (run.label.as_str(), run.plan.publishers[0].confirm_window, run.plan.publishers[0].connections))
        .collect();
    assert_eq!(
        found,
        [
            ("confirm_window=1, publishers=1", Some(1), 1),
            ("confirm_window=1, publishers=5", Some(1), 5),
            ("confirm_window=1, publishers=20", Some(1), 20),
            ("confirm_window=200, publishers=1", Some(200), 1),
            ("confirm_window=200, publishers=5", Some(200), 5),
            ("confirm_window=200, publishers=20", Some(200), 20),
        ]
    );
    assert_eq!(workload.runs[4].plan.name, "sweep: confirm_window=200, publishers=5");
    assert_eq!(workload.runs[4].variables["publishers"], Variable::Number(5.0));
}

#[test]
fn label_shows_no_password() {
    let steps = BASE.replace("\"connect\"", "{ http_get = \"$url\" }");
    let text = format!("[sweep]\nurl = [\"http://me:hush@a/\", \"http://b/\"]\n{steps}");
    let workload = read(&text, "sweep.toml", &Overrides::default()).unwrap();
    let labels: Vec<_> = workload.runs.iter().map(|run| run.label.as_str()).collect();
    assert_eq!(labels, ["url=http://me:***@a/", "url=http://b/"]);
    assert_eq!(workload.runs[0].variables["url"], Variable::Text("http://me:***@a/".to_owned()));
    let step = &workload.runs[0].plan.users[0].script.steps[0];
    assert!(format!("{step:?}").contains("me:hush@a"), "{step:?}");
}

#[test]
fn several_sweeps_are_run_one_after_the_other() {
    let text = "
        [[sweep]]
        type = 'direct'
        delay = 0
        [[sweep]]
        type = 'x-delayed-message'
        delay = [0, 30_000]
        [[exchanges]]
        name = 'x'
        type = '$type'
        arguments = { x-delayed-type = 'direct' }
        [[publishers]]
        exchange = 'x'
        headers = { x-delay = '$delay' }
    ";
    assert_eq!(
        labels(text, &[]),
        ["type=direct, delay=0", "type=x-delayed-message, delay=0", "type=x-delayed-message, delay=30000"]
    );
    let workload = read(text, "test", &Overrides::default()).unwrap();
    let plan = &workload.runs[2].plan;
    assert_eq!(plan.exchanges[0].kind, "x-delayed-message");
    assert_eq!(plan.publishers[0].properties.headers, [("x-delay".to_owned(), crate::plan::Value::Int(30_000))]);
    assert_eq!(workload.runs[2].variables["type"], Variable::Text("x-delayed-message".to_owned()));
}

#[test]
fn fields_are_addressed_by_kind_and_group() {
    let text = with_base(
        "[sweep]\n'publishers.publishers.rate' = 2000\nconsumers.prefetch = 7\nconsumers.consumers.ack_every = 5\n\
         auto_delete = true\nseed = 5",
    );
    let workload = read_with(&text, 1.0, &[]).unwrap();
    let run = &workload.runs[0];
    assert_eq!(
        run.label,
        "publishers.publishers.rate=2000, consumers.prefetch=7, consumers.consumers.ack_every=5, auto_delete=true, seed=5"
    );
    assert_eq!(run.plan.publishers[0].schedule.segments[0].rate, Rate::Fixed(100.0));
    assert_eq!(run.plan.consumers[0].prefetch, 7);
    assert_eq!(run.plan.consumers[0].settle, crate::plan::Settle::AckEvery(5));
    assert!(run.plan.queues[0].auto_delete);
    assert_eq!(run.plan.seed, 5);
}

#[test]
fn variables_stand_where_they_are_named() {
    let text = with_base("name = '$$cash'\nduration = '$time'\n[variables]\ntime = '20s'");
    let workload = read(&text, "test.toml", &Overrides::default()).unwrap();
    assert_eq!(workload.name, "$cash");
    assert_eq!(workload.runs[0].plan.duration, Some(Duration::from_secs(20)));
}

#[test]
fn settings_change_variables_fields_and_pin_sweeps() {
    let text =
        with_base("duration = '$time'\n[variables]\ntime = '20s'\n[sweep]\npublishers = [1, 5]\nprefetch = [1, 2]");
    assert_eq!(labels(&text, &[]).len(), 4);
    assert_eq!(labels(&text, &["publishers=5"]), ["publishers=5, prefetch=1", "publishers=5, prefetch=2"]);
    assert_eq!(labels(&text, &["publishers=[7]", "prefetch=3"]), ["publishers=7, prefetch=3"]);
    let workload = read_with(
        &text,
        1.0,
        &["time=1m", "publishers.size=1kB", "publishers.publishers.rate=unlimited", "seed = 9", "expect.lost=0"],
    )
    .unwrap();
    let plan = &workload.runs[0].plan;
    assert_eq!(plan.duration, Some(Duration::from_secs(60)));
    assert_eq!(plan.publishers[0].body, Body::Stamped(Sizes::Drawn(Distribution::Fixed(1_000.0))));
    assert_eq!(plan.publishers[0].schedule.segments[0].rate, Rate::Unlimited);
    assert_eq!(plan.seed, 9);
    assert_eq!(plan.expectations.len(), 1);
}

#[test]
fn a_setting_chooses_among_several_sweeps() {
    let text = with_base(
        "[[sweep]]\nkind = 'direct'\ndelay = 0\n[[sweep]]\nkind = 'delayed'\ndelay = [0, 30]\n[variables]\nkind = 'direct'\ndelay = 0",
    );
    for (settings, expected) in [
        (&["kind=direct"][..], &["kind=direct, delay=0"][..]),
        (&["kind=delayed"], &["kind=delayed, delay=0", "kind=delayed, delay=30"]),
        (&["delay=5"], &["kind=delayed, delay=5"]),
        (&["delay=[0, 5]"], &["kind=direct, delay=0", "kind=delayed, delay=0", "kind=delayed, delay=5"]),
        (&["kind=other", "delay=30"], &["kind=other, delay=30"]),
        (&["kind=direct", "delay=7"], &["kind=direct, delay=7"]),
    ] {
        assert_eq!(labels(&text, settings), expected, "{settings:?}");
    }
}

#[test]
fn what_is_wrong_with_a_setting_is_said_of_it() {
    for (setting, expected) in [
        (
            "publishers=many",
            "--set publishers=many: publishers \"publishers\": count: expected an integer from 1 to 1000000, found \"many\"",
        ),
        ("publisher=5", "--set publisher=5: unknown variable or field \"publisher\"; did you mean \"publishers\"?"),
        ("rate=5", "--set rate=5: \"rate\" is ambiguous: use publishers.rate or consumers.rate"),
        ("publishers.fast.rate=5", "--set publishers.fast.rate=5: unknown publishers \"fast\""),
        ("publishers.prefetch=5", "--set publishers.prefetch=5: publishers have no field \"prefetch\""),
        ("probes.every=5s", "--set probes.every=5s: sets probes.every, but the workload has no probes"),
        ("topics.a=5", "--set topics.a=5: unknown target \"topics\""),
        ("duration", "--set duration: expected key=value, such as duration=10s"),
        ("=5", "--set =5: expected key=value, such as duration=10s"),
    ] {
        let error = read_with(BASE, 1.0, &[setting]).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}\n  is not\n{expected}");
    }
}

#[test]
fn scale_changes_counts_and_rates() {
    let text = with_base("idle_connections = 100\n[expect]\npublish_rate_min = 900\nlost = 0");
    let workload = read_with(&text, 0.5, &[]).unwrap();
    let plan = &workload.runs[0].plan;
    assert_eq!(plan.idle_connections, 50);
    assert_eq!(plan.queues[0].names, ["q-1", "q-2", "q-3", "q-4", "q-5"]);
    assert_eq!((plan.publishers[0].connections, plan.publishers[0].channels), (10, 1));
    // 500 a second of 10 publishers.
    assert_eq!(plan.publishers[0].schedule.segments[0].rate, Rate::Fixed(50.0));
    assert_eq!(plan.consumers[0].connections, 5);
    assert_eq!(plan.users[0].count, 3);
    assert_eq!(plan.expectations[0].bound, crate::plan::Bound::AtLeast(450.0));
    assert_eq!(plan.expectations[1].bound, crate::plan::Bound::AtMost(0.0));
}

#[test]
fn scale_leaves_at_least_one_of_each() {
    let workload = read_with(BASE, 0.001, &[]).unwrap();
    let plan = &workload.runs[0].plan;
    assert_eq!(plan.queues[0].names, ["q-1"]);
    assert_eq!((plan.publishers[0].connections, plan.publishers[0].channels), (1, 1));
    assert_eq!(plan.users[0].count, 1);
}

#[test]
fn scale_keeps_the_shape_of_groups() {
    let text = BASE.replace("count = 20", "count = 300\nconnections = 20");
    for (scale, expected) in [(1.0, (20, 15)), (0.1, (2, 15)), (0.5, (10, 15)), (2.0, (40, 15)), (0.01, (1, 3))] {
        let workload = read_with(&text, scale, &[]).unwrap();
        let group = &workload.runs[0].plan.publishers[0];
        assert_eq!((group.connections, group.channels), expected, "scaled by {scale}");
    }
}

#[test]
fn scales_that_make_no_sense_are_refused() {
    for scale in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let error = read_with(BASE, scale, &[]).unwrap_err().to_string();
        assert!(error.starts_with("--scale: expected a factor above 0"), "{error}");
    }
}
