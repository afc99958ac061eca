//! A workload's text as a tree of values that know where they were written.
//!
//! Sweeps and overrides put other values into the tree before it is read; these bring their own place with them, so an
//! error always points to what has to be changed.

use std::fmt;
use std::sync::Arc;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::Fault;

/// Where something was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SourcePlace {
    /// Bytes from the start of the file.
    Offset(usize),
    /// An override of the command line, as it was written.
    Override(Arc<str>),
}

/// A value and its place.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Node {
    pub(super) value: Value,
    pub(super) place: SourcePlace,
}

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Text(String),
    Int(i64),
    Float(f64),
    Bool(bool),
    List(Vec<Node>),
    Table(Entries),
}

/// Keys with values, in the order in which they were written.
pub(super) type Entries = Vec<DocumentEntry>;

/// A key and its value.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct DocumentEntry {
    pub(super) key: String,
    pub(super) place: SourcePlace,
    pub(super) node: Node,
}

impl Node {
    /// Reads a whole file.
    pub(super) fn parse(text: &str) -> Result<Node, Fault> {
        let table = DeTable::parse(text).map_err(|error| fault_of(&error))?;
        let start = SourcePlace::Offset(0);
        Ok(Node { value: Value::Table(entries(table.get_ref())?), place: start })
    }

    /// Reads one value: TOML if it is, else a text.
    pub(super) fn parse_value(text: &str, place: &SourcePlace) -> Node {
        let parsed = DeValue::parse(text).ok().and_then(|value| node(&value).ok());
        let mut found = parsed.unwrap_or(Node { value: Value::Text(text.to_owned()), place: place.clone() });
        found.move_to(place);
        found
    }

    fn move_to(&mut self, place: &SourcePlace) {
        self.place = place.clone();
        match &mut self.value {
            Value::List(items) => items.iter_mut().for_each(|item| item.move_to(place)),
            Value::Table(entries) => {
                for entry in entries {
                    entry.place = place.clone();
                    entry.node.move_to(place);
                }
            }
            Value::Text(_) | Value::Int(_) | Value::Float(_) | Value::Bool(_) => {}
        }
    }

    /// The value of a key, if this is a table.
    pub(super) fn get(&self, key: &str) -> Option<&Node> {
        let Value::Table(entries) = &self.value else { return None };
        entries.iter().find(|entry| entry.key == key).map(|entry| &entry.node)
    }

    /// The same, to be changed.
    pub(super) fn get_mut(&mut self, key: &str) -> Option<&mut Node> {
        let Value::Table(entries) = &mut self.value else { return None };
        entries.iter_mut().find(|entry| entry.key == key).map(|entry| &mut entry.node)
    }

    /// Sets a key, if this is a table.
    pub(super) fn set(&mut self, key: &str, node: Node) {
        let Value::Table(entries) = &mut self.value else { return };
        match entries.iter_mut().find(|entry| entry.key == key) {
            Some(entry) => entry.node = node,
            None => entries.push(DocumentEntry { key: key.to_owned(), place: node.place.clone(), node }),
        }
    }

    /// Takes a key out, if this is a table.
    pub(super) fn remove(&mut self, key: &str) -> Option<Node> {
        let Value::Table(entries) = &mut self.value else { return None };
        let index = entries.iter().position(|entry| entry.key == key)?;
        Some(entries.remove(index).node)
    }

    /// The items of a list; nothing if it is not one.
    pub(super) fn items_mut(&mut self) -> &mut [Node] {
        match &mut self.value {
            Value::List(items) => items,
            _ => &mut [],
        }
    }
}

/// As an error says what it found.
impl fmt::Display for Value {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Text(text) => write!(formatter, "\"{text}\""),
            Value::Int(number) => write!(formatter, "{number}"),
            Value::Float(number) => write!(formatter, "{number}"),
            Value::Bool(value) => write!(formatter, "{value}"),
            Value::List(items) if items.is_empty() => write!(formatter, "an empty list"),
            Value::List(_) => write!(formatter, "a list"),
            Value::Table(_) => write!(formatter, "a table"),
        }
    }
}

fn entries(table: &DeTable<'_>) -> Result<Entries, Fault> {
    let mut found = Vec::with_capacity(table.len());
    for (key, value) in table {
        let place = SourcePlace::Offset(key.span().start);
        let mut node = node(value)?;
        if matches!(node.value, Value::Table(_)) {
            // Of `[table]`s the parser has only the header's end.
            node.place = place.clone();
        }
        found.push(DocumentEntry { key: key.get_ref().to_string(), place, node });
    }
    found.sort_by_key(|entry| match entry.place {
        SourcePlace::Offset(offset) => offset,
        SourcePlace::Override(_) => usize::MAX,
    });
    Ok(found)
}

fn node(spanned: &Spanned<DeValue<'_>>) -> Result<Node, Fault> {
    let place = SourcePlace::Offset(spanned.span().start);
    let value = match spanned.get_ref() {
        DeValue::String(text) => Value::Text(text.to_string()),
        DeValue::Boolean(value) => Value::Bool(*value),
        DeValue::Integer(number) => match i64::from_str_radix(number.as_str(), number.radix()) {
            Ok(number) => Value::Int(number),
            Err(_) => return Err(Fault::new(&place, format!("the number {number} is too large"))),
        },
        DeValue::Float(number) => match number.as_str().parse::<f64>() {
            Ok(number) if number.is_finite() => Value::Float(number),
            _ => return Err(Fault::new(&place, format!("the number {number} is not finite"))),
        },
        DeValue::Datetime(time) => {
            return Err(Fault::new(&place, format!("expected a string or a number, found the time {time}")));
        }
        DeValue::Array(items) => Value::List(items.iter().map(node).collect::<Result<_, _>>()?),
        DeValue::Table(table) => Value::Table(entries(table)?),
    };
    Ok(Node { value, place })
}

fn fault_of(error: &toml::de::Error) -> Fault {
    let place = SourcePlace::Offset(error.span().map_or(0, |span| span.start));
    let message: Vec<&str> = error.message().lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    Fault::new(&place, format!("invalid TOML: {}", message.join(", ")))
}
