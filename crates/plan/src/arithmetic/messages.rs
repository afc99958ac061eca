//! What a message takes: on the wire, in the journal, in a file of messages.

use crate::assumptions::{
    ACK, CONSUMER_TAG, CONTENT, DELIVER, FRAME, FROM_AMQP, FROM_JOURNAL, FROM_SEGMENT, HEADER, PUBLISH, PUBLISH_QUEUE,
    PUBLISH_RECORD, SETTLE_RECORD, SHARED_FROM, SHARED_SLOT, SLOT,
};
use crate::formula::{Formula, ceiling, difference, product, quotient, sum};
use crate::quantity::{Quantity, Unit};
use crate::setting::Key;
use crate::sheet::Sheet;
use crate::workload::Workload;

/// Bytes of a message, wherever it is.
pub(super) struct Sizes {
    /// From its publisher.
    pub(super) published: Quantity,
    /// To a consumer.
    pub(super) delivered: Quantity,
    /// An ack, and a confirm.
    pub(super) ack: Quantity,
    /// In the journal, with its queues.
    pub(super) journaled: Quantity,
    /// What became of it, in the journal.
    pub(super) settled: Quantity,
    /// In a file of messages, with all its copies.
    pub(super) filed: Quantity,
}

pub(super) fn write(sheet: &mut Sheet, workload: &Workload) -> Sizes {
    let term = |key| Formula::from(&workload.quantity(key));
    let names = || [term(Key::ExchangeName), term(Key::RoutingKey)];
    sheet.section("message", "A message on the wire");
    let mut line = |id, name, formula| sheet.line(id, name, Unit::Bytes, formula, FROM_AMQP);
    let [exchange, key] = names();
    let publish = line("publish", "method of a publish", sum([PUBLISH.term(), exchange, key]));
    let [exchange, key] = names();
    let deliver = line("deliver", "method of a delivery", sum([DELIVER.term(), CONSUMER_TAG.term(), exchange, key]));
    let header = line("header", "header frame", sum([HEADER.term(), term(Key::Properties)]));
    let frames = ceiling(quotient(term(Key::Body), difference(term(Key::FrameMax), FRAME.term())));
    let body = line("body", "body frames", sum([term(Key::Body), product([FRAME.term(), frames])]));
    let all = |method: &Quantity| sum([method.into(), (&header).into(), (&body).into()]);
    let published = line("published", "published message", all(&publish));
    let delivered = line("delivered", "delivered message", all(&deliver));
    let ack = line("ack", "ack or confirm", sum([ACK.term()]));

    sheet.section("stored", "A message on disk");
    let [exchange, key] = names();
    let content = sum([CONTENT.term(), exchange, key, term(Key::Properties), term(Key::Body)]);
    let content = sheet.line("content", "content", Unit::Bytes, content, FROM_JOURNAL);
    let record = sum([PUBLISH_RECORD.term(), product([PUBLISH_QUEUE.term(), term(Key::Copies)]), (&content).into()]);
    let journaled = sheet.line("journaled", "publish in the journal", Unit::Bytes, record, FROM_JOURNAL);
    let settled = product([SETTLE_RECORD.term(), term(Key::Copies)]);
    let settled = sheet.line("settled", "acks in the journal", Unit::Bytes, settled, FROM_JOURNAL);
    let own_slot = sum([SLOT.term(), (&content).into()]);
    let is_shared = content.value >= SHARED_FROM && workload.value(Key::Copies) > 1.0;
    let slots = if is_shared {
        sum([own_slot, product([SHARED_SLOT.term(), difference(term(Key::Copies), 1.0)])])
    } else {
        product([own_slot, term(Key::Copies)])
    };
    let filed = sheet.line("filed", "message in a segment", Unit::Bytes, slots, FROM_SEGMENT);
    Sizes { published, delivered, ack, journaled, settled, filed }
}
