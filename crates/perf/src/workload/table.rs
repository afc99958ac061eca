//! Reads values of the types that are expected, and says what is wrong with others.

use std::ops::RangeInclusive;
use std::time::Duration;

use super::document::{DocumentEntry, Node, SourcePlace, Value};
use super::error::{Fault, suggestion};
use figures::quantity;

/// A table whose keys are known.
pub(super) struct Table<'a> {
    path: String,
    entries: &'a [DocumentEntry],
    place: &'a SourcePlace,
}

/// A value, and the words by which errors name it.
pub(super) struct Field<'a> {
    path: String,
    pub(super) node: &'a Node,
}

impl<'a> Table<'a> {
    /// The value of the table's key, if it is there.
    pub(super) fn get(&self, key: &str) -> Option<Field<'a>> {
        let entry = self.entries.iter().find(|entry| entry.key == key)?;
        Some(Field { path: join(&self.path, key), node: &entry.node })
    }

    /// All that is there.
    pub(super) fn fields(&self) -> impl Iterator<Item = (&'a str, Field<'a>)> {
        self.entries
            .iter()
            .map(|entry| (entry.key.as_str(), Field { path: join(&self.path, &entry.key), node: &entry.node }))
    }

    /// Where a key, or if it is not there the table, is.
    pub(super) fn place_of(&self, key: &str) -> &'a SourcePlace {
        self.entries.iter().find(|entry| entry.key == key).map_or(self.place, |entry| &entry.place)
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.entries.iter().any(|entry| entry.key == key)
    }

    pub(super) fn require(&self, key: &str, what: &str) -> Result<Field<'a>, Fault> {
        self.get(key).ok_or_else(|| self.fault(format!("\"{key}\" is missing: {what}")))
    }

    /// Refuses two keys that exclude each other.
    pub(super) fn not_both(&self, one: &str, other: &str) -> Result<(), Fault> {
        if !self.has(one) || !self.has(other) {
            return Ok(());
        }
        Err(Fault::new(
            self.place_of(other),
            format!("{}\"{one}\" and \"{other}\" cannot be used together", self.prefix()),
        ))
    }

    /// An error of the table itself.
    pub(super) fn fault(&self, message: impl AsRef<str>) -> Fault {
        Fault::new(self.place, format!("{}{}", self.prefix(), message.as_ref()))
    }

    /// Names the table in errors by its own name from now on.
    pub(super) fn rename(&mut self, kind: &str, name: &str) {
        self.path = format!("{kind} \"{name}\"");
    }

    fn prefix(&self) -> String {
        if self.path.is_empty() { String::new() } else { format!("{}: ", self.path) }
    }

    pub(super) fn bool(&self, key: &str, default: bool) -> Result<bool, Fault> {
        self.get(key).map_or(Ok(default), |field| field.bool())
    }

    pub(super) fn text(&self, key: &str) -> Result<Option<&'a str>, Fault> {
        self.get(key).map(|field| field.text()).transpose()
    }

    pub(super) fn count(&self, key: &str, range: RangeInclusive<u32>) -> Result<Option<u32>, Fault> {
        let Some(field) = self.get(key) else { return Ok(None) };
        let range = u64::from(*range.start())..=u64::from(*range.end());
        Ok(Some(u32::try_from(field.whole(range)?).unwrap_or(u32::MAX)))
    }

    pub(super) fn duration(&self, key: &str) -> Result<Option<Duration>, Fault> {
        self.get(key).map(|field| field.duration()).transpose()
    }
}

impl<'a> Field<'a> {
    /// A value that has no key of its own.
    pub(super) fn new(path: &str, node: &'a Node) -> Self {
        Field { path: path.to_owned(), node }
    }

    /// An error that says what should be there.
    pub(super) fn expected(&self, what: &str) -> Fault {
        self.fault(format!("expected {what}, found {}", self.node.value))
    }

    pub(super) fn fault(&self, message: impl AsRef<str>) -> Fault {
        let message = message.as_ref();
        let message = if self.path.is_empty() { message.to_owned() } else { format!("{}: {message}", self.path) };
        Fault::new(&self.node.place, message)
    }

    pub(super) fn text(&self) -> Result<&'a str, Fault> {
        match &self.node.value {
            Value::Text(text) => Ok(text),
            _ => Err(self.expected("a string")),
        }
    }

    pub(super) fn bool(&self) -> Result<bool, Fault> {
        match self.node.value {
            Value::Bool(value) => Ok(value),
            _ => Err(self.expected("true or false")),
        }
    }

    pub(super) fn whole(&self, range: RangeInclusive<u64>) -> Result<u64, Fault> {
        let number = match self.node.value {
            Value::Int(number) => u64::try_from(number).ok(),
            // Numbers that a command line or a calculation made.
            Value::Float(number) if number >= 0.0 && number.fract() == 0.0 && number < 9e15 => Some(number as u64),
            _ => None,
        };
        match number {
            Some(number) if range.contains(&number) => Ok(number),
            _ if *range.end() >= u64::from(u32::MAX) => {
                Err(self.expected(&format!("an integer of at least {}", range.start())))
            }
            _ => Err(self.expected(&format!("an integer from {} to {}", range.start(), range.end()))),
        }
    }

    /// A number that is not negative.
    pub(super) fn number(&self) -> Result<f64, Fault> {
        match self.node.value {
            Value::Int(number) if number >= 0 => Ok(number as f64),
            Value::Float(number) if number >= 0.0 => Ok(number),
            _ => Err(self.expected("a number of at least 0")),
        }
    }

    pub(super) fn duration(&self) -> Result<Duration, Fault> {
        let found = match &self.node.value {
            Value::Text(text) => quantity::duration(text),
            Value::Int(0) => Some(Duration::ZERO),
            _ => None,
        };
        found.ok_or_else(|| self.expected("a time such as \"500ms\", \"10s\", \"2m\" or \"1h30m\""))
    }

    /// A time that is longer than nothing.
    pub(super) fn positive_duration(&self) -> Result<Duration, Fault> {
        match self.duration()? {
            Duration::ZERO => Err(self.fault("must be longer than 0")),
            duration => Ok(duration),
        }
    }

    /// Bytes.
    pub(super) fn size(&self) -> Result<f64, Fault> {
        let found = match &self.node.value {
            Value::Int(number) => u32::try_from(*number).ok(),
            Value::Text(text) => quantity::size(text),
            _ => None,
        };
        found.map(f64::from).ok_or_else(|| self.expected("a size in bytes, such as 100, \"10 kB\" or \"2 MiB\""))
    }

    pub(super) fn list(&self, what: &str) -> Result<Vec<Field<'a>>, Fault> {
        match &self.node.value {
            Value::List(items) => Ok(self.items(items)),
            _ => Err(self.expected(&format!("a list of {what}"))),
        }
    }

    /// The items of a list, or the one value itself.
    pub(super) fn one_or_more(&self) -> Vec<Field<'a>> {
        match &self.node.value {
            Value::List(items) => self.items(items),
            _ => vec![Field { path: self.path.clone(), node: self.node }],
        }
    }

    fn items(&self, items: &'a [Node]) -> Vec<Field<'a>> {
        items.iter().enumerate().map(|(index, node)| Field { path: format!("{}[{index}]", self.path), node }).collect()
    }

    /// A table with some of these keys, and no others.
    pub(super) fn table(&self, known: &[&str]) -> Result<Table<'a>, Fault> {
        let table = self.open_table()?;
        for entry in table.entries {
            if !known.contains(&entry.key.as_str()) {
                let hint = suggestion(&entry.key, known.iter().copied());
                let message = format!("{}unknown key \"{}\"{hint}", table.prefix(), entry.key);
                return Err(Fault::new(&entry.place, message));
            }
        }
        Ok(table)
    }

    /// A table with any keys.
    pub(super) fn open_table(&self) -> Result<Table<'a>, Fault> {
        match &self.node.value {
            Value::Table(entries) => Ok(Table { path: self.path.clone(), entries, place: &self.node.place }),
            _ => Err(self.expected("a table")),
        }
    }

    /// One of some words.
    pub(super) fn word(&self, known: &[&str]) -> Result<&'a str, Fault> {
        let words = || known.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(" or ");
        match &self.node.value {
            Value::Text(text) if known.contains(&text.as_str()) => Ok(text),
            _ => Err(self.expected(&words())),
        }
    }
}

fn join(path: &str, key: &str) -> String {
    match path {
        "" => key.to_owned(),
        // `publishers "load": rate`, but `rate.from`.
        path if path.ends_with('"') => format!("{path}: {key}"),
        path => format!("{path}.{key}"),
    }
}
