//! The newest message of a key takes the place of the one that waits, while the power fails at any operation. Recovery leaves of each key
//! the last message that is durable, unless that has been taken.
//!
//! Every event notes where the journal ends after it: what ended at or before the recovered end has happened, and nothing else.
//! `BROKER_SEED=n` runs one seed.

use std::collections::BTreeMap;

use amqp::content::Properties;
use amqp::method::basic;
use amqp::table::{TableBuf, Value};
use model::ids::JournalPosition;
use store::Random;

use super::client::{Client, Heard};
use super::lives::{Cut, Home, Unconfirmed, for_each_home};
use super::node::Node;

const SEED_COUNT: u64 = 300;
/// Of runs over a group, which take longer.
const GROUP_SEED_COUNT: u64 = 60;
/// So few that most messages have one to take the place of.
const KEY_COUNT: u64 = 12;

/// One message of a key, and where the journal ended when it came and went.
#[derive(Debug, Clone, Copy)]
struct Version {
    number: u64,
    published: JournalPosition,
    acked: Option<JournalPosition>,
}

#[derive(Debug, Default, Clone, Copy)]
struct Seen {
    replaced: u64,
    replaced_in_segments: u64,
    kept: u64,
    /// A newer one was lost, which had not been confirmed.
    kept_older: u64,
    acked: u64,
    confirmed: u64,
    spilled: u64,
    copied: u64,
}

struct World {
    node: Node,
    client: Client,
    /// Of each key all messages of this life, and the one that was there when it began.
    versions: BTreeMap<u64, Vec<Version>>,
    unconfirmed: Unconfirmed,
    next_number: u64,
    random: Random,
    seen: Seen,
}

fn key_and_number(body: &[u8]) -> (u64, u64) {
    let text = std::str::from_utf8(body).expect("digits and x");
    let mut parts = text.split(' ').map(|part| part.parse::<u64>());
    match (parts.next(), parts.next()) {
        (Some(Ok(key)), Some(Ok(number))) => (key, number),
        _ => panic!("{text}"),
    }
}

impl World {
    fn publish(&mut self) {
        let (key, number) = (self.random.below(KEY_COUNT), self.next_number);
        self.next_number += 1;
        let headers = TableBuf::new().with("x-deduplication-header", Value::I64(key as i64));
        let properties = Properties { headers: Some(headers.as_table()), ..Properties::default() };
        let body = format!("{key} {number} {}", "x".repeat(self.random.below(3000) as usize));
        let (before, ready_before) = (self.node.appended(), self.node.counts("r").0);
        self.client.publish_with("r", properties, &body);
        let published = self.node.appended();
        assert!(before < published, "it is taken in, whatever waits");
        self.unconfirmed.push(published);
        let versions = self.versions.entry(key).or_default();
        if versions.last().is_some_and(|version| version.acked.is_none()) {
            self.seen.replaced += 1;
            // What lies only on disk counts until it is read.
            self.seen.replaced_in_segments += u64::from(self.node.counts("r").0 > ready_before);
        }
        versions.push(Version { number, published, acked: None });
    }

    /// Gets one message, and acks it.
    fn take(&mut self) -> Result<(), Cut> {
        self.client.get(1, "r", false);
        for _ in 0..1000 {
            for heard in self.client.hear() {
                match heard {
                    Heard::Message { tag, body, .. } => {
                        let (key, number) = key_and_number(&body);
                        self.client.ack(1, tag, false);
                        let acked = self.node.appended();
                        let last = self.versions.get_mut(&key).and_then(|versions| versions.last_mut());
                        let last = last.expect("only what was published comes");
                        assert!(last.number == number && last.acked.is_none(), "{number} of {key} came, not {last:?}");
                        last.acked = Some(acked);
                        self.seen.acked += 1;
                        return Ok(());
                    }
                    Heard::Other("basic.get-empty") => return Ok(()),
                    other => self.confirmed(&other),
                }
            }
            self.node.load();
            self.node.step()?;
        }
        panic!("basic.get is never answered");
    }

    fn confirmed(&mut self, heard: &Heard) {
        self.seen.confirmed += self.unconfirmed.confirm(heard, &self.node);
    }

    fn hear(&mut self) {
        for heard in self.client.hear() {
            self.confirmed(&heard);
        }
    }

    fn act(&mut self) -> Result<(), Cut> {
        if !self.client.session.front.wants_input() {
            self.hear();
        }
        let is_heard = self.client.may_publish();
        match self.random.below(100) {
            0..45 if is_heard => self.publish(),
            45..55 if is_heard => self.take()?,
            55..62 => self.hear(),
            62..74 => self.node.step()?,
            74..82 => self.seen.spilled += self.node.retire()?,
            82..86 => self.seen.copied += u64::from(self.node.reclaim()?),
            86..89 => self.node.checkpoint()?,
            89..92 => self.node.unload(),
            _ => _ = self.node.broker.engine.store.load_once(&self.node.residents),
        }
        Ok(())
    }

    /// All that the queue gives, by key. It is given back.
    fn found(&self) -> BTreeMap<u64, u64> {
        let mut client = self.node.connect();
        let (mut found, mut last_tag) = (BTreeMap::new(), 0);
        loop {
            client.get(1, "r", false);
            let heard = self.node.listen(&mut client);
            let [Heard::Message { tag, body, .. }] = heard.as_slice() else {
                assert_eq!(heard, [Heard::Other("basic.get-empty")]);
                break;
            };
            last_tag = *tag;
            let (key, number) = key_and_number(body);
            let other = found.insert(key, number);
            assert_eq!(other, None, "and {number}, both of {key}");
        }
        if last_tag > 0 {
            client.send(1, &basic::Nack { delivery_tag: last_tag, multiple: true, requeue: true });
        }
        self.node.broker.connections.remove(client.session.front.handle().id);
        client.session.front.end();
        found
    }

    fn check(&mut self) {
        let end = self.node.recovered;
        let found = self.found();
        for versions in self.versions.values_mut() {
            let published_count = versions.len();
            versions.retain(|version| version.published <= end);
            let last = versions.pop().filter(|last| last.acked.is_none_or(|acked| acked > end));
            self.seen.kept_older += u64::from(last.is_some() && versions.len() + 1 < published_count);
            *versions = last
                .map(|last| Version { published: JournalPosition::START, acked: None, ..last })
                .into_iter()
                .collect();
        }
        self.versions.retain(|_, versions| !versions.is_empty());
        let expected: BTreeMap<u64, u64> =
            self.versions.iter().map(|(key, versions)| (*key, versions[0].number)).collect();
        assert_eq!(found, expected, "recovered up to {end}");
        assert_eq!(self.node.counts("r"), (found.len() as u64, 0));
        self.seen.kept += found.len() as u64;
    }
}

fn run(home: &Home, seed: u64) -> Seen {
    let mut random = Random::new(seed);
    let (mut versions, mut next_number, mut seen) = (BTreeMap::new(), 0, Seen::default());
    for life in 0..4 {
        let node = home.begin(&mut random);
        let mut client = node.connect();
        if life == 0 {
            client.declare_with(
                "r",
                &[("x-message-deduplication", Value::Bool(true)), ("x-deduplication-replaces", Value::Bool(true))],
            );
            node.sync();
        }
        client.select_confirms(1);
        let unconfirmed = Unconfirmed::default();
        let mut world = World { node, client, versions, unconfirmed, next_number, random, seen };
        world.check();
        if life < 3 {
            home.cut_soon(&mut world.random, 100);
            for _ in 0..world.random.below(250) {
                if world.act().is_err() {
                    break;
                }
            }
        }
        let World { node, client, random: next_random, .. } = world;
        (versions, next_number, random, seen) = (world.versions, world.next_number, next_random, world.seen);
        drop(client);
        home.end(node, &mut random);
    }
    seen
}

fn test(home_of: fn(u64) -> Home, seed_count: u64) {
    let mut all = Seen::default();
    let is_whole = for_each_home(home_of, seed_count, run, |seen| {
        all.replaced += seen.replaced;
        all.replaced_in_segments += seen.replaced_in_segments;
        all.kept += seen.kept;
        all.kept_older += seen.kept_older;
        all.acked += seen.acked;
        all.confirmed += seen.confirmed;
        all.spilled += seen.spilled;
        all.copied += seen.copied;
    });
    println!("{all:?}");
    let counts =
        [all.replaced, all.replaced_in_segments, all.kept, all.kept_older, all.acked, all.confirmed, all.spilled];
    assert!(
        !is_whole || counts.iter().all(|&count| count > seed_count / 2) && all.copied > 0,
        "too little happened: {all:?}"
    );
}

#[test]
fn of_each_key_the_last_that_is_durable_is_there() {
    test(Home::alone, SEED_COUNT);
}

#[test]
fn of_each_key_the_last_that_is_durable_is_there_whoever_leads() {
    test(Home::of_three, GROUP_SEED_COUNT);
}
