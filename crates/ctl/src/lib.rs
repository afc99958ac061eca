//! The operator's commands: `warren ctl`.
//!
//! ```text
//!  commands       the table of all commands, a file for each family: what is asked, what is made of the answer
//!  command        what an entry of that table is
//!  options        options that every command takes
//!  words          a command line's words → a command and what it was given
//!  given          what it was given
//!  step           what is to be done, one step after the other      ─┐ no I/O: a test drives a command
//!  reply          an answer, and the sentence for when it is no      │ with answers that were recorded
//!  listing        objects → columns                                 ─┘
//!  output         tables, JSON, CSV
//!  target         which server, and which user
//!  settings_file  rabbitmqadmin's file of servers
//!  password       salted hashes
//!  run            does the steps: HTTP, files, what comes in; `secret` reads passwords
//!  help           what people read, and `completion` what shells do: made of the table
//! ```
//!
//! All requests are sent over the HTTP API that RabbitMQ's management plugin has, so that it works with a RabbitMQ, too. What
//! that API cannot do is known by its name, and refused with the reason. Knows nothing of Warren's broker; what is done to the data
//! directory of a node that does not run is its caller's.

mod command;
mod commands;
mod completion;
mod failure;
mod help;
mod invocation;
mod listing;
mod options;
mod output;
mod password;
mod reply;
mod run;
mod secret;
mod settings_file;
mod step;
mod target;
mod words;

pub use completion::PROGRAM_COMMANDS;
pub use step::{Directories, DirectoryOrder};

use command::Grammar;
use failure::{Failure, SOFTWARE};
use invocation::Invocation;
use output::{Format, Output, Style};

/// The groups whose commands a program of RabbitMQ's has as its own.
const GROUPS: &[(&str, &str)] = &[("rabbitmq-plugins", "plugins")];

/// Runs a command as a program of RabbitMQ's that has this name: rabbitmqctl, rabbitmq-diagnostics, rabbitmq-plugins and so on.
#[must_use]
pub fn main_as(program: &str, words: &[String], directories: &Directories) -> u8 {
    match GROUPS.iter().find(|(name, _)| *name == program) {
        Some((_, group)) => main(&words::in_group(group, words), directories),
        None => main(words, directories),
    }
}

/// Runs a command: its words, without `warren ctl`. What it does to data directories the caller knows. Returns the exit status, which is
/// rabbitmqctl's.
#[must_use]
pub fn main(words: &[String], directories: &Directories) -> u8 {
    let words: &[String] = match words.first().map(String::as_str) {
        None | Some("--help" | "-h" | "-?") => &["help".to_owned()],
        Some("--version") => &["version".to_owned()],
        _ => words,
    };
    let result = words::parse(words).and_then(|mut said| {
        said.input.complete(&|name| std::env::var(name).ok());
        if !said.wants_help {
            run::complete_from_file(&mut said.input)?;
        }
        execute(&said.input, said.wants_help, directories)
    });
    match result {
        Ok(status) => status,
        Err(Failure { status, text }) => {
            // It may have the server's words in it.
            eprintln!("Error: {}", human::printable(&text));
            status
        }
    }
}

/// Returns the status with which it ends.
fn execute(input: &Invocation, wants_help: bool, directories: &Directories) -> Result<u8, Failure> {
    if wants_help {
        run::print(format!("{}\n", help::of(input.grammar, input.command)).as_bytes())?;
        return Ok(0);
    }
    let style = style(input)?;
    let started = (input.command.start)(input)?;
    let is_quiet = input.has_shared("quiet") || input.has_shared("silent") || style.format.is_bare() || goes_out(input);
    let banner = input.banner();
    if !banner.is_empty() && !is_quiet {
        run::print(format!("{banner}\n").as_bytes())?;
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::new(SOFTWARE, format!("cannot start: {error}")))?;
    let mut output = runtime.block_on(run::run(input, Ok(started), directories))?;
    if let (Output::Table(table), Some(column)) = (&mut output, input.shared("sort")) {
        table.sort(column, input.has_shared("sort-reverse"))?;
    }
    run::keep(&output)?;
    let is_asked_for = !matches!(output, Output::Remark(_) | Output::File { .. } | Output::Settings { .. });
    if !is_asked_for && (input.has_shared("quiet") || input.has_shared("silent")) {
        return Ok(0);
    }
    run::print(&output::render(&output, style))?;
    match output {
        Output::Findings { status, .. } => Ok(status),
        _ => Ok(0),
    }
}

/// Whether the answer is written to standard output as it is, so that nothing else may be.
fn goes_out(input: &Invocation) -> bool {
    input.optional("file") == Some("-")
}

fn style(input: &Invocation) -> Result<Style, Failure> {
    let (format, has_headers) = match input.grammar {
        Grammar::Ctl => {
            let format = output::ctl_format(input.shared("formatter").unwrap_or("table"))?;
            (format, !(input.has_shared("silent") || input.has_shared("no-table-headers")))
        }
        Grammar::Admin => {
            let is_for_people = !input.has_shared("non-interactive");
            let style = input.shared("table-style").or((!is_for_people).then_some("borderless"));
            let format = output::admin_format(input.shared("format"), style)?;
            (format, is_for_people && format != Format::Tabs || format == Format::Tabs)
        }
    };
    Ok(Style { format, has_headers, is_terminal: run::is_terminal() })
}
