//! A broker that stops leaves nothing behind, and its process continues.

use std::path::PathBuf;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use amqp::content::{put_body_frames, put_header_encoded};
use amqp::frame::{decode_frame, put_method};
use amqp::method::{Method, basic, channel, confirm, connection, queue};
use store::Store;
use store::file::SimDisk;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use super::client::PERSISTENT;
use super::endings::{frame, opening};
use crate::broker::Broker;
use crate::limits::CUT_TIMEOUT;
use crate::options::Options;

const TIMEOUT: Duration = Duration::from_secs(20);

/// A broker with all its threads, on a disk in memory.
fn start(disk: &SimDisk) -> Arc<Broker> {
    let mut options = store::Options::new(PathBuf::from("/data"));
    options.is_reserve_kept = false;
    options.journal.file_len = 4 << 20;
    let (store, recovered) = Store::open(options, Arc::new(disk.clone())).expect("the store opens");
    Broker::start(Options::default(), store, recovered).expect("the broker starts")
}

/// A client's socket, as far as the broker has it: what is given serves it.
async fn connect(broker: &Arc<Broker>) -> (TcpStream, impl Future<Output = ()> + Send + 'static) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let client = TcpStream::connect(listener.local_addr().expect("an address")).await.expect("a connection");
    let (accepted, _) = listener.accept().await.expect("a connection");
    (client, broker.clone().serve(net::Stream::Tcp(accepted)))
}

/// The next method that is heard, as `hear` sees it.
async fn hear<T>(client: &mut TcpStream, hear: impl Fn(Method<'_>) -> Option<T>) -> T {
    let mut read = Vec::new();
    loop {
        let len = match decode_frame(&read, 131_072).expect("frames") {
            None => {
                read.push(client.read_u8().await.expect("more to read"));
                continue;
            }
            Some((frame, len)) => {
                let method = Method::decode(frame.payload).expect("a method");
                if let Some(heard) = hear(method) {
                    return heard;
                }
                len
            }
        };
        read.drain(..len);
    }
}

async fn hear_close(client: &mut TcpStream) -> (u16, String) {
    let close = hear(client, |method| match method {
        Method::ConnectionClose(close) => {
            Some((close.reply_code, String::from_utf8_lossy(close.reply_text).into_owned()))
        }
        _ => None,
    });
    timeout(TIMEOUT, close).await.expect("a close in time")
}

/// A client that has declared the queue `q` and publishes with confirms.
async fn publisher(broker: &Arc<Broker>) -> TcpStream {
    let (mut client, serving) = connect(broker).await;
    tokio::spawn(serving);
    let mut bytes = opening(0);
    put_method(&mut bytes, 1, &channel::Open::default());
    put_method(&mut bytes, 1, &queue::Declare { queue: b"q", durable: true, ..Default::default() });
    put_method(&mut bytes, 1, &confirm::Select::default());
    client.write_all(&bytes).await.expect("room");
    hear(&mut client, |method| matches!(method, Method::ConfirmSelectOk(_)).then_some(())).await;
    client
}

fn publish() -> Vec<u8> {
    let mut bytes = Vec::new();
    put_method(&mut bytes, 1, &basic::Publish { routing_key: b"q", ..Default::default() });
    put_header_encoded(&mut bytes, 1, 1, PERSISTENT);
    put_body_frames(&mut bytes, 1, b"x", 131_072);
    bytes
}

/// Stops it, and makes sure that nothing keeps it or its store.
async fn stop(broker: Arc<Broker>, reason: &str, patience: Duration) {
    broker.stop_saying(reason, patience).await.expect("the store closes");
    let (weak, store): (Weak<Broker>, Weak<Store>) = (Arc::downgrade(&broker), Arc::downgrade(&broker.engine.store));
    drop(broker);
    // A connection's task ends a little after what it serves.
    let is_gone = async {
        while weak.strong_count() + store.strong_count() > 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    assert!(timeout(TIMEOUT, is_gone).await.is_ok(), "{} {}", weak.strong_count(), store.strong_count());
}

#[tokio::test]
async fn clients_are_told_why_and_those_that_do_not_go_are_cut() {
    let disk = SimDisk::new(1);
    for _ in 0..3 {
        let broker = start(&disk);
        let (mut polite, mut deaf) = (publisher(&broker).await, publisher(&broker).await);
        // It agrees, and keeps its socket.
        let mut reluctant = publisher(&broker).await;
        let (early, serving) = connect(&broker).await;
        tokio::spawn(serving);
        let told = tokio::spawn(async move {
            let told = hear_close(&mut polite).await;
            polite.write_all(&frame(&connection::CloseOk)).await.expect("room");
            hear_close(&mut reluctant).await;
            reluctant.write_all(&frame(&connection::CloseOk)).await.expect("room");
            (told, reluctant)
        });
        let begun_at = Instant::now();
        stop(broker, "another node leads", Duration::from_millis(100)).await;
        assert!(begun_at.elapsed() < CUT_TIMEOUT, "sockets are waited for");
        let (told, reluctant) = told.await.expect("no panic");
        assert_eq!(told, (320, "CONNECTION_FORCED - another node leads".to_owned()));
        assert_eq!(hear_close(&mut deaf).await.0, 320);
        for mut client in [deaf, early, reluctant] {
            let ended = timeout(TIMEOUT, client.read(&mut [0])).await.expect("an end in time");
            assert_eq!(ended.unwrap_or(0), 0);
        }
    }
}

#[tokio::test]
async fn a_client_that_comes_while_its_broker_stops_is_sent_away() {
    let broker = start(&SimDisk::new(1));
    let (mut client, serving) = connect(&broker).await;
    broker.stop(Duration::ZERO).await.expect("the store closes");
    tokio::spawn(serving);
    let ended = timeout(TIMEOUT, client.read(&mut [0])).await.expect("an end in time");
    assert_eq!(ended.unwrap_or(0), 0);
}

#[tokio::test]
async fn what_was_received_before_a_pause_is_confirmed_and_nothing_is_received_after_it() {
    let disk = SimDisk::new(1);
    let broker = start(&disk);
    let mut client = publisher(&broker).await;
    client.write_all(&publish()).await.expect("room");
    hear(&mut client, |method| matches!(method, Method::BasicAck(_)).then_some(())).await;
    client.write_all(&publish()).await.expect("room");
    let received = async {
        while broker.queue_counts("/", "q").is_none_or(|counts| counts.ready < 2) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    timeout(TIMEOUT, received).await.expect("the second message");
    assert!(broker.pause(TIMEOUT).await);
    assert_eq!(broker.engine.store.durable(), broker.engine.store.appended());
    client.write_all(&publish()).await.expect("room");
    // Nor is a client let in.
    let (mut late, serving) = connect(&broker).await;
    tokio::spawn(serving);
    late.write_all(&opening(0)).await.expect("room");
    assert!(timeout(Duration::from_millis(100), late.read(&mut [0])).await.is_err());
    assert_eq!(broker.queue_counts("/", "q").expect("the queue").ready, 2);
    let stopping = stop(broker, "handed over", Duration::from_millis(100));
    let confirmed = hear(&mut client, |method| match method {
        Method::BasicAck(ack) => Some(ack.delivery_tag),
        _ => None,
    });
    assert_eq!(tokio::join!(confirmed, stopping).0, 2);
    assert_eq!(hear_close(&mut client).await, (320, "CONNECTION_FORCED - handed over".to_owned()));
    let broker = start(&disk);
    assert_eq!(broker.queue_counts("/", "q").expect("the queue").ready, 2);
    stop(broker, "", Duration::ZERO).await;
}
