//! A section: shards of queues, locked together, and the work that is done there.
//!
//! ```text
//!   Engine::section ─► locks of sets, locks of shards ─► act(&mut Section) ─► dispatch ─► commit ─► unlock ─► finish
//! ```
//!
//! Sections are closures, so that no lock lives across an await. What a section is given can do everything that is right under its
//! locks; it has no door into another section, because [`Work`] shows nothing of the [`Engine`].

use std::sync::Arc;

use crate::abort::AbortOnPanic;
use crate::delayed::DelaySet;
use crate::engine::Engine;
use crate::position::Positions;
use crate::queue_handle::QueueHandle;
use crate::shard::{Locked, QueueEntry};
use crate::targets::Targets;
use crate::work::Work;

/// What a section's locks give access to, and its work.
#[derive(Debug)]
pub struct Section<'s, 'e> {
    pub(crate) work: &'s mut Work<'e>,
    pub(crate) locked: Locked<'s>,
}

/// What a section came to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Committed {
    /// Where all of it is durable; empty when nothing was journaled.
    pub position: Positions,
    /// Whether consumers of one of its queues, or releases of one of its sets, fall behind what comes in.
    pub(crate) consumers_lag: bool,
}

impl<'e> Section<'_, 'e> {
    /// A queue whose shard is among the locked ones, and the work of the section; `None` when the queue is deleted.
    #[inline]
    pub fn queue(&mut self, handle: &QueueHandle) -> Option<(&mut QueueEntry, &mut Work<'e>)> {
        Some((self.locked.get(handle)?, self.work))
    }

    /// Whether a set, which is among the locked, takes messages: its exchange is not deleted.
    pub fn takes_delayed(&mut self, set: &DelaySet) -> bool {
        self.locked.sets.get(set).takes_messages()
    }

    /// From here on until [`Section::end_whole`] messages arrive that a cluster's queues hand out when a majority of the nodes has all of
    /// it. Else a client could have settled a message that the next leader has elsewhere still, and would bring here as if for the first
    /// time: one that was moved, or one of a transaction that is no more. A node alone waits for nothing.
    pub(crate) fn begin_whole(&mut self) {
        self.work.section_effects.is_whole = true;
    }

    /// The messages have arrived at these queues.
    pub(crate) fn end_whole<'t>(&mut self, arrived: impl Iterator<Item = &'t Targets>) {
        self.work.section_effects.is_whole = false;
        if !self.work.engine.is_replicated {
            return;
        }
        let position = self.work.append_so_far();
        for queue in arrived.flat_map(|targets| &targets.queues) {
            if let Some((entry, _)) = self.queue(queue) {
                entry.whole_by.add(position);
            }
        }
    }

    /// Has a queue dispatched at the section's end.
    pub fn touch(&mut self, handle: &QueueHandle) {
        if let Some((entry, work)) = self.queue(handle) {
            work.touch(entry);
        }
    }
}

impl<'e> Work<'e> {
    /// Has a queue dispatched at the section's end.
    #[inline]
    pub(crate) fn touch(&mut self, entry: &mut QueueEntry) {
        if entry.touch() {
            self.section_effects.touched.push(entry.handle.clone());
        }
    }

    /// Locks these shards and, before them, these sets of delayed messages, runs `act`, dispatches what was touched and commits. The caller
    /// finishes the work when the locks are released.
    #[inline]
    pub(crate) fn section<T>(
        &mut self,
        shards: u64,
        sets: Vec<Arc<DelaySet>>,
        act: impl FnOnce(&mut Section<'_, 'e>) -> T,
    ) -> (T, Committed) {
        let (engine, mut sets) = (self.engine, sets);
        let mut section = Section { work: self, locked: Locked::of(&mut sets) };
        section.locked.lock(&engine.shards, shards);
        let _guard = AbortOnPanic;
        let result = act(&mut section);
        let consumers_lag = section.dispatch_touched() | section.locked.sets.needs_backpressure();
        let position = section.work.commit();
        section.locked.sets.report();
        (result, Committed { position, consumers_lag })
    }
}

impl Engine {
    /// Runs `act` on these shards and sets under their locks. See the module.
    pub(crate) fn section<T>(
        &self,
        shards: u64,
        sets: Vec<Arc<DelaySet>>,
        act: impl FnOnce(&mut Section<'_, '_>) -> T,
    ) -> (T, Committed) {
        let mut work = Work::begin(self);
        let done = work.section(shards, sets, act);
        work.finish();
        done
    }

    /// Runs `act` with a section's work, under no lock but those that it takes itself, and finishes what it has gathered and committed.
    pub(crate) fn with_work<T>(&self, act: impl FnOnce(&mut Work<'_>) -> T) -> T {
        let mut work = Work::begin(self);
        let result = act(&mut work);
        work.finish();
        result
    }

    /// Runs `act` on one queue under its shard's lock, and commits. Returns its result and where that is durable; `None` when the queue is
    /// deleted.
    pub fn with_queue<T>(
        &self,
        queue: &QueueHandle,
        act: impl FnOnce(&mut QueueEntry, &mut Work<'_>) -> T,
    ) -> Option<(T, Positions)> {
        self.with_work(|work| {
            self.shards.with_queue(queue, |entry| {
                let result = act(entry, work);
                entry.report(&self.statistics, &self.clock);
                (result, work.commit())
            })
        })
    }
}
