//! How many streams of events there are: of all, of a user, from an address. No user keeps administrators out.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::options::LiveLimits;

/// The client that wants a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Watcher {
    pub(crate) user: Arc<str>,
    /// None: there is no network between.
    pub(crate) address: Option<IpAddr>,
    pub(crate) is_administrator: bool,
}

/// Why there is no place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NoPlace {
    #[error("{0} streams of events are open, which is the maximum")]
    All(usize),
    #[error("the user has {0} open streams of events, which is the maximum per user")]
    User(usize),
    #[error("{0} streams of events are open from this address, which is the maximum per address")]
    Address(usize),
}

/// The places that are taken.
#[derive(Debug)]
pub(super) struct Places {
    limits: LiveLimits,
    taken: Mutex<Taken>,
}

#[derive(Debug, Default)]
struct Taken {
    count: usize,
    of_users: HashMap<Arc<str>, usize>,
    /// Without those of administrators.
    of_addresses: HashMap<IpAddr, usize>,
}

/// One of the streams that there may be; given back when dropped.
#[derive(Debug)]
pub(crate) struct FeedSlot {
    places: Arc<Places>,
    watcher: Watcher,
}

impl Places {
    pub(super) fn new(limits: LiveLimits) -> Arc<Places> {
        Arc::new(Places { limits, taken: Mutex::default() })
    }

    pub(super) fn take(places: &Arc<Places>, watcher: Watcher) -> Result<FeedSlot, NoPlace> {
        let LiveLimits { count_max, kept_for_administrators, user_count_max, address_count_max } = places.limits;
        let mut taken = places.taken.lock();
        let kept = if watcher.is_administrator { 0 } else { kept_for_administrators };
        let open = count_max.saturating_sub(kept);
        if taken.count >= open {
            return Err(NoPlace::All(open));
        }
        if taken.of_users.get(&watcher.user).is_some_and(|count| *count >= user_count_max) {
            return Err(NoPlace::User(user_count_max));
        }
        if let Some(address) = watcher.counted_address() {
            let of_address = taken.of_addresses.entry(address).or_default();
            if *of_address >= address_count_max {
                return Err(NoPlace::Address(address_count_max));
            }
            *of_address += 1;
        }
        taken.count += 1;
        *taken.of_users.entry(watcher.user.clone()).or_default() += 1;
        Ok(FeedSlot { places: places.clone(), watcher })
    }
}

impl Watcher {
    fn counted_address(&self) -> Option<IpAddr> {
        self.address.filter(|_| !self.is_administrator).map(|address| address.to_canonical())
    }
}

impl Drop for FeedSlot {
    fn drop(&mut self) {
        let mut taken = self.places.taken.lock();
        taken.count -= 1;
        give_back(&mut taken.of_users, &self.watcher.user);
        if let Some(address) = self.watcher.counted_address() {
            give_back(&mut taken.of_addresses, &address);
        }
    }
}

/// Takes one off a count; a count of zero is removed.
fn give_back<K: std::hash::Hash + Eq>(counts: &mut HashMap<K, usize>, key: &K) {
    if let Some(count) = counts.get_mut(key) {
        *count -= 1;
        if *count == 0 {
            counts.remove(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watcher(user: &str, address: u8, is_administrator: bool) -> Watcher {
        Watcher { user: user.into(), address: Some([10, 0, 0, address].into()), is_administrator }
    }

    /// Takes as many as there are. Returns them, and why there were no more.
    fn exhaust(places: &Arc<Places>, next: impl Fn(usize) -> Watcher) -> (Vec<FeedSlot>, NoPlace) {
        let mut slots = Vec::new();
        loop {
            match Places::take(places, next(slots.len())) {
                Ok(slot) => slots.push(slot),
                Err(none) => return (slots, none),
            }
        }
    }

    #[track_caller]
    fn check_shares(limits: LiveLimits) {
        let LiveLimits { count_max, kept_for_administrators, user_count_max, address_count_max } = limits;
        let places = Places::new(limits);
        let (of_one, none) = exhaust(&places, |_| watcher("a", 1, false));
        assert_eq!((of_one.len(), none), (user_count_max, NoPlace::User(user_count_max)));
        // The rest of its address, by users that it may have made.
        let (of_address, none) = exhaust(&places, |number| watcher(&format!("u{number}"), 1, false));
        assert_eq!(of_one.len() + of_address.len(), address_count_max);
        assert_eq!(none, NoPlace::Address(address_count_max));
        let (of_others, none) = exhaust(&places, |number| watcher(&format!("v{number}"), 2, false));
        let open = count_max - kept_for_administrators;
        assert_eq!(of_one.len() + of_address.len() + of_others.len(), open);
        assert_eq!(none, NoPlace::All(open));
        // From the very same address.
        let (of_administrator, none) = exhaust(&places, |_| watcher("root", 1, true));
        assert_eq!((of_administrator.len(), none), (kept_for_administrators, NoPlace::All(count_max)));
        drop((of_one, of_address, of_others, of_administrator));
        let taken = places.taken.lock();
        assert!(taken.count == 0 && taken.of_users.is_empty() && taken.of_addresses.is_empty());
    }

    #[test]
    fn nobody_takes_the_places_of_others() {
        check_shares(LiveLimits::default());
        check_shares(LiveLimits { count_max: 10, kept_for_administrators: 3, user_count_max: 4, address_count_max: 5 });
    }

    #[test]
    fn all_places_may_be_for_administrators() {
        let limits = LiveLimits { count_max: 2, kept_for_administrators: 5, ..LiveLimits::default() };
        let places = Places::new(limits);
        assert_eq!(Places::take(&places, watcher("a", 1, false)).unwrap_err(), NoPlace::All(0));
        let (slots, none) = exhaust(&places, |_| watcher("root", 1, true));
        assert_eq!((slots.len(), none), (2, NoPlace::All(2)));
    }
}
