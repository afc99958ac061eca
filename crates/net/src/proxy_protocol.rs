//! The PROXY protocol, versions 1 and 2: a proxy's first words, which name the client of the connection.
//!
//! ```text
//! 1:  PROXY TCP4 192.0.2.1 198.51.100.1 56324 5672\r\n        or TCP6, or UNKNOWN and anything; at most 107 bytes
//!
//! 2:  | 12 bytes of signature | version 2, command | family, kind | len u16 | addresses … | extensions … |
//!                                                                             └── len bytes ──────────┘
//! ```
//!
//! [`parse`] does no I/O and is given all bytes so far, however they come. Extensions of version 2 (TLS as the proxy saw it, names,
//! checksums) are skipped.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;

/// The addresses of both ends of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Endpoints {
    /// The other side.
    pub peer: SocketAddr,
    /// This side.
    pub local: SocketAddr,
}

/// What a header says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Whose connection it is; `None` where the proxy speaks for itself (`LOCAL`), or does not know (`UNKNOWN`).
    pub endpoints: Option<Endpoints>,
}

/// What the bytes so far are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeaderProgress {
    /// The beginning of a header.
    Incomplete,
    /// A header and perhaps more.
    Complete {
        /// What it says.
        header: Header,
        /// Its length in bytes. What follows belongs to the connection that is passed on.
        len: usize,
    },
}

/// Why bytes are no header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HeaderError {
    /// They are something else: the client did not come through the proxy.
    #[error("the connection does not begin with a header of the PROXY protocol")]
    Missing,
    /// They begin like one.
    #[error("the header of the PROXY protocol is malformed: {0}")]
    Malformed(&'static str),
}

const SIGNATURE_1: &[u8] = b"PROXY ";
/// Longest header of version 1, by its specification, its end of line included.
const LEN_MAX_1: usize = 107;
const SIGNATURE_2: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";
/// Before the addresses of version 2.
const PREFIX_LEN_2: usize = 16;

/// Which version of a header is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// A line of text.
    V1,
    /// Bytes.
    V2,
}

/// The header that says whose connection is passed on; `None`: the proxy's own.
#[must_use]
pub fn header(version: Version, endpoints: Option<Endpoints>) -> Vec<u8> {
    match version {
        Version::V1 => header_1(endpoints),
        Version::V2 => header_2(endpoints),
    }
}

fn header_1(endpoints: Option<Endpoints>) -> Vec<u8> {
    let Some(Endpoints { peer, local }) = endpoints else { return b"PROXY UNKNOWN\r\n".to_vec() };
    let (from, to) = (peer.ip().to_canonical(), local.ip().to_canonical());
    let line = match (from, to) {
        (IpAddr::V4(from), IpAddr::V4(to)) => format!("PROXY TCP4 {from} {to} {} {}\r\n", peer.port(), local.port()),
        (from, to) => format!("PROXY TCP6 {} {} {} {}\r\n", v6(from), v6(to), peer.port(), local.port()),
    };
    line.into_bytes()
}

fn header_2(endpoints: Option<Endpoints>) -> Vec<u8> {
    let mut out = SIGNATURE_2.to_vec();
    let Some(Endpoints { peer, local }) = endpoints else {
        out.extend_from_slice(&[0x20, 0, 0, 0]);
        return out;
    };
    match (peer.ip().to_canonical(), local.ip().to_canonical()) {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            out.extend_from_slice(&[0x21, 0x11, 0, 12]);
            out.extend_from_slice(&from.octets());
            out.extend_from_slice(&to.octets());
        }
        (from, to) => {
            out.extend_from_slice(&[0x21, 0x21, 0, 36]);
            out.extend_from_slice(&v6(from).octets());
            out.extend_from_slice(&v6(to).octets());
        }
    }
    out.extend_from_slice(&peer.port().to_be_bytes());
    out.extend_from_slice(&local.port().to_be_bytes());
    out
}

fn v6(address: IpAddr) -> Ipv6Addr {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped(),
        IpAddr::V6(address) => address,
    }
}

/// Reads a header from the first bytes of a connection.
pub fn parse(bytes: &[u8]) -> Result<HeaderProgress, HeaderError> {
    if has_prefix(bytes, SIGNATURE_1) {
        parse_1(bytes)
    } else if has_prefix(bytes, SIGNATURE_2) {
        parse_2(bytes)
    } else {
        Err(HeaderError::Missing)
    }
}

/// Whether the bytes are `prefix`, as far as there are any.
fn has_prefix(bytes: &[u8], prefix: &[u8]) -> bool {
    bytes.iter().zip(prefix).all(|(byte, wanted)| byte == wanted)
}

fn parse_1(bytes: &[u8]) -> Result<HeaderProgress, HeaderError> {
    let seen = &bytes[..bytes.len().min(LEN_MAX_1)];
    let Some(line_len) = seen.windows(2).position(|end| end == b"\r\n") else {
        if seen.len() < LEN_MAX_1 {
            return Ok(HeaderProgress::Incomplete);
        }
        return Err(HeaderError::Malformed("it is not terminated"));
    };
    let Some(line) = seen[..line_len].strip_prefix(SIGNATURE_1) else { return Err(HeaderError::Missing) };
    let complete = |endpoints| Ok(HeaderProgress::Complete { header: Header { endpoints }, len: line_len + 2 });
    if line == b"UNKNOWN" || line.starts_with(b"UNKNOWN ") {
        return complete(None);
    }
    let line = str::from_utf8(line).map_err(|_| HeaderError::Malformed("it is not text"))?;
    let mut words = line.split(' ');
    let address: fn(&str) -> Option<IpAddr> = match words.next() {
        Some("TCP4") => |text| text.parse().ok().map(IpAddr::V4),
        Some("TCP6") => |text| text.parse().ok().map(IpAddr::V6),
        _ => return Err(HeaderError::Malformed("its protocol is not TCP4, TCP6 or UNKNOWN")),
    };
    let [peer, local] = [(); 2].map(|()| words.next().and_then(address));
    let (Some(peer), Some(local)) = (peer, local) else {
        return Err(HeaderError::Malformed("an address is missing or does not fit its protocol"));
    };
    let [peer_port, local_port] = [(); 2].map(|()| words.next().and_then(port));
    let (Some(peer_port), Some(local_port), None) = (peer_port, local_port, words.next()) else {
        return Err(HeaderError::Malformed("a port is missing or invalid, or is followed by more text"));
    };
    complete(Some(Endpoints { peer: (peer, peer_port).into(), local: (local, local_port).into() }))
}

fn port(text: &str) -> Option<u16> {
    text.parse().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()))
}

fn parse_2(bytes: &[u8]) -> Result<HeaderProgress, HeaderError> {
    let Some((prefix, rest)) = bytes.split_first_chunk::<PREFIX_LEN_2>() else { return Ok(HeaderProgress::Incomplete) };
    let [.., version_and_command, family_and_kind, len_high, len_low] = *prefix;
    if version_and_command >> 4 != 2 {
        return Err(HeaderError::Malformed("its version is not 2"));
    }
    let is_local = match version_and_command & 0xf {
        0 => true,
        1 => false,
        _ => return Err(HeaderError::Malformed("its command is neither LOCAL nor PROXY")),
    };
    let len = usize::from(u16::from_be_bytes([len_high, len_low]));
    let Some(body) = rest.get(..len) else { return Ok(HeaderProgress::Incomplete) };
    let endpoints = match family_and_kind {
        _ if is_local => None,
        0x11 => Some(endpoints_of::<4, Ipv4Addr>(body)?),
        0x21 => Some(endpoints_of::<16, Ipv6Addr>(body)?),
        // Unspecified, a Unix socket's, or not of a stream: nothing that has an address and a port.
        _ => None,
    };
    Ok(HeaderProgress::Complete { header: Header { endpoints }, len: PREFIX_LEN_2 + len })
}

/// Both addresses, then both ports.
fn endpoints_of<const LEN: usize, Ip: From<[u8; LEN]> + Into<IpAddr>>(body: &[u8]) -> Result<Endpoints, HeaderError> {
    let read = || {
        let (&peer, rest) = body.split_first_chunk::<LEN>()?;
        let (&local, rest) = rest.split_first_chunk::<LEN>()?;
        let (&peer_port, rest) = rest.split_first_chunk::<2>()?;
        let local_port = *rest.first_chunk::<2>()?;
        let address = |ip: [u8; LEN], port| SocketAddr::new(Ip::from(ip).into(), u16::from_be_bytes(port));
        Some(Endpoints { peer: address(peer, peer_port), local: address(local, local_port) })
    };
    read().ok_or(HeaderError::Malformed("it is too short for its addresses"))
}

/// Why no header could be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReadError {
    #[error(transparent)]
    Header(#[from] HeaderError),
    /// The peer disconnected first.
    #[error("the client closed the connection")]
    Closed,
}

/// How much is looked at in one go: any header of version 1 and most of version 2.
const PEEK_LEN: usize = 256;

/// Reads the header and nothing that follows it.
pub(crate) async fn read_header(tcp: &mut TcpStream) -> Result<Header, ReadError> {
    let closed = |_: io::Error| ReadError::Closed;
    let mut bytes = Vec::new();
    loop {
        let kept_len = bytes.len();
        bytes.resize(kept_len + PEEK_LEN, 0);
        let peeked_len = tcp.peek(&mut bytes[kept_len..]).await.map_err(closed)?;
        if peeked_len == 0 {
            return Err(ReadError::Closed);
        }
        bytes.truncate(kept_len + peeked_len);
        let parsed = parse(&bytes)?;
        let header_len = match parsed {
            // All of it is the header's, so it can be taken; looking again would show the same.
            HeaderProgress::Incomplete => bytes.len(),
            HeaderProgress::Complete { len, .. } => len,
        };
        tcp.read_exact(&mut bytes[kept_len..header_len]).await.map_err(closed)?;
        if let HeaderProgress::Complete { header, .. } = parsed {
            return Ok(header);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complete(bytes: &[u8]) -> (Option<(String, String)>, usize) {
        match parse(bytes).unwrap() {
            HeaderProgress::Complete { header, len } => {
                (header.endpoints.map(|ends| (ends.peer.to_string(), ends.local.to_string())), len)
            }
            HeaderProgress::Incomplete => panic!("incomplete: {bytes:?}"),
        }
    }

    #[track_caller]
    fn check_1(line: &str, expected: Option<(&str, &str)>) {
        let expected = expected.map(|(peer, local)| (peer.to_owned(), local.to_owned()));
        assert_eq!(complete(format!("{line}\r\nAMQP").as_bytes()), (expected, line.len() + 2));
    }

    #[test]
    fn version_1_names_both_ends() {
        check_1("PROXY TCP4 192.0.2.1 198.51.100.1 56324 5672", Some(("192.0.2.1:56324", "198.51.100.1:5672")));
        check_1("PROXY TCP6 2001:db8::1 ::1 1 65535", Some(("[2001:db8::1]:1", "[::1]:65535")));
    }

    #[test]
    fn unknown_in_version_1_keeps_the_sockets_own() {
        check_1("PROXY UNKNOWN", None);
        check_1("PROXY UNKNOWN ffff:f...f:ffff ffff:f...f:ffff 65535 65535", None);
    }

    #[track_caller]
    fn check_malformed(bytes: &[u8]) {
        assert!(matches!(parse(bytes), Err(HeaderError::Malformed(_))), "{:?}", parse(bytes));
    }

    #[test]
    fn version_1_is_read_strictly() {
        for line in [
            "PROXY \r\n",
            "PROXY TCP4\r\n",
            "PROXY UDP4 1.1.1.1 2.2.2.2 1 2\r\n",
            "PROXY UNKNOWNX\r\n",
            "PROXY TCP4 1.1.1.1 2.2.2.2 1\r\n",
            "PROXY TCP4 1.1.1.1 2.2.2.2 1 2 3\r\n",
            "PROXY TCP4 1.1.1.1  2.2.2.2 1 2\r\n",
            "PROXY TCP4 ::1 ::1 1 2\r\n",
            "PROXY TCP6 1.1.1.1 2.2.2.2 1 2\r\n",
            "PROXY TCP4 1.1.1.1 2.2.2.2 +1 2\r\n",
            "PROXY TCP4 1.1.1.1 2.2.2.2 1 65536\r\n",
            "PROXY TCP4 1.1.1.256 2.2.2.2 1 2\r\n",
        ] {
            check_malformed(line.as_bytes());
        }
        check_malformed(&[b"PROXY UNKNOWN ".as_slice(), &[b'x'; 200]].concat());
    }

    fn version_2(command: u8, family: u8, body: &[u8]) -> Vec<u8> {
        let len = u16::try_from(body.len()).unwrap().to_be_bytes();
        [SIGNATURE_2, &[0x20 | command, family], &len, body].concat()
    }

    #[test]
    fn version_2_names_both_ends_and_extensions_are_skipped() {
        let v4 = [192, 0, 2, 1, 198, 51, 100, 1, 0xdc, 0x04, 0x16, 0x28];
        let ends = Some(("192.0.2.1:56324".to_owned(), "198.51.100.1:5672".to_owned()));
        assert_eq!(complete(&[version_2(1, 0x11, &v4), b"AMQP".to_vec()].concat()), (ends.clone(), 28));
        let extended = [v4.as_slice(), &[0x02, 0, 1, b'x']].concat();
        assert_eq!(complete(&version_2(1, 0x11, &extended)), (ends, 32));
        let v6 = [[0; 15].as_slice(), &[1], &[0; 15], &[2], &[0, 1, 0, 2]].concat();
        assert_eq!(complete(&version_2(1, 0x21, &v6)).0, Some(("[::1]:1".to_owned(), "[::2]:2".to_owned())));
    }

    #[test]
    fn what_has_no_addresses_in_version_2_keeps_the_sockets_own() {
        assert_eq!(complete(&version_2(0, 0x00, &[])), (None, 16));
        assert_eq!(complete(&version_2(0, 0x11, &[7; 12])), (None, 28));
        assert_eq!(complete(&version_2(1, 0x00, &[7; 3])), (None, 19));
        assert_eq!(complete(&version_2(1, 0x31, &[7; 216])), (None, 232));
        assert_eq!(complete(&version_2(1, 0x12, &[7; 12])), (None, 28));
    }

    #[test]
    fn version_2_is_read_strictly() {
        check_malformed(&version_2(2, 0x11, &[0; 12]));
        check_malformed(&version_2(1, 0x11, &[0; 11]));
        check_malformed(&version_2(1, 0x21, &[0; 35]));
        check_malformed(&[SIGNATURE_2, &[0x11, 0x11, 0, 0]].concat());
    }

    #[test]
    fn other_protocols_are_told_at_once() {
        for bytes in [&b"AMQP\0\0\x09\x01"[..], b"G", b"PROXYTCP4", b"\r\n\r\nQ", b"\x16\x03\x01"] {
            assert_eq!(parse(bytes), Err(HeaderError::Missing));
        }
    }
}
