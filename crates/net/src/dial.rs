//! Outgoing connections: name, address, options, and how long it may take.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinSet;

use crate::proxy_protocol::{self, Endpoints, Version};
use crate::stream::{Stream, TlsStream};
use crate::tls::{ClientTls, ServerName};

/// How long an address of a name is waited for before the next one is tried, too (RFC 8305).
const HEAD_START: Duration = Duration::from_millis(250);

/// Options of an outgoing connection.
#[derive(Debug, Clone)]
pub struct DialOptions {
    /// Send small segments at once instead of gathering them.
    pub nodelay: bool,
    /// The kernel's send buffer in bytes; its own choice when absent.
    pub send_buffer_len: Option<u32>,
    /// The kernel's receive buffer in bytes; its own choice when absent.
    pub receive_buffer_len: Option<u32>,
    /// The address to connect from; the kernel's choice when absent.
    pub source: Option<IpAddr>,
    /// How long name, connection and TLS handshake may take together.
    pub timeout: Duration,
    /// A header of the PROXY protocol to begin with, before TLS: which version, and where the connection that is
    /// passed on came from, if it is not our own.
    pub proxy_header: Option<(Version, Option<SocketAddr>)>,
}

impl Default for DialOptions {
    fn default() -> Self {
        Self {
            nodelay: true,
            send_buffer_len: None,
            receive_buffer_len: None,
            source: None,
            timeout: Duration::from_secs(60),
            proxy_header: None,
        }
    }
}

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub enum DialError {
    /// The host's name leads nowhere.
    #[error("cannot find the host '{host}': {source}")]
    Unknown {
        /// As asked for.
        host: String,
        /// The resolver's answer.
        source: io::Error,
    },
    /// The host does not answer, or refuses.
    #[error("cannot connect to {host}:{port}: {source}")]
    Unreachable {
        /// As asked for.
        host: String,
        /// As asked for.
        port: u16,
        /// The system's answer about the last address that refused.
        source: io::Error,
    },
    /// The other side speaks no TLS, or one of both does not trust the other.
    #[error("TLS with {host}:{port} failed: {source}")]
    Tls {
        /// As asked for.
        host: String,
        /// As asked for.
        port: u16,
        /// What went wrong.
        source: io::Error,
    },
    /// It took too long.
    #[error("connecting to {host}:{port} took longer than {} s", timeout.as_secs_f64())]
    TimedOut {
        /// As asked for.
        host: String,
        /// As asked for.
        port: u16,
        /// [`DialOptions::timeout`].
        timeout: Duration,
    },
}

/// Connects to the first address of `host` that answers, with TLS if `tls` is given. One that says nothing holds up the others for a moment
/// only.
///
/// The certificate has to be for `host`, or for the name that `tls` overrides it with.
pub async fn dial(host: &str, port: u16, tls: Option<&ClientTls>, options: &DialOptions) -> Result<Stream, DialError> {
    let connecting = async {
        let mut tcp = connect(host, port, options).await?;
        if let Some((version, peer)) = options.proxy_header {
            let unreachable = |source| DialError::Unreachable { host: host.to_owned(), port, source };
            let local = tcp.peer_addr().map_err(unreachable)?;
            let header = proxy_protocol::header(version, peer.map(|peer| Endpoints { peer, local }));
            tcp.write_all(&header).await.map_err(unreachable)?;
        }
        match tls {
            None => Ok(Stream::Tcp(tcp)),
            Some(tls) => shake_hands(host, port, tls, tcp).await,
        }
    };
    match tokio::time::timeout(options.timeout, connecting).await {
        Ok(result) => result,
        Err(_) => Err(DialError::TimedOut { host: host.to_owned(), port, timeout: options.timeout }),
    }
}

/// Shakes hands over a connection that was made without TLS: for callers that want to know how long each of the two takes.
pub async fn start_tls(
    stream: Stream,
    host: &str,
    port: u16,
    tls: &ClientTls,
    timeout: Duration,
) -> Result<Stream, DialError> {
    let Stream::Tcp(tcp) = stream else {
        let source = io::Error::new(io::ErrorKind::InvalidInput, "it is not a plain TCP connection");
        return Err(DialError::Tls { host: host.to_owned(), port, source });
    };
    match tokio::time::timeout(timeout, shake_hands(host, port, tls, tcp)).await {
        Ok(result) => result,
        Err(_) => Err(DialError::TimedOut { host: host.to_owned(), port, timeout }),
    }
}

async fn shake_hands(host: &str, port: u16, tls: &ClientTls, tcp: TcpStream) -> Result<Stream, DialError> {
    match tls.connect(&ServerName::of(host), tcp).await {
        Ok(stream) => Ok(Stream::Tls(Box::new(TlsStream { tls: stream.into(), endpoints: None }))),
        Err(source) => Err(DialError::Tls { host: host.to_owned(), port, source }),
    }
}

async fn connect(host: &str, port: u16, options: &DialOptions) -> Result<TcpStream, DialError> {
    let addresses: Vec<SocketAddr> = match host.parse::<IpAddr>() {
        // Without the resolver and its threads: the usual case when thousands of connections are opened.
        Ok(ip) => vec![SocketAddr::new(ip, port)],
        Err(_) => tokio::net::lookup_host((host, port))
            .await
            .map_err(|source| DialError::Unknown { host: host.to_owned(), source })?
            .collect(),
    };
    let connected = match addresses[..] {
        [address] => connect_to(address, options.clone()).await,
        _ => first_to_answer(addresses, HEAD_START, |address| connect_to(address, options.clone())).await,
    };
    connected.map_err(|source| DialError::Unreachable { host: host.to_owned(), port, source })
}

/// Tries addresses in their order until one answers. Each has a head start over the next, which is tried at once where it refuses.
async fn first_to_answer<T, F>(
    addresses: Vec<SocketAddr>,
    head_start: Duration,
    connect: impl Fn(SocketAddr) -> F,
) -> io::Result<T>
where
    T: Send + 'static,
    F: Future<Output = io::Result<T>> + Send + 'static,
{
    let mut addresses = addresses.into_iter();
    // Those that are still tried when one has answered are given up with it.
    let mut attempts = JoinSet::new();
    let mut last = io::Error::new(io::ErrorKind::AddrNotAvailable, "the name has no address");
    loop {
        if let Some(address) = addresses.next() {
            attempts.spawn(connect(address));
        }
        let ended = match addresses.len() {
            0 => attempts.join_next().await,
            _ => match tokio::time::timeout(head_start, attempts.join_next()).await {
                Ok(ended) => ended,
                Err(_) => continue,
            },
        };
        match ended {
            Some(Ok(Ok(answered))) => return Ok(answered),
            Some(Ok(Err(error))) => last = error,
            Some(Err(error)) => last = io::Error::other(error),
            None => return Err(last),
        }
    }
}

async fn connect_to(address: SocketAddr, options: DialOptions) -> io::Result<TcpStream> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    // Before connecting, so that the window scale follows it.
    if let Some(len) = options.receive_buffer_len {
        socket.set_recv_buffer_size(len)?;
    }
    if let Some(len) = options.send_buffer_len {
        socket.set_send_buffer_size(len)?;
    }
    if let Some(source) = options.source.filter(|source| source.is_ipv4() == address.is_ipv4()) {
        socket.bind(SocketAddr::new(source, 0))?;
    }
    let tcp = socket.connect(address).await?;
    tcp.set_nodelay(options.nodelay)?;
    Ok(tcp)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runtime() -> tokio::runtime::Runtime {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
    }

    #[test]
    fn source_address_is_the_one_asked_for() {
        runtime().block_on(async {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            let port = listener.local_addr().unwrap().port();
            let options = DialOptions { source: Some("127.3.2.1".parse().unwrap()), ..DialOptions::default() };
            let stream = dial("127.0.0.1", port, None, &options).await.unwrap();
            assert_eq!(stream.local_addr().unwrap().ip(), "127.3.2.1".parse::<IpAddr>().unwrap());
        });
    }

    fn addresses(ports: &[u16]) -> Vec<SocketAddr> {
        ports.iter().map(|port| SocketAddr::from(([127, 0, 0, 1], *port))).collect()
    }

    /// Port 1 says nothing, port 2 refuses, the others answer.
    async fn answer(address: SocketAddr) -> io::Result<u16> {
        match address.port() {
            1 => std::future::pending().await,
            2 => Err(io::ErrorKind::ConnectionRefused.into()),
            port => Ok(port),
        }
    }

    #[track_caller]
    fn check_first(ports: &[u16], head_start: Duration, expected: Result<u16, io::ErrorKind>) {
        let answered = runtime().block_on(first_to_answer(addresses(ports), head_start, answer));
        assert_eq!(answered.map_err(|error| error.kind()), expected);
    }

    const SHORT: Duration = Duration::from_millis(1);
    const FOREVER: Duration = Duration::from_secs(3600);

    #[test]
    fn first_address_that_answers_is_taken() {
        check_first(&[3, 4], FOREVER, Ok(3));
    }

    #[test]
    fn silent_address_does_not_hold_up_the_others() {
        check_first(&[1, 1, 3], SHORT, Ok(3));
    }

    #[test]
    fn address_after_one_that_refuses_is_tried_at_once() {
        check_first(&[2, 2, 3], FOREVER, Ok(3));
    }

    #[test]
    fn no_address_left_is_the_last_refusal() {
        check_first(&[2, 2], FOREVER, Err(io::ErrorKind::ConnectionRefused));
        check_first(&[], FOREVER, Err(io::ErrorKind::AddrNotAvailable));
    }

    #[test]
    fn slow_address_is_waited_for_when_the_others_refuse() {
        runtime().block_on(async {
            let (open, opened) = tokio::sync::watch::channel(false);
            let connect = |address: SocketAddr| {
                let (open, mut opened) = (open.clone(), opened.clone());
                async move {
                    if address.port() == 2 {
                        open.send_replace(true);
                        return Err(io::ErrorKind::ConnectionRefused.into());
                    }
                    opened.wait_for(|is_open| *is_open).await.map(|_| address.port()).map_err(io::Error::other)
                }
            };
            assert_eq!(first_to_answer(addresses(&[5, 2]), SHORT, connect).await.unwrap(), 5);
        });
    }

    #[test]
    fn closed_port_is_named_in_the_error() {
        runtime().block_on(async {
            let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
            let port = listener.local_addr().unwrap().port();
            drop(listener);
            let error = dial("127.0.0.1", port, None, &DialOptions::default()).await.unwrap_err();
            assert!(matches!(error, DialError::Unreachable { .. }), "{error:?}");
            assert!(error.to_string().starts_with(&format!("cannot connect to 127.0.0.1:{port}: ")), "{error}");
        });
    }

    #[test]
    fn handshake_that_never_comes_ends_in_time() {
        runtime().block_on(async {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            let port = listener.local_addr().unwrap().port();
            let tls = ClientTls::new(&crate::tls::ClientTlsOptions::trusting_any_server()).unwrap();
            let options = DialOptions { timeout: Duration::from_millis(50), ..DialOptions::default() };
            let error = dial("127.0.0.1", port, Some(&tls), &options).await.unwrap_err();
            assert!(matches!(error, DialError::TimedOut { .. }), "{error:?}");
        });
    }
}
