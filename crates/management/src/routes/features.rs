//! Feature flags, by which RabbitMQ distinguishes versions, and features that it phases out.

use crate::answer::Answer;
use crate::call::Call;
use crate::listing::{Table, column, list};
use crate::problem::Problem;
use crate::route::Kind::{List, Text};
use crate::route::Role::{Administrator, Management};
use crate::route::{AnswerFuture, LIST, Operation, Route, Shape, at};
use crate::service::Service;

pub(super) static ROUTES: &[Route] = &[
    at(
        "/api/feature-flags",
        &[Operation::list(
            Management,
            flags,
            "Lists the feature flags of the RabbitMQ version that Warren is compatible with.",
            Shape::Many(&FLAG),
        )
        .query(LIST)],
    ),
    at(
        "/api/feature-flags/{name}/enable",
        &[Operation::put(Administrator, enable, "Enables a feature flag. All are always enabled.", &[])
            .answers(Shape::NoContent)],
    ),
    at(
        "/api/deprecated-features",
        &[Operation::list(Management, deprecated, "Lists deprecated features.", Shape::Many(&DEPRECATED)).query(LIST)],
    ),
    at(
        "/api/deprecated-features/used",
        &[Operation::list(Management, used, "Lists deprecated features that are in use.", Shape::Many(&DEPRECATED))
            .query(LIST)],
    ),
];

/// A feature flag: its name, how much RabbitMQ 4.3 requires it, and what it is of.
type Flag = (&'static str, &'static str, &'static str);

/// Flags of features that are here. Those of streams and of clusters' inside are not.
const FLAGS: [Flag; 20] = [
    ("classic_queue_type_delivery_support", "hard", "rabbit"),
    ("detailed_queues_endpoint", "soft", "rabbitmq_management"),
    ("direct_exchange_routing_v2", "hard", "rabbit"),
    ("drop_unroutable_metric", "hard", "rabbitmq_management_agent"),
    ("empty_basic_get_metric", "hard", "rabbitmq_management_agent"),
    ("feature_flags_v2", "hard", "rabbit"),
    ("implicit_default_bindings", "hard", "rabbit"),
    ("khepri_db", "soft", "rabbit"),
    ("listener_records_in_ets", "hard", "rabbit"),
    ("maintenance_mode_status", "hard", "rabbit"),
    ("message_containers", "hard", "rabbit"),
    ("message_containers_deaths_v2", "soft", "rabbit"),
    ("quorum_queue", "hard", "rabbit"),
    ("rabbitmq_4.0.0", "soft", "rabbit"),
    ("rabbitmq_4.1.0", "soft", "rabbit"),
    ("rabbitmq_4.2.0", "soft", "rabbit"),
    ("rabbitmq_4.3.0", "none", "rabbit"),
    ("tracking_records_in_ets", "hard", "rabbit"),
    ("user_limits", "hard", "rabbit"),
    ("virtual_host_metadata", "hard", "rabbit"),
];

/// Features that RabbitMQ phases out, and how far it has got.
const DEPRECATED_FEATURES: [(&str, &str); 8] = [
    ("amqp_address_v1", "denied_by_default"),
    ("amqp_filter_set_bug", "denied_by_default"),
    ("classic_queue_mirroring", "removed"),
    ("global_qos", "denied_by_default"),
    ("management_metrics_collection", "permitted_by_default"),
    ("queue_master_locator", "denied_by_default"),
    ("ram_node_type", "removed"),
    ("transient_nonexcl_queues", "permitted_by_default"),
];

static FLAG: Table<Flag, Service> = Table {
    title: "FeatureFlag",
    columns: &[
        column("name", Text, |flag: &Flag, _, cell| cell.text(flag.0)),
        column("desc", Text, |_, _, cell| cell.text("")),
        column("doc_url", Text, |_, _, cell| cell.text("")),
        column("state", Text, |_, _, cell| cell.text("enabled")),
        column("stability", Text, |flag, _, cell| cell.text(if flag.1 == "none" { "stable" } else { "required" })),
        column("require_level", Text, |flag, _, cell| cell.text(flag.1)),
        column("experiment_level", Text, |_, _, cell| cell.text("supported")),
        column("callbacks", List, |_, _, cell| cell.texts([])),
        column("provided_by", Text, |flag, _, cell| cell.text(flag.2)),
    ],
    order: |a, b| a.cmp(b),
    name: |flag| flag.0.into(),
};

static DEPRECATED: Table<(&'static str, &'static str), Service> = Table {
    title: "DeprecatedFeature",
    columns: &[
        column("name", Text, |feature: &(&str, &str), _, cell| cell.text(feature.0)),
        column("state", Text, |feature, service, cell| {
            cell.text(if is_permitted(feature.0, service) { "permitted" } else { "denied" });
        }),
        column("desc", Text, |_, _, cell| cell.text("")),
        column("deprecation_phase", Text, |feature, _, cell| cell.text(feature.1)),
        column("doc_url", Text, |_, _, cell| cell.text("")),
        column("provided_by", Text, |_, _, cell| cell.text("rabbit")),
    ],
    order: |a, b| a.cmp(b),
    name: |feature| feature.0.into(),
};

/// What older clients send is permitted unless the configuration forbids it; the rest is not here at all.
fn is_permitted(feature: &str, service: &Service) -> bool {
    let options = service.broker.options();
    match feature {
        "global_qos" => options.permits_global_qos,
        "transient_nonexcl_queues" => options.permits_transient_nonexclusive_queues,
        "management_metrics_collection" => !service.options.disables_stats,
        _ => false,
    }
}

fn flags(call: &Call) -> Result<AnswerFuture, Problem> {
    Ok(list(FLAGS.to_vec(), &FLAG, &call.service, &call.query))
}

fn enable(call: &Call) -> Result<Answer, Problem> {
    if FLAGS.iter().any(|flag| flag.0 == call.argument("name")) {
        return Ok(Answer::no_content());
    }
    Err(Problem::bad_request("unsupported"))
}

fn deprecated(call: &Call) -> Result<AnswerFuture, Problem> {
    Ok(list(DEPRECATED_FEATURES.to_vec(), &DEPRECATED, &call.service, &call.query))
}

/// Transient queues that are not exclusive are the only ones that leave a trace.
fn used(call: &Call) -> Result<AnswerFuture, Problem> {
    let broker = call.broker();
    let is_used = broker.vhost_names().iter().any(|vhost| {
        broker.queue_views(vhost.as_str()).iter().any(|queue| {
            let definition = queue.definition();
            !definition.is_durable && !definition.is_exclusive
        })
    });
    let mut features = DEPRECATED_FEATURES.to_vec();
    features.retain(|(name, _)| *name == "transient_nonexcl_queues" && is_used);
    Ok(list(features, &DEPRECATED, &call.service, &call.query))
}
