//! The first bytes of both sides, which no version will change.
//!
//! ```text
//!  | magic, 8 bytes: ff "WRNLINK" | lowest version u16 | highest u16 | nonce, 32 bytes |
//! ```
//!
//! Both sides speak the highest version that both know. What is no preamble is named: a client of AMQP or HTTP, TLS on a plain port, a node
//! of RabbitMQ.

use std::fmt;

/// Bytes of a nonce.
pub const NONCE_LEN: usize = 32;
/// Bytes of a preamble.
pub const PREAMBLE_LEN: usize = 8 + 4 + NONCE_LEN;
/// No protocol begins with 255 that is likely to be met here: frames of AMQP, requests of HTTP, records of TLS and names of Erlang do not.
const MAGIC: [u8; 8] = *b"\xffWRNLINK";

/// Versions of the link that a node speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Versions {
    /// The first.
    pub lowest: u16,
    /// The last, inclusive.
    pub highest: u16,
}

impl Versions {
    /// The highest that both speak.
    #[must_use]
    pub fn common(self, other: Versions) -> Option<u16> {
        let highest = self.highest.min(other.highest);
        (highest >= self.lowest.max(other.lowest)).then_some(highest)
    }
}

impl fmt::Display for Versions {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.lowest == self.highest {
            true => write!(to, "version {}", self.lowest),
            false => write!(to, "versions {} to {}", self.lowest, self.highest),
        }
    }
}

/// What begins in another way than a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ForeignProtocol {
    /// A client of AMQP, or a broker that answers one.
    Amqp,
    /// A request, or its answer.
    Http,
    /// TLS, where this side does none.
    Tls,
    /// A node of RabbitMQ, or of Erlang.
    Erlang,
    /// A proxy that announces its client.
    Proxy,
    /// Anything else: its first bytes.
    Unknown(Vec<u8>),
}

impl ForeignProtocol {
    /// What these bytes, which do not begin as ours do, may be.
    fn of(bytes: &[u8]) -> Self {
        const METHODS: &[&str] =
            &["GET ", "HEAD ", "POST ", "PUT ", "DELETE ", "OPTIONS ", "PATCH ", "CONNECT ", "HTTP/"];
        if bytes.starts_with(b"AMQP") {
            ForeignProtocol::Amqp
        } else if METHODS.iter().any(|method| bytes.starts_with(method.as_bytes())) {
            ForeignProtocol::Http
        } else if matches!(bytes, [0x14..=0x17, 3, ..]) {
            ForeignProtocol::Tls
        } else if bytes.starts_with(b"PROXY ") || bytes.starts_with(b"\r\n\r\n\0\r\nQ") {
            ForeignProtocol::Proxy
        } else if matches!(bytes, [0, _, b'n' | b'N', ..]) {
            ForeignProtocol::Erlang
        } else {
            ForeignProtocol::Unknown(bytes[..bytes.len().min(8)].to_vec())
        }
    }
}

impl fmt::Display for ForeignProtocol {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ForeignProtocol::Amqp => to.write_str("it speaks AMQP, which is for a port of clients"),
            ForeignProtocol::Http => to.write_str("it speaks HTTP"),
            ForeignProtocol::Tls => to.write_str("it speaks TLS, and this node uses none between nodes"),
            ForeignProtocol::Erlang => to.write_str(
                "it speaks as nodes of RabbitMQ and Erlang do, which cannot be in one cluster with this node",
            ),
            ForeignProtocol::Proxy => {
                to.write_str("it begins with the header of a proxy, and nodes connect to each other directly")
            }
            ForeignProtocol::Unknown(bytes) => {
                to.write_str("it speaks an unknown protocol, which begins with the bytes")?;
                bytes.iter().try_for_each(|byte| write!(to, " {byte:02x}"))
            }
        }
    }
}

pub(crate) fn encode(versions: Versions, nonce: &[u8; NONCE_LEN]) -> [u8; PREAMBLE_LEN] {
    let mut preamble = [0; PREAMBLE_LEN];
    preamble[..8].copy_from_slice(&MAGIC);
    preamble[8..10].copy_from_slice(&versions.lowest.to_le_bytes());
    preamble[10..12].copy_from_slice(&versions.highest.to_le_bytes());
    preamble[12..].copy_from_slice(nonce);
    preamble
}

/// Whether `bytes`, the first that came, can still become a preamble.
pub(crate) fn check(bytes: &[u8]) -> Result<(), ForeignProtocol> {
    let len = bytes.len().min(MAGIC.len());
    if bytes[..len] == MAGIC[..len] { Ok(()) } else { Err(ForeignProtocol::of(bytes)) }
}

pub(crate) fn versions(preamble: &[u8; PREAMBLE_LEN]) -> Versions {
    let number = |at: usize| u16::from_le_bytes([preamble[at], preamble[at + 1]]);
    Versions { lowest: number(8), highest: number(10) }
}
