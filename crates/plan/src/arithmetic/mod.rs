//! From a workload to a sheet of lines. No I/O, no clock: what is known of a machine is part of the workload.
//!
//! ```text
//!  messages     a message on the wire, in AMQP's frames; and in the store's files
//!  network      what clients send and are sent, with packets
//!  cluster      what nodes send each other, and after the loss of one
//!  balancers    what load balancers pass on, and after the loss of one
//!  disk         what is written, how often it is synced, what has to have room
//!  latency      how long a confirm takes
//!  machine      memory, processors, open files
//!  nodes        how many brokers that makes
//! ```

mod balancers;
mod cluster;
mod disk;
mod latency;
mod machine;
mod messages;
mod network;
mod nodes;

use crate::formula::{Formula, difference, product, quotient};
use crate::limits::{Gaps, judge};
use crate::quantity::{Quantity, Unit};
use crate::setting::Key;
use crate::sheet::Sheet;
use crate::workload::Workload;

/// Works a plan out, and holds it against what is known of the machines. `gaps` says what could not be found out.
#[must_use]
pub fn plan(workload: &Workload, gaps: &Gaps) -> Sheet {
    let mut sheet = Sheet::default();
    sheet.section("workload", "Workload");
    for (setting, quantity, origin) in workload.entries() {
        sheet.input(setting.name, quantity, origin.show());
    }
    let load = Load::of(&mut sheet, workload);
    let sizes = messages::write(&mut sheet, workload);
    let wire = network::write(&mut sheet, &load, &sizes);
    let disk = disk::write(&mut sheet, &load, &sizes);
    let network = cluster::write(&mut sheet, &load, &wire, &disk);
    balancers::write(&mut sheet, &load, &wire);
    latency::write(&mut sheet, &load, &disk);
    let processors = machine::write(&mut sheet, &load, &disk);
    let work = nodes::Work { network: &network, disk_write: &disk.write, processors: &processors };
    nodes::write(&mut sheet, &load, &work);
    judge(&mut sheet, workload, gaps);
    sheet
}

/// What the whole sheet is computed from.
struct Load<'a> {
    workload: &'a Workload,
    /// How many brokers share the load: clusters, or brokers that stand alone.
    brokers: Quantity,
    /// Messages published a second at one of them: on average, and at the busiest moment.
    rate: Quantity,
    peak: Quantity,
}

impl<'a> Load<'a> {
    fn of(sheet: &mut Sheet, workload: &'a Workload) -> Self {
        sheet.section("load", "What one broker gets");
        let term = |key| Formula::from(&workload.quantity(key));
        let spread = "a cluster has one leader with all its queues: docs/clustering.md";
        let brokers = sheet.line(
            "brokers",
            "brokers that share the load",
            Unit::Count,
            quotient(term(Key::Nodes), term(Key::Replicas)),
            spread,
        );
        let share = quotient(term(Key::Rate), &brokers);
        let rate = sheet.line("rate", "average rate", Unit::PerSecond, share, "");
        let peak = product([(&rate).into(), term(Key::Peak)]);
        let peak = sheet.line("peak", "peak rate", Unit::PerSecond, peak, "");
        Load { workload, brokers, rate, peak }
    }

    fn term(&self, key: Key) -> Formula {
        (&self.workload.quantity(key)).into()
    }

    fn is_clustered(&self) -> bool {
        self.workload.value(Key::Replicas) > 1.0
    }

    /// What a broker that stands alone has to do when one of several is lost: so many times as much. In a cluster the other
    /// nodes have it all anyway, and of one broker alone nothing is left.
    fn after_loss(&self, amount: impl Into<Formula>) -> Formula {
        let amount = amount.into();
        if self.is_clustered() || self.brokers.value <= 1.0 {
            return amount;
        }
        quotient(product([amount, (&self.brokers).into()]), difference(&self.brokers, 1.0))
    }

    /// What a machine has to have, for so much to be in use and the rest to stay free.
    fn with_headroom(&self, amount: impl Into<Formula>) -> Formula {
        quotient(amount, difference(1.0, self.term(Key::Headroom)))
    }
}
