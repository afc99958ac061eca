//! What an accepted connection goes through before anybody speaks to it: a proxy's header, then the handshake of TLS.
//!
//! It takes as long as the other side wants, up to a limit: whoever accepts does this in a task of the connection's own.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use crate::proxy_protocol::{HeaderError, ReadError, read_header};
use crate::stream::{ProxiedStream, Stream, TlsStream};
use crate::tls::ServerTls;

/// What is asked of every connection of a listener.
#[derive(Debug, Clone, Default)]
pub struct Admission {
    /// A header of the PROXY protocol, and how long it may take. Who comes without one is refused, so that nobody can pass by the proxy.
    pub proxy_protocol: Option<Duration>,
    /// TLS, and how long its handshake may take.
    pub tls: Option<(Arc<ServerTls>, Duration)>,
}

/// Why a connection is closed before it was used.
#[derive(Debug, thiserror::Error)]
pub enum AdmitError {
    /// It was closed before anything came, as probes of ports do. Not worth a line in a log.
    #[error("the client went away without a word")]
    Gone,
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
    pub async fn admit(&self, stream: Stream) -> Result<Stream, AdmitError> {
        let Stream::Tcp(mut tcp) = stream else { return Ok(stream) };
        let endpoints = match self.proxy_protocol {
            None => None,
            Some(timeout) => {
                let reading = within(timeout, "the header of the PROXY protocol", read_header(&mut tcp));
                let header = reading.await?.map_err(|error| match error {
                    ReadError::Gone => AdmitError::Gone,
                    ReadError::Header(error) => AdmitError::ProxyProtocol(error),
                })?;
                header.endpoints
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
            io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset => AdmitError::Gone,
            _ => AdmitError::Tls(error),
        })?;
        Ok(Stream::Tls(Box::new(TlsStream { tls: stream.into(), endpoints })))
    }
}

async fn within<T>(timeout: Duration, what: &'static str, doing: impl Future<Output = T>) -> Result<T, AdmitError> {
    tokio::time::timeout(timeout, doing).await.map_err(|_| AdmitError::TimedOut { what, timeout })
}
