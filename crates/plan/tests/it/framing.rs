//! The lengths on the wire are those of the house's own codec, byte by byte.

use amqp::content::{ContentHeader, put_body_frames, put_header};
use amqp::frame::put_method;
use amqp::{Properties, TableBuf, Value, basic};
use proptest::prelude::*;

use crate::planned;

/// What the codec writes for a message, of all but its method.
fn content_len(properties: &Properties<'_>, body: &[u8], frame_max: u32) -> usize {
    let mut out = Vec::new();
    put_header(&mut out, 1, &ContentHeader { class_id: 60, body_len: body.len() as u64, properties: *properties });
    put_body_frames(&mut out, 1, body, frame_max);
    out.len()
}

/// How long properties are, as the option counts them: without their flags.
fn properties_len(properties: &Properties<'_>) -> usize {
    let mut out = Vec::new();
    properties.encode(&mut out);
    out.len() - 2
}

proptest! {
    #[test]
    fn lengths_are_those_of_the_codec(
        exchange in "[a-z]{0,40}",
        routing_key in "[a-z.]{0,200}",
        header in "[a-z]{0,100}",
        message_id in proptest::option::of("[0-9a-f]{0,36}"),
        body_len in 0_usize..300_000,
        frame_max in 4_096_u32..140_000,
    ) {
        let headers = TableBuf::new().with("header", Value::LongStr(header.as_bytes()));
        let properties = Properties {
            headers: Some(headers.as_table()),
            delivery_mode: Some(2),
            message_id: message_id.as_ref().map(|id| id.as_bytes()),
            ..Properties::default()
        };
        let content_len = content_len(&properties, &vec![7; body_len], frame_max);
        let mut publish = Vec::new();
        put_method(&mut publish, 1, &basic::Publish {
            ticket: 0,
            exchange: exchange.as_bytes(),
            routing_key: routing_key.as_bytes(),
            mandatory: true,
            immediate: false,
        });
        let mut deliver = Vec::new();
        put_method(&mut deliver, 1, &basic::Deliver {
            consumer_tag: b"amq.ctag-0123456789abcdefghijkl",
            delivery_tag: 7,
            redelivered: false,
            exchange: exchange.as_bytes(),
            routing_key: routing_key.as_bytes(),
        });
        let mut ack = Vec::new();
        put_method(&mut ack, 1, &basic::Ack { delivery_tag: 7, multiple: true });

        let said = [
            ("rate", "1".to_owned()),
            ("body", body_len.to_string()),
            ("properties", properties_len(&properties).to_string()),
            ("exchange-name", exchange.len().to_string()),
            ("routing-key", routing_key.len().to_string()),
            ("frame-max", frame_max.to_string()),
        ];
        let said: Vec<(&str, &str)> = said.iter().map(|(name, text)| (*name, text.as_str())).collect();
        let sheet = planned(&said);
        prop_assert_eq!(sheet.value("message.published"), Some((publish.len() + content_len) as f64));
        prop_assert_eq!(sheet.value("message.delivered"), Some((deliver.len() + content_len) as f64));
        prop_assert_eq!(sheet.value("message.ack"), Some(ack.len() as f64));
    }
}
