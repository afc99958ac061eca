//! A client and a server that shake hands: every answer, any limits, and bytes that come in any pieces.

use amqp::frame::{Frame, FrameKind, Greeting, PROTOCOL_HEADER, decode_frame, put_frame, put_heartbeat, put_method};
use amqp::handshake::{
    ClientHandshake, ClientRequest, HandshakeError, ServerHandshake, ServerReply, choose_limits, client_capabilities,
    offers_mechanism,
};
use amqp::server::{ClientCapabilities, Violation, server_capabilities};
use amqp::{Method, ReplyCode, TableBuf, Value, connection, sasl};
use proptest::prelude::*;

const FRAME_LEN_FLOOR: u32 = 4096;

/// One side's bytes on their way to the other.
#[derive(Debug, Default)]
struct Pipe {
    written: Vec<u8>,
    received: Vec<u8>,
}

impl Pipe {
    /// Moves up to so many bytes. Returns whether there were any.
    fn carry(&mut self, len: usize) -> bool {
        let len = len.min(self.written.len());
        self.received.extend(self.written.drain(..len));
        len > 0
    }
}

/// A server that lets `ann` in with the password `pw`, and opens the vhost `/`.
#[derive(Debug)]
struct Server {
    handshake: ServerHandshake,
    offered: connection::Tune,
    agreed: Option<connection::TuneOk>,
}

impl Server {
    fn receive(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> usize {
        if self.handshake == ServerHandshake::Header {
            return match self.handshake.greet(bytes, out) {
                Greeting::Ours => {
                    let properties = TableBuf::new().with("product", Value::LongStr(b"test"));
                    self.handshake.start(properties.as_table(), b"AMQPLAIN PLAIN", out);
                    PROTOCOL_HEADER.len()
                }
                Greeting::Partial => 0,
                Greeting::Other => bytes.len(),
            };
        }
        let Some((frame, len)) = decode_frame(bytes, FRAME_LEN_FLOOR).unwrap() else { return 0 };
        self.method(&Method::decode(frame.payload).unwrap(), out);
        len
    }

    fn method(&mut self, method: &Method<'_>, out: &mut Vec<u8>) {
        let handshake = &mut self.handshake;
        let Ok(request) = handshake.request(method) else {
            // What the client sent before it heard of the close.
            assert_eq!(*handshake, ServerHandshake::CloseOk);
            return;
        };
        match request {
            ClientRequest::LogIn(start_ok) => {
                let capabilities = ClientCapabilities::of(&start_ok.client_properties);
                let login = (start_ok.mechanism == b"PLAIN").then(|| sasl::plain(start_ok.response)).flatten();
                if login == Some(("ann".to_owned(), b"pw".to_vec())) {
                    handshake.tune(self.offered, out);
                } else {
                    assert!(capabilities.authentication_failure_close);
                    let Violation { code, text } = Violation::login_refused("PLAIN");
                    handshake.close(code, &text, out);
                }
            }
            ClientRequest::Tune(answer) => match handshake.agree(answer, FRAME_LEN_FLOOR) {
                Ok(agreed) => self.agreed = Some(agreed),
                Err(Violation { code, text }) => handshake.close(code, &text, out),
            },
            ClientRequest::Open(open) if open.virtual_host == b"/" => handshake.open(out),
            ClientRequest::Open(_) => handshake.close(ReplyCode::NotAllowed, "vhost not found", out),
            ClientRequest::Close => handshake.answer_close(out),
            ClientRequest::CloseOk => self.handshake = ServerHandshake::Closed,
        }
    }
}

/// How a handshake ended for the client.
#[derive(Clone, Debug, PartialEq, Eq)]
enum End {
    Opened(connection::TuneOk),
    Closed(String, ClientHandshake),
}

struct Client {
    password: &'static str,
    vhost: &'static str,
    own: connection::TuneOk,
}

const CLIENT: Client =
    Client { password: "pw", vhost: "/", own: connection::TuneOk { channel_max: 0, frame_max: 0, heartbeat: 0 } };
const OFFERED: connection::Tune = connection::Tune { channel_max: 2047, frame_max: 131_072, heartbeat: 60 };

/// Runs a client against a server, with as many bytes at a time as `pieces` say in turn. Returns what both say at the end.
fn shake_hands(client: &Client, offered: connection::Tune, pieces: &[usize]) -> (End, Server) {
    let mut server = Server { handshake: ServerHandshake::Header, offered, agreed: None };
    let (mut up, mut down) = (Pipe::default(), Pipe::default());
    let mut handshake = ClientHandshake::begin(&mut up.written);
    let (mut limits, mut end) = (None, None);
    let mut pieces = pieces.iter().cycle();
    let mut piece = || *pieces.next().unwrap();
    loop {
        let has_moved = up.carry(piece()) | down.carry(piece());
        loop {
            let len = server.receive(&up.received, &mut down.written);
            up.received.drain(..len);
            if len == 0 {
                break;
            }
        }
        while end.is_none() {
            let (len, reply) = handshake.receive(&down.received, &mut up.written).unwrap();
            match reply {
                Some(ServerReply::Started(start)) => {
                    assert!(offers_mechanism(&start, b"PLAIN") && !offers_mechanism(&start, b"PLAI"));
                    let capabilities = client_capabilities();
                    let properties = TableBuf::new().with("capabilities", Value::Table(capabilities.as_table()));
                    let response = sasl::plain_response("ann", client.password.as_bytes());
                    handshake.log_in(properties.as_table(), b"PLAIN", &response, &mut up.written);
                }
                Some(ServerReply::Tuned(offered)) => {
                    let chosen = choose_limits(client.own, offered);
                    handshake.open(chosen, client.vhost, &mut up.written);
                    limits = Some(chosen);
                }
                Some(ServerReply::Opened) => end = Some(End::Opened(limits.unwrap())),
                Some(ServerReply::Closed { close, expected }) => {
                    let text = String::from_utf8(close.reply_text.to_vec()).unwrap();
                    end = Some(End::Closed(format!("{} {text}", close.reply_code), expected));
                }
                None => {
                    assert_eq!(len, 0);
                    break;
                }
            }
            down.received.drain(..len);
        }
        let is_idle = up.written.is_empty() && down.written.is_empty();
        if let (Some(end), true) = (&end, is_idle) {
            return (end.clone(), server);
        }
        assert!(has_moved || !is_idle, "neither side sends anything: {handshake:?}, {server:?}");
    }
}

#[test]
fn a_client_is_let_in_and_both_know_the_same_limits() {
    let own = connection::TuneOk { channel_max: 100, frame_max: 0, heartbeat: 600 };
    let (end, server) = shake_hands(&Client { own, ..CLIENT }, OFFERED, &[usize::MAX]);
    let agreed = connection::TuneOk { channel_max: 100, frame_max: 131_072, heartbeat: 60 };
    assert_eq!(end, End::Opened(agreed));
    assert_eq!((server.handshake, server.agreed), (ServerHandshake::Opened, Some(agreed)));
}

#[track_caller]
fn check_closed(client: &Client, expected: ClientHandshake, words: &str) {
    let (end, server) = shake_hands(client, OFFERED, &[usize::MAX]);
    assert_eq!(end, End::Closed(words.to_owned(), expected));
    assert_eq!(server.handshake, ServerHandshake::Closed);
}

#[test]
fn a_refusal_says_what_it_refuses() {
    let words = "403 ACCESS_REFUSED - Login was refused using authentication mechanism PLAIN. \
                 For details see the broker logfile.";
    check_closed(&Client { password: "guess", ..CLIENT }, ClientHandshake::Tune, words);
    let words = "530 NOT_ALLOWED - vhost not found";
    check_closed(&Client { vhost: "/missing", ..CLIENT }, ClientHandshake::OpenOk, words);
    let own = connection::TuneOk { frame_max: 100, ..CLIENT.own };
    let words = "530 NOT_ALLOWED - negotiated frame_max = 100 is lower than the minimum allowed value (4096)";
    check_closed(&Client { own, ..CLIENT }, ClientHandshake::OpenOk, words);
}

#[test]
fn limits_that_were_not_offered_are_refused() {
    let mut out = Vec::new();
    let mut server = ServerHandshake::Header;
    server.start(server_capabilities().as_table(), b"PLAIN", &mut out);
    server.tune(OFFERED, &mut out);
    let answer = connection::TuneOk { channel_max: 2047, frame_max: 131_073, heartbeat: 0 };
    let violation = server.agree(answer, FRAME_LEN_FLOOR).unwrap_err();
    assert_eq!(violation.text, "negotiated frame_max = 131073 is higher than the maximum allowed value (131072)");
    assert_eq!(server, ServerHandshake::TuneOk { offered: OFFERED });
}

#[test]
fn another_protocol_is_answered_with_ours() {
    for header in [&b"AMQP\0\x01\0\0"[..], b"GET / HTTP/1.1\r\n"] {
        let (mut server, mut out) = (ServerHandshake::Header, Vec::new());
        assert_eq!(server.greet(header, &mut out), Greeting::Other);
        assert_eq!((server, &out[..]), (ServerHandshake::Closed, &PROTOCOL_HEADER[..]));
    }
    let mut out = Vec::new();
    let mut client = ClientHandshake::begin(&mut out);
    assert_eq!(client.receive(b"AMQP\x03\x01\0", &mut out), Ok((0, None)));
    let error = client.receive(b"AMQP\x03\x01\0\0", &mut out).unwrap_err();
    assert_eq!(error.to_string(), "it asks for protocol 3.1.0.0");
}

#[test]
fn methods_out_of_turn_are_refused_by_both_sides() {
    let start_ok = Method::ConnectionStartOk(connection::StartOk::default());
    let tune_ok = Method::ConnectionTuneOk(connection::TuneOk::default());
    let open = Method::ConnectionOpen(connection::Open::default());
    let steps = [ServerHandshake::StartOk, ServerHandshake::TuneOk { offered: OFFERED }, ServerHandshake::Open];
    for (at, step) in steps.iter().enumerate() {
        let answers = [start_ok, tune_ok, open].map(|method| step.request(&method).is_ok());
        assert_eq!(answers, [0, 1, 2].map(|expected| expected == at));
    }
    let violation = ServerHandshake::Open.request(&start_ok).unwrap_err();
    assert_eq!(violation.text, "unexpected method connection.start-ok during the handshake");
    let replies = [
        Method::ConnectionStart(connection::Start::default()),
        Method::ConnectionTune(OFFERED),
        Method::ConnectionOpenOk(connection::OpenOk::default()),
    ];
    let mut out = Vec::new();
    let mut receive = |mut step: ClientHandshake, method: &Method<'static>| step.receive_method(method, &mut out);
    for (at, step) in [ClientHandshake::Start, ClientHandshake::Tune, ClientHandshake::OpenOk].into_iter().enumerate() {
        let answers = replies.map(|method| receive(step, &method).is_ok());
        assert_eq!(answers, [0, 1, 2].map(|expected| expected == at));
    }
    let error = receive(ClientHandshake::Tune, &replies[2]).unwrap_err();
    assert_eq!(error.to_string(), "unexpected connection.open-ok in the handshake");
    let challenge = Method::ConnectionSecure(connection::Secure::default());
    let error = receive(ClientHandshake::Tune, &challenge).unwrap_err();
    assert_eq!(error, HandshakeError::Challenge);
    assert!(out.is_empty());
}

#[test]
fn a_client_minds_heartbeats_no_more_than_it_takes_content() {
    let mut out = Vec::new();
    let mut bytes = Vec::new();
    put_heartbeat(&mut bytes);
    put_method(&mut bytes, 0, &connection::Tune::default());
    let mut client = ClientHandshake::Tune;
    let reply = ServerReply::Tuned(connection::Tune::default());
    assert_eq!(client.receive(&bytes, &mut out), Ok((bytes.len(), Some(reply))));
    bytes.clear();
    put_frame(&mut bytes, &Frame { kind: FrameKind::Body, channel: 3, payload: b"x" });
    let error = client.receive(&bytes, &mut out).unwrap_err();
    assert_eq!(error.to_string(), "it sends a frame of channel 3 before the connection is open");
}

fn limits() -> impl Strategy<Value = (u16, u32, u16)> {
    let edge = |max: u32| prop_oneof![Just(0), Just(1), Just(8), Just(max), 0..=max];
    (edge(u16::MAX.into()), prop_oneof![edge(u32::MAX), 4000..5000_u32], edge(u16::MAX.into()))
        .prop_map(|(channel_max, frame_max, heartbeat)| (channel_max as u16, frame_max, heartbeat as u16))
}

proptest! {
    #[test]
    fn both_sides_agree_whatever_they_want_and_however_it_arrives(
        own in limits(),
        offered in limits(),
        pieces in prop::collection::vec(1..40_usize, 1..20),
    ) {
        let own = connection::TuneOk { channel_max: own.0, frame_max: own.1, heartbeat: own.2 };
        let offered = connection::Tune { channel_max: offered.0, frame_max: offered.1, heartbeat: offered.2 };
        let (end, server) = shake_hands(&Client { own, ..CLIENT }, offered, &pieces);
        let chosen = choose_limits(own, offered);
        for (chosen, own, offered) in [
            (u32::from(chosen.channel_max), u32::from(own.channel_max), u32::from(offered.channel_max)),
            (chosen.frame_max, own.frame_max, offered.frame_max),
        ] {
            // A frame has room for a byte at least.
            let is_within = |limit| limit == 0 || chosen <= limit || chosen == 9;
            prop_assert!(chosen > 0 && is_within(own) && is_within(offered));
        }
        match end {
            End::Opened(agreed) => {
                prop_assert_eq!(agreed, chosen);
                prop_assert_eq!(server.agreed, Some(agreed));
                prop_assert!(agreed.frame_max >= FRAME_LEN_FLOOR);
            }
            End::Closed(words, expected) => {
                prop_assert!(chosen.frame_max < FRAME_LEN_FLOOR, "{}", words);
                prop_assert_eq!(expected, ClientHandshake::OpenOk);
                prop_assert_eq!(server.handshake, ServerHandshake::Closed);
            }
        }
    }

    #[test]
    fn a_client_takes_garbage_for_garbage(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut out = Vec::new();
        for mut step in [ClientHandshake::Start, ClientHandshake::Tune, ClientHandshake::OpenOk] {
            if let Ok((len, _)) = step.receive(&bytes, &mut out) {
                prop_assert!(len <= bytes.len());
            }
        }
    }
}
