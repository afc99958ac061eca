//! The management API and metrics: their listeners, their options, and the thread that serves both.
//!
//! It is also served at a socket in the data directory, whatever the configuration says: who may open that is the host's operator, who
//! needs no password.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use broker::{Broker, Interface, Origin};
use hyper::header::HeaderValue;
use management::limits::{CONNECTIONS_MAX, STOP_PATIENCE};
use management::{
    AmqpSink, ConnectionLimits, Cors, Entrance, Headers, ListenerInfo, Metrics, MetricsOptions, Process, Server,
    Service, Site,
};
use model::config::{Config, HttpListener};
use net::{AddressLimiter, Admission, BindError, Listener, ListenerAddress, SocketOptions};
use observe::alerting::{AlertThread, Alerting};
use observe::influxdb::{Influxdb, InfluxdbThreads};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use crate::acceptor::Acceptor;
use crate::connection_limiter::{ConnectionLimiter, ConnectionPermits, GlobalLimit};
use crate::listeners::{AMQP, ListenerSummary, bind};
use crate::machine;
use crate::serve::COMPATIBLE_VERSION;
use crate::tls::TlsFiles;

/// What the listeners speak.
const HTTP: &str = "HTTP API";
const PROMETHEUS: &str = "Prometheus metrics";
const QUEUE_INFO: &str = "list of queues";

/// The socket in the data directory.
const CONTROL_SOCKET: &str = "control.sock";
/// Connections that may wait to be accepted there.
const CONTROL_BACKLOG: u32 = 64;
/// Connections that may be open there.
const CONTROL_CONNECTIONS_MAX: usize = 32;

/// The API's listeners, open, and the thread that will serve them.
pub(crate) struct ManagementListeners {
    server: Server,
    /// None where neither the API nor metrics are to be served.
    open: Vec<OpenListener>,
}

struct OpenListener {
    acceptor: Acceptor,
    limits: ConnectionLimits,
    interface: Interface,
    offers: ListenerPurpose,
}

/// What a listener is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ListenerPurpose {
    Api,
    /// The short list of queues, and nothing else.
    QueueInfo,
    /// Compressed for who accepts that, or not.
    Metrics {
        compress: bool,
    },
}

/// The API, served.
pub(crate) struct Management {
    server: Server,
    accepting: Vec<JoinHandle<()>>,
    listening: Vec<ListenerSummary>,
    /// None when it has been stopped.
    alerts: Option<AlertThread>,
    /// None when they have been stopped, and where there are none.
    influxdb: Option<InfluxdbThreads>,
}

impl ManagementListeners {
    /// Opens them. The files of their TLS are put into `tls_files`.
    pub(crate) fn open(config: &Config, tls_files: &mut TlsFiles) -> Result<Self> {
        let server = Server::start().context("cannot start the thread of the management API")?;
        // Their sockets are watched by the thread that serves them.
        let runtime = server.runtime().clone();
        let entered = runtime.enter();
        let mut open = Vec::new();
        if config.management.is_enabled {
            for listener in &config.management_listeners {
                open.push(OpenListener::open(config, listener, ListenerPurpose::Api, tls_files)?);
            }
        }
        if config.prometheus.is_enabled {
            for listener in &config.prometheus_listeners {
                let offers = ListenerPurpose::Metrics { compress: listener.compress };
                open.push(OpenListener::open(config, listener, offers, tls_files)?);
            }
        }
        if let Some(listener) = &config.queue_info_listener {
            open.push(OpenListener::open(config, listener, ListenerPurpose::QueueInfo, tls_files)?);
        }
        drop(entered);
        Ok(Self { server, open })
    }

    /// Begins to serve, at the control socket too. `amqp` are the listeners of AMQP, which the API tells of. Each
    /// connection takes a place in `house`; those of the control socket need none.
    pub(crate) fn serve(
        self,
        config: &Config,
        data_dir: &Path,
        broker: &Arc<Broker>,
        amqp: &[ListenerSummary],
        house: &GlobalLimit,
        process: Process,
    ) -> Result<Management> {
        let server = self.server;
        let options = options(config, data_dir)?;
        // What the configuration takes away from others is there for the operator.
        let of_operator = management::Options {
            path_prefix: String::new(),
            refuses_basic: false,
            disables_stats: false,
            ..options.clone()
        };
        let of_queue_info =
            management::Options { path_prefix: String::new(), is_queue_info_only: true, ..options.clone() };
        let listening: Vec<ListenerSummary> = self.open.iter().filter_map(OpenListener::listening).collect();
        let infos: Vec<ListenerInfo> = amqp.iter().chain(&listening).filter_map(info).collect();
        let alerting = alerting(config, broker, house.connection_max())?;
        let alerts = alerting.start().context("cannot start the thread of alerts")?;
        let influxdb = Influxdb::new(broker.clone(), &config.influxdb, data_dir.to_owned(), options.file_limit)?;
        let stats = influxdb.as_ref().map(Influxdb::stats);
        let influxdb = influxdb.map(Influxdb::start).transpose().context("cannot start a thread of statistics")?;
        let process = Arc::new(process);
        let service_of = |options| {
            let service = Service::new(broker.clone(), options);
            service.set_alerting(alerting.clone());
            service.set_process(process.clone());
            stats.iter().for_each(|stats| service.set_influxdb(stats.clone()));
            service.set_listeners(infos.clone());
            service
        };
        let sink = amqp_sink(broker.clone());
        // Whether names and passwords are refused is the API's own business.
        let of_metrics = management::Options { refuses_basic: false, ..options.clone() };
        let (service, queue_info) = (service_of(options), service_of(of_queue_info));
        let metrics = Metrics::new(service_of(of_metrics), metrics_options(config));
        let mut accepting = Vec::new();
        for listener in self.open {
            let entrance = match listener.offers {
                ListenerPurpose::Api => {
                    server.entrance(Site::Api(service.clone()), listener.limits, Some(sink.clone()))
                }
                ListenerPurpose::QueueInfo => server.entrance(Site::Api(queue_info.clone()), listener.limits, None),
                ListenerPurpose::Metrics { compress } => {
                    server.entrance(Site::Metrics(metrics.clone(), compress), listener.limits, None)
                }
            };
            accepting.push(server.runtime().spawn(listener.run(house.of_http(), entrance)));
        }
        let entered = server.runtime().enter();
        match OpenListener::open_control(data_dir) {
            Ok(listener) => {
                let entrance = server.entrance(Site::Api(service_of(of_operator)), listener.limits, None);
                accepting.push(server.runtime().spawn(listener.run(Vec::new(), entrance)));
            }
            // Everything else works without it.
            Err(error) => tracing::warn!(%error, "`warren ctl` has to log in, because there is no control socket"),
        }
        drop(entered);
        Ok(Management { server, accepting, listening, alerts: Some(alerts), influxdb })
    }
}

impl Management {
    /// Where it listens.
    pub(crate) fn listening(&self) -> Vec<ListenerSummary> {
        self.listening.clone()
    }

    /// Takes no new connections, and lets requests that are being answered end. AMQP over WebSockets goes on.
    pub(crate) async fn close(&mut self) {
        // That consumers go when the broker stops is nothing to be told of.
        if let Some(alerts) = self.alerts.take() {
            alerts.stop();
        }
        for task in &self.accepting {
            task.abort();
        }
        let influxdb = self.influxdb.take();
        let flushing = async {
            if let Some(threads) = influxdb {
                threads.stop().await;
            }
        };
        tokio::join!(self.server.close(STOP_PATIENCE), flushing);
    }

    /// Ends the thread, and what it still carries.
    pub(crate) fn end(self) {
        self.server.end();
    }
}

impl OpenListener {
    fn open(
        config: &Config,
        listener: &HttpListener,
        offers: ListenerPurpose,
        tls_files: &mut TlsFiles,
    ) -> Result<Self> {
        let options = SocketOptions { backlog: listener.backlog, ..SocketOptions::default() };
        let socket = bind(&listener.address, &options)
            .with_context(|| format!("cannot open the listener {}.port", listener.prefix))?;
        let tls = match &listener.tls {
            Some(tls) => Some((tls_files.open(listener.prefix, tls)?, config.ssl_handshake_timeout)),
            None => None,
        };
        let max = listener.max_connections.and_then(|max| usize::try_from(max).ok()).unwrap_or(CONNECTIONS_MAX);
        let limits = ConnectionLimits {
            // RabbitMQ tells a connection that is idle from one that is slow; here one limit is for both.
            head_timeout: listener.idle_timeout.max(listener.request_timeout),
            write_timeout: listener.inactivity_timeout,
            keep_alive_max: listener.max_keepalive,
        };
        let admission = Admission { tls, ..Admission::default() };
        let of_address = config.http_max_connections_per_address.and_then(|max| usize::try_from(max).ok());
        let address_limiter = of_address.map(AddressLimiter::new);
        let acceptor =
            Acceptor { socket, admission, limiter: ConnectionLimiter::new(max, LISTENER_FULL), address_limiter };
        Ok(Self { acceptor, limits, interface: Interface::Http, offers })
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
            interface: Interface::ControlSocket,
            offers: ListenerPurpose::Api,
        })
    }

    fn listening(&self) -> Option<ListenerSummary> {
        let address = self.acceptor.socket.address().ok()?;
        let tls = self.acceptor.admission.tls.as_ref().map(|(tls, _)| tls.clone());
        let protocol = match self.offers {
            ListenerPurpose::Api => HTTP,
            ListenerPurpose::QueueInfo => QUEUE_INFO,
            ListenerPurpose::Metrics { .. } => PROMETHEUS,
        };
        Some(ListenerSummary { address, protocol, tls, gate: None })
    }

    /// Accepts until it is aborted.
    async fn run(self, limiters: Vec<ConnectionLimiter>, entrance: Entrance) {
        let interface = self.interface;
        let on_admitted = move |stream: net::Stream, peer, permits: ConnectionPermits| {
            let peer = stream.peer_addr().unwrap_or(peer);
            let origin = Origin { peer: (interface == Interface::Http).then_some(peer), interface };
            entrance.admit(stream, origin, Arc::new(permits));
        };
        self.acceptor.run(limiters, || (), on_admitted).await;
    }
}

/// What makes alerts. `connection_max` is how many connections the limit of open files leaves room for.
fn alerting(config: &Config, broker: &Arc<Broker>, connection_max: usize) -> Result<Arc<Alerting>> {
    let of_files = u64::try_from(connection_max).ok().filter(|_| connection_max < usize::MAX);
    let connection_max = [of_files, config.connection_max].into_iter().flatten().min();
    Ok(Alerting::new(broker.clone(), &config.alerts, connection_max)?)
}

const LISTENER_FULL: &str = "an HTTP connection was refused: its listener has as many as it may";

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

fn info(listening: &ListenerSummary) -> Option<ListenerInfo> {
    let ListenerAddress::Tcp(address) = listening.address else { return None };
    let protocol = match (listening.protocol, listening.tls.is_some()) {
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
        tls: listening.tls.clone(),
        gate: listening.gate.clone(),
    })
}

fn options(config: &Config, data_dir: &Path) -> Result<management::Options> {
    let own = &config.management;
    let header = |key: &str, value: &Option<String>| match value {
        None => Ok(None),
        Some(text) => HeaderValue::from_str(text)
            .map(Some)
            .with_context(|| format!("the value of management.{key} cannot be sent as a header")),
    };
    let headers = &own.headers;
    Ok(management::Options {
        path_prefix: own.path_prefix.clone(),
        body_len_max: usize::try_from(own.http_max_body_size).unwrap_or(usize::MAX),
        headers: Headers {
            content_security_policy: header("csp.policy", &headers.csp)?,
            strict_transport_security: header("hsts.policy", &headers.hsts)?,
            content_type_options: header("headers.content_type_options", &headers.content_type_options)?,
            xss_protection: header("headers.xss_protection", &headers.xss_protection)?,
            frame_options: header("headers.frame_options", &headers.frame_options)?,
            referrer_policy: header("headers.referrer_policy", &headers.referrer_policy)?,
            hides_allow: headers.hide_allow,
        },
        cors: Cors { origins: own.cors_allow_origins.clone(), max_age_s: Some(own.cors_max_age) },
        refuses_basic: own.disable_basic_auth,
        disables_stats: own.disable_stats,
        enables_queue_totals: own.enable_queue_totals,
        operator_policies_change: !own.operator_policy_changes_disabled,
        requires_json_extension: own.definitions_require_json_extension,
        reference_needs_login: own.require_auth_for_api_reference,
        queue_info_needs_login: own.queue_info_require_auth,
        is_queue_info_only: false,
        node: machine::node_name(config),
        data_dir: data_dir.to_owned(),
        runtime: Some(Handle::current()),
        file_limit: net::raise_open_files_limit().limit,
        config_files: config.files.clone(),
        configuration: config.effective(),
        compatible_version: COMPATIBLE_VERSION.to_owned(),
        product_name: config.product_name.clone(),
        product_version: config.product_version.clone().unwrap_or_else(|| env!("CARGO_PKG_VERSION").to_owned()),
    })
}

fn metrics_options(config: &Config) -> MetricsOptions {
    let own = &config.prometheus;
    MetricsOptions {
        path: own.path.clone(),
        returns_per_object: own.return_per_object_metrics,
        needs_login: own.authentication_enabled,
    }
}
