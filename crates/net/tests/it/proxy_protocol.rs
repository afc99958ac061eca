//! The PROXY protocol: any bytes in any pieces, and the header before AMQP and before TLS.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use net::proxy_protocol::{Endpoints, Header, HeaderProgress, Version, header, parse};
use net::{Admission, AdmitError, Listener, SocketOptions, Stream};
use proptest::prelude::*;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

#[path = "../../fuzz/checks.rs"]
mod checks;

fn address() -> impl Strategy<Value = (SocketAddr, SocketAddr)> {
    let v4 = (any::<[u8; 4]>(), any::<u16>(), any::<[u8; 4]>(), any::<u16>())
        .prop_map(|(a, p, b, q)| (SocketAddr::from((a, p)), SocketAddr::from((b, q))));
    let v6 = (any::<[u8; 16]>(), any::<u16>(), any::<[u8; 16]>(), any::<u16>())
        .prop_map(|(a, p, b, q)| (SocketAddr::from((a, p)), SocketAddr::from((b, q))));
    prop_oneof![v4, v6]
}

fn version_1(peer: SocketAddr, local: SocketAddr) -> Vec<u8> {
    let family = if peer.is_ipv4() { 4 } else { 6 };
    format!("PROXY TCP{family} {} {} {} {}\r\n", peer.ip(), local.ip(), peer.port(), local.port()).into_bytes()
}

fn version_2(peer: SocketAddr, local: SocketAddr, extensions: &[u8]) -> Vec<u8> {
    let octets = |address: SocketAddr| match address {
        SocketAddr::V4(v4) => v4.ip().octets().to_vec(),
        SocketAddr::V6(v6) => v6.ip().octets().to_vec(),
    };
    let mut body = [octets(peer), octets(local)].concat();
    body.extend(peer.port().to_be_bytes());
    body.extend(local.port().to_be_bytes());
    body.extend(extensions);
    let family = if peer.is_ipv4() { 0x11 } else { 0x21 };
    let mut bytes = b"\r\n\r\n\0\r\nQUIT\n\x21".to_vec();
    bytes.push(family);
    bytes.extend(u16::try_from(body.len()).unwrap().to_be_bytes());
    bytes.extend(body);
    bytes
}

proptest! {
    #[test]
    fn what_a_proxy_writes_is_read_back(
        (peer, local) in address(),
        is_second in any::<bool>(),
        extensions in proptest::collection::vec(any::<u8>(), 0..300),
        rest in proptest::collection::vec(any::<u8>(), 0..20),
    ) {
        let written = if is_second { version_2(peer, local, &extensions) } else { version_1(peer, local) };
        let header = Header { endpoints: Some(Endpoints { peer, local }) };
        let complete = Ok(HeaderProgress::Complete { header, len: written.len() });
        for len in 0..written.len() {
            prop_assert_eq!(parse(&written[..len]), Ok(HeaderProgress::Incomplete));
        }
        prop_assert_eq!(parse(&[written.clone(), rest].concat()), complete);
    }

    #[test]
    fn any_bytes_are_a_header_or_none(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        checks::proxy_header(&bytes);
    }

    #[test]
    fn damaged_headers_are_headers_or_none(
        (peer, local) in address(),
        is_second in any::<bool>(),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let mut bytes = if is_second { version_2(peer, local, b"ext") } else { version_1(peer, local) };
        let at = at.index(bytes.len());
        bytes[at] = byte;
        checks::proxy_header(&bytes);
    }
}

struct Server {
    listener: Listener,
    admission: Admission,
}

impl Server {
    fn new() -> Self {
        let listener = Listener::bind(([127, 0, 0, 1], 0).into(), SocketOptions::default()).unwrap();
        let proxy_protocol = Some(Duration::from_secs(10));
        Self { listener, admission: Admission { proxy_protocol, ..Admission::default() } }
    }

    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.listener.local_addr().unwrap()).await.unwrap()
    }

    async fn admit(&mut self) -> Result<Stream, AdmitError> {
        let (stream, _) = self.listener.accept(|_| ()).await;
        self.admission.admit(stream).await
    }

    /// A connection that begins with these bytes, and `hello`.
    async fn admit_after(&mut self, header: &[u8]) -> (TcpStream, Result<Stream, AdmitError>) {
        let mut client = self.connect().await;
        client.write_all(&[header, b"hello"].concat()).await.unwrap();
        (client, self.admit().await)
    }
}

async fn check_hello(stream: &mut Stream) {
    let mut text = [0; 5];
    stream.read_exact(&mut text).await.unwrap();
    assert_eq!(&text, b"hello");
}

#[tokio::test]
async fn announced_addresses_are_the_connections() {
    let mut server = Server::new();
    let (peer, local) = ("192.0.2.1:1234".parse().unwrap(), "198.51.100.7:5672".parse().unwrap());
    for header in [version_1(peer, local), version_2(peer, local, &[4; 1000])] {
        let (_client, stream) = server.admit_after(&header).await;
        let mut stream = stream.unwrap();
        assert_eq!((stream.peer_addr().unwrap(), stream.local_addr().unwrap()), (peer, local));
        check_hello(&mut stream).await;
    }
}

#[tokio::test]
async fn header_may_come_byte_by_byte() {
    let mut server = Server::new();
    let (peer, local) = ("[2001:db8::1]:1234".parse().unwrap(), "[::1]:5672".parse().unwrap());
    for header in [version_1(peer, local), version_2(peer, local, b"")] {
        let mut client = server.connect().await;
        client.set_nodelay(true).unwrap();
        let write = async {
            for byte in header.iter().chain(b"hello") {
                client.write_all(&[*byte]).await.unwrap();
                tokio::task::yield_now().await;
            }
        };
        let (stream, ()) = tokio::join!(server.admit(), write);
        let mut stream = stream.unwrap();
        assert_eq!(stream.peer_addr().unwrap(), peer);
        check_hello(&mut stream).await;
    }
}

#[tokio::test]
async fn proxy_that_speaks_for_itself_is_the_peer() {
    let mut server = Server::new();
    for header in [&b"PROXY UNKNOWN\r\n"[..], b"\r\n\r\n\0\r\nQUIT\n\x20\x00\0\0"] {
        let (client, stream) = server.admit_after(header).await;
        let mut stream = stream.unwrap();
        assert_eq!(stream.peer_addr().unwrap(), client.local_addr().unwrap());
        check_hello(&mut stream).await;
    }
}

#[tokio::test]
async fn connection_without_a_header_is_refused() {
    let mut server = Server::new();
    let (_client, refused) = server.admit_after(b"AMQP\0\0\x09\x01").await;
    let error = refused.unwrap_err();
    assert_eq!(error.to_string(), "the connection does not begin with a header of the PROXY protocol");
    drop(server.connect().await);
    assert!(matches!(server.admit().await, Err(AdmitError::Closed)));
}

#[tokio::test]
async fn header_that_never_ends_is_waited_for_in_vain() {
    let mut server = Server::new();
    server.admission.proxy_protocol = Some(Duration::from_millis(50));
    let mut client = server.connect().await;
    client.write_all(b"PROXY TCP4").await.unwrap();
    let error = server.admit().await.unwrap_err();
    assert_eq!(error.to_string(), "the header of the PROXY protocol took longer than 50 ms");
}

#[tokio::test]
async fn header_comes_before_tls() {
    let authority = crate::authority::Authority::new("proxy-tls");
    authority.sign("localhost");
    let tls = net::ServerTls::new(crate::tls_server::options(&authority)).unwrap();
    let mut server = Server::new();
    server.admission.tls = Some((Arc::new(tls), Duration::from_secs(10)));
    let (peer, local) = ("192.0.2.1:1234".parse().unwrap(), "198.51.100.7:5671".parse().unwrap());
    let mut tcp = server.connect().await;
    tcp.write_all(&version_2(peer, local, b"")).await.unwrap();
    let client = crate::tls_server::Client::new(&authority);
    let serve = async {
        let mut stream = server.admit().await.unwrap();
        check_hello(&mut stream).await;
        stream.write_all(b"hello").await.unwrap();
        stream.flush().await.unwrap();
        assert_eq!((stream.peer_addr().unwrap(), stream.local_addr().unwrap()), (peer, local));
        assert!(stream.tls_info().is_some());
    };
    let ((), spoken) = tokio::join!(serve, client.speak(tcp));
    spoken.unwrap();
}

#[test]
fn what_is_written_is_read_again() {
    let address = |text: &str| text.parse::<SocketAddr>().unwrap();
    for (peer, local) in [("192.0.2.1:56324", "198.51.100.1:5672"), ("[2001:db8::1]:1", "[2001:db8::2]:65535")] {
        let endpoints = Endpoints { peer: address(peer), local: address(local) };
        for version in [Version::V1, Version::V2] {
            for endpoints in [Some(endpoints), None] {
                let bytes = header(version, endpoints);
                let expected = HeaderProgress::Complete { header: Header { endpoints }, len: bytes.len() };
                assert_eq!(parse(&bytes), Ok(expected), "{version:?} {endpoints:?}");
            }
        }
    }
}

#[test]
fn ends_of_two_families_are_written_as_the_wider_one() {
    let ends = Endpoints { peer: "[2001:db8::1]:7".parse().unwrap(), local: "192.0.2.1:5672".parse().unwrap() };
    assert_eq!(header(Version::V1, Some(ends)), b"PROXY TCP6 2001:db8::1 ::ffff:192.0.2.1 7 5672\r\n");
    let mapped = Endpoints { peer: "[::ffff:192.0.2.1]:7".parse().unwrap(), ..ends };
    assert_eq!(header(Version::V1, Some(mapped)), b"PROXY TCP4 192.0.2.1 192.0.2.1 7 5672\r\n");
}

#[tokio::test]
async fn only_trusted_senders_are_let_in_and_they_may_say_anything() {
    let range = |text: &str| text.parse().unwrap()..=text.parse().unwrap();
    let header = b"PROXY TCP4 127.0.0.9 198.51.100.7 1 5672\r\n";
    let mut server = Server::new();
    server.admission.trusted_senders = Some(vec![range("192.0.2.1")].into());
    let (_client, refused) = server.admit_after(header).await;
    let error = refused.unwrap_err();
    assert_eq!(error.to_string(), "the connection does not come from a trusted sender of the PROXY protocol");
    server.admission.trusted_senders = Some(vec![range("192.0.2.1"), range("127.0.0.1")].into());
    let (_client, stream) = server.admit_after(header).await;
    let mut stream = stream.unwrap();
    assert_eq!(stream.peer_addr().unwrap(), "127.0.0.9:1".parse().unwrap());
    check_hello(&mut stream).await;
}
