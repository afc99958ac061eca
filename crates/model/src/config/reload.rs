//! A configuration that was read again while the program runs.

use std::collections::BTreeSet;

use super::remark::{Remark, Warning};
use super::values::Values;

impl Values {
    /// What is in force after `newer` was read, and a warning for each change that has to wait for a restart.
    #[must_use]
    pub fn reloaded(&self, newer: &Values) -> (Values, Vec<Warning>) {
        let mut merged = newer.clone();
        let reloadable = newer.by_key.iter().filter(|(_, assigned)| assigned.row.is_reloadable);
        let fixed = self.by_key.iter().filter(|(_, assigned)| !assigned.row.is_reloadable);
        merged.by_key = reloadable.chain(fixed).map(|(key, assigned)| (key.clone(), assigned.clone())).collect();
        (merged, self.changes_that_wait(newer))
    }

    fn changes_that_wait(&self, newer: &Values) -> Vec<Warning> {
        let keys: BTreeSet<_> = self.by_key.keys().chain(newer.by_key.keys()).collect();
        let warning = |key| {
            let (before, after) = (self.by_key.get(key), newer.by_key.get(key));
            let assigned = after.or(before)?;
            let is_same = before.map(|before| &before.text) == after.map(|after| &after.text);
            let text = format!("'{key}' has changed, which counts after a restart only");
            (!assigned.row.is_reloadable && !is_same).then(|| Warning(Remark { origin: assigned.origin.clone(), text }))
        };
        keys.into_iter().filter_map(warning).collect()
    }
}
