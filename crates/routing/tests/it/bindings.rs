//! Binding, unbinding and listing.

use amqp::table::{Table, TableBuf, Value};
use routing::ExchangeType::{Direct, Fanout};
use routing::{BindError, Declaration, Destination};

use crate::broker::{Vhost, declaration, describe};

#[test]
fn binding_twice_is_once() {
    let mut vhost = Vhost::with_queues(&["q"]);
    vhost.bind("amq.direct", "q:q", "k");
    assert_eq!(vhost.try_bind("amq.direct", "q:q", "k", Table::EMPTY), Ok(false));
    assert_eq!(vhost.exchanges.binding_count(), 1);
    assert_eq!(vhost.unbind("amq.direct", "q:q", "k").bindings.len(), 1);
    assert_eq!(vhost.unbind("amq.direct", "q:q", "k").bindings.len(), 0);
}

#[test]
fn arguments_make_another_binding_but_their_order_does_not() {
    let mut vhost = Vhost::with_queues(&["q"]);
    let table = || TableBuf::new().with("a", Value::I32(1)).with("b", Value::I32(2));
    let reordered = TableBuf::new().with("b", Value::I32(2)).with("a", Value::I32(1));
    let other_width = TableBuf::new().with("a", Value::I64(1)).with("b", Value::I32(2));
    vhost.bind_with("amq.fanout", "q:q", &table());
    assert_eq!(vhost.try_bind("amq.fanout", "q:q", "", reordered.as_table()), Ok(false));
    vhost.bind_with("amq.fanout", "q:q", &other_width);
    vhost.bind("amq.fanout", "q:q", "");
    assert_eq!(vhost.exchanges.binding_count(), 3);
    let removed = vhost.try_unbind("amq.fanout", "q:q", "", reordered.as_table()).expect("unbound");
    assert_eq!(removed.bindings[0].arguments, table());
}

#[test]
fn what_is_missing_is_told_apart() {
    let mut vhost = Vhost::with_queues(&["q"]);
    let mut check = |source, to, expected| assert_eq!(vhost.try_bind(source, to, "", Table::EMPTY), Err(expected));
    check("nowhere", "q:q", BindError::SourceMissing);
    check("nowhere", "q:none", BindError::SourceMissing);
    check("amq.direct", "q:none", BindError::DestinationMissing);
    check("amq.direct", "e:none", BindError::DestinationMissing);
    check("", "q:q", BindError::DefaultExchange);
    check("amq.direct", "e:", BindError::DefaultExchange);
}

#[test]
fn unbinding_what_is_not_there_is_no_error() {
    let mut vhost = Vhost::with_queues(&["q"]);
    for (source, to) in [("nowhere", "q:q"), ("amq.direct", "q:none"), ("amq.direct", "e:none"), ("amq.direct", "q:q")]
    {
        assert_eq!(vhost.unbind(source, to, ""), routing::Removed::default());
    }
    assert_eq!(vhost.try_unbind("", "q:q", "q", Table::EMPTY), Err(BindError::DefaultExchange));
}

#[test]
fn bindings_are_listed_from_both_ends() {
    let mut vhost = Vhost::with_queues(&["q", "r"]);
    vhost.declare("x", Fanout);
    vhost.bind("x", "q:q", "1");
    vhost.bind("x", "q:r", "2");
    vhost.bind("amq.direct", "e:x", "3");
    let exchanges = &vhost.exchanges;
    let check = |found: Vec<String>, expected: &[&str]| {
        let mut found = found;
        found.sort();
        assert_eq!(found, expected);
    };
    check(exchanges.bindings_from(b"x").map(|it| describe(&it)).collect(), &["x --1--> q:q {}", "x --2--> q:r {}"]);
    check(exchanges.bindings_from(b"").map(|it| describe(&it)).collect(), &[" --q--> q:q {}", " --r--> q:r {}"]);
    check(exchanges.bindings_from(b"nowhere").map(|it| describe(&it)).collect(), &[]);
    let q = Destination::Queue(exchanges.queue(b"q").expect("it was added"));
    check(exchanges.bindings_to(q).map(|it| describe(&it)).collect(), &[" --q--> q:q {}", "x --1--> q:q {}"]);
    let x = Destination::Exchange(b"x");
    check(exchanges.bindings_to(x).map(|it| describe(&it)).collect(), &["amq.direct --3--> e:x {}"]);
    assert_eq!((exchanges.bindings().count(), exchanges.binding_count()), (5, 3));
}

#[test]
fn a_binding_lasts_if_both_ends_do() {
    let mut vhost = Vhost::with_queues(&["durable"]);
    vhost.exchanges.queue_added(b"transient", model::ids::QueueId(99), false);
    let transient = Declaration { is_durable: false, ..declaration("x", Direct) };
    assert!(vhost.exchanges.declare(&transient));
    for source in ["x", "amq.direct"] {
        for to in ["q:durable", "q:transient", "e:x", "e:amq.fanout"] {
            vhost.bind(source, to, "");
        }
    }
    let mut durable: Vec<_> = vhost.exchanges.bindings().filter(|it| it.is_durable).map(|it| describe(&it)).collect();
    durable.sort();
    assert_eq!(
        durable,
        [" --durable--> q:durable {}", "amq.direct ----> e:amq.fanout {}", "amq.direct ----> q:durable {}",]
    );
}
