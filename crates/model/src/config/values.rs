//! Assigned values by key, each checked against the schema; the last one of a key counts.

use std::collections::BTreeMap;
use std::fmt;

use super::schema::{self, Key, State};
use super::suggest::closest_key;
use super::syntax::KeyPath;
use super::value::{self, Type};
use super::{ConfigError, Origin, Remark, Warning};

/// What `effective` shows of a password.
const HIDDEN: &str = "[hidden]";
/// How RabbitMQ marks a value that it would decrypt.
const ENCRYPTED_PREFIX: &str = "encrypted:";

/// All values of a configuration, defaults included.
#[derive(Clone, Default)]
pub(super) struct Values {
    by_key: BTreeMap<KeyPath, Assigned>,
    problems: Vec<(usize, Remark)>,
    /// Assignments so far.
    count: usize,
}

#[derive(Clone)]
struct Assigned {
    row: &'static Key,
    text: String,
    origin: Origin,
    /// When it was assigned, so that warnings come in the order of the files.
    order: usize,
}

impl Values {
    /// Takes an assignment, or notes why not.
    pub(super) fn assign(&mut self, key: &KeyPath, text: &str, origin: Origin) {
        self.count += 1;
        let Some(row) = schema::find(key) else {
            let hint = closest_key(key).map(|closest| format!("; the closest known key is '{closest}'"));
            return self.refuse(origin, format!("unknown key '{key}'{}", hint.unwrap_or_default()));
        };
        if text.starts_with(ENCRYPTED_PREFIX) {
            return self.refuse(origin, format!("'{key}' is encrypted, which is not supported; write it in plain"));
        }
        if !row.kind.accepts(text) {
            return self.refuse(origin, format!("'{key}' must be {}, not '{text}'", row.kind));
        }
        match row.state {
            State::AliasOf(target) => {
                let target = KeyPath::parse(target).expect("a key of the schema");
                self.assign(&target, text, origin);
            }
            _ => self.insert(key.clone(), row, text, origin),
        }
    }

    /// Notes why the broker cannot start.
    pub(super) fn refuse(&mut self, origin: Origin, text: String) {
        self.problems.push((self.count, Remark { origin, text }));
    }

    /// Adds the defaults of all that was not assigned.
    pub(super) fn complete(&mut self) {
        for row in schema::keys().filter(|row| row.state == State::Effective) {
            let is_assigned = self.by_key.values().any(|assigned| assigned.row.pattern == row.pattern);
            let own = row.default.map(|default| (row.pattern, default));
            if !is_assigned {
                for (key, text) in own.iter().chain(row.family_default) {
                    let key = KeyPath::parse(key).expect("a key of the schema");
                    self.insert(key, row, text, Origin::Default);
                }
            }
        }
    }

    /// The remarks that the keys themselves call for: warnings, or the reasons not to start.
    pub(super) fn judge(&mut self) -> Vec<Warning> {
        let mut assigned: Vec<_> = self.by_key.iter().collect();
        assigned.sort_by_key(|(_, assigned)| assigned.order);
        let mut warnings = Vec::new();
        let mut problems = Vec::new();
        for (key, Assigned { row, text, origin, order }) in assigned {
            if row.harmless.contains(&&**text) {
                continue;
            }
            let remark =
                |words: &str| Remark { origin: origin.clone(), text: format!("'{key}' {words}: {}", row.text) };
            match row.state {
                State::Effective | State::AliasOf(_) => {}
                State::NoEffect => warnings.push(Warning(remark("has no effect"))),
                State::NotBuilt => warnings.push(Warning(remark("is not built yet and has no effect"))),
                State::Refused => problems.push((*order, remark("cannot be honoured"))),
            }
        }
        self.problems.extend(problems);
        warnings
    }

    /// The values, if there was no reason against them.
    pub(super) fn accept(mut self) -> Result<Values, ConfigError> {
        if self.problems.is_empty() {
            return Ok(self);
        }
        self.problems.sort_by_key(|(order, _)| *order);
        Err(ConfigError(self.problems.into_iter().map(|(_, problem)| problem).collect()))
    }

    pub(super) fn effective(&self) -> Vec<(String, String)> {
        let is_effective = |assigned: &&Assigned| assigned.row.state == State::Effective;
        let shown = |assigned: &Assigned| match assigned.row.kind {
            Type::Secret => HIDDEN.to_owned(),
            _ => assigned.text.clone(),
        };
        let assigned = self.by_key.iter().filter(|(_, assigned)| is_effective(assigned));
        let mut effective: Vec<_> = assigned.map(|(key, assigned)| (key.to_string(), shown(assigned))).collect();
        effective.sort();
        effective
    }

    /// Where a key's value comes from; `Default` if it has none.
    pub(super) fn origin(&self, key: &str) -> Origin {
        self.get(key).map_or(Origin::Default, |assigned| assigned.origin.clone())
    }

    /// A key's text, if it has one.
    pub(super) fn text(&self, key: &str) -> Option<&str> {
        self.get(key).map(|assigned| &*assigned.text)
    }

    /// A key's text, of one that has a default.
    pub(super) fn required(&self, key: &str) -> &str {
        self.text(key).unwrap_or_else(|| panic!("{key} has a default in the schema"))
    }

    pub(super) fn bool(&self, key: &str) -> bool {
        self.required(key) == "true"
    }

    /// An integer whose range in the schema fits the type.
    pub(super) fn integer<T: TryFrom<i64>>(&self, key: &str) -> T {
        let number = value::parse_integer(self.required(key)).and_then(|number| T::try_from(number).ok());
        number.unwrap_or_else(|| panic!("the schema's range of {key} fits its type"))
    }

    /// None for `infinity`.
    pub(super) fn unbounded(&self, key: &str) -> Option<u64> {
        value::parse_integer(self.required(key)).and_then(|number| u64::try_from(number).ok())
    }

    pub(super) fn float(&self, key: &str) -> Option<f64> {
        self.text(key).and_then(value::parse_float)
    }

    pub(super) fn size(&self, key: &str) -> Option<u64> {
        self.text(key).and_then(value::parse_size)
    }

    pub(super) fn required_size(&self, key: &str) -> u64 {
        self.size(key).unwrap_or_else(|| panic!("{key} has a default in the schema"))
    }

    /// All keys below a prefix, by the last segment of their names.
    pub(super) fn family<'a>(&'a self, prefix: &'a [&'a str]) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.by_key.iter().filter_map(move |(key, assigned)| match key.segments().split_last() {
            Some((name, parents)) if parents == prefix => Some((&**name, &*assigned.text)),
            _ => None,
        })
    }

    /// All keys below a prefix, at any depth: the rest of their names, their texts and where these come from.
    pub(super) fn below<'a>(&'a self, prefix: &[&str]) -> impl Iterator<Item = (&'a [String], &'a str, &'a Origin)> {
        self.by_key.iter().filter_map(move |(key, assigned)| {
            let (parents, rest) = key.segments().split_at_checked(prefix.len())?;
            (parents == prefix && !rest.is_empty()).then_some((rest, &*assigned.text, &assigned.origin))
        })
    }

    /// Whether any key below a prefix was assigned, and does not only have its default.
    pub(super) fn is_set_below(&self, prefix: &[&str]) -> bool {
        self.below(prefix).any(|(.., origin)| *origin != Origin::Default)
    }

    /// Whether there is any key below a prefix, at any depth.
    pub(super) fn has_any_below(&self, prefix: &[&str]) -> bool {
        self.by_key
            .keys()
            .any(|key| key.segments().len() > prefix.len() && key.segments().iter().zip(prefix).all(|(a, b)| a == b))
    }

    fn get(&self, key: &str) -> Option<&Assigned> {
        self.by_key.get(&KeyPath::parse(key).expect("a key of the schema"))
    }

    fn insert(&mut self, key: KeyPath, row: &'static Key, text: &str, origin: Origin) {
        let assigned = Assigned { row, text: text.to_owned(), origin, order: self.count };
        self.by_key.insert(key, assigned);
    }
}

/// As `effective` shows them: without passwords.
impl fmt::Debug for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.effective()).finish()
    }
}
