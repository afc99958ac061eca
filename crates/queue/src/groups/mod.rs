//! Message groups: which consumer may get which message, where messages of a group are with one consumer at a time and in order.
//!
//! A group is *held* while messages of it are unacked: the consumer that has them gets further ones of the group, and no other does. It is
//! *closed* to all while one of its messages waits to be tried again, or is with a client that took it with get. Otherwise it is
//! free. Nothing of this is stored: holders are live consumers.
//!
//! A message whose group is held by a consumer that can take no more is passed over; it stays in its lane, and [`PassedMessages`]
//! remembers what has been looked at, so that no dispatch looks at it again before its group is free or its holder can take more.
//!
//! - `passed`: the messages passed over; `handing_out`: dispatch and get in a queue with groups.
//!
//! Deliberately absent: what a group's name looks like, and holders that keep a group without holding a message of it.

mod handing_out;
mod passed;

use std::collections::BTreeSet;
use std::num::NonZeroU64;

use model::ids::QueueSeq;
use rustc_hash::FxHashMap;

use self::passed::PassedMessages;
pub(crate) use self::passed::{Key, PassedMessage};
use crate::consumers::ConsumerId;
use crate::limits::GROUPS_KEPT_LEN;
use crate::message::Message;
use crate::tree_len::tree_len;
use crate::unacked::Holder;

/// A group, by the hash of its name.
pub(crate) type Group = NonZeroU64;

/// Which consumers may get messages of a group now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GroupAccess {
    Free,
    HeldBy(ConsumerId),
    /// No consumer.
    Closed,
}

/// The messages of a group that are no longer ready, but have not left. There is at least one.
#[derive(Debug, Clone, Copy)]
struct Hold {
    /// The consumer that has the unacked ones. Of no account while some wait.
    holder: Holder,
    unacked_count: u32,
    /// Those that wait to be tried again.
    waiting_count: u32,
}

/// The groups of a queue.
#[derive(Debug)]
pub(crate) struct Groups {
    /// The header that names a message's group.
    header: Box<str>,
    holds: FxHashMap<Group, Hold>,
    /// The groups of messages that are unacked or wait.
    of: FxHashMap<QueueSeq, Group>,
    passed: PassedMessages,
    /// Consumers that may have become able to take messages since those for them were passed over.
    awake: BTreeSet<ConsumerId>,
    /// Messages that a later one of their priority has overtaken, and that have never been handed out.
    overtaken: BTreeSet<Key>,
    /// The last dispatch found nothing for consumers that would have taken something.
    pub(crate) holds_up: bool,
}

impl Groups {
    /// Bytes that it takes, as far as they go by the number of messages.
    pub(crate) fn memory_len(&self) -> usize {
        size_of::<Self>()
            + self.holds.capacity() * size_of::<(Group, Hold)>()
            + self.of.capacity() * size_of::<(QueueSeq, Group)>()
            + tree_len::<Key, ()>(self.overtaken.len())
    }

    pub(crate) fn new(header: &str) -> Self {
        Groups {
            header: header.into(),
            holds: FxHashMap::default(),
            of: FxHashMap::default(),
            passed: PassedMessages::default(),
            awake: BTreeSet::new(),
            overtaken: BTreeSet::new(),
            holds_up: false,
        }
    }

    pub(crate) fn header(&self) -> &str {
        &self.header
    }

    /// The group of a message that has its body.
    pub(crate) fn of_message<M: Message>(&self, message: &M) -> Option<Group> {
        message.group(&self.header)
    }

    pub(crate) fn access(&self, group: Option<Group>) -> GroupAccess {
        match group.and_then(|group| self.holds.get(&group)) {
            None => GroupAccess::Free,
            Some(Hold { holder: Some(holder), waiting_count: 0, .. }) => GroupAccess::HeldBy(*holder),
            Some(_) => GroupAccess::Closed,
        }
    }

    /// A message of a group has been handed out, to be acked.
    pub(crate) fn hold(&mut self, seq: QueueSeq, group: Group, holder: Holder) {
        self.of.insert(seq, group);
        let hold = self.holds.entry(group).or_insert(Hold { holder, unacked_count: 0, waiting_count: 0 });
        (hold.holder, hold.unacked_count) = (holder, hold.unacked_count + 1);
        self.file(group);
    }

    /// A message is unacked no longer. Its holder, if it is a consumer, may take more.
    pub(crate) fn release(&mut self, seq: QueueSeq, holder: Holder) {
        self.awake.extend(holder);
        self.let_go(seq, |hold| hold.unacked_count -= 1);
    }

    /// A message waits to be tried again: none of its group is delivered before it.
    pub(crate) fn start_wait(&mut self, seq: QueueSeq, group: Group) {
        self.of.insert(seq, group);
        self.holds.entry(group).or_insert(Hold { holder: None, unacked_count: 0, waiting_count: 0 }).waiting_count += 1;
        self.file(group);
    }

    /// A message no longer waits to be tried again.
    pub(crate) fn end_wait(&mut self, seq: QueueSeq) {
        self.let_go(seq, |hold| hold.waiting_count -= 1);
    }

    fn let_go(&mut self, seq: QueueSeq, change: impl FnOnce(&mut Hold)) {
        // What had been handed out before there were groups is in none.
        let Some(group) = self.of.remove(&seq) else { return };
        let hold = self.holds.get_mut(&group).expect("a group is held while a message of it is out");
        change(hold);
        if hold.unacked_count == 0 && hold.waiting_count == 0 {
            self.holds.remove(&group);
        }
        if self.of.is_empty() && self.of.capacity() > GROUPS_KEPT_LEN {
            (self.of, self.holds) = Default::default();
        }
        self.file(group);
    }

    /// The group of a message that is unacked or waits.
    pub(crate) fn of_seq(&self, seq: QueueSeq) -> Option<Group> {
        self.of.get(&seq).copied()
    }

    /// A consumer may take more than before.
    pub(crate) fn wake(&mut self, consumer: ConsumerId) {
        self.awake.insert(consumer);
    }

    /// A consumer takes nothing now.
    pub(crate) fn rest(&mut self, consumer: ConsumerId) {
        self.awake.remove(&consumer);
    }

    /// Everything up to this message has been looked at.
    pub(crate) fn see(&mut self, key: Key) {
        self.passed.see(key);
    }

    /// A ready message has been looked at and cannot go now.
    pub(crate) fn pass_over(&mut self, key: Key, entry: PassedMessage) {
        self.passed.insert(key, entry);
        if let Some(group) = entry.group {
            self.file(group);
        }
    }

    /// A message is ready again and in memory.
    pub(crate) fn put_back(&mut self, key: Key, entry: PassedMessage) {
        if key.seq > self.passed.seen(key.rank) {
            return;
        }
        self.passed.insert(key, entry);
        if let Some(group) = entry.group {
            self.file(group);
        }
    }

    /// A ready message has left.
    pub(crate) fn forget(&mut self, key: Key) {
        self.overtaken.remove(&key);
        if let Some(PassedMessage { group: Some(group), .. }) = self.passed.remove(key) {
            self.file(group);
        }
    }

    /// Messages from here on have left memory: they are to be looked at again.
    pub(crate) fn rewind(&mut self, key: Key) {
        let mut touched = Vec::new();
        self.passed.rewind(key, &mut touched);
        touched.into_iter().for_each(|group| self.file(group));
    }

    /// All is to be looked at again.
    pub(crate) fn rewind_all(&mut self) {
        self.passed = PassedMessages::default();
    }

    /// Nothing is ready any longer.
    pub(crate) fn purge(&mut self) {
        self.rewind_all();
        self.overtaken.clear();
    }

    /// Nothing is unacked or waits any longer.
    pub(crate) fn release_all(&mut self) {
        self.holds.clear();
        self.of.clear();
        self.rewind_all();
    }

    /// A message is handed out, of whose priority messages up to `before` had been. Whether it may have been itself.
    pub(crate) fn note_delivered(&mut self, key: Key, before: QueueSeq) -> bool {
        if key.seq > before {
            self.overtaken.extend(self.passed.between(key.with_seq(before), key));
            return false;
        }
        !self.overtaken.remove(&key)
    }

    /// The messages of a priority, from one seq to another, that have been overtaken, by rising seq.
    pub(crate) fn overtaken(&self, priority: u8, first: QueueSeq, last: QueueSeq) -> impl Iterator<Item = QueueSeq> {
        let keys = (first <= last).then(|| self.overtaken.range(Key::new(priority, first)..=Key::new(priority, last)));
        keys.into_iter().flatten().map(|key| key.seq)
    }

    /// How far messages of a priority have been looked at.
    pub(crate) fn seen(&self, rank: u8) -> QueueSeq {
        self.passed.seen(rank)
    }

    /// Whether no more of a priority may be passed over.
    pub(crate) fn is_full(&self, rank: u8) -> bool {
        self.passed.is_full(rank)
    }

    /// The first message passed over that any consumer may have now.
    pub(crate) fn first_free(&self) -> Option<(Key, PassedMessage)> {
        self.passed.first_of(GroupAccess::Free)
    }

    /// The first message passed over that may be given to a consumer now.
    pub(crate) fn first_open(&mut self) -> Option<(Key, PassedMessage)> {
        let passed = &self.passed;
        self.awake.retain(|consumer| passed.has_for(*consumer));
        let held = self.awake.iter().filter_map(|consumer| self.passed.first_of(GroupAccess::HeldBy(*consumer)));
        held.chain(self.first_free()).min_by_key(|(key, _)| *key)
    }

    fn file(&mut self, group: Group) {
        if !self.passed.has_group(group) {
            return;
        }
        let access = self.access(Some(group));
        self.passed.file(group, access);
        if let GroupAccess::HeldBy(holder) = access {
            self.wake(holder);
        }
    }
}
