//! TLS: the listeners of clients and of the management API, which have the same keys below different prefixes.

use super::{Key, Section, Type, effective, no_effect, refused};

pub(super) const SECTION: Section = Section { title: "TLS", keys: KEYS };
pub(super) const MANAGEMENT_SECTION: Section = Section { title: "TLS of the management API", keys: MANAGEMENT_KEYS };
pub(super) const MANAGEMENT_LISTENER_SECTION: Section =
    Section { title: "TLS of the management API, by older keys", keys: MANAGEMENT_LISTENER_KEYS };
pub(super) const PROMETHEUS_SECTION: Section = Section { title: "TLS of metrics", keys: PROMETHEUS_KEYS };

/// Cipher suites by OpenSSL's names, then by IANA's where they differ.
pub(super) const CIPHERS: &[&str] = &[
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

const NO_INLINE: &str = "certificates and keys are read from files only; name a file";
const NO_FINITE_FIELDS: &str = "key exchange is over elliptic curves only";
const NO_REVOCATION: &str = "revocation lists are not looked at, so revoked certificates would be let in";
const NO_PEM_CACHE: &str = "files are not cached, and read again when they change";

/// The keys of one listener's TLS: files and rules below `$options`, and rows of its own.
macro_rules! tls_keys {
    ($options:literal; $($own:expr),* $(,)?) => {
        &[
            $($own,)*
            effective(
                concat!($options, ".certfile"),
                Type::Text,
                "",
                "File of the certificate chain in PEM, the server's own first. It and the files below are read again when they change.",
            ),
            effective(concat!($options, ".keyfile"), Type::Text, "", "File of its private key, in PEM."),
            effective(concat!($options, ".password"), Type::Secret, "", "The key's password, if it is encrypted (PKCS#8)."),
            effective(
                concat!($options, ".cacertfile"),
                Type::Text,
                "",
                "File of the authorities, in PEM, that clients' certificates are to be from.",
            ),
            effective(
                concat!($options, ".verify"),
                Type::OneOf(&["verify_none", "verify_peer"]),
                "verify_none",
                "`verify_peer`: clients are asked for a certificate, and one that is not trusted is refused.",
            ),
            effective(
                concat!($options, ".fail_if_no_peer_cert"),
                Type::Bool,
                "",
                "Whether clients without a certificate are refused. Unset, they are with `verify_peer`.",
            ),
            effective(
                concat!($options, ".depth"),
                Type::Integer(0, 255),
                "10",
                "How many certificates may stand between a client's and its authority's; never more than 6.",
            ),
            effective(
                concat!($options, ".versions.$version"),
                Type::OneOf(&["tlsv1.3", "tlsv1.2"]),
                "",
                "The versions that may be spoken; both if none is set. There are no older ones.",
            ),
            effective(
                concat!($options, ".ciphers.$cipher"),
                Type::OneOf(CIPHERS),
                "",
                "The cipher suites that may be used, in the order of their numbers; all if none is set.",
            ),
            effective(
                concat!($options, ".honor_cipher_order"),
                Type::Bool,
                "false",
                "Whether the server's order of suites counts, and not the client's.",
            ),
            no_effect(concat!($options, ".honor_ecc_order"), Type::Bool, "the server's order of curves counts").unless(&["true"]),
            no_effect(concat!($options, ".reuse_sessions"), Type::Bool, "clients may always resume sessions").unless(&["true"]),
            no_effect(concat!($options, ".secure_renegotiate"), Type::Bool, "nothing is renegotiated").unless(&["true"]),
            no_effect(concat!($options, ".client_renegotiation"), Type::Bool, "nothing is renegotiated").unless(&["false"]),
            no_effect(concat!($options, ".{log_alert,log_level}"), Type::Text, "refused handshakes are logged as warnings"),
            no_effect(concat!($options, ".{dh,dhfile}"), Type::Text, NO_FINITE_FIELDS),
            no_effect(concat!($options, ".bypass_pem_cache"), Type::Bool, NO_PEM_CACHE).unless(&["true"]),
            refused(concat!($options, ".{cert,psk_identity}"), Type::Secret, NO_INLINE),
            refused(concat!($options, ".key.{RSAPrivateKey,DSAPrivateKey,PrivateKeyInfo}"), Type::Secret, NO_INLINE),
            refused(concat!($options, ".cacerts.$name"), Type::Secret, NO_INLINE),
            refused(concat!($options, ".crl_check"), Type::Text, NO_REVOCATION).unless(&["false"]),
            refused(concat!($options, ".crl_sources.**"), Type::Text, NO_REVOCATION),
        ]
    };
}

const KEYS: &[Key] = tls_keys!(
    "ssl_options";
    effective("listeners.ssl", Type::OneOf(&["none"]), "", "`none`: listen on no TLS port, whatever `listeners.ssl.$name` say."),
    effective(
        "listeners.ssl.$name",
        Type::Listener,
        "",
        "A port, or an address and a port, to listen on with TLS; the name is free. RabbitMQ's usual port is 5671.",
    ),
    effective(
        "ssl_handshake_timeout",
        Type::DurationMs(1, 86_400_000),
        "5000",
        "How long the handshake of TLS may take, before the time for the login begins.",
    ),
    effective(
        "ssl_cert_login_from",
        Type::OneOf(&["distinguished_name", "common_name", "subject_alternative_name", "subject_alt_name"]),
        "distinguished_name",
        "Which part of a client's certificate is the user's name in EXTERNAL.",
    ),
    effective(
        "ssl_cert_login_san_type",
        Type::OneOf(&["dns", "ip", "email", "uri", "other_name"]),
        "dns",
        "The kind of subject alternative name that is the user's name.",
    ),
    effective("ssl_cert_login_san_index", Type::Integer(0, 65_535), "0", "Its place among those of its kind, from 0."),
    effective(
        "warren.tls.sni.$name.hostname",
        Type::Text,
        "",
        "A server's name, or `*.` and a domain: clients of any TLS listener that ask for it are shown the certificate of the same \
         `$name`, which is free.",
    ),
    effective("warren.tls.sni.$name.certfile", Type::Text, "", "File of that certificate's chain."),
    effective("warren.tls.sni.$name.keyfile", Type::Text, "", "File of its key."),
    effective("warren.tls.sni.$name.password", Type::Secret, "", "The key's password, if it is encrypted."),
    no_effect("ssl_options", Type::OneOf(&["none"]), "there is nothing to switch off").unless(&["none"]),
    no_effect("ssl_allow_poodle_attack", Type::Bool, "there is no SSL 3.0 to attack").unless(&["false"]),
    no_effect(
        "{amqp_client,amqp10_client}.ssl_options",
        Type::OneOf(&["none"]),
        "the broker opens no client connections",
    ),
    no_effect("{amqp_client,amqp10_client}.ssl_options.**", Type::Text, "the broker opens no client connections"),
);

const MANAGEMENT_KEYS: &[Key] = tls_keys!("management.ssl";);

const PROMETHEUS_KEYS: &[Key] = tls_keys!("prometheus.ssl";);

const MANAGEMENT_LISTENER_KEYS: &[Key] = tls_keys!(
    "management.listener.ssl_opts";
    no_effect("management.listener.ssl_opts", Type::OneOf(&["none"]), "there is nothing to switch off").unless(&["none"]),
);
