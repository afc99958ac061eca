//! What a value may look like, and how it is read. The texts of refusal are made from the same description that the
//! reference documentation prints.

use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use human::parse_size;

use crate::name::{UserName, VhostName};
use crate::pattern::Pattern;

/// What is shown of a password.
const HIDDEN: &str = "[hidden]";

/// A kind of value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Type {
    /// `true` or `false`.
    Bool,
    /// `on` or `off`.
    Flag,
    /// A whole number in a range, both ends included.
    Integer(i64, i64),
    /// A whole number of at least this, or `infinity`.
    Unbounded(i64),
    /// A number in a range, both ends included.
    Float(f64, f64),
    /// Bytes, with or without a unit, in a range.
    Size(u64, u64),
    /// Milliseconds, or a number with a unit, in a range of milliseconds.
    DurationMs(u64, u64),
    /// A port, or an address and a port.
    Listener,
    /// The same, or `none`.
    ListenerOrNone,
    /// An address.
    Ip,
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// A regular expression.
    Pattern,
    /// A user's name.
    UserName,
    /// A vhost's name.
    VhostName,
    /// What an HTTP header may say: printable ASCII.
    Header,
    /// Any text.
    Text,
    /// Any text, never shown again.
    Secret,
    /// What a program besides the broker knows how to read.
    Own(&'static Kind),
}

/// A kind of value that only one program has.
#[derive(Debug)]
pub struct Kind {
    /// What such a value is, as `an address`.
    pub what: &'static str,
    /// Why a text is not valid, in a few words or in none, after what was wanted.
    pub refusal: fn(&str) -> Option<String>,
    /// The text without what must not be shown.
    pub shown: fn(&str) -> String,
}

/// By what they are.
impl PartialEq for Kind {
    fn eq(&self, other: &Kind) -> bool {
        self.what == other.what
    }
}

impl Type {
    /// Any number of bytes.
    pub(crate) const ANY_SIZE: Type = Type::Size(0, u64::MAX);
    /// Any duration.
    pub(crate) const ANY_DURATION: Type = Type::DurationMs(0, u64::MAX);
    /// Any whole number from 0.
    pub const COUNT: Type = Type::Integer(0, i64::MAX);

    /// Whether the text is such a value.
    #[must_use]
    pub fn accepts(self, text: &str) -> bool {
        match self {
            Type::Bool => matches!(text, "true" | "false"),
            Type::Flag => matches!(text, "on" | "off"),
            Type::Integer(first, last) => parse_integer(text).is_some_and(|n| (first..=last).contains(&n)),
            Type::Unbounded(first) => text == "infinity" || parse_integer(text).is_some_and(|n| n >= first),
            Type::Float(first, last) => parse_float(text).is_some_and(|n| (first..=last).contains(&n)),
            Type::Size(first, last) => parse_size(text).is_some_and(|n| (first..=last).contains(&n)),
            Type::DurationMs(first, last) => parse_duration_ms(text).is_some_and(|n| (first..=last).contains(&n)),
            Type::Listener => parse_listener(text).is_some(),
            Type::ListenerOrNone => text == "none" || parse_listener(text).is_some(),
            Type::Ip => text.parse::<IpAddr>().is_ok(),
            Type::OneOf(words) => words.contains(&text),
            Type::Pattern => Pattern::parse(text).is_ok(),
            Type::UserName => UserName::parse(text.as_bytes()).is_ok(),
            Type::VhostName => VhostName::parse(text.as_bytes()).is_ok(),
            Type::Header => text.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic()),
            Type::Text | Type::Secret => true,
            Type::Own(kind) => (kind.refusal)(text).is_none(),
        }
    }

    /// Why a text is not valid, if there is more to say than what is wanted.
    pub(super) fn reason(self, text: &str) -> Option<String> {
        match self {
            Type::Own(kind) => (kind.refusal)(text).filter(|reason| !reason.is_empty()),
            _ => None,
        }
    }

    /// A text as it may be shown.
    pub(super) fn shown(self, text: &str) -> String {
        match self {
            Type::Secret => HIDDEN.to_owned(),
            Type::Own(kind) => (kind.shown)(text),
            _ => text.to_owned(),
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Type::Bool => f.write_str("true or false"),
            Type::Flag => f.write_str("on or off"),
            Type::Integer(first, i64::MAX) => write!(f, "an integer from {first}"),
            Type::Integer(first, last) => write!(f, "an integer from {first} to {last}"),
            Type::Unbounded(first) => write!(f, "an integer from {first}, or infinity"),
            Type::Float(first, last) => write!(f, "a number from {first} to {last}"),
            Type::Size(0, u64::MAX) => f.write_str("a size such as 50MB or 1GiB"),
            Type::Size(first, last) => {
                write!(f, "a size such as 50MB or 1GiB, from {} to {}", Size(first), Size(last))
            }
            Type::DurationMs(0, u64::MAX) => f.write_str("milliseconds, or a duration such as 10s or 5m"),
            Type::DurationMs(first, last) => {
                write!(f, "milliseconds, or a duration such as 10s or 5m, from {first} to {last} ms")
            }
            Type::Listener => f.write_str("a port, or address:port"),
            Type::ListenerOrNone => f.write_str("a port, address:port, or none"),
            Type::Ip => f.write_str("an IP address"),
            Type::OneOf(words) => match words {
                [word] => f.write_str(word),
                _ => write!(f, "one of {}", words.join(", ")),
            },
            Type::Pattern => f.write_str("a regular expression"),
            Type::UserName => f.write_str("a user's name of 1 to 255 bytes"),
            Type::VhostName => f.write_str("a vhost's name of 1 to 255 bytes"),
            Type::Header => f.write_str("printable ASCII"),
            Type::Text | Type::Secret => f.write_str("text"),
            Type::Own(kind) => f.write_str(kind.what),
        }
    }
}

/// Where to listen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListenAddress {
    /// None: every address of the host, IPv6 and IPv4.
    pub ip: Option<IpAddr>,
    /// The port; 0 lets the system choose.
    pub port: u16,
}

impl fmt::Display for ListenAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.ip {
            None => self.port.fmt(f),
            Some(IpAddr::V4(ip)) => write!(f, "{ip}:{}", self.port),
            Some(IpAddr::V6(ip)) => write!(f, "[{ip}]:{}", self.port),
        }
    }
}

/// A number of bytes, printed in the largest unit that divides it.
pub(super) struct Size(pub(super) u64);

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (unit, len) in [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)] {
            if self.0 > 0 && self.0.is_multiple_of(len) {
                return write!(f, "{}{unit}", self.0 / len);
            }
        }
        self.0.fmt(f)
    }
}

pub(super) fn parse_integer(text: &str) -> Option<i64> {
    text.parse().ok()
}

pub(super) fn parse_float(text: &str) -> Option<f64> {
    let is_plain = text.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'-' | b'+' | b'e' | b'E'));
    text.parse().ok().filter(|_| is_plain)
}

/// Milliseconds; with a unit (ms, s, m, h, d, w) a duration.
#[must_use]
pub fn parse_duration_ms(text: &str) -> Option<u64> {
    human::parse_duration_ms(text, 1)
}

pub(super) fn parse_duration(text: &str) -> Option<Duration> {
    parse_duration_ms(text).map(Duration::from_millis)
}

/// `5672`, `127.0.0.1:5672`, `[::1]:5672` or, as RabbitMQ writes it, `::1:5672`.
pub(super) fn parse_listener(text: &str) -> Option<ListenAddress> {
    let Some((ip, port)) = text.rsplit_once(':') else {
        return Some(ListenAddress { ip: None, port: text.parse().ok()? });
    };
    let ip = ip.strip_prefix('[').and_then(|ip| ip.strip_suffix(']')).unwrap_or(ip);
    Some(ListenAddress { ip: Some(ip.parse().ok()?), port: port.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_listener(text: &str, expected: Option<&str>) {
        assert_eq!(parse_listener(text).map(|a| a.to_string()).as_deref(), expected, "{text}");
    }

    #[test]
    fn a_listener_is_a_port_or_an_address_and_a_port() {
        check_listener("5672", Some("5672"));
        check_listener("127.0.0.1:5672", Some("127.0.0.1:5672"));
        check_listener("::1:5672", Some("[::1]:5672"));
        check_listener(":::5672", Some("[::]:5672"));
        check_listener("[::1]:0", Some("[::1]:0"));
        for text in ["", "none", "65536", "localhost:5672", "127.0.0.1", ":5672"] {
            check_listener(text, None);
        }
    }

    #[test]
    fn a_duration_is_in_milliseconds_unless_it_says_otherwise() {
        assert_eq!(parse_duration_ms("10000"), Some(10_000));
        assert_eq!(parse_duration_ms("10s"), Some(10_000));
        assert_eq!(parse_duration_ms("5m"), Some(300_000));
        assert_eq!(parse_duration_ms("1 h"), Some(3_600_000));
        assert_eq!(parse_duration_ms("1y"), None);
    }

    #[test]
    fn numbers_are_plain() {
        assert_eq!(parse_float("0.6"), Some(0.6));
        assert_eq!(parse_float("1"), Some(1.0));
        assert_eq!(parse_float("nan"), None);
        assert_eq!(parse_float("inf"), None);
    }

    #[test]
    fn sizes_print_in_their_largest_unit() {
        assert_eq!(Size(268_435_456).to_string(), "256MiB");
        assert_eq!(Size(50_000_000).to_string(), "50000000");
        assert_eq!(Size(0).to_string(), "0");
    }

    #[test]
    fn a_type_describes_itself() {
        assert_eq!(Type::Integer(0, 65_535).to_string(), "an integer from 0 to 65535");
        assert_eq!(Type::OneOf(&["fsync", "write"]).to_string(), "one of fsync, write");
        assert_eq!(Type::Size(4096, 1 << 30).to_string(), "a size such as 50MB or 1GiB, from 4KiB to 1GiB");
    }
}
