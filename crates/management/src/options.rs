//! The settings of the API. Where the values come from is the binary's business; the defaults are RabbitMQ's.

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use cluster::control::Control;
use hyper::header::{self, HeaderMap, HeaderValue};
use net::{Gate, ServerTls};
use observe::prometheus::NodeSubject;
use tokio::runtime::Handle;

use crate::limits::{HEAD_TIMEOUT, KEEP_ALIVE_MAX, WRITE_TIMEOUT};
use crate::oauth::OAuthOptions;

/// Options of the HTTP API.
#[derive(Debug, Clone)]
pub struct Options {
    /// What comes before every path, such as `/rabbit`; empty for nothing.
    pub path_prefix: String,
    /// Longest body of a request, in bytes.
    pub body_len_max: usize,
    /// Headers of answers.
    pub headers: Headers,
    /// Which other origins may ask.
    pub cors: Cors,
    /// Whether names and passwords are refused.
    pub refuses_basic: bool,
    /// How long a login by a cookie lasts.
    pub session_lifetime: Duration,
    /// How the console logs in by OAuth 2, for each resource server; empty: it does not.
    pub oauth: Vec<Arc<OAuthOptions>>,
    /// Whether listings leave out statistics whatever a request says.
    pub disables_stats: bool,
    /// Whether listings without statistics still have the three totals of queues.
    pub enables_queue_totals: bool,
    /// Whether operator policies can be changed.
    pub operator_policies_change: bool,
    /// Whether an uploaded file of definitions must be named `*.json`.
    pub requires_json_extension: bool,
    /// Whether the description of the API needs a login.
    pub reference_needs_login: bool,
    /// Whether the short list of queues needs a login.
    pub queue_info_needs_login: bool,
    /// Whether there is the short list of queues, and nothing else.
    pub is_queue_info_only: bool,
    /// The node's name.
    pub node: String,
    /// Where the broker keeps its data.
    pub data_dir: PathBuf,
    /// How much the allocator has of the system, in bytes; None: it does not say.
    pub allocated_len: Option<fn() -> u64>,
    /// Where connections are served: how much waits there is reported.
    pub runtime: Option<Handle>,
    /// How many files the process may have open.
    pub file_limit: Option<u64>,
    /// The files that the configuration was read from.
    pub config_files: Vec<String>,
    /// The configuration that is in force, without secrets.
    pub configuration: Vec<(String, String)>,
    /// The version of RabbitMQ that this is compatible with.
    pub compatible_version: String,
    /// The product's name.
    pub product_name: String,
    /// The product's version.
    pub product_version: String,
    /// How the flight recorder runs.
    pub flight_recorder: FlightRecorderOptions,
    /// How many streams of events there may be.
    pub live: LiveLimits,
}

/// Headers that a browser heeds. None: not sent.
#[derive(Debug, Clone)]
pub struct Headers {
    /// `content-security-policy`.
    pub content_security_policy: Option<HeaderValue>,
    /// `strict-transport-security`.
    pub strict_transport_security: Option<HeaderValue>,
    /// `x-content-type-options`.
    pub content_type_options: Option<HeaderValue>,
    /// `x-xss-protection`.
    pub xss_protection: Option<HeaderValue>,
    /// `x-frame-options`.
    pub frame_options: Option<HeaderValue>,
    /// `referrer-policy`.
    pub referrer_policy: Option<HeaderValue>,
    /// Whether answers leave out `allow`.
    pub hides_allow: bool,
}

impl Default for Headers {
    fn default() -> Self {
        Self {
            content_security_policy: Some(HeaderValue::from_static("script-src 'self'; object-src 'self'")),
            strict_transport_security: None,
            content_type_options: None,
            xss_protection: None,
            frame_options: None,
            referrer_policy: None,
            hides_allow: false,
        }
    }
}

/// Which other origins may ask.
#[derive(Debug, Clone)]
pub struct Cors {
    /// Origins such as `https://example.org`, or `*` for every one; none by default.
    pub origins: Vec<String>,
    /// How long a browser may remember the answer, in seconds.
    pub max_age_s: Option<u64>,
}

impl Default for Cors {
    fn default() -> Self {
        Self { origins: Vec::new(), max_age_s: Some(1800) }
    }
}

impl Cors {
    pub(crate) fn allows(&self, origin: &HeaderValue) -> bool {
        self.origins.iter().any(|own| own == "*" || own.as_bytes() == origin.as_bytes())
    }
}

impl Options {
    /// What metrics report of the node.
    #[must_use]
    pub fn observed(&self, cluster: Option<Arc<dyn Control>>) -> NodeSubject {
        NodeSubject {
            name: self.node.clone(),
            data_dir: self.data_dir.clone(),
            file_max: self.file_limit,
            compatible_version: self.compatible_version.clone(),
            product_name: self.product_name.clone(),
            product_version: self.product_version.clone(),
            cluster,
        }
    }

    /// Whether this is where connections become WebSockets.
    #[must_use]
    pub fn is_websocket(&self, path: &str) -> bool {
        path.strip_prefix(&*self.path_prefix) == Some("/ws")
    }

    /// Whether the page that a browser asks for may open a WebSocket here: browsers do not keep foreign pages from it, and say only whose
    /// they are. Programs that are no browsers say nothing.
    pub(crate) fn lets_in_page_of(&self, headers: &HeaderMap) -> bool {
        let Some(origin) = headers.get(header::ORIGIN) else { return true };
        let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
        let own = origin.to_str().ok().and_then(|origin| origin.split_once("://")).map(|(_, authority)| authority);
        self.cors.allows(origin) || (own.is_some() && own == host)
    }
}

/// How the flight recorder runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlightRecorderOptions {
    /// Whether it runs from the start.
    pub is_enabled: bool,
    /// Requests that take so long have it saved.
    pub slow_request: Duration,
    /// How many recordings are kept in files.
    pub file_count_max: usize,
    /// How long these may be together, in bytes.
    pub total_len_max: u64,
}

impl Default for FlightRecorderOptions {
    fn default() -> FlightRecorderOptions {
        FlightRecorderOptions {
            is_enabled: false,
            slow_request: Duration::from_secs(1),
            file_count_max: 8,
            total_len_max: 256 << 20,
        }
    }
}

/// How many streams of events there may be at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LiveLimits {
    /// Of all.
    pub count_max: usize,
    /// Of these, so many are for administrators alone.
    pub kept_for_administrators: usize,
    /// Of one user: a console has one.
    pub user_count_max: usize,
    /// Of users that are no administrators, from one address. A proxy before the console is one address.
    pub address_count_max: usize,
}

impl Default for LiveLimits {
    fn default() -> LiveLimits {
        LiveLimits { count_max: 100, kept_for_administrators: 20, user_count_max: 20, address_count_max: 50 }
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            path_prefix: String::new(),
            body_len_max: 10_000_000,
            headers: Headers::default(),
            cors: Cors::default(),
            refuses_basic: false,
            session_lifetime: Duration::from_secs(480 * 60),
            oauth: Vec::new(),
            disables_stats: false,
            enables_queue_totals: false,
            operator_policies_change: true,
            requires_json_extension: false,
            reference_needs_login: false,
            queue_info_needs_login: true,
            is_queue_info_only: false,
            node: "rabbit@localhost".to_owned(),
            data_dir: PathBuf::from("."),
            allocated_len: None,
            runtime: None,
            file_limit: None,
            config_files: Vec::new(),
            configuration: Vec::new(),
            compatible_version: "4.3.0".to_owned(),
            product_name: "Warren".to_owned(),
            product_version: env!("CARGO_PKG_VERSION").to_owned(),
            flight_recorder: FlightRecorderOptions::default(),
            live: LiveLimits::default(),
        }
    }
}

/// What connections of one listener may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionLimits {
    /// How long a request's line and headers may take, and how long a connection may be idle before them.
    pub head_timeout: Duration,
    /// How long a client may leave unread what it is sent.
    pub write_timeout: Duration,
    /// How many requests one may send.
    pub keep_alive_max: u64,
}

impl Default for ConnectionLimits {
    fn default() -> Self {
        Self { head_timeout: HEAD_TIMEOUT, write_timeout: WRITE_TIMEOUT, keep_alive_max: KEEP_ALIVE_MAX }
    }
}

/// A listener of the node, of any protocol.
#[derive(Debug, Clone)]
pub struct ListenerInfo {
    /// What is spoken there: `amqp`, `amqp/ssl`, `http`, `https`, `http/prometheus`, `https/prometheus`.
    pub protocol: String,
    /// Where.
    pub ip: IpAddr,
    /// The port.
    pub port: u16,
    /// Its TLS, if it has any.
    pub tls: Option<Arc<ServerTls>>,
    /// What suspends it, if anything does.
    pub gate: Option<Gate>,
}

impl ListenerInfo {
    pub(crate) fn is_suspended(&self) -> bool {
        self.gate.as_ref().is_some_and(Gate::is_suspended)
    }
}
