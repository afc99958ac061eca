//! Sessions that watch the broker's functions. They are the process's: each looks for what is its own alone.

use serde_json::{Value, json};

use super::house::{House, in_house};
use super::lines::{alone, open};

async fn request(house: &House, request: &str, body: &str, status: u16) {
    let (method, path) = request.split_once(' ').unwrap();
    assert_eq!(house.ask(method, path, "guest", body).await.status, status, "{request}");
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
        let result = ended["result"].as_str().unwrap();
        assert!(result.starts_with("200, 20 bytes; first byte after "), "{ended}");
        assert_eq!(ended["number"], call["number"]);
        assert!(ended["duration_us"].as_f64().unwrap() > 0.0);
        assert_eq!(lines.expect("call").await["call"], "http::DELETE /api/vhosts/{vhost}");
        assert_eq!(lines.expect("return").await["result"], "204");
        assert_eq!(lines.expect("end").await["reason"], "2 calls were traced");
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
            ("/api/trace/calls", "a pattern is required: names of functions, in which * stands for any text"),
            ("/api/trace/calls?pattern=*&max=0", "'max' must be 1 or more, not 0"),
            (
                "/api/trace/calls?pattern=*&where=q",
                "where must be an argument and its value, such as queue=orders, not 'q'",
            ),
            (
                "/api/trace/calls?pattern=*&where=color=red",
                "none of these trace points has an argument color: warren trace list names them",
            ),
            ("/api/profile/wall?pattern=*&seconds=301", "'seconds' must be 1 to 300, not 301"),
        ] {
            let (status, lines) = open(house, "guest", path).await;
            assert_eq!(status, 400, "{path}");
            assert_eq!(lines.whole().await["reason"], reason, "{path}");
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
        let shown = house.get("/api/flight-recorder").await.json();
        let bounds = [&shown["saved_bytes"], &shown["saved_bytes_max"], &shown["saved_max"]];
        assert_eq!((shown["running"].as_bool(), bounds), (Some(true), [&json!(0), &json!(256 << 20), &json!(8)]));
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
