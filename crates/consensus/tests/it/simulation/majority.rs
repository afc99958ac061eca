//! All end, and a majority of the members starts alone: it elects a leader, and has all that any leader has called committed.

use consensus::{Engine, Index, Kind, MemberId, Status};

use super::world::World;

/// How long the majority may take.
const TIMEOUT_US: u64 = 20_000_000;

impl World {
    /// Where the last change of members is known to be done.
    pub(super) fn start_a_majority(&mut self, group: usize) {
        let Some(status) = self.settled_leader(group) else { return };
        let mut voters = status.members.voters.clone();
        while voters.len() > status.members.voters.len() / 2 + 1 {
            voters.remove(self.random.below(voters.len()));
        }
        let node_of = |world: &World, voter: MemberId| {
            (0..world.nodes.len()).find(|node| world.nodes[*node].members[group].disk.member == voter)
        };
        let Some(chosen) = voters.iter().map(|voter| node_of(self, *voter)).collect::<Option<Vec<_>>>() else { return };
        self.seen.majorities += 1;
        self.mend();
        (0..self.nodes.len()).filter(|node| self.nodes[*node].is_up).collect::<Vec<_>>().into_iter().for_each(|node| {
            self.crash(node);
        });
        let (lost, delay) = (self.network.lost_percent, self.network.delay_us);
        (self.network.lost_percent, self.network.delay_us) = (0, 500);
        for node in &chosen {
            self.nodes[*node].sync_us = 500;
            self.start(*node);
        }
        let (promised, end) = (self.facts[group].promised, self.now + TIMEOUT_US);
        while !chosen.iter().any(|node| self.leads_settled(*node, group, promised)) {
            assert!(self.now < end, "{voters:?} do not start alone, of {:?}: {}", status.members, self.describe());
            if self.step() {
                self.weather_later();
            }
        }
        (self.network.lost_percent, self.network.delay_us) = (lost, delay);
    }

    /// A leader that knows the last change to be done, if no log has a later one.
    fn settled_leader(&self, group: usize) -> Option<Status> {
        let engines = self.nodes.iter().filter_map(|node| node.members[group].engine.as_ref());
        let leaders = engines.map(Engine::status).filter(|status| status.leader == Some(status.member));
        let leader = leaders.max_by_key(Status::term)?;
        let is_later = |index: Index, kind: &Kind| index > leader.applied && matches!(kind, Kind::Members(_));
        let disks = self.nodes.iter().map(|node| &node.members[group].disk);
        let is_on_disk = disks.flat_map(|disk| &disk.journal).any(|(entry, _)| is_later(entry.id.index, &entry.kind));
        let engines = self.nodes.iter().filter_map(|node| node.members[group].engine.as_ref());
        let is_in_log = engines.map(consensus::RaftEngine::log).any(|log| {
            let indexes = leader.applied.next().0..log.last().index.0 + 1;
            indexes.map(Index).any(|index| log.entry(index).is_some_and(|entry| is_later(index, &entry.kind)))
        });
        (leader.is_settled && !leader.members.is_joint() && !is_on_disk && !is_in_log).then_some(leader)
    }

    fn leads_settled(&self, node: usize, group: usize, promised: Index) -> bool {
        let Some(engine) = self.nodes[node].members[group].engine.as_ref() else { return false };
        let status = engine.status();
        if !self.leads(node, group) || !status.is_settled || status.committed != status.last.index {
            return false;
        }
        assert!(status.last.index >= promised, "the majority lacks entries that were called committed: {status:?}");
        true
    }
}
