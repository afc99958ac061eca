//! The nodes, their network, and what is checked.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use consensus::{Index, MemberId, Message, Role, Shipment, Term, Timing};
use model::ids::JournalPosition;
use parking_lot::Mutex;

use crate::file::{Disk, SimDisk};
use crate::journal::SharedCommit;
use crate::member::{Member, MemberError, Options, Pull, Pulled, Situation, Transport};
use crate::tests::broker::{Broker, Legacy, Seen as BrokerSeen};
use crate::tests::history::History;
use crate::tests::power_loss::check;
use crate::{Random, Store};

const TIMING: Timing = Timing { heartbeat_ticks: 2, election_ticks: 10 };
/// Time between ticks of a clock that is right, in steps.
const TICK: u64 = 10;

type Sent = (Message, Vec<Arc<SharedCommit>>);

/// Keeps what a member sends until the world takes it.
#[derive(Default)]
pub(super) struct Wire(Mutex<Vec<Sent>>);

impl Transport for Wire {
    fn send(&self, message: Message, commits: Vec<Arc<SharedCommit>>) -> bool {
        self.0.lock().push((message, commits));
        true
    }
}

/// A checkpoint that a node fetches.
pub(super) enum Fetch {
    Pulling(Box<Pulling>),
    Pulled { pulled: Arc<Pulled> },
}

pub(super) struct Pulling {
    pub(super) pull: Pull,
    pub(super) from: usize,
    pub(super) shipment: Option<Shipment>,
}

pub(super) struct Node {
    pub(super) id: MemberId,
    pub(super) disk: SimDisk,
    /// What runs; nothing while the node is down.
    pub(super) member: Option<Member>,
    wire: Arc<Wire>,
    pub(super) broker: Option<(Term, Arc<Broker>)>,
    pub(super) fetch: Option<Fetch>,
    /// What was shipped to it may be of records up to here.
    pub(super) reached: JournalPosition,
    /// Steps between its ticks.
    pub(super) tick: u64,
    /// It is as if its processor stood still.
    pub(super) frozen_until: u64,
}

pub(super) struct Network {
    pub(super) cuts: Vec<Vec<bool>>,
    pub(super) lost_percent: u64,
    pub(super) doubled_percent: u64,
    pub(super) delay: u64,
}

/// How much has been tried.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Seen {
    pub(super) terms: u64,
    pub(super) confirmed: u64,
    pub(super) crashes: u64,
    pub(super) truncations: u64,
    pub(super) installs: u64,
    pub(super) restores: u64,
    pub(super) opened: u64,
    pub(super) transfers: u64,
    pub(super) changes: u64,
    pub(super) checkpoints: u64,
}

impl Seen {
    pub(super) fn add(&mut self, other: Seen) {
        self.terms += other.terms;
        self.confirmed += other.confirmed;
        self.crashes += other.crashes;
        self.truncations += other.truncations;
        self.installs += other.installs;
        self.restores += other.restores;
        self.opened += other.opened;
        self.transfers += other.transfers;
        self.changes += other.changes;
        self.checkpoints += other.checkpoints;
    }

    pub(super) fn is_thorough(&self, seeds: u64) -> bool {
        let often =
            [self.terms, self.crashes, self.opened, self.checkpoints].into_iter().all(|count| count > 2 * seeds);
        let seldom = [self.restores, self.truncations, self.changes].into_iter().all(|count| count > seeds);
        often && seldom && self.installs > seeds / 5
    }
}

/// Everything.
pub(super) struct World {
    pub(super) random: Random,
    pub(super) now: u64,
    pub(super) nodes: Vec<Node>,
    pub(super) network: Network,
    /// Messages on their way, by when they arrive.
    on_the_way: BTreeMap<(u64, u64), (usize, usize, Sent)>,
    sent_count: u64,
    /// What each leader has appended, and what was there before it, by its term.
    histories: BTreeMap<Term, History>,
    /// The furthest that any leader called durable: the leader's term, and the position.
    durable: (Term, JournalPosition),
    next_queue: u64,
    next_message: u64,
    next_member: u64,
    /// Nothing bad happens any more, and nothing new.
    pub(super) is_calm: bool,
    pub(super) seen: Seen,
}

fn dir() -> PathBuf {
    PathBuf::from("/data")
}

impl World {
    pub(super) fn new(seed: u64) -> World {
        let mut random = Random::new(seed);
        let count = random.range(3..5) as usize;
        let mut world = World {
            now: 0,
            nodes: Vec::new(),
            network: Network { cuts: vec![vec![false; count]; count], lost_percent: 0, doubled_percent: 0, delay: 2 },
            on_the_way: BTreeMap::new(),
            sent_count: 0,
            histories: BTreeMap::new(),
            durable: (Term(1), JournalPosition::START),
            next_queue: 1,
            next_message: 1,
            next_member: 1,
            is_calm: false,
            seen: Seen::default(),
            random: random.clone(),
        };
        for number in 0..count {
            let disk = SimDisk::new(seed ^ ((number as u64 + 1) << 32));
            let id = world.take_member_id();
            let tick = random.range(TICK - 2..TICK + 3);
            let node = Node {
                id,
                disk,
                member: None,
                wire: Arc::default(),
                broker: None,
                fetch: None,
                reached: JournalPosition::START,
                tick,
                frozen_until: 0,
            };
            world.nodes.push(node);
            world.make_directory(number, number == 0);
            world.start(number);
        }
        world
    }

    pub(super) fn take_member_id(&mut self) -> MemberId {
        self.next_member += 1;
        MemberId::new(self.next_member - 1).expect("numbers begin with one")
    }

    /// The directory of a node becomes a member's: the first of a group, or one that is to be told everything.
    pub(super) fn make_directory(&mut self, node: usize, is_founder: bool) {
        let options = crate::Options::small(dir(), self.random.next());
        let (disk, id) = (self.nodes[node].disk.clone(), self.nodes[node].id);
        let disk: Arc<dyn Disk> = Arc::new(disk);
        if !is_founder {
            return Member::join(options, &disk, 1, id, format!("rabbit@{node}")).unwrap();
        }
        // It had been alone, and has something.
        let (store, recovered) = Store::open_stepped(options.clone(), disk.clone()).unwrap();
        let broker = Broker::restore(store, recovered, self.legacy(History::default()));
        for _ in 0..self.random.below(40) {
            broker.act().unwrap();
        }
        let history = self.end(broker);
        Member::found(options, &disk, 1, id, format!("rabbit@{node}")).unwrap();
        self.histories.insert(Term(1), history);
    }

    fn legacy(&self, history: History) -> Legacy {
        Legacy {
            seen: BrokerSeen::default(),
            random: self.random.clone(),
            history,
            next_queue: self.next_queue,
            next_message: self.next_message,
        }
    }

    /// A broker ends, and its store is closed as a process that ends closes it.
    fn end(&mut self, broker: Arc<Broker>) -> History {
        let (store, legacy) = broker.end();
        let _ = store.settle_down();
        drop(store);
        self.keep(legacy)
    }

    fn keep(&mut self, legacy: Legacy) -> History {
        self.next_queue = self.next_queue.max(legacy.next_queue);
        self.next_message = self.next_message.max(legacy.next_message);
        self.seen.checkpoints += legacy.seen.checkpoints;
        legacy.history
    }

    /// A node comes up.
    pub(super) fn start(&mut self, number: usize) {
        let seed = self.random.next();
        let node = &mut self.nodes[number];
        node.wire = Arc::default();
        let store = crate::Options::small(dir(), seed);
        let options = Options { store, timing: TIMING, seed, is_stepped: true };
        match Member::open(options, Arc::new(node.disk.clone()), node.wire.clone()) {
            Ok(member) => node.member = Some(member),
            Err(error) => {
                assert!(node.disk.is_cut(), "node {number} does not open: {error}");
                node.disk.restart();
            }
        }
    }

    /// A node loses its power, or its process.
    pub(super) fn crash(&mut self, number: usize) {
        self.seen.crashes += 1;
        self.note_durable(number);
        // What it has sent may have left it, or not.
        if self.random.percent(50) {
            self.on_the_way.retain(|_, (from, _, _)| *from != number);
        }
        let node = &mut self.nodes[number];
        node.fetch = None;
        let broker = node.broker.take();
        node.disk.cut_power();
        if let Some((term, broker)) = broker {
            let (store, legacy) = broker.end();
            drop(store);
            let history = self.keep(legacy);
            self.histories.insert(term, history);
        }
        let node = &mut self.nodes[number];
        node.member = None;
        match self.random.percent(50) {
            true => node.disk.kill_process(),
            false => node.disk.restart(),
        }
        node.disk.cut_power_at(u64::MAX);
    }

    pub(super) fn step(&mut self) {
        self.now += 1;
        self.note_terms();
        if self.random.percent(6) {
            self.change_weather();
        }
        for node in 0..self.nodes.len() {
            self.run(node);
        }
        self.deliver();
        self.collect();
    }

    /// What a node does in one step.
    fn run(&mut self, number: usize) {
        let node = &self.nodes[number];
        let Some(member) = &node.member else { return };
        if node.frozen_until > self.now {
            return;
        }
        if self.now.is_multiple_of(node.tick) {
            member.tick();
        }
        self.ship(number);
        let node = &self.nodes[number];
        let Some(member) = &node.member else { return };
        match member.situation() {
            Situation::Failed(reason) => {
                assert!(node.disk.is_cut(), "node {number} has failed: {reason}");
                return self.crash(number);
            }
            Situation::Following { .. } => self.follow(number),
            Situation::Elected => self.take_over(number),
            Situation::Leading => self.lead(number),
            Situation::Lost => self.step_back(number),
        }
        if self.nodes[number].member.is_some() && self.nodes[number].disk.is_cut() {
            self.crash(number);
        }
    }

    fn follow(&mut self, number: usize) {
        let is_slow = !self.is_calm && self.random.percent(40);
        let member = self.nodes[number].member.as_ref().expect("it is up");
        if member.is_to_be_rebuilt() {
            let had_restore = matches!(self.nodes[number].fetch, Some(Fetch::Pulled { .. }));
            match member.rebuild() {
                Ok(()) => {
                    self.seen.truncations += u64::from(!had_restore);
                    self.check_persisted(number);
                }
                Err(error) => assert!(self.nodes[number].disk.is_cut(), "node {number} does not open again: {error}"),
            }
            return;
        }
        if !is_slow && let Err(error) = member.step_journal() {
            assert!(self.nodes[number].disk.is_cut(), "{error}");
            return;
        }
        if self.random.percent(20) {
            self.fetch(number);
        }
    }

    fn take_over(&mut self, number: usize) {
        let node = &self.nodes[number];
        let member = node.member.as_ref().expect("it is up");
        let (store, recovered) = match member.take_over() {
            Ok(opened) => opened,
            Err(MemberError::NotLeader) => return,
            Err(error) => return assert!(node.disk.is_cut(), "node {number} cannot take over: {error}"),
        };
        if node.disk.is_cut() {
            return;
        }
        let term = member.status().term();
        // It may have led in this term before, and dropped what it had appended last.
        let history = self.histories[&term].branch_at(store.appended());
        // What was confirmed is in it, and is what it was.
        let (durable_term, durable) = self.durable;
        let confirmed = self.histories[&durable_term].state_at(durable);
        if history.state_at(durable) != confirmed {
            eprintln!(
                "node {number} term {term:?} appended {} durable {:?}; all terms {:?}",
                store.appended(),
                self.durable,
                self.histories.keys()
            );
            for (of, other) in &self.histories {
                let positions = other.positions();
                eprintln!(
                    "{of:?}: {} events, equal to durable's: {}, last {:?}",
                    positions.len(),
                    other.state_at(durable) == confirmed,
                    positions.last()
                );
            }
        }
        assert_eq!(history.state_at(durable), confirmed, "what was confirmed up to {durable} is another now");
        check(&store, &recovered, &mut history.clone(), durable);
        let expected = history.state_at(store.appended());
        self.seen.terms += 1;
        let random = Random::new(self.random.next());
        let broker = Broker::restore(store, recovered, Legacy { random, ..self.legacy(history.clone()) });
        expected.queues.iter().for_each(|(id, queue)| broker.expect(*id, &queue.messages));
        self.histories.insert(term, history);
        self.nodes[number].broker = Some((term, broker));
    }

    fn lead(&mut self, number: usize) {
        let Some((_, broker)) = &self.nodes[number].broker else { return };
        let broker = broker.clone();
        let act_count = if self.is_calm { 0 } else { self.random.below(4) };
        let _ = broker.store().step_journal();
        for _ in 0..act_count {
            if broker.act().is_err() {
                break; // not committed yet, or its disk or its leadership is gone
            }
        }
        drop(broker);
        self.note_durable(number);
    }

    /// What the node has called durable.
    fn note_durable(&mut self, number: usize) {
        let Some((term, broker)) = &self.nodes[number].broker else { return };
        let durable = broker.store().durable();
        if durable > self.durable.1 {
            self.histories.insert(*term, broker.history());
            self.seen.confirmed += durable.0 - self.durable.1.0;
            self.durable = (*term, durable);
        }
    }

    /// A member that begins to lead goes on from what its log has of the leaders before.
    fn note_terms(&mut self) {
        for number in 0..self.nodes.len() {
            let Some(member) = &self.nodes[number].member else { continue };
            let status = member.status();
            let term = status.term();
            if status.role == Role::Leader && !self.histories.contains_key(&term) {
                let (_, end) = member.last_before_term(term);
                let of = self.term_with_history(member, term).expect("some leader appended what is there");
                self.refresh_histories();
                let history = self.histories[&of].branch_at(end);
                self.histories.insert(term, history);
            }
        }
    }

    /// The last term before this one, in a member's log, of which a leader may have appended something.
    fn term_with_history(&self, member: &Member, mut term: Term) -> Option<Term> {
        loop {
            let (before, _) = member.last_before_term(term);
            if before.term >= term || before.index == Index(0) {
                return None;
            }
            term = before.term;
            if self.histories.contains_key(&term) {
                return Some(term);
            }
        }
    }

    fn refresh_histories(&mut self) {
        for (term, broker) in self.nodes.iter().filter_map(|node| node.broker.as_ref()) {
            self.histories.insert(*term, broker.history());
        }
    }

    fn step_back(&mut self, number: usize) {
        self.note_durable(number);
        if let Some((term, broker)) = self.nodes[number].broker.take() {
            let (store, legacy) = broker.end();
            drop(store);
            let history = self.keep(legacy);
            self.histories.insert(term, history);
        }
        let node = &self.nodes[number];
        if let Err(error) = node.member.as_ref().expect("it is up").step_back() {
            assert!(node.disk.is_cut(), "node {number} cannot step back: {error}");
        }
    }

    /// Takes what members have sent.
    fn collect(&mut self) {
        for from in 0..self.nodes.len() {
            let sent = std::mem::take(&mut *self.nodes[from].wire.0.lock());
            for sent in sent {
                self.send(from, sent);
            }
        }
    }

    fn send(&mut self, from: usize, sent: Sent) {
        let Some(to) = self.nodes.iter().position(|node| node.id == sent.0.to) else { return };
        if self.network.cuts[from][to] || self.random.percent(self.network.lost_percent) {
            return;
        }
        let copies = 1 + u64::from(self.random.percent(self.network.doubled_percent));
        for _ in 0..copies {
            self.sent_count += 1;
            let at = self.now + 1 + self.random.below(self.network.delay);
            let copy = (sent.0.clone(), sent.1.clone());
            self.on_the_way.insert((at, self.sent_count), (from, to, copy));
        }
    }

    fn deliver(&mut self) {
        while let Some(first) = self.on_the_way.first_entry().filter(|entry| entry.key().0 <= self.now) {
            let (_, to, (message, commits)) = first.remove();
            let node = &self.nodes[to];
            // A frozen process has it in its socket's buffer, or has not: lost, here.
            if let Some(member) = node.member.as_ref().filter(|_| node.frozen_until <= self.now) {
                member.receive(message, commits);
            }
        }
    }

    /// All that is bad ends: then the group agrees, and all members come to have all there is.
    pub(super) fn settle(&mut self) {
        self.calm_down();
        for _ in 0..6000 {
            self.now += 1;
            self.note_terms();
            for node in 0..self.nodes.len() {
                if self.nodes[node].member.is_none() {
                    self.start(node);
                }
                self.run(node);
            }
            self.deliver();
            self.collect();
            if self.is_settled() {
                return self.check_directories();
            }
        }
        let describe = |node: &Node| {
            let member = node.member.as_ref()?;
            let fetch = node.fetch.as_ref().map(|fetch| match fetch {
                Fetch::Pulling(pulling) => (true, pulling.shipment.is_some()),
                Fetch::Pulled { .. } => (false, false),
            });
            Some((member.status(), member.situation(), member.peers(), member.is_checkpoint_wanted(), fetch))
        };
        let nodes: Vec<_> = self.nodes.iter().map(describe).collect();
        panic!("the group does not agree: {nodes:#?}");
    }

    fn is_settled(&self) -> bool {
        let Some(leader) = self.leader() else { return false };
        let member = self.nodes[leader].member.as_ref().expect("it leads");
        let status = member.status();
        let has_all = |node: &Node| {
            let of_node = node.member.as_ref().map(Member::status);
            let is_member = status.members.has(node.id);
            !is_member || of_node.is_some_and(|of_node| of_node.persisted == status.last.index)
        };
        status.committed == status.last.index && self.nodes.iter().all(has_all)
    }

    /// A node that leads, with an open store.
    pub(super) fn leader(&self) -> Option<usize> {
        let leads = |node: &Node| {
            let is_leading = node.member.as_ref().is_some_and(|member| member.situation() == Situation::Leading);
            is_leading && node.broker.is_some() && node.frozen_until <= self.now
        };
        self.nodes.iter().position(leads)
    }

    pub(super) fn check_directories(&mut self) {
        (0..self.nodes.len()).for_each(|node| self.check_directory(node));
    }

    /// What a member has acknowledged is what a power cut would leave.
    fn check_persisted(&mut self, number: usize) {
        let node = &self.nodes[number];
        let Some(member) = node.member.as_ref().filter(|_| !node.disk.is_cut()) else { return };
        let persisted = member.status().persisted;
        let (disk, seed) = (self.disk_after_power_cut(number), self.random.next());
        let store = crate::Options::small(dir(), seed);
        let options = Options { store, timing: TIMING, seed, is_stepped: true };
        let left = Member::open(options, disk, Arc::new(Wire::default())).expect("it opens").status().last.index;
        assert!(left >= persisted, "node {number} has acknowledged {persisted:?}, a power cut leaves {left:?}");
    }

    fn disk_after_power_cut(&self, number: usize) -> Arc<dyn Disk> {
        let disk = self.nodes[number].disk.fork();
        disk.cut_power();
        disk.restart();
        disk.cut_power_at(u64::MAX);
        Arc::new(disk)
    }

    /// A directory, as a power cut would leave it now, opens, and has what the log says.
    pub(super) fn check_directory(&mut self, number: usize) {
        self.note_durable(number);
        self.refresh_histories();
        self.check_persisted(number);
        let disk = self.disk_after_power_cut(number);
        let seed = self.random.next();
        let options = || crate::Options::small(dir(), seed);
        let member = Options { store: options(), timing: TIMING, seed, is_stepped: true };
        let term = match Member::open(member, disk.clone(), Arc::new(Wire::default())) {
            Ok(member) => self.term_with_history(&member, Term(u64::MAX)),
            Err(error) => panic!("the directory of node {number} does not open: {error}"),
        };
        let (store, recovered) = Store::open_stepped(options(), disk).unwrap_or_else(|error| {
            panic!("the directory of node {number} does not open as a store: {error}");
        });
        self.seen.opened += 1;
        // Nothing has arrived there yet, or files have whose last effects are of records that have not.
        let Some(term) = term.filter(|_| store.appended() >= self.nodes[number].reached) else { return };
        check(&store, &recovered, &mut self.histories[&term].clone(), JournalPosition::START);
    }

    /// A node gets an empty directory, and is another member.
    pub(super) fn replace_directory(&mut self, number: usize) {
        self.crash_quietly(number);
        let seed = self.random.next();
        self.nodes[number].disk = SimDisk::new(seed);
        self.nodes[number].id = self.take_member_id();
        self.nodes[number].reached = JournalPosition::START;
        self.make_directory(number, false);
        self.start(number);
    }

    fn crash_quietly(&mut self, number: usize) {
        if self.nodes[number].member.is_some() {
            self.crash(number);
        }
    }

    pub(super) fn node_of(&self, member: MemberId) -> Option<usize> {
        self.nodes.iter().position(|node| node.id == member)
    }

    fn ship(&mut self, leader: usize) {
        let member = self.nodes[leader].member.as_ref().expect("it leads");
        for shipment in member.take_shipments() {
            let Some(to) = self.node_of(shipment.to()) else { continue };
            self.begin_fetch(to, leader, Some(shipment));
        }
        if member_wants_checkpoint(&self.nodes[leader])
            && let Some((_, broker)) = &self.nodes[leader].broker
        {
            broker.retire_committed();
        }
    }
}

fn member_wants_checkpoint(node: &Node) -> bool {
    node.member.as_ref().is_some_and(Member::is_checkpoint_wanted)
}
