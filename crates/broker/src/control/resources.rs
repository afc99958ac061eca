//! Limits of memory and disk, changed while the broker runs. The next start has the configuration's again, as in RabbitMQ.

use std::path::Path;

use crate::broker::Broker;
use crate::identity::Actor;

impl Broker {
    /// From now on publishers are blocked above this much resident memory, in bytes. Whether they are is looked at before this returns.
    pub fn set_memory_limit(&self, actor: &Actor, len: u64, data_dir: &Path) {
        self.alarms.set_memory_limit(len);
        let user = actor.identity.name();
        tracing::info!(user, limit_len = len, "the memory limit was changed until the process ends");
        self.watch_resources(data_dir);
    }

    /// From now on publishers are blocked below this much free disk, in bytes. Whether they are is looked at before this returns.
    pub fn set_disk_free_limit(&self, actor: &Actor, len: u64, data_dir: &Path) {
        self.alarms.set_disk_free_limit(len);
        let user = actor.identity.name();
        tracing::info!(user, limit_len = len, "the limit of free disk was changed until the process ends");
        self.watch_resources(data_dir);
    }
}
