//! rabbitmqadmin's `delete` and `purge`.

use serde_json::Value;

use crate::command::{Argument, Command, Opt, flag, required};
use crate::commands::declare::{self, bindings};
use crate::failure::Failure;
use crate::invocation::Invocation;
use crate::listing::text;
use crate::step::{Ask, StepResult, path, remark};

const NAME: &[Argument] = &[required("name")];
const IDEMPOTENTLY: &[Opt] = &[flag("idempotently", "no error if the object does not exist")];

/// A command that deletes what is at a place.
macro_rules! deleted {
    ($name:literal, $also:expr, $about:literal, $arguments:expr, |$input:ident| $parts:expr) => {
        Command::new($name, $about, |$input| delete($input, path($parts)))
            .also($also)
            .taking($arguments)
            .with(IDEMPOTENTLY)
    };
}

pub(crate) const COMMANDS: &[Command] = &[
    Command::new("delete queue", "deletes a queue", |input| {
        let conditions = [("if-empty", "if-empty=true"), ("if-unused", "if-unused=true")];
        let query: Vec<&str> = conditions.iter().filter(|(name, _)| input.has(name)).map(|(_, query)| *query).collect();
        let place = path(&["queues", input.vhost(), input.text("name")]);
        delete(input, if query.is_empty() { place } else { format!("{place}?{}", query.join("&")) })
    })
    .also(&["queues delete", "delete stream", "streams delete"])
    .taking(NAME)
    .with(&[
        flag("idempotently", "no error if the object does not exist"),
        flag("if-empty", "only if the queue has no messages"),
        flag("if-unused", "only if it has no consumers"),
    ]),
    deleted!("delete exchange", &["exchanges delete"], "deletes an exchange", NAME, |input| &[
        "exchanges",
        input.vhost(),
        input.text("name")
    ]),
    Command::new("delete binding", "deletes a binding", binding)
        .also(&["bindings delete", "exchanges unbind"])
        .taking(declare::BINDING)
        .with(IDEMPOTENTLY),
    deleted!("delete vhost", &["vhosts delete"], "deletes a virtual host and all that is in it", NAME, |input| &[
        "vhosts",
        input.text("name")
    ]),
    deleted!("delete user", &["users delete"], "deletes a user", NAME, |input| &["users", input.text("name")]),
    deleted!(
        "delete permission",
        &["delete permissions", "permissions delete"],
        "deletes a user's permissions",
        &[declare::USER],
        |input| &["permissions", input.vhost(), input.text("user")]
    ),
    deleted!("delete policy", &["policies delete"], "removes a policy", NAME, |input| &[
        "policies",
        input.vhost(),
        input.text("name")
    ]),
    deleted!("delete operator_policy", &["operator_policies delete"], "removes an operator policy", NAME, |input| &[
        "operator-policies",
        input.vhost(),
        input.text("name")
    ]),
    deleted!(
        "delete parameter",
        &["parameters clear", "parameters delete"],
        "removes a parameter",
        &[required("component"), required("name")],
        |input| &["parameters", input.text("component"), input.vhost(), input.text("name")]
    ),
    deleted!(
        "delete global_parameter",
        &["global_parameters clear", "global_parameters delete"],
        "removes a global parameter",
        NAME,
        |input| &["global-parameters", input.text("name")]
    ),
    deleted!("delete vhost_limit", &["vhost_limits delete"], "deletes a virtual host's limit", NAME, |input| &[
        "vhost-limits",
        input.vhost(),
        input.text("name")
    ]),
    deleted!(
        "delete user_limit",
        &["user_limits delete"],
        "deletes a user's limit",
        &[declare::USER, required("name")],
        |input| &["user-limits", input.text("user"), input.text("name")]
    ),
    Command::new("purge queue", "removes the ready messages of a queue", |input| {
        let missing = super::queues::no_such_queue(input.vhost(), input.text("name"));
        Ask::delete(path(&["queues", input.vhost(), input.text("name"), "contents"])).then(move |reply| {
            reply.unless(404, || Failure::data(missing))?.accepted()?;
            remark("queue purged")
        })
    })
    .also(&["queues purge"])
    .taking(NAME),
];

/// Deletes what is at a place. Its name, and what kind of thing it is, are in the command.
fn delete(input: &Invocation, place: String) -> StepResult {
    let kind = kind(input);
    let is_idempotent = input.has("idempotently");
    let name = input.optional("name").or(input.optional("user")).unwrap_or_default().to_owned();
    Ask::delete(place).then(move |reply| {
        if !(reply.status == 404 && is_idempotent) {
            reply.unless(404, || Failure::data(format!("no {kind} '{name}'")))?.accepted()?;
        }
        remark(format!("{kind} deleted"))
    })
}

fn kind(input: &Invocation) -> String {
    input.command.name.split_once(' ').map_or(input.command.name, |(_, kind)| kind).replace('_', " ")
}

/// A binding is found by its key for a URL, which the server makes of routing key and arguments.
fn binding(input: &Invocation) -> StepResult {
    let parts = bindings(input)?;
    let at = |more: &[&str]| path(&parts.iter().map(String::as_str).chain(more.iter().copied()).collect::<Vec<_>>());
    if let Some(key) = input.optional("properties-key") {
        return delete(input, at(&[key]));
    }
    let routing_key = input.optional("routing-key").unwrap_or_default().to_owned();
    let arguments = input.json("arguments")?;
    let is_idempotent = input.has("idempotently");
    let place = at(&[]);
    Ask::get(place.clone()).then(move |reply| {
        let bindings = if reply.status == 404 { Vec::new() } else { reply.list()? };
        let is_meant = |binding: &&Value| {
            text(binding, "routing_key") == routing_key
                && arguments.as_ref().is_none_or(|arguments| binding["arguments"] == *arguments)
        };
        let meant: Vec<&Value> = bindings.iter().filter(is_meant).collect();
        match meant.as_slice() {
            [] if is_idempotent => remark("binding deleted"),
            [] => Err(Failure::data(format!("no such binding with the routing key '{routing_key}'"))),
            [binding] => {
                Ask::delete(format!("{place}/{}", path(&[text(binding, "properties_key")]))).say("binding deleted")
            }
            _ => Err(Failure::data("several bindings match: select one with arguments or properties_key")),
        }
    })
}
