//! What the words of a command line came to.

use std::collections::BTreeMap;

use crate::command::{Command, Grammar};
use crate::failure::Failure;
use crate::options::{ADMIN_OPTIONS, ADMIN_VARIABLES};

/// The virtual host where the user names none.
pub(crate) const DEFAULT_VHOST: &str = "/";

/// A command and what it was given. What has to be there is.
#[derive(Debug)]
pub(crate) struct Invocation {
    pub(crate) command: &'static Command,
    pub(crate) grammar: Grammar,
    /// Its own arguments and options.
    pub(crate) own: Values,
    /// Options that every command takes: a user's password may be an argument, and there may be the asker's, too.
    pub(crate) shared: Values,
}

/// By the long name, in the order in which they were said. A flag has an empty text.
pub(crate) type Values = BTreeMap<&'static str, Vec<String>>;

impl Invocation {
    /// An argument that the table says has to be there.
    pub(crate) fn text(&self, name: &str) -> &str {
        self.optional(name).unwrap_or_default()
    }

    /// The last that was said of it.
    pub(crate) fn optional(&self, name: &str) -> Option<&str> {
        self.all(name).last().map(String::as_str)
    }

    /// All that was said of it.
    pub(crate) fn all(&self, name: &str) -> &[String] {
        self.own.get(name).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn has(&self, flag: &str) -> bool {
        self.own.contains_key(flag)
    }

    /// The last that was said of an option that every command takes.
    pub(crate) fn shared(&self, name: &str) -> Option<&str> {
        self.shared.get(name)?.last().map(String::as_str)
    }

    pub(crate) fn has_shared(&self, flag: &str) -> bool {
        self.shared.contains_key(flag)
    }

    /// The virtual host that was said, as an argument or as an option.
    pub(crate) fn said_vhost(&self) -> Option<&str> {
        self.optional("vhost").or_else(|| self.shared("vhost"))
    }

    /// The virtual host that was said, or the default one.
    pub(crate) fn vhost(&self) -> &str {
        self.said_vhost().unwrap_or(DEFAULT_VHOST)
    }

    /// A number.
    pub(crate) fn number(&self, name: &str) -> Result<Option<u64>, Failure> {
        self.optional(name).map(|text| number(name, text)).transpose()
    }

    /// A number in an option that every command takes.
    pub(crate) fn shared_number(&self, name: &str) -> Result<Option<u64>, Failure> {
        self.shared(name).map(|text| number(name, text)).transpose()
    }

    /// True or false.
    pub(crate) fn truth(&self, name: &str) -> Result<Option<bool>, Failure> {
        match self.optional(name) {
            None => Ok(None),
            Some("true" | "True" | "yes" | "1") => Ok(Some(true)),
            Some("false" | "False" | "no" | "0") => Ok(Some(false)),
            Some(text) => Err(Failure::data(format!("{name} must be true or false, not '{text}'"))),
        }
    }

    /// A document in JSON.
    pub(crate) fn json(&self, name: &str) -> Result<Option<serde_json::Value>, Failure> {
        let Some(text) = self.optional(name) else { return Ok(None) };
        match serde_json::from_str(text) {
            Ok(value) => Ok(Some(value)),
            // rabbitmqctl, too, says that it is the server that cannot.
            Err(error) => Err(Failure::unavailable(format!("{name} must be JSON, and '{text}' is not: {error}"))),
        }
    }

    /// Takes what was not said from variables, in the grammar that has some.
    pub(crate) fn complete(&mut self, variable: &dyn Fn(&str) -> Option<String>) {
        if self.grammar != Grammar::Admin {
            return;
        }
        for (name, option) in ADMIN_VARIABLES {
            let is_flag = ADMIN_OPTIONS.iter().any(|known| known.long == *option && !known.takes_value());
            if let Some(text) = variable(name).filter(|text| !(text.is_empty() || is_flag && text == "false")) {
                self.shared.entry(option).or_insert_with(|| vec![text]);
            }
        }
    }

    /// What is said before anything is done: `{name}` is replaced by what was given, and `{name|other}` by `other` if nothing was.
    pub(crate) fn banner(&self) -> String {
        let mut out = String::new();
        let mut rest = match self.command.banner_if {
            Some((flag, banner)) if self.has(flag) => banner,
            _ => self.command.banner,
        };
        while let Some((before, after)) = rest.split_once('{') {
            let Some((name, after)) = after.split_once('}') else { break };
            out.push_str(before);
            let (name, otherwise) = name.split_once('|').unwrap_or((name, ""));
            match self.all(name) {
                [] if name == "vhost" => out.push_str(self.vhost()),
                [] => out.push_str(self.shared(name).unwrap_or(otherwise)),
                values => out.push_str(&values.join(", ")),
            }
            rest = after;
        }
        out.push_str(rest);
        out
    }
}

fn number(name: &str, text: &str) -> Result<u64, Failure> {
    text.parse().map_err(|_| Failure::data(format!("{name} must be a whole number, not '{text}'")))
}
