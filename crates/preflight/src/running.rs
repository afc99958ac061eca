//! A broker that runs: what its HTTP API has answered, as an object with a member for each question. What is missing was not to be had;
//! nothing is said of it.

use std::collections::BTreeMap;

use definitions::{DEFINITIONS, Document, EXCHANGES, Entries, Outline, Survey, Surveyor, is_internal, scalars};
use serde::de::{Deserialize as _, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

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
    (DEFINITIONS, "definitions"),
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
    ("mqtt", Some(support::MQTT), "MQTT is not supported"),
    ("web mqtt", Some(support::WEB_MQTT), "MQTT is not supported"),
    ("stomp", Some(support::STOMP), "STOMP is not supported"),
    ("web stomp", Some(support::WEB_STOMP), "STOMP is not supported"),
    ("stream", Some(support::STREAMS), "the stream protocol is not supported"),
    ("amqp 1", Some(support::AMQP_1_0), "AMQP 1.0 is not supported"),
    ("amqp 0-9", None, ""),
    ("amqp 0-8", None, ""),
];

/// The answers of a broker, as they come: each stays the text that it is, for definitions may be very long.
#[derive(Debug)]
pub struct AnswerTexts {
    /// What the broker is called.
    pub(crate) name: String,
    answers: Vec<(&'static str, String)>,
}

impl AnswerTexts {
    /// Before anything has been answered.
    #[must_use]
    pub fn new(name: String) -> AnswerTexts {
        AnswerTexts { name, answers: Vec::new() }
    }

    /// Takes the answer to a question.
    pub fn put(&mut self, member: &'static str, answer: String) {
        self.answers.push((member, answer));
    }
}

/// What is known of a broker that runs.
#[derive(Debug, Default)]
pub(crate) struct Answers<'a> {
    overview: Value,
    nodes: Vec<Value>,
    pub(crate) definitions: Option<Document<'a>>,
    /// Those of its list of exchanges.
    pub(crate) internal_exchanges: Vec<Value>,
    /// How many by their protocol, and one of them.
    connections: BTreeMap<String, (usize, String)>,
    exclusive_queue_count: usize,
    shovels: Vec<Value>,
}

impl<'a> Answers<'a> {
    /// The answers that a text is; nothing if it is JSON, but no object.
    pub(crate) fn of(text: &'a str) -> serde_json::Result<Option<Answers<'a>>> {
        let mut deserializer = serde_json::Deserializer::from_str(text);
        let answers = Reader(text).deserialize(&mut deserializer)?;
        deserializer.end()?;
        Ok(answers)
    }

    /// The same of answers that have not been put together.
    pub(crate) fn of_asked(asked: &'a AnswerTexts) -> serde_json::Result<Answers<'a>> {
        let mut answers = Answers::default();
        for (member, text) in &asked.answers {
            let mut deserializer = serde_json::Deserializer::from_str(text);
            let document = |survey| Document::alone(text, survey);
            Member { name: member, answers: &mut answers, document }.deserialize(&mut deserializer)?;
            deserializer.end()?;
        }
        Ok(answers)
    }

    fn put_connection(&mut self, connection: &Value) {
        let text = |member: &str| connection.get(member).and_then(Value::as_str);
        let protocol = text("protocol").unwrap_or_default();
        if let Some((count, _)) = self.connections.get_mut(protocol) {
            *count += 1;
            return;
        }
        let example = text("user_provided_name").or_else(|| text("name")).unwrap_or_default();
        self.connections.insert(protocol.to_owned(), (1, example.to_owned()));
    }
}

/// Reads all answers at once, and keeps of them what counts.
struct Reader<'a>(&'a str);

impl<'de> DeserializeSeed<'de> for Reader<'de> {
    type Value = Option<Answers<'de>>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Reader<'de> {
    type Value = Option<Answers<'de>>;

    scalars!(None);

    fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Self::Value, A::Error> {
        Outline::Within.visit_seq(list).map(|_| None)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
        let mut answers = Answers::default();
        let mut definitions_count = 0;
        while let Some(member) = members.next_key::<String>()? {
            definitions_count += usize::from(member == DEFINITIONS);
            let document = |survey| Document::among_answers(self.0, definitions_count, survey);
            members.next_value_seed(Member { name: &member, answers: &mut answers, document })?;
        }
        Ok(Some(answers))
    }
}

/// Reads one answer, in place of what has been there of this name. `document` makes one of where the text is.
struct Member<'m, 'a, F> {
    name: &'m str,
    answers: &'m mut Answers<'a>,
    document: F,
}

impl<'de, 'a, F: FnOnce(Survey) -> Document<'a>> DeserializeSeed<'de> for Member<'_, 'a, F> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        let answers = self.answers;
        let mut take: Box<dyn FnMut(Value) + '_> = match self.name {
            DEFINITIONS => {
                answers.definitions = Surveyor.deserialize(deserializer)?.map(self.document);
                return Ok(());
            }
            "overview" => {
                answers.overview = Value::deserialize(deserializer)?;
                return Ok(());
            }
            "nodes" => listed(&mut answers.nodes, |_| true),
            "exchanges" => listed(&mut answers.internal_exchanges, is_internal),
            "shovels" => listed(&mut answers.shovels, |_| true),
            "queues" => {
                answers.exclusive_queue_count = 0;
                let count = &mut answers.exclusive_queue_count;
                Box::new(|queue: Value| *count += usize::from(queue["exclusive"] == true))
            }
            "connections" => {
                answers.connections.clear();
                Box::new(|connection: Value| answers.put_connection(&connection))
            }
            _ => Box::new(drop),
        };
        Entries { keys: None, take: &mut take }.deserialize(deserializer)
    }
}

/// Puts those entries into a list that are wanted.
fn listed<'l>(list: &'l mut Vec<Value>, is_wanted: fn(&Value) -> bool) -> Box<dyn FnMut(Value) + 'l> {
    list.clear();
    Box::new(move |entry| list.extend(Some(entry).filter(is_wanted)))
}

/// Looks at the plugins that its nodes have enabled.
pub(crate) fn examine_plugins(source: &str, answers: &Answers<'_>, enabled: &mut Enabled, sheet: &mut Sheet) {
    let nodes = answers.nodes.iter();
    let names = nodes.filter_map(|node| node.get("enabled_plugins")?.as_array()).flatten().filter_map(Value::as_str);
    let found: Vec<_> = names.map(|name| EnabledPlugin { name: name.to_owned(), line: None }).collect();
    if !found.is_empty() {
        plugins::examine(source, &found, enabled, sheet);
    }
}

/// Looks at everything else that runs; definitions are looked at with those of files.
pub(crate) fn examine(source: &str, answers: &Answers<'_>, sheet: &mut Sheet) {
    connections(source, answers, sheet);
    shovels(source, answers, sheet);
    let exclusive = answers.exclusive_queue_count;
    if exclusive > 0 {
        sheet.put_many(EXCLUSIVE_QUEUE, Place::of(source, None, ""), Vec::new(), exclusive);
    }
    notes(source, answers, sheet);
}

fn connections(source: &str, answers: &Answers<'_>, sheet: &mut Sheet) {
    for (protocol, (count, example)) in &answers.connections {
        let count = *count;
        let name = protocol.to_ascii_lowercase();
        let known = PROTOCOLS.iter().find(|(start, ..)| name.starts_with(start));
        let remark = match known {
            Some((_, None, _)) => None,
            Some((_, Some(sign), _)) if sign.is_there() => None,
            Some((_, _, text)) => Some((*text).to_owned()),
            // A connection that is being opened has none yet.
            None if name.is_empty() => None,
            None => Some(format!("unknown protocol {protocol}")),
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
fn shovels(source: &str, answers: &Answers<'_>, sheet: &mut Sheet) {
    for shovel in &answers.shovels {
        let text = |member: &str| shovel.get(member).and_then(Value::as_str).unwrap_or_default();
        if text("type") == "static" {
            let why = "the shovel is defined in a file of RabbitMQ, and not in its definitions";
            let remark = Remark::refused(why, pages::SHOVELS);
            let remark = remark.advising("check its advanced.config, too: the report shows the keys to write");
            sheet.put(SHOVEL, Place::of(source, None, format!("shovel {}", text("name"))), vec![remark]);
        }
    }
}

fn notes(source: &str, answers: &Answers<'_>, sheet: &mut Sheet) {
    let overview = &answers.overview;
    let text = |member: &str| overview.get(member)?.as_str();
    if let Some(version) = text("rabbitmq_version") {
        let product = text("product_name").unwrap_or("RabbitMQ");
        let version = text("product_version").unwrap_or(version);
        let nodes = answers.nodes.len();
        let of_nodes = if nodes > 1 { format!(", a cluster of {nodes} nodes") } else { String::new() };
        sheet.note(format!("{source} is {product} {version}{of_nodes}"));
    }
    let totals = overview.get("queue_totals").and_then(|totals| totals.get("messages")?.as_u64());
    if let Some(messages) = totals.and_then(|messages| usize::try_from(messages).ok()).filter(|messages| *messages > 0)
    {
        let messages = grouped(messages);
        let text = "definitions do not include messages:";
        let advice = "must be consumed there or moved by a shovel";
        sheet.note(format!("{text} {messages} are on {source}, and {advice}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_are_judged_by_their_protocol() {
        let connection = |protocol: &str| serde_json::json!({"protocol": protocol, "name": "c"});
        let protocols = ["AMQP 0-9-1", "AMQP 0-9-1", "MQTT 3-1-1", "AMQP 1-0", "stream", "STOMP 1.2", "", "SMTP"];
        let connections: Vec<Value> = protocols.iter().map(|protocol| connection(protocol)).collect();
        let text = serde_json::json!({ "connections": connections }).to_string();
        let answers = Answers::of(&text).unwrap().unwrap();
        let mut sheet = Sheet::default();
        super::connections("b", &answers, &mut sheet);
        let expected = 3 + [support::MQTT, support::STOMP, support::STREAMS, support::AMQP_1_0]
            .iter()
            .filter(|sign| sign.is_there())
            .count();
        assert_eq!(sheet.works, expected);
        assert_eq!(sheet.works + sheet.different + sheet.refused, 8);
    }

    #[test]
    fn answers_are_the_same_one_by_one_and_together() {
        let definitions = r#"{"queues": [{"name": "q"}]}"#;
        let mut asked = AnswerTexts::new("b".to_owned());
        asked.put(DEFINITIONS, definitions.to_owned());
        asked.put("queues", r#"[{"exclusive": true}]"#.to_owned());
        let text = format!(r#"{{"definitions": {definitions}, "queues": [{{"exclusive": true}}]}}"#);
        for answers in [Answers::of(&text).unwrap().unwrap(), Answers::of_asked(&asked).unwrap()] {
            assert_eq!(answers.exclusive_queue_count, 1);
            let mut names = Vec::new();
            let definitions = answers.definitions.unwrap();
            definitions.each_entry(&["queues"], None, &mut |_, queue| names.push(queue["name"].clone()));
            assert_eq!(names, ["q"]);
        }
        asked.put("nodes", "[] []".to_owned());
        assert!(Answers::of_asked(&asked).is_err());
    }

    #[test]
    fn of_long_lists_only_what_counts_is_kept() {
        let text = r#"{"queues": [{"exclusive": true}], "queues": [{"exclusive": true}, {"exclusive": true}, {}, 1],
                       "exchanges": [{"name": "x"}, {"name": "y", "internal": true}], "nodes": {"enabled_plugins": []},
                       "definitions": {"queues": [{"vhost": "/"}]}, "definitions": {}, "shovels": [{"name": "s"}],
                       "connections": [{"protocol": "p", "name": "1", "user_provided_name": "one"}, {"protocol": "p"}]}"#;
        let answers = Answers::of(text).unwrap().unwrap();
        assert_eq!((answers.exclusive_queue_count, answers.internal_exchanges.len(), answers.nodes.len()), (2, 1, 0));
        assert_eq!(answers.connections.into_iter().collect::<Vec<_>>(), [("p".to_owned(), (2, "one".to_owned()))]);
        answers.definitions.unwrap().each_entry(&["queues"], None, &mut |_, _| panic!("the last one counts"));
        assert!(Answers::of("[1]").unwrap().is_none() && Answers::of("{\"x\":[1e999]}").is_err());
    }
}
