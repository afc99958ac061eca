//! AMQP's listeners: opens all that the configuration names, and brings to the ingress what comes through them.

use std::io;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use model::config::Config;
use net::{Admission, Listener};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::acceptor::Acceptor;
use crate::bind::{bind, socket_options};
use crate::connection_limiter::ConnectionLimiter;
use crate::listener_summary::{AMQP, ListenerSummary};
use crate::node::{Arrival, Ingress};
use crate::tls::TlsFiles;

/// All AMQP listeners, open.
pub(crate) struct Listeners(Vec<Acceptor>);

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
