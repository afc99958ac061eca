//! What load balancers carry. Each byte comes in and leaves: 5 Gbit/s to brokers and 5 from them are 10 in and 10 out; two
//! balancers have 10 each, in plus out, and when one is lost the other has 20.

use super::Load;
use super::network::Wire;
use crate::formula::{Formula, difference, product, quotient, sum};
use crate::limits::Resource;
use crate::quantity::{Quantity, Unit};
use crate::setting::Key;
use crate::sheet::Sheet;

pub(super) fn write(sheet: &mut Sheet, load: &Load<'_>, wire: &Wire) {
    let count = load.workload.value(Key::LoadBalancers);
    if count == 0.0 {
        return;
    }
    sheet.section("load-balancers", "Load balancers, at the peak");
    let brokers = (load.brokers.value > 1.0).then_some(&load.brokers);
    let both = |one: &Quantity, other: &Quantity| {
        let both = sum([one.into(), other.into()]);
        brokers.map_or(both.clone(), |brokers| product([both, brokers.into()]))
    };
    let twice = "each byte is received and sent";
    let balancers = || load.term(Key::LoadBalancers);
    let mut bits = |id: &str, name: &str, formula: Formula, source: &str| {
        sheet.line(id, name, Unit::BitsPerSecond, formula, source)
    };
    let bodies = bits("bodies", "bodies, to and from brokers", both(&wire.bodies_in, &wire.bodies_out), "");
    let bodies = bits("bodies-carried", "bodies, in plus out", product([(&bodies).into(), 2.0.into()]), twice);
    bits("bodies-each", "bodies, each of them", quotient(&bodies, balancers()), "");
    let left = || if count > 1.0 { difference(balancers(), 1.0) } else { balancers() };
    if count > 1.0 {
        bits("bodies-after-loss", "bodies, each after the loss of one", quotient(&bodies, left()), "");
    }
    let with_all = "with frames, acks and packets";
    let all = bits("wire", "all, to and from brokers", both(&wire.wire_in, &wire.wire_out), with_all);
    let carried = bits("carried", "all, in plus out", product([(&all).into(), 2.0.into()]), twice);
    bits("each", "all, each of them", quotient(&carried, balancers()), "");
    if count > 1.0 {
        bits("after-loss", "all, each after the loss of one", quotient(&carried, left()), "");
    }
    let needed = load.with_headroom(quotient(&all, left()));
    let way = "in each direction, after the loss of one: as much in as out";
    sheet.need("network-needed", "network needed of each", Resource::BalancerNetwork, needed, way);
    if count == 1.0 {
        sheet
            .remarks
            .push("With one load balancer its loss stops everything; of two each can do the other's work.".to_owned());
    }
}
