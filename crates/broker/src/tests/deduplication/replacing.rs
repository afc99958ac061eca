//! Queues in which a new message takes the place of its duplicate.

use amqp::table::Value;

use super::{assert_ready, deduplicated_count, get_one, node_with_queue, publish, publish_as, restart};

const REPLACING: [(&str, Value<'_>); 1] = [("x-deduplication-replaces", Value::Bool(true))];

#[test]
fn a_new_message_takes_the_place_of_one_that_is_ready() {
    let (node, mut client) = node_with_queue(&REPLACING);
    publish(&mut client, "a", "1");
    publish(&mut client, "b", "2");
    publish(&mut client, "a", "3");
    assert_eq!((node.counts("q").0, deduplicated_count(&node)), (2, 1));
    let tag = get_one(&node, &mut client, "q");
    publish(&mut client, "b", "4");
    assert_eq!(node.counts("q"), (2, 1), "what a consumer has stays with it");
    client.ack(1, tag, false);
    publish(&mut client, "b", "5");
    let (node, mut client, record_count) = restart(node);
    assert_eq!(record_count, 3);
    publish(&mut client, "a", "6");
    assert_eq!(node.drain("q"), ["5", "6"]);
    let (_, _, record_count) = restart(node);
    assert_eq!(record_count, 1, "whose they were");
}

#[test]
fn a_message_in_a_segment_gives_way_when_it_is_read() {
    let (node, mut client) = node_with_queue(&REPLACING);
    for (key, body) in [("a", "1"), ("b", "2"), ("c", "3")] {
        publish(&mut client, key, body);
    }
    node.spill();
    client.hear();
    publish(&mut client, "b", "4");
    publish(&mut client, "b", "5");
    assert_ready(&node, 4);
    // Before it could be read.
    let (node, mut client, record_count) = restart(node);
    assert_eq!(record_count, 1 + 4, "whose they are; a, c, and b twice");
    assert_ready(&node, 4);
    node.load();
    assert_ready(&node, 3);
    publish(&mut client, "a", "6");
    node.load();
    publish(&mut client, "c", "7");
    assert_ready(&node, 4);
    node.load();
    assert_ready(&node, 3);
    assert_eq!(node.drain("q"), ["5", "6", "7"]);
    let (node, mut client, record_count) = restart(node);
    assert_eq!((record_count, node.counts("q")), (1, (0, 0)));
    publish(&mut client, "a", "8");
    assert_eq!(node.drain("q"), ["8"]);
}

#[test]
fn what_lasts_does_not_give_way_to_what_does_not() {
    let (node, mut client) = node_with_queue(&REPLACING);
    publish(&mut client, "a", "1");
    publish_as(&mut client, "", "a", "2", 1);
    assert_ready(&node, 2);
    publish_as(&mut client, "", "b", "3", 1);
    publish_as(&mut client, "", "b", "4", 1);
    assert_ready(&node, 3);
    publish(&mut client, "b", "5");
    let (node, _, _) = restart(node);
    assert_eq!(node.drain("q"), ["1", "5"]);
}
