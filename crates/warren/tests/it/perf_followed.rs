//! What is counted as lost, twice or out of order, and what is not; and how runs come to their end.

use crate::harness::{check_output, text, write};
use crate::perf::{Bench, spawn_and_wait};

/// Runs a workload whose results are good if nothing is lost.
#[track_caller]
fn check_nothing_lost(test: &str, workload: &str) {
    let bench = Bench::start(test);
    let file = write(&bench.dir, "load.toml", workload);
    let (_, results) = bench.measure(&format!("run {file} --html report.html"));
    let summary = &results.runs[0].summary;
    assert!(summary.counts.consumed > 15, "{:?}", summary.counts);
    assert!(summary.sequence.is_complete, "{:?}", summary.sequence);
    assert_eq!(summary.sequence.total, Default::default());
}

#[test]
fn bodies_that_are_given_are_followed() {
    check_nothing_lost(
        "perf-bodies",
        "duration = '1s'\n\
         [[queues]]\nname = 'q'\n\
         [[publishers]]\nqueue = 'q'\nbodies = ['short', '{ \"long\": \"enough to look like a stamp\" }']\nrate = 300\n\
         [[consumers]]\nqueue = 'q'\ncount = 2\n",
    );
}

#[test]
fn transactions_that_a_channel_or_connection_cuts_off_are_committed() {
    for (test, limit) in [("perf-tx-channel", "channel"), ("perf-tx-connection", "connection")] {
        check_nothing_lost(
            test,
            &format!(
                "duration = '3s'\n\
                 [[queues]]\nname = 'q'\n\
                 [[publishers]]\nqueue = 'q'\ntx_size = 10\nmessages_per_{limit} = 15\nrate = 300\n\
                 [[consumers]]\nqueue = 'q'\n"
            ),
        );
    }
}

#[test]
fn message_whose_publisher_cannot_be_told_is_not_lost() {
    let bench = Bench::start("perf-unknown");
    let (_, results) = bench.measure("-x 1 -y 1 -u q -r 200 -z 1 -mp clusterId=a1");
    let summary = &results.runs[0].summary;
    assert!(summary.counts.consumed > 50);
    assert!(!summary.sequence.is_complete);
    assert_eq!(summary.sequence.total, Default::default());
}

#[test]
fn what_slow_consumers_still_have_is_not_lost() {
    let bench = Bench::start("perf-slow");
    // All of it has come to the consumer, or it is lost.
    for (qos, is_complete) in [(0, true), (100, false)] {
        let (_, results) = bench.measure(&format!("-x 1 -y 1 -u q -c 1000 -r 400 -q {qos} -R 50 -z 2 -st 1"));
        let summary = &results.runs[0].summary;
        assert!(summary.counts.published > summary.counts.consumed + 300);
        assert_eq!(summary.sequence.is_complete, is_complete, "{qos}");
        assert_eq!(summary.sequence.total, Default::default());
    }
}

#[test]
fn publisher_that_starts_late_is_not_late() {
    let bench = Bench::start("perf-start-delay");
    let (_, results) = bench.measure("-x 20 -y 1 -u q -c 10 -r 20 -prsd 2 -z 3");
    let summary = &results.runs[0].summary;
    let intended = summary.latencies.confirm.as_ref().unwrap().percentiles;
    assert!((400..1_150).contains(&summary.counts.published), "{:?}", summary.counts);
    assert!(intended.p99_ns < 1_000_000_000, "{intended:?}");
}

#[test]
fn run_ends_when_queues_are_empty() {
    let bench = Bench::start("perf-empty");
    bench.measure("-x 1 -y 0 -u q -ad false -C 300");
    for options in ["-x 0 -y 1 -u q -ad false -ew empty -z 60", "-x 0 -y 1 -u q -ad false --polling -ew empty -z 60"] {
        let (output, _) = bench.measure(options);
        assert!(text(&output.stdout).contains("Consumer queue(s) empty"), "{}", text(&output.stdout));
    }
}

#[test]
fn confirm_that_does_not_come_ends_the_run_though_there_is_room_in_the_window() {
    let bench = Bench::start("perf-no-confirm");
    let (child, _stdout) = spawn_and_wait(bench.command("-x 1 -y 0 -u q -c 100000 -r 50 -ct 1 -z 60"));
    bench.broker.signal("STOP");
    let output = child.wait_with_output().unwrap();
    bench.broker.signal("CONT");
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let interrupted = bench.results().runs.remove(0).interrupted.unwrap();
    assert!(interrupted.ends_with("no confirm came for 1 s"), "{interrupted}");
}

/// A durable queue of this name is not there.
#[track_caller]
fn check_gone(bench: &Bench, name: &str) {
    let workload =
        format!("duration = '10ms'\n[[queues]]\nname = '{name}'\npassive = true\n[[consumers]]\nqueue = '{name}'\n");
    let file = write(&bench.dir, "look.toml", &workload);
    let output = bench.command(&format!("run {file}")).output().unwrap();
    check_output(&output, 1, &format!("404 NOT_FOUND - no queue '{name}' in vhost '/'"));
}

#[test]
fn churned_queues_are_deleted_to_the_last() {
    let bench = Bench::start("perf-churn");
    let churn = "duration = '1s'\nname = 'c'\n\
        [[churn]]\nkind = 'queues'\nname = 'k'\nworkers = 2\nlifetime = '150ms'\ndurable = true\n";
    let file = write(&bench.dir, "churn.toml", churn);
    let (_, results) = bench.measure(&format!("run {file}"));
    assert!((2..=16).contains(&results.runs[0].summary.counts.churned), "{:?}", results.runs[0].summary.counts);
    for worker in 0..2 {
        (0..9).for_each(|number| check_gone(&bench, &format!("c-k-{worker}-{number}")));
    }
}

#[test]
fn preparation_that_fails_leaves_nothing_behind() {
    let bench = Bench::start("perf-cleanup");
    let workload = "duration = '1s'\n\
        [[queues]]\nname = 'left-%d'\ncount = 3\n\
        [[queues]]\nname = 'refused'\narguments = { x-queue-type = 'no-such-type' }\n\
        [[consumers]]\nqueue = 'left-%d'\n";
    let file = write(&bench.dir, "load.toml", workload);
    let output = bench.command(&format!("run {file}")).output().unwrap();
    check_output(&output, 1, "cannot declare the objects of the run");
    check_gone(&bench, "left-1");
    check_gone(&bench, "left-3");
}
