//! What is no node, or none of this cluster; and a node that does what the test says.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Instant;

use cluster::wire::{
    Acceptor, CallFrame, Dialler, ExpectedPeer, FrameReader, FrameWriter, Lane, Local, NONCE_LEN, NodeName,
    OutgoingFrame, PREAMBLE_LEN, Recognition, encode_replicated, replicated,
};
use cluster::{PeerAddress, PeerEvent};
use consensus::{GroupId, Message};

use super::node::{Node, TIMEOUT, heartbeat, introduce};
use crate::nodes::{local, secret, shared};

/// A node by hand: what it accepts, it reads and writes when the test wants.
pub(crate) struct Stranger {
    local: Local,
    listener: TcpListener,
}

/// A connection of its.
pub(crate) struct Connection {
    tcp: TcpStream,
    reader: FrameReader,
    lane: Lane,
}

impl Stranger {
    pub(crate) fn listen(local: Local) -> Self {
        Stranger { local, listener: TcpListener::bind("127.0.0.1:0").unwrap() }
    }

    pub(crate) fn name(&self) -> NodeName {
        self.local.identity.name.clone()
    }

    pub(crate) fn place(&self) -> PeerAddress {
        let node = ExpectedPeer { name: self.name(), member: self.local.identity.member };
        PeerAddress { node, host: "127.0.0.1".to_owned(), port: self.listener.local_addr().unwrap().port() }
    }

    /// Shakes hands with the next node that dials.
    pub(crate) fn accept(&self) -> (Connection, Lane) {
        let (mut tcp, _) = self.listener.accept().unwrap();
        tcp.set_read_timeout(Some(TIMEOUT)).unwrap();
        let mut acceptor = Acceptor::new(shared(self.local.clone()), 0, &[9; NONCE_LEN]);
        let mut output = Vec::new();
        loop {
            let mut input = vec![0; acceptor.wanted()];
            let count = tcp.read(&mut input).unwrap();
            assert_ne!(count, 0, "it goes away during the handshake");
            let fed = acceptor.feed(&input[..count], &|_| Recognition::Peer(None), &mut output).unwrap();
            tcp.write_all(&output).unwrap();
            output.clear();
            if let Some(agreement) = fed.agreement {
                let lane = agreement.theirs.lane;
                return (Connection { tcp, reader: FrameReader::new(lane), lane }, lane);
            }
        }
    }
}

impl Connection {
    /// The next body.
    pub(crate) fn body(&mut self) -> Vec<u8> {
        loop {
            if let Some(body) = self.reader.take().unwrap() {
                return body.to_vec();
            }
            let count = self.tcp.read(self.reader.space()).unwrap();
            assert_ne!(count, 0, "it closes the connection");
            self.reader.fill(count);
        }
    }

    pub(crate) fn message(&mut self) -> Message {
        replicated(self.lane, &self.body()).unwrap().1
    }

    pub(crate) fn send(&mut self, frame: &OutgoingFrame) {
        let mut bytes = Vec::new();
        assert!(FrameWriter::default().write(frame, &mut bytes, usize::MAX));
        self.tcp.write_all(&bytes).unwrap();
    }
}

/// Dials a node by hand.
pub(crate) fn dial(node: &Node, local: Local, lane: Lane) -> Connection {
    let mut tcp = TcpStream::connect(node.links.address()).unwrap();
    tcp.set_read_timeout(Some(TIMEOUT)).unwrap();
    let mut output = Vec::new();
    let expected = ExpectedPeer { name: node.name(), member: None };
    let mut dialler = Dialler::new(shared(local), lane, 0, Some(expected), &[8; NONCE_LEN], &mut output);
    loop {
        tcp.write_all(&output).unwrap();
        output.clear();
        let mut input = vec![0; dialler.wanted()];
        let count = tcp.read(&mut input).unwrap();
        assert_ne!(count, 0, "it goes away during the handshake");
        if dialler.feed(&input[..count], &mut output).unwrap().agreement.is_some() {
            return Connection { tcp, reader: FrameReader::new(lane), lane };
        }
    }
}

/// All that a node says to these bytes until it closes the connection.
fn answer_to(address: SocketAddr, bytes: &[u8]) -> Vec<u8> {
    let mut tcp = TcpStream::connect(address).unwrap();
    tcp.set_read_timeout(Some(TIMEOUT)).unwrap();
    tcp.write_all(bytes).unwrap();
    let mut answer = Vec::new();
    match tcp.read_to_end(&mut answer) {
        Ok(_) => {}
        // It was closed with some of our bytes unread.
        Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset, "{error}"),
    }
    answer
}

#[test]
fn garbage_on_the_port_is_closed_without_a_word() {
    let a = Node::start('a');
    assert_eq!(a.links.strangers(), (0, None));
    for bytes in [&b"AMQP\0\0\x09\x01"[..], b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x00\xf8", b"\0\x15n\0\x05", b"x"]
    {
        assert_eq!(answer_to(a.links.address(), bytes), b"");
    }
    let last =
        "127.0.0.1 cannot be linked with rabbit@a: it speaks an unknown protocol, which begins with the bytes 78";
    // Each is counted just after it was closed.
    let begun = Instant::now();
    while a.links.strangers().0 < 5 && begun.elapsed() < TIMEOUT {
        std::thread::yield_now();
    }
    assert_eq!(a.links.strangers(), (5, Some(last.to_owned())));
    let b = Node::start('b');
    super::node::link(&[&a, &b]);
}

#[test]
fn a_wrong_secret_is_refused_in_words_on_both_sides_and_nothing_else_is_said() {
    let a = Node::start('a');
    let mut other = local('b');
    other.secret = secret("what others know");
    let b = Node::start_as(other, 'b', None);
    introduce(&[&a, &b]);
    let rejected =
        |of: &Node, by: &Node| match of.wait_for_event(by, |event| matches!(event, PeerEvent::Rejected { .. })) {
            PeerEvent::Rejected { sentence, refusal } => (sentence, refusal),
            _ => unreachable!("waited for"),
        };
    // Each dials the other and is refused.
    for (of, by) in [(&a, &b), (&b, &a)] {
        let (sentence, refusal) = rejected(of, by);
        let address = by.links.address();
        assert_eq!(
            sentence,
            format!(
                "{} ({address}) refuses {}: the secrets of the two differ (warren.cluster.secret)",
                by.name(),
                of.name()
            )
        );
        assert_eq!(refusal, Some(cluster::wire::Refusal::Secret));
        let statistics = &of.links.statistics()[0];
        assert_eq!(statistics.last_failure.as_ref(), Some(&sentence));
        assert!(statistics.failures >= 1);
        assert!(statistics.lanes.iter().all(|lane| lane.frames_sent + lane.frames_received == 0));
    }
}

/// What a node says to one that does not know the secret: its versions and a nonce, then four bytes.
#[test]
fn a_node_says_nothing_to_who_has_proved_nothing() {
    let a = Node::start('a');
    let mut said = Vec::new();
    let mut other = local('b');
    other.secret = secret("what others know");
    let expected = ExpectedPeer { name: a.name(), member: None };
    let lane = Lane::Calls;
    let mut dialler = Dialler::new(shared(other), lane, 0, Some(expected), &[1; NONCE_LEN], &mut said);
    let mut tcp = TcpStream::connect(a.links.address()).unwrap();
    tcp.set_read_timeout(Some(TIMEOUT)).unwrap();
    tcp.write_all(&said).unwrap();
    let mut answer = vec![0; PREAMBLE_LEN];
    tcp.read_exact(&mut answer).unwrap();
    said.clear();
    dialler.feed(&answer, &mut said).unwrap();
    tcp.write_all(&said).unwrap();
    answer.clear();
    tcp.read_to_end(&mut answer).unwrap();
    assert_eq!(answer, [2, 0, 5, 1], "a refusal of two bytes");
}

#[test]
fn broken_frames_end_the_connection_and_the_next_one_works() {
    let [a, stranger] = [Node::start('a'), Node::start('c')];
    let b = Stranger::listen(local('b'));
    a.links.set_peers(vec![b.place()]);
    let is_lost = |heard| match heard {
        super::node::Heard::Event(_, PeerEvent::Lost { lane: Lane::Calls, reason }) => Some(reason),
        _ => None,
    };
    for (bytes, reason) in [
        (&b"\xff\xff\xff\xff"[..], "it sends a frame of 4294967295 bytes, where 8388736 are allowed"),
        (b"\x01\0\0\0\x03\0\0\0\0", "it sends a frame whose checksum is wrong"),
    ] {
        let mut calls = loop {
            let (connection, lane) = b.accept();
            if lane == Lane::Calls {
                break connection;
            }
        };
        calls.tcp.write_all(bytes).unwrap();
        assert_eq!(a.wait_for(is_lost), reason);
    }
    drop(stranger);
}

#[test]
fn links_without_secret_and_tls_do_not_start() {
    let mut open = local('a');
    open.secret = cluster::wire::Secret::absent();
    let setup = cluster::Setup { listen: "127.0.0.1:0".parse().unwrap(), local: open, tls: None, peers: Vec::new() };
    let error = cluster::Links::start(setup, super::node::deaf()).err().unwrap();
    assert_eq!(
        error.to_string(),
        "nodes need a secret (warren.cluster.secret), or TLS with certificates on both sides"
    );
}

/// A node that was cut off without noticing comes again: the older connection is closed.
#[test]
fn the_connection_that_was_opened_last_counts() {
    let a = Node::start('a');
    a.links.set_peers(vec![super::node::place('b', 1)]);
    let mut first = dial(&a, local('b'), Lane::Votes);
    first.send(&encode_replicated(GroupId(3), &heartbeat('b', 'a', 1), &[]));
    assert_eq!(a.wait_for_message().1, heartbeat('b', 'a', 1));
    // Another lane does not touch it.
    let _calls = dial(&a, local('b'), Lane::Calls);
    first.send(&encode_replicated(GroupId(3), &heartbeat('b', 'a', 2), &[]));
    assert_eq!(a.wait_for_message().1, heartbeat('b', 'a', 2));
    let mut second = dial(&a, local('b'), Lane::Votes);
    assert_eq!(first.tcp.read(&mut [0; 1]).unwrap(), 0);
    second.send(&encode_replicated(GroupId(3), &heartbeat('b', 'a', 3), &[]));
    assert_eq!(a.wait_for_message().1, heartbeat('b', 'a', 3));
}

/// A peer that asks more than it may is not read from until it has answers.
#[test]
fn who_asks_too_much_waits() {
    let a = Node::start('a');
    let mut calls = dial(&a, local('b'), Lane::Calls);
    for number in 0..100 {
        calls.send(&CallFrame::Call { number, name: "n", payload: &[] }.encode());
    }
    let next = || {
        a.wait_for(|heard| match heard {
            super::node::Heard::Call(_, _, _, answer) => Some(answer),
            _ => None,
        })
    };
    let mut answers: Vec<_> = (0..64).map(|_| next()).collect();
    assert!(a.heard.try_recv().is_err(), "a sixty-fifth was read");
    for _ in 64..100 {
        answers.pop().unwrap().give(b"yes");
        assert!(matches!(CallFrame::decode(&calls.body()), Ok(CallFrame::Answer { payload: b"yes", .. })));
        answers.push(next());
    }
}

/// Connections that say nothing take all places: the oldest gives way to the next that comes, so a node is let in at once.
#[test]
fn who_says_nothing_gives_way_to_the_next() {
    let [a, b] = ['a', 'b'].map(Node::start);
    let silent: Vec<_> = (0..256).map(|_| TcpStream::connect(a.links.address()).unwrap()).collect();
    let next = TcpStream::connect(a.links.address()).unwrap();
    silent[0].set_read_timeout(Some(TIMEOUT)).unwrap();
    assert_eq!((&silent[0]).read(&mut [0; 1]).unwrap(), 0, "it has given way");
    // It was closed at once: those that came later have still time to say something.
    for stream in [&silent[255], &next] {
        stream.set_nonblocking(true).unwrap();
        assert_eq!((&*stream).read(&mut [0; 1]).unwrap_err().kind(), ErrorKind::WouldBlock);
    }
    super::node::link(&[&a, &b]);
}
