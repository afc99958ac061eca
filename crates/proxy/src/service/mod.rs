//! The switchboards' shell: threads, sockets, upstreams, and what operators ask.
//!
//! ```text
//!  worker      one thread: a switchboard and the tasks of its sockets
//!  sockets     one task for each socket, client or upstream connection
//!  upstreams   the brokers behind, shared by all threads: health, choice, dialling
//!  command     orders to threads
//!  shares      what each thread has of what is limited for all
//!  operations  the HTTP API: health, metrics, pools, draining
//!  gate        which clients may come in, asked by all threads
//!  files       how many files clients may have, so that some are left for upstream connections
//!  forwarder   sends on what the spool has kept
//!  log         what operators read
//! ```

mod command;
mod files;
mod forwarder;
mod gate;
mod log;
mod metrics;
mod operations;
mod shares;
mod sockets;
mod upstreams;
mod worker;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use net::{Admission, BindError, Listener};
use tokio::sync::{mpsc, oneshot};

use self::command::Command;
use self::files::Files;
pub use self::files::client_file_count_max;
use self::gate::Gate;
pub use self::operations::{Callers, serve_operations};
pub use self::upstreams::Upstream;
use self::upstreams::Upstreams;
use self::worker::Acceptor;
use crate::balance::{self, OptionsError, Snapshot};
use crate::guard;
use crate::spool::{self, Spool};
use crate::switchboard::{Options, Refusal, Report};

/// How often the guard forgets disconnected clients, and reports what it refused.
const GUARD_TICK: Duration = Duration::from_secs(1);

/// How often a stop looks whether all clients and upstream connections are closed.
const LOOK: Duration = Duration::from_millis(20);

/// How long what is being sent on may wait for its confirms at a stop.
const FORWARD_TIMEOUT: Duration = Duration::from_secs(5);

/// How long upstream connections may wait for their confirms when all clients have disconnected.
const CONFIRM_TIMEOUT: Duration = Duration::from_secs(10);

/// Why the proxy does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// It cannot listen.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// The upstreams make no sense.
    #[error(transparent)]
    Upstreams(#[from] OptionsError),
    /// The system refuses something else.
    #[error("cannot start the proxy's threads: {0}")]
    Io(#[from] io::Error),
}

/// A running proxy.
#[derive(Debug)]
pub struct Service {
    handle: Handle,
    threads: Vec<JoinHandle<()>>,
    /// Held so that sockets at paths stay.
    listeners: Vec<Listener>,
    watching: [tokio::task::JoinHandle<()>; 2],
    forwarding: Option<tokio::task::JoinHandle<()>>,
}

/// A running proxy, for those that look at it and change it.
#[derive(Debug, Clone)]
pub struct Handle {
    workers: Vec<mpsc::UnboundedSender<Command>>,
    upstreams: Arc<Upstreams>,
    gate: Arc<Gate>,
    spool: Option<Arc<Spool>>,
    is_stopping: Arc<AtomicBool>,
}

impl Service {
    /// Accepts from these listeners, on so many threads, or fewer where there may be fewer upstream connections. Limits are those of all
    /// threads together. A header of the PROXY protocol may take as long as [`Options::handshake_timeout_ms`] says. Must be called inside a
    /// tokio runtime, which looks after the upstreams.
    pub fn start(
        listeners: Vec<(Listener, Admission)>,
        upstreams: Vec<Upstream>,
        balance: balance::Options,
        guard: guard::Options,
        options: &Options,
        spool: Option<Arc<Spool>>,
        worker_count: usize,
    ) -> Result<Self, StartError> {
        let upstreams = Arc::new(Upstreams::new(upstreams, balance)?);
        let gate = Arc::new(Gate::new(guard));
        let files = Arc::new(Files::new(client_file_count_max(net::raise_open_files_limit().limit)));
        if let Some(spool) = &spool {
            spool.start();
            spool.tick(upstreams.now_ms(), forwarder::wall_ms());
        }
        let (mut workers, mut threads) = (Vec::new(), Vec::new());
        let worker_count = shares::thread_count(worker_count, options);
        for number in 0..worker_count {
            let share = |(listener, admission): &(Listener, Admission)| {
                listener.share().map(|listener| Acceptor { listener, admission: admission.clone() })
            };
            let acceptors = listeners.iter().map(share).collect::<Result<Vec<_>, _>>()?;
            let (commands, received) = mpsc::unbounded_channel();
            let options = shares::share(options, number, worker_count);
            let (upstreams, gate, files, spool) = (upstreams.clone(), gate.clone(), files.clone(), spool.clone());
            let thread = std::thread::Builder::new().name(format!("proxy-{number}")).spawn(move || {
                if let Err(error) = worker::run(options, acceptors, upstreams, gate, files, spool, received) {
                    tracing::error!(%error, "a thread of the proxy ended");
                }
            })?;
            workers.push(commands);
            threads.push(thread);
        }
        let watching = [tokio::spawn(upstreams.clone().watch()), tokio::spawn(tick(gate.clone()))];
        let mut forwarding = None;
        if let Some(spool) = &spool {
            forwarding = Some(tokio::spawn(forwarder::forward(spool.clone(), upstreams.clone())));
        }
        let listeners = listeners.into_iter().map(|(listener, _)| listener).collect();
        let handle = Handle { workers, upstreams, gate, spool, is_stopping: Arc::default() };
        Ok(Service { handle, threads, listeners, watching, forwarding })
    }

    /// Where it listens.
    pub fn addresses(&self) -> Vec<net::ListenerAddress> {
        self.listeners.iter().filter_map(|listener| listener.address().ok()).collect()
    }

    /// For those that look at it and change it.
    #[must_use]
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Accepts no more clients.
    pub fn stop_listening(&mut self) {
        self.handle.is_stopping.store(true, Ordering::Relaxed);
        self.listeners.clear();
        self.handle.tell(|| Command::StopListening);
    }

    /// Waits until all clients have disconnected, or for so long; `None` for as long as it takes.
    pub async fn wait_for_clients(&self, timeout: Option<Duration>) {
        let until = timeout.map(|timeout| Instant::now() + timeout);
        while until.is_none_or(|until| Instant::now() < until) && self.handle.client_count().await > 0 {
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Closes all clients, and waits so long for them to agree; `None` for as long as it takes.
    pub async fn close_clients(&self, timeout: Option<Duration>) {
        let refusal = Refusal::new(amqp::ReplyCode::ConnectionForced, "the proxy is being stopped");
        self.handle.tell(|| Command::CloseClients(refusal.clone()));
        self.wait_for_clients(timeout).await;
    }

    /// Closes connections to upstreams as soon as what clients have published over them is confirmed, and waits for that for a while.
    pub async fn wait_for_confirms(&self) {
        let until = Instant::now() + CONFIRM_TIMEOUT;
        loop {
            self.handle.tell(|| Command::CloseUpstreamConnections);
            let connections: usize =
                self.handle.reports().await.iter().map(|report| report.upstream_connection_count).sum();
            if connections == 0 || Instant::now() >= until {
                break;
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Ends, whatever is under way. Logs how many publishes were not confirmed.
    pub async fn stop(mut self) {
        let count = self.handle.unconfirmed_count().await;
        if count > 0 {
            tracing::warn!(count, "the proxy ends with publishes that were not confirmed");
        }
        if let (Some(spool), Some(forwarding)) = (&self.handle.spool, &mut self.forwarding) {
            // What is under way would come twice, if it were not waited for.
            spool.stop_sending();
            if tokio::time::timeout(FORWARD_TIMEOUT, &mut *forwarding).await.is_err() {
                forwarding.abort();
            }
        }
        self.watching.iter().for_each(tokio::task::JoinHandle::abort);
        self.handle.tell(|| Command::Stop);
        for thread in self.threads {
            // What a thread died of, it has said.
            let _ = tokio::task::spawn_blocking(move || thread.join()).await;
        }
        if let Some(spool) = self.handle.spool {
            // A failure is logged; what was kept is read again by the next start.
            match tokio::task::spawn_blocking(move || spool.close()).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => tracing::error!(%error, "the spool was not closed cleanly"),
                Err(error) => tracing::error!(%error, "the spool was not closed"),
            }
        }
    }
}

impl Handle {
    /// Sets what operators have changed.
    pub fn configure(
        &self,
        upstreams: Vec<Upstream>,
        balance: balance::Options,
        guard: guard::Options,
        options: &Options,
    ) -> Result<(), OptionsError> {
        self.upstreams.configure(upstreams, balance)?;
        self.gate.configure(guard);
        for (number, commands) in self.workers.iter().enumerate() {
            let share = shares::share(options, number, self.workers.len());
            // A thread that has ended gets no command.
            let _ = commands.send(Command::Configure(Box::new(share)));
        }
        Ok(())
    }

    /// How each thread is.
    pub async fn reports(&self) -> Vec<Report> {
        let mut reports = Vec::new();
        for commands in &self.workers {
            let (answer, answered) = oneshot::channel();
            // A thread that has ended has nothing to report.
            if commands.send(Command::Report(answer)).is_ok()
                && let Ok(report) = answered.await
            {
                reports.push(report);
            }
        }
        reports
    }

    /// How the upstreams are.
    #[must_use]
    pub fn upstreams(&self) -> Vec<Snapshot> {
        self.upstreams.snapshot()
    }

    /// The clients that came in.
    #[must_use]
    pub fn guard(&self) -> guard::Snapshot {
        self.gate.snapshot()
    }

    /// What is kept while no upstream can be reached, if anything is.
    #[must_use]
    pub fn spool(&self) -> Option<&Spool> {
        self.spool.as_deref()
    }

    /// How that is.
    #[must_use]
    pub(crate) fn spool_report(&self) -> Option<spool::Report> {
        self.spool().map(Spool::report)
    }

    /// Why clients should go elsewhere for now, if they should.
    #[must_use]
    pub fn unready(&self) -> Option<&'static str> {
        if self.is_stopping.load(Ordering::Relaxed) {
            return Some("the proxy is being stopped");
        }
        // Publishers can be served all the same where what they say is kept.
        let is_kept = self.spool.as_ref().is_some_and(|spool| !spool.is_full());
        (!is_kept && !self.upstreams.is_any_up()).then_some("no upstream is up")
    }

    /// Nothing new is sent to this upstream, and clients that have nothing under way there leave it. Whether there is one of this name.
    pub fn drain(&self, name: &str) -> bool {
        self.upstreams.drain(name, true).is_some()
    }

    /// An upstream that was drained gets upstream connections again. Whether there is one of this name.
    pub fn undrain(&self, name: &str) -> bool {
        self.upstreams.drain(name, false).is_some()
    }

    async fn unconfirmed_count(&self) -> usize {
        let reports = self.reports().await;
        let connections = reports.iter().flat_map(|report| &report.pools).flat_map(|pool| &pool.connections);
        connections.map(|connection| connection.unconfirmed_count).sum()
    }

    async fn client_count(&self) -> usize {
        self.reports().await.iter().map(|report| report.client_count).sum()
    }

    fn tell(&self, command: impl Fn() -> Command) {
        for commands in &self.workers {
            // A thread that has ended gets no command.
            let _ = commands.send(command());
        }
    }
}

/// Has the guard forget and report, for ever.
async fn tick(gate: Arc<Gate>) {
    loop {
        tokio::time::sleep(GUARD_TICK).await;
        gate.tick();
    }
}
