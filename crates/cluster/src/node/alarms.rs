//! What nodes are short of. Publishers wait for all nodes, so the node that serves them knows what the others are short of.

use crate::wire::NodeName;

/// What a node is short of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct NodeAlarms {
    /// Memory.
    pub is_memory_low: bool,
    /// Disk.
    pub is_disk_low: bool,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Alarms {
    own: NodeAlarms,
    /// Those of peers as the host knows them.
    peers: Vec<(NodeName, NodeAlarms)>,
}

impl Alarms {
    /// What this node is short of.
    pub(super) fn own(&self) -> NodeAlarms {
        self.own
    }

    pub(super) fn set_own(&mut self, alarms: NodeAlarms) {
        self.own = alarms;
    }

    /// Takes what reachable peers report. Returns those that are short of anything, if the host does not know them as that yet.
    pub(super) fn update_peers(
        &mut self,
        reported: impl Iterator<Item = (NodeName, NodeAlarms)>,
    ) -> Option<&[(NodeName, NodeAlarms)]> {
        let peers: Vec<_> = reported.filter(|(_, alarms)| *alarms != NodeAlarms::default()).collect();
        if peers == self.peers {
            return None;
        }
        self.peers = peers;
        Some(&self.peers)
    }

    /// Nothing is served here: a host that serves again begins without peers' alarms.
    pub(super) fn forget_peers(&mut self) {
        self.peers.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_alarms_that_change_are_news() {
        let short = NodeAlarms { is_memory_low: true, is_disk_low: false };
        let of = |letter: &str, alarms| (NodeName::new(&format!("rabbit@{letter}")).unwrap(), alarms);
        let mut alarms = Alarms::default();
        assert_eq!(alarms.update_peers([of("a", NodeAlarms::default())].into_iter()), None);
        let both = || [of("a", NodeAlarms::default()), of("b", short)].into_iter();
        assert_eq!(alarms.update_peers(both()), Some(&[of("b", short)][..]));
        assert_eq!(alarms.update_peers(both()), None);
        alarms.forget_peers();
        assert_eq!(alarms.update_peers(both()), Some(&[of("b", short)][..]), "a new broker knows nothing of it");
        assert_eq!(alarms.update_peers([].into_iter()), Some(&[][..]), "a node that is not there is short of nothing");
    }
}
