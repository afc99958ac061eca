//! A record, for the tests of this folder and of spans.

use amqp::content::Properties;
use broker::tap::Kind;
use message::View;

use super::record::{Message, More, Record};

/// A message with this body that was published.
pub(crate) fn record(body: &[u8]) -> Record {
    let header = View::of(Properties::default(), body.len()).encode();
    Record {
        at_ns: 1_000_000,
        kind: Kind::Published,
        vhost: "/".to_owned(),
        client: Some(("1.2.3.4:5 -> 1.2.3.4:5672".to_owned(), "guest".to_owned())),
        on_behalf_of: None,
        channel: 1,
        queue: None,
        seq: None,
        routed_queues: Some(vec![b"q2".to_vec(), b"q1".to_vec()]),
        is_redelivered: None,
        more: More::Nothing,
        message: Some(Message {
            exchange: b"amq.topic".to_vec(),
            routing_keys: vec![b"a.b".to_vec()],
            header,
            body: body.to_vec(),
            body_len: body.len() as u64,
        }),
        publish: 0,
        entered_at_ms: 0,
    }
}
