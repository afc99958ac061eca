//! The proxy with real sockets, between real clients and brokers that are played.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use amqp_client::{CallError, Closed, ConnectOptions, Connection, OpenError, Route, Uri};
use net::{Admission, Listener, SocketOptions};
use proxy::service::{Service, Upstream};
use proxy::switchboard::Options;
use proxy::{balance, guard};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::AbortHandle;

use crate::broker::BrokerConnection;

/// A broker on a port of its own.
struct PlayedBroker {
    address: SocketAddr,
    connections: Arc<Mutex<Vec<Arc<Mutex<BrokerConnection>>>>>,
    tasks: Arc<Mutex<Vec<AbortHandle>>>,
    /// What its next connections are like.
    new: Arc<Mutex<fn() -> BrokerConnection>>,
}

impl PlayedBroker {
    async fn start() -> Self {
        Self::listen(TcpListener::bind("127.0.0.1:0").await.unwrap())
    }

    fn listen(listener: TcpListener) -> Self {
        let address = listener.local_addr().unwrap();
        let (connections, tasks) = (Arc::<Mutex<Vec<_>>>::default(), Arc::<Mutex<Vec<AbortHandle>>>::default());
        let new = Arc::new(Mutex::new(BrokerConnection::new as fn() -> BrokerConnection));
        let (of_connections, of_tasks, of_new) = (connections.clone(), tasks.clone(), new.clone());
        let accepting = tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let connection = Arc::new(Mutex::new(of_new.lock().unwrap()()));
                of_connections.lock().unwrap().push(connection.clone());
                of_tasks.lock().unwrap().push(tokio::spawn(play(stream, connection)).abort_handle());
            }
        });
        tasks.lock().unwrap().push(accepting.abort_handle());
        PlayedBroker { address, connections, tasks, new }
    }

    async fn start_like(new: fn() -> BrokerConnection) -> Self {
        let broker = Self::start().await;
        broker.becomes(new);
        broker
    }

    /// Its next connections are like that.
    fn becomes(&self, new: fn() -> BrokerConnection) {
        *self.new.lock().unwrap() = new;
    }

    fn connection_count(&self, vhost: &str) -> usize {
        let connections = self.connections.lock().unwrap();
        connections.iter().filter(|connection| connection.lock().unwrap().vhost == vhost).count()
    }

    /// It dies, and all its connections with it.
    fn kill(&self) {
        self.tasks.lock().unwrap().drain(..).for_each(|task| task.abort());
    }

    fn bodies(&self) -> Vec<String> {
        let connections = self.connections.lock().unwrap();
        let published = connections.iter().flat_map(|connection| connection.lock().unwrap().published.clone());
        published.map(|message| String::from_utf8(message.body).unwrap()).collect()
    }
}

async fn play(mut stream: TcpStream, connection: Arc<Mutex<BrokerConnection>>) {
    let mut bytes = vec![0; 65_536];
    loop {
        let Ok(len) = stream.read(&mut bytes).await else { return };
        if len == 0 {
            return;
        }
        let (output, is_closed) = {
            let mut connection = connection.lock().unwrap();
            connection.receive(&bytes[..len]);
            (std::mem::take(&mut connection.output), connection.is_closed())
        };
        if stream.write_all(&output).await.is_err() || is_closed {
            return;
        }
    }
}

fn upstream(name: &str, address: SocketAddr) -> Upstream {
    Upstream {
        name: name.to_owned(),
        host: address.ip().to_string(),
        port: address.port(),
        tls: None,
        proxy_protocol: None,
        dial_timeout: Duration::from_secs(5),
        health_login: None,
        weight: 1,
        vhosts: Vec::new(),
    }
}

async fn start(upstreams: Vec<Upstream>) -> (Service, Uri) {
    start_with(upstreams, Options::default()).await
}

async fn start_with(upstreams: Vec<Upstream>, options: Options) -> (Service, Uri) {
    let listener = Listener::bind("127.0.0.1:0".parse().unwrap(), SocketOptions::default()).unwrap();
    let uri = Uri::parse(&format!("amqp://u:right@{}", listener.local_addr().unwrap())).unwrap();
    let balance = balance::Options { check_interval_ms: 0, ..balance::Options::default() };
    let listeners = vec![(listener, Admission::default())];
    (Service::start(listeners, upstreams, balance, guard::Options::default(), &options, None, 2).unwrap(), uri)
}

async fn publish(uri: &Uri, body: &str) {
    let mut connection = Connection::open(uri, &ConnectOptions::default()).await.unwrap();
    connection.open_channel(1).await.unwrap();
    connection.publish(1, &Route::new(b"", b"q", false).unwrap(), &[0, 0], body.as_bytes());
    connection.close_channel(1).await.unwrap();
    assert!(connection.close(Duration::from_secs(5)).await);
}

#[tokio::test]
async fn many_clients_publish_over_few_connections() {
    let broker = PlayedBroker::start().await;
    let (service, uri) = start(vec![upstream("one", broker.address)]).await;
    let expected: Vec<String> = (0..200).map(|number| number.to_string()).collect();
    for body in &expected {
        publish(&uri, body).await;
    }
    let reports = service.handle().reports().await;
    service.wait_for_confirms().await;
    service.stop().await;
    let mut bodies = broker.bodies();
    bodies.sort_by_key(|body| body.parse::<u32>().unwrap());
    assert_eq!(bodies, expected);
    assert!(broker.connections.lock().unwrap().len() <= 2, "one for each thread");
    assert_eq!(reports.iter().map(|report| report.counters.published).sum::<u64>(), 200);
}

#[tokio::test]
async fn threads_are_no_more_than_connections_may_be() {
    let broker = PlayedBroker::start().await;
    let options = Options { upstream_connection_max: 3, ..Options::default() };
    let listener = Listener::bind("127.0.0.1:0".parse().unwrap(), SocketOptions::default()).unwrap();
    let service = Service::start(
        vec![(listener, Admission::default())],
        vec![upstream("one", broker.address)],
        balance::Options::default(),
        guard::Options::default(),
        &options,
        None,
        8,
    );
    let service = service.unwrap();
    assert_eq!(service.handle().reports().await.len(), 3);
    service.stop().await;
}

#[tokio::test]
async fn a_wrong_password_is_refused_by_the_upstream() {
    let broker = PlayedBroker::start().await;
    let (service, uri) = start(vec![upstream("one", broker.address)]).await;
    let wrong = Uri { password: "wrong".to_owned(), ..uri };
    let refused = Connection::open(&wrong, &ConnectOptions::default()).await.unwrap_err();
    assert!(matches!(&refused, OpenError::LoginRefused { text, .. } if text == "ACCESS_REFUSED - no"), "{refused:?}");
    service.stop().await;
}

#[tokio::test]
async fn another_upstream_takes_over() {
    let (first, second) = (PlayedBroker::start().await, PlayedBroker::start().await);
    let backup = Upstream { weight: 0, ..upstream("second", second.address) };
    let (service, uri) = start(vec![upstream("first", first.address), backup]).await;
    let mut connection = Connection::open(&uri, &ConnectOptions::default()).await.unwrap();
    connection.open_channel(1).await.unwrap();
    connection.select_confirms(1).await.unwrap();
    first.kill();
    while service.handle().reports().await.iter().all(|report| report.counters.connections_lost == 0) {
        tokio::task::yield_now().await;
    }
    // The upstream it was connected to is lost, and it has nothing under way: it continues where there is an upstream.
    connection.publish(1, &Route::new(b"", b"q", false).unwrap(), &[0, 0], b"after");
    while second.bodies().is_empty() {
        connection.turn().await.unwrap();
    }
    assert_eq!(second.bodies(), ["after"]);
    drop(connection);
    service.stop().await;
}

#[tokio::test]
async fn clients_are_told_when_the_proxy_stops() {
    let broker = PlayedBroker::start().await;
    let (mut service, uri) = start(vec![upstream("one", broker.address)]).await;
    let mut connection = Connection::open(&uri, &ConnectOptions::default()).await.unwrap();
    service.stop_listening();
    let (closed, ()) = tokio::join!(connection.open_channel(1), async {
        service.wait_for_clients(Some(Duration::ZERO)).await;
    });
    closed.unwrap();
    let (told, ()) = tokio::join!(connection.answer(1), service.close_clients(Some(Duration::from_millis(100))));
    let is_told = matches!(&told, Err(CallError::Closed(Closed::ByBroker { code: 320, .. })));
    assert!(is_told, "{told:?}");
    service.stop().await;
}

const V_IS_DOWN: &str = "INTERNAL_ERROR - access to vhost 'v' refused for user 'u': vhost 'v' is down";

fn without_v() -> BrokerConnection {
    BrokerConnection::with_vhost_down("v")
}

async fn open(uri: &Uri, vhost: &str) -> Result<Connection, OpenError> {
    Connection::open(&Uri { vhost: vhost.to_owned(), ..uri.clone() }, &ConnectOptions::default()).await
}

#[tokio::test]
async fn a_vhost_that_is_down_leaves_its_upstream_to_the_others() {
    let broker = PlayedBroker::start_like(without_v).await;
    let options = Options { upstream_wait_ms: 3_000, ..Options::default() };
    let (service, uri) = start_with(vec![upstream("one", broker.address)], options).await;
    publish(&uri, "before").await;
    let Err(OpenError::Refused { code: 320, text, .. }) = open(&uri, "v").await else { panic!("it is not let in") };
    assert!(text.ends_with(&format!(": {V_IS_DOWN}")), "{text}");
    let asked = broker.connection_count("v");
    assert!(asked >= 2, "it was asked {asked} times");
    let shown = service.handle().upstreams().remove(0);
    assert_eq!((shown.state, shown.connection_count), (balance::State::Up, 1));
    assert_eq!(service.handle().unready(), None);
    publish(&uri, "after").await;
    broker.becomes(BrokerConnection::new);
    // When it is asked again is for the back-off to say, which may be longer than clients wait here.
    while let Err(OpenError::Refused { code: 320, .. }) = open(&uri, "v").await {}
    service.wait_for_confirms().await;
    service.stop().await;
    assert_eq!(broker.bodies(), ["before", "after"]);
}

#[tokio::test]
async fn a_vhost_that_is_down_somewhere_is_elsewhere() {
    let (first, second) = (PlayedBroker::start_like(without_v).await, PlayedBroker::start().await);
    let backup = Upstream { weight: 0, ..upstream("second", second.address) };
    let (service, uri) = start(vec![upstream("first", first.address), backup]).await;
    for _ in 0..10 {
        drop(open(&uri, "v").await.unwrap());
        publish(&uri, "here").await;
    }
    assert!(second.connection_count("v") > 0 && second.connection_count("/") == 0);
    assert!(first.connection_count("v") < 10, "it is not asked each time");
    let states: Vec<balance::State> = service.handle().upstreams().iter().map(|shown| shown.state).collect();
    assert_eq!(states, [balance::State::Up; 2]);
    service.stop().await;
}

#[tokio::test]
async fn an_upstream_that_is_full_is_down_for_all() {
    const FULL: &str = "NOT_ALLOWED - connection refused: node connection limit (1) is reached";
    let broker = PlayedBroker::start_like(|| BrokerConnection::refusing(530, FULL)).await;
    let options = Options { upstream_wait_ms: 3_000, ..Options::default() };
    let (service, uri) = start_with(vec![upstream("one", broker.address)], options).await;
    let Err(OpenError::Refused { code: 320, text, .. }) = open(&uri, "v").await else { panic!("it is not let in") };
    assert!(text.ends_with(&format!(": {FULL}")) || text.ends_with("all upstreams are down"), "{text}");
    assert_eq!(service.handle().upstreams()[0].state, balance::State::Down);
    service.stop().await;
}
