//! So many connections at a time for each address, so that one client cannot hold the places of all.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

use parking_lot::Mutex;

/// An IPv6 client has a whole network of addresses, which begin alike.
const IPV6_PREFIX: u128 = u128::MAX << 64;

/// Places for connections, so many an address. Cheap to clone: clones share the places.
#[derive(Debug, Clone)]
pub struct AddressLimiter {
    taken: Arc<Mutex<HashMap<IpAddr, usize>>>,
    max: usize,
}

/// One of them, until it is dropped.
#[derive(Debug)]
pub struct AddressPermit {
    taken: Arc<Mutex<HashMap<IpAddr, usize>>>,
    owner: IpAddr,
}

impl AddressLimiter {
    /// So many for each address; of IPv6 for each network of 64 bits.
    #[must_use]
    pub fn new(max: usize) -> Self {
        Self { taken: Arc::default(), max }
    }

    /// A place for a connection from this address; None where it has as many as it may.
    #[must_use]
    pub fn take(&self, address: IpAddr) -> Option<AddressPermit> {
        let owner = owner(address);
        let mut taken = self.taken.lock();
        let count = taken.entry(owner).or_default();
        if *count >= self.max {
            if *count == 0 {
                taken.remove(&owner);
            }
            return None;
        }
        *count += 1;
        Some(AddressPermit { taken: self.taken.clone(), owner })
    }
}

/// An IPv4 address that is written as an IPv6 one, as listeners for both have it, is an IPv4 address.
fn owner(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => address.into(),
        IpAddr::V6(address) => Ipv6Addr::from(u128::from(address) & IPV6_PREFIX).into(),
    }
}

impl Drop for AddressPermit {
    fn drop(&mut self) {
        let mut taken = self.taken.lock();
        if let Some(count) = taken.get_mut(&self.owner) {
            *count -= 1;
            if *count == 0 {
                taken.remove(&self.owner);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_so_many_and_others_have_theirs() {
        let limiter = AddressLimiter::new(2);
        let take = |address: &str| limiter.take(address.parse().unwrap());
        let first = take("192.0.2.1").unwrap();
        let _mapped = take("::ffff:192.0.2.1").unwrap();
        assert!(take("192.0.2.1").is_none());
        let _others = [take("192.0.2.2").unwrap(), take("2001:db8::1").unwrap(), take("2001:db8::2:3").unwrap()];
        assert!(take("2001:db8::4").is_none(), "it is of the same network");
        assert!(take("2001:db8:0:1::1").is_some());
        drop(first);
        assert!(take("192.0.2.1").is_some());
    }

    #[test]
    fn nothing_is_kept_of_addresses_that_have_gone() {
        let limiter = AddressLimiter::new(1);
        drop(limiter.take([192, 0, 2, 1].into()).unwrap());
        assert!(AddressLimiter { max: 0, ..limiter.clone() }.take([192, 0, 2, 1].into()).is_none());
        assert!(limiter.taken.lock().is_empty());
    }
}
