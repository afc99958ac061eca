//! What the listeners of HTTP show of a broker: the management API, the short list of queues, metrics.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use broker::Broker;
use cluster::control::Control;
use federation::Links;
use hyper::header::HeaderValue;
use management::{Cors, Headers, LocalSite, Metrics, MetricsOptions, OAuthOptions, Service, Site};
use model::config::{Config, ManagementOAuth};
use observe::alerting::Alerting;
use observe::influxdb::InfluxdbStats;
use observe::message_traces::Traces;
use observe::prometheus::WithoutBroker;
use shovel::Shovels;
use tokio::runtime::Handle;

use crate::broker_options::COMPATIBLE_VERSION;
use crate::node::{EntryPoint, Settings};
use crate::{backends, machine};

/// What answers while a broker runs.
pub(crate) struct Sites {
    api: Arc<Service>,
    queue_info: Arc<Service>,
    operator: Arc<Service>,
    metrics: Arc<Metrics>,
}

impl Sites {
    pub(crate) fn new(
        settings: &Settings,
        broker: &Arc<Broker>,
        alerting: &Arc<Alerting>,
        stats: Option<InfluxdbStats>,
        traces: &Arc<Traces>,
        shovels: &Arc<Shovels>,
        links: &Arc<Links>,
    ) -> Self {
        let options = (*settings.of_http).clone();
        let of_operator = of_operator(&options);
        let of_queue_info =
            management::Options { path_prefix: String::new(), is_queue_info_only: true, ..options.clone() };
        // Whether names and passwords are refused is the API's own business.
        let of_metrics = management::Options { refuses_basic: false, ..options.clone() };
        let service_of = |options| {
            let service = Service::new(broker.clone(), options);
            service.set_alerting(alerting.clone());
            service.set_traces(traces.clone());
            service.set_shovels(shovels.clone());
            service.set_links(links.clone());
            service.set_process(settings.process.clone());
            stats.iter().for_each(|stats| service.set_influxdb(stats.clone()));
            settings.control.iter().for_each(|control| service.set_control(control.clone()));
            service.set_listeners(settings.listeners.clone());
            service
        };
        let api = service_of(options);
        api.start_flight_recorder();
        Self {
            api,
            queue_info: service_of(of_queue_info),
            operator: service_of(of_operator),
            metrics: Metrics::new(service_of(of_metrics), metrics_options(&settings.config)),
        }
    }

    /// What answers at a listener.
    pub(crate) fn of(&self, entry: EntryPoint) -> Site {
        match entry {
            // Never asked for: what speaks AMQP has no site.
            EntryPoint::Amqp | EntryPoint::Api => Site::Api(self.api.clone()),
            EntryPoint::QueueInfo => Site::Api(self.queue_info.clone()),
            EntryPoint::ControlSocket => Site::Api(self.operator.clone()),
            EntryPoint::Metrics { compress } => Site::Metrics(self.metrics.clone(), compress),
        }
    }
}

/// What the configuration takes away from others is there for the operator.
fn of_operator(options: &management::Options) -> management::Options {
    management::Options { path_prefix: String::new(), refuses_basic: false, disables_stats: false, ..options.clone() }
}

/// What this node answers itself while no broker runs on it.
#[derive(Debug)]
pub(crate) struct LocalSites {
    metrics: Arc<Metrics>,
    /// None where there can be no cluster.
    api: Option<Arc<LocalSite>>,
    /// The same.
    operator: Option<Arc<LocalSite>>,
}

impl LocalSites {
    pub(crate) fn new(settings: &Settings) -> Self {
        let of_broker = settings.broker_options();
        let node = WithoutBroker {
            node: settings.of_http.observed(settings.control.clone()),
            cluster_name: of_broker.cluster_name,
            memory_limit_len: of_broker.memory_limit_len,
            disk_free_limit_len: of_broker.disk_free_limit_len,
            started_at: settings.started_at,
        };
        let site = |options: Arc<management::Options>, is_operators| {
            let control = settings.control.clone()?;
            Some(LocalSite::new(
                options,
                node.clone(),
                control,
                settings.listeners.clone(),
                settings.process.clone(),
                is_operators,
            ))
        };
        Self {
            api: site(settings.of_http.clone(), false),
            operator: site(Arc::new(of_operator(&settings.of_http)), true),
            metrics: Metrics::without_broker(node.clone(), metrics_options(&settings.config)),
        }
    }

    /// Starts the flight recorder, if the configuration wants it: a node that does not lead records, too. To be called within a runtime.
    pub(crate) fn start_flight_recorder(&self) {
        self.api.iter().for_each(|api| api.start_flight_recorder());
    }

    /// What answers at a listener.
    pub(crate) fn of(&self, entry: EntryPoint) -> Option<Arc<LocalSite>> {
        match entry {
            EntryPoint::Amqp | EntryPoint::QueueInfo | EntryPoint::Metrics { .. } => None,
            EntryPoint::Api => self.api.clone(),
            EntryPoint::ControlSocket => self.operator.clone(),
        }
    }

    pub(crate) fn metrics(&self) -> Arc<Metrics> {
        self.metrics.clone()
    }
}

/// What makes alerts. `connection_max` is how many connections the limit of open files leaves room for.
pub(crate) fn alerting(
    config: &Config,
    broker: &Arc<Broker>,
    connection_max: usize,
    control: Option<Arc<dyn Control>>,
) -> Result<Arc<Alerting>> {
    let of_files = u64::try_from(connection_max).ok().filter(|_| connection_max < usize::MAX);
    let connection_max = [of_files, config.connection_max].into_iter().flatten().min();
    Ok(Alerting::new(broker.clone(), &config.alerts, connection_max, control)?)
}

/// The API's options.
pub(crate) fn options(config: &Config, data_dir: &Path) -> Result<management::Options> {
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
        refuses_basic: own.disable_basic_auth || own.oauth.iter().any(|oauth| oauth.disable_basic_auth),
        oauth: own.oauth.iter().map(oauth_options).collect::<Result<_>>()?,
        session_lifetime: own.login_session_timeout,
        disables_stats: own.disable_stats,
        enables_queue_totals: own.enable_queue_totals,
        operator_policies_change: !own.operator_policy_changes_disabled,
        requires_json_extension: own.definitions_require_json_extension,
        reference_needs_login: own.require_auth_for_api_reference,
        queue_info_needs_login: own.queue_info_require_auth,
        is_queue_info_only: false,
        node: machine::node_name(config),
        data_dir: data_dir.to_owned(),
        allocated_len: Some(machine::allocated_len),
        runtime: Some(Handle::current()),
        file_limit: net::raise_open_files_limit().limit,
        config_files: config.files.clone(),
        configuration: config.effective(),
        compatible_version: COMPATIBLE_VERSION.to_owned(),
        product_name: config.product_name.clone(),
        product_version: config.product_version.clone().unwrap_or_else(|| env!("CARGO_PKG_VERSION").to_owned()),
        flight_recorder: management::FlightRecorderOptions {
            is_enabled: config.flight_recorder.is_enabled,
            slow_request: config.flight_recorder.slow_request,
            file_count_max: usize::try_from(config.flight_recorder.rotation_count).unwrap_or(usize::MAX),
            total_len_max: config.flight_recorder.total_len_max,
        },
        live: management::LiveLimits {
            count_max: config.live.count_max,
            kept_for_administrators: config.live.kept_for_administrators,
            user_count_max: config.live.user_count_max,
            address_count_max: config.live.address_count_max,
        },
    })
}

/// How the console logs in by OAuth 2. The provider is trusted as its keys are, where tokens are taken.
fn oauth_options(own: &ManagementOAuth) -> Result<Arc<OAuthOptions>> {
    let tls = match &own.provider {
        Some(provider) => backends::client_tls(provider.cacertfile.as_deref(), provider.verifies_peer),
        None => backends::client_tls(None, true),
    };
    Ok(Arc::new(OAuthOptions {
        id: own.id.clone(),
        label: own.label.clone(),
        client_id: own.client_id.clone().unwrap_or_default(),
        client_secret: own.client_secret.clone(),
        metadata: backends::url("management.oauth_metadata_url", &own.metadata_url, &tls)?,
        provider_url: own.provider_url.clone(),
        scopes: own.scopes.clone(),
        authorization_params: own.authorization_endpoint_params.clone(),
        token_params: own.token_endpoint_params.clone(),
        is_idp_initiated: own.is_idp_initiated,
    }))
}

fn metrics_options(config: &Config) -> MetricsOptions {
    let own = &config.prometheus;
    MetricsOptions {
        path: own.path.clone(),
        returns_per_object: own.return_per_object_metrics,
        needs_login: own.authentication_enabled,
    }
}
