//! Where clients come in, and TLS there.

use model::config::NETWORK;
use model::tls_keys;

use super::super::address::{LISTENER, LISTENER_OR_NONE};
use super::{Key, Section, TIME, Type, effective};

pub(super) const SECTION: Section = Section { title: "Listeners", keys: KEYS };
pub(super) const TLS_SECTION: Section = Section { title: "TLS of listeners", keys: TLS_KEYS };

const KEYS: &[Key] = &[
    effective(
        "proxy.listeners.tcp",
        Type::OneOf(&["none"]),
        "",
        "`none`: listen on no port without TLS, whatever `proxy.listeners.tcp.$name` say.",
    ),
    effective(
        "proxy.listeners.tcp.$name",
        Type::Own(&LISTENER),
        "",
        "Where to listen for clients; the name is free. A name of the host stands for all its addresses. AMQProxy's `--listen` and \
         `--port` are about `default`.",
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
        "A path, to listen there as a Unix-domain socket that only the proxy's own user may connect to.",
    ),
    effective(
        "proxy.proxy_protocol",
        Type::Bool,
        "false",
        "Whether connections to ports, with and without TLS, begin with a header of the PROXY protocol, version 1 or 2. Those that \
         do not are closed.",
    ),
    effective(
        "proxy.proxy_protocol.trusted_senders.$name",
        Type::Own(&NETWORK),
        "",
        "A sender whose headers of the PROXY protocol are believed; the name is free. If there is any, connections from elsewhere are \
         closed. \
         If there is none, all are believed, except headers that name the proxy's own host and come from another.",
    ),
    effective(
        "proxy.http.listener",
        Type::Own(&LISTENER_OR_NONE),
        "localhost:15673",
        "Where `/healthz`, `/readyz`, `/metrics` and `/api/pools` are; `none`: nowhere. AMQProxy's `--http-port` is this port; its \
         `--listen` is this address, too, unless this key is set.",
    ),
    effective(
        "proxy.http.hosts.$name",
        Type::Text,
        "",
        "A host name, without a port, that requests to the HTTP listener may carry. Addresses, `localhost`, the host's own name and the \
         listener's are known. A request with another name that comes from this host, or that changes something, is refused: it may be \
         from a browser that a page has lured there.",
    ),
    effective(
        "proxy.tcp_listen_options.backlog",
        Type::Integer(1, 65_535),
        "4096",
        "Connections that may wait to be accepted, as after a restart, when all clients come back at once.",
    ),
    effective("proxy.tcp_listen_options.nodelay", Type::Bool, "true", "Send small packets at once (TCP_NODELAY)."),
    effective(
        "proxy.tcp_listen_options.keepalive",
        Type::Bool,
        "false",
        "Let the system probe silent connections (SO_KEEPALIVE).",
    ),
];

const TLS_KEYS: &[Key] = tls_keys!(
    "proxy.ssl_options";
    effective(
        "proxy.ssl_handshake_timeout",
        TIME,
        "5000",
        "How long the handshake of TLS may take, before the time for the login begins.",
    ),
    effective(
        "proxy.ssl_options.sni.$name.hostname",
        Type::Text,
        "",
        "A server's name, or `*.` and a domain: clients that ask for it are shown the certificate of the same `$name`, which is free.",
    ),
    effective("proxy.ssl_options.sni.$name.certfile", Type::Text, "", "File of that certificate's chain."),
    effective("proxy.ssl_options.sni.$name.keyfile", Type::Text, "", "File of its key."),
    effective("proxy.ssl_options.sni.$name.password", Type::Secret, "", "The key's password, if it is encrypted."),
);
