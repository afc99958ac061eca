//! A broker that runs on this node, with all that belongs to it and ends with it: its store, its sites of the HTTP API, its threads of
//! alerts and statistics, its tasks. A process may start and stop many, one after the other.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use broker::Broker;
use management::limits::STOP_TIMEOUT;
use management::{AmqpSink, Server};
use observe::alerting::AlertThread;
use observe::influxdb::{Influxdb, InfluxdbThreads};
use observe::message_traces::{Directory, Limits, Traces};
use observe::otlp::Otlp;
use store::{CloseError, RecoveredStore, Store};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use super::federation::RunningLinks;
use super::serving::Serving;
use super::settings::Settings;
use super::shovels::RunningShovels;
use crate::definitions;
use crate::http_sites::{self, Sites};

/// How long what is left of a broker may take to end after all of it was asked to.
const END_TIMEOUT: Duration = Duration::from_secs(5);

/// How long clients may take to disconnect when another node is to serve them: each second is one in which they are served by none.
const HANDOVER_TIMEOUT: Duration = Duration::from_millis(300);

/// How long all that was received may take to become durable before a broker is handed over.
const PAUSE_TIMEOUT: Duration = Duration::from_secs(2);

/// How a broker is to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BrokerStop<'a> {
    /// The reason that clients get, with 320; none: that the process ends.
    reason: Option<&'a str>,
    /// Another node continues with what this one has received: all of that is to be durable first.
    is_handover: bool,
    /// How long clients may take to disconnect.
    timeout: Duration,
    /// How long requests over HTTP may take to be answered.
    http_timeout: Duration,
}

impl<'a> BrokerStop<'a> {
    /// With its process.
    pub(super) fn with_process(timeout: Duration) -> Self {
        Self { reason: None, is_handover: false, timeout, http_timeout: STOP_TIMEOUT }
    }

    /// Because this node leads no longer, or is about to: then it is a hand-over.
    pub(crate) fn of_leadership(reason: &'a str, is_handover: bool) -> Self {
        let timeout = HANDOVER_TIMEOUT;
        Self { reason: Some(reason), is_handover, timeout, http_timeout: timeout }
    }
}

/// Brings WebSockets to the broker, on the runtime where all of its connections are.
fn amqp_sink(broker: Arc<Broker>) -> AmqpSink {
    let runtime = Handle::current();
    Arc::new(move |stream, permit| {
        let serving = broker.clone().serve(stream);
        runtime.spawn(async move {
            serving.await;
            drop(permit);
        });
    })
}

/// See the module.
pub(super) struct RunningBroker {
    serving: Arc<Serving>,
    store: Arc<Store>,
    alerts: AlertThread,
    /// None where no statistics are sent.
    influxdb: Option<InfluxdbThreads>,
    /// What happens to messages, in files and live.
    traces: Arc<Traces>,
    shovels: RunningShovels,
    links: RunningLinks,
    /// None where no spans are sent.
    otlp: Option<Otlp>,
    maintenance: JoinHandle<()>,
    waking: JoinHandle<()>,
}

/// Traces of messages, by the configuration.
fn traces(settings: &Settings, broker: &Arc<Broker>) -> Arc<Traces> {
    let options = &settings.config.trace_files;
    let is_own = options.directory.is_none();
    let directory = options.directory.as_ref().map_or_else(|| settings.data_dir.join("traces"), PathBuf::from);
    let directory = Directory::new(directory);
    if is_own && let Err(error) = directory.close_to_others() {
        tracing::warn!(%error, "restricting the permissions of the traces directory failed");
    }
    let limits = Limits {
        len_max: options.file_len_max,
        count_max: options.file_count_max,
        ended_len_max: options.ended_len_max,
    };
    Traces::new(broker.clone(), directory, limits)
}

impl RunningBroker {
    /// Starts a broker over an opened store, and imports what the configuration has every start import. If that fails, nothing is left.
    pub(super) async fn start(
        settings: &Settings,
        server: &Server,
        store: Arc<Store>,
        recovered: RecoveredStore,
    ) -> Result<Self> {
        let broker = Broker::start(settings.broker_options(), store.clone(), recovered)?;
        match Self::start_parts(settings, server, &broker, store).await {
            Ok(running) => Ok(running),
            Err(error) => {
                // What it failed for is what matters.
                let _ = broker.stop(Duration::ZERO).await;
                Err(error)
            }
        }
    }

    async fn start_parts(
        settings: &Settings,
        server: &Server,
        broker: &Arc<Broker>,
        store: Arc<Store>,
    ) -> Result<Self> {
        let config = &settings.config;
        if let Some(path) = &config.load_definitions {
            let unsupported = match config.load_definitions_skip_unsupported {
                true => ::definitions::Unsupported::LeftOut,
                false => ::definitions::Unsupported::Refused,
            };
            definitions::load(broker, path, unsupported).await?;
        }
        let alerting = http_sites::alerting(config, broker, settings.connection_max, settings.control.clone())?;
        let file_limit = settings.of_http.file_limit;
        let influxdb = Influxdb::new(broker.clone(), &config.influxdb, settings.data_dir.clone(), file_limit)?;
        let otlp = config.otlp.as_ref().map(|options| Otlp::start(broker.clone(), options)).transpose()?;
        let alerts = alerting.start().context("cannot start the alerts thread")?;
        let traces = traces(settings, broker);
        traces.resume();
        let shovels = match RunningShovels::start(broker, &config.shovels, &config.links) {
            Ok(shovels) => shovels,
            Err(error) => {
                alerts.stop();
                traces.end();
                return Err(error);
            }
        };
        let stats = influxdb.as_ref().map(Influxdb::stats);
        let links = RunningLinks::start(broker, &config.links);
        let sites = Sites::new(settings, broker, &alerting, stats, &traces, shovels.shovels(), links.links());
        let influxdb = match influxdb.map(Influxdb::start).transpose() {
            Ok(influxdb) => influxdb,
            Err(error) => {
                alerts.stop();
                traces.end();
                shovels.stop(Duration::ZERO).await;
                links.stop(Duration::ZERO).await;
                return Err(error).context("cannot start a statistics thread");
            }
        };
        let sink = amqp_sink(broker.clone());
        Ok(Self {
            store,
            alerts,
            influxdb,
            traces,
            shovels,
            links,
            otlp,
            maintenance: tokio::spawn(broker.clone().run_maintenance(settings.data_dir.clone())),
            waking: tokio::spawn(broker.clone().wake_for_journal()),
            serving: Arc::new(Serving { broker: broker.clone(), group: server.group(), sites, sink }),
        })
    }

    #[cfg(test)]
    pub(super) fn shovels(&self) -> &Arc<shovel::Shovels> {
        self.shovels.shovels()
    }

    /// The links of federation.
    #[cfg(test)]
    pub(super) fn links(&self) -> &Arc<federation::Links> {
        self.links.links()
    }

    pub(super) fn serving(&self) -> &Arc<Serving> {
        &self.serving
    }

    /// Waits until nothing more will become durable, which may be for ever.
    pub(super) async fn failed(&self) -> store::journal::Failed {
        self.serving.broker.failed().await
    }

    /// Receives nothing more, and waits until all that was received is durable: before another node takes over. Returns whether it is.
    pub(super) async fn pause(&self) -> bool {
        tokio::join!(self.shovels.stop(HANDOVER_TIMEOUT), self.links.stop(HANDOVER_TIMEOUT));
        self.serving.group.close(HANDOVER_TIMEOUT).await;
        self.serving.broker.pause(PAUSE_TIMEOUT).await
    }

    /// Stops it, when connections are sent elsewhere already. When `hurry` is ready, clients are not waited for any longer.
    pub(super) async fn stop(self, how: BrokerStop<'_>, hurry: impl Future<Output = ()>) -> StoppedBroker {
        if how.is_handover && !self.pause().await {
            tracing::warn!("broker handed over before everything received was durable");
        }
        let Self { serving, store, alerts, influxdb, traces, shovels, links, otlp, maintenance, waking } = self;
        // They are clients of this broker, too.
        let timeout = how.timeout.min(HANDOVER_TIMEOUT);
        tokio::join!(shovels.stop(timeout), links.stop(timeout));
        let broker = &serving.broker;
        // That consumers end when the broker stops is no alert.
        alerts.stop();
        traces.end();
        let flushing = tokio::spawn(async {
            if let Some(threads) = influxdb {
                threads.stop().await;
            }
            if let Some(otlp) = otlp {
                otlp.stop().await;
            }
        });
        let requests = serving.group.close(how.http_timeout);
        let clients = async {
            // Watermarks that it is about to close are closed before the last ones are.
            maintenance.abort();
            ended(maintenance).await;
            stop_clients(broker, how, hurry).await
        };
        let closed = match how.reason {
            // The process ends: clients of AMQP get that after the answers that were due, and statistics have all of it.
            None => {
                requests.await;
                ended(flushing).await;
                clients.await
            }
            // Another node is to serve all of them, the sooner the better. A server of statistics that hangs is waited for last.
            Some(_) => {
                let ((), closed) = tokio::join!(requests, clients);
                ended(flushing).await;
                closed
            }
        };
        waking.abort();
        ended(waking).await;
        StoppedBroker { serving, store, closed }
    }
}

/// Has clients disconnected and the store closed.
async fn stop_clients(broker: &Broker, how: BrokerStop<'_>, hurry: impl Future<Output = ()>) -> Result<(), CloseError> {
    let stop = async |timeout| match how.reason {
        Some(reason) => broker.stop_saying(reason, timeout).await,
        None => broker.stop(timeout).await,
    };
    tokio::select! {
        closed = stop(how.timeout) => closed,
        // It was waiting: all that comes after that, it does in one go.
        () = hurry => stop(Duration::ZERO).await,
    }
}

/// Waits for a task, which may have been aborted.
async fn ended(task: JoinHandle<()>) {
    if task.await.is_err_and(|error| error.is_panic()) {
        tracing::error!("broker task panicked");
    }
}

/// A broker that has stopped, of which connections of the HTTP API may still have a part.
pub(super) struct StoppedBroker {
    serving: Arc<Serving>,
    store: Arc<Store>,
    closed: Result<(), CloseError>,
}

impl StoppedBroker {
    /// Whether its store was closed as it should be.
    pub(super) fn closed(self) -> Result<(), CloseError> {
        self.closed
    }

    /// Waits until nothing of it is left: its data directory can be opened again then. The store is dropped last, and here: so it has been
    /// dropped when this is over, and not only begun to be.
    pub(super) async fn wait_until_unused(self) -> Result<(), CloseError> {
        let Self { serving, store, closed } = self;
        serving.group.cut(END_TIMEOUT).await;
        drop(serving);
        let until = tokio::time::Instant::now() + END_TIMEOUT;
        while Arc::strong_count(&store) > 1 {
            if tokio::time::Instant::now() > until {
                tracing::error!("stopped broker still in use");
                break;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        closed
    }
}
