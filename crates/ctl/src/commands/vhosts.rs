//! Virtual hosts.

use regex::Regex;
use serde_json::{Map, Value, json};

use crate::command::{Command, Opt, flag, option, optional, repeated, required};
use crate::failure::{DATA, Failure};
use crate::invocation::{DEFAULT_VHOST, Invocation};
use crate::listing::{Listing, columns, text};
use crate::output::{Output, Table};
use crate::step::{Ask, Step, StepResult, path, remark, then_say};

const METADATA: &[Opt] = &[
    option("description", "TEXT", "the description"),
    option("tags", "TAGS", "tags, with commas between"),
    option("default-queue-type", "TYPE", "the type of queues that are declared without one: quorum, classic, stream"),
];

pub(crate) const COMMANDS: &[Command] = &[
    Command::new("add_vhost", "creates a virtual host", add_vhost)
        .taking(&[required("vhost")])
        .with(METADATA)
        .saying("Adding vhost \"{vhost}\" ..."),
    Command::new("delete_vhost", "deletes a virtual host and all that is in it", |input| {
        let vhost = input.vhost().to_owned();
        Ask::delete(path(&["vhosts", &vhost])).then(move |reply| {
            reply
                .unless(404, || Failure::no_such_vhost(&vhost))?
                .unless(412, || {
                    let text = "it is protected from deletion, see warren ctl help disable_vhost_deletion_protection";
                    Failure::new(DATA, format!("cannot delete the virtual host '{vhost}': {text}"))
                })?
                .done()
        })
    })
    .taking(&[required("vhost")])
    .long()
    .saying("Deleting vhost \"{vhost}\" ..."),
    Command::new("list_vhosts", "lists virtual hosts", |input| VHOSTS.ask(input, "vhosts".to_owned()))
        .taking(&[repeated("column")])
        .saying("Listing vhosts ..."),
    Command::new("set_vhost_tags", "sets a virtual host's tags, replacing those it has", |input| {
        let tags = input.all("tag").join(",");
        change(input.vhost(), move |fields| _ = fields.insert("tags".to_owned(), json!(tags)))
    })
    .taking(&[required("vhost"), repeated("tag")])
    .saying("Setting tags for virtual host \"{vhost}\" to [{tag}] ..."),
    Command::new("update_vhost_metadata", "changes a virtual host's description, tags or default queue type", update)
        .taking(&[required("vhost")])
        .with(&[
            option("description", "TEXT", "the description"),
            option("tags", "TAGS", "tags, with commas between"),
            option("default-queue-type", "TYPE", "quorum, classic, stream"),
            option("protected-from-deletion", "TRUTH", "true or false"),
        ])
        .saying("Updating metadata of vhost \"{vhost}\" ..."),
    Command::new("enable_vhost_deletion_protection", "protects a virtual host from being deleted", |input| {
        known(input, Ask::post(protection(input.vhost()), &json!({})))
    })
    .also(&["enable_vhost_protection_from_deletion"])
    .taking(&[required("vhost")])
    .saying("Protecting virtual host \"{vhost}\" from removal by updating its metadata..."),
    Command::new("disable_vhost_deletion_protection", "lifts that protection", |input| {
        known(input, Ask::delete(protection(input.vhost())))
    })
    .also(&["disable_vhost_protection_from_deletion"])
    .taking(&[required("vhost")])
    .saying("Removing deletion protection from virtual host \"{vhost}\" by updating its metadata..."),
    Command::new("trace_on", "copies the virtual host's messages to amq.rabbitmq.trace", |input| trace(input, true))
        .saying("Starting tracing for vhost \"{vhost}\" ..."),
    Command::new("trace_off", "stops copying them", |input| trace(input, false))
        .saying("Stopping tracing for vhost \"{vhost}\" ..."),
    Command::new("restart_vhost", "starts a virtual host again that has failed", |input| {
        let vhost = input.vhost().to_owned();
        Ask::get("overview".to_owned()).then(move |reply| {
            let node = crate::listing::text(&reply.value()?, "node").to_owned();
            Ask::post(path(&["vhosts", &vhost, "start", &node]), &json!({}))
                .then(move |reply| reply.unless(404, || Failure::no_such_vhost(&vhost))?.done())
        })
    })
    .taking(&[optional("vhost")])
    .saying("Trying to restart vhost '{vhost}' ..."),
];

pub(crate) const ADMIN_COMMANDS: &[Command] = &[
    Command::new("vhosts enable_deletion_protection", "protects a virtual host from being deleted", |input| {
        protect(input, true)
    })
    .taking(&[required("name")]),
    Command::new("vhosts disable_deletion_protection", "lifts that protection", |input| protect(input, false))
        .taking(&[required("name")]),
    Command::new(
        "vhosts delete_multiple",
        "deletes all virtual hosts whose names match a pattern, except the default one",
        delete_multiple,
    )
    .taking(&[required("name-pattern")])
    .with(&[
        flag("approve", "yes, with all that is in them"),
        flag("dry-run", "only list them"),
        flag("idempotently", "no error if the virtual host does not exist"),
    ])
    .long(),
];

const VHOSTS: Listing = Listing {
    columns: columns! {
        "name" "description" "tags" "default_queue_type" "protected_from_deletion" "metadata" "tracing"
        "cluster_state"
    },
    default: &["name"],
};

const QUEUE_TYPES: &[&str] = &["quorum", "stream", "classic"];

fn add_vhost(input: &Invocation) -> StepResult {
    let vhost = input.vhost();
    if vhost.is_empty() {
        return Err(Failure::data("a virtual host's name cannot be empty"));
    }
    Ask::put(path(&["vhosts", vhost]), &Value::Object(metadata(input)?)).done()
}

/// What was said of it.
pub(crate) fn metadata(input: &Invocation) -> Result<Map<String, Value>, Failure> {
    let mut fields = Map::new();
    if let Some(kind) = input.optional("default-queue-type") {
        if !QUEUE_TYPES.contains(&kind) {
            let types = QUEUE_TYPES.join(", ");
            return Err(Failure::data(format!("the default queue type must be one of {types}, not '{kind}'")));
        }
        fields.insert("default_queue_type".to_owned(), json!(kind));
    }
    for name in ["description", "tags"] {
        if let Some(value) = input.optional(name) {
            fields.insert(name.to_owned(), json!(value));
        }
    }
    Ok(fields)
}

fn update(input: &Invocation) -> StepResult {
    let mut fields = metadata(input)?;
    let protection = input.truth("protected-from-deletion")?;
    if fields.is_empty() && protection.is_none() {
        return Err(Failure::usage(
            "at least one change is required: --description, --tags, --default-queue-type or --protected-from-deletion",
        ));
    }
    let vhost = input.vhost().to_owned();
    if let Some(is_protected) = protection {
        fields.insert("protected_from_deletion".to_owned(), json!(is_protected));
    }
    change(&vhost, move |known| known.extend(fields))
}

/// The virtual host with something changed. A request that leaves something out takes it away, so all of it is said again.
fn change(vhost: &str, change: impl FnOnce(&mut Map<String, Value>) + 'static) -> StepResult {
    let vhost = vhost.to_owned();
    let place = path(&["vhosts", &vhost]);
    Ask::get(place.clone()).then(move |reply| {
        let found = reply.unless(404, || Failure::no_such_vhost(&vhost))?.value()?;
        let mut fields = Map::new();
        for name in ["description", "default_queue_type", "protected_from_deletion", "tracing"] {
            if let Some(value) = found.get(name).filter(|value| !value.is_null() && *value != "undefined") {
                fields.insert(name.to_owned(), value.clone());
            }
        }
        if let Some(tags) = found["tags"].as_array() {
            let tags: Vec<&str> = tags.iter().filter_map(Value::as_str).collect();
            fields.insert("tags".to_owned(), json!(tags.join(",")));
        }
        change(&mut fields);
        Ask::put(place, &Value::Object(fields)).done()
    })
}

fn protection(vhost: &str) -> String {
    path(&["vhosts", vhost, "deletion", "protection"])
}

fn protect(input: &Invocation, is_protected: bool) -> StepResult {
    let name = input.text("name").to_owned();
    let place = protection(&name);
    let ask = if is_protected { Ask::post(place, &json!({})) } else { Ask::delete(place) };
    let text = if is_protected { "vhost is protected" } else { "vhost is no longer protected" };
    ask.then(move |reply| {
        reply.unless(404, || Failure::no_such_vhost(&name))?.accepted()?;
        remark(text)
    })
}

fn delete_multiple(input: &Invocation) -> StepResult {
    let pattern = input.text("name-pattern");
    let pattern =
        Regex::new(pattern).map_err(|error| Failure::data(format!("'{pattern}' is not a valid pattern: {error}")))?;
    let (is_dry, is_idempotent) = (input.has("dry-run"), input.has("idempotently"));
    if !(is_dry || input.has("approve")) {
        return Err(Failure::usage(
            "vhosts delete_multiple deletes all that is in them, so it needs --approve; --dry-run shows which they are",
        ));
    }
    Ask::get("vhosts".to_owned()).then(move |reply| {
        let found = reply.list()?;
        let names = found.iter().map(|vhost| text(vhost, "name").to_owned());
        let names: Vec<String> = names.filter(|name| name != DEFAULT_VHOST && pattern.is_match(name)).collect();
        if is_dry {
            let rows = names.into_iter().map(|name| vec![json!(name)]).collect();
            return Ok(Step::Done(Output::Table(Table { columns: vec!["name".to_owned()], rows })));
        }
        delete_each(names, 0, is_idempotent)
    })
}

/// Deletes stay done: the first that fails ends it, and reports how many virtual hosts were deleted.
fn delete_each(mut names: Vec<String>, deleted: usize, is_idempotent: bool) -> StepResult {
    if names.is_empty() {
        return remark(format!("{deleted} virtual hosts deleted"));
    }
    let name = names.remove(0);
    Ask::delete(path(&["vhosts", &name])).then(move |reply| {
        if !(reply.status == 404 && is_idempotent) {
            reply.accepted().map_err(|failure| {
                Failure::new(failure.status, format!("{deleted} were deleted, but not '{name}': {}", failure.text))
            })?;
        }
        delete_each(names, deleted + 1, is_idempotent)
    })
}

fn known(input: &Invocation, ask: Ask) -> StepResult {
    let vhost = input.vhost().to_owned();
    ask.then(move |reply| reply.unless(404, || Failure::no_such_vhost(&vhost))?.done())
}

fn trace(input: &Invocation, is_on: bool) -> StepResult {
    let text = format!("Trace {} for vhost {}", if is_on { "enabled" } else { "disabled" }, input.vhost());
    then_say(change(input.vhost(), move |fields| _ = fields.insert("tracing".to_owned(), json!(is_on))), text)
}
