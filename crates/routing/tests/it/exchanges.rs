//! Declaring and deleting exchanges.

use routing::ExchangeType::{Direct, Fanout, Headers, Topic};
use routing::{DEFAULT_EXCHANGE, Declaration, DeclareError, Declared, DeleteError, Inequivalence};

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
fn declaring_again_is_checked_field_by_field() {
    let mut vhost = Vhost::new();
    let first = Declaration { alternate: Some(b"spare"), ..declaration("x", Topic) };
    assert_eq!(vhost.exchanges.declare(&first), Ok(Declared::New));
    assert_eq!(vhost.exchanges.declare(&first), Ok(Declared::Existing));
    let mut check = |declaration: Declaration<'_>, expected: Inequivalence| {
        assert_eq!(vhost.exchanges.declare(&declaration), Err(DeclareError::Inequivalent(expected)));
    };
    check(
        Declaration { kind: Direct, is_durable: false, ..first },
        Inequivalence::Type { received: Direct, current: Topic },
    );
    check(Declaration { is_durable: false, is_internal: true, ..first }, Inequivalence::Durable { received: false });
    check(Declaration { is_auto_delete: true, ..first }, Inequivalence::AutoDelete { received: true });
    check(Declaration { is_internal: true, ..first }, Inequivalence::Internal { received: true });
    let current = Some(Box::from(*b"spare"));
    let received = Some(Box::from(*b"other"));
    check(
        Declaration { alternate: None, ..first },
        Inequivalence::Alternate { received: None, current: current.clone() },
    );
    check(Declaration { alternate: Some(b"other"), ..first }, Inequivalence::Alternate { received, current });
}

#[test]
fn the_default_exchange_is_neither_declared_nor_deleted() {
    let mut vhost = Vhost::new();
    assert_eq!(vhost.exchanges.declare(&declaration("", Direct)), Err(DeclareError::DefaultExchange));
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
    assert_eq!(vhost.exchanges.declare(&declaration("x", Direct)), Ok(Declared::Existing));
    assert_eq!(vhost.try_bind("x", "q:q", "k", amqp::Table::EMPTY), Ok(false));
    vhost.unbind("x", "q:q", "other");
    vhost.exchanges.set_policy_alternate(b"x", Some(b"spare"));
    assert_eq!(vhost.exchanges.epoch(), epoch);
}
