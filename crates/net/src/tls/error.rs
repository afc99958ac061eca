//! Why TLS cannot be done.

use std::path::PathBuf;

use super::suites::known_cipher_suites;

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
