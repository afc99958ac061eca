//! What is deleted with a queue, an exchange or a binding.

use routing::ExchangeType::{Direct, Fanout, Headers, Topic};

use crate::broker::{Vhost, describe_removed};

#[track_caller]
fn check(removed: &routing::Removed, bindings: &[&str], exchanges: &[&str]) {
    let found = describe_removed(removed);
    assert_eq!(
        (found.0.iter().map(String::as_str).collect::<Vec<_>>(), found.1),
        (bindings.to_vec(), exchanges.iter().map(|it| (*it).to_owned()).collect())
    );
}

#[test]
fn an_auto_delete_exchange_goes_with_its_last_binding() {
    let mut vhost = Vhost::with_queues(&["q", "r"]);
    vhost.declare_auto_delete("x");
    vhost.bind("x", "q:q", "k");
    vhost.bind("x", "q:r", "k");
    check(&vhost.unbind("x", "q:q", "k"), &["x --k--> q:q {}"], &[]);
    check(&vhost.unbind("x", "q:q", "k"), &[], &[]);
    check(&vhost.unbind("x", "q:r", "k"), &["x --k--> q:r {}"], &["x"]);
}

#[test]
fn an_auto_delete_exchange_without_bindings_stays_until_it_had_one() {
    let mut vhost = Vhost::with_queues(&["q"]);
    vhost.declare_auto_delete("x");
    check(&vhost.unbind("x", "q:q", "k"), &[], &[]);
    check(&vhost.delete_queue("q"), &[], &[]);
    assert!(vhost.exchanges.exchange(b"x").is_some());
}

#[test]
fn deleting_a_queue_takes_a_chain_of_auto_delete_exchanges() {
    let mut vhost = Vhost::with_queues(&["q"]);
    for name in ["x", "y", "z"] {
        vhost.declare_auto_delete(name);
    }
    vhost.bind("x", "e:y", "1");
    vhost.bind("y", "e:z", "2");
    vhost.bind("z", "q:q", "3");
    vhost.bind("amq.topic", "e:y", "4");
    let expected = ["amq.topic --4--> e:y {}", "x --1--> e:y {}", "y --2--> e:z {}", "z --3--> q:q {}"];
    check(&vhost.delete_queue("q"), &expected, &["x", "y", "z"]);
    assert_eq!((vhost.exchanges.exchange_count(), vhost.exchanges.binding_count()), (7, 0));
    vhost.exchanges.check();
}

#[test]
fn deleting_an_exchange_takes_the_sources_that_lose_their_last_binding_but_no_destinations() {
    let mut vhost = Vhost::new();
    for name in ["source", "x", "destination"] {
        vhost.declare_auto_delete(name);
    }
    vhost.bind("source", "e:x", "1");
    vhost.bind("x", "e:destination", "2");
    let removed = vhost.exchanges.delete(b"x", false).expect("deleted");
    check(&removed, &["source --1--> e:x {}", "x --2--> e:destination {}"], &["source", "x"]);
}

#[test]
fn an_auto_delete_exchange_bound_to_itself_is_deleted_once() {
    let mut vhost = Vhost::new();
    vhost.declare_auto_delete("x");
    vhost.declare_auto_delete("y");
    vhost.bind("x", "e:x", "");
    vhost.bind("x", "e:y", "");
    vhost.bind("y", "e:x", "");
    let removed = vhost.exchanges.delete(b"x", false).expect("deleted");
    check(&removed, &["x ----> e:x {}", "x ----> e:y {}", "y ----> e:x {}"], &["x", "y"]);
    vhost.exchanges.check();
}

#[test]
fn a_deleted_exchange_comes_back_without_its_bindings() {
    for kind in [Direct, Fanout, Topic, Headers] {
        let mut vhost = Vhost::with_queues(&["q"]);
        vhost.declare("x", kind);
        vhost.bind("x", "q:q", "k");
        assert_eq!(vhost.route_cached("x", "k"), ["q"]);
        vhost.exchanges.delete(b"x", false).expect("deleted");
        vhost.declare("x", kind);
        assert!(vhost.route_cached("x", "k").is_empty());
    }
}

#[test]
fn a_long_chain_of_auto_delete_exchanges_falls_without_recursion() {
    let mut vhost = Vhost::with_queues(&["q"]);
    let name = |number: u32| format!("x{number}");
    for number in 0..50_000 {
        vhost.declare_auto_delete(&name(number));
        let to = if number == 0 { "q:q".to_owned() } else { format!("e:{}", name(number - 1)) };
        vhost.bind(&name(number), &to, "");
    }
    assert_eq!(vhost.delete_queue("q").exchanges.len(), 50_000);
    assert_eq!(vhost.exchanges.exchange_count(), 7);
}
