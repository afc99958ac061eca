//! What befalls nodes and links.

use super::group::Group;

impl Group {
    /// The link from one node to another is cut, in this direction; it may be from a node to itself.
    pub fn cut_one_way(&mut self) {
        let count = self.nodes.len() as u64;
        let (from, to) = (self.random.below(count) as usize, self.random.below(count) as usize);
        self.network.cuts[from][to] = true;
    }

    /// Links lose, double and delay more or less than before.
    pub fn change_links(&mut self) {
        self.network.lost_percent = *self.random.pick(&[0, 0, 5, 30]).expect("there are some");
        self.network.doubled_percent = *self.random.pick(&[0, 2, 30]).expect("there are some");
        self.network.delay = *self.random.pick(&[2, 4, 30]).expect("there are some");
    }

    /// A node stands still for a while.
    pub fn freeze(&mut self, node: usize) {
        self.nodes[node].frozen_until = self.now + self.random.range(10..400);
    }

    /// The disk of a node does nothing for a while.
    pub fn hang(&mut self, node: usize) {
        let until = self.now + self.random.range(10..600);
        let takes_writes = self.random.percent(50);
        self.nodes[node].hang(self.now, until, takes_writes);
        self.seen.hangs += 1;
    }

    /// A leader hands over to a node, if it can.
    pub fn transfer(&mut self, leader: usize, to: usize) {
        let to = self.nodes[to].id;
        if let Some(member) = &self.nodes[leader].member {
            self.seen.transfers += u64::from(member.transfer(to));
        }
    }

    /// All that is bad ends; what was lost stays lost.
    pub fn calm_down(&mut self) {
        self.is_calm = true;
        self.network.calm_down();
        for node in &mut self.nodes {
            node.frozen_until = 0;
            node.end_hang();
            node.disk.cut_power_at(u64::MAX);
        }
    }
}
