//! Lists of objects and single ones, written member by member.
//!
//! A kind of object is a [`Table`] of columns. Only columns that are wanted are computed, only for the objects that are
//! wanted, one after the other while the socket takes the answer: memory does not grow with the length of a list.
//!
//! - `query`, `members`, `ranges`, `selection`, `page`: what a request asks for.
//! - `search`: patterns that callers bring along.
//! - `keys`, `order`: what objects are sorted by. `runs`: sorting many, a few at a time.
//! - `rows`: writing. `walk`: lists, however long: none of them holds up other requests.

mod keys;
mod members;
mod order;
mod page;
mod query;
mod ranges;
mod rows;
mod runs;
mod selection;
mod walk;

use std::borrow::Cow;
use std::cmp::Ordering;

pub(crate) use members::check_members;
pub(crate) use page::Page;
pub(crate) use query::Query;
pub(crate) use ranges::check_ranges;
pub(crate) use rows::single;
#[cfg(test)]
pub(crate) use runs::RUN_COUNT;
pub(crate) use selection::{DETAILS, Selection};
pub(crate) use walk::{ListWalk, list, paged_list, streamed, walked_list};

use crate::json::{Cell, Writer};
use crate::route::{Kind, ObjectSchema};

/// One member of a kind of object. `C` is what all objects share, such as the broker.
pub(crate) struct Column<V, C: 'static> {
    /// Its name.
    pub(crate) name: &'static str,
    /// The type of its value.
    pub(crate) kind: Kind,
    value: Value<V, C>,
}

/// How a column's value is found. Plain ones can be sorted by without being written.
enum Value<V, C: 'static> {
    /// Writes it; leaves the cell alone where the object has none.
    Any(fn(&V, &C, Cell<'_>)),
    /// A number, if the object has one.
    Number(fn(&V, &C) -> Option<u64>),
    /// A text, if the object has one.
    Text(for<'a> fn(&'a V, &'a C) -> Option<&'a str>),
}

impl<V, C> Column<V, C> {
    /// Whether it can be sorted by without being written.
    fn is_plain(&self) -> bool {
        !matches!(self.value, Value::Any(_))
    }

    /// Writes the value of an object, if it has one.
    fn write(&self, object: &V, context: &C, cell: Cell<'_>) {
        match self.value {
            Value::Any(write) => write(object, context, cell),
            Value::Number(number) => {
                if let Some(number) = number(object, context) {
                    cell.int(number);
                }
            }
            Value::Text(text) => cell.text_if(text(object, context)),
        }
    }
}

/// A kind of object.
pub(crate) struct Table<V: 'static, C: 'static> {
    /// What one of them is called in the description of the API.
    pub(crate) title: &'static str,
    /// Its members, in the order in which they are written.
    pub(crate) columns: &'static [Column<V, C>],
    /// The order of a list that is not sorted otherwise.
    pub(crate) order: fn(&V, &V) -> Ordering,
    /// What the filter by name looks at.
    pub(crate) name: for<'a> fn(&'a V) -> Cow<'a, str>,
}

impl<V, C> Table<V, C> {
    /// Writes an object, as part of another one.
    pub(crate) fn write(&self, object: &V, context: &C, writer: Writer<'_>) {
        writer.object(|members| {
            for column in self.columns {
                column.write(object, context, members.cell(column.name));
            }
        });
    }

    fn column(&self, name: &str) -> Option<&Column<V, C>> {
        self.columns.iter().find(|column| column.name == name)
    }
}

impl<V, C> ObjectSchema for Table<V, C> {
    fn title(&self) -> &'static str {
        self.title
    }

    fn members(&self) -> Vec<(&'static str, Kind)> {
        self.columns.iter().map(|column| (column.name, column.kind)).collect()
    }
}

/// A column.
pub(crate) const fn column<V, C>(name: &'static str, kind: Kind, write: fn(&V, &C, Cell<'_>)) -> Column<V, C> {
    Column { name, kind, value: Value::Any(write) }
}

/// A column of numbers.
pub(crate) const fn number<V, C>(name: &'static str, number: fn(&V, &C) -> Option<u64>) -> Column<V, C> {
    Column { name, kind: Kind::Integer, value: Value::Number(number) }
}

/// A column of texts.
pub(crate) const fn text<V, C>(name: &'static str, text: for<'a> fn(&'a V, &'a C) -> Option<&'a str>) -> Column<V, C> {
    Column { name, kind: Kind::Text, value: Value::Text(text) }
}
