//! Keys over power cuts: a publisher that publishes everything again after one has lost nothing, and nothing is there twice.
//!
//! Messages go by an exchange with a window to the queue `w`, and straight to the queue `q`, which drops what it has. Each has a key of
//! its own,
//! and its publisher says it again: at once, later, and everything after each cut, confirmed or not. `BROKER_SEED=n` runs one seed.
//!
//! Every event notes where the journal ends after it: what ended at or before the recovered end has happened, and nothing else.

use std::collections::BTreeMap;

use amqp::content::Properties;
use amqp::method::queue;
use amqp::table::{TableBuf, Value};
use model::ids::JournalPosition;
use store::Random;

use super::client::{Client, Heard};
use super::exchange_types::{assert_done, bind, declare, publish_with};
use super::lives::{Cut, Home, Unconfirmed, for_each_home};
use super::node::Node;

const SEED_COUNT: u64 = 300;
/// Of runs over a group, which take longer.
const GROUP_SEED_COUNT: u64 = 60;
const START_MS: u64 = 1_720_000_000_000;
const QUEUES: [&str; 2] = ["w", "q"];
const W: usize = 0;
const Q: usize = 1;

/// A message, by what distinguishes it.
#[derive(Debug, Clone, Copy)]
struct Message {
    queue: usize,
    is_persistent: bool,
    /// How many had been taken in before, ever.
    order: u64,
    /// Where the journal ended when it was taken in.
    taken_in: JournalPosition,
    /// It has been taken out, and where that ended.
    acked: Option<JournalPosition>,
}

#[derive(Debug, Default, Clone, Copy)]
struct Seen {
    taken_in: u64,
    duplicates: u64,
    lost: u64,
    kept: u64,
    acked: u64,
    freed: u64,
    spilled: u64,
    copied: u64,
    confirmed: u64,
    purged: u64,
}

struct World {
    node: Node,
    client: Client,
    messages: BTreeMap<u64, Message>,
    /// Those that have left, and whose keys others have had since: a cut may bring them back.
    left: Vec<(u64, Message)>,
    unconfirmed: Unconfirmed,
    next_key: u64,
    random: Random,
    seen: Seen,
}

impl World {
    fn depth(&self, queue: usize) -> u64 {
        let (ready, unacked) = self.node.counts(QUEUES[queue]);
        ready + unacked
    }

    /// Publishes a message for the first time, or again. Whether it was taken in is what is expected.
    fn publish(&mut self, key: u64, queue: usize, is_persistent: bool) {
        let before = self.messages.get(&key).copied();
        let is_known = before.is_some_and(|message| queue == W || message.acked.is_none());
        let headers = TableBuf::new().with("x-deduplication-header", Value::I64(key as i64));
        let delivery_mode = Some(if is_persistent { 2 } else { 1 });
        let properties = Properties { headers: Some(headers.as_table()), delivery_mode, ..Properties::default() };
        let body = format!("{key:08} {}", "x".repeat(self.random.below(3000) as usize));
        let (position, depth) = (self.node.appended(), self.depth(queue));
        publish_with(&mut self.client, if queue == W { "x" } else { "" }, QUEUES[queue], properties, &body);
        let (after, is_taken) = (self.node.appended(), self.depth(queue) > depth);
        assert_eq!(is_taken, !is_known, "{key} {before:?}");
        match before.filter(|_| is_known) {
            Some(message) => {
                assert_eq!(position, after, "a duplicate leaves no trace");
                self.seen.duplicates += 1;
                let needed = if message.is_persistent { message.taken_in } else { JournalPosition(0) };
                self.unconfirmed.push(needed);
            }
            None => {
                assert_eq!(position < after, is_persistent);
                self.seen.freed += u64::from(before.is_some());
                self.left.extend(before.map(|message| (key, message)));
                let order = self.seen.taken_in;
                self.seen.taken_in += 1;
                let message = Message { queue, is_persistent, order, taken_in: after, acked: None };
                self.messages.insert(key, message);
                self.unconfirmed.push(if is_persistent { after } else { JournalPosition(0) });
            }
        }
    }

    fn publish_new(&mut self) {
        let (key, queue) = (self.next_key, self.random.below(2) as usize);
        self.next_key += 1;
        let is_persistent = self.random.percent(85);
        self.publish(key, queue, is_persistent);
    }

    fn publish_again(&mut self) {
        let known: Vec<(u64, usize, bool)> =
            self.messages.iter().map(|(key, message)| (*key, message.queue, message.is_persistent)).collect();
        // Mostly lately.
        let from = if self.random.percent(70) { known.len().saturating_sub(8) } else { 0 };
        if let Some(&(key, queue, is_persistent)) = self.random.pick(&known[from..]) {
            self.publish(key, queue, is_persistent);
        }
    }

    /// Gets one message, and acks it. False: there is none.
    fn take(&mut self, queue: usize) -> Result<bool, Cut> {
        if !self.client.session.front.wants_input() {
            self.node.spill();
            self.hear();
        }
        let no_ack = self.random.percent(30);
        let before = self.node.appended();
        self.client.get(1, QUEUES[queue], no_ack);
        for _ in 0..1000 {
            for heard in self.client.hear() {
                match heard {
                    Heard::Message { tag, body, .. } => {
                        let key = std::str::from_utf8(&body[..8]).unwrap().parse::<u64>().unwrap();
                        if !no_ack {
                            self.client.ack(1, tag, false);
                        }
                        let after = self.node.appended();
                        let message = self.messages.get_mut(&key).expect("only what was published comes");
                        assert!(message.queue == queue && message.acked.is_none(), "{key} came twice: {message:?}");
                        assert!(before < after || !message.is_persistent);
                        message.acked = Some(after);
                        self.seen.acked += 1;
                        return Ok(true);
                    }
                    Heard::Other("basic.get-empty") => return Ok(false),
                    other => self.seen.confirmed += self.unconfirmed.confirm(&other, &self.node),
                }
            }
            self.node.load();
            let step = self.node.step();
            let after = self.node.appended();
            if step.is_err() && no_ack && before < after {
                // It was settled when it was handed out, though no client will ever hear of it.
                let there =
                    self.messages.values_mut().filter(|message| message.queue == queue && message.acked.is_none());
                let head = there.min_by_key(|message| message.order);
                head.expect("something was settled").acked = Some(after);
            }
            step?;
        }
        panic!("basic.get is never answered");
    }

    fn purge(&mut self) -> Result<(), Cut> {
        let queue = self.random.below(2) as usize;
        self.client.send(1, &queue::Purge { queue: QUEUES[queue].as_bytes(), ..Default::default() });
        let after = self.node.appended();
        for message in self.messages.values_mut().filter(|message| message.queue == queue && message.acked.is_none()) {
            message.acked = Some(after);
            self.seen.purged += 1;
        }
        for _ in 0..1000 {
            for heard in self.client.hear() {
                match heard {
                    Heard::PurgeOk(_) => return Ok(()),
                    other => self.seen.confirmed += self.unconfirmed.confirm(&other, &self.node),
                }
            }
            self.node.step()?;
        }
        panic!("queue.purge is never answered");
    }

    fn hear(&mut self) {
        for heard in self.client.hear() {
            self.seen.confirmed += self.unconfirmed.confirm(&heard, &self.node);
        }
    }

    fn act(&mut self) -> Result<(), Cut> {
        if !self.client.session.front.wants_input() {
            self.hear();
        }
        let is_heard = self.client.may_publish();
        match self.random.below(100) {
            0..30 if is_heard => self.publish_new(),
            30..50 if is_heard => self.publish_again(),
            50..63 if is_heard => {
                let queue = self.random.below(2) as usize;
                self.take(queue)?;
            }
            63..64 if is_heard => self.purge()?,
            64..70 => self.hear(),
            70..80 => self.node.step()?,
            80..85 => self.seen.spilled += self.node.retire()?,
            85..88 => self.seen.copied += u64::from(self.node.reclaim()?),
            88..90 => self.node.checkpoint()?,
            90..92 => self.node.unload(),
            _ => _ = self.node.broker.engine.store.load_once(&self.node.residents),
        }
        Ok(())
    }

    /// What became of messages is what the recovered end says.
    fn recover(&mut self, end: JournalPosition) {
        let before_count = self.messages.len();
        let all = self.left.drain(..).chain(std::mem::take(&mut self.messages));
        // What was not durable is not known. Nor is a transient key after a restart.
        let durable = all.filter(|(_, message)| message.is_persistent && message.taken_in <= end);
        let as_then = |(key, message): (u64, Message)| {
            (key, Message { acked: message.acked.filter(|acked| *acked <= end), ..message })
        };
        // The last one of a key counts.
        self.messages = durable.map(as_then).collect();
        self.seen.lost += (before_count - self.messages.len()) as u64;
        self.seen.kept += self.messages.len() as u64;
        for queue in [W, Q] {
            let there = self.messages.values().filter(|message| message.queue == queue && message.acked.is_none());
            assert_eq!(self.depth(queue), there.count() as u64, "in {}", QUEUES[queue]);
        }
    }

    /// Everything that has ever been published is published again: only what is not known is taken in.
    fn publish_everything_again(&mut self, ever: &BTreeMap<u64, (usize, bool)>) {
        for (key, (queue, is_persistent)) in ever {
            if !self.client.may_publish() {
                self.node.spill();
                self.hear();
            }
            self.publish(*key, *queue, *is_persistent);
        }
    }
}

fn run(home: &Home, seed: u64) -> Seen {
    let mut random = Random::new(seed);
    let (mut messages, mut left, mut next_key) = (BTreeMap::new(), Vec::new(), 0);
    let mut ever: BTreeMap<u64, (usize, bool)> = BTreeMap::new();
    let mut seen = Seen::default();
    for life in 0..4 {
        let node = home.begin(&mut random);
        node.broker.engine.clock.set(START_MS);
        let mut client = node.connect();
        if life == 0 {
            let arguments = TableBuf::new().with("x-message-deduplication", Value::Bool(true));
            client.declare("w");
            client.declare_with("q", &[("x-message-deduplication", Value::Bool(true))]);
            let window = arguments.with("x-cache-size", Value::I32(100_000));
            assert_done(declare(&mut client, "x", "fanout", window.as_table()));
            assert_done(bind(&mut client, "x", "w", ""));
            node.sync();
        }
        client.select_confirms(1);
        let unconfirmed = Unconfirmed::default();
        let mut world = World { node, client, messages, left, unconfirmed, next_key, random, seen };
        let end = world.node.recovered;
        world.recover(end);
        world.publish_everything_again(&ever);
        if life == 3 {
            for queue in [W, Q] {
                while world.take(queue).is_ok_and(|is_taken| is_taken) {}
            }
            let left: Vec<_> = world.messages.iter().filter(|(_, message)| message.acked.is_none()).collect();
            assert!(left.is_empty(), "never came: {left:?}");
            return world.seen;
        }
        home.cut_soon(&mut world.random, 100);
        for _ in 0..world.random.below(250) {
            if world.act().is_err() {
                break;
            }
        }
        ever.extend(world.messages.iter().map(|(key, message)| (*key, (message.queue, message.is_persistent))));
        let World { node, client, random: next_random, .. } = world;
        (messages, left, next_key) = (world.messages, world.left, world.next_key);
        (random, seen) = (next_random, world.seen);
        drop(client);
        home.end(node, &mut random);
    }
    seen
}

fn test(home_of: fn(u64) -> Home, seed_count: u64) {
    let mut all = Seen::default();
    let is_whole = for_each_home(home_of, seed_count, run, |seen| {
        all.taken_in += seen.taken_in;
        all.duplicates += seen.duplicates;
        all.lost += seen.lost;
        all.kept += seen.kept;
        all.acked += seen.acked;
        all.freed += seen.freed;
        all.spilled += seen.spilled;
        all.copied += seen.copied;
        all.confirmed += seen.confirmed;
        all.purged += seen.purged;
    });
    println!("{all:?}");
    let counts = [all.duplicates, all.lost, all.kept, all.acked, all.freed, all.spilled, all.confirmed, all.purged];
    assert!(
        !is_whole || counts.iter().all(|&count| count > seed_count) && all.copied > 0,
        "too little happened: {all:?}"
    );
}

#[test]
fn publishing_everything_again_loses_nothing_and_doubles_nothing() {
    test(Home::alone, SEED_COUNT);
}

#[test]
fn publishing_everything_again_loses_nothing_and_doubles_nothing_whoever_leads() {
    test(Home::of_three, GROUP_SEED_COUNT);
}
