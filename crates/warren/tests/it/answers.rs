//! Methods that are answered later, as `warren trace` and `warren profile wall` show them: what they wait for until they are answered.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::harness::{Broker, check_output, scratch, text, warren};
use crate::trace::await_sessions;

/// How much longer each sync takes.
const DELAY: Duration = Duration::from_millis(200);

/// Asks the operator's socket for something that takes a while.
fn ask(dir: &Path, path: &str) -> Child {
    Command::new("curl")
        .args(["-sN", "--unix-socket"])
        .arg(dir.join("warren-data/control.sock"))
        .arg(format!("http://localhost{path}"))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// The last line of what came that is not empty.
fn last_line(child: Child) -> Value {
    let output = child.wait_with_output().unwrap();
    let shown = text(&output.stdout);
    serde_json::from_str(shown.lines().rfind(|line| !line.is_empty()).unwrap()).unwrap()
}

/// Publishes three messages, each when the one before is confirmed or committed.
#[track_caller]
fn publish(broker: &Broker, options: &str) {
    let options =
        format!("perf --uri amqp://{} -x 1 -y 0 -u orders -C 3 -s 100 -f persistent {options}", broker.address());
    check_output(&warren(&options.split_ascii_whitespace().collect::<Vec<_>>()), 0, "");
}

/// The frame of a path in a tree of times: how often, and how long in all.
#[track_caller]
fn frame(profile: &Value, path: &[(&str, &str)]) -> (u64, Duration) {
    let frames = profile["frames"].as_array().unwrap();
    let mut parent = Value::Null;
    let mut found = None;
    for (kind, name) in path {
        let is_it = |frame: &&Value| frame["parent"] == parent && frame["kind"] == *kind && frame["name"] == *name;
        let place = frames.iter().position(|frame| is_it(&frame));
        let place = place.unwrap_or_else(|| panic!("no {kind} {name} of {path:?} in {profile}"));
        parent = place.into();
        found = Some(&frames[place]);
    }
    let found = found.unwrap();
    (found["count"].as_u64().unwrap(), Duration::from_secs_f64(found["total_us"].as_f64().unwrap() / 1e6))
}

#[test]
fn a_wait_for_the_disk_is_part_of_what_is_confirmed_or_committed() {
    let dir = scratch("answers");
    let delay_ms = DELAY.as_millis().to_string();
    let planted = [("WARREN_DEBUG_SYNC_DELAY_MS", delay_ms.as_str())];
    let broker = Broker::start_in(&dir.join("warren-data"), &[], &planted);
    let calls = ask(&dir, "/api/trace/calls?pattern=amqp::basic.publish&return=true&max=2&rate=none");
    let wall = ask(&dir, "/api/profile/wall?pattern=amqp::*&seconds=8");
    await_sessions(&dir, 2);
    publish(&broker, "-c 1");
    publish(&broker, "-m 1");
    let output = calls.wait_with_output().unwrap();
    let calls: Vec<Value> = text(&output.stdout)
        .lines()
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let returns: Vec<&Value> = calls.iter().filter(|line| line["event"] == "return").collect();
    assert_eq!(returns.len(), 2, "{calls:?}");
    for ended in returns {
        assert_eq!(ended["result"], "ack");
        let took = Duration::from_secs_f64(ended["duration_us"].as_f64().unwrap() / 1e6);
        assert!(took >= DELAY, "{ended}");
    }

    let profile = last_line(wall);
    const PUBLISH: (&str, &str) = ("call", "amqp::basic.publish");
    const COMMIT: (&str, &str) = ("call", "amqp::tx.commit");
    const DISK: (&str, &str) = ("disk", "the journal");
    const SYNC: (&str, &str) = ("elsewhere", "journal::sync");
    let check_time = |path: &[(&str, &str)], min: Duration| {
        let (count, took) = frame(&profile, path);
        assert!(count >= 3 && took >= min, "{path:?} {count} times, {took:?}, and not {min:?}: {profile}");
    };
    for method in [PUBLISH, COMMIT] {
        // That the sync had begun when the wait did takes from it, where the machine is busy; but not so much.
        check_time(&[method, DISK], 2 * DELAY);
        let (sync_count, sync_took) = frame(&profile, &[method, DISK, SYNC]);
        assert!(sync_count >= 1 && sync_took >= DELAY, "{sync_count} {sync_took:?} {profile}");
        check_time(&[method], 3 * DELAY);
    }
    check_time(
        &[PUBLISH, ("task", "the batch of its connection"), ("elsewhere", "queues::apply_batch")],
        Duration::ZERO,
    );
    check_time(&[COMMIT, ("call", "queues::apply_batch")], Duration::ZERO);
    // Whatever is below the calls is a part of them.
    let frames = profile["frames"].as_array().unwrap();
    let sum = |wanted: &dyn Fn(&Value) -> bool, of: &str| -> f64 {
        frames.iter().filter(|frame| wanted(frame)).map(|frame| frame[of].as_f64().unwrap()).sum()
    };
    let (own, roots) = (sum(&|_| true, "own_us"), sum(&|frame| frame["parent"].is_null(), "total_us"));
    assert!((own - roots).abs() < 1.0 + roots / 1e6, "{own} is not {roots}");
}
