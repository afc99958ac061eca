//! TLS for accepted connections: our own identity, which clients we let in, and files that may change while we run.
//!
//! Certificates, keys and authorities are read at the start, and again when [`ServerTls::reload_if_changed`] finds that a file is
//! another one than before, or when [`ServerTls::reload`] is called. New connections get what was read last; those that are open keep
//! what they began with.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use rustls::crypto::CryptoProvider;
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{ClientHello, NoClientAuth, ResolvesServerCert, WebPkiClientVerifier};
use rustls::sign::CertifiedKey;
use rustls::{InconsistentKeys, ServerConfig, SupportedProtocolVersion};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::certificate::public_key;
use super::depth::{DEPTH_MAX, DepthLimited};
use super::error::TlsSetupError;
use super::pem;
use super::suites::parse_cipher_suite;
use super::validity::{CertificateFile, CertificateUse};

/// How a server does TLS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerTlsOptions {
    /// Its identity.
    pub identity: Identity,
    /// Its other identities, for clients that ask for another name.
    pub sni: Vec<SniIdentity>,
    /// What clients have to show.
    pub clients: ClientVerification,
    /// Which versions may be spoken.
    pub versions: Vec<TlsVersion>,
    /// Which cipher suites may be used, the dearest first, by OpenSSL's or IANA's names; empty: all there are.
    pub cipher_suites: Vec<String>,
    /// Whether our order of suites counts, and not the client's.
    pub is_cipher_order_ours: bool,
}

/// Files of a certificate chain and of its key, in PEM.
#[derive(Clone, PartialEq, Eq)]
pub struct Identity {
    /// The chain, our own certificate first.
    pub chain: PathBuf,
    /// The key.
    pub key: PathBuf,
    /// The key's password, if it is encrypted.
    pub password: Option<String>,
}

impl std::fmt::Debug for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Identity { chain, key, .. } = self; // the password is not for logs
        f.debug_struct("Identity").field("chain", chain).field("key", key).finish_non_exhaustive()
    }
}

/// An identity for one name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SniIdentity {
    /// A host's name, or `*.` and a domain for any one label in front of it.
    pub hostname: String,
    /// Our identity for clients that ask for it.
    pub identity: Identity,
}

/// What clients have to show of themselves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClientVerification {
    /// Nothing: they are not asked (`verify_none`).
    None,
    /// A certificate, if they have one; one that is not trusted is refused (`verify_peer`).
    Optional {
        /// File of the authorities that are trusted.
        authorities: PathBuf,
        /// How many certificates may stand between a client's and its authority's.
        depth: u8,
    },
    /// A certificate that is trusted (`verify_peer` with `fail_if_no_peer_cert`).
    Required {
        /// File of the authorities that are trusted.
        authorities: PathBuf,
        /// How many certificates may stand between a client's and its authority's.
        depth: u8,
    },
}

/// A version of TLS. There are no older ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TlsVersion {
    /// 1.2.
    V1_2,
    /// 1.3.
    V1_3,
}

impl TlsVersion {
    pub(super) fn of_library(self) -> &'static SupportedProtocolVersion {
        match self {
            TlsVersion::V1_2 => &rustls::version::TLS12,
            TlsVersion::V1_3 => &rustls::version::TLS13,
        }
    }
}

/// What looking at the files came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reload {
    /// They are what they were.
    Unchanged,
    /// They had changed, and are in force from now on.
    Reloaded,
}

/// What every accepted connection with TLS begins with.
pub struct ServerTls {
    options: ServerTlsOptions,
    current: Mutex<CurrentConfig>,
    /// Held while files are read: what was read first must not come into force last.
    reading: Mutex<()>,
}

struct CurrentConfig {
    config: Arc<ServerConfig>,
    /// Of what is in force.
    certificates: Arc<[CertificateFile]>,
    /// Of the last attempt to read them, whether it succeeded or not: one change is one attempt.
    files: Vec<Option<Fingerprint>>,
}

/// What distinguishes a file from the one that was at its path before.
#[derive(Debug, PartialEq, Eq)]
struct Fingerprint {
    device: u64,
    inode: u64,
    len: u64,
    modified_at: (i64, i64),
    /// The file's mode and owner, too: it may be one that could not be read.
    changed_at: (i64, i64),
}

impl ServerTls {
    /// Reads the files that `options` names.
    pub fn new(options: ServerTlsOptions) -> Result<Self, TlsSetupError> {
        // Before they are read: what changes meanwhile is seen as a change.
        let files = fingerprints(&options);
        let (config, certificates) = (Arc::new(configure(&options)?), certificate_files(&options)?);
        Ok(Self {
            options,
            current: Mutex::new(CurrentConfig { config, certificates, files }),
            reading: Mutex::new(()),
        })
    }

    /// Reads the files again if one of them has changed. When they cannot be used, what was in force stays so, and the same files are
    /// not complained of a second time.
    pub fn reload_if_changed(&self) -> Result<Reload, TlsSetupError> {
        let reading = self.reading.lock();
        if self.current.lock().files == fingerprints(&self.options) {
            return Ok(Reload::Unchanged);
        }
        self.read(&reading)?;
        Ok(Reload::Reloaded)
    }

    /// Reads the files again. When they cannot be used, what was in force stays so.
    pub fn reload(&self) -> Result<(), TlsSetupError> {
        self.read(&self.reading.lock())
    }

    fn read(&self, _alone: &MutexGuard<'_, ()>) -> Result<(), TlsSetupError> {
        // Before they are read, as at the start.
        self.current.lock().files = fingerprints(&self.options);
        let (config, certificates) = (Arc::new(configure(&self.options)?), certificate_files(&self.options)?);
        let mut current = self.current.lock();
        (current.config, current.certificates) = (config, certificates);
        Ok(())
    }

    /// The certificates that are in force: our own, those for other names, and the authorities that clients' are checked by.
    #[must_use]
    pub fn certificates(&self) -> Arc<[CertificateFile]> {
        Arc::clone(&self.current.lock().certificates)
    }

    /// Shakes hands over an accepted connection.
    pub(crate) async fn accept(&self, tcp: TcpStream) -> io::Result<TlsStream<TcpStream>> {
        let config = Arc::clone(&self.current.lock().config);
        TlsAcceptor::from(config).accept(tcp).await
    }
}

impl std::fmt::Debug for ServerTls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServerTls").field("options", &self.options).finish_non_exhaustive()
    }
}

fn configure(options: &ServerTlsOptions) -> Result<ServerConfig, TlsSetupError> {
    let provider = Arc::new(provider(&options.cipher_suites)?);
    let versions: Vec<_> = options.versions.iter().map(|version| version.of_library()).collect();
    let mut config = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(&versions)
        .map_err(TlsSetupError::Library)?
        .with_client_cert_verifier(verifier(&options.clients, &provider)?)
        .with_cert_resolver(Arc::new(Identities::read(options, &provider)?));
    config.ignore_client_order = options.is_cipher_order_ours;
    Ok(config)
}

/// With these suites, or all there are.
pub(super) fn provider(cipher_suites: &[String]) -> Result<CryptoProvider, TlsSetupError> {
    let mut provider = rustls::crypto::ring::default_provider();
    if !cipher_suites.is_empty() {
        let suites = cipher_suites.iter().map(|name| parse_cipher_suite(name));
        provider.cipher_suites = suites.collect::<Result<_, _>>()?;
    }
    Ok(provider)
}

fn verifier(
    clients: &ClientVerification,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<dyn ClientCertVerifier>, TlsSetupError> {
    let (authorities, depth, is_required) = match clients {
        ClientVerification::None => return Ok(Arc::new(NoClientAuth)),
        ClientVerification::Optional { authorities, depth } => (authorities, *depth, false),
        ClientVerification::Required { authorities, depth } => (authorities, *depth, true),
    };
    let roots = Arc::new(pem::authorities(authorities, pem::READ_ANY)?);
    let builder = WebPkiClientVerifier::builder_with_provider(Arc::clone(&roots), Arc::clone(provider));
    let builder = if is_required { builder } else { builder.allow_unauthenticated() };
    let verifier = builder.build().map_err(|error| TlsSetupError::File {
        what: "certificates",
        path: authorities.clone(),
        reason: error.to_string(),
    })?;
    if depth >= DEPTH_MAX {
        return Ok(verifier);
    }
    Ok(Arc::new(DepthLimited::new(verifier, roots, provider.signature_verification_algorithms, depth)))
}

/// Our certificates, by the names that they are for.
#[derive(Debug)]
struct Identities {
    otherwise: Arc<CertifiedKey>,
    by_name: HashMap<String, Arc<CertifiedKey>>,
}

impl Identities {
    fn read(options: &ServerTlsOptions, provider: &CryptoProvider) -> Result<Self, TlsSetupError> {
        let by_name = options.sni.iter().map(|sni| {
            let name = sni.hostname.trim_end_matches('.').to_ascii_lowercase();
            Ok((name, certified_key(&sni.identity, provider)?))
        });
        Ok(Self { otherwise: certified_key(&options.identity, provider)?, by_name: by_name.collect::<Result<_, _>>()? })
    }

    /// The one for exactly this name, or for all names of its domain, or else the usual one.
    fn find(&self, name: &str) -> &Arc<CertifiedKey> {
        let name = name.trim_end_matches('.').to_ascii_lowercase();
        let of_domain = || self.by_name.get(&format!("*.{}", name.split_once('.')?.1));
        self.by_name.get(&name).or_else(of_domain).unwrap_or(&self.otherwise)
    }
}

impl ResolvesServerCert for Identities {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(hello.server_name().map_or(&self.otherwise, |name| self.find(name))))
    }
}

fn certified_key(identity: &Identity, provider: &CryptoProvider) -> Result<Arc<CertifiedKey>, TlsSetupError> {
    let chain = pem::certificates(&identity.chain, pem::READ_ANY)?;
    let key = pem::private_key(&identity.key, identity.password.as_deref(), pem::READ_ANY)?;
    let certified = provider.key_provider.load_private_key(key).map(|key| CertifiedKey::new(chain, key));
    let certified = certified.and_then(|certified| match certified.keys_match() {
        Ok(()) | Err(rustls::Error::InconsistentKeys(InconsistentKeys::Unknown)) => Ok(certified),
        // The library reads none but version 3. What clients think of an older one is theirs: OpenSSL's and Erlang's take it.
        Err(rustls::Error::InvalidCertificate(_)) if is_of_key(&certified) => Ok(certified),
        Err(error) => Err(error),
    });
    certified.map(Arc::new).map_err(|reason| TlsSetupError::Identity {
        chain: identity.chain.clone(),
        key: identity.key.clone(),
        reason,
    })
}

/// Whether the first certificate is for the key.
fn is_of_key(certified: &CertifiedKey) -> bool {
    let certificate = certified.cert.first().and_then(|first| public_key(first));
    certificate.is_some() && certificate.as_deref() == certified.key.public_key().as_deref()
}

/// All identities, the usual one first.
fn identities(options: &ServerTlsOptions) -> impl Iterator<Item = &Identity> {
    std::iter::once(&options.identity).chain(options.sni.iter().map(|sni| &sni.identity))
}

fn authorities(options: &ServerTlsOptions) -> Option<&PathBuf> {
    match &options.clients {
        ClientVerification::None => None,
        ClientVerification::Optional { authorities, .. } | ClientVerification::Required { authorities, .. } => {
            Some(authorities)
        }
    }
}

fn certificate_files(options: &ServerTlsOptions) -> Result<Arc<[CertificateFile]>, TlsSetupError> {
    let chains = identities(options).map(|identity| (CertificateUse::Chain, &identity.chain));
    let authorities = authorities(options).map(|path| (CertificateUse::Authorities, path));
    chains.chain(authorities).map(|(usage, path)| CertificateFile::read(path, usage)).collect()
}

fn fingerprints(options: &ServerTlsOptions) -> Vec<Option<Fingerprint>> {
    let files = identities(options).flat_map(|identity| [&identity.chain, &identity.key]).chain(authorities(options));
    files.map(|path| fingerprint(path)).collect()
}

/// `None`: there is no file.
fn fingerprint(path: &Path) -> Option<Fingerprint> {
    let file = fs::metadata(path).ok()?;
    Some(Fingerprint {
        device: file.dev(),
        inode: file.ino(),
        len: file.len(),
        modified_at: (file.mtime(), file.mtime_nsec()),
        changed_at: (file.ctime(), file.ctime_nsec()),
    })
}
