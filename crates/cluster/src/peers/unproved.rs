//! Places of connections that have not proved their identity yet. When all are taken, the oldest one gives way of the address that has the
//! most: a host that fills them all takes places of its own, and a node that comes back needs one for a moment.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;

use tokio::task::AbortHandle;

/// The connections that have a place, by when they came.
#[derive(Debug)]
pub(super) struct UnprovedPlaces<T = AbortHandle> {
    count_max: usize,
    next: u64,
    places: BTreeMap<u64, (IpAddr, T)>,
}

impl<T> UnprovedPlaces<T> {
    pub(super) fn new(count_max: usize) -> Self {
        UnprovedPlaces { count_max, next: 0, places: BTreeMap::new() }
    }

    /// A connection has come. Its number, and the one that is evicted for it.
    pub(super) fn enter(&mut self, from: IpAddr, task: T) -> (u64, Option<(IpAddr, T)>) {
        let evicted = if self.places.len() < self.count_max { None } else { self.give_way() };
        self.next += 1;
        self.places.insert(self.next, (from, task));
        (self.next, evicted)
    }

    /// It has said which node it is of, or has closed.
    pub(super) fn leave(&mut self, number: u64) {
        self.places.remove(&number);
    }

    fn give_way(&mut self) -> Option<(IpAddr, T)> {
        let mut counts: HashMap<IpAddr, usize> = HashMap::new();
        for (from, _) in self.places.values() {
            *counts.entry(*from).or_default() += 1;
        }
        let most = counts.values().copied().max()?;
        let (number, _) = self.places.iter().find(|(_, (from, _))| counts.get(from) == Some(&most))?;
        let number = *number;
        self.places.remove(&number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(last: u8) -> IpAddr {
        IpAddr::from([10, 0, 0, last])
    }

    #[test]
    fn who_takes_the_most_places_gives_way_and_the_oldest_first() {
        let mut unproved = UnprovedPlaces::new(4);
        assert!(unproved.enter(address(1), 'a').1.is_none());
        for stranger in ['b', 'c', 'd'] {
            assert!(unproved.enter(address(2), stranger).1.is_none());
        }
        assert_eq!(unproved.enter(address(3), 'e').1, Some((address(2), 'b')));
        let (number, evicted) = unproved.enter(address(2), 'f');
        assert_eq!(evicted, Some((address(2), 'c')), "the others keep theirs");
        unproved.leave(number);
        assert!(unproved.enter(address(1), 'g').1.is_none(), "there is room again");
    }
}
