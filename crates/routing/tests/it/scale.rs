//! Many queues at one exchange. Nothing is timed; what is quadratic would not end.

use routing::ExchangeType::{ConsistentHash, Direct, Fanout, Headers, ModulusHash, Topic};

use amqp::table::{TableBuf, Value};
use routing::{ExchangeType, Routable};

use crate::broker::Vhost;

const QUEUE_COUNT: u32 = 20_000;

#[track_caller]
fn check(kind: ExchangeType, key: impl Fn(u32) -> String, reached_count: usize) {
    let mut vhost = Vhost::new();
    vhost.declare("x", kind);
    let arguments =
        |number: u32| TableBuf::new().with("a", Value::Bool(true)).with("b", Value::LongStr(key(number).as_bytes()));
    for number in 0..QUEUE_COUNT {
        vhost.add_queue(&format!("q{number}"));
        let to = format!("q:q{number}");
        assert_eq!(vhost.try_bind("x", &to, &key(number), arguments(number).as_table()), Ok(true));
    }
    let headers = arguments(7);
    let reached =
        vhost.route("x", &Routable { headers: Some(headers.as_table()), ..Routable::by_key(b"orders.7.paid") });
    assert_eq!(reached.len(), reached_count);
    for number in 0..QUEUE_COUNT {
        assert_eq!(vhost.delete_queue(&format!("q{number}")).bindings.len(), 1);
    }
    assert_eq!(vhost.exchanges.binding_count(), 0);
    vhost.exchanges.check();
}

#[test]
fn many_keys_at_a_direct_exchange() {
    check(Direct, |number| format!("orders.{number}.paid"), 1);
}

#[test]
fn one_key_at_a_direct_exchange() {
    check(Direct, |_| "orders.7.paid".to_owned(), QUEUE_COUNT as usize);
}

#[test]
fn many_queues_at_a_fanout_exchange() {
    check(Fanout, |_| String::new(), QUEUE_COUNT as usize);
}

#[test]
fn many_patterns_at_a_topic_exchange() {
    check(Topic, |number| format!("orders.{number}.#"), 1);
}

#[test]
fn one_pattern_at_a_topic_exchange() {
    check(Topic, |_| "*.*.paid".to_owned(), QUEUE_COUNT as usize);
}

#[test]
fn many_conditions_at_a_headers_exchange() {
    check(Headers, |number| format!("orders.{number}.paid"), 1);
}

/// Binds one queue very many times, and removes all of that in pieces.
#[track_caller]
fn check_one_queue(kind: ExchangeType, key: impl Fn(u32) -> String) {
    const BINDING_COUNT: u32 = 60_000;
    const PIECE_COUNT: usize = 1_000;
    let mut vhost = Vhost::new();
    vhost.declare("x", kind);
    vhost.add_queue("q");
    vhost.add_queue("r");
    assert_eq!(vhost.try_bind("x", "q:r", &key(1), TableBuf::new().as_table()), Ok(true));
    for number in 0..BINDING_COUNT {
        let arguments = TableBuf::new().with("a", Value::U32(number));
        assert_eq!(vhost.try_bind("x", "q:q", &key(number), arguments.as_table()), Ok(true));
    }
    let queue = vhost.exchanges.queue(b"q").expect("it is there");
    assert_eq!(vhost.exchanges.binding_count_of_queue(queue), BINDING_COUNT as usize);
    for _ in 0..30 {
        let (before, epoch) = (vhost.exchanges.binding_count_of_queue(queue), vhost.exchanges.epoch());
        assert_eq!(vhost.exchanges.unbind_from_queue(queue, PIECE_COUNT).bindings.len(), PIECE_COUNT);
        assert_eq!(vhost.exchanges.binding_count_of_queue(queue), before - PIECE_COUNT);
        assert!(vhost.exchanges.epoch() > epoch);
    }
    assert_eq!(vhost.delete_queue("q").bindings.len(), BINDING_COUNT as usize - 30 * PIECE_COUNT);
    assert_eq!(vhost.exchanges.binding_count(), 1);
    vhost.exchanges.check();
}

#[test]
fn many_bindings_of_one_queue() {
    check_one_queue(Direct, |number| format!("orders.{number}.paid"));
    check_one_queue(Direct, |_| "orders".to_owned());
    check_one_queue(Topic, |number| format!("orders.{number}.#"));
    check_one_queue(Headers, |_| String::new());
}

#[test]
fn many_bindings_of_one_queue_at_exchanges_that_hash() {
    check_one_queue(ConsistentHash, |number| (number % 10_000 + 1).to_string());
    check_one_queue(ModulusHash, |number| number.to_string());
}

#[test]
fn an_exchange_is_unbound_in_pieces_and_stays() {
    let mut vhost = Vhost::with_queues(&["q"]);
    vhost.declare_auto_delete("x");
    for number in 0..10 {
        vhost.bind("x", "q:q", &number.to_string());
        vhost.bind("amq.topic", "e:x", &number.to_string());
    }
    assert_eq!(vhost.exchanges.binding_count_of_exchange(b"x"), 20);
    let counts: Vec<_> = (0..3).map(|_| vhost.exchanges.unbind_from_exchange(b"x", 8).bindings.len()).collect();
    assert_eq!(counts, [8, 8, 4]);
    assert!(vhost.exchanges.exchange(b"x").is_some());
    vhost.exchanges.check();
}
