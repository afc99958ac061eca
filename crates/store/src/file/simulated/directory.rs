//! A directory's names: those that a program sees, and those that would survive.

use std::collections::BTreeMap;

use crate::Random;

#[derive(Debug, Clone, Default)]
pub(super) struct Dir {
    pub(super) cached: BTreeMap<String, usize>,
    pub(super) durable: BTreeMap<String, usize>,
    pub(super) unsynced: Vec<Change>,
}

/// A change of a directory. Changes with the same number survive together, unless one was synced alone.
#[derive(Debug, Clone)]
pub(super) struct Change {
    pub(super) number: u64,
    pub(super) name: String,
    /// What the name stands for now; `None`: nothing.
    pub(super) inode: Option<usize>,
}

impl Dir {
    pub(super) fn survive(&mut self, coin: u64) {
        for change in std::mem::take(&mut self.unsynced) {
            if Random::new(coin ^ change.number).percent(50) {
                change.apply(&mut self.durable);
            }
        }
        self.cached = self.durable.clone();
    }

    pub(super) fn change(&mut self, number: u64, name: &str, inode: Option<usize>) {
        let change = Change { number, name: name.to_owned(), inode };
        change.apply(&mut self.cached);
        self.unsynced.push(change);
    }
}

impl Change {
    pub(super) fn apply(&self, names: &mut BTreeMap<String, usize>) {
        match self.inode {
            Some(inode) => names.insert(self.name.clone(), inode),
            None => names.remove(&self.name),
        };
    }
}
