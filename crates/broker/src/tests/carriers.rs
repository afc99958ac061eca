//! A connection over what is not a socket: all that was written leaves, and the end is an end.

use net::proxy_protocol::Endpoints;
use net::websocket;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};

use super::node::Node;

/// A client's end of a WebSocket that the broker serves.
fn connect(node: &Node) -> DuplexStream {
    let (client, server) = tokio::io::duplex(64 << 10);
    let address = |port| ([127, 0, 0, 1], port).into();
    let stream = websocket::stream(server, Endpoints { peer: address(1), local: address(2) }, None);
    tokio::spawn(node.broker.clone().serve(stream));
    client
}

/// A masked binary message; the mask is zero.
fn message(content: &[u8]) -> Vec<u8> {
    let len = u8::try_from(content.len()).expect("a short message") | 0x80;
    [&[0x82, len, 0, 0, 0, 0], content].concat()
}

/// The next frame: its opcode and its content.
async fn frame(client: &mut DuplexStream) -> (u8, Vec<u8>) {
    let opcode = client.read_u8().await.expect("a frame") & 0xf;
    let len = match client.read_u8().await.expect("a length") {
        126 => usize::from(client.read_u16().await.expect("a length")),
        len => usize::from(len),
    };
    let mut content = vec![0; len];
    client.read_exact(&mut content).await.expect("a content");
    (opcode, content)
}

#[tokio::test]
async fn connection_start_comes_over_websocket() {
    let node = Node::new();
    let mut client = connect(&node);
    client.write_all(&message(b"AMQP")).await.expect("room");
    client.write_all(&message(b"\0\0\x09\x01")).await.expect("room");
    let (opcode, content) = frame(&mut client).await;
    assert_eq!(opcode, 2, "binary");
    assert_eq!((content[0], &content[7..11]), (1, &[0, 10, 0, 10][..]), "connection.start");
}

#[tokio::test]
async fn another_protocol_is_answered_and_closed_over_websocket() {
    let node = Node::new();
    let mut client = connect(&node);
    client.write_all(&message(b"AMQP\0\x01\0\0")).await.expect("room");
    assert_eq!(frame(&mut client).await, (2, b"AMQP\0\0\x09\x01".to_vec()));
    assert_eq!(frame(&mut client).await.0, 8, "close");
}
