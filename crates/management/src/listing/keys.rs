//! What objects are sorted by: the query parameters `sort` and `sort_reverse`.

use std::cmp::Ordering;

use serde_json::Value as Json;

use super::order::compare;
use super::query::Query;
use super::runs::RUN_COUNT;
use super::{Column, Selection, Table, Value};
use crate::json::Writer;

/// The order that a query asks for.
pub(super) struct Sorting<V: 'static, C: 'static> {
    keys: Vec<SortKey<V, C>>,
    /// The columns that have to be written for it, each once however many keys are in it; and only what they need of it.
    written: Vec<(&'static Column<V, C>, Selection)>,
    pub(super) is_reversed: bool,
}

/// Where the value of a path such as `message_stats.publish` is.
enum SortKey<V: 'static, C: 'static> {
    /// Nothing has it.
    Nowhere,
    /// In a column that need not be written.
    Plain(&'static Column<V, C>),
    /// In one that has to be: its position among those, and the members below.
    Written(usize, Box<[Box<str>]>),
}

/// Room for what has to be written to sort objects, and what that has cost.
#[derive(Debug, Default)]
pub(super) struct SortScratch {
    out: Vec<u8>,
    values: Vec<Option<Json>>,
    work: usize,
}

/// What writing and reading a value costs at least, and bytes of it that cost as much as an object that is looked at.
const WORK_OF_VALUE: usize = 8;
const LEN_OF_WORK: usize = 64;

impl SortScratch {
    /// Counts an object that is looked at. True: so much has been done that it is the turn of others.
    pub(super) fn is_turn_of_others(&mut self) -> bool {
        self.work += 1;
        let is_it = self.work >= RUN_COUNT;
        if is_it {
            self.work = 0;
        }
        is_it
    }
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
        let (mut keys, mut written) = (Vec::new(), Vec::<(&'static Column<V, C>, Selection)>::new());
        for path in query.get("sort").unwrap_or_default().split(',') {
            let mut names = path.split('.').filter(|name| !name.is_empty());
            let Some(name) = names.next() else { continue };
            let below: Box<[Box<str>]> = names.map(Box::from).collect();
            keys.push(match table.column(name) {
                None => SortKey::Nowhere,
                Some(column) if below.is_empty() && column.is_plain() => SortKey::Plain(column),
                Some(column) => {
                    let at = written.iter().position(|(own, _)| own.name == name).unwrap_or(written.len());
                    if at == written.len() {
                        written.push((column, Selection::nothing()));
                    }
                    written[at].1.add(below.iter().map(|name| &**name));
                    SortKey::Written(at, below)
                }
            });
        }
        Self { keys, written, is_reversed: query.is_true("sort_reverse") }
    }

    /// Whether it changes nothing where objects come in the order of these columns, in which none is like another.
    pub(super) fn is_order_of(&self, names: &[&str]) -> bool {
        let is_one = |(key, name): (&SortKey<V, C>, &&str)| match key {
            SortKey::Plain(column) => column.name == *name,
            SortKey::Nowhere | SortKey::Written(..) => false,
        };
        !self.is_reversed && self.keys.iter().zip(names).all(is_one) && self.keys.len() <= names.len()
    }

    /// What an object is sorted by.
    pub(super) fn keys_of(&self, object: &V, context: &C, room: &mut SortScratch) -> Keys {
        room.values.clear();
        for (column, wanted) in &self.written {
            room.out.clear();
            Writer::of_key(&mut room.out)
                .object(|members| column.write(object, context, members.wanted_cell("", wanted)));
            room.work += WORK_OF_VALUE + room.out.len() / LEN_OF_WORK;
            // Under the empty name, if the object has it at all.
            let value = serde_json::from_slice::<Json>(&room.out).ok();
            room.values.push(value.and_then(|mut value| value.get_mut("").map(Json::take)));
        }
        let mut keys = self.keys.iter().map(|key| key.of(object, context, &room.values));
        // Nothing to sort by is the same of all.
        let first = keys.next().unwrap_or(Key::NOTHING);
        Keys { first, others: keys.collect() }
    }
}

impl<V, C> SortKey<V, C> {
    /// The value at its path; zero where there is none, as in RabbitMQ.
    fn of(&self, object: &V, context: &C, written: &[Option<Json>]) -> Key {
        match self {
            SortKey::Nowhere => Key::NOTHING,
            SortKey::Plain(column) => match column.value {
                Value::Number(number) => Key::Number(number(object, context).unwrap_or(0)),
                Value::Text(text) => text(object, context).map_or(Key::NOTHING, |text| Key::Text(text.into())),
                Value::Any(_) => Key::NOTHING,
            },
            SortKey::Written(at, below) => {
                let whole = written.get(*at).and_then(Option::as_ref);
                let value = below.iter().try_fold(whole, |value, name| Some(value?.get(&**name)));
                value.flatten().map_or(Key::NOTHING, Key::of)
            }
        }
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
    const NOTHING: Key = Key::Number(0);

    fn of(value: &Json) -> Key {
        match value {
            Json::String(text) => Key::Text(text.as_str().into()),
            Json::Number(number) if number.is_u64() => Key::Number(number.as_u64().unwrap_or(0)),
            other => Key::Other(other.clone().into()),
        }
    }

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
            things.iter().map(|thing| (sorting.keys_of(thing, &(), &mut SortScratch::default()), thing.0)).collect();
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
    fn one_column_may_have_several_keys() {
        check("other.y,other.x", &["b", "d", "c", "a"]);
        check("other.x,other", &["b", "d", "c", "a"]);
        check("other,other.x", &["b", "d", "c", "a"]);
    }

    #[test]
    fn what_is_written_to_be_sorted_by_is_what_the_keys_need() {
        static WIDE: Table<u64, ()> = Table {
            title: "Wide",
            columns: &[column("stats", Any, |number: &u64, (), cell| {
                assert!(cell.is_key());
                cell.object(|members| {
                    members.cell("count").int(*number);
                    for name in ["one", "two"] {
                        members.cell(name).object(|members| members.cell("rate").int(*number));
                    }
                });
            })],
            order: |a, b| a.cmp(b),
            name: |number| number.to_string().into(),
        };
        let mut room = SortScratch::default();
        let sorting = Sorting::of(&Query::parse("sort=stats.one.rate,stats.count,stats.one.nosuch"), &WIDE);
        let keys = sorting.keys_of(&7, &(), &mut room);
        assert_eq!(room.out, br#"{"":{"count":7,"one":{"rate":7}}}"#);
        let shown = format!("{:?} {:?}", keys.first, keys.others);
        assert_eq!(shown, "Number(7) [Number(7), Number(0)]");
        // Written once, and counted: others have their turn before so many objects have come as cost nothing.
        assert_eq!(room.work, WORK_OF_VALUE);
        let turns = (0..RUN_COUNT).filter(|number| {
            sorting.keys_of(&(*number as u64), &(), &mut room);
            room.is_turn_of_others()
        });
        assert_eq!(turns.count(), WORK_OF_VALUE + 1);
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
