//! The definitions of a broker that runs, as another broker can import them.

use std::collections::HashSet;

use model::name::RESERVED_PREFIX;
use serde_json::{Map, Value, json};

use crate::comparison::{Name, has_ends, name_of, retain_bindings_with_ends};
use crate::names::Names;

/// What it takes to define an exchange.
const EXCHANGE_MEMBERS: [&str; 7] = ["vhost", "name", "type", "durable", "auto_delete", "internal", "arguments"];

/// The list of exchanges, below `/api/`.
pub const EXCHANGES: &str = "exchanges?columns=vhost,name,type,durable,auto_delete,internal,arguments";

/// A document of a whole broker, with the internal exchanges of its list ([`EXCHANGES`]): RabbitMQ 4 exports none, but does the
/// bindings from them and to them. Without bindings whose ends are not exported, such as exclusive queues, which their clients
/// declare again; and without what federation links of other brokers have made, which they make anew where their upstream is.
#[must_use]
pub fn exported(mut document: Value, exchanges: &[Value]) -> Value {
    let Some(members) = document.as_object_mut() else { return document };
    members.entry("exchanges").or_insert_with(|| json!([]));
    if let Some(Value::Array(known)) = members.get_mut("exchanges") {
        let names: HashSet<Name<'_>> = known.iter().filter_map(name_of).collect();
        let is_lacking = |entry: &&Value| internal_name(entry).is_some_and(|name| !names.contains(&name));
        let lacking: Vec<Value> = exchanges.iter().filter(is_lacking).map(definition).collect();
        known.extend(lacking);
        known.retain(|exchange| !is_exchange_of_link(exchange));
    }
    if let Some(Value::Array(queues)) = members.get_mut("queues") {
        queues.retain(|queue| !is_queue_of_link(queue));
    }
    // Those that the broker keeps for itself are not exported; what is bound to them is judged with the other bindings.
    retain_bindings_with_ends(members, &Value::Null, is_own);
    document
}

/// The same for a document that is read entry by entry.
#[derive(Debug)]
pub struct Transfer<'a> {
    /// Internal ones of the broker's list.
    internal: &'a [Value],
    lacking: Vec<Value>,
    exchanges: Names<()>,
    queues: Names<()>,
}

impl<'a> Transfer<'a> {
    /// Before anything is known of the document.
    pub fn of(internal: &'a [Value]) -> Transfer<'a> {
        Transfer { internal, lacking: Vec::new(), exchanges: Names::default(), queues: Names::default() }
    }

    /// Takes the name of an entry, and says whether it comes along.
    pub fn learn(&mut self, list: &str, entry: &Value) -> bool {
        let is_exported = match list {
            "exchanges" => !is_exchange_of_link(entry),
            "queues" => !is_queue_of_link(entry),
            _ => true,
        };
        let names = match list {
            "exchanges" => &mut self.exchanges,
            "queues" => &mut self.queues,
            _ => return true,
        };
        if let Some((vhost, name)) = name_of(entry).filter(|_| is_exported) {
            names.add(vhost, name, ());
        }
        is_exported
    }

    /// Adds the internal exchanges that the document, of which all names are known now, does not have.
    pub fn complete(&mut self) {
        for exchange in self.internal {
            let name = internal_name(exchange).filter(|(vhost, name)| !self.exchanges.contains(vhost, name));
            if name.is_some() && !is_exchange_of_link(exchange) {
                self.lacking.push(definition(exchange));
            }
        }
        for (vhost, name) in self.lacking.iter().filter_map(name_of) {
            self.exchanges.add(vhost, name, ());
        }
    }

    /// The exchanges that come along though the document does not have them.
    pub fn lacking(&self) -> &[Value] {
        &self.lacking
    }

    /// Whether an entry of the document comes along.
    pub fn has(&self, list: &str, entry: &Value) -> bool {
        match list {
            "exchanges" => !is_exchange_of_link(entry),
            "queues" => !is_queue_of_link(entry),
            "bindings" => {
                let has_exchange = |vhost: &str, name: &str| is_own(name) || self.exchanges.contains(vhost, name);
                has_ends(entry, has_exchange, |vhost, name| self.queues.contains(vhost, name))
            }
            _ => true,
        }
    }
}

/// Whether a broker keeps an exchange of this name for itself.
fn is_own(name: &str) -> bool {
    name.is_empty() || name.starts_with(RESERVED_PREFIX)
}

/// Where a list's exchange is, if it is internal, and not the broker's own.
fn internal_name(exchange: &Value) -> Option<Name<'_>> {
    name_of(exchange).filter(|(_, name)| is_internal(exchange) && !is_own(name))
}

/// Whether an exchange of a list is internal.
#[must_use]
pub fn is_internal(exchange: &Value) -> bool {
    exchange["internal"] == true
}

fn is_exchange_of_link(exchange: &Value) -> bool {
    is_of_link(exchange["name"].as_str().unwrap_or_default())
}

fn is_queue_of_link(queue: &Value) -> bool {
    queue["arguments"]["x-internal-purpose"] == "federation"
}

/// An exchange of a list, as definitions have it.
fn definition(exchange: &Value) -> Value {
    EXCHANGE_MEMBERS
        .iter()
        .map(|member| ((*member).to_owned(), exchange[*member].clone()))
        .collect::<Map<_, _>>()
        .into()
}

/// Whether a link's exchange may have this name: RabbitMQ's and ours have the same names.
fn is_of_link(name: &str) -> bool {
    name.starts_with("federation: ") && name.contains(" -> ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn binding(source: &str, kind: &str, destination: &str) -> Value {
        json!({"vhost": "/", "source": source, "destination": destination, "destination_type": kind,
               "routing_key": "", "arguments": {}})
    }

    // As RabbitMQ 4.3 exports it.
    #[test]
    fn what_bindings_need_and_exports_lack_is_completed_or_left_to_clients() {
        let inner = json!({"vhost": "/", "name": "inner", "type": "fanout", "durable": false, "auto_delete": false,
                           "internal": true, "arguments": {"a": 1}});
        let mut listed = inner.clone();
        listed["message_stats"] = json!({});
        let exchanges = [
            json!({"vhost": "/", "name": "", "type": "direct", "internal": false}),
            json!({"vhost": "/", "name": "amq.rabbitmq.trace", "type": "topic", "internal": true}),
            json!({"vhost": "/", "name": "x", "type": "direct", "internal": false}),
            listed,
        ];
        let kept = [
            binding("x", "exchange", "inner"),
            binding("inner", "queue", "q"),
            binding("", "queue", "q"),
            binding("amq.rabbitmq.log", "queue", "q"),
        ];
        let document = json!({
            "rabbit_version": "4.3.6",
            "exchanges": [{"vhost": "/", "name": "x", "type": "direct"}],
            "queues": [{"vhost": "/", "name": "q"}, {"vhost": "v", "name": "exclusive"}],
            "bindings": [kept[0], binding("x", "queue", "exclusive"), kept[1], binding("gone", "queue", "q"),
                         binding("x", "exchange", "q"), kept[2], kept[3]],
        });
        let completed = exported(document.clone(), &exchanges);
        assert_eq!(completed["exchanges"], json!([{"vhost": "/", "name": "x", "type": "direct"}, inner]));
        assert_eq!(completed["bindings"], json!(kept));
        assert_eq!((&completed["queues"], &completed["rabbit_version"]), (&document["queues"], &json!("4.3.6")));
        assert_eq!(exported(completed.clone(), &exchanges), completed, "RabbitMQ 3 exports internal exchanges");
        assert_eq!(exported(json!([]), &[]), json!([]));
        assert_eq!(EXCHANGES, format!("exchanges?columns={}", EXCHANGE_MEMBERS.join(",")));
    }

    #[test]
    fn what_links_have_made_is_left_to_them() {
        let link = "federation: x -> down";
        let kept = [binding("x", "queue", "q"), binding("x", "exchange", "federation of states")];
        let exchange = |name: &str| json!({"vhost": "/", "name": name});
        let document = json!({
            "exchanges": [exchange("x"), exchange("federation of states"), exchange("federation: x -> down A")],
            "queues": [{"vhost": "/", "name": link, "arguments": {"x-internal-purpose": "federation"}},
                       {"vhost": "v", "name": link, "arguments": {}}, {"vhost": "/", "name": "q", "arguments": {}}],
            "bindings": [kept[0], binding("x", "exchange", "federation: x -> down A"), kept[1],
                         binding("federation: x -> down A", "queue", link), binding("x", "queue", link)],
        });
        let exchanges = [json!({"vhost": "/", "name": "federation: x -> down B", "internal": true})];
        let brought = exported(document.clone(), &exchanges);
        let names = |list: &str| -> Vec<String> {
            let name = |entry: &Value| entry["name"].as_str().unwrap().to_owned();
            brought[list].as_array().unwrap().iter().map(name).collect()
        };
        assert_eq!(names("queues"), [link, "q"]);
        assert_eq!(brought["queues"][0]["vhost"], "v", "an operator's own");
        assert_eq!(names("exchanges"), ["x", "federation of states"]);
        assert_eq!(brought["bindings"], json!(kept));
    }
}
