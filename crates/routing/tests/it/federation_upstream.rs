//! The exchanges of federation links: which messages are not to go over one.

use amqp::table::{ArrayBuf, TableBuf, Value};
use routing::{Declaration, ExchangeType, Routable};

use crate::broker::{Vhost, declaration};

/// A vhost with the queue `q` behind an exchange of the broker `here` in the vhost `v`, for messages of at most so many hops.
fn upstream(hops_max: i64) -> Vhost {
    let mut vhost = Vhost::with_queues(&["q"]);
    let arguments = TableBuf::new()
        .with("x-max-hops", Value::I64(hops_max))
        .with("x-downstream-name", Value::LongStr(b"here"))
        .with("x-downstream-vhost", Value::LongStr(b"v"));
    let declared = declaration("x", ExchangeType::FederationUpstream);
    assert!(vhost.exchanges.declare(&Declaration { arguments: arguments.as_table(), ..declared }));
    vhost.bind("x", "q:q", "whatever");
    vhost
}

/// Whether a message is routed that came over these brokers, each a name and a vhost.
fn goes(vhost: &mut Vhost, hops: &[(&str, &str)]) -> bool {
    let mut came_over = ArrayBuf::new();
    for (name, of) in hops {
        let hop = TableBuf::new()
            .with("uri", Value::LongStr(b"amqp://there"))
            .with("cluster-name", Value::LongStr(name.as_bytes()))
            .with("vhost", Value::LongStr(of.as_bytes()));
        came_over.push(Value::Table(hop.as_table()));
    }
    let headers = TableBuf::new().with("x-received-from", Value::Array(came_over.as_array()));
    let message = Routable { headers: Some(headers.as_table()), ..Routable::by_key(b"k") };
    let (queues, _, is_cached) = vhost.route_fresh("x", &message);
    assert!(!is_cached, "another message of the same key may have come another way");
    queues == ["q"]
}

#[test]
fn a_message_goes_over_so_many_links() {
    let mut vhost = upstream(2);
    assert!(goes(&mut vhost, &[]));
    assert!(goes(&mut vhost, &[("a", "/")]));
    assert!(!goes(&mut vhost, &[("a", "/"), ("b", "/")]));
    assert!(!goes(&mut upstream(0), &[]));
}

#[test]
fn a_message_does_not_go_back_to_a_vhost_that_it_came_over() {
    let mut vhost = upstream(10);
    assert!(!goes(&mut vhost, &[("a", "/"), ("here", "v")]));
    assert!(goes(&mut vhost, &[("here", "other")]), "that is another vhost");
    assert!(goes(&mut vhost, &[("there", "v")]), "that is another broker");
}

#[test]
fn what_is_no_list_of_hops_is_passed_over() {
    let mut vhost = upstream(1);
    assert_eq!(vhost.route("x", &Routable::by_key(b"k")), ["q"]);
    let headers = TableBuf::new().with("x-received-from", Value::LongStr(b"nowhere"));
    let message = Routable { headers: Some(headers.as_table()), ..Routable::by_key(b"k") };
    assert_eq!(vhost.route("x", &message), ["q"]);
}
