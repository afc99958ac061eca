//! Lists, however long they are.
//!
//! They are walked through: nothing is collected that is not asked for, and what takes long (sorting, filtering, sending) is
//! done a few objects at a time, so that other requests are answered in between.

use std::cmp::Ordering;
use std::sync::Arc;
use std::vec;

use super::keys::{SortScratch, Sorting};
use super::page::NameFilter;
use super::rows::{Frame, Rows, wanted};
use super::runs::{Merge, Order, RUN_COUNT, Runs};
use super::{Page, Query, Selection, Table};
use crate::answer::Answer;
use crate::problem::Problem;
use crate::route::AnswerFuture;

/// Objects one after the other.
pub(crate) trait ListWalk: Iterator<Item: Send> + Send + 'static {
    /// How many there are now. As they come and go a walk may meet more or fewer.
    fn count_now(&self) -> usize;
    /// Passes over so many, before any is taken.
    fn pass(&mut self, count: usize);
}

impl<V: Send + 'static> ListWalk for vec::IntoIter<V> {
    fn count_now(&self) -> usize {
        self.len()
    }

    fn pass(&mut self, count: usize) {
        if let Some(last) = count.checked_sub(1) {
            self.nth(last);
        }
    }
}

/// What a query asks of a list.
struct ListRequest<V: 'static, C: 'static> {
    table: &'static Table<V, C>,
    context: Arc<C>,
    sorting: Sorting<V, C>,
    /// None: all.
    page: Option<Page>,
    wanted: Selection,
}

impl<V, C> ListRequest<V, C>
where
    V: Send + 'static,
    C: Send + Sync + 'static,
{
    fn new(table: &'static Table<V, C>, context: &Arc<C>, query: &Query, page: Option<Page>) -> Self {
        Self { table, context: context.clone(), sorting: Sorting::of(query, table), page, wanted: wanted(query) }
    }

    fn answer(&self, objects: impl Iterator<Item = V> + Send + 'static, frame: Frame) -> Answer {
        Rows::new(objects.map(Some), self.table, &self.context, &self.wanted, frame).into_answer()
    }

    /// Sorts, and takes what is asked for; `of_ties` is the order of objects that are alike by all keys.
    async fn sorted(
        self,
        objects: impl Iterator<Item = V> + Send,
        of_ties: fn(&V, &V) -> Ordering,
    ) -> Result<Answer, Problem> {
        let Some(page) = &self.page else {
            let CollectedList { runs, .. } = self.collect(objects, &NameFilter::All, usize::MAX, of_ties).await?;
            return Ok(self.answer(runs.merge(), Frame::list()));
        };
        let end = page.number.saturating_mul(page.size);
        let CollectedList { runs, total_count } = self.collect(objects, &page.filter, end, of_ties).await?;
        let filtered_count = runs.count();
        let range = page.range(filtered_count)?;
        let mut sorted = runs.merge();
        drop_first(&mut sorted, range.start).await;
        let objects: Vec<_> = sorted.take(range.len()).collect();
        let frame = Frame::page(page, objects.len(), filtered_count, total_count);
        Ok(self.answer(objects.into_iter(), frame))
    }

    /// Walks through all, and keeps those whose names are wanted, as many of the first ones as are wanted.
    async fn collect(
        &self,
        objects: impl Iterator<Item = V> + Send,
        filter: &NameFilter,
        wanted_count: usize,
        of_ties: fn(&V, &V) -> Ordering,
    ) -> Result<CollectedList<V>, Problem> {
        let order = Order { of_ties, is_reversed: self.sorting.is_reversed };
        let (mut runs, mut total_count, mut room) = (Runs::new(wanted_count, order), 0, SortScratch::default());
        for object in objects {
            if room.is_turn_of_others() || filter.is_turn_of_others(total_count) {
                tokio::task::yield_now().await;
                filter.check_work()?;
            }
            total_count += 1;
            if matches!(filter, NameFilter::All) || filter.wants(&(self.table.name)(&object)) {
                runs.push(self.sorting.keys_of(&object, &self.context, &mut room), object);
            }
        }
        filter.check_work()?;
        Ok(CollectedList { runs, total_count })
    }
}

/// What a walk has met.
struct CollectedList<V> {
    runs: Runs<V>,
    total_count: usize,
}

/// A list of all objects that are wanted, with all columns, in the order in which they come; None is one that is not wanted.
pub(crate) fn streamed<I, V, C>(objects: I, table: &'static Table<V, C>, context: &Arc<C>) -> Answer
where
    I: Iterator<Item = Option<V>> + Send + 'static,
    V: 'static,
    C: Send + Sync + 'static,
{
    Rows::new(objects, table, context, &Selection::All, Frame::list()).into_answer()
}

/// A list of all objects, which come in any order; pages are not for this kind.
pub(crate) fn list<I, V, C>(objects: I, table: &'static Table<V, C>, context: &Arc<C>, query: &Query) -> AnswerFuture
where
    I: IntoIterator<Item = V, IntoIter: Send + 'static>,
    V: Send + 'static,
    C: Send + Sync + 'static,
{
    Box::pin(ListRequest::new(table, context, query, None).sorted(objects.into_iter(), table.order))
}

/// A list of objects, which come in any order, that has pages if the query asks for one.
pub(crate) fn paged_list<I, V, C>(
    objects: I,
    table: &'static Table<V, C>,
    context: &Arc<C>,
    query: &Query,
) -> Result<AnswerFuture, Problem>
where
    I: IntoIterator<Item = V, IntoIter: Send + 'static>,
    V: Send + 'static,
    C: Send + Sync + 'static,
{
    let asked = ListRequest::new(table, context, query, Page::parse(query)?);
    Ok(Box::pin(asked.sorted(objects.into_iter(), table.order)))
}

/// A list that has pages if the query asks for one. `order` names the columns in whose order the objects come, and in which none is like
/// another: so what is in this order is not collected.
pub(crate) fn walked_list<W, C>(
    mut walk: W,
    order: &[&str],
    table: &'static Table<W::Item, C>,
    context: &Arc<C>,
    query: &Query,
) -> Result<AnswerFuture, Problem>
where
    W: ListWalk,
    C: Send + Sync + 'static,
{
    let asked = ListRequest::new(table, context, query, Page::parse(query)?);
    let is_in_order = asked.sorting.is_order_of(order);
    if let Some(page) = asked.page.as_ref().filter(|page| matches!(page.filter, NameFilter::All)) {
        let count = walk.count_now();
        // Nothing is walked through, let alone kept, for a page that is not there.
        let range = page.range(count)?;
        if is_in_order {
            walk.pass(range.start);
            let objects: Vec<_> = walk.take(range.len()).collect();
            let frame = Frame::page(page, objects.len(), count, count);
            return Ok(answered(asked.answer(objects.into_iter(), frame)));
        }
    }
    if is_in_order && asked.page.is_none() {
        return Ok(answered(asked.answer(walk, Frame::list())));
    }
    Ok(Box::pin(asked.sorted(walk, |_, _| Ordering::Equal)))
}

fn answered(answer: Answer) -> AnswerFuture {
    Box::pin(std::future::ready(Ok(answer)))
}

async fn drop_first<V>(sorted: &mut Merge<V>, count: usize) {
    for number in 1..=count {
        sorted.next();
        if number % RUN_COUNT == 0 {
            tokio::task::yield_now().await;
        }
    }
}
