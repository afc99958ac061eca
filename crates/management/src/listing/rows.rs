//! From objects and a query to an answer.

use std::cmp::Ordering;
use std::sync::Arc;

use serde_json::Value;

use super::order::compare;
use super::{Page, Query, Selection, Table};
use crate::answer::{Answer, Pieces};
use crate::json::Writer;
use crate::limits::PIECE_LEN;
use crate::problem::Problem;

/// A list of all objects, sorted and of the columns that are asked for; pages are not for this kind.
pub(crate) fn list<V: Send + 'static, C: Send + Sync + 'static>(
    mut objects: Vec<V>,
    table: &'static Table<V, C>,
    context: &Arc<C>,
    query: &Query,
) -> Answer {
    sort(&mut objects, table, context, query);
    Rows::new(objects, table, context, query, "[", "]".to_owned()).into_answer()
}

/// A list that has pages if the query asks for one.
pub(crate) fn paged_list<V: Send + 'static, C: Send + Sync + 'static>(
    mut objects: Vec<V>,
    table: &'static Table<V, C>,
    context: &Arc<C>,
    query: &Query,
) -> Result<Answer, Problem> {
    let Some(page) = Page::parse(query)? else { return Ok(list(objects, table, context, query)) };
    let total_count = objects.len();
    objects.retain(|object| page.filter.wants(&(table.name)(object)));
    let filtered_count = objects.len();
    let range = page.range(filtered_count)?;
    sort(&mut objects, table, context, query);
    objects.truncate(range.end);
    objects.drain(..range.start);
    let (number, size, item_count) = (page.number, page.size, objects.len());
    let page_count = filtered_count.div_ceil(size);
    let head = format!(r#"{{"filtered_count":{filtered_count},"item_count":{item_count},"items":["#);
    let tail =
        format!(r#"],"page":{number},"page_count":{page_count},"page_size":{size},"total_count":{total_count}}}"#);
    Ok(Rows::new(objects, table, context, query, &head, tail).into_answer())
}

/// One object.
pub(crate) fn single<V, C>(object: &V, table: &Table<V, C>, context: &C, query: &Query) -> Answer {
    let mut out = Vec::new();
    let wanted = wanted(query);
    Writer::of(&mut out, &wanted).object(|members| {
        for column in table.columns {
            (column.write)(object, context, members.cell(column.name));
        }
    });
    Answer::json(out)
}

fn wanted(query: &Query) -> Selection {
    query.get("columns").map_or(Selection::All, Selection::parse)
}

/// Sorts by what the query asks for, then by the kind's own order.
fn sort<V, C>(objects: &mut Vec<V>, table: &Table<V, C>, context: &C, query: &Query) {
    let paths: Vec<Vec<&str>> = query
        .get("sort")
        .unwrap_or_default()
        .split(',')
        .map(|path| path.split('.').filter(|segment| !segment.is_empty()).collect::<Vec<_>>())
        .filter(|path| !path.is_empty())
        .collect();
    if paths.is_empty() {
        objects.sort_by(table.order);
    } else {
        let mut scratch = Vec::new();
        let mut keyed: Vec<(Vec<Value>, V)> = objects
            .drain(..)
            .map(|object| {
                let key = paths.iter().map(|path| sort_key(&object, path, table, context, &mut scratch)).collect();
                (key, object)
            })
            .collect();
        keyed.sort_by(|(a, one), (b, other)| compare_keys(a, b).then_with(|| (table.order)(one, other)));
        objects.extend(keyed.into_iter().map(|(_, object)| object));
    }
    if query.is_true("sort_reverse") {
        objects.reverse();
    }
}

fn compare_keys(a: &[Value], b: &[Value]) -> Ordering {
    a.iter().zip(b).map(|(a, b)| compare(a, b)).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
}

/// The value at a path; zero where there is none.
fn sort_key<V, C>(object: &V, path: &[&str], table: &Table<V, C>, context: &C, scratch: &mut Vec<u8>) -> Value {
    let absent = || Value::from(0);
    let Some(column) = path.first().and_then(|name| table.column(name)) else { return absent() };
    scratch.clear();
    Writer::new(scratch).object(|members| (column.write)(object, context, members.cell("")));
    let Ok(mut value) = serde_json::from_slice::<Value>(scratch) else { return absent() };
    // The first name is the empty one under which the column has just been written.
    for name in std::iter::once("").chain(path.iter().skip(1).copied()) {
        let Some(member) = value.get_mut(name).map(Value::take) else { return absent() };
        value = member;
    }
    value
}

/// A list that is being written.
struct Rows<V: 'static, C: 'static> {
    objects: std::vec::IntoIter<V>,
    table: &'static Table<V, C>,
    /// The columns that are wanted, by their position, and what of each.
    wanted: Vec<(usize, Selection)>,
    context: Arc<C>,
    /// What still comes before the next object.
    before: Vec<u8>,
    /// What comes after the last; taken when written.
    tail: Option<String>,
}

impl<V: Send + 'static, C: Send + Sync + 'static> Rows<V, C> {
    fn new(
        objects: Vec<V>,
        table: &'static Table<V, C>,
        context: &Arc<C>,
        query: &Query,
        head: &str,
        tail: String,
    ) -> Self {
        let selection = wanted(query);
        let columns = table.columns.iter().enumerate();
        let wanted =
            columns.filter_map(|(at, column)| selection.of(column.name).map(|part| (at, part.clone()))).collect();
        Self {
            objects: objects.into_iter(),
            table,
            wanted,
            context: context.clone(),
            before: head.as_bytes().to_vec(),
            tail: Some(tail),
        }
    }

    fn into_answer(self) -> Answer {
        Answer::pieces(Box::new(self))
    }

    fn write_object(&self, object: &V, out: &mut Vec<u8>) {
        // Whether an object without members is `{}` or `[]`.
        let whole = if self.wanted.len() == self.table.columns.len() { Selection::All } else { Selection::parse("") };
        Writer::of(out, &whole).object(|members| {
            for (at, part) in &self.wanted {
                let column = &self.table.columns[*at];
                (column.write)(object, &self.context, members.wanted_cell(column.name, part));
            }
        });
    }
}

impl<V: Send + 'static, C: Send + Sync + 'static> Pieces for Rows<V, C> {
    fn write_next(&mut self, out: &mut Vec<u8>) -> bool {
        while out.len() < PIECE_LEN {
            let Some(object) = self.objects.next() else {
                // After the last object it is a comma, which nothing follows.
                if self.before != b"," {
                    out.append(&mut self.before);
                }
                if let Some(tail) = self.tail.take() {
                    out.extend_from_slice(tail.as_bytes());
                }
                return false;
            };
            out.append(&mut self.before);
            self.write_object(&object, out);
            self.before.push(b',');
        }
        true
    }
}
