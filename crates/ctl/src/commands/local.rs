//! What this program says of itself, without a server.

use crate::command::{Command, optional, required};
use crate::failure::Failure;
use crate::output::Output;
use crate::step::{Step, say};
use crate::{completion, help, words};

pub(crate) const COMMANDS: &[Command] = &[
    Command::new("help", "explains all commands, or one", |given| {
        let Some(first) = given.optional("command") else { return say(help::overview()) };
        let name = match given.all("command") {
            [first, second, ..] => format!("{first} {second}"),
            _ => first.to_owned(),
        };
        match words::command_named(&name).or_else(|| words::command_named(first)) {
            Some((grammar, command)) => say(help::of(grammar, command)),
            None => help::of_verb(first).map_or_else(
                || Err(Failure::usage(format!("there is no command '{name}' to explain, see warren ctl help"))),
                say,
            ),
        }
    })
    .taking(&[crate::command::repeated("command")]),
    Command::new("version", "shows this program's version", |_| say(env!("CARGO_PKG_VERSION"))),
    Command::new("completion", "prints what a shell completes commands with: bash, zsh or fish", |given| {
        match completion::script(given.text("shell")) {
            Some(script) => Ok(Step::Done(Output::Bytes(script.into_bytes()))),
            None => Err(Failure::usage(format!(
                "there is no completion for '{}': one of bash, zsh, fish",
                given.text("shell")
            ))),
        }
    })
    .taking(&[required("shell")]),
    Command::new("autocomplete", "lists commands that begin like this", |given| {
        let prefix = given.optional("prefix").unwrap_or_default();
        let names = words::commands().flat_map(|(_, command)| command.names());
        let mut names: Vec<&str> = names.filter(|name| !name.contains(' ') && name.starts_with(prefix)).collect();
        names.sort_unstable();
        say(names.join("\n"))
    })
    .taking(&[optional("prefix")]),
];
