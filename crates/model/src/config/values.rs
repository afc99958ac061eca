//! Assigned values by key, each checked against the schema; the last one of a key counts.

use std::collections::BTreeMap;
use std::fmt;

use super::key::Key;
use super::remark::{ConfigError, Origin, Remark, Warning};
use super::row::{Row, State, Table};
use super::suggest::closest_key;
use super::syntax::KeyPath;

/// How RabbitMQ marks a value that it would decrypt.
const ENCRYPTED_PREFIX: &str = "encrypted:";

/// All values of a configuration, defaults included.
///
/// They are read by key. Asking for a key that the table does not have, or for another type of value, is a defect, and panics.
#[derive(Clone)]
pub struct Values {
    table: &'static Table,
    pub(super) by_key: BTreeMap<KeyPath, AssignedValue>,
    problems: Vec<(usize, Remark)>,
    warnings: Vec<Warning>,
    /// Assignments so far.
    count: usize,
}

#[derive(Clone)]
pub(super) struct AssignedValue {
    pub(super) row: &'static Row,
    pub(super) text: String,
    pub(super) origin: Origin,
    /// When it was assigned, so that warnings come in the order of the files.
    order: usize,
}

impl Values {
    /// Nothing yet.
    #[must_use]
    pub fn new(table: &'static Table) -> Values {
        Values { table, by_key: BTreeMap::new(), problems: Vec::new(), warnings: Vec::new(), count: 0 }
    }

    /// Takes an assignment, or notes why not.
    pub fn assign(&mut self, key: &KeyPath, text: &str, origin: Origin) {
        self.count += 1;
        let Some(row) = self.table.find(key) else {
            let hint = closest_key(self.table, key).map(|closest| format!("; the closest known key is '{closest}'"));
            return self.refuse(origin, format!("unknown key '{key}'{}", hint.unwrap_or_default()));
        };
        if let State::RenamedTo(target) = row.state {
            self.warn(origin.clone(), format!("'{key}' is called '{target}' now; the old name is still read"));
            return self.assign(&KeyPath::parse(target).expect("a key of the schema"), text, origin);
        }
        if text.starts_with(ENCRYPTED_PREFIX) {
            return self.refuse(origin, format!("'{key}' is encrypted, which is not supported; write it in plain"));
        }
        if !row.kind.accepts(text) {
            let reason = row.kind.reason(text).map(|reason| format!(": {reason}")).unwrap_or_default();
            let text = format!("'{key}' must be {}, not '{}'{reason}", row.kind, row.kind.shown(text));
            return self.refuse(origin, text);
        }
        match row.state {
            State::AliasOf(target) => {
                let target = KeyPath::parse(target).expect("a key of the schema");
                self.assign(&target, text, origin);
            }
            _ => self.insert(key.clone(), row, text, origin),
        }
    }

    /// Notes why the program cannot start.
    pub fn refuse(&mut self, origin: Origin, text: String) {
        self.problems.push((self.count, Remark { origin, text }));
    }

    /// Notes something that does not do what its author may expect.
    pub fn warn(&mut self, origin: Origin, text: String) {
        self.warnings.push(Warning(Remark { origin, text }));
    }

    /// What was noted.
    #[must_use]
    pub fn take_warnings(&mut self) -> Vec<Warning> {
        std::mem::take(&mut self.warnings)
    }

    /// Passes over values of a family that are not known, with a warning for each, as long as others are; where none is, the family is
    /// refused. `what` is what they are called.
    pub(crate) fn pass_over_unknown(&mut self, family: &[&str], what: &str, known: &[&str]) {
        let is_known = |text: &str| known.contains(&text);
        let set: Vec<(KeyPath, String, Origin)> = self
            .below(family)
            .map(|(rest, text, origin)| {
                let rest: Vec<&str> = rest.iter().map(String::as_str).collect();
                (KeyPath::of(&[family, &rest].concat()), text.to_owned(), origin.clone())
            })
            .collect();
        let has_known = set.iter().any(|(_, text, _)| is_known(text));
        for (key, text, origin) in set.into_iter().filter(|(_, text, _)| !is_known(text)) {
            if has_known {
                self.warn(origin, format!("'{key}' has no effect: the {what} '{text}' is not supported"));
                self.by_key.remove(&key);
            } else {
                self.refuse(origin, format!("'{key}' must be one of {}, not '{text}'", known.join(", ")));
            }
        }
    }

    /// Forgets what is not kept.
    pub fn retain(&mut self, is_kept: impl Fn(&KeyPath, &Origin) -> bool) {
        self.by_key.retain(|key, assigned| is_kept(key, &assigned.origin));
    }

    /// Adds the defaults of all that was not assigned. Those of names that are not known yet are left to their reader: see
    /// [`Values::find_named`].
    pub fn complete(&mut self) {
        for row in self.table.keys().filter(|row| row.state == State::Effective) {
            let is_assigned = self.by_key.values().any(|assigned| assigned.row.pattern == row.pattern);
            let own = row.default.filter(|_| !row.pattern.contains('$')).map(|default| (row.pattern, default));
            if !is_assigned {
                for (key, text) in own.iter().chain(row.family_default) {
                    let key = KeyPath::parse(key).expect("a key of the schema");
                    self.insert(key, row, text, Origin::Default);
                }
            }
        }
    }

    /// The remarks that the keys themselves call for: warnings, or the reasons not to start.
    pub fn judge(&mut self) -> Vec<Warning> {
        let mut assigned: Vec<_> = self.by_key.iter().collect();
        assigned.sort_by_key(|(_, assigned)| assigned.order);
        let mut warnings = Vec::new();
        let mut problems = Vec::new();
        for (key, AssignedValue { row, text, origin, order }) in assigned {
            if row.harmless.contains(&&**text) {
                continue;
            }
            let remark =
                |words: &str| Remark { origin: origin.clone(), text: format!("'{key}' {words}: {}", row.text) };
            match row.state {
                State::Effective | State::AliasOf(_) | State::RenamedTo(_) => {}
                State::NoEffect => warnings.push(Warning(remark("has no effect"))),
                State::NotBuilt => warnings.push(Warning(remark("is not supported and has no effect"))),
                State::Refused => problems.push((*order, remark("cannot be honoured"))),
            }
        }
        self.problems.extend(problems);
        warnings
    }

    /// The reasons against them so far, in the order in which they were given.
    pub(super) fn take_problems(&mut self) -> Vec<Remark> {
        self.problems.sort_by_key(|(order, _)| *order);
        std::mem::take(&mut self.problems).into_iter().map(|(_, problem)| problem).collect()
    }

    /// Whether a value of a key that begins so was refused, and is missing for no other reason.
    #[must_use]
    pub fn is_refused_below(&self, prefix: &str) -> bool {
        self.problems
            .iter()
            .any(|(_, problem)| problem.text.strip_prefix('\'').is_some_and(|text| text.starts_with(prefix)))
    }

    /// The values, if there was no reason against them.
    pub fn accept(mut self) -> Result<Values, ConfigError> {
        if self.problems.is_empty() {
            return Ok(self);
        }
        Err(ConfigError(self.take_problems()))
    }

    /// Every key that is in force, with its value, by name; passwords are hidden.
    #[must_use]
    pub fn effective(&self) -> Vec<(String, String)> {
        let is_effective = |assigned: &&AssignedValue| assigned.row.state == State::Effective;
        let shown = |assigned: &AssignedValue| assigned.row.kind.shown(&assigned.text);
        let assigned = self.by_key.iter().filter(|(_, assigned)| is_effective(assigned));
        let mut effective: Vec<_> = assigned.map(|(key, assigned)| (key.to_string(), shown(assigned))).collect();
        effective.sort();
        effective
    }

    /// Where a key's value comes from; `Default` if it has none.
    #[must_use]
    pub fn origin(&self, key: &str) -> Origin {
        self.assigned(key).map_or(Origin::Default, |assigned| assigned.origin.clone())
    }

    /// A key's text, if it has one.
    #[must_use]
    pub fn text(&self, key: &str) -> Option<&str> {
        self.assigned(key).map(|assigned| &*assigned.text)
    }

    /// A key's text, of one that has a default.
    #[must_use]
    pub fn required(&self, key: &str) -> &str {
        self.text(key).unwrap_or_else(|| panic!("{key} has a default in the schema"))
    }

    /// The value of a key that has a default.
    #[must_use]
    pub fn get<T>(&self, key: &Key<T>) -> T {
        key.read(self.required(key.name()))
    }

    /// The value of a key, if it has one.
    #[must_use]
    pub fn find<T>(&self, key: &Key<T>) -> Option<T> {
        self.text(key.name()).map(|text| key.read(text))
    }

    /// The value of a key with `$name` in its name for one word, or its default if it has one.
    #[must_use]
    pub fn find_named<T>(&self, key: &Key<T>, word: &str) -> Option<T> {
        let text = self.by_key.get(&key.named(word)).map(|assigned| &*assigned.text);
        text.or(key.row.default).map(|text| key.read(text))
    }

    /// All keys below a prefix, by the last segment of their names.
    pub fn family<'a>(&'a self, prefix: &'a [&'a str]) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.by_key.iter().filter_map(move |(key, assigned)| match key.segments().split_last() {
            Some((name, parents)) if parents == prefix => Some((&**name, &*assigned.text)),
            _ => None,
        })
    }

    /// All keys below a prefix, at any depth: the rest of their names, their texts and where these come from.
    pub fn below<'a>(&'a self, prefix: &[&str]) -> impl Iterator<Item = (&'a [String], &'a str, &'a Origin)> {
        self.by_key.iter().filter_map(move |(key, assigned)| {
            let (parents, rest) = key.segments().split_at_checked(prefix.len())?;
            (parents == prefix && !rest.is_empty()).then_some((rest, &*assigned.text, &assigned.origin))
        })
    }

    /// Whether any key below a prefix was assigned, and does not only have its default.
    #[must_use]
    pub(crate) fn is_set_below(&self, prefix: &[&str]) -> bool {
        self.below(prefix).any(|(.., origin)| *origin != Origin::Default)
    }

    /// Whether there is any key below a prefix, at any depth.
    #[must_use]
    pub(crate) fn has_any_below(&self, prefix: &[&str]) -> bool {
        self.by_key
            .keys()
            .any(|key| key.segments().len() > prefix.len() && key.segments().iter().zip(prefix).all(|(a, b)| a == b))
    }

    fn assigned(&self, key: &str) -> Option<&AssignedValue> {
        self.by_key.get(&KeyPath::parse(key).expect("a key of the schema"))
    }

    fn insert(&mut self, key: KeyPath, row: &'static Row, text: &str, origin: Origin) {
        let assigned = AssignedValue { row, text: text.to_owned(), origin, order: self.count };
        self.by_key.insert(key, assigned);
    }
}

/// As `effective` shows them: without passwords.
impl fmt::Debug for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.effective()).finish()
    }
}
