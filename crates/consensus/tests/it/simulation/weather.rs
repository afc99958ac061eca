//! What befalls a world, and how it heals.

use consensus::{Engine, Index, MemberChange, MemberId, MemberStep, Members};

use super::world::{Event, World};

impl World {
    /// Something happens, and something else soon.
    pub(super) fn change_weather(&mut self) {
        let node = self.random.below(self.nodes.len());
        let group = self.random.below(self.facts.len());
        match self.random.below(100) {
            0..8 => self.isolate(node),
            8..16 => self.cut_one_way(),
            16..30 => self.mend(),
            30..38 => {
                self.network.lost_percent = self.random.pick(&[0, 0, 5, 30]).unwrap();
                self.network.doubled_percent = self.random.pick(&[0, 2, 30]).unwrap();
                self.network.delay_us = self.random.pick(&[200, 500, 3_000, 30_000]).unwrap();
            }
            38..46 => self.nodes[node].sync_us = self.random.pick(&[300, 500, 5_000, 100_000]).unwrap(),
            46..53 => self.crash_if_up(node),
            53..55 => (0..self.nodes.len()).for_each(|node| self.crash_if_up(node)),
            55..68 => (0..self.nodes.len()).for_each(|node| self.start_if_down(node)),
            68..72 => self.nodes[node].frozen_until = self.now + self.random.range(10_000..800_000),
            72..82 => self.checkpoint(node, group),
            82..86 => self.transfer(group),
            86..88 => self.break_link(node, group),
            88..90 => self.replace_removed(group),
            90 => self.start_a_majority(group),
            _ => self.change_members(group),
        }
        self.weather_later();
    }

    pub(super) fn weather_later(&mut self) {
        let us = self.random.range(2_000..60_000) * self.calmness;
        self.after(us, Event::Weather);
    }

    fn isolate(&mut self, node: usize) {
        for other in 0..self.nodes.len() {
            self.network.cuts[node][other] = true;
            self.network.cuts[other][node] = true;
        }
    }

    fn cut_one_way(&mut self) {
        let (from, to) = (self.random.below(self.nodes.len()), self.random.below(self.nodes.len()));
        self.network.cuts[from][to] = true;
    }

    pub(super) fn mend(&mut self) {
        self.network.cuts.iter_mut().flatten().for_each(|is_cut| *is_cut = false);
    }

    fn crash_if_up(&mut self, node: usize) {
        if self.nodes[node].is_up {
            self.crash(node);
        }
    }

    fn start_if_down(&mut self, node: usize) {
        if !self.nodes[node].is_up {
            self.start(node);
        }
    }

    fn leader(&mut self, group: usize) -> Option<usize> {
        let leaders: Vec<usize> = (0..self.nodes.len()).filter(|node| self.leads(*node, group)).collect();
        self.random.pick(&leaders)
    }

    fn transfer(&mut self, group: usize) {
        let Some(leader) = self.leader(group) else { return };
        let to = self.random.below(self.nodes.len());
        let to = self.nodes[to].members[group].disk.member;
        self.nodes[leader].members[group].engine.as_mut().unwrap().transfer(to);
        self.seen.transfers += 1;
        self.pump(leader, group);
    }

    fn break_link(&mut self, node: usize, group: usize) {
        let peer = self.random.below(self.nodes.len());
        let peer = self.nodes[peer].members[group].disk.member;
        if let Some(engine) = self.nodes[node].members[group].engine.as_mut() {
            engine.unreachable(peer);
            self.pump(node, group);
        }
    }

    /// The leader adds, promotes, demotes, removes or replaces.
    fn change_members(&mut self, group: usize) {
        let Some(leader) = self.leader(group) else { return };
        let members = self.members_by(leader, group);
        // A former member does not come back under its id: its directory is replaced.
        let disks = self.nodes.iter().map(|node| &node.members[group].disk);
        let new = disks.filter(|disk| disk.base.id.index == Index(0)).map(|disk| disk.member);
        let strangers: Vec<MemberId> = new.filter(|member| !members.has(*member)).collect();
        let stranger = self.random.pick(&strangers);
        let (learner, voter) = (self.random.pick(&members.learners), self.random.pick(&members.voters));
        let may_shrink = members.voters.len() > 2;
        let steps = match (self.random.below(10), stranger, learner, voter) {
            (0..3, Some(stranger), _, _) => vec![MemberStep::AddLearner(stranger)],
            (3..6, _, Some(learner), _) => vec![MemberStep::AddVoter(learner)],
            (6, _, _, Some(voter)) if may_shrink => vec![MemberStep::Remove(voter)],
            (7, _, Some(learner), Some(voter)) => vec![MemberStep::AddVoter(learner), MemberStep::Remove(voter)],
            (8, _, Some(learner), Some(voter)) => vec![MemberStep::AddVoter(learner), MemberStep::AddLearner(voter)],
            (9, _, Some(learner), _) => vec![MemberStep::Remove(learner)],
            _ => return,
        };
        // Refused, for one, where the leader would be removed.
        let _ = self.nodes[leader].members[group].engine.as_mut().unwrap().change(&MemberChange { steps });
        self.pump(leader, group);
    }

    /// A member that all voters know to be removed is replaced by a new one.
    fn replace_removed(&mut self, group: usize) {
        let Some(leader) = self.leader(group) else { return };
        let members = self.members_by(leader, group);
        let is_known = |voter: &MemberId, of: MemberId| {
            let node = self.nodes.iter().find(|node| node.members[group].disk.member == *voter);
            let engine = node.and_then(|node| node.members[group].engine.as_ref());
            engine.is_some_and(|engine| !engine.status().members.has(of))
        };
        let removed = (0..self.nodes.len()).find(|node| {
            let disk = &self.nodes[*node].members[group].disk;
            let was_member = disk.base.id.index > Index(0);
            was_member && members.voters.iter().all(|voter| is_known(voter, disk.member))
        });
        if let Some(node) = removed {
            self.replace_directory(node, group);
        }
    }

    fn members_by(&self, node: usize, group: usize) -> Members {
        self.nodes[node].members[group].engine.as_ref().unwrap().status().members
    }

    /// All that was bad ends; what was lost stays lost.
    pub(super) fn calm_down(&mut self) {
        self.is_calm = true;
        self.mend();
        (self.network.lost_percent, self.network.doubled_percent, self.network.delay_us) = (0, 0, 500);
        for node in 0..self.nodes.len() {
            (self.nodes[node].sync_us, self.nodes[node].frozen_until) = (500, 0);
            self.start_if_down(node);
        }
        self.healing = vec![None; self.facts.len()];
    }

    /// Whether each group has committed something new, and all its members have all that there is.
    pub(super) fn is_healed(&mut self) -> bool {
        (0..self.facts.len()).all(|group| self.is_group_healed(group))
    }

    fn is_group_healed(&mut self, group: usize) -> bool {
        let Some(leader) = (0..self.nodes.len()).find(|node| self.leads(*node, group)) else { return false };
        let status = self.nodes[leader].members[group].engine.as_ref().unwrap().status();
        let Some(proposed) = self.healing[group] else {
            self.healing[group] = self.propose(leader, group);
            return false;
        };
        let term = self.facts[group].committed.get(&proposed.index);
        if term.is_some_and(|term| *term != proposed.term) || (term.is_none() && status.last.index < proposed.index) {
            // Its leader no longer led.
            self.healing[group] = None;
            return false;
        }
        term.is_some() && !status.members.is_joint() && self.have_all(group, &status.members, proposed.index)
    }

    /// Whether all members have all that was committed, and know it.
    fn have_all(&self, group: usize, members: &Members, least: Index) -> bool {
        let end = self.facts[group].end();
        let ids = members.voters.iter().chain(&members.learners);
        end >= least
            && ids.into_iter().all(|id| {
                let node = self.nodes.iter().find(|node| node.members[group].disk.member == *id);
                let engine = node.and_then(|node| node.members[group].engine.as_ref());
                engine.is_some_and(|engine| {
                    let status = engine.status();
                    status.committed >= least && status.persisted >= least && status.last.index >= end
                })
            })
    }

    /// For the text of a failure.
    pub(super) fn describe(&self) -> String {
        let of_group = |group: usize| {
            let engines = self.nodes.iter().filter_map(|node| node.members[group].engine.as_ref());
            engines.map(|engine| format!("{:?} {:?}", engine.status(), engine.peers())).collect::<Vec<_>>().join("\n")
        };
        (0..self.facts.len()).map(of_group).collect::<Vec<_>>().join("\n\n")
    }
}
