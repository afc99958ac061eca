//! Networks: an address, or all addresses that begin alike.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::RangeInclusive;

use super::value::Kind;
use super::values::Values;

/// The values of keys that name a network.
pub const NETWORK: Kind = Kind {
    what: "an IP address, or a network such as 10.0.0.0/8",
    refusal: |text| parse_network(text).is_none().then(String::new),
    shown: str::to_owned,
};

/// `192.0.2.1`, `10.0.0.0/8` or `2001:db8::/32`: from its first address to its last.
#[must_use]
pub(crate) fn parse_network(text: &str) -> Option<RangeInclusive<IpAddr>> {
    let (address, prefix_len) = match text.split_once('/') {
        None => (text.parse::<IpAddr>().ok()?, None),
        Some((address, len)) if len.bytes().all(|byte| byte.is_ascii_digit()) => {
            (address.parse().ok()?, Some(len.parse::<u32>().ok()?))
        }
        Some(_) => return None,
    };
    match address {
        IpAddr::V4(address) => {
            let free = 32_u32.checked_sub(prefix_len.unwrap_or(32))?;
            let rest = u32::MAX.checked_shr(32 - free).unwrap_or(0);
            let first = u32::from(address) & !rest;
            Some(Ipv4Addr::from(first).into()..=Ipv4Addr::from(first | rest).into())
        }
        IpAddr::V6(address) => {
            let free = 128_u32.checked_sub(prefix_len.unwrap_or(128))?;
            let rest = u128::MAX.checked_shr(128 - free).unwrap_or(0);
            let first = u128::from(address) & !rest;
            Some(Ipv6Addr::from(first).into()..=Ipv6Addr::from(first | rest).into())
        }
    }
}

/// The networks that keys with this prefix name; None where there is no such key.
#[must_use]
pub fn networks(values: &Values, prefix: &[&str]) -> Option<Vec<RangeInclusive<IpAddr>>> {
    let named = values.family(prefix).map(|(_, text)| parse_network(text).expect("a network, as the schema says"));
    let named: Vec<_> = named.collect();
    (!named.is_empty()).then_some(named)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<(&str, &str)>) {
        let expected = expected.map(|(first, last)| first.parse().unwrap()..=last.parse().unwrap());
        assert_eq!(parse_network(text), expected, "{text}");
    }

    #[test]
    fn a_network_is_an_address_or_all_that_begin_alike() {
        check("192.0.2.1", Some(("192.0.2.1", "192.0.2.1")));
        check("192.0.2.1/32", Some(("192.0.2.1", "192.0.2.1")));
        check("10.1.2.3/8", Some(("10.0.0.0", "10.255.255.255")));
        check("0.0.0.0/0", Some(("0.0.0.0", "255.255.255.255")));
        check("2001:db8::1", Some(("2001:db8::1", "2001:db8::1")));
        check("2001:db8::1/127", Some(("2001:db8::", "2001:db8::1")));
        check("::/0", Some(("::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff")));
        for text in ["", "host", "10.0.0.0/33", "::/129", "10.0.0.0/", "10.0.0.0/+8", "10.0.0.0/8/8", "10.0/8"] {
            check(text, None);
        }
    }
}
