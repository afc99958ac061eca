//! Queues, exchanges and bindings, declared and deleted in a pipeline, while the power fails at any operation: what was answered holds.
//!
//! One client sends all, in order, and the journal keeps that order. So the definitions after a start are those behind some request, and no
//! sooner than behind the last that was answered. `BROKER_SEED=n` runs one seed.

use std::collections::{BTreeSet, VecDeque};

use amqp::frame::put_method;
use amqp::method::{exchange, queue};
use store::Random;

use super::client::{Client, Heard};
use super::lives::{Cut, Home, for_each_home};
use super::node::Node;
use crate::vhost::BindingsOf;

const SEED_COUNT: u64 = 300;
/// Of runs over a group, which take longer.
const GROUP_SEED_COUNT: u64 = 60;
const QUEUES: [&str; 3] = ["q0", "q1", "q2"];
const EXCHANGES: [&str; 2] = ["x0", "x1"];

/// The definitions: names of queues and exchanges, and bindings from one to the other.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
struct State {
    queues: BTreeSet<&'static str>,
    exchanges: BTreeSet<&'static str>,
    bindings: BTreeSet<(&'static str, &'static str)>,
}

impl State {
    fn of(node: &Node) -> Self {
        let vhost = node.broker.vhosts.get("/").expect("the vhost is there");
        let queues = QUEUES.into_iter().filter(|name| vhost.queue(name.as_bytes()).is_some()).collect();
        let exchanges = EXCHANGES.into_iter().filter(|name| vhost.exchange(name).is_some()).collect();
        let mut bindings = BTreeSet::new();
        for name in QUEUES {
            let queue = model::name::QueueName::parse(name.as_bytes()).expect("a name");
            for source in vhost.with_bindings(BindingsOf::Queue(&queue), |binding| binding.source.to_vec()) {
                bindings
                    .extend(EXCHANGES.into_iter().find(|known| known.as_bytes() == source).map(|known| (known, name)));
            }
        }
        Self { queues, exchanges, bindings }
    }
}

/// What a run has come across, so that the test knows what it tests.
#[derive(Debug, Default, Clone, Copy)]
struct Seen {
    answered: usize,
    unanswered: usize,
    lost: usize,
    kept_unanswered: usize,
}

struct World {
    node: Node,
    client: Client,
    /// How things stand once all has been done that was said.
    now: State,
    /// How they stood behind each request that was not answered, and behind the last that was.
    since_answer: VecDeque<State>,
    random: Random,
    seen: Seen,
}

impl World {
    /// Says one thing more.
    fn ask(&mut self, frames: &mut Vec<u8>) {
        let queue = *self.random.pick(&QUEUES).expect("some");
        let exchange = *self.random.pick(&EXCHANGES).expect("some");
        let (queue_bytes, exchange_bytes) = (queue.as_bytes(), exchange.as_bytes());
        let has_ends = self.now.queues.contains(queue) && self.now.exchanges.contains(exchange);
        match self.random.below(100) {
            0..25 => {
                let passive = self.now.queues.contains(queue) && self.random.percent(30);
                let declare = queue::Declare { queue: queue_bytes, durable: true, passive, ..Default::default() };
                put_method(frames, 1, &declare);
                self.now.queues.insert(queue);
            }
            25..40 => {
                let kind = b"fanout";
                let declare = exchange::Declare { exchange: exchange_bytes, kind, durable: true, ..Default::default() };
                put_method(frames, 1, &declare);
                self.now.exchanges.insert(exchange);
            }
            40..65 if has_ends => {
                let bind = queue::Bind { queue: queue_bytes, exchange: exchange_bytes, ..Default::default() };
                put_method(frames, 1, &bind);
                self.now.bindings.insert((exchange, queue));
            }
            40..85 => {
                let unbind = queue::Unbind { queue: queue_bytes, exchange: exchange_bytes, ..Default::default() };
                put_method(frames, 1, &unbind);
                self.now.bindings.remove(&(exchange, queue));
            }
            85..95 => {
                put_method(frames, 1, &queue::Delete { queue: queue_bytes, ..Default::default() });
                self.now.queues.remove(queue);
                self.now.bindings.retain(|(_, bound)| *bound != queue);
            }
            _ => {
                put_method(frames, 1, &exchange::Delete { exchange: exchange_bytes, ..Default::default() });
                self.now.exchanges.remove(exchange);
                self.now.bindings.retain(|(source, _)| *source != exchange);
            }
        }
        self.since_answer.push_back(self.now.clone());
    }

    fn hear(&mut self) {
        for heard in self.client.hear() {
            let is_answer = matches!(heard, Heard::DeclareOk { .. } | Heard::DeleteOk(_) | Heard::Other(_));
            assert!(is_answer, "{heard:?}");
            self.since_answer.pop_front();
            assert!(!self.since_answer.is_empty(), "{heard:?} answers nothing");
            self.seen.answered += 1;
        }
    }

    fn act(&mut self) -> Result<(), Cut> {
        match self.random.below(100) {
            0..50 if self.client.session.front.wants_bytes() => {
                let mut frames = Vec::new();
                for _ in 0..self.random.range(1..6) {
                    self.ask(&mut frames);
                }
                assert_eq!(self.client.send_bytes(&frames), frames.len());
            }
            50..60 => self.hear(),
            60..64 => self.node.checkpoint()?,
            64..66 => drop(self.node.retire()?),
            _ => self.node.step()?,
        }
        Ok(())
    }
}

fn run(home: &Home, seed: u64) -> Seen {
    let mut random = Random::new(seed);
    let (mut may_be, mut seen) = (VecDeque::from([State::default()]), Seen::default());
    let life_count = random.range(2..5);
    for life in 0..=life_count {
        let node = home.begin_again_and_again(&mut random);
        let now = State::of(&node);
        let found = may_be.iter().position(|state| *state == now);
        let index = found.unwrap_or_else(|| {
            panic!("it is {now:?} after the start, and never was since the last answer: {may_be:?}")
        });
        seen.unanswered += may_be.len() - 1;
        seen.lost += usize::from(index + 1 < may_be.len());
        seen.kept_unanswered += usize::from(index > 0);
        if life == life_count {
            break;
        }
        let client = node.connect();
        let since_answer = VecDeque::from([now.clone()]);
        let mut world = World { node, client, now, since_answer, random, seen };
        home.cut_soon(&mut world.random, 60);
        for _ in 0..world.random.below(150) {
            if let Err(Cut) = world.act() {
                break;
            }
        }
        let World { node, client, since_answer, random: next_random, seen: seen_so_far, .. } = world;
        (may_be, random, seen) = (since_answer, next_random, seen_so_far);
        drop(client);
        home.end(node, &mut random);
    }
    seen
}

fn test(home_of: fn(u64) -> Home, seed_count: u64) {
    let mut all = Seen::default();
    let is_whole = for_each_home(home_of, seed_count, run, |seen| {
        all.answered += seen.answered;
        all.unanswered += seen.unanswered;
        all.lost += seen.lost;
        all.kept_unanswered += seen.kept_unanswered;
    });
    println!("{all:?}");
    let counts = [all.answered, all.unanswered, all.lost, all.kept_unanswered];
    assert!(!is_whole || counts.iter().all(|&count| count as u64 > seed_count / 10), "too little happened: {all:?}");
}

#[test]
fn what_was_answered_is_so_after_a_power_cut() {
    test(Home::alone, SEED_COUNT);
}

#[test]
fn what_was_answered_is_so_whoever_leads() {
    test(Home::of_three, GROUP_SEED_COUNT);
}
