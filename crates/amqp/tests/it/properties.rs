//! Content headers, properties and body frames.

use crate::tables;
use amqp::content::{self, BASIC_CLASS_ID, ContentError, ContentHeader};
use amqp::frame;
use amqp::{FrameKind, Malformed, Properties, Table, TableBuf, Value};
use proptest::prelude::*;

/// Properties that own themselves, for random ones; short strings in the order of the description.
#[derive(Clone, Debug)]
struct Owned {
    strings: Vec<Option<Vec<u8>>>,
    headers: Option<TableBuf>,
    delivery_mode: Option<u8>,
    priority: Option<u8>,
    timestamp: Option<u64>,
}

impl Owned {
    fn properties(&self) -> Properties<'_> {
        let string = |at: usize| self.strings[at].as_deref();
        Properties {
            content_type: string(0),
            content_encoding: string(1),
            headers: self.headers.as_ref().map(TableBuf::as_table),
            delivery_mode: self.delivery_mode,
            priority: self.priority,
            correlation_id: string(2),
            reply_to: string(3),
            expiration: string(4),
            message_id: string(5),
            timestamp: self.timestamp,
            kind: string(6),
            user_id: string(7),
            app_id: string(8),
            cluster_id: string(9),
        }
    }
}

fn owned() -> impl Strategy<Value = Owned> {
    let string = prop::option::of(prop::collection::vec(any::<u8>(), 0..=255));
    let headers = prop::option::of(tables::fields().prop_map(|fields| tables::table_of(&fields)));
    (prop::collection::vec(string, 10), headers, any::<(Option<u8>, Option<u8>, Option<u64>)>()).prop_map(
        |(strings, headers, (delivery_mode, priority, timestamp))| Owned {
            strings,
            headers,
            delivery_mode,
            priority,
            timestamp,
        },
    )
}

fn encoded(header: &ContentHeader<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    header.encode(&mut out);
    out
}

/// A payload with all 14 properties.
pub(crate) fn payload_with_everything() -> Vec<u8> {
    let headers = TableBuf::new().with("x-delay", Value::I32(5000));
    let properties = Properties {
        content_type: Some(b"text/plain"),
        content_encoding: Some(b"gzip"),
        headers: Some(headers.as_table()),
        delivery_mode: Some(2),
        priority: Some(9),
        correlation_id: Some(b"c-1"),
        reply_to: Some(b"amq.rabbitmq.reply-to"),
        expiration: Some(b"60000"),
        message_id: Some(b"m-1"),
        timestamp: Some(1_700_000_000),
        kind: Some(b"event"),
        user_id: Some(b"guest"),
        app_id: Some(b"app"),
        cluster_id: Some(b"cluster"),
    };
    encoded(&ContentHeader { class_id: BASIC_CLASS_ID, body_len: 3, properties })
}

#[track_caller]
fn check_refused(payload: &[u8], expected: ContentError) {
    assert_eq!(ContentHeader::decode(payload), Err(expected));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn a_header_decodes_to_what_was_encoded(owned in owned(), body_len: u64) {
        let header = ContentHeader { class_id: BASIC_CLASS_ID, body_len, properties: owned.properties() };
        let payload = encoded(&header);
        prop_assert_eq!(ContentHeader::decode(&payload), Ok(header));
    }

    #[test]
    fn a_body_comes_back_from_its_frames(
        body in prop::collection::vec(any::<u8>(), 0..5000),
        frame_len_max in prop_oneof![Just(0), 9..64u32, 1000..6000u32],
    ) {
        let mut out = Vec::new();
        content::put_body_frames(&mut out, 3, &body, frame_len_max);
        prop_assert_eq!(out.len(), content::body_frames_len(body.len(), frame_len_max));
        let (mut joined, mut rest) = (Vec::new(), &out[..]);
        while !rest.is_empty() {
            let (frame, consumed) = frame::decode_frame(rest, frame_len_max).unwrap().unwrap();
            prop_assert_eq!((frame.kind, frame.channel), (FrameKind::Body, 3));
            prop_assert!(!frame.payload.is_empty());
            prop_assert!(frame_len_max == 0 || frame.payload.len() + 8 == frame_len_max as usize || consumed == rest.len());
            joined.extend_from_slice(frame.payload);
            rest = &rest[consumed..];
        }
        prop_assert_eq!(joined, body);
    }
}

#[test]
fn a_header_without_properties_has_14_bytes() {
    let header = ContentHeader { class_id: BASIC_CLASS_ID, body_len: 1, properties: Properties::default() };
    assert_eq!(encoded(&header), b"\x00\x3c\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00");
}

#[test]
fn first_property_has_the_highest_flag() {
    let properties = Properties { content_type: Some(b"a"), cluster_id: Some(b"z"), ..Properties::default() };
    let mut out = Vec::new();
    properties.encode(&mut out);
    assert_eq!(out, b"\x80\x04\x01a\x01z");
}

#[test]
fn flags_without_a_property_are_ignored_as_rabbitmq_does() {
    assert_eq!(Properties::decode(b"\x10\x03\x02"), Properties::decode(b"\x10\x00\x02"));
}

#[test]
fn a_cut_header_is_refused_and_so_is_a_longer_one() {
    let payload = payload_with_everything();
    for len in 0..payload.len() {
        check_refused(&payload[..len], ContentError::Malformed(Malformed::Truncated));
    }
    check_refused(&[&payload[..], b"\0"].concat(), ContentError::Malformed(Malformed::Trailing));
}

#[test]
fn only_class_basic_has_content_and_its_weight_is_0() {
    let mut payload = payload_with_everything();
    payload[1] = 50;
    check_refused(&payload, ContentError::UnknownClass(50));
    payload[1] = 60;
    payload[3] = 1;
    check_refused(&payload, ContentError::Weight(1));
}

#[test]
fn headers_can_be_replaced() {
    let payload = payload_with_everything();
    let mut header = ContentHeader::decode(&payload).unwrap();
    let mut headers = TableBuf::from(header.properties.headers.unwrap());
    headers.set(b"x-delay", Value::I32(-5000)).unwrap();
    header.properties.headers = Some(headers.as_table());
    let again = encoded(&header);
    let decoded = ContentHeader::decode(&again).unwrap();
    assert_eq!(decoded.properties.headers.unwrap().get("x-delay"), Some(Value::I32(-5000)));
    assert_eq!(decoded.properties.reply_to, Some(&b"amq.rabbitmq.reply-to"[..]));
}

#[test]
fn an_empty_table_of_headers_is_not_no_headers() {
    let properties = Properties { headers: Some(Table::EMPTY), ..Properties::default() };
    let mut out = Vec::new();
    properties.encode(&mut out);
    assert_eq!(Properties::decode(&out), Ok(properties));
}

#[test]
fn an_empty_body_has_no_frames() {
    let mut out = Vec::new();
    content::put_body_frames(&mut out, 1, b"", 4096);
    assert!(out.is_empty());
}

#[test]
fn a_bound_without_room_for_a_payload_still_makes_progress() {
    let mut out = Vec::new();
    content::put_body_frames(&mut out, 1, b"abc", 1);
    assert_eq!(out.len(), content::body_frames_len(3, 1));
}
