//! The cache alone. Its use is in `random`.

use routing::{CacheLimits, Epoch, HashSeed, RouteCache};

const LIMITS: CacheLimits = CacheLimits { entry_count_max: 3, key_bytes_max: 20 };

fn cache() -> RouteCache<u32> {
    RouteCache::new(HashSeed::fixed(), LIMITS)
}

#[test]
fn results_are_found_by_both_names() {
    let mut cache = cache();
    cache.insert(Epoch(1), b"x", b"yz", 1);
    cache.insert(Epoch(1), b"xy", b"z", 2);
    cache.insert(Epoch(1), b"", b"xyz", 3);
    assert_eq!(cache.get(Epoch(1), b"x", b"yz"), Some(&1));
    assert_eq!(cache.get(Epoch(1), b"xy", b"z"), Some(&2));
    assert_eq!(cache.get(Epoch(1), b"", b"xyz"), Some(&3));
    assert_eq!(cache.get(Epoch(1), b"xyz", b""), None);
}

#[test]
fn a_later_epoch_empties_it() {
    let mut cache = cache();
    cache.insert(Epoch(1), b"x", b"k", 1);
    assert_eq!(cache.get(Epoch(2), b"x", b"k"), None);
    assert!(cache.is_empty());
    cache.insert(Epoch(3), b"x", b"k", 2);
    assert_eq!(cache.get(Epoch(3), b"x", b"k"), Some(&2));
}

#[test]
fn what_is_stale_is_neither_found_nor_kept() {
    let mut cache = cache();
    cache.insert(Epoch(2), b"x", b"k", 2);
    assert_eq!(cache.get(Epoch(1), b"x", b"k"), None);
    cache.insert(Epoch(1), b"x", b"k", 1);
    assert_eq!(cache.get(Epoch(2), b"x", b"k"), Some(&2));
}

#[test]
fn inserting_again_replaces() {
    let mut cache = cache();
    cache.insert(Epoch(1), b"x", b"k", 1);
    cache.insert(Epoch(1), b"x", b"k", 2);
    assert_eq!(cache.get(Epoch(1), b"x", b"k"), Some(&2));
    assert_eq!(cache.len(), 1);
}

#[test]
fn it_never_holds_more_than_its_limits() {
    let mut cache = cache();
    for number in 0..100 {
        let key = format!("{number:04}");
        cache.insert(Epoch(1), b"x", key.as_bytes(), number);
        assert_eq!(cache.get(Epoch(1), b"x", key.as_bytes()), Some(&number));
        assert!(cache.len() <= LIMITS.entry_count_max);
    }
    cache.insert(Epoch(1), b"x", &[b'k'; 20], 1); // by one byte too long to be kept
    assert!(cache.is_empty());
    cache.insert(Epoch(1), b"x", &[b'k'; 19], 1);
    assert_eq!(cache.get(Epoch(1), b"x", &[b'k'; 19]), Some(&1));
}

#[test]
fn it_has_all_its_room_again_after_it_was_emptied() {
    let mut cache = cache();
    for round in 1..100 {
        for number in 0..3 {
            cache.insert(Epoch(round), b"x", &[b'k', number], u32::from(number));
        }
        for number in 0..3 {
            assert_eq!(cache.get(Epoch(round), b"x", &[b'k', number]), Some(&u32::from(number)));
        }
        cache.insert(Epoch(round), b"x", b"one too many", 3);
        assert_eq!(cache.len(), 1);
    }
}

#[test]
fn a_limit_of_nothing_keeps_nothing() {
    let mut cache = RouteCache::new(HashSeed::fixed(), CacheLimits { entry_count_max: 0, key_bytes_max: 0 });
    cache.insert(Epoch(1), b"", b"", 1);
    assert_eq!(cache.get(Epoch(1), b"", b""), None);
}
