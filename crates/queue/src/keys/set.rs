//! The keys of one queue or exchange.

use std::collections::{BTreeMap, HashMap};

use super::hashing::BuildAsItIs;

/// What distinguishes messages: a hash, so good that two that differ are never alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MessageKey(pub u128);

/// For how long keys are remembered. All of it may change at run time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyRules {
    /// Until their messages have left, not for a time.
    pub while_waiting: bool,
    /// The most keys; 0 counts as 1.
    pub count_max: u64,
    /// For how long, unless a message says otherwise. None: as long as they are among the last. Of no account for those that wait.
    pub ttl_ms: Option<u64>,
}

/// A key with what is known of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RememberedKey {
    /// That of the message.
    pub number: u64,
    /// Its key.
    pub key: MessageKey,
    /// From when on it counts as unknown, in milliseconds since 1970. `u64::MAX`: never.
    pub expires_at_ms: u64,
    /// Whether there is a record of it.
    pub is_journaled: bool,
}

/// The message that has come with a key before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownKey {
    /// Its number.
    pub number: u64,
    /// Whether its key lasts.
    pub is_journaled: bool,
}

/// The keys of one queue or exchange. See the module's page.
#[derive(Debug)]
pub struct Keys {
    rules: KeyRules,
    by_key: HashMap<MessageKey, KeyEntry, BuildAsItIs>,
    by_number: BTreeMap<u64, MessageKey>,
}

#[derive(Debug, Clone, Copy)]
struct KeyEntry {
    number: u64,
    expires_at_ms: u64,
    is_journaled: bool,
}

/// A map with room for more entries than this gives it back when most of it is free.
const KEPT_COUNT: usize = 1024;

impl Keys {
    /// None yet.
    #[must_use]
    pub fn new(rules: KeyRules) -> Keys {
        Keys { rules, by_key: HashMap::default(), by_number: BTreeMap::new() }
    }

    /// For how long they are remembered.
    #[must_use]
    pub fn rules(&self) -> KeyRules {
        self.rules
    }

    /// Other rules from now on; of the keys that are there the number counts only. Appends the numbers of what lasted and is too much.
    pub fn set_rules(&mut self, rules: KeyRules, forgotten: &mut Vec<u64>) {
        self.rules = rules;
        self.forget_beyond(forgotten);
    }

    /// The message that came with this key, if that is known.
    #[must_use]
    pub fn find(&self, key: MessageKey, now_ms: u64) -> Option<KnownKey> {
        let KeyEntry { number, expires_at_ms, is_journaled } = *self.by_key.get(&key)?;
        (now_ms < expires_at_ms).then_some(KnownKey { number, is_journaled })
    }

    /// When a key expires that comes now, with a message that says for how long it is to be remembered, or does not.
    #[must_use]
    pub fn expiry_of(&self, ttl_ms: Option<u64>, now_ms: u64) -> u64 {
        match ttl_ms.or(self.rules.ttl_ms).filter(|_| !self.rules.while_waiting) {
            Some(ttl_ms) => now_ms.saturating_add(ttl_ms),
            None => u64::MAX,
        }
    }

    /// A message was taken in. Its key stands for it from now on, and for no other. Appends the numbers of what lasted and is forgotten
    /// for it.
    pub fn remember(&mut self, new: RememberedKey, forgotten: &mut Vec<u64>) {
        let RememberedKey { number, key, expires_at_ms, is_journaled } = new;
        let before = self.by_key.insert(key, KeyEntry { number, expires_at_ms, is_journaled });
        if let Some(before) = before {
            self.by_number.remove(&before.number);
            forgotten.extend(before.is_journaled.then_some(before.number));
        }
        let taken = self.by_number.insert(number, key);
        assert!(taken.is_none(), "a number is given once");
        self.forget_beyond(forgotten);
    }

    /// A message has left for good: says whether its key had a record, if it was known. For keys that are remembered while messages
    /// wait.
    pub fn free(&mut self, number: u64) -> Option<KnownKey> {
        let key = self.by_number.remove(&number)?;
        let entry = self.by_key.remove(&key)?;
        self.tidy();
        Some(KnownKey { number, is_journaled: entry.is_journaled })
    }

    /// Forgets the oldest keys as far as they have expired, `count_max` at most. Appends the numbers of those that lasted.
    pub fn forget_expired(&mut self, now_ms: u64, count_max: usize, forgotten: &mut Vec<u64>) {
        for _ in 0..count_max {
            if self.first_expiry().is_none_or(|at_ms| now_ms < at_ms) {
                break;
            }
            self.forget_oldest(forgotten);
        }
        self.tidy();
    }

    /// When there is something for [`Keys::forget_expired`] to do, in milliseconds since 1970.
    #[must_use]
    pub fn first_expiry(&self) -> Option<u64> {
        let (_, key) = self.by_number.first_key_value()?;
        self.by_key.get(key).map(|entry| entry.expires_at_ms).filter(|at_ms| *at_ms < u64::MAX)
    }

    /// Keys that are remembered, expired ones that have not been forgotten yet included.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.by_number.len() as u64
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_number.is_empty()
    }

    /// All of them, the oldest first.
    pub fn iter(&self) -> impl Iterator<Item = RememberedKey> {
        self.by_number.iter().filter_map(|(number, key)| {
            let KeyEntry { expires_at_ms, is_journaled, .. } = *self.by_key.get(key)?;
            Some(RememberedKey { number: *number, key: *key, expires_at_ms, is_journaled })
        })
    }

    fn forget_beyond(&mut self, forgotten: &mut Vec<u64>) {
        while self.count() > self.rules.count_max.max(1) {
            self.forget_oldest(forgotten);
        }
    }

    fn forget_oldest(&mut self, forgotten: &mut Vec<u64>) {
        let Some((number, key)) = self.by_number.pop_first() else { return };
        let entry = self.by_key.remove(&key).expect("what has a number has a key");
        forgotten.extend(entry.is_journaled.then_some(number));
    }

    fn tidy(&mut self) {
        if self.by_key.capacity() > KEPT_COUNT.max(self.by_key.len() * 8) {
            self.by_key.shrink_to(self.by_key.len() * 2);
        }
    }
}
