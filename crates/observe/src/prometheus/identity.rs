//! This node's identity: the two series that dashboards join all others with.
//!
//! `X * on(instance, job) group_left(rabbitmq_cluster, rabbitmq_node) rabbitmq_identity_info{…}` works only if there is exactly one
//! series of it in an answer.

use telemetry::exposition::{Kind, Labels, Name, write_head, write_sample};

use super::subject::NodeSubject;

/// What an answer reports. The names are what the label `rabbitmq_endpoint` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Endpoint {
    /// The node as a whole.
    Aggregated,
    /// Every object.
    PerObject,
    /// What the request asks for, of every object.
    Detailed,
    /// Memory.
    MemoryBreakdown,
}

impl Endpoint {
    /// All of them.
    pub const ALL: [Endpoint; 4] =
        [Endpoint::Aggregated, Endpoint::PerObject, Endpoint::Detailed, Endpoint::MemoryBreakdown];

    pub(super) fn name(self) -> &'static str {
        match self {
            Endpoint::Aggregated => "aggregated",
            Endpoint::PerObject => "per-object",
            Endpoint::Detailed => "detailed",
            Endpoint::MemoryBreakdown => "memory-breakdown",
        }
    }

    /// What RabbitMQ calls what is behind it: `/metrics/{registry}`.
    #[must_use]
    pub fn registry(self) -> &'static str {
        match self {
            Endpoint::Aggregated => "default",
            other => other.name(),
        }
    }
}

/// There is no Erlang, but dashboards group by this label.
const NO_ERLANG: &str = "none";

/// Which cluster it is.
pub(super) struct ClusterIdentity {
    pub(super) name: String,
    /// Empty where that is not known.
    pub(super) id: String,
}

/// Writes both. `shown` is what the answer says that it is.
pub(super) fn write(out: &mut Vec<u8>, subject: &NodeSubject, cluster: &ClusterIdentity, shown: Endpoint) {
    let name = Name { prefix: "rabbitmq_", name: "build_info", suffix: "" };
    write_head(out, name, Kind::Untyped, "Always 1; its labels contain the version");
    let labels = [
        ("rabbitmq_version", &*subject.compatible_version),
        ("prometheus_plugin_version", &subject.product_version),
        ("prometheus_client_version", &subject.product_version),
        ("erlang_version", NO_ERLANG),
        ("product_name", &subject.product_name),
        ("product_version", &subject.product_version),
    ];
    let put = |labels: &[(&str, &str)], written: &mut Labels<'_>| {
        labels.iter().for_each(|(name, value)| written.put(name, value));
    };
    write_sample(out, name, |written| put(&labels, written), 1_u64.into());
    let name = Name { name: "identity_info", ..name };
    write_head(out, name, Kind::Untyped, "Always 1; its labels contain the node and its cluster");
    let labels = [
        ("rabbitmq_node", &*subject.name),
        ("rabbitmq_cluster", &cluster.name),
        ("rabbitmq_cluster_permanent_id", &cluster.id),
        ("rabbitmq_endpoint", shown.name()),
    ];
    write_sample(out, name, |written| put(&labels, written), 1_u64.into());
}
