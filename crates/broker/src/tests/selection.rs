//! Messages that operators browse, delete, move and send back, in memory and in segments.

use amqp::content::Properties;
use amqp::method::basic;
use amqp::table::{TableBuf, Value};

use super::client::{Client, Heard};
use super::exchange_types::{assert_done, bind, declare};
use super::node::{NOW, Node};
use super::operators::{connect, exchange_name, guest, node_with, permit, queue_name};
use crate::{
    BrowseRequest, BrowsedPage, Destination, MessageFilter, MessageId, MoveReport, RedriveTo, Removed, Selection,
    Start, VhostAccess,
};
use model::refusal::Outcome;

/// Waits for what operators are answered; what has to be read or synced for it is.
pub(super) fn wait_for<T>(node: &Node, answer: impl Future<Output = T>) -> T {
    let mut answer = std::pin::pin!(answer);
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    for _ in 0..100_000 {
        if let std::task::Poll::Ready(answer) = answer.as_mut().poll(&mut context) {
            return answer;
        }
        node.load();
        node.sync();
    }
    panic!("no answer came");
}

pub(super) fn all() -> Selection {
    of(MessageFilter::default())
}

fn of(filter: MessageFilter) -> Selection {
    Selection::Filter { filter, from: None, count_max: u64::MAX }
}

fn with_header(name: &str) -> MessageFilter {
    MessageFilter { header: Some((name.to_owned(), None)), ..MessageFilter::default() }
}

fn browse_as(
    node: &Node,
    access: &VhostAccess,
    queue: &str,
    start: Start,
    filter: &MessageFilter,
    count_max: usize,
) -> Outcome<BrowsedPage> {
    let queue = queue_name(queue);
    let request = BrowseRequest { queue: &queue, start, count_max, filter, body_len_max: 100, wants_unacked: false };
    wait_for(node, access.browse(&request))
}

fn browse(node: &Node, queue: &str, start: Start, filter: &MessageFilter, count_max: usize) -> BrowsedPage {
    browse_as(node, &guest(node), queue, start, filter, count_max).unwrap()
}

fn bodies(page: &BrowsedPage) -> Vec<String> {
    page.messages.iter().map(|message| String::from_utf8_lossy(&message.body).into_owned()).collect()
}

fn listed(node: &Node, queue: &str) -> Vec<String> {
    bodies(&browse(node, queue, Start::Head, &MessageFilter::default(), 1000))
}

fn delete(node: &Node, queue: &str, selection: &Selection) -> Removed {
    let removed = wait_for(node, guest(node).delete_messages(&queue_name(queue), selection)).unwrap();
    node.sync();
    removed
}

pub(super) fn try_move(
    node: &Node,
    queue: &str,
    selection: &Selection,
    destination: &Destination,
) -> Outcome<MoveReport> {
    let access = guest(node);
    wait_for(node, access.move_messages(&queue_name(queue), selection, &access, destination))
}

fn move_to(node: &Node, queue: &str, selection: &Selection, target: &str) -> MoveReport {
    try_move(node, queue, selection, &Destination::Queue(queue_name(target))).unwrap()
}

fn numbers(numbers: impl IntoIterator<Item = u32>) -> Vec<String> {
    numbers.into_iter().map(|number| number.to_string()).collect()
}

/// Twenty numbered messages in `q`, the even ones with a header: all in memory, all in a segment, or half and half with gaps.
fn twenty(how: u8) -> (Node, Client) {
    let node = Node::new();
    node.broker.engine.clock.set(NOW);
    let mut client = node.connect();
    client.declare("q");
    for number in 0..20_u32 {
        let headers = TableBuf::new().with("even", Value::I32(number as i32));
        let headers = (number % 2 == 0).then(|| headers.as_table());
        client.publish_with("q", Properties { headers, ..Properties::default() }, &number.to_string());
        node.broker.engine.clock.set(NOW + u64::from(number) + 1);
        if how == 1 && number == 19 || how == 2 && number % 6 == 5 {
            node.spill();
        }
    }
    (node, client)
}

#[test]
fn browsing_shows_messages_in_order_page_by_page_and_changes_nothing() {
    for how in 0..3 {
        let (node, mut client) = twenty(how);
        let everything = MessageFilter::default();
        let mut found = Vec::new();
        let mut start = Start::Head;
        loop {
            let page = browse(&node, "q", start, &everything, 7);
            found.extend(bodies(&page));
            let Some(next) = page.next else { break };
            start = Start::At(next);
        }
        assert_eq!(found, numbers(0..20), "{how}");
        assert_eq!(bodies(&browse(&node, "q", Start::Tail(5), &everything, 100)), numbers(15..20));
        assert_eq!(node.counts("q"), (20, 0));
        let mut all = Vec::new();
        for _ in 0..20 {
            client.get(1, "q", true);
            let heard = node.listen(&mut client);
            let [Heard::Message { body, redelivered, .. }] = heard.as_slice() else { panic!("{heard:?}") };
            assert!(!redelivered, "who browses takes nothing");
            all.push(String::from_utf8_lossy(body).into_owned());
        }
        assert_eq!(all, numbers(0..20));
    }
}

#[test]
fn only_messages_that_a_filter_means_are_shown() {
    for how in 0..3 {
        let (node, mut client) = twenty(how);
        let shown = |filter: &MessageFilter| bodies(&browse(&node, "q", Start::Head, filter, 100));
        let none = MessageFilter::default();
        assert_eq!(shown(&with_header("even")), numbers((0..20).step_by(2)));
        let six = MessageFilter { header: Some(("even".to_owned(), Some("6".to_owned()))), ..none.clone() };
        assert_eq!(shown(&six), ["6"]);
        let with_one = MessageFilter { body: Some(b"1".to_vec()), ..none.clone() };
        assert_eq!(shown(&with_one), numbers(std::iter::once(1).chain(10..20)));
        let then = MessageFilter { entered_from_ms: Some(NOW + 3), entered_to_ms: Some(NOW + 5), ..none.clone() };
        assert_eq!(shown(&then), numbers(3..=5));
        assert_eq!(shown(&MessageFilter { routing_key: Some(b"q".to_vec()), ..none.clone() }).len(), 20);
        assert!(shown(&MessageFilter { routing_key: Some(b"other".to_vec()), ..none.clone() }).is_empty());
        assert!(shown(&MessageFilter { exchange: Some(b"x".to_vec()), ..none.clone() }).is_empty());
        assert!(shown(&MessageFilter { is_dead: Some(true), ..none.clone() }).is_empty());
        assert!(shown(&MessageFilter { is_redelivered: Some(true), ..none.clone() }).is_empty());
        client.get(1, "q", false);
        let heard = node.listen(&mut client);
        let [Heard::Message { tag, .. }] = heard.as_slice() else { panic!("{heard:?}") };
        client.send(1, &basic::Nack { delivery_tag: *tag, multiple: false, requeue: true });
        assert_eq!(shown(&MessageFilter { is_redelivered: Some(true), ..none }), ["0"]);
    }
}

#[test]
fn a_request_looks_at_so_much_and_says_where_to_go_on() {
    let node = Node::new();
    let mut client = node.connect();
    client.declare("q");
    for number in 0..45_000_u32 {
        if !client.session.front.wants_input() {
            node.spill();
            client.hear();
        }
        client.publish_with("q", Properties::default(), if number == 44_999 { "last" } else { "x" });
        if number % 5000 == 0 && number < 30_000 {
            node.spill();
        } else if number % 1000 == 0 {
            node.sync();
        }
    }
    let filter = MessageFilter { body: Some(b"last".to_vec()), ..MessageFilter::default() };
    let first = browse(&node, "q", Start::Head, &filter, 10);
    assert!(first.messages.is_empty());
    let second = browse(&node, "q", Start::At(first.next.expect("there is more")), &filter, 10);
    assert!(second.messages.is_empty());
    let third = browse(&node, "q", Start::At(second.next.expect("there is more")), &filter, 10);
    assert_eq!((bodies(&third), third.next), (vec!["last".to_owned()], None));
    let removed = delete(&node, "q", &all());
    assert!((20_000..21_000).contains(&removed.count) && removed.next.is_some(), "{removed:?}");
    assert_eq!(node.counts("q").0, 45_000 - removed.count);
}

#[test]
fn higher_priorities_are_shown_first() {
    for is_spilled in [false, true] {
        let node = Node::new();
        let mut client = node.connect();
        client.declare_with("q", &[("x-max-priority", Value::I32(5))]);
        node.sync();
        for number in 0..12_u8 {
            let properties = Properties { priority: Some(number % 3), ..Properties::default() };
            client.publish_with("q", properties, &number.to_string());
        }
        if is_spilled {
            node.spill();
        }
        assert_eq!(listed(&node, "q"), numbers([2, 5, 8, 11, 1, 4, 7, 10, 0, 3, 6, 9]));
        let tail = bodies(&browse(&node, "q", Start::Tail(6), &MessageFilter::default(), 100));
        assert!(tail.len() >= 5 && numbers([7, 10, 0, 3, 6, 9]).ends_with(&tail), "{tail:?}");
        let page = browse(&node, "q", Start::Head, &MessageFilter::default(), 6);
        assert_eq!(page.next.map(|id| id.to_string()), Some("1-8".to_owned()));
        let removed = delete(&node, "q", &Selection::Ids(vec![page.messages[4].id, page.messages[1].id]));
        assert_eq!(removed.count, 2);
        let node = node.kill();
        assert_eq!(node.drain("q"), numbers([2, 8, 11, 4, 7, 10, 0, 3, 6, 9]));
    }
}

#[test]
fn unacked_messages_are_shown_with_who_has_them() {
    for how in 0..3 {
        let (node, mut client) = twenty(how);
        client.send(1, &basic::Qos { prefetch_count: 3, ..Default::default() });
        client.consume(1, "q", "tag", false);
        let heard = node.listen(&mut client);
        assert_eq!(heard.iter().filter(|heard| matches!(heard, Heard::Message { .. })).count(), 3);
        node.unload();
        let queue = queue_name("q");
        let none = MessageFilter::default();
        let request = BrowseRequest {
            queue: &queue,
            start: Start::Head,
            count_max: 2,
            filter: &none,
            body_len_max: 100,
            wants_unacked: true,
        };
        let page = wait_for(&node, guest(&node).browse(&request)).unwrap();
        assert_eq!(bodies(&page), numbers(0..2));
        let held_by = page.messages[0].held_by.as_ref().unwrap();
        assert_eq!(held_by.consumer_tag.as_deref(), Some("tag"));
        assert_eq!(held_by.channel.as_ref().map(|(_, number)| *number), Some(1));
        let start = Start::At(page.next.unwrap());
        let page = wait_for(&node, guest(&node).browse(&BrowseRequest { start, ..request })).unwrap();
        assert_eq!((bodies(&page), page.next), (numbers([2]), None));
        let removed = delete(&node, "q", &Selection::Ids(vec![page.messages[0].id]));
        assert_eq!(removed.count, 0, "what a consumer has is not taken from it");
        assert_eq!(listed(&node, "q"), numbers(3..20));
    }
}

#[test]
fn what_is_deleted_is_gone_for_good_and_nothing_else() {
    for how in 0..3 {
        let (node, _client) = twenty(how);
        let removed = delete(&node, "q", &of(with_header("even")));
        assert_eq!((removed.count, removed.next), (10, None));
        assert_eq!(listed(&node, "q"), numbers((1..20).step_by(2)));
        node.spill();
        let some = Selection::Filter { filter: MessageFilter::default(), from: None, count_max: 3 };
        let removed = delete(&node, "q", &some);
        assert!(removed.count == 3 && removed.next.is_some());
        assert_eq!(node.counts("q"), (7, 0));
        let node = node.kill();
        assert_eq!(node.drain("q"), numbers((7..20).step_by(2)), "{how}");
    }
}

#[test]
fn messages_move_to_another_queue_and_keep_what_they_are() {
    for how in 0..3 {
        let (node, mut client) = twenty(how);
        client.declare("r");
        let carried = move_to(&node, "q", &of(with_header("even")), "r");
        assert_eq!((carried.count, carried.unroutable_count, carried.next), (10, 0, None));
        let page = browse(&node, "r", Start::Head, &MessageFilter::default(), 100);
        assert_eq!(bodies(&page), numbers((0..20).step_by(2)));
        let message = &page.messages[3];
        assert_eq!((message.exchange.as_slice(), message.routing_key.as_slice()), (&b""[..], &b"r"[..]));
        let properties = Properties::decode(&message.properties).unwrap();
        assert_eq!(properties.headers.unwrap().get("even"), Some(Value::I32(6)));
        assert_eq!((properties.delivery_mode, message.is_durable), (Some(2), true));
        let node = node.kill();
        assert_eq!(node.drain("q"), numbers((1..20).step_by(2)));
        assert_eq!(node.drain("r"), numbers((0..20).step_by(2)));
    }
}

#[test]
fn messages_move_by_an_exchange_and_stay_where_no_queue_takes_them() {
    let (node, mut client) = twenty(2);
    client.declare("r");
    assert_done(declare(&mut client, "x", "direct", amqp::table::Table::EMPTY));
    let to = |routing_key: Option<&[u8]>| Destination::Exchange {
        exchange: exchange_name("x"),
        routing_key: routing_key.map(<[u8]>::to_vec),
    };
    let carried = try_move(&node, "q", &all(), &to(None)).unwrap();
    assert_eq!((carried.count, carried.unroutable_count), (0, 20));
    assert_done(bind(&mut client, "x", "r", "k"));
    let carried = try_move(&node, "q", &of(with_header("even")), &to(Some(b"k"))).unwrap();
    assert_eq!((carried.count, carried.unroutable_count), (10, 0));
    // Those that come back to where they are stay where they are.
    assert_done(bind(&mut client, "x", "q", "k"));
    let carried = try_move(&node, "q", &all(), &to(Some(b"k"))).unwrap();
    assert_eq!((carried.count, carried.unroutable_count), (0, 10));
    assert_eq!((node.counts("q"), node.counts("r")), ((10, 0), (10, 0)));
}

#[test]
fn a_queue_that_refuses_more_gets_no_more() {
    let (node, mut client) = twenty(1);
    let limits = [("x-max-length", Value::I32(4)), ("x-overflow", Value::LongStr(b"reject-publish"))];
    client.declare_with("r", &limits);
    let carried = move_to(&node, "q", &all(), "r");
    assert_eq!((carried.count, carried.refused_count), (4, 16));
    assert_eq!((listed(&node, "q"), listed(&node, "r")), (numbers(4..20), numbers(0..4)));
}

#[test]
fn what_would_be_dropped_as_a_duplicate_stays_where_it_is() {
    let (node, mut client) = twenty(2);
    let by_number =
        [("x-message-deduplication", Value::Bool(true)), ("x-deduplication-header", Value::LongStr(b"even"))];
    client.declare_with("r", &by_number);
    for number in [4, 8] {
        let headers = TableBuf::new().with("even", Value::I32(number));
        let properties =
            Properties { headers: Some(headers.as_table()), delivery_mode: Some(2), ..Properties::default() };
        client.publish_with("r", properties, "first");
    }
    let carried = move_to(&node, "q", &of(with_header("even")), "r");
    assert_eq!((carried.count, carried.refused_count), (8, 2));
    let node = node.kill();
    assert_eq!(node.drain("q").len(), 12);
    assert_eq!(node.drain("r").len(), 10);
}

#[test]
fn who_waits_in_the_target_gets_what_is_moved_there() {
    let (node, mut client) = twenty(1);
    client.declare("r");
    client.consume(1, "r", "c", true);
    node.listen(&mut client);
    assert_eq!(move_to(&node, "q", &of(with_header("even")), "r").count, 10);
    let heard = node.listen(&mut client);
    assert_eq!(heard.iter().filter(|heard| matches!(heard, Heard::Message { redelivered: false, .. })).count(), 10);
}

/// `work` gives what it rejects to `dead`, and what is too much; five messages are there of which three were rejected.
fn with_dead_letters(is_spilled: bool) -> (Node, Client) {
    let node = Node::new();
    let mut client = node.connect();
    let text = |text: &'static str| Value::LongStr(text.as_bytes());
    let dead = [("x-dead-letter-exchange", text("")), ("x-dead-letter-routing-key", text("dead"))];
    client.declare_with("work", &dead);
    client.declare_with("other", &dead);
    client.declare("dead");
    for (queue, number) in [("work", 0), ("work", 1), ("other", 2)] {
        client.publish_with(queue, Properties::default(), &number.to_string());
        client.get(1, queue, false);
        let heard = node.listen(&mut client);
        let [Heard::Message { tag, .. }] = heard.as_slice() else { panic!("{heard:?}") };
        client.send(1, &basic::Nack { delivery_tag: *tag, multiple: false, requeue: false });
    }
    client.publish_with("dead", Properties::default(), "3");
    if is_spilled {
        node.spill();
    }
    (node, client)
}

#[test]
fn dead_letters_go_back_to_where_they_came_from() {
    for is_spilled in [false, true] {
        let (node, mut client) = with_dead_letters(is_spilled);
        let rejected = MessageFilter { death_reason: Some("rejected".to_owned()), ..MessageFilter::default() };
        assert_eq!(bodies(&browse(&node, "dead", Start::Head, &rejected, 100)), numbers(0..3));
        client.send(1, &amqp::method::queue::Delete { queue: b"other", ..Default::default() });
        client.hear();
        let carried = wait_for(&node, guest(&node).redrive(&queue_name("dead"), &all(), RedriveTo::Last)).unwrap();
        assert_eq!((carried.count, carried.not_dead_count, carried.unroutable_count), (2, 1, 1));
        assert_eq!(carried.missing.into_iter().collect::<Vec<_>>(), [("other".to_owned(), 1)]);
        let page = browse(&node, "work", Start::Head, &MessageFilter::default(), 100);
        assert_eq!(bodies(&page), numbers(0..2));
        let properties = Properties::decode(&page.messages[0].properties).unwrap();
        assert!(properties.headers.unwrap().get("x-death").is_some(), "what happened to it is still to be seen");
        let node = node.kill();
        assert_eq!((node.drain("dead"), node.drain("work")), (numbers(2..4), numbers(0..2)));
    }
}

/// They were counted among those that no queue takes.
#[test]
fn dead_letters_that_are_where_they_died_stay_there() {
    let (node, _client) = with_dead_letters(false);
    let redrive =
        |queue: &str| wait_for(&node, guest(&node).redrive(&queue_name(queue), &all(), RedriveTo::Last)).unwrap();
    assert_eq!(redrive("dead").count, 3);
    let carried = redrive("work");
    assert_eq!((carried.count, carried.already_there_count, carried.unroutable_count), (0, 2, 0));
    assert_eq!(node.counts("work"), (2, 0));
}

#[test]
fn a_dead_letter_that_dies_again_is_counted_on() {
    let (node, mut client) = with_dead_letters(false);
    for _ in 0..3 {
        wait_for(&node, guest(&node).redrive(&queue_name("dead"), &all(), RedriveTo::First)).unwrap();
        client.get(1, "work", false);
        let heard = node.listen(&mut client);
        let [Heard::Message { tag, .. }] = heard.as_slice() else { panic!("{heard:?}") };
        client.send(1, &basic::Nack { delivery_tag: *tag, multiple: false, requeue: false });
    }
    let page = browse(&node, "dead", Start::Tail(1), &MessageFilter::default(), 1);
    let properties = Properties::decode(&page.messages[0].properties).unwrap();
    let Some(Value::Array(deaths)) = properties.headers.unwrap().get("x-death") else { panic!("it died") };
    let Some(Value::Table(death)) = deaths.iter().next() else { panic!("it died") };
    assert!(death.get("count").and_then(|count| count.as_i64()) > Some(1));
}

#[test]
fn who_may_not_read_or_write_may_not_browse_or_move() {
    let node = node_with("q|r", "r", "q");
    let mut client = node.connect();
    client.declare("q");
    client.declare("r");
    client.publish_with("q", Properties::default(), "1");
    drop(connect(&node));
    let ann = || {
        let identity = crate::Identity::stored(node.broker.user("ann").unwrap());
        let actor = crate::Actor { identity: std::sync::Arc::new(identity), origin: super::operators::over_http() };
        super::operators::block_on(node.broker.enter(&actor, "/")).unwrap()
    };
    let everything = MessageFilter::default();
    assert_eq!(browse_as(&node, &ann(), "q", Start::Head, &everything, 10).unwrap().messages.len(), 1);
    let code = |refusal: Box<model::refusal::Refusal>| crate::reply_code(refusal.kind).code();
    assert_eq!(browse_as(&node, &ann(), "r", Start::Head, &everything, 10).map_err(code).unwrap_err(), 403);
    let to_r = Destination::Queue(queue_name("r"));
    let moved = wait_for(&node, ann().move_messages(&queue_name("q"), &all(), &ann(), &to_r));
    assert_eq!(moved.map_err(code).unwrap_err(), 403, "the default exchange is not among those to write to");
    let deleted = wait_for(&node, ann().delete_messages(&queue_name("r"), &all()));
    assert_eq!(deleted.map_err(code).unwrap_err(), 403);
    permit(&node, "", "amq.default", "q");
    let moved = wait_for(&node, ann().move_messages(&queue_name("q"), &all(), &ann(), &to_r));
    assert_eq!(moved.unwrap().count, 1);
    let missing = try_move(&node, "q", &all(), &Destination::Queue(queue_name("none")));
    assert_eq!(missing.map_err(code).unwrap_err(), 404);
    let same = try_move(&node, "q", &all(), &Destination::Queue(queue_name("q")));
    assert_eq!(same.map_err(code).unwrap_err(), 406);
}

#[test]
fn ids_are_read_as_they_are_written() {
    let id: MessageId = "3-18".parse().unwrap();
    assert_eq!(id.to_string(), "3-18");
    for text in ["", "3", "a-1", "1-b", "-1-1", "300-1", "1-99999999999999999999", "1-9223372036854775808"] {
        assert!(text.parse::<MessageId>().is_err(), "{text}");
    }
}

#[test]
fn compaction_does_not_bring_back_what_was_deleted() {
    let (node, mut client) = twenty(2);
    for number in 20..400_u32 {
        client.publish_with("q", Properties::default(), &number.to_string());
        if number % 40 == 0 {
            node.spill();
        }
    }
    let mut expected: Vec<String> = numbers(0..400);
    for digit in ["3", "7", "1"] {
        let filter = MessageFilter { body: Some(digit.as_bytes().to_vec()), ..MessageFilter::default() };
        delete(&node, "q", &of(filter));
        expected.retain(|body| !body.contains(digit));
        while node.broker.engine.store.reclaim_once(&node.residents).unwrap().is_some() {}
        node.sync();
        assert_eq!(listed(&node, "q"), expected);
    }
    node.spill();
    let node = node.kill();
    assert_eq!(node.drain("q"), expected);
}
