//! Messages moved, sent back and deleted by operators while the power fails at any operation: what was confirmed and not deleted is in
//! exactly one queue.
//!
//! `BROKER_SEED=n` runs one seed.

use std::collections::BTreeMap;
use std::task::{Context, Poll, Waker};

use amqp::content::Properties;
use amqp::method::basic;
use amqp::table::Value;
use model::ids::JournalPosition;
use store::Random;

use super::client::{Client, Heard};
use super::lives::{Cut, Home, for_each_home};
use super::node::{NOW, Node};
use super::operators::{guest, queue_name};
use super::selection::wait_for;
use crate::{BrowseRequest, Destination, MessageFilter, RedriveTo, Selection, Start};

const SEED_COUNT: u64 = 300;
/// Of runs over a group, which take longer.
const GROUP_SEED_COUNT: u64 = 60;
const QUEUES: [&str; 3] = ["a", "b", "dead"];

/// Where the journal ended before and after something happened; the end is unknown if the power failed meanwhile.
type Span = (JournalPosition, Option<JournalPosition>);

#[derive(Debug)]
struct Message {
    published: JournalPosition,
    gone: Vec<Span>,
}

#[derive(Debug, Default, Clone, Copy)]
struct Seen {
    moved: u64,
    redriven: u64,
    deleted: u64,
    recovered: u64,
    spilled: u64,
}

struct World {
    node: Node,
    client: Client,
    messages: BTreeMap<u32, Message>,
    next_number: u32,
    random: Random,
    seen: Seen,
}

impl World {
    /// Waits for an answer; meanwhile the disk does what it does, or another client does something.
    fn answered<T>(&mut self, answer: impl Future<Output = T>) -> Result<T, Cut> {
        let mut answer = std::pin::pin!(answer);
        for _ in 0..10_000 {
            if let Poll::Ready(answer) = answer.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                return Ok(answer);
            }
            if self.random.percent(20) {
                self.work()?;
            }
            self.node.step()?;
            self.node.load();
        }
        panic!("no answer came");
    }

    fn work(&mut self) -> Result<(), Cut> {
        match self.random.below(8) {
            0..3 => self.seen.spilled += self.node.retire()?,
            3 => _ = self.node.reclaim()?,
            4 => self.node.checkpoint()?,
            5 => self.node.unload(),
            _ => self.node.step()?,
        }
        Ok(())
    }

    fn publish(&mut self) {
        if !self.client.may_publish() {
            return;
        }
        let number = self.next_number;
        self.next_number += 1;
        let queue = if self.random.percent(70) { "a" } else { "b" };
        let body = format!("{number:06} {}", "x".repeat(self.random.below(2000) as usize));
        let before = self.node.appended();
        self.client.publish_with(queue, Properties::default(), &body);
        let published = self.node.appended();
        if before == published {
            return; // The queue is full.
        }
        self.messages.insert(number, Message { published, gone: Vec::new() });
    }

    /// Some messages: those with a digit in their number, or all, up to a count.
    fn selection(&mut self) -> Selection {
        let digit = self.random.below(10).to_string();
        let body = self.random.percent(60).then(|| digit.into_bytes());
        let filter = MessageFilter { body, ..MessageFilter::default() };
        Selection::Filter { filter, from: None, count_max: self.random.range(1..40) }
    }

    fn shift(&mut self) -> Result<(), Cut> {
        let (from, to) = if self.random.percent(50) { ("a", "b") } else { ("b", "a") };
        let (access, selection) = (guest(&self.node), self.selection());
        let (from, destination) = (queue_name(from), Destination::Queue(queue_name(to)));
        let carried = self.answered(access.move_messages(&from, &selection, &access, &destination))?;
        self.seen.moved += carried.unwrap().count;
        Ok(())
    }

    fn redrive(&mut self) -> Result<(), Cut> {
        let (access, selection, dead) = (guest(&self.node), self.selection(), queue_name("dead"));
        let carried = self.answered(access.redrive(&dead, &selection, RedriveTo::Last))?;
        self.seen.redriven += carried.unwrap().count;
        Ok(())
    }

    fn delete(&mut self) -> Result<(), Cut> {
        let queue = QUEUES[self.random.below(3) as usize];
        let digit = self.random.below(10).to_string();
        let filter = MessageFilter { body: Some(format!("{digit} ").into_bytes()), ..MessageFilter::default() };
        let selection = Selection::Filter { filter, from: None, count_max: u64::MAX };
        // What is on its way from queue to queue arrives.
        self.node.load();
        let before = self.node.appended();
        let there = self.numbers_in(queue)?;
        let meant: Vec<u32> = there.iter().copied().filter(|number| number.to_string().ends_with(&digit)).collect();
        meant.iter().for_each(|number| self.messages.get_mut(number).unwrap().gone.push((before, None)));
        let (access, queue) = (guest(&self.node), queue_name(queue));
        let removed = self.answered(access.delete_messages(&queue, &selection))?.unwrap();
        assert_eq!(removed.count, meant.len() as u64, "{meant:?} with {digit}, of {there:?}");
        let after = self.node.appended();
        meant.iter().for_each(|number| self.messages.get_mut(number).unwrap().gone = vec![(before, Some(after))]);
        self.seen.deleted += removed.count;
        Ok(())
    }

    /// Rejects the first message of a queue: it moves to `dead`.
    fn reject(&mut self) -> Result<(), Cut> {
        if !self.client.session.front.wants_input() {
            return Ok(());
        }
        self.client.get(1, "a", false);
        for _ in 0..1000 {
            if let Some(heard) = self.client.hear().into_iter().next() {
                if let Heard::Message { tag, .. } = heard {
                    self.client.send(1, &basic::Nack { delivery_tag: tag, multiple: false, requeue: false });
                }
                return Ok(());
            }
            self.node.load();
            self.node.step()?;
        }
        panic!("basic.get is never answered");
    }

    fn numbers_in(&mut self, queue: &str) -> Result<Vec<u32>, Cut> {
        let (access, queue, filter) = (guest(&self.node), queue_name(queue), MessageFilter::default());
        let request = BrowseRequest {
            queue: &queue,
            start: Start::Head,
            count_max: 10_000,
            filter: &filter,
            body_len_max: 6,
            wants_unacked: false,
        };
        let page = self.answered(access.browse(&request))?.unwrap();
        assert_eq!(page.next, None);
        Ok(page.messages.iter().map(|message| std::str::from_utf8(&message.body).unwrap().parse().unwrap()).collect())
    }

    fn act(&mut self) -> Result<(), Cut> {
        match self.random.below(100) {
            0..50 => self.publish(),
            50..60 => self.shift()?,
            60..65 => self.redrive()?,
            65..70 => self.delete()?,
            70..78 => self.reject()?,
            _ => self.work()?,
        }
        Ok(())
    }

    fn check(&mut self) {
        let end = self.node.recovered;
        let mut found: BTreeMap<u32, &str> = BTreeMap::new();
        for queue in QUEUES {
            let numbers = self.numbers_in(queue).unwrap_or_else(|_| panic!("the power is on"));
            assert_eq!(self.node.counts(queue).0, numbers.len() as u64);
            for number in numbers {
                let other = found.insert(number, queue);
                assert_eq!(other, None, "message {number} is in {queue}, too");
            }
        }
        for (number, message) in &self.messages {
            let has_gone = message.gone.iter().any(|(_, after)| after.is_some_and(|after| after <= end));
            let may_have_gone = message.gone.iter().any(|(before, _)| *before < end);
            let must_be = message.published <= end && !may_have_gone;
            match found.get(number) {
                Some(queue) => {
                    assert!(message.published <= end && !has_gone, "{number} is in {queue}: {message:?} at {end}")
                }
                None => assert!(!must_be, "message {number} is lost: {message:?} at {end}"),
            }
        }
        self.messages.retain(|number, _| found.contains_key(number));
        for message in self.messages.values_mut() {
            *message = Message { published: JournalPosition::START, gone: Vec::new() };
        }
        self.seen.recovered += found.len() as u64;
    }
}

fn run(home: &Home, seed: u64) -> Seen {
    let mut random = Random::new(seed);
    let (mut messages, mut next_number, mut seen) = (BTreeMap::new(), 0, Seen::default());
    for life in 0..4 {
        let node = home.begin(&mut random);
        node.broker.engine.clock.set(NOW);
        let mut client = node.connect();
        if life == 0 {
            let text = |text: &'static str| Value::LongStr(text.as_bytes());
            client.declare_with(
                "a",
                &[("x-dead-letter-exchange", text("")), ("x-dead-letter-routing-key", text("dead"))],
            );
            client.declare_with("b", &[("x-max-length", Value::I32(60)), ("x-overflow", text("reject-publish"))]);
            client.declare("dead");
            node.sync();
        }
        let mut world = World { node, client, messages, next_number, random, seen };
        world.check();
        if life < 3 {
            home.cut_soon(&mut world.random, 150);
        }
        for _ in 0..world.random.below(200) {
            if world.act().is_err() {
                break;
            }
        }
        let World { node, client, random: next_random, .. } = world;
        (messages, next_number, random, seen) = (world.messages, world.next_number, next_random, world.seen);
        if life == 3 {
            wait_for(&node, std::future::ready(()));
        }
        drop(client);
        home.end(node, &mut random);
    }
    seen
}

fn test(home_of: fn(u64) -> Home, seed_count: u64) {
    let mut all = Seen::default();
    let is_whole = for_each_home(home_of, seed_count, run, |seen| {
        all.moved += seen.moved;
        all.redriven += seen.redriven;
        all.deleted += seen.deleted;
        all.recovered += seen.recovered;
        all.spilled += seen.spilled;
    });
    println!("{all:?}");
    let counts = [all.moved, all.redriven, all.deleted, all.recovered, all.spilled];
    assert!(!is_whole || counts.iter().all(|count| *count > seed_count / 2), "too little happened: {all:?}");
}

#[test]
fn what_is_moved_is_in_one_queue_and_what_is_deleted_in_none() {
    test(Home::alone, SEED_COUNT);
}

#[test]
fn what_is_moved_is_in_one_queue_and_what_is_deleted_in_none_whoever_leads() {
    test(Home::of_three, GROUP_SEED_COUNT);
}
