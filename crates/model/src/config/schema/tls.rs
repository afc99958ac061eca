//! TLS: the listeners of clients and of the management API, which have the same keys below different prefixes.

use std::time::Duration;

use super::{Key, Row, Section, Type};
use crate::tls_keys;

pub(super) const SECTION: Section = Section { title: "TLS", keys: KEYS };
pub(super) const MANAGEMENT_SECTION: Section = Section { title: "TLS of the management API", keys: MANAGEMENT_KEYS };
pub(super) const MANAGEMENT_LISTENER_SECTION: Section =
    Section { title: "TLS of the management API, by older keys", keys: MANAGEMENT_LISTENER_KEYS };
pub(super) const PROMETHEUS_SECTION: Section = Section { title: "TLS of metrics", keys: PROMETHEUS_KEYS };

pub(crate) const HANDSHAKE_TIMEOUT: Key<Duration> = Key::duration(
    "ssl_handshake_timeout",
    Type::DurationMs(1, 86_400_000),
    "5000",
    "How long the TLS handshake may take. The time for the login starts after it.",
);
pub(crate) const CERT_LOGIN_FROM: Key<String> = Key::text(
    "ssl_cert_login_from",
    Type::OneOf(&["distinguished_name", "common_name", "subject_alternative_name", "subject_alt_name"]),
    "distinguished_name",
    "The part of a client's certificate that contains the user's name for EXTERNAL.",
);
pub(crate) const CERT_LOGIN_SAN_TYPE: Key<String> = Key::text(
    "ssl_cert_login_san_type",
    Type::OneOf(&["dns", "ip", "email", "uri", "other_name"]),
    "dns",
    "The kind of subject alternative name that contains the user's name.",
);
pub(crate) const CERT_LOGIN_SAN_INDEX: Key<usize> = Key::integer(
    "ssl_cert_login_san_index",
    Type::Integer(0, 65_535),
    "0",
    "The position of this name among those of its kind, from 0.",
);

const KEYS: &[Row] = tls_keys!(
    "ssl_options";
    effective("listeners.ssl", Type::OneOf(&["none"]), "", "`none`: listen on no TLS port, even if `listeners.ssl.$name` is set."),
    effective(
        "listeners.ssl.$name",
        Type::Listener,
        "",
        "A port, or an address and a port, to listen on with TLS. `$name` can be any word. RabbitMQ's usual port is 5671.",
    ),
    HANDSHAKE_TIMEOUT.row,
    CERT_LOGIN_FROM.row,
    CERT_LOGIN_SAN_TYPE.row,
    CERT_LOGIN_SAN_INDEX.row,
    effective(
        "warren.tls.sni.$name.hostname",
        Type::Text,
        "",
        "A server name, or `*.` and a domain. Clients of any TLS listener that ask for this name get the certificate with the same \
         `$name`. `$name` can be any word.",
    ),
    effective("warren.tls.sni.$name.certfile", Type::Text, "", "File of this certificate's chain."),
    effective("warren.tls.sni.$name.keyfile", Type::Text, "", "File of its private key."),
    effective("warren.tls.sni.$name.password", Type::Secret, "", "The key's password, if it is encrypted."),
    no_effect("ssl_options", Type::OneOf(&["none"]), "these options cannot be switched off").unless(&["none"]),
    no_effect("ssl_allow_poodle_attack", Type::Bool, "SSL 3.0 is not supported").unless(&["false"]),
    no_effect(
        "{amqp_client,amqp10_client}.ssl_options",
        Type::OneOf(&["none"]),
        "shovels and federation configure TLS in their URIs",
    ),
    no_effect("{amqp_client,amqp10_client}.ssl_options.**", Type::Text, "shovels and federation configure TLS in their URIs"),
);

const MANAGEMENT_KEYS: &[Row] = tls_keys!("management.ssl";);

const PROMETHEUS_KEYS: &[Row] = tls_keys!("prometheus.ssl";);

const MANAGEMENT_LISTENER_KEYS: &[Row] = tls_keys!(
    "management.listener.ssl_opts";
    no_effect("management.listener.ssl_opts", Type::OneOf(&["none"]), "these options cannot be switched off").unless(&["none"]),
);
