//! What a locked section does with keys: looking for duplicates, remembering what is taken in, recording it with the messages.

use std::sync::Arc;

use model::features::Deduplication;
use model::ids::QueueSeq;
use queue::{KnownKey, RememberedKey, Take};

use super::ExchangeKeys;
use super::set::{KeySet, Site};
use crate::publish::Publish;
use crate::queued_message::QueuedMessage;
use crate::section::Section;
use crate::shard::QueueEntry;
use crate::targets::Targets;
use crate::work::Work;

impl Section<'_, '_> {
    /// Whether an exchange drops a message, having had one of its key.
    pub(crate) fn is_duplicate_at(&mut self, keys: &ExchangeKeys, publish: &mut Publish, targets: &Targets) -> bool {
        let Some(set) = self.locked.key_set(keys) else { return false };
        let would_be_journaled = targets.durability.keeps(publish.is_persistent);
        let is_duplicate = self.work.is_duplicate(set, publish, would_be_journaled);
        if is_duplicate {
            keys.deduplicated.add(1);
        }
        is_duplicate
    }

    /// Whether an exchange, or each of the queues, would drop a message.
    pub fn would_be_dropped(&mut self, publish: &mut Publish, targets: &Targets) -> bool {
        if let Some(keys) = &targets.keys
            && let Some(set) = self.locked.key_set(keys)
            && self.work.original(set, publish, targets.durability.keeps(publish.is_persistent)).is_some()
        {
            return true;
        }
        targets.delay.is_none()
            && !targets.queues.is_empty()
            && targets.queues.iter().all(|queue| {
                let Some(entry) = self.locked.get(queue) else { return false };
                entry.key_set.as_ref().is_some_and(|set| !set.is_replacing()) && self.work.has_key_in(entry, publish)
            })
    }

    /// Queues have taken a message in that was published to an exchange.
    pub(crate) fn remember_at(&mut self, keys: &Arc<ExchangeKeys>, publish: &mut Publish, is_journaled: bool) {
        let Some(set) = self.locked.key_set(keys) else { return };
        let Some(key) = publish.key_in(&set.header) else { return };
        let expires_at_ms = set.expiry_of(publish.key_ttl_ms(), self.work.now_ms());
        let number = set.take_number();
        let section_effects = &mut *self.work.section_effects;
        let new = RememberedKey { number, key, expires_at_ms, is_journaled };
        set.remember(new, &self.work.engine.queue_ids, &mut section_effects.keys, &mut section_effects.records);
        self.work.set_key_timer(keys, set);
    }

    /// Takes out those of whose place the message has taken that has just been recorded: not before, or a crash could take both.
    #[inline]
    pub(crate) fn take_replaced(&mut self) {
        if !self.work.section_effects.keys.replaced.is_empty() {
            self.take_all_replaced();
        }
    }

    fn take_all_replaced(&mut self) {
        while let Some((queue, replaced)) = self.work.section_effects.keys.replaced.pop() {
            let Some(entry) = self.locked.get(&queue) else { continue };
            let seq = QueueSeq(replaced.number);
            match entry.queue.is_ready(seq) {
                Some(true) => self.work.take_one(entry, seq),
                // A consumer has it, and settles it.
                Some(false) => continue,
                None => {
                    let Some(set) = &mut entry.key_set else { continue };
                    set.note_replaced(replaced, &mut self.work.section_effects.records);
                    self.work.read_replaced(entry, seq);
                }
            }
            entry.handle.counters.deduplicated.add(1);
        }
    }
}

impl Work<'_> {
    /// Whether a queue drops a message, having one of its key, or having had it.
    pub(crate) fn is_duplicate_in(&mut self, entry: &mut QueueEntry, publish: &mut Publish) -> bool {
        let Some(set) = entry.key_set.as_ref().filter(|set| !set.is_replacing()) else { return false };
        let would_be_journaled = entry.handle.durability.keeps(publish.is_persistent);
        let is_duplicate = self.is_duplicate(set, publish, would_be_journaled);
        if is_duplicate {
            entry.handle.counters.deduplicated.add(1);
        }
        is_duplicate
    }

    /// Whether a queue would drop a message.
    pub(crate) fn has_key_in(&mut self, entry: &mut QueueEntry, publish: &mut Publish) -> bool {
        let Some(set) = &entry.key_set else { return false };
        let would_be_journaled = entry.handle.durability.keeps(publish.is_persistent);
        self.original(set, publish, would_be_journaled).is_some()
    }

    fn is_duplicate(&mut self, set: &KeySet, publish: &mut Publish, would_be_journaled: bool) -> bool {
        let Some(known) = self.original(set, publish, would_be_journaled) else { return false };
        publish.outcome.awaits_original |= known.is_journaled;
        self.section_effects.keys.awaits_originals |= known.is_journaled;
        true
    }

    fn original(&mut self, set: &KeySet, publish: &mut Publish, would_be_journaled: bool) -> Option<KnownKey> {
        let key = publish.key_in(&set.header)?;
        set.duplicated(key, would_be_journaled, self.now_ms())
    }

    /// A queue has taken a message in.
    pub(crate) fn remember_in(
        &mut self,
        entry: &mut QueueEntry,
        publish: &mut Publish,
        seq: QueueSeq,
        is_journaled: bool,
    ) {
        let now_ms = self.now_ms();
        let Some(set) = &mut entry.key_set else { return };
        let Some(key) = publish.key_in(&set.header) else { return };
        let expires_at_ms = set.expiry_of(publish.key_ttl_ms(), now_ms);
        let new = RememberedKey { number: seq.0, key, expires_at_ms, is_journaled };
        if set.is_replacing()
            && let Some(known) = set.replaceable(key, is_journaled)
        {
            let KnownKey { number, is_journaled } = known;
            self.section_effects
                .keys
                .replaced
                .push((entry.handle.clone(), RememberedKey { number, is_journaled, ..new }));
        }
        let section_effects = &mut *self.section_effects;
        set.remember(new, &self.engine.queue_ids, &mut section_effects.keys, &mut section_effects.records);
        if expires_at_ms < u64::MAX {
            self.set_timer(entry);
        }
    }

    /// Has a message read for this alone: that it be taken out. Should that fail, it is taken out when it is read for a consumer.
    fn read_replaced(&mut self, entry: &mut QueueEntry, seq: QueueSeq) {
        if let Take::Unread(loads) = entry.queue.take(seq, None, |_| false) {
            loads.into_iter().for_each(|load| self.want(entry.handle.id(), load));
        }
    }

    /// After a restart: takes out what is not to be delivered, for others have taken its place.
    pub(crate) fn take_restored_replaced(&mut self, entry: &mut QueueEntry) {
        // What lay in a segment that no checkpoint knew of is in memory again: it would never be read.
        self.take_read_replaced(entry);
        let left = entry.key_set.as_ref().map_or_else(Vec::new, |set| set.replaced());
        left.into_iter().for_each(|seq| self.read_replaced(entry, seq));
    }

    /// Takes out what has been read and is not to be delivered, for others have taken its place.
    pub(crate) fn take_read_replaced(&mut self, entry: &mut QueueEntry) {
        let Some(set) = &entry.key_set else { return };
        for seq in set.replaced() {
            if entry.queue.is_ready(seq) == Some(true) {
                self.take_one(entry, seq);
            }
        }
    }

    /// The same with what has been read for this alone.
    pub(crate) fn take_found_replaced(&mut self, entry: &mut QueueEntry, found: &[(QueueSeq, QueuedMessage)]) {
        for (seq, held) in found {
            let is_replaced = entry.key_set.as_ref().is_some_and(|set| set.has_replaced(*seq));
            if is_replaced
                && let Take::Taken(held) = entry.queue.take(*seq, Some(held), |place| self.engine.store.is_alive(place))
            {
                self.let_go(entry, [(*seq, held)]);
            }
        }
    }

    fn take_one(&mut self, entry: &mut QueueEntry, seq: QueueSeq) {
        if let Take::Taken(held) = entry.queue.take(seq, None, |_| true) {
            self.let_go(entry, [(seq, held)]);
        }
    }

    /// Has an exchange's keys looked after when one has expired, unless they are already by then.
    pub(super) fn set_key_timer(&mut self, keys: &Arc<ExchangeKeys>, set: &mut KeySet) {
        let Some(due_ms) = set.next_due() else { return };
        if set.timer_at_ms == 0 || due_ms < set.timer_at_ms {
            set.timer_at_ms = due_ms;
            self.look_after_later(due_ms, keys.clone().into());
        }
    }

    /// Forgets keys of a queue that have expired.
    pub(crate) fn forget_expired_keys(&mut self, entry: &mut QueueEntry, now_ms: u64) {
        let Some(set) = &mut entry.key_set else { return };
        set.forget_expired(now_ms, &mut self.section_effects.keys, &mut self.section_effects.records);
        self.set_timer(entry);
    }

    /// A queue drops duplicates like this from now on, or does not.
    pub fn set_deduplication(&mut self, entry: &mut QueueEntry, deduplication: Option<&Deduplication>) {
        match (&mut entry.key_set, deduplication) {
            (Some(set), Some(deduplication)) if set.is_alike(deduplication) => {
                set.set_rules(deduplication, &mut self.section_effects.keys);
            }
            (before, _) => {
                if let Some(set) = before {
                    set.forget_all(&mut self.section_effects.keys, &mut self.section_effects.records);
                }
                entry.key_set = key_set_of(entry, deduplication);
            }
        }
    }
}

/// An empty set of keys for a queue that is to drop duplicates.
pub(crate) fn key_set_of(entry: &QueueEntry, deduplication: Option<&Deduplication>) -> Option<Box<KeySet>> {
    let site = Site::Queue(entry.handle.id());
    deduplication.map(|deduplication| Box::new(KeySet::new(deduplication, site, entry.handle.is_journaled())))
}
