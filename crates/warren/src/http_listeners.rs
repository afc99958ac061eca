//! The listeners of the management API and of metrics, and the thread that serves both.
//!
//! The API is also served at a socket in the data directory, whatever the configuration says: only the host's operator may
//! open that, and needs no password.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use management::limits::CONNECTIONS_MAX;
use management::{ConnectionLimits, Server};
use model::config::{Config, HttpListener};
use net::{AddressLimiter, Admission, BindError, Listener, SocketOptions};
use tokio::task::JoinHandle;

use crate::acceptor::Acceptor;
use crate::bind::bind;
use crate::connection_limiter::{ConnectionLimiter, ConnectionPermits, GlobalLimit};
use crate::listener_summary::{HTTP, ListenerSummary, PROMETHEUS, QUEUE_INFO};
use crate::node::{Arrival, EntryPoint, Ingress};
use crate::tls::TlsFiles;

/// The socket in the data directory.
const CONTROL_SOCKET: &str = "control.sock";
/// Connections that may wait to be accepted there.
const CONTROL_BACKLOG: u32 = 64;
/// Connections that may be open there.
const CONTROL_CONNECTIONS_MAX: usize = 32;

/// The listeners, open, and the thread whose runtime watches their sockets.
pub(crate) struct HttpListeners {
    server: Option<Server>,
    /// None where neither the API nor metrics are to be served.
    open: Vec<OpenListener>,
}

struct OpenListener {
    acceptor: Acceptor,
    limits: ConnectionLimits,
    entry: EntryPoint,
}

impl HttpListeners {
    /// Opens them. The files of their TLS are put into `tls_files`.
    pub(crate) fn open(config: &Config, tls_files: &mut TlsFiles) -> Result<Self> {
        let server = Server::start().context("cannot start the thread of the management API")?;
        // Their sockets are watched by the thread that serves them.
        let runtime = server.runtime().clone();
        let entered = runtime.enter();
        let mut open = Vec::new();
        if config.management.is_enabled {
            for listener in &config.management_listeners {
                open.push(OpenListener::open(config, listener, EntryPoint::Api, tls_files)?);
            }
        }
        if config.prometheus.is_enabled {
            for listener in &config.prometheus_listeners {
                let entry = EntryPoint::Metrics { compress: listener.compress };
                open.push(OpenListener::open(config, listener, entry, tls_files)?);
            }
        }
        if let Some(listener) = &config.queue_info_listener {
            open.push(OpenListener::open(config, listener, EntryPoint::QueueInfo, tls_files)?);
        }
        drop(entered);
        Ok(Self { server: Some(server), open })
    }

    /// Where they are.
    pub(crate) fn addresses(&self) -> Vec<ListenerSummary> {
        self.open.iter().filter_map(OpenListener::listening).collect()
    }

    /// The thread.
    ///
    /// # Panics
    /// If it was taken before.
    pub(crate) fn take_server(&mut self) -> Server {
        self.server.take().expect("the node takes it once")
    }

    /// Accepts, at the control socket too, until the tasks are aborted. Each connection takes a place in `house`; those of the control
    /// socket need none.
    pub(crate) fn run(
        self,
        data_dir: &Path,
        server: &Server,
        ingress: &Arc<Ingress>,
        house: &GlobalLimit,
    ) -> Vec<JoinHandle<()>> {
        let spawn = |listener: OpenListener, limiters| server.runtime().spawn(listener.run(limiters, ingress.clone()));
        let mut accepting: Vec<_> = self.open.into_iter().map(|listener| spawn(listener, house.of_http())).collect();
        let _entered = server.runtime().enter();
        match OpenListener::open_control(data_dir) {
            Ok(listener) => accepting.push(spawn(listener, Vec::new())),
            // Everything else works without it.
            Err(error) => tracing::warn!(%error, "no control socket, so `warren ctl` must log in"),
        }
        accepting
    }
}

impl OpenListener {
    fn open(config: &Config, listener: &HttpListener, entry: EntryPoint, tls_files: &mut TlsFiles) -> Result<Self> {
        let options = SocketOptions { backlog: listener.backlog, ..SocketOptions::default() };
        let socket = bind(&listener.address, &options)
            .with_context(|| format!("cannot open the listener {}.port", listener.prefix))?;
        let tls = match &listener.tls {
            Some(tls) => Some((tls_files.open(listener.prefix, tls)?, config.ssl_handshake_timeout)),
            None => None,
        };
        let max = listener.max_connections.and_then(|max| usize::try_from(max).ok()).unwrap_or(CONNECTIONS_MAX);
        let limits = ConnectionLimits {
            // RabbitMQ distinguishes idle connections from slow ones; here one limit is for both.
            head_timeout: listener.idle_timeout.max(listener.request_timeout),
            write_timeout: listener.inactivity_timeout,
            keep_alive_max: listener.max_keepalive,
        };
        let admission = Admission { tls, ..Admission::default() };
        let of_address = config.http_max_connections_per_address.and_then(|max| usize::try_from(max).ok());
        let address_limiter = of_address.map(AddressLimiter::new);
        let acceptor =
            Acceptor { socket, admission, limiter: ConnectionLimiter::new(max, LISTENER_FULL), address_limiter };
        Ok(Self { acceptor, limits, entry })
    }

    /// The socket in the data directory, which only the broker's own user may open.
    fn open_control(data_dir: &Path) -> Result<Self, BindError> {
        Ok(Self {
            acceptor: Acceptor {
                socket: Listener::bind_unix(&data_dir.join(CONTROL_SOCKET), CONTROL_BACKLOG)?,
                admission: Admission::default(),
                limiter: ConnectionLimiter::new(CONTROL_CONNECTIONS_MAX, LISTENER_FULL),
                address_limiter: None,
            },
            limits: ConnectionLimits::default(),
            entry: EntryPoint::ControlSocket,
        })
    }

    fn listening(&self) -> Option<ListenerSummary> {
        let address = self.acceptor.socket.address().ok()?;
        let tls = self.acceptor.admission.tls.as_ref().map(|(tls, _)| tls.clone());
        let protocol = match self.entry {
            EntryPoint::QueueInfo => QUEUE_INFO,
            EntryPoint::Metrics { .. } => PROMETHEUS,
            EntryPoint::Api | EntryPoint::Amqp | EntryPoint::ControlSocket => HTTP,
        };
        Some(ListenerSummary { address, protocol, tls, gate: None })
    }

    /// Accepts until it is aborted.
    async fn run(self, limiters: Vec<ConnectionLimiter>, ingress: Arc<Ingress>) {
        let (entry, limits) = (self.entry, self.limits);
        let on_admitted = move |stream: net::Stream, peer, permits: ConnectionPermits| {
            ingress.admit(Arrival::of_http(stream, peer, permits, entry, limits));
        };
        self.acceptor.run(limiters, || (), on_admitted).await;
    }
}

const LISTENER_FULL: &str = "HTTP connection refused: the connection limit of its listener is reached";
