//! Peers connect, disconnect and connect again.

use std::net::TcpListener;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};

use cluster::wire::{ClusterId, EntryBytes, ExpectedPeer, FileRequest, Identity, Lane, NodeName, Refusal};
use cluster::{CallAnswer, FileAnswer, ForwardedClient, LinkHandler, Links, PeerAddress, PeerEvent, SendError, Setup};
use consensus::{GroupId, Message};
use parking_lot::Mutex;

use super::node::{Heard, Node, TIMEOUT, heartbeat, introduce, link, member, place};
use crate::nodes::{local, name};

#[test]
fn a_peer_that_is_started_again_is_linked_again() {
    let [a, b] = ['a', 'b'].map(Node::start);
    link(&[&a, &b]);
    let address = b.links.address();
    b.links.close();
    let mut again = local('b');
    again.identity.incarnation += 1;
    let name = again.identity.name.clone();
    let lost = a.wait_for(|heard| match heard {
        Heard::Event(of, PeerEvent::Lost { lane: Lane::Votes, reason }) if of == name => Some(reason),
        _ => None,
    });
    assert!(!lost.is_empty());
    a.wait_for(|heard| matches!(heard, Heard::Event(_, PeerEvent::Refused)).then_some(()));
    let b = Node::start_at(address, again, 'b', None);
    b.links.set_peers(vec![a.place()]);
    a.wait_for(|heard| match heard {
        Heard::Event(_, PeerEvent::Connected { lane: Lane::Votes, identity }) => {
            assert_eq!(identity.incarnation, 103);
            Some(())
        }
        _ => None,
    });
    a.send(&b, &heartbeat('a', 'b', 7), &[]).unwrap();
    assert_eq!(b.wait_for_message().1, heartbeat('a', 'b', 7));
    let votes = a.links.statistics()[0].lanes[0];
    assert_eq!((votes.connects, votes.is_connected), (2, true));
}

#[test]
fn a_port_on_which_no_process_listens_is_told_at_once() {
    let a = Node::start('a');
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    a.links.set_peers(vec![place('b', port)]);
    a.wait_for(|heard| matches!(heard, Heard::Event(_, PeerEvent::Refused)).then_some(()));
    let failure = a.links.statistics()[0].last_failure.clone().unwrap();
    assert!(failure.starts_with(&format!("rabbit@b (127.0.0.1:{port}) cannot be linked with rabbit@a: ")), "{failure}");
    assert!(failure.contains("Connection refused"), "{failure}");
}

#[test]
fn who_is_no_peer_any_more_is_refused() {
    let [a, b] = ['a', 'b'].map(Node::start);
    link(&[&a, &b]);
    b.links.set_peers(Vec::new());
    let event = a.wait_for_event(&b, |event| matches!(event, PeerEvent::Rejected { .. }));
    let PeerEvent::Rejected { sentence, refusal } = event else { unreachable!("waited for") };
    assert_eq!(refusal, Some(Refusal::NoPeer { lane: Lane::Votes }));
    let address = b.links.address();
    assert_eq!(
        sentence,
        format!(
            "rabbit@b ({address}) refuses rabbit@a: rabbit@a is none of the peers of rabbit@b ({address}), \
             and wants to send on the lane votes"
        )
    );
    introduce(&[&a, &b]);
    a.wait_for_event(&b, |event| matches!(event, PeerEvent::Connected { lane: Lane::Votes, .. }));
}

#[test]
fn a_peer_of_another_cluster_is_refused() {
    let mut other = local('b');
    other.identity.cluster = ClusterId::new(99);
    let [a, b] = [Node::start('a'), Node::start_as(other, 'b', None)];
    introduce(&[&a, &b]);
    let event = a.wait_for_event(&b, |event| matches!(event, PeerEvent::Rejected { .. }));
    let PeerEvent::Rejected { sentence, .. } = event else { unreachable!("waited for") };
    let refused = "rabbit@a refuses rabbit@b (";
    assert!(sentence.starts_with(refused) && sentence.contains("belongs to cluster"), "{sentence}");
}

#[test]
fn a_node_that_dials_itself_is_told_so() {
    let a = Node::start('a');
    // The address of another, and itself is there.
    a.links.set_peers(vec![place('b', a.links.address().port())]);
    let event = a.wait_for(|heard| match heard {
        Heard::Event(_, PeerEvent::Rejected { refusal, .. }) => Some(refusal),
        _ => None,
    });
    assert_eq!(event, Some(Refusal::Itself));
}

#[test]
fn a_node_that_is_not_ready_dials_and_is_dialled_later() {
    let mut early = local('b');
    early.is_ready = false;
    let [a, b] = [Node::start('a'), Node::start_as(early.clone(), 'b', None)];
    introduce(&[&a, &b]);
    let event = a.wait_for_event(&b, |event| matches!(event, PeerEvent::Rejected { .. }));
    assert!(matches!(event, PeerEvent::Rejected { refusal: Some(Refusal::NotReady), .. }), "{event:?}");
    early.is_ready = true;
    b.links.set_local(early);
    b.wait_for_lanes(&[&a]);
    // It is dialled at once, because it has come: no wait of a second.
    a.wait_for_lanes(&[&b]);
}

#[test]
fn a_node_that_gets_an_id_says_so_to_all() {
    let mut new = local('b');
    new.identity.member = None;
    let [a, b] = [Node::start('a'), Node::start_as(new, 'b', None)];
    let place = PeerAddress { node: ExpectedPeer { name: b.name(), member: None }, ..b.place() };
    a.links.set_peers(vec![place]);
    b.links.set_peers(vec![a.place()]);
    a.wait_for_lanes(&[&b]);
    b.wait_for_lanes(&[&a]);
    assert_eq!(a.links.find(member('b')), None);
    b.links.set_local(local('b'));
    a.wait_for(|heard| match heard {
        Heard::Event(_, PeerEvent::Connected { lane: Lane::Votes, identity }) => identity.member.map(|_| ()),
        _ => None,
    });
    assert_eq!(a.links.find(member('b')), Some(b.name()));
    assert_eq!(a.links.find(member('c')), None);
    assert_eq!(a.links.statistics()[0].identity, Some(local('b').identity));
    b.wait_for_lanes(&[&a]);
    b.send(&a, &heartbeat('b', 'a', 1), &[]).unwrap();
    assert_eq!(a.wait_for_message().1, heartbeat('b', 'a', 1));
}

#[test]
fn links_that_are_closed_are_silent() {
    let [a, b] = ['a', 'b'].map(Node::start);
    link(&[&a, &b]);
    a.links.close();
    // What was reported before is there, and nothing more comes.
    a.heard.try_iter().for_each(drop);
    assert_eq!(a.send(&b, &heartbeat('a', 'b', 1), &[]), Err(SendError::UnknownPeer));
    a.links.close();
    b.wait_for(|heard| matches!(heard, Heard::Event(_, PeerEvent::Refused)).then_some(()));
}

/// The last owner may be the thread that is in the handler, or one that the handler waits for.
#[test]
fn links_may_be_dropped_where_their_handler_waits() {
    struct Waiter(Mutex<Option<Arc<Links>>>, Mutex<Sender<()>>);
    impl LinkHandler for Waiter {
        fn message(&self, _: &Identity, _: GroupId, _: Message, _: Vec<EntryBytes>) {
            drop(self.0.lock().take());
            let _ = self.1.lock().send(());
        }
        fn peer_changed(&self, _: &NodeName, _: PeerEvent) {}
        fn file_wanted(&self, _: &Identity, _: FileRequest, _: FileAnswer) {}
        fn called(&self, _: &Identity, _: &str, _: &[u8], _: CallAnswer) {}
        fn forwarded(&self, _: &Identity, _: ForwardedClient) {}
    }
    let (tell, done) = channel();
    let a = Node::start('a');
    let waiter = Arc::new(Waiter(Mutex::new(None), Mutex::new(tell)));
    let listen = "127.0.0.1:0".parse().unwrap();
    let setup = Setup { listen, local: local('b'), tls: None, peers: vec![a.place()] };
    let handler: Arc<Waiter> = Arc::clone(&waiter);
    let links = Links::start(setup, handler).unwrap();
    a.links.set_peers(vec![place('b', links.address().port())]);
    {
        let mut owned = waiter.0.lock();
        *owned = Some(Arc::new(links));
        a.wait_for(|heard| {
            matches!(heard, Heard::Event(_, PeerEvent::Connected { lane: Lane::Votes, .. })).then_some(())
        });
        a.links.send(&name("rabbit@b"), GroupId(3), &heartbeat('a', 'b', 1), &[]).unwrap();
    }
    done.recv_timeout(TIMEOUT).unwrap();
    a.wait_for(|heard| matches!(heard, Heard::Event(_, PeerEvent::Refused)).then_some(()));
}
