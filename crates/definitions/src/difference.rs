//! What a document and a broker differ in, kind by kind.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

/// Entries of one kind that are listed of each sort; all are counted.
const LISTED_COUNT_MAX: usize = 1000;

/// Some of many, and how many there are.
#[derive(Debug, Clone, PartialEq)]
pub struct Bounded<T> {
    /// Those.
    pub listed: Vec<T>,
    /// How many there are.
    pub count: usize,
}

impl<T> Default for Bounded<T> {
    fn default() -> Self {
        Bounded { listed: Vec::new(), count: 0 }
    }
}

impl<T> Bounded<T> {
    /// One more.
    pub fn push(&mut self, item: T) {
        self.count += 1;
        if self.listed.len() < LISTED_COUNT_MAX {
            self.listed.push(item);
        }
    }
}

/// Something that an import would change: its name, and the members that would be others.
#[derive(Debug, Clone, PartialEq)]
pub struct ChangedEntry {
    /// Its name.
    pub name: String,
    /// What the broker has of these members.
    pub from: Map<String, Value>,
    /// What the document has.
    pub to: Map<String, Value>,
}

/// The differences, by kind.
#[derive(Debug, Default, PartialEq)]
pub struct Difference {
    /// Only the document has these.
    pub added: BTreeMap<&'static str, Bounded<String>>,
    /// These are others in the document.
    pub changed: BTreeMap<&'static str, Bounded<ChangedEntry>>,
    /// Only the broker has these, of the kinds that the document mentions.
    pub missing: BTreeMap<&'static str, Bounded<String>>,
    /// So many are alike.
    pub same: BTreeMap<&'static str, usize>,
}

impl Difference {
    /// Notes an entry of the document: what the broker has of it, and what would be there. A member that is null in `to` stays as it is.
    pub fn note(&mut self, kind: &'static str, name: String, from: Option<Map<String, Value>>, to: Map<String, Value>) {
        let Some(mut from) = from else { return self.added.entry(kind).or_default().push(name) };
        let to: Map<String, Value> =
            to.into_iter().filter(|(key, value)| !value.is_null() && from.get(key) != Some(value)).collect();
        if to.is_empty() {
            *self.same.entry(kind).or_default() += 1;
            return;
        }
        from.retain(|key, _| to.contains_key(key));
        self.changed.entry(kind).or_default().push(ChangedEntry { name, from, to });
    }
}

impl Difference {
    /// As JSON.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let names = |by_kind: &BTreeMap<&'static str, Bounded<String>>| {
            by_kind.iter().map(|(kind, names)| ((*kind).to_owned(), json!(names.listed))).collect::<Map<_, _>>()
        };
        let changed = |entry: &ChangedEntry| json!({"name": entry.name, "from": entry.from, "to": entry.to});
        let changed: Map<_, _> = self
            .changed
            .iter()
            .map(|(kind, entries)| ((*kind).to_owned(), entries.listed.iter().map(changed).collect::<Vec<_>>().into()))
            .collect();
        let same: Map<_, _> = self.same.iter().map(|(kind, count)| ((*kind).to_owned(), json!(count))).collect();
        json!({
            "added": names(&self.added),
            "changed": changed,
            "missing": names(&self.missing),
            "same": same,
            "counts": {
                "added": counts(&self.added),
                "changed": counts(&self.changed),
                "missing": counts(&self.missing),
            },
        })
    }
}

fn counts<T>(by_kind: &BTreeMap<&'static str, Bounded<T>>) -> Map<String, Value> {
    by_kind.iter().map(|(kind, entries)| ((*kind).to_owned(), json!(entries.count))).collect()
}
