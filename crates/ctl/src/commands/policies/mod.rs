//! Policies, and the operator's own that overrule them.

mod definition;
mod layering;

use serde_json::{Map, Value, json};

use crate::command::{Command, Opt, option, repeated, required};
use crate::failure::Failure;
use crate::invocation::Invocation;
use crate::listing::{self, Listing, columns, converted, json_text};
use crate::output::Output;
use crate::step::{Ask, Step, StepResult, path};

pub(crate) use definition::OPERATOR_COMMANDS as OPERATOR_DEFINITION_COMMANDS;
pub(crate) use definition::{COMMANDS as DEFINITION_COMMANDS, MIRRORING_COMMANDS, is_mirroring_key};
pub(crate) use layering::COMMANDS as LAYERING_COMMANDS;

const OPTIONS: &[Opt] = &[
    option("priority", "NUMBER", "of several that fit the one with the highest counts (default 0)"),
    option("apply-to", "WHAT", "queues, classic_queues, quorum_queues, streams, exchanges or all (default)"),
];

pub(crate) const COMMANDS: &[Command] = &[
    Command::new("set_policy", "sets arguments for all queues and exchanges whose names match a pattern", |input| {
        set(input, "policies")
    })
    .taking(&[required("name"), required("pattern"), required("definition")])
    .with(OPTIONS)
    .saying("Setting policy \"{name}\" for pattern \"{pattern}\" to \"{definition}\" with priority \"{priority|0}\" for vhost \
        \"{vhost}\" ..."),
    Command::new("clear_policy", "removes a policy", |input| clear(input, "policies"))
        .taking(&[required("name")])
        .saying("Clearing policy \"{name}\" on vhost \"{vhost}\" ..."),
    Command::new("list_policies", "lists a virtual host's policies", |input| list(input, "policies"))
        .taking(&[repeated("column")])
        .saying("Listing policies for vhost \"{vhost}\" ..."),
    Command::new("set_operator_policy", "sets limits that users' policies and arguments cannot exceed", |input| {
        set(input, "operator-policies")
    })
    .taking(&[required("name"), required("pattern"), required("definition")])
    .with(OPTIONS)
    .saying("Setting operator policy override \"{name}\" for pattern \"{pattern}\" to \"{definition}\" with priority \
        \"{priority|0}\" for vhost \"{vhost}\" ..."),
    Command::new("clear_operator_policy", "removes an operator policy", |input| clear(input, "operator-policies"))
        .taking(&[required("name")])
        .saying("Clearing operator policy \"{name}\" on vhost \"{vhost}\" ..."),
    Command::new("list_operator_policies", "lists a virtual host's operator policies", |input| {
        list(input, "operator-policies")
    })
    .taking(&[repeated("column")])
    .saying("Listing operator policy overrides for vhost \"{vhost}\" ..."),
    Command::new("list_policies_that_match", "shows which policy applies to a queue or an exchange", that_match)
        .taking(&[required("name")])
        .with(&[option("object-type", "TYPE", "queue (default) or exchange")])
        .saying("Listing policies that match {object-type|queue} '{name}' in vhost '{vhost}' ..."),
];

const POLICIES: Listing = Listing {
    columns: columns! {
        "vhost" "name" "pattern" "apply-to" { converted("definition", "definition", json_text) } "priority"
    },
    default: &["vhost", "name", "pattern", "apply-to", "definition", "priority"],
};

/// Sets a policy; both grammars have the same arguments.
pub(crate) fn set(input: &Invocation, kind: &str) -> StepResult {
    let priority: i64 = match input.optional("priority") {
        None => 0,
        Some(text) => {
            text.parse().map_err(|_| Failure::data(format!("the priority must be a whole number, not '{text}'")))?
        }
    };
    let body = json!({
        "pattern": input.text("pattern"),
        "definition": input.json("definition")?,
        "priority": priority,
        "apply-to": input.optional("apply-to").unwrap_or("all"),
    });
    let vhost = input.vhost().to_owned();
    Ask::put(path(&[kind, &vhost, input.text("name")]), &body)
        .then(move |reply| reply.unless(404, || Failure::no_such_vhost(&vhost))?.done())
}

/// Continues with a policy.
fn one(kind: &str, vhost: &str, name: &str, next: impl FnOnce(Value) -> StepResult + 'static) -> StepResult {
    let missing = format!("no policy '{name}' in virtual host '{vhost}'");
    Ask::get(path(&[kind, vhost, name])).then(move |reply| next(reply.unless(404, || Failure::data(missing))?.value()?))
}

/// The argument `definition`, which has to be an object.
fn definition_of(input: &Invocation) -> Result<Map<String, Value>, Failure> {
    match input.json("definition")? {
        Some(Value::Object(keys)) => Ok(keys),
        _ => Err(Failure::data("a policy's definition must be an object, such as {\"max-length\": 10}")),
    }
}

fn clear(input: &Invocation, kind: &str) -> StepResult {
    let (vhost, name) = (input.vhost().to_owned(), input.text("name").to_owned());
    Ask::delete(path(&[kind, &vhost, &name])).then(move |reply| {
        let missing = || Failure::unavailable(format!("no policy '{name}' in virtual host '{vhost}'"));
        reply.unless(404, missing)?.done()
    })
}

fn list(input: &Invocation, kind: &str) -> StepResult {
    POLICIES.ask(input, path(&[kind, input.vhost()]))
}

/// The broker has worked out which one it is.
fn that_match(input: &Invocation) -> StepResult {
    let kind = match input.optional("object-type").unwrap_or("queue") {
        "queue" => "queues",
        "exchange" => "exchanges",
        other => {
            return Err(Failure::usage(format!("the object's type must be queue or exchange, not '{other}'")));
        }
    };
    let (vhost, name) = (input.vhost().to_owned(), input.text("name").to_owned());
    let columns = POLICIES.chosen(input)?;
    // Statistics would show it a moment later.
    Ask::get(format!("{}?disable_stats=true", path(&[kind, &vhost, &name]))).then(move |reply| {
        let missing = || Failure::data(format!("no '{name}' among the {kind} of virtual host '{vhost}'"));
        let found = reply.unless(404, missing)?.value()?;
        let policy = listing::text(&found, "policy");
        if policy.is_empty() {
            return Ok(Step::Done(Output::Table(listing::table(&columns, &[]))));
        }
        Ask::get(path(&["policies", &vhost, policy])).then(move |reply| listing::show(&columns, &[reply.value()?]))
    })
}
