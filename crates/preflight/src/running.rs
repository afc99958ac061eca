//! A broker that runs: what its HTTP API has answered, as an object with a member for each question. What is missing was not to be had;
//! nothing is said of it.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::exported::EXCHANGES;
use crate::plugins::{self, Enabled, EnabledPlugin};
use crate::sheet::{Noun, Place, Remark, Sheet, grouped};
use crate::support::{self, Sign};
use crate::{pages, sheet};

/// What a broker that runs is asked: the member of the answer, and the path below `/api/`. An input of the kind [`Kind::Broker`] is an
/// object of the answers. The overview and the definitions are needed.
///
/// [`Kind::Broker`]: crate::Kind::Broker
pub const QUESTIONS: &[(&str, &str)] = &[
    ("overview", "overview"),
    ("definitions", "definitions"),
    ("exchanges", EXCHANGES),
    ("nodes", "nodes"),
    ("connections", "connections?columns=name,protocol,user_provided_name"),
    ("queues", "queues?columns=name,exclusive&disable_stats=true"),
    // Only with the plugin.
    ("shovels", "shovels"),
];

const CONNECTION: Noun = Noun::object("connection", "connections");
const SHOVEL: Noun = Noun::object("shovel", "shovels");
const EXCLUSIVE_QUEUE: Noun = Noun::object("exclusive queue", "exclusive queues");

/// Protocols by what a connection's begins with, in small letters.
const PROTOCOLS: &[(&str, Option<Sign>, &str)] = &[
    ("amqp 0-9-1", None, ""),
    ("direct", None, ""),
    ("mqtt", Some(support::MQTT), "MQTT is not spoken"),
    ("web mqtt", Some(support::WEB_MQTT), "MQTT is not spoken"),
    ("stomp", Some(support::STOMP), "STOMP is not spoken"),
    ("web stomp", Some(support::WEB_STOMP), "STOMP is not spoken"),
    ("stream", Some(support::STREAMS), "the stream protocol is not spoken"),
    ("amqp 1", Some(support::AMQP_1_0), "AMQP 1.0 is not spoken"),
    ("amqp 0-9", None, ""),
    ("amqp 0-8", None, ""),
];

pub(crate) fn list<'a>(answers: &'a Map<String, Value>, member: &str) -> &'a [Value] {
    answers.get(member).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Looks at the plugins that its nodes have enabled.
pub(crate) fn examine_plugins(source: &str, answers: &Map<String, Value>, enabled: &mut Enabled, sheet: &mut Sheet) {
    let nodes = list(answers, "nodes").iter();
    let names = nodes.filter_map(|node| node.get("enabled_plugins")?.as_array()).flatten().filter_map(Value::as_str);
    let found: Vec<_> = names.map(|name| EnabledPlugin { name: name.to_owned(), line: None }).collect();
    if !found.is_empty() {
        plugins::examine(source, &found, enabled, sheet);
    }
}

/// Looks at everything else that runs; definitions are looked at with those of files.
pub(crate) fn examine(source: &str, answers: &Map<String, Value>, sheet: &mut Sheet) {
    connections(source, answers, sheet);
    shovels(source, answers, sheet);
    let is_exclusive = |queue: &&Value| queue.get("exclusive").and_then(Value::as_bool) == Some(true);
    let exclusive = list(answers, "queues").iter().filter(is_exclusive).count();
    if exclusive > 0 {
        sheet.put_many(EXCLUSIVE_QUEUE, Place::of(source, None, ""), Vec::new(), exclusive);
    }
    notes(source, answers, sheet);
}

fn connections(source: &str, answers: &Map<String, Value>, sheet: &mut Sheet) {
    let mut by_protocol: BTreeMap<&str, (usize, &str)> = BTreeMap::new();
    for connection in list(answers, "connections") {
        let text = |member: &str| connection.get(member).and_then(Value::as_str);
        let protocol = text("protocol").unwrap_or_default();
        let example = text("user_provided_name").or_else(|| text("name")).unwrap_or_default();
        by_protocol.entry(protocol).or_insert((0, example)).0 += 1;
    }
    for (protocol, (count, example)) in by_protocol {
        let name = protocol.to_ascii_lowercase();
        let known = PROTOCOLS.iter().find(|(start, ..)| name.starts_with(start));
        let remark = match known {
            Some((_, None, _)) => None,
            Some((_, Some(sign), _)) if sign.is_there() => None,
            Some((_, _, text)) => Some((*text).to_owned()),
            // A connection that is being opened has none yet.
            None if name.is_empty() => None,
            None => Some(format!("the protocol {protocol} is not known here")),
        };
        let remark = remark.map(|text| Remark::refused(text, pages::DIFFERENCES).advising(support::KEEP_FOR_PROTOCOL));
        let object = match remark {
            None => String::new(),
            Some(_) => format!("{} of {protocol}, such as {example}", sheet::Noun::counted(CONNECTION, count)),
        };
        sheet.put_many(CONNECTION, Place::of(source, None, object), remark.into_iter().collect(), count);
    }
}

/// Those that a file of the broker configures; others are parameters.
fn shovels(source: &str, answers: &Map<String, Value>, sheet: &mut Sheet) {
    for shovel in list(answers, "shovels") {
        let text = |member: &str| shovel.get(member).and_then(Value::as_str).unwrap_or_default();
        if text("type") == "static" {
            let why = "the shovel is of a file of RabbitMQ's, and not of its definitions";
            let remark = Remark::refused(why, pages::SHOVELS);
            let remark = remark.advising("check its advanced.config, too: that says what to write");
            sheet.put(SHOVEL, Place::of(source, None, format!("shovel {}", text("name"))), vec![remark]);
        }
    }
}

fn notes(source: &str, answers: &Map<String, Value>, sheet: &mut Sheet) {
    let overview = answers.get("overview");
    let text = |member: &str| overview.and_then(|overview| overview.get(member)?.as_str());
    if let Some(version) = text("rabbitmq_version") {
        let product = text("product_name").unwrap_or("RabbitMQ");
        let version = text("product_version").unwrap_or(version);
        let nodes = list(answers, "nodes").len();
        let of_nodes = if nodes > 1 { format!(", a cluster of {nodes} nodes") } else { String::new() };
        sheet.note(format!("{source} is {product} {version}{of_nodes}"));
    }
    let totals = overview.and_then(|overview| overview.get("queue_totals")?.get("messages")?.as_u64());
    if let Some(messages) = totals.and_then(|messages| usize::try_from(messages).ok()).filter(|messages| *messages > 0)
    {
        let messages = grouped(messages);
        sheet.note(format!("messages are no part of definitions: {messages} wait on {source}, to be consumed there or moved by a shovel"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sheet::Severity;

    #[test]
    fn connections_are_judged_by_their_protocol() {
        let connection = |protocol: &str| serde_json::json!({"protocol": protocol, "name": "c"});
        let protocols = ["AMQP 0-9-1", "AMQP 0-9-1", "MQTT 3-1-1", "AMQP 1-0", "stream", "STOMP 1.2", "", "SMTP"];
        let connections: Vec<Value> = protocols.iter().map(|protocol| connection(protocol)).collect();
        let Value::Object(answers) = serde_json::json!({ "connections": connections }) else { panic!() };
        let mut sheet = Sheet::default();
        super::connections("b", &answers, &mut sheet);
        let works =
            sheet.items.iter().filter(|item| item.severity() == Severity::Works).map(|item| item.count).sum::<usize>();
        let expected = 3 + [support::MQTT, support::STOMP, support::STREAMS, support::AMQP_1_0]
            .iter()
            .filter(|sign| sign.is_there())
            .count();
        assert_eq!(works, expected);
        assert_eq!(sheet.items.iter().map(|item| item.count).sum::<usize>(), 8);
    }
}
