//! This process as a node: its listeners and its HTTP server live as long as it does, and a broker runs on it for some of that time. Alone,
//! that is all of it; in a cluster, it is as long as the node leads.
//!
//! ```text
//!  serve ─► Node ─┬─ listeners ─► ingress ─┬─► running: one broker with all that belongs to it
//!                 └─ management's thread   └─► another node, or none
//! ```
//!
//! `serve` alone decides when the process ends; here nothing does.

mod arrival;
mod doorkeeper;
mod federation;
mod ingress;
mod own_broker;
mod running;
mod serving;
mod settings;
mod shovels;
#[cfg(test)]
mod tests;
mod workers;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use broker::EventSink;
use cluster::control::Control;
use management::{ListenerInfo, LogControl, Process, Server};
use model::config::Config;
use store::journal::Failed;
use store::{CloseError, RecoveredStore, Store};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::audit::{AuditLog, AuditWriter};
use crate::connection_limiter::GlobalLimit;
use crate::http_listeners::HttpListeners;
use crate::http_sites::LocalSites;
use crate::listener_summary::ListenerSummary;
use crate::listeners::Listeners;
use crate::tls::TlsFiles;
use crate::{backends, broker_options, http_sites};
pub(crate) use arrival::{Arrival, EntryPoint};
pub(crate) use ingress::{Forward, ForwardedConnection, Forwarding, Ingress, Situation};
pub(crate) use running::BrokerStop;
use running::RunningBroker;
pub(crate) use settings::Settings;

/// All listeners of a node, open.
pub(crate) struct OpenListeners {
    amqp: Listeners,
    http: HttpListeners,
}

impl OpenListeners {
    /// Opens them. The files of their TLS are put into `tls_files`.
    pub(crate) fn open(config: &Config, tls_files: &mut TlsFiles) -> Result<Self> {
        Ok(Self { amqp: Listeners::open(config, tls_files)?, http: HttpListeners::open(config, tls_files)? })
    }
}

/// See the module.
pub(crate) struct Node {
    settings: Settings,
    ingress: Arc<Ingress>,
    /// The thread that serves HTTP.
    server: Server,
    limit: GlobalLimit,
    listening: Vec<ListenerSummary>,
    /// None once they are accepted from.
    open: Option<OpenListeners>,
    accepting: Accepting,
    audit_writer: Option<AuditWriter>,
    running: Option<RunningBroker>,
}

/// The tasks that accept.
struct Accepting {
    stop: watch::Sender<bool>,
    amqp: Option<JoinHandle<()>>,
    http: Vec<JoinHandle<()>>,
}

impl Node {
    /// A node without a broker, that accepts nothing yet. `connection_max` is how many connections the limit of open files leaves room for.
    pub(crate) fn new(
        config: Arc<Config>,
        data_dir: &Path,
        mut open: OpenListeners,
        connection_max: usize,
        log: LogControl,
    ) -> Result<Self> {
        let (audit_log, audit_writer) = match &config.audit {
            Some(options) => {
                let (log, writer) = AuditLog::open(options)?;
                (Some(log as Arc<dyn EventSink>), Some(writer))
            }
            None => (None, None),
        };
        let auth_steps = backends::auth_steps(&config.backends).context("cannot set up authentication back ends")?;
        let of_amqp = open.amqp.addresses()?;
        let gates = of_amqp.iter().filter_map(|listening| listening.gate.clone()).collect();
        let process = Process::new(broker_options::memory_len(&config), log, gates);
        let listening: Vec<_> = of_amqp.into_iter().chain(open.http.addresses()).collect();
        let settings = Settings {
            of_http: Arc::new(http_sites::options(&config, data_dir)?),
            config,
            data_dir: data_dir.to_owned(),
            audit_log,
            auth_steps,
            listeners: listening.iter().filter_map(ListenerSummary::info).collect::<Vec<ListenerInfo>>(),
            process: Arc::new(process),
            connection_max,
            control: None,
            started_at: Instant::now(),
        };
        let server = open.http.take_server();
        let limit = GlobalLimit::new(connection_max);
        let (of_broker, local) = (settings.broker_options(), LocalSites::new(&settings));
        let ingress = Ingress::new(of_broker, settings.of_http.clone(), server.group(), local, &limit);
        let accepting = Accepting { stop: watch::channel(false).0, amqp: None, http: Vec::new() };
        let open = Some(open);
        Ok(Self { settings, ingress, server, limit, listening, open, accepting, audit_writer, running: None })
    }

    /// Tells what there is of a cluster: brokers that start from now on show it and take orders to it, and so does the node where none
    /// runs.
    pub(crate) fn set_control(&mut self, control: Arc<dyn Control>) {
        self.settings.control = Some(control);
        let local = LocalSites::new(&self.settings);
        local.start_flight_recorder();
        self.ingress.set_local(local);
    }

    /// What every broker of it is started with.
    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Where it listens.
    pub(crate) fn listening(&self) -> &[ListenerSummary] {
        &self.listening
    }

    /// Begins to accept connections, also at the socket in the data directory, which has to be there.
    pub(crate) fn listen(&mut self) {
        let Some(OpenListeners { amqp, http }) = self.open.take() else { return };
        let (ingress, stopping) = (&self.ingress, self.accepting.stop.subscribe());
        self.accepting.http = http.run(&self.settings.data_dir, &self.server, ingress, &self.limit);
        self.accepting.amqp = Some(tokio::spawn(amqp.run(ingress.clone(), self.limit.of_amqp(), stopping)));
    }

    /// Takes in connections from listeners, and from other nodes.
    pub(crate) fn ingress(&self) -> &Arc<Ingress> {
        &self.ingress
    }

    /// Starts a broker over an opened store: from here on this node serves. If that fails, nothing of it is left, and the situation is as
    /// before.
    ///
    /// # Panics
    /// If one runs.
    pub(crate) async fn start_broker(&mut self, store: Arc<Store>, recovered: RecoveredStore) -> Result<()> {
        assert!(self.running.is_none(), "one broker at a time runs on a node");
        let running = RunningBroker::start(&self.settings, &self.server, store, recovered).await?;
        self.ingress.set(Situation::Serving(running.serving().clone()));
        self.running = Some(running);
        Ok(())
    }

    /// Waits until nothing more will become durable, which may be for ever: also where no broker runs. The caller looks at the cause.
    /// Alone, the process ends, whatever it is. In a cluster it is an ordinary event that another node leads: the broker is stopped.
    pub(crate) async fn failed(&self) -> Failed {
        match &self.running {
            Some(running) => running.failed().await,
            None => std::future::pending().await,
        }
    }

    /// The broker that runs.
    pub(crate) fn broker(&self) -> Option<Arc<broker::Broker>> {
        self.running.as_ref().map(|running| running.serving().broker.clone())
    }

    /// The shovels of the broker that runs.
    #[cfg(test)]
    pub(crate) fn shovels(&self) -> Option<Arc<shovel::Shovels>> {
        self.running.as_ref().map(|running| running.shovels().clone())
    }

    /// The links of the broker that runs.
    #[cfg(test)]
    pub(crate) fn links(&self) -> Option<Arc<::federation::Links>> {
        self.running.as_ref().map(|running| running.links().clone())
    }

    /// What becomes of connections while no broker runs.
    ///
    /// # Panics
    /// If one runs: it would serve nothing.
    pub(crate) fn set_situation(&self, situation: Situation) {
        assert!(self.running.is_none(), "a node serves as long as its broker runs");
        self.ingress.set(situation);
    }

    /// The broker receives nothing more, and new connections are held. When this returns true, all that was received is durable: another
    /// node may take over. The broker is to be stopped next.
    pub(crate) async fn pause_broker(&self) -> bool {
        self.ingress.set(Situation::Waiting);
        match &self.running {
            Some(running) => running.pause().await,
            None => true,
        }
    }

    /// Stops the broker while the process keeps running: clients get the reason and their connections end, connections that come are
    /// treated as `next` says, and when this is over nothing of the broker is left. Its directory can be opened again. An error means that
    /// the store could not be closed as it should be; that another node leads by now is no error.
    pub(crate) async fn stop_broker(&mut self, stop: BrokerStop<'_>, next: Situation) -> Result<(), CloseError> {
        self.ingress.set(next);
        let Some(running) = self.running.take() else { return Ok(()) };
        let stopped = running.stop(stop, std::future::pending()).await;
        let closed = stopped.wait_until_unused().await;
        workers::release_memory(self.server.runtime()).await;
        crate::machine::release_memory();
        match closed {
            Err(error) if error.is_leadership_lost() => Ok(()),
            closed => closed,
        }
    }

    /// Ends with the process: takes no new connections, waits up to `timeout` for clients to disconnect, or until `hurry` is ready, and
    /// closes what is open.
    pub(crate) async fn shut_down(
        mut self,
        timeout: Duration,
        hurry: impl Future<Output = ()>,
    ) -> Result<(), CloseError> {
        self.accepting.end().await;
        let closed = match self.running.take() {
            Some(running) => running.stop(BrokerStop::with_process(timeout), hurry).await.closed(),
            None => Ok(()),
        };
        // After AMQP, some of which comes over WebSockets.
        self.server.end();
        // Whatever else has failed: what was done is written down.
        if let Some(writer) = self.audit_writer {
            writer.close();
        }
        closed
    }
}

impl Accepting {
    /// Closes the listeners.
    async fn end(&mut self) {
        let _ = self.stop.send(true);
        if let Some(amqp) = self.amqp.take() {
            let _ = amqp.await;
        }
        for task in &self.http {
            task.abort();
        }
    }
}
