//! Methods that are none.

use amqp::method::DecodeError;
use amqp::table::TableError;
use amqp::{Malformed, Method, basic};

#[track_caller]
fn check_refused(payload: &[u8], expected: DecodeError) {
    let error = Method::decode(payload).unwrap_err();
    assert_eq!(error, expected);
    let ids = (error.class_id(), error.method_id());
    assert!(payload.len() < 4 || payload[..4] == [ids.0.to_be_bytes(), ids.1.to_be_bytes()].concat());
}

#[test]
fn unknown_class_and_unknown_method_are_told_with_their_ids() {
    check_refused(&[0, 99, 0, 10], DecodeError::Unknown { class_id: 99, method_id: 10 });
    check_refused(&[0, 60, 0, 99, 1, 2], DecodeError::Unknown { class_id: 60, method_id: 99 });
}

#[test]
fn no_room_for_ids_is_malformed() {
    for payload in [&[][..], &[0], &[0, 60], &[0, 60, 0]] {
        check_refused(payload, DecodeError::Malformed { class_id: 0, method_id: 0, reason: Malformed::Truncated });
    }
}

#[test]
fn names_of_declarations_have_to_be_utf8() {
    let payload = b"\x00\x32\x00\x1e\x00\x00\x01\xff\x00"; // queue.purge of queue "\xff"
    check_refused(payload, DecodeError::Malformed { class_id: 50, method_id: 30, reason: Malformed::Utf8 });
}

#[test]
fn routing_keys_of_messages_may_be_any_bytes() {
    let payload = b"\x00\x3c\x00\x28\x00\x00\x00\x01\xff\x00";
    let expected = basic::Publish { routing_key: b"\xff", ..basic::Publish::default() };
    assert_eq!(Method::decode(payload), Ok(Method::from(expected)));
}

#[test]
fn bits_without_a_meaning_are_ignored() {
    let payload = b"\x00\x3c\x00\x50\x00\x00\x00\x00\x00\x00\x00\x07\xfe"; // basic.ack
    let expected = basic::Ack { delivery_tag: 7, multiple: false };
    assert_eq!(Method::decode(payload), Ok(Method::BasicAck(expected)));
}

#[test]
fn a_bad_table_is_named() {
    let payload = b"\x00\x32\x00\x32\x00\x00\x00\x00\x00\x00\x00\x00\x03\x01k?"; // queue.unbind
    let reason = Malformed::Table(TableError::UnknownType(b'?'));
    check_refused(payload, DecodeError::Malformed { class_id: 50, method_id: 50, reason });
}

#[test]
fn a_text_too_long_for_a_shortstr_is_cut_when_written() {
    let text = [b'x'; 300];
    let mut out = Vec::new();
    Method::from(amqp::connection::Close { reply_text: &text, ..Default::default() }).encode(&mut out);
    let Ok(Method::ConnectionClose(close)) = Method::decode(&out) else { panic!("connection.close") };
    assert_eq!(close.reply_text, &text[..255]);
}
