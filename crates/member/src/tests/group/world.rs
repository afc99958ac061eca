//! The nodes, their network, and what is checked.

use std::collections::BTreeMap;
use std::sync::Arc;

use consensus::{Index, Role, Term};
use model::ids::JournalPosition;
use store::file::Disk;
use store::simulation::{Broker, History, Legacy, Seen as BrokerSeen, check};
use store::{Random, Store};

use crate::simulation::{Fetch, Group, Node, Seen as GroupSeen, dir};
use crate::{Member, Situation};

/// Time between ticks of a clock that is right, in steps.
const TICK: u64 = 10;

/// How much has been tried.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Seen {
    pub(super) group: GroupSeen,
    pub(super) terms: u64,
    pub(super) confirmed: u64,
    pub(super) opened: u64,
    pub(super) changes: u64,
    pub(super) checkpoints: u64,
}

impl Seen {
    pub(super) fn add(&mut self, other: Seen) {
        self.group.add(other.group);
        self.terms += other.terms;
        self.confirmed += other.confirmed;
        self.opened += other.opened;
        self.changes += other.changes;
        self.checkpoints += other.checkpoints;
    }

    pub(super) fn is_thorough(&self, seeds: u64) -> bool {
        let often =
            [self.terms, self.group.crashes, self.opened, self.checkpoints].into_iter().all(|count| count > 2 * seeds);
        let seldom = [self.group.restores, self.group.truncations, self.changes].into_iter().all(|count| count > seeds);
        often && seldom && self.group.installs > seeds / 5
    }
}

/// Everything.
pub(super) struct World {
    pub(super) group: Group,
    /// What runs on a leader, and since which term, by node.
    pub(super) brokers: Vec<Option<(Term, Arc<Broker>)>>,
    /// What each leader has appended, and what was there before it, by its term.
    histories: BTreeMap<Term, History>,
    /// The furthest that any leader called durable: the leader's term, and the position.
    durable: (Term, JournalPosition),
    next_queue: u64,
    next_message: u64,
    pub(super) seen: Seen,
}

impl World {
    pub(super) fn new(seed: u64) -> World {
        let mut random = Random::new(seed);
        let count = random.range(3..5) as usize;
        let is_of_three = random.percent(60);
        let group = if is_of_three { Group::of_three(seed, TICK) } else { Group::new(seed, random, count, TICK) };
        let count = group.nodes.len();
        let mut world = World {
            group,
            brokers: (0..count).map(|_| None).collect(),
            histories: BTreeMap::new(),
            durable: (Term(1), JournalPosition::START),
            next_queue: 1,
            next_message: 1,
            seen: Seen::default(),
        };
        if is_of_three {
            world.histories.insert(Term(1), History::default());
            return world;
        }
        world.found();
        world.group.start(0);
        for number in 1..count {
            world.group.join(number);
            world.group.start(number);
        }
        world
    }

    /// The first node had been alone, and has something.
    fn found(&mut self) {
        let options = store::Options::small(dir(), self.group.random.next());
        let disk: Arc<dyn Disk> = Arc::new(self.group.nodes[0].disk.clone());
        let (store, recovered) = Store::open_stepped(options, disk).unwrap();
        let broker = Broker::restore(store, recovered, self.legacy(History::default()));
        for _ in 0..self.group.random.below(40) {
            broker.act().unwrap();
        }
        let history = self.end(broker);
        self.group.found(0);
        self.histories.insert(Term(1), history);
    }

    fn legacy(&self, history: History) -> Legacy {
        Legacy {
            seen: BrokerSeen::default(),
            random: self.group.random.clone(),
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

    /// A node loses its power, or its process.
    pub(super) fn crash(&mut self, number: usize) {
        self.note_durable(number);
        // Nothing of what its broker does from here on lasts.
        self.group.nodes[number].disk.cut_power();
        self.end_broker(number);
        self.group.crash(number);
    }

    fn end_broker(&mut self, number: usize) {
        if let Some((term, broker)) = self.brokers[number].take() {
            let (store, legacy) = broker.end();
            drop(store);
            let history = self.keep(legacy);
            self.histories.insert(term, history);
        }
    }

    pub(super) fn step(&mut self) {
        self.group.now += 1;
        self.note_terms();
        if self.group.random.percent(6) {
            self.change_weather();
        }
        for node in 0..self.group.nodes.len() {
            self.run(node);
        }
        self.group.deliver();
        self.group.collect();
    }

    /// What a node does in one step.
    fn run(&mut self, number: usize) {
        let node = &self.group.nodes[number];
        if !node.is_up() || node.frozen_until > self.group.now {
            return;
        }
        self.group.tick(number);
        if let Some(hang) = self.group.nodes[number].hang_at(self.group.now) {
            if let Some((_, broker)) = self.brokers[number].as_ref().filter(|_| hang.takes_writes) {
                let _ = broker.store().step_writer();
            }
            return self.note_durable(number);
        }
        self.group.ship(number);
        self.make_wanted_checkpoint(number);
        let node = &self.group.nodes[number];
        let Some(situation) = node.situation() else { return };
        match situation {
            Situation::Failed(reason) => {
                assert!(node.disk.is_cut(), "node {number} has failed: {reason}");
                return self.crash(number);
            }
            Situation::Following { .. } => {
                if self.group.follow(number) {
                    self.check_persisted(number);
                }
            }
            Situation::Elected => self.take_over(number),
            Situation::Leading => self.lead(number),
            Situation::Lost => self.step_back(number),
        }
        let node = &self.group.nodes[number];
        if node.is_up() && node.disk.is_cut() {
            self.crash(number);
        }
    }

    fn take_over(&mut self, number: usize) {
        let Some((store, recovered)) = self.group.take_over(number) else { return };
        let term = self.member(number).expect("it is up").status().term();
        // What one that led before has numbered may be in the log, though its broker has not ended.
        for (_, broker) in self.brokers.iter().flatten() {
            let (next_queue, next_message) = broker.next_numbers();
            self.next_queue = self.next_queue.max(next_queue);
            self.next_message = self.next_message.max(next_message);
        }
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
        let random = Random::new(self.group.random.next());
        let broker = Broker::restore(store, recovered, Legacy { random, ..self.legacy(history.clone()) });
        expected.queues.iter().for_each(|(id, queue)| broker.expect(*id, &queue.messages));
        self.histories.insert(term, history);
        self.brokers[number] = Some((term, broker));
    }

    fn lead(&mut self, number: usize) {
        let Some((_, broker)) = &self.brokers[number] else { return };
        let broker = broker.clone();
        let act_count = if self.group.is_calm { 0 } else { self.group.random.below(4) };
        let _ = broker.store().step_writer();
        if self.group.is_calm || self.group.random.percent(60) {
            broker.store().step_syncer();
        }
        for _ in 0..act_count {
            if broker.act().is_err() {
                break; // not committed yet, or its disk or its leadership is lost
            }
        }
        drop(broker);
        self.note_durable(number);
    }

    /// What the node has called durable.
    fn note_durable(&mut self, number: usize) {
        let Some((term, broker)) = &self.brokers[number] else { return };
        let durable = broker.store().durable();
        if durable > self.durable.1 {
            self.histories.insert(*term, broker.history());
            self.seen.confirmed += durable.0 - self.durable.1.0;
            self.durable = (*term, durable);
        }
    }

    /// A member that begins to lead continues from what its log has of the leaders before.
    fn note_terms(&mut self) {
        for number in 0..self.group.nodes.len() {
            let Some(member) = &self.group.nodes[number].member else { continue };
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
        for (term, broker) in self.brokers.iter().flatten() {
            self.histories.insert(*term, broker.history());
        }
    }

    fn step_back(&mut self, number: usize) {
        self.note_durable(number);
        self.end_broker(number);
        self.group.step_back(number);
    }

    /// All that is bad ends: then the group agrees, and all members come to have all there is.
    pub(super) fn settle(&mut self) {
        self.group.calm_down();
        for _ in 0..6000 {
            self.group.now += 1;
            self.note_terms();
            self.group.start_all();
            (0..self.group.nodes.len()).for_each(|node| self.run(node));
            self.group.deliver();
            self.group.collect();
            if self.is_settled() {
                return self.check_directories();
            }
        }
        let describe = |node: &Node| {
            let member = node.member.as_ref()?;
            let is_whole = node.fetch.as_ref().map(|fetch| matches!(fetch, Fetch::Pulled(_)));
            Some((member.status(), member.situation(), member.peers(), member.is_checkpoint_wanted(), is_whole))
        };
        let nodes: Vec<_> = self.group.nodes.iter().map(describe).collect();
        panic!("the group does not agree: {nodes:#?}");
    }

    fn is_settled(&self) -> bool {
        let Some(leader) = self.leader() else { return false };
        let member = self.group.nodes[leader].member.as_ref().expect("it leads");
        let status = member.status();
        let has_all = |node: &Node| {
            let of_node = node.member.as_ref().map(Member::status);
            let is_member = status.members.has(node.id);
            !is_member || of_node.is_some_and(|of_node| of_node.persisted == status.last.index)
        };
        status.committed == status.last.index && self.group.nodes.iter().all(has_all)
    }

    pub(super) fn member(&self, number: usize) -> Option<&Member> {
        self.group.nodes[number].member.as_ref()
    }

    /// A node that leads, with an open store.
    pub(super) fn leader(&self) -> Option<usize> {
        self.group.leader().filter(|leader| self.brokers[*leader].is_some())
    }

    pub(super) fn check_directories(&mut self) {
        (0..self.group.nodes.len()).for_each(|node| self.check_directory(node));
    }

    /// What a member has acknowledged is what a power cut would leave.
    fn check_persisted(&mut self, number: usize) {
        let node = &self.group.nodes[number];
        let Some(member) = node.member.as_ref().filter(|_| !node.disk.is_cut()) else { return };
        let persisted = member.status().persisted;
        let (disk, seed) = (self.disk_after_power_cut(number), self.group.random.next());
        let left = Member::open(Group::options(seed), disk, Group::no_wire());
        let left = left.expect("it opens").status().last.index;
        assert!(left >= persisted, "node {number} has acknowledged {persisted:?}, a power cut leaves {left:?}");
    }

    fn disk_after_power_cut(&self, number: usize) -> Arc<dyn Disk> {
        let disk = self.group.nodes[number].disk.fork();
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
        let seed = self.group.random.next();
        let term = match Member::open(Group::options(seed), disk.clone(), Group::no_wire()) {
            Ok(member) => self.term_with_history(&member, Term(u64::MAX)),
            Err(error) => panic!("the directory of node {number} does not open: {error}"),
        };
        let (store, recovered) =
            Store::open_stepped(store::Options::small(dir(), seed), disk).unwrap_or_else(|error| {
                panic!("the directory of node {number} does not open as a store: {error}");
            });
        self.seen.opened += 1;
        // Nothing has arrived there yet, or files have whose last effects are of records that have not.
        let Some(term) = term.filter(|_| store.appended() >= self.group.nodes[number].reached) else { return };
        check(&store, &recovered, &mut self.histories[&term].clone(), JournalPosition::START);
    }

    /// A node gets an empty directory, and is another member.
    pub(super) fn replace_directory(&mut self, number: usize) {
        if self.group.nodes[number].is_up() {
            self.crash(number);
        }
        self.group.replace_disk(number);
        self.group.start(number);
    }

    fn make_wanted_checkpoint(&mut self, number: usize) {
        if self.member(number).is_some_and(Member::is_checkpoint_wanted)
            && let Some((_, broker)) = &self.brokers[number]
        {
            broker.retire_committed();
        }
    }
}
