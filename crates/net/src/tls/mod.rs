//! TLS, by rustls with ring underneath: of connections that are dialled (`client`) and of those that are accepted (`server`).
//!
//! `pem` reads the files, `suites` knows the names of cipher suites, `info` has what was agreed, and `certificate` and
//! `distinguished_name` read certificates the way RabbitMQ shows them, and `validity` finds when ours end. Revocation lists and OCSP are
//! absent: neither RabbitMQ's
//! `crl_check` nor stapling is done.

mod certificate;
mod client;
mod depth;
mod distinguished_name;
mod error;
mod info;
mod pem;
mod server;
mod suites;
mod validity;

pub use certificate::{AlternativeName, PeerCertificate};
pub(crate) use client::ServerName;
pub use client::{ClientTls, ClientTlsOptions, Trust};
pub use error::TlsSetupError;
pub use info::TlsInfo;
pub use server::{ClientVerification, Identity, Reload, ServerTls, ServerTlsOptions, SniIdentity, TlsVersion};
pub use suites::{known_cipher_suites, parse_cipher_suite};
pub use validity::{CertificateFile, CertificateUse};
