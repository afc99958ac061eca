//! Streams of events.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use base64::Engine as _;
use broker::statistics::{Options as StatisticsOptions, Rates};
use broker::{Interface, Origin};
use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Body as _;
use hyper::{Request, Response};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};

use super::house::{House, in_house, in_house_of, in_house_with};
use crate::live::Watcher;
use crate::options::{ConnectionLimits, Cors, LiveLimits, Options};
use crate::server::{HttpClient, Server, Site};
use http_server::AnswerBody;

/// The reader of a stream.
struct Reader {
    body: AnswerBody,
    text: String,
    id: u64,
}

async fn response(house: &House, user: &str, query: &str) -> Response<AnswerBody> {
    let value = base64::engine::general_purpose::STANDARD.encode(format!("{user}:{user}"));
    let request = Request::builder()
        .uri(format!("/api/live?{query}"))
        .header("authorization", format!("Basic {value}"))
        .header("accept", "text/event-stream")
        .header("origin", "https://console.example");
    let origin = Origin { peer: Some(([127, 0, 0, 1], 40000).into()), interface: Interface::Http };
    house.service.respond(request.body(Full::new(Bytes::new())).unwrap(), origin).await
}

async fn open(house: &House, user: &str, query: &str) -> Reader {
    let response = response(house, user, query).await;
    assert_eq!(response.status(), 200, "{query}");
    Reader { body: response.into_body(), text: String::new(), id: 0 }
}

impl Reader {
    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Option<String>> {
        Pin::new(&mut self.body)
            .poll_frame(cx)
            .map(|frame| Some(String::from_utf8(frame?.unwrap().into_data().unwrap().to_vec()).unwrap()))
    }

    /// The next event; None after the last.
    async fn next(&mut self) -> Option<(String, Value)> {
        loop {
            if let Some((event, rest)) = self.text.split_once("\n\n") {
                let (event, rest) = (event.to_owned(), rest.to_owned());
                self.text = rest;
                if event == ":" {
                    return Some(("heartbeat".to_owned(), Value::Null));
                }
                let mut lines = event.lines();
                let mut field = |name: &str| lines.next().unwrap().strip_prefix(name).unwrap().to_owned();
                self.id += 1;
                assert_eq!(field("id: "), self.id.to_string());
                return Some((field("event: "), serde_json::from_str(&field("data: ")).unwrap()));
            }
            let piece = poll_fn(|cx| self.poll_piece(cx)).await?;
            self.text.push_str(&piece);
        }
    }

    /// The next event, which is of this name.
    async fn expect(&mut self, name: &str) -> Value {
        let (event, data) = self.next().await.unwrap();
        assert_eq!(event, name, "{data}");
        data
    }

    /// The next change: its name, and what it is about.
    async fn expect_change(&mut self) -> (String, Value) {
        let mut data = self.expect("change").await;
        (data["event"].as_str().unwrap().to_owned(), data["about"]["name"].take())
    }

    async fn expect_end(&mut self, reason: &str) {
        assert_eq!(self.expect("end").await, json!({"reason": reason}));
        assert_eq!(self.next().await, None);
    }
}

#[test]
fn a_queue_is_seen_coming_and_going() {
    in_house(async |house| {
        let mut reader = open(house, "alice", "events=changes").await;
        house.check("PUT /api/queues/shop/q", r#"{"durable":true}"#, 201, "").await;
        house.check("DELETE /api/queues/shop/q", "", 204, "").await;
        let created = reader.expect("change").await;
        assert_eq!((&created["event"], &created["user"]), (&json!("queue.created"), &json!("guest")));
        assert_eq!(created["about"]["vhost"], "shop");
        assert_eq!(created["about"]["user_who_performed_action"], Value::Null);
        assert!(humantime::parse_rfc3339(created["at"].as_str().unwrap()).is_ok());
        // What was bound to the default exchange is unbound first.
        let mut events = Vec::new();
        while events.last() != Some(&"queue.deleted".to_owned()) {
            events.push(reader.expect_change().await.0);
        }
    });
}

#[test]
fn numbers_come_at_once_and_then_again() {
    in_house(async |house| {
        house.check("PUT /api/queues/shop/q", "", 201, "").await;
        let message = r#"{"routing_key":"q","properties":{},"payload":"hello","payload_encoding":"string"}"#;
        house.check("POST /api/exchanges/shop/amq.default/publish", message, 200, r#"{"routed":true}"#).await;
        let mut reader = open(house, "mona", "events=rates,vhost:shop,queue:shop/q&interval=1").await;
        tokio::time::pause();
        for _ in 0..3 {
            let rates = reader.expect("rates").await;
            let overview = house.get("/api/overview").await.json();
            for name in ["queue_totals", "message_stats", "churn_rates", "node"] {
                assert_eq!(rates[name], overview[name], "{name}");
            }
            assert_eq!(
                (&rates["queue_totals"]["messages_ready"], &rates["object_totals"]["queues"]),
                (&json!(1), &json!(1))
            );
            let vhost = reader.expect("vhost").await;
            assert_eq!((&vhost["name"], &vhost["messages"]), (&json!("shop"), &json!(1)));
            let queue = reader.expect("queue").await;
            let route = house.get("/api/queues/shop/q").await.json();
            for (name, value) in queue.as_object().unwrap() {
                assert_eq!(&route[name], value, "{name}");
            }
            assert_eq!((&queue["messages_ready"], &queue["message_bytes"]), (&json!(1), &json!(5)));
        }
    });
}

#[test]
fn of_what_is_gone_is_told_once() {
    in_house(async |house| {
        let mut reader = open(house, "guest", "events=queue:shop/q,vhost:shop&interval=1").await;
        tokio::time::pause();
        let gone = json!({"kind": "queue", "vhost": "shop", "name": "q"});
        reader.expect("vhost").await;
        assert_eq!(reader.expect("gone").await, gone);
        reader.expect("vhost").await;
        reader.expect("vhost").await;
        house.check("PUT /api/queues/shop/q", "", 201, "").await;
        reader.expect("vhost").await;
        reader.expect("queue").await;
        house.check("DELETE /api/vhosts/shop", "", 204, "").await;
        assert_eq!(reader.expect("gone").await, json!({"kind": "vhost", "name": "shop"}));
        assert_eq!(reader.expect("gone").await, gone);
    });
}

#[test]
fn who_does_not_read_is_told_how_much_it_has_missed() {
    in_house(async |house| {
        let mut reader = open(house, "alice", "events=changes,rates&interval=1").await;
        reader.expect("rates").await;
        for _ in 0..1100 {
            house.ask("PUT", "/api/users/busy", "guest", r#"{"password":"x","tags":""}"#).await;
        }
        tokio::time::pause();
        tokio::time::advance(Duration::from_millis(3500)).await;
        let (mut missed, mut changes, mut rates) = (0, 0, 0);
        while rates < 1 || changes < 1000 {
            let (name, data) = reader.next().await.unwrap();
            match name.as_str() {
                "missed" => missed += data["count"].as_u64().unwrap(),
                "change" => changes += 1,
                "rates" => rates += 1,
                other => panic!("{other}: {data}"),
            }
        }
        // `user.created`, `user.tags.set`, and then a password each time; and looks at numbers, of which more come while these are read.
        assert!((101 + 2..=101 + 120).contains(&missed), "{missed}");
    });
}

/// Reads a stream over a socket until what it has read contains a text.
async fn read_until(socket: &mut TcpStream, read: &mut String, text: &str) {
    while !read.contains(text) {
        let mut piece = Vec::new();
        assert!(socket.read_buf(&mut piece).await.unwrap() > 0, "the stream ended: {read}");
        read.push_str(std::str::from_utf8(&piece).unwrap());
    }
}

#[test]
fn who_reads_nothing_loses_the_connection_and_others_go_on() {
    in_house(async |house| {
        let server = Server::start().unwrap();
        let limits = ConnectionLimits { write_timeout: Duration::from_millis(200), ..ConnectionLimits::default() };
        let (group, site) = (Arc::new(server.group()), Site::Api(house.service.clone()));
        // With room for little between both sides.
        let listener = TcpSocket::new_v4().unwrap();
        listener.set_send_buffer_size(4096).unwrap();
        listener.bind(([127, 0, 0, 1], 0).into()).unwrap();
        let entered = server.runtime().enter();
        let listener = listener.listen(2).unwrap();
        drop(entered);
        let address = listener.local_addr().unwrap();
        let connect = async || {
            let socket = TcpSocket::new_v4().unwrap();
            socket.set_recv_buffer_size(4096).unwrap();
            let mut socket = socket.connect(address).await.unwrap();
            let login = base64::engine::general_purpose::STANDARD.encode("alice:alice");
            let request =
                format!("GET /api/live?events=changes HTTP/1.1\r\nHost: h\r\nAuthorization: Basic {login}\r\n\r\n");
            socket.write_all(request.as_bytes()).await.unwrap();
            socket
        };
        let permits = [Arc::new(()), Arc::new(())];
        let accepting = server.runtime().spawn({
            let (permits, group) = (permits.clone(), group.clone());
            async move {
                for permit in permits {
                    let (stream, peer) = listener.accept().await.unwrap();
                    let origin = Origin { peer: Some(peer), interface: Interface::Http };
                    let client =
                        HttpClient { origin, limits, amqp: None, permit, received: Vec::new(), forwarded_by: None };
                    group.serve(site.clone(), net::Stream::Tcp(stream), client);
                }
            }
        });
        let (mut deaf, mut reader) = (connect().await, connect().await);
        accepting.await.unwrap();
        let mut head = [0; 12];
        deaf.read_exact(&mut head).await.unwrap();
        let mut read = String::new();
        read_until(&mut reader, &mut read, "\r\n\r\n").await;
        assert!(head.starts_with(b"HTTP/1.1 200") && read.starts_with("HTTP/1.1 200"), "{read}");
        let deadline = Instant::now() + Duration::from_secs(30);
        let mut told = async |number: usize| {
            house.check(&format!("PUT /api/exchanges/shop/x{number}"), r#"{"type":"direct"}"#, 201, "").await;
            read_until(&mut reader, &mut read, &format!("\"x{number}\"")).await;
        };
        let mut count = 0;
        // As long as the permit is held, so is the connection.
        while Arc::strong_count(&permits[0]) > 1 {
            assert!(Instant::now() < deadline, "who reads nothing keeps the connection");
            told(count).await;
            count += 1;
        }
        told(count).await;
        assert_eq!(Arc::strong_count(&permits[1]), 2, "who reads keeps it");
        let live = &house.service.feeds;
        let count_max = LiveLimits::default().count_max;
        let places: Vec<_> = (0..count_max)
            .map_while(|number| {
                let user = number.to_string().into();
                live.take_place(Watcher { user, address: None, is_administrator: true }).ok()
            })
            .collect();
        assert_eq!(places.len(), count_max - 1, "one of both places has been given back");
        drop((places, deaf));
        server.end();
    });
}

#[test]
fn rights_that_are_taken_away_end_a_stream() {
    in_house(async |house| {
        let mut of_node = open(house, "mona", "events=rates&interval=1").await;
        let mut of_queue = open(house, "manny", "events=queue:shop/q&interval=1").await;
        let mut of_changes = open(house, "polly", "events=changes").await;
        let mut of_deleted = open(house, "alice", "events=changes").await;
        of_node.expect("rates").await;
        of_queue.expect("gone").await;
        house.check("PUT /api/users/mona", r#"{"password":"mona","tags":"management"}"#, 204, "").await;
        house.check("DELETE /api/permissions/shop/manny", "", 204, "").await;
        house.check("PUT /api/users/polly", r#"{"password":"polly","tags":""}"#, 204, "").await;
        house.check("DELETE /api/users/alice", "", 204, "").await;
        tokio::time::pause();
        of_node.expect_end("the user may no longer monitor the node").await;
        of_queue.expect_end("the user may no longer access vhost 'shop'").await;
        of_changes.expect_end("the user may no longer use the management API").await;
        of_deleted.expect_end("the user was deleted, or its login has expired").await;
    });
}

#[test]
fn everybody_sees_changes_of_what_it_may_see() {
    in_house(async |house| {
        let mut manny = open(house, "manny", "events=changes").await;
        let mut mona = open(house, "mona", "events=changes").await;
        let mut alice = open(house, "alice", "events=changes").await;
        house.check("PUT /api/permissions/empty/guest", ALL, 201, "").await;
        house.check("PUT /api/exchanges/empty/secret", r#"{"type":"direct"}"#, 201, "").await;
        house.check("PUT /api/exchanges/shop/known", r#"{"type":"direct"}"#, 201, "").await;
        house.check("PUT /api/vhosts/new", "", 201, "").await;
        house.check("DELETE /api/permissions/shop/manny", "", 204, "").await;
        house.check("PUT /api/exchanges/shop/later", r#"{"type":"direct"}"#, 201, "").await;
        house.check("PUT /api/permissions/shop/manny", ALL, 201, "").await;
        house.check("PUT /api/exchanges/shop/last", r#"{"type":"direct"}"#, 201, "").await;
        let mut told = Vec::new();
        while told.last() != Some(&"exchange.created last".to_owned()) {
            let (event, name) = alice.expect_change().await;
            told.push(format!("{event} {}", name.as_str().unwrap_or_default()).trim_end().to_owned());
        }
        assert_eq!(told[..2], ["permission.created", "exchange.created secret"]);
        // What it may enter when it reads.
        for reader in [&mut manny, &mut mona] {
            let mut told = Vec::new();
            while told.last() != Some(&json!("last")) {
                let (event, name) = reader.expect_change().await;
                assert!(!event.contains("permission"), "{event}");
                told.push(name);
            }
            assert!(told.contains(&json!("known")) && !told.contains(&json!("secret")), "{told:?}");
        }
    });
}

const ALL: &str = r#"{"configure":".*","write":".*","read":".*"}"#;

#[test]
fn the_last_of_a_vhost_is_told_to_who_was_let_in() {
    in_house(async |house| {
        house.check("PUT /api/exchanges/shop/known", r#"{"type":"direct"}"#, 201, "").await;
        let mut manny = open(house, "manny", "events=changes").await;
        house.check("DELETE /api/vhosts/empty", "", 204, "").await;
        house.check("DELETE /api/vhosts/shop", "", 204, "").await;
        loop {
            let (event, name) = manny.expect_change().await;
            assert_ne!(name, "empty");
            // There were no events of those that every vhost has.
            assert!(event != "exchange.deleted" || name == "known", "{name}");
            if (event.as_str(), &name) == ("vhost.deleted", &json!("shop")) {
                break;
            }
        }
    });
}

#[test]
fn what_may_not_be_seen_cannot_be_asked_for() {
    in_house(async |house| {
        for (user, query, status) in [
            ("manny", "events=rates", 401),
            ("nadia", "events=changes", 401),
            ("manny", "events=vhost:empty", 404),
            ("mona", "events=queue:empty/q", 404),
            ("alice", "events=vhost:nosuch", 404),
            ("alice", "", 400),
            ("alice", "events=everything", 400),
        ] {
            assert_eq!(response(house, user, query).await.status(), status, "{user} {query}");
        }
        for (user, vhost) in [("manny", "empty"), ("alice", "nosuch")] {
            let query = format!("/api/live?events=queue:shop/q,queue:{vhost}/q");
            let reason = format!("no vhost '{vhost}', or no access to it");
            let expected = json!({"error": "not_found", "reason": reason});
            assert_eq!(house.ask("GET", &query, user, "").await.json(), expected, "{user}");
        }
        assert_eq!(response(house, "mona", "events=vhost:empty").await.status(), 200);
        assert_eq!(response(house, "manny", "events=vhost:shop,queue:shop/q,changes").await.status(), 200);
    });
}

#[test]
fn there_are_only_so_many_streams_at_a_time() {
    in_house(async |house| {
        let mut readers = Vec::new();
        for _ in 0..LiveLimits::default().user_count_max {
            readers.push(open(house, "manny", "events=changes").await);
        }
        for _ in 0..2 {
            let refused = house.ask("GET", "/api/live?events=changes", "manny", "").await;
            assert_eq!((refused.status, refused.json()["error"].as_str()), (503, Some("service_unavailable")));
        }
        // No other user is kept out.
        assert_eq!(response(house, "alice", "events=rates").await.status(), 200);
        readers.pop();
        assert_eq!(response(house, "manny", "events=changes").await.status(), 200);
    });
}

#[test]
fn how_many_streams_there_may_be_is_an_option() {
    let live = LiveLimits { user_count_max: 1, count_max: 3, kept_for_administrators: 1, ..LiveLimits::default() };
    in_house_with(Options { live, ..Options::default() }, async |house| {
        let of_manny = open(house, "manny", "events=changes").await;
        let status = async |user| response(house, user, "events=changes").await.status().as_u16();
        assert_eq!(status("manny").await, 503, "a user has one");
        let of_polly = open(house, "polly", "events=changes").await;
        assert_eq!(status("mona").await, 503, "one is left, for administrators");
        assert_eq!(status("guest").await, 200);
        drop((of_manny, of_polly));
    });
}

#[test]
fn silence_is_broken_by_heartbeats() {
    in_house(async |house| {
        let mut reader = open(house, "alice", "events=changes").await;
        tokio::time::pause();
        for _ in 0..3 {
            let before = tokio::time::Instant::now();
            reader.expect("heartbeat").await;
            let waited = before.elapsed();
            assert!(waited.abs_diff(Duration::from_secs(15)) < Duration::from_millis(100), "{waited:?}");
        }
    });
}

#[test]
fn a_stream_has_the_headers_that_browsers_want() {
    let cors = Cors { origins: vec!["https://console.example".to_owned()], max_age_s: None };
    in_house_with(Options { cors, ..Options::default() }, async |house| {
        let response = response(house, "alice", "events=rates").await;
        for (name, value) in [
            ("content-type", "text/event-stream"),
            ("cache-control", "no-cache"),
            ("access-control-allow-origin", "https://console.example"),
            ("access-control-allow-credentials", "true"),
        ] {
            assert_eq!(response.headers().get(name).map(|value| value.to_str().unwrap()), Some(value), "{name}");
        }
        assert!(!response.headers().contains_key("content-length"));
    });
}

#[test]
fn where_nobody_looks_the_machine_is_asked() {
    let statistics = StatisticsOptions { rates: Rates::None, ..StatisticsOptions::default() };
    in_house_of(broker::Options { statistics, ..broker::Options::default() }, Options::default(), async |house| {
        let rates = open(house, "alice", "events=rates").await.expect("rates").await;
        for name in ["mem_used", "disk_free", "fd_used", "proc_used"] {
            assert!(rates[name].as_u64().is_some_and(|number| number > 0), "{name}: {}", rates[name]);
        }
        assert_eq!((&rates["sockets_used"], &rates["message_stats"]), (&json!(0), &Value::Null));
    });
}

#[test]
fn without_rates_there_are_counts() {
    in_house_with(Options { disables_stats: true, ..Options::default() }, async |house| {
        house.check("PUT /api/queues/shop/q", "", 201, "").await;
        let mut reader = open(house, "alice", "events=rates,queue:shop/q").await;
        let rates = reader.expect("rates").await;
        assert_eq!((&rates["queue_totals"]["messages"], &rates["message_stats"]), (&json!(0), &Value::Null));
        let queue = reader.expect("queue").await;
        assert_eq!((&queue["messages"], &queue["messages_details"]), (&json!(0), &Value::Null));
    });
}

#[test]
fn an_exchange_tells_its_numbers_and_a_connection_that_is_not_there_is_gone() {
    in_house(async |house| {
        let message = r#"{"routing_key":"q","properties":{},"payload":"hello","payload_encoding":"string"}"#;
        house.check("POST /api/exchanges/shop/amq.topic/publish", message, 200, r#"{"routed":false}"#).await;
        let name = "127.0.0.1:1 -%3E 127.0.0.1:2";
        let events = format!("exchange:shop/amq.topic,exchange:shop/nosuch,connection:{name},channel:{name} (1)");
        let query = events.replace('%', "%25").replace(' ', "%20");
        let mut reader = open(house, "manny", &format!("events={query}&interval=1")).await;
        tokio::time::pause();
        let exchange = reader.expect("exchange").await;
        let route = house.get("/api/exchanges/shop/amq.topic?columns=vhost,name,message_stats").await.json();
        assert_eq!(
            (exchange["name"].as_str(), &exchange["message_stats"]),
            (Some("amq.topic"), &route["message_stats"])
        );
        assert_eq!(reader.expect("gone").await, json!({"kind": "exchange", "vhost": "shop", "name": "nosuch"}));
        let connection = "127.0.0.1:1 -> 127.0.0.1:2";
        assert_eq!(reader.expect("gone").await, json!({"kind": "connection", "name": connection}));
        assert_eq!(reader.expect("gone").await, json!({"kind": "channel", "name": format!("{connection} (1)")}));
        reader.expect("exchange").await;
        reader.expect("exchange").await;
    });
}

#[test]
fn deeds_are_told_to_administrators() {
    in_house(async |house| {
        for user in ["mona", "manny"] {
            for part in ["audit", "log"] {
                assert_eq!(response(house, user, &format!("events={part}")).await.status(), 401, "{user} {part}");
            }
        }
        assert_eq!(response(house, "manny", "events=alerts").await.status(), 401);
        assert_eq!(response(house, "alice", "events=log").await.status(), 503, "there is no log here");
        let mut reader = open(house, "alice", "events=audit").await;
        house.check("PUT /api/vhosts/other", "", 201, "").await;
        let deed = loop {
            let deed = reader.expect("audit").await;
            if deed["event"] == "vhost.created" {
                break deed;
            }
        };
        let listed = house.get("/api/audit?event=vhost.created&name=other").await.json();
        assert_eq!(deed, listed[0]);
        house.check("PUT /api/users/alice", r#"{"password":"alice","tags":"monitoring"}"#, 204, "").await;
        // An earlier change may be sent or not: the right is checked when it is sent.
        let end = loop {
            let (event, data) = reader.next().await.unwrap();
            if event == "end" {
                break data;
            }
        };
        assert_eq!(end, json!({"reason": "the user is no longer an administrator"}));
    });
}

#[test]
fn lines_of_the_log_are_told_from_now_on() {
    in_house(async |house| {
        let recent = crate::recent_lines::RecentLines::new(4, 1000);
        let log = crate::process::LogControl { set_level: Box::new(|_| ()), recent: recent.clone() };
        house.service.set_process(Arc::new(crate::process::Process::new(1000, log, vec![])));
        recent.push("before");
        let mut reader = open(house, "alice", "events=log").await;
        tokio::time::pause();
        recent.push("2026-11-27T07:05:14.000000Z  WARN broker: slow disk");
        let line =
            json!({"id": 2, "time": "2026-11-27T07:05:14.000000Z", "level": "warning", "text": "broker: slow disk"});
        assert_eq!(reader.expect("log").await, line);
        (0..6).for_each(|number| recent.push(&format!("line {number}")));
        assert_eq!(reader.expect("missed").await, json!({"count": 2}));
        assert_eq!(reader.expect("log").await, json!({"id": 5, "text": "line 2"}));
        for number in 3..6 {
            assert_eq!(reader.expect("log").await["text"], format!("line {number}"));
        }
    });
}

#[test]
fn what_fires_is_told_at_once_and_then_what_changes() {
    in_house(async |house| {
        let mut reader = open(house, "mona", "events=alerts").await;
        assert_eq!(reader.expect("alerts").await, json!({"firing": []}));
        house.service.broker.emit(broker::Event::new("alert.firing").with_text("rule", "long"));
        let alert = reader.expect("alert").await;
        assert_eq!((&alert["event"], &alert["about"]["rule"]), (&json!("alert.firing"), &json!("long")));
    });
}
