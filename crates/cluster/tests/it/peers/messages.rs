//! Messages of members: they arrive, in order, and lanes do not wait for each other.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use cluster::wire::{EntryBytes, Lane, Payload};
use cluster::{PeerEvent, SendError};
use consensus::{Body, Index};

use super::node::{Heard, Node, TIMEOUT, append, heartbeat, link};
use super::strangers::Stranger;
use crate::nodes::local;

#[test]
fn messages_of_three_nodes_arrive_in_order() {
    let [a, b, c] = ['a', 'b', 'c'].map(Node::start);
    link(&[&a, &b, &c]);
    for number in 1..=200 {
        a.send(&b, &heartbeat('a', 'b', number), &[]).unwrap();
        a.send(&c, &heartbeat('a', 'c', number), &[]).unwrap();
        let (message, entries) = append('a', 'b', number, Arc::new(vec![number as u8; number as usize * 10]));
        a.send(&b, &message, &entries).unwrap();
        c.send(&b, &heartbeat('c', 'b', number), &[]).unwrap();
    }
    let (mut heartbeats, mut from_c, mut appends) = (0, 0, 0);
    while heartbeats + from_c + appends < 600 {
        let (from, message, entries) = b.wait_for_message();
        let next = match (&message.body, from.as_str()) {
            (Body::Heartbeat { .. }, "rabbit@a") => &mut heartbeats,
            (Body::Heartbeat { .. }, _) => &mut from_c,
            _ => &mut appends,
        };
        *next += 1;
        let number = *next;
        match message.body {
            Body::Heartbeat { committed } => assert_eq!(committed, Index(number)),
            _ => {
                let payload = vec![number as u8; number as usize * 10];
                assert_eq!(entries, [EntryBytes { first: 1000 + number, metas_len: 3, payload }]);
            }
        }
    }
    assert_eq!((heartbeats, from_c, appends), (200, 200, 200));
    for number in 1..=200 {
        assert_eq!(c.wait_for_message().1, heartbeat('a', 'c', number));
    }
}

/// Larger than a write, and than what a socket takes at once.
#[test]
fn a_large_entry_arrives_whole() {
    let [a, b] = ['a', 'b'].map(Node::start);
    link(&[&a, &b]);
    let payload: Vec<u8> = (0..20_000_000_u32).map(|number| (number / 7) as u8).collect();
    let (message, entries) = append('a', 'b', 1, Arc::new(payload.clone()));
    a.send(&b, &message, &entries).unwrap();
    let (_, received, contents) = b.wait_for_message();
    assert_eq!(received, message);
    assert!(contents[0].payload == payload);
    let statistics = &a.links.statistics()[0];
    let commits = statistics.lanes.iter().find(|lane| lane.lane == Lane::Commits).unwrap();
    assert!(commits.bytes_sent > 20_000_000 && commits.frames_sent == 1, "{commits:?}");
    let received = b.links.statistics()[0].lanes.iter().find(|lane| lane.lane == Lane::Commits).unwrap().to_owned();
    assert_eq!((received.bytes_received, received.frames_received), (commits.bytes_sent, 1));
}

#[test]
fn what_cannot_be_sent_is_told_at_once() {
    let [a, b] = ['a', 'b'].map(Node::start);
    assert_eq!(a.send(&b, &heartbeat('a', 'b', 1), &[]), Err(SendError::UnknownPeer));
    a.links.set_peers(vec![super::node::place('b', 1)]);
    assert_eq!(a.send(&b, &heartbeat('a', 'b', 1), &[]), Err(SendError::NotConnected));
    assert_eq!(a.links.statistics()[0].lanes[0].dropped, 1);
}

/// A payload that counts how often it is read, so that a test sees what memory is held by queues: all of it is one.
struct Counted(Vec<u8>, Arc<AtomicUsize>);

impl Payload for Counted {
    fn byte_count(&self) -> u64 {
        self.0.len() as u64
    }

    fn for_each_run(&self, each: &mut dyn FnMut(&[u8])) {
        each(&self.0);
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.1.fetch_sub(1, Ordering::AcqRel);
    }
}

/// A peer that has stopped reading commits: the queue fills up to its bound, and votes go on.
#[test]
fn a_slow_reader_holds_up_no_other_lane_and_takes_no_memory() {
    let a = Node::start('a');
    let stranger = Stranger::listen(local('b'));
    a.links.set_peers(vec![stranger.place()]);
    let mut votes = None;
    let mut commits = None;
    while votes.is_none() || commits.is_none() {
        let (connection, lane) = stranger.accept();
        match lane {
            Lane::Votes => votes = Some(connection),
            Lane::Commits => commits = Some(connection),
            _ => {}
        }
    }
    a.wait_for(|heard| matches!(heard, Heard::Event(_, PeerEvent::Connected { lane: Lane::Votes, .. })).then_some(()));
    let b = stranger.name();
    let held = Arc::new(AtomicUsize::new(0));
    let (mut index, mut refused) = (1, 0);
    let begun = Instant::now();
    // The connection's own buffers take some megabytes first.
    while refused < 10 {
        assert!(begun.elapsed() < TIMEOUT, "it is never full");
        held.fetch_add(1, Ordering::AcqRel);
        let payload = Arc::new(Counted(vec![1; 1 << 20], Arc::clone(&held)));
        let (message, entries) = append('a', 'b', index, payload);
        index += 1;
        match a.links.send(&b, consensus::GroupId(3), &message, &entries) {
            Ok(()) | Err(SendError::NotConnected) => {}
            Err(error) => {
                assert_eq!(error, SendError::Full);
                refused += 1;
            }
        }
    }
    // 64 MiB in the queue, and the one that is being written.
    assert!(held.load(Ordering::Acquire) <= 65, "{} are held", held.load(Ordering::Acquire));
    let mut votes = votes.unwrap();
    for number in 1..=50 {
        a.links.send(&b, consensus::GroupId(3), &heartbeat('a', 'b', number), &[]).unwrap();
        assert_eq!(votes.message(), heartbeat('a', 'b', number));
    }
    let lane = a.links.statistics()[0].lanes[1];
    assert!(lane.dropped >= 10, "{lane:?}");
    drop(commits);
    a.wait_for(|heard| matches!(heard, Heard::Event(_, PeerEvent::Lost { lane: Lane::Commits, .. })).then_some(()));
}

#[test]
fn who_speaks_for_another_member_is_cut_off() {
    let [a, b] = ['a', 'b'].map(Node::start);
    link(&[&a, &b]);
    a.send(&b, &heartbeat('c', 'b', 1), &[]).unwrap();
    a.wait_for_event(&b, |event| matches!(event, PeerEvent::Lost { lane: Lane::Votes, .. }));
    a.wait_for_event(&b, |event| matches!(event, PeerEvent::Connected { lane: Lane::Votes, .. }));
    // A message for the node's former member is skipped.
    a.send(&b, &heartbeat('a', 'd', 2), &[]).unwrap();
    a.send(&b, &heartbeat('a', 'b', 3), &[]).unwrap();
    assert_eq!(b.wait_for_message().1, heartbeat('a', 'b', 3));
}
