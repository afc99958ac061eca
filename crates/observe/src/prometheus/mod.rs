//! Metrics for Prometheus, as RabbitMQ's plugin has them.
//!
//! ```text
//!  scrape ─► families ─┬─ node, queues, connections, topology    tables: a name, a kind, what it means,
//!   parts     in order │                                         its value for one object, its sum
//!                      └─ own, answers, alerts, cluster          what only Warren counts
//!     │
//!     ▼ piece by piece, while the socket takes them
//!   metric ─► telemetry::exposition
//! ```
//!
//! Sums come from counters of the node (`sums`): the answer for the whole node does not go through queues. Answers of every object do,
//! metric by metric; they keep references to the objects and one piece of text.
//!
//! A node on which no broker runs tells what is its own (`without_broker`), by the same tables.
//!
//! Deliberately absent: what has no meaning without Erlang, and Prometheus' binary format.

mod alerts;
mod answers;
mod cluster;
mod connections;
mod families;
mod federation;
mod filter;
mod global;
mod identity;
mod latency;
mod meter;
mod metric;
mod node;
mod own;
mod queues;
mod scrape;
mod shovels;
mod sums;
mod topology;
mod without_broker;

use std::path::PathBuf;
use std::sync::Arc;

use broker::Broker;
use telemetry::Counter;

pub use answers::{AnswerTimes, AnswerWay};
pub use filter::Filter;
pub use identity::Endpoint;
pub use scrape::Scrape;
pub use without_broker::WithoutBroker;

use crate::alerting::Alerting;
use crate::influxdb::InfluxdbStats;
use meter::Meter;

/// What metrics tell of.
#[derive(Debug, Clone)]
pub struct Subject {
    /// The broker.
    pub broker: Arc<Broker>,
    /// The node that it runs on.
    pub node: NodeSubject,
    /// None where no alerts are made.
    pub alerting: Option<Arc<Alerting>>,
    /// None where shovels do not run.
    pub shovels: Option<Arc<shovel::Shovels>>,
    /// None where federation does not run.
    pub links: Option<Arc<::federation::Links>>,
    /// What becomes of statistics for InfluxDB.
    pub influxdb: InfluxdbStats,
    /// Requests of the HTTP API that ended in a panic.
    pub panics: Arc<Counter>,
    /// How answers of the HTTP API went.
    pub answers: Arc<AnswerTimes>,
}

/// What metrics tell of a node, whether a broker runs on it or not.
#[derive(Debug, Clone)]
pub struct NodeSubject {
    /// Its name.
    pub name: String,
    /// Where it keeps its data.
    pub data_dir: PathBuf,
    /// How many files the process may have open.
    pub file_max: Option<u64>,
    /// The version of RabbitMQ that this is compatible with.
    pub compatible_version: String,
    /// The product's name.
    pub product_name: String,
    /// The product's version.
    pub product_version: String,
    /// None where there can be no cluster.
    pub cluster: Option<Arc<dyn ::cluster::control::Control>>,
}

/// What the answers of each endpoint have cost.
#[derive(Debug, Default)]
pub struct Meters([Meter; Endpoint::ALL.len()]);

impl Meters {
    fn of(&self, endpoint: Endpoint) -> &Meter {
        &self.0[endpoint as usize]
    }
}
