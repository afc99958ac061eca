//! Documents of definitions, as RabbitMQ 3.6 to 4.x exports them: each entry judged as an import would.
//!
//! What an import refuses is either wrong, which stops it in any case, or makes sense and is not supported here, which it can leave out.
//! The broker's import is the measure (`tests/definitions` compares them).

mod access;
mod expected;
mod fields;
mod parameters;
mod topology;
mod vhosts;

use model::config::Config;
use model::document;
use serde_json::{Map, Value};

use crate::exported::exported;
use crate::input::{Content, Read};
use crate::sheet::{Entry, Noun, Place, Remark, Sheet};
use crate::{pages, running};

use expected::Expected;
use fields::Fields;

/// What becomes of an entry: remarks where it is taken, or why it is not.
type Judgement = Result<Vec<Remark>, Refusal>;

/// Why an entry is not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    text: String,
    advice: String,
    page: &'static str,
    /// It makes sense, but not here.
    is_unsupported: bool,
}

impl Refusal {
    /// It makes no sense, and has to be corrected.
    fn wrong(text: impl Into<String>) -> Refusal {
        let advice = "correct the entry, or take it out: as long as it is there, nothing is imported".to_owned();
        Refusal { text: text.into(), advice, page: pages::HTTP_API, is_unsupported: false }
    }

    /// It makes sense, but not here.
    fn unsupported(text: impl Into<String>, advice: impl Into<String>, page: &'static str) -> Refusal {
        Refusal { text: text.into(), advice: advice.into(), page, is_unsupported: true }
    }
}

impl From<Refusal> for Remark {
    fn from(refusal: Refusal) -> Remark {
        let remark = Remark::refused(refusal.text, refusal.page).advising(refusal.advice);
        if refusal.is_unsupported { remark.that_can_be_left_out() } else { remark }
    }
}

/// A list of a document: what its entries are, and how one is looked at.
struct List {
    name: &'static str,
    noun: Noun,
    /// Whether only documents of a whole broker have it.
    is_of_broker: bool,
    judge: fn(&mut Expected, Fields<'_>) -> Judgement,
}

const fn list(
    name: &'static str,
    one: &'static str,
    many: &'static str,
    is_of_broker: bool,
    judge: fn(&mut Expected, Fields<'_>) -> Judgement,
) -> List {
    List { name, noun: Noun::object(one, many), is_of_broker, judge }
}

/// In the order in which they depend on each other.
const LISTS: &[List] = &[
    list("users", "user", "users", true, access::user),
    list("vhosts", "virtual host", "virtual hosts", true, vhosts::vhost),
    list("permissions", "permission", "permissions", true, access::permission),
    list("parameters", "parameter", "parameters", false, parameters::parameter),
    list("exchanges", "exchange", "exchanges", false, topology::exchange),
    list("topic_permissions", "topic permission", "topic permissions", true, access::topic_permission),
    list("global_parameters", "global parameter", "global parameters", true, parameters::global_parameter),
    list("policies", "policy", "policies", false, parameters::policy),
    list("queues", "queue", "queues", false, topology::queue),
    list("bindings", "binding", "bindings", false, topology::binding),
];

/// Looks at all documents, in the order in which they would be imported: what one defines the next may refer to.
pub(crate) fn examine(read: &[Read<'_>], config: &Config, sheet: &mut Sheet) {
    let mut expected = Expected::of(config);
    for Read { name, content, .. } in read {
        match content {
            Content::Definitions(members) => examine_one(name, members, &mut expected, sheet),
            Content::Running(answers) => {
                let definitions = answers.get("definitions").unwrap_or(&Value::Null);
                if let Value::Object(members) = exported(definitions, running::list(answers, "exchanges")) {
                    examine_one(name, &members, &mut expected, sheet);
                }
            }
            _ => {}
        }
    }
}

fn examine_one(source: &str, members: &Map<String, Value>, expected: &mut Expected, sheet: &mut Sheet) {
    expected.vhost = single_vhost(members);
    if let Some(vhost) = &expected.vhost {
        sheet.note(format!("{source} is of one virtual host: import it into one, with --vhost {vhost} or another"));
        expected.add_vhost(&vhost.clone());
    }
    for name in members.keys().filter(|name| !document::is_known(name)) {
        let remark = Remark::different("the key is unknown, and has no effect", pages::HTTP_API);
        sheet.put(Noun::object("key", "keys"), Place::of(source, None, name), vec![remark]);
    }
    expected.learn(members);
    let is_of_broker = expected.vhost.is_none();
    for list in LISTS.iter().filter(|list| is_of_broker || !list.is_of_broker) {
        match members.get(list.name) {
            None => {}
            Some(Value::Array(entries)) => entries_of(source, list, entries, expected, sheet),
            Some(_) => {
                let refusal = Refusal::wrong(format!("'{}' must be a list", list.name));
                sheet.put(list.noun, Place::of(source, None, list.name), vec![refusal.into()]);
            }
        }
    }
}

fn entries_of(source: &str, list: &List, entries: &[Value], expected: &mut Expected, sheet: &mut Sheet) {
    for (number, entry) in (1..).zip(entries) {
        let (judgement, object) = match entry {
            Value::Object(members) => ((list.judge)(expected, Fields(members)), title(list, members, expected)),
            _ => (Err(Refusal::wrong("it must be an object")), format!("{}, entry {number}", list.name)),
        };
        let remarks = judgement.unwrap_or_else(|refusal| vec![refusal.into()]);
        let entry = Some(Entry { list: list.name, number });
        sheet.put(list.noun, Place { source: source.to_owned(), line: None, entry, object }, remarks);
    }
}

/// No name that makes sense is longer.
const SHOWN_NAME_LEN_MAX: usize = 255;

/// What people call an entry.
fn title(list: &List, members: &Map<String, Value>, expected: &Expected) -> String {
    let text = |key: &str| {
        let text = members.get(key).and_then(Value::as_str)?;
        let text = &text[..text.floor_char_boundary(SHOWN_NAME_LEN_MAX)];
        // Nothing that a terminal would take for a command.
        Some(text.chars().map(|char| if char.is_control() { '\u{fffd}' } else { char }).collect::<String>())
    };
    let own = match (text("component"), text("name").or_else(|| text("user")), text("source"), text("destination")) {
        (Some(component), Some(name), ..) => format!(" {component} '{name}'"),
        (_, Some(name), ..) => format!(" '{name}'"),
        (_, None, Some(source), Some(destination)) => format!(" '{source}' to '{destination}'"),
        _ => String::new(),
    };
    let vhost = text("vhost").filter(|_| list.name != "vhosts" && expected.vhost.is_none());
    let vhost = vhost.map(|vhost| format!(" in '{vhost}'")).unwrap_or_default();
    format!("{}{own}{vhost}", list.noun.one)
}

/// The virtual host that a document is of, if it is of one only.
fn single_vhost(members: &Map<String, Value>) -> Option<String> {
    let text = |key: &str| members.get(key).and_then(Value::as_str);
    let says_so = text("rabbitmq_definition_format") == Some("single_virtual_host");
    // Exports of old versions do not say so: their entries name no virtual host.
    let names_none = || {
        let lists =
            ["queues", "exchanges", "policies", "bindings"].iter().filter_map(|list| members.get(*list)?.as_array());
        let mut entries = lists.flatten().filter_map(Value::as_object).peekable();
        entries.peek().is_some() && entries.all(|entry| !entry.contains_key("vhost"))
    };
    let is_single =
        says_so || !["vhosts", "users", "permissions"].iter().any(|list| members.contains_key(*list)) && names_none();
    is_single.then(|| text("original_vhost_name").or_else(|| text("name")).unwrap_or("/").to_owned())
}
