//! Connections that wait for the journal: which thread writes what they wait for, and when.

use std::time::{Duration, Instant};

use amqp::frame::{FrameKind, PROTOCOL_HEADER, frame_head, put_method};
use amqp::method::{EncodeMethod, basic, channel, confirm, connection, tx};
use amqp::table::Table;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::node::Node;

/// basic.ack of one publish.
fn ack_of(seq: u8) -> [u8; 21] {
    [1, 0, 1, 0, 0, 0, 13, 0, 60, 0, 80, 0, 0, 0, 0, 0, 0, 0, seq, 0, 0xCE]
}

/// A client with a socket, as a program has it.
struct SocketClient {
    socket: TcpStream,
    /// The same socket, to be read while no task runs.
    plain: std::net::TcpStream,
    out: Vec<u8>,
}

impl SocketClient {
    async fn connect(node: &Node) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let plain = std::net::TcpStream::connect(listener.local_addr().expect("an address")).expect("a connection");
        plain.set_nonblocking(true).expect("a socket");
        let socket = TcpStream::from_std(plain.try_clone().expect("a file")).expect("a socket");
        let (accepted, _) = listener.accept().await.expect("a connection");
        tokio::spawn(node.broker.clone().serve(net::Stream::Tcp(accepted)));
        let mut client = SocketClient { socket, plain, out: PROTOCOL_HEADER.to_vec() };
        client.put(
            0,
            &connection::StartOk {
                client_properties: Table::default(),
                mechanism: b"PLAIN",
                response: b"\0guest\0guest",
                locale: b"en_US",
            },
        );
        client.put(0, &connection::TuneOk { channel_max: 2047, frame_max: 131_072, heartbeat: 0 });
        client.put(0, &connection::Open { virtual_host: b"/", ..Default::default() });
        client.put(1, &channel::Open::default());
        // channel.open-ok.
        client.call(&[1, 0, 1, 0, 0, 0, 8, 0, 20, 0, 11, 0, 0, 0, 0, 0xCE]).await;
        client
    }

    fn put<M: EncodeMethod>(&mut self, channel: u16, method: &M) {
        put_method(&mut self.out, channel, method);
    }

    fn publish(&mut self, queue: &[u8]) {
        self.put(1, &basic::Publish { routing_key: queue, ..Default::default() });
        // One byte, persistent.
        let header = [0, 60, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0x10, 0, 2];
        for (kind, payload) in [(FrameKind::Header, &header[..]), (FrameKind::Body, b"x")] {
            self.out.extend_from_slice(&frame_head(kind, 1, payload.len() as u32));
            self.out.extend_from_slice(payload);
            self.out.push(0xCE);
        }
    }

    /// Sends what has been put, and reads up to and including these bytes.
    async fn call(&mut self, end: &[u8]) {
        self.send().await;
        let mut read = Vec::new();
        while !read.ends_with(end) {
            read.push(self.socket.read_u8().await.expect("more to read"));
        }
    }

    async fn send(&mut self) {
        self.socket.write_all(&std::mem::take(&mut self.out)).await.expect("room");
    }

    /// What has come, without any task being run meanwhile.
    fn read_now(&self) -> Vec<u8> {
        let mut bytes = [0; 100];
        let read = std::io::Read::read(&mut &self.plain, &mut bytes);
        bytes[..read.unwrap_or(0)].to_vec()
    }

    /// The same, once something has come: the kernel may take its time.
    fn read_soon(&self) -> Vec<u8> {
        let until = Instant::now() + Duration::from_secs(60);
        loop {
            let read = self.read_now();
            if !read.is_empty() || Instant::now() > until {
                return read;
            }
            std::thread::yield_now();
        }
    }
}

async fn run_until(mut is_done: impl FnMut() -> bool) {
    for _ in 0..100_000 {
        if is_done() {
            return;
        }
        tokio::task::yield_now().await;
    }
    panic!("it never happens");
}

fn is_all_durable(node: &Node) -> bool {
    node.broker.engine.store.durable() == node.broker.engine.store.appended()
}

/// A node with a queue, all of which is on the disk.
fn node_with_queue() -> Node {
    let node = Node::new();
    node.connect().declare("q");
    node.sync();
    node
}

#[tokio::test]
async fn a_confirm_that_is_alone_is_written_by_the_journal() {
    let node = node_with_queue();
    let mut client = SocketClient::connect(&node).await;
    client.put(1, &confirm::Select::default());
    client.call(&[0, 85, 0, 11, 0xCE]).await;
    client.publish(b"q");
    client.send().await;
    run_until(|| !is_all_durable(&node)).await;
    // Until its task has nothing to do.
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
    assert_eq!(client.read_now(), b"");
    node.sync();
    assert_eq!(client.read_soon(), ack_of(1));
    // Nothing is written twice, and the connection continues.
    client.publish(b"q");
    client.send().await;
    run_until(|| !is_all_durable(&node)).await;
    node.sync();
    client.call(&ack_of(2)).await;
}

#[tokio::test]
async fn what_is_more_than_a_confirm_is_left_to_the_connection() {
    let node = node_with_queue();
    let mut client = SocketClient::connect(&node).await;
    client.put(1, &tx::Select);
    client.call(&[0, 90, 0, 11, 0xCE]).await;
    client.publish(b"q");
    client.put(1, &tx::Commit);
    client.send().await;
    run_until(|| !is_all_durable(&node)).await;
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
    node.sync();
    assert_eq!(client.read_now(), b"");
    client.call(&[0, 90, 0, 21, 0xCE]).await;
}

#[tokio::test]
async fn tasks_are_woken_by_the_runtime_where_it_relays() {
    let node = node_with_queue();
    let relay = tokio::spawn(node.broker.clone().wake_for_journal());
    let store = node.broker.engine.store.clone();
    let journal = tokio::spawn(async move {
        loop {
            store.step_journal().expect("the disk works");
            tokio::task::yield_now().await;
        }
    });
    let mut clients = [SocketClient::connect(&node).await, SocketClient::connect(&node).await];
    for client in &mut clients {
        client.put(1, &confirm::Select::default());
        client.call(&[0, 85, 0, 11, 0xCE]).await;
    }
    for round in 1..=3 {
        // Both wait for one commit, or for one after the other.
        for client in &mut clients {
            client.publish(b"q");
            client.send().await;
        }
        for client in &mut clients {
            client.call(&ack_of(round)).await;
        }
    }
    relay.abort();
    assert!(relay.await.is_err());
    // Without it they are woken all the same.
    clients[0].publish(b"q");
    clients[0].call(&ack_of(4)).await;
    journal.abort();
}
