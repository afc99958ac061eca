//! What operators see of messages that wait, and do with them.

use amqp::content::Properties;
use amqp::table::Value;

use super::{START_MS, assert_waiting, headers, node, pass, restarted, settle_down};
use crate::control::{ControlError, DelayedFilter, DelayedMessage};
use crate::tests::client::Client;
use crate::tests::exchange_types::{publish_with, take_all};
use crate::tests::node::Node;

/// Waits for what operators are answered; what has to be read for it is read.
fn wait_for<T>(node: &Node, answer: impl Future<Output = T>) -> T {
    let mut answer = std::pin::pin!(answer);
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    for _ in 0..10_000 {
        if let std::task::Poll::Ready(answer) = answer.as_mut().poll(&mut context) {
            return answer;
        }
        node.load();
    }
    panic!("no answer came");
}

/// Twenty messages, a second apart and numbered, of which the even ones have the header `even`; in memory or in segments.
fn twenty(is_spilled: bool) -> (Node, Client) {
    let (node, mut client) = node();
    for number in 0..20 {
        let mut headers = headers(Value::I64(10_000 + number * 1000));
        if number % 2 == 0 {
            headers = headers.with("even", Value::I64(number));
        }
        let properties =
            Properties { headers: Some(headers.as_table()), delivery_mode: Some(2), ..Properties::default() };
        let key = if number < 10 { "k" } else { "other" };
        publish_with(&mut client, "x", key, properties, &number.to_string());
    }
    if is_spilled {
        node.spill();
    }
    (node, client)
}

fn listed(node: &Node, filter: &DelayedFilter, after: Option<&str>, count: usize) -> (Vec<u64>, Option<String>) {
    let page = wait_for(node, node.broker.delayed_page("/", "x", filter, after, count)).unwrap();
    let number = |message: &DelayedMessage| (message.due_ms - START_MS - 10_000) / 1000;
    (page.messages.iter().map(number).collect(), page.next)
}

#[test]
fn what_waits_is_listed_page_by_page() {
    for is_spilled in [false, true] {
        let (node, _client) = twenty(is_spilled);
        let all = DelayedFilter::default();
        let (first, next) = listed(&node, &all, None, 15);
        assert_eq!(first, (0..15).collect::<Vec<_>>(), "{is_spilled}");
        let (rest, next) = listed(&node, &all, next.as_deref(), 15);
        assert_eq!((rest, next), ((15..20).collect(), None));
        let due =
            DelayedFilter { due_from_ms: Some(START_MS + 13_000), due_to_ms: Some(START_MS + 15_000), ..all.clone() };
        assert_eq!(listed(&node, &due, None, 100).0, [3, 4, 5]);
        let keyed = DelayedFilter { routing_key: Some(b"other".to_vec()), ..all.clone() };
        assert_eq!(listed(&node, &keyed, None, 3).0, [10, 11, 12]);
        let even = DelayedFilter { header: Some(("even".to_owned(), None)), ..keyed.clone() };
        assert_eq!(listed(&node, &even, None, 100).0, [10, 12, 14, 16, 18]);
        let one = DelayedFilter { header: Some(("even".to_owned(), Some("4".to_owned()))), ..all };
        assert_eq!(listed(&node, &one, None, 100).0, [4]);
    }
}

fn id_of(node: &Node, number: usize) -> String {
    let page = wait_for(node, node.broker.delayed_page("/", "x", &DelayedFilter::default(), None, 100)).unwrap();
    page.messages[number].id.clone()
}

#[test]
fn one_that_waits_is_seen_cancelled_and_gone_for_good() {
    for is_spilled in [false, true] {
        let (node, _client) = twenty(is_spilled);
        let id = id_of(&node, 7);
        let message = wait_for(&node, node.broker.delayed_message("/", "x", &id)).unwrap();
        assert_eq!(
            (message.body.as_deref(), &message.routing_key[..], message.is_durable),
            (Some(&b"7"[..]), &b"k"[..], true)
        );
        wait_for(&node, node.broker.cancel_delayed("/", "x", &id)).unwrap();
        let again = wait_for(&node, node.broker.cancel_delayed("/", "x", &id));
        assert!(matches!(again, Err(ControlError::NotFound(_))), "{again:?}");
        assert_waiting(&node, "x", 19);
        let (node, mut client) = restarted(node, 30_000);
        let expected: Vec<_> = (0..10).filter(|number| *number != 7).map(|number| number.to_string()).collect();
        assert_eq!(take_all(&node, &mut client, "q"), expected);
    }
}

#[test]
fn many_that_wait_are_cancelled_at_once() {
    for is_spilled in [false, true] {
        let (node, _client) = twenty(is_spilled);
        let even = DelayedFilter { header: Some(("even".to_owned(), None)), ..DelayedFilter::default() };
        let cancelled = wait_for(&node, node.broker.cancel_all_delayed("/", "x", &even)).unwrap();
        assert_eq!((cancelled.count, cancelled.is_partial), (10, false));
        let (node, mut client) = restarted(node, 30_000);
        assert_eq!(take_all(&node, &mut client, "q"), ["1", "3", "5", "7", "9"]);
        assert_waiting(&node, "x", 0);
    }
}

#[test]
fn one_that_waits_is_put_off_or_released_at_once() {
    for is_spilled in [false, true] {
        let (node, mut client) = twenty(is_spilled);
        let (second, ninth) = (id_of(&node, 2), id_of(&node, 9));
        let put_off = node.broker.reschedule_delayed("/", "x", &second, Some(START_MS + 60_000));
        let (id, _) = wait_for(&node, put_off).unwrap();
        assert_ne!(id, second);
        wait_for(&node, node.broker.reschedule_delayed("/", "x", &ninth, None)).unwrap();
        settle_down(&node);
        assert_eq!(take_all(&node, &mut client, "q"), ["9"]);
        let (node, mut client) = restarted(node, 59_999);
        let expected: Vec<_> = [0, 1, 3, 4, 5, 6, 7, 8].map(|number| number.to_string()).to_vec();
        assert_eq!(take_all(&node, &mut client, "q"), expected);
        pass(&node, 60_000);
        assert_eq!(take_all(&node, &mut client, "q"), ["2"]);
    }
}

#[test]
fn what_is_no_id_is_refused() {
    let (node, _client) = node();
    for id in ["", "7", "a-b", "1-", "99999999999999999-1"] {
        let answer = wait_for(&node, node.broker.cancel_delayed("/", "x", id));
        assert!(matches!(answer, Err(ControlError::Invalid(_))), "{id}: {answer:?}");
    }
    let answer = wait_for(&node, node.broker.cancel_delayed("/", "amq.direct", "1-1"));
    assert!(matches!(answer, Err(ControlError::NotFound(_))), "{answer:?}");
}
