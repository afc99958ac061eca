//! Cipher suites by name: OpenSSL's, which RabbitMQ's configuration uses, and IANA's. In TLS 1.3 both are the same.

use rustls::SupportedCipherSuite;
use rustls::crypto::ring::cipher_suite as suite;

use super::error::TlsSetupError;

/// A suite with OpenSSL's name, if it differs, and IANA's.
struct Suite {
    openssl: &'static str,
    iana: &'static str,
    suite: SupportedCipherSuite,
    /// What Erlang, and so RabbitMQ, says of its parts: key exchange and cipher. The hash of all of them is `aead`.
    erlang: (&'static str, &'static str),
}

/// All there are: nothing without forward secrecy or authenticated encryption.
static SUITES: [Suite; 9] = [
    Suite {
        openssl: "TLS_AES_256_GCM_SHA384",
        iana: "TLS_AES_256_GCM_SHA384",
        suite: suite::TLS13_AES_256_GCM_SHA384,
        erlang: ("any", "aes_256_gcm"),
    },
    Suite {
        openssl: "TLS_AES_128_GCM_SHA256",
        iana: "TLS_AES_128_GCM_SHA256",
        suite: suite::TLS13_AES_128_GCM_SHA256,
        erlang: ("any", "aes_128_gcm"),
    },
    Suite {
        openssl: "TLS_CHACHA20_POLY1305_SHA256",
        iana: "TLS_CHACHA20_POLY1305_SHA256",
        suite: suite::TLS13_CHACHA20_POLY1305_SHA256,
        erlang: ("any", "chacha20_poly1305"),
    },
    Suite {
        openssl: "ECDHE-ECDSA-AES256-GCM-SHA384",
        iana: "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
        suite: suite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
        erlang: ("ecdhe_ecdsa", "aes_256_gcm"),
    },
    Suite {
        openssl: "ECDHE-ECDSA-AES128-GCM-SHA256",
        iana: "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
        suite: suite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
        erlang: ("ecdhe_ecdsa", "aes_128_gcm"),
    },
    Suite {
        openssl: "ECDHE-ECDSA-CHACHA20-POLY1305",
        iana: "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
        suite: suite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
        erlang: ("ecdhe_ecdsa", "chacha20_poly1305"),
    },
    Suite {
        openssl: "ECDHE-RSA-AES256-GCM-SHA384",
        iana: "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
        suite: suite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
        erlang: ("ecdhe_rsa", "aes_256_gcm"),
    },
    Suite {
        openssl: "ECDHE-RSA-AES128-GCM-SHA256",
        iana: "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
        suite: suite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
        erlang: ("ecdhe_rsa", "aes_128_gcm"),
    },
    Suite {
        openssl: "ECDHE-RSA-CHACHA20-POLY1305",
        iana: "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
        suite: suite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
        erlang: ("ecdhe_rsa", "chacha20_poly1305"),
    },
];

/// OpenSSL's names of all suites that there are.
#[must_use]
pub fn known_cipher_suites() -> Vec<&'static str> {
    SUITES.iter().map(|suite| suite.openssl).collect()
}

/// The suite of a name, OpenSSL's or IANA's.
pub fn parse_cipher_suite(name: &str) -> Result<SupportedCipherSuite, TlsSetupError> {
    let known = SUITES.iter().find(|suite| suite.openssl == name || suite.iana == name);
    known.map(|known| known.suite).ok_or_else(|| TlsSetupError::CipherSuite { name: name.to_owned() })
}

/// Key exchange and cipher of a suite, as RabbitMQ shows them.
pub(super) fn shown_parts(suite: SupportedCipherSuite) -> (&'static str, &'static str) {
    SUITES.iter().find(|known| known.suite == suite).map_or((UNKNOWN, UNKNOWN), |known| known.erlang)
}

/// What RabbitMQ calls what has no name with it.
pub(super) const UNKNOWN: &str = "unknown";

/// A name of a key exchange or of a cipher, as [`shown_parts`] has them.
pub(super) fn known_part(name: &str) -> Option<&'static str> {
    let parts = SUITES.iter().flat_map(|suite| [suite.erlang.0, suite.erlang.1]);
    parts.chain([UNKNOWN]).find(|part| *part == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_suite_of_the_library_has_its_names() {
        let all = rustls::crypto::ring::ALL_CIPHER_SUITES;
        assert_eq!(all.len(), SUITES.len());
        for suite in all {
            let iana = format!("{:?}", suite.suite()).replace("TLS13_", "TLS_");
            assert_eq!(parse_cipher_suite(&iana).unwrap(), *suite, "{iana}");
            assert_ne!(shown_parts(*suite), ("unknown", "unknown"), "{iana}");
        }
    }

    #[test]
    fn a_suite_has_the_name_of_openssl_too() {
        let suite = parse_cipher_suite("ECDHE-RSA-AES128-GCM-SHA256").unwrap();
        assert_eq!(suite, parse_cipher_suite("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256").unwrap());
    }

    #[test]
    fn an_unknown_suite_names_those_there_are() {
        let text = parse_cipher_suite("RC4-MD5").unwrap_err().to_string();
        assert!(text.starts_with("unknown cipher suite 'RC4-MD5'; known are TLS_AES_256_GCM_SHA384, "), "{text}");
    }
}
