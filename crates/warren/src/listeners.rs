//! AMQP's listeners: opens all that the configuration names, and brings to the ingress who comes through them.

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use management::ListenerInfo;
use model::config::{Config, ListenAddress, TcpOptions};
use net::{Admission, BindError, Gate, Listener, ListenerAddress, ServerTls, SocketOptions};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::acceptor::Acceptor;
use crate::connection_limiter::ConnectionLimiter;
use crate::http_listeners::{PROMETHEUS, QUEUE_INFO};
use crate::node::{Arrival, Ingress};
use crate::tls::TlsFiles;

/// All AMQP listeners, open.
pub(crate) struct Listeners(Vec<Acceptor>);

/// A listener, for people.
#[derive(Debug, Clone)]
pub(crate) struct ListenerSummary {
    pub(crate) address: ListenerAddress,
    /// What is spoken there.
    pub(crate) protocol: &'static str,
    pub(crate) tls: Option<Arc<ServerTls>>,
    /// What suspends it, if anything does.
    pub(crate) gate: Option<Gate>,
}

/// What AMQP's listeners speak.
pub(crate) const AMQP: &str = "AMQP 0-9-1";

impl fmt::Display for ListenerSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}{})", self.address, self.protocol, if self.tls.is_some() { ", TLS" } else { "" })
    }
}

impl ListenerSummary {
    /// As the API tells of it; none of Unix-domain sockets.
    pub(crate) fn info(&self) -> Option<ListenerInfo> {
        let ListenerAddress::Tcp(address) = self.address else { return None };
        let protocol = match (self.protocol, self.tls.is_some()) {
            (AMQP, false) => "amqp",
            (AMQP, true) => "amqp/ssl",
            (PROMETHEUS, false) => "http/prometheus",
            (PROMETHEUS, true) => "https/prometheus",
            // Not one of the API's, and counted as none.
            (QUEUE_INFO, _) => "queue-info",
            (_, false) => "http",
            (_, true) => "https",
        };
        Some(ListenerInfo {
            protocol: protocol.to_owned(),
            ip: address.ip(),
            port: address.port(),
            tls: self.tls.clone(),
            gate: self.gate.clone(),
        })
    }
}

impl Listeners {
    /// Opens them. The files of their TLS are put into `tls_files`.
    pub(crate) fn open(config: &Config, tls_files: &mut TlsFiles) -> Result<Self> {
        let plain = Admission {
            proxy_protocol: config.proxy_protocol.then_some(config.handshake_timeout),
            trusted_senders: config.proxy_protocol_trusted_senders.clone().map(Arc::from),
            tls: None,
        };
        let options = socket_options(&config.tcp_listen_options);
        let mut open = Vec::new();
        for listener in &config.listeners {
            let socket = bind(&listener.address, &options)
                .with_context(|| format!("cannot open the listener listeners.tcp.{}", listener.name))?;
            open.push(acceptor(socket, plain.clone(), listener.connection_max));
        }
        if let (Some(options_of_tls), false) = (&config.tls, config.tls_listeners.is_empty()) {
            let tls = Some((tls_files.open("ssl_options", options_of_tls)?, config.ssl_handshake_timeout));
            for listener in &config.tls_listeners {
                let socket = bind(&listener.address, &options)
                    .with_context(|| format!("cannot open the listener listeners.ssl.{}", listener.name))?;
                let admission = Admission { tls: tls.clone(), ..plain.clone() };
                open.push(acceptor(socket, admission, listener.connection_max));
            }
        }
        for listener in &config.unix_listeners {
            let socket = Listener::bind_unix(Path::new(&listener.path), options.backlog)
                .with_context(|| format!("cannot open the listener warren.listeners.unix.{}", listener.name))?;
            open.push(acceptor(socket, Admission::default(), listener.connection_max));
        }
        Ok(Self(open))
    }

    /// Where they are, and what suspends them.
    pub(crate) fn addresses(&mut self) -> Result<Vec<ListenerSummary>> {
        let listening = |listener: &mut Acceptor| {
            let address = listener.socket.address()?;
            let tls = listener.admission.tls.as_ref().map(|(tls, _)| tls.clone());
            Ok(ListenerSummary { address, protocol: AMQP, tls, gate: Some(listener.socket.gate()?) })
        };
        let listening: io::Result<_> = self.0.iter_mut().map(listening).collect();
        listening.context("cannot inspect a listener")
    }

    /// Accepts until `stopping` changes. Each connection takes a place of each of `limiters`, too.
    pub(crate) async fn run(
        self,
        ingress: Arc<Ingress>,
        limiters: Vec<ConnectionLimiter>,
        stopping: watch::Receiver<bool>,
    ) {
        let mut tasks = JoinSet::new();
        for listener in self.0 {
            let (ingress, limiters, mut stopping) = (ingress.clone(), limiters.clone(), stopping.clone());
            tasks.spawn(async move {
                let refusing = ingress.clone();
                let accepting = listener.run(
                    limiters,
                    move || refusing.count_refused(),
                    move |stream, peer, permits| ingress.admit(Arrival::of_amqp(stream, peer, permits)),
                );
                tokio::select! {
                    () = accepting => {}
                    _ = stopping.changed() => {}
                }
            });
        }
        while tasks.join_next().await.is_some() {}
    }
}

fn acceptor(socket: Listener, admission: Admission, connection_max: Option<u64>) -> Acceptor {
    let max = connection_max.and_then(|max| usize::try_from(max).ok()).unwrap_or(usize::MAX);
    Acceptor { socket, admission, limiter: ConnectionLimiter::new(max, LISTENER_FULL), address_limiter: None }
}

const LISTENER_FULL: &str = "connection refused: the limit of its listener (connection_max) is reached";

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listener_says_what_it_speaks() {
        let address = ListenerAddress::Tcp("127.0.0.1:5671".parse().unwrap());
        let listening = ListenerSummary { address, protocol: AMQP, tls: None, gate: None };
        assert_eq!(listening.to_string(), "127.0.0.1:5671 (AMQP 0-9-1)");
    }
}
