//! How many nodes there have to be, by what is known of one.

use super::Load;
use crate::formula::{Formula, ceiling, difference, product, quotient, sum};
use crate::limits::Resource;
use crate::quantity::{Quantity, Unit};
use crate::setting::Key;
use crate::sheet::Sheet;

/// What one broker does while none is lost: what can be shared with others.
pub(super) struct Work<'a> {
    /// The busier way of its network.
    pub(super) network: &'a Quantity,
    /// What it writes.
    pub(super) disk_write: &'a Quantity,
    /// What it computes.
    pub(super) processors: &'a Quantity,
}

pub(super) fn write(sheet: &mut Sheet, load: &Load<'_>, work: &Work<'_>) {
    sheet.section("count", "Nodes");
    let shared = [
        (Resource::Network, "network", "brokers for the network", work.network),
        (Resource::DiskWrite, "disk-write", "brokers for the disk", work.disk_write),
        (Resource::Processors, "processors", "brokers for the processors", work.processors),
    ];
    let mut bounds = vec![Formula::from(1.0)];
    for (resource, id, name, of_one) in shared {
        let Some(limit) = resource.limit(load.workload) else { continue };
        let there = Quantity::new("what a node has", limit, resource.unit());
        let of_use = product([(&there).into(), difference(1.0, load.term(Key::Headroom))]);
        let formula = ceiling(quotient(product([of_one.into(), (&load.brokers).into()]), of_use));
        bounds.push((&sheet.line(id, name, Unit::Count, formula, "each with its share of the load")).into());
    }
    if bounds.len() == 1 {
        let hint =
            "How many nodes that makes depends on what one has: --here looks, or say --network, --cpus, --disk-write.";
        sheet.remarks.push(hint.to_owned());
    }
    let brokers = sheet.line("brokers", "brokers needed", Unit::Count, Formula::Largest(bounds), "");
    let is_short = brokers.value > load.brokers.value;
    let (nodes, source) = if load.is_clustered() {
        let nodes = product([(&brokers).into(), load.term(Key::Replicas)]);
        (nodes, "one cluster each: 3 nodes tolerate the loss of one, 5 of two")
    } else if load.brokers.value > 1.0 || brokers.value > 1.0 {
        (sum([(&brokers).into(), 1.0.into()]), "plus one for the loss of one")
    } else {
        sheet.remarks.push("With a single node, its loss stops everything; --replicas 3 tolerates it.".to_owned());
        (sum([(&brokers).into()]), "no capacity remains after its loss")
    };
    let nodes = sheet.line("nodes", "nodes needed", Unit::Count, nodes, source);
    if is_short {
        let count = nodes.value;
        sheet.remarks.push(format!(
            "That is for fewer nodes than are needed: --nodes {count} says what each of {count} has to have."
        ));
    }
}
