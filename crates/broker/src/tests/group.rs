//! A group of three, of which one node at a time has the broker of a test; everything that happens to nodes and links follows from a seed.
//!
//! A life begins when a node is elected: its member opens the store, as at any start of a broker in a cluster. It ends when the node's
//! power fails, when another node leads or is about to, or when the test ends it. What the last leader had is then left to itself: a node
//! that was cut off still believes for a while that it leads, and its store continues with what it had.
//!
//! Always: an elected node has everything that a leader before called durable, and no leader ever calls durable what a later one lacks.

use std::sync::Arc;

use member::Situation;
use member::simulation::{Group, Node, Term};
use model::ids::JournalPosition;
use store::file::SimDisk;
use store::{RecoveredStore, Store};

/// Steps between ticks of a clock.
const TICK: u64 = 4;
const NODE_COUNT: usize = 3;
/// A group without trouble elects a leader, and is done with what was asked of it, in so many steps.
const STEPS_MAX: u64 = 20_000;
/// How long something takes that happens while a broker lives, in steps.
const SOON: u64 = 60;

/// A store that a node has open, or had open when it was the leader.
struct Leadership {
    node: usize,
    term: Term,
    store: Arc<Store>,
    /// From where on the next leader's log differs.
    end: Option<JournalPosition>,
}

/// What happens to a node or a link.
#[derive(Debug, Clone, Copy)]
enum Trouble {
    Crash(usize),
    CrashAll,
    Isolate(usize),
    CutOneWay,
    Mend,
    Freeze(usize),
    Transfer(usize),
}

/// What a broker is to begin with.
pub(super) struct Opened {
    pub(super) disk: SimDisk,
    pub(super) store: Arc<Store>,
    pub(super) recovered: RecoveredStore,
    /// Up to where the log is the one of the broker before.
    pub(super) end: JournalPosition,
}

/// How much has been tried.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Moves {
    /// Another node leads.
    pub(super) moved: u64,
    /// The last leader lost something that it had appended.
    pub(super) truncated: u64,
    /// It had handed over, having written down all.
    pub(super) handed_over: u64,
    /// It did not know yet that it led no more.
    pub(super) deposed: u64,
}

impl Moves {
    pub(super) fn and(self, other: Moves) -> Moves {
        Moves {
            moved: self.moved + other.moved,
            truncated: self.truncated + other.truncated,
            handed_over: self.handed_over + other.handed_over,
            deposed: self.deposed + other.deposed,
        }
    }

    pub(super) fn is_thorough(self, seed_count: u64) -> bool {
        let seldom = [self.handed_over, self.deposed];
        let is_seldom_enough = seldom.into_iter().all(|count| count > seed_count / 20);
        self.moved > seed_count && self.truncated > seed_count / 2 && is_seldom_enough
    }
}

pub(super) struct Trio {
    group: Group,
    /// The leader, on whose store the broker of a test is.
    serving: Option<Leadership>,
    /// Former leaders that do not know yet that others lead.
    deposed: Vec<Leadership>,
    /// Of the last broker's: the node, the term, where it ended, and up to where it was durable.
    last: Option<(usize, Term, JournalPosition, JournalPosition)>,
    troubles: Vec<(u64, Trouble)>,
    begun_at: u64,
    /// When nodes that are down come up.
    up_at: [u64; NODE_COUNT],
    /// A node to which nothing gets through, though all else is calm.
    away: Option<usize>,
    is_away_frozen: bool,
    /// When one loses its power, all do.
    falls_together: bool,
    /// What the last broker had handed over, if it had.
    handed_over: Option<JournalPosition>,
    pub(super) moves: Moves,
}

impl Trio {
    pub(super) fn new(seed: u64) -> Self {
        Trio {
            group: Group::of_three(seed, TICK),
            serving: None,
            deposed: Vec::new(),
            last: None,
            troubles: Vec::new(),
            begun_at: 0,
            up_at: [0; NODE_COUNT],
            away: None,
            is_away_frozen: false,
            falls_together: false,
            handed_over: None,
            moves: Moves::default(),
        }
    }

    fn any_node(&mut self) -> usize {
        self.group.random.below(NODE_COUNT as u64) as usize
    }

    fn another_than(&mut self, node: usize) -> usize {
        (node + 1 + self.group.random.below(NODE_COUNT as u64 - 1) as usize) % NODE_COUNT
    }

    /// A few steps.
    pub(super) fn step_on(&mut self) {
        assert!(
            self.group.now < self.begun_at + 2 * STEPS_MAX,
            "a broker waits for ever for what neither comes nor fails"
        );
        for _ in 0..self.group.random.range(1..5) {
            self.step();
        }
    }

    fn step(&mut self) {
        self.group.now += 1;
        let now = self.group.now;
        let due: Vec<_> = self.troubles.extract_if(.., |(at, _)| *at <= now).collect();
        due.into_iter().for_each(|(_, trouble)| self.befall(trouble));
        if self.falls_together && self.group.nodes.iter().any(|node| node.disk.is_cut()) {
            self.group.nodes.iter().for_each(|node| node.disk.cut_power());
        }
        (0..NODE_COUNT).for_each(|node| self.run(node));
        self.group.deliver();
        self.group.collect();
        if self.group.is_calm
            && let Some(serving) = &self.serving
            && self.is_over()
        {
            let failure = serving.store.failure();
            let states: Vec<_> = self
                .group
                .nodes
                .iter()
                .map(|node| node.member.as_ref().map(|member| (member.situation(), member.status())))
                .collect();
            panic!(
                "node {} leads no more, though all is calm: {failure:?}, {:?} away, {states:?}",
                serving.node, self.away
            );
        }
        for leadership in &self.deposed {
            let (durable, end) = (leadership.store.durable(), leadership.end.unwrap_or(JournalPosition::MAX));
            assert!(durable <= end, "node {} called {durable} durable, the group had {end}", leadership.node);
        }
    }

    /// What a node does in one step.
    fn run(&mut self, number: usize) {
        let node = &self.group.nodes[number];
        if !node.is_up() && self.up_at[number] <= self.group.now {
            self.group.start(number);
        }
        let serves = self.serving.as_ref().is_some_and(|serving| serving.node == number);
        let node = &self.group.nodes[number];
        // A broker whose life is over is dropped by the test, and only then what it stands on.
        if !node.is_up() || node.frozen_until > self.group.now || (serves && self.is_over()) {
            return;
        }
        self.group.tick(number);
        self.group.ship(number);
        let node = &self.group.nodes[number];
        match node.situation() {
            Some(Situation::Failed(reason)) => assert!(node.disk.is_cut(), "node {number} has failed: {reason}"),
            Some(Situation::Following { .. }) => _ = self.group.follow(number),
            Some(Situation::Leading) => self.lead(number),
            Some(Situation::Lost) if !serves => self.step_back(number),
            // The next broker begins there, if the last one has ended.
            Some(Situation::Elected | Situation::Lost) | None => {}
        }
        if !serves && self.group.nodes[number].disk.is_cut() {
            self.crash(number);
        }
    }

    fn lead(&mut self, number: usize) {
        if !self.group.is_calm && self.group.random.percent(25) {
            return; // its disk is slow
        }
        let open = self.serving.iter().chain(&self.deposed).find(|leadership| leadership.node == number);
        // Whether it fails is seen by what it says of itself.
        let _ = open.expect("who leads has a store open").store.step_journal();
    }

    fn step_back(&mut self, number: usize) {
        self.deposed.retain(|leadership| leadership.node != number);
        self.group.step_back(number);
    }

    fn crash(&mut self, number: usize) {
        self.deposed.retain(|leadership| leadership.node != number);
        self.group.crash(number);
        self.up_at[number] = self.group.now + self.group.random.below(SOON);
    }

    fn crash_all(&mut self) {
        for node in 0..NODE_COUNT {
            if self.group.nodes[node].is_up() {
                self.crash(node);
            }
        }
    }

    /// The test has no more use of the broker.
    pub(super) fn is_over(&self) -> bool {
        let Some(Leadership { node, store, .. }) = &self.serving else { return true };
        self.group.nodes[*node].disk.is_cut() || store.failure().is_some()
    }

    /// Elects a leader and opens its store.
    pub(super) fn begin(&mut self, may_fall: bool) -> Opened {
        assert!(self.serving.is_none(), "one life has ended when the next begins");
        self.troubles.clear();
        self.falls_together = false;
        self.group.calm_down();
        if self.away.is_none() && self.group.random.percent(30) {
            self.away = Some(self.any_node());
        }
        if let Some(away) = self.away {
            self.group.network.isolate(away);
            // It continues later, and knows nothing of what was meanwhile.
            if std::mem::take(&mut self.is_away_frozen) {
                self.group.freeze(away);
            }
        }
        for step in 0..STEPS_MAX {
            self.step();
            // None was elected in the place of one that was to hand over and could not.
            if step % (STEPS_MAX / 10) == STEPS_MAX / 10 - 1 {
                (0..NODE_COUNT).for_each(|node| self.give_up(node));
            }
            let Some(number) = self.lasting_leader().filter(|_| self.group.random.percent(90)) else { continue };
            if let Some(opened) = self.open(number, may_fall) {
                return opened;
            }
        }
        let situations: Vec<_> = self.group.nodes.iter().map(Node::situation).collect();
        panic!("none was elected: {situations:?}, {:?} away", self.away);
    }

    /// The elected node, if nothing is under way that makes another one lead.
    fn lasting_leader(&self) -> Option<usize> {
        let near = || self.group.nodes.iter().enumerate().filter(|(number, _)| self.away != Some(*number));
        let elected = near().find(|(_, node)| node.situation() == Some(Situation::Elected));
        let (number, elected) = elected?;
        let status = elected.member.as_ref()?.status();
        // A node that has seen a higher term, or will have read of one when it comes up, ends this one.
        let is_behind = |node: &Node| node.member.as_ref().is_none_or(|member| member.status().term() > status.term());
        let is_lasting = status.handing_over_to.is_none() && !near().any(|(_, node)| is_behind(node));
        is_lasting.then_some(number)
    }

    fn give_up(&mut self, number: usize) {
        if self.group.nodes[number].is_leading() && self.away != Some(number) {
            self.step_back(number);
        }
    }

    fn open(&mut self, number: usize, may_fall: bool) -> Option<Opened> {
        if may_fall && self.group.random.percent(20) {
            let operation_count = self.group.random.below(12);
            self.group.nodes[number].cut_power_in(operation_count);
        }
        let opened = self.group.take_over(number);
        let disk = self.group.nodes[number].disk.clone();
        if disk.is_cut() {
            drop(opened);
            self.crash(number);
            return None;
        }
        disk.cut_power_at(u64::MAX);
        let (store, recovered) = opened?;
        // Now and then something else keeps the broker from starting.
        if self.group.random.percent(10) {
            drop(store);
            self.group.step_back(number);
            return None;
        }
        let member = self.group.nodes[number].member.as_ref().expect("it leads");
        let term = member.status().term();
        let end = self.last.map_or(store.appended(), |(_, last, ..)| member.end_of_term(last));
        if let Some((last, _, appended, durable)) = self.last {
            assert!(end >= durable, "{durable} was durable, the next leader has {end}");
            let handed_over = self.handed_over.unwrap_or(end);
            assert!(end == handed_over, "{handed_over} was handed over, the next leader has {end}");
            self.moves.moved += u64::from(last != number);
            self.moves.truncated += u64::from(end < appended);
        }
        for leadership in &mut self.deposed {
            leadership.end.get_or_insert(end);
            self.moves.deposed += 1;
        }
        // Else one that was to take over earlier might begin to just now.
        self.group.network.forget_all();
        self.serving = Some(Leadership { node: number, term, store: store.clone(), end: None });
        self.begun_at = self.group.now;
        Some(Opened { disk, store, recovered, end })
    }

    /// From now on bad things happen, to the leader mostly.
    pub(super) fn trouble_soon(&mut self, operation_count: u64) {
        let leader = self.serving.as_ref().expect("a broker lives").node;
        self.group.is_calm = false;
        if self.group.random.percent(70) {
            self.away = None;
            self.group.network.mend();
        }
        if self.group.random.percent(40) {
            self.group.change_links();
        }
        let random = &mut self.group.random;
        let power_of = match random.below(100) {
            0..35 => Some(leader),
            35..50 => Some(random.below(NODE_COUNT as u64) as usize),
            _ => None,
        };
        self.falls_together = random.percent(40);
        if let Some(node) = power_of {
            let operation_count = random.below(operation_count);
            self.group.nodes[node].cut_power_in(operation_count);
        }
        for _ in 0..self.group.random.below(4) {
            let at = self.group.now + self.group.random.below(SOON);
            let (other, any) = (self.another_than(leader), self.any_node());
            let trouble = match self.group.random.below(100) {
                0..10 => Trouble::Crash(any),
                10..14 => Trouble::CrashAll,
                14..34 => Trouble::Isolate(any),
                34..44 => Trouble::CutOneWay,
                44..60 => Trouble::Mend,
                60..70 => Trouble::Freeze(other),
                _ => Trouble::Transfer(other),
            };
            self.troubles.push((at, trouble));
        }
    }

    /// The broker's power fails at an operation.
    pub(super) fn cut_power_in(&mut self, operation_count: u64) {
        self.group.is_calm = false;
        let leader = self.serving.as_ref().expect("a broker lives").node;
        self.group.nodes[leader].cut_power_in(operation_count);
        // What it says last may be heard, or not.
        if self.group.random.percent(50) {
            self.group.network.isolate(leader);
        }
    }

    fn befall(&mut self, trouble: Trouble) {
        let leader = self.serving.as_ref().map(|serving| serving.node);
        match trouble {
            // The test drops the broker before the node comes up again.
            Trouble::Crash(node) => self.group.nodes[node].disk.cut_power(),
            Trouble::CrashAll => self.group.nodes.iter().for_each(|node| node.disk.cut_power()),
            Trouble::Isolate(node) => self.group.network.isolate(node),
            Trouble::CutOneWay => self.group.cut_one_way(),
            Trouble::Mend => self.group.network.mend(),
            Trouble::Freeze(node) => self.group.freeze(node),
            Trouble::Transfer(to) => leader.into_iter().for_each(|leader| self.group.transfer(leader, to)),
        }
    }

    /// Whether the life that ends is to end by handing over.
    pub(super) fn draws_hand_over(&mut self) -> bool {
        !self.is_over() && self.group.random.percent(25)
    }

    /// Another node is to lead; whether one does, as far as this one knows.
    pub(super) fn hand_over(&mut self) -> bool {
        let leader = self.serving.as_ref().expect("a broker lives").node;
        let mut to = self.another_than(leader);
        if self.away == Some(to) {
            to = NODE_COUNT - leader - to;
        }
        self.group.is_calm = false;
        self.group.transfer(leader, to);
        for _ in 0..10 * SOON {
            if self.group.nodes[leader].situation() == Some(Situation::Lost) {
                return !self.group.nodes[leader].disk.is_cut();
            }
            self.step();
        }
        false
    }

    /// The broker has been dropped.
    pub(super) fn end(&mut self, handed_over: Option<JournalPosition>) {
        let serving = self.serving.take().expect("a broker lived");
        let number = serving.node;
        self.last = Some((number, serving.term, serving.store.appended(), serving.store.durable()));
        self.handed_over = handed_over;
        self.moves.handed_over += u64::from(handed_over.is_some());
        if self.group.nodes[number].disk.is_cut() {
            drop(serving);
            return self.crash(number);
        }
        self.deposed.push(serving);
        if !self.group.nodes[number].is_leading() {
            return;
        }
        match self.group.random.below(100) {
            0..35 => self.crash(number),
            35..45 => self.crash_all(),
            45..75 => {
                self.away = Some(number);
                self.is_away_frozen = self.group.random.percent(60);
            }
            75..95 => {
                let to = self.another_than(number);
                self.group.transfer(number, to);
            }
            _ => self.step_back(number),
        }
    }
}
