//! Questions and answers.

use std::time::Duration;

use cluster::CallError;

use super::node::{Heard, Node, TIMEOUT, introduce, link, place};
use super::strangers::Stranger;
use crate::nodes::{local, name};

fn called(node: &Node) -> (String, Vec<u8>, cluster::CallAnswer) {
    node.wait_for(|heard| match heard {
        Heard::Call(_, name, payload, answer) => Some((name, payload, answer)),
        _ => None,
    })
}

#[test]
fn answers_come_to_their_questions_in_any_order() {
    let [a, b] = ['a', 'b'].map(Node::start);
    link(&[&a, &b]);
    let first = a.links.call(&b.name(), "status", b"one".to_vec(), TIMEOUT);
    let second = a.links.call(&b.name(), "status", b"two".to_vec(), TIMEOUT);
    let mut asked = [called(&b), called(&b)];
    asked.sort_by(|a, b| a.1.cmp(&b.1));
    let [one, two] = asked;
    assert_eq!((one.0.as_str(), &one.1[..], &two.1[..]), ("status", &b"one"[..], &b"two"[..]));
    two.2.give(b"second");
    assert_eq!(second.wait(), Ok(b"second".to_vec()));
    one.2.give(b"first");
    assert_eq!(first.wait(), Ok(b"first".to_vec()));
    let trips = a.links.statistics()[0].round_trips;
    assert_eq!(trips.count, 2);
    assert!(trips.longest >= trips.last && trips.total >= trips.longest);
}

#[test]
fn a_question_without_an_answer_ends() {
    let [a, b] = ['a', 'b'].map(Node::start);
    link(&[&a, &b]);
    let dropped = a.links.call(&b.name(), "unknown", Vec::new(), TIMEOUT);
    drop(called(&b));
    assert_eq!(dropped.wait(), Err(CallError::NoAnswer));
    let slow = a.links.call(&b.name(), "slow", Vec::new(), Duration::from_millis(20));
    let kept = called(&b);
    assert_eq!(slow.wait(), Err(CallError::TimedOut));
    kept.2.give(b"too late");
    assert_eq!(a.links.call(&name("rabbit@x"), "status", Vec::new(), TIMEOUT).wait(), Err(CallError::UnknownPeer));
}

#[test]
fn a_question_waits_for_a_connection_and_not_beyond_its_peer() {
    let [a, b] = ['a', 'b'].map(Node::start);
    let port = b.links.address().port();
    // Nothing listens there, until the address is set right.
    a.links.set_peers(vec![place('b', 1)]);
    let early = a.links.call(&b.name(), "early", Vec::new(), TIMEOUT);
    a.links.set_peers(vec![place('b', port)]);
    called(&b).2.give(b"late");
    assert_eq!(early.wait(), Ok(b"late".to_vec()));
    a.links.set_peers(vec![place('c', 1)]);
    let never = a.links.call(&name("rabbit@c"), "never", Vec::new(), TIMEOUT);
    a.links.set_peers(Vec::new());
    assert_eq!(never.wait(), Err(CallError::Closed));
}

#[test]
fn a_question_is_lost_with_its_connection() {
    let [a, b] = ['a', 'b'].map(Node::start);
    link(&[&a, &b]);
    let asked = a.links.call(&b.name(), "status", Vec::new(), TIMEOUT);
    let answer = called(&b);
    b.links.close();
    assert_eq!(asked.wait(), Err(CallError::Lost));
    answer.2.give(b"for no connection");
}

/// Sixty-four are under way at a time, and all are answered.
#[test]
fn more_questions_than_places_wait() {
    let [a, b] = ['a', 'b'].map(Node::start);
    link(&[&a, &b]);
    let asked: Vec<_> = (0..200_u8).map(|number| a.links.call(&b.name(), "n", vec![number], TIMEOUT)).collect();
    let mut kept: Vec<_> = (0..64).map(|_| called(&b)).collect();
    assert!(b.heard.try_recv().is_err(), "a sixty-fifth came");
    for _ in 0..136 {
        let (_, payload, answer) = kept.pop().unwrap();
        answer.give(&payload);
        kept.push(called(&b));
    }
    kept.into_iter().for_each(|(_, payload, answer)| answer.give(&payload));
    for (call, number) in asked.into_iter().zip(0_u8..) {
        assert_eq!(call.wait(), Ok(vec![number]));
    }
}

/// A node that asks to join is not a peer yet.
#[test]
fn a_node_that_is_no_peer_may_ask() {
    let [a, b] = ['a', 'b'].map(Node::start);
    a.links.set_peers(vec![b.place()]);
    let asked = a.links.call(&b.name(), "join", Vec::new(), TIMEOUT);
    let (from, answer) = b.wait_for(|heard| match heard {
        Heard::Call(from, _, _, answer) => Some((from, answer)),
        _ => None,
    });
    assert_eq!(from, a.name());
    answer.give(b"yes");
    assert_eq!(asked.wait(), Ok(b"yes".to_vec()));
}

#[test]
fn large_answers_come() {
    let [a, b] = ['a', 'b'].map(Node::start);
    introduce(&[&a, &b]);
    let payload = vec![7; cluster::wire::CALL_LEN_MAX];
    let asked = a.links.call(&b.name(), "large", payload.clone(), TIMEOUT);
    let (_, received, answer) = called(&b);
    answer.give(&received);
    assert!(asked.wait() == Ok(payload));
}

/// A call may be awaited on any runtime.
#[tokio::test]
async fn a_question_may_be_awaited() {
    let a = Node::start('a');
    let stranger = Stranger::listen(local('b'));
    a.links.set_peers(vec![stranger.place()]);
    let asked = a.links.call(&stranger.name(), "status", Vec::new(), Duration::from_millis(1));
    assert_eq!(asked.await, Err(CallError::TimedOut));
}
