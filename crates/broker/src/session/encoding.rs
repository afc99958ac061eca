//! What the broker says, as frames: basic.deliver, basic.get-ok and basic.return with their contents.

use amqp::content::body_part_len_max;
use amqp::frame::{FRAME_END, FrameKind, frame_head, put_method};
use amqp::method::basic;
use amqp::reply::ReplyCode;
use amqp::table::{Table, Value};
use message::{Header, Parts, address_of};
use queue::Counts;

use crate::front::{Delivery, GotMessage, Incoming};
use engine::outbox::HANDED_OUT_AT_ONCE;

/// basic.deliver with its content.
#[inline(always)]
pub(super) fn put_delivery(out: &mut Vec<u8>, frame_len_max: u32, channel: u16, delivery: &Delivery<'_>) {
    let Delivery { consumer_tag, tag, is_redelivered, counts, content, parts } = *delivery;
    // By hand: exchange and routing key lie in the content as they have to be sent.
    let address = address_of(content, parts);
    let payload_len = 4 + 1 + consumer_tag.len() + 8 + 1 + address.len();
    out.reserve(payload_len + parts.header.bytes().len() + parts.body.len() + 64);
    // In few pieces: each is a look at the room that is left.
    let [a, b, c, d, e, f, g] = frame_head(FrameKind::Method, channel, payload_len as u32);
    out.extend_from_slice(&[a, b, c, d, e, f, g, 0, 60, 0, 60, consumer_tag.len() as u8]);
    out.extend_from_slice(consumer_tag);
    let [a, b, c, d, e, f, g, h] = tag.to_be_bytes();
    out.extend_from_slice(&[a, b, c, d, e, f, g, h, u8::from(is_redelivered)]);
    out.extend_from_slice(address);
    match counted_header(parts, counts) {
        Some(header) => end_with_content(out, frame_len_max, channel, &header, parts.body),
        None => parts.header.with_amqp091(|header| end_with_content(out, frame_len_max, channel, header, parts.body)),
    }
}

/// basic.get-ok with its content. Nothing is written of a message that cannot be read.
pub(super) fn put_get_ok(out: &mut Vec<u8>, frame_len_max: u32, channel: u16, got: &GotMessage) {
    let Some(parts) = Parts::read(got.content.bytes()) else { return };
    let method = basic::GetOk {
        delivery_tag: got.tag,
        redelivered: got.is_redelivered,
        exchange: parts.exchange,
        routing_key: parts.routing_key,
        message_count: u32::try_from(got.remaining_count).unwrap_or(u32::MAX),
    };
    put_method(out, channel, &method);
    match counted_header(&parts, got.counts) {
        Some(header) => put_content(out, frame_len_max, channel, &header, parts.body),
        None => parts.header.with_amqp091(|header| put_content(out, frame_len_max, channel, header, parts.body)),
    }
}

/// basic.return with 312 NO_ROUTE, and the content.
pub(super) fn put_returned(out: &mut Vec<u8>, frame_len_max: u32, channel: u16, message: &Incoming<'_>) {
    let method = basic::Return {
        reply_code: ReplyCode::NoRoute.code(),
        reply_text: b"NO_ROUTE",
        exchange: message.exchange,
        routing_key: message.routing_key,
    };
    put_method(out, channel, &method);
    message.header.with_amqp091(|header| put_content(out, frame_len_max, channel, header, message.body));
}

/// The header of a message that a quorum queue has had back, or that another had before it was dead-lettered: with how often. `None` if
/// it is as it was published.
#[inline(always)]
fn counted_header(parts: &Parts<'_>, counts: Option<Counts>) -> Option<Vec<u8>> {
    let (here, before) = (counts?, parts.history.counts);
    if here == Counts::default() && before == Counts::default() {
        return None;
    }
    with_counts(parts.header, here, before)
}

#[cold]
fn with_counts(header: Header<'_>, here: Counts, before: Counts) -> Option<Vec<u8>> {
    let delivery_count = u64::from(here.delivery_count) + u64::from(before.delivery_count);
    let is_known = here.acquired_count > 0 && here.acquired_count != HANDED_OUT_AT_ONCE;
    let acquired_count = u64::from(if is_known { here.acquired_count } else { before.acquired_count });
    let view = header.view()?;
    let mut headers = view.headers().unwrap_or(Table::EMPTY).to_owned();
    for (name, count) in [("x-acquired-count", acquired_count), ("x-delivery-count", delivery_count)] {
        if count > 0 {
            headers.set(name.as_bytes(), Value::I64(count.cast_signed())).ok()?;
        }
    }
    let counted = view.with_headers(Some(headers.as_table())).encode();
    Some(counted.as_header().to_amqp091().into_owned())
}

/// The header frame and the body frames of a message.
fn put_content(out: &mut Vec<u8>, frame_len_max: u32, channel: u16, header: &[u8], body: &[u8]) {
    // What comes before is a whole frame: its end is written again.
    debug_assert_eq!(out.last(), Some(&FRAME_END));
    out.pop();
    end_with_content(out, frame_len_max, channel, header, body);
}

/// Ends a method's frame, and puts the header frame and the body frames of a message behind it.
#[inline(always)]
fn end_with_content(out: &mut Vec<u8>, frame_len_max: u32, channel: u16, header: &[u8], body: &[u8]) {
    put_end_and_head(out, FrameKind::Header, channel, header.len());
    out.extend_from_slice(header);
    for part in body.chunks(body_part_len_max(frame_len_max)) {
        put_end_and_head(out, FrameKind::Body, channel, part.len());
        out.extend_from_slice(part);
    }
    out.push(FRAME_END);
}

/// The end of a frame, and the head of the next.
#[inline(always)]
fn put_end_and_head(out: &mut Vec<u8>, kind: FrameKind, channel: u16, payload_len: usize) {
    let [a, b, c, d, e, f, g] = frame_head(kind, channel, payload_len as u32);
    out.extend_from_slice(&[FRAME_END, a, b, c, d, e, f, g]);
}
