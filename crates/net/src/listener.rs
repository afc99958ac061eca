//! A listening socket, TCP or Unix-domain.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use socket2::{Domain, Protocol, SockRef, Socket, Type};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::watch;

use crate::bind_error::BindError;
use crate::gate::Gate;
use crate::open_files::{SpareFile, is_exhaustion};
use crate::stream::Stream;
use crate::unix::{UNIX_PEER, UnixSocket};

/// Options of a listening socket and of what it accepts (`tcp_listen_options.*`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SocketOptions {
    /// How many connections may wait to be accepted.
    pub backlog: u32,
    /// Send small segments at once instead of gathering them.
    pub nodelay: bool,
    /// Ask the kernel to probe idle connections.
    pub keepalive: bool,
    /// The kernel's send buffer in bytes; its own choice when absent.
    pub send_buffer_len: Option<u32>,
    /// The kernel's receive buffer in bytes; its own choice when absent.
    pub receive_buffer_len: Option<u32>,
    /// How long closing waits for unsent data; the kernel's own way when absent.
    pub linger: Option<Duration>,
}

impl Default for SocketOptions {
    /// RabbitMQ's defaults: a backlog of 128, `nodelay`, and the kernel's buffers.
    fn default() -> Self {
        Self {
            backlog: 128,
            nodelay: true,
            keepalive: false,
            send_buffer_len: None,
            receive_buffer_len: None,
            linger: None,
        }
    }
}

/// Where a listener listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListenerAddress {
    /// On an address and a port.
    Tcp(SocketAddr),
    /// At a path.
    Unix(PathBuf),
}

impl fmt::Display for ListenerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Unix(path) => path.display().fmt(f),
        }
    }
}

/// A listening socket.
#[derive(Debug)]
pub struct Listener {
    socket: ListeningSocket,
    options: SocketOptions,
    spare: SpareFile,
    /// Whether a gate has suspended it, or a listener that shares its socket.
    suspended: watch::Receiver<bool>,
    suspend: watch::Sender<bool>,
    /// Whether the reactor has seen the socket shut down: it would take it for shut down for ever.
    is_stale: bool,
    /// What the gates act on, which is closed with this.
    gated: Option<Arc<Socket>>,
}

#[derive(Debug)]
enum ListeningSocket {
    Tcp(TcpListener),
    Unix(UnixSocket),
    /// Another's, whose path is not ours to remove.
    SharedUnix(UnixListener, PathBuf),
}

/// The same listening socket for another runtime: each accepts some of what comes.
#[derive(Debug)]
pub struct SharedListener {
    socket: SharedSocket,
    options: SocketOptions,
    suspended: watch::Receiver<bool>,
    suspend: watch::Sender<bool>,
}

#[derive(Debug)]
enum SharedSocket {
    Tcp(std::net::TcpListener),
    Unix(std::os::unix::net::UnixListener, PathBuf),
}

impl SharedListener {
    /// Listens. Must be called inside the tokio runtime that is to accept.
    pub fn listen(self) -> io::Result<Listener> {
        let socket = match self.socket {
            SharedSocket::Tcp(socket) => ListeningSocket::Tcp(TcpListener::from_std(socket)?),
            SharedSocket::Unix(socket, path) => ListeningSocket::SharedUnix(UnixListener::from_std(socket)?, path),
        };
        let is_stale = matches!(socket, ListeningSocket::Tcp(_)) && *self.suspended.borrow();
        Ok(Listener {
            socket,
            options: self.options,
            spare: SpareFile::hold(),
            is_stale,
            suspended: self.suspended,
            suspend: self.suspend,
            gated: None,
        })
    }
}

/// How long accepting pauses when nothing can be accepted, not even to be refused.
const EXHAUSTION_PAUSE: Duration = Duration::from_millis(100);

impl Listener {
    /// Opens a listener on `address`. Must be called inside a tokio runtime.
    pub fn bind(address: SocketAddr, options: SocketOptions) -> Result<Self, BindError> {
        let socket = open(address, &options).map_err(|source| match source.kind() {
            io::ErrorKind::AddrInUse => BindError::Taken { address },
            _ => BindError::Refused { address, source },
        })?;
        Ok(Self::new(ListeningSocket::Tcp(socket), options))
    }

    /// Opens a Unix-domain listener that only its owner can connect to. A socket that a dead process left at `path` is replaced. Must be
    /// called inside a tokio runtime.
    pub fn bind_unix(path: &Path, backlog: u32) -> Result<Self, BindError> {
        let socket = ListeningSocket::Unix(UnixSocket::bind(path, backlog)?);
        Ok(Self::new(socket, SocketOptions { backlog, ..SocketOptions::default() }))
    }

    fn new(socket: ListeningSocket, options: SocketOptions) -> Self {
        let (suspend, suspended) = watch::channel(false);
        Self { socket, options, spare: SpareFile::hold(), suspended, suspend, is_stale: false, gated: None }
    }

    /// What suspends it, and whatever shares its socket, while it is accepted from.
    pub fn gate(&mut self) -> io::Result<Gate> {
        let ListeningSocket::Tcp(tcp) = &self.socket else { return Ok(Gate::of_unix(self.suspend.clone())) };
        let socket = match &self.gated {
            Some(socket) => socket,
            None => self.gated.insert(Arc::new(SockRef::from(tcp).try_clone()?)),
        };
        Gate::of_tcp(self.suspend.clone(), socket, backlog(&self.options))
    }

    /// The same socket, for another runtime. A path is removed with this listener, not with those that share it.
    pub fn share(&self) -> io::Result<SharedListener> {
        let socket = match &self.socket {
            ListeningSocket::Tcp(socket) => SharedSocket::Tcp(SockRef::from(socket).try_clone()?.into()),
            ListeningSocket::Unix(socket) => {
                SharedSocket::Unix(SockRef::from(&socket.listener).try_clone()?.into(), socket.path.clone())
            }
            ListeningSocket::SharedUnix(socket, path) => {
                SharedSocket::Unix(SockRef::from(socket).try_clone()?.into(), path.clone())
            }
        };
        let (suspended, suspend) = (self.suspend.subscribe(), self.suspend.clone());
        Ok(SharedListener { socket, options: self.options.clone(), suspended, suspend })
    }

    /// The address it listens on: the real port where port 0 was asked for. A Unix-domain listener has none.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        match &self.socket {
            ListeningSocket::Tcp(socket) => socket.local_addr(),
            ListeningSocket::Unix(_) | ListeningSocket::SharedUnix(..) => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    /// Where it listens, whatever it is.
    pub fn address(&self) -> io::Result<ListenerAddress> {
        match &self.socket {
            ListeningSocket::Tcp(socket) => Ok(ListenerAddress::Tcp(socket.local_addr()?)),
            ListeningSocket::Unix(socket) => Ok(ListenerAddress::Unix(socket.path.clone())),
            ListeningSocket::SharedUnix(_, path) => Ok(ListenerAddress::Unix(path.clone())),
        }
    }

    /// The next connection.
    ///
    /// When the process has run out of file descriptors the waiting connection is accepted on a spare one and closed at
    /// once, `on_refusal` is called, and accepting continues. While it is suspended there is none.
    pub async fn accept(&mut self, mut on_refusal: impl FnMut(&io::Error)) -> (Stream, SocketAddr) {
        loop {
            if self.is_stale {
                self.await_resumption().await;
            }
            let accepted = tokio::select! {
                biased;
                Ok(()) = self.suspended.changed() => {
                    self.is_stale = matches!(self.socket, ListeningSocket::Tcp(_));
                    continue;
                }
                accepted = self.socket.accept() => accepted,
            };
            match accepted {
                Ok(_) if *self.suspended.borrow() => {}
                Ok((stream, peer)) => {
                    self.configure(&stream);
                    return (stream, peer);
                }
                Err(error) if is_exhaustion(&error) => {
                    on_refusal(&error);
                    if !self.turn_away() {
                        tokio::time::sleep(EXHAUSTION_PAUSE).await;
                    }
                }
                // The client disconnected between its SYN and our accept; nothing to report.
                Err(_) => tokio::task::yield_now().await,
            }
        }
    }

    /// Waits until it is not suspended, and has the reactor see the socket as it is then.
    async fn await_resumption(&mut self) {
        loop {
            // It fails only without a sender, and there is our own.
            let _ = self.suspended.wait_for(|is_suspended| !is_suspended).await;
            match self.socket.register_anew() {
                Ok(()) => break,
                Err(_) => tokio::time::sleep(EXHAUSTION_PAUSE).await,
            }
        }
        self.is_stale = false;
    }

    /// Accepts one waiting connection on the spare descriptor and closes it. False when even that failed.
    fn turn_away(&mut self) -> bool {
        let socket = match &self.socket {
            ListeningSocket::Tcp(socket) => SockRef::from(socket),
            ListeningSocket::Unix(socket) => SockRef::from(&socket.listener),
            ListeningSocket::SharedUnix(socket, _) => SockRef::from(socket),
        };
        self.spare.lend(|| socket.accept().is_ok())
    }

    fn configure(&self, stream: &Stream) {
        let Stream::Tcp(tcp) = stream else { return };
        // A socket that refuses an option still works; the option is a wish.
        let socket = SockRef::from(tcp);
        let _ = socket.set_tcp_nodelay(self.options.nodelay);
        if self.options.keepalive {
            let _ = socket.set_keepalive(true);
        }
        if let Some(len) = self.options.send_buffer_len {
            let _ = socket.set_send_buffer_size(len as usize);
        }
        if let Some(linger) = self.options.linger {
            let _ = socket.set_linger(Some(linger));
        }
    }
}

impl ListeningSocket {
    async fn accept(&self) -> io::Result<(Stream, SocketAddr)> {
        match self {
            Self::Tcp(socket) => socket.accept().await.map(|(tcp, peer)| (Stream::Tcp(tcp), peer)),
            Self::Unix(socket) => socket.listener.accept().await.map(|(unix, _)| (Stream::Unix(unix), UNIX_PEER)),
            Self::SharedUnix(socket, _) => socket.accept().await.map(|(unix, _)| (Stream::Unix(unix), UNIX_PEER)),
        }
    }

    fn register_anew(&mut self) -> io::Result<()> {
        if let Self::Tcp(tcp) = self {
            *tcp = TcpListener::from_std(SockRef::from(&*tcp).try_clone()?.into())?;
        }
        Ok(())
    }
}

fn backlog(options: &SocketOptions) -> i32 {
    options.backlog.try_into().unwrap_or(i32::MAX)
}

fn open(address: SocketAddr, options: &SocketOptions) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    if address.is_ipv6() {
        // `::` means both families, as RabbitMQ's default listener does.
        socket.set_only_v6(false)?;
    }
    if let Some(len) = options.receive_buffer_len {
        // Before listen, so that the window scale of accepted connections follows it.
        socket.set_recv_buffer_size(len as usize)?;
    }
    socket.bind(&address.into())?;
    socket.listen(backlog(options))?;
    TcpListener::from_std(socket.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    fn loopback(port: u16) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, port).into()
    }

    #[tokio::test]
    async fn accepts_what_connects() {
        let mut listener = Listener::bind(loopback(0), SocketOptions::default()).unwrap();
        let address = listener.local_addr().unwrap();
        let client = tokio::net::TcpStream::connect(address).await.unwrap();
        let (stream, peer) = listener.accept(|_| ()).await;
        assert_eq!(peer, client.local_addr().unwrap());
        assert_eq!(stream.local_addr().unwrap(), address);
    }

    #[tokio::test]
    async fn a_shared_socket_is_accepted_from_by_either() {
        let first = Listener::bind(loopback(0), SocketOptions::default()).unwrap();
        let address = first.local_addr().unwrap();
        let mut second = first.share().unwrap().listen().unwrap();
        assert_eq!(second.local_addr().unwrap(), address);
        drop(first);
        let client = tokio::net::TcpStream::connect(address).await.unwrap();
        assert_eq!(second.accept(|_| ()).await.1, client.local_addr().unwrap());
    }

    #[tokio::test]
    async fn taken_port_is_named() {
        let first = Listener::bind(loopback(0), SocketOptions::default()).unwrap();
        let address = first.local_addr().unwrap();
        let error = Listener::bind(address, SocketOptions::default()).unwrap_err();
        assert!(matches!(error, BindError::Taken { .. }));
        let text = error.to_string();
        assert!(text.contains(&format!("port {} is already in use", address.port())), "{text}");
    }
}
