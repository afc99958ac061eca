//! One end of a shovel or a link: a broker that is connected to.

use std::io;
use std::time::Duration;

use amqp::Uri;
use amqp::uri::TlsQuery;
use amqp_client::{CallError, ConnectOptions, Connection, Mechanism, OpenError};
use net::{ClientTls, ClientTlsOptions, Identity, TlsSetupError, Trust};

use crate::CHANNEL;
use crate::host::Host;
use crate::tls_files::{Author, UNUSABLE};

/// How long a broker may take to open a connection, or to answer.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Why an end cannot be connected to. Texts have no passwords.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// There is no connection.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The broker of this process has no room.
    #[error("cannot connect to the local broker: {0}")]
    Here(io::Error),
    /// Its host is not on the list of those that may be connected to.
    #[error("{who} may not connect to '{host}': the host is not in warren.links.allowed_hosts")]
    NotPermitted {
        /// What wanted to.
        who: &'static str,
        /// The host.
        host: String,
    },
    /// TLS cannot be done as the URI wants it. Of files there is one text, whatever is wrong with them: its reader may not know what files
    /// there are.
    #[error("TLS of {address}: {reason}")]
    Tls {
        /// Host and port.
        address: String,
        /// What is wrong.
        reason: String,
    },
    /// There is no channel.
    #[error("a channel at {uri}: {source}")]
    Channel {
        /// Where, without the user.
        uri: String,
        /// Why.
        source: CallError,
    },
}

/// How an end is to be connected to.
#[derive(Clone, Debug)]
pub struct Wish {
    /// What the connection is called.
    pub name: String,
    /// What connects: `shovels`, `links`.
    pub who: &'static str,
    /// It connects to the process's own broker, whatever host the URI names.
    pub is_here: bool,
    /// Whose URIs these are: the operator's own files may be anywhere.
    pub author: Author,
}

/// One end, connected: how, and where, without the user.
#[derive(Debug)]
pub struct End {
    /// The connection, with [`CHANNEL`] open.
    pub connection: Connection,
    /// Where it leads to.
    pub uri: Box<str>,
    /// The vhost there.
    pub vhost: Box<str>,
    /// What the process's own broker calls the connection; `None` where it leads elsewhere.
    pub own_name: Option<Box<str>>,
}

/// Connects to the first of these URIs that answers, beginning with a certain one: the brokers of a cluster share the load.
pub async fn connect(uris: &[Uri], first: usize, wish: &Wish, host: &dyn Host) -> Result<End, ConnectError> {
    let mut last = None;
    for uri in uris.iter().cycle().skip(first % uris.len().max(1)).take(uris.len()) {
        match open(uri, wish, host).await {
            Ok((connection, own_name)) => {
                let (uri, vhost) = (uri.without_user().into(), uri.vhost.as_str().into());
                return Ok(End { connection, uri, vhost, own_name });
            }
            Err(error) => last = Some(error),
        }
    }
    // A definition has at least one.
    Err(last.unwrap_or_else(|| ConnectError::Here(io::Error::other("no URI is configured"))))
}

async fn open(uri: &Uri, wish: &Wish, host: &dyn Host) -> Result<(Connection, Option<Box<str>>), ConnectError> {
    let mut options = ConnectOptions {
        name: Some(wish.name.clone()),
        timeout: TIMEOUT,
        answer_timeout: TIMEOUT,
        ..ConnectOptions::default()
    };
    let mut own_name = None;
    let mut connection = if wish.is_here || uri.is_hostless {
        options.is_without_heartbeat = true;
        let own = host.connect(!uri.has_user).map_err(ConnectError::Here)?;
        own_name = Some(own.name);
        Connection::over(own.stream, uri, &options).await?
    } else {
        if !host.permits(&uri.host) {
            return Err(ConnectError::NotPermitted { who: wish.who, host: uri.host.clone() });
        }
        if uri.auth_mechanism.as_deref().is_some_and(|mechanism| mechanism.eq_ignore_ascii_case("external")) {
            options.mechanism = Mechanism::External;
        }
        if uri.is_tls {
            options.tls = Some(tls(uri, wish, host).await?);
        }
        options.dial.timeout = TIMEOUT;
        Connection::open(uri, &options).await?
    };
    let refused = |source| ConnectError::Channel { uri: uri.without_user(), source };
    connection.open_channel(CHANNEL).await.map_err(refused)?;
    Ok((connection, own_name))
}

/// As RabbitMQ, certificates are looked at only where authorities are named or `verify` asks for it.
async fn tls(uri: &Uri, wish: &Wish, host: &dyn Host) -> Result<ClientTls, ConnectError> {
    let asked = uri.tls.as_deref().cloned().unwrap_or_default();
    let TlsQuery { authorities, certificate, key, verifies_peer, server_name } = &asked;
    let trust = match (authorities, verifies_peer) {
        (_, Some(false)) => Trust::AnyServer,
        (Some(file), _) => Trust::File(file.into()),
        (None, Some(true)) => Trust::System,
        (None, None) => Trust::AnyServer,
    };
    let identity = certificate.as_ref().zip(key.as_ref()).map(|(certificate, key)| Identity {
        chain: certificate.into(),
        key: key.into(),
        password: None,
    });
    let options = ClientTlsOptions {
        identity,
        server_name: server_name.clone().filter(|name| name != "disable"),
        ..ClientTlsOptions::trusting(trust)
    };
    host.tls_files().client_tls(options, wish.author).await.map_err(|error| {
        let address = uri.address();
        let reason = match error {
            // It is no file's fault, and of what the URI says itself.
            TlsSetupError::ServerName(_) => error.to_string(),
            error => {
                let (connection, reason) = (&*wish.name, error.to_string());
                tracing::warn!(connection, address, reason, "TLS options of a URI cannot be used");
                UNUSABLE.to_owned()
            }
        };
        ConnectError::Tls { address, reason }
    })
}
