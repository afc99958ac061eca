//! What befalls the nodes, and how it ends.

use consensus::{MemberChange, MemberStep};

use super::world::World;

impl World {
    /// Something happens.
    pub(super) fn change_weather(&mut self) {
        let node = self.random.below(self.nodes.len() as u64) as usize;
        match self.random.below(100) {
            0..5 => self.isolate(node),
            5..10 => self.cut_one_way(),
            10..25 => self.mend(),
            25..32 => {
                self.network.lost_percent = *self.random.pick(&[0, 0, 5, 30]).expect("there are some");
                self.network.doubled_percent = *self.random.pick(&[0, 2, 30]).expect("there are some");
                self.network.delay = *self.random.pick(&[2, 4, 30]).expect("there are some");
            }
            32..37 => self.crash_if_up(node),
            37..44 => self.cut_power_soon(node),
            44..45 => (0..self.nodes.len()).for_each(|node| self.crash_if_up(node)),
            45..60 => self.start_all(),
            60..64 => self.nodes[node].frozen_until = self.now + self.random.range(10..400),
            64..70 => self.transfer(),
            70..85 => self.change_members(),
            85..92 => self.check_directory(node),
            92..96 => self.retire(),
            _ => self.replace(node),
        }
    }

    fn isolate(&mut self, node: usize) {
        for other in 0..self.nodes.len() {
            self.network.cuts[node][other] = true;
            self.network.cuts[other][node] = true;
        }
    }

    fn cut_one_way(&mut self) {
        let count = self.nodes.len() as u64;
        let (from, to) = (self.random.below(count) as usize, self.random.below(count) as usize);
        self.network.cuts[from][to] = true;
    }

    fn mend(&mut self) {
        self.network.cuts.iter_mut().flatten().for_each(|is_cut| *is_cut = false);
    }

    fn crash_if_up(&mut self, node: usize) {
        if self.nodes[node].member.is_some() {
            self.crash(node);
        }
    }

    /// The power goes in the middle of something.
    fn cut_power_soon(&mut self, node: usize) {
        let disk = &self.nodes[node].disk;
        disk.cut_power_at(disk.operation_count() + self.random.below(60));
    }

    fn start_all(&mut self) {
        for node in 0..self.nodes.len() {
            if self.nodes[node].member.is_none() {
                self.start(node);
            }
        }
    }

    fn transfer(&mut self) {
        let Some(leader) = self.leader() else { return };
        let to = self.nodes[self.random.below(self.nodes.len() as u64) as usize].id;
        self.nodes[leader].member.as_ref().expect("it leads").transfer(to);
        self.seen.transfers += 1;
    }

    /// The leader adds a member that is none yet, or promotes one: it has to see for itself whether that one has caught up.
    fn change_members(&mut self) {
        let Some(leader) = self.leader() else { return };
        let is_hasty = self.random.percent(30);
        let member = self.nodes[leader].member.as_ref().expect("it leads");
        let members = member.members();
        let last = member.status().last.index;
        let near = member.peers().into_iter().find(|peer| {
            let has_caught_up = peer.upto.0 > 0 && peer.upto.0 + 20 > last.0;
            members.learners.contains(&peer.member) && (is_hasty || (has_caught_up && !peer.is_shipped_to))
        });
        let stranger = self.nodes.iter().find(|node| !members.has(node.id)).map(|node| node.id);
        let step = match (near, stranger) {
            (Some(near), _) => MemberStep::AddVoter(near.member),
            (None, Some(stranger)) => MemberStep::AddLearner(stranger),
            (None, None) => return,
        };
        if member.change(&MemberChange::of(step)).is_ok() {
            self.seen.changes += 1;
        }
    }

    /// The leader makes a checkpoint of all that is committed.
    fn retire(&mut self) {
        if let Some((_, broker)) = self.leader().and_then(|leader| self.nodes[leader].broker.as_ref()) {
            broker.retire_committed();
        }
    }

    /// A node whose member the leader removes gets an empty directory, and another id.
    fn replace(&mut self, node: usize) {
        let Some(leader) = self.leader().filter(|leader| *leader != node) else { return };
        let member = self.nodes[leader].member.as_ref().expect("it leads");
        let id = self.nodes[node].id;
        let is_gone = !member.members().has(id);
        let may_shrink = member.members().voters.len() > 3 || member.members().learners.contains(&id);
        if !is_gone && may_shrink {
            let _ = member.change(&MemberChange::of(MemberStep::Remove(id)));
        } else if is_gone && member.status().members.voters.len() > 1 && self.random.percent(30) {
            self.replace_directory(node);
        }
    }

    /// All that was bad ends; what was lost stays lost.
    pub(super) fn calm_down(&mut self) {
        self.is_calm = true;
        self.mend();
        (self.network.lost_percent, self.network.doubled_percent, self.network.delay) = (0, 0, 2);
        for node in &mut self.nodes {
            node.frozen_until = 0;
            node.disk.cut_power_at(u64::MAX);
        }
    }
}
