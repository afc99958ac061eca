//! A broker that does what a test says.

use std::future::Future;

use amqp::frame::{FrameKind, PROTOCOL_HEADER, decode_frame, put_method};
use amqp::method::EncodeMethod;
use amqp::{Method, TableBuf, Value, connection};
use amqp_client::{ConnectOptions, Connection, OpenError, Uri};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// One connection, from the broker's side.
pub(crate) struct Peer {
    stream: TcpStream,
    input: Vec<u8>,
}

impl Peer {
    pub(crate) async fn send_bytes(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).await.unwrap();
    }

    pub(crate) async fn send(&mut self, channel: u16, method: &impl EncodeMethod) {
        let mut out = Vec::new();
        put_method(&mut out, channel, method);
        self.send_bytes(&out).await;
    }

    pub(crate) async fn expect_header(&mut self) {
        let mut header = [0; 8];
        self.stream.read_exact(&mut header).await.unwrap();
        assert_eq!(header, PROTOCOL_HEADER);
    }

    /// The next frame, as bytes; `None` when the client has closed the socket.
    pub(crate) async fn frame(&mut self) -> Option<(FrameKind, u16, Vec<u8>)> {
        loop {
            if let Some((frame, len)) = decode_frame(&self.input, 0).unwrap() {
                let frame = (frame.kind, frame.channel, frame.payload.to_vec());
                self.input.drain(..len);
                return Some(frame);
            }
            if self.stream.read_buf(&mut self.input).await.unwrap() == 0 {
                return None;
            }
        }
    }

    /// The next method is this one.
    pub(crate) async fn expect<'a>(&mut self, channel: u16, expected: impl Into<Method<'a>>) {
        let (kind, on, payload) = self.frame().await.unwrap();
        assert_eq!((kind, on), (FrameKind::Method, channel));
        assert_eq!(Method::decode(&payload).unwrap(), expected.into());
    }

    pub(crate) async fn start(&mut self) {
        self.expect_header().await;
        let properties =
            TableBuf::new().with("product", Value::LongStr(b"Scripted")).with("version", Value::LongStr(b"7"));
        let start = connection::Start {
            version_minor: 9,
            server_properties: properties.as_table(),
            mechanisms: b"PLAIN AMQPLAIN",
            locales: b"en_US",
            ..Default::default()
        };
        self.send(0, &start).await;
    }

    /// All of the handshake. Returns the client's response and tune-ok.
    pub(crate) async fn open(&mut self, tune: connection::Tune) -> (Vec<u8>, connection::TuneOk) {
        self.start().await;
        let (_, _, payload) = self.frame().await.unwrap();
        let Method::ConnectionStartOk(start_ok) = Method::decode(&payload).unwrap() else { panic!("no start-ok") };
        let response = start_ok.response.to_vec();
        self.send(0, &tune).await;
        let (_, _, payload) = self.frame().await.unwrap();
        let Method::ConnectionTuneOk(tune_ok) = Method::decode(&payload).unwrap() else { panic!("no tune-ok") };
        self.expect(0, connection::Open { virtual_host: b"/", ..Default::default() }).await;
        self.send(0, &connection::OpenOk::default()).await;
        (response, tune_ok)
    }
}

pub(crate) const TUNE: connection::Tune = connection::Tune { channel_max: 2047, frame_max: 8192, heartbeat: 0 };

/// Runs a client and the broker that it connects to, side by side.
pub(crate) fn play<C: Future<Output = ()>, B: Future<Output = ()>>(
    options: ConnectOptions,
    client: impl FnOnce(Result<Connection, OpenError>) -> C,
    broker: impl FnOnce(Peer) -> B,
) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let uri = Uri { host: "127.0.0.1".to_owned(), port, ..Uri::default() };
        let client = async { client(Connection::open(&uri, &options).await).await };
        let broker = async {
            let (stream, _) = listener.accept().await.unwrap();
            broker(Peer { stream, input: Vec::new() }).await;
        };
        tokio::join!(client, broker);
    });
}
