//! From objects and a query to an answer.

use std::marker::PhantomData;
use std::sync::Arc;

use super::{Page, Query, Selection, Table};
use crate::answer::Answer;
use crate::json::Writer;
use http_server::Pieces;
use http_server::{PIECE_LEN, PIECE_OBJECT_COUNT};

/// One object.
pub(crate) fn single<V, C>(object: &V, table: &Table<V, C>, context: &C, query: &Query) -> Answer {
    let mut out = Vec::new();
    let wanted = wanted(query);
    Writer::of(&mut out, &wanted).object(|members| {
        for column in table.columns {
            if let Some(part) = wanted.of(column.name) {
                column.write(object, context, members.wanted_cell(column.name, part));
            }
        }
    });
    Answer::json(out)
}

/// What a query wants of each object.
pub(super) fn wanted(query: &Query) -> Selection {
    query.get("columns").map_or(Selection::All, Selection::parse)
}

/// What stands before the first object and after the last.
pub(super) struct Frame {
    head: Vec<u8>,
    tail: String,
}

impl Frame {
    /// A list of all.
    pub(super) fn list() -> Frame {
        Frame { head: b"[".to_vec(), tail: "]".to_owned() }
    }

    /// A page, with so many objects on it, of so many that have been filtered, of so many that there are.
    pub(super) fn page(page: &Page, item_count: usize, filtered_count: usize, total_count: usize) -> Frame {
        let (number, size) = (page.number, page.size);
        let page_count = filtered_count.div_ceil(size);
        let head = format!(r#"{{"filtered_count":{filtered_count},"item_count":{item_count},"items":["#);
        let tail =
            format!(r#"],"page":{number},"page_count":{page_count},"page_size":{size},"total_count":{total_count}}}"#);
        Frame { head: head.into(), tail }
    }
}

/// A list that is being written.
pub(super) struct Rows<I, V: 'static, C: 'static> {
    /// None where an object was looked at that is not wanted.
    objects: I,
    table: &'static Table<V, C>,
    /// The columns that are wanted, by their position, and what of each.
    wanted: Vec<(usize, Selection)>,
    context: Arc<C>,
    /// What still comes before the next object.
    before: Vec<u8>,
    /// What comes after the last; taken when written.
    tail: Option<String>,
    of: PhantomData<fn() -> V>,
}

impl<I, V, C> Rows<I, V, C>
where
    I: Iterator<Item = Option<V>> + Send + 'static,
    V: 'static,
    C: Send + Sync + 'static,
{
    pub(super) fn new(
        objects: I,
        table: &'static Table<V, C>,
        context: &Arc<C>,
        selection: &Selection,
        Frame { head, tail }: Frame,
    ) -> Self {
        let columns = table.columns.iter().enumerate();
        let wanted =
            columns.filter_map(|(at, column)| selection.of(column.name).map(|part| (at, part.clone()))).collect();
        Self { objects, table, wanted, context: context.clone(), before: head, tail: Some(tail), of: PhantomData }
    }

    pub(super) fn into_answer(self) -> Answer {
        Answer::pieces(Box::new(self))
    }

    fn write_object(&self, object: &V, out: &mut Vec<u8>) {
        // Whether an object without members is `{}` or `[]`.
        let whole = if self.wanted.len() == self.table.columns.len() { Selection::All } else { Selection::parse("") };
        Writer::of(out, &whole).object(|members| {
            for (at, part) in &self.wanted {
                let column = &self.table.columns[*at];
                column.write(object, &self.context, members.wanted_cell(column.name, part));
            }
        });
    }
}

impl<I, V, C> Pieces for Rows<I, V, C>
where
    I: Iterator<Item = Option<V>> + Send + 'static,
    V: 'static,
    C: Send + Sync + 'static,
{
    fn write_next(&mut self, out: &mut Vec<u8>) -> bool {
        for _ in 0..PIECE_OBJECT_COUNT {
            if out.len() >= PIECE_LEN {
                return true;
            }
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
            let Some(object) = object else { continue };
            out.append(&mut self.before);
            self.write_object(&object, out);
            self.before.push(b',');
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::listing::number;

    static TABLE: Table<u64, ()> = Table {
        title: "Number",
        columns: &[number("number", |number: &u64, ()| Some(*number))],
        order: |a, b| a.cmp(b),
        name: |number| number.to_string().into(),
    };

    /// How long each piece is, and all of them together.
    fn pieces(objects: impl Iterator<Item = Option<u64>> + Send + 'static) -> (Vec<usize>, String) {
        let mut rows = Rows::new(objects, &TABLE, &Arc::new(()), &Selection::All, Frame::list());
        let (mut lens, mut all) = (Vec::new(), Vec::new());
        loop {
            let mut out = Vec::new();
            let has_more = rows.write_next(&mut out);
            lens.push(out.len());
            all.append(&mut out);
            if !has_more {
                return (lens, String::from_utf8(all).unwrap());
            }
        }
    }

    #[test]
    fn a_piece_looks_at_no_more_objects_than_it_may() {
        let (lens, text) = pieces((0..5000_u64).map(|number| (number == 4999).then_some(number)));
        assert_eq!(lens.len(), 5000_usize.div_ceil(PIECE_OBJECT_COUNT), "{lens:?}");
        assert_eq!(text, r#"[{"number":4999}]"#);
        let (lens, text) = pieces((0..100_000_u64).map(Some));
        assert!(lens.iter().all(|len| *len < PIECE_LEN + 100), "{lens:?}");
        assert_eq!(serde_json::from_str::<Vec<serde_json::Value>>(&text).unwrap().len(), 100_000);
    }

    #[test]
    fn of_one_object_only_what_is_wanted_is_found() {
        static DEAR: Table<u64, ()> = Table {
            title: "Dear",
            columns: &[
                number("dear", |_: &u64, ()| unreachable!("it is not wanted")),
                number("number", |number, ()| Some(*number)),
            ],
            order: |a, b| a.cmp(b),
            name: |number| number.to_string().into(),
        };
        let answer = single(&7, &DEAR, &(), &Query::parse("columns=number,nosuch"));
        let crate::answer::Content::Json(text) = answer.content else { panic!("no JSON") };
        assert_eq!(text, br#"{"number":7}"#);
    }

    #[test]
    fn nothing_is_an_empty_list() {
        assert_eq!(pieces(std::iter::empty()).1, "[]");
        assert_eq!(pieces([None].into_iter()).1, "[]");
    }
}
