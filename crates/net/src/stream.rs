//! A connection's two directions, whatever carries them, and the parties at both ends.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};

use crate::proxy_protocol::Endpoints;
use crate::tcp_info::{self, TcpInfo};
use crate::tls::TlsInfo;
use crate::unix::{PeerCredentials, UNIX_PEER};
use crate::websocket::WebSocketStream;

/// A connection, accepted or dialled. Other carriers become further variants, and their users do not change.
#[derive(Debug)]
pub enum Stream {
    /// Plain TCP.
    Tcp(TcpStream),
    /// Plain TCP through a proxy that reports the client's address.
    Proxied(Box<ProxiedStream>),
    /// TLS over TCP.
    Tls(Box<TlsStream>),
    /// A Unix-domain socket.
    Unix(UnixStream),
    /// A WebSocket over whatever an HTTP server has upgraded.
    WebSocket(Box<WebSocketStream>),
    /// Whatever another node has passed on for its client.
    Forwarded(Box<ForwardedStream>),
}

/// TCP through a proxy.
#[derive(Debug)]
pub struct ProxiedStream {
    pub(crate) tcp: TcpStream,
    /// As the proxy says, as far as it is believed.
    pub(crate) endpoints: Endpoints,
}

/// TLS over TCP.
#[derive(Debug)]
pub struct TlsStream {
    pub(crate) tls: tokio_rustls::TlsStream<TcpStream>,
    /// As a proxy says, as far as it is believed.
    pub(crate) endpoints: Option<Endpoints>,
}

/// What another node has passed on: its own connection, and what it says of its client's.
#[derive(Debug)]
pub struct ForwardedStream {
    carrier: Stream,
    endpoints: Endpoints,
    tls: Option<TlsInfo>,
}

/// A connection that no runtime watches, on its way from one to another.
#[derive(Debug)]
pub struct DetachedStream(Detached);

#[derive(Debug)]
enum Detached {
    Tcp(std::net::TcpStream),
    /// Bound to the reactor that it began with.
    Other(Stream),
}

impl DetachedStream {
    /// Has the runtime that this is called in watch it.
    pub fn attach(self) -> io::Result<Stream> {
        match self.0 {
            Detached::Tcp(tcp) => TcpStream::from_std(tcp).map(Stream::Tcp),
            Detached::Other(stream) => Ok(stream),
        }
    }
}

/// When the kernel gives a connection up because the other side is silent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Liveness {
    /// After how long without a byte it asks the other side, and how often until it gives up after as long again.
    pub idle: Duration,
    /// How long what was sent may stay unacknowledged, or unread for want of room; the kernel's own way when absent.
    pub unacknowledged: Option<Duration>,
}

impl Stream {
    /// Two ends of a connection within this process. To be called within a runtime, which watches both.
    pub fn pair() -> io::Result<(Stream, Stream)> {
        let (one, other) = UnixStream::pair()?;
        Ok((Stream::Unix(one), Stream::Unix(other)))
    }

    /// A client's connection that another node passes on over `carrier`.
    #[must_use]
    pub fn forwarded(carrier: Stream, endpoints: Endpoints, tls: Option<TlsInfo>) -> Self {
        Self::Forwarded(Box::new(ForwardedStream { carrier, endpoints, tls }))
    }

    /// Takes it from the runtime that watches it, where its carrier allows that: plain TCP does.
    pub fn detach(self) -> io::Result<DetachedStream> {
        Ok(DetachedStream(match self {
            Self::Tcp(tcp) => Detached::Tcp(tcp.into_std()?),
            other => Detached::Other(other),
        }))
    }

    /// What the kernel knows of the way to the other side and back; `None` of what is no TCP socket, and where it does not say.
    #[must_use]
    pub fn tcp_info(&self) -> Option<TcpInfo> {
        tcp_info::tcp_info(self.tcp()?)
    }

    /// Has the kernel notice that the other side has ended. A wish: a socket that refuses still works.
    pub fn keep_alive(&self, liveness: Liveness) {
        const PROBES: u32 = 3;
        let Some(tcp) = self.tcp() else { return };
        let socket = SockRef::from(tcp);
        // Whole seconds are all that the kernel knows.
        let interval = (liveness.idle / PROBES).max(Duration::from_secs(1));
        let probing = TcpKeepalive::new().with_time(liveness.idle).with_interval(interval).with_retries(PROBES);
        let _ = socket.set_tcp_keepalive(&probing);
        #[cfg(any(target_os = "linux", target_os = "android"))]
        if let Some(unacknowledged) = liveness.unacknowledged {
            let _ = socket.set_tcp_user_timeout(Some(unacknowledged));
        }
    }

    fn tcp(&self) -> Option<&TcpStream> {
        match self {
            Self::Tcp(tcp) => Some(tcp),
            Self::Proxied(proxied) => Some(&proxied.tcp),
            Self::Tls(tls) => Some(tls.tcp()),
            Self::Forwarded(forwarded) => forwarded.carrier.tcp(),
            Self::Unix(_) | Self::WebSocket(_) => None,
        }
    }

    /// The other side's address: the client's, not the proxy's or the other node's, if one of them said so. Over a Unix-domain socket,
    /// which has none, it is this host's, with port 0.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        match self {
            Self::Tcp(tcp) => tcp.peer_addr(),
            Self::Proxied(proxied) => Ok(proxied.endpoints.peer),
            Self::Tls(tls) => tls.endpoints.map_or_else(|| tls.tcp().peer_addr(), |ends| Ok(ends.peer)),
            Self::Unix(_) => Ok(UNIX_PEER),
            Self::WebSocket(socket) => Ok(socket.peer_addr()),
            Self::Forwarded(forwarded) => Ok(forwarded.endpoints.peer),
        }
    }

    /// This side's address: where the client connected to, if there is a proxy that said so.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        match self {
            Self::Tcp(tcp) => tcp.local_addr(),
            Self::Proxied(proxied) => Ok(proxied.endpoints.local),
            Self::Tls(tls) => tls.endpoints.map_or_else(|| tls.tcp().local_addr(), |ends| Ok(ends.local)),
            Self::Unix(_) => Ok(UNIX_PEER),
            Self::WebSocket(socket) => Ok(socket.local_addr()),
            Self::Forwarded(forwarded) => Ok(forwarded.endpoints.local),
        }
    }

    /// What TLS agreed on, and whose certificate was shown; `None` without TLS. Reads the certificate, so ask once.
    #[must_use]
    pub fn tls_info(&self) -> Option<TlsInfo> {
        match self {
            Self::Tcp(_) | Self::Proxied(_) | Self::Unix(_) => None,
            Self::Tls(tls) => TlsInfo::of(tls.tls.get_ref().1),
            Self::WebSocket(socket) => socket.tls_info(),
            Self::Forwarded(forwarded) => forwarded.tls.clone(),
        }
    }

    /// The process on the other side of a Unix-domain socket; `None` of anything else.
    #[must_use]
    pub fn peer_credentials(&self) -> Option<PeerCredentials> {
        let Self::Unix(unix) = self else { return None };
        let credentials = unix.peer_cred().ok()?;
        Some(PeerCredentials { uid: credentials.uid(), gid: credentials.gid(), pid: credentials.pid() })
    }

    /// Reads what has arrived, as [`AsyncRead::poll_read`].
    pub fn poll_read(&mut self, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Tcp(tcp) => Pin::new(tcp).poll_read(cx, buffer),
            Self::Proxied(proxied) => Pin::new(&mut proxied.tcp).poll_read(cx, buffer),
            Self::Tls(tls) => Pin::new(&mut tls.tls).poll_read(cx, buffer),
            Self::Unix(unix) => Pin::new(unix).poll_read(cx, buffer),
            Self::WebSocket(socket) => socket.poll_read(cx, buffer),
            Self::Forwarded(forwarded) => forwarded.carrier.poll_read(cx, buffer),
        }
    }

    /// Writes what the socket will take, as [`AsyncWrite::poll_write`].
    pub fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self {
            Self::Tcp(tcp) => Pin::new(tcp).poll_write(cx, bytes),
            Self::Proxied(proxied) => Pin::new(&mut proxied.tcp).poll_write(cx, bytes),
            Self::Tls(tls) => Pin::new(&mut tls.tls).poll_write(cx, bytes),
            Self::Unix(unix) => Pin::new(unix).poll_write(cx, bytes),
            Self::WebSocket(socket) => socket.poll_write(cx, bytes),
            Self::Forwarded(forwarded) => forwarded.carrier.poll_write(cx, bytes),
        }
    }

    /// Ends this side's direction; what was written still arrives.
    pub fn poll_shutdown(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Tcp(tcp) => Pin::new(tcp).poll_shutdown(cx),
            Self::Proxied(proxied) => Pin::new(&mut proxied.tcp).poll_shutdown(cx),
            Self::Tls(tls) => Pin::new(&mut tls.tls).poll_shutdown(cx),
            Self::Unix(unix) => Pin::new(unix).poll_shutdown(cx),
            Self::WebSocket(socket) => socket.poll_shutdown(cx),
            Self::Forwarded(forwarded) => forwarded.carrier.poll_shutdown(cx),
        }
    }

    /// Pushes out what a carrier still holds after [`poll_write`](Self::poll_write) took it: TLS and WebSocket do.
    pub fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Tcp(_) | Self::Proxied(_) | Self::Unix(_) => Poll::Ready(Ok(())),
            Self::Tls(tls) => Pin::new(&mut tls.tls).poll_flush(cx),
            Self::WebSocket(socket) => socket.poll_flush(cx),
            Self::Forwarded(forwarded) => forwarded.carrier.poll_flush(cx),
        }
    }
}

impl TlsStream {
    fn tcp(&self) -> &TcpStream {
        self.tls.get_ref().0
    }
}

/// For libraries that know streams by these traits.
impl AsyncRead for Stream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Stream::poll_read(self.get_mut(), cx, buffer)
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Stream::poll_write(self.get_mut(), cx, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Stream::poll_flush(self.get_mut(), cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Stream::poll_shutdown(self.get_mut(), cx)
    }
}
