//! Documents of definitions, as RabbitMQ 3.6 to 4.x exports them: each entry judged as an import would.
//!
//! What an import refuses is either wrong, which stops it in any case, or makes sense and is not supported here, which it can leave out.
//! The broker's import is the measure (`tests/definitions` compares them).
//!
//! A document is read three times more after its survey, and only names are kept of it: for what entries may refer to; then all entries are
//! judged but bindings, whose ends have to be judged before; then bindings.

mod access;
mod expected;
mod parameters;
mod refusal;
mod topology;
mod vhosts;

use std::sync::Arc;

use definitions::{Document, Fields, Transfer};
use model::config::Config;
use serde_json::{Map, Value};

use crate::input::{Content, Read};
use crate::pages;
use crate::sheet::{Entry, Noun, Place, Remark, Sheet};

use expected::Expected;
use refusal::{Judgement, Refusal};

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
            Content::Definitions(document) => {
                if document.survey().single_vhost().is_some() && is_loaded(name, config) {
                    sheet.put(FILE, Place::of(name, None, ""), vec![refused_at_start()]);
                }
                examine_one(name, document, None, &mut expected, sheet);
            }
            Content::Running(answers) => {
                if let Some(document) = &answers.definitions {
                    let export = Transfer::of(&answers.internal_exchanges);
                    examine_one(name, document, Some(export), &mut expected, sheet);
                }
            }
            _ => {}
        }
    }
}

const FILE: Noun = Noun { one: "file", many: "files", family: "files" };

/// Whether a start imports this file: the configuration names it, or its folder. Paths are those of another host, so that names have to do.
fn is_loaded(source: &str, config: &Config) -> bool {
    let mut names = source.rsplit('/').take(2).filter(|name| !name.is_empty());
    let loaded = config.load_definitions.as_deref().and_then(|path| path.trim_end_matches('/').rsplit('/').next());
    loaded.is_some_and(|loaded| names.any(|name| name == loaded))
}

/// What is said of a file of one virtual host that a start is to import.
fn refused_at_start() -> Remark {
    let text = "the file is an export of one virtual host: load_definitions refuses it, and the broker does not start";
    let advice = "name an export of the whole broker in load_definitions, or import the file into a virtual host of the running broker";
    Remark::refused(text, pages::HTTP_API).advising(advice)
}

const BINDINGS: &str = "bindings";

/// `export` says of a broker's answer what of it comes along.
fn examine_one(
    source: &str,
    document: &Document<'_>,
    mut export: Option<Transfer<'_>>,
    expected: &mut Expected,
    sheet: &mut Sheet,
) {
    let survey = document.survey();
    expected.vhost = survey.single_vhost();
    if let Some(vhost) = &expected.vhost {
        sheet.note(format!(
            "{source} is an export of one virtual host: import it into one, with --vhost {vhost} or another (POST \
             /api/definitions/VHOST); load_definitions refuses it"
        ));
        expected.add_vhost(&vhost.clone());
    }
    for name in &survey.unknown {
        let remark = Remark::different("the key is unknown, and has no effect", pages::HTTP_API);
        sheet.put(Noun::object("key", "keys"), Place::of(source, None, name), vec![remark]);
    }
    learn(document, export.as_mut(), expected);
    let is_of_broker = expected.vhost.is_none();
    let mut judge = Judge::of(source, expected);
    let lists = || LISTS.iter().filter(|list| is_of_broker || !list.is_of_broker).map(|list| list.name);
    let mut take = |list: &'static str, entry: Value| {
        if export.as_ref().is_none_or(|export| export.has(list, &entry)) {
            judge.judge(list, &entry);
        }
    };
    document.each_entry(&lists().filter(|list| *list != BINDINGS).collect::<Vec<_>>(), None, &mut take);
    let lacking = export.as_ref().map_or(&[][..], Transfer::lacking);
    lacking.iter().for_each(|exchange| take("exchanges", exchange.clone()));
    document.each_entry(&[BINDINGS], None, &mut take);
    lists().filter(|list| survey.is_list(list) == Some(false)).for_each(|list| judge.refuse(list));
    judge.sheets.into_iter().for_each(|of_list| sheet.append(of_list));
}

/// Takes the names of what a document defines: entries may refer to what comes behind them.
fn learn(document: &Document<'_>, mut export: Option<&mut Transfer<'_>>, expected: &mut Expected) {
    // The members that decide whether an entry is taken along are read where that matters.
    let keys = if export.is_some() { &expected::KEYS[..] } else { &expected::KEYS[1..] };
    document.each_entry(&expected::LISTS, Some(keys), &mut |list, entry| {
        if export.as_mut().is_none_or(|export| export.learn(list, &entry))
            && let Value::Object(members) = &entry
        {
            expected.learn(list, Fields(members));
        }
    });
    if let Some(export) = export.filter(|_| document.survey().is_list("exchanges") != Some(false)) {
        export.complete();
        let lacking = export.lacking().iter().filter_map(Value::as_object);
        lacking.for_each(|members| expected.learn("exchanges", Fields(members)));
    }
    expected.has_learnt();
}

/// Judges entry by entry. Each list has a sheet of its own: they are in another order in the report than in the text.
struct Judge<'a> {
    source: Arc<str>,
    expected: &'a mut Expected,
    sheets: [Sheet; LISTS.len()],
    numbers: [usize; LISTS.len()],
}

impl Judge<'_> {
    fn of<'a>(source: &str, expected: &'a mut Expected) -> Judge<'a> {
        Judge { source: source.into(), expected, sheets: Default::default(), numbers: [0; LISTS.len()] }
    }

    fn judge(&mut self, list: &'static str, entry: &Value) {
        let Some(at) = LISTS.iter().position(|known| known.name == list) else { return };
        let list = &LISTS[at];
        self.numbers[at] += 1;
        let number = self.numbers[at];
        let judgement = match entry {
            Value::Object(members) => (list.judge)(self.expected, Fields(members)),
            _ => Err(Refusal::wrong("it must be an object")),
        };
        let remarks = judgement.unwrap_or_else(|refusal| vec![refusal.into()]);
        if remarks.is_empty() {
            return self.sheets[at].put_working(list.noun);
        }
        let object = match entry {
            Value::Object(members) => title(list, members, self.expected),
            _ => format!("{}, entry {number}", list.name),
        };
        let entry = Some(Entry { list: list.name, number });
        let place = Place { source: self.source.clone(), line: None, entry, object: object.into() };
        self.sheets[at].put(list.noun, place, remarks);
    }

    /// What should be a list, and is none.
    fn refuse(&mut self, list: &'static str) {
        let Some(at) = LISTS.iter().position(|known| known.name == list) else { return };
        let refusal = Refusal::wrong(format!("'{list}' must be a list"));
        self.sheets[at].put(LISTS[at].noun, Place::of(&self.source, None, list), vec![refusal.into()]);
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
