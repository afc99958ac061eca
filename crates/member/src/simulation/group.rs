//! The nodes, and what they do by themselves.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use consensus::{Base, MemberId, Timing};
use model::ids::JournalPosition;
use store::file::{Disk, SimDisk};
use store::group::{Founding, Identity};
use store::{Random, RecoveredStore, Store};

use super::fetch::Fetch;
use super::network::Network;
use super::node::Node;
use crate::{Member, MemberError, Options};

/// How long a step takes: with clocks that tick every ten, an election is held after at least a second, as it is outside.
const STEP: Duration = Duration::from_millis(10);
const TIMING: Timing = Timing { heartbeat_ticks: 2, election_ticks: 10 };
/// The cluster to which all belong.
const CLUSTER: u128 = 1;

/// How much has been tried.
#[derive(Debug, Clone, Copy, Default)]
pub struct Seen {
    /// Nodes that went down.
    pub crashes: u64,
    /// Journals that were opened anew, without what the leader did not have.
    pub truncations: u64,
    /// Checkpoints that followers have put in force.
    pub installs: u64,
    /// Followers that began with files that were shipped to them.
    pub restores: u64,
    /// Leaders that were asked to hand over.
    pub transfers: u64,
    /// Disks that hung.
    pub hangs: u64,
}

impl Seen {
    /// Adds what another run has tried.
    pub fn add(&mut self, other: Seen) {
        self.crashes += other.crashes;
        self.truncations += other.truncations;
        self.installs += other.installs;
        self.restores += other.restores;
        self.transfers += other.transfers;
        self.hangs += other.hangs;
    }
}

/// Nodes, and the network between them.
pub struct Group {
    /// Where all that is random comes from.
    pub random: Random,
    /// In steps.
    pub now: u64,
    /// By number.
    pub nodes: Vec<Node>,
    /// What lies between them.
    pub network: Network,
    /// Nothing bad happens from now on: disks are not slow, either.
    pub is_calm: bool,
    /// How much has been tried.
    pub seen: Seen,
    next_member: u64,
}

/// Where each node has its data.
pub(crate) fn dir() -> PathBuf {
    PathBuf::from("/data")
}

impl Group {
    /// So many nodes with empty disks, which are down. Their clocks tick about every `tick` steps.
    #[must_use]
    pub fn new(seed: u64, random: Random, count: usize, tick: u64) -> Group {
        let mut group = Group {
            random,
            now: 0,
            nodes: Vec::new(),
            network: Network::new(count),
            is_calm: false,
            seen: Seen::default(),
            next_member: 1,
        };
        for number in 0..count {
            let disk = SimDisk::new(seed ^ ((number as u64 + 1) << 32));
            let id = group.take_member_id();
            let tick = group.random.range(tick - tick / 5..tick + tick / 4 + 1);
            group.nodes.push(Node::new(id, disk, tick));
        }
        group
    }

    /// Three nodes that are up and have formed a group with nothing in it.
    #[must_use]
    pub fn of_three(seed: u64, tick: u64) -> Group {
        let mut group = Group::new(seed, Random::new(seed), 3, tick);
        let base = Base::of_new_group(group.nodes.iter().map(|node| node.id));
        for number in 0..group.nodes.len() {
            let options = store::Options::small(dir(), group.random.next());
            let (disk, member) = (group.nodes[number].disk.clone(), group.nodes[number].id);
            let founding = Some(Founding { position: JournalPosition::START, base: base.clone() });
            let identity = Identity { cluster: CLUSTER, member, name: name_of(number), founding };
            drop(Store::open_stepped(options, Arc::new(disk.clone())).expect("the disk works"));
            identity.write_into(&disk, &dir()).expect("the disk works");
            group.start(number);
        }
        group
    }

    fn take_member_id(&mut self) -> MemberId {
        self.next_member += 1;
        MemberId::new(self.next_member - 1).expect("numbers begin with one")
    }

    /// The directory of a node, which has been a store's, becomes that of the first member.
    pub fn found(&mut self, number: usize) {
        let options = store::Options::small(dir(), self.random.next());
        let disk: Arc<dyn Disk> = Arc::new(self.nodes[number].disk.clone());
        Member::found(options, &disk, CLUSTER, self.nodes[number].id, name_of(number)).expect("the disk works");
    }

    /// The directory of a node, which is empty, becomes that of a member that is to receive everything.
    pub fn join(&mut self, number: usize) {
        let options = store::Options::small(dir(), self.random.next());
        let disk: Arc<dyn Disk> = Arc::new(self.nodes[number].disk.clone());
        Member::join(options, &disk, CLUSTER, self.nodes[number].id, name_of(number)).expect("the disk works");
    }

    /// A node that is down gets an empty disk, and is another member.
    pub fn replace_disk(&mut self, number: usize) {
        let seed = self.random.next();
        let id = self.take_member_id();
        let tick = self.nodes[number].tick;
        self.nodes[number] = Node::new(id, SimDisk::new(seed), tick);
        self.join(number);
    }

    /// How the member of a directory is opened.
    pub(crate) fn options(seed: u64) -> Options {
        Options { store: store::Options::small(dir(), seed), timing: TIMING, seed, is_stepped: true }
    }

    /// A node comes up, unless its power fails meanwhile.
    pub fn start(&mut self, number: usize) {
        let seed = self.random.next();
        let node = &mut self.nodes[number];
        node.wire = Arc::default();
        match Member::open(Self::options(seed), Arc::new(node.disk.clone()), node.wire.clone()) {
            Ok(member) => {
                member.do_disk_work_by_hand();
                node.member = Some(member);
            }
            Err(error) => {
                assert!(node.disk.is_cut(), "node {number} does not open: {error}");
                node.disk.restart();
            }
        }
    }

    /// All nodes that are down come up.
    pub fn start_all(&mut self) {
        for number in 0..self.nodes.len() {
            if !self.nodes[number].is_up() {
                self.start(number);
            }
        }
    }

    /// A node loses its power, or its process. Its store, if it led, has been dropped.
    pub fn crash(&mut self, number: usize) {
        self.seen.crashes += 1;
        // What it has sent may have left it, or not.
        if self.random.percent(50) {
            self.network.forget_from(number);
        }
        let node = &mut self.nodes[number];
        node.fetch = None;
        node.end_hang();
        node.disk.cut_power();
        node.member = None;
        match self.random.percent(50) {
            true => node.disk.kill_process(),
            false => node.disk.restart(),
        }
        node.disk.cut_power_at(u64::MAX);
    }

    /// The clock of a node ticks, if it is time; and its member does what it has to do with its disk, unless that is slow.
    pub fn tick(&mut self, number: usize) {
        let node = &self.nodes[number];
        let hung_for = node.hung_for(self.now);
        let is_due = self.now.is_multiple_of(node.tick);
        let Some(member) = &node.member else { return };
        if is_due {
            member.tick_after(STEP * u32::try_from(hung_for).unwrap_or(u32::MAX));
        }
        if hung_for == 0 && (self.is_calm || self.random.percent(70)) {
            member.step_disk();
        }
    }

    /// What a node does in one step that is up and does not lead. Says whether it has opened its journal anew.
    pub fn follow(&mut self, number: usize) -> bool {
        let is_anew = self.follow_without_fetching(number);
        if !is_anew && self.random.percent(20) {
            self.fetch(number);
        }
        is_anew
    }

    /// As [`Group::follow`], but it fetches nothing.
    pub fn follow_without_fetching(&mut self, number: usize) -> bool {
        let is_slow = !self.is_calm && self.random.percent(40);
        let node = &self.nodes[number];
        let member = node.member.as_ref().expect("it is up");
        if member.is_to_be_rebuilt() {
            let had_restore = matches!(node.fetch, Some(Fetch::Pulled(_)));
            let rebuilt = member.rebuild();
            assert!(rebuilt.is_ok() || node.disk.is_cut(), "node {number} does not open again: {rebuilt:?}");
            self.seen.truncations += u64::from(rebuilt.is_ok() && !had_restore);
            return rebuilt.is_ok();
        }
        if !is_slow && let Err(error) = member.step_journal() {
            assert!(node.disk.is_cut(), "{error}");
        }
        false
    }

    /// A node that was elected opens its directory as a store. `None`: it no longer leads, or its power has failed.
    pub fn take_over(&mut self, number: usize) -> Option<(Arc<Store>, RecoveredStore)> {
        self.nodes[number].end_leases();
        let node = &self.nodes[number];
        match node.member.as_ref()?.take_over() {
            Ok(opened) => (!node.disk.is_cut()).then_some(opened),
            Err(MemberError::NotLeader) => None,
            Err(error) => {
                assert!(node.disk.is_cut(), "node {number} cannot take over: {error}");
                None
            }
        }
    }

    /// A node whose store has been dropped follows again.
    pub fn step_back(&mut self, number: usize) {
        let node = &self.nodes[number];
        if let Err(error) = node.member.as_ref().expect("it is up").step_back() {
            assert!(node.disk.is_cut(), "node {number} cannot step back: {error}");
        }
    }

    /// What members have sent is on its way.
    pub fn collect(&mut self) {
        for from in 0..self.nodes.len() {
            for sent in self.nodes[from].wire.take() {
                if let Some(to) = self.node_of(sent.0.to) {
                    self.network.send(self.now, &mut self.random, from, to, &sent);
                }
            }
        }
    }

    /// What has arrived is heard.
    pub fn deliver(&mut self) {
        while let Some((to, (message, commits))) = self.network.take_arrived(self.now) {
            let node = &self.nodes[to];
            // A frozen process has it in its socket's buffer, or has not: lost, here.
            if let Some(member) = node.member.as_ref().filter(|_| node.frozen_until <= self.now) {
                member.receive(message, commits);
            }
        }
    }

    /// A node that leads with an open store, and is not frozen.
    #[must_use]
    pub fn leader(&self) -> Option<usize> {
        self.nodes.iter().position(|node| node.is_leading() && node.frozen_until <= self.now)
    }

    /// Which node a member is.
    #[must_use]
    pub fn node_of(&self, member: MemberId) -> Option<usize> {
        self.nodes.iter().position(|node| node.id == member)
    }

    /// A transport for a member that is only looked at.
    #[cfg(test)]
    pub(crate) fn no_wire() -> Arc<super::network::Wire> {
        Arc::default()
    }
}

fn name_of(number: usize) -> String {
    format!("rabbit@{number}")
}
