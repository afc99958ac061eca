//! Runtime parameters: values that operators set while the broker runs.
//!
//! Parameters of a vhost belong to a component. The only component without a plugin is `vhost-limits`, which is kept with
//! its vhost ([`crate::vhost::VhostLimits`]); those of federation and shovels come with these.

use serde_json::Value;

/// A parameter of the whole cluster.
#[derive(Debug, Clone, PartialEq)]
pub struct GlobalParameter {
    /// Its name.
    pub name: Box<str>,
    /// Its value.
    pub value: Value,
}

impl Eq for GlobalParameter {}

impl GlobalParameter {
    /// The cluster's name, which clients are told.
    pub const CLUSTER_NAME: &'static str = "cluster_name";
    /// An id that never changes.
    pub const CLUSTER_ID: &'static str = "internal_cluster_id";
    /// What the names of alerts' rules and webhooks begin with: their values may have secrets.
    pub const ALERTS: &'static str = "warren-alerts.";
    /// What the names of stored sessions begin with ([`crate::login_session`]): no parameter has such a name.
    pub const SESSIONS: &'static str = "warren-session.";

    /// Whether the value of a parameter of this name may have secrets: only administrators may see it.
    #[must_use]
    pub fn may_be_secret(name: &str) -> bool {
        name.starts_with(Self::ALERTS)
    }
}

/// The component of vhosts' limits.
pub const VHOST_LIMITS: &str = "vhost-limits";
/// The only name that a parameter of [`VHOST_LIMITS`] has.
pub const VHOST_LIMITS_NAME: &str = "limits";
