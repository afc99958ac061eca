//! Exporting: one document of everything, or of one vhost, made piece by piece.

use std::sync::Arc;

use broker::Broker;
use broker::view::{BindingEndView, BindingFilter};
use definitions::Scope;
use definitions::export::{self, in_vhost};
use http_server::{PIECE_LEN, Pieces};
use model::json::from_table;
use model::policy::PolicyKind;
use serde_json::{Map, Value, json};

use super::hidden::{HiddenEnds, is_defined_exchange, is_defined_queue};
use crate::json::{Writer, write_text};
use crate::options::Options;
use crate::routes::queue_rows;

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
                sections(&export::OF_BROKER, |list| of_broker(broker, list))
            }
            Scope::Vhost(name) => {
                head.insert("rabbitmq_definition_format".to_owned(), "single_virtual_host".into());
                head.insert("explanation".to_owned(), format!("Definitions of virtual host '{name}'").into());
                head.insert("original_vhost_name".to_owned(), name.into());
                if let Some(view) = broker.vhost_view(name) {
                    head.insert("description".to_owned(), (&*view.facts.metadata.description).into());
                    let metadata = export::vhost_metadata(&view.facts, broker.default_queue_type(&view.facts));
                    head.insert("metadata".to_owned(), metadata);
                    head.insert("limits".to_owned(), export::vhost_limits(&view.facts.limits).into());
                }
                sections(&export::OF_VHOST, |list| of_vhost(broker, list, name))
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

fn sections(lists: &[&'static str], entries: impl Fn(&'static str) -> Entries) -> Vec<(&'static str, Entries)> {
    lists.iter().map(|list| (*list, entries(list))).collect()
}

fn boxed(entries: impl Iterator<Item = Value> + Send + 'static) -> Entries {
    Box::new(entries)
}

/// A list of the whole broker's document. What may be many is looked up a vhost after the other.
fn of_broker(broker: &Arc<Broker>, list: &'static str) -> Entries {
    let vhosts = || broker.vhost_views().into_iter();
    match list {
        "users" => boxed(broker.users().into_iter().map(|user| export::user(&user))),
        "vhosts" => {
            let of_vhosts = broker.clone();
            boxed(vhosts().map(move |view| export::vhost(&view.facts, of_vhosts.default_queue_type(&view.facts))))
        }
        "permissions" => boxed(broker.permissions().into_iter().map(|given| export::permission(&given))),
        "topic_permissions" => {
            boxed(broker.topic_permissions().into_iter().map(|given| export::topic_permission(&given)))
        }
        "global_parameters" => {
            boxed(broker.global_parameters().into_iter().filter_map(|parameter| export::global_parameter(&parameter)))
        }
        "parameters" => {
            let policies = broker.policies(PolicyKind::Operator).into_iter();
            let policies = policies.map(|policy| in_vhost(export::operator_policy(&policy), policy.vhost.as_str()));
            let limits = vhosts()
                .filter_map(|view| Some(in_vhost(export::limits_parameter(&view.facts)?, view.facts.name.as_str())));
            let own = broker.vhost_parameters(None, None).into_iter();
            let own = own.map(|own| in_vhost(export::vhost_parameter(&own), own.vhost.as_str()));
            boxed(policies.chain(limits).chain(own))
        }
        "policies" => {
            let policies = broker.policies(PolicyKind::User).into_iter();
            boxed(policies.map(|policy| in_vhost(export::policy(&policy), policy.vhost.as_str())))
        }
        of_vhosts => {
            let own = broker.clone();
            let names = vhosts().map(|view| view.facts.name.to_string()).collect::<Vec<_>>().into_iter();
            boxed(names.flat_map(move |name| of_vhost(&own, of_vhosts, &name).map(move |entry| in_vhost(entry, &name))))
        }
    }
}

/// A list of a vhost's document.
fn of_vhost(broker: &Arc<Broker>, list: &'static str, name: &str) -> Entries {
    let policies = |kind| {
        let mut policies = broker.policies(kind);
        policies.retain(|policy| policy.vhost.as_str() == name);
        policies.into_iter()
    };
    match list {
        "parameters" => {
            let limits = broker.vhost_view(name).and_then(|view| export::limits_parameter(&view.facts));
            let own = broker.vhost_parameters(None, Some(name)).into_iter();
            let policies = policies(PolicyKind::Operator).map(|policy| export::operator_policy(&policy));
            boxed(policies.chain(limits).chain(own.map(|own| export::vhost_parameter(&own))))
        }
        "policies" => boxed(policies(PolicyKind::User).map(|policy| export::policy(&policy))),
        "queues" => boxed(queues(broker, name)),
        "exchanges" => boxed(exchanges(broker, name)),
        _ => boxed(bindings(broker, name)),
    }
}

fn queues(broker: &Broker, vhost: &str) -> impl Iterator<Item = Value> + Send + 'static + use<> {
    broker.queue_views(vhost).into_iter().filter(is_defined_queue).map(|view| {
        let definition = view.definition();
        json!({
            "name": definition.name.as_str(),
            "type": definition.arguments.queue_type().name(),
            "durable": definition.is_durable,
            "auto_delete": definition.is_auto_delete,
            "arguments": export::arguments(queue_rows::arguments(&view)),
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
            "arguments": export::arguments(from_table(definition.arguments.table())),
        })
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
            "arguments": export::arguments(from_table(view.arguments.as_table())),
        })
    })
}
