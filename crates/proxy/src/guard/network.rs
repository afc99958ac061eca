//! Whose an address is: a host has one IPv4 address, and of IPv6 addresses a whole network of them.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

/// All addresses that count as one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Network {
    first: IpAddr,
    prefix_len: u8,
}

impl Network {
    /// The one of this address. An IPv4 address that is written as an IPv6 one, as listeners for both have it, is an IPv4 address.
    #[must_use]
    pub fn of(address: IpAddr, ipv6_prefix_len: u8) -> Self {
        match address.to_canonical() {
            IpAddr::V4(address) => Network { first: address.into(), prefix_len: 32 },
            IpAddr::V6(address) => {
                let prefix_len = ipv6_prefix_len.min(128);
                let mask = u128::MAX.checked_shl(128 - u32::from(prefix_len)).unwrap_or(0);
                Network { first: Ipv6Addr::from(u128::from(address) & mask).into(), prefix_len }
            }
        }
    }

    fn is_one_address(self) -> bool {
        self.first.is_ipv4() || self.prefix_len == 128
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.is_one_address() {
            true => write!(f, "address {}", self.first),
            false => write!(f, "network {}/{}", self.first, self.prefix_len),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_network(address: &str, ipv6_prefix_len: u8, shown: &str) {
        assert_eq!(Network::of(address.parse().unwrap(), ipv6_prefix_len).to_string(), shown);
    }

    #[test]
    fn ipv4_addresses_are_each_ones_own() {
        check_network("10.1.2.3", 64, "address 10.1.2.3");
        check_network("::ffff:10.1.2.3", 64, "address 10.1.2.3");
    }

    #[test]
    fn ipv6_addresses_that_begin_alike_are_one() {
        check_network("2001:db8:1:2:3:4:5:6", 64, "network 2001:db8:1:2::/64");
        check_network("2001:db8:1:2:3:4:5:6", 56, "network 2001:db8:1::/56");
        check_network("2001:db8:1:2:3:4:5:6", 128, "address 2001:db8:1:2:3:4:5:6");
        check_network("2001:db8::1", 200, "address 2001:db8::1");
        check_network("2001:db8::1", 0, "network ::/0");
    }
}
