//! What answers requests: the broker, and what runs beside it and is shown or changed. `pipeline` leads a request through it.

use std::fmt;
use std::sync::{Arc, OnceLock};

use broker::{Actor, Broker};
use cluster::control::{ClusterView, Control};
use federation::Links;
use observe::alerting::Alerting;
use observe::influxdb::InfluxdbStats;
use observe::message_traces::Traces;
use parking_lot::RwLock;
use shovel::Shovels;
use telemetry::Counter;
use tokio::sync::Semaphore;

use crate::body::BodyBudget;
use crate::limits::TOP_PLACE_COUNT;
use crate::live::Feeds;
use crate::oauth::OAuth;
use crate::options::{ListenerInfo, Options};
use crate::process::Process;
use crate::sending::AnswersSent;
use crate::watch::{self, FlightRecorder, Places, Watched};

/// What answers requests.
pub struct Service {
    pub(crate) broker: Arc<Broker>,
    pub(crate) options: Options,
    pub(crate) counters: Counters,
    /// The memory that bodies of requests may take.
    pub(crate) room: BodyBudget,
    listeners: RwLock<Vec<ListenerInfo>>,
    /// None where no alerts are made.
    alerting: OnceLock<Arc<Alerting>>,
    /// None where nothing of the process can be changed.
    process: OnceLock<Arc<Process>>,
    /// None where no statistics go to InfluxDB.
    influxdb: OnceLock<InfluxdbStats>,
    /// None where messages are not traced.
    traces: OnceLock<Arc<Traces>>,
    /// None where shovels do not run.
    shovels: OnceLock<Arc<Shovels>>,
    /// None where federation does not run.
    links: OnceLock<Arc<Links>>,
    /// None where there can be no cluster.
    control: OnceLock<Arc<dyn Control>>,
    /// None where the console does not log in by OAuth 2.
    oauth: Vec<Arc<OAuth>>,
    pub(crate) feeds: Feeds,
    pub(crate) flight_recorder: Arc<FlightRecorder>,
    pub(crate) observers: Places,
    pub(crate) answers: AnswersSent,
    /// Places for requests that compare what keeps the broker busy.
    pub(crate) tops: Semaphore,
}

/// What has happened here.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    /// Handlers that have panicked, and what was to write answers.
    pub(crate) panics: Arc<Counter>,
}

impl fmt::Debug for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Service").field("options", &self.options).finish_non_exhaustive()
    }
}

impl Service {
    /// A service over a broker.
    #[must_use]
    pub fn new(broker: Arc<Broker>, options: Options) -> Arc<Service> {
        watch::register();
        #[cfg(debug_assertions)]
        crate::planted::plant();
        let (counters, room) = (Counters::default(), BodyBudget::new());
        let flight_recorder =
            FlightRecorder::new(&options.data_dir, &options.node, &options.flight_recorder, watch::is_as_long_as_asked);
        let live_limits = options.live;
        let oauth = options.oauth.iter().map(|options| Arc::new(OAuth::new(options.clone()))).collect();
        Arc::new(Service {
            broker,
            oauth,
            options,
            counters,
            room,
            listeners: RwLock::default(),
            alerting: OnceLock::new(),
            process: OnceLock::new(),
            influxdb: OnceLock::new(),
            traces: OnceLock::new(),
            shovels: OnceLock::new(),
            links: OnceLock::new(),
            control: OnceLock::new(),
            feeds: Feeds::new(live_limits),
            flight_recorder: Arc::new(flight_recorder),
            observers: Places::new(),
            answers: AnswersSent::default(),
            tops: Semaphore::new(TOP_PLACE_COUNT),
        })
    }

    /// Starts the flight recorder, if the configuration wants it. To be called within a runtime.
    pub fn start_flight_recorder(&self) {
        if self.options.flight_recorder.is_enabled {
            let watched = Watched::Broker(self.broker.clone(), Actor::broker());
            self.flight_recorder.start(&watched, self.options.flight_recorder.slow_request);
        }
    }

    /// Sets which listeners the node has.
    pub fn set_listeners(&self, listeners: Vec<ListenerInfo>) {
        *self.listeners.write() = listeners;
    }

    /// Sets what makes alerts. Only the first call counts.
    pub fn set_alerting(&self, alerting: Arc<Alerting>) {
        let _ = self.alerting.set(alerting);
    }

    /// What makes alerts.
    pub(crate) fn alerting(&self) -> Option<&Arc<Alerting>> {
        self.alerting.get()
    }

    /// How the console logs in by OAuth 2, for each resource server.
    pub(crate) fn oauth(&self) -> &[Arc<OAuth>] {
        &self.oauth
    }

    /// Sets what can be changed of the process. Only the first call counts.
    pub fn set_process(&self, process: Arc<Process>) {
        let _ = self.process.set(process);
    }

    /// What can be changed of the process.
    pub(crate) fn process(&self) -> Option<&Arc<Process>> {
        self.process.get()
    }

    /// Sets where statistics for InfluxDB are counted. Only the first call counts.
    pub fn set_influxdb(&self, stats: InfluxdbStats) {
        let _ = self.influxdb.set(stats);
    }

    /// Sets what traces messages. Only the first call counts.
    pub fn set_traces(&self, traces: Arc<Traces>) {
        let _ = self.traces.set(traces);
    }

    /// What traces messages.
    pub(crate) fn traces(&self) -> Option<&Arc<Traces>> {
        self.traces.get()
    }

    /// Sets the shovels. Only the first call counts.
    pub fn set_shovels(&self, shovels: Arc<Shovels>) {
        let _ = self.shovels.set(shovels);
    }

    /// The shovels that run here.
    pub(crate) fn shovels(&self) -> Option<&Arc<Shovels>> {
        self.shovels.get()
    }

    /// Sets the links of federation. Only the first call counts.
    pub fn set_links(&self, links: Arc<Links>) {
        let _ = self.links.set(links);
    }

    /// The links of federation that run here.
    pub(crate) fn links(&self) -> Option<&Arc<Links>> {
        self.links.get()
    }

    /// Sets the control of the cluster. Only the first call counts.
    pub fn set_control(&self, control: Arc<dyn Control>) {
        let _ = self.control.set(control);
    }

    /// What operators may order of the cluster.
    pub(crate) fn control(&self) -> Option<&Arc<dyn Control>> {
        self.control.get()
    }

    /// How the cluster stands, where this node is in one.
    pub(crate) fn cluster(&self) -> Option<Arc<ClusterView>> {
        self.control.get().map(|control| control.view()).filter(|view| view.cluster.is_some())
    }

    /// What metrics report.
    pub(crate) fn observed(&self) -> observe::prometheus::Subject {
        observe::prometheus::Subject {
            broker: self.broker.clone(),
            node: self.options.observed(self.control().cloned()),
            alerting: self.alerting().cloned(),
            shovels: self.shovels().cloned(),
            links: self.links().cloned(),
            influxdb: self.influxdb.get().cloned().unwrap_or_default(),
            panics: self.counters.panics.clone(),
            answers: self.answers.times.clone(),
        }
    }

    /// All listeners, those that are suspended too.
    pub(crate) fn listeners(&self) -> Vec<ListenerInfo> {
        self.listeners.read().clone()
    }

    /// Listeners that take new connections.
    pub(crate) fn active_listeners(&self) -> Vec<ListenerInfo> {
        self.listeners.read().iter().filter(|listener| !listener.is_suspended()).cloned().collect()
    }

    /// Whether new connections of AMQP are refused.
    pub(crate) fn is_suspended(&self) -> bool {
        self.process().is_some_and(|process| process.is_suspended())
    }

    /// The node's name.
    pub(crate) fn node(&self) -> &str {
        &self.options.node
    }
}
