//! RabbitMQ's management HTTP API.
//!
//! ```text
//!  stream ─► server (a thread of its own) ─► service ─┬─ router, routes    which operation a request means
//!                                                     ├─ login, access     who asks, and whether it may
//!                                                     ├─ call ─► handler   what is asked of the broker
//!                                                     └─ answer            JSON, made while it is sent
//! ```
//!
//! One table of routes says of every operation its path, its method, who may call it, what answers and what the
//! description of the API (`docs/openapi.json`) says of it. Listings are tables of columns, of which only those are computed
//! that a request wants.
//!
//! While no broker runs on a node, `local` answers for the node itself, by the same routes.
//!
//! Deliberately absent: listeners (the binary opens them), what metrics and alerts are made of (the crate `observe`), and the console.

mod access;
mod answer;
mod audit;
mod body;
mod call;
mod cookie;
pub mod definitions;
mod gzip;
mod headers;
mod introspection;
mod json;
pub mod limits;
mod listing;
mod live;
mod local;
mod login;
mod media;
mod metrics;
mod multipart;
mod oauth;
mod openapi;
mod options;
mod path;
mod pipeline;
#[cfg(debug_assertions)]
mod planted;
mod problem;
mod process;
mod profile;
mod recent_lines;
mod request_context;
mod response;
mod route;
mod router;
mod routes;
mod sending;
mod server;
mod service;
mod session_renewal;
mod slow_requests;
mod stage;
mod statistics;
mod tags;
#[cfg(test)]
mod tests;
mod unfold;
mod unknown;
mod watch;

pub use audit::audit_entry;
/// What answers consist of.
pub use http_server::AnswerBody;
pub use local::{Doorkeeper, LocalSite};
pub use metrics::{Metrics, MetricsOptions};
pub use oauth::OAuthOptions;
pub use openapi::description as openapi_description;
pub use options::{ConnectionLimits, Cors, FlightRecorderOptions, Headers, ListenerInfo, LiveLimits, Options};
pub use process::{LogControl, Process};
pub use recent_lines::RecentLines;
pub use routes::http_contexts;
pub use server::{
    Absent, AmqpSink, ConnectionGroup, ConnectionPermit, HttpClient, RequestLine, Server, Site, read_request_line,
};
pub use service::Service;
