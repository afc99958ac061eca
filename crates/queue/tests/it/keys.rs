//! Keys of messages: rule by rule, and against a model that keeps one list and forgets nothing before it has to.

use proptest::prelude::*;
use queue::{KeyRules, Keys, KnownKey, MessageKey, RememberedKey};

fn while_waiting(count_max: u64) -> KeyRules {
    KeyRules { while_waiting: true, count_max, ttl_ms: None }
}

fn for_a_while(count_max: u64, ttl_ms: Option<u64>) -> KeyRules {
    KeyRules { while_waiting: false, count_max, ttl_ms }
}

/// Keys that are given one message after the other.
struct Told {
    keys: Keys,
    next_number: u64,
    forgotten: Vec<u64>,
}

impl Told {
    fn new(rules: KeyRules) -> Told {
        Told { keys: Keys::new(rules), next_number: 1, forgotten: Vec::new() }
    }

    /// Whether it is taken in.
    fn publish(&mut self, key: u128, now_ms: u64) -> bool {
        if self.keys.find(MessageKey(key), now_ms).is_some() {
            return false;
        }
        let expires_at_ms = self.keys.expiry_of(None, now_ms);
        let new = RememberedKey { number: self.next_number, key: MessageKey(key), expires_at_ms, is_journaled: true };
        self.next_number += 1;
        self.keys.remember(new, &mut self.forgotten);
        true
    }
}

#[test]
fn a_key_is_free_again_when_its_message_has_left() {
    let mut told = Told::new(while_waiting(10));
    assert!(told.publish(7, 0) && !told.publish(7, 1_000_000) && told.publish(8, 0));
    assert_eq!(told.keys.free(1), Some(KnownKey { number: 1, is_journaled: true }));
    assert_eq!(told.keys.free(1), None);
    assert!(told.publish(7, 0) && !told.publish(8, 0));
    assert_eq!(told.keys.first_expiry(), None);
    assert!(told.forgotten.is_empty(), "what is freed is not forgotten as well");
}

#[test]
fn a_key_is_forgotten_after_its_time() {
    let mut told = Told::new(for_a_while(10, Some(100)));
    assert!(told.publish(7, 1000) && !told.publish(7, 1099));
    assert_eq!(told.keys.first_expiry(), Some(1100));
    // A duplicate does not make it last longer.
    assert!(told.publish(7, 1100));
    assert_eq!(told.forgotten, [1]);
    assert!(!told.publish(7, 1199));
    told.keys.forget_expired(1199, 10, &mut told.forgotten);
    assert_eq!(told.keys.count(), 1);
    told.keys.forget_expired(1200, 10, &mut told.forgotten);
    assert!(told.keys.is_empty());
    assert_eq!(told.forgotten, [1, 2]);
}

#[test]
fn the_oldest_of_too_many_is_forgotten() {
    let mut told = Told::new(for_a_while(2, None));
    assert!(told.publish(1, 0) && told.publish(2, 0) && told.publish(3, 0));
    assert_eq!(told.forgotten, [1]);
    assert!(!told.publish(2, 0) && !told.publish(3, 0) && told.publish(1, 0));
    assert_eq!(told.forgotten, [1, 2]);
    told.keys.set_rules(for_a_while(1, None), &mut told.forgotten);
    assert_eq!(told.forgotten, [1, 2, 3]);
    assert!(!told.publish(1, 0));
}

#[test]
fn the_time_of_the_message_counts_before_the_common_one() {
    let keys = Keys::new(for_a_while(2, Some(100)));
    assert_eq!((keys.expiry_of(None, 5), keys.expiry_of(Some(7), 5)), (105, 12));
    assert_eq!(keys.expiry_of(Some(u64::MAX), 5), u64::MAX);
    let keys = Keys::new(for_a_while(2, None));
    assert_eq!((keys.expiry_of(None, 5), keys.expiry_of(Some(7), 5)), (u64::MAX, 12));
    assert_eq!(Keys::new(while_waiting(2)).expiry_of(Some(7), 5), u64::MAX, "what waits has no time");
}

#[test]
fn a_drained_set_gives_its_memory_back() {
    let mut told = Told::new(while_waiting(u64::MAX));
    assert!((0..100_000).all(|key| told.publish(key, 0)));
    for number in 1..=100_000 {
        assert!(told.keys.free(number).is_some());
    }
    assert!(told.keys.is_empty() && told.publish(5, 0));
}

#[derive(Debug, Clone)]
enum Operation {
    Publish {
        key: u8,
        ttl_ms: Option<u64>,
        is_journaled: bool,
    },
    /// What is known does not keep it out: it stands for another message from then on.
    Supersede {
        key: u8,
    },
    Free {
        which: u8,
    },
    Advance {
        ms: u64,
    },
    ForgetExpired {
        count_max: u8,
    },
    SetRules {
        count_max: u64,
        ttl_ms: Option<u64>,
    },
    Restart,
}

fn operations() -> impl Strategy<Value = Operation> {
    let ttl_ms = || proptest::option::of(0..40_u64);
    prop_oneof![
        10 => (0..24_u8, ttl_ms(), any::<bool>())
            .prop_map(|(key, ttl_ms, is_journaled)| Operation::Publish { key, ttl_ms, is_journaled }),
        1 => (0..24_u8).prop_map(|key| Operation::Supersede { key }),
        4 => any::<u8>().prop_map(|which| Operation::Free { which }),
        3 => (0..20_u64).prop_map(|ms| Operation::Advance { ms }),
        2 => (0..8_u8).prop_map(|count_max| Operation::ForgetExpired { count_max }),
        1 => (0..12_u64, ttl_ms()).prop_map(|(count_max, ttl_ms)| Operation::SetRules { count_max, ttl_ms }),
        1 => Just(Operation::Restart),
    ]
}

/// The same in one list, by number. What has expired stays until it is too much.
struct Model {
    keys: Vec<RememberedKey>,
    rules: KeyRules,
}

impl Model {
    fn find(&self, key: MessageKey, now_ms: u64) -> Option<KnownKey> {
        let found = self.keys.iter().find(|known| known.key == key && now_ms < known.expires_at_ms)?;
        Some(KnownKey { number: found.number, is_journaled: found.is_journaled })
    }

    fn remember(&mut self, new: RememberedKey) {
        self.keys.retain(|known| known.key != new.key);
        self.keys.push(new);
        self.forget_beyond();
    }

    fn forget_beyond(&mut self) {
        let beyond_count = self.keys.len().saturating_sub(self.rules.count_max.max(1) as usize);
        self.keys.drain(..beyond_count);
    }
}

fn check(while_waiting: bool, count_max: u64, ttl_ms: Option<u64>, operations: Vec<Operation>) {
    let rules = KeyRules { while_waiting, count_max, ttl_ms };
    let (mut keys, mut model) = (Keys::new(rules), Model { keys: Vec::new(), rules });
    // Records as an owner keeps them that gets the forgotten numbers.
    let mut records = std::collections::BTreeMap::new();
    let (mut now_ms, mut next_number) = (1000, 1);
    for operation in operations {
        let mut forgotten = Vec::new();
        match operation {
            Operation::Publish { key, ttl_ms, is_journaled } => {
                let key = MessageKey(u128::from(key) << 64);
                let known = keys.find(key, now_ms);
                assert_eq!(known, model.find(key, now_ms));
                if known.is_none() {
                    let expires_at_ms = keys.expiry_of(ttl_ms, now_ms);
                    let new = RememberedKey { number: next_number, key, expires_at_ms, is_journaled };
                    next_number += 1;
                    keys.remember(new, &mut forgotten);
                    model.remember(new);
                    if is_journaled {
                        records.insert(new.number, new);
                    }
                }
            }
            Operation::Supersede { key } => {
                let key = MessageKey(u128::from(key) << 64);
                let expires_at_ms = keys.expiry_of(None, now_ms);
                let new = RememberedKey { number: next_number, key, expires_at_ms, is_journaled: true };
                next_number += 1;
                keys.remember(new, &mut forgotten);
                model.remember(new);
                records.insert(new.number, new);
            }
            Operation::Free { which } if while_waiting && !model.keys.is_empty() => {
                let gone = model.keys.remove(usize::from(which) % model.keys.len());
                let expected = KnownKey { number: gone.number, is_journaled: gone.is_journaled };
                assert_eq!(keys.free(gone.number), Some(expected));
                forgotten.extend(gone.is_journaled.then_some(gone.number));
            }
            Operation::Free { .. } => {}
            Operation::Advance { ms } => now_ms += ms,
            Operation::ForgetExpired { count_max } => {
                let before_count = keys.count();
                keys.forget_expired(now_ms, usize::from(count_max), &mut forgotten);
                let gone_count = before_count - keys.count();
                assert!(gone_count <= u64::from(count_max));
                let has_more = keys.first_expiry().is_some_and(|at_ms| at_ms <= now_ms);
                assert!(gone_count == u64::from(count_max) || !has_more);
            }
            Operation::SetRules { count_max, ttl_ms } => {
                let rules = KeyRules { while_waiting, count_max, ttl_ms };
                keys.set_rules(rules, &mut forgotten);
                model.rules = rules;
                model.forget_beyond();
            }
            Operation::Restart => {
                let rules = keys.rules();
                keys = Keys::new(rules);
                records.values().for_each(|record| keys.remember(*record, &mut forgotten));
                assert!(forgotten.is_empty(), "there are no more records than keys");
                model.keys.retain(|known| known.is_journaled);
            }
        }
        for number in forgotten {
            assert!(records.remove(&number).is_some(), "{number} had a record, and once");
        }
        // Whatever is known is known alike, and has a record if it is journaled.
        for key in (0..24_u128).map(|key| MessageKey(key << 64)) {
            assert_eq!(keys.find(key, now_ms), model.find(key, now_ms));
        }
        let journaled: Vec<u64> = keys.iter().filter(|known| known.is_journaled).map(|known| known.number).collect();
        assert_eq!(journaled, records.keys().copied().collect::<Vec<_>>());
        assert!(keys.count() <= keys.rules().count_max.max(1) && keys.count() as usize <= model.keys.len());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn keys_are_those_of_a_plain_list(
        while_waiting in any::<bool>(),
        count_max in 1..12_u64,
        ttl_ms in proptest::option::of(1..60_u64),
        operations in proptest::collection::vec(operations(), 1..120),
    ) {
        check(while_waiting, count_max, ttl_ms, operations);
    }
}
