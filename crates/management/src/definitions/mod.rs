//! Definitions: what operators and clients have declared, as one JSON document in RabbitMQ's format.
//!
//! A document is of the whole broker, or of one vhost and then names no vhost. Importing one makes what is missing and
//! changes what RabbitMQ changes; it deletes nothing unless it is asked to ([`prune`]). A document is read and checked
//! as a whole before anything is changed ([`check`]); the one wait for durability is the caller's, at the end.

mod binding;
mod check;
mod diff;
mod export;
mod findings;
mod import;
mod parse;
mod prune;

pub use check::check;
pub(crate) use diff::diff;
pub(crate) use export::Export;
pub use export::export;
pub use import::{ImportResult, import};
pub use parse::{Definitions, parse};
pub use prune::PruneResult;
pub(crate) use prune::prune;

/// Why definitions cannot be imported, with the entry that is in the way. Nothing has been imported unless it says so.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct DefinitionsError(pub String);

impl From<crate::problem::Problem> for DefinitionsError {
    fn from(problem: crate::problem::Problem) -> Self {
        DefinitionsError(match problem.body.map(|body| body.reason) {
            Some(serde_json::Value::String(text)) => missing_keys(&text).unwrap_or(text),
            Some(other) => other.to_string(),
            None => "the definitions are invalid".to_owned(),
        })
    }
}

/// What of an entry is missing, in words: a request of its own is told as Erlang prints it, as by RabbitMQ.
fn missing_keys(text: &str) -> Option<String> {
    let names: Vec<String> =
        text.split("{key_missing,").skip(1).filter_map(|rest| Some(format!("'{}'", rest.split_once('}')?.0))).collect();
    match names.as_slice() {
        [] => None,
        [name] => Some(format!("the key {name} is missing")),
        names => Some(format!("the keys {} are missing", names.join(", "))),
    }
}

/// What becomes of what a document has and this broker cannot do: features that are not built, settings of plugins that are not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Unsupported {
    /// The whole document is refused, and all of it is named.
    #[default]
    Refused,
    /// It is left out, with what needs it, and named.
    LeftOut,
}

/// Which definitions are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope<'a> {
    /// All.
    Broker,
    /// Those of one vhost.
    Vhost(&'a str),
}

/// Why what a vhost is to have cannot be imported, in RabbitMQ's words.
fn no_vhost(name: &str) -> String {
    format!("Please create virtual host \"{name}\" prior to importing definitions.")
}
