//! Changes a workload's fields by name, as sweeps and overrides do.
//!
//! | address | what it changes |
//! |---|---|
//! | `duration` | a key at the top |
//! | `publishers` | how many publishers there are: `publishers.count` |
//! | `publishers.rate` | the rate of every group of publishers |
//! | `publishers.load.rate` | that of the group `load` |
//! | `confirm_window` | the field of whichever kind has one, if only one has |
//! | `expect.lost`, `throttles.login` | a key of that table |

use super::document::{Node, Value};
use super::error::suggestion;
use super::{TOP_KEYS, extras, groups, topology, users};

/// Tables of which there may be several, and their keys.
const KINDS: [(&str, &[&str]); 7] = [
    ("publishers", groups::PUBLISHER_KEYS),
    ("consumers", groups::CONSUMER_KEYS),
    ("queues", topology::QUEUE_KEYS),
    ("exchanges", topology::EXCHANGE_KEYS),
    ("users", users::USER_KEYS),
    ("churn", extras::CHURN_KEYS),
    ("probes", extras::PROBE_KEYS),
];

/// Kinds whose fields need no more than their own name, if it is theirs alone.
const BARE_KINDS: usize = 3;

/// Sets what an address stands for. An error is a sentence without a place.
pub(super) fn assign(workload: &mut Node, address: &str, value: &Node) -> Result<(), String> {
    if let Some((kind, rest)) = address.split_once('.') {
        if let Some((kind, keys)) = KINDS.iter().find(|(known, _)| *known == kind) {
            // Names may have dots in them, keys have none.
            return match rest.rsplit_once('.') {
                Some((name, key)) => assign_in(workload, kind, Some(name), key, keys, value),
                None => assign_in(workload, kind, None, rest, keys, value),
            };
        }
        if let "expect" | "throttles" = kind {
            if workload.get(kind).is_none() {
                workload.set(kind, Node { value: Value::Table(Vec::new()), place: value.place.clone() });
            }
            if let Some(table) = workload.get_mut(kind) {
                table.set(rest, value.clone());
            }
            return Ok(());
        }
        let known = KINDS.iter().map(|(kind, _)| *kind).chain(["expect", "throttles"]);
        return Err(format!("unknown target \"{kind}\"{}", suggestion(kind, known)));
    }
    if let Some((kind, keys)) = KINDS.iter().find(|(kind, keys)| *kind == address && keys.contains(&"count")) {
        return assign_in(workload, kind, None, "count", keys, value);
    }
    if TOP_KEYS.contains(&address) && !KINDS.iter().any(|(kind, _)| *kind == address) {
        workload.set(address, value.clone());
        return Ok(());
    }
    let owners: Vec<_> = KINDS[..BARE_KINDS].iter().filter(|(_, keys)| keys.contains(&address)).collect();
    match owners.as_slice() {
        [(kind, keys)] => assign_in(workload, kind, None, address, keys, value),
        [] => {
            let known = KINDS.iter().flat_map(|(kind, keys)| keys.iter().copied().chain([*kind])).chain(TOP_KEYS);
            Err(format!("unknown variable or field \"{address}\"{}", suggestion(address, known)))
        }
        [(first, _), .., (last, _)] => {
            Err(format!("\"{address}\" is ambiguous: use {first}.{address} or {last}.{address}"))
        }
    }
}

fn assign_in(
    workload: &mut Node,
    kind: &str,
    name: Option<&str>,
    key: &str,
    keys: &[&str],
    value: &Node,
) -> Result<(), String> {
    if !keys.contains(&key) {
        return Err(format!("{kind} have no field \"{key}\"{}", suggestion(key, keys.iter().copied())));
    }
    let items = workload.get_mut(kind).map(Node::items_mut).unwrap_or_default();
    if items.is_empty() {
        return Err(format!("sets {kind}.{key}, but the workload has no {kind}"));
    }
    let is_named = |item: &Node, name: &str| match item.get("name").map(|node| &node.value) {
        Some(Value::Text(own)) => own == name,
        // A group without a name is called by its kind.
        _ => kind == name,
    };
    let Some(name) = name else {
        items.iter_mut().for_each(|item| item.set(key, value.clone()));
        return Ok(());
    };
    let mut is_found = false;
    for item in items.iter_mut().filter(|item| is_named(item, name)) {
        item.set(key, value.clone());
        is_found = true;
    }
    if is_found { Ok(()) } else { Err(format!("unknown {kind} \"{name}\"")) }
}
