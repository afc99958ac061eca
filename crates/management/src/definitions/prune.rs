//! Pruning: deleting what a document does not have, so that what is there is what it says.
//!
//! Only of kinds that the document mentions at all, and never whoever asks, users and vhosts that are protected, and what
//! belongs to a connection or to every vhost.

use std::collections::HashSet;
use std::sync::Arc;

use broker::view::{BindingEndView, BindingFilter};
use broker::{Actor, BindingEnd, BindingRequest, Broker, Changed};
use model::ids::JournalPosition;
use model::name::{ExchangeName, QueueName, VhostName};
use model::policy::PolicyKind;

use super::export::{is_defined_exchange, is_defined_queue};
use super::import::Rooms;
use super::parse::{Definitions, EndEntry};
use super::{DefinitionsError, Scope};

/// What pruning deletes, by kind; each as its name, with its vhost in front of it where it has one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pruned {
    /// The kind, and what of it.
    pub deleted: Vec<(&'static str, Vec<String>)>,
    /// When all of it lasts.
    pub position: Option<JournalPosition>,
}

impl Pruned {
    fn note(&mut self, kind: &'static str, what: String) {
        match self.deleted.iter_mut().find(|(own, _)| *own == kind) {
            Some((_, names)) => names.push(what),
            None => self.deleted.push((kind, vec![what])),
        }
    }
}

/// Deletes what a document does not have; or only tells what it would delete.
pub fn prune(
    broker: &Arc<Broker>,
    actor: &Actor,
    definitions: &Definitions,
    scope: Scope<'_>,
    is_dry_run: bool,
) -> Result<Pruned, DefinitionsError> {
    let mut pruning =
        Pruning { broker, actor, is_dry_run, rooms: Rooms::new(broker, actor), pruned: Pruned::default() };
    let vhosts = pruning.vhosts(definitions, scope)?;
    for vhost in &vhosts {
        pruning.bindings(definitions, vhost)?;
        pruning.queues(definitions, vhost)?;
        pruning.exchanges(definitions, vhost)?;
        pruning.policies(definitions, vhost)?;
    }
    if scope == Scope::Broker {
        pruning.permissions(definitions)?;
        pruning.users(definitions)?;
    }
    Ok(pruning.pruned)
}

struct Pruning<'a> {
    broker: &'a Arc<Broker>,
    actor: &'a Actor,
    is_dry_run: bool,
    rooms: Rooms<'a>,
    pruned: Pruned,
}

fn refused(error: impl ToString) -> DefinitionsError {
    DefinitionsError(error.to_string())
}

impl Pruning<'_> {
    fn delete(
        &mut self,
        kind: &'static str,
        what: String,
        delete: impl FnOnce(&mut Self) -> Result<Changed, DefinitionsError>,
    ) -> Result<(), DefinitionsError> {
        if !self.is_dry_run {
            let changed = delete(self)?;
            self.pruned.position = self.pruned.position.max(changed.position);
        }
        self.pruned.note(kind, what);
        Ok(())
    }

    /// Deletes vhosts that the document does not have, and says which are left to look into.
    fn vhosts(&mut self, definitions: &Definitions, scope: Scope<'_>) -> Result<Vec<VhostName>, DefinitionsError> {
        let mut names = self.broker.vhost_names();
        if let Scope::Vhost(only) = scope {
            names.retain(|name| name.as_str() == only);
            return Ok(names);
        }
        let Some(wanted) = &definitions.vhosts else { return Ok(names) };
        let is_wanted = |name: &VhostName| wanted.iter().any(|entry| entry.request.name == *name);
        let (kept, gone): (Vec<_>, Vec<_>) = names.into_iter().partition(is_wanted);
        for name in gone {
            if self.broker.vhost_view(name.as_str()).is_none_or(|view| view.facts.is_protected) {
                continue;
            }
            self.delete("vhosts", name.to_string(), |own| {
                own.broker.delete_vhost(own.actor, name.as_str()).map_err(refused)
            })?;
        }
        Ok(kept)
    }

    fn bindings(&mut self, definitions: &Definitions, vhost: &VhostName) -> Result<(), DefinitionsError> {
        let Some(wanted) = &definitions.bindings else { return Ok(()) };
        let key = |source: &str, is_queue: bool, name: &str, routing_key: &[u8], arguments: &[u8]| {
            (source.to_owned(), is_queue, name.to_owned(), routing_key.to_vec(), arguments.to_vec())
        };
        let wanted: HashSet<_> = wanted
            .iter()
            .filter(|entry| entry.vhost == *vhost)
            .map(|entry| {
                let (is_queue, name) = match &entry.destination {
                    EndEntry::Queue(name) => (true, name.as_str()),
                    EndEntry::Exchange(name) => (false, name.as_str()),
                };
                let arguments = sorted(&entry.arguments);
                key(entry.source.as_str(), is_queue, name, entry.routing_key.as_bytes(), &arguments)
            })
            .collect();
        for view in self.broker.binding_views(vhost.as_str(), BindingFilter::All) {
            let (is_queue, name) = match &view.destination {
                BindingEndView::Queue(name) => (true, name.as_str()),
                BindingEndView::Exchange(name) => (false, name.as_str()),
            };
            let own = key(&view.source, is_queue, name, &view.routing_key, &sorted(&view.arguments));
            if view.source.is_empty() || wanted.contains(&own) || self.is_exclusive(vhost, is_queue, name) {
                continue;
            }
            let what = format!("{vhost}: {} to {name} by {}", view.source, String::from_utf8_lossy(&view.routing_key));
            self.delete("bindings", what, |own| {
                let source = ExchangeName::parse(view.source.as_bytes()).map_err(refused)?;
                let queue = QueueName::parse(name.as_bytes()).map_err(refused)?;
                let exchange = ExchangeName::parse(name.as_bytes()).map_err(refused)?;
                let destination = if is_queue { BindingEnd::Queue(&queue) } else { BindingEnd::Exchange(&exchange) };
                let request = BindingRequest {
                    source: &source,
                    destination,
                    routing_key: &view.routing_key,
                    arguments: view.arguments.as_table(),
                };
                own.rooms.enter(vhost)?.unbind(&request).map_err(|refusal| refused(refusal.text))
            })?;
        }
        Ok(())
    }

    fn is_exclusive(&self, vhost: &VhostName, is_queue: bool, name: &str) -> bool {
        is_queue && self.broker.queue_view(vhost.as_str(), name).is_some_and(|view| !is_defined_queue(&view))
    }

    fn queues(&mut self, definitions: &Definitions, vhost: &VhostName) -> Result<(), DefinitionsError> {
        let Some(wanted) = &definitions.queues else { return Ok(()) };
        let wanted: HashSet<&str> =
            wanted.iter().filter(|entry| entry.vhost == *vhost).map(|entry| entry.name.as_str()).collect();
        for view in self.broker.queue_views(vhost.as_str()) {
            let name = view.definition().name.clone();
            if !is_defined_queue(&view) || wanted.contains(name.as_str()) {
                continue;
            }
            self.delete("queues", format!("{vhost}: {name}"), |own| {
                let deleted = own.rooms.enter(vhost)?.delete_queue(&name, false, false);
                deleted.map_err(|refusal| refused(refusal.text))
            })?;
        }
        Ok(())
    }

    fn exchanges(&mut self, definitions: &Definitions, vhost: &VhostName) -> Result<(), DefinitionsError> {
        let Some(wanted) = &definitions.exchanges else { return Ok(()) };
        let wanted: HashSet<&str> =
            wanted.iter().filter(|entry| entry.vhost == *vhost).map(|entry| entry.name.as_str()).collect();
        for view in self.broker.exchange_views(vhost.as_str()) {
            let name = view.definition.name.clone();
            if !is_defined_exchange(&view) || wanted.contains(name.as_str()) {
                continue;
            }
            self.delete("exchanges", format!("{vhost}: {name}"), |own| {
                let deleted = own.rooms.enter(vhost)?.delete_exchange(&name, false);
                deleted.map_err(|refusal| refused(refusal.text))
            })?;
        }
        Ok(())
    }

    fn policies(&mut self, definitions: &Definitions, vhost: &VhostName) -> Result<(), DefinitionsError> {
        let kinds = [
            (PolicyKind::User, "policies", &definitions.policies),
            (PolicyKind::Operator, "operator_policies", &definitions.operator_policies),
        ];
        for (kind, title, wanted) in kinds {
            let Some(wanted) = wanted else { continue };
            for policy in self.broker.policies(kind).into_iter().filter(|policy| policy.vhost == *vhost) {
                if wanted.iter().any(|request| request.vhost == *vhost && *request.name == *policy.name) {
                    continue;
                }
                self.delete(title, format!("{vhost}: {}", policy.name), |own| {
                    own.broker.delete_policy(own.actor, kind, vhost.as_str(), &policy.name).map_err(refused)
                })?;
            }
        }
        Ok(())
    }

    fn permissions(&mut self, definitions: &Definitions) -> Result<(), DefinitionsError> {
        if let Some(wanted) = &definitions.permissions {
            for given in self.broker.permissions() {
                let is_wanted = wanted.iter().any(|other| other.user == given.user && other.vhost == given.vhost);
                if is_wanted || self.is_kept(given.user.as_str()) {
                    continue;
                }
                self.delete("permissions", format!("{}: {}", given.vhost, given.user), |own| {
                    let deleted = own.broker.delete_permission(own.actor, given.user.as_str(), given.vhost.as_str());
                    deleted.map_err(refused)
                })?;
            }
        }
        let Some(wanted) = &definitions.topic_permissions else { return Ok(()) };
        for given in self.broker.topic_permissions() {
            let is_same = |other: &model::user::TopicPermission| {
                (&other.user, &other.vhost, &other.exchange) == (&given.user, &given.vhost, &given.exchange)
            };
            if wanted.iter().any(is_same) || self.is_kept(given.user.as_str()) {
                continue;
            }
            let what = format!("{}: {} on {}", given.vhost, given.user, given.exchange);
            self.delete("topic_permissions", what, |own| {
                let (user, vhost, exchange) = (given.user.as_str(), given.vhost.as_str(), given.exchange.as_str());
                own.broker.delete_topic_permissions(own.actor, user, vhost, Some(exchange)).map_err(refused)
            })?;
        }
        Ok(())
    }

    fn users(&mut self, definitions: &Definitions) -> Result<(), DefinitionsError> {
        let Some(wanted) = &definitions.users else { return Ok(()) };
        for user in self.broker.users() {
            if wanted.iter().any(|request| request.name == user.name) || self.is_kept(user.name.as_str()) {
                continue;
            }
            self.delete("users", user.name.to_string(), |own| {
                own.broker.delete_user(own.actor, user.name.as_str()).map_err(refused)
            })?;
        }
        Ok(())
    }

    /// Whoever asks stays, and so do users that are protected.
    fn is_kept(&self, user: &str) -> bool {
        self.actor.identity.name() == user || self.broker.user(user).is_some_and(|user| user.tags.has("protected"))
    }
}

/// The bytes of a table whatever the order of its fields.
fn sorted(table: &amqp::table::TableBuf) -> Vec<u8> {
    let mut fields: Vec<Vec<u8>> = table
        .as_table()
        .iter()
        .map(|(name, value)| {
            let mut bytes = name.to_vec();
            bytes.push(0);
            value.encode(&mut bytes);
            bytes
        })
        .collect();
    fields.sort_unstable();
    fields.concat()
}
