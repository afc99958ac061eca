//! Putting messages into their queues, under the locks of their shards.

use model::arguments::Overflow;
use queue::{DropReason, Message};

use crate::delayed::Delay;
use crate::publish::Publish;
use crate::queued_message::QueuedMessage;
use crate::section::Section;
use crate::shard::QueueEntry;
use crate::tap::{Kind, NoteOf};
use crate::targets::Targets;
use crate::work::Work;

impl Section<'_, '_> {
    /// Adds a message to its queues, or where it waits. Afterwards its outcome says whether a queue has refused it, and whether its confirm
    /// waits for the disk; its content may have been taken.
    #[inline(always)]
    pub fn put(&mut self, publish: &mut Publish, targets: &Targets) {
        if !self.put_in_one(publish, targets) {
            self.put_in_all(publish, targets);
        }
    }

    /// Adds a message as most are added: to one queue, which drops no duplicates. Says whether it was one of those.
    #[inline(always)]
    fn put_in_one(&mut self, publish: &mut Publish, targets: &Targets) -> bool {
        let Some(queue) = targets.only() else { return false };
        let Some((entry, work)) = self.queue(queue) else { return true };
        if entry.key_set.is_some() {
            return false;
        }
        if work.refuses(entry, publish) {
            publish.outcome.is_refused = true;
            return true;
        }
        publish.outcome.waits_for_disk = queue.durability.keeps(publish.is_persistent);
        // Before it is there, for then its content is the queue's; no other section comes between under the lock.
        if publish.outcome.waits_for_disk {
            work.section_effects.records.publish(publish.content(), &[(queue.id(), entry.queue.next_seq())]);
        }
        entry.queue.publish(publish.taken_by(queue));
        work.section_effects.arrivals.note(
            queue,
            publish.body_len,
            publish.outcome.waits_for_disk,
            work.engine.statistics.options.has_histograms,
        );
        work.touch(entry);
        true
    }

    /// Adds any message.
    fn put_in_all(&mut self, publish: &mut Publish, targets: &Targets) {
        if let Some(keys) = &targets.keys
            && self.is_duplicate_at(keys, publish, targets)
        {
            publish.outcome.waits_for_disk = publish.outcome.awaits_original;
            return;
        }
        let mut refs = std::mem::take(&mut self.work.section_effects.refs);
        refs.clear();
        let mut is_taken = targets.delay.is_some();
        for queue in &targets.queues {
            let Some((entry, work)) = self.queue(queue) else { continue };
            if entry.key_set.is_some() && work.is_duplicate_in(entry, publish) {
                is_taken = true;
                continue;
            }
            if work.refuses(entry, publish) {
                publish.outcome.is_refused = true;
                continue;
            }
            is_taken = true;
            let held = publish.held_by(queue);
            let is_journaled = held.is_journaled();
            let seq = entry.queue.publish(held);
            entry.handle.count_published(publish.body_len, is_journaled, work.engine.statistics.options.has_histograms);
            if entry.key_set.is_some() {
                work.remember_in(entry, publish, seq, is_journaled);
            }
            if is_journaled {
                refs.push((queue.id(), seq));
            }
            work.touch(entry);
        }
        if let Some(delay) = &targets.delay {
            self.delay_until(delay, publish, &mut refs);
        }
        let is_journaled = !refs.is_empty();
        if let Some(keys) = &targets.keys
            && is_taken
            && !publish.outcome.is_refused
        {
            // The publisher that hears of a refusal publishes it again.
            self.remember_at(keys, publish, is_journaled);
        }
        publish.outcome.waits_for_disk = is_journaled || publish.outcome.awaits_original;
        let section_effects = &mut *self.work.section_effects;
        if is_journaled {
            section_effects.records.publish(publish.content(), &refs);
            section_effects.keys.record(&mut section_effects.records);
        }
        section_effects.refs = refs;
        self.take_replaced();
    }

    /// Adds a message where it waits.
    fn delay_until(
        &mut self,
        delay: &Delay,
        publish: &Publish,
        refs: &mut Vec<(model::ids::QueueId, model::ids::QueueSeq)>,
    ) {
        for set in &delay.sets {
            let is_journaled = set.durability().keeps(publish.is_persistent);
            let held =
                QueuedMessage::new(publish.content().clone(), publish.body_len, is_journaled, publish.has_ttl, 0);
            if self.work.wanted.has(Kind::SetAside) {
                self.work.note_delayed(set, Some(publish.content()), NoteOf::SetAside(publish.due_ms));
            }
            if let Some(id) = self.locked.sets.get(set).insert(set, self.work, publish.due_ms, held)
                && is_journaled
            {
                refs.push((id.generation, id.seq));
            }
        }
    }

    /// Dispatches the queues that were touched. Says whether consumers of one fall behind what comes in.
    pub(crate) fn dispatch_touched(&mut self) -> bool {
        let mut consumers_lag = false;
        let engine = self.work.engine;
        self.work.section_effects.arrivals.end(engine.statistics.options.has_histograms);
        let mut touched = std::mem::take(&mut self.work.section_effects.touched);
        for queue in touched.drain(..) {
            let entry = self.locked.get(&queue).expect("a touched queue is there while its shard is locked");
            entry.is_touched = false;
            self.work.dispatch(entry);
            entry.report(&engine.statistics, &engine.clock);
            consumers_lag |= entry.queue.consumers_lag();
        }
        self.work.section_effects.touched = touched;
        consumers_lag
    }
}

impl Work<'_> {
    /// Whether a queue has too much to take this message, too. What it can hand out now does not count.
    #[inline]
    fn refuses(&mut self, entry: &mut QueueEntry, publish: &Publish) -> bool {
        entry.queue.refuses(publish.body_len) && self.refuses_still(entry, publish)
    }

    fn refuses_still(&mut self, entry: &mut QueueEntry, publish: &Publish) -> bool {
        self.dispatch(entry);
        let is_refused = entry.queue.refuses(publish.body_len);
        if is_refused && entry.handle.features().overflow == Overflow::RejectPublishDlx {
            entry.handle.count_died(DropReason::MaxLength);
            self.refuse_publish(entry, publish.content().clone(), DropReason::MaxLength);
        }
        if is_refused {
            entry.handle.count_refused();
        }
        is_refused
    }
}
