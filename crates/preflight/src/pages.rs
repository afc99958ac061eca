//! Pages of our documentation that findings name.

pub(crate) const ALARMS: &str = "docs/alarms.md";
pub(crate) const CLUSTERING: &str = "docs/clustering.md";
pub(crate) const CONFIGURATION: &str = "docs/configuration.md";
pub(crate) const DEDUPLICATION: &str = "docs/deduplication.md";
pub(crate) const DELAYED: &str = "docs/delayed.md";
pub(crate) const DIFFERENCES: &str = "docs/differences.md";
pub(crate) const EVENTS: &str = "docs/events.md";
pub(crate) const EXCHANGES: &str = "docs/exchanges.md";
pub(crate) const FEDERATION: &str = "docs/federation.md";
pub(crate) const HTTP_API: &str = "docs/http-api.md";
pub(crate) const MIGRATING: &str = "docs/migrating.md";
pub(crate) const POLICIES: &str = "docs/policies.md";
pub(crate) const PROMETHEUS: &str = "docs/prometheus.md";
pub(crate) const QUEUES: &str = "docs/queues.md";
pub(crate) const SHARDING: &str = "docs/sharding.md";
pub(crate) const SHOVELS: &str = "docs/shovels.md";
pub(crate) const TLS: &str = "docs/tls.md";
pub(crate) const USERS: &str = "docs/users.md";
