//! What an accepted connection goes through before its protocol begins: a proxy's header, then the handshake of TLS.
//!
//! It takes as long as the other side wants, up to a limit: the acceptor does this in a task of the connection's own.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use crate::proxy_protocol::{Endpoints, HeaderError, ReadError, read_header};
use crate::stream::{ProxiedStream, Stream, TlsStream};
use crate::tls::ServerTls;

/// What is asked of every connection of a listener.
#[derive(Debug, Clone, Default)]
pub struct Admission {
    /// A header of the PROXY protocol, and how long it may take. A client without one is refused, so that none gets around the proxy.
    pub proxy_protocol: Option<Duration>,
    /// Addresses of the proxies whose headers are believed, and no others are let in. None: all headers are believed, but no more than
    /// [`Admission::admit`] says.
    pub trusted_senders: Option<Arc<[RangeInclusive<IpAddr>]>>,
    /// TLS, and how long its handshake may take.
    pub tls: Option<(Arc<ServerTls>, Duration)>,
}

/// Why a connection is closed before it was used.
#[derive(Debug, thiserror::Error)]
pub enum AdmitError {
    /// It was closed before anything came, as probes of ports do. Not worth a line in a log.
    #[error("the client closed the connection without sending anything")]
    Closed,
    /// It comes from an address that is not a trusted proxy's.
    #[error("the connection does not come from a trusted sender of the PROXY protocol")]
    Untrusted,
    /// It did not come through the proxy.
    #[error(transparent)]
    ProxyProtocol(HeaderError),
    /// The client speaks no TLS, or one of both does not trust the other.
    #[error("the TLS handshake failed: {0}")]
    Tls(io::Error),
    /// It took too long.
    #[error("{what} took longer than {} ms", timeout.as_millis())]
    TimedOut {
        /// What did.
        what: &'static str,
        /// The limit.
        timeout: Duration,
    },
}

impl Admission {
    /// Does all that is asked for. Only TCP connections are asked for anything.
    ///
    /// A proxy on another host, unless it is a trusted one, is not believed that its client is on this one: its header makes no client a
    /// local one. The client's address is the proxy's then.
    pub async fn admit(&self, stream: Stream) -> Result<Stream, AdmitError> {
        let Stream::Tcp(mut tcp) = stream else { return Ok(stream) };
        let endpoints = match self.proxy_protocol {
            None => None,
            Some(timeout) => {
                let sender = tcp.peer_addr().map_err(|_| AdmitError::Closed)?;
                if !self.lets_in(sender.ip()) {
                    return Err(AdmitError::Untrusted);
                }
                let reading = within(timeout, "the header of the PROXY protocol", read_header(&mut tcp));
                let header = reading.await?.map_err(|error| match error {
                    ReadError::Closed => AdmitError::Closed,
                    ReadError::Header(error) => AdmitError::ProxyProtocol(error),
                })?;
                header.endpoints.map(|reported| Endpoints { peer: self.believed(reported.peer, sender), ..reported })
            }
        };
        let Some((tls, timeout)) = &self.tls else {
            return Ok(match endpoints {
                None => Stream::Tcp(tcp),
                Some(endpoints) => Stream::Proxied(Box::new(ProxiedStream { tcp, endpoints })),
            });
        };
        let accepted = within(*timeout, "the TLS handshake", tls.accept(tcp)).await?;
        let stream = accepted.map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset => AdmitError::Closed,
            _ => AdmitError::Tls(error),
        })?;
        Ok(Stream::Tls(Box::new(TlsStream { tls: stream.into(), endpoints })))
    }

    fn lets_in(&self, sender: IpAddr) -> bool {
        let sender = sender.to_canonical();
        self.trusted_senders.as_ref().is_none_or(|trusted| trusted.iter().any(|range| range.contains(&sender)))
    }

    /// The client's address, where an admitted sender's header reports `reported`.
    fn believed(&self, reported: SocketAddr, sender: SocketAddr) -> SocketAddr {
        let is_local = |address: SocketAddr| address.ip().to_canonical().is_loopback();
        let is_believed = self.trusted_senders.is_some() || !is_local(reported) || is_local(sender);
        if is_believed { reported } else { sender }
    }
}

async fn within<T>(timeout: Duration, what: &'static str, doing: impl Future<Output = T>) -> Result<T, AdmitError> {
    tokio::time::timeout(timeout, doing).await.map_err(|_| AdmitError::TimedOut { what, timeout })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> SocketAddr {
        text.parse().unwrap()
    }

    #[track_caller]
    fn check(reported: &str, sender: &str, expected: &str) {
        assert_eq!(Admission::default().believed(address(reported), address(sender)), address(expected));
    }

    fn trusting(first: &str, last: &str) -> Admission {
        let range = first.parse().unwrap()..=last.parse().unwrap();
        Admission { trusted_senders: Some(vec![range].into()), ..Admission::default() }
    }

    #[test]
    fn a_proxy_tells_whose_connection_it_is() {
        check("198.51.100.1:7", "192.0.2.1:5", "198.51.100.1:7");
        check("198.51.100.1:7", "127.0.0.1:5", "198.51.100.1:7");
        check("127.0.0.1:7", "127.0.0.1:5", "127.0.0.1:7");
    }

    #[test]
    fn a_proxy_elsewhere_is_not_believed_that_its_client_is_here() {
        for reported in ["127.0.0.1:7", "127.9.9.9:7", "[::1]:7", "[::ffff:127.0.0.1]:7"] {
            check(reported, "192.0.2.1:5", "192.0.2.1:5");
            check(reported, "[2001:db8::1]:5", "[2001:db8::1]:5");
            check(reported, "[::ffff:127.0.0.1]:5", reported);
        }
    }

    #[test]
    fn a_trusted_proxy_is_believed_and_others_are_kept_out() {
        let admission = trusting("192.0.2.0", "192.0.2.255");
        for (sender, is_let_in) in [
            ("192.0.2.7", true),
            ("::ffff:192.0.2.7", true),
            ("192.0.3.0", false),
            ("127.0.0.1", false),
            ("::1", false),
            ("::c000:207", false),
        ] {
            assert_eq!(admission.lets_in(sender.parse().unwrap()), is_let_in, "{sender}");
        }
        let reported = address("127.0.0.1:7");
        assert_eq!(admission.believed(reported, address("192.0.2.7:5")), reported);
        assert!(trusting("2001:db8::", "2001:db8::ffff").lets_in("2001:db8::1".parse().unwrap()));
        assert!(Admission::default().lets_in("192.0.2.1".parse().unwrap()));
    }
}
