//! What nodes of a cluster send each other, what each has to carry, and what after the loss of one.

use super::Load;
use super::disk::Disk;
use super::network::Wire;
use crate::assumptions::{FROM_TCP, PACKET, SEGMENT};
use crate::formula::{Formula, difference, product, quotient, sum};
use crate::limits::Resource;
use crate::quantity::{Quantity, Unit};
use crate::setting::Key;
use crate::sheet::Sheet;

/// Writes the section, and gives what a node's network carries, the busier way, while none is lost; in a cluster the loss of
/// one is in it.
pub(super) fn write(sheet: &mut Sheet, load: &Load<'_>, wire: &Wire, disk: &Disk) -> Quantity {
    if load.is_clustered() { cluster(sheet, load, wire, disk) } else { alone(sheet, load, wire) }
}

fn alone(sheet: &mut Sheet, load: &Load<'_>, wire: &Wire) -> Quantity {
    sheet.section("nodes", "Network of a node");
    let mut bits =
        |id: &str, name: &str, formula, source: &str| sheet.line(id, name, Unit::BitsPerSecond, formula, source);
    let most = Formula::Largest(vec![(&wire.wire_in).into(), (&wire.wire_out).into()]);
    let most = bits("most", "the busier way", most, "");
    if load.brokers.value > 1.0 {
        let others = "its clients move to the other nodes";
        bits("in-after-loss", "in after the loss of one", load.after_loss(&wire.wire_in), others);
        bits("out-after-loss", "out after the loss of one", load.after_loss(&wire.wire_out), others);
    }
    needed(sheet, load, load.after_loss(&most));
    most
}

fn cluster(sheet: &mut Sheet, load: &Load<'_>, wire: &Wire, disk: &Disk) -> Quantity {
    sheet.section("nodes", "Network of a cluster's nodes, at the peak and in an outage of consumers");
    let mut bits =
        |id: &str, name: &str, formula, source: &str| sheet.line(id, name, Unit::BitsPerSecond, formula, source);
    let is_persistent = load.workload.is(Key::Persistent);
    let segments = if is_persistent { Formula::from(&disk.segments) } else { 0.0.into() };
    let bytes = sum([(&disk.journal).into(), segments]);
    let twice = "data that outlives its journal file is sent twice: docs/clustering.md";
    let payload = bits("replication", "replication to a follower", product([bytes, 8.0.into()]), twice);
    let packets = product([quotient(&payload, SEGMENT.term()), PACKET.term()]);
    let replication = bits("replication-wire", "the same in packets", sum([(&payload).into(), packets]), FROM_TCP);
    let followers = || difference(load.term(Key::Replicas), 1.0);
    let clients = sum([(&wire.wire_in).into(), (&wire.wire_out).into()]);
    let passed = "clients are spread over all nodes, and followers forward to the leader: docs/clustering.md";
    let clients = bits("clients", "clients, in plus out", clients, passed);

    let leader_in = bits("leader-in", "leader in", sum([(&wire.wire_in).into()]), "");
    let leader_out = sum([(&wire.wire_out).into(), product([(&replication).into(), followers()])]);
    let leader_out = bits("leader-out", "leader out", leader_out, "");
    let share = |nodes: Formula| quotient(&clients, nodes);
    let follower_in = sum([share(load.term(Key::Replicas)), (&replication).into()]);
    bits("follower-in", "follower in", follower_in, "");
    bits("follower-out", "follower out", share(load.term(Key::Replicas)), "");
    let one_less = "its clients move to the other nodes; a new leader has the load of the old one";
    let after_in = sum([share(followers()), (&replication).into()]);
    let after_in = bits("follower-in-after-loss", "follower in after the loss of one", after_in, one_less);
    let after_out = bits("follower-out-after-loss", "follower out after the loss of one", share(followers()), one_less);
    let ways = [&leader_in, &leader_out, &after_in, &after_out].map(Formula::from);
    let most = bits("most", "the busier way of the busiest", Formula::Largest(ways.into()), "");
    needed(sheet, load, sum([(&most).into()]));
    most
}

fn needed(sheet: &mut Sheet, load: &Load<'_>, way: Formula) {
    let formula = load.with_headroom(way);
    let source = "in each direction: the larger counts for a full-duplex interface";
    sheet.need("network-needed", "network needed", Resource::Network, formula, source);
}
