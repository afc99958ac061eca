//! Assignments from files and from the command line.

use super::syntax::{self, KeyPath, Setting};
use super::values::Values;
use super::{Origin, Source, interpolation};

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
