//! What people read about commands: made of the table of commands.

use std::fmt::Write as _;

use command_line::list;

use crate::command::{Command, Family, Grammar, Need};
use crate::commands::FAMILIES;
use crate::options;
use crate::words;

/// All commands by families.
pub(crate) fn overview() -> String {
    let mut out = String::from(
        "warren ctl operates a broker, Warren or RabbitMQ, over its HTTP API.\n\n\
         It has the commands of rabbitmqctl, rabbitmq-diagnostics and both versions of rabbitmqadmin:\n\n  \
         warren ctl list_queues -p / name messages\n  \
         warren ctl declare queue name=orders durable=true\n  \
         warren ctl queues declare --name orders --type quorum\n\n\
         Without options, it uses the broker whose data directory is warren-data. If that does not exist, it uses\n\
         http://guest:guest@127.0.0.1:15672. Set another with --url or the variable WARREN_CTL_URL.\n",
    );
    for family in FAMILIES {
        let _ = write!(out, "\n{}:\n\n", family.title);
        out += &commands(family);
    }
    out += "\n'warren ctl help COMMAND' explains one.";
    out
}

fn commands(family: &Family) -> String {
    // What cannot be done is only named.
    let width = family.commands.iter().map(|command| command.name.len()).max().unwrap_or(0);
    family.commands.iter().map(|command| format!("  {:width$}  {}\n", command.name, command.about)).collect()
}

/// The commands that begin with a verb, or with a group's name; nothing if none does.
pub(crate) fn of_verb(verb: &str) -> Option<String> {
    let begins = |name: &str| name.split_once(' ').is_some_and(|(first, _)| first == verb);
    let named = |(_, command): (Grammar, &'static Command)| {
        command.names().find(|name| begins(name)).map(|name| (name, command.about))
    };
    let commands: Vec<(&str, &str)> = words::commands().filter_map(named).collect();
    let width = commands.iter().map(|(name, _)| name.len()).max()?;
    let lines = commands.iter().map(|(name, about)| format!("  {name:width$}  {about}\n"));
    Some(format!("{}\n'warren ctl help {verb} WHAT' explains one.", lines.collect::<String>()))
}

/// One command.
pub(crate) fn of(grammar: Grammar, command: &Command) -> String {
    let mut out = format!("warren ctl {}\n\n{}: {}\n", synopsis(grammar, command), command.name, command.about);
    if !command.aliases.is_empty() {
        let _ = write!(out, "\nThe same: {}\n", command.aliases.join(", "));
    }
    if !command.options.is_empty() {
        out += "\nOptions:\n\n";
        out += &list(command.options, usize::MAX);
    }
    out += "\nOptions of every command:\n\n";
    out += &list(options::of(grammar), usize::MAX);
    out.trim_end().to_owned()
}

/// A command with what it takes.
pub(crate) fn synopsis(grammar: Grammar, command: &Command) -> String {
    let mut out = command.name.to_owned();
    for argument in command.arguments {
        let name = match grammar {
            Grammar::Admin if !argument.is_bare => {
                let name = argument.name.replace('-', "_");
                format!("{name}=<{name}>")
            }
            _ => format!("<{}>", argument.name),
        };
        let _ = match argument.need {
            Need::Required => write!(out, " {name}"),
            Need::Optional => write!(out, " [{name}]"),
            Need::Repeated => write!(out, " [{name}...]"),
        };
    }
    for option in command.options {
        let _ = write!(out, " [{}]", option.usage());
    }
    out
}
