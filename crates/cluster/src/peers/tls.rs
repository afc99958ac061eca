//! TLS between nodes: each side shows a certificate, and has to be shown one of the same authority. 1.3 only, since both sides are ours.

use std::path::PathBuf;
use std::sync::Arc;

use net::{
    CertificateFile, ClientTls, ClientTlsOptions, ClientVerification, Identity, Reload, ServerTls, ServerTlsOptions,
    TlsSetupError, TlsVersion, Trust,
};
use parking_lot::Mutex;

/// What TLS between nodes is made from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkTlsOptions {
    /// This node's certificate, for the name or address that others dial it by, and for both sides of a connection.
    pub identity: Identity,
    /// File of the authority. Every certificate of it is a node's, where there is no secret.
    pub authorities: PathBuf,
    /// How many certificates may stand between a node's and its authority's.
    pub depth: u8,
}

/// TLS between nodes.
#[derive(Debug)]
pub struct LinkTls {
    options: LinkTlsOptions,
    server: Arc<ServerTls>,
    client: Mutex<ClientTls>,
}

impl LinkTls {
    /// Reads the files.
    ///
    /// # Errors
    ///
    /// They cannot be used.
    pub fn new(options: LinkTlsOptions) -> Result<Self, TlsSetupError> {
        let LinkTlsOptions { identity, authorities, depth } = options.clone();
        let server = ServerTls::new(ServerTlsOptions {
            identity,
            sni: Vec::new(),
            clients: ClientVerification::Required { authorities, depth },
            versions: vec![TlsVersion::V1_3],
            cipher_suites: Vec::new(),
            is_cipher_order_ours: false,
        })?;
        let client = Mutex::new(client(&options)?);
        Ok(LinkTls { options, server: Arc::new(server), client })
    }

    /// Reads the files again if one of them has changed: for the connections that follow. When they cannot be used, what was in force
    /// stays so.
    ///
    /// # Errors
    ///
    /// They cannot be used.
    pub fn reload_if_changed(&self) -> Result<Reload, TlsSetupError> {
        let reload = self.server.reload_if_changed()?;
        if reload == Reload::Reloaded {
            *self.client.lock() = client(&self.options)?;
        }
        Ok(reload)
    }

    /// The certificates that are in force.
    #[must_use]
    pub fn certificates(&self) -> Arc<[CertificateFile]> {
        self.server.certificates()
    }

    pub(super) fn server(&self) -> Arc<ServerTls> {
        Arc::clone(&self.server)
    }

    pub(super) fn client(&self) -> ClientTls {
        self.client.lock().clone()
    }
}

fn client(options: &LinkTlsOptions) -> Result<ClientTls, TlsSetupError> {
    ClientTls::new(&ClientTlsOptions {
        identity: Some(options.identity.clone()),
        versions: vec![TlsVersion::V1_3],
        ..ClientTlsOptions::trusting(Trust::File(options.authorities.clone()))
    })
}
