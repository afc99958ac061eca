//! Which side has to close the socket, and what is still read until then.

use crate::front::Protocol as _;
use std::time::{Duration, Instant};

use amqp::frame::{PROTOCOL_HEADER, put_method};
use amqp::method::{EncodeMethod, connection};
use amqp::table::Table;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use super::client::Heard;
use super::node::Node;
use crate::front::Phase;
use crate::limits::CLOSE_TIMEOUT_MAX;

const CLOSE_OK: [u8; 12] = [1, 0, 0, 0, 0, 0, 4, 0, 10, 0, 51, 0xCE];

pub(super) fn frame<M: EncodeMethod>(method: &M) -> Vec<u8> {
    let mut bytes = Vec::new();
    put_method(&mut bytes, 0, method);
    bytes
}

/// All that a client says until its connection is open.
pub(super) fn opening(heartbeat: u16) -> Vec<u8> {
    let start_ok = connection::StartOk {
        client_properties: Table::default(),
        mechanism: b"PLAIN",
        response: b"\0guest\0guest",
        locale: b"en_US",
    };
    [
        PROTOCOL_HEADER.to_vec(),
        frame(&start_ok),
        frame(&connection::TuneOk { channel_max: 2047, frame_max: 131_072, heartbeat }),
        frame(&connection::Open { virtual_host: b"/", ..Default::default() }),
    ]
    .concat()
}

/// A client's socket; its connection is served.
async fn connect(node: &Node) -> TcpStream {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let client = TcpStream::connect(listener.local_addr().expect("an address")).await.expect("a connection");
    let (accepted, _) = listener.accept().await.expect("a connection");
    tokio::spawn(node.broker.clone().serve(net::Stream::Tcp(accepted)));
    client
}

/// Reads up to and including these bytes.
async fn read_until(client: &mut TcpStream, end: &[u8]) {
    let mut read = Vec::new();
    while !read.ends_with(end) {
        read.push(client.read_u8().await.expect("more to read"));
    }
}

/// The end of the stream comes, in time and in peace.
async fn expect_end(client: &mut TcpStream) {
    let mut rest = Vec::new();
    let read = timeout(Duration::from_secs(10), client.read_to_end(&mut rest)).await.expect("the end in time");
    assert_eq!(read.expect("no reset"), 0);
}

#[tokio::test]
async fn the_socket_of_a_client_that_has_closed_is_its_own_to_close() {
    let node = Node::new();
    let mut client = connect(&node).await;
    client.write_all(&opening(0)).await.expect("room");
    client.write_all(&frame(&connection::Close { reply_code: 200, ..Default::default() })).await.expect("room");
    read_until(&mut client, &CLOSE_OK).await;
    let mut byte = [0];
    assert!(timeout(Duration::from_millis(100), client.read(&mut byte)).await.is_err(), "it is not over");
    // What comes too late is thrown away, as much of it as there is.
    client.write_all(&vec![0xCE; 4 << 20]).await.expect("the server reads on");
    assert_eq!(node.broker.connection_count(), 1);
    client.shutdown().await.expect("open");
    expect_end(&mut client).await;
}

#[tokio::test]
async fn the_words_with_which_the_server_closes_outlive_what_it_does_not_read() {
    let node = Node::new();
    let mut client = connect(&node).await;
    client.write_all(&opening(0)).await.expect("room");
    client.write_all(&frame(&connection::TuneOk::default())).await.expect("room");
    client.write_all(&frame(&connection::CloseOk)).await.expect("room");
    client.write_all(&vec![0xCE; 4 << 20]).await.expect("the server reads on");
    let mut read = Vec::new();
    client.read_to_end(&mut read).await.expect("no reset");
    let words = b"CHANNEL_ERROR - unexpected method";
    assert!(read.windows(words.len()).any(|window| window == words));
}

#[tokio::test]
async fn another_protocol_is_told_ours_however_much_it_has_said() {
    let node = Node::new();
    let mut client = connect(&node).await;
    client.write_all(b"GET / HTTP/1.1\r\n").await.expect("room");
    client.write_all(&vec![b'x'; 4 << 20]).await.expect("the server reads on");
    let mut header = [0; 8];
    client.read_exact(&mut header).await.expect("no reset");
    assert_eq!(header, PROTOCOL_HEADER);
    expect_end(&mut client).await;
}

#[test]
fn a_client_that_has_closed_is_answered_as_often_as_it_closes() {
    let node = Node::new();
    let mut client = node.connect();
    let close = connection::Close { reply_code: 200, ..Default::default() };
    client.send(0, &close);
    let Phase::Parting { until } = client.session.front.phase() else { panic!("{:?}", client.session.front.phase()) };
    assert!(until <= Instant::now() + CLOSE_TIMEOUT_MAX);
    client.send(0, &connection::Open { virtual_host: b"/", ..Default::default() });
    client.send(1, &amqp::method::queue::Declare { queue: b"late", ..Default::default() });
    client.send(0, &close);
    assert_eq!(client.hear(), [Heard::Other("connection.close-ok"), Heard::Other("connection.close-ok")]);
    let Phase::Parting { until: again } = client.session.front.phase() else {
        panic!("{:?}", client.session.front.phase())
    };
    assert_eq!(again, until, "it gains no time by that");
    assert_eq!(client.send_bytes(b"no frame at all"), 15);
    assert_eq!(client.hear(), []);
    client.session.close_by_server("shutdown");
    assert_eq!(client.hear(), []);
    assert!(matches!(client.session.front.phase(), Phase::Closed { until } if until <= Instant::now()));
}

#[test]
fn who_may_be_silent_for_less_has_less_time_to_close() {
    let node = Node::new();
    let mut client = node.accept("127.0.0.1:5");
    client.send_bytes(&opening(2));
    client.send(0, &connection::Close { reply_code: 200, ..Default::default() });
    assert!(
        matches!(client.session.front.phase(), Phase::Parting { until } if until <= Instant::now() + Duration::from_secs(2))
    );
}
