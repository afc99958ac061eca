//! What one document has and another one lacks, entry by entry, whatever the entries say.

use std::collections::HashSet;

use serde_json::{Map, Value};

/// Lists of what clients need, in the order in which their entries depend on each other; and the members that identify an entry.
pub const FOR_CLIENTS: [(&str, &[&str]); 7] = [
    ("vhosts", &["name"]),
    ("users", &["name"]),
    ("permissions", &["user", "vhost"]),
    ("topic_permissions", &["user", "vhost", "exchange"]),
    ("exchanges", &["vhost", "name"]),
    ("queues", &["vhost", "name"]),
    ("bindings", &["vhost", "source", "destination", "destination_type", "routing_key", "arguments"]),
];

/// The vhost and the name of an entry.
pub(crate) type Name<'a> = (&'a str, &'a str);

pub(crate) fn name_of(entry: &Value) -> Option<Name<'_>> {
    Some((entry["vhost"].as_str()?, entry["name"].as_str()?))
}

/// The entries of a list; none if there is no such list.
#[must_use]
pub fn entries<'a>(document: &'a Value, list: &str) -> &'a [Value] {
    document[list].as_array().map_or(&[], Vec::as_slice)
}

/// Leaves of a list's entries those that another document has not, by the members that identify entries.
pub fn retain_lacking(entries_of_list: &mut Vec<Value>, elsewhere: &Value, list: &str, members: &[&str]) {
    let existing: HashSet<Vec<&Value>> =
        entries(elsewhere, list).iter().map(|entry| identity(entry, members)).collect();
    entries_of_list.retain(|entry| !existing.contains(&identity(entry, members)));
}

fn identity<'a>(entry: &'a Value, members: &[&str]) -> Vec<&'a Value> {
    members.iter().map(|member| &entry[*member]).collect()
}

/// Entries of a list that another document has not, or has otherwise.
pub fn differing<'a>(
    document: &'a Value,
    elsewhere: &'a Value,
    list: &str,
) -> impl Iterator<Item = &'a Value> + use<'a> {
    let existing = entries(elsewhere, list);
    entries(document, list).iter().filter(move |entry| !existing.contains(entry))
}

/// The lists of a document that have entries, in the order in which they are made.
#[must_use]
pub fn lists(document: &Value) -> Vec<(&str, &[Value])> {
    let place = |list: &str| FOR_CLIENTS.iter().position(|(known, _)| *known == list).unwrap_or(FOR_CLIENTS.len());
    let lists = document.as_object().into_iter().flatten();
    let mut lists: Vec<(&str, &[Value])> = lists
        .filter_map(|(list, value)| Some((&**list, value.as_array()?.as_slice())))
        .filter(|(_, entries)| !entries.is_empty())
        .collect();
    lists.sort_by_key(|(list, _)| place(list));
    lists
}

/// Leaves those bindings in a document whose ends are in it, or in `elsewhere`, which is one, too. `is_everywhere` says of an exchange by
/// its name whether it needs no definition.
pub fn retain_bindings_with_ends(
    document: &mut Map<String, Value>,
    elsewhere: &Value,
    is_everywhere: impl Fn(&str) -> bool,
) {
    let Some(Value::Array(mut bindings)) = document.remove("bindings") else { return };
    let names = |list: &str| -> HashSet<Name<'_>> {
        let lists = [document.get(list), elsewhere.get(list)];
        lists.into_iter().flatten().filter_map(Value::as_array).flatten().filter_map(name_of).collect()
    };
    let (exchanges, queues) = (names("exchanges"), names("queues"));
    bindings.retain(|binding| {
        let has_exchange = |vhost: &str, name: &str| is_everywhere(name) || exchanges.contains(&(vhost, name));
        has_ends(binding, has_exchange, |vhost, name| queues.contains(&(vhost, name)))
    });
    document.insert("bindings".to_owned(), Value::Array(bindings));
}

/// Whether both ends of a binding are there.
pub(crate) fn has_ends(
    binding: &Value,
    has_exchange: impl Fn(&str, &str) -> bool,
    has_queue: impl Fn(&str, &str) -> bool,
) -> bool {
    let text = |member: &str| binding[member].as_str().unwrap_or_default();
    let (vhost, source, destination) = (text("vhost"), text("source"), text("destination"));
    let has_destination = match text("destination_type") {
        "exchange" => has_exchange(vhost, destination),
        _ => has_queue(vhost, destination),
    };
    has_destination && has_exchange(vhost, source)
}
