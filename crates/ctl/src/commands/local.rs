//! What this program says of itself, without a server.

use serde_json::Value;

use crate::command::{Command, optional, required};
use crate::failure::Failure;
use crate::output::{Output, Table};
use crate::step::{Step, StepResult, say};
use crate::{completion, help, words};

pub(crate) const COMMANDS: &[Command] = &[
    Command::new("help", "explains all commands, or one", |input| {
        let Some(first) = input.optional("command") else { return say(help::overview()) };
        let name = match input.all("command") {
            [first, second, ..] => format!("{first} {second}"),
            _ => first.to_owned(),
        };
        match words::command_named(&name).or_else(|| words::command_named(first)) {
            Some((grammar, command)) => say(help::of(grammar, command)),
            None => help::of_verb(first)
                .map_or_else(|| Err(Failure::usage(format!("unknown command '{name}', see warren ctl help"))), say),
        }
    })
    .taking(&[crate::command::repeated("command")]),
    Command::new("version", "shows this program's version", |_| say(env!("CARGO_PKG_VERSION"))),
    Command::new("completion", "prints the completion script for a shell: bash, zsh or fish", |input| {
        completion_for(input.text("shell"))
    })
    .taking(&[required("shell")]),
    Command::new("autocomplete", "lists commands that start with a text", |input| {
        let prefix = input.optional("prefix").unwrap_or_default();
        let names = words::commands().flat_map(|(_, command)| command.names());
        let mut names: Vec<&str> = names.filter(|name| !name.contains(' ') && name.starts_with(prefix)).collect();
        names.sort_unstable();
        say(names.join("\n"))
    })
    .taking(&[optional("prefix")]),
];

pub(crate) const ADMIN_COMMANDS: &[Command] = &[
    Command::new(
        "shell completions",
        "prints the completion script for a shell: bash (default), zsh or fish",
        |input| completion_for(input.optional("shell").unwrap_or("bash")),
    )
    .taking(&[optional("shell")]),
    Command::new("show endpoint", "shows the management API that commands would use", |_| {
        Ok(Step::Locate(Box::new(|url| {
            let (columns, rows) = (vec!["endpoint".to_owned()], vec![vec![Value::String(url)]]);
            Ok(Step::Done(Output::Table(Table { columns, rows })))
        })))
    }),
];

fn completion_for(shell: &str) -> StepResult {
    match completion::script(shell) {
        Some(script) => Ok(Step::Done(Output::Bytes(script.into_bytes()))),
        None => Err(Failure::usage(format!("no completion for '{shell}': one of bash, zsh, fish"))),
    }
}
