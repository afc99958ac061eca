//! What a peer's certificate says about its owner.

use std::net::IpAddr;

use x509_cert::Certificate;
use x509_cert::der::{Decode as _, Encode as _};
use x509_cert::ext::pkix::SubjectAltName;
use x509_cert::ext::pkix::name::GeneralName;

use super::distinguished_name::{common_names, hex, show, text};

/// A verified certificate, as plain values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerCertificate {
    /// Whose it is: RFC 4514, as `CN=client,O=Org`.
    pub subject: String,
    /// Its issuer, in the same form.
    pub issuer: String,
    /// From when until when: `2026-01-31T00:00:00Z - 2027-01-31T00:00:00Z`.
    pub validity: String,
    /// Its number, in hexadecimal digits.
    pub serial_number: String,
    /// The subject's common names, in the certificate's order.
    pub common_names: Vec<String>,
    /// The subject's other names, in the certificate's order.
    pub alternative_names: Vec<AlternativeName>,
}

/// A subject alternative name, of the kinds that can stand for a user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AlternativeName {
    /// A host's name.
    Dns(String),
    /// An address of mail.
    Email(String),
    /// An address of a host.
    Ip(IpAddr),
    /// A URI.
    Uri(String),
    /// A name of another kind, such as a user principal name, if it is text.
    Other(String),
}

impl PeerCertificate {
    /// Reads a certificate; `None` if it is not valid.
    pub(super) fn parse(der: &[u8]) -> Option<Self> {
        let certificate = Certificate::from_der(der).ok()?.tbs_certificate;
        let alternative: Option<(bool, SubjectAltName)> = certificate.get().ok().flatten();
        let names = alternative.map(|(_, names)| names.0).unwrap_or_default();
        let serial_number = hex(certificate.serial_number.as_bytes());
        Some(Self {
            subject: show(&certificate.subject),
            issuer: show(&certificate.issuer),
            validity: format!("{} - {}", certificate.validity.not_before, certificate.validity.not_after),
            serial_number: serial_number.trim_start_matches('0').to_owned(),
            common_names: common_names(&certificate.subject),
            alternative_names: names.iter().filter_map(AlternativeName::of).collect(),
        })
    }
}

impl AlternativeName {
    fn of(name: &GeneralName) -> Option<Self> {
        match name {
            GeneralName::DnsName(name) => Some(Self::Dns(name.to_string())),
            GeneralName::Rfc822Name(name) => Some(Self::Email(name.to_string())),
            GeneralName::UniformResourceIdentifier(name) => Some(Self::Uri(name.to_string())),
            GeneralName::IpAddress(bytes) => {
                let v4 = <[u8; 4]>::try_from(bytes.as_bytes()).map(IpAddr::from);
                v4.or_else(|_| <[u8; 16]>::try_from(bytes.as_bytes()).map(IpAddr::from)).ok().map(Self::Ip)
            }
            GeneralName::OtherName(other) => text(&other.value).map(Self::Other),
            _ => None,
        }
    }
}

/// A certificate's public key with its algorithm, in DER, whatever the certificate's version; `None` if it is not valid.
pub(super) fn public_key(der: &[u8]) -> Option<Vec<u8>> {
    Certificate::from_der(der).ok()?.tbs_certificate.subject_public_key_info.to_der().ok()
}

#[cfg(test)]
mod tests {
    use rustls::pki_types::CertificateDer;
    use rustls::pki_types::pem::PemObject as _;

    use super::*;

    fn parse(pem: &str) -> PeerCertificate {
        PeerCertificate::parse(&CertificateDer::from_pem_slice(pem.as_bytes()).unwrap()).unwrap()
    }

    /// All expected texts are what the HTTP API and the log of RabbitMQ 4.3 showed of the same certificate, but for addresses, which
    /// RabbitMQ shows as raw bytes, and the name of another kind, of which it says nothing.
    #[test]
    fn a_certificate_is_read_as_rabbitmq_reads_it() {
        let certificate = parse(include_str!("testdata/names.pem"));
        let subject = "EMAILADDRESS=a@b.c,CN=client1,OU=second,OU=a\\+b,O=Org\\, Inc.,L=Berlin,ST=Berlin,C=DE";
        assert_eq!(certificate.subject, subject);
        assert_eq!(certificate.issuer, "O=Org,CN=TestCA");
        assert_eq!(certificate.validity, "2026-11-22T14:02:20Z - 2026-12-12T14:02:20Z");
        assert_eq!(certificate.serial_number, "74ED335639C358A2C0F4412602E137EBFCCDBCC2");
        assert_eq!(certificate.common_names, ["client1"]);
        let names = [
            AlternativeName::Dns("client.example".to_owned()),
            AlternativeName::Email("me@x.y".to_owned()),
            AlternativeName::Ip([10, 0, 0, 1].into()),
            AlternativeName::Ip("::1".parse().unwrap()),
            AlternativeName::Uri("urn:x:y".to_owned()),
            AlternativeName::Other("user@domain".to_owned()),
        ];
        assert_eq!(certificate.alternative_names, names);
    }

    /// RabbitMQ prints a failure of its decoder for `UID` and for attributes without a name; the rest is its own text.
    #[test]
    fn subjects_are_escaped_as_rabbitmq_escapes_them() {
        let subject = parse(include_str!("testdata/escapes.pem")).subject;
        assert_eq!(
            subject,
            "2.5.4.17=123,2.5.4.13=desc,GENERATIONQUALIFIER=III,2.5.4.9=st 1,PSEUDONYM=ps,INITIALS=ab,TITLE=Dr,SN=sur,\
             GIVENNAME=giv,SERIALNUMBER=77,UID=u1,DC=ex,DC=com,O=First+OU=Multi,\
             CN=\\ #lead Zo\\C3\\AB\\7E\\\"\\<\\>\\;\\\\ trail\\ "
        );
    }

    #[test]
    fn rubbish_is_no_certificate() {
        assert_eq!(PeerCertificate::parse(b""), None);
        assert_eq!(PeerCertificate::parse(&[0x30, 0x03, 0x02, 0x01, 0x00]), None);
    }
}
