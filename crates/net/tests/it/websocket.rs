//! WebSocket: over a pipe in memory, and over a connection that a real HTTP server has upgraded, against another library's client end.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;

use futures_core::Stream as _;
use futures_sink::Sink as _;
use http::{Request, Response, StatusCode};
use http_body_util::Empty;
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use net::proxy_protocol::Endpoints;
use net::{Stream, websocket};
use std::future::poll_fn;
use std::pin::Pin;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, DuplexStream};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::{Message, protocol::Role};

fn endpoints() -> Endpoints {
    let address = |text: &str| text.parse::<SocketAddr>().unwrap();
    Endpoints { peer: address("192.0.2.1:1234"), local: address("198.51.100.1:15672") }
}

/// A client end, and the stream at the other side.
async fn pair() -> (WebSocketStream<DuplexStream>, Stream) {
    let (client, server) = tokio::io::duplex(64 << 10);
    let client = WebSocketStream::from_raw_socket(client, Role::Client, None).await;
    (client, websocket::stream(server, endpoints(), None))
}

async fn send<Io: AsyncRead + AsyncWrite + Unpin>(client: &mut WebSocketStream<Io>, message: Message) {
    poll_fn(|cx| Pin::new(&mut *client).poll_ready(cx)).await.unwrap();
    Pin::new(&mut *client).start_send(message).unwrap();
    poll_fn(|cx| Pin::new(&mut *client).poll_flush(cx)).await.unwrap();
}

async fn receive<Io: AsyncRead + AsyncWrite + Unpin>(client: &mut WebSocketStream<Io>) -> Option<Message> {
    poll_fn(|cx| Pin::new(&mut *client).poll_next(cx)).await.map(Result::unwrap)
}

fn binary(content: &[u8]) -> Message {
    Message::Binary(Bytes::copy_from_slice(content))
}

#[tokio::test]
async fn contents_of_messages_are_one_stream() {
    let (mut client, mut stream) = pair().await;
    for part in ["AM", "", "QP\0", "\0\x09\x01hello"] {
        send(&mut client, binary(part.as_bytes())).await;
    }
    let mut header = [0; 8];
    stream.read_exact(&mut header).await.unwrap();
    assert_eq!(&header, b"AMQP\0\0\x09\x01");
    let mut rest = [0; 5];
    stream.read_exact(&mut rest).await.unwrap();
    assert_eq!(&rest, b"hello");
    stream.write_all(b"answer").await.unwrap();
    stream.flush().await.unwrap();
    assert_eq!(receive(&mut client).await, Some(binary(b"answer")));
}

#[tokio::test]
async fn more_than_fits_goes_as_the_client_reads() {
    let (mut client, mut stream) = pair().await;
    let sent: Vec<u8> = (0..2_000_000_u32).map(|number| number as u8).collect();
    let writing = async {
        stream.write_all(&sent).await.unwrap();
        stream.flush().await.unwrap();
    };
    let reading = async {
        let mut received = Vec::new();
        while received.len() < sent.len() {
            received.extend_from_slice(&receive(&mut client).await.unwrap().into_data());
        }
        received
    };
    let ((), received) = tokio::join!(writing, reading);
    assert!(received == sent);
}

#[tokio::test]
async fn pings_are_answered_while_reading() {
    let (mut client, mut stream) = pair().await;
    send(&mut client, Message::Ping(Bytes::from_static(b"there?"))).await;
    send(&mut client, binary(b"x")).await;
    assert_eq!(stream.read_u8().await.unwrap(), b'x');
    assert_eq!(receive(&mut client).await, Some(Message::Pong(Bytes::from_static(b"there?"))));
}

#[tokio::test]
async fn closing_is_an_end_for_both() {
    let (mut client, mut stream) = pair().await;
    send(&mut client, Message::Close(None)).await;
    assert_eq!(stream.read(&mut [0; 8]).await.unwrap(), 0);
    assert!(matches!(receive(&mut client).await, Some(Message::Close(_))));

    let (mut client, mut stream) = pair().await;
    stream.write_all(b"last").await.unwrap();
    let shutdown = async move {
        let _ = stream.shutdown().await;
    };
    let reading = async {
        assert_eq!(receive(&mut client).await, Some(binary(b"last")));
        assert!(matches!(receive(&mut client).await, Some(Message::Close(_))));
        assert_eq!(receive_end(&mut client).await, None);
    };
    tokio::join!(shutdown, reading);
}

/// Reads on, which answers the close.
async fn receive_end<Io: AsyncRead + AsyncWrite + Unpin>(client: &mut WebSocketStream<Io>) -> Option<Message> {
    poll_fn(|cx| Pin::new(&mut *client).poll_next(cx)).await.and_then(Result::ok)
}

async fn read_error(stream: &mut Stream) -> io::ErrorKind {
    stream.read(&mut [0; 8]).await.unwrap_err().kind()
}

#[tokio::test]
async fn text_unmasked_frames_and_endless_messages_are_refused() {
    let (mut client, mut stream) = pair().await;
    send(&mut client, Message::text("AMQP")).await;
    assert_eq!(read_error(&mut stream).await, io::ErrorKind::InvalidData);

    let (mut raw, server) = tokio::io::duplex(1024);
    let mut stream = websocket::stream(server, endpoints(), None);
    raw.write_all(b"\x82\x05hello").await.unwrap();
    assert_eq!(read_error(&mut stream).await, io::ErrorKind::InvalidData);

    let (mut raw, server) = tokio::io::duplex(1024);
    let mut stream = websocket::stream(server, endpoints(), None);
    let gigabyte = [&b"\x82\xff"[..], &(1_u64 << 30).to_be_bytes(), b"mask"].concat();
    raw.write_all(&gigabyte).await.unwrap();
    assert_eq!(read_error(&mut stream).await, io::ErrorKind::InvalidData);
}

/// Answers one connection: upgrades what may be upgraded, and echoes.
async fn serve_one(listener: tokio::net::TcpListener) {
    let (tcp, peer) = listener.accept().await.unwrap();
    let local = tcp.local_addr().unwrap();
    let service = service_fn(move |mut request: Request<Incoming>| async move {
        let mut response = Response::new(Empty::<Bytes>::new());
        match websocket::accept(request.headers()) {
            Ok(headers) => {
                let upgrade = hyper::upgrade::on(&mut request);
                tokio::spawn(async move {
                    let upgraded = TokioIo::new(upgrade.await.unwrap());
                    let mut stream = websocket::stream(upgraded, Endpoints { peer, local }, None);
                    assert_eq!((stream.peer_addr().unwrap(), stream.local_addr().unwrap()), (peer, local));
                    let mut text = [0; 5];
                    stream.read_exact(&mut text).await.unwrap();
                    stream.write_all(&text.to_ascii_uppercase()).await.unwrap();
                    stream.flush().await.unwrap();
                });
                *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
                response.headers_mut().extend(headers);
            }
            Err(error) => *response.status_mut() = error.status(),
        }
        Ok::<_, Infallible>(response)
    });
    let connection = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(tcp), service);
    let _ = connection.with_upgrades().await;
}

async fn request(address: SocketAddr, protocol: &str) -> Response<Incoming> {
    let tcp = tokio::net::TcpStream::connect(address).await.unwrap();
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(tcp)).await.unwrap();
    tokio::spawn(connection.with_upgrades());
    let request = Request::get("/ws")
        .header("host", address.to_string())
        .header("connection", "Upgrade")
        .header("upgrade", "websocket")
        .header("sec-websocket-version", "13")
        .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==")
        .header("sec-websocket-protocol", protocol)
        .body(Empty::<Bytes>::new())
        .unwrap();
    sender.send_request(request).await.unwrap()
}

#[tokio::test]
async fn connection_of_an_http_server_becomes_a_stream() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = tokio::spawn(serve_one(listener));
    let response = request(address, "amqp").await;
    assert_eq!(response.status(), StatusCode::SWITCHING_PROTOCOLS);
    assert_eq!(response.headers()["sec-websocket-accept"], "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    assert_eq!(response.headers()["sec-websocket-protocol"], "amqp");
    let upgraded = TokioIo::new(hyper::upgrade::on(response).await.unwrap());
    let mut client = WebSocketStream::from_raw_socket(upgraded, Role::Client, None).await;
    send(&mut client, binary(b"hello")).await;
    assert_eq!(receive(&mut client).await, Some(binary(b"HELLO")));
    server.await.unwrap();
}

#[tokio::test]
async fn other_subprotocols_are_refused_over_http() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = tokio::spawn(serve_one(listener));
    assert_eq!(request(address, "mqtt").await.status(), StatusCode::BAD_REQUEST);
    server.abort();
}
