//! Files of certificates and keys, in PEM. How a file is read is the caller's business.

use std::io;
use std::path::Path;

use pkcs8::{EncryptedPrivateKeyInfo, SecretDocument};
use rustls::RootCertStore;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};

use super::error::TlsSetupError;

/// Reads a file whole.
pub(super) type ReadFile<'a> = &'a dyn Fn(&Path) -> io::Result<Vec<u8>>;

/// Reads what an operator has named, wherever it is.
pub(super) const READ_ANY: ReadFile<'static> = &|path| std::fs::read(path);

/// All certificates of a file, in its order.
pub(super) fn certificates(path: &Path, read: ReadFile<'_>) -> Result<Vec<CertificateDer<'static>>, TlsSetupError> {
    let unreadable = |reason: String| TlsSetupError::File { what: "certificates", path: path.to_owned(), reason };
    let text = read(path).map_err(|error| unreadable(error.to_string()))?;
    let found: Vec<_> = CertificateDer::pem_slice_iter(&text)
        .collect::<Result<_, _>>()
        .map_err(|error| unreadable(error.to_string()))?;
    if found.is_empty() { Err(unreadable("the file contains none".to_owned())) } else { Ok(found) }
}

/// The authorities that are trusted.
pub(super) fn authorities(path: &Path, read: ReadFile<'_>) -> Result<RootCertStore, TlsSetupError> {
    let mut store = RootCertStore::empty();
    for certificate in certificates(path, read)? {
        store.add(certificate).map_err(|error| TlsSetupError::File {
            what: "certificates",
            path: path.to_owned(),
            reason: error.to_string(),
        })?;
    }
    Ok(store)
}

/// The first key of a file. With a password it may be encrypted, as PKCS#8 does it.
pub(super) fn private_key(
    path: &Path,
    password: Option<&str>,
    read: ReadFile<'_>,
) -> Result<PrivateKeyDer<'static>, TlsSetupError> {
    let unreadable = |reason: String| TlsSetupError::File { what: "a private key", path: path.to_owned(), reason };
    let text = read(path).map_err(|error| unreadable(error.to_string()))?;
    let text = String::from_utf8(text).map_err(|error| unreadable(error.to_string()))?;
    if text.contains("Proc-Type: 4,ENCRYPTED") {
        let advice = "it is encrypted in OpenSSL's old format; convert it with 'openssl pkcs8 -topk8'";
        return Err(unreadable(advice.to_owned()));
    }
    let Some(start) = text.find(ENCRYPTED) else {
        return PrivateKeyDer::from_pem_slice(text.as_bytes()).map_err(|error| unreadable(error.to_string()));
    };
    let Some(password) = password else {
        return Err(unreadable("it is encrypted, and no password is set for it".to_owned()));
    };
    let (_, encrypted) = SecretDocument::from_pem(text[start..].trim_end())
        .map_err(|error| unreadable(format!("it is damaged: {error}")))?;
    let encrypted = EncryptedPrivateKeyInfo::try_from(encrypted.as_bytes())
        .map_err(|error| unreadable(format!("its encryption is not understood: {error}")))?;
    let key = encrypted.decrypt(password).map_err(|_| unreadable("the password does not decrypt it".to_owned()))?;
    Ok(PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.as_bytes().to_vec())))
}

/// How an encrypted PKCS#8 key begins.
const ENCRYPTED: &str = "-----BEGIN ENCRYPTED PRIVATE KEY-----";
