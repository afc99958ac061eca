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
pub(crate) const VERSIONS: &[&str] = &["tlsv1.3", "tlsv1.2"];

/// Why keys with certificates in them are refused.
pub const NO_INLINE: &str = "certificates and keys are read from files only; name a file";
/// Why parameters of Diffie and Hellman do nothing.
pub const NO_FINITE_FIELDS: &str = "key exchange uses elliptic curves only";
/// Why keys about revocation are refused.
pub const NO_REVOCATION: &str = "revocation lists are not checked, so revoked certificates would be accepted";
/// Why a cache of files cannot be switched.
pub const NO_PEM_CACHE: &str = "files are not cached, and are read again when they change";

/// The [keys](crate::config::table::Row) of one listener's TLS: files and rules below `$options`, and rows of its own.
#[macro_export]
macro_rules! tls_keys {
    ($options:literal; $($own:expr),* $(,)?) => {{
        use $crate::config::table::tls_keys::{NO_FINITE_FIELDS, NO_INLINE, NO_PEM_CACHE, NO_REVOCATION};
        use $crate::config::table::{Type, effective, no_effect, refused};
        &[
            $($own,)*
            effective(
                concat!($options, ".certfile"),
                Type::Text,
                "",
                "File of the certificate chain in PEM, the server's own certificate first. This file and the files below are read \
                 again when they change.",
            ),
            effective(concat!($options, ".keyfile"), Type::Text, "", "File of the private key, in PEM."),
            effective(concat!($options, ".password"), Type::Secret, "", "The key's password, if it is encrypted (PKCS#8)."),
            effective(
                concat!($options, ".cacertfile"),
                Type::Text,
                "",
                "File of the authorities, in PEM, that may have signed clients' certificates.",
            ),
            effective(
                concat!($options, ".verify"),
                Type::OneOf(&["verify_none", "verify_peer"]),
                "verify_none",
                "`verify_peer`: clients are asked for a certificate, and a certificate that is not trusted is refused.",
            ),
            effective(
                concat!($options, ".fail_if_no_peer_cert"),
                Type::Bool,
                "",
                "Whether clients without a certificate are refused. Unset: they are with `verify_peer`.",
            ),
            effective(
                concat!($options, ".depth"),
                Type::Integer(0, 255),
                "10",
                "The maximum number of certificates between a client's certificate and its authority's. Never more than 6.",
            ),
            effective(
                concat!($options, ".versions.$version"),
                Type::Text,
                "",
                "The TLS versions that are accepted: `tlsv1.3` and `tlsv1.2`. Unset: both. Other versions are ignored with a warning.",
            ),
            effective(
                concat!($options, ".ciphers.$cipher"),
                Type::Text,
                "",
                "The cipher suites that may be used, with the names of OpenSSL or IANA, in the order of their numbers. Unset: all. \
                 Unknown names are ignored with a warning. All supported suites have forward secrecy and authenticated encryption, \
                 see [TLS](tls.md).",
            ),
            effective(
                concat!($options, ".honor_cipher_order"),
                Type::Bool,
                "false",
                "Whether the server's order of suites takes precedence over the client's.",
            ),
            no_effect(
                concat!($options, ".honor_ecc_order"), Type::Bool,
                "the server's order of curves always takes precedence",
            ).unless(&["true"]),
            no_effect(concat!($options, ".reuse_sessions"), Type::Bool, "clients may always resume sessions").unless(&["true"]),
            no_effect(concat!($options, ".secure_renegotiate"), Type::Bool, "renegotiation is not supported").unless(&["true"]),
            no_effect(concat!($options, ".client_renegotiation"), Type::Bool, "renegotiation is not supported").unless(&["false"]),
            no_effect(concat!($options, ".{log_alert,log_level}"), Type::Text, "refused handshakes are logged as warnings"),
            no_effect(concat!($options, ".{dh,dhfile}"), Type::Text, NO_FINITE_FIELDS),
            no_effect(concat!($options, ".bypass_pem_cache"), Type::Bool, NO_PEM_CACHE).unless(&["true"]),
            refused(concat!($options, ".{cert,psk_identity}"), Type::Secret, NO_INLINE),
            refused(concat!($options, ".key.{RSAPrivateKey,DSAPrivateKey,PrivateKeyInfo}"), Type::Secret, NO_INLINE),
            refused(concat!($options, ".cacerts.$name"), Type::Secret, NO_INLINE),
            refused(concat!($options, ".crl_check"), Type::Text, NO_REVOCATION).unless(&["false"]),
            refused(concat!($options, ".crl_sources.**"), Type::Text, NO_REVOCATION),
        ]
    }};
}
