//! A node that does not lead hands its connections on to one that does. The link between them is a stub.

use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicBool, Ordering};

use net::proxy_protocol::Endpoints;
use net::{ClientTls, ClientTlsOptions, TlsInfo, Trust};
use rcgen::{CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::Mutex;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use super::situations::clustered;
use super::*;
use crate::node::{BrokerStop, EntryPoint, Forward, ForwardedConnection, Forwarding};

/// The end of connection.open-ok.
const OPEN_OK: &str = "\0\n\0\x29\0";

const FOLLOWER: &str = "hare2@localhost";

/// What one node reports to another about a connection.
type Facts = (EntryPoint, Endpoints, Option<TlsInfo>);

/// The way to the leader: facts are sent beside the sockets, in the order in which these connect.
#[derive(Debug)]
struct Link {
    address: SocketAddr,
    facts: Mutex<UnboundedSender<Facts>>,
    is_cut: AtomicBool,
    /// Of each connection, whether it is to end with this node's service to clients.
    are_clients: std::sync::Mutex<Vec<bool>>,
}

impl Forward for Link {
    fn forward(&self, connection: ForwardedConnection) -> Forwarding<'_> {
        Box::pin(async move {
            if self.is_cut.load(Ordering::Relaxed) {
                return Err(connection);
            }
            let ForwardedConnection { entry, stream, received, is_clients } = connection;
            self.are_clients.lock().unwrap().push(is_clients);
            let endpoints = Endpoints { peer: stream.peer_addr().unwrap(), local: stream.local_addr().unwrap() };
            let carrier = {
                let facts = self.facts.lock().await;
                let carrier = TcpStream::connect(self.address).await.unwrap();
                facts.send((entry, endpoints, stream.tls_info())).unwrap();
                carrier
            };
            let _ = net::splice(stream, received, carrier).await;
            Ok(())
        })
    }
}

/// A node that leads, and one that follows it.
struct Pair {
    leader: TestNode,
    follower: TestNode,
    link: Arc<Link>,
}

impl Pair {
    async fn start(test: &str, of_leader: &[&str], of_follower: &[&str]) -> Pair {
        let mut leader = TestNode::open(&format!("{test}-leader"), of_leader);
        leader.start().await;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let (tx, mut facts) = unbounded_channel::<Facts>();
        let (address, is_cut) = (listener.local_addr().unwrap(), AtomicBool::new(false));
        let link = Arc::new(Link { address, facts: Mutex::new(tx), is_cut, are_clients: Default::default() });
        let ingress = leader.node.ingress().clone();
        tokio::spawn(async move {
            while let Ok((carrier, _)) = listener.accept().await {
                let Some((entry, endpoints, tls)) = facts.recv().await else { return };
                let stream = net::Stream::forwarded(net::Stream::Tcp(carrier), endpoints, tls);
                // Closed where it is not let in.
                let _ = ingress.admit_forwarded(entry, stream, FOLLOWER);
            }
        });
        let follower = TestNode::open(&format!("{test}-follower"), of_follower);
        follower.node.set_situation(Situation::Forwarding(link.clone()));
        Pair { leader, follower, link }
    }

    /// The only connection that the leader lists.
    async fn listed(&self) -> Value {
        let answer = get(self.leader.api(), "/api/connections").await;
        let body = answer.split_once("\r\n\r\n").unwrap().1;
        let list: Value = serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {answer}"));
        assert_eq!(list.as_array().unwrap().len(), 1, "{list}");
        list[0].clone()
    }

    async fn close(self) {
        self.follower.close().await;
        self.leader.close().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_of_a_follower_are_served_by_the_leader() {
    let mut pair = Pair::start("plain", &[], &[]).await;
    let mut client = publisher(pair.follower.amqp()).await;
    for _ in 0..3 {
        publish(&mut client, &[7; 300_000]).await.unwrap();
    }
    let connection = pair.listed().await;
    // The client's own address, and the one that it connected to.
    assert_eq!(connection["port"], pair.follower.amqp().port());
    assert_eq!((&connection["peer_host"], &connection["ssl"]), (&"127.0.0.1".into(), &false.into()));
    client.consume(1, &amqp::basic::Consume { queue: b"q", no_ack: true, ..Default::default() }).await.unwrap();
    let delivered = async {
        loop {
            if let Some(Event::Delivered { content, .. }) = client.next_event().unwrap() {
                return content.body.to_vec();
            }
            client.turn().await.unwrap();
        }
    };
    assert_eq!(soon(delivered).await, [7; 300_000]);

    let mut stream = websocket(pair.follower.api()).await;
    for piece in handshake() {
        stream.write_all(&websocket_message(&piece)).await.unwrap();
    }
    read_until(&mut stream, OPEN_OK).await;
    let answer = get(pair.follower.api(), "/api/queues?columns=name").await;
    assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with(r#"[{"name":"q"}]"#), "{answer}");
    // Metrics are each node's own.
    let metrics = get(pair.follower.address("Prometheus metrics"), "/metrics").await;
    assert!(metrics.starts_with("HTTP/1.1 200") && !metrics.contains("rabbitmq_connections"), "{metrics}");

    let stop = BrokerStop::of_leadership("another node leads", true);
    let (stopped, told) = tokio::join!(pair.leader.node.stop_broker(stop, Situation::Waiting), closed(&mut client));
    stopped.unwrap();
    assert!(told.ends_with("320 CONNECTION_FORCED - another node leads"), "{told}");
    expect_end(&mut stream).await;
    pair.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_end_of_one_direction_goes_through() {
    let pair = Pair::start("half", &[], &[]).await;
    let mut stream = TcpStream::connect(pair.follower.amqp()).await.unwrap();
    let mut words = handshake().concat();
    amqp::frame::put_method(&mut words, 0, &amqp::connection::Close { reply_code: 200, ..Default::default() });
    stream.write_all(&words).await.unwrap();
    stream.shutdown().await.unwrap();
    let mut heard = Vec::new();
    soon(stream.read_to_end(&mut heard)).await.unwrap();
    // All was answered, and then the leader ended its direction.
    assert!(heard.ends_with(&[1, 0, 0, 0, 0, 0, 4, 0, 10, 0, 51, 0xCE]), "{heard:?}");
    pair.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_follower_answers_for_itself_and_forwards_the_rest_whole() {
    let mut pair = Pair::start("healthy", &[], &[]).await;
    let control = clustered(&mut pair.follower, FOLLOWER);
    control.show(|view| view.members[1].is_draining = true);
    let answer = get(pair.follower.api(), "/api/health/checks/is-in-service").await;
    assert!(answer.starts_with("HTTP/1.1 503") && answer.contains("this node is in maintenance mode"), "{answer}");
    // The leader is in none.
    assert!(get(pair.leader.api(), "/api/health/checks/is-in-service").await.starts_with("HTTP/1.1 200"));
    for is_cut in [false, true] {
        pair.link.is_cut.store(is_cut, Ordering::Relaxed);
        let asking = tokio::spawn(get(pair.follower.api(), "/api/whoami"));
        tokio::time::sleep(Duration::from_millis(50)).await;
        pair.link.is_cut.store(false, Ordering::Relaxed);
        let answer = soon(asking).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 200") && answer.contains(r#""name":"guest""#), "{answer}");
    }
    pair.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn orders_at_a_follower_are_about_it_and_the_leader_says_who_may() {
    let mut pair = Pair::start("ordered", &[], &[]).await;
    let of_follower = clustered(&mut pair.follower, FOLLOWER);
    // Before its next broker.
    let of_leader = clustered(&mut pair.leader, "hare1@localhost");
    pair.leader.node.stop_broker(BrokerStop::of_leadership("for a moment", false), Situation::Waiting).await.unwrap();
    pair.leader.start().await;
    let api = pair.follower.api();
    let post = async |path: &str, body: &str| order(TcpStream::connect(api).await.unwrap(), "POST", path, body).await;
    for answer in [post("/api/warren/cluster/drain", "").await, post("/api/warren/cluster/reset", "").await] {
        assert!(answer.starts_with("HTTP/1.1 204"), "{answer}");
    }
    let named = post("/api/warren/cluster/revive", r#"{"node":"hare3@localhost"}"#).await;
    assert!(named.starts_with("HTTP/1.1 204"), "{named}");
    let joined = post("/api/warren/cluster/join", r#"{"node":"hare3@localhost"}"#).await;
    assert!(joined.starts_with("HTTP/1.1 400") && joined.contains("belongs to cluster"), "{joined}");
    assert_eq!(of_leader.orders(), ["drain hare2@localhost", "reset hare2@localhost", "revive hare3@localhost"]);
    // So are all requests of a connection, whichever of them was the first one.
    let mut stream = TcpStream::connect(api).await.unwrap();
    let first = "GET /api/whoami HTTP/1.1\r\nhost: x\r\nauthorization: ".to_owned() + GUEST + "\r\n\r\n";
    stream.write_all(first.as_bytes()).await.unwrap();
    read_until(&mut stream, "\"guest\"").await;
    assert!(order(stream, "POST", "/api/warren/cluster/revive", "").await.contains("HTTP/1.1 204"));
    assert_eq!(of_leader.orders().last().unwrap(), "revive hare2@localhost");

    assert!(ask_operator(&pair.follower, "POST", "/api/warren/cluster/drain", "").await.starts_with("HTTP/1.1 204"));
    assert_eq!((of_follower.orders(), of_leader.orders().len()), (vec!["drain".to_owned()], 4));
    pair.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_operator_of_a_follower_needs_no_password() {
    let pair = Pair::start("operator", &[], &[]).await;
    let answer = ask_operator(&pair.follower, "GET", "/api/whoami", "").await;
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("local-operator"), "{answer}");
    pair.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_proxys_client_is_known_to_the_leader() {
    let pair = Pair::start("proxied", &["loopback_users.guest=false"], &["proxy_protocol=true"]).await;
    let mut stream = TcpStream::connect(pair.follower.amqp()).await.unwrap();
    stream.write_all(b"PROXY TCP4 198.51.100.7 192.0.2.9 4711 5672\r\n").await.unwrap();
    let uri = Uri::parse("amqp://guest:guest@127.0.0.1").unwrap();
    let stream = net::Stream::Tcp(stream);
    let _client = soon(Connection::over(stream, &uri, &ConnectOptions::default())).await.unwrap();
    let connection = pair.listed().await;
    let shown = ["peer_host", "peer_port", "host", "port"].map(|name| connection[name].to_string());
    assert_eq!(shown, ["\"198.51.100.7\"", "4711", "\"192.0.2.9\"", "5672"]);
    pair.close().await;
}

/// Files of an authority, and of what it signed.
fn certificates(names: &[&str]) -> PathBuf {
    let dir = std::env::temp_dir().join(format!("warren-node-{}-certificates", std::process::id()));
    fs::create_dir_all(&dir).unwrap();
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    fs::write(dir.join("ca.pem"), issuer.pem()).unwrap();
    for name in names {
        let mut params = CertificateParams::new(vec![(*name).to_owned()]).unwrap();
        params.distinguished_name = rcgen::DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, *name);
        let key = KeyPair::generate().unwrap();
        fs::write(dir.join(format!("{name}.pem")), params.signed_by(&key, &issuer).unwrap().pem()).unwrap();
        fs::write(dir.join(format!("{name}.key")), key.serialize_pem()).unwrap();
    }
    dir
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_certificate_logs_its_owner_in_at_the_leader() {
    let files = certificates(&["localhost", "guest"]);
    let file = |name: &str| files.join(name).display().to_string();
    let of_follower = [
        "listeners.ssl.default=127.0.0.1:0".to_owned(),
        format!("ssl_options.cacertfile={}", file("ca.pem")),
        format!("ssl_options.certfile={}", file("localhost.pem")),
        format!("ssl_options.keyfile={}", file("localhost.key")),
        "ssl_options.verify=verify_peer".to_owned(),
        "ssl_options.fail_if_no_peer_cert=true".to_owned(),
    ];
    let of_follower: Vec<&str> = of_follower.iter().map(String::as_str).collect();
    let of_leader = ["auth_mechanisms.1=EXTERNAL", "auth_mechanisms.2=PLAIN", "ssl_cert_login_from=common_name"];
    let pair = Pair::start("certified", &of_leader, &of_follower).await;
    let tls =
        pair.follower.node.listening().iter().find(|listening| listening.protocol == AMQP && listening.tls.is_some());
    let ListenerAddress::Tcp(address) = tls.unwrap().address else { panic!("a port") };
    let trust = ClientTlsOptions {
        identity: Some(net::Identity { chain: files.join("guest.pem"), key: files.join("guest.key"), password: None }),
        ..ClientTlsOptions::trusting(Trust::File(files.join("ca.pem")))
    };
    let options = ConnectOptions {
        tls: Some(ClientTls::new(&trust).unwrap()),
        mechanism: amqp_client::Mechanism::External,
        ..ConnectOptions::default()
    };
    let uri = Uri::parse(&format!("amqps://localhost:{}", address.port())).unwrap();
    let _client = soon(Connection::open(&uri, &options)).await.unwrap();
    let connection = pair.listed().await;
    let shown =
        ["ssl", "ssl_protocol", "peer_cert_subject", "user", "auth_mechanism"].map(|name| connection[name].to_string());
    assert_eq!(shown, ["true", "\"tlsv1.3\"", "\"CN=guest\"", "\"guest\"", "\"EXTERNAL\""]);
    pair.close().await;
    fs::remove_dir_all(files).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_that_finds_no_leader_is_held_until_there_is_one() {
    let pair = Pair::start("unreachable", &[], &[]).await;
    pair.link.is_cut.store(true, Ordering::Relaxed);
    let address = pair.follower.amqp();
    let waiting = tokio::spawn(publisher(address));
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(!waiting.is_finished());
    pair.link.is_cut.store(false, Ordering::Relaxed);
    publish(&mut soon(waiting).await.unwrap(), b"x").await.unwrap();
    pair.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_forwarded_to_a_node_that_serves_none_is_closed() {
    let mut pair = Pair::start("deposed", &[], &[]).await;
    let stop = BrokerStop::of_leadership("another node leads", false);
    let leader = Situation::Forwarding(pair.link.clone());
    // It takes itself for a follower, and its link leads back to it.
    pair.leader.node.stop_broker(stop, leader).await.unwrap();
    assert!(matches!(connect(pair.follower.amqp()).await.map(drop), Err(OpenError::Lost { .. })));
    pair.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_forwarded_to_a_node_that_is_about_to_lead_is_held() {
    let mut pair = Pair::start("elected", &[], &[]).await;
    for before in [Situation::Waiting, Situation::Forwarding(pair.link.clone())] {
        // That it leads is known to its peers before it serves, and perhaps before it knows it itself.
        let stop = BrokerStop::of_leadership("for a moment", false);
        pair.leader.node.stop_broker(stop, before).await.unwrap();
        let waiting = tokio::spawn(publisher(pair.follower.amqp()));
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert!(!waiting.is_finished());
        pair.leader.start().await;
        publish(&mut soon(waiting).await.unwrap(), b"x").await.unwrap();
    }
    pair.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_drained_follower_has_no_clients_over_websockets_either() {
    let mut pair = Pair::start("drained", &[], &[]).await;
    clustered(&mut pair.follower, FOLLOWER);
    let api = pair.follower.api();
    let open = websocket(api).await;
    assert!(get(api, "/api/whoami").await.starts_with("HTTP/1.1 200"));
    assert_eq!(*pair.link.are_clients.lock().unwrap(), [true, false], "what is to be cut");
    pair.follower.node.ingress().refuse_own(Some("this node is in maintenance mode".into()));
    let mut stream = websocket(api).await;
    for piece in handshake() {
        stream.write_all(&websocket_message(&piece)).await.unwrap();
    }
    read_until(&mut stream, "this node is in maintenance mode").await;
    drop(stream);
    assert!(get(api, "/api/whoami").await.starts_with("HTTP/1.1 200"));
    drop(open);
    pair.close().await;
}
