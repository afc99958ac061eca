//! Until when the certificates of a file hold.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use x509_cert::Certificate;
use x509_cert::der::Decode as _;

use super::error::TlsSetupError;
use super::pem;

/// A file of certificates that is in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CertificateFile {
    /// Which.
    pub path: PathBuf,
    /// What its certificates are for.
    pub usage: CertificateUse,
    /// When each of them ends, in the file's order; without those that cannot be read, which are not used either.
    pub ends: Vec<SystemTime>,
}

/// What certificates are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CertificateUse {
    /// We show them to clients.
    Chain,
    /// Clients' certificates are checked by them.
    Authorities,
}

impl CertificateFile {
    pub(super) fn read(path: &Path, usage: CertificateUse) -> Result<Self, TlsSetupError> {
        let ends = pem::certificates(path, pem::READ_ANY)?.iter().filter_map(|der| end(der)).collect();
        Ok(Self { path: path.to_owned(), usage, ends })
    }
}

fn end(der: &[u8]) -> Option<SystemTime> {
    let certificate = Certificate::from_der(der).ok()?;
    UNIX_EPOCH.checked_add(certificate.tbs_certificate.validity.not_after.to_unix_duration())
}
