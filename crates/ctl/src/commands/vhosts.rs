//! Virtual hosts.

use serde_json::{Map, Value, json};

use crate::command::{Command, Opt, option, repeated, required};
use crate::failure::{DATA, Failure};
use crate::given::Given;
use crate::listing::{Listing, same};
use crate::step::{Ask, Started, path, then_say};

const METADATA: &[Opt] = &[
    option("description", "TEXT", "what it is for"),
    option("tags", "TAGS", "tags, with commas between"),
    option("default-queue-type", "TYPE", "the type of queues that are declared without one: quorum, classic, stream"),
];

pub(crate) const COMMANDS: &[Command] = &[
    Command::new("add_vhost", "creates a virtual host", add_vhost)
        .taking(&[required("vhost")])
        .with(METADATA)
        .saying("Adding vhost \"{vhost}\" ..."),
    Command::new("delete_vhost", "deletes a virtual host and all that is in it", |given| {
        let vhost = given.vhost().to_owned();
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
    Command::new("list_vhosts", "lists virtual hosts", |given| VHOSTS.ask(given, "vhosts".to_owned()))
        .taking(&[repeated("column")])
        .saying("Listing vhosts ..."),
    Command::new("set_vhost_tags", "sets a virtual host's tags, replacing those it has", |given| {
        let tags = given.all("tag").join(",");
        change(given.vhost(), move |fields| _ = fields.insert("tags".to_owned(), json!(tags)))
    })
    .taking(&[required("vhost"), repeated("tag")])
    .saying("Setting tags for virtual host \"{vhost}\" to [{tag}] ..."),
    Command::new("update_vhost_metadata", "changes a virtual host's description, tags or default queue type", update)
        .taking(&[required("vhost")])
        .with(&[
            option("description", "TEXT", "what it is for"),
            option("tags", "TAGS", "tags, with commas between"),
            option("default-queue-type", "TYPE", "quorum, classic, stream"),
            option("protected-from-deletion", "TRUTH", "true or false"),
        ])
        .saying("Updating metadata of vhost \"{vhost}\" ..."),
    Command::new("enable_vhost_deletion_protection", "protects a virtual host from being deleted", |given| {
        known(given, Ask::post(protection(given.vhost()), &json!({})))
    })
    .also(&["enable_vhost_protection_from_deletion"])
    .taking(&[required("vhost")])
    .saying("Protecting virtual host \"{vhost}\" from removal by updating its metadata..."),
    Command::new("disable_vhost_deletion_protection", "lifts that protection", |given| {
        known(given, Ask::delete(protection(given.vhost())))
    })
    .also(&["disable_vhost_protection_from_deletion"])
    .taking(&[required("vhost")])
    .saying("Removing deletion protection from virtual host \"{vhost}\" by updating its metadata..."),
    Command::new("trace_on", "copies the virtual host's messages to amq.rabbitmq.trace", |given| trace(given, true))
        .saying("Starting tracing for vhost \"{vhost}\" ..."),
    Command::new("trace_off", "stops copying them", |given| trace(given, false))
        .saying("Stopping tracing for vhost \"{vhost}\" ..."),
    Command::new("restart_vhost", "starts a virtual host again that has failed", |given| {
        let vhost = given.vhost().to_owned();
        Ask::get("overview".to_owned()).then(move |reply| {
            let node = crate::listing::text(&reply.value()?, "node").to_owned();
            Ask::post(path(&["vhosts", &vhost, "start", &node]), &json!({}))
                .then(move |reply| reply.unless(404, || Failure::no_such_vhost(&vhost))?.done())
        })
    })
    .saying("Trying to restart vhost '{vhost}' ..."),
];

const VHOSTS: Listing = Listing {
    columns: &[
        same("name"),
        same("description"),
        same("tags"),
        same("default_queue_type"),
        same("protected_from_deletion"),
        same("metadata"),
        same("tracing"),
        same("cluster_state"),
    ],
    default: &["name"],
};

const QUEUE_TYPES: &[&str] = &["quorum", "stream", "classic"];

fn add_vhost(given: &Given) -> Started {
    let vhost = given.vhost();
    if vhost.is_empty() {
        return Err(Failure::data("a virtual host's name cannot be empty"));
    }
    Ask::put(path(&["vhosts", vhost]), &Value::Object(metadata(given)?)).done()
}

/// What was said of it.
pub(crate) fn metadata(given: &Given) -> Result<Map<String, Value>, Failure> {
    let mut fields = Map::new();
    if let Some(kind) = given.optional("default-queue-type") {
        if !QUEUE_TYPES.contains(&kind) {
            let types = QUEUE_TYPES.join(", ");
            return Err(Failure::data(format!(
                "the default queue type has to be one of {types}, and '{kind}' is none"
            )));
        }
        fields.insert("default_queue_type".to_owned(), json!(kind));
    }
    for name in ["description", "tags"] {
        if let Some(value) = given.optional(name) {
            fields.insert(name.to_owned(), json!(value));
        }
    }
    Ok(fields)
}

fn update(given: &Given) -> Started {
    let mut fields = metadata(given)?;
    let protection = given.truth("protected-from-deletion")?;
    if fields.is_empty() && protection.is_none() {
        return Err(Failure::usage(
            "say what is to be changed: --description, --tags, --default-queue-type or --protected-from-deletion",
        ));
    }
    let vhost = given.vhost().to_owned();
    if let Some(is_protected) = protection {
        fields.insert("protected_from_deletion".to_owned(), json!(is_protected));
    }
    change(&vhost, move |known| known.extend(fields))
}

/// The virtual host with something changed. A request that leaves something out takes it away, so all of it is said again.
fn change(vhost: &str, change: impl FnOnce(&mut Map<String, Value>) + 'static) -> Started {
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

fn known(given: &Given, ask: Ask) -> Started {
    let vhost = given.vhost().to_owned();
    ask.then(move |reply| reply.unless(404, || Failure::no_such_vhost(&vhost))?.done())
}

fn trace(given: &Given, is_on: bool) -> Started {
    let text = format!("Trace {} for vhost {}", if is_on { "enabled" } else { "disabled" }, given.vhost());
    then_say(change(given.vhost(), move |fields| _ = fields.insert("tracing".to_owned(), json!(is_on))), text)
}
