//! What operators see of waiting messages, and what they do with them: find one, list them, cancel, put off, release now.
//!
//! What lies only in segments has to be read for it. The caller waits for the answers to these loads, which come under the set's lock
//! ([`super::residents::loaded`]); a message that was to be taken out is taken out there and then, in one batch of the journal.

use std::sync::Arc;

use queue::{Ask, Cancel, DelayId, Find, Message, Page, SearchOutcome};
use store::Kind;
use tokio::sync::oneshot;

use super::DelaySet;
use super::set::State;
use super::waiters::{Answer, Change, Seeker};
use crate::engine::Engine;
use crate::position::Positions;
use crate::queued_message::QueuedMessage;
use crate::work::Work;

/// How often a search is begun again that a move of messages has interrupted.
const ATTEMPT_COUNT_MAX: usize = 8;

/// What changing a message has come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It is done, and will be durable there. What is due at another time has another id from then on.
    Done(Positions, Option<DelayId>),
    /// No such message waits.
    Missing,
}

impl State {
    /// Answers the callers that wait for what was read, if they still do.
    pub(super) fn answer(
        &mut self,
        set: &Arc<DelaySet>,
        work: &mut Work<'_>,
        answered: queue::LoadOutcome<QueuedMessage>,
    ) {
        if let Some((number, page)) = answered.page
            && let Some(at) = self.waiters.pages.iter().position(|(waited, _)| *waited == number)
        {
            let _ = self.waiters.pages.swap_remove(at).1.send(page);
        }
        let Some(sought) = answered.sought else { return };
        let is_it = |seeker: &Seeker| seeker.id == sought.id && seeker.change.is_some() == sought.is_cancel;
        let seeker = self.waiters.seekers.iter().position(is_it).map(|at| self.waiters.seekers.swap_remove(at));
        let (change, answer) = seeker.map_or((None, None), |seeker| (seeker.change, Some(seeker.answer)));
        let answered = match sought.found {
            SearchOutcome::Message(held) if sought.is_cancel => {
                let (position, id) = self.take_out(set, work, sought.id, &held, change.unwrap_or(Change::Cancel));
                Answer::Changed(position, id)
            }
            SearchOutcome::Message(held) => Answer::Seen(held),
            SearchOutcome::Missing => Answer::Missing,
            SearchOutcome::Interrupted => Answer::Interrupted,
        };
        if let Some(answer) = answer {
            let _ = answer.send(answered);
        }
    }

    /// A message has been taken out of the set: that is recorded, and where it waits now, if it does.
    fn take_out(
        &mut self,
        set: &Arc<DelaySet>,
        work: &mut Work<'_>,
        id: DelayId,
        taken: &QueuedMessage,
        change: Change,
    ) -> (Positions, Option<DelayId>) {
        let record = (id.generation, id.seq, id.seq);
        let records = if taken.is_journaled() { std::slice::from_ref(&record) } else { &[] };
        work.settle_delayed(records, std::iter::once(taken));
        let mut new_id = None;
        if let Change::Replace { due_ms, held } = change {
            let content = held.is_journaled().then(|| held.content().clone());
            new_id = self.insert(set, work, due_ms, held);
            if let (Some(content), Some(id)) = (content, new_id) {
                work.section_effects.records.publish(&content, &[(id.generation, id.seq)]);
            }
        }
        self.forget_ended(set, work.engine, &mut work.section_effects.records);
        (work.commit(), new_id)
    }
}

impl DelaySet {
    /// Some of what waits, by when it is due, after one message or from the first on. None: its exchange has been deleted.
    pub async fn page(&self, engine: &Engine, after: Option<DelayId>, count_max: usize) -> Option<Page<QueuedMessage>> {
        let mut asks = Vec::new();
        let section_effects = self.with(|state| match state.delays.page(after, count_max, &mut asks) {
            Ok(page) => Ok(page),
            Err(number) => {
                let (answer, answered) = oneshot::channel();
                state.waiters.pages.push((number, answer));
                Err(answered)
            }
        });
        ask(engine, asks);
        match section_effects {
            Ok(page) => Some(page),
            Err(answered) => answered.await.ok(),
        }
    }

    /// One that waits.
    pub async fn find(&self, engine: &Engine, id: DelayId) -> Option<QueuedMessage> {
        for _ in 0..ATTEMPT_COUNT_MAX {
            let mut asks = Vec::new();
            let found = self.with(|state| match state.delays.find(id, &mut asks) {
                Find::Unknown => Ok(None),
                Find::Here(held) => Ok(Some(held.clone())),
                Find::Loading => Err(state.wait_for(id, None)),
            });
            ask(engine, asks);
            match found {
                Ok(found) => return found,
                Err(answered) => match answered.await.ok()? {
                    Answer::Seen(held) => return Some(held),
                    Answer::Interrupted => {}
                    Answer::Missing | Answer::Changed(..) => return None,
                },
            }
        }
        None
    }

    /// Takes one out that waits, for good.
    pub async fn cancel(self: &Arc<Self>, engine: &Engine, id: DelayId) -> Outcome {
        self.change(engine, id, || Change::Cancel).await
    }

    /// Has one be due at another time, which may be now.
    pub async fn put_off(self: &Arc<Self>, engine: &Engine, id: DelayId, due_ms: u64) -> Outcome {
        let Some(found) = self.find(engine, id).await else { return Outcome::Missing };
        let (content, is_journaled) = (found.content(), found.is_journaled());
        let kind = if is_journaled { Kind::Journaled } else { Kind::Transient };
        let bytes = content.bytes();
        // What was read from a segment lies in no chunk that the journal knows.
        let copy = engine.chunks.write(kind, bytes.len(), |out| out.copy_from_slice(bytes));
        let held = QueuedMessage::new(copy, found.len(), is_journaled, found.has_ttl(), 0);
        self.change(engine, id, || Change::Replace { due_ms, held: held.clone() }).await
    }

    async fn change(self: &Arc<Self>, engine: &Engine, id: DelayId, change: impl Fn() -> Change) -> Outcome {
        for _ in 0..ATTEMPT_COUNT_MAX {
            let mut asks = Vec::new();
            let changed = engine.with_work(|work| {
                self.with(|state| match state.delays.cancel(id, &mut asks) {
                    Cancel::Unknown => Ok(Outcome::Missing),
                    Cancel::Taken(taken) => {
                        let (position, new_id) = state.take_out(self, work, id, &taken, change());
                        Ok(Outcome::Done(position, new_id))
                    }
                    Cancel::Loading => Err(state.wait_for(id, Some(change()))),
                })
            });
            ask(engine, asks);
            match changed {
                Ok(outcome) => return outcome,
                Err(answered) => match answered.await {
                    Ok(Answer::Changed(position, new_id)) => return Outcome::Done(position, new_id),
                    Ok(Answer::Interrupted) => {}
                    Ok(Answer::Missing | Answer::Seen(_)) | Err(_) => return Outcome::Missing,
                },
            }
        }
        Outcome::Missing
    }
}

impl State {
    fn wait_for(&mut self, id: DelayId, change: Option<Change>) -> oneshot::Receiver<Answer> {
        let (answer, answered) = oneshot::channel();
        self.waiters.seekers.push(Seeker { id, change, answer });
        answered
    }
}

fn ask(engine: &Engine, asks: Vec<Ask>) {
    asks.into_iter().for_each(|ask| engine.store.load(ask.generation, ask.load));
}
