//! A node whose broker starts and stops, with real sockets, clients and files.

#[path = "../../../../cluster/tests/it/fake_control.rs"]
mod fake_control;
mod federation;
mod forwarded;
mod link_files;
mod modes;
mod rounds;
mod shovels;
mod situations;

use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Weak};
use std::time::Duration;

use amqp::queue;
use amqp_client::{Closed, ConnectOptions, Connection, Event, OpenError, Route, Uri};
use management::LogControl;
use model::config::Config;
use net::ListenerAddress;
use store::Store;
use store::file::RealDisk;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::{Node, OpenListeners, Situation};
use crate::broker_options;
use crate::listener_summary::AMQP;
use crate::tls::TlsFiles;

/// How long anything may take that is to happen soon.
const SOON: Duration = Duration::from_secs(30);

/// A name and a password, as HTTP has them.
const GUEST: &str = "Basic Z3Vlc3Q6Z3Vlc3Q=";

/// A node on ports that the system chose, with a directory of its own.
struct TestNode {
    node: Node,
    config: Arc<Config>,
    dir: PathBuf,
}

impl TestNode {
    /// One that listens, and has no broker.
    fn open(test: &str, settings: &[&str]) -> TestNode {
        let dir = std::env::temp_dir().join(format!("warren-node-{}-{test}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(&dir).unwrap();
        let usual = [
            "listeners.tcp.default=127.0.0.1:0",
            "management.tcp.ip=127.0.0.1",
            "management.tcp.port=0",
            "prometheus.tcp.ip=127.0.0.1",
            "prometheus.tcp.port=0",
            "warren.journal.file_size=4MiB",
        ];
        let sets: Vec<String> = usual.iter().chain(settings).map(|set| (*set).to_owned()).collect();
        let (config, _) = Config::parse(&[], &[], &sets).unwrap();
        let config = Arc::new(config);
        let listeners = OpenListeners::open(&config, &mut TlsFiles::default()).unwrap();
        let log = LogControl { set_level: Box::new(|_| ()), recent: management::RecentLines::new(1, 1) };
        let mut node = Node::new(config.clone(), &dir, listeners, 1000, log).unwrap();
        node.listen();
        TestNode { node, config, dir }
    }

    /// Starts a broker over what is in the directory. What is given is alive as long as its store is.
    async fn start(&mut self) -> Weak<Store> {
        let options = broker_options::store_options(&self.config, &self.dir).unwrap();
        let (store, recovered) = Store::open(options, Arc::new(RealDisk)).unwrap();
        let weak = Arc::downgrade(&store);
        self.node.start_broker(store, recovered).await.unwrap();
        weak
    }

    /// The address of the first listener that speaks this.
    fn address(&self, protocol: &str) -> SocketAddr {
        let found = self.node.listening().iter().find(|listening| listening.protocol == protocol);
        match &found.unwrap_or_else(|| panic!("nothing speaks {protocol}")).address {
            ListenerAddress::Tcp(address) => *address,
            ListenerAddress::Unix(path) => panic!("{}", path.display()),
        }
    }

    fn amqp(&self) -> SocketAddr {
        self.address(AMQP)
    }

    fn api(&self) -> SocketAddr {
        self.address("HTTP API")
    }

    /// Ends with its process.
    async fn close(self) {
        self.node.shut_down(Duration::from_millis(100), std::future::pending()).await.unwrap();
        fs::remove_dir_all(&self.dir).unwrap();
    }
}

async fn soon<T>(act: impl Future<Output = T>) -> T {
    tokio::time::timeout(SOON, act).await.expect("soon")
}

/// Waits until `is_so` holds.
async fn until(mut is_so: impl FnMut() -> bool) {
    soon(async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    })
    .await;
}

async fn connect(address: SocketAddr) -> Result<Connection, OpenError> {
    connect_as("guest", address).await
}

async fn connect_as(user: &str, address: SocketAddr) -> Result<Connection, OpenError> {
    let uri = Uri::parse(&format!("amqp://{user}:{user}@{address}")).unwrap();
    soon(Connection::open(&uri, &ConnectOptions { timeout: SOON, ..ConnectOptions::default() })).await
}

/// A client with channel 1, on which publishes are confirmed, and the durable queue `q`.
async fn publisher(address: SocketAddr) -> Connection {
    let mut connection = connect(address).await.unwrap();
    connection.open_channel(1).await.unwrap();
    let declare = queue::Declare { queue: b"q", durable: true, ..Default::default() };
    connection.declare_queue(1, &declare).await.unwrap();
    connection.select_confirms(1).await.unwrap();
    connection
}

/// Flags for delivery-mode, and 2.
const PERSISTENT: &[u8] = &[0x10, 0, 2];

/// Publishes a persistent message and waits for its confirm.
async fn publish(connection: &mut Connection, body: &[u8]) -> Result<(), Closed> {
    connection.publish(1, &Route::new(b"", b"q", false).unwrap(), PERSISTENT, body);
    loop {
        while let Some(event) = connection.next_event()? {
            if let Event::Confirmed { is_ack: true, .. } = event {
                return Ok(());
            }
        }
        connection.turn().await?;
    }
}

/// Waits until the broker closes the connection: what it says.
async fn closed(connection: &mut Connection) -> String {
    let closing = async {
        loop {
            match connection.next_event() {
                Ok(Some(_)) => {}
                Ok(None) => {
                    if let Err(closed) = connection.turn().await {
                        return closed.to_string();
                    }
                }
                Err(closed) => return closed.to_string(),
            }
        }
    };
    soon(closing).await
}

/// The whole answer to a request.
async fn get(address: SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    ask(&mut stream, path, "connection: close\r\n").await;
    let mut answer = Vec::new();
    soon(stream.read_to_end(&mut answer)).await.unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

/// The answer to guest's last request on a connection.
async fn order(stream: TcpStream, method: &str, path: &str, body: &str) -> String {
    end_with(stream, method, path, &format!("authorization: {GUEST}\r\n"), body).await
}

async fn end_with(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    method: &str,
    path: &str,
    headers: &str,
    body: &str,
) -> String {
    let request = format!(
        "{method} {path} HTTP/1.1\r\nhost: x\r\n{headers}connection: close\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len(),
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    soon(stream.read_to_string(&mut answer)).await.unwrap();
    answer
}

/// The answer at the socket in the data directory.
async fn ask_operator(house: &TestNode, method: &str, path: &str, body: &str) -> String {
    let stream = tokio::net::UnixStream::connect(house.dir.join("control.sock")).await.unwrap();
    end_with(stream, method, path, "", body).await
}

async fn ask(stream: &mut TcpStream, path: &str, headers: &str) {
    let request = format!("GET {path} HTTP/1.1\r\nhost: x\r\nauthorization: {GUEST}\r\n{headers}\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
}

/// Reads until this has come; all that has.
async fn read_until(stream: &mut TcpStream, end: &str) -> Vec<u8> {
    let mut read = Vec::new();
    let reading = async {
        while !read.windows(end.len()).any(|window| window == end.as_bytes()) {
            assert!(stream.read_buf(&mut read).await.unwrap() > 0, "{:?}", String::from_utf8_lossy(&read));
        }
    };
    soon(reading).await;
    read
}

/// Waits for the end of what comes.
async fn expect_end(stream: &mut TcpStream) {
    let mut rest = Vec::new();
    // A reset is an end, too.
    let _ = soon(stream.read_to_end(&mut rest)).await;
}

/// Opens a WebSocket for AMQP.
async fn websocket(address: SocketAddr) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let headers = "connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n\
                   sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\nsec-websocket-protocol: amqp\r\n";
    ask(&mut stream, "/ws", headers).await;
    let answer = read_until(&mut stream, "\r\n\r\n").await;
    assert!(answer.starts_with(b"HTTP/1.1 101"), "{}", String::from_utf8_lossy(&answer));
    stream
}

/// A masked binary message; the mask is zero.
fn websocket_message(content: &[u8]) -> Vec<u8> {
    let len = u8::try_from(content.len()).ok().filter(|len| *len < 126).expect("a short message");
    [&[0x82, len | 0x80, 0, 0, 0, 0], content].concat()
}

/// All that a client says until it opens its vhost, a piece for each answer.
fn handshake() -> [Vec<u8>; 2] {
    let start_ok = amqp::connection::StartOk {
        client_properties: amqp::table::Table::default(),
        mechanism: b"PLAIN",
        response: b"\0guest\0guest",
        locale: b"en_US",
    };
    let mut answers = Vec::new();
    amqp::frame::put_method(&mut answers, 0, &start_ok);
    let tune_ok = amqp::connection::TuneOk { channel_max: 2047, frame_max: 131_072, heartbeat: 0 };
    amqp::frame::put_method(&mut answers, 0, &tune_ok);
    let open = amqp::connection::Open { virtual_host: b"/", ..Default::default() };
    amqp::frame::put_method(&mut answers, 0, &open);
    [amqp::frame::PROTOCOL_HEADER.to_vec(), answers]
}

fn refusing(reason: &str) -> Situation {
    Situation::Refusing(reason.into())
}
