//! The requests that took longest of late.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use base64::Engine as _;
use broker::{Interface, Origin};
use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::Request;
use hyper::body::{Body, Frame};
use serde_json::{Value, json};
use tokio::time::Sleep;

use super::house::{House, in_house};
use super::lines::alone;
use super::queue_lists::{furnish, respond};

/// A client that is slow to send what it has.
struct SlowBody(Pin<Box<Sleep>>, Option<Bytes>);

impl Body for SlowBody {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        std::task::ready!(self.0.as_mut().poll(cx));
        Poll::Ready(self.1.take().map(|bytes| Ok(Frame::data(bytes))))
    }
}

async fn put_slowly(house: &House, path: &str, body: &'static str) {
    let value = base64::engine::general_purpose::STANDARD.encode("guest:guest");
    let request = Request::builder().method("PUT").uri(path).header("authorization", format!("Basic {value}"));
    let body =
        SlowBody(Box::pin(tokio::time::sleep(Duration::from_millis(300))), Some(Bytes::from_static(body.as_bytes())));
    let origin = Origin { peer: Some(([127, 0, 0, 1], 40000).into()), interface: Interface::Http };
    assert_eq!(house.service.respond(request.body(body).unwrap(), origin).await.status().as_u16(), 201);
}

/// Those of the HTTP API: in the tests of the same process there are no others.
async fn slow_requests(house: &House, is_running: bool) -> Vec<Value> {
    let answer = house.get("/api/warren/slow-requests").await.json();
    assert_eq!((&answer["recorder_running"], &answer["seconds"]), (&json!(is_running), &json!(3600)));
    answer["requests"].as_array().unwrap().clone()
}

#[test]
fn slow_requests_are_known_with_what_they_waited_for_while_the_recorder_runs() {
    let _turn = alone();
    in_house(async |house| {
        put_slowly(house, "/api/queues/shop/slow%20one?secret=x", r#"{"durable":true}"#).await;
        assert_eq!(house.get("/api/top?interval_ms=400").await.status, 200);
        assert_eq!(house.get("/api/auth/hash_password/hunter2").await.status, 200);
        let requests = slow_requests(house, false).await;
        let first = &requests[0];
        assert_eq!(
            (&first["protocol"], &first["request"], &first["status"], &first["waits"]),
            (&json!("http"), &json!("PUT /api/queues/shop/slow%20one"), &json!(201), &Value::Null),
            "/api/top takes as long as was asked for"
        );
        let duration_us = |request: &Value| request["duration_us"].as_f64().unwrap();
        assert!(duration_us(first) >= 300_000.0, "{first}");
        assert!(requests.is_sorted_by(|a, b| duration_us(a) >= duration_us(b)), "{requests:?}");
        assert!(!json!(requests).to_string().contains("hunter2"), "{requests:?}");

        house.check("PUT /api/flight-recorder", r#"{"running":true,"slow_request_ms":60000}"#, 204, "").await;
        put_slowly(house, "/api/queues/shop/recorded", r#"{"durable":true}"#).await;
        let requests = slow_requests(house, true).await;
        house.check("PUT /api/flight-recorder", r#"{"running":false}"#, 204, "").await;
        let recorded = requests.iter().find(|request| request["request"] == "PUT /api/queues/shop/recorded").unwrap();
        let waits = recorded["waits"].as_array().unwrap();
        assert!(
            waits.iter().any(|wait| wait["kind"] == "disk"),
            "a queue that lasts waits for the journal: {recorded}"
        );
        assert!(requests.iter().any(|request| request["waits"].is_null()), "what was before the recorder is not known");
        assert_eq!(house.ask("GET", "/api/warren/slow-requests", "mona", "").await.status, 401);
    });
}

/// A long list is made while it is sent: its handler has long returned.
#[test]
fn a_slow_reader_is_told_from_a_slow_broker() {
    let _turn = alone();
    in_house(async |house| {
        furnish(house).await;
        let path = "/api/queues/shop";
        let mut body = respond(house, path).await.into_body();
        let (mut len, mut is_first) = (0, true);
        while let Some(piece) = body.frame().await {
            len += piece.unwrap().into_data().unwrap().len();
            if std::mem::take(&mut is_first) {
                tokio::time::sleep(Duration::from_millis(300)).await;
            }
        }
        drop(body);
        let requests = slow_requests(house, false).await;
        let slow = requests.iter().find(|request| request["request"] == format!("GET {path}")).unwrap();
        let us = |name: &str| slow[name].as_f64().unwrap();
        assert_eq!((&slow["bytes"], &slow["broken_off"]), (&json!(len), &json!(false)));
        assert!(us("reader_us") >= 300_000.0 && us("making_us") < us("reader_us"), "{slow}");
        assert!(us("first_byte_us") <= us("making_us") + us("turn_us"), "{slow}");
        let sum = us("making_us") + us("turn_us") + us("reader_us");
        assert!((us("duration_us") - sum).abs() < 1.0, "{slow}");

        // An answer whose reader closes it after the first piece has not been read to its end.
        let mut body = respond(house, path).await.into_body();
        assert!(body.frame().await.is_some());
        drop(body);
        let requests = slow_requests(house, false).await;
        let broken = requests
            .iter()
            .filter(|request| request["request"] == format!("GET {path}") && request["broken_off"] == true);
        assert_eq!(broken.count(), 1, "{requests:?}");
    });
}
