//! What metrics are about: a broker with what runs beside it, and the node that both run on.

use std::path::PathBuf;
use std::sync::Arc;

use broker::Broker;
use telemetry::Counter;

use super::answers::AnswerTimes;
use crate::alerting::Alerting;
use crate::influxdb::InfluxdbStats;

/// What metrics report.
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

/// What metrics report of a node, whether a broker runs on it or not.
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
