//! What clients find where no broker runs: they are held for a while, or refused with a reason.

use std::sync::Arc;
use std::time::{Duration, Instant};

use cluster::control::{ClusterMetrics, ClusterView, Control, Outcome};
use cluster::wire::NodeName;
use tokio::sync::Semaphore;

use super::fake_control::FakeControl;
use super::*;
use crate::node::BrokerStop;

const MINORITY: &str = "this node is in a minority";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_that_come_before_the_broker_are_served_by_it() {
    let mut house = TestNode::open("before", &[]);
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
    let house = TestNode::open("held", &[]);
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
    let house = TestNode::open("minority", &[]);
    house.node.set_situation(refusing(MINORITY));
    let error = connect(house.amqp()).await.map(drop).unwrap_err();
    let OpenError::Refused { code, text, has_logged_in, .. } = error else { panic!("{error}") };
    let expected = format!("CONNECTION_FORCED - {MINORITY}");
    assert_eq!((code, text, has_logged_in), (320, expected, true));

    let answer = get(house.api(), "/api/overview").await;
    assert!(answer.starts_with("HTTP/1.1 503 ") && answer.contains("\r\nconnection: close\r\n"), "{answer}");
    assert!(answer.ends_with(&format!(r#"{{"error":"service_unavailable","reason":"{MINORITY}"}}"#)), "{answer}");

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
    let mut house = TestNode::open("heals", &[]);
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
    let mut house = TestNode::open("deposed", &[]);
    let store = house.start().await;
    let mut client = publisher(house.amqp()).await;
    publish(&mut client, b"before").await.unwrap();
    store.upgrade().unwrap().lose_leadership("a later term has begun");
    let failed = soon(house.node.failed()).await;
    assert_eq!(failed.cause, store::journal::FailureCause::LeadershipLost);
    // What is not durable is not confirmed.
    let unconfirmed = tokio::time::timeout(Duration::from_millis(200), publish(&mut client, b"after")).await;
    assert!(unconfirmed.is_err());
    let stop = BrokerStop::of_leadership("this node is no longer the leader", false);
    let (stopped, told) = tokio::join!(house.node.stop_broker(stop, Situation::Waiting), closed(&mut client));
    stopped.unwrap();
    assert!(told.ends_with("320 CONNECTION_FORCED - this node is no longer the leader"), "{told}");
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
    let mut house = TestNode::open("first", &[]);
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
    let mut house = TestNode::open("broken", &[&format!("load_definitions={}", definitions.display())]);
    for _ in 0..2 {
        let options = broker_options::store_options(&house.config, &house.dir).unwrap();
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

/// A node that has a part in a cluster of three, `hare1@localhost` to `hare3@localhost`, of which the first one leads; and what is ordered.
pub(super) fn clustered(house: &mut TestNode, own: &str) -> Arc<FakeControl> {
    let control = Arc::new(FakeControl::of(&["hare1@localhost", "hare2@localhost", "hare3@localhost"]));
    control.show(|view| view.own = NodeName::new(own).unwrap());
    house.node.set_control(control.clone());
    control
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_without_a_broker_tells_its_own_metrics() {
    let mut house = TestNode::open("metrics", &[]);
    let control = clustered(&mut house, "hare2@localhost");
    control.measure(|metrics| (metrics.unreachable_peers, metrics.is_leading) = (1, false));
    for situation in [Situation::Waiting, refusing(MINORITY)] {
        house.node.set_situation(situation);
        let answer = get(house.address("Prometheus metrics"), "/metrics").await;
        assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("\r\nconnection: close\r\n"), "{answer}");
        for line in
            ["rabbitmq_unreachable_cluster_peers_count 1", "rabbitmq_raft_term 3", "warren_cluster_is_leading 0"]
        {
            assert!(answer.contains(&format!("\n{line}\n")), "{line} is not in {answer}");
        }
        assert!(!answer.contains("rabbitmq_queues"), "{answer}");
    }
    let house_of_users = TestNode::open("metrics-of-users", &["prometheus.authentication.enabled=true"]);
    let answer = get(house_of_users.address("Prometheus metrics"), "/metrics").await;
    assert!(answer.starts_with("HTTP/1.1 503") && answer.contains("cannot authenticate users"), "{answer}");
    house_of_users.close().await;
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_node_answers_itself_needs_no_broker() {
    let mut house = TestNode::open("local", &[]);
    let control = clustered(&mut house, "hare2@localhost");
    let well = "/api/health/checks/is-in-service";
    let answer = get(house.api(), well).await;
    assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with(r#"{"status":"ok"}"#), "{answer}");
    control.show(|view| view.leader = None);
    assert!(get(house.api(), well).await.contains("it is not known which node leads the cluster"));
    house.node.set_situation(refusing(MINORITY));
    for path in [well, "/api/health/checks/alarms", "/api/health/checks/port-listener/1"] {
        let answer = get(house.api(), path).await;
        assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
        assert!(answer.ends_with(&format!(r#"{{"reason":"{MINORITY}","status":"failed"}}"#)), "{answer}");
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
    // The broker's sites know the cluster, too.
    assert!(get(api, "/api/warren/cluster").await.contains(r#""node":"hare2@localhost""#));
    house.close().await;
}

/// A node whose leadership the test ends.
#[derive(Debug)]
struct Transferring {
    of_rest: FakeControl,
    begun: Semaphore,
    gone: Arc<Semaphore>,
}

impl Control for Transferring {
    fn view(&self) -> Arc<ClusterView> {
        self.of_rest.view()
    }

    fn metrics(&self) -> ClusterMetrics {
        self.of_rest.metrics()
    }

    fn join(&self, seed: &str, force: bool) -> Outcome<()> {
        self.of_rest.join(seed, force)
    }

    fn forget(&self, name: &str) -> Outcome<()> {
        self.of_rest.forget(name)
    }

    fn reset(&self, node: Option<&str>, force: bool) -> Outcome<()> {
        self.of_rest.reset(node, force)
    }

    fn drain(&self, node: Option<&str>) -> Outcome<()> {
        self.of_rest.drain(node)
    }

    fn revive(&self, node: Option<&str>) -> Outcome<()> {
        self.of_rest.revive(node)
    }

    fn run_app(&self, node: Option<&str>, runs: bool) -> Outcome<()> {
        self.of_rest.run_app(node, runs)
    }

    fn transfer(&self, _: Option<&str>) -> Outcome<String> {
        self.begun.add_permits(1);
        let gone = self.gone.clone();
        Box::pin(async move {
            gone.acquire().await.unwrap().forget();
            Ok("hare2@localhost".to_owned())
        })
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_order_is_answered_though_it_ends_the_broker() {
    let mut house = TestNode::open("ordered-away", &[]);
    let control = Arc::new(Transferring {
        of_rest: FakeControl::of(&["hare1@localhost", "hare2@localhost"]),
        begun: Semaphore::new(0),
        gone: Arc::new(Semaphore::new(0)),
    });
    house.node.set_control(control.clone());
    let store = house.start().await;
    let stream = TcpStream::connect(house.api()).await.unwrap();
    let socket = tokio::net::UnixStream::connect(house.dir.join("control.sock")).await.unwrap();
    let path = "/api/warren/cluster/transfer";
    let over_http = tokio::spawn(order(stream, "POST", path, ""));
    let at_socket = tokio::spawn(end_with(socket, "POST", path, "", ""));
    soon(control.begun.acquire_many(2)).await.unwrap().forget();
    let begun_at = Instant::now();
    house.node.stop_broker(BrokerStop::of_leadership("another leads", true), Situation::Waiting).await.unwrap();
    // Nothing of it is waited for, or kept.
    assert!(begun_at.elapsed() < Duration::from_secs(4), "{:?}", begun_at.elapsed());
    assert!(store.upgrade().is_none());
    control.gone.add_permits(2);
    for answer in [soon(over_http).await.unwrap(), soon(at_socket).await.unwrap()] {
        assert!(answer.starts_with("HTTP/1.1 200 ") && answer.contains("\r\nconnection: close\r\n"), "{answer}");
        assert!(answer.ends_with(r#"{"leader":"hare2@localhost"}"#), "{answer}");
    }
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_has_run_since_its_process_began_whatever_broker_does() {
    let mut house = TestNode::open("uptime", &[]);
    house.start().await;
    let shown = |house: &TestNode| {
        let view = house.node.broker().unwrap().node_view(&house.dir);
        (view.started_at_ms, view.uptime_ms)
    };
    let before = shown(&house);
    tokio::time::sleep(Duration::from_millis(300)).await;
    house.node.stop_broker(BrokerStop::of_leadership("for a moment", false), Situation::Waiting).await.unwrap();
    house.start().await;
    let after = shown(&house);
    assert!(after.1 >= before.1 + 300, "{before:?} {after:?}");
    assert!(after.0.abs_diff(before.0) < 100, "{before:?} {after:?}");
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_operator_orders_a_node_without_a_broker() {
    let mut house = TestNode::open("orders", &[]);
    let control = clustered(&mut house, "hare2@localhost");
    for situation in [Situation::Waiting, refusing(MINORITY)] {
        house.node.set_situation(situation);
        let answer = ask_operator(&house, "POST", "/api/warren/cluster/drain", "").await;
        assert!(answer.starts_with("HTTP/1.1 204"), "{answer}");
        let shown = ask_operator(&house, "GET", "/api/warren/cluster", "").await;
        assert!(shown.contains(r#""node":"hare2@localhost""#), "{shown}");
    }
    let body = r#"{"node":"hare3@localhost","force":true}"#;
    assert!(ask_operator(&house, "POST", "/api/warren/cluster/reset", body).await.starts_with("HTTP/1.1 204"));
    let answer = ask_operator(&house, "DELETE", "/api/warren/cluster/nodes/hare3%40localhost", "").await;
    assert!(answer.starts_with("HTTP/1.1 204"), "{answer}");
    assert_eq!(control.orders(), ["drain", "drain", "reset hare3@localhost by force", "forget hare3@localhost"]);
    // Nothing of it over the network, where there are no users to ask.
    assert!(get(house.api(), "/api/warren/cluster").await.starts_with("HTTP/1.1 503"));
    house.node.set_situation(Situation::Waiting);
    let begun_at = Instant::now();
    let answer = ask_operator(&house, "GET", "/api/overview", "").await;
    assert!(answer.starts_with("HTTP/1.1 503") && answer.contains("no leader can be reached"), "{answer}");
    assert!((4.0..15.0).contains(&begun_at.elapsed().as_secs_f64()));
    house.close().await;
}
