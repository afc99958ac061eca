//! `warren serve` as a node of a cluster: the process and its listeners are there all the time, and a broker runs while the node leads.
//!
//! ```text
//!  ClusterNode ─► ProcessHost ─► commands ─► run, one task: Node::start_broker, stop_broker, set_situation
//!  listeners ─► Ingress ─► LinkForward ─► links ─► another node's ProcessHost::forwarded ─► Ingress
//! ```

mod figures;
mod forward;
mod host;
mod setup;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use broker::Actor;
use cluster::control::Control as _;
use cluster::{ClientSituation, ClusterNode};
use model::config::Config;
use model::parameter::GlobalParameter;
use store::journal::FailureCause;
use tokio::sync::mpsc::UnboundedReceiver;

use crate::banner::Banner;
use crate::broker_options;
use crate::logging::LogLevelHandle;
use crate::node::{BrokerStop, Node, OpenListeners, Situation};
use crate::service_manager;
use crate::signals::Signals;
use crate::tls::TlsFiles;
use figures::OwnFigures;
use forward::{LinkForward, Way};
use host::{Command, ProcessHost};

/// How often certificates of links are looked at.
const TLS_INTERVAL: Duration = Duration::from_secs(5);

/// Runs a node until a signal stops it, or it cannot go on.
pub(crate) async fn run(
    config: Arc<Config>,
    data_dir: &Path,
    connection_max: usize,
    log_level: LogLevelHandle,
    started_at: Instant,
    signals: Signals,
) -> Result<()> {
    let starting_signals = signals.end_start();
    let mut tls_files = TlsFiles::default();
    let listeners = OpenListeners::open(&config, &mut tls_files)?;
    let setup = setup::of(&config, data_dir)?;
    let links_tls = setup.tls.clone();
    let mut node = Node::new(config.clone(), data_dir, listeners, connection_max, log_level.into_control())?;
    let (of_broker, figures) = (broker_options::broker_options(&config, None, Vec::new()), OwnFigures::of(&node));
    let (host, commands) = ProcessHost::new(node.ingress().clone(), of_broker, data_dir, figures);
    let of_node = host.clone();
    let starting = tokio::task::spawn_blocking(move || ClusterNode::start(setup, of_node));
    let cluster = starting.await.context("cannot start")?;
    let cluster =
        Arc::new(cluster.with_context(|| format!("cannot run on the data directory {}", data_dir.display()))?);
    node.set_control(cluster.clone());
    let mut signals = starting_signals.ready().await?;
    let (cluster, way) = (cluster.clone(), Way::default());
    let mut running =
        Running { node, cluster: cluster.clone(), host, commands, situation: ClientSituation::Waiting, way };
    running.node.listen();
    let watching = tokio::spawn(tls_files.clone().watch());
    let watching_links = tokio::spawn(async move {
        let mut ticks = tokio::time::interval(TLS_INTERVAL);
        while let Some(tls) = &links_tls {
            ticks.tick().await;
            if let Err(error) = tls.reload_if_changed() {
                tracing::error!(%error, "reloading the cluster's certificates failed; the old ones stay in use");
            }
        }
    });
    let ready_after = started_at.elapsed();
    Banner { data_dir, listeners: running.node.listening(), ready_after, is_serving: false }.print();
    for listening in running.node.listening() {
        // Whether clients are served is for the cluster to say.
        tracing::info!(address = %listening.address, tls = listening.tls.is_some(), "listener opened; clients wait until this node serves");
    }
    tracing::info!(links = %cluster.links().address(), ready_after_ms = ready_after.as_millis() as u64, "started");
    // Peers may come later than the service manager would wait.
    service_manager::ready();
    let failed = running.run(&mut signals, || tls_files.reload()).await;
    service_manager::stopping();
    watching.abort();
    watching_links.abort();
    let hurry = async {
        let signal = signals.next(|| ()).await;
        tracing::info!(signal, "stopping without waiting longer for clients");
    };
    let closed = running.node.shut_down(config.shutdown_timeout, hurry).await;
    if let Some(reason) = failed {
        bail!("{reason}");
    }
    closed.context("cannot close the store")?;
    tracing::info!("stopped");
    Ok(())
}

/// A node and what runs it.
struct Running {
    node: Node,
    cluster: Arc<ClusterNode>,
    host: Arc<ProcessHost>,
    commands: UnboundedReceiver<Command>,
    /// What becomes of clients when no broker runs.
    situation: ClientSituation,
    /// Where connections are carried.
    way: Way,
}

impl Running {
    /// Does what the cluster wants, until the process is to end. An error says why, if it is no signal.
    async fn run(&mut self, signals: &mut Signals, reload: impl Fn()) -> Option<String> {
        let mut failed = None;
        let mut is_failure_known = false;
        loop {
            tokio::select! {
                signal = signals.next(&reload) => {
                    tracing::info!(signal, "stopping");
                    break;
                }
                command = self.commands.recv() => match command {
                    Some(Command::Failed(reason)) => {
                        failed = Some(reason);
                        break;
                    }
                    Some(command) => {
                        is_failure_known &= !matches!(command, Command::Serve { .. });
                        self.obey(command).await;
                    }
                    None => break,
                },
                // That another node leads is reported by the cluster. That the disk is broken ends this one.
                failure = self.node.failed(), if !is_failure_known => {
                    is_failure_known = true;
                    if failure.cause == FailureCause::Broken {
                        tracing::error!(%failure, "stopping because data can no longer be made durable");
                        failed = Some(format!("the data directory can no longer be written: {failure}"));
                        break;
                    }
                }
            }
        }
        self.end().await;
        failed
    }

    /// Has the cluster's side end, which may want the broker stopped for that.
    async fn end(&mut self) {
        let cluster = self.cluster.clone();
        let mut ending = tokio::task::spawn_blocking(move || cluster.stop());
        loop {
            tokio::select! {
                biased;
                command = self.commands.recv() => match command {
                    Some(command) => self.obey(command).await,
                    None => return,
                },
                _ = &mut ending => return,
            }
        }
    }

    async fn obey(&mut self, command: Command) {
        match command {
            Command::Serve { store, recovered, reply } => {
                self.way.end();
                let started = self.node.start_broker(store, *recovered).await;
                self.host.set_broker(self.node.broker());
                self.keep_name();
                let _ = reply.send(started.map_err(|error| format!("{error:#}")));
            }
            Command::Pause { reply } => {
                if !self.node.pause_broker().await {
                    tracing::warn!("broker handed over before everything received was durable");
                }
                let _ = reply.send(());
            }
            Command::Stop { reason, reply } => {
                self.host.set_broker(None);
                // Where clients go is decided in a moment; until then they are held.
                self.situation = ClientSituation::Waiting;
                let stop = BrokerStop::of_leadership(&reason, false);
                if let Err(error) = self.node.stop_broker(stop, Situation::Waiting).await {
                    tracing::error!(%error, "store not closed cleanly");
                }
                let _ = reply.send(());
            }
            Command::SetSituation(situation) => {
                self.situation = situation;
                self.apply_situation();
            }
            Command::Failed(_) => {}
        }
    }

    /// The cluster is called as the node that led it first, whichever leads: as in RabbitMQ.
    fn keep_name(&self) {
        let Some(broker) = self.node.broker() else { return };
        // What the configuration says, it says on all nodes.
        let is_default = broker.cluster_name() == self.cluster.view().own.as_str();
        if is_default && broker.global_parameter(GlobalParameter::CLUSTER_NAME).is_none() {
            let name = serde_json::Value::from(broker.cluster_name());
            if let Err(error) = broker.put_global_parameter(&Actor::broker(), GlobalParameter::CLUSTER_NAME, name) {
                tracing::warn!(%error, "storing the cluster's name failed");
            }
        }
    }

    fn apply_situation(&mut self) {
        if self.node.broker().is_some() {
            return;
        }
        self.node.set_situation(match &self.situation {
            ClientSituation::Following(leader) => {
                Situation::Forwarding(Arc::new(LinkForward::to(leader, &mut self.way, &self.cluster, &self.host)))
            }
            // The node that led may lead on.
            ClientSituation::Waiting => Situation::Waiting,
            ClientSituation::Elected => {
                self.way.end();
                Situation::Waiting
            }
            ClientSituation::Refusing(reason) => {
                self.way.end();
                Situation::Refusing(reason.as_str().into())
            }
        });
    }
}
