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
//! A node on which no broker runs reports what is its own (`without_broker`), by the same tables.
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
mod scope;
mod scrape;
mod shovels;
mod subject;
mod sums;
mod topology;
mod without_broker;

pub use answers::{AnswerTimes, AnswerWay};
pub use filter::Filter;
pub use identity::Endpoint;
pub use meter::Meters;
pub use scrape::Scrape;
pub use subject::{NodeSubject, Subject};
pub use without_broker::WithoutBroker;
