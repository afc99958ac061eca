//! What clients find where no broker runs: they are held for a while, or told why.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hyper::{Method, Response};
use management::{AnswerBody, LocalAnswers};

use super::*;
use crate::node::BrokerStop;

const MINORITY: &str = "this node is in a minority";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_that_come_before_the_broker_are_served_by_it() {
    let mut house = House::open("before", &[]);
    let (amqp, api) = (house.amqp(), house.api());
    let waiting = tokio::spawn(async move { tokio::join!(publisher(amqp), get(api, "/api/whoami"), websocket(api)) });
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!(!waiting.is_finished());
    house.start().await;
    let (mut publisher, answer, _websocket) = soon(waiting).await.unwrap();
    publish(&mut publisher, b"x").await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains(r#""name":"guest""#), "{answer}");
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_are_not_held_for_ever() {
    let house = House::open("held", &[]);
    let begun_at = Instant::now();
    let held = async |address, words: &'static [u8]| {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(words).await.unwrap();
        assert_eq!(soon(stream.read(&mut [0])).await.unwrap_or(0), 0, "it is closed without a word");
        begun_at.elapsed()
    };
    let request = b"GET /api/whoami HTTP/1.1\r\nhost: x\r\n\r\n";
    let times = tokio::join!(held(house.amqp(), &amqp::frame::PROTOCOL_HEADER), held(house.api(), request));
    for time in [times.0, times.1] {
        assert!((5.0..15.0).contains(&time.as_secs_f64()), "{time:?}");
    }
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_of_a_minority_are_told() {
    let house = House::open("minority", &[]);
    house.node.set_situation(refusing(MINORITY));
    let error = connect(house.amqp()).await.map(drop).unwrap_err();
    let OpenError::Refused { code, text, has_logged_in, .. } = error else { panic!("{error}") };
    let expected = format!("CONNECTION_FORCED - {MINORITY}");
    assert_eq!((code, text, has_logged_in), (320, expected, true));

    let answer = get(house.api(), "/api/overview").await;
    assert!(answer.starts_with("HTTP/1.1 503 ") && answer.contains("\r\nconnection: close\r\n"), "{answer}");
    assert!(answer.ends_with(&format!(r#"{{"error":"service_unavailable","reason":"{MINORITY}"}}"#)), "{answer}");
    assert!(get(house.address("Prometheus metrics"), "/metrics").await.starts_with("HTTP/1.1 503 "));

    let mut stream = websocket(house.api()).await;
    for piece in handshake() {
        stream.write_all(&websocket_message(&piece)).await.unwrap();
    }
    read_until(&mut stream, &format!("CONNECTION_FORCED - {MINORITY}")).await;
    drop(stream);
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_minority_ends_and_comes_again() {
    let mut house = House::open("heals", &[]);
    for round in 0..2 {
        house.node.set_situation(refusing(MINORITY));
        assert!(connect(house.amqp()).await.is_err());
        house.start().await;
        let mut publisher = publisher(house.amqp()).await;
        publish(&mut publisher, b"x").await.unwrap();
        assert!(get(house.api(), "/api/whoami").await.starts_with("HTTP/1.1 200"));
        let stop = BrokerStop::of_leadership(MINORITY, false);
        let (stopped, told) = tokio::join!(house.node.stop_broker(stop, refusing(MINORITY)), closed(&mut publisher));
        stopped.unwrap();
        assert_eq!(told, format!("the broker closed the connection: 320 CONNECTION_FORCED - {MINORITY}"), "{round}");
        assert!(get(house.api(), "/api/whoami").await.starts_with("HTTP/1.1 503"));
    }
    house.close().await;
}

/// That another node leads is no end of the process, as a disk's failure is where a node is alone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broker_that_leads_no_longer_stops_and_another_one_starts() {
    let mut house = House::open("deposed", &[]);
    let store = house.start().await;
    let mut client = publisher(house.amqp()).await;
    publish(&mut client, b"before").await.unwrap();
    store.upgrade().unwrap().lose_leadership("a later term has begun");
    let failed = soon(house.node.failed()).await;
    assert_eq!(failed.cause, store::journal::FailureCause::LeadershipLost);
    // What is not durable is not confirmed.
    let unconfirmed = tokio::time::timeout(Duration::from_millis(200), publish(&mut client, b"after")).await;
    assert!(unconfirmed.is_err());
    let stop = BrokerStop::of_leadership("this node does not lead any more", false);
    let (stopped, told) = tokio::join!(house.node.stop_broker(stop, Situation::Waiting), closed(&mut client));
    stopped.unwrap();
    assert!(told.ends_with("320 CONNECTION_FORCED - this node does not lead any more"), "{told}");
    assert_eq!(store.strong_count(), 0);
    house.start().await;
    let mut client = connect(house.amqp()).await.unwrap();
    client.open_channel(1).await.unwrap();
    let declare = queue::Declare { queue: b"q", passive: true, ..Default::default() };
    assert_eq!(client.declare_queue(1, &declare).await.unwrap().1, 1);
    house.close().await;
}

/// A new directory gets its user once, and definitions of the configuration come with every start.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_directory_is_given_first_is_given_once() {
    let mut house = House::open("first", &[]);
    house.start().await;
    let mut stream = TcpStream::connect(house.api()).await.unwrap();
    let body = r#"{"password":"x","tags":"administrator"}"#;
    let request = format!(
        "PUT /api/users/other HTTP/1.1\r\nhost: x\r\nauthorization: {GUEST}\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    assert!(read_until(&mut stream, "\r\n\r\n").await.starts_with(b"HTTP/1.1 201"));
    let request = format!("DELETE /api/users/guest HTTP/1.1\r\nhost: x\r\nauthorization: {GUEST}\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    assert!(read_until(&mut stream, "\r\n\r\n").await.starts_with(b"HTTP/1.1 204"));
    let stop = BrokerStop::of_leadership("again", true);
    house.node.stop_broker(stop, Situation::Waiting).await.unwrap();
    expect_end(&mut stream).await;
    house.start().await;
    assert!(get(house.api(), "/api/whoami").await.starts_with("HTTP/1.1 401"), "guest does not come back");
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broker_that_cannot_start_leaves_nothing() {
    let definitions = std::env::temp_dir().join(format!("warren-node-{}-broken.json", std::process::id()));
    fs::write(&definitions, "{").unwrap();
    let mut house = House::open("broken", &[&format!("load_definitions={}", definitions.display())]);
    for _ in 0..2 {
        let options = serve::store_options(&house.config, &house.dir).unwrap();
        let (store, recovered) = Store::open(options, Arc::new(RealDisk)).unwrap();
        let weak = Arc::downgrade(&store);
        let error = house.node.start_broker(store, recovered).await.unwrap_err();
        assert!(error.to_string().contains("cannot import the definitions"), "{error}");
        assert_eq!(weak.strong_count(), 0);
    }
    fs::write(&definitions, r#"{"queues":[],"users":[]}"#).unwrap();
    house.start().await;
    fs::remove_file(definitions).unwrap();
    house.close().await;
}

/// Answers two paths.
#[derive(Debug)]
pub(super) struct Healthy;

impl LocalAnswers for Healthy {
    fn answer(&self, method: &Method, path: &str) -> Option<Response<AnswerBody>> {
        self.has_answer(method, path).then(|| Response::new(AnswerBody::whole("well".into())))
    }

    fn has_answer(&self, _: &Method, path: &str) -> bool {
        path == "/api/health/checks/is-in-service" || path == "/metrics"
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_node_answers_itself_needs_no_broker() {
    let mut house = House::open("local", &[]);
    house.node.ingress().set_local_answers(Arc::new(Healthy));
    for situation in [Situation::Waiting, refusing(MINORITY)] {
        house.node.set_situation(situation);
        let answer = get(house.api(), "/api/health/checks/is-in-service").await;
        assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("well"), "{answer}");
        assert!(get(house.address("Prometheus metrics"), "/metrics").await.ends_with("well"));
    }
    assert!(get(house.api(), "/api/whoami").await.starts_with("HTTP/1.1 503"));
    // What only a broker answers waits for one, with what has been read of it.
    house.node.set_situation(Situation::Waiting);
    let api = house.api();
    let waiting = tokio::spawn(get(api, "/api/whoami"));
    tokio::time::sleep(Duration::from_millis(100)).await;
    house.start().await;
    let answer = soon(waiting).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains(r#""name":"guest""#), "{answer}");
    assert!(!get(api, "/api/health/checks/is-in-service").await.ends_with("well"));
    house.close().await;
}
