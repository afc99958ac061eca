//! Where a node is reached by its peers.

use std::fmt;
use std::sync::Arc;

use crate::wire::FrameError;
use crate::wire::reader::{Reader, put_text};

/// Bytes of an address as text.
pub const ADDRESS_LEN_MAX: usize = 255 + 6;

/// A host and a port: `warren2.example:25672`, `[::1]:25672`. Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Address {
    host: Arc<str>,
    port: u16,
}

impl Address {
    /// Of a name or an IP address, without brackets. `None`: no host is called so.
    #[must_use]
    pub fn new(host: &str, port: u16) -> Option<Self> {
        let is_fit = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ':' | '%');
        let is_host = !host.is_empty() && host.len() <= 253 && host.chars().all(is_fit) && port != 0;
        is_host.then(|| Address { host: host.into(), port })
    }

    /// From `host:port`, or from a host alone, which then has that port.
    #[must_use]
    pub fn parse(text: &str, port: u16) -> Option<Self> {
        if let Some(rest) = text.strip_prefix('[') {
            let (host, behind) = rest.split_once(']')?;
            return match behind.strip_prefix(':') {
                Some(port) => Address::new(host, port.parse().ok()?),
                None => behind.is_empty().then(|| Address::new(host, port))?,
            };
        }
        match text.split_once(':') {
            None => Address::new(text, port),
            Some((_, behind)) if behind.contains(':') => Address::new(text, port),
            Some((host, port)) => Address::new(host, port.parse().ok()?),
        }
    }

    /// A name, or an IP address.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port, which is not 0.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn encode(&self, to: &mut Vec<u8>) {
        put_text(to, &self.to_string(), ADDRESS_LEN_MAX);
    }

    pub(crate) fn decode(reader: &mut Reader<'_>) -> Result<Self, FrameError> {
        Address::parse(reader.text(ADDRESS_LEN_MAX)?, 0).ok_or(FrameError::Impossible("address"))
    }
}

impl fmt::Display for Address {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(to, "[{}]:{}", self.host, self.port)
        } else {
            write!(to, "{}:{}", self.host, self.port)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<&str>) {
        assert_eq!(Address::parse(text, 25_672).map(|address| address.to_string()).as_deref(), expected, "{text}");
    }

    #[test]
    fn an_address_is_a_host_with_or_without_a_port() {
        check("warren2", Some("warren2:25672"));
        check("warren2.example:5", Some("warren2.example:5"));
        check("::1", Some("[::1]:25672"));
        check("[::1]", Some("[::1]:25672"));
        check("[fe80::1%eth0]:7", Some("[fe80::1%eth0]:7"));
        for text in ["", "a b", "a:", "a:0", "a:65536", "[::1", "[::1]x", "rabbit@a"] {
            check(text, None);
        }
    }
}
