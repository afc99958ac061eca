//! Ready messages that dispatch has passed over, by their place in the queue's order and by group.
//!
//! The messages themselves are in their lanes, in memory. For each priority it is known how far lanes have been looked at: what is
//! ready and lies before that is here. When something of it leaves memory, that mark returns to before it.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use model::ids::QueueSeq;
use rustc_hash::FxHashMap;

use super::{Group, GroupAccess};
use crate::consumers::ConsumerId;
use crate::limits::{PASSED_OVER_BYTES_MAX, PASSED_OVER_COUNT_MAX};

/// A message's place in the order in which the queue hands out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    /// 0 for the highest priority there may be.
    pub(crate) rank: u8,
    pub(crate) seq: QueueSeq,
}

impl Key {
    pub(crate) fn new(priority: u8, seq: QueueSeq) -> Self {
        Key { rank: u8::MAX - priority, seq }
    }

    pub(crate) fn priority(self) -> u8 {
        u8::MAX - self.rank
    }

    pub(super) fn with_seq(self, seq: QueueSeq) -> Self {
        Key { seq, ..self }
    }
}

/// A message that was passed over.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PassedMessage {
    pub(crate) group: Option<Group>,
    /// Which lane of its level it is in.
    pub(crate) lane: u8,
    /// Bytes of its body, if that is in memory for being looked at only.
    pub(crate) read_len: u32,
}

/// The messages of one group.
#[derive(Debug)]
struct Line {
    keys: BTreeSet<Key>,
    /// The first of them, and among whose it is.
    filed: Option<(Key, GroupAccess)>,
}

/// How far one priority has been looked at.
#[derive(Debug, Clone, Copy)]
struct LookProgress {
    rank: u8,
    upto: QueueSeq,
    count: usize,
    read_bytes: u64,
}

#[derive(Debug, Default)]
pub(super) struct PassedMessages {
    by_key: BTreeMap<Key, PassedMessage>,
    lines: FxHashMap<Group, Line>,
    /// By rank.
    seen: Vec<LookProgress>,
    /// The first of each group that is free, and those in no group.
    free: BTreeSet<Key>,
    /// The first of each group that a consumer holds.
    held: FxHashMap<ConsumerId, BTreeSet<Key>>,
}

impl PassedMessages {
    pub(super) fn seen(&self, rank: u8) -> QueueSeq {
        self.seen.binary_search_by_key(&rank, |seen| seen.rank).map_or(QueueSeq(0), |at| self.seen[at].upto)
    }

    /// Whether no more may be passed over of a priority.
    pub(super) fn is_full(&self, rank: u8) -> bool {
        let found = self.seen.binary_search_by_key(&rank, |seen| seen.rank);
        let is_full =
            |seen: &LookProgress| seen.count >= PASSED_OVER_COUNT_MAX || seen.read_bytes >= PASSED_OVER_BYTES_MAX;
        found.is_ok_and(|at| is_full(&self.seen[at]))
    }

    pub(super) fn see(&mut self, key: Key) {
        let seen = self.seen_mut(key.rank);
        seen.upto = seen.upto.max(key.seq);
    }

    /// Adds a message; if it is in a group, that has to be filed after it.
    pub(super) fn insert(&mut self, key: Key, entry: PassedMessage) {
        if self.by_key.insert(key, entry).is_some() {
            return;
        }
        let seen = self.seen_mut(key.rank);
        seen.upto = seen.upto.max(key.seq);
        seen.count += 1;
        seen.read_bytes += u64::from(entry.read_len);
        match entry.group {
            Some(group) => {
                self.lines.entry(group).or_insert(Line { keys: BTreeSet::new(), filed: None }).keys.insert(key);
            }
            None => {
                self.free.insert(key);
            }
        }
    }

    /// Takes a message out; if it is in a group, that has to be filed after it.
    pub(super) fn remove(&mut self, key: Key) -> Option<PassedMessage> {
        let entry = self.by_key.remove(&key)?;
        let seen = self.seen_mut(key.rank);
        seen.count -= 1;
        seen.read_bytes -= u64::from(entry.read_len);
        match entry.group.and_then(|group| self.lines.get_mut(&group)) {
            Some(line) => {
                line.keys.remove(&key);
            }
            None => {
                self.free.remove(&key);
            }
        }
        Some(entry)
    }

    /// Takes out a priority's messages from this one on. Their groups have to be filed after it.
    pub(super) fn rewind(&mut self, from: Key, touched: &mut Vec<Group>) {
        if self.seen(from.rank) < from.seq {
            return;
        }
        let last = from.with_seq(QueueSeq(u64::MAX));
        let keys: Vec<Key> = self.by_key.range(from..=last).map(|(key, _)| *key).collect();
        touched.extend(keys.into_iter().filter_map(|key| self.remove(key)?.group));
        self.seen_mut(from.rank).upto = QueueSeq(from.seq.0.saturating_sub(1));
    }

    /// The messages of a priority after the one and before the other.
    pub(super) fn between(&self, after: Key, before: Key) -> impl Iterator<Item = Key> {
        self.by_key.range((Bound::Excluded(after), Bound::Excluded(before))).map(|(key, _)| *key)
    }

    pub(super) fn has_group(&self, group: Group) -> bool {
        self.lines.contains_key(&group)
    }

    /// Puts the first message of a group where those are that go to the same consumers.
    pub(super) fn file(&mut self, group: Group, access: GroupAccess) {
        let Some(line) = self.lines.get_mut(&group) else { return };
        let wanted = line.keys.first().map(|key| (*key, access));
        let before = std::mem::replace(&mut line.filed, wanted);
        if line.keys.is_empty() {
            self.lines.remove(&group);
        }
        if before == wanted {
            return;
        }
        match before {
            Some((key, GroupAccess::Free)) => drop(self.free.remove(&key)),
            Some((key, GroupAccess::HeldBy(consumer))) => self.unfile(consumer, key),
            Some((_, GroupAccess::Closed)) | None => {}
        }
        match wanted {
            Some((key, GroupAccess::Free)) => drop(self.free.insert(key)),
            Some((key, GroupAccess::HeldBy(consumer))) => drop(self.held.entry(consumer).or_default().insert(key)),
            Some((_, GroupAccess::Closed)) | None => {}
        }
    }

    fn unfile(&mut self, consumer: ConsumerId, key: Key) {
        if let Some(keys) = self.held.get_mut(&consumer) {
            keys.remove(&key);
            if keys.is_empty() {
                self.held.remove(&consumer);
            }
        }
    }

    /// Whether there is something of a group that a consumer holds.
    pub(super) fn has_for(&self, consumer: ConsumerId) -> bool {
        self.held.contains_key(&consumer)
    }

    /// The first message of all groups that stand like this.
    pub(super) fn first_of(&self, access: GroupAccess) -> Option<(Key, PassedMessage)> {
        let key = match access {
            GroupAccess::Free => self.free.first(),
            GroupAccess::HeldBy(consumer) => self.held.get(&consumer)?.first(),
            GroupAccess::Closed => None,
        }?;
        Some((*key, self.by_key[key]))
    }

    fn seen_mut(&mut self, rank: u8) -> &mut LookProgress {
        let at = match self.seen.binary_search_by_key(&rank, |seen| seen.rank) {
            Ok(at) => at,
            Err(at) => {
                self.seen.insert(at, LookProgress { rank, upto: QueueSeq(0), count: 0, read_bytes: 0 });
                at
            }
        };
        &mut self.seen[at]
    }
}
