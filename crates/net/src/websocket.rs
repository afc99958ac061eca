//! AMQP over WebSocket: what a request for it must say, and a [`Stream`] over the connection that it becomes.
//!
//! The HTTP server is not here: it checks a request with [`accept`], answers 101 with the headers that this gives, and hands the
//! upgraded connection to [`stream`]. From then on the content of binary messages is the stream; their limits mean nothing. Pings are
//! answered, frames that clients do not mask are refused, and of our own there are no pings: AMQP has its heartbeats.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::Bytes;
use futures_core::Stream as _;
use futures_sink::Sink as _;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use ring::digest;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_tungstenite::WebSocketStream as Frames;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message};

use crate::proxy_protocol::Endpoints;
use crate::stream::Stream;
use crate::tls::TlsInfo;

/// The subprotocol's name, which clients may ask for.
pub(crate) const SUBPROTOCOL: &str = "amqp";

/// Longest message that is taken. All of it is in memory before any of it is read. AMQP frames may be split over messages as one likes.
const MESSAGE_LEN_MAX: usize = 1 << 20;
/// Longest message that is sent.
const SENT_LEN_MAX: usize = 64 << 10;
/// What is buffered for a client that does not read, before writing stops.
const WRITE_BUFFER_LEN_MAX: usize = 4 * SENT_LEN_MAX;

/// Why a request cannot become a WebSocket. The text is for the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum UpgradeError {
    /// It does not ask for one.
    #[error("this address speaks AMQP over WebSocket; the request does not ask for an upgrade to it")]
    NotAsked,
    /// It asks for another version.
    #[error("the version of WebSocket must be 13")]
    Version,
    /// The key is missing.
    #[error("the request has no Sec-WebSocket-Key")]
    Key,
    /// It asks for other subprotocols only.
    #[error("the only subprotocol is '{SUBPROTOCOL}'")]
    Subprotocol,
}

impl UpgradeError {
    /// How to answer.
    #[must_use]
    pub fn status(self) -> StatusCode {
        match self {
            Self::NotAsked | Self::Version => StatusCode::UPGRADE_REQUIRED,
            Self::Key | Self::Subprotocol => StatusCode::BAD_REQUEST,
        }
    }
}

/// Checks the headers of a GET request. Gives those of the answer, whose status has to be 101.
pub fn accept(request: &HeaderMap) -> Result<Vec<(HeaderName, HeaderValue)>, UpgradeError> {
    if !has_token(request, header::CONNECTION, "upgrade") || !has_token(request, header::UPGRADE, "websocket") {
        return Err(UpgradeError::NotAsked);
    }
    if request.get(header::SEC_WEBSOCKET_VERSION).is_none_or(|version| version != "13") {
        return Err(UpgradeError::Version);
    }
    let key = request.get(header::SEC_WEBSOCKET_KEY).filter(|key| !key.is_empty()).ok_or(UpgradeError::Key)?;
    let accepted = HeaderValue::from_str(&accept_key(key.as_bytes())).map_err(|_| UpgradeError::Key)?;
    let mut answer = vec![
        (header::CONNECTION, HeaderValue::from_static("Upgrade")),
        (header::UPGRADE, HeaderValue::from_static("websocket")),
        (header::SEC_WEBSOCKET_ACCEPT, accepted),
    ];
    // A client that names subprotocols disconnects if none of them is confirmed, and one that names none if any is.
    if request.contains_key(header::SEC_WEBSOCKET_PROTOCOL) {
        if !has_token(request, header::SEC_WEBSOCKET_PROTOCOL, SUBPROTOCOL) {
            return Err(UpgradeError::Subprotocol);
        }
        answer.push((header::SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(SUBPROTOCOL)));
    }
    Ok(answer)
}

/// Proves that the key was read (RFC 6455, 4.2.2).
fn accept_key(key: &[u8]) -> String {
    let mut context = digest::Context::new(&digest::SHA1_FOR_LEGACY_USE_ONLY);
    context.update(key);
    context.update(b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11");
    BASE64.encode(context.finish())
}

/// Whether one of a header's words is this.
fn has_token(headers: &HeaderMap, name: HeaderName, wanted: &str) -> bool {
    let values = headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|word| word.trim().eq_ignore_ascii_case(wanted))
}

/// A stream over an upgraded connection, whose ends and whose TLS the HTTP server knows.
pub fn stream<Io>(io: Io, endpoints: Endpoints, tls: Option<TlsInfo>) -> Stream
where
    Io: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let limits = WebSocketConfig::default()
        .max_message_size(Some(MESSAGE_LEN_MAX))
        .max_frame_size(Some(MESSAGE_LEN_MAX))
        .write_buffer_size(0)
        .max_write_buffer_size(WRITE_BUFFER_LEN_MAX);
    let io: Box<dyn ByteStream> = Box::new(io);
    Stream::WebSocket(Box::new(WebSocketStream {
        frames: from_upgraded(io, limits),
        received: Bytes::new(),
        endpoints,
        tls,
    }))
}

/// What the library does asynchronously only because it might have to shake hands, which has been done.
fn from_upgraded(io: Box<dyn ByteStream>, limits: WebSocketConfig) -> Frames<Box<dyn ByteStream>> {
    let mut made = Box::pin(Frames::from_raw_socket(io, Role::Server, Some(limits)));
    let mut cx = Context::from_waker(std::task::Waker::noop());
    match made.as_mut().poll(&mut cx) {
        Poll::Ready(frames) => frames,
        Poll::Pending => unreachable!("there is nothing to wait for"),
    }
}

/// Whatever was upgraded.
trait ByteStream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> ByteStream for T {}

/// A WebSocket, with its messages' contents in a row.
pub struct WebSocketStream {
    frames: Frames<Box<dyn ByteStream>>,
    /// Of the last message, what has not been read.
    received: Bytes,
    endpoints: Endpoints,
    tls: Option<TlsInfo>,
}

impl std::fmt::Debug for WebSocketStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WebSocketStream").field("endpoints", &self.endpoints).finish_non_exhaustive()
    }
}

impl WebSocketStream {
    pub(crate) fn peer_addr(&self) -> SocketAddr {
        self.endpoints.peer
    }

    pub(crate) fn local_addr(&self) -> SocketAddr {
        self.endpoints.local
    }

    pub(crate) fn tls_info(&self) -> Option<TlsInfo> {
        self.tls.clone()
    }

    pub(crate) fn poll_read(&mut self, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        while self.received.is_empty() {
            match ready!(Pin::new(&mut self.frames).poll_next(cx)) {
                Some(Ok(Message::Binary(content))) => self.received = content,
                Some(Ok(Message::Text(_))) => {
                    return Poll::Ready(Err(io::Error::new(
                        io::ErrorKind::InvalidData,
                        "AMQP requires binary messages",
                    )));
                }
                // The library answers pings and a close, when it is asked for what comes next.
                Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Close(_) | Message::Frame(_))) => {}
                None => return Poll::Ready(Ok(())),
                Some(Err(error)) => return Poll::Ready(end_or_error(error)),
            }
        }
        let len = self.received.len().min(buffer.remaining());
        buffer.put_slice(&self.received.split_to(len));
        Poll::Ready(Ok(()))
    }

    pub(crate) fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        ready!(Pin::new(&mut self.frames).poll_ready(cx)).map_err(into_io)?;
        let content = Bytes::copy_from_slice(&bytes[..bytes.len().min(SENT_LEN_MAX)]);
        let len = content.len();
        Pin::new(&mut self.frames).start_send(Message::Binary(content)).map_err(into_io)?;
        Poll::Ready(Ok(len))
    }

    pub(crate) fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.frames).poll_flush(cx).map_err(into_io)
    }

    pub(crate) fn poll_shutdown(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.frames).poll_close(cx).map_err(into_io)
    }
}

/// The end of a connection, however it came, is an end.
fn end_or_error(error: Error) -> io::Result<()> {
    match error {
        Error::ConnectionClosed | Error::AlreadyClosed => Ok(()),
        error => Err(into_io(error)),
    }
}

fn into_io(error: Error) -> io::Error {
    match error {
        Error::Io(error) => error,
        Error::ConnectionClosed | Error::AlreadyClosed => io::ErrorKind::BrokenPipe.into(),
        error => io::Error::new(io::ErrorKind::InvalidData, error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(lines: &[(&str, &str)]) -> HeaderMap {
        let header =
            |(name, value): &(&str, &str)| (name.parse::<HeaderName>().unwrap(), value.parse::<HeaderValue>().unwrap());
        lines.iter().map(header).collect()
    }

    /// The example of RFC 6455, 1.2.
    const EXAMPLE: [(&str, &str); 4] = [
        ("connection", "keep-alive, Upgrade"),
        ("upgrade", "WebSocket"),
        ("sec-websocket-version", "13"),
        ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
    ];

    fn answer(extra: &[(&str, &str)]) -> Result<HeaderMap, UpgradeError> {
        accept(&headers(&[&EXAMPLE, extra].concat())).map(|answer| answer.into_iter().collect())
    }

    #[test]
    fn the_key_is_answered_as_the_specification_says() {
        let answer = answer(&[]).unwrap();
        assert_eq!(answer["sec-websocket-accept"], "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
        assert_eq!(
            (&answer["connection"], &answer["upgrade"]),
            (&"Upgrade".parse().unwrap(), &"websocket".parse().unwrap())
        );
        assert!(!answer.contains_key("sec-websocket-protocol"));
    }

    #[test]
    fn the_subprotocol_is_confirmed_when_asked_for() {
        let answer = answer(&[("sec-websocket-protocol", "mqtt, amqp")]).unwrap();
        assert_eq!(answer["sec-websocket-protocol"], "amqp");
    }

    #[test]
    fn other_requests_are_refused_with_a_reason() {
        let other = answer(&[("sec-websocket-protocol", "mqtt")]).unwrap_err();
        assert_eq!((other, other.status()), (UpgradeError::Subprotocol, StatusCode::BAD_REQUEST));
        let without = |name: &str| {
            let kept: Vec<_> = EXAMPLE.into_iter().filter(|(other, _)| *other != name).collect();
            accept(&headers(&kept)).unwrap_err()
        };
        assert_eq!(without("connection"), UpgradeError::NotAsked);
        assert_eq!(without("upgrade"), UpgradeError::NotAsked);
        assert_eq!(without("sec-websocket-version"), UpgradeError::Version);
        assert_eq!(without("sec-websocket-key"), UpgradeError::Key);
        assert_eq!(without("upgrade").status(), StatusCode::UPGRADE_REQUIRED);
    }
}
