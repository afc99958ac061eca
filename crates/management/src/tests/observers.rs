//! Observers of the broker, whatever they watch: how many there may be, and when they end.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use observe::message_traces::{Directory, Limits, Traces};
use serde_json::{Value, json};

use super::house::{House, in_house};
use super::lines::{Lines, alone, open};

const CALLS: &str = "/api/trace/calls?pattern=http::GET%20/api/whoami";
const WALL: &str = "/api/profile/wall?pattern=http::GET%20/api/whoami&seconds=300";
const MESSAGES: &str = "/api/trace/messages";
const CPU: &str = "/api/profile/cpu?seconds=300";
const ALL: [&str; 4] = [CALLS, WALL, MESSAGES, CPU];

/// What a busy machine is forgiven.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Live traces of messages write nothing.
fn trace_messages(house: &House) {
    let limits = Limits { len_max: 1, count_max: 1, ended_len_max: 1 << 20 };
    let directory = Directory::new(PathBuf::from("/nowhere"));
    house.service.set_traces(Traces::new(house.service.broker.clone(), directory, limits));
}

async fn begin(house: &House, path: &str) -> Lines {
    let (status, lines) = open(house, "guest", path).await;
    assert_eq!(status, 200, "{path}");
    lines
}

/// An endless answer would have no end to wait for.
async fn check_refused(house: &House, path: &str, reason: &str) {
    let (status, answer) = open(house, "guest", path).await;
    assert_eq!(status, 503, "{path}");
    assert_eq!(answer.whole().await, json!({"error": "service_unavailable", "reason": reason}), "{path}");
}

/// Waits until there are so many.
async fn await_count(house: &House, count: usize) {
    let given_up_at = Instant::now() + TIMEOUT;
    loop {
        let sessions = house.get("/api/trace/sessions").await.json();
        assert_eq!(sessions["max"], 8);
        if sessions["count"] == count {
            return;
        }
        assert!(Instant::now() < given_up_at, "{count} are expected, and {sessions} are there");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// The profiler's thread ends a moment after its viewer. What comes after this test can have a profile.
async fn await_profiler(house: &House) {
    let given_up_at = Instant::now() + TIMEOUT;
    loop {
        let (status, lines) = open(house, "guest", "/api/profile/cpu?seconds=1").await;
        if status == 200 {
            lines.rest().await;
            return;
        }
        assert!(Instant::now() < given_up_at, "the profile does not end: {status}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[test]
fn the_ninth_observer_is_refused_whatever_it_watches() {
    let _turn = alone();
    in_house(async |house| {
        trace_messages(house);
        let mut observers = Vec::new();
        for path in [CALLS, MESSAGES, WALL, CPU, MESSAGES, CALLS, MESSAGES, WALL] {
            observers.push(begin(house, path).await);
        }
        let reason = "8 traces and profiles are running, which is the maximum: end one of them first";
        for path in ALL {
            check_refused(house, path, reason).await;
        }
        await_count(house, 8).await;
        // Whichever ends, another may begin, of whatever kind.
        for (place, path) in [(1, CALLS), (3, MESSAGES), (0, WALL)] {
            drop(observers.remove(place));
            await_count(house, 7).await;
            observers.push(begin(house, path).await);
            check_refused(house, CALLS, reason).await;
        }
        observers.clear();
        await_count(house, 0).await;
        assert_eq!(telemetry::trace::session_count(), 0);
        await_profiler(house).await;
    });
}

#[test]
fn a_session_is_ended_by_its_name() {
    let _turn = alone();
    in_house(async |house| {
        trace_messages(house);
        let named = format!("{CALLS}&session=mine");
        let viewer = begin(house, &named).await;
        for (path, reason) in [
            (named.clone(), "the session 'mine' already exists".to_owned()),
            (format!("{CALLS}&session="), "'session' must have 1 to 64 characters".to_owned()),
            (format!("{CALLS}&session={}", "x".repeat(65)), "'session' must have 1 to 64 characters".to_owned()),
        ] {
            let (status, answer) = open(house, "guest", &path).await;
            assert_eq!((status, &answer.whole().await["reason"]), (400, &json!(reason)), "{path}");
        }
        await_count(house, 1).await;
        let reason = |name| {
            format!(
                "the node {} has no session '{name}': it has ended, or was started on another node",
                house.service.node()
            )
        };
        let refusal = reason("other");
        house.check_refused("DELETE /api/trace/sessions/other", "", 404, "not_found", &refusal).await;
        house.check("DELETE /api/trace/sessions/mine", "", 204, "").await;
        let lines = viewer.rest().await;
        assert_eq!(lines.last().unwrap()["reason"], "the client ended it");
        await_count(house, 0).await;
        house.check_refused("DELETE /api/trace/sessions/mine", "", 404, "not_found", &reason("mine")).await;
        // The name is free again, for a session of another kind.
        drop(begin(house, &format!("{MESSAGES}?session=mine")).await);
        await_count(house, 0).await;
    });
}

#[test]
fn a_refused_session_leaves_its_place() {
    let _turn = alone();
    in_house(async |house| {
        for _ in 0..9 {
            let (status, _) = open(house, "guest", "/api/trace/calls?pattern=nothing::*").await;
            assert_eq!(status, 400);
        }
        await_count(house, 0).await;
    });
}

/// An observer that does not read is ended, too: the last line waits for the reader, and the session does not.
#[test]
fn an_alarm_ends_all_of_them_also_those_who_do_not_read() {
    let _turn = alone();
    in_house(async |house| {
        trace_messages(house);
        let mut observers = Vec::new();
        for path in ALL {
            observers.push((path, begin(house, path).await));
        }
        // Two have read something, and wait for more.
        assert!(observers[0].1.next().await.is_some() && observers[3].1.next().await.is_some());
        await_count(house, 4).await;
        house.service.broker.set_memory_limit(&broker::Actor::broker(), 1, std::path::Path::new("/"));
        await_count(house, 0).await;
        assert_eq!(telemetry::trace::session_count(), 0);
        for (path, observer) in observers {
            let lines = observer.rest().await;
            let last = lines.last().unwrap();
            let end = if path == CPU { &last["end"] } else { last };
            assert_eq!(end["reason"], "the memory alarm is in effect", "{path}: {lines:?}");
            if path != CPU && path != WALL {
                let events: Vec<&Value> = lines.iter().map(|line| &line["event"]).collect();
                assert_eq!(events.last(), Some(&&json!("end")), "{path}");
            }
        }
        let reason = "the memory alarm is in effect: no session can start during an alarm";
        for path in ALL {
            check_refused(house, path, reason).await;
        }
        house.service.broker.set_memory_limit(&broker::Actor::broker(), u64::MAX, std::path::Path::new("/"));
        await_profiler(house).await;
    });
}

#[test]
fn who_is_no_administrator_any_more_sees_no_more() {
    let _turn = alone();
    in_house(async |house| {
        trace_messages(house);
        let mut observers = Vec::new();
        for path in [CALLS, MESSAGES] {
            let (status, lines) = open(house, "alice", path).await;
            assert_eq!(status, 200, "{path}");
            observers.push(lines);
        }
        house.check("PUT /api/users/alice", r#"{"password":"alice","tags":"monitoring"}"#, 204, "").await;
        for lines in observers {
            let lines = lines.rest().await;
            assert_eq!(lines.last().unwrap()["reason"], "the user is no longer an administrator");
        }
    });
}
