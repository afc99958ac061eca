//! Shovels of a broker: within it, and to itself by its own sockets.

use model::parameter::{SHOVEL, VhostParameter};
use model::shovel::PAUSE_COMPONENT;
use serde_json::{Value, json};

use super::*;

/// A shovel of the vhost `/`.
fn put(house: &TestNode, name: &str, value: Value) {
    let broker = house.node.broker().unwrap();
    let vhost = model::name::VhostName::parse(b"/").unwrap();
    let parameter = VhostParameter { vhost, component: SHOVEL.into(), name: name.into(), value };
    broker.put_vhost_parameter(&broker::Actor::broker(), parameter).unwrap();
}

fn is_there(house: &TestNode, name: &str) -> bool {
    house.node.broker().unwrap().vhost_parameters(Some(SHOVEL), None).iter().any(|parameter| &*parameter.name == name)
}

fn length(house: &TestNode, queue: &str) -> u64 {
    house.node.broker().unwrap().queue_counts("/", queue).map_or(0, |counts| counts.ready + counts.unacked)
}

/// Publishes so many messages with confirms.
async fn publish(connection: &mut Connection, queue: &str, count: u32) {
    let route = Route::new(b"", queue.as_bytes(), false).unwrap();
    let properties = amqp::Properties { delivery_mode: Some(2), user_id: Some(b"guest"), ..Default::default() };
    let mut encoded = Vec::new();
    properties.encode(&mut encoded);
    connection.open_channel(7).await.unwrap();
    connection.select_confirms(7).await.unwrap();
    for number in 0..count {
        connection.publish(7, &route, &encoded, &number.to_be_bytes());
    }
    let mut confirmed = 0;
    while confirmed < u64::from(count) {
        connection.turn().await.unwrap();
        while let Some(event) = connection.next_event().unwrap() {
            if let Event::Confirmed { tag, .. } = event {
                confirmed = confirmed.max(tag);
            }
        }
    }
    connection.close_channel(7).await.unwrap();
}

async fn declare(connection: &mut Connection, queue: &str) {
    connection.open_channel(3).await.unwrap();
    let declare = queue::Declare { queue: queue.as_bytes(), durable: true, ..Default::default() };
    connection.declare_queue(3, &declare).await.unwrap();
    connection.close_channel(3).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shovel_moves_a_queue_and_goes() {
    for (test, uri, protocol) in [("shovel-within", "amqp://", "amqp091"), ("shovel-local", "amqp:///%2F", "local")] {
        let mut house = TestNode::open(test, &[]);
        house.start().await;
        let mut client = connect(house.amqp()).await.unwrap();
        declare(&mut client, "from").await;
        publish(&mut client, "from", 5000).await;
        put(
            &house,
            "move",
            json!({"src-uri": uri, "src-protocol": protocol, "src-queue": "from", "src-delete-after": "queue-length",
                "dest-uri": uri, "dest-protocol": protocol, "dest-queue": "to"}),
        );
        until(|| !is_there(&house, "move")).await;
        assert_eq!((length(&house, "from"), length(&house, "to")), (0, 5000));
        house.close().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shovel_over_a_socket_outlives_what_it_fails_for() {
    let mut house = TestNode::open("shovel-socket", &[]);
    house.start().await;
    let mut client = connect(house.amqp()).await.unwrap();
    declare(&mut client, "from").await;
    let uri = format!("amqp://guest:guest@{}", house.amqp());
    put(
        &house,
        "for-ever",
        json!({"src-uri": uri, "src-queue": "from", "dest-uri": uri, "dest-queue": "to", "dest-predeclared": true,
            "reconnect-delay": 0.01}),
    );
    publish(&mut client, "from", 100).await;
    declare(&mut client, "to").await;
    until(|| length(&house, "to") == 100).await;
    // Messages without a queue to be put into stay where they are.
    client.open_channel(4).await.unwrap();
    client.call(4, &queue::Delete { queue: b"to", ..Default::default() }).await.unwrap();
    publish(&mut client, "from", 10).await;
    declare(&mut client, "to").await;
    until(|| length(&house, "to") == 10 && length(&house, "from") == 0).await;
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shovel_of_the_configuration_runs_and_a_wrong_one_stops_the_start() {
    let mut house = TestNode::open(
        "shovel-configured",
        &[
            "warren.shovels.s.src-uri=amqp://",
            "warren.shovels.s.src-queue=from",
            "warren.shovels.s.dest-uri=amqp://",
            "warren.shovels.s.dest-queue=to",
        ],
    );
    house.start().await;
    let mut client = connect(house.amqp()).await.unwrap();
    until(|| house.node.broker().unwrap().queue_counts("/", "from").is_some()).await;
    publish(&mut client, "from", 10).await;
    until(|| length(&house, "to") == 10).await;
    house.close().await;

    let wrong = ["warren.shovels.s.src-uri=amqp://", "warren.shovels.s.src-queue=from"].map(str::to_owned);
    let error = Config::parse(&[], &[], &wrong).unwrap_err().to_string();
    assert!(error.contains("'warren.shovels.s': Key \"dest-uri\" not found in s"), "{error}");
}

/// A web server that fails twice, refuses bodies that begin with `bad` for good, and keeps what it has accepted: head and body.
async fn web_server() -> (SocketAddr, Arc<std::sync::Mutex<Vec<(String, Vec<u8>)>>>) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let accepted = Arc::new(std::sync::Mutex::new(Vec::new()));
    let kept = accepted.clone();
    tokio::spawn(async move {
        let mut failures_left = 2;
        loop {
            let (mut socket, _) = listener.accept().await.unwrap();
            let mut bytes = Vec::new();
            while socket.read_buf(&mut bytes).await.is_ok_and(|len| len > 0) {
                while let Some(at) = bytes.windows(4).position(|end| end == b"\r\n\r\n") {
                    let head = String::from_utf8_lossy(&bytes[..at]).to_lowercase();
                    let len =
                        head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok()).unwrap_or(0);
                    if bytes.len() < at + 4 + len {
                        break;
                    }
                    let body: Vec<u8> = bytes.drain(..at + 4 + len).skip(at + 4).collect();
                    let status = match &body[..] {
                        _ if failures_left > 0 => "503 Service Unavailable",
                        [b'b', b'a', b'd', ..] => "422 Unprocessable Content",
                        _ => "204 No Content",
                    };
                    failures_left = i32::max(failures_left - 1, 0);
                    if status.starts_with('2') {
                        kept.lock().unwrap().push((head, body));
                    }
                    let length = if status.starts_with("204") { "" } else { "content-length: 0\r\n" };
                    socket.write_all(format!("HTTP/1.1 {status}\r\n{length}\r\n").as_bytes()).await.unwrap();
                }
            }
        }
    });
    (address, accepted)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_web_server_is_told_of_each_message_and_what_it_refuses_is_dead_lettered() {
    let mut house = TestNode::open("shovel-web", &[]);
    house.start().await;
    let (server, accepted) = web_server().await;
    let mut client = connect(house.amqp()).await.unwrap();
    declare(&mut client, "dead").await;
    put(
        &house,
        "hook",
        json!({"src-uri": "amqp://", "src-queue": "from",
            "src-queue-args": {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead"},
            "dest-protocol": "http", "dest-uri": format!("http://{server}/hook"), "dest-refused": "dead-letter"}),
    );
    until(|| house.node.broker().unwrap().queue_counts("/", "from").is_some()).await;
    client.open_channel(5).await.unwrap();
    let route = Route::new(b"", b"from", false).unwrap();
    let properties =
        amqp::Properties { content_type: Some(b"text/plain"), message_id: Some(b"m"), ..Default::default() };
    let mut encoded = Vec::new();
    properties.encode(&mut encoded);
    for body in [&b"one"[..], b"bad", b"two"] {
        client.publish(5, &route, &encoded, body);
    }
    client.flush().await.unwrap();
    until(|| length(&house, "dead") == 1 && length(&house, "from") == 0).await;
    let accepted = std::mem::take(&mut *accepted.lock().unwrap());
    assert_eq!(accepted.iter().map(|(_, body)| &body[..]).collect::<Vec<_>>(), [b"one", b"two"]);
    let head = &accepted[0].0;
    for line in
        ["post /hook http/1.1", "content-type: text/plain", "x-warren-routing-key: from", "x-warren-message-id: m"]
    {
        assert!(head.contains(line), "{head}");
    }
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hosts_that_are_not_permitted_are_not_connected_to() {
    let mut house = TestNode::open("shovel-hosts", &["warren.links.allowed_hosts.1=*.example.com"]);
    house.start().await;
    let uri = format!("amqp://guest:hidden@{}", house.amqp());
    put(&house, "far", json!({"src-uri": "amqp://", "src-queue": "from", "dest-uri": uri, "dest-queue": "to"}));
    let shovels = house.node.shovels().unwrap();
    let reason = || match shovels.statuses().first().map(|status| status.state.clone()) {
        Some(shovel::State::Terminated { reason }) => Some(reason),
        _ => None,
    };
    until(|| reason().is_some()).await;
    let expected = "destination: shovels may not connect to '127.0.0.1': the host is not in warren.links.allowed_hosts";
    assert_eq!(&*reason().unwrap(), expected);
    house.close().await;
}

/// Status and JSON of guest's request.
async fn api(house: &TestNode, method: &str, path: &str, body: &str) -> (u16, Value) {
    let stream = TcpStream::connect(house.api()).await.unwrap();
    let answer = order(stream, method, path, body).await;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head[9..12].parse().unwrap(), serde_json::from_str(body).unwrap_or_default())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn operators_see_restart_pause_and_delete_shovels() {
    let mut house = TestNode::open("shovel-api", &[]);
    house.start().await;
    let mut client = connect(house.amqp()).await.unwrap();
    let uri = format!("amqp://guest:guest@{}", house.amqp());
    put(
        &house,
        "s",
        json!({"src-uri": uri, "src-queue": "from", "dest-uri": "amqp://", "dest-exchange": "amq.fanout"}),
    );
    let shovels = house.node.shovels().unwrap();
    let state = || shovels.statuses().first().map(|status| status.state.name());
    until(|| state() == Some("running")).await;
    let (status, mut list) = api(&house, "GET", "/api/shovels", "").await;
    let members = list[0].as_object_mut().unwrap();
    for varying in ["timestamp", "node"] {
        assert!(members.remove(varying).is_some(), "{varying}");
    }
    let expected = json!([{
        "name": "s", "vhost": "/", "type": "dynamic", "state": "running", "blocked_status": "running", "src_protocol": "amqp091",
        "dest_protocol": "amqp091", "src_queue": "from", "dest_exchange": "amq.fanout", "dest_uri": "amqp://",
        "src_uri": format!("amqp://{}", house.amqp()), "forwarded": 0, "pending": 0, "remaining": "unlimited",
        "remaining_unacked": "unlimited",
    }]);
    assert_eq!((status, list), (200, expected));
    let (status, definition) = api(&house, "GET", "/api/shovels/vhost/%2F/s", "").await;
    assert_eq!(status, 200);
    assert_eq!(definition["value"]["src-uri"], json!(uri.replace(":guest@", ":***@")));

    assert_eq!(api(&house, "PUT", "/api/shovels/vhost/%2F/s/pause", "{}").await.0, 204);
    until(|| state() == Some("paused")).await;
    publish(&mut client, "from", 3).await;
    assert_eq!(length(&house, "from"), 3);
    assert_eq!(api(&house, "GET", "/api/shovels/vhost/%2F/s/status", "").await.1["state"], json!("paused"));
    assert_eq!(api(&house, "PUT", "/api/shovels/vhost/%2F/s/resume", "{}").await.0, 204);
    until(|| length(&house, "from") == 0).await;
    assert_eq!(api(&house, "DELETE", "/api/shovels/vhost/%2F/s/restart", "").await.0, 204);
    until(|| state() == Some("running")).await;

    for (method, path) in [
        ("GET", "/api/shovels/nowhere"),
        ("GET", "/api/shovels/vhost/%2F/other"),
        ("DELETE", "/api/shovels/vhost/%2F/other"),
        ("DELETE", "/api/shovels/vhost/%2F/other/restart"),
        ("PUT", "/api/shovels/vhost/%2F/other/pause"),
    ] {
        assert_eq!(api(&house, method, path, "{}").await.0, 404, "{method} {path}");
    }
    assert_eq!(api(&house, "PUT", "/api/shovels/vhost/%2F/s/pause", "{}").await.0, 204);
    assert_eq!(api(&house, "DELETE", "/api/shovels/vhost/%2F/s", "").await.0, 204);
    until(|| shovels.statuses().is_empty()).await;
    // Another one of that name does not wait.
    let paused = || house.node.broker().unwrap().vhost_parameters(Some(PAUSE_COMPONENT), None);
    until(|| paused().is_empty()).await;
    house.close().await;
}
