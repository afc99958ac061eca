//! How long what waits lasts: over restarts, and no longer than its exchange.

use amqp::content::Properties;
use amqp::method::exchange;
use amqp::table::Value;

use super::{assert_waiting, catch_up, delay_by, delayed_type, headers, node, pass, ready, restarted};
use crate::tests::exchange_types::{assert_done, bind, declare, publish_with, take_all};
use crate::tests::operators::operator;

#[test]
fn what_waits_outlives_a_restart_and_what_was_released_does_not_come_back() {
    let (node, mut client) = node();
    for (delay_ms, body) in [(100, "first"), (5_000, "second"), (60_000, "third")] {
        delay_by(&mut client, "x", "k", delay_ms, body);
    }
    let headers = headers(Value::I32(5_000));
    publish_with(&mut client, "x", "k", Properties { headers: Some(headers.as_table()), ..Default::default() }, "t");
    pass(&node, 100);
    assert_waiting(&node, "x", 3);
    let (node, mut client) = restarted(node, 200);
    assert_eq!(take_all(&node, &mut client, "q"), ["first"]);
    assert_waiting(&node, "x", 3);
    node.spill();
    let (node, mut client) = restarted(node, 6_000);
    assert_eq!(take_all(&node, &mut client, "q"), ["second", "t"], "it was due while no consumer was there");
    delay_by(&mut client, "x", "k", 54_000, "fourth");
    pass(&node, 60_000);
    assert_eq!(take_all(&node, &mut client, "q"), ["third", "fourth"]);
    let (node, mut client) = restarted(node, 70_000);
    assert!(take_all(&node, &mut client, "q").is_empty());
    assert_waiting(&node, "x", 0);
}

#[test]
fn what_lies_in_segments_is_read_before_it_is_due() {
    let (node, mut client) = node();
    for number in 0..500 {
        delay_by(&mut client, "x", "k", 60_000 + number * 10, &number.to_string());
        catch_up(&node, &mut client);
    }
    node.spill();
    node.unload();
    assert_waiting(&node, "x", 500);
    for after_ms in (55_000..66_000).step_by(500) {
        pass(&node, after_ms);
    }
    let expected: Vec<_> = (0..500).map(|number| number.to_string()).collect();
    assert_eq!(take_all(&node, &mut client, "q"), expected);
    assert_waiting(&node, "x", 0);
}

#[test]
fn a_deleted_exchange_takes_with_it_what_waits() {
    let (node, mut client) = node();
    delay_by(&mut client, "x", "k", 100, "lost");
    client.send(1, &exchange::Delete { exchange: b"x", ..Default::default() });
    node.sync();
    assert_done(client.hear_one());
    assert!(node.broker.engine.delays.all().is_empty());
    assert_done(declare(&mut client, "x", "x-delayed-message", delayed_type("direct").as_table()));
    assert_done(bind(&mut client, "x", "q", "k"));
    pass(&node, 100);
    assert_eq!(ready(&node, "q"), 0);
    assert_waiting(&node, "x", 0);
    let (node, _client) = restarted(node, 100);
    assert_waiting(&node, "x", 0);
    assert!(node.broker.engine.delays.all().is_empty());
}

#[test]
fn a_deleted_vhost_takes_with_it_what_waits() {
    let (node, mut client) = node();
    delay_by(&mut client, "x", "k", 100, "lost");
    node.broker.delete_vhost(&operator(), "/").unwrap();
    assert!(node.broker.engine.delays.all().is_empty());
    pass(&node, 100);
    node.sync();
    let node = node.kill();
    assert!(node.broker.engine.delays.all().is_empty());
}
