//! TLS for outgoing connections: which servers to trust, and our own identity. rustls, with ring underneath.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::error::TlsSetupError;
use super::pem;
use super::server::{Identity, TlsVersion, provider};

/// The servers that a client trusts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trust {
    /// Servers that the system trusts.
    System,
    /// Servers that have a certificate from an authority in this PEM file.
    File(PathBuf),
    /// Any server: encrypted, but open to a man in the middle.
    AnyServer,
}

/// How a client does TLS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientTlsOptions {
    /// The servers that it trusts.
    pub trust: Trust,
    /// Its own identity, if it shows one.
    pub identity: Option<Identity>,
    /// The name that the server's certificate has to be for, and that is sent along (SNI); otherwise the host's.
    pub server_name: Option<String>,
    /// Which versions may be spoken; empty: all there are.
    pub versions: Vec<TlsVersion>,
    /// Which cipher suites may be used, the dearest first, by OpenSSL's or IANA's names; empty: all there are.
    pub cipher_suites: Vec<String>,
}

impl ClientTlsOptions {
    /// Encrypted, without a look at the server's identity.
    #[must_use]
    pub fn trusting_any_server() -> Self {
        Self::trusting(Trust::AnyServer)
    }

    /// All that is safe, with a choice of trusted servers.
    #[must_use]
    pub fn trusting(trust: Trust) -> Self {
        Self { trust, identity: None, server_name: None, versions: Vec::new(), cipher_suites: Vec::new() }
    }
}

/// What every connection with TLS is opened with.
#[derive(Clone)]
pub struct ClientTls {
    connector: TlsConnector,
    server_name: Option<ServerName>,
    options: Arc<ClientTlsOptions>,
}

impl std::fmt::Debug for ClientTls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClientTls").field("server_name", &self.server_name).finish_non_exhaustive()
    }
}

/// A server's name as TLS knows it, or the text that cannot be one.
#[derive(Debug, Clone)]
pub(crate) struct ServerName(Result<rustls::pki_types::ServerName<'static>, String>);

impl ServerName {
    pub(crate) fn of(host: &str) -> Self {
        let name = rustls::pki_types::ServerName::try_from(host.to_owned());
        ServerName(name.map_err(|_| host.to_owned()))
    }
}

impl ClientTls {
    /// Reads the files that `options` names.
    pub fn new(options: &ClientTlsOptions) -> Result<Self, TlsSetupError> {
        Self::reading_by(options, pem::READ_ANY)
    }

    /// Has the files that `options` names read by `read`, which may refuse: the one that named them may not be the operator.
    pub fn reading_by(
        options: &ClientTlsOptions,
        read: &dyn Fn(&Path) -> io::Result<Vec<u8>>,
    ) -> Result<Self, TlsSetupError> {
        let provider = Arc::new(provider(&options.cipher_suites)?);
        let versions = match &*options.versions {
            [] => rustls::DEFAULT_VERSIONS.to_vec(),
            versions => versions.iter().map(|version| version.of_library()).collect(),
        };
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&versions)
            .map_err(TlsSetupError::Library)?;
        let builder = match &options.trust {
            Trust::System => builder.with_root_certificates(system_authorities()?),
            Trust::File(path) => builder.with_root_certificates(pem::authorities(path, read)?),
            Trust::AnyServer => {
                builder.dangerous().with_custom_certificate_verifier(Arc::new(TrustAnyServer(provider)))
            }
        };
        let config = match &options.identity {
            None => builder.with_no_client_auth(),
            Some(Identity { chain, key, password }) => {
                let certificates = pem::certificates(chain, read)?;
                builder
                    .with_client_auth_cert(certificates, pem::private_key(key, password.as_deref(), read)?)
                    .map_err(|reason| TlsSetupError::Identity { chain: chain.clone(), key: key.clone(), reason })?
            }
        };
        let server_name = match &options.server_name {
            None => None,
            Some(name) => match ServerName::of(name) {
                ServerName(Err(name)) => return Err(TlsSetupError::ServerName(name)),
                name => Some(name),
            },
        };
        let mut options = options.clone();
        if let Some(identity) = &mut options.identity {
            // It has been used, and is no longer needed.
            identity.password = None;
        }
        Ok(Self { connector: TlsConnector::from(Arc::new(config)), server_name, options: Arc::new(options) })
    }

    /// What it was made from, without the password of the key.
    #[must_use]
    pub fn options(&self) -> &ClientTlsOptions {
        &self.options
    }

    /// Shakes hands over a connection.
    pub(crate) async fn connect(&self, host: &ServerName, tcp: TcpStream) -> io::Result<TlsStream<TcpStream>> {
        let name = self.server_name.as_ref().unwrap_or(host);
        match &name.0 {
            Ok(name) => self.connector.connect(name.clone(), tcp).await,
            Err(name) => {
                Err(io::Error::new(io::ErrorKind::InvalidInput, format!("'{name}' cannot be a server's name")))
            }
        }
    }
}

fn system_authorities() -> Result<RootCertStore, TlsSetupError> {
    let found = rustls_native_certs::load_native_certs();
    let mut store = RootCertStore::empty();
    // Some systems carry certificates that no library accepts now; the others are what counts.
    store.add_parsable_certificates(found.certs);
    if store.is_empty() {
        let reasons: Vec<String> = found.errors.iter().map(ToString::to_string).collect();
        return Err(TlsSetupError::NoAuthorities(reasons.join("; ")));
    }
    Ok(store)
}

/// Trusts every certificate, as long as the server holds its key.
#[derive(Debug)]
struct TrustAnyServer(Arc<CryptoProvider>);

impl ServerCertVerifier for TrustAnyServer {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &rustls::pki_types::ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
