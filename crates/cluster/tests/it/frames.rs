//! Frames of all lanes: what is written is read, and nothing else is.

use std::net::SocketAddr;
use std::sync::Arc;

use cluster::wire::{
    CALL_LEN_MAX, CallFrame, EntryBytes, EntryToSend, FILE_PIECE_LEN_MAX, FileFrame, FileName, FileRequest,
    ForwardHeader, FrameError, FrameReader, FrameWriter, Lane, ListenerKind, OutgoingFrame, Payload, encode_replicated,
    replicated,
};
use consensus::{Body, Entry, GroupId, Index, Kind, LogId, MemberChange, MemberId, MemberStep, Message, Term};
use net::{AlternativeName, PeerCertificate, TlsInfo};
use proptest::prelude::*;

/// A payload in runs, as a commit's contents are.
struct Runs(Vec<Vec<u8>>);

impl Payload for Runs {
    fn byte_count(&self) -> u64 {
        self.0.iter().map(|run| run.len() as u64).sum()
    }

    fn for_each_run(&self, each: &mut dyn FnMut(&[u8])) {
        self.0.iter().for_each(|run| each(run));
    }
}

/// The bytes of frames, written in portions of at most so many bytes.
fn written(frames: &[OutgoingFrame], portion_len: usize) -> Vec<u8> {
    let mut all = Vec::new();
    let mut writer = FrameWriter::default();
    for frame in frames {
        let begin = all.len();
        loop {
            let mut portion = Vec::new();
            let is_whole = writer.write(frame, &mut portion, portion_len);
            // The checksum may come on top.
            assert!(portion.len() <= portion_len.saturating_add(4));
            all.extend_from_slice(&portion);
            if is_whole {
                break;
            }
        }
        assert_eq!((all.len() - begin) as u64, frame.wire_len());
    }
    all
}

/// The bodies of frames that arrive in reads of at most so many bytes.
fn bodies(lane: Lane, bytes: &[u8], read_len: usize) -> Result<Vec<Vec<u8>>, FrameError> {
    let mut reader = FrameReader::new(lane);
    let (mut bodies, mut rest) = (Vec::new(), bytes);
    while !rest.is_empty() {
        let space = reader.space();
        let len = rest.len().min(read_len).min(space.len());
        space[..len].copy_from_slice(&rest[..len]);
        reader.fill(len);
        rest = &rest[len..];
        while let Some(body) = reader.take()? {
            bodies.push(body.to_vec());
        }
    }
    Ok(bodies)
}

fn body_of(lane: Lane, frame: &OutgoingFrame) -> Vec<u8> {
    let bodies = bodies(lane, &written(std::slice::from_ref(frame), usize::MAX), usize::MAX).unwrap();
    bodies.into_iter().next().unwrap()
}

fn message(body: Body) -> Message {
    Message { from: MemberId::new(1).unwrap(), to: MemberId::new(2).unwrap(), term: Term(9), body }
}

fn runs() -> impl Strategy<Value = Vec<Vec<u8>>> {
    prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 0..5)
}

/// The positions of entries, and their payloads in runs.
type Contents = Vec<(u64, Vec<Vec<u8>>)>;

/// Entries of all kinds, and the contents of those that have any.
fn append() -> impl Strategy<Value = (Message, Contents)> {
    let entry = prop_oneof![
        4 => (any::<u64>(), runs()).prop_map(Some),
        1 => Just(None),
    ];
    prop::collection::vec(entry, 0..6).prop_map(|given| {
        let mut contents = Vec::new();
        let entries = given.into_iter().zip(4..).map(|(given, index)| {
            let id = LogId::new(9, index);
            match given {
                Some((first, runs)) => {
                    let len = runs.iter().map(Vec::len).sum::<usize>() as u32;
                    contents.push((first, runs));
                    Entry { id, kind: Kind::Records, len }
                }
                None if index % 2 == 0 => Entry { id, kind: Kind::Empty, len: 0 },
                None => {
                    let steps = vec![MemberStep::AddLearner(MemberId::new(index).unwrap())];
                    Entry { id, kind: Kind::Members(MemberChange { steps }), len: 0 }
                }
            }
        });
        let entries = entries.collect();
        let append = Body::Append { previous: LogId::new(8, 3), committed: Index(2), entries };
        (message(append), contents)
    })
}

fn to_send(contents: &[(u64, Vec<Vec<u8>>)]) -> Vec<EntryToSend> {
    let entry = |(first, runs): &(u64, Vec<Vec<u8>>)| {
        let payload = Runs(runs.clone());
        EntryToSend { first: *first, metas_len: payload.byte_count() / 2, payload: Arc::new(payload) }
    };
    contents.iter().map(entry).collect()
}

fn received(contents: &[(u64, Vec<Vec<u8>>)]) -> Vec<EntryBytes> {
    let entry = |(first, runs): &(u64, Vec<Vec<u8>>)| {
        let payload = runs.concat();
        EntryBytes { first: *first, metas_len: payload.len() as u64 / 2, payload }
    };
    contents.iter().map(entry).collect()
}

proptest! {
    #[test]
    fn entries_arrive_as_they_were_sent(
        appends in prop::collection::vec(append(), 1..4),
        portion_len in 1_usize..700,
        read_len in 1_usize..700,
    ) {
        let frames: Vec<_> = appends
            .iter()
            .zip(3..)
            .map(|((message, contents), group)| encode_replicated(GroupId(group), message, &to_send(contents)))
            .collect();
        let bytes = written(&frames, portion_len);
        let bodies = bodies(Lane::Commits, &bytes, read_len).unwrap();
        prop_assert_eq!(bodies.len(), appends.len());
        for ((body, (message, contents)), group) in bodies.iter().zip(&appends).zip(3..) {
            let read = replicated(Lane::Commits, body).unwrap();
            prop_assert_eq!(read, (GroupId(group), message.clone(), received(contents)));
        }
    }

    /// A frame that is cut off anywhere is waited for; its body, cut off, is refused.
    #[test]
    fn prefixes_are_no_frames((message, contents) in append(), at in any::<prop::sample::Index>()) {
        let frame = encode_replicated(GroupId(1), &message, &to_send(&contents));
        let bytes = written(std::slice::from_ref(&frame), usize::MAX);
        prop_assert_eq!(bodies(Lane::Commits, &bytes[..at.index(bytes.len())], usize::MAX), Ok(Vec::new()));
        let body = body_of(Lane::Commits, &frame);
        prop_assert!(replicated(Lane::Commits, &body[..at.index(body.len())]).is_err());
        let mut longer = body;
        longer.push(0);
        prop_assert!(replicated(Lane::Commits, &longer).is_err());
    }

    #[test]
    fn spoilt_frames_are_refused_or_waited_for(
        (message, contents) in append(),
        at in any::<prop::sample::Index>(),
        bit in 0_u8..8,
    ) {
        let frame = encode_replicated(GroupId(1), &message, &to_send(&contents));
        let mut bytes = written(&[frame], usize::MAX);
        let at = at.index(bytes.len());
        bytes[at] ^= 1 << bit;
        let read = bodies(Lane::Commits, &bytes, usize::MAX);
        prop_assert!(read.is_err() || read.unwrap().is_empty());
    }

    #[test]
    fn random_bodies_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = replicated(Lane::Commits, &bytes);
        let _ = replicated(Lane::Votes, &bytes);
        if let Ok(frame) = CallFrame::decode(&bytes) {
            prop_assert_eq!(body_of(Lane::Calls, &frame.encode()), bytes.clone());
        }
        if let Ok(frame) = FileFrame::decode(&bytes) {
            prop_assert_eq!(body_of(Lane::Files, &frame.encode()), bytes.clone());
        }
        if let Ok(header) = ForwardHeader::decode(&bytes) {
            prop_assert_eq!(ForwardHeader::decode(&body_of(Lane::Forward, &header.encode())).unwrap(), header);
        }
        for lane in Lane::ALL {
            let _ = bodies(lane, &bytes, 64);
        }
    }

    #[test]
    fn calls_arrive_as_they_were_sent(
        number in any::<u64>(),
        name in "[a-z_]{0,64}",
        payload in prop::collection::vec(any::<u8>(), 0..500),
        at in any::<prop::sample::Index>(),
    ) {
        let frames =
            [CallFrame::Call { number, name: &name, payload: &payload }, CallFrame::Answer { number, payload: &payload },
             CallFrame::NoAnswer { number }];
        for frame in frames {
            let body = body_of(Lane::Calls, &frame.encode());
            prop_assert_eq!(CallFrame::decode(&body).unwrap(), frame.clone());
            let head_len = if matches!(frame, CallFrame::Call { .. }) { 11 + name.len() } else { 9 };
            prop_assert!(CallFrame::decode(&body[..at.index(head_len)]).is_err());
        }
    }

    #[test]
    fn files_arrive_as_they_were_sent(
        (group, id, offset, len) in (any::<u32>(), any::<u32>(), any::<u64>(), any::<u64>()),
        piece in prop::collection::vec(any::<u8>(), 0..500),
        at in any::<prop::sample::Index>(),
    ) {
        let request = |file| FileFrame::Request(FileRequest { group: GroupId(group), file, offset });
        let frames = [
            request(FileName::Segment { id }),
            request(FileName::Checkpoint { index: Index(len) }),
            FileFrame::Begins { len },
            FileFrame::Piece(&piece),
            FileFrame::End { checksum: id },
            FileFrame::Missing,
            FileFrame::Broken,
        ];
        for frame in frames {
            let body = body_of(Lane::Files, &frame.encode());
            prop_assert_eq!(FileFrame::decode(&body).unwrap(), frame.clone());
            let cut = FileFrame::decode(&body[..at.index(body.len())]);
            prop_assert!(cut.is_err() || matches!((&frame, cut), (FileFrame::Piece(_), Ok(FileFrame::Piece(_)))));
        }
    }

    #[test]
    fn clients_are_told_as_they_came(
        (number, peer_port, local_port) in (any::<u16>(), any::<u16>(), any::<u16>()),
        (v4, v6) in (any::<[u8; 4]>(), any::<[u8; 16]>()),
        certificate in prop::option::of(certificate()),
        has_tls in any::<bool>(),
        at in any::<prop::sample::Index>(),
    ) {
        let tls = TlsInfo::named("tlsv1.3", "aes_256_gcm", "any", "aead").map(|tls| TlsInfo { peer: certificate, ..tls });
        let header = ForwardHeader {
            listener: ListenerKind::Management,
            number,
            peer: SocketAddr::from((v4, peer_port)),
            local: SocketAddr::from((v6, local_port)),
            tls: tls.filter(|_| has_tls),
        };
        let body = body_of(Lane::Forward, &header.encode());
        prop_assert_eq!(ForwardHeader::decode(&body).unwrap(), header);
        prop_assert!(ForwardHeader::decode(&body[..at.index(body.len())]).is_err());
    }
}

fn certificate() -> impl Strategy<Value = PeerCertificate> {
    let text = || "[a-zA-Z=, ]{0,40}";
    let other = prop_oneof![
        text().prop_map(AlternativeName::Dns),
        text().prop_map(AlternativeName::Email),
        any::<[u8; 4]>().prop_map(|ip| AlternativeName::Ip(ip.into())),
        text().prop_map(AlternativeName::Uri),
        text().prop_map(AlternativeName::Other),
    ];
    let texts = (text(), text(), text(), text());
    (texts, prop::collection::vec(text(), 0..4), prop::collection::vec(other, 0..4)).prop_map(
        |((subject, issuer, validity, serial_number), common_names, alternative_names)| PeerCertificate {
            subject,
            issuer,
            validity,
            serial_number,
            common_names,
            alternative_names,
        },
    )
}

#[test]
fn a_certificate_of_absurd_size_is_cut_to_a_frame() {
    let name = "n".repeat(100_000);
    let certificate = PeerCertificate {
        subject: name.clone(),
        issuer: name.clone(),
        validity: name.clone(),
        serial_number: name.clone(),
        common_names: vec!["c".repeat(4_000); 1_000],
        alternative_names: vec![AlternativeName::Dns("d".to_owned()); 1_000],
    };
    let tls = TlsInfo::named("tlsv1.2", "aes_128_gcm", "ecdhe_rsa", "aead").unwrap();
    let header = ForwardHeader {
        listener: ListenerKind::Amqp,
        number: 0,
        peer: "192.0.2.1:5".parse().unwrap(),
        local: "192.0.2.2:6".parse().unwrap(),
        tls: Some(TlsInfo { peer: Some(certificate), ..tls }),
    };
    let read = ForwardHeader::decode(&body_of(Lane::Forward, &header.encode())).unwrap();
    let peer = read.tls.unwrap().peer.unwrap();
    assert_eq!([peer.subject.len(), peer.common_names.len(), peer.alternative_names.len()], [4096, 8, 100]);
}

#[test]
fn each_lane_has_its_bound() {
    for lane in Lane::ALL {
        let max = lane.frame_len_max();
        assert_eq!(bodies(lane, &max.to_le_bytes(), 4), Ok(Vec::new()));
        let error = bodies(lane, &(max + 1).to_le_bytes(), 4).unwrap_err();
        assert_eq!(error.to_string(), format!("a frame of {} bytes, where {max} are allowed", max + 1));
    }
    let call = CallFrame::Answer { number: 1, payload: &vec![1; CALL_LEN_MAX] };
    assert_eq!(CallFrame::decode(&body_of(Lane::Calls, &call.encode())).unwrap(), call);
    let piece = vec![1; FILE_PIECE_LEN_MAX];
    let piece = FileFrame::Piece(&piece);
    assert_eq!(FileFrame::decode(&body_of(Lane::Files, &piece.encode())).unwrap(), piece);
}

/// What is announced takes no memory: only what has come does.
#[test]
fn a_long_frame_takes_memory_as_it_arrives() {
    let mut reader = FrameReader::new(Lane::Commits);
    reader.space()[..4].copy_from_slice(&Lane::Commits.frame_len_max().to_le_bytes());
    reader.fill(4);
    assert_eq!(reader.take(), Ok(None));
    let mut come = 4;
    while come < 1_000_000 {
        let room = reader.space().len();
        assert!(room <= 2 * come.max(64 << 10), "room for {room} bytes after {come}");
        reader.fill(room);
        come += room;
        assert_eq!(reader.take(), Ok(None));
    }
}

#[test]
fn messages_keep_to_their_lane() {
    let append = message(Body::Append { previous: LogId::new(1, 1), committed: Index(1), entries: Vec::new() });
    let heartbeat = message(Body::Heartbeat { committed: Index(1) });
    assert_eq!([Lane::of(&append), Lane::of(&heartbeat)], [Lane::Commits, Lane::Votes]);
    let wrong = replicated(Lane::Commits, &body_of(Lane::Votes, &encode_replicated(GroupId(1), &heartbeat, &[])));
    assert_eq!(wrong.unwrap_err(), FrameError::Impossible("lane"));
    let right = replicated(Lane::Votes, &body_of(Lane::Votes, &encode_replicated(GroupId(1), &heartbeat, &[])));
    assert_eq!(right.unwrap(), (GroupId(1), heartbeat, Vec::new()));
}

/// One that says to have more, or less, than it has.
struct Liar(u64, Vec<u8>);

impl Payload for Liar {
    fn byte_count(&self) -> u64 {
        self.0
    }

    fn for_each_run(&self, each: &mut dyn FnMut(&[u8])) {
        each(&self.1);
    }
}

fn lie(claimed: u64, len: usize) -> OutgoingFrame {
    let entries = vec![Entry { id: LogId::new(9, 4), kind: Kind::Records, len: claimed as u32 }];
    let append = message(Body::Append { previous: LogId::new(8, 3), committed: Index(2), entries });
    let payload = Arc::new(Liar(claimed, vec![7; len]));
    encode_replicated(GroupId(1), &append, &[EntryToSend { first: 0, metas_len: 0, payload }])
}

#[test]
fn a_payload_with_more_than_it_says_is_cut() {
    let (_, _, entries) = replicated(Lane::Commits, &body_of(Lane::Commits, &lie(3, 9))).unwrap();
    assert_eq!(entries[0].payload, [7; 3]);
}

#[test]
#[should_panic(expected = "a payload is shorter than it says")]
fn a_payload_with_less_than_it_says_is_not_waited_for() {
    let _ = written(&[lie(9, 3)], usize::MAX);
}

#[test]
#[should_panic(expected = "contents of [3] bytes for entries of [4]")]
fn contents_that_are_not_the_entrys_are_not_sent() {
    let entries = vec![Entry { id: LogId::new(9, 4), kind: Kind::Records, len: 4 }];
    let append = message(Body::Append { previous: LogId::new(8, 3), committed: Index(2), entries });
    let _ = encode_replicated(GroupId(1), &append, &to_send(&[(0, vec![vec![1, 2, 3]])]));
}
