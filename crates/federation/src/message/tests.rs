//! What a message says of the way that it came.

use amqp::Properties;

use super::*;

fn exchange_way(max_hops: u32) -> Way {
    Way {
        uri: "amqp://up".into(),
        trusts_user_id: false,
        kind: WayKind::Exchange {
            name: "x".into(),
            max_hops,
            cluster_name: "here".into(),
            vhost: "/".into(),
            upstream_cluster_name: Some("there".into()),
            upstream_vhost: "v".into(),
        },
    }
}

fn queue_way() -> Way {
    Way { uri: "amqp://up".into(), trusts_user_id: true, kind: WayKind::Queue { name: "q".into() } }
}

fn hop(uri: &str, cluster_name: &str, vhost: &str) -> TableBuf {
    let text = |text: &'static str| Value::LongStr(text.as_bytes());
    TableBuf::new()
        .with("uri", Value::LongStr(uri.as_bytes()))
        .with("exchange", text("x"))
        .with("redelivered", Value::Bool(false))
        .with("cluster-name", Value::LongStr(cluster_name.as_bytes()))
        .with("vhost", Value::LongStr(vhost.as_bytes()))
}

fn received_from(hops: &[TableBuf]) -> TableBuf {
    let mut array = ArrayBuf::new();
    hops.iter().for_each(|hop| array.push(Value::Table(hop.as_table())));
    TableBuf::new().with(RECEIVED_FROM, Value::Array(array.as_array()))
}

/// The headers and the user with which a message is passed on.
fn forward(way: &Way, headers: &TableBuf, user_id: Option<&[u8]>) -> Option<(TableBuf, Option<Vec<u8>>)> {
    let properties = Properties { headers: Some(headers.as_table()), user_id, ..Default::default() };
    let (mut bytes, mut encoded) = (Vec::new(), Vec::new());
    properties.encode(&mut bytes);
    let deliver = basic::Deliver { exchange: b"from", routing_key: b"key", ..Default::default() };
    let goes_on = way.forward(&deliver, &Content::new(&bytes, b""), &mut encoded);
    goes_on.then(|| {
        let properties = Properties::decode(&encoded).unwrap();
        (properties.headers.unwrap().to_owned(), properties.user_id.map(<[u8]>::to_vec))
    })
}

#[test]
fn a_link_of_an_exchange_puts_itself_in_front() {
    let first = hop("amqp://up", "there", "v");
    let (headers, user) = forward(&exchange_way(1), &TableBuf::new(), Some(b"u")).unwrap();
    assert_eq!((headers, user), (received_from(std::slice::from_ref(&first)), None));
    let earlier = hop("amqp://far", "far", "/");
    let (headers, _) = forward(&exchange_way(2), &received_from(std::slice::from_ref(&earlier)), None).unwrap();
    assert_eq!(headers, received_from(&[first, earlier]));
}

#[test]
fn what_has_come_far_enough_or_was_here_goes_no_further() {
    let far = received_from(&[hop("amqp://far", "far", "/")]);
    assert!(forward(&exchange_way(1), &far, None).is_none());
    assert!(forward(&exchange_way(2), &far, None).is_some());
    assert!(forward(&exchange_way(5), &received_from(&[hop("amqp://h", "here", "/")]), None).is_none());
    assert!(forward(&exchange_way(5), &received_from(&[hop("amqp://h", "here", "w")]), None).is_some());
    // A client's own header of that name is no way.
    let odd = TableBuf::new().with(RECEIVED_FROM, Value::LongStr(b"me"));
    assert!(forward(&exchange_way(1), &odd, None).is_some());
}

#[test]
fn a_link_of_a_queue_counts_visits_and_tells_of_the_beginning() {
    let cc = ArrayBuf::new().with(Value::LongStr(b"other"));
    let headers = TableBuf::new().with("CC", Value::Array(cc.as_array()));
    let (once, user) = forward(&queue_way(), &headers, Some(b"u")).unwrap();
    assert_eq!(user.as_deref(), Some(&b"u"[..]));
    let table = once.as_table();
    assert_eq!(table.get("CC"), None);
    assert_eq!(table.get("x-original-cc"), Some(Value::Array(cc.as_array())));
    assert_eq!(table.get("x-original-exchange"), Some(Value::LongStr(b"from")));
    assert_eq!(table.get("x-original-routing-key"), Some(Value::LongStr(b"key")));
    let visits = |headers: &TableBuf| {
        let way = headers.as_table().get(RECEIVED_FROM).and_then(|way| way.as_array()).unwrap();
        let of = |hop: Value<'_>| hop.as_table()?.get(VISIT_COUNT)?.as_i64();
        way.iter().map(|hop| of(hop).unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(visits(&once), [1]);
    let (twice, _) = forward(&queue_way(), &once, None).unwrap();
    assert_eq!(visits(&twice), [2]);
    let elsewhere = Way { uri: "amqp://else".into(), ..queue_way() };
    let (there, _) = forward(&elsewhere, &twice, None).unwrap();
    assert_eq!(visits(&there), [1, 2]);
    assert_eq!(there.as_table().get("x-original-exchange"), Some(Value::LongStr(b"from")));
}
