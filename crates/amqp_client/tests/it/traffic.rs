//! What travels over an open connection.

use std::time::Duration;

use amqp::content::{put_body_frames, put_header};
use amqp::frame::{FrameKind, put_frame, put_heartbeat, put_method};
use amqp::{ContentHeader, Frame, Method, Properties, basic, channel, connection, queue};
use amqp_client::{CallError, Closed, ConnectOptions, Connection, Event, OpenError, Route};
use proptest::prelude::*;

use crate::scripted::{TUNE, play};

/// What a broker sends, as a test compares it.
#[derive(Clone, Debug, PartialEq)]
enum Sent {
    Deliver { channel: u16, tag: u64, body: Vec<u8> },
    Confirm { channel: u16, tag: u64, is_multiple: bool, is_ack: bool },
    Return { channel: u16, body: Vec<u8> },
    Cancel { channel: u16 },
    Heartbeat,
}

impl Sent {
    /// Its frames.
    fn frames(&self, frame_len_max: u32) -> Vec<Vec<u8>> {
        let mut method = Vec::new();
        let body = match self {
            Sent::Deliver { channel, tag, body } => {
                let deliver = basic::Deliver {
                    consumer_tag: b"c",
                    delivery_tag: *tag,
                    redelivered: tag % 2 == 0,
                    exchange: b"x",
                    routing_key: b"key",
                };
                put_method(&mut method, *channel, &deliver);
                Some((*channel, body))
            }
            Sent::Return { channel, body } => {
                let returned =
                    basic::Return { reply_code: 312, reply_text: b"NO_ROUTE", exchange: b"", routing_key: b"key" };
                put_method(&mut method, *channel, &returned);
                Some((*channel, body))
            }
            Sent::Confirm { channel, tag, is_multiple, is_ack: true } => {
                put_method(&mut method, *channel, &basic::Ack { delivery_tag: *tag, multiple: *is_multiple });
                None
            }
            Sent::Confirm { channel, tag, is_multiple, is_ack: false } => {
                let nack = basic::Nack { delivery_tag: *tag, multiple: *is_multiple, requeue: false };
                put_method(&mut method, *channel, &nack);
                None
            }
            Sent::Cancel { channel } => {
                put_method(&mut method, *channel, &basic::Cancel { consumer_tag: b"c", no_wait: true });
                None
            }
            Sent::Heartbeat => {
                put_heartbeat(&mut method);
                None
            }
        };
        let mut frames = vec![method];
        if let Some((channel, body)) = body {
            let properties = Properties { message_id: Some(b"id"), ..Properties::default() };
            let mut header = Vec::new();
            put_header(&mut header, channel, &ContentHeader { class_id: 60, body_len: body.len() as u64, properties });
            frames.push(header);
            for part in body.chunks(frame_len_max as usize - 8) {
                let mut frame = Vec::new();
                put_body_frames(&mut frame, channel, part, frame_len_max);
                frames.push(frame);
            }
        }
        frames
    }

    fn of(event: &Event<'_>) -> Sent {
        match *event {
            Event::Delivered { channel, deliver, content } => {
                assert_eq!(content.properties().unwrap().message_id, Some(&b"id"[..]));
                assert_eq!(deliver.redelivered, deliver.delivery_tag % 2 == 0);
                Sent::Deliver { channel, tag: deliver.delivery_tag, body: content.body.to_vec() }
            }
            Event::Confirmed { channel, tag, is_multiple, is_ack } => {
                Sent::Confirm { channel, tag, is_multiple, is_ack }
            }
            Event::Returned { channel, returned, content } => {
                assert_eq!(returned.reply_code, 312);
                Sent::Return { channel, body: content.body.to_vec() }
            }
            Event::Answered { channel, method: Method::BasicCancel(_) } => Sent::Cancel { channel },
            ref other => panic!("unexpected {other:?}"),
        }
    }
}

fn body() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        4 => proptest::collection::vec(any::<u8>(), 0..100),
        1 => (8000usize..30_000).prop_map(|len| (0..len).map(|at| at as u8).collect()),
    ]
}

fn sent() -> impl Strategy<Value = Sent> {
    let channel = 1u16..4;
    prop_oneof![
        6 => (channel.clone(), 1u64..1000, body()).prop_map(|(channel, tag, body)| Sent::Deliver { channel, tag, body }),
        3 => (channel.clone(), 1u64..1000, any::<bool>(), any::<bool>())
            .prop_map(|(channel, tag, is_multiple, is_ack)| Sent::Confirm { channel, tag, is_multiple, is_ack }),
        1 => (channel.clone(), body()).prop_map(|(channel, body)| Sent::Return { channel, body }),
        1 => channel.prop_map(|channel| Sent::Cancel { channel }),
        1 => Just(Sent::Heartbeat),
    ]
}

/// Every channel's frames in their order, channels mixed by `choices`.
fn mixed(all: &[Sent], frame_len_max: u32, choices: &[u8]) -> Vec<u8> {
    let mut lanes: Vec<std::collections::VecDeque<Vec<u8>>> = vec![Default::default(); 4];
    for sent in all {
        let lane = match sent {
            Sent::Deliver { channel, .. }
            | Sent::Confirm { channel, .. }
            | Sent::Return { channel, .. }
            | Sent::Cancel { channel } => *channel,
            Sent::Heartbeat => 0,
        };
        lanes[usize::from(lane)].extend(sent.frames(frame_len_max));
    }
    let mut bytes = Vec::new();
    let mut choices = choices.iter().cycle();
    while lanes.iter().any(|lane| !lane.is_empty()) {
        let choice = usize::from(*choices.next().unwrap_or(&0)) % 4;
        let lane = (0..4).map(|at| (choice + at) % 4).find(|at| !lanes[*at].is_empty()).unwrap();
        bytes.extend(lanes[lane].pop_front().unwrap());
    }
    bytes
}

fn on_channel(all: &[Sent], wanted: u16) -> Vec<Sent> {
    let is_on = |sent: &&Sent| match sent {
        Sent::Deliver { channel, .. }
        | Sent::Confirm { channel, .. }
        | Sent::Return { channel, .. }
        | Sent::Cancel { channel } => *channel == wanted,
        Sent::Heartbeat => false,
    };
    all.iter().filter(is_on).cloned().collect()
}

async fn events(connection: &mut Connection, count: usize) -> Vec<Sent> {
    let mut seen = Vec::new();
    while seen.len() < count {
        while let Some(event) = connection.next_event().unwrap() {
            seen.push(Sent::of(&event));
        }
        if seen.len() < count {
            connection.turn().await.unwrap();
        }
    }
    seen
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn events_are_what_was_sent_however_it_is_cut(
        all in proptest::collection::vec(sent(), 1..30),
        choices in proptest::collection::vec(any::<u8>(), 1..20),
        cuts in proptest::collection::vec(1usize..9000, 1..10),
    ) {
        let bytes = mixed(&all, TUNE.frame_max, &choices);
        let count = all.iter().filter(|sent| **sent != Sent::Heartbeat).count();
        play(
            ConnectOptions::default(),
            async |connection| {
                let seen = events(&mut connection.unwrap(), count).await;
                for channel in 1..4 {
                    assert_eq!(on_channel(&seen, channel), on_channel(&all, channel));
                }
            },
            async |mut peer| {
                peer.open(TUNE).await;
                let mut rest = &bytes[..];
                let mut cuts = cuts.iter().cycle();
                while !rest.is_empty() {
                    let (piece, after) = rest.split_at(rest.len().min(*cuts.next().unwrap()));
                    peer.send_bytes(piece).await;
                    tokio::task::yield_now().await;
                    rest = after;
                }
                // Until the client has seen all and hangs up.
                peer.frame().await;
            },
        );
    }
}

#[test]
fn publish_is_method_header_and_as_many_bodies_as_it_takes() {
    play(
        ConnectOptions::default(),
        async |connection| {
            let mut connection = connection.unwrap();
            let mut properties = Vec::new();
            Properties { delivery_mode: Some(2), ..Properties::default() }.encode(&mut properties);
            let route = Route::new(b"x", b"key", true).unwrap();
            connection.publish(3, &route, &properties, &[7; 10_000]);
            connection.publish(4, &route, &properties, b"");
            connection.flush().await.unwrap();
        },
        async |mut peer| {
            peer.open(TUNE).await;
            let publish = basic::Publish { exchange: b"x", routing_key: b"key", mandatory: true, ..Default::default() };
            peer.expect(3, publish).await;
            let (kind, channel, payload) = peer.frame().await.unwrap();
            assert_eq!((kind, channel), (FrameKind::Header, 3));
            let header = ContentHeader::decode(&payload).unwrap();
            assert_eq!((header.body_len, header.properties.delivery_mode), (10_000, Some(2)));
            let lens = [peer.frame().await.unwrap().2.len(), peer.frame().await.unwrap().2.len()];
            assert_eq!(lens, [8184, 10_000 - 8184]);
            peer.expect(4, publish).await;
            assert_eq!(peer.frame().await.unwrap().0, FrameKind::Header);
        },
    );
}

#[test]
fn names_too_long_for_a_route_are_refused() {
    assert!(Route::new(b"", &[b'k'; 255], false).is_some());
    assert!(Route::new(b"", &[b'k'; 256], false).is_none());
    assert!(Route::new(&[b'x'; 256], b"", false).is_none());
}

#[test]
fn events_that_come_before_an_answer_are_kept_in_order() {
    let deliver = |tag| Sent::Deliver { channel: 1, tag, body: vec![tag as u8; 20] };
    play(
        ConnectOptions::default(),
        async |connection| {
            let mut connection = connection.unwrap();
            let declare = queue::Declare { queue: b"q", ..Default::default() };
            let (name, messages, consumers) = connection.declare_queue(1, &declare).await.unwrap();
            assert_eq!((name.as_str(), messages, consumers), ("q", 5, 6));
            let declare = queue::Declare { queue: b"r", ..Default::default() };
            connection.declare_queue(1, &declare).await.unwrap();
            assert_eq!(events(&mut connection, 3).await, [deliver(1), deliver(2), deliver(3)]);
        },
        async |mut peer| {
            peer.open(TUNE).await;
            for (name, before) in [(&b"q"[..], vec![deliver(1), deliver(2)]), (b"r", vec![deliver(3)])] {
                peer.expect(1, queue::Declare { queue: name, ..Default::default() }).await;
                for frame in before.iter().flat_map(|sent| sent.frames(TUNE.frame_max)) {
                    peer.send_bytes(&frame).await;
                }
                peer.send(1, &queue::DeclareOk { queue: name, message_count: 5, consumer_count: 6 }).await;
            }
        },
    );
}

#[test]
fn closed_channel_is_the_answer_and_is_acknowledged() {
    play(
        ConnectOptions::default(),
        async |connection| {
            let mut connection = connection.unwrap();
            let error = connection.open_channel(1).await.unwrap_err();
            assert!(matches!(&error, CallError::Refused { code: 504, .. }), "{error:?}");
            assert_eq!(error.to_string(), "504 CHANNEL_ERROR - no");
            connection.flush().await.unwrap();
        },
        async |mut peer| {
            peer.open(TUNE).await;
            peer.frame().await;
            let close = channel::Close { reply_code: 504, reply_text: b"CHANNEL_ERROR - no", ..Default::default() };
            peer.send(1, &close).await;
            peer.expect(1, channel::CloseOk).await;
        },
    );
}

#[test]
fn brokers_last_words_are_the_reason_of_the_end() {
    play(
        ConnectOptions::default(),
        async |connection| {
            let mut connection = connection.unwrap();
            connection.turn().await.unwrap();
            let closed = connection.next_event().map(drop).unwrap_err();
            assert_eq!(closed.to_string(), "the broker closed the connection: 320 CONNECTION_FORCED - bye");
            connection.flush().await.unwrap();
        },
        async |mut peer| {
            peer.open(TUNE).await;
            let close =
                connection::Close { reply_code: 320, reply_text: b"CONNECTION_FORCED - bye", ..Default::default() };
            peer.send(0, &close).await;
            peer.expect(0, connection::CloseOk).await;
        },
    );
}

#[test]
fn blocked_is_remembered_until_it_is_over() {
    play(
        ConnectOptions::default(),
        async |connection| {
            let mut connection = connection.unwrap();
            assert_eq!(connection.is_blocked(), None);
            connection.turn().await.unwrap();
            assert_eq!(connection.next_event().unwrap(), Some(Event::Blocked { reason: b"low on memory" }));
            assert_eq!(connection.is_blocked(), Some("low on memory"));
            connection.nudge().await;
            connection.turn().await.unwrap();
            assert_eq!(connection.next_event().unwrap(), Some(Event::Unblocked));
            assert_eq!(connection.is_blocked(), None);
        },
        async |mut peer| {
            peer.open(TUNE).await;
            peer.send(0, &connection::Blocked { reason: b"low on memory" }).await;
            peer.frame().await;
            peer.send(0, &connection::Unblocked).await;
        },
    );
}

/// Something for the peer to wait for.
trait Nudge {
    async fn nudge(&mut self);
}

impl Nudge for Connection {
    async fn nudge(&mut self) {
        self.ack(1, 1, false);
        self.flush().await.unwrap();
    }
}

#[test]
fn new_secret_is_told_to_the_broker() {
    let (sender, secrets) = tokio::sync::watch::channel("first".to_owned());
    play(
        ConnectOptions { secrets: Some(secrets), ..ConnectOptions::default() },
        async |connection| {
            let mut connection = connection.unwrap();
            sender.send_replace("second".to_owned());
            connection.turn().await.unwrap();
            while connection.turn().await.is_ok() {}
        },
        async |mut peer| {
            assert_eq!(peer.open(TUNE).await.0, b"\0guest\0first");
            let update = connection::UpdateSecret { new_secret: b"second", reason: b"the secret expires" };
            peer.expect(0, update).await;
        },
    );
}

#[test]
fn goodbye_is_answered() {
    play(
        ConnectOptions::default(),
        async |connection| assert!(connection.unwrap().close(Duration::from_secs(30)).await),
        async |mut peer| {
            peer.open(TUNE).await;
            let goodbye = connection::Close { reply_code: 200, reply_text: b"Goodbye", ..Default::default() };
            peer.expect(0, goodbye).await;
            peer.send(0, &connection::CloseOk).await;
            assert_eq!(peer.frame().await, None);
        },
    );
}

#[test]
fn bytes_that_are_no_frame_end_the_connection() {
    play(
        ConnectOptions::default(),
        async |connection| {
            let mut connection = connection.unwrap();
            connection.turn().await.unwrap();
            let closed = connection.next_event().map(drop).unwrap_err();
            assert!(matches!(closed, Closed::Garbled(_)), "{closed:?}");
        },
        async |mut peer| {
            peer.open(TUNE).await;
            peer.send_bytes(b"nonsense").await;
            peer.frame().await;
        },
    );
}

#[test]
fn body_without_its_method_ends_the_connection() {
    play(
        ConnectOptions::default(),
        async |connection| {
            let mut connection = connection.unwrap();
            connection.turn().await.unwrap();
            let closed = connection.next_event().map(drop).unwrap_err();
            assert!(matches!(closed, Closed::Garbled(_)), "{closed:?}");
        },
        async |mut peer| {
            peer.open(TUNE).await;
            let mut frame = Vec::new();
            put_frame(&mut frame, &Frame { kind: FrameKind::Body, channel: 1, payload: b"stray" });
            peer.send_bytes(&frame).await;
            peer.frame().await;
        },
    );
}

#[test]
fn silent_broker_is_given_up_and_heard_from_us() {
    play(
        ConnectOptions { heartbeat: 1, ..ConnectOptions::default() },
        async |connection: Result<Connection, OpenError>| {
            let mut connection = connection.unwrap();
            tokio::time::pause();
            let closed = loop {
                if let Err(closed) = connection.turn().await {
                    break closed;
                }
            };
            assert!(matches!(closed, Closed::Silent(_)), "{closed:?}");
        },
        async |mut peer| {
            peer.open(connection::Tune { heartbeat: 60, ..TUNE }).await;
            assert_eq!(peer.frame().await.unwrap().0, FrameKind::Heartbeat);
            // Says nothing, and keeps the socket open until the client has given up.
            while peer.frame().await.is_some() {}
        },
    );
}

#[test]
fn broker_is_not_silent_while_nobody_listens() {
    play(
        ConnectOptions { heartbeat: 1, ..ConnectOptions::default() },
        async |connection: Result<Connection, OpenError>| {
            let mut connection = connection.unwrap();
            connection.set_receiving(false);
            tokio::time::pause();
            let turning = async {
                loop {
                    connection.turn().await.unwrap();
                }
            };
            assert!(tokio::time::timeout(Duration::from_secs(30), turning).await.is_err());
        },
        async |mut peer| {
            peer.open(connection::Tune { heartbeat: 60, ..TUNE }).await;
            while peer.frame().await.is_some() {}
        },
    );
}

#[test]
fn answer_that_does_not_come_is_waited_for_only_so_long() {
    play(
        ConnectOptions { answer_timeout: Duration::from_secs(3), ..ConnectOptions::default() },
        async |connection: Result<Connection, OpenError>| {
            let mut connection = connection.unwrap();
            tokio::time::pause();
            let error = connection.open_channel(1).await.unwrap_err();
            assert_eq!(error.to_string(), "the broker has not answered within 3 s");
        },
        async |mut peer| {
            peer.open(TUNE).await;
            while peer.frame().await.is_some() {}
        },
    );
}

#[test]
fn goodbye_that_is_not_answered_is_told() {
    play(
        ConnectOptions::default(),
        async |connection: Result<Connection, OpenError>| {
            let connection = connection.unwrap();
            tokio::time::pause();
            assert!(!connection.close(Duration::from_secs(3)).await);
        },
        async |mut peer| {
            peer.open(TUNE).await;
            while peer.frame().await.is_some() {}
        },
    );
}
