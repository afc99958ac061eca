//! AMQP's listeners: opens all that the configuration names, and brings to the broker who comes through them.
//!
//! Who has to show a proxy's header or to shake hands by TLS does so in a task of his own, so that he holds up nobody.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use broker::Broker;
use model::config::{Config, ListenAddress};
use net::{Admission, AdmitError, BindError, Listener, ListenerAddress, ServerTls, SocketOptions, Stream};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::tls::TlsFiles;

/// Connections that are closed before they are served are told of once in so long, each listener for itself.
const COMPLAINT_INTERVAL: Duration = Duration::from_secs(1);

/// All AMQP listeners, open.
pub(crate) struct Listeners(Vec<OpenListener>);

struct OpenListener {
    socket: Listener,
    admission: Admission,
    /// Whether there is anything to do between accepting and serving.
    is_admission_due: bool,
    seats: Seats,
}

/// A listener, for people.
#[derive(Debug, Clone)]
pub(crate) struct Listening {
    pub(crate) address: ListenerAddress,
    /// What is spoken there.
    pub(crate) protocol: &'static str,
    pub(crate) tls: Option<Arc<ServerTls>>,
}

/// What AMQP's listeners speak.
pub(crate) const AMQP: &str = "AMQP 0-9-1";

impl fmt::Display for Listening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}{})", self.address, self.protocol, if self.tls.is_some() { ", TLS" } else { "" })
    }
}

impl Listeners {
    /// Opens them. The files of their TLS are put into `tls_files`.
    pub(crate) fn open(config: &Config, tls_files: &mut TlsFiles) -> Result<Self> {
        let plain = Admission { proxy_protocol: config.proxy_protocol.then_some(config.handshake_timeout), tls: None };
        let options = socket_options(config);
        let mut open = Vec::new();
        for listener in &config.listeners {
            let socket = bind(&listener.address, &options)
                .with_context(|| format!("cannot open the listener listeners.tcp.{}", listener.name))?;
            open.push(OpenListener::new(socket, plain.clone(), listener.connection_max));
        }
        if let (Some(options_of_tls), false) = (&config.tls, config.tls_listeners.is_empty()) {
            let tls = Some((tls_files.open("ssl_options", options_of_tls)?, config.ssl_handshake_timeout));
            for listener in &config.tls_listeners {
                let socket = bind(&listener.address, &options)
                    .with_context(|| format!("cannot open the listener listeners.ssl.{}", listener.name))?;
                let admission = Admission { tls: tls.clone(), ..plain.clone() };
                open.push(OpenListener::new(socket, admission, listener.connection_max));
            }
        }
        for listener in &config.unix_listeners {
            let socket = Listener::bind_unix(Path::new(&listener.path), options.backlog)
                .with_context(|| format!("cannot open the listener warren.listeners.unix.{}", listener.name))?;
            open.push(OpenListener::new(socket, Admission::default(), listener.connection_max));
        }
        Ok(Self(open))
    }

    /// Where they are.
    pub(crate) fn addresses(&self) -> Vec<Listening> {
        let listening = |listener: &OpenListener| {
            let address = listener.socket.address().ok()?;
            let tls = listener.admission.tls.as_ref().map(|(tls, _)| tls.clone());
            Some(Listening { address, protocol: AMQP, tls })
        };
        self.0.iter().filter_map(listening).collect()
    }

    /// Accepts until `stopping` changes, with no more than so many connections of all listeners at a time.
    pub(crate) async fn run(self, broker: Arc<Broker>, connection_max: usize, stopping: watch::Receiver<bool>) {
        let all = Seats::new(connection_max);
        let mut tasks = JoinSet::new();
        for listener in self.0 {
            tasks.spawn(listener.run(broker.clone(), all.clone(), stopping.clone()));
        }
        while tasks.join_next().await.is_some() {}
    }
}

impl OpenListener {
    fn new(socket: Listener, admission: Admission, connection_max: Option<u64>) -> Self {
        let max = connection_max.and_then(|max| usize::try_from(max).ok()).unwrap_or(usize::MAX);
        let is_admission_due = admission.proxy_protocol.is_some() || admission.tls.is_some();
        Self { socket, admission, is_admission_due, seats: Seats::new(max) }
    }

    async fn run(mut self, broker: Arc<Broker>, all: Seats, mut stopping: watch::Receiver<bool>) {
        let mut complaints = Complaints::default();
        // Ends with this task: who has not been let in yet is not served after the listener has closed.
        let mut admissions = JoinSet::new();
        loop {
            let (stream, peer) = tokio::select! {
                accepted = self.socket.accept(|_| complaints.refuse(&broker, OUT_OF_FILES)) => accepted,
                Some(_) = admissions.join_next() => continue,
                _ = stopping.changed() => return,
            };
            let Some(place) = all.take() else {
                complaints.refuse(&broker, OUT_OF_FILES);
                continue;
            };
            let Some(seat) = self.seats.take() else {
                complaints.refuse(&broker, LISTENER_FULL);
                continue;
            };
            let seats = (place, seat);
            if !self.is_admission_due {
                tokio::spawn(serve(broker.clone(), stream, seats));
                continue;
            }
            let (admission, broker) = (self.admission.clone(), broker.clone());
            admissions.spawn(async move {
                match admission.admit(stream).await {
                    Ok(stream) => drop(tokio::spawn(serve(broker, stream, seats))),
                    Err(error @ AdmitError::Gone) => tracing::debug!(%peer, %error, "connection was closed"),
                    Err(error) => tracing::warn!(%peer, %error, "connection was closed"),
                }
            });
        }
    }
}

async fn serve(broker: Arc<Broker>, stream: Stream, _seats: (Seat, Seat)) {
    broker.serve(stream).await;
}

const OUT_OF_FILES: &str = "a connection was refused because the limit of open files is reached";
const LISTENER_FULL: &str = "a connection was refused because its listener has as many as it may (connection_max)";

/// Connections that were closed as soon as they came.
#[derive(Default)]
struct Complaints {
    last_at: Option<Instant>,
}

impl Complaints {
    /// Counts one. One line a second in the log is enough to know; the counter has the rest.
    fn refuse(&mut self, broker: &Broker, why: &'static str) {
        broker.count_refused_connection();
        if self.last_at.is_none_or(|at| at.elapsed() >= COMPLAINT_INTERVAL) {
            self.last_at = Some(Instant::now());
            tracing::error!("{why}");
        }
    }
}

/// So many connections at a time.
#[derive(Debug, Clone)]
struct Seats {
    taken: Arc<AtomicUsize>,
    max: usize,
}

/// One of them, until it is dropped.
#[derive(Debug)]
struct Seat(Arc<AtomicUsize>);

impl Seats {
    fn new(max: usize) -> Self {
        Self { taken: Arc::default(), max }
    }

    fn take(&self) -> Option<Seat> {
        // Of who comes at the same time, one may be turned away although the other has just gone: no harm.
        if self.taken.fetch_add(1, Ordering::Relaxed) >= self.max {
            self.taken.fetch_sub(1, Ordering::Relaxed);
            return None;
        }
        Some(Seat(Arc::clone(&self.taken)))
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

fn socket_options(config: &Config) -> SocketOptions {
    let tcp = &config.tcp_listen_options;
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
    let port = address.port;
    if let Some(ip) = address.ip {
        return Listener::bind(SocketAddr::new(ip, port), options.clone());
    }
    // Every address: both families where the machine has both.
    match Listener::bind(SocketAddr::new(IpAddr::V6(Ipv6Addr::UNSPECIFIED), port), options.clone()) {
        Err(BindError::Refused { .. }) => Listener::bind(SocketAddr::from(([0, 0, 0, 0], port)), options.clone()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seats_come_back_when_connections_go() {
        let seats = Seats::new(2);
        let (first, _second) = (seats.take().unwrap(), seats.take().unwrap());
        assert!(seats.take().is_none());
        assert!(seats.clone().take().is_none());
        drop(first);
        let third = seats.take();
        assert!(third.is_some());
        assert!(seats.take().is_none());
    }

    #[test]
    fn a_listener_says_what_it_speaks() {
        let address = ListenerAddress::Tcp("127.0.0.1:5671".parse().unwrap());
        let listening = Listening { address, protocol: AMQP, tls: None };
        assert_eq!(listening.to_string(), "127.0.0.1:5671 (AMQP 0-9-1)");
    }
}
