//! TLS: the listeners of clients and of the management API, which have the same keys below different prefixes.

use super::{Key, Section};
use crate::tls_keys;

pub(super) const SECTION: Section = Section { title: "TLS", keys: KEYS };
pub(super) const MANAGEMENT_SECTION: Section = Section { title: "TLS of the management API", keys: MANAGEMENT_KEYS };
pub(super) const MANAGEMENT_LISTENER_SECTION: Section =
    Section { title: "TLS of the management API, by older keys", keys: MANAGEMENT_LISTENER_KEYS };
pub(super) const PROMETHEUS_SECTION: Section = Section { title: "TLS of metrics", keys: PROMETHEUS_KEYS };

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
