//! What objects are sorted by: the query parameters `sort` and `sort_reverse`.

use std::cmp::Ordering;

use serde_json::Value as Json;

use super::order::compare;
use super::query::Query;
use super::{Column, Table, Value};
use crate::json::Writer;

/// The order that a query asks for.
pub(super) struct Sorting<V: 'static, C: 'static> {
    keys: Vec<SortKey<V, C>>,
    pub(super) is_reversed: bool,
}

/// A path such as `message_stats.publish`: its column, and the members below.
struct SortKey<V: 'static, C: 'static> {
    /// None: nothing has it.
    column: Option<&'static Column<V, C>>,
    below: Box<[Box<str>]>,
}

/// The value of an object at a path.
#[derive(Debug)]
pub(super) enum Key {
    Number(u64),
    Text(Box<str>),
    Other(Box<Json>),
}

/// The values of an object at all paths. One path needs no memory of its own.
#[derive(Debug)]
pub(super) struct Keys {
    first: Key,
    others: Box<[Key]>,
}

impl<V, C> Sorting<V, C> {
    /// What a query asks for.
    pub(super) fn of(query: &Query, table: &'static Table<V, C>) -> Self {
        let paths = query.get("sort").unwrap_or_default().split(',');
        let keys = paths.filter_map(|path| {
            let mut names = path.split('.').filter(|name| !name.is_empty());
            let column = table.column(names.next()?);
            Some(SortKey { column, below: names.map(Box::from).collect() })
        });
        Self { keys: keys.collect(), is_reversed: query.is_true("sort_reverse") }
    }

    /// Whether it changes nothing where objects come in the order of these columns, in which none is like another.
    pub(super) fn is_order_of(&self, names: &[&str]) -> bool {
        let is_one = |(key, name): (&SortKey<V, C>, &&str)| {
            key.below.is_empty() && key.column.is_some_and(|column| column.name == *name)
        };
        !self.is_reversed && self.keys.iter().zip(names).all(is_one) && self.keys.len() <= names.len()
    }

    /// What an object is sorted by. `scratch` is room for values that have to be written for it.
    pub(super) fn keys_of(&self, object: &V, context: &C, scratch: &mut Vec<u8>) -> Keys {
        let mut keys = self.keys.iter().map(|key| key.of(object, context, scratch));
        // Nothing to sort by is the same of all.
        let first = keys.next().unwrap_or(Key::Number(0));
        Keys { first, others: keys.collect() }
    }
}

impl<V, C> SortKey<V, C> {
    /// The value at its path; zero where there is none, as in RabbitMQ.
    fn of(&self, object: &V, context: &C, scratch: &mut Vec<u8>) -> Key {
        let Some(column) = self.column else { return Key::Number(0) };
        match column.value {
            Value::Number(number) if self.below.is_empty() => Key::Number(number(object, context).unwrap_or(0)),
            Value::Text(text) if self.below.is_empty() => {
                text(object, context).map_or(Key::Number(0), |text| Key::Text(text.into()))
            }
            _ => self.written(column, object, context, scratch).unwrap_or(Key::Number(0)),
        }
    }

    /// The value at its path, from what the column writes.
    fn written(&self, column: &Column<V, C>, object: &V, context: &C, scratch: &mut Vec<u8>) -> Option<Key> {
        scratch.clear();
        Writer::new(scratch).object(|members| column.write(object, context, members.cell("")));
        let mut value = serde_json::from_slice::<Json>(scratch).ok()?;
        // The first name is the empty one under which the column has just been written.
        for name in std::iter::once("").chain(self.below.iter().map(|name| &**name)) {
            value = value.get_mut(name).map(Json::take)?;
        }
        Some(match value {
            Json::String(text) => Key::Text(text.into()),
            Json::Number(number) if number.is_u64() => Key::Number(number.as_u64().unwrap_or(0)),
            other => Key::Other(other.into()),
        })
    }
}

impl Keys {
    pub(super) fn compare(&self, other: &Keys) -> Ordering {
        let others = self.others.iter().zip(&other.others);
        self.first
            .compare(&other.first)
            .then_with(|| others.map(|(a, b)| a.compare(b)).find(|order| order.is_ne()).unwrap_or(Ordering::Equal))
    }
}

impl Key {
    fn compare(&self, other: &Key) -> Ordering {
        match (self, other) {
            (Key::Number(a), Key::Number(b)) => a.cmp(b),
            (Key::Text(a), Key::Text(b)) => a.as_bytes().cmp(b.as_bytes()),
            (Key::Other(a), Key::Other(b)) => compare(a, b),
            // Numbers come before all else, and texts after it.
            _ => compare(&self.to_json(), &other.to_json()),
        }
    }

    fn to_json(&self) -> Json {
        match self {
            Key::Number(number) => (*number).into(),
            Key::Text(text) => (**text).into(),
            Key::Other(value) => Json::clone(value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::listing::{column, number, text};
    use crate::route::Kind::Any;
    use serde_json::json;

    /// A name, a count, and something.
    type Thing = (&'static str, Option<u64>, Json);

    static TABLE: Table<Thing, ()> = Table {
        title: "Thing",
        columns: &[
            number("count", |thing: &Thing, ()| thing.1),
            text("name", |thing: &Thing, ()| Some(thing.0)),
            column("other", Any, |thing: &Thing, (), cell| cell.value(&thing.2)),
        ],
        order: |a, b| a.0.cmp(b.0),
        name: |thing| thing.0.into(),
    };

    #[track_caller]
    fn check(sort: &str, expected: &[&str]) {
        let sorting = Sorting::of(&Query::parse(&format!("sort={sort}")), &TABLE);
        let things: [Thing; 4] = [
            ("a", Some(10), json!({"x": "text"})),
            ("b", None, json!({"x": -1})),
            ("c", Some(9), json!({"x": true})),
            ("d", Some(9), json!({"x": 7})),
        ];
        let mut keyed: Vec<_> =
            things.iter().map(|thing| (sorting.keys_of(thing, &(), &mut Vec::new()), thing.0)).collect();
        keyed.sort_by(|(a, _), (b, _)| a.compare(b));
        assert_eq!(keyed.iter().map(|(_, name)| *name).collect::<Vec<_>>(), expected, "{sort}");
    }

    #[test]
    fn numbers_are_compared_as_numbers_and_texts_as_texts() {
        check("count", &["b", "c", "d", "a"]);
        check("name", &["a", "b", "c", "d"]);
        check("count,name", &["b", "c", "d", "a"]);
        check("nosuch", &["a", "b", "c", "d"]);
        check("count.x", &["a", "b", "c", "d"]);
    }

    #[test]
    fn parts_of_values_are_compared_as_erlang_compares_them() {
        check("other.x", &["b", "d", "c", "a"]);
        check("other.y,count", &["b", "c", "d", "a"]);
    }

    #[test]
    fn an_order_that_is_there_already_is_recognised() {
        let is_order = |query: &str| Sorting::of(&Query::parse(query), &TABLE).is_order_of(&["count", "name"]);
        for query in ["", "sort=", "sort=count", "sort=count,name"] {
            assert!(is_order(query), "{query}");
        }
        for query in ["sort=name", "sort=count,name,other", "sort=count.x", "sort_reverse=true", "sort=nosuch"] {
            assert!(!is_order(query), "{query}");
        }
    }
}
