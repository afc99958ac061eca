//! The environment as a configuration sees it: the process's variables, those of `rabbitmq-env.conf`, and what files say that variables
//! name.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use preflight::{Assignment, assignments, full_name};

use crate::config_files;

/// Names the file of variables.
const FILE: &str = "RABBITMQ_CONF_ENV_FILE";

/// Variables whose values may be in a file, which the variable with `_FILE` behind its name names: secrets of compose files are such.
const IN_FILES: &[&str] =
    &["RABBITMQ_DEFAULT_USER", "RABBITMQ_DEFAULT_PASS", "RABBITMQ_DEFAULT_VHOST", "RABBITMQ_ERLANG_COOKIE"];

/// All variables, and what there is to say of where they are from.
#[derive(Debug)]
pub(crate) struct Environment {
    variables: Vec<(String, String)>,
    remarks: Vec<String>,
}

impl Environment {
    /// Reads it. `usual_file` is the file of variables where no variable names one, and need not be there.
    pub(crate) fn of_process(usual_file: Option<&Path>) -> Result<Environment> {
        let mut environment = Environment { variables: config_files::environment(), remarks: Vec::new() };
        let named = environment.get(FILE).map(PathBuf::from);
        if let Some(file) = named.as_deref().or(usual_file) {
            match fs::read_to_string(file) {
                Ok(text) => environment.add_file(file, &text),
                Err(error) if error.kind() == io::ErrorKind::NotFound && named.is_none() => {}
                Err(error) => {
                    return Err(error).with_context(|| format!("cannot read the variables of {}", file.display()));
                }
            }
        }
        for variable in IN_FILES {
            environment.take_from_file(variable)?;
        }
        Ok(environment)
    }

    /// These variables alone.
    #[cfg(test)]
    pub(crate) fn of(variables: Vec<(String, String)>) -> Environment {
        Environment { variables, remarks: Vec::new() }
    }

    /// A variable that is set to something.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let found = self.variables.iter().find(|(known, value)| known == name && !value.is_empty());
        found.map(|(_, value)| value.as_str())
    }

    /// A variable that is not set becomes this.
    pub(crate) fn set_if_missing(&mut self, name: &str, value: String) {
        if self.get(name).is_none() {
            self.variables.retain(|(known, _)| known != name);
            self.variables.push((name.to_owned(), value));
        }
    }

    /// All of them, without those that the caller has done for.
    pub(crate) fn forget(&mut self, names: &[&str]) {
        self.variables.retain(|(known, _)| !names.contains(&known.as_str()));
    }

    pub(crate) fn variables(&self) -> &[(String, String)] {
        &self.variables
    }

    pub(crate) fn remarks(&self) -> &[String] {
        &self.remarks
    }

    pub(crate) fn remark(&mut self, text: String) {
        self.remarks.push(text);
    }

    /// The environment itself takes precedence over a file.
    fn add_file(&mut self, file: &Path, text: &str) {
        for Assignment { line, name, value } in assignments(text) {
            match name {
                Some(name) => self.set_if_missing(&full_name(name), value.to_owned()),
                None => self.remarks.push(format!(
                    "{}:{line}: has no effect: files of variables are not evaluated by a shell",
                    file.display()
                )),
            }
        }
    }

    fn take_from_file(&mut self, variable: &str) -> Result<()> {
        let naming = format!("{variable}_FILE");
        let Some(file) = self.get(&naming).map(str::to_owned) else { return Ok(()) };
        if self.get(variable).is_some() {
            self.remarks.push(format!("{naming}: has no effect; {variable} is set and takes precedence"));
            return Ok(());
        }
        let text = fs::read_to_string(&file).with_context(|| format!("cannot read {file}, which {naming} names"))?;
        self.set_if_missing(variable, text.trim_end_matches(['\n', '\r']).to_owned());
        Ok(())
    }
}
