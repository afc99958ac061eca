//! Many queues at one exchange. Nothing is timed; what is quadratic would not end.

use routing::ExchangeType::{Direct, Fanout, Headers, Topic};

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
