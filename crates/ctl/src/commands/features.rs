//! Feature flags, and features that are going away.

use serde_json::{Value, json};

use crate::command::{Command, flag, repeated, required};
use crate::failure::{Failure, USAGE};
use crate::listing::{Listing, columns, renamed, text, untold};
use crate::step::{Ask, StepResult, done, each, path};

pub(crate) const COMMANDS: &[Command] = &[
    Command::new("list_feature_flags", "lists feature flags and whether they are enabled", |input| {
        FLAGS.ask(input, "feature-flags".to_owned())
    })
    .taking(&[repeated("column")])
    .saying("Listing feature flags ..."),
    Command::new("enable_feature_flag", "enables a feature flag, or all stable ones", |input| {
        match input.text("name") {
            "all" => enable_all(),
            name => enable(name),
        }
    })
    .taking(&[required("name")])
    .with(&[flag("opt-in", "one that is experimental").also(&["experimental"])])
    .saying("Enabling feature flag \"{name}\" ..."),
    Command::new("list_deprecated_features", "lists deprecated features", |input| {
        let path = if input.has("used") { "deprecated-features/used" } else { "deprecated-features" };
        DEPRECATED.ask(input, path.to_owned())
    })
    .taking(&[repeated("column")])
    .with(&[flag("used", "only features in use")])
    .saying("Listing deprecated features ...")
    .saying_if("used", "Listing deprecated features in use ..."),
];

pub(crate) const ADMIN_COMMANDS: &[Command] = &[
    Command::new("feature_flags enable", "enables a feature flag", |input| enable(input.text("name")))
        .taking(&[required("name")]),
    Command::new("feature_flags enable_all", "enables all stable ones", |_| enable_all()),
];

const FLAGS: Listing = Listing {
    columns: columns! {
        "name" "state" "stability" "provided_by" "desc" "doc_url" "require_level" "experiment_level"
        { untold("callbacks") }
    },
    default: &["name", "state"],
};
const DEPRECATED: Listing = Listing {
    columns: columns! {
        "name" "deprecation_phase" "state" "provided_by" "desc" { renamed("doc_url", "doc_url") }
    },
    default: &["name", "deprecation_phase", "state"],
};

fn enabling(name: &str) -> Ask {
    Ask::put(path(&["feature-flags", name, "enable"]), &json!({}))
}

fn enable(name: &str) -> StepResult {
    let unknown = format!("the server does not know the feature flag '{name}'");
    enabling(name).then(move |reply| {
        let is_unknown = reply.status == 404 || reply.reason().is_some_and(|reason| reason == "unsupported");
        if is_unknown { Err(Failure::new(USAGE, unknown)) } else { reply.done() }
    })
}

fn enable_all() -> StepResult {
    Ask::get("feature-flags".to_owned()).then(|reply| {
        let is_open = |flag: &&Value| text(flag, "state") == "disabled" && text(flag, "stability") == "stable";
        each(reply.list()?.iter().filter(is_open).map(|flag| enabling(text(flag, "name"))).collect(), done)
    })
}
