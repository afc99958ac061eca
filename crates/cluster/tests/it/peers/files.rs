//! Files that a peer fetches.

use std::thread;

use cluster::wire::{FILE_PIECE_LEN_MAX, FileFrame, FileName, FileRequest, Lane};
use cluster::{Fetch, FetchError, FileAbandoned, FileAnswer};
use consensus::{GroupId, Index};

use super::node::{Heard, Node, link};
use super::strangers::Stranger;
use crate::nodes::{local, name};

const SEGMENT: FileRequest = FileRequest { group: GroupId(0), file: FileName::Segment { id: 7 }, offset: 0 };

fn wanted(node: &Node) -> (FileRequest, FileAnswer) {
    node.wait_for(|heard| match heard {
        Heard::File(request, answer) => Some((request, answer)),
        _ => None,
    })
}

fn rest(fetch: &mut Fetch) -> Result<Vec<u8>, FetchError> {
    let mut all = Vec::new();
    while let Some(piece) = fetch.next_blocking()? {
        assert!(piece.len() <= FILE_PIECE_LEN_MAX);
        all.extend_from_slice(&piece);
    }
    Ok(all)
}

#[test]
fn a_file_comes_in_pieces_and_from_its_middle() {
    let [a, b] = ['a', 'b'].map(Node::start);
    link(&[&a, &b]);
    let file: Vec<u8> = (0..3_000_000_u32).map(|number| (number / 3) as u8).collect();
    for offset in [0, 1_234_567, 3_000_000] {
        let request = FileRequest { file: FileName::Checkpoint { index: Index(9) }, offset, ..SEGMENT };
        let mut fetch = a.links.fetch(&b.name(), request);
        let (received, mut answer) = wanted(&b);
        assert_eq!(received, request);
        let given = file.clone();
        let giving = thread::spawn(move || {
            answer.begin(given.len() as u64).unwrap();
            answer.write(&given[received.offset as usize..]).unwrap();
            answer.end();
        });
        assert_eq!(fetch.begin_blocking(), Ok(3_000_000));
        assert!(rest(&mut fetch).unwrap() == file[offset as usize..]);
        giving.join().unwrap();
    }
    // One connection served all three.
    let lane = a.links.statistics()[0].lanes[2];
    assert_eq!((lane.lane, lane.connects, lane.frames_sent), (Lane::Files, 1, 3));
}

#[test]
fn a_file_that_is_gone_or_broken_is_told() {
    let [a, b] = ['a', 'b'].map(Node::start);
    link(&[&a, &b]);
    let mut fetch = a.links.fetch(&b.name(), SEGMENT);
    wanted(&b).1.missing();
    assert_eq!(fetch.begin_blocking(), Err(FetchError::Missing));
    let mut fetch = a.links.fetch(&b.name(), SEGMENT);
    drop(wanted(&b).1);
    assert_eq!(fetch.begin_blocking(), Err(FetchError::Broken));
    let mut fetch = a.links.fetch(&b.name(), SEGMENT);
    let mut answer = wanted(&b).1;
    answer.begin(10).unwrap();
    answer.write(b"abc").unwrap();
    drop(answer);
    assert_eq!(fetch.begin_blocking(), Ok(10));
    assert_eq!(fetch.next_blocking(), Ok(Some(b"abc".to_vec())));
    assert_eq!(fetch.next_blocking(), Err(FetchError::Broken));
    let mut fetch = a.links.fetch(&name("rabbit@x"), SEGMENT);
    assert_eq!(fetch.begin_blocking(), Err(FetchError::UnknownPeer));
}

#[test]
fn a_file_that_is_not_what_was_sent_is_told() {
    let a = Node::start('a');
    let b = Stranger::listen(local('b'));
    a.links.set_peers(vec![b.place()]);
    let frames: [&[FileFrame<'_>]; 4] = [
        // Too short, too long, another checksum, and two beginnings.
        &[FileFrame::Begins { len: 4 }, FileFrame::Piece(b"abc"), FileFrame::End { checksum: crc32c::crc32c(b"abc") }],
        &[FileFrame::Begins { len: 2 }, FileFrame::Piece(b"abc")],
        &[FileFrame::Begins { len: 3 }, FileFrame::Piece(b"abc"), FileFrame::End { checksum: 1 }],
        &[FileFrame::Piece(b"abc")],
    ];
    for frames in frames {
        let mut fetch = a.links.fetch(&b.name(), SEGMENT);
        let mut files = loop {
            let (connection, lane) = b.accept();
            if lane == Lane::Files {
                break connection;
            }
        };
        assert_eq!(FileFrame::decode(&files.body()), Ok(FileFrame::Request(SEGMENT)));
        frames.iter().for_each(|frame| files.send(&frame.encode()));
        let ended = fetch.begin_blocking().and_then(|_| rest(&mut fetch));
        assert_eq!(ended, Err(FetchError::Damaged));
    }
}

#[test]
fn who_does_not_want_a_file_any_more_stops_its_reader() {
    let [a, b] = ['a', 'b'].map(Node::start);
    link(&[&a, &b]);
    let fetch = a.links.fetch(&b.name(), SEGMENT);
    let mut answer = wanted(&b).1;
    answer.begin(u64::MAX).unwrap();
    drop(fetch);
    let piece = vec![1; FILE_PIECE_LEN_MAX];
    let error = loop {
        if let Err(error) = answer.write(&piece) {
            break error;
        }
    };
    assert_eq!(error, FileAbandoned);
    // The next one is not harmed.
    let mut fetch = a.links.fetch(&b.name(), SEGMENT);
    wanted(&b).1.missing();
    assert_eq!(fetch.begin_blocking(), Err(FetchError::Missing));
}

/// A receiver that does not read slows the giver, and no memory is taken.
#[test]
fn a_slow_receiver_slows_the_giver() {
    let [a, b] = ['a', 'b'].map(Node::start);
    link(&[&a, &b]);
    let mut fetch = a.links.fetch(&b.name(), SEGMENT);
    let mut answer = wanted(&b).1;
    const LEN: usize = 64 << 20;
    let (done, given) = std::sync::mpsc::channel();
    let giving = thread::spawn(move || {
        let piece = vec![1; FILE_PIECE_LEN_MAX];
        answer.begin(LEN as u64).unwrap();
        for _ in 0..LEN / FILE_PIECE_LEN_MAX {
            answer.write(&piece).unwrap();
            done.send(()).unwrap();
        }
        answer.end();
    });
    assert_eq!(fetch.begin_blocking(), Ok(LEN as u64));
    let mut taken = 0;
    let mut sent = 0;
    while let Some(piece) = fetch.next_blocking().unwrap() {
        taken += piece.len();
        sent += given.try_iter().count();
        // What sockets and channels hold is some megabytes.
        assert!(sent * FILE_PIECE_LEN_MAX <= taken + (24 << 20), "{sent} pieces sent, {taken} bytes taken");
    }
    assert_eq!(taken, LEN);
    giving.join().unwrap();
}

/// The connection that was kept is closed by a peer that starts again: the file comes all the same.
#[test]
fn a_peer_that_was_started_again_gives_files() {
    let [a, b] = ['a', 'b'].map(Node::start);
    link(&[&a, &b]);
    let empty = |mut fetch: Fetch, node: &Node| {
        let mut answer = wanted(node).1;
        answer.begin(0).unwrap();
        answer.end();
        assert_eq!(fetch.begin_blocking(), Ok(0));
        assert_eq!(fetch.next_blocking(), Ok(None));
    };
    empty(a.links.fetch(&b.name(), SEGMENT), &b);
    let address = b.links.address();
    b.links.close();
    let b = Node::start_at(address, local('b'), 'b', None);
    b.links.set_peers(vec![a.place()]);
    empty(a.links.fetch(&b.name(), SEGMENT), &b);
}
