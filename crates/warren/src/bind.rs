//! How listening sockets are opened.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use model::config::{ListenAddress, TcpOptions};
use net::{BindError, Listener, SocketOptions};

/// The options of a listening socket and of what it accepts.
pub(crate) fn socket_options(tcp: &TcpOptions) -> SocketOptions {
    SocketOptions {
        backlog: tcp.backlog,
        nodelay: tcp.nodelay,
        keepalive: tcp.keepalive,
        send_buffer_len: tcp.sndbuf,
        receive_buffer_len: tcp.recbuf,
        linger: tcp.linger,
    }
}

/// Opens one on a port.
pub(crate) fn bind(address: &ListenAddress, options: &SocketOptions) -> Result<Listener, BindError> {
    match address.ip {
        Some(ip) => Listener::bind(SocketAddr::new(ip, address.port), options.clone()),
        None => bind_any(address.port, options),
    }
}

/// Opens one on a port of every address: of both families where the machine has both.
pub(crate) fn bind_any(port: u16, options: &SocketOptions) -> Result<Listener, BindError> {
    match Listener::bind(SocketAddr::new(IpAddr::V6(Ipv6Addr::UNSPECIFIED), port), options.clone()) {
        Err(BindError::Refused { .. }) => Listener::bind(SocketAddr::from(([0, 0, 0, 0], port)), options.clone()),
        other => other,
    }
}
