//! Files, and the assignments that they and the command line make.

use std::fmt;

use super::interpolation;
use super::remark::Origin;
use super::syntax::{self, KeyPath, Setting};
use super::values::Values;

/// One configuration file, read by the caller.
#[derive(Clone, PartialEq, Eq)]
pub struct Source {
    /// How errors call it: its path.
    pub name: String,
    /// What is in it.
    pub text: String,
}

impl Values {
    /// Takes what a file says. `env` is for its `$(NAME)`.
    pub fn add_source(&mut self, source: &Source, env: &[(String, String)]) {
        let origin = |line| Origin::File { name: source.name.clone(), line };
        match syntax::parse(&source.text) {
            Ok(settings) => {
                for Setting { key, value, line } in settings {
                    match interpolation::interpolate(&value, env) {
                        Ok(value) => self.assign(&key, &value, origin(line)),
                        Err(variable) => {
                            let text =
                                format!("'{key}' asks for the environment variable '{variable}', which is not set");
                            self.refuse(origin(line), text);
                        }
                    }
                }
            }
            Err(error) => self.refuse(origin(error.line), error.reason.to_owned()),
        }
    }

    /// Takes an argument of `--set`: `KEY=VALUE`.
    pub fn add_set(&mut self, set: &str) {
        let assignment = set.split_once('=').and_then(|(key, value)| Some((KeyPath::parse(key)?, value.trim())));
        match assignment {
            Some((key, value)) => self.assign(&key, value, Origin::Set),
            None => {
                let shown = set.split('=').next().unwrap_or_default(); // what follows may be a password
                self.refuse(Origin::Set, format!("expected 'KEY=VALUE', not '{shown}'"));
            }
        }
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source").field("name", &self.name).finish_non_exhaustive() // the text has passwords
    }
}
