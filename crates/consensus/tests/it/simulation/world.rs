//! Nodes, their clocks, disks and network, and one event after the other.

use std::collections::{BTreeMap, HashMap};

use consensus::{
    Base, Body, Engine, Entry, GroupId, Index, Kind, LogId, MemberId, Members, Message, Opening, Proposal, RaftEngine,
    Ready, Role, Shipment, Timing,
};

use super::Fault;
use super::disk::{Disk, Write};
use super::facts::Facts;
use super::random::Random;

/// Microseconds of a tick, on a clock that is right.
const TICK_US: u64 = 10_000;
pub(super) const TIMING: Timing = Timing { heartbeat_ticks: 2, election_ticks: 10 };

/// A member of one group on one node.
pub(super) struct Member {
    pub(super) engine: Option<RaftEngine>,
    pub(super) disk: Disk,
    /// Writes that the sync covers which is under way.
    syncing: Option<usize>,
    /// All that is in the log, with contents: what the journal's tail has in memory.
    tail: BTreeMap<Index, (LogId, u64)>,
    /// Contents that came with the message before, or were proposed.
    arrived: HashMap<LogId, u64>,
    /// Up to where it has said that all is committed, in this life.
    committed: Index,
    /// The members, as it last said.
    members: Members,
}

pub(super) struct Node {
    pub(super) is_up: bool,
    /// Counts starts: what belongs to an earlier life finds nothing.
    life: u32,
    /// How long its ticks take.
    tick_us: u64,
    pub(super) sync_us: u64,
    /// It stands still until then.
    pub(super) frozen_until: u64,
    pub(super) members: Vec<Member>,
}

/// How the network is.
pub(super) struct Network {
    /// Whether nothing gets from one node to another.
    pub(super) cuts: Vec<Vec<bool>>,
    pub(super) lost_percent: u64,
    pub(super) doubled_percent: u64,
    pub(super) delay_us: u64,
}

pub(super) enum Event {
    Tick { node: usize, life: u32 },
    Arrive { node: usize, group: usize, bytes: Vec<u8>, contents: Vec<u64> },
    Synced { node: usize, group: usize, life: u32 },
    Shipped { group: usize, from: usize, shipment: Shipment, is_lost: bool },
    Told { node: usize, life: u32, shipment: Shipment },
    Checkpoint { node: usize, group: usize },
    Propose,
    Weather,
}

pub(super) struct World {
    pub(super) random: Random,
    pub(super) now: u64,
    events: BTreeMap<(u64, u64), Event>,
    event_count: u64,
    pub(super) nodes: Vec<Node>,
    pub(super) facts: Vec<Facts>,
    pub(super) network: Network,
    pub(super) fault: Fault,
    last_member: u64,
    /// How much rarer than in most runs something happens: there are long reigns, too.
    pub(super) calmness: u64,
    pub(super) is_calm: bool,
    /// Since then: what was proposed to each group when all was well again.
    pub(super) healing: Vec<Option<LogId>>,
    ready: Ready,
    /// What happened, so that a test sees that it did.
    pub(super) seen: super::Seen,
}

impl World {
    pub(super) fn new(seed: u64, fault: Fault) -> Self {
        let mut random = Random::new(seed);
        let group_count = 1 + random.below(2);
        let voter_count = *[1, 3, 3, 3, 3, 5].get(random.below(6)).unwrap();
        let node_count = voter_count + 2;
        let network = Network {
            cuts: vec![vec![false; node_count]; node_count],
            lost_percent: 0,
            doubled_percent: 2,
            delay_us: 500,
        };
        let facts = (0..group_count).map(|_| Facts::default()).collect();
        let mut world = World {
            random,
            now: 0,
            events: BTreeMap::new(),
            event_count: 0,
            nodes: Vec::new(),
            facts,
            network,
            fault,
            last_member: 0,
            calmness: if seed % 8 == 5 { 12 } else { 1 },
            is_calm: false,
            healing: Vec::new(),
            ready: Ready::default(),
            seen: super::Seen::default(),
        };
        world.build(node_count, voter_count, group_count);
        world
    }

    fn build(&mut self, node_count: usize, voter_count: usize, group_count: usize) {
        // Ids of first members are known before any of them runs.
        let id = |node: usize, group: usize| MemberId::new((node * group_count + group + 1) as u64).unwrap();
        self.last_member = (node_count * group_count) as u64;
        for node in 0..node_count {
            let member = |group: usize| {
                let voters = (0..voter_count).map(|node| id(node, group));
                let base = if node < voter_count { Base::of_new_group(voters) } else { Base::default() };
                Member::new(id(node, group), base)
            };
            let members = (0..group_count).map(member).collect();
            self.nodes.push(Node { is_up: false, life: 0, tick_us: 0, sync_us: 500, frozen_until: 0, members });
            self.start(node);
        }
        self.after(10_000, Event::Propose);
        self.after(50_000, Event::Weather);
    }

    pub(super) fn after(&mut self, us: u64, event: Event) {
        self.event_count += 1;
        self.events.insert((self.now + us, self.event_count), event);
    }

    pub(super) fn next_member(&mut self) -> MemberId {
        self.last_member += 1;
        MemberId::new(self.last_member).unwrap()
    }

    /// One event; the weather is the caller's.
    pub(super) fn step(&mut self) -> bool {
        let Some(((at, _), event)) = self.events.pop_first() else { return false };
        self.now = at;
        let of_node = match &event {
            Event::Tick { node, .. } | Event::Arrive { node, .. } | Event::Synced { node, .. } => Some(*node),
            _ => None,
        };
        if let Some(until) = of_node.map(|node| self.nodes[node].frozen_until).filter(|until| *until > at) {
            self.after(until - at, event);
            return false;
        }
        match event {
            Event::Tick { node, life } if self.lives(node, life) => self.tick(node),
            Event::Arrive { node, group, bytes, contents } => self.arrive(node, group, &bytes, &contents),
            Event::Synced { node, group, life } if self.lives(node, life) => self.synced(node, group),
            Event::Shipped { group, from, shipment, is_lost } => self.shipped(group, from, shipment, is_lost),
            Event::Told { node, life, shipment } if self.lives(node, life) => shipment.arrived(),
            Event::Checkpoint { node, group } => self.checkpoint(node, group),
            Event::Propose => self.propose_somewhere(),
            Event::Weather => return true,
            Event::Tick { .. } | Event::Synced { .. } | Event::Told { .. } => {}
        }
        false
    }

    fn lives(&self, node: usize, life: u32) -> bool {
        self.nodes[node].is_up && self.nodes[node].life == life
    }

    fn tick(&mut self, node: usize) {
        for group in 0..self.facts.len() {
            self.nodes[node].members[group].engine.as_mut().unwrap().tick();
            self.pump(node, group);
        }
        let (us, life) = (self.nodes[node].tick_us, self.nodes[node].life);
        self.after(us, Event::Tick { node, life });
    }

    fn arrive(&mut self, node: usize, group: usize, bytes: &[u8], contents: &[u64]) {
        let message = Message::decode(bytes).expect("what a member sends is a message");
        let member = &mut self.nodes[node].members[group];
        let Some(engine) = member.engine.as_mut().filter(|_| member.disk.member == message.to) else { return };
        if let Body::Append { entries, .. } = &message.body {
            member.arrived.extend(entries.iter().map(|entry| entry.id).zip(contents.iter().copied()));
        }
        engine.step(message);
        // Sometimes several messages come in one read.
        if self.random.percent(90) {
            self.pump(node, group);
        }
    }

    fn synced(&mut self, node: usize, group: usize) {
        let member = &mut self.nodes[node].members[group];
        let count = member.syncing.take().unwrap();
        if let Some(number) = member.disk.sync(count) {
            member.engine.as_mut().unwrap().persisted(number);
        }
        self.pump(node, group);
    }

    /// The files of a shipment are there, or lost, or the receiver is down.
    fn shipped(&mut self, group: usize, from: usize, shipment: Shipment, is_lost: bool) {
        let to = (0..self.nodes.len()).find(|node| self.nodes[*node].members[group].disk.member == shipment.to());
        let receiver = to.filter(|to| !is_lost && self.nodes[*to].is_up && !self.network.cuts[from][*to]);
        self.seen.shipments += 1;
        let Some(node) = receiver else {
            self.seen.lost_shipments += 1;
            if self.fault == Fault::ForgetShipments {
                std::mem::forget(shipment);
            }
            return;
        };
        let mut bytes = Vec::new();
        shipment.message().encode(&mut bytes);
        self.arrive(node, group, &bytes, &[]);
        // The sender may hear of it later, or never: then it has failed.
        let delay = self.random.range(0..20_000);
        let life = self.nodes[from].life;
        if self.is_calm || self.random.percent(80) {
            self.after(delay, Event::Told { node: from, life, shipment });
        }
    }

    /// A client publishes at a member that says it leads.
    fn propose_somewhere(&mut self) {
        let group = self.random.below(self.facts.len());
        let leaders: Vec<usize> = (0..self.nodes.len()).filter(|node| self.leads(*node, group)).collect();
        if let Some(node) = self.random.pick(&leaders) {
            self.propose(node, group);
        }
        let us = self.random.range(500..12_000);
        self.after(us, Event::Propose);
    }

    pub(super) fn leads(&self, node: usize, group: usize) -> bool {
        let engine = self.nodes[node].members[group].engine.as_ref();
        engine.is_some_and(|engine| engine.status().role == Role::Leader)
    }

    pub(super) fn propose(&mut self, node: usize, group: usize) -> Option<LogId> {
        let (len, contents) = (self.random.range(0..200_000) as u32, self.random.number());
        let member = &mut self.nodes[node].members[group];
        let id = member.engine.as_mut()?.propose(Proposal { len }).ok()?;
        member.arrived.insert(id, contents);
        if self.random.percent(70) {
            self.pump(node, group);
        }
        Some(id)
    }

    /// What a driver does: writes, sends, ships; and what must hold.
    pub(super) fn pump(&mut self, node: usize, group: usize) {
        let mut ready = std::mem::take(&mut self.ready);
        let engine = self.nodes[node].members[group].engine.as_mut().unwrap();
        engine.ready(&mut ready);
        if let Some(leadership) = ready.leadership.filter(|leadership| leadership.role == Role::Leader) {
            self.seen.leaders += 1;
            self.facts[group].leads(self.nodes[node].members[group].disk.member, leadership.term);
        }
        self.write(node, group, &mut ready);
        self.commit(node, group, ready.committed);
        if let Some(members) = ready.members.take() {
            self.seen.changes += 1;
            self.nodes[node].members[group].members = members;
        }
        for message in ready.send.drain(..) {
            self.facts[group].says(&message);
            self.send(node, group, &message);
        }
        for shipment in ready.ship.drain(..) {
            let us = self.random.range(2_000..if self.is_calm { 10_000 } else { 250_000 });
            let is_lost = !self.is_calm && self.random.percent(30);
            self.after(us, Event::Shipped { group, from: node, shipment, is_lost });
        }
        if ready.is_checkpoint_wanted {
            let us = self.random.range(2_000..50_000);
            self.after(us, Event::Checkpoint { node, group });
        }
        self.ready = ready;
        self.mark(node, group);
    }

    /// Rule 8: behind a change of members comes its mark.
    fn mark(&mut self, node: usize, group: usize) {
        let engine = self.nodes[node].members[group].engine.as_mut().unwrap();
        let Some(mark) = engine.wanted_mark().filter(|_| self.fault != Fault::ForgetMarks) else { return };
        engine.change(&mark).expect("it is wanted");
        self.seen.marks += 1;
        self.pump(node, group);
    }

    fn write(&mut self, node: usize, group: usize, ready: &mut Ready) {
        let is_leader = self.leads(node, group);
        let (member, facts) = (&mut self.nodes[node].members[group], &mut self.facts[group]);
        let number = ready.number;
        assert_eq!(number.is_some(), ready.is_to_be_written());
        if let Some(ballot) = ready.ballot {
            if self.fault == Fault::ForgetBallots {
                member.disk.write(number, Write::Append(Vec::new()));
            } else {
                member.disk.write_ballot(number, ballot);
            }
        }
        if let Some(base) = ready.restore.take() {
            facts.begins(&base);
            self.seen.restores += 1;
            member.tail.clear();
            member.disk.write(number, Write::Restore(base));
        }
        if !ready.append.is_empty() {
            let first = ready.append[0].id.index;
            self.seen.replaced += u64::from(!member.tail.split_off(&first).is_empty());
            let mut commits = Vec::new();
            for entry in ready.append.drain(..) {
                let contents = contents_of(&entry, &member.arrived);
                if !is_leader {
                    facts.writes(&entry, contents);
                }
                member.tail.insert(entry.id.index, (entry.id, contents));
                commits.push((entry, contents));
            }
            member.disk.write(number, Write::Append(commits));
        }
        member.arrived.clear();
        let early = number.filter(|_| self.fault == Fault::AcknowledgeBeforeSync);
        if let Some(number) = early {
            member.engine.as_mut().unwrap().persisted(number);
        }
        self.sync_soon(node, group);
    }

    pub(super) fn sync_soon(&mut self, node: usize, group: usize) {
        let us = self.random.range(self.nodes[node].sync_us / 5..self.nodes[node].sync_us);
        let life = self.nodes[node].life;
        let member = &mut self.nodes[node].members[group];
        if member.syncing.is_none() && member.disk.unsynced_count() > 0 {
            member.syncing = Some(member.disk.unsynced_count());
            self.after(us, Event::Synced { node, group, life });
        }
    }

    fn commit(&mut self, node: usize, group: usize, committed: Index) {
        let member = &mut self.nodes[node].members[group];
        assert!(committed >= member.committed, "committed goes back from {:?} to {committed:?}", member.committed);
        assert!(committed >= member.disk.checkpoint, "committed below the checkpoint: {committed:?}");
        let first = member.committed.next();
        member.committed = committed;
        if member.engine.as_ref().is_some_and(|engine| engine.status().role == Role::Leader) {
            self.facts[group].promises(committed);
        }
        let member = &mut self.nodes[node].members[group];
        let ids: Vec<LogId> = member.tail.range(first..committed.next()).map(|(_, (id, _))| *id).collect();
        for id in ids {
            if self.facts[group].commits(id) {
                self.seen.commits += 1;
                self.check_majority(node, group, id);
            }
        }
    }

    /// Checks that an entry is on the disks of a majority when a leader is the first to report it as committed.
    fn check_majority(&self, node: usize, group: usize, id: LogId) {
        let member = &self.nodes[node].members[group];
        let status = member.engine.as_ref().unwrap().status();
        if status.role != Role::Leader {
            return;
        }
        let has = |voter: MemberId| {
            let on_disk = |node: &Node| {
                let disk = &node.members[group].disk;
                disk.member == voter && disk.has(id)
            };
            self.facts[group].gone.contains(&voter) || self.nodes.iter().any(on_disk)
        };
        // The entry may be the one that changes them.
        let is_enough = status.members.is_majority(has) || member.members.is_majority(has);
        assert!(is_enough, "{id} is called committed and not on a majority's disks: {:?}", status.members);
    }

    fn send(&mut self, node: usize, group: usize, message: &Message) {
        let to = (0..self.nodes.len()).find(|to| self.nodes[*to].members[group].disk.member == message.to);
        let Some(to) = to.filter(|to| !self.network.cuts[node][*to]) else { return };
        let mut bytes = Vec::new();
        message.encode(&mut bytes);
        let mut contents = Vec::new();
        if let Body::Append { entries, .. } = &message.body {
            // The sender of an `Append` has what it names.
            let member = &self.nodes[node].members[group];
            for entry in entries {
                let (id, of_entry) = member.tail[&entry.id.index];
                assert_eq!(id, entry.id, "an entry is sent that is not in the log");
                self.facts[group].writes(entry, of_entry);
                contents.push(of_entry);
            }
        }
        let copies = 1 + usize::from(self.random.percent(self.network.doubled_percent));
        for _ in 0..copies {
            if !self.random.percent(self.network.lost_percent) {
                let slowly = if self.random.percent(3) { 40 } else { 1 };
                let us = self.random.range(50..self.network.delay_us * slowly);
                let (bytes, contents) = (bytes.clone(), contents.clone());
                self.after(us, Event::Arrive { node: to, group, bytes, contents });
            }
        }
    }

    pub(super) fn start(&mut self, node: usize) {
        self.seen.starts += 1;
        let tick_us = TICK_US * self.random.range(70..140) / 100;
        let this = &mut self.nodes[node];
        (this.is_up, this.life, this.tick_us, this.frozen_until) = (true, this.life + 1, tick_us, 0);
        for group in 0..self.facts.len() {
            self.open(node, group);
        }
        let us = self.random.range(0..tick_us);
        let life = self.nodes[node].life;
        self.after(us, Event::Tick { node, life });
    }

    /// A member starts with what its disk has.
    pub(super) fn open(&mut self, node: usize, group: usize) {
        let seed = self.random.number();
        let member = &mut self.nodes[node].members[group];
        let disk = &member.disk;
        self.facts[group].begins(&disk.base);
        disk.journal.iter().for_each(|(entry, contents)| self.facts[group].writes(entry, *contents));
        let checkpoint = if self.fault == Fault::ForgetCheckpoints { disk.base.id.index } else { disk.checkpoint };
        let opening = Opening {
            group: GroupId(group as u32),
            member: disk.member,
            ballot: disk.ballot_file(),
            log: disk.log(),
            checkpoint,
            timing: TIMING,
            seed,
        };
        member.tail = disk.journal.iter().map(|(entry, contents)| (entry.id.index, (entry.id, *contents))).collect();
        member.engine = Some(RaftEngine::open(opening).expect("what was acknowledged is there"));
        (member.syncing, member.committed) = (None, disk.base.id.index);
        member.arrived.clear();
        self.pump(node, group);
    }

    pub(super) fn crash(&mut self, node: usize) {
        self.seen.crashes += 1;
        self.nodes[node].is_up = false;
        for member in &mut self.nodes[node].members {
            member.engine = None;
            member.disk.cut_power(&mut self.random);
            if self.fault == Fault::LoseTheTail {
                member.disk.lose_tail(5);
            }
        }
    }

    /// Its checkpoint reaches up to what is durable and applied; the journal before may be removed.
    pub(super) fn checkpoint(&mut self, node: usize, group: usize) {
        let left = self.random.below(20) as u64;
        let member = &mut self.nodes[node].members[group];
        let Some(engine) = member.engine.as_mut() else { return };
        let status = engine.status();
        // As a store does: no further than what was called committed.
        let reached = Index(status.applied.0.min(status.persisted.0).min(member.committed.0));
        let begin = Index(reached.0.saturating_sub(left).max(status.base.index.0));
        let Some(base) = engine.base_at(begin) else { return };
        if reached.0 <= 1 || engine.base_at(reached).is_none() || reached < member.disk.checkpoint {
            return;
        }
        self.facts[group].begins(&base);
        engine.checkpointed(reached);
        engine.compact(begin);
        member.tail = member.tail.split_off(&begin.next());
        member.disk.write(None, Write::Checkpoint(reached, base));
        self.seen.checkpoints += 1;
        self.sync_soon(node, group);
    }

    /// The directory is lost for good, and with it its member: a member of another id begins in its place.
    pub(super) fn replace_directory(&mut self, node: usize, group: usize) {
        let member = self.next_member();
        let old = std::mem::replace(&mut self.nodes[node].members[group], Member::new(member, Base::default()));
        self.facts[group].gone.insert(old.disk.member);
        if self.nodes[node].is_up {
            // What belongs to the old one, a sync for one, finds nothing.
            self.nodes[node].is_up = false;
            for group in 0..self.facts.len() {
                self.nodes[node].members[group].engine = None;
                self.nodes[node].members[group].disk.cut_power(&mut self.random);
            }
            self.start(node);
        }
    }
}

impl Member {
    pub(super) fn new(member: MemberId, base: Base) -> Self {
        Member {
            engine: None,
            disk: Disk::new(member, base),
            syncing: None,
            tail: BTreeMap::new(),
            arrived: HashMap::new(),
            committed: Index(0),
            members: Members::default(),
        }
    }
}

fn contents_of(entry: &Entry, arrived: &HashMap<LogId, u64>) -> u64 {
    match entry.kind {
        Kind::Records => *arrived.get(&entry.id).expect("contents came with the message, or were proposed"),
        Kind::Empty | Kind::Members(_) => 0,
    }
}
