//! From time to time: a look at what has changed.

use std::path::Path;

use crate::broker::Broker;
use crate::machine;
use crate::statistics::numbers::NODE_COUNT;
use crate::view::Churn;

impl Broker {
    /// Looks at what has changed since the last time; from it come rates and histories.
    pub(crate) fn tick(&self, data_dir: &Path, now_ms: u64) {
        let machine =
            [machine::resident_len(), machine::free_len(data_dir), machine::open_file_count(), machine::thread_count()];
        *self.statistics.node.machine.lock() = machine.map(|number| number.unwrap_or(0));
        self.statistics.tick(&self.engine.statistics, now_ms, self.node_now(), self.all_messages().numbers());
    }

    /// The node's own numbers (`numbers::NODE`); what the operating system knows is as of the last tick.
    pub(crate) fn node_now(&self) -> [u64; NODE_COUNT] {
        let Churn {
            connections_opened,
            connections_closed,
            channels_opened,
            channels_closed,
            queues_declared,
            queues_created,
            queues_deleted,
        } = self.churn();
        let [memory, disk, files, threads] = *self.statistics.node.machine.lock();
        [
            connections_opened,
            connections_closed,
            channels_opened,
            channels_closed,
            queues_declared,
            queues_created,
            queues_deleted,
            memory,
            disk,
            files,
            self.connections.count() as u64,
            threads,
        ]
    }
}
