//! Delayed messages over power cuts: each is in its exchange or in its queue, and nowhere twice.
//!
//! Every event notes where the journal ends after it: what ended at or before the recovered end has happened, and nothing else.
//! `BROKER_SEED=n` runs one seed.

use std::collections::BTreeMap;

use amqp::content::Properties;
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

/// A message, and where it is durable what happened to it.
#[derive(Debug)]
struct Message {
    published: JournalPosition,
    acked: Option<JournalPosition>,
    due_ms: u64,
    /// A client has got it.
    is_seen: bool,
}

#[derive(Debug, Default, Clone, Copy)]
struct Seen {
    released: u64,
    recovered: u64,
    spilled: u64,
    copied: u64,
    confirmed: u64,
}

struct World {
    node: Node,
    client: Client,
    messages: BTreeMap<u64, Message>,
    unconfirmed: Unconfirmed,
    next_number: u64,
    now_ms: u64,
    random: Random,
    seen: Seen,
}

impl World {
    fn publish(&mut self) {
        if !self.client.may_publish() {
            return;
        }
        let number = self.next_number;
        self.next_number += 1;
        let spread = self.random.pick(&[10_u64, 3_000, 60_000]).copied().unwrap_or(1);
        let delay_ms = 1 + self.random.below(spread);
        let headers = TableBuf::new().with("x-delay", Value::I64(delay_ms as i64));
        let properties =
            Properties { headers: Some(headers.as_table()), delivery_mode: Some(2), ..Properties::default() };
        let body = format!("{number:08} {}", "x".repeat(self.random.below(3000) as usize));
        let before = self.node.appended();
        publish_with(&mut self.client, "x", "k", properties, &body);
        let after = self.node.appended();
        assert!(before < after, "what waits is journalled");
        self.unconfirmed.push(after);
        let message = Message { published: after, acked: None, due_ms: self.now_ms + delay_ms, is_seen: false };
        self.messages.insert(number, message);
    }

    fn pass(&mut self, step_ms: u64) {
        self.now_ms += step_ms;
        self.node.broker.engine.clock.set(self.now_ms);
        self.node.broker.run_due_timers();
    }

    /// Gets and acks one message, if there is one to be had now.
    fn take(&mut self) -> Result<bool, Cut> {
        if !self.client.session.front.wants_input() {
            self.hear();
            return Ok(false);
        }
        self.client.get(1, "q", false);
        for _ in 0..1000 {
            for heard in self.client.hear() {
                match heard {
                    Heard::Message { tag, body, redelivered } => {
                        let number = std::str::from_utf8(&body[..8]).unwrap().parse::<u64>().unwrap();
                        self.client.ack(1, tag, false);
                        let after = self.node.appended();
                        let now_ms = self.now_ms;
                        let message = self.messages.get_mut(&number).expect("only what was published comes");
                        assert!(message.acked.is_none(), "message {number} came twice");
                        assert!(message.due_ms <= now_ms, "message {number} came early");
                        // A group hands out only what has been released for good.
                        let is_told = redelivered || !message.is_seen || self.node.group.is_none();
                        assert!(is_told, "message {number} came again without a mark");
                        (message.acked, message.is_seen) = (Some(after), true);
                        self.seen.released += 1;
                        return Ok(true);
                    }
                    Heard::Other("basic.get-empty") => return Ok(false),
                    other => self.seen.confirmed += self.unconfirmed.confirm(&other, &self.node),
                }
            }
            self.node.load();
            self.node.step()?;
        }
        panic!("basic.get is never answered");
    }

    fn hear(&mut self) {
        for heard in self.client.hear() {
            self.seen.confirmed += self.unconfirmed.confirm(&heard, &self.node);
        }
    }

    fn act(&mut self) -> Result<(), Cut> {
        match self.random.below(100) {
            0..45 => self.publish(),
            45..55 => {
                let step_ms = self.random.below(2000);
                self.pass(step_ms);
            }
            55..65 => drop(self.take()?),
            65..70 => self.hear(),
            70..80 => self.node.step()?,
            80..85 => self.seen.spilled += self.node.retire()?,
            85..88 => self.seen.copied += u64::from(self.node.reclaim()?),
            88..90 => self.node.checkpoint()?,
            90..92 => self.node.unload(),
            _ => _ = self.node.broker.engine.store.load_once(&self.node.residents),
        }
        Ok(())
    }

    /// What has to be there is there, once, and nothing else.
    fn check(&mut self, end: JournalPosition) {
        self.messages.retain(|_, message| message.published <= end);
        self.messages.retain(|_, message| message.acked.is_none_or(|acked| acked > end));
        let counts = self.node.broker.queue_counts("/", "q").unwrap();
        let waiting = self.node.broker.exchange_view("/", "x").unwrap().messages_delayed.unwrap();
        assert_eq!(waiting + counts.ready, self.messages.len() as u64, "what was durable, and not acked durably");
        self.seen.recovered += waiting;
        for message in self.messages.values_mut() {
            message.acked = None;
        }
    }

    /// Everything comes out in the end.
    fn drain(&mut self) {
        for _ in 0..100 {
            self.pass(5_000);
            while self.node.broker.run_due_timers() > 0 || self.node.broker.engine.store.load_once(&self.node.residents)
            {
            }
        }
        assert_eq!(self.node.broker.exchange_view("/", "x").unwrap().messages_delayed, Some(0));
        while self.take().is_ok_and(|is_taken| is_taken) {}
        let left: Vec<_> = self.messages.iter().filter(|(_, message)| message.acked.is_none()).collect();
        assert!(left.is_empty(), "never came: {left:?}");
    }
}

fn run(home: &Home, seed: u64) -> Seen {
    let mut random = Random::new(seed);
    let (mut messages, mut next_number, mut now_ms) = (BTreeMap::new(), 0, START_MS);
    let mut seen = Seen::default();
    for life in 0..4 {
        let node = home.begin(&mut random);
        node.broker.engine.clock.set(now_ms);
        let mut client = node.connect();
        if life == 0 {
            client.declare("q");
            let arguments = TableBuf::new().with("x-delayed-type", Value::LongStr(b"direct"));
            assert_done(declare(&mut client, "x", "x-delayed-message", arguments.as_table()));
            assert_done(bind(&mut client, "x", "q", "k"));
            node.sync();
        }
        client.select_confirms(1);
        let unconfirmed = Unconfirmed::default();
        let mut world = World { node, client, messages, unconfirmed, next_number, now_ms, random, seen };
        let end = world.node.recovered;
        world.check(end);
        if life == 3 {
            world.drain();
            return world.seen;
        }
        home.cut_soon(&mut world.random, 100);
        for _ in 0..world.random.below(250) {
            if world.act().is_err() {
                break;
            }
        }
        let World { node, client, random: next_random, .. } = world;
        (messages, next_number, now_ms, random, seen) =
            (world.messages, world.next_number, world.now_ms, next_random, world.seen);
        drop(client);
        home.end(node, &mut random);
    }
    seen
}

fn test(home_of: fn(u64) -> Home, seed_count: u64) {
    let mut all = Seen::default();
    let is_whole = for_each_home(home_of, seed_count, run, |seen| {
        all.released += seen.released;
        all.recovered += seen.recovered;
        all.spilled += seen.spilled;
        all.copied += seen.copied;
        all.confirmed += seen.confirmed;
    });
    println!("{all:?}");
    let counts = [all.released, all.recovered, all.spilled, all.confirmed];
    assert!(
        !is_whole || counts.iter().all(|&count| count > seed_count) && all.copied > 0,
        "too little happened: {all:?}"
    );
}

#[test]
fn what_waits_is_never_lost_nor_released_twice() {
    test(Home::alone, SEED_COUNT);
}

#[test]
fn what_waits_is_never_lost_nor_released_twice_whoever_leads() {
    test(Home::of_three, GROUP_SEED_COUNT);
}
