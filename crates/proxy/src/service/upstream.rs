//! The brokers behind the proxy, as its threads see them: where they are, and which one is dialled.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use net::proxy_protocol::Version;
use net::{ClientTls, DialOptions, Stream};

/// One broker behind the proxy.
#[derive(Debug, Clone)]
pub struct Upstream {
    /// Its name, for operators.
    pub name: String,
    /// A name or an address.
    pub host: String,
    /// The port.
    pub port: u16,
    /// TLS, if it is spoken.
    pub tls: Option<ClientTls>,
    /// Whether lines begin with a header of the PROXY protocol.
    pub proxy_protocol: Option<Version>,
    /// How long name, connection and TLS may take together.
    pub dial_timeout: Duration,
}

impl Upstream {
    /// Connects. `client` is whose own line it is to be, and is told to an upstream that wants to know.
    pub(crate) async fn dial(self: &Arc<Self>, client: Option<SocketAddr>) -> Result<Stream, String> {
        let options = DialOptions {
            timeout: self.dial_timeout,
            proxy_header: self.proxy_protocol.map(|version| (version, client)),
            ..DialOptions::default()
        };
        let dialled = net::dial(&self.host, self.port, self.tls.as_ref(), &options).await;
        dialled.map_err(|error| error.to_string())
    }
}
