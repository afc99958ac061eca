//! Which part of a client's certificate is the user's name (`ssl_cert_login_*`).

use super::schema::tls as keys;
use super::values::Values;

/// Where EXTERNAL finds the user's name in a client's certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CertificateLogin {
    /// The whole subject, as `CN=client,O=Org`.
    DistinguishedName,
    /// The subject's common name; several are joined by commas.
    CommonName,
    /// One of the subject alternative names.
    AlternativeName {
        /// Of which kind.
        kind: AlternativeNameKind,
        /// Its place among those of its kind, from 0.
        index: usize,
    },
}

/// A kind of subject alternative name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AlternativeNameKind {
    /// A host's name.
    Dns,
    /// A host's address.
    Ip,
    /// An address of mail.
    Email,
    /// A URI.
    Uri,
    /// Another kind, such as a user principal name.
    Other,
}

pub(super) fn certificate_login(values: &Values) -> CertificateLogin {
    match &*values.get(&keys::CERT_LOGIN_FROM) {
        "common_name" => CertificateLogin::CommonName,
        "subject_alternative_name" | "subject_alt_name" => CertificateLogin::AlternativeName {
            kind: match &*values.get(&keys::CERT_LOGIN_SAN_TYPE) {
                "ip" => AlternativeNameKind::Ip,
                "email" => AlternativeNameKind::Email,
                "uri" => AlternativeNameKind::Uri,
                "other_name" => AlternativeNameKind::Other,
                _ => AlternativeNameKind::Dns,
            },
            index: values.get(&keys::CERT_LOGIN_SAN_INDEX),
        },
        _ => CertificateLogin::DistinguishedName,
    }
}
