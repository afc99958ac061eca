//! The keys of one queue or exchange, with what is durable of them.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::features::Deduplication;
use model::ids::{QueueId, QueueSeq};
use queue::{KeyRules, Keys, KnownKey, MessageKey, RememberedKey};
use store::RecordBatch;

pub use super::definition::Site;
use super::definition::{Ownership, RecordKey, encode_key};
use super::key_work::KeyWork;
use crate::limits::{EXPIRED_KEYS_LOOK_MS, KEY_COUNT_MAX, KEYS_FORGOTTEN_MAX, KEYS_OF_EXCHANGE_DEFAULT};
use crate::queue_ids::QueueIds;

/// The keys of one queue or exchange.
#[derive(Debug)]
pub struct KeySet {
    keys: Keys,
    /// Which header holds a message's key.
    pub(super) header: Arc<str>,
    site: Site,
    /// Whether keys of messages that last do.
    is_durable: bool,
    /// Whether a new message takes the place of a waiting one.
    replaces: bool,
    /// Messages that others have taken the place of and that lie only in segments: they go when they are read.
    replaced: BTreeMap<QueueSeq, RememberedKey>,
    /// Under which id keys are kept. None: none has been since they were all forgotten.
    owner: Option<QueueId>,
    /// Of an exchange's next message.
    next_number: u64,
    /// When a timer looks after an exchange's, in milliseconds since 1970; 0: never.
    pub(super) timer_at_ms: u64,
}

/// For how long a queue or an exchange remembers keys. LavinMQ's queues have windows, those of RabbitMQ's plugin drop what waits.
fn rules_of(deduplication: &Deduplication, site: &Site) -> KeyRules {
    let Deduplication { cache_size, cache_ttl_ms: ttl_ms, .. } = *deduplication;
    let has_window = cache_size.is_some() || ttl_ms.is_some();
    let (while_waiting, default) = match site {
        Site::Queue(_) => (!has_window, KEY_COUNT_MAX),
        Site::Exchange { .. } if has_window => (false, KEY_COUNT_MAX),
        Site::Exchange { .. } => (false, KEYS_OF_EXCHANGE_DEFAULT),
    };
    KeyRules { while_waiting, count_max: cache_size.unwrap_or(default).min(KEY_COUNT_MAX), ttl_ms }
}

impl KeySet {
    /// An empty one.
    pub fn new(deduplication: &Deduplication, site: Site, is_durable: bool) -> Self {
        Self {
            keys: Keys::new(rules_of(deduplication, &site)),
            header: Arc::from(&*deduplication.header),
            site,
            is_durable,
            replaces: deduplication.replaces,
            replaced: BTreeMap::new(),
            owner: None,
            next_number: 1,
            timer_at_ms: 0,
        }
    }

    /// Whether keys mean with this what they do now.
    pub(super) fn is_alike(&self, deduplication: &Deduplication) -> bool {
        let rules = rules_of(deduplication, &self.site);
        *self.header == *deduplication.header && self.keys.rules().while_waiting == rules.while_waiting
    }

    /// Other limits, under which keys mean the same.
    pub(super) fn set_rules(&mut self, deduplication: &Deduplication, work: &mut KeyWork) {
        self.replaces = deduplication.replaces;
        self.keys.set_rules(rules_of(deduplication, &self.site), &mut work.forgotten);
        if let Some(owner) = self.owner {
            // Should they be there again after a crash, they are too many again.
            work.sweep_later(owner);
        }
        work.forgotten.clear();
    }

    /// Whether a new message takes the place of a waiting one: of account only where keys are free when their messages have left.
    pub(super) fn is_replacing(&self) -> bool {
        self.replaces && self.is_while_waiting()
    }

    /// The message whose place a new one takes: a durable one does not give way to a transient one.
    pub(super) fn replaceable(&self, key: MessageKey, is_journaled: bool) -> Option<KnownKey> {
        self.keys.find(key, 0).filter(|known| is_journaled || !known.is_journaled)
    }

    /// A message lies in a segment, and another has taken its place. Its key is recorded again, so that a restart finds the two.
    pub(super) fn note_replaced(&mut self, replaced: RememberedKey, records: &mut RecordBatch) {
        if let Some(owner) = self.owner.filter(|_| replaced.is_journaled) {
            let key = RecordKey::Key { owner, number: replaced.number };
            records.put(&key.encode(), &encode_key(&replaced));
        }
        self.replaced.insert(QueueSeq(replaced.number), replaced);
    }

    /// Whether a message is to go when it is read.
    pub(crate) fn has_replaced(&self, seq: QueueSeq) -> bool {
        self.replaced.contains_key(&seq)
    }

    /// The messages that are to go when they are read.
    pub fn replaced(&self) -> Vec<QueueSeq> {
        self.replaced.keys().copied().collect()
    }

    /// The message that is there already with this key. A durable message is no duplicate of a transient one.
    pub(super) fn duplicated(&self, key: MessageKey, would_be_journaled: bool, now_ms: u64) -> Option<KnownKey> {
        self.keys.find(key, now_ms).filter(|known| known.is_journaled || !would_be_journaled)
    }

    /// A number for a message of an exchange.
    pub(super) fn take_number(&mut self) -> u64 {
        let number = self.next_number;
        self.next_number += 1;
        number
    }

    /// A message was taken in. It is recorded with the message: see [`KeyWork::record`].
    pub(super) fn remember(
        &mut self,
        new: RememberedKey,
        ids: &QueueIds,
        work: &mut KeyWork,
        records: &mut RecordBatch,
    ) {
        if new.is_journaled && self.is_durable {
            let owner = *self.owner.get_or_insert_with(|| {
                let owner = ids.take();
                work.new_owners.push((owner, ownership(&self.site, &self.header, &self.keys).encode()));
                owner
            });
            work.new_keys.push((owner, new));
        }
        self.keys.remember(new, &mut work.forgotten);
        self.record_forgotten(work, records);
    }

    /// When its key expires, should a message come now that says for how long it is to be remembered, or does not.
    pub(super) fn expiry_of(&self, ttl_ms: Option<u64>, now_ms: u64) -> u64 {
        self.keys.expiry_of(ttl_ms, now_ms)
    }

    /// Whether a key is free when its message has left.
    pub(crate) fn is_while_waiting(&self) -> bool {
        self.keys.rules().while_waiting
    }

    /// A message has left a queue for good.
    pub fn free(&mut self, seq: QueueSeq, records: &mut RecordBatch) {
        if !self.is_while_waiting() {
            return;
        }
        let known = self.keys.free(seq.0).map(|known| known.is_journaled);
        let was_journaled = known.or_else(|| self.replaced.remove(&seq).map(|replaced| replaced.is_journaled));
        if let Some(owner) = self.owner.filter(|_| was_journaled == Some(true)) {
            records.delete(&RecordKey::Key { owner, number: seq.0 }.encode());
        }
    }

    /// Forgets what has expired, as much as is right at once.
    pub(crate) fn forget_expired(&mut self, now_ms: u64, work: &mut KeyWork, records: &mut RecordBatch) {
        self.keys.forget_expired(now_ms, KEYS_FORGOTTEN_MAX, &mut work.forgotten);
        self.record_forgotten(work, records);
    }

    /// When there is something to forget: not for every key that expires.
    pub fn next_due(&self) -> Option<u64> {
        self.keys.first_expiry().map(|at_ms| at_ms.saturating_add(EXPIRED_KEYS_LOOK_MS))
    }

    /// Forgets all but the keys of these messages, which are sorted. What is left of the others' records no longer counts.
    pub(crate) fn forget_all_but(
        &mut self,
        kept: &[QueueSeq],
        ids: &QueueIds,
        work: &mut KeyWork,
        records: &mut RecordBatch,
    ) {
        let is_kept = |key: &RememberedKey| kept.binary_search(&QueueSeq(key.number)).is_ok();
        let kept: Vec<RememberedKey> = self.keys.iter().filter(is_kept).collect();
        self.forget_all(work, records);
        kept.into_iter().for_each(|key| self.remember(key, ids, work, records));
        work.record(records);
    }

    /// Forgets all keys.
    pub fn forget_all(&mut self, work: &mut KeyWork, records: &mut RecordBatch) {
        if let Some(owner) = self.owner.take() {
            records.delete(&RecordKey::Owner(owner).encode());
            let all = self.keys.iter().chain(self.replaced.values().copied());
            work.forgotten.extend(all.filter(|key| key.is_journaled).map(|key| key.number));
            work.sweep_later(owner);
        }
        self.keys = Keys::new(self.keys.rules());
        // A replaced message comes back where its replacement is no longer known.
        self.replaced = BTreeMap::new();
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty() && self.replaced.is_empty()
    }

    /// Whether what was kept is of this set, and means what it does now.
    pub(super) fn owns(&self, kept: &Ownership) -> bool {
        self.is_durable && self.owner.is_none() && ownership(&self.site, &self.header, &self.keys) == *kept
    }

    /// Takes back what was kept, by rising number.
    pub(super) fn restore(
        &mut self,
        owner: QueueId,
        kept: impl Iterator<Item = RememberedKey>,
        work: &mut KeyWork,
        records: &mut RecordBatch,
    ) {
        self.owner = Some(owner);
        for key in kept {
            self.next_number = key.number + 1;
            if self.is_replacing()
                && let Some(known) = self.keys.find(key.key, 0)
            {
                // Of two messages of one key the later has taken the place of the other.
                self.replaced.insert(QueueSeq(known.number), RememberedKey { number: known.number, ..key });
                self.keys.free(known.number);
            }
            self.keys.remember(key, &mut work.forgotten);
        }
        self.record_forgotten(work, records);
    }

    fn record_forgotten(&self, work: &mut KeyWork, records: &mut RecordBatch) {
        let forgotten = work.forgotten.drain(..);
        if let Some(owner) = self.owner {
            forgotten.for_each(|number| records.delete(&RecordKey::Key { owner, number }.encode()));
        }
    }
}

fn ownership(site: &Site, header: &str, keys: &Keys) -> Ownership {
    Ownership { site: site.clone(), header: header.into(), while_waiting: keys.rules().while_waiting }
}
