//! A listening TCP socket.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use socket2::{Domain, Protocol, SockRef, Socket, Type};
use tokio::net::TcpListener;

use crate::open_files::{SpareFile, is_exhaustion};
use crate::stream::Stream;

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

/// Why a listener could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// Another process has the port. The operator stops it or chooses another port.
    #[error("cannot listen on {address}: port {} is already in use by another process", address.port())]
    Taken {
        /// The address that was asked for.
        address: SocketAddr,
    },
    /// The system refuses for another reason.
    #[error("cannot listen on {address}: {source}")]
    Refused {
        /// The address that was asked for.
        address: SocketAddr,
        /// The system's answer.
        source: io::Error,
    },
}

/// A listening TCP socket.
#[derive(Debug)]
pub struct Listener {
    socket: TcpListener,
    options: SocketOptions,
    spare: SpareFile,
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
        Ok(Self { socket, options, spare: SpareFile::hold() })
    }

    /// The address it listens on: the real port where port 0 was asked for.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// The next connection.
    ///
    /// When the process has run out of file descriptors the waiting connection is accepted on a spare one and closed at
    /// once, `on_refusal` is told, and accepting goes on.
    pub async fn accept(&mut self, mut on_refusal: impl FnMut(&io::Error)) -> (Stream, SocketAddr) {
        loop {
            match self.socket.accept().await {
                Ok((tcp, peer)) => {
                    self.configure(&tcp);
                    return (Stream::Tcp(tcp), peer);
                }
                Err(error) if is_exhaustion(&error) => {
                    on_refusal(&error);
                    if !self.turn_away() {
                        tokio::time::sleep(EXHAUSTION_PAUSE).await;
                    }
                }
                // The client went away between its SYN and our accept; nothing to tell.
                Err(_) => tokio::task::yield_now().await,
            }
        }
    }

    /// Accepts one waiting connection on the spare descriptor and closes it. False when even that failed.
    fn turn_away(&mut self) -> bool {
        let socket = SockRef::from(&self.socket);
        self.spare.lend(|| socket.accept().is_ok())
    }

    fn configure(&self, tcp: &tokio::net::TcpStream) {
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
    socket.listen(options.backlog.try_into().unwrap_or(i32::MAX))?;
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
    async fn taken_port_is_named() {
        let first = Listener::bind(loopback(0), SocketOptions::default()).unwrap();
        let address = first.local_addr().unwrap();
        let error = Listener::bind(address, SocketOptions::default()).unwrap_err();
        assert!(matches!(error, BindError::Taken { .. }));
        let text = error.to_string();
        assert!(text.contains(&format!("port {} is already in use", address.port())), "{text}");
    }
}
