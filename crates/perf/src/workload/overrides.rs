//! What the command line changes in a workload.

use std::sync::Arc;

use super::document::{Node, SourcePlace};
use super::error::{Error, Location};

/// Changes to a workload, for one command: `--set key=value`, `--scale factor`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Overrides {
    /// `key=value` each. A key is a variable's name, or names a field, as in a sweep. A value is written as in the file;
    /// texts need no quotes. Naming something that is swept pins it.
    pub settings: Vec<String>,
    /// What counts of queues, publishers, consumers, users, workers and idle connections, and all rates, are multiplied
    /// by: makes a workload fit a smaller machine.
    pub scale: f64,
}

impl Default for Overrides {
    fn default() -> Self {
        Overrides { settings: Vec::new(), scale: 1.0 }
    }
}

/// A setting, taken apart.
pub(super) struct Setting {
    pub(super) key: String,
    pub(super) value: Node,
}

impl Overrides {
    /// Refuses what cannot be meant.
    pub(super) fn parse(&self) -> Result<Vec<Setting>, Error> {
        const SCALE_MAX: f64 = 1e6;
        if !(self.scale > 0.0 && self.scale <= SCALE_MAX) {
            return Err(Error {
                location: Location::Override("--scale".to_owned()),
                message: format!("expected a factor above 0 and up to {SCALE_MAX}, found {}", self.scale),
            });
        }
        self.settings.iter().map(|setting| parse(setting)).collect()
    }
}

fn parse(setting: &str) -> Result<Setting, Error> {
    let invalid = || Error {
        location: Location::Override(format!("--set {setting}")),
        message: "expected key=value, such as duration=10s".to_owned(),
    };
    let (key, value) = setting.split_once('=').ok_or_else(invalid)?;
    let key = key.trim();
    if key.is_empty() {
        return Err(invalid());
    }
    let place = SourcePlace::Override(Arc::from(format!("--set {setting}")));
    Ok(Setting { key: key.to_owned(), value: Node::parse_value(value.trim(), &place) })
}
