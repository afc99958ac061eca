//! Plugins: which the nodes have. What RabbitMQ has as plugins is built in or not at all, so that nothing is enabled and nothing disabled.

use preflight::{PluginState, plugin_names, plugin_state};
use regex::Regex;
use serde_json::{Value, json};

use crate::command::{Command, Opt, flag, optional, repeated, required};
use crate::failure::{Failure, UNAVAILABLE};
use crate::invocation::Invocation;
use crate::listing::text;
use crate::output::{Output, Table};
use crate::step::{Ask, Step, StepResult, path, say};

/// rabbitmq-plugins' commands, each behind the word `plugins`. None of them asks a server.
pub(crate) const CTL_COMMANDS: &[Command] = &[
    Command::new("plugins list", "lists RabbitMQ's plugins: which are built in, and which are not", list)
        .taking(&[optional("pattern")])
        .with(&[
            flag("enabled", "only those that are built in").short("E"),
            flag("implicitly-enabled", "the same").short("e"),
            flag("minimal", "only names").short("m"),
        ])
        .saying_if("minimal", "")
        .saying("Listing plugins with pattern \"{pattern|.*}\" ..."),
    Command::new("plugins enable", "reports which plugins are built in, and fails if one is not", enable)
        .taking(&[repeated("plugin")])
        .with(&[flag("all", "all that are built in"), OFFLINE, ONLINE]),
    Command::new("plugins set", "the same", enable).taking(&[repeated("plugin")]).with(&[OFFLINE, ONLINE]),
    Command::new(
        "plugins disable",
        "reports that built-in plugins cannot be disabled, and the key that switches them off",
        disable,
    )
    .taking(&[repeated("plugin")])
    .with(&[flag("all", "all that are built in"), OFFLINE, ONLINE]),
    Command::new("plugins is_enabled", "fails unless all of these are built in", |input| {
        let names = named(input)?;
        refuse_missing(&names)?;
        let (what, are) = if names.len() == 1 { ("Plugin", "is") } else { ("Plugins", "are") };
        say(format!("{what} {} {are} enabled: built in", names.join(", ")))
    })
    .taking(&[repeated("plugin")])
    .with(&[OFFLINE, ONLINE]),
    Command::new("plugins directories", "reports where plugins would be", |_| {
        say("No plugin directories: all plugins are built in, and none can be added")
    })
    .with(&[OFFLINE, ONLINE]),
];

const OFFLINE: Opt = flag("offline", "accepted: no server is contacted");
const ONLINE: Opt = flag("online", "accepted: no server is contacted");

/// Keys that switch off what a plugin would have brought.
const SWITCHES: &[(&str, &str)] = &[("rabbitmq_management", "warren.management.enabled = false")];

fn list(input: &Invocation) -> StepResult {
    let text = input.optional("pattern").unwrap_or(".*");
    let pattern =
        Regex::new(text).map_err(|_| Failure::usage(format!("'{text}' is not a valid regular expression")))?;
    let is_only_enabled = input.has("enabled") || input.has("implicitly-enabled");
    let names = plugin_names().filter(|name| pattern.is_match(name) && !(is_only_enabled && missing(name).is_some()));
    let mut names: Vec<&str> = names.collect();
    names.sort_unstable();
    if input.has("minimal") || input.has_shared("silent") {
        return say(names.join("\n"));
    }
    let width = names.iter().map(|name| name.len()).max().unwrap_or_default();
    let line = |name: &&str| match plugin_state(name) {
        PluginState::BuiltIn => format!("[E*] {name:width$}  built in"),
        PluginState::Different(text) => format!("[E*] {name:width$}  {text}"),
        PluginState::NotBuilt(text, _) => format!("[  ] {name:width$}  {text}"),
        PluginState::Unknown => format!("[  ] {name:width$}"),
    };
    say(names.iter().map(line).collect::<Vec<_>>().join("\n"))
}

/// The plugins that a command names; some have to be.
fn named(input: &Invocation) -> Result<Vec<String>, Failure> {
    match input.all("plugin") {
        [] if input.has("all") => {
            Ok(plugin_names().filter(|name| missing(name).is_none()).map(str::to_owned).collect())
        }
        [] if input.command.name == "plugins set" => Ok(Vec::new()),
        [] => Err(Failure::usage(format!("{} needs the name of a plugin", input.command.name))),
        names => Ok(names.to_vec()),
    }
}

/// Why a plugin is not there, if it is not.
fn missing(name: &str) -> Option<String> {
    match plugin_state(name) {
        PluginState::BuiltIn | PluginState::Different(_) => None,
        PluginState::NotBuilt(text, advice) => Some(format!("{name} is not supported: {text}; {advice}")),
        PluginState::Unknown => Some(format!("unknown plugin {name}, and plugins cannot be added")),
    }
}

fn refuse_missing(names: &[String]) -> Result<(), Failure> {
    let missing: Vec<String> = names.iter().filter_map(|name| missing(name)).collect();
    if missing.is_empty() { Ok(()) } else { Err(Failure::new(UNAVAILABLE, missing.join("; "))) }
}

fn enable(input: &Invocation) -> StepResult {
    let names = named(input)?;
    refuse_missing(&names)?;
    let line = |name: &String| match plugin_state(name) {
        PluginState::Different(text) => format!("{name}: {text}"),
        _ => format!("{name} is built in: nothing is to be enabled"),
    };
    say(names.iter().map(line).collect::<Vec<_>>().join("\n"))
}

fn disable(input: &Invocation) -> StepResult {
    let line = |name: &String| {
        let switch = SWITCHES.iter().find(|(known, _)| known == name);
        match (switch, missing(name)) {
            (Some((_, key)), _) => format!("{name} is built in and cannot be disabled; {key} switches it off"),
            (None, None) => format!("{name} is built in and cannot be disabled"),
            (None, Some(_)) => format!("{name} is not there: nothing is to be disabled"),
        }
    };
    say(named(input)?.iter().map(line).collect::<Vec<_>>().join("\n"))
}

pub(crate) const COMMANDS: &[Command] = &[
    Command::new("plugins list_all", "lists plugins of all nodes", |_| {
        Ask::get("nodes".to_owned()).then(|reply| shown(&reply.list()?))
    }),
    Command::new("plugins list_on_node", "lists a node's plugins", |input| {
        let node = input.text("node").to_owned();
        Ask::get(path(&["nodes", &node])).then(move |reply| {
            let missing = || Failure::data(format!("no node '{node}'"));
            shown(&[reply.unless(404, missing)?.value()?])
        })
    })
    .taking(&[required("node").short("N")]),
];

fn shown(nodes: &[Value]) -> StepResult {
    let plugins = |node: &Value| -> Vec<Vec<Value>> {
        let plugins = node["enabled_plugins"].as_array().into_iter().flatten();
        plugins.map(|plugin| vec![json!(text(node, "name")), plugin.clone()]).collect()
    };
    let columns = ["node", "name"].map(str::to_owned).to_vec();
    Ok(Step::Done(Output::Table(Table { columns, rows: nodes.iter().flat_map(plugins).collect() })))
}
