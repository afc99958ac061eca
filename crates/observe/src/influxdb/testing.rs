//! What tests of other crates look at.

use broker::Broker;
use influx::{Tags, Timestamp};
use model::config::InfluxdbObjects;

use super::round::{Round, Subject};
use super::{InfluxdbStats, outbox};

/// Lines that are posted together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    /// The lines.
    pub text: String,
    /// How many they are.
    pub line_count: u64,
    /// Whether a round ends with it.
    pub ends_round: bool,
}

/// The batches of one round about these objects.
#[must_use]
pub fn batches(broker: &Broker, objects: InfluxdbObjects, tags: Tags, at: Timestamp) -> Vec<Batch> {
    let subject = Subject { objects, tags, data_dir: "/".into(), file_max: Some(1024) };
    let mut round = Round::new(broker, &subject, at);
    let batch = |outbox::Batch { text, line_count, ends_round }| Batch { text, line_count, ends_round };
    std::iter::from_fn(|| round.next_batch().map(batch)).collect()
}

impl InfluxdbStats {
    /// The first destination has taken so many lines more.
    pub fn write(&self, line_count: u64) {
        self.0[0].write(line_count);
    }
}
