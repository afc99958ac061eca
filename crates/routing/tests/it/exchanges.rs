//! Declaring and deleting exchanges.

use routing::ExchangeType::{Direct, Fanout, Headers, Topic};
use routing::{DEFAULT_EXCHANGE, Declaration, DeleteError};

use crate::broker::{Vhost, declaration};

#[test]
fn a_vhost_begins_with_the_predeclared_exchanges() {
    let vhost = Vhost::new();
    let mut found: Vec<_> = vhost
        .exchanges
        .exchanges()
        .map(|it| (String::from_utf8_lossy(&it.name).into_owned(), it.kind, it.is_durable, it.is_internal))
        .collect();
    found.sort_by(|a, b| a.0.cmp(&b.0));
    let expected = [
        ("", Direct, true, false),
        ("amq.direct", Direct, true, false),
        ("amq.fanout", Fanout, true, false),
        ("amq.headers", Headers, true, false),
        ("amq.match", Headers, true, false),
        ("amq.rabbitmq.trace", Topic, true, true),
        ("amq.topic", Topic, true, false),
    ];
    assert_eq!(found, expected.map(|(name, kind, durable, internal)| (name.to_owned(), kind, durable, internal)));
    assert_eq!(vhost.exchanges.exchange_count(), 7);
}

#[test]
fn declaring_again_changes_nothing() {
    let mut vhost = Vhost::new();
    assert!(vhost.exchanges.declare(&declaration("x", Topic)));
    assert!(!vhost.exchanges.declare(&Declaration { is_durable: false, ..declaration("x", Direct) }));
    let exchange = vhost.exchanges.exchange(b"x").expect("declared");
    assert_eq!((exchange.kind, exchange.is_durable), (Topic, true));
}

#[test]
fn the_default_exchange_is_neither_declared_nor_deleted() {
    let mut vhost = Vhost::new();
    assert!(!vhost.exchanges.declare(&declaration("", Direct)));
    assert_eq!(vhost.exchanges.delete(DEFAULT_EXCHANGE, false), Err(DeleteError::Predeclared));
    assert_eq!(vhost.exchanges.delete(b"amq.topic", false), Err(DeleteError::Predeclared));
}

#[test]
fn an_exchange_in_use_is_kept_if_unused_was_asked() {
    let mut vhost = Vhost::with_queues(&["q"]);
    vhost.declare("x", Direct);
    vhost.declare("y", Direct);
    vhost.bind("x", "e:y", "");
    vhost.bind("y", "q:q", "");
    assert_eq!(vhost.exchanges.delete(b"y", true), Err(DeleteError::InUse));
    vhost.unbind("y", "q:q", "");
    // Being a destination is no use.
    assert_eq!(vhost.exchanges.delete(b"y", true).expect("deleted").bindings.len(), 1);
    assert_eq!(vhost.exchanges.delete(b"y", true), Err(DeleteError::Missing));
    assert!(vhost.exchanges.exchange(b"y").is_none());
}

#[test]
fn the_epoch_stands_still_when_nothing_changes() {
    let mut vhost = Vhost::with_queues(&["q"]);
    vhost.declare("x", Direct);
    vhost.bind("x", "q:q", "k");
    vhost.exchanges.set_policy_alternate(b"x", Some(b"spare"));
    let epoch = vhost.exchanges.epoch();
    assert!(!vhost.exchanges.declare(&declaration("x", Direct)));
    assert_eq!(vhost.try_bind("x", "q:q", "k", amqp::Table::EMPTY), Ok(false));
    vhost.unbind("x", "q:q", "other");
    vhost.exchanges.set_policy_alternate(b"x", Some(b"spare"));
    assert_eq!(vhost.exchanges.epoch(), epoch);
}
