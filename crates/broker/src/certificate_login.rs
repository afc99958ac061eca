//! EXTERNAL: the user's name from a client's certificate, which TLS has verified.

use model::config::{AlternativeNameKind, CertificateLogin};
use net::{AlternativeName, PeerCertificate};

/// The user's name; `None` if the certificate has none of the wanted kind.
pub(crate) fn user_name(certificate: &PeerCertificate, from: CertificateLogin) -> Option<String> {
    let name = match from {
        CertificateLogin::DistinguishedName => certificate.subject.clone(),
        CertificateLogin::CommonName => certificate.common_names.join(","),
        CertificateLogin::AlternativeName { kind, index } => {
            certificate.alternative_names.iter().filter_map(|name| text_of_kind(name, kind)).nth(index)?
        }
    };
    Some(name).filter(|name| !name.is_empty())
}

fn text_of_kind(name: &AlternativeName, kind: AlternativeNameKind) -> Option<String> {
    match (kind, name) {
        (AlternativeNameKind::Dns, AlternativeName::Dns(text))
        | (AlternativeNameKind::Email, AlternativeName::Email(text))
        | (AlternativeNameKind::Uri, AlternativeName::Uri(text))
        | (AlternativeNameKind::Other, AlternativeName::Other(text)) => Some(text.clone()),
        (AlternativeNameKind::Ip, AlternativeName::Ip(ip)) => Some(ip.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn certificate() -> PeerCertificate {
        let name = |text: &str| text.to_owned();
        PeerCertificate {
            subject: name("O=Org,CN=two,CN=one"),
            issuer: name("CN=ca"),
            validity: name(""),
            serial_number: name("1"),
            common_names: vec![name("one"), name("two")],
            alternative_names: vec![
                AlternativeName::Dns(name("a.example")),
                AlternativeName::Email(name("a@b.c")),
                AlternativeName::Ip([10, 0, 0, 1].into()),
                AlternativeName::Dns(name("b.example")),
                AlternativeName::Uri(name("urn:x")),
                AlternativeName::Other(name("user@domain")),
            ],
        }
    }

    #[track_caller]
    fn check(from: CertificateLogin, expected: Option<&str>) {
        assert_eq!(user_name(&certificate(), from).as_deref(), expected);
    }

    #[test]
    fn the_name_is_where_the_configuration_says() {
        check(CertificateLogin::DistinguishedName, Some("O=Org,CN=two,CN=one"));
        check(CertificateLogin::CommonName, Some("one,two"));
    }

    #[test]
    fn alternative_names_are_counted_within_their_kind() {
        let from = |kind, index| CertificateLogin::AlternativeName { kind, index };
        check(from(AlternativeNameKind::Dns, 0), Some("a.example"));
        check(from(AlternativeNameKind::Dns, 1), Some("b.example"));
        check(from(AlternativeNameKind::Dns, 2), None);
        check(from(AlternativeNameKind::Email, 0), Some("a@b.c"));
        check(from(AlternativeNameKind::Ip, 0), Some("10.0.0.1"));
        check(from(AlternativeNameKind::Uri, 0), Some("urn:x"));
        check(from(AlternativeNameKind::Other, 0), Some("user@domain"));
    }

    #[test]
    fn a_certificate_without_names_is_nobodys() {
        let nameless = PeerCertificate { subject: String::new(), common_names: Vec::new(), ..certificate() };
        assert_eq!(user_name(&nameless, CertificateLogin::DistinguishedName), None);
        assert_eq!(user_name(&nameless, CertificateLogin::CommonName), None);
    }
}
