//! TLS, by rustls with ring underneath: of connections that are dialled (`client`) and of those that are accepted (`server`).
//!
//! `pem` reads the files, `suites` knows the names of cipher suites, `info` tells what was agreed, and `certificate` and
//! `distinguished_name` read certificates the way RabbitMQ shows them, and `validity` tells when ours end. Revocation lists and OCSP are
//! absent: neither RabbitMQ's
//! `crl_check` nor stapling is done.

mod certificate;
mod client;
mod depth;
mod distinguished_name;
mod info;
mod pem;
mod server;
mod suites;
mod validity;

use std::path::PathBuf;

pub use certificate::{AlternativeName, PeerCertificate};
pub(crate) use client::ServerName;
pub use client::{ClientTls, ClientTlsOptions, Trust};
pub use info::TlsInfo;
pub use server::{ClientVerification, Identity, Reload, ServerTls, ServerTlsOptions, SniIdentity, TlsVersion};
pub use suites::{known_cipher_suites, parse_cipher_suite};
pub use validity::{CertificateFile, CertificateUse};

/// Why TLS cannot be done as asked for.
#[derive(Debug, thiserror::Error)]
pub enum TlsSetupError {
    /// A file of certificates or keys cannot be used.
    #[error("cannot read {what} from {}: {reason}", path.display())]
    File {
        /// What it should hold.
        what: &'static str,
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// No authority is known.
    #[error("the system has no certificate authorities: {0}")]
    NoAuthorities(String),
    /// Certificate and key do not fit, or are of no use.
    #[error("the certificate in {} cannot be used with the key in {}: {reason}", chain.display(), key.display())]
    Identity {
        /// The file of the certificate.
        chain: PathBuf,
        /// The file of its key.
        key: PathBuf,
        /// What is wrong.
        reason: rustls::Error,
    },
    /// No such name can be on a certificate.
    #[error("'{0}' cannot be a server's name")]
    ServerName(String),
    /// No such cipher suite.
    #[error("unknown cipher suite '{name}'; known are {}", known_cipher_suites().join(", "))]
    CipherSuite {
        /// As asked for.
        name: String,
    },
    /// The library refuses.
    #[error("TLS cannot be set up: {0}")]
    Library(rustls::Error),
}
