//! Lists of objects and single ones, written member by member.
//!
//! A kind of object is a [`Table`] of columns. Only columns that are wanted are computed, only for the objects that are
//! wanted, one after the other while the socket takes the answer: memory does not grow with the length of a list.

mod members;
mod order;
mod page;
mod query;
mod ranges;
mod rows;
mod selection;

use std::borrow::Cow;
use std::cmp::Ordering;

pub(crate) use members::check_members;
pub(crate) use page::Page;
pub(crate) use query::Query;
pub(crate) use ranges::check_ranges;
pub(crate) use rows::{list, paged_list, single};
pub(crate) use selection::Selection;

use crate::json::{Cell, Writer};
use crate::route::{Described, Kind};

/// One member of a kind of object. `C` is what all objects share, such as the broker.
pub(crate) struct Column<V, C: 'static> {
    /// Its name.
    pub(crate) name: &'static str,
    /// The type of its value.
    pub(crate) kind: Kind,
    /// Writes its value; leaves the cell alone where the object has none.
    pub(crate) write: fn(&V, &C, Cell<'_>),
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
                (column.write)(object, context, members.cell(column.name));
            }
        });
    }

    fn column(&self, name: &str) -> Option<&Column<V, C>> {
        self.columns.iter().find(|column| column.name == name)
    }
}

impl<V, C> Described for Table<V, C> {
    fn title(&self) -> &'static str {
        self.title
    }

    fn members(&self) -> Vec<(&'static str, Kind)> {
        self.columns.iter().map(|column| (column.name, column.kind)).collect()
    }
}

/// A column.
pub(crate) const fn column<V, C>(name: &'static str, kind: Kind, write: fn(&V, &C, Cell<'_>)) -> Column<V, C> {
    Column { name, kind, write }
}
