//! Where clients come in, and TLS there.

use std::time::Duration;

use model::config::NETWORK;
use model::tls_keys;

use super::super::address::{LISTENER, LISTENER_OR_NONE, ListenAddress};
use super::{Key, Row, Section, TIME, Type, effective};

pub(super) const SECTION: Section = Section { title: "Listeners", keys: KEYS };
pub(super) const TLS_SECTION: Section = Section { title: "TLS of listeners", keys: TLS_KEYS };

pub(crate) const PROXY_PROTOCOL: Key<bool> = Key::bool(
    "proxy.proxy_protocol",
    "false",
    "Whether connections to ports, with and without TLS, must begin with a header of the PROXY protocol, version 1 or 2. \
         Connections without one are closed.",
);
pub(crate) const HTTP_LISTENER: Key<Option<ListenAddress>> = Key::new(
    "proxy.http.listener",
    Type::Own(&LISTENER_OR_NONE),
    "localhost:15673",
    "Where `/healthz`, `/readyz`, `/metrics` and `/api/pools` are served. `none`: nowhere. AMQProxy's `--http-port` sets the port. \
         AMQProxy's `--listen` also sets the address, unless this key is set.",
    |text| Some(ListenAddress::parse(text)),
);
pub(crate) const TCP_LISTEN_OPTIONS_BACKLOG: Key<u32> = Key::integer(
    "proxy.tcp_listen_options.backlog",
    Type::Integer(1, 65_535),
    "4096",
    "The maximum number of connections that wait to be accepted, for example when all clients reconnect after a restart.",
);
pub(crate) const TCP_LISTEN_OPTIONS_NODELAY: Key<bool> =
    Key::bool("proxy.tcp_listen_options.nodelay", "true", "Send small packets at once (TCP_NODELAY).");
pub(crate) const TCP_LISTEN_OPTIONS_KEEPALIVE: Key<bool> =
    Key::bool("proxy.tcp_listen_options.keepalive", "false", "Let the system probe idle connections (SO_KEEPALIVE).");
pub(crate) const SSL_HANDSHAKE_TIMEOUT: Key<Duration> = Key::duration(
    "proxy.ssl_handshake_timeout",
    TIME,
    "5000",
    "How long the TLS handshake may take. The time for the login starts after it.",
);

const KEYS: &[Row] = &[
    effective(
        "proxy.listeners.tcp",
        Type::OneOf(&["none"]),
        "",
        "`none`: listen on no port without TLS, even if `proxy.listeners.tcp.$name` is set.",
    ),
    effective(
        "proxy.listeners.tcp.$name",
        Type::Own(&LISTENER),
        "",
        "Where to listen for clients. `$name` can be any word. A host name stands for all its addresses. AMQProxy's `--listen` and \
         `--port` set the name `default`.",
    )
    .family(&[("proxy.listeners.tcp.default", "localhost:5673")]),
    effective(
        "proxy.listeners.ssl.$name",
        Type::Own(&LISTENER),
        "",
        "The same with TLS.",
    ),
    effective(
        "proxy.listeners.unix.$name",
        Type::Text,
        "",
        "The path of a Unix-domain socket to listen on. Only the proxy's own user may connect to it.",
    ),
    PROXY_PROTOCOL.row,
    effective(
        "proxy.proxy_protocol.trusted_senders.$name",
        Type::Own(&NETWORK),
        "",
        "The addresses whose PROXY protocol headers are trusted. `$name` can be any word. If one is set, connections from other \
         addresses are closed. If none is set, all headers are trusted, except headers that name the proxy's own host and come from \
         another host.",
    ),
    HTTP_LISTENER.row,
    effective(
        "proxy.http.hosts.$name",
        Type::Text,
        "",
        "A host name, without a port, that the `Host` header of requests to the HTTP listener may have. Addresses, `localhost`, and \
         the names of the host and the listener are always accepted. A request with another name is refused if it comes from this \
         host or changes something, because it may come from a malicious page in a browser.",
    ),
    TCP_LISTEN_OPTIONS_BACKLOG.row,
    TCP_LISTEN_OPTIONS_NODELAY.row,
    TCP_LISTEN_OPTIONS_KEEPALIVE.row,
];

const TLS_KEYS: &[Row] = tls_keys!(
    "proxy.ssl_options";
    SSL_HANDSHAKE_TIMEOUT.row,
    effective(
        "proxy.ssl_options.sni.$name.hostname",
        Type::Text,
        "",
        "A server name, or `*.` and a domain. Clients that ask for this name get the certificate with the same `$name`. `$name` can be \
         any word.",
    ),
    effective("proxy.ssl_options.sni.$name.certfile", Type::Text, "", "File of this certificate's chain."),
    effective("proxy.ssl_options.sni.$name.keyfile", Type::Text, "", "File of its private key."),
    effective("proxy.ssl_options.sni.$name.password", Type::Secret, "", "The key's password, if it is encrypted."),
);
