//! Listeners, sockets, negotiation.

use std::time::Duration;

use super::super::network::NETWORK;
use super::{Key, Row, Section, Type, alias, effective, no_effect, not_built};

pub(super) const SECTION: Section = Section { title: "Listeners and connections", keys: KEYS };

const ERLANG_SOCKET: &str = "this is an option of Erlang's sockets";
/// The largest `max_message_size`.
const MAX_MESSAGE_SIZE_MAX: u64 = 512 << 20;
const FRAME: Type = Type::Size(4096, 1 << 30);

pub(crate) const LISTENERS_TCP: Key<String> = Key::text(
    "listeners.tcp",
    Type::OneOf(&["none"]),
    "",
    "`none`: listen on no TCP port, even if `listeners.tcp.$name` is set.",
);
pub(crate) const PROXY_PROTOCOL: Key<bool> = Key::bool(
    "proxy_protocol",
    "false",
    "Whether connections to ports, with and without TLS, must begin with a header of the PROXY protocol, version 1 or 2. \
         Connections without one are closed.",
);
pub(crate) const HANDSHAKE_TIMEOUT: Key<Duration> = Key::duration(
    "handshake_timeout",
    Type::DurationMs(1, 86_400_000),
    "10000",
    "How long a client may take to log in.",
);
pub(crate) const HEARTBEAT: Key<u16> = Key::integer(
    "heartbeat",
    Type::Integer(0, 65_535),
    "60",
    "The heartbeat interval in seconds that is proposed to clients. 0: no heartbeats.",
);
pub(crate) const FRAME_MAX: Key<u32> =
    Key::size("frame_max", FRAME, "131072", "The maximum frame size in bytes that is proposed to clients.");
pub(crate) const INITIAL_FRAME_MAX: Key<u32> = Key::size(
    "initial_frame_max",
    FRAME,
    "8192",
    "The maximum frame size in bytes before a client has logged in, and the smallest `frame_max` that a client may then ask for. \
         It is lowered to `frame_max` if that is smaller.",
);
pub(crate) const CHANNEL_MAX: Key<u16> = Key::integer(
    "channel_max",
    Type::Integer(0, 65_535),
    "2047",
    "The maximum number of channels per connection. 0: only the protocol's limit.",
);
pub(crate) const CONNECTION_MAX: Key<Option<u64>> = Key::unbounded(
    "connection_max",
    Type::Unbounded(0),
    "infinity",
    "The maximum number of client connections of this node.",
);
pub(crate) const CONSUMER_MAX_PER_CHANNEL: Key<Option<u64>> = Key::unbounded(
    "consumer_max_per_channel",
    Type::Unbounded(1),
    "infinity",
    "The maximum number of consumers per channel.",
);
pub(crate) const MAX_MESSAGE_SIZE: Key<u64> = Key::size(
    "max_message_size",
    Type::Size(1, MAX_MESSAGE_SIZE_MAX),
    "16MiB",
    "The maximum size of a message body. A larger message closes its channel with 406.",
);
pub(crate) const TCP_BACKLOG: Key<u32> = Key::integer(
    "tcp_listen_options.backlog",
    Type::Integer(1, 65_535),
    "128",
    "The maximum number of connections that wait to be accepted.",
);
pub(crate) const TCP_NODELAY: Key<bool> =
    Key::bool("tcp_listen_options.nodelay", "true", "Send small packets at once (TCP_NODELAY).");
pub(crate) const TCP_KEEPALIVE: Key<bool> =
    Key::bool("tcp_listen_options.keepalive", "false", "Let the system probe idle connections (SO_KEEPALIVE).");
pub(crate) const TCP_SNDBUF: Key<u32> = Key::size(
    "tcp_listen_options.sndbuf",
    Type::Size(1, i32::MAX as u64),
    "",
    "The size of a socket's send buffer. Unset: the system chooses.",
);
pub(crate) const TCP_RECBUF: Key<u32> = Key::size(
    "tcp_listen_options.recbuf",
    Type::Size(1, i32::MAX as u64),
    "",
    "The size of a socket's receive buffer. Unset: the system chooses.",
);
pub(crate) const TCP_LINGER_ON: Key<bool> =
    Key::bool("tcp_listen_options.linger.on", "false", "Whether closing a socket waits for unsent data (SO_LINGER).");
pub(crate) const TCP_LINGER_TIMEOUT: Key<u64> = Key::integer(
    "tcp_listen_options.linger.timeout",
    Type::Integer(0, 65_535),
    "0",
    "How many seconds closing waits. 0: the connection is reset.",
);

const KEYS: &[Row] = &[
    LISTENERS_TCP.row,
    effective(
        "listeners.tcp.$name",
        Type::Listener,
        "",
        "A port, or an address and a port, to listen on. `$name` can be any word.",
    )
    .family(&[("listeners.tcp.default", "5672")]),
    effective(
        "warren.listeners.unix.$name",
        Type::Text,
        "",
        "The path of a Unix-domain socket to listen on. Only the broker's own user may connect to it. `$name` can be any word.",
    ),
    effective(
        "warren.listeners.{tcp,ssl,unix}.$name.connection_max",
        Type::Unbounded(0),
        "",
        "The maximum number of concurrent connections of the listener with this kind and name. Unset: no limit.",
    ),
    PROXY_PROTOCOL.row,
    effective(
        "warren.proxy_protocol.trusted_senders.$name",
        Type::Own(&NETWORK),
        "",
        "The addresses whose PROXY protocol headers are trusted. `$name` can be any word. If one is set, connections from other \
         addresses are closed. If none is set, all headers are trusted, but a client counts as local only if the sender of its header \
         is local, too.",
    ),
    HANDSHAKE_TIMEOUT.row,
    HEARTBEAT.row,
    FRAME_MAX.row,
    INITIAL_FRAME_MAX.row,
    CHANNEL_MAX.row,
    alias("max_channels_per_connection", "channel_max", Type::Integer(0, 65_535)),
    CONNECTION_MAX.row,
    alias("max_connections", "connection_max", Type::Unbounded(0)),
    CONSUMER_MAX_PER_CHANNEL.row,
    MAX_MESSAGE_SIZE.row,
    TCP_BACKLOG.row,
    TCP_NODELAY.row,
    TCP_KEEPALIVE.row,
    TCP_SNDBUF.row,
    TCP_RECBUF.row,
    TCP_LINGER_ON.row,
    TCP_LINGER_TIMEOUT.row,
    no_effect("tcp_listen_options", Type::OneOf(&["none"]), "these options cannot be switched off"),
    no_effect("tcp_listen_options.{delay_send,dontroute,exit_on_close,send_timeout_close}", Type::Bool, ERLANG_SOCKET),
    no_effect(
        "tcp_listen_options.{buffer,fd,high_msgq_watermark,high_watermark,low_msgq_watermark,low_watermark,port,priority,send_timeout,tos}",
        Type::COUNT,
        ERLANG_SOCKET,
    ),
    no_effect("num_acceptors.{tcp,ssl}", Type::COUNT, "connections are accepted without a pool"),
    no_effect("socket_writer.gc_threshold", Type::Text, "Warren has no garbage collector"),
    not_built("reverse_dns_lookups", Type::Bool, "connections are listed by address").unless(&["false"]),
    not_built("channel_max_per_node", Type::Unbounded(1), "channels are limited per connection only")
        .unless(&["infinity"]),
    not_built("ranch_connection_max", Type::Unbounded(0), "use connection_max").unless(&["infinity"]),
];
