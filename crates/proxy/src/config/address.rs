//! Where the proxy listens: a port, with or without an address or a name of the host's.

use std::fmt;
use std::net::IpAddr;

use amqp_client::without_passwords;
use model::config::table::Kind;

/// Where to listen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListenAddress {
    /// On which addresses.
    pub host: ListenHost,
    /// The port; 0 lets the system choose.
    pub port: u16,
}

/// On which addresses to listen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListenHost {
    /// All of the host, IPv6 and IPv4.
    Any,
    /// This one.
    Ip(IpAddr),
    /// Those that this name has when the proxy starts, as `localhost`.
    Name(String),
}

/// The values of keys that say where to listen.
pub(super) const LISTENER: Kind = Kind {
    what: "a port, address:port, or name:port",
    refusal: |text| refusal(ListenAddress::parse(text)),
    shown: without_passwords, // a URL by mistake
};

/// The same, or `none`.
pub(super) const LISTENER_OR_NONE: Kind = Kind {
    what: "a port, address:port, name:port, or none",
    refusal: |text| if text == "none" { None } else { refusal(ListenAddress::parse(text)) },
    shown: without_passwords, // a URL by mistake
};

fn refusal(parsed: Option<ListenAddress>) -> Option<String> {
    parsed.is_none().then(String::new)
}

impl ListenAddress {
    /// `5673`, `127.0.0.1:5673`, `[::1]:5673`, `::1:5673` or `localhost:5673`.
    #[must_use]
    pub fn parse(text: &str) -> Option<ListenAddress> {
        match text.rsplit_once(':') {
            None => Some(ListenAddress { host: ListenHost::Any, port: text.parse().ok()? }),
            Some((host, port)) => Some(ListenAddress { host: ListenHost::parse(host)?, port: port.parse().ok()? }),
        }
    }

    /// Whether only one of the two can be listened on.
    #[must_use]
    pub fn overlaps(&self, other: &ListenAddress) -> bool {
        let is_any = self.host.is_any() || other.host.is_any();
        self.port != 0 && self.port == other.port && (is_any || self.host == other.host)
    }
}

impl ListenHost {
    fn is_any(&self) -> bool {
        match self {
            ListenHost::Any => true,
            ListenHost::Ip(ip) => ip.is_unspecified(),
            ListenHost::Name(_) => false,
        }
    }

    /// An address, in brackets or not, or a name.
    #[must_use]
    pub fn parse(text: &str) -> Option<ListenHost> {
        let bare = text.strip_prefix('[').and_then(|ip| ip.strip_suffix(']')).unwrap_or(text);
        if let Ok(ip) = bare.parse() {
            return Some(ListenHost::Ip(ip));
        }
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        // What has only digits and dots is an address with a mistake in it.
        let is_name = text.chars().all(is_part) && text.contains(|c: char| c.is_ascii_alphabetic());
        is_name.then(|| ListenHost::Name(text.to_owned()))
    }
}

impl fmt::Display for ListenAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            ListenHost::Any => self.port.fmt(f),
            ListenHost::Ip(IpAddr::V6(ip)) => write!(f, "[{ip}]:{}", self.port),
            ListenHost::Ip(IpAddr::V4(ip)) => write!(f, "{ip}:{}", self.port),
            ListenHost::Name(name) => write!(f, "{name}:{}", self.port),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<&str>) {
        assert_eq!(ListenAddress::parse(text).map(|address| address.to_string()).as_deref(), expected, "{text}");
    }

    #[test]
    fn a_port_may_be_on_all_addresses_on_one_or_on_those_of_a_name() {
        check("5673", Some("5673"));
        check("127.0.0.1:5673", Some("127.0.0.1:5673"));
        check("::1:5673", Some("[::1]:5673"));
        check("[::1]:5673", Some("[::1]:5673"));
        check("localhost:5673", Some("localhost:5673"));
        check("amqp-1.example.com:0", Some("amqp-1.example.com:0"));
    }

    #[test]
    fn one_port_is_listened_on_once() {
        let overlap = |one, other| {
            let [one, other] = [one, other].map(|text| ListenAddress::parse(text).unwrap());
            assert_eq!(one.overlaps(&other), other.overlaps(&one));
            one.overlaps(&other)
        };
        for (one, other) in [("1", "1"), ("1", "127.0.0.1:1"), ("0.0.0.0:1", "localhost:1"), ("::1:1", "[::1]:1")] {
            assert!(overlap(one, other), "{one} {other}");
        }
        for (one, other) in [("1", "2"), ("0", "0"), ("127.0.0.1:1", "127.0.0.2:1"), ("127.0.0.1:1", "::1:1")] {
            assert!(!overlap(one, other), "{one} {other}");
        }
    }

    #[test]
    fn anything_else_is_no_place_to_listen() {
        for text in [
            "",
            "localhost",
            ":5673",
            "localhost:",
            "a b:1",
            "127.0.0.256:1",
            "[::1:1",
            "localhost:65536",
            "http://a:1",
        ] {
            check(text, None);
        }
    }
}
