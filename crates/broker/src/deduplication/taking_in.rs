//! What a locked section does with keys: looking for duplicates, remembering what is taken in, recording it with the messages.

use std::sync::Arc;

use model::features::Deduplication;
use model::ids::{QueueId, QueueSeq};
use queue::{Known, Remembered, Take};
use store::RecordBatch;

use super::ExchangeKeys;
use super::definition::{RecordKey, encode_key};
use super::set::{KeySet, Site};
use crate::batch::Publish;
use crate::broker::Broker;
use crate::dispatch::Work;
use crate::limits::KEYS_SWEPT_COUNT;
use crate::message::Held;
use crate::queue_handle::{QueueHandle, Targets};
use crate::shard::{Cell, Locked};

/// What a section gathers about keys. Reused: its vectors keep their room.
#[derive(Debug, Default)]
pub(crate) struct KeyWork {
    /// Whose keys they are, where that has not been recorded yet.
    pub(super) new_owners: Vec<(QueueId, Vec<u8>)>,
    /// Keys of the message that is being put into its queues.
    pub(super) new_keys: Vec<(QueueId, Remembered)>,
    /// Numbers of keys whose records are to go. Only room in between.
    pub(super) forgotten: Vec<u64>,
    /// Those of whose place the message takes that is being put into its queues.
    replaced: Vec<(Arc<QueueHandle>, Remembered)>,
    /// Records that count no more, and go when the locks are gone.
    swept: Vec<(QueueId, Vec<u64>)>,
    /// Whether a duplicate's original may not be durable yet.
    pub(crate) awaits_originals: bool,
}

impl KeyWork {
    /// Records the keys of the message that has just been recorded, or of those that stay.
    pub(crate) fn record(&mut self, records: &mut RecordBatch) {
        for (owner, ownership) in self.new_owners.drain(..) {
            records.put(&RecordKey::Owner(owner).encode(), &ownership);
        }
        for (owner, new) in self.new_keys.drain(..) {
            records.put(&RecordKey::Key { owner, number: new.number }.encode(), &encode_key(&new));
        }
    }

    /// Has what is forgotten removed once the locks are gone: it does not count any more, even should it be there after a crash.
    pub(super) fn sweep_later(&mut self, owner: QueueId) {
        if !self.forgotten.is_empty() {
            self.swept.push((owner, std::mem::take(&mut self.forgotten)));
        }
    }

    /// Removes records that do not count any more. No lock is held.
    pub(crate) fn sweep(&mut self, broker: &Broker) {
        for (owner, numbers) in self.swept.drain(..) {
            sweep(broker, owner, &numbers);
        }
    }
}

/// Removes records that do not count any more, so many at a time.
pub(super) fn sweep(broker: &Broker, owner: QueueId, numbers: &[u64]) {
    for part in numbers.chunks(KEYS_SWEPT_COUNT) {
        let mut records = RecordBatch::new();
        part.iter().for_each(|number| records.delete(&RecordKey::Key { owner, number: *number }.encode()));
        broker.append(&mut records);
    }
}

impl Work {
    /// Whether an exchange drops a message, having had one of its key.
    pub(crate) fn is_duplicate_at(
        &mut self,
        keys: &ExchangeKeys,
        broker: &Broker,
        locked: &mut Locked<'_>,
        publish: &mut Publish,
        targets: &Targets,
    ) -> bool {
        let Some(set) = locked.key_set(keys) else { return false };
        let would_last = publish.is_persistent && targets.is_journalled;
        let is_duplicate = self.is_duplicate(set, broker, publish, would_last);
        if is_duplicate {
            keys.deduplicated.add(1);
        }
        is_duplicate
    }

    /// Whether a queue drops a message, having one of its key, or having had it.
    pub(crate) fn is_duplicate_in(&mut self, cell: &mut Cell, broker: &Broker, publish: &mut Publish) -> bool {
        let Some(set) = cell.key_set.as_ref().filter(|set| !set.is_replacing()) else { return false };
        let would_last = publish.is_persistent && cell.handle.is_journalled();
        let is_duplicate = self.is_duplicate(set, broker, publish, would_last);
        if is_duplicate {
            cell.handle.counters.deduplicated.add(1);
        }
        is_duplicate
    }

    /// Whether an exchange, or each of the queues, would drop a message.
    pub(crate) fn would_be_dropped(
        &mut self,
        broker: &Broker,
        locked: &mut Locked<'_>,
        publish: &mut Publish,
        targets: &Targets,
    ) -> bool {
        if let Some(keys) = &targets.keys
            && let Some(set) = locked.key_set(keys)
            && self.original(set, broker, publish, publish.is_persistent && targets.is_journalled).is_some()
        {
            return true;
        }
        targets.delay.is_none()
            && !targets.queues.is_empty()
            && targets.queues.iter().all(|queue| {
                let Some(cell) = locked.get(queue) else { return false };
                cell.key_set.as_ref().is_some_and(|set| !set.is_replacing()) && self.has_key_in(cell, broker, publish)
            })
    }

    /// Whether a queue would drop a message.
    pub(crate) fn has_key_in(&mut self, cell: &mut Cell, broker: &Broker, publish: &mut Publish) -> bool {
        let Some(set) = &cell.key_set else { return false };
        let would_last = publish.is_persistent && cell.handle.is_journalled();
        self.original(set, broker, publish, would_last).is_some()
    }

    fn is_duplicate(&mut self, set: &KeySet, broker: &Broker, publish: &mut Publish, would_last: bool) -> bool {
        let Some(known) = self.original(set, broker, publish, would_last) else { return false };
        publish.awaits_original |= known.is_lasting;
        self.keys.awaits_originals |= known.is_lasting;
        true
    }

    fn original(&mut self, set: &KeySet, broker: &Broker, publish: &mut Publish, would_last: bool) -> Option<Known> {
        let key = publish.key_in(&set.header)?;
        set.duplicated(key, would_last, self.now_ms(broker))
    }

    /// A queue has taken a message in.
    pub(crate) fn remember_in(
        &mut self,
        cell: &mut Cell,
        broker: &Broker,
        publish: &mut Publish,
        seq: QueueSeq,
        is_lasting: bool,
    ) {
        let now_ms = self.now_ms(broker);
        let Some(set) = &mut cell.key_set else { return };
        let Some(key) = publish.key_in(&set.header) else { return };
        let expires_at_ms = set.expiry_of(publish.key_ttl_ms(), now_ms);
        let new = Remembered { number: seq.0, key, expires_at_ms, is_lasting };
        if set.is_replacing()
            && let Some(known) = set.replaceable(key, is_lasting)
        {
            let Known { number, is_lasting } = known;
            self.keys.replaced.push((cell.handle.clone(), Remembered { number, is_lasting, ..new }));
        }
        set.remember(new, broker, &mut self.keys, &mut self.records);
        if expires_at_ms < u64::MAX {
            self.set_timer(cell);
        }
    }

    /// Queues have taken a message in that was published to an exchange.
    pub(crate) fn remember_at(
        &mut self,
        keys: &Arc<ExchangeKeys>,
        broker: &Broker,
        locked: &mut Locked<'_>,
        publish: &mut Publish,
        is_lasting: bool,
    ) {
        let Some(set) = locked.key_set(keys) else { return };
        let Some(key) = publish.key_in(&set.header) else { return };
        let expires_at_ms = set.expiry_of(publish.key_ttl_ms(), self.now_ms(broker));
        let number = set.take_number();
        set.remember(Remembered { number, key, expires_at_ms, is_lasting }, broker, &mut self.keys, &mut self.records);
        self.set_key_timer(keys, set);
    }

    /// Takes out those of whose place the message has taken that has just been recorded: not before, or a crash could take both.
    #[inline]
    pub(crate) fn take_replaced(&mut self, locked: &mut Locked<'_>) {
        if !self.keys.replaced.is_empty() {
            self.take_all_replaced(locked);
        }
    }

    fn take_all_replaced(&mut self, locked: &mut Locked<'_>) {
        while let Some((queue, replaced)) = self.keys.replaced.pop() {
            let Some(cell) = locked.get(&queue) else { continue };
            let seq = QueueSeq(replaced.number);
            match cell.queue.is_ready(seq) {
                Some(true) => self.take_one(cell, seq),
                // Somebody has it, and settles it.
                Some(false) => continue,
                None => {
                    let Some(set) = &mut cell.key_set else { continue };
                    set.note_replaced(replaced, &mut self.records);
                    self.read_replaced(cell, seq);
                }
            }
            cell.handle.counters.deduplicated.add(1);
        }
    }

    /// Has a message read for this alone: that it be taken out. Should that fail, it goes when it is read for somebody.
    fn read_replaced(&mut self, cell: &mut Cell, seq: QueueSeq) {
        if let Take::Unread(loads) = cell.queue.take(seq, None, |_| false) {
            loads.into_iter().for_each(|load| self.want(cell.handle.id(), load));
        }
    }

    /// After a restart: takes out what is not to be delivered, for others have taken its place.
    pub(crate) fn take_restored_replaced(&mut self, cell: &mut Cell) {
        // What lay in a segment that no checkpoint knew of is in memory again: nobody would read it.
        self.take_read_replaced(cell);
        let left = cell.key_set.as_ref().map_or_else(Vec::new, |set| set.replaced());
        left.into_iter().for_each(|seq| self.read_replaced(cell, seq));
    }

    /// Takes out what has been read and is not to be delivered, for others have taken its place.
    pub(crate) fn take_read_replaced(&mut self, cell: &mut Cell) {
        let Some(set) = &cell.key_set else { return };
        for seq in set.replaced() {
            if cell.queue.is_ready(seq) == Some(true) {
                self.take_one(cell, seq);
            }
        }
    }

    /// The same with what has been read for this alone.
    pub(crate) fn take_found_replaced(&mut self, cell: &mut Cell, broker: &Broker, found: &[(QueueSeq, Held)]) {
        for (seq, held) in found {
            let is_replaced = cell.key_set.as_ref().is_some_and(|set| set.has_replaced(*seq));
            if is_replaced
                && let Take::Taken(held) = cell.queue.take(*seq, Some(held), |place| broker.store.is_alive(place))
            {
                self.let_go(cell, *seq, held);
            }
        }
    }

    fn take_one(&mut self, cell: &mut Cell, seq: QueueSeq) {
        if let Take::Taken(held) = cell.queue.take(seq, None, |_| true) {
            self.let_go(cell, seq, held);
        }
    }

    fn let_go(&mut self, cell: &mut Cell, seq: QueueSeq, held: Held) {
        let from = self.settled.len();
        self.settled.push((seq, held));
        self.settle(cell, from);
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
    pub(crate) fn forget_expired_keys(&mut self, cell: &mut Cell, now_ms: u64) {
        let Some(set) = &mut cell.key_set else { return };
        set.forget_expired(now_ms, &mut self.keys, &mut self.records);
        self.set_timer(cell);
    }

    /// A queue drops duplicates like this from now on, or does not.
    pub(crate) fn set_deduplication(&mut self, cell: &mut Cell, deduplication: Option<&Deduplication>) {
        match (&mut cell.key_set, deduplication) {
            (Some(set), Some(deduplication)) if set.is_alike(deduplication) => {
                set.set_rules(deduplication, &mut self.keys);
            }
            (before, _) => {
                if let Some(set) = before {
                    set.forget_all(&mut self.keys, &mut self.records);
                }
                cell.key_set = key_set_of(cell, deduplication);
            }
        }
    }
}

/// An empty set of keys for a queue that is to drop duplicates.
pub(crate) fn key_set_of(cell: &Cell, deduplication: Option<&Deduplication>) -> Option<Box<KeySet>> {
    let site = Site::Queue(cell.handle.id());
    deduplication.map(|deduplication| Box::new(KeySet::new(deduplication, site, cell.handle.is_journalled())))
}
