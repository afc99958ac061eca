//! Lists of objects that there may be very many of.
//!
//! They are walked through: nothing is collected that is not asked for, and what takes long (sorting, filtering, sending) is
//! done a few objects at a time, so that other requests are answered in between.

use std::sync::Arc;
use std::vec;

use super::keys::Sorting;
use super::rows::{Frame, Rows};
use super::runs::{Merge, RUN_COUNT, Runs};
use super::{Page, Query, Table};
use crate::answer::Answer;
use crate::listing::page::NameFilter;
use crate::problem::Problem;

/// Objects one after the other.
pub(crate) trait Walked: Iterator<Item: Send> + Send + 'static {
    /// How many there are now. As they come and go a walk may meet more or fewer.
    fn count_now(&self) -> usize;
    /// Passes over so many, before any is taken.
    fn pass(&mut self, count: usize);
}

impl<V: Send + 'static> Walked for vec::IntoIter<V> {
    fn count_now(&self) -> usize {
        self.len()
    }

    fn pass(&mut self, count: usize) {
        if let Some(last) = count.checked_sub(1) {
            self.nth(last);
        }
    }
}

/// A list of all objects that are wanted, with all columns, in the order in which they come; None is one that is not wanted.
pub(crate) fn streamed<I, V, C>(objects: I, table: &'static Table<V, C>, context: &Arc<C>) -> Answer
where
    I: Iterator<Item = Option<V>> + Send + 'static,
    V: 'static,
    C: Send + Sync + 'static,
{
    Rows::new(objects, table, context, &Query::default(), Frame::list()).into_answer()
}

/// A list that has pages if the query asks for one. `order` names the columns in whose order the objects come.
pub(crate) async fn walked_list<W, C>(
    mut walk: W,
    order: &[&str],
    table: &'static Table<W::Item, C>,
    context: &Arc<C>,
    query: &Query,
) -> Result<Answer, Problem>
where
    W: Walked,
    C: Send + Sync + 'static,
{
    let sorting = Sorting::of(query, table);
    let is_in_order = sorting.is_order_of(order);
    let Some(page) = Page::parse(query)? else {
        if is_in_order {
            return Ok(Rows::new(walk.map(Some), table, context, query, Frame::list()).into_answer());
        }
        let collected = collect(walk, &sorting, &NameFilter::All, usize::MAX, table, context).await;
        let objects = collected.runs.merge();
        return Ok(Rows::new(objects.map(Some), table, context, query, Frame::list()).into_answer());
    };
    let (objects, frame): (Vec<W::Item>, Frame) = if is_in_order && matches!(page.filter, NameFilter::All) {
        let count = walk.count_now();
        let range = page.range(count)?;
        walk.pass(range.start);
        let objects: Vec<_> = walk.take(range.len()).collect();
        let frame = Frame::page(&page, objects.len(), count, count);
        (objects, frame)
    } else {
        let end = page.number.saturating_mul(page.size);
        let Collected { runs, total_count } = collect(walk, &sorting, &page.filter, end, table, context).await;
        let filtered_count = runs.count();
        let range = page.range(filtered_count)?;
        let mut sorted = runs.merge();
        drop_first(&mut sorted, range.start).await;
        let objects: Vec<_> = sorted.take(range.len()).collect();
        let frame = Frame::page(&page, objects.len(), filtered_count, total_count);
        (objects, frame)
    };
    Ok(Rows::new(objects.into_iter().map(Some), table, context, query, frame).into_answer())
}

/// What a walk has met.
struct Collected<V> {
    runs: Runs<V>,
    total_count: usize,
}

/// Walks through all, and keeps those whose names are wanted, as many of the first ones as are wanted.
async fn collect<W, C>(
    walk: W,
    sorting: &Sorting<W::Item, C>,
    filter: &NameFilter,
    wanted_count: usize,
    table: &'static Table<W::Item, C>,
    context: &Arc<C>,
) -> Collected<W::Item>
where
    W: Walked,
{
    let mut collected = Collected { runs: Runs::new(wanted_count, sorting.is_reversed), total_count: 0 };
    let mut scratch = Vec::new();
    for object in walk {
        if collected.total_count % RUN_COUNT == RUN_COUNT - 1 {
            tokio::task::yield_now().await;
        }
        collected.total_count += 1;
        if matches!(filter, NameFilter::All) || filter.wants(&(table.name)(&object)) {
            let keys = sorting.keys_of(&object, context, &mut scratch);
            collected.runs.push(keys, object);
        }
    }
    collected
}

async fn drop_first<V>(sorted: &mut Merge<V>, count: usize) {
    for number in 1..=count {
        sorted.next();
        if number % RUN_COUNT == 0 {
            tokio::task::yield_now().await;
        }
    }
}
