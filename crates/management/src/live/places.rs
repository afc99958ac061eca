//! How many streams of events there are: of all, of a user, from an address. No user keeps administrators out.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::limits::{LIVE_ADDRESS_COUNT_MAX, LIVE_ADMINISTRATOR_COUNT, LIVE_COUNT_MAX, LIVE_USER_COUNT_MAX};

const _: () = assert!(LIVE_ADMINISTRATOR_COUNT >= LIVE_USER_COUNT_MAX, "one administrator always has all of its own");

/// Who wants a stream.
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
    #[error("there are {0} streams of events already, which is as many as there may be")]
    All(usize),
    #[error("the user has {} streams of events already, which is as many as one may have", LIVE_USER_COUNT_MAX)]
    User,
    #[error(
        "there are {} streams of events from this address already, which is as many as there may be",
        LIVE_ADDRESS_COUNT_MAX
    )]
    Address,
}

/// The places that are taken.
#[derive(Debug, Default)]
pub(super) struct Places(Mutex<Taken>);

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
    pub(super) fn take(places: &Arc<Places>, watcher: Watcher) -> Result<FeedSlot, NoPlace> {
        let mut taken = places.0.lock();
        let kept = if watcher.is_administrator { 0 } else { LIVE_ADMINISTRATOR_COUNT };
        if taken.count >= LIVE_COUNT_MAX - kept {
            return Err(NoPlace::All(LIVE_COUNT_MAX - kept));
        }
        if taken.of_users.get(&watcher.user).is_some_and(|count| *count >= LIVE_USER_COUNT_MAX) {
            return Err(NoPlace::User);
        }
        if let Some(address) = watcher.counted_address() {
            let of_address = taken.of_addresses.entry(address).or_default();
            if *of_address >= LIVE_ADDRESS_COUNT_MAX {
                return Err(NoPlace::Address);
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
        let mut taken = self.places.0.lock();
        taken.count -= 1;
        give_back(&mut taken.of_users, &self.watcher.user);
        if let Some(address) = self.watcher.counted_address() {
            give_back(&mut taken.of_addresses, &address);
        }
    }
}

/// One less; nothing is kept of who has none.
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

    #[test]
    fn nobody_takes_the_places_of_others() {
        let places = Arc::<Places>::default();
        let (of_one, none) = exhaust(&places, |_| watcher("a", 1, false));
        assert_eq!((of_one.len(), none), (LIVE_USER_COUNT_MAX, NoPlace::User));
        // The rest of its address, by users that it may have made.
        let (of_address, none) = exhaust(&places, |number| watcher(&format!("u{number}"), 1, false));
        assert_eq!(of_one.len() + of_address.len(), LIVE_ADDRESS_COUNT_MAX);
        assert_eq!(none, NoPlace::Address);
        let (of_others, none) = exhaust(&places, |number| watcher(&format!("v{number}"), 2, false));
        let open = LIVE_COUNT_MAX - LIVE_ADMINISTRATOR_COUNT;
        assert_eq!(of_one.len() + of_address.len() + of_others.len(), open);
        assert_eq!(none, NoPlace::All(open));
        // From the very same address.
        let (of_administrator, none) = exhaust(&places, |_| watcher("root", 1, true));
        assert_eq!((of_administrator.len(), none), (LIVE_USER_COUNT_MAX, NoPlace::All(LIVE_COUNT_MAX)));
        drop((of_one, of_address, of_others, of_administrator));
        let taken = places.0.lock();
        assert!(taken.count == 0 && taken.of_users.is_empty() && taken.of_addresses.is_empty());
    }
}
