//! Sessions that watch the broker. They are the process's: one test after the other, and each looks for what is its own alone.

use std::future::poll_fn;
use std::pin::Pin;
use std::time::Duration;

use base64::Engine as _;
use broker::{Interface, Origin};
use bytes::Bytes;
use http_body_util::Full;
use hyper::Request;
use hyper::body::Body as _;
use parking_lot::{Mutex, MutexGuard};
use serde_json::{Value, json};

use super::house::{House, in_house};
use http_server::AnswerBody;

fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock()
}

async fn request(house: &House, request: &str, body: &str, status: u16) {
    let (method, path) = request.split_once(' ').unwrap();
    assert_eq!(house.ask(method, path, "guest", body).await.status, status, "{request}");
}

/// The lines of an answer that goes on.
struct Lines {
    body: AnswerBody,
    text: String,
    /// Pieces since the last line that said something.
    silent_count: u32,
}

const PATIENCE: Duration = Duration::from_secs(60);
const SILENT_COUNT_MAX: u32 = 120;

async fn open(house: &House, user: &str, path: &str) -> (u16, Lines) {
    let value = base64::engine::general_purpose::STANDARD.encode(format!("{user}:{user}"));
    let request = Request::builder().uri(path).header("authorization", format!("Basic {value}"));
    let origin = Origin { peer: Some(([127, 0, 0, 1], 40000).into()), interface: Interface::Http };
    let response = house.service.respond(request.body(Full::new(Bytes::new())).unwrap(), origin).await;
    (response.status().as_u16(), Lines { body: response.into_body(), text: String::new(), silent_count: 0 })
}

impl Lines {
    /// The next line that says something; None after the last.
    async fn next(&mut self) -> Option<Value> {
        loop {
            while let Some((line, rest)) = self.text.split_once('\n') {
                let (line, rest) = (line.to_owned(), rest.to_owned());
                self.text = rest;
                if !line.is_empty() {
                    self.silent_count = 0;
                    return Some(serde_json::from_str(&line).unwrap());
                }
            }
            let frame = poll_fn(|cx| Pin::new(&mut self.body).poll_frame(cx));
            let frame = tokio::time::timeout(PATIENCE, frame).await.expect("something comes four times a second")?;
            self.silent_count += 1;
            assert!(self.silent_count < SILENT_COUNT_MAX, "nothing but silence comes");
            self.text.push_str(std::str::from_utf8(&frame.unwrap().into_data().unwrap()).unwrap());
        }
    }

    async fn expect(&mut self, event: &str) -> Value {
        let line = self.next().await.unwrap();
        assert_eq!(line["event"], event, "{line}");
        line
    }
}

#[test]
fn a_request_is_seen_with_its_arguments_and_its_result() {
    let _turn = alone();
    in_house(async |house| {
        request(house, "PUT /api/vhosts/seen-here", "", 201).await;
        let path = "/api/trace/calls?pattern=http::*&where=vhost=seen-here&return=true&max=2&rate=none";
        let (status, mut lines) = open(house, "guest", path).await;
        assert_eq!(status, 200);
        assert!(lines.expect("begin").await["points"].as_u64().unwrap() > 100);
        request(house, "GET /api/vhosts/seen-here?columns=name&auth=secret", "", 200).await;
        request(house, "DELETE /api/vhosts/seen-here", "", 204).await;
        let call = lines.expect("call").await;
        assert_eq!(call["call"], "http::GET /api/vhosts/{vhost}");
        assert_eq!(call["arguments"], json!([["vhost", "seen-here"], ["user", "guest"], ["query", "columns=name"]]));
        assert!(call["task"].as_str().unwrap().starts_with("request of "), "{call}");
        let ended = lines.expect("return").await;
        assert_eq!((&ended["result"], &ended["number"]), (&json!("200"), &call["number"]));
        assert!(ended["duration_us"].as_f64().unwrap() > 0.0);
        assert_eq!(lines.expect("call").await["call"], "http::DELETE /api/vhosts/{vhost}");
        assert_eq!(lines.expect("return").await["result"], "204");
        assert_eq!(lines.expect("end").await["reason"], "2 calls were seen");
        assert_eq!(lines.next().await, None);
    });
}

#[test]
fn no_password_is_ever_seen() {
    let _turn = alone();
    in_house(async |house| {
        let (_, mut lines) =
            open(house, "guest", "/api/trace/calls?pattern=*&max=500&rate=none&return=true&body=4096").await;
        lines.expect("begin").await;
        request(house, "GET /api/auth/hash_password/hunter2-hidden", "", 200).await;
        request(house, "PUT /api/users/eve", r#"{"password":"hunter2-hidden","tags":"management"}"#, 201).await;
        assert_eq!(open(house, "eve", "/api/whoami").await.0, 401);
        request(house, "GET /api/vhosts/this-is-the-last", "", 404).await;
        let mut seen = String::new();
        while !seen.contains("this-is-the-last") {
            seen.push_str(&lines.next().await.expect("it goes on").to_string());
        }
        assert!(seen.contains("users::log_in") && seen.contains("hash_password") && seen.contains("\"eve\""), "{seen}");
        assert!(!seen.contains("hunter2-hidden"), "{seen}");
    });
}

#[test]
fn sessions_are_for_administrators_and_say_what_is_wrong_with_them() {
    let _turn = alone();
    in_house(async |house| {
        for (path, reason) in [
            ("/api/trace/calls?pattern=nothing::*", "no trace point has such a name: warren trace list names them"),
            ("/api/trace/calls", "a pattern is needed: names of functions, in which * stands for any text"),
            ("/api/trace/calls?pattern=*&max=0", "max is a number from 1 to 18446744073709551615, and '0' is none"),
            (
                "/api/trace/calls?pattern=*&where=q",
                "where is an argument and its value, such as queue=orders, and 'q' is not",
            ),
            (
                "/api/trace/calls?pattern=*&where=color=red",
                "none of these trace points has an argument color: warren trace list names them",
            ),
            ("/api/profile/wall?pattern=*&seconds=301", "seconds is a number from 1 to 300, and '301' is none"),
        ] {
            let (status, mut lines) = open(house, "guest", path).await;
            assert_eq!(status, 400, "{path}");
            lines.text.push('\n');
            let mut body = String::new();
            while let Some(frame) = poll_fn(|cx| Pin::new(&mut lines.body).poll_frame(cx)).await {
                body.push_str(std::str::from_utf8(&frame.unwrap().into_data().unwrap()).unwrap());
            }
            assert_eq!(serde_json::from_str::<Value>(&body).unwrap()["reason"], reason, "{path}");
        }
        for path in
            ["/api/trace/points", "/api/trace/calls?pattern=*", "/api/profile/wall?pattern=*", "/api/flight-recorder"]
        {
            assert_eq!(open(house, "mona", path).await.0, 401, "{path}");
        }
        assert_eq!(telemetry::trace::session_count(), 0);
    });
}

#[test]
fn the_ninth_session_is_refused_and_each_is_gone_with_its_reader() {
    let _turn = alone();
    in_house(async |house| {
        let path = "/api/trace/calls?pattern=http::GET%20/api/whoami";
        let mut readers = Vec::new();
        for _ in 0..8 {
            let (status, lines) = open(house, "guest", path).await;
            assert_eq!(status, 200);
            readers.push(lines);
        }
        assert_eq!(open(house, "guest", path).await.0, 503);
        readers.clear();
        assert_eq!(telemetry::trace::session_count(), 0);
        assert_eq!(open(house, "guest", path).await.0, 200);
    });
}

#[test]
fn every_operation_is_a_point_and_so_is_every_method() {
    let _turn = alone();
    in_house(async |house| {
        let points = house.get("/api/trace/points").await.json();
        let names: Vec<&str> = points.as_array().unwrap().iter().map(|point| point["name"].as_str().unwrap()).collect();
        let operations = crate::routes::all().map(|route| route.operations.len()).sum::<usize>();
        assert_eq!(names.iter().filter(|name| name.starts_with("http::")).count(), operations);
        for name in
            ["amqp::basic.publish", "journal::commit", "segments::read", "routing::route", "users::check_permission"]
        {
            assert!(names.contains(&name), "{name}");
        }
        assert!(names.is_sorted());
        let some = house.get("/api/trace/points?pattern=users::*").await.json();
        assert_eq!(some.as_array().unwrap().len(), 2);
    });
}

#[test]
fn a_profile_has_what_a_request_called_and_waited_for() {
    let _turn = alone();
    in_house(async |house| {
        let path = "/api/profile/wall?pattern=http::PUT%20/api/queues/*&seconds=1";
        let (status, mut lines) = open(house, "guest", path).await;
        assert_eq!(status, 200);
        request(house, "PUT /api/queues/shop/profiled", r#"{"durable":true}"#, 201).await;
        let profile = lines.next().await.unwrap();
        assert_eq!((&profile["calls"], &profile["lost"], &profile["reason"]), (&json!(1), &json!(0), &Value::Null));
        let frames = profile["frames"].as_array().unwrap();
        assert_eq!(
            (&frames[0]["name"], &frames[0]["parent"]),
            (&json!("http::PUT /api/queues/{vhost}/{queue}"), &Value::Null)
        );
        let names: Vec<&str> = frames.iter().map(|frame| frame["name"].as_str().unwrap()).collect();
        assert!(names.contains(&"users::log_in") && names.contains(&"users::check_permission"), "{names:?}");
        let journal = frames.iter().find(|frame| frame["name"] == "the journal").unwrap();
        assert_eq!((&journal["kind"], &journal["parent"]), (&json!("disk"), &json!(0)));
        let own: f64 = frames.iter().map(|frame| frame["own_us"].as_f64().unwrap()).sum();
        let total = frames[0]["total_us"].as_f64().unwrap();
        assert!((own - total).abs() < 1.0, "{own} {total}");
        assert!(profile["cost_us"].as_f64().unwrap() > 0.0);
        assert_eq!(lines.next().await, None);
    });
}

#[test]
fn the_flight_recorder_is_read_and_switched() {
    let _turn = alone();
    in_house(async |house| {
        request(house, "GET /api/flight-recorder/recording", "", 409).await;
        request(house, "PUT /api/flight-recorder", r#"{"running":1}"#, 400).await;
        request(house, "PUT /api/flight-recorder", r#"{"running":true,"slow_request_ms":60000}"#, 204).await;
        assert_eq!(house.get("/api/flight-recorder").await.json()["running"], true);
        request(house, "GET /api/vhosts/recorded-here", "", 404).await;
        let recording = house.get("/api/flight-recorder/recording").await.json();
        let events = recording["traceEvents"].as_array().unwrap();
        let call = events.iter().find(|event| event["args"]["about"] == "recorded-here").unwrap();
        assert_eq!((&call["ph"], &call["name"]), (&json!("X"), &json!("http::GET /api/vhosts/{vhost}")));
        request(house, "PUT /api/flight-recorder", r#"{"running":false}"#, 204).await;
        request(house, "GET /api/flight-recorder/recording", "", 409).await;
        request(house, "GET /api/flight-recorder/recordings/..%2Fjournal", "", 404).await;
    });
}
