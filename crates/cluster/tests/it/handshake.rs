//! The handshake: which nodes are let in, and which sentences the others get.

use cluster::wire::{
    Acceptor, Agreement, ClusterId, Dialler, ExpectedPeer, HandshakeError, Lane, Local, NONCE_LEN, NodeName,
    PREAMBLE_LEN, Recognition, Versions,
};
use proptest::prelude::*;

use crate::nodes::{identity, local, member, name, secret, shared};

const DIALLER_NONCE: [u8; NONCE_LEN] = [1; NONCE_LEN];
const ACCEPTOR_NONCE: [u8; NONCE_LEN] = [2; NONCE_LEN];

/// Two nodes, and what they know of each other.
struct Meeting {
    dialler: Local,
    acceptor: Local,
    expected: ExpectedPeer,
    /// Any node will do.
    is_any_welcome: bool,
    recognition: Recognition,
    lane: Lane,
}

/// What a side ended with.
type End = Option<Result<Agreement, HandshakeError>>;

/// What happened.
struct Course {
    dialler: End,
    acceptor: End,
    from_dialler: Vec<u8>,
    from_acceptor: Vec<u8>,
    proved: Option<NodeName>,
}

impl Meeting {
    /// `rabbit@a` dials `rabbit@b`.
    fn new() -> Self {
        let expected = ExpectedPeer { name: name("rabbit@b"), member: member(2) };
        Meeting {
            dialler: local('a'),
            acceptor: local('b'),
            expected,
            is_any_welcome: false,
            recognition: Recognition::Peer(member(1)),
            lane: Lane::Votes,
        }
    }

    fn dial(&self, output: &mut Vec<u8>) -> Dialler {
        let expected = (!self.is_any_welcome).then(|| self.expected.clone());
        let local = shared(self.dialler.clone());
        Dialler::new(local, self.lane, 5_000, expected, &DIALLER_NONCE, output)
    }

    fn accept(&self, nonce: &[u8; NONCE_LEN]) -> Acceptor {
        Acceptor::new(shared(self.acceptor.clone()), 5_100, nonce)
    }

    /// Bytes arrive in pieces of at most so many.
    fn hold_in_pieces(&self, piece_len: usize) -> Course {
        let (mut from_dialler, mut from_acceptor) = (Vec::new(), Vec::new());
        let mut dialler = self.dial(&mut from_dialler);
        let mut acceptor = self.accept(&ACCEPTOR_NONCE);
        let (mut heard_by_dialler, mut heard_by_acceptor) = (0, 0);
        let mut ends: [End; 2] = [None, None];
        loop {
            let [dialler_end, acceptor_end] = &mut ends;
            let piece = next_piece(&from_dialler, heard_by_acceptor, piece_len, acceptor.wanted());
            if acceptor_end.is_none() && !piece.is_empty() {
                heard_by_acceptor += piece.len();
                let fed = acceptor.feed(&piece, &|_| self.recognition, &mut from_acceptor);
                *acceptor_end = fed.map(|fed| fed.agreement).transpose();
                continue;
            }
            let piece = next_piece(&from_acceptor, heard_by_dialler, piece_len, dialler.wanted());
            if dialler_end.is_none() && !piece.is_empty() {
                heard_by_dialler += piece.len();
                let fed = dialler.feed(&piece, &mut from_dialler);
                *dialler_end = fed.map(|fed| fed.agreement).transpose();
                continue;
            }
            break;
        }
        let [dialler_end, acceptor_end] = ends;
        let proved = acceptor.dialler().cloned();
        Course { dialler: dialler_end, acceptor: acceptor_end, from_dialler, from_acceptor, proved }
    }

    fn hold(&self) -> Course {
        self.hold_in_pieces(usize::MAX)
    }

    /// Both sides end with this sentence, and the dialling one knows which node it dialled.
    #[track_caller]
    fn check_refused(&self, sentence: &str) {
        for piece_len in [1, usize::MAX] {
            let course = self.hold_in_pieces(piece_len);
            let (dialler, acceptor) = (&self.dialler.identity.name, &self.acceptor.identity.name);
            let error = course.dialler.unwrap().unwrap_err();
            assert_eq!(error.sentence(dialler, self.expected.name.as_str()), sentence);
            let error = course.acceptor.unwrap().unwrap_err();
            assert_eq!(error.sentence(acceptor, course.proved.as_ref().unwrap_or(dialler).as_str()), sentence);
        }
    }
}

fn next_piece(said: &[u8], heard: usize, piece_len: usize, wanted: usize) -> Vec<u8> {
    let rest = &said[heard..];
    rest[..rest.len().min(piece_len).min(wanted)].to_vec()
}

#[test]
fn two_nodes_that_know_the_secret_agree() {
    for lane in Lane::ALL {
        for piece_len in [1, 2, 3, 7, 44, 45, usize::MAX] {
            let meeting = Meeting { lane, ..Meeting::new() };
            let course = meeting.hold_in_pieces(piece_len);
            let (dialler, acceptor) = (course.dialler.unwrap().unwrap(), course.acceptor.unwrap().unwrap());
            assert_eq!([dialler.version, acceptor.version], [1, 1]);
            assert_eq!((&dialler.theirs.identity, dialler.theirs.clock_ms), (&identity('b'), 5_100));
            assert_eq!((&acceptor.theirs.identity, acceptor.theirs.clock_ms), (&identity('a'), 5_000));
            assert_eq!(acceptor.theirs.lane, lane);
            assert_eq!(dialler.ours, acceptor.theirs);
        }
    }
}

#[test]
fn without_a_secret_certificates_have_to_do() {
    let mut meeting = Meeting::new();
    meeting.dialler.secret = cluster::wire::Secret::absent();
    meeting.acceptor.secret = cluster::wire::Secret::absent();
    assert!(meeting.hold().dialler.unwrap().is_ok());
}

#[test]
fn another_secret_is_refused_before_anything_is_said() {
    let mut meeting = Meeting::new();
    meeting.dialler.secret = secret("what others know");
    meeting.check_refused("rabbit@b refuses rabbit@a: the secrets of the two differ (warren.cluster.secret)");
    let course = meeting.hold();
    // A refusal of four bytes is all: no name, no id.
    assert_eq!(course.from_acceptor.len(), PREAMBLE_LEN + 4);
    assert_eq!(course.from_dialler.len(), PREAMBLE_LEN + 3 + 32);
    assert_eq!(course.proved, None);
    meeting.acceptor.secret = cluster::wire::Secret::absent();
    meeting.check_refused("rabbit@b refuses rabbit@a: the secrets of the two differ (warren.cluster.secret)");
}

/// A side that answers without the secret hears nothing, either.
#[test]
fn an_impostor_at_a_peers_address_learns_nothing() {
    let meeting = Meeting::new();
    let mut said = Vec::new();
    let mut dialler = meeting.dial(&mut said);
    let honest = meeting.hold();
    // The impostor has heard all that the true node said to another, and says it again.
    let mut replayed = Vec::new();
    let error = dialler.feed(&honest.from_acceptor, &mut replayed);
    assert!(error.is_ok(), "the same nonces are the same course");
    let mut other = Vec::new();
    let local = shared(meeting.dialler.clone());
    let mut dialler =
        Dialler::new(local, Lane::Votes, 5_000, Some(meeting.expected.clone()), &[3; NONCE_LEN], &mut other);
    let error = dialler.feed(&honest.from_acceptor, &mut other).unwrap_err();
    assert_eq!(
        error.sentence(&name("rabbit@a"), "rabbit@b"),
        "rabbit@a refuses rabbit@b: the secrets of the two differ (warren.cluster.secret)"
    );
    assert!(!contains(&other, b"rabbit@"), "no name was said");
}

#[test]
fn what_was_heard_once_opens_nothing_again() {
    let meeting = Meeting::new();
    let heard = meeting.hold().from_dialler;
    let mut answer = Vec::new();
    let mut again = meeting.accept(&ACCEPTOR_NONCE);
    assert!(
        again.feed(&heard, &|_| meeting.recognition, &mut answer).unwrap().agreement.is_some(),
        "with the same nonces"
    );
    let mut acceptor = meeting.accept(&[4; NONCE_LEN]);
    let error = acceptor.feed(&heard, &|_| meeting.recognition, &mut answer).unwrap_err();
    assert!(error.sentence(&name("rabbit@b"), "127.0.0.1").contains("secrets of the two differ"), "{error:?}");
}

/// A node's own proof, given back to it, is not taken for the other's.
#[test]
fn a_proof_is_of_no_use_in_the_other_role() {
    let meeting = Meeting::new();
    let mut said = Vec::new();
    let mut dialler = meeting.dial(&mut said);
    let mut back = said.clone();
    dialler.feed(&back, &mut said).unwrap();
    back.clear();
    // The dialling side's proof, as if it were a greeting.
    let proof = &said[PREAMBLE_LEN + 3..];
    back.extend_from_slice(&[33, 0, 2]);
    back.extend_from_slice(proof);
    let error = dialler.feed(&back, &mut said).unwrap_err();
    assert!(error.sentence(&name("rabbit@a"), "rabbit@b").contains("secrets of the two differ"), "{error:?}");
}

#[test]
fn another_cluster_is_refused() {
    let mut meeting = Meeting::new();
    meeting.acceptor.identity.cluster = ClusterId::new(0xabc);
    meeting.check_refused(
        "rabbit@a refuses rabbit@b: rabbit@b belongs to cluster 00000000000000000000000000000abc, \
         rabbit@a to cluster 00000000000000000000000000000007",
    );
}

#[test]
fn a_node_without_a_cluster_may_come_to_join() {
    let mut meeting = Meeting { lane: Lane::Calls, recognition: Recognition::Unknown, ..Meeting::new() };
    meeting.dialler.identity.cluster = None;
    meeting.dialler.identity.member = None;
    assert!(meeting.hold().acceptor.unwrap().is_ok());
}

#[test]
fn who_is_no_peer_may_only_call() {
    let meeting = Meeting { lane: Lane::Commits, recognition: Recognition::Unknown, ..Meeting::new() };
    meeting.check_refused(
        "rabbit@b refuses rabbit@a: rabbit@a is none of the peers of rabbit@b, and wants to send on the lane commits",
    );
}

#[test]
fn a_name_with_another_id_is_refused() {
    let meeting = Meeting { recognition: Recognition::Peer(member(9)), ..Meeting::new() };
    meeting.check_refused("rabbit@b refuses rabbit@a: rabbit@a is known as member 9 and reports that it is member 1");
    let mut meeting = Meeting::new();
    meeting.expected.member = member(8);
    meeting.check_refused("rabbit@a refuses rabbit@b: rabbit@b is known as member 8 and reports that it is member 2");
}

/// A replaced directory has no id yet: its node has to be able to ask for one.
#[test]
fn a_known_name_without_an_id_is_let_in() {
    let mut meeting = Meeting { lane: Lane::Calls, ..Meeting::new() };
    meeting.dialler.identity.member = None;
    assert!(meeting.hold().acceptor.unwrap().is_ok());
}

#[test]
fn a_node_that_knows_too_little_is_refused() {
    let mut meeting = Meeting::new();
    meeting.acceptor.level_wanted = 3;
    meeting.check_refused(
        "rabbit@b refuses rabbit@a: rabbit@a knows formats up to level 1, and rabbit@b uses those of level 3",
    );
}

#[test]
fn a_node_that_dials_itself_is_told() {
    let mut meeting = Meeting::new();
    meeting.acceptor = meeting.dialler.clone();
    let course = meeting.hold();
    let sentence = course.dialler.unwrap().unwrap_err().sentence(&name("rabbit@a"), "rabbit@b (127.0.0.1:5)");
    assert_eq!(
        sentence,
        "rabbit@a refuses rabbit@b (127.0.0.1:5): the two are one node, which has its own address among those of its peers"
    );
    meeting.acceptor.identity.incarnation += 1;
    let sentence = meeting.hold().dialler.unwrap().unwrap_err().sentence(&name("rabbit@a"), "127.0.0.1:5");
    assert_eq!(sentence, "rabbit@a refuses 127.0.0.1:5: there are two nodes of this name");
}

#[test]
fn another_node_at_the_address_is_refused() {
    let mut meeting = Meeting::new();
    meeting.expected = ExpectedPeer { name: name("rabbit@c"), member: None };
    let sentence = "rabbit@a refuses rabbit@c: rabbit@b is at the address where rabbit@c should be";
    let course = meeting.hold();
    assert_eq!(course.dialler.unwrap().unwrap_err().sentence(&name("rabbit@a"), "rabbit@c"), sentence);
    let error = course.acceptor.unwrap().unwrap_err();
    assert_eq!(
        error.sentence(&name("rabbit@b"), "127.0.0.1"),
        "127.0.0.1 refuses rabbit@b: rabbit@b is at the address where rabbit@c should be"
    );
}

#[test]
fn who_is_at_an_address_says_its_name_to_one_that_has_the_secret() {
    let mut meeting = Meeting::new();
    (meeting.is_any_welcome, meeting.recognition, meeting.lane) = (true, Recognition::Unknown, Lane::Calls);
    let agreement = meeting.hold().dialler.unwrap().unwrap();
    assert_eq!(agreement.theirs.identity.name, name("rabbit@b"));
    meeting.dialler.secret = secret("another");
    let sentence = meeting.hold().dialler.unwrap().unwrap_err().sentence(&name("rabbit@a"), "b:5");
    assert_eq!(sentence, "b:5 refuses rabbit@a: the secrets of the two differ (warren.cluster.secret)");
}

#[test]
fn a_node_that_is_not_ready_says_so() {
    let mut meeting = Meeting::new();
    meeting.acceptor.is_ready = false;
    meeting.check_refused("rabbit@b refuses rabbit@a: rabbit@b is not ready yet");
}

#[test]
fn versions_that_do_not_meet_are_told_on_both_sides() {
    let mut meeting = Meeting::new();
    meeting.dialler.versions = Versions { lowest: 4, highest: 6 };
    let course = meeting.hold();
    assert_eq!(
        course.dialler.unwrap().unwrap_err().sentence(&name("rabbit@a"), "rabbit@b"),
        "rabbit@b cannot be linked with rabbit@a: it speaks version 1 of the link, and rabbit@a versions 4 to 6"
    );
    assert_eq!(
        course.acceptor.unwrap().unwrap_err().sentence(&name("rabbit@b"), "127.0.0.1"),
        "127.0.0.1 cannot be linked with rabbit@b: it speaks versions 4 to 6 of the link, and rabbit@b version 1"
    );
    meeting.acceptor.versions = Versions { lowest: 2, highest: 5 };
    assert_eq!(meeting.hold().dialler.unwrap().unwrap().version, 5);
}

#[track_caller]
fn check_foreign(bytes: &[u8], sentence: &str) {
    let meeting = Meeting::new();
    for first_len in [bytes.len(), 3] {
        let mut output = Vec::new();
        let mut acceptor = meeting.accept(&ACCEPTOR_NONCE);
        let error = acceptor.feed(&bytes[..first_len], &|_| meeting.recognition, &mut output).unwrap_err();
        assert!(output.is_empty(), "nothing is answered");
        if first_len == bytes.len() {
            let sentences = error.sentence(&name("rabbit@b"), "10.0.0.9");
            assert_eq!(sentences, format!("10.0.0.9 cannot be linked with rabbit@b: {sentence}"));
        }
    }
    let mut output = Vec::new();
    let error = meeting.dial(&mut output).feed(bytes, &mut output).unwrap_err();
    assert!(matches!(error, HandshakeError::Foreign(_)));
    assert_eq!(output.len(), PREAMBLE_LEN);
}

#[test]
fn other_protocols_are_named() {
    check_foreign(b"AMQP\0\0\x09\x01", "it speaks AMQP, which is for a port of clients");
    check_foreign(b"GET / HTTP/1.1\r\n", "it speaks HTTP");
    check_foreign(b"HTTP/1.1 400 Bad Request\r\n", "it speaks HTTP");
    check_foreign(b"\x16\x03\x01\x02\x00\x01", "it speaks TLS, and this node uses none between nodes");
    check_foreign(b"\x15\x03\x03\x00\x02\x02\x28", "it speaks TLS, and this node uses none between nodes");
    check_foreign(
        b"\x00\x17n\x00\x06rabbit@host",
        "it speaks as nodes of RabbitMQ and Erlang do, which cannot be in one cluster with this node",
    );
    check_foreign(
        b"PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n",
        "it begins with the header of a proxy, and nodes connect to each other directly",
    );
    check_foreign(
        b"hello\r\nworld\r\n",
        "it speaks an unknown protocol, which begins with the bytes 68 65 6c 6c 6f 0d 0a 77",
    );
    check_foreign(b"\x01WRNLINK", "it speaks an unknown protocol, which begins with the bytes 01 57 52 4e 4c 49 4e 4b");
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

proptest! {
    /// No prefix of what a side says is enough, and no spoilt byte after the versions stays unnoticed.
    #[test]
    fn prefixes_wait_and_spoilt_bytes_are_refused(at in 0_usize..1000, bit in 0_u8..8) {
        let meeting = Meeting::new();
        let course = meeting.hold();
        let at = at % course.from_dialler.len();
        let mut output = Vec::new();
        let mut acceptor = meeting.accept(&ACCEPTOR_NONCE);
        let fed = acceptor.feed(&course.from_dialler[..at], &|_| meeting.recognition, &mut output).unwrap();
        prop_assert_eq!(fed.agreement, None);
        let mut spoilt = course.from_dialler.clone();
        spoilt[at] ^= 1 << bit;
        let mut acceptor = meeting.accept(&ACCEPTOR_NONCE);
        let fed = acceptor.feed(&spoilt, &|_| meeting.recognition, &mut output);
        prop_assert!(fed.is_err() || fed.unwrap().agreement.is_none());
    }

    #[test]
    fn spoilt_greetings_are_refused(at in 0_usize..1000, bit in 0_u8..8) {
        let meeting = Meeting::new();
        let said = meeting.hold().from_acceptor;
        let welcome_len = 3;
        let at = at % (said.len() - welcome_len);
        let mut spoilt = said;
        spoilt[at] ^= 1 << bit;
        let mut output = Vec::new();
        let mut dialler = meeting.dial(&mut output);
        let fed = dialler.feed(&spoilt, &mut output);
        prop_assert!(fed.is_err() || fed.unwrap().agreement.is_none());
    }

    #[test]
    fn random_bytes_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..2000), is_begun in any::<bool>()) {
        let meeting = Meeting::new();
        let (mut said, mut output) = (Vec::new(), Vec::new());
        let mut dialler = meeting.dial(&mut said);
        let mut acceptor = meeting.accept(&ACCEPTOR_NONCE);
        if is_begun {
            acceptor.feed(&said, &|_| meeting.recognition, &mut output).unwrap();
            dialler.feed(&output.clone(), &mut output).unwrap();
        }
        let is_agreed = |fed: Result<cluster::wire::Progress, HandshakeError>| fed.is_ok_and(|fed| fed.agreement.is_some());
        prop_assert!(!is_agreed(acceptor.feed(&bytes, &|_| meeting.recognition, &mut output)));
        prop_assert!(!is_agreed(dialler.feed(&bytes, &mut output)));
    }
}

#[test]
fn a_frame_is_bounded_before_it_has_come() {
    let meeting = Meeting::new();
    let (mut said, mut output) = (Vec::new(), Vec::new());
    meeting.dial(&mut said);
    let mut acceptor = meeting.accept(&ACCEPTOR_NONCE);
    acceptor.feed(&said, &|_| meeting.recognition, &mut output).unwrap();
    let error = acceptor.feed(&1025_u16.to_le_bytes(), &|_| meeting.recognition, &mut output).unwrap_err();
    assert!(matches!(error, HandshakeError::Garbled(_)), "{error:?}");
    assert_eq!(
        error.sentence(&name("rabbit@b"), "10.0.0.9"),
        "10.0.0.9 cannot be linked with rabbit@b: it sends a frame with an impossible length in the handshake"
    );
}
