//! The command as an agent receives it: its words, and what the words meant on the coordinator, so that they mean the same
//! on the agent. Files are sent with it; none has to be there.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use crate::perftest::without_agent_token;

/// A command that is to be done in parts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Order {
    /// The words after `warren perf`.
    pub(crate) words: Vec<String>,
    pub(crate) found: CommandContext,
    /// Which of its runs.
    pub(crate) run: usize,
}

impl Order {
    /// The first run of a command. The token of agents is not for their eyes.
    pub(crate) fn new(words: &[String], surroundings: Surroundings) -> Self {
        let mut found = surroundings.into_found();
        // Whatever the environment's prefix is.
        found.variables.retain(|name, _| !name.ends_with("AGENT_TOKEN"));
        Order { words: without_agent_token(words), found, run: 0 }
    }
}

/// What a command has found around it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CommandContext {
    /// Of the environment.
    variables: BTreeMap<String, String>,
    /// Files, in base64.
    files: BTreeMap<String, String>,
    /// The workload's text.
    workload: Option<String>,
    /// What a run is called that was given no name.
    id: Option<String>,
    /// What everything random is drawn from, if nothing was given.
    seed: Option<u64>,
}

/// What a command has around it: this machine, or what was found on another.
#[derive(Debug)]
pub(crate) enum Surroundings {
    /// This machine. What is found is noted.
    Here(RefCell<CommandContext>),
    /// What was found on another.
    There(CommandContext),
}

impl Surroundings {
    pub(crate) fn here() -> Self {
        Surroundings::Here(RefCell::default())
    }

    /// All that was found.
    pub(crate) fn into_found(self) -> CommandContext {
        match self {
            Surroundings::Here(found) => found.into_inner(),
            Surroundings::There(found) => found,
        }
    }

    /// A variable of the environment.
    pub(crate) fn variable(&self, name: &str) -> Option<String> {
        let found = match self {
            Surroundings::Here(found) => found,
            Surroundings::There(found) => return found.variables.get(name).cloned(),
        };
        let value = std::env::var(name).ok()?;
        found.borrow_mut().variables.insert(name.to_owned(), value.clone());
        Some(value)
    }

    /// A file's content.
    pub(crate) fn file(&self, path: &Path) -> io::Result<Vec<u8>> {
        let name = path.to_string_lossy().into_owned();
        let found = match self {
            Surroundings::Here(found) => found,
            Surroundings::There(found) => {
                let text = found.files.get(&name).ok_or(io::ErrorKind::NotFound)?;
                return STANDARD.decode(text).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error));
            }
        };
        let bytes = std::fs::read(path)?;
        found.borrow_mut().files.insert(name, STANDARD.encode(&bytes));
        Ok(bytes)
    }

    /// The workload's text that was found elsewhere.
    pub(crate) fn workload(&self) -> Option<&str> {
        match self {
            Surroundings::Here(_) => None,
            Surroundings::There(found) => found.workload.as_deref(),
        }
    }

    /// Notes the workload's text that was found here.
    pub(crate) fn note_workload(&self, text: &str) {
        if let Surroundings::Here(found) = self {
            found.borrow_mut().workload = Some(text.to_owned());
        }
    }

    /// The name of a run without one.
    pub(crate) fn id(&self, make: impl FnOnce() -> String) -> String {
        match self {
            Surroundings::Here(found) => found.borrow_mut().id.get_or_insert_with(make).clone(),
            Surroundings::There(found) => found.id.clone().unwrap_or_else(make),
        }
    }

    /// The seed of a run without one.
    pub(crate) fn seed(&self, make: impl FnOnce() -> u64) -> u64 {
        match self {
            Surroundings::Here(found) => *found.borrow_mut().seed.get_or_insert_with(make),
            Surroundings::There(found) => found.seed.unwrap_or_else(make),
        }
    }
}
