//! Clients that learn why no broker serves them.
//!
//! AMQP 0-9-1 lets a server say so when the client has asked for its vhost, and libraries understand it there best: at an earlier moment
//! some take it for a wrong password. So the handshake is completed, and `connection.open` is answered with `connection.close`. Nothing is
//! checked about the client, and nothing is sent but the reason.

use std::future::Future;
use std::io;
use std::time::Duration;

use amqp::frame::{FrameKind, Greeting, PROTOCOL_HEADER, decode_frame};
use amqp::handshake::{ClientRequest, ServerHandshake};
use amqp::limits::FRAME_LEN_FUDGE;
use amqp::method::{Method, connection};
use amqp::reply::ReplyCode;
use model::config::AuthMechanism;
use net::Stream;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::timeout;

use crate::limits::END_TIMEOUT;
use crate::options::Options;
use crate::server_properties::server_properties;

/// How much one read may bring.
const READ_LEN: usize = 4 << 10;

/// Notifies a client with 320 that it is not served, and why.
pub async fn reject_connection(mut stream: Stream, options: &Options, reason: &str) {
    let has_tls = stream.tls_info().is_some();
    let mut talk = Talk::new(options, has_tls, reason);
    // How it ends is the client's business.
    let _ = within(options.handshake_timeout, converse(&mut stream, &mut talk)).await;
    let _ = within(END_TIMEOUT, end(&mut stream)).await;
}

async fn within(time: Duration, act: impl Future<Output = io::Result<()>>) -> io::Result<()> {
    timeout(time, act).await.unwrap_or(Err(io::ErrorKind::TimedOut.into()))
}

async fn converse(stream: &mut Stream, talk: &mut Talk<'_>) -> io::Result<()> {
    let mut received = Vec::new();
    while !talk.is_over() {
        let mut bytes = [0; READ_LEN];
        let len = stream.read(&mut bytes).await?;
        if len == 0 {
            return Ok(());
        }
        received.extend_from_slice(&bytes[..len]);
        received.drain(..talk.receive(&received));
        stream.write_all(&std::mem::take(&mut talk.out)).await?;
        stream.flush().await?;
    }
    Ok(())
}

/// Ends this side's direction, and throws away what comes until the client has ended the other one: a socket that is closed with
/// something unread takes back what was sent last.
async fn end(stream: &mut Stream) -> io::Result<()> {
    stream.shutdown().await?;
    while stream.read(&mut [0; READ_LEN]).await? > 0 {}
    Ok(())
}

/// What is said, without the socket.
struct Talk<'a> {
    options: &'a Options,
    has_tls: bool,
    reason: &'a str,
    handshake: ServerHandshake,
    out: Vec<u8>,
}

impl<'a> Talk<'a> {
    fn new(options: &'a Options, has_tls: bool, reason: &'a str) -> Self {
        Self { options, has_tls, reason, handshake: ServerHandshake::Header, out: Vec::new() }
    }

    fn is_over(&self) -> bool {
        self.handshake == ServerHandshake::Closed
    }

    /// Takes what it can from the front of `bytes`, and returns how much that was.
    fn receive(&mut self, bytes: &[u8]) -> usize {
        let mut at = 0;
        if self.handshake == ServerHandshake::Header {
            match self.handshake.greet(bytes, &mut self.out) {
                Greeting::Partial => return 0,
                Greeting::Ours => self.start(),
                Greeting::Other => return bytes.len(),
            }
            at = PROTOCOL_HEADER.len();
        }
        while !self.is_over() {
            match decode_frame(&bytes[at..], self.options.initial_frame_len_max + FRAME_LEN_FUDGE) {
                Ok(None) => return at,
                Ok(Some((frame, len))) => {
                    at += len;
                    if frame.kind == FrameKind::Method {
                        match Method::decode(frame.payload) {
                            Ok(method) => self.on_method(&method),
                            Err(_) => self.handshake = ServerHandshake::Closed,
                        }
                    }
                }
                Err(_) => self.handshake = ServerHandshake::Closed,
            }
        }
        bytes.len()
    }

    fn start(&mut self) {
        let is_offered = |mechanism: &&AuthMechanism| **mechanism != AuthMechanism::External || self.has_tls;
        let offered = self.options.mechanisms.iter().filter(is_offered);
        let mechanisms = offered.map(|mechanism| mechanism.name()).collect::<Vec<_>>().join(" ");
        let properties = server_properties(self.options, &self.options.cluster_name);
        self.handshake.start(properties.as_table(), mechanisms.as_bytes(), &mut self.out);
    }

    fn on_method(&mut self, method: &Method<'_>) {
        let (handshake, out) = (&mut self.handshake, &mut self.out);
        match handshake.request(method) {
            Ok(ClientRequest::Close) => handshake.answer_close(out),
            Ok(ClientRequest::CloseOk) => *handshake = ServerHandshake::Closed,
            // What was on its way.
            _ if *handshake == ServerHandshake::CloseOk => {}
            Ok(ClientRequest::LogIn(_)) => {
                let Options { channel_max, frame_len_max, heartbeat_s, .. } = *self.options;
                let tune = connection::Tune { channel_max, frame_max: frame_len_max, heartbeat: heartbeat_s };
                handshake.tune(tune, out);
            }
            Ok(ClientRequest::Tune(answer)) if handshake.agree(answer, 0).is_ok() => {}
            // Whatever a client sends now, it gets the reason.
            _ => handshake.close(ReplyCode::ConnectionForced, self.reason, out),
        }
    }
}

#[cfg(test)]
mod tests {
    use amqp::frame::put_method;
    use amqp::method::EncodeMethod;
    use amqp::table::Table;

    use super::*;

    const REASON: &str = "this node is in a minority";

    const TUNE_OK: connection::TuneOk = connection::TuneOk { channel_max: 1, frame_max: 8192, heartbeat: 0 };

    fn start_ok() -> connection::StartOk<'static> {
        let mechanism = b"PLAIN";
        connection::StartOk { client_properties: Table::default(), mechanism, response: b"", locale: b"en_US" }
    }

    /// Says this, and gives the names of the methods that are answered, with what a close says.
    fn say<M: EncodeMethod>(talk: &mut Talk<'_>, method: &M) -> Vec<String> {
        let mut bytes = Vec::new();
        put_method(&mut bytes, 0, method);
        assert_eq!(talk.receive(&bytes), bytes.len());
        heard(talk)
    }

    fn heard(talk: &mut Talk<'_>) -> Vec<String> {
        let out = std::mem::take(&mut talk.out);
        let (mut at, mut heard) = (0, Vec::new());
        while let Ok(Some((frame, len))) = decode_frame(&out[at..], 0) {
            heard.push(match Method::decode(frame.payload).expect("a method") {
                Method::ConnectionClose(close) => {
                    format!("{} {}", close.reply_code, String::from_utf8_lossy(close.reply_text))
                }
                method => method.name().to_owned(),
            });
            at += len;
        }
        heard
    }

    #[test]
    fn a_client_hears_the_reason_when_it_opens_its_vhost() {
        let options = Options::default();
        let mut talk = Talk::new(&options, false, REASON);
        assert_eq!(talk.receive(b"AMQP"), 0);
        assert_eq!(talk.receive(&PROTOCOL_HEADER), 8);
        assert_eq!(heard(&mut talk), ["connection.start"]);
        assert_eq!(say(&mut talk, &start_ok()), ["connection.tune"]);
        assert!(say(&mut talk, &TUNE_OK).is_empty());
        let close = ["320 CONNECTION_FORCED - this node is in a minority"];
        assert_eq!(say(&mut talk, &connection::Open { virtual_host: b"/", ..Default::default() }), close);
        assert!(say(&mut talk, &TUNE_OK).is_empty() && !talk.is_over());
        assert!(say(&mut talk, &connection::CloseOk).is_empty() && talk.is_over());
    }

    #[test]
    fn all_that_a_client_says_may_come_at_once() {
        let options = Options::default();
        let mut talk = Talk::new(&options, false, REASON);
        let mut bytes = PROTOCOL_HEADER.to_vec();
        put_method(&mut bytes, 0, &start_ok());
        put_method(&mut bytes, 0, &TUNE_OK);
        put_method(&mut bytes, 0, &connection::Open { virtual_host: b"/", ..Default::default() });
        assert_eq!(talk.receive(&bytes), bytes.len());
        let close = "320 CONNECTION_FORCED - this node is in a minority";
        assert_eq!(heard(&mut talk), ["connection.start", "connection.tune", close]);
    }

    #[test]
    fn other_protocols_and_what_is_no_frame_end_the_talk() {
        let options = Options::default();
        let mut talk = Talk::new(&options, false, REASON);
        assert_eq!(talk.receive(b"GET / HTTP/1.1\r\n"), 16);
        assert!(talk.is_over() && talk.out == PROTOCOL_HEADER);
        let mut talk = Talk::new(&options, false, REASON);
        talk.receive(&PROTOCOL_HEADER);
        talk.receive(b"\x07no frame at all");
        assert!(talk.is_over());
    }

    #[test]
    fn a_client_that_closes_by_itself_is_answered() {
        let options = Options::default();
        let mut talk = Talk::new(&options, false, REASON);
        talk.receive(&PROTOCOL_HEADER);
        assert_eq!(say(&mut talk, &connection::Close::default()), ["connection.start", "connection.close-ok"]);
        assert!(talk.is_over());
    }
}
