//! The keys of a listener's TLS, which are the same below different prefixes.

/// Cipher suites by OpenSSL's names, then by IANA's where they differ.
pub const CIPHERS: &[&str] = &[
    "TLS_AES_256_GCM_SHA384",
    "TLS_AES_128_GCM_SHA256",
    "TLS_CHACHA20_POLY1305_SHA256",
    "ECDHE-ECDSA-AES256-GCM-SHA384",
    "ECDHE-ECDSA-AES128-GCM-SHA256",
    "ECDHE-ECDSA-CHACHA20-POLY1305",
    "ECDHE-RSA-AES256-GCM-SHA384",
    "ECDHE-RSA-AES128-GCM-SHA256",
    "ECDHE-RSA-CHACHA20-POLY1305",
    "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
    "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
    "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
    "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
];

/// The versions that are spoken.
pub const VERSIONS: &[&str] = &["tlsv1.3", "tlsv1.2"];

/// Why keys with certificates in them are refused.
pub const NO_INLINE: &str = "certificates and keys are read from files only; name a file";
/// Why parameters of Diffie and Hellman do nothing.
pub const NO_FINITE_FIELDS: &str = "key exchange is over elliptic curves only";
/// Why keys about revocation are refused.
pub const NO_REVOCATION: &str = "revocation lists are not looked at, so revoked certificates would be let in";
/// Why a cache of files cannot be switched.
pub const NO_PEM_CACHE: &str = "files are not cached, and read again when they change";

/// The [keys](crate::config::table::Key) of one listener's TLS: files and rules below `$options`, and rows of its own.
#[macro_export]
macro_rules! tls_keys {
    ($options:literal; $($own:expr),* $(,)?) => {
        &[
            $($own,)*
            $crate::config::table::effective(
                concat!($options, ".certfile"),
                $crate::config::table::Type::Text,
                "",
                "File of the certificate chain in PEM, the server's own first. It and the files below are read again when they change.",
            ),
            $crate::config::table::effective(concat!($options, ".keyfile"), $crate::config::table::Type::Text, "", "File of its private key, in PEM."),
            $crate::config::table::effective(concat!($options, ".password"), $crate::config::table::Type::Secret, "", "The key's password, if it is encrypted (PKCS#8)."),
            $crate::config::table::effective(
                concat!($options, ".cacertfile"),
                $crate::config::table::Type::Text,
                "",
                "File of the authorities, in PEM, that clients' certificates are to be from.",
            ),
            $crate::config::table::effective(
                concat!($options, ".verify"),
                $crate::config::table::Type::OneOf(&["verify_none", "verify_peer"]),
                "verify_none",
                "`verify_peer`: clients are asked for a certificate, and one that is not trusted is refused.",
            ),
            $crate::config::table::effective(
                concat!($options, ".fail_if_no_peer_cert"),
                $crate::config::table::Type::Bool,
                "",
                "Whether clients without a certificate are refused. Unset, they are with `verify_peer`.",
            ),
            $crate::config::table::effective(
                concat!($options, ".depth"),
                $crate::config::table::Type::Integer(0, 255),
                "10",
                "How many certificates may stand between a client's and its authority's; never more than 6.",
            ),
            $crate::config::table::effective(
                concat!($options, ".versions.$version"),
                $crate::config::table::Type::Text,
                "",
                "The versions that may be spoken, `tlsv1.3` and `tlsv1.2`; both if none is set. Others are passed over, with a warning.",
            ),
            $crate::config::table::effective(
                concat!($options, ".ciphers.$cipher"),
                $crate::config::table::Type::Text,
                "",
                "The cipher suites that may be used, by OpenSSL's names or IANA's, in the order of their numbers; all if none is set. Those \
                 that there are not are passed over, with a warning: all have forward secrecy and authenticated encryption, see [TLS](tls.md).",
            ),
            $crate::config::table::effective(
                concat!($options, ".honor_cipher_order"),
                $crate::config::table::Type::Bool,
                "false",
                "Whether the server's order of suites counts, and not the client's.",
            ),
            $crate::config::table::no_effect(concat!($options, ".honor_ecc_order"), $crate::config::table::Type::Bool, "the server's order of curves counts").unless(&["true"]),
            $crate::config::table::no_effect(concat!($options, ".reuse_sessions"), $crate::config::table::Type::Bool, "clients may always resume sessions").unless(&["true"]),
            $crate::config::table::no_effect(concat!($options, ".secure_renegotiate"), $crate::config::table::Type::Bool, "nothing is renegotiated").unless(&["true"]),
            $crate::config::table::no_effect(concat!($options, ".client_renegotiation"), $crate::config::table::Type::Bool, "nothing is renegotiated").unless(&["false"]),
            $crate::config::table::no_effect(concat!($options, ".{log_alert,log_level}"), $crate::config::table::Type::Text, "refused handshakes are logged as warnings"),
            $crate::config::table::no_effect(concat!($options, ".{dh,dhfile}"), $crate::config::table::Type::Text, $crate::config::table::tls_keys::NO_FINITE_FIELDS),
            $crate::config::table::no_effect(concat!($options, ".bypass_pem_cache"), $crate::config::table::Type::Bool, $crate::config::table::tls_keys::NO_PEM_CACHE).unless(&["true"]),
            $crate::config::table::refused(concat!($options, ".{cert,psk_identity}"), $crate::config::table::Type::Secret, $crate::config::table::tls_keys::NO_INLINE),
            $crate::config::table::refused(concat!($options, ".key.{RSAPrivateKey,DSAPrivateKey,PrivateKeyInfo}"), $crate::config::table::Type::Secret, $crate::config::table::tls_keys::NO_INLINE),
            $crate::config::table::refused(concat!($options, ".cacerts.$name"), $crate::config::table::Type::Secret, $crate::config::table::tls_keys::NO_INLINE),
            $crate::config::table::refused(concat!($options, ".crl_check"), $crate::config::table::Type::Text, $crate::config::table::tls_keys::NO_REVOCATION).unless(&["false"]),
            $crate::config::table::refused(concat!($options, ".crl_sources.**"), $crate::config::table::Type::Text, $crate::config::table::tls_keys::NO_REVOCATION),
        ]
    };
}
