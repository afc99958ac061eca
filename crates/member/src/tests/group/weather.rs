//! What befalls the nodes, and how it ends.

use consensus::{MemberChange, MemberStep};

use super::world::World;

impl World {
    /// Something happens.
    pub(super) fn change_weather(&mut self) {
        let node = self.group.random.below(self.group.nodes.len() as u64) as usize;
        match self.group.random.below(100) {
            0..5 => self.group.network.isolate(node),
            5..10 => self.group.cut_one_way(),
            10..25 => self.group.network.mend(),
            25..32 => self.group.change_links(),
            32..37 => self.crash_if_up(node),
            37..44 => {
                let operation_count = self.group.random.below(60);
                self.group.nodes[node].cut_power_in(operation_count);
            }
            44..45 => (0..self.group.nodes.len()).for_each(|node| self.crash_if_up(node)),
            45..60 => self.group.start_all(),
            60..62 => self.group.freeze(node),
            62..64 => self.group.hang(node),
            64..70 => self.transfer(node),
            70..85 => self.change_members(),
            85..92 => self.check_directory(node),
            92..96 => self.retire(),
            _ => self.replace(node),
        }
    }

    fn crash_if_up(&mut self, node: usize) {
        if self.group.nodes[node].is_up() {
            self.crash(node);
        }
    }

    fn transfer(&mut self, to: usize) {
        if let Some(leader) = self.leader() {
            self.group.transfer(leader, to);
        }
    }

    /// The leader adds a node that is no member yet, or promotes a member: it has to see for itself whether that one has caught up.
    fn change_members(&mut self) {
        let Some(leader) = self.leader() else { return };
        let is_hasty = self.group.random.percent(30);
        let member = self.member(leader).expect("it leads");
        let members = member.members();
        let last = member.status().last.index;
        let near = member.peers().into_iter().find(|peer| {
            let has_caught_up = peer.upto.0 > 0 && peer.upto.0 + 20 > last.0;
            members.learners.contains(&peer.member) && (is_hasty || (has_caught_up && !peer.is_shipped_to))
        });
        let stranger = self.group.nodes.iter().find(|node| !members.has(node.id)).map(|node| node.id);
        let step = match (near, stranger) {
            (Some(near), _) => MemberStep::AddVoter(near.member),
            (None, Some(stranger)) => MemberStep::AddLearner(stranger),
            (None, None) => return,
        };
        if member.change(&MemberChange::of(step)).is_ok() {
            self.seen.changes += 1;
        }
    }

    /// The leader makes a checkpoint of all that is committed, and may need the room of what others fetch.
    fn retire(&mut self) {
        if let Some(leader) = self.leader().filter(|_| self.group.random.percent(30)) {
            self.group.nodes[leader].end_leases();
        }
        if let Some((_, broker)) = self.leader().and_then(|leader| self.brokers[leader].as_ref()) {
            broker.retire_committed();
        }
    }

    /// A node whose member the leader removes gets an empty directory, and another id.
    fn replace(&mut self, node: usize) {
        let Some(leader) = self.leader().filter(|leader| *leader != node) else { return };
        let member = self.member(leader).expect("it leads");
        let id = self.group.nodes[node].id;
        let is_gone = !member.members().has(id);
        let may_shrink = member.members().voters.len() > 3 || member.members().learners.contains(&id);
        if !is_gone && may_shrink {
            let _ = member.change(&MemberChange::of(MemberStep::Remove(id)));
        } else if is_gone && member.status().members.voters.len() > 1 && self.group.random.percent(30) {
            self.replace_directory(node);
        }
    }
}
