//! Metrics for Prometheus, as RabbitMQ's plugin has them.
//!
//! ```text
//!  request ─► metrics ─► scrape ─► families ─┬─ node, queues, connections, topology    tables: a name, a kind, what it means,
//!             who, what   parts     in order │                                         its value for one object, its sum
//!                                            └─ own, alerts                            what only Warren counts
//!                          │
//!                          ▼ piece by piece, while the socket takes them
//!                        metric ─► telemetry::exposition ─► gzip
//! ```
//!
//! Sums come from counters of the node (`sums`): the answer for the whole node does not go through queues. Answers of every object do, metric
//! by metric; they keep references to the objects and one piece of text.
//!
//! Deliberately absent: what has no meaning without Erlang, and Prometheus' binary format.

mod alerts;
mod connections;
mod families;
mod filter;
mod global;
mod gzip;
mod identity;
mod meter;
mod metric;
mod metrics;
mod node;
mod own;
mod queues;
mod scrape;
mod sums;
mod topology;

pub use metrics::{Metrics, MetricsOptions};

use identity::Endpoint;
use meter::Meter;

/// What the answers of each endpoint have cost.
#[derive(Debug, Default)]
struct Meters([Meter; Endpoint::ALL.len()]);

impl Meters {
    fn of(&self, endpoint: Endpoint) -> &Meter {
        &self.0[endpoint as usize]
    }
}
