//! What a running broker reports to others: metrics for Prometheus, statistics for InfluxDB, alerts for webhooks, traces of
//! messages for people, and spans of them for OpenTelemetry.
//!
//! ```text
//!                      ┌─► prometheus   metrics, made while the socket takes them     asked for, through `management`
//!  counters and views ─┼─► influxdb     lines, to a file or a server                  a thread each, once an interval
//!                      └─► alerting     alerts, to webhooks, events and the log       a thread, once an interval
//! ```
//!
//! All of it reads what the broker counts, and none of it holds the broker up.
//!
//! Deliberately absent: the HTTP API, which shows and changes rules of alerts and answers scrapes; that is `management`.

pub mod alerting;
mod capacity;
pub mod influxdb;
pub mod message_traces;
pub mod otlp;
pub mod prometheus;
mod search;
mod sending;
mod setup_error;

pub use capacity::shown_capacity;
pub use search::Search;
pub use setup_error::SetupError;
