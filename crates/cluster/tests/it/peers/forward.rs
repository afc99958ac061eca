//! Clients' streams that pass through another node.

use std::future::poll_fn;
use std::net::SocketAddr;
use std::task::Poll;
use std::thread;

use cluster::ForwardError;
use cluster::wire::{ForwardHeader, ListenerKind};
use net::{Stream, TlsInfo};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::runtime::{Builder, Runtime};

use super::node::{Heard, Node, link, place};
use crate::nodes::name;

const LEN: usize = 10_000_000;

pub(crate) fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

pub(crate) fn header() -> ForwardHeader {
    ForwardHeader {
        listener: ListenerKind::Amqp,
        number: 2,
        peer: "192.0.2.7:40000".parse().unwrap(),
        local: "192.0.2.1:5671".parse().unwrap(),
        tls: TlsInfo::named("tlsv1.3", "aes_256_gcm", "any", "aead"),
    }
}

fn bytes(seed: u32) -> Vec<u8> {
    (0..LEN as u32).map(|number| (number.wrapping_mul(seed) >> 11) as u8).collect()
}

/// Sends all, ends its direction, and reads the other to its end.
async fn exchange(stream: Stream, sent: Vec<u8>) -> Vec<u8> {
    let (mut reader, mut writer) = tokio::io::split(stream);
    let writing = async {
        writer.write_all(&sent).await.unwrap();
        writer.shutdown().await.unwrap();
    };
    let mut received = Vec::new();
    let reading = async {
        reader.read_to_end(&mut received).await.unwrap();
    };
    tokio::join!(writing, reading);
    received
}

/// Serves the client that comes to `to`, on a runtime of its own, and passes one on from `from`.
pub(crate) fn check_exchange(from: &Node, to: &Node) {
    let (here, there) = (bytes(7), bytes(11));
    let passing = {
        let (name, sent) = (to.name(), here.clone());
        let links = &from.links;
        move || {
            runtime().block_on(async {
                let stream = links.forward(&name, &header()).await.unwrap();
                exchange(stream, sent).await
            })
        }
    };
    thread::scope(|scope| {
        let passing = scope.spawn(passing);
        let client = to.wait_for(|heard| match heard {
            Heard::Client(_, client) => Some(client),
            _ => None,
        });
        assert_eq!(client.header, header());
        let received = runtime().block_on(async {
            let stream = client.attach().unwrap();
            assert_eq!(stream.peer_addr().unwrap(), "192.0.2.7:40000".parse::<SocketAddr>().unwrap());
            assert_eq!(stream.local_addr().unwrap(), "192.0.2.1:5671".parse::<SocketAddr>().unwrap());
            assert_eq!(stream.tls_info(), header().tls);
            exchange(stream, there.clone()).await
        });
        assert!(received == here);
        assert!(passing.join().unwrap() == there);
    });
}

#[test]
fn ten_megabytes_pass_both_ways_with_a_half_close() {
    let [a, b] = ['a', 'b'].map(Node::start);
    link(&[&a, &b]);
    check_exchange(&a, &b);
    let lane = a.links.statistics()[0].lanes[4];
    assert_eq!((lane.connects, lane.frames_sent), (1, 1));
}

/// As they come when a node has ended to which they were connected: none is turned away.
#[test]
fn many_clients_may_come_at_once() {
    const COUNT: u16 = 400;
    let [a, b] = ['a', 'b'].map(Node::start);
    link(&[&a, &b]);
    thread::scope(|scope| {
        let (links, name) = (&a.links, b.name());
        let coming = scope.spawn(move || {
            runtime().block_on(async {
                let client = async |number| {
                    let mut stream = links.forward(&name, &ForwardHeader { number, ..header() }).await.unwrap();
                    stream.read_u16().await.unwrap()
                };
                join_all((0..COUNT).map(client).collect()).await
            })
        });
        let serving = runtime();
        for _ in 0..COUNT {
            let client = b.wait_for(|heard| match heard {
                Heard::Client(_, client) => Some(client),
                _ => None,
            });
            serving.block_on(async {
                let number = client.header.number;
                client.attach().unwrap().write_u16(number).await.unwrap();
            });
        }
        assert!(coming.join().unwrap().into_iter().eq(0..COUNT));
    });
}

/// All of them at once, their ends in their order.
async fn join_all<F: Future>(futures: Vec<F>) -> Vec<F::Output> {
    let mut futures: Vec<_> = futures.into_iter().map(|future| (Box::pin(future), None)).collect();
    poll_fn(|cx| {
        for (future, end) in futures.iter_mut().filter(|(_, end)| end.is_none()) {
            if let Poll::Ready(ended) = future.as_mut().poll(cx) {
                *end = Some(ended);
            }
        }
        if futures.iter().all(|(_, end)| end.is_some()) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    futures.into_iter().filter_map(|(_, end)| end).collect()
}

#[test]
fn a_client_that_is_not_taken_is_at_its_end() {
    let [a, b] = ['a', 'b'].map(Node::start);
    link(&[&a, &b]);
    thread::scope(|scope| {
        let (links, name) = (&a.links, b.name());
        let reading = scope.spawn(move || {
            runtime().block_on(async {
                let mut stream = links.forward(&name, &header()).await.unwrap();
                stream.read(&mut [0; 16]).await.unwrap_or(0)
            })
        });
        drop(b.wait_for(|heard| match heard {
            Heard::Client(from, client) => Some((from, client)),
            _ => None,
        }));
        assert_eq!(reading.join().unwrap(), 0);
    });
}

#[test]
fn a_peer_that_cannot_be_reached_takes_no_clients() {
    let a = Node::start('a');
    let unknown = runtime().block_on(a.links.forward(&name("rabbit@b"), &header())).unwrap_err();
    assert_eq!(unknown, ForwardError::UnknownPeer);
    a.links.set_peers(vec![place('b', 1)]);
    let error = runtime().block_on(a.links.forward(&name("rabbit@b"), &header())).unwrap_err();
    assert!(error.to_string().starts_with("rabbit@b (127.0.0.1:1) cannot be linked with rabbit@a: "), "{error}");
}
