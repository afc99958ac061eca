//! Many nodes with equal lists, under random delays, one-way partitions, losses and restarts: never two clusters, and one in the end.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use cluster::formation::{Admission, Consent, Formation, NodeState, Order, Question, Reply};
use cluster::wire::ClusterId;

use super::{cluster_id, listed, named, own, with_a_list};

/// When all that is bad ends.
const STORM_MS: u64 = 150_000;
/// When all must be one: twice the longest wait of a node that sees everything, and some more.
const END_MS: u64 = STORM_MS + 90_000;

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    fn is_one_in(&mut self, of: u64) -> bool {
        self.below(of) == 0
    }
}

enum Event {
    Question { from: usize, life: u64, number: u64, to: usize, question: Question },
    Reply { to: usize, life: u64, number: u64, reply: Reply },
    Failure { to: usize, life: u64, number: u64 },
    Join { from: usize, life: u64, to: usize },
    Discovered { at: usize, life: u64 },
    Start(usize),
    Weather,
}

struct Node {
    formation: Option<Formation>,
    /// Counts its starts: what was meant for an earlier one is lost.
    life: u64,
    state: NodeState,
    kept: Consent,
}

struct World {
    random: Random,
    now: u64,
    nodes: Vec<Node>,
    events: BTreeMap<(u64, u64), Event>,
    event_count: u64,
    cut: BTreeSet<(usize, usize)>,
    founded: HashSet<ClusterId>,
    /// Nodes keep nothing of what they agreed to, which must be found out.
    is_forgetful: bool,
    /// One message in so many is lost, is slow; one chance to crash in so many is taken.
    lost: u64,
    slow: u64,
    crash: u64,
}

fn letter(at: usize) -> char {
    char::from(b'a' + at as u8)
}

impl World {
    fn new(seed: u64, is_forgetful: bool) -> Self {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let count = 1 + random.below(7) as usize;
        let with_data = if random.is_one_in(2) { 0 } else { random.below(count as u64) as usize };
        let mut node = |_| Node { formation: None, life: 0, state: NodeState::Empty, kept: Consent::default() };
        let mut nodes: Vec<_> = (0..count).map(&mut node).collect();
        for _ in 0..with_data {
            let at = random.below(count as u64) as usize;
            nodes[at].state = NodeState::HasData;
        }
        let (events, cut, founded) = (BTreeMap::new(), BTreeSet::new(), HashSet::new());
        let [lost, slow, crash] = [[4, 20], [2, 10], [12, 300]].map(|choice| choice[random.below(2) as usize]);
        let mut world =
            World { random, now: 0, nodes, events, event_count: 0, cut, founded, is_forgetful, lost, slow, crash };
        for at in 0..count {
            let delay = world.random.below(5_000);
            world.soon(delay, Event::Start(at));
        }
        world.soon(0, Event::Weather);
        world
    }

    fn soon(&mut self, delay: u64, event: Event) {
        self.event_count += 1;
        self.events.insert((self.now + delay, self.event_count), event);
    }

    /// How long something is under way; `None`: for ever.
    fn delay(&mut self, from: usize, to: usize) -> Option<u64> {
        let is_lost = self.now < STORM_MS && (self.cut.contains(&(from, to)) || self.random.is_one_in(self.lost));
        let is_slow = self.now < STORM_MS && self.random.is_one_in(self.slow);
        (!is_lost).then(|| if is_slow { self.random.below(6_000) } else { self.random.below(50) })
    }

    fn weather(&mut self) {
        let count = self.nodes.len();
        self.cut.clear();
        if self.now >= STORM_MS {
            (0..count)
                .filter(|at| self.nodes[*at].formation.is_none())
                .collect::<Vec<_>>()
                .into_iter()
                .for_each(|at| self.start(at));
            return;
        }
        if !self.random.is_one_in(8) {
            let in_a_hundred = 5 + self.random.below(40);
            for from in 0..count {
                for to in 0..count {
                    if self.random.below(100) < in_a_hundred {
                        self.cut.insert((from, to));
                    }
                }
            }
        }
        for at in 0..count {
            if self.nodes[at].formation.is_some() && self.random.is_one_in(4) {
                self.crash(at);
            }
        }
        let delay = 1 + self.random.below(60_000);
        self.soon(delay, Event::Weather);
    }

    fn start(&mut self, at: usize) {
        let node = &mut self.nodes[at];
        if node.formation.is_some() {
            return;
        }
        node.life += 1;
        let draw = cluster_id(u128::from(self.random.next()) << 8 | at as u128 | 1 << 100);
        let own = own(letter(at), at as u64 + 1);
        let kept = if self.is_forgetful { Consent::default() } else { Consent::decode(&node.kept.encode()).unwrap() };
        node.formation = Some(Formation::new(own, node.state, with_a_list(0), kept, draw));
    }

    fn crash(&mut self, at: usize) {
        self.nodes[at].formation = None;
        let delay = self.random.below(5_000);
        self.soon(delay, Event::Start(at));
    }

    fn is_crash_due(&mut self) -> bool {
        self.now < STORM_MS && self.random.is_one_in(self.crash)
    }

    /// Runs a node, and does what it orders; it may crash in between.
    fn run(&mut self, at: usize) {
        loop {
            let mut orders = Vec::new();
            let now = self.now;
            let Some(formation) = &mut self.nodes[at].formation else { return };
            formation.run(now, &mut orders);
            if orders.is_empty() {
                return;
            }
            for order in orders {
                if self.is_crash_due() {
                    return self.crash(at);
                }
                self.perform(at, order);
            }
        }
    }

    fn perform(&mut self, at: usize, order: Order) {
        let life = self.nodes[at].life;
        match order {
            Order::Discover => {
                let delay = self.random.below(100);
                self.soon(delay, Event::Discovered { at, life });
            }
            Order::Keep(consent) => self.nodes[at].kept = consent,
            Order::Ask { number, peer, question } => {
                let to = (0..self.nodes.len()).find(|to| named(letter(*to)) == peer.name).unwrap();
                match self.delay(at, to) {
                    Some(delay) => self.soon(delay, Event::Question { from: at, life, number, to, question }),
                    None => self.soon(2_000, Event::Failure { to: at, life, number }),
                }
            }
            Order::Found(cluster) => {
                self.founded.insert(cluster);
                self.nodes[at].state = NodeState::Member(cluster);
                if let Some(formation) = &mut self.nodes[at].formation {
                    formation.set_state(NodeState::Member(cluster));
                }
            }
            Order::Join(peer) => {
                let to = (0..self.nodes.len()).find(|to| named(letter(*to)) == peer.name).unwrap();
                let delay = self.delay(at, to).unwrap_or(30_000);
                self.soon(delay, Event::Join { from: at, life, to });
            }
            Order::GoOn | Order::StayAlone | Order::Wait(_) => {}
            Order::GiveUp(why) => panic!("{} gave up: {why}", letter(at)),
        }
    }

    fn join(&mut self, from: usize, life: u64, to: usize) {
        // Long, since a leader has to report a joiner: much may happen before it belongs to the cluster.
        let is_too_slow = self.now < STORM_MS && !self.random.is_one_in(10);
        let is_cut = self.cut.contains(&(from, to)) || self.cut.contains(&(to, from));
        let (now, is_there) = (self.now, !is_cut && !is_too_slow);
        let by = named(letter(from));
        let admission =
            self.nodes[to].formation.as_mut().filter(|_| is_there).map(|peer| peer.asked_to_let_join(&by, now));
        self.run(to);
        let joiner = &mut self.nodes[from];
        let Some(formation) = joiner.formation.as_mut().filter(|_| joiner.life == life) else { return };
        match admission {
            Some(Admission::Open(cluster)) => {
                joiner.state = NodeState::Member(cluster);
                formation.set_state(joiner.state);
            }
            Some(Admission::Later(why)) => formation.not_joined(&why, false, now),
            None => formation.not_joined("it is down", false, now),
        }
        self.run(from);
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Start(at) => {
                self.start(at);
                self.run(at);
            }
            Event::Weather => self.weather(),
            Event::Discovered { at, life } => {
                let all = (0..self.nodes.len()).map(|at| listed(letter(at))).collect();
                if let Some(formation) = self.living(at, life) {
                    formation.discovered(all);
                    self.run(at);
                }
            }
            Event::Question { from, life, number, to, question } => {
                let question = Question::decode(&question.encode()).unwrap();
                let Some(formation) = &mut self.nodes[to].formation else { return };
                let (kept, reply) = formation.asked(&question);
                if let Some(kept) = kept {
                    self.nodes[to].kept = kept;
                }
                if self.is_crash_due() {
                    return self.crash(to);
                }
                if let Some(delay) = self.delay(to, from) {
                    self.soon(delay, Event::Reply { to: from, life, number, reply });
                }
            }
            Event::Reply { to, life, number, reply } => {
                let reply = Reply::decode(&reply.encode()).unwrap();
                if let Some(formation) = self.living(to, life) {
                    formation.answered(number, reply);
                    self.run(to);
                }
            }
            Event::Failure { to, life, number } => {
                if let Some(formation) = self.living(to, life) {
                    formation.unanswered(number, "no route to host");
                    self.run(to);
                }
            }
            Event::Join { from, life, to } => self.join(from, life, to),
        }
    }

    fn living(&mut self, at: usize, life: u64) -> Option<&mut Formation> {
        let node = &mut self.nodes[at];
        node.formation.as_mut().filter(|_| node.life == life)
    }

    /// The next event, or the next node that wants to run; false at the end.
    fn step(&mut self) -> bool {
        let event_at = self.events.first_key_value().map(|((at, _), _)| *at);
        let due = |node: &Node| node.formation.as_ref().and_then(Formation::next_at);
        let run_at = self.nodes.iter().enumerate().filter_map(|(at, node)| Some((due(node)?, at))).min();
        let Some(next) = event_at.into_iter().chain(run_at.map(|(at, _)| at)).min() else { return false };
        self.now = self.now.max(next);
        match self.events.pop_first() {
            Some(((at, _), event)) if at <= next => self.happen(event),
            other => {
                self.events.extend(other);
                if let Some((_, at)) = run_at {
                    self.run(at);
                }
            }
        }
        self.now < END_MS && self.founded.len() < 2
    }
}

/// What is wrong in the end, if anything is.
fn play(seed: u64, is_forgetful: bool) -> Option<String> {
    let mut world = World::new(seed, is_forgetful);
    while world.step() {}
    if world.founded.len() > 1 {
        return Some(format!("two clusters: {:?}", world.founded));
    }
    let states: Vec<_> = world.nodes.iter().map(|node| node.state).collect();
    let is_one = !world.founded.is_empty() && !states.contains(&NodeState::Empty);
    if is_one || states.iter().all(|state| *state == NodeState::HasData) {
        return None;
    }
    let waits = |node: &Node| node.formation.as_ref().and_then(|f| f.waiting().map(ToString::to_string));
    let reasons: Vec<_> = world.nodes.iter().map(waits).collect();
    Some(format!("not one cluster: {states:?} {reasons:#?}"))
}

/// More by hand: `FORMATION_SEEDS=100000`.
fn seeds() -> u64 {
    std::env::var("FORMATION_SEEDS").ok().and_then(|count| count.parse().ok()).unwrap_or(1_500)
}

#[test]
fn there_is_never_more_than_one_cluster_and_one_in_the_end() {
    for seed in 0..seeds() {
        assert_eq!(play(seed, false), None, "seed {seed}");
    }
}

#[test]
fn nodes_that_forget_what_they_agreed_to_are_found_out() {
    let is_found = |seed| play(seed, true).is_some_and(|wrong| wrong.starts_with("two clusters"));
    assert!((0..5_000).any(is_found));
}
