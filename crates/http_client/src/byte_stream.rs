//! What carries a connection: TCP, TLS over it, or a Unix socket.

use std::io;
use std::sync::OnceLock;

use net::{ClientTls, ClientTlsOptions, DialError, DialOptions, Trust};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::UnixStream;
use tokio::sync::oneshot;

use crate::url::{Endpoint, HttpUrl};

/// Both directions of a connection.
pub(crate) trait ByteStream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> ByteStream for T {}

/// Connects to a URL's server.
pub(crate) async fn connect(url: &HttpUrl) -> io::Result<Box<dyn ByteStream>> {
    let (host, port) = match &url.place {
        Endpoint::Socket(path) => return Ok(Box::new(UnixStream::connect(path).await?)),
        Endpoint::Host { host, port } => (host, *port),
    };
    let tls = match (url.is_tls, &url.tls) {
        (false, _) => None,
        (true, Some(tls)) => Some(tls.clone()),
        (true, None) => Some(as_the_system().await?),
    };
    let stream = net::dial(host, port, tls.as_ref(), &DialOptions::default()).await.map_err(|error| match error {
        DialError::Unreachable { source, .. } | DialError::Unknown { source, .. } => source,
        other => io::Error::other(other),
    })?;
    Ok(Box::new(stream))
}

/// Trusts the system's authorities. They are read once, for there are many, and on a thread of its own, so that other requests continue.
async fn as_the_system() -> io::Result<ClientTls> {
    static TLS: OnceLock<ClientTls> = OnceLock::new();
    if let Some(tls) = TLS.get() {
        return Ok(tls.clone());
    }
    let (sender, answer) = oneshot::channel();
    let read = move || {
        // The caller may have given up.
        let _ = sender.send(ClientTls::new(&ClientTlsOptions::trusting(Trust::System)));
    };
    std::thread::Builder::new().name("authorities".to_owned()).spawn(read)?;
    let tls = answer.await.map_err(io::Error::other)?.map_err(io::Error::other)?;
    Ok(TLS.get_or_init(|| tls).clone())
}
