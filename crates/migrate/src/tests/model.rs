//! The machine against two brokers that are a few lists: whatever is killed, and whenever, it ends with everything at the destination.

use std::collections::{BTreeMap, VecDeque};

use crate::facts::{Client, Facts, Shovel};
use crate::journal::{Journal, Step};
use crate::link::{Batch, Direction, Link, name};
use crate::machine::{Action, CutOver, End, Machine, Wishes};
use crate::queue::{Queue, QueueId, Rules};

/// Rounds in which clients use the source.
const BUSY_ROUNDS: u64 = 40;
const ROUND_COUNT_MAX: u64 = 2_000;
const QUEUE_COUNT: u64 = 12;
const LAG_ROUNDS: usize = 3;
const LIMIT: u64 = 40;

/// Numbers that look drawn, the same for the same seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, count: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % count
    }

    fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }
}

#[derive(Clone, Debug, Default)]
struct Place {
    messages: VecDeque<u64>,
    consumers: u64,
    rules: Rules,
    is_exclusive: bool,
}

impl Place {
    fn told(&self) -> Queue {
        let consumers = self.consumers;
        let (rules, is_exclusive) = (self.rules.clone(), self.is_exclusive);
        Queue { ready: self.messages.len() as u64, consumers, rules, is_exclusive, ..Queue::default() }
    }
}

#[derive(Clone, Debug)]
struct Running {
    queue: QueueId,
    /// What it is to move, and is still to move.
    batch: Option<(u64, u64)>,
    forwarded: u64,
    life: u64,
}

/// Two brokers and their clients.
struct World {
    dice: Dice,
    source: BTreeMap<QueueId, Place>,
    destination: BTreeMap<QueueId, Place>,
    shovels: BTreeMap<(String, String), Running>,
    ways: BTreeMap<(String, String), QueueId>,
    granted: bool,
    round: u64,
    sent: u64,
    taken: u64,
    /// Numbers of the source as it reported them before.
    told: VecDeque<BTreeMap<QueueId, Queue>>,
    kills_of_warren: u64,
    moved: u64,
    /// What the machine said of that in the end.
    told_moved: u64,
}

impl World {
    fn new(seed: u64) -> Self {
        let mut world = World {
            dice: Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1),
            source: BTreeMap::new(),
            destination: BTreeMap::new(),
            shovels: BTreeMap::new(),
            ways: BTreeMap::new(),
            granted: false,
            round: 0,
            sent: 0,
            taken: 0,
            told: VecDeque::new(),
            kills_of_warren: 0,
            moved: 0,
            told_moved: 0,
        };
        for number in 0..QUEUE_COUNT {
            let mut place = Place::default();
            match number {
                0 => place.is_exclusive = true,
                1 => place.rules.length_max = Some(LIMIT),
                2 => place.rules.expires = true,
                3 => place.consumers = 2,
                _ => {}
            }
            let id = QueueId::new("/", &format!("q{number}"));
            let most = if number == 1 { LIMIT } else { 300 };
            for _ in 0..world.dice.below(most) {
                world.sent += 1;
                place.messages.push_back(world.sent);
            }
            world.source.insert(id, place);
        }
        world
    }

    fn is_busy(&self) -> bool {
        self.round < BUSY_ROUNDS
    }

    /// What happens between two looks.
    fn pass(&mut self) {
        self.round += 1;
        let is_busy = self.is_busy();
        for (at, (id, place)) in self.source.iter_mut().enumerate() {
            // The limited queue is left as it is: its publishers would push out what is counted.
            if is_busy && at != 1 && self.dice.one_in(2) {
                self.sent += 1;
                place.messages.push_back(self.sent);
            }
            if place.consumers > 0 {
                self.taken += place.messages.pop_front().is_some() as u64;
            }
            if !is_busy {
                place.consumers = 0;
            }
            // Clients that have moved consume there.
            if let Some(moved) = self.destination.get_mut(id).filter(|_| self.round > BUSY_ROUNDS / 2) {
                moved.consumers = u64::from(at % 3 == 2 || moved.rules.expires);
                if moved.consumers > 0 && self.dice.one_in(2) {
                    self.taken += moved.messages.pop_front().is_some() as u64;
                }
            }
        }
        self.shovel();
        if self.kills_of_warren < 2 && self.dice.one_in(30) {
            self.kills_of_warren += 1;
            for running in self.shovels.values_mut() {
                running.batch = running.batch.map(|(all, _)| (all, all));
                (running.forwarded, running.life) = (0, running.life + 1);
            }
        }
        let told = self.source.iter().map(|(id, place)| (id.clone(), place.told())).collect();
        self.told.push_front(told);
        self.told.truncate(LAG_ROUNDS);
    }

    fn shovel(&mut self) {
        let keys: Vec<_> = self.shovels.keys().cloned().collect();
        for key in keys {
            let running = self.shovels.get_mut(&key).unwrap();
            assert!(self.ways.contains_key(&key), "a shovel that publishes to nowhere");
            let (Some(source), Some(destination)) =
                (self.source.get_mut(&running.queue), self.destination.get_mut(&running.queue))
            else {
                panic!("a shovel without a queue");
            };
            for _ in 0..self.dice.below(60) {
                if running.batch.is_some_and(|(_, left)| left == 0) {
                    break;
                }
                let Some(message) = source.messages.pop_front() else { break };
                destination.messages.push_back(message);
                running.forwarded += 1;
                self.moved += 1;
                running.batch = running.batch.map(|(all, left)| (all, left - 1));
                let max = destination.rules.length_max.unwrap_or(u64::MAX);
                assert!(destination.messages.len() as u64 <= max, "a limited queue drops what is moved");
                assert!(!destination.rules.expires || destination.consumers > 0, "a queue that expires");
            }
            if running.batch.is_some_and(|(_, left)| left == 0) {
                self.shovels.remove(&key);
            }
        }
    }

    fn facts(&mut self, machine: &Machine) -> Facts {
        let is_exact = machine.question().is_exact;
        let age = if is_exact { 0 } else { self.dice.below(self.told.len() as u64) as usize };
        let shovel = |running: &Running| Shovel {
            state: "running".to_owned(),
            forwarded: running.forwarded,
            since: running.life.to_string(),
            ..Shovel::default()
        };
        let client = Client {
            name: "c".to_owned(),
            user: String::new(),
            vhost: String::new(),
            consumer_count: 1,
            publishes: true,
        };
        Facts {
            now_ms: self.round * 1000,
            source: self.told[age].clone(),
            destination: self.destination.iter().map(|(id, place)| (id.clone(), place.told())).collect(),
            shovels: self.shovels.iter().map(|(key, running)| (key.clone(), shovel(running))).collect(),
            ways: [Vec::new(), self.ways.keys().cloned().collect()],
            clients: if self.is_busy() { vec![client] } else { Vec::new() },
            source_consumers: self.source.iter().map(|(id, place)| (id.clone(), place.consumers)).collect(),
            is_exact,
        }
    }

    fn define(&mut self) {
        for (id, place) in &self.source {
            if !place.is_exclusive && !self.destination.contains_key(id) {
                self.destination.insert(id.clone(), Place { rules: place.rules.clone(), ..Place::default() });
            }
        }
    }

    fn start(&mut self, direction: Direction, links: &[Link]) {
        for Link { queue, batch } in links {
            let key = (queue.vhost.clone(), name(direction, queue));
            self.ways.insert(key.clone(), queue.clone());
            let waiting = self.source[queue].messages.len() as u64;
            let batch = match batch {
                None => None,
                Some(Batch::Waiting) if waiting == 0 => continue,
                Some(Batch::Waiting) => Some((waiting, waiting)),
                Some(Batch::Count(count)) => Some((*count, *count)),
            };
            self.shovels.insert(key, Running { queue: queue.clone(), batch, forwarded: 0, life: 0 });
        }
    }

    fn act(&mut self, machine: &mut Machine, action: &Action) {
        match action {
            Action::Check => {}
            Action::Define | Action::Complete => {
                self.define();
                self.granted = true;
                machine.granted(vec!["/".to_owned()]);
            }
            Action::Start(links) if self.dice.one_in(10) => {
                // As a broker that is away in the middle would have it.
                let half = links.len() / 2;
                self.start(machine.journal().direction, &links[..half]);
                return machine.has_failed(action);
            }
            Action::Start(links) => self.start(machine.journal().direction, links),
            Action::Stop(keys) => keys.iter().for_each(|key| drop(self.shovels.remove(key))),
            Action::RemoveWays([_, keys]) => keys.iter().for_each(|key| drop(self.ways.remove(key))),
            Action::Revoke => self.granted = false,
        }
        machine.has_done(action);
    }
}

fn wishes(at_once: usize) -> Wishes {
    let lag_ms = LAG_ROUNDS as u64 * 1000;
    Wishes { at_once, cut_over: CutOver::Gone, until: Step::Finish, accepts: false, lag_ms }
}

/// Runs until it is done, with kills of the program at any point. Returns the world as it is then.
fn migrated(seed: u64) -> World {
    let mut world = World::new(seed);
    let at_once = 1 + world.dice.below(6) as usize;
    let mut saved = Journal::new(Direction::Forward, "old", "new");
    let mut machine = Machine::new(saved.clone(), wishes(at_once));
    'rounds: while world.round < ROUND_COUNT_MAX {
        world.pass();
        // What was declared meanwhile.
        if world.round == BUSY_ROUNDS / 2 {
            world.source.insert(QueueId::new("/", "late"), Place { messages: [0].into(), ..Place::default() });
        }
        let facts = world.facts(&machine);
        for action in machine.next(&facts) {
            if world.dice.one_in(15) {
                machine = Machine::new(saved.clone(), wishes(at_once));
                continue 'rounds;
            }
            world.act(&mut machine, &action);
        }
        if machine.is_to_be_saved(&saved) || world.dice.one_in(5) {
            saved = Journal::decode(&machine.journal().encode()).unwrap();
        }
        match machine.end() {
            None => {}
            Some(End::Reached) => {
                world.told_moved = machine.moved();
                return world;
            }
            Some(End::Fewer) => panic!("seed {seed}: fewer: {:?}", machine.counts()),
        }
    }
    panic!("seed {seed}: it does not end: {:?}, held {:?}", machine.step(), machine.held());
}

#[test]
fn everything_is_at_the_destination_whatever_is_killed() {
    for seed in 1..150 {
        let world = migrated(seed);
        let mut arrived: Vec<u64> = Vec::new();
        for (id, place) in &world.source {
            if place.is_exclusive {
                continue;
            }
            assert!(place.messages.is_empty(), "seed {seed}: {id} has {} left", place.messages.len());
            arrived.extend(&world.destination[id].messages);
        }
        let exclusive = &world.source[&QueueId::new("/", "q0")].messages;
        let count = arrived.len() as u64 + world.taken + exclusive.len() as u64;
        assert_eq!(count, world.sent + 1, "seed {seed}");
        arrived.sort_unstable();
        arrived.dedup();
        assert_eq!(arrived.len() as u64 + world.taken + exclusive.len() as u64, count, "seed {seed}: twice");
        assert!(world.told_moved <= world.moved, "seed {seed}: {} of {}", world.told_moved, world.moved);
        assert!(world.shovels.is_empty() && world.ways.is_empty() && !world.granted, "seed {seed}: something is left");
    }
}

#[test]
fn it_stops_after_the_step_that_was_said_and_goes_on_later() {
    let mut world = World::new(1);
    let mut journal = Journal::new(Direction::Forward, "old", "new");
    for until in [Step::Check, Step::Definitions, Step::Feed, Step::CutOver, Step::Drain, Step::Verify, Step::Finish] {
        let mut machine = Machine::new(journal, Wishes { until, ..wishes(4) });
        for _ in 0..ROUND_COUNT_MAX {
            if machine.end().is_some() {
                break;
            }
            world.pass();
            let facts = world.facts(&machine);
            for action in machine.next(&facts) {
                world.act(&mut machine, &action);
            }
        }
        assert_eq!((machine.end(), machine.step()), (Some(End::Reached), until.next()), "{:?}", machine.held());
        journal = machine.journal().clone();
    }
}
