//! What clients send a broker, and are sent.

use super::Load;
use super::messages::Sizes;
use crate::assumptions::{FROM_TCP, FROM_TLS, PACKET, RECORD, RECORD_CONTENT, SEGMENT};
use crate::formula::{Formula, ceiling, product, quotient, sum};
use crate::quantity::{Quantity, Unit};
use crate::setting::Key;
use crate::sheet::Sheet;

/// What is sent between clients and one broker at the busiest moment, in bits a second.
pub(super) struct Wire {
    /// Bodies alone, from publishers.
    pub(super) bodies_in: Quantity,
    /// Bodies alone, to consumers.
    pub(super) bodies_out: Quantity,
    /// All that is received.
    pub(super) wire_in: Quantity,
    /// All that is sent.
    pub(super) wire_out: Quantity,
}

/// Bits of a byte.
const BITS: f64 = 8.0;

pub(super) fn write(sheet: &mut Sheet, load: &Load<'_>, sizes: &Sizes) -> Wire {
    sheet.section("network", "Network between clients and a broker, at the peak");
    let peak = || Formula::from(&load.peak);
    let copies = || load.term(Key::Copies);
    let bits = |sheet: &mut Sheet, id, name, formula: Formula| sheet.line(id, name, Unit::BitsPerSecond, formula, "");
    let bodies_in = bits(sheet, "bodies-in", "bodies in", product([peak(), load.term(Key::Body), BITS.into()]));
    let copied = product([peak(), copies(), load.term(Key::Body), BITS.into()]);
    let bodies_out = bits(sheet, "bodies-out", "bodies out", copied);

    let acks = match load.workload.value(Key::AckEvery) {
        0.0 => sum([0.0.into()]),
        _ => quotient(product([peak(), copies()]), load.term(Key::AckEvery)),
    };
    let acks = sheet.line("acks", "acks", Unit::PerSecond, acks, "");
    let confirms = if load.workload.is(Key::Confirms) { sum([peak()]) } else { sum([0.0.into()]) };
    let confirms =
        sheet.line("confirms", "confirms", Unit::PerSecond, confirms, "each settled by itself, which is the maximum");

    let sent = Sent::of(sheet, load, sizes);
    let amqp_in = sum([product([peak(), (&sent.published).into()]), product([(&acks).into(), (&sent.ack).into()])]);
    let amqp_in = bits(sheet, "amqp-in", "AMQP in", product([amqp_in, BITS.into()]));
    let amqp_out =
        sum([product([peak(), copies(), (&sent.delivered).into()]), product([(&confirms).into(), (&sent.ack).into()])]);
    let amqp_out = bits(sheet, "amqp-out", "AMQP out", product([amqp_out, BITS.into()]));

    let packets = |message: &Quantity| ceiling(quotient(message, SEGMENT.term()));
    let mut count = |id, name, formula| sheet.line(id, name, Unit::PerSecond, formula, FROM_TCP);
    let packets_in = sum([product([peak(), packets(&sent.published)]), (&acks).into()]);
    let packets_in = count("packets-in", "packets in", packets_in);
    let packets_out = sum([product([peak(), copies(), packets(&sent.delivered)]), (&confirms).into()]);
    let packets_out = count("packets-out", "packets out", packets_out);

    let mut wire = |id, name, amqp: &Quantity, own: &Quantity, answered: &Quantity| {
        let all = sum([own.into(), quotient(answered, 2.0)]);
        let formula = sum([amqp.into(), product([all, PACKET.term(), BITS.into()])]);
        sheet.line(id, name, Unit::BitsPerSecond, formula, FROM_TCP)
    };
    let wire_in = wire("wire-in", "in from clients", &amqp_in, &packets_in, &packets_out);
    let wire_out = wire("wire-out", "out to clients", &amqp_out, &packets_out, &packets_in);
    Wire { bodies_in, bodies_out, wire_in, wire_out }
}

/// What messages take where they leave the program: as they are, or in TLS's records.
struct Sent {
    published: Quantity,
    delivered: Quantity,
    ack: Quantity,
}

impl Sent {
    fn of(sheet: &mut Sheet, load: &Load<'_>, sizes: &Sizes) -> Self {
        if !load.workload.is(Key::Tls) {
            let Sizes { published, delivered, ack, .. } = sizes;
            return Sent { published: published.clone(), delivered: delivered.clone(), ack: ack.clone() };
        }
        sheet
            .remarks
            .push("What TLS costs the processors was not measured: --cpu-us takes a measurement of yours.".to_owned());
        let mut in_records = |id, name, plain: &Quantity| {
            let records = ceiling(quotient(plain, RECORD_CONTENT.term()));
            let formula = sum([plain.into(), product([RECORD.term(), records])]);
            sheet.line(id, name, Unit::Bytes, formula, FROM_TLS)
        };
        Sent {
            published: in_records("tls-published", "published message in TLS", &sizes.published),
            delivered: in_records("tls-delivered", "delivered message in TLS", &sizes.delivered),
            ack: in_records("tls-ack", "ack or confirm in TLS", &sizes.ack),
        }
    }
}
