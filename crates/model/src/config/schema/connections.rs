//! Listeners, sockets, negotiation.

use super::super::network::NETWORK;
use super::{Key, MAX_MESSAGE_SIZE_MAX, Section, Type, alias, effective, no_effect, not_built};

pub(super) const SECTION: Section = Section { title: "Listeners and connections", keys: KEYS };

const ERLANG_SOCKET: &str = "it tunes Erlang's sockets";
const FRAME: Type = Type::Size(4096, 1 << 30);

const KEYS: &[Key] = &[
    effective(
        "listeners.tcp",
        Type::OneOf(&["none"]),
        "",
        "`none`: listen on no TCP port, whatever `listeners.tcp.$name` say.",
    ),
    effective(
        "listeners.tcp.$name",
        Type::Listener,
        "",
        "A port, or an address and a port, to listen on; the name is free.",
    )
    .family(&[("listeners.tcp.default", "5672")]),
    effective(
        "warren.listeners.unix.$name",
        Type::Text,
        "",
        "A path, to listen there as a Unix-domain socket that only the broker's own user may connect to; the name is free.",
    ),
    effective(
        "warren.listeners.{tcp,ssl,unix}.$name.connection_max",
        Type::Unbounded(0),
        "",
        "The most connections that the listener of this kind and name has at a time; no limit if unset.",
    ),
    effective(
        "proxy_protocol",
        Type::Bool,
        "false",
        "Whether connections to ports, with and without TLS, begin with a header of the PROXY protocol, version 1 or 2. Those \
         that do not are closed.",
    ),
    effective(
        "warren.proxy_protocol.trusted_senders.$name",
        Type::Own(&NETWORK),
        "",
        "Whose headers of the PROXY protocol are believed; the name is free. If there is any, connections from elsewhere are closed. If \
         there is none, all are believed, but a client is taken for a local one only where its header's sender is one, too.",
    ),
    effective(
        "handshake_timeout",
        Type::DurationMs(1, 86_400_000),
        "10000",
        "How long a connection may take to log in.",
    ),
    effective(
        "heartbeat",
        Type::Integer(0, 65_535),
        "60",
        "Seconds between heartbeats that are proposed to clients; 0 proposes none.",
    ),
    effective("frame_max", FRAME, "131072", "The longest frame that is proposed to clients, in bytes."),
    effective(
        "initial_frame_max",
        FRAME,
        "8192",
        "The longest frame before a client has logged in, in bytes, and the least that it may ask for then. It is lowered \
         to `frame_max` where that is less.",
    ),
    effective(
        "channel_max",
        Type::Integer(0, 65_535),
        "2047",
        "The most channels of one connection; 0 means no limit but the protocol's.",
    ),
    alias("max_channels_per_connection", "channel_max", Type::Integer(0, 65_535)),
    effective("connection_max", Type::Unbounded(0), "infinity", "The most client connections of this node."),
    alias("max_connections", "connection_max", Type::Unbounded(0)),
    effective("consumer_max_per_channel", Type::Unbounded(1), "infinity", "The most consumers of one channel."),
    effective(
        "max_message_size",
        Type::Size(1, MAX_MESSAGE_SIZE_MAX),
        "16MiB",
        "The largest message body that is taken; a larger one closes its channel with 406.",
    ),
    effective(
        "tcp_listen_options.backlog",
        Type::Integer(1, 65_535),
        "128",
        "Connections that may wait to be accepted.",
    ),
    effective("tcp_listen_options.nodelay", Type::Bool, "true", "Send small packets at once (TCP_NODELAY)."),
    effective(
        "tcp_listen_options.keepalive",
        Type::Bool,
        "false",
        "Let the system probe silent connections (SO_KEEPALIVE).",
    ),
    effective(
        "tcp_listen_options.sndbuf",
        Type::Size(1, i32::MAX as u64),
        "",
        "The socket's send buffer; unset lets the system choose.",
    ),
    effective(
        "tcp_listen_options.recbuf",
        Type::Size(1, i32::MAX as u64),
        "",
        "The socket's receive buffer; unset lets the system choose.",
    ),
    effective(
        "tcp_listen_options.linger.on",
        Type::Bool,
        "false",
        "Whether closing a socket waits for what is unsent (SO_LINGER).",
    ),
    effective(
        "tcp_listen_options.linger.timeout",
        Type::Integer(0, 65_535),
        "0",
        "How long it waits, in seconds; 0 resets the connection.",
    ),
    no_effect("tcp_listen_options", Type::OneOf(&["none"]), "there is nothing to switch off"),
    no_effect("tcp_listen_options.{delay_send,dontroute,exit_on_close,send_timeout_close}", Type::Bool, ERLANG_SOCKET),
    no_effect(
        "tcp_listen_options.{buffer,fd,high_msgq_watermark,high_watermark,low_msgq_watermark,low_watermark,port,priority,send_timeout,tos}",
        Type::COUNT,
        ERLANG_SOCKET,
    ),
    no_effect("num_acceptors.{tcp,ssl}", Type::COUNT, "accepting needs no pool"),
    no_effect("socket_writer.gc_threshold", Type::Text, "there is no garbage collector"),
    not_built("reverse_dns_lookups", Type::Bool, "connections are shown by address").unless(&["false"]),
    not_built("channel_max_per_node", Type::Unbounded(1), "channels are limited for each connection only")
        .unless(&["infinity"]),
    not_built("ranch_connection_max", Type::Unbounded(0), "use connection_max").unless(&["infinity"]),
];
