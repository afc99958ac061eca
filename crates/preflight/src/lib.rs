//! What of a RabbitMQ works here as it is, what works differently, and what is refused: asked before anything is moved.
//!
//! ```text
//!  input          files, or the answers of a broker that runs ─► kind: what each of them is
//!  terms          Erlang's terms, read
//!  configuration  rabbitmq.conf, and with it ─┐
//!  classic        rabbitmq.config, advanced.config ─► the keys of rabbitmq.conf that say the same
//!  environment    rabbitmq-env.conf           │
//!  plugins        enabled_plugins             ├─► sheet: each setting, plugin and object, with what there is to say of it
//!  definitions    exports of definitions      │
//!  running        a broker that runs         ─┘      └─► report: what is refused first
//! ```
//!
//! The crate `definitions` reads entries of definitions, for an import as for this check. What this broker can do is asked of `model`,
//! whose tables the broker itself uses. Only what RabbitMQ calls things is known here: names of plugins, and of settings in Erlang's terms.
//!
//! No files, no sockets, no clock: the caller reads what is to be looked at. No input makes it panic.

mod classic;
mod configuration;
mod definitions;
mod environment;
mod input;
mod kind;
mod pages;
mod plugins;
mod report;
mod running;
mod sheet;
mod support;
mod terms;

pub use classic::{ErlangSettings, terms_of_arguments};
pub use environment::{Assignment, assignments, full_name};
pub use input::{Input, Unreadable};
pub use kind::Kind;
pub use plugins::{PluginState, enabled_plugins, plugin_names, plugin_state};
pub use report::Report;
pub use running::{AnswerTexts, QUESTIONS};
pub use sheet::{Entry, Group, Noun, Place, Severity, grouped};

use input::{Content, Read};
use plugins::Enabled;
use sheet::Sheet;

/// Looks at everything together: what one file enables changes what the keys of another mean.
pub fn examine(inputs: &[Input]) -> Result<Report, Unreadable> {
    examine_with(inputs, None)
}

/// The same, and what a broker that runs has answered.
pub fn examine_with(inputs: &[Input], asked: Option<&AnswerTexts>) -> Result<Report, Unreadable> {
    let read = inputs.iter().map(Read::of).chain(asked.map(Read::of_asked));
    let read: Vec<Read<'_>> = read.collect::<Result<_, _>>()?;
    let mut sheet = Sheet::default();
    let mut enabled = Enabled::default();
    for Read { name, content, .. } in &read {
        match content {
            Content::Plugins(found) => plugins::examine(name, found, &mut enabled, &mut sheet),
            Content::Running(answers) => running::examine_plugins(name, answers, &mut enabled, &mut sheet),
            _ => {}
        }
    }
    let env = environment::examine(&read, &mut sheet);
    let config = configuration::examine(&read, &env, &enabled, &mut sheet);
    definitions::examine(&read, &config, &mut sheet);
    for Read { name, content, .. } in &read {
        if let Content::Running(answers) = content {
            running::examine(name, answers, &mut sheet);
        }
    }
    let sources = read.iter().map(|read| (read.name.to_owned(), read.kind)).collect();
    Ok(Report::of(sources, sheet))
}

#[cfg(test)]
mod tests;
