//! What a document and the broker differ in: what an import would add and change, and what only the broker has. Nothing is changed.
//!
//! A value that the document leaves out stays as it is, so it is no difference. Of secrets only that they differ is
//! shown.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use amqp::table::Table;
use broker::view::BindingFilter;
use broker::{Actor, Broker};
use definitions::export::vhost_limits;
use definitions::{
    Definitions, DefinitionsError, Difference, PasswordChange, PolicyRequest, Scope, UserRequest, VhostEntry,
};
use model::json::from_table;
use model::name::VhostName;
use model::parameter::{GlobalParameter, VhostParameter, without_passwords};
use model::policy::{Policy, PolicyKind};
use model::user::{PasswordHash, User};
use model::vhost::VhostLimits;
use serde_json::{Map, Value};

use super::binding::BindingIdentity;
use super::prune::prune;

/// What is said of a secret.
const DIFFERS: &str = "differs";

/// Compares a document, which passes [`check`](super::check()), with the broker.
pub(crate) fn diff(
    broker: &Arc<Broker>,
    actor: &Actor,
    definitions: &Definitions,
    scope: Scope<'_>,
) -> Result<Difference, DefinitionsError> {
    let mut found = Difference::default();
    users(broker, definitions, &mut found);
    vhosts(broker, definitions, &mut found);
    permissions(broker, definitions, &mut found);
    global_parameters(broker, definitions, &mut found);
    vhost_parameters(broker, definitions, &mut found);
    policies(broker, definitions, &mut found);
    exchanges(broker, definitions, &mut found);
    queues(broker, definitions, &mut found);
    bindings(broker, definitions, &mut found);
    // What would go if what the document does not have were deleted; what would be spared is missing in it, too.
    let pruned = prune(broker, actor, definitions, scope, true)?;
    for (kind, names) in pruned.deleted {
        names.into_iter().for_each(|name| found.missing.entry(kind).or_default().push(name));
    }
    for (kind, names) in pruned.spared {
        let name = |text: String| text.rsplit_once(": it ").map_or(text.clone(), |(name, _)| name.to_owned());
        names.into_iter().for_each(|text| found.missing.entry(kind).or_default().push(name(text)));
    }
    Ok(found)
}

fn members<const N: usize>(pairs: [(&str, Value); N]) -> Map<String, Value> {
    pairs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

fn users(broker: &Broker, definitions: &Definitions, found: &mut Difference) {
    for request in definitions.users.iter().flatten() {
        let user = broker.user(request.name.as_str());
        let from = user.as_ref().map(|user| {
            let limits: Map<String, Value> =
                user.limits.iter().map(|(name, value)| (name.to_owned(), value.into())).collect();
            members([("tags", tags(user)), ("limits", limits.into())])
        });
        let mut to = members([
            ("tags", request.tags.as_ref().map_or(Value::Null, |tags| tags.iter().collect::<Vec<_>>().into())),
            (
                "limits",
                request.limits.as_ref().map_or(Value::Null, |limits| {
                    limits
                        .iter()
                        .map(|(name, value)| (name.to_owned(), Value::from(value)))
                        .collect::<Map<_, _>>()
                        .into()
                }),
            ),
        ]);
        if user.as_ref().is_some_and(|user| has_other_password(user, request)) {
            to.insert("password_hash".to_owned(), DIFFERS.into());
        }
        found.note("users", request.name.to_string(), from, to);
    }
}

fn tags(user: &User) -> Value {
    user.tags.iter().collect::<Vec<_>>().into()
}

fn has_other_password(user: &User, request: &UserRequest) -> bool {
    let differs = |change: &PasswordChange, own: &Option<PasswordHash>| match change {
        PasswordChange::Keep => false,
        PasswordChange::Clear => own.is_some(),
        PasswordChange::Hash(hash) => own.as_ref() != Some(hash),
        PasswordChange::Plain(password) => !own.as_ref().is_some_and(|own| own.verify(password.as_bytes())),
    };
    differs(&request.password, &user.password_hash) || differs(&request.second_password, &user.second_password_hash)
}

fn vhosts(broker: &Broker, definitions: &Definitions, found: &mut Difference) {
    for entry in definitions.vhosts.iter().flatten() {
        let VhostEntry { request, limits: wanted } = &**entry;
        let from = broker.vhost_view(request.name.as_str()).map(|view| {
            members([
                ("description", (&*view.facts.metadata.description).into()),
                ("tags", view.facts.metadata.tags.iter().map(ToString::to_string).collect::<Vec<_>>().into()),
                ("default_queue_type", broker.default_queue_type(&view.facts).name().into()),
                ("protected_from_deletion", view.facts.is_protected.into()),
                ("limits", vhost_limits(&view.facts.limits).into()),
            ])
        });
        let to = members([
            ("description", request.description.clone().map_or(Value::Null, Value::from)),
            ("tags", request.tags.clone().map_or(Value::Null, Value::from)),
            ("default_queue_type", request.default_queue_type.clone().map_or(Value::Null, Value::from)),
            ("protected_from_deletion", request.is_protected.map_or(Value::Null, Value::from)),
            ("limits", wanted.as_ref().map_or(Value::Null, |limits| vhost_limits(limits).into())),
        ]);
        found.note("vhosts", request.name.to_string(), from, to);
    }
    for entry in &definitions.limits {
        let (vhost, wanted) = &**entry;
        let view = broker.vhost_view(vhost.as_str()).filter(|view| view.facts.limits != VhostLimits::default());
        let from = view.map(|view| members([("value", vhost_limits(&view.facts.limits).into())]));
        found.note("vhost_limits", vhost.to_string(), from, members([("value", vhost_limits(wanted).into())]));
    }
}

fn permissions(broker: &Broker, definitions: &Definitions, found: &mut Difference) {
    if let Some(wanted) = &definitions.permissions {
        let patterns = |given: &model::user::Permission| {
            let [configure, write, read] =
                [&given.configure, &given.write, &given.read].map(|pattern| Value::from(pattern.as_str()));
            members([("configure", configure), ("write", write), ("read", read)])
        };
        let given = broker.permissions();
        let own: HashMap<_, _> =
            given.iter().map(|given| ((given.vhost.as_str(), given.user.as_str()), &given.permission)).collect();
        for entry in wanted {
            let from = own.get(&(entry.vhost.as_str(), entry.user.as_str())).map(|own| patterns(own));
            found.note("permissions", format!("{}: {}", entry.vhost, entry.user), from, patterns(&entry.permission));
        }
    }
    let Some(wanted) = &definitions.topic_permissions else { return };
    let given = broker.topic_permissions();
    let own: HashMap<_, _> =
        given.iter().map(|own| ((own.vhost.as_str(), own.user.as_str(), own.exchange.as_str()), own)).collect();
    for entry in wanted {
        let patterns = |given: &model::user::TopicPermission| {
            members([("write", given.write().into()), ("read", given.read().into())])
        };
        let from = own.get(&(entry.vhost.as_str(), entry.user.as_str(), entry.exchange.as_str()));
        let name = format!("{}: {} on {}", entry.vhost, entry.user, entry.exchange);
        found.note("topic_permissions", name, from.map(|own| patterns(own)), patterns(entry));
    }
}

fn global_parameters(broker: &Broker, definitions: &Definitions, found: &mut Difference) {
    for entry in definitions.global_parameters.iter().flatten() {
        let own = broker.global_parameter(&entry.name);
        let (mut from, mut to) = (own.map(|own| members([("value", own)])), members([("value", entry.value.clone())]));
        if GlobalParameter::may_be_secret(&entry.name) {
            let is_same = from.as_ref() == Some(&to);
            from = from.map(|_| Map::new());
            to = if is_same { Map::new() } else { members([("value", DIFFERS.into())]) };
        }
        found.note("global_parameters", entry.name.to_string(), from, to);
    }
}

/// Passwords of URIs are not shown; where nothing else differs, only that they do is.
fn vhost_parameters(broker: &Broker, definitions: &Definitions, found: &mut Difference) {
    for entry in definitions.vhost_parameters.iter().flatten() {
        let VhostParameter { vhost, component, name, value } = &**entry;
        let own = broker.vhost_parameter(vhost.as_str(), component, name);
        let shown = |value: &Value| members([("value", without_passwords(value))]);
        let from = own.as_ref().map(|own| shown(&own.value));
        let mut to = shown(value);
        if from.as_ref() == Some(&to) && own.is_some_and(|own| own.value != *value) {
            to = members([("value", DIFFERS.into())]);
        }
        found.note("parameters", format!("{vhost}: {component} {name}"), from, to);
    }
}

fn policies(broker: &Broker, definitions: &Definitions, found: &mut Difference) {
    let kinds = [
        (PolicyKind::User, "policies", &definitions.policies),
        (PolicyKind::Operator, "operator_policies", &definitions.operator_policies),
    ];
    for (kind, title, wanted) in kinds {
        let Some(wanted) = wanted else { continue };
        let policies = broker.policies(kind);
        let own: HashMap<_, _> =
            policies.iter().map(|policy| ((policy.vhost.as_str(), &*policy.name), policy)).collect();
        for entry in wanted {
            let PolicyRequest { vhost, name, pattern, apply_to, priority, definition, .. } = &**entry;
            let from = own.get(&(vhost.as_str(), &**name)).map(|own| of_policy(own));
            let to = members([
                ("pattern", (&**pattern).into()),
                ("apply-to", apply_to.name().into()),
                ("priority", (*priority).into()),
                ("definition", definition.clone().into()),
            ]);
            found.note(title, format!("{vhost}: {name}"), from, to);
        }
    }
}

fn of_policy(policy: &Policy) -> Map<String, Value> {
    members([
        ("pattern", policy.pattern.as_str().into()),
        ("apply-to", policy.apply_to.name().into()),
        ("priority", policy.priority.into()),
        ("definition", policy.definition.settings().clone().into()),
    ])
}

fn exchanges(broker: &Broker, definitions: &Definitions, found: &mut Difference) {
    for entry in definitions.exchanges.iter().flatten().filter(|entry| !entry.is_reserved()) {
        let from = broker.exchange_view(entry.vhost.as_str(), entry.name.as_str()).map(|view| {
            let own = &view.definition;
            members([
                ("type", own.exchange_type.name().into()),
                ("durable", own.is_durable.into()),
                ("auto_delete", own.is_auto_delete.into()),
                ("internal", own.is_internal.into()),
                ("arguments", from_table(own.arguments.table()).into()),
            ])
        });
        let to = members([
            ("type", (&*entry.kind).into()),
            ("durable", entry.is_durable.into()),
            ("auto_delete", entry.is_auto_delete.into()),
            ("internal", entry.is_internal.into()),
            ("arguments", from_table(entry.arguments.as_table()).into()),
        ]);
        found.note("exchanges", format!("{}: {}", entry.vhost, entry.name), from, to);
    }
}

/// The name of a queue's type among its arguments.
const TYPE: &str = "x-queue-type";

fn queues(broker: &Broker, definitions: &Definitions, found: &mut Difference) {
    let mut default_types: HashMap<VhostName, &'static str> = HashMap::new();
    for entry in definitions.queues.iter().flatten() {
        let default_type = *default_types
            .entry(entry.vhost.clone())
            .or_insert_with(|| broker.default_queue_type_in(entry.vhost.as_str()).name());
        let from = broker.queue_view(entry.vhost.as_str(), entry.name.as_str()).map(|view| {
            let own = view.definition();
            let queue_type = own.arguments.queue_type().name();
            queue(own.is_durable, own.is_auto_delete, own.arguments.table(), queue_type)
        });
        let to = queue(entry.is_durable, entry.is_auto_delete, entry.arguments.as_table(), default_type);
        found.note("queues", format!("{}: {}", entry.vhost, entry.name), from, to);
    }
}

fn queue(is_durable: bool, is_auto_delete: bool, arguments: Table<'_>, queue_type: &str) -> Map<String, Value> {
    let mut arguments = from_table(arguments);
    let queue_type = arguments.remove(TYPE).unwrap_or_else(|| queue_type.into());
    members([
        ("type", queue_type),
        ("durable", is_durable.into()),
        ("auto_delete", is_auto_delete.into()),
        ("arguments", arguments.into()),
    ])
}

/// A binding exists or not: all its properties distinguish it from others.
fn bindings(broker: &Broker, definitions: &Definitions, found: &mut Difference) {
    let mut own: HashMap<&VhostName, HashSet<BindingIdentity>> = HashMap::new();
    for entry in definitions.bindings.iter().flatten() {
        let of_vhost = own.entry(&entry.vhost).or_insert_with(|| {
            let views = broker.binding_views(entry.vhost.as_str(), BindingFilter::All);
            views.iter().filter_map(BindingIdentity::of_view).collect()
        });
        let from = of_vhost.contains(&BindingIdentity::of_entry(entry)).then(Map::new);
        let destination = entry.destination.name();
        let name = format!("{}: {} to {destination} by {}", entry.vhost, entry.source, entry.routing_key);
        found.note("bindings", name, from, Map::new());
    }
}
