//! What a machine has, and whether a plan fits it.

use crate::quantity::Unit;
use crate::setting::Key;
use crate::sheet::Sheet;
use crate::workload::Workload;

/// What there is of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Resource {
    /// Its network, each way.
    Network,
    /// A load balancer's network, each way.
    BalancerNetwork,
    /// What its disk writes.
    DiskWrite,
    /// How often its disk syncs.
    Syncs,
    /// What is free on its disk.
    DiskSpace,
    /// Memory.
    Memory,
    /// Processors.
    Processors,
    /// Files that a process may have open.
    Files,
}

impl Resource {
    /// All of them.
    pub const ALL: [Resource; 8] = [
        Resource::Network,
        Resource::BalancerNetwork,
        Resource::DiskWrite,
        Resource::Syncs,
        Resource::DiskSpace,
        Resource::Memory,
        Resource::Processors,
        Resource::Files,
    ];

    /// What it is counted in.
    #[must_use]
    pub fn unit(self) -> Unit {
        match self {
            Resource::Network | Resource::BalancerNetwork => Unit::BitsPerSecond,
            Resource::DiskWrite => Unit::BytesPerSecond,
            Resource::Syncs => Unit::PerSecond,
            Resource::DiskSpace => Unit::Bytes,
            Resource::Memory => Unit::Memory,
            Resource::Processors => Unit::Cores,
            Resource::Files => Unit::Count,
        }
    }

    /// The setting that says how much there is.
    fn key(self) -> Key {
        match self {
            Resource::Network => Key::Network,
            Resource::BalancerNetwork => Key::LbNetwork,
            Resource::DiskWrite => Key::DiskWrite,
            Resource::Syncs => Key::SyncUs,
            Resource::DiskSpace => Key::DiskSpace,
            Resource::Memory => Key::Memory,
            Resource::Processors => Key::Cpus,
            Resource::Files => Key::Files,
        }
    }

    /// How much of it a node has, if that was said or measured.
    pub(crate) fn limit(self, workload: &Workload) -> Option<f64> {
        let value = workload.optional(self.key())?;
        Some(if self == Resource::Syncs { 1e6 / value } else { value })
    }
}

/// Whether a line fits.
#[derive(Clone, Debug, PartialEq)]
pub enum Fit {
    /// It does, or does not: needs this part of the machine's.
    Known {
        /// The machine's limit.
        limit: f64,
        /// The needed part of it.
        share: f64,
    },
    /// How much there is could not be found out.
    Unknown {
        /// Why not.
        reason: String,
    },
}

impl Fit {
    /// Whether it is known not to.
    #[must_use]
    pub fn is_too_much(&self) -> bool {
        matches!(self, Fit::Known { share, .. } if *share > 1.0)
    }

    /// In words: whether, and by how much.
    #[must_use]
    pub fn show(&self, unit: Unit) -> String {
        match self {
            Fit::Known { limit, share } if *share > 1.0 => {
                format!(
                    "DOES NOT FIT: {} is available, and {} times that is required",
                    unit.show(*limit),
                    Unit::Count.show(*share)
                )
            }
            Fit::Known { limit, share } => format!("fits: {} of {}", Unit::Share.show(*share), unit.show(*limit)),
            Fit::Unknown { reason } => format!("unknown whether it fits: {reason}"),
        }
    }
}

/// What could not be found out about a machine, and why.
pub type Gaps = Vec<(Resource, String)>;

/// Writes beside each line whether it fits, where that is known or was to be found out.
pub(crate) fn judge(sheet: &mut Sheet, workload: &Workload, gaps: &Gaps) {
    for line in sheet.lines_mut() {
        let Some(resource) = line.needs else { continue };
        let needed = line.quantity.value;
        line.fit = match resource.limit(workload) {
            Some(limit) => Some(Fit::Known { limit, share: needed / limit }),
            None => gaps
                .iter()
                .find(|(unknown, _)| *unknown == resource)
                .map(|(_, reason)| Fit::Unknown { reason: reason.clone() }),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fit_says_by_how_much() {
        let known = |share| Fit::Known { limit: 1e10, share };
        assert_eq!(known(0.41).show(Unit::BitsPerSecond), "fits: 41 % of 10 Gbit/s");
        assert_eq!(known(1.0).show(Unit::BitsPerSecond), "fits: 100 % of 10 Gbit/s");
        let too_much = known(2.1).show(Unit::BitsPerSecond);
        assert_eq!(too_much, "DOES NOT FIT: 10 Gbit/s is available, and 2.1 times that is required");
        assert!(known(1.01).is_too_much() && !known(1.0).is_too_much());
    }
}
