//! Exporting: one document of everything, or of one vhost, made piece by piece.

use std::sync::Arc;

use broker::Broker;
use broker::view::{BindingEndView, BindingFilter};
use model::json::{from_table, to_table};
use model::parameter::{GlobalParameter, VHOST_LIMITS, VHOST_LIMITS_NAME, VhostParameter};
use model::policy::{Policy, PolicyKind};
use model::user::{HashingAlgorithm, PasswordHash, User};
use model::vhost::Vhost;
use serde_json::{Map, Value, json};

use super::hidden::{HiddenEnds, is_defined_exchange, is_defined_queue};
use super::scope::Scope;
use crate::json::{Writer, write_text};
use crate::options::Options;
use crate::routes::bodies::arguments;
use http_server::PIECE_LEN;
use http_server::Pieces;

/// Entries of one kind, one after the other.
type Entries = Box<dyn Iterator<Item = Value> + Send>;

/// A document that is being written.
pub(crate) struct Export {
    /// What still comes before the next entry.
    before: Vec<u8>,
    sections: std::vec::IntoIter<(&'static str, Entries)>,
    current: Option<Entries>,
    is_first: bool,
    is_ended: bool,
}

/// The whole document at once.
#[must_use]
pub fn export(broker: &Arc<Broker>, options: &Options, scope: Scope<'_>) -> Vec<u8> {
    let mut export = Export::new(broker, options, scope);
    let mut whole = Vec::new();
    loop {
        let mut piece = Vec::new();
        let has_more = export.write_next(&mut piece);
        whole.append(&mut piece);
        if !has_more {
            return whole;
        }
    }
}

impl Export {
    pub(crate) fn new(broker: &Arc<Broker>, options: &Options, scope: Scope<'_>) -> Export {
        let mut head = Map::new();
        for key in ["rabbit_version", "rabbitmq_version"] {
            head.insert(key.to_owned(), (&*options.compatible_version).into());
        }
        head.insert("product_name".to_owned(), (&*options.product_name).into());
        head.insert("product_version".to_owned(), (&*options.product_version).into());
        let sections = match scope {
            Scope::Broker => {
                let name = broker.cluster_name();
                head.insert("rabbitmq_definition_format".to_owned(), "cluster".into());
                head.insert("explanation".to_owned(), format!("Definitions of cluster '{name}'").into());
                head.insert("original_cluster_name".to_owned(), name.into());
                sections_of_broker(broker)
            }
            Scope::Vhost(name) => {
                head.insert("rabbitmq_definition_format".to_owned(), "single_virtual_host".into());
                head.insert("explanation".to_owned(), format!("Definitions of virtual host '{name}'").into());
                head.insert("original_vhost_name".to_owned(), name.into());
                if let Some(view) = broker.vhost_view(name) {
                    head.insert("description".to_owned(), (&*view.facts.metadata.description).into());
                    head.insert("metadata".to_owned(), metadata(broker, &view.facts));
                    head.insert("limits".to_owned(), limits(&view.facts).into());
                }
                sections_of_vhost(broker, name)
            }
        };
        let mut before = Value::Object(head).to_string().into_bytes();
        // The sections follow as further members.
        before.pop();
        Export { before, sections: sections.into_iter(), current: None, is_first: true, is_ended: false }
    }
}

impl Pieces for Export {
    fn write_next(&mut self, out: &mut Vec<u8>) -> bool {
        out.append(&mut self.before);
        while out.len() < PIECE_LEN {
            if let Some(entry) = self.current.as_mut().and_then(Iterator::next) {
                if !std::mem::replace(&mut self.is_first, false) {
                    out.push(b',');
                }
                Writer::new(out).value(&entry);
                continue;
            }
            if self.current.take().is_some() {
                out.push(b']');
            }
            let Some((name, entries)) = self.sections.next() else {
                if !std::mem::replace(&mut self.is_ended, true) {
                    out.push(b'}');
                }
                return false;
            };
            out.push(b',');
            write_text(out, name);
            out.extend_from_slice(b":[");
            self.current = Some(entries);
            self.is_first = true;
        }
        true
    }
}

fn boxed(entries: impl Iterator<Item = Value> + Send + 'static) -> Entries {
    Box::new(entries)
}

fn sections_of_broker(broker: &Arc<Broker>) -> Vec<(&'static str, Entries)> {
    let vhosts = broker.vhost_views();
    let names: Vec<String> = vhosts.iter().map(|view| view.facts.name.to_string()).collect();
    let [of_vhosts, of_queues, of_exchanges, of_bindings] = std::array::from_fn(|_| Arc::clone(broker));
    let parameters: Vec<Value> = broker
        .policies(PolicyKind::Operator)
        .iter()
        .map(|policy| in_vhost(operator_policy(policy), policy.vhost.as_str()))
        .chain(
            vhosts.iter().filter_map(|view| Some(in_vhost(limits_parameter(&view.facts)?, view.facts.name.as_str()))),
        )
        .chain(
            broker
                .vhost_parameters(None, None)
                .into_iter()
                .map(|parameter| in_vhost(vhost_parameter(&parameter), parameter.vhost.as_str())),
        )
        .collect();
    let (queue_vhosts, exchange_vhosts) = (names.clone(), names.clone());
    vec![
        ("users", boxed(broker.users().into_iter().map(|user| of_user(&user)))),
        ("vhosts", boxed(vhosts.into_iter().map(move |view| vhost(&of_vhosts, &view.facts)))),
        (
            "permissions",
            boxed(broker.permissions().into_iter().map(|given| {
                json!({
                    "user": given.user.as_str(),
                    "vhost": given.vhost.as_str(),
                    "configure": given.permission.configure.as_str(),
                    "write": given.permission.write.as_str(),
                    "read": given.permission.read.as_str(),
                })
            })),
        ),
        (
            "topic_permissions",
            boxed(broker.topic_permissions().into_iter().map(|given| {
                json!({
                    "user": given.user.as_str(),
                    "vhost": given.vhost.as_str(),
                    "exchange": given.exchange.as_str(),
                    "write": given.write(),
                    "read": given.read(),
                })
            })),
        ),
        ("parameters", boxed(parameters.into_iter())),
        (
            "global_parameters",
            boxed(
                broker
                    .global_parameters()
                    .into_iter()
                    .filter(is_exported)
                    .map(|parameter| json!({"name": parameter.name, "value": parameter.value})),
            ),
        ),
        (
            "policies",
            boxed(
                broker
                    .policies(PolicyKind::User)
                    .into_iter()
                    .map(|policy| in_vhost(of_policy(&policy), policy.vhost.as_str())),
            ),
        ),
        (
            "queues",
            boxed(
                queue_vhosts
                    .into_iter()
                    .flat_map(move |name| queues(&of_queues, &name).map(move |queue| in_vhost(queue, &name))),
            ),
        ),
        (
            "exchanges",
            boxed(
                exchange_vhosts.into_iter().flat_map(move |name| {
                    exchanges(&of_exchanges, &name).map(move |exchange| in_vhost(exchange, &name))
                }),
            ),
        ),
        (
            "bindings",
            boxed(
                names
                    .into_iter()
                    .flat_map(move |name| bindings(&of_bindings, &name).map(move |binding| in_vhost(binding, &name))),
            ),
        ),
    ]
}

fn sections_of_vhost(broker: &Arc<Broker>, name: &str) -> Vec<(&'static str, Entries)> {
    let of_vhost = |kind| {
        let mut policies = broker.policies(kind);
        policies.retain(|policy| policy.vhost.as_str() == name);
        policies
    };
    let limits = broker.vhost_view(name).and_then(|view| limits_parameter(&view.facts));
    let own = broker.vhost_parameters(None, Some(name));
    let policies = of_vhost(PolicyKind::Operator);
    let policies = policies.iter().map(|policy| operator_policy(policy));
    let parameters: Vec<Value> = policies.chain(limits).chain(own.iter().map(vhost_parameter)).collect();
    vec![
        ("parameters", boxed(parameters.into_iter())),
        ("policies", boxed(of_vhost(PolicyKind::User).into_iter().map(|policy| of_policy(&policy)))),
        ("queues", boxed(queues(broker, name))),
        ("exchanges", boxed(exchanges(broker, name))),
        ("bindings", boxed(bindings(broker, name))),
    ]
}

/// An entry of the whole broker names its vhost.
fn in_vhost(mut entry: Value, vhost: &str) -> Value {
    if let Some(members) = entry.as_object_mut() {
        members.insert("vhost".to_owned(), vhost.into());
    }
    entry
}

/// What tells this cluster from all others stays here.
fn is_exported(parameter: &GlobalParameter) -> bool {
    &*parameter.name != GlobalParameter::CLUSTER_ID
}

fn of_user(user: &User) -> Value {
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

fn metadata(broker: &Broker, vhost: &Vhost) -> Value {
    let mut metadata = json!({
        "description": vhost.metadata.description,
        "tags": vhost.metadata.tags,
        "default_queue_type": broker.default_queue_type(vhost).name(),
    });
    if vhost.is_protected {
        metadata["protected_from_deletion"] = true.into();
    }
    metadata
}

fn limits(vhost: &Vhost) -> Map<String, Value> {
    vhost.limits.iter().map(|(name, value)| (name.to_owned(), value.into())).collect()
}

fn vhost(broker: &Broker, vhost: &Vhost) -> Value {
    json!({"name": vhost.name.as_str(), "metadata": metadata(broker, vhost), "limits": limits(vhost)})
}

fn limits_parameter(vhost: &Vhost) -> Option<Value> {
    let limits = limits(vhost);
    let is_set = !limits.is_empty();
    is_set.then(|| json!({"component": VHOST_LIMITS, "name": VHOST_LIMITS_NAME, "value": limits}))
}

/// With the passwords of its URIs, as RabbitMQ exports it: without them it would not work where it is imported.
fn vhost_parameter(parameter: &VhostParameter) -> Value {
    json!({"component": parameter.component, "name": parameter.name, "value": parameter.value})
}

fn of_policy(policy: &Policy) -> Value {
    json!({
        "name": policy.name,
        "pattern": policy.pattern.as_str(),
        "apply-to": policy.apply_to.name(),
        "definition": policy.definition.settings(),
        "priority": policy.priority,
    })
}

fn operator_policy(policy: &Policy) -> Value {
    let mut value = of_policy(policy);
    let name = value.as_object_mut().and_then(|members| members.remove("name"));
    json!({"component": "operator_policy", "name": name, "value": value})
}

fn queues(broker: &Broker, vhost: &str) -> impl Iterator<Item = Value> + Send + 'static + use<> {
    broker.queue_views(vhost).into_iter().filter(is_defined_queue).map(|view| {
        let definition = view.definition();
        json!({
            "name": definition.name.as_str(),
            "type": definition.arguments.queue_type().name(),
            "durable": definition.is_durable,
            "auto_delete": definition.is_auto_delete,
            "arguments": readable(arguments(&view)),
        })
    })
}

fn exchanges(broker: &Broker, vhost: &str) -> impl Iterator<Item = Value> + Send + 'static + use<> {
    broker.exchange_views(vhost).into_iter().filter(is_defined_exchange).map(|view| {
        let definition = &view.definition;
        json!({
            "name": definition.name.as_str(),
            "type": definition.exchange_type.name(),
            "durable": definition.is_durable,
            "auto_delete": definition.is_auto_delete,
            "arguments": readable(from_table(definition.arguments.table())),
        })
    })
}

/// Arguments as they are once they have been read again: very large timestamps become floats. Without the fields that cannot be
/// read: names of bytes that are no text can become too long when they are written.
fn readable(arguments: Map<String, Value>) -> Map<String, Value> {
    let read = |arguments: &Map<String, Value>| to_table(arguments).map(|table| from_table(table.as_table()));
    read(&arguments).unwrap_or_else(|_| {
        let fields = arguments.into_iter().map(|field| Map::from_iter([field]));
        fields.filter_map(|field| read(&field).ok()).flatten().collect()
    })
}

/// Bindings that were made, between ends that are exported, too, or that are in every vhost.
fn bindings(broker: &Broker, vhost: &str) -> impl Iterator<Item = Value> + Send + 'static + use<> {
    let hidden = HiddenEnds::of(broker, vhost);
    let views = broker.binding_views(vhost, BindingFilter::All).into_iter();
    views.filter(move |view| hidden.identity(view).is_some()).map(|view| {
        let (kind, name) = match &view.destination {
            BindingEndView::Queue(name) => ("queue", name),
            BindingEndView::Exchange(name) => ("exchange", name),
        };
        json!({
            "source": view.source,
            "destination": name,
            "destination_type": kind,
            "routing_key": String::from_utf8_lossy(&view.routing_key),
            "arguments": readable(from_table(view.arguments.as_table())),
        })
    })
}
