//! Entries of a document, written from what a broker has.

use model::arguments::QueueType;
use model::definition::UserPermission;
use model::json::{from_table, to_table};
use model::parameter::{GlobalParameter, VHOST_LIMITS, VHOST_LIMITS_NAME, VhostParameter};
use model::policy::Policy;
use model::user::{HashingAlgorithm, PasswordHash, TopicPermission, User};
use model::vhost::{Vhost, VhostLimits};
use serde_json::{Map, Value, json};

/// The lists of a document of a whole broker, in the order of RabbitMQ's exports.
pub const OF_BROKER: [&str; 10] = [
    "users",
    "vhosts",
    "permissions",
    "topic_permissions",
    "parameters",
    "global_parameters",
    "policies",
    "queues",
    "exchanges",
    "bindings",
];
/// The lists of a document of one vhost.
pub const OF_VHOST: [&str; 5] = ["parameters", "policies", "queues", "exchanges", "bindings"];

/// An entry of the whole broker names its vhost.
#[must_use]
pub fn in_vhost(mut entry: Value, vhost: &str) -> Value {
    if let Some(members) = entry.as_object_mut() {
        members.insert("vhost".to_owned(), vhost.into());
    }
    entry
}

/// A user, with the hashes of its passwords.
#[must_use]
pub fn user(user: &User) -> Value {
    let hash = |hash: &Option<PasswordHash>| hash.as_ref().map(ToString::to_string).unwrap_or_default();
    let algorithm = user.password_hash.as_ref().map_or(HashingAlgorithm::default(), PasswordHash::algorithm);
    let limits: Map<String, Value> = user.limits.iter().map(|(name, value)| (name.to_owned(), value.into())).collect();
    let mut entry = json!({
        "name": user.name.as_str(),
        "password_hash": hash(&user.password_hash),
        "hashing_algorithm": algorithm.name(),
        "tags": user.tags.iter().collect::<Vec<_>>(),
        "limits": limits,
    });
    if let Some(second) = &user.second_password_hash {
        entry["second_password_hash"] = second.to_string().into();
        if second.algorithm() != algorithm {
            entry["second_hashing_algorithm"] = second.algorithm().name().into();
        }
    }
    entry
}

/// A vhost, and the type of its queues that are declared without one.
#[must_use]
pub fn vhost(vhost: &Vhost, default_queue_type: QueueType) -> Value {
    let metadata = vhost_metadata(vhost, default_queue_type);
    json!({"name": vhost.name.as_str(), "metadata": metadata, "limits": vhost_limits(&vhost.limits)})
}

/// What a vhost says of itself.
#[must_use]
pub fn vhost_metadata(vhost: &Vhost, default_queue_type: QueueType) -> Value {
    let mut metadata = json!({
        "description": vhost.metadata.description,
        "tags": vhost.metadata.tags,
        "default_queue_type": default_queue_type.name(),
    });
    if vhost.is_protected {
        metadata["protected_from_deletion"] = true.into();
    }
    metadata
}

/// The limits of a vhost that are set.
#[must_use]
pub fn vhost_limits(limits: &VhostLimits) -> Map<String, Value> {
    limits.iter().map(|(name, value)| (name.to_owned(), value.into())).collect()
}

/// A vhost's limits as a parameter, if any are set.
#[must_use]
pub fn limits_parameter(vhost: &Vhost) -> Option<Value> {
    let limits = vhost_limits(&vhost.limits);
    let is_set = !limits.is_empty();
    is_set.then(|| json!({"component": VHOST_LIMITS, "name": VHOST_LIMITS_NAME, "value": limits}))
}

/// A permission.
#[must_use]
pub fn permission(given: &UserPermission) -> Value {
    json!({
        "user": given.user.as_str(),
        "vhost": given.vhost.as_str(),
        "configure": given.permission.configure.as_str(),
        "write": given.permission.write.as_str(),
        "read": given.permission.read.as_str(),
    })
}

/// A topic permission.
#[must_use]
pub fn topic_permission(given: &TopicPermission) -> Value {
    json!({
        "user": given.user.as_str(),
        "vhost": given.vhost.as_str(),
        "exchange": given.exchange.as_str(),
        "write": given.write(),
        "read": given.read(),
    })
}

/// A global parameter. None: what distinguishes this cluster from all others stays here.
#[must_use]
pub fn global_parameter(parameter: &GlobalParameter) -> Option<Value> {
    let is_exported = &*parameter.name != GlobalParameter::CLUSTER_ID;
    is_exported.then(|| json!({"name": parameter.name, "value": parameter.value}))
}

/// A parameter of a vhost, with the passwords of its URIs, as RabbitMQ exports it: without them it would not work where it is imported.
#[must_use]
pub fn vhost_parameter(parameter: &VhostParameter) -> Value {
    json!({"component": parameter.component, "name": parameter.name, "value": parameter.value})
}

/// A policy.
#[must_use]
pub fn policy(policy: &Policy) -> Value {
    json!({
        "name": policy.name,
        "pattern": policy.pattern.as_str(),
        "apply-to": policy.apply_to.name(),
        "definition": policy.definition.settings(),
        "priority": policy.priority,
    })
}

/// An operators' policy, which is a parameter.
#[must_use]
pub fn operator_policy(policy: &Policy) -> Value {
    let mut value = self::policy(policy);
    let name = value.as_object_mut().and_then(|members| members.remove("name"));
    json!({"component": "operator_policy", "name": name, "value": value})
}

/// Arguments as they are once they have been read again: very large timestamps become floats. Without the fields that cannot be
/// read: names of bytes that are no text can become too long when they are written.
#[must_use]
pub fn arguments(arguments: Map<String, Value>) -> Map<String, Value> {
    let read = |arguments: &Map<String, Value>| to_table(arguments).map(|table| from_table(table.as_table()));
    read(&arguments).unwrap_or_else(|_| {
        let fields = arguments.into_iter().map(|field| Map::from_iter([field]));
        fields.filter_map(|field| read(&field).ok()).flatten().collect()
    })
}
