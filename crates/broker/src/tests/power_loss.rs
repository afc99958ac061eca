//! Random traffic of several clients; the power fails at any operation; then the recovered messages are compared with what was said.
//!
//! Every event notes where the journal ended before and after it. After a start, what ended at or before the recovered end
//! must have happened, what began there must not, and an event in between happened to all its messages or to none.
//! `BROKER_SEED=n` runs one seed.

use std::collections::{BTreeMap, BTreeSet};

use amqp::method::{basic, exchange, queue, tx};
use amqp::table::{TableBuf, Value};
use model::ids::JournalPosition;
use store::Random;

use super::client::{Client, Heard, PERSISTENT, TRANSIENT, table_of};
use super::lives::{Cut, Home, for_each_home};
use super::node::Node;

const SEED_COUNT: u64 = 400;
/// Of runs over a group, which take longer.
const GROUP_SEED_COUNT: u64 = 60;
const QUEUES: [&str; 3] = ["q0", "q1", "q2"];
/// Of them a quorum queue, which keeps what is transient, too.
const QUORUM: usize = 2;
/// Each queue has one, by number; the last client takes no deliveries but gets.
const CLIENT_COUNT: usize = QUEUES.len() + 1;
const GETTER: usize = CLIENT_COUNT - 1;

pub(super) type Number = u64;

/// When an event happened: where the journal ended before and after it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
    pub(super) before: JournalPosition,
    pub(super) after: JournalPosition,
}

impl Span {
    pub(super) fn must_be(self, end: JournalPosition) -> bool {
        self.after <= end
    }

    pub(super) fn may_be(self, end: JournalPosition) -> bool {
        self.before < end || self.must_be(end)
    }
}

/// A message in a queue.
#[derive(Debug, Clone, Copy)]
struct Copy {
    published: Span,
    settled: Option<Span>,
    /// It is persistent, or its queue keeps all.
    lasts: bool,
    /// A consumer without acks may have been sent it.
    may_vanish: bool,
    /// A client has got it.
    is_seen: bool,
}

#[derive(Debug, Default)]
struct QueueModel {
    copies: BTreeMap<Number, Copy>,
    declared: Option<Span>,
}

#[derive(Debug)]
struct Model {
    queues: [QueueModel; QUEUES.len()],
    next_number: Number,
    durable: JournalPosition,
    seen: Seen,
}

/// What a run has come across, so that the test knows what it tests.
#[derive(Debug, Default, Clone, Copy)]
struct Seen {
    recovered: usize,
    redelivered: usize,
    lost_unconfirmed: usize,
    settled: usize,
    spilled: u64,
    confirmed: usize,
}

/// A client and what it knows.
struct Side {
    client: Client,
    /// Publishes without a confirm, by their number on the channel: where they are durable.
    unconfirmed: BTreeMap<u64, Option<JournalPosition>>,
    publish_count: u64,
    unacked: BTreeMap<u64, Number>,
    no_ack: bool,
    is_consuming: bool,
    has_tx: bool,
}

/// All follows from the number.
pub(super) fn body_of(number: Number) -> Vec<u8> {
    let mut random = Random::new(number);
    let len = match random.below(100) {
        0..80 => random.range(8..300),
        80..97 => random.range(4000..6000),
        _ => 20_000,
    };
    let mut body = vec![number as u8; len as usize];
    body[..8].copy_from_slice(&number.to_le_bytes());
    body
}

#[track_caller]
pub(super) fn number_of(body: &[u8]) -> Number {
    let number = u64::from_le_bytes(*body.first_chunk().expect("a body begins with its number"));
    assert!(body == body_of(number), "message {number} has another body than was published");
    number
}

struct World {
    node: Node,
    sides: Vec<Side>,
    model: Model,
    random: Random,
}

impl World {
    fn side(node: &Node) -> Side {
        let mut client = node.connect();
        client.select_confirms(1);
        Side {
            client,
            unconfirmed: BTreeMap::new(),
            publish_count: 0,
            unacked: BTreeMap::new(),
            no_ack: false,
            is_consuming: false,
            has_tx: false,
        }
    }

    fn listens(&self, side: usize) -> bool {
        self.sides[side].client.session.front.wants_input()
    }

    /// Does `act` and says when that was.
    fn spanned(&mut self, act: impl FnOnce(&mut Self)) -> Span {
        let before = self.node.appended();
        act(self);
        Span { before, after: self.node.appended() }
    }

    fn declare(&mut self, index: usize) -> Result<(), Cut> {
        let span = self.spanned(|world| {
            let mut arguments = TableBuf::new();
            if index == QUORUM {
                let unlimited = Value::I64(-1);
                arguments = table_of(&[("x-queue-type", Value::LongStr(b"quorum")), ("x-delivery-limit", unlimited)]);
            }
            let (queue, arguments) = (QUEUES[index].as_bytes(), arguments.as_table());
            let declare = queue::Declare { queue, durable: true, arguments, ..Default::default() };
            world.sides[GETTER].client.send(1, &declare);
        });
        self.model.queues[index].declared = Some(span);
        self.await_answer(|heard| matches!(heard, Heard::DeclareOk { .. }))?;
        self.bind(index)
    }

    fn bind(&mut self, index: usize) -> Result<(), Cut> {
        let bind = queue::Bind { queue: QUEUES[index].as_bytes(), exchange: b"fan", ..Default::default() };
        self.sides[GETTER].client.send(1, &bind);
        self.await_answer(|heard| *heard == Heard::Other("queue.bind-ok"))
    }

    /// In a group, definitions are answered when a majority has them.
    fn await_answer(&mut self, is_answer: impl Fn(&Heard) -> bool) -> Result<(), Cut> {
        for _ in 0..1000 {
            let (answers, others): (Vec<_>, Vec<_>) =
                self.sides[GETTER].client.hear().into_iter().partition(&is_answer);
            others.iter().for_each(|heard| self.confirmed(GETTER, heard));
            if !answers.is_empty() {
                return Ok(());
            }
            self.node.step()?;
        }
        panic!("a definition is never answered");
    }

    fn note_published(&mut self, number: Number, queues: &[usize], is_persistent: bool, published: Span) {
        for &queue in queues {
            let may_vanish = self.sides[queue].is_consuming && self.sides[queue].no_ack;
            let lasts = is_persistent || queue == QUORUM;
            let copy = Copy { published, settled: None, lasts, may_vanish, is_seen: false };
            self.model.queues[queue].copies.insert(number, copy);
        }
    }

    /// A new message's number, its queues, and by which address.
    fn invent(&mut self) -> (Number, Vec<usize>, &'static str, &'static str) {
        let number = self.model.next_number;
        self.model.next_number += 1;
        match self.random.below(5) as usize {
            queue if queue < QUEUES.len() => (number, vec![queue], "", QUEUES[queue]),
            _ => (number, (0..QUEUES.len()).collect(), "fan", ""),
        }
    }

    fn publish(&mut self) {
        let side = self.random.below(CLIENT_COUNT as u64) as usize;
        if !self.sides[side].client.may_publish() {
            return;
        }
        let (number, queues, exchange, routing_key) = self.invent();
        let is_persistent = self.random.percent(80);
        let properties = if is_persistent { PERSISTENT } else { TRANSIENT };
        let span = self.spanned(|world| {
            world.sides[side].client.publish(1, exchange, routing_key, properties, &body_of(number));
        });
        let side = &mut self.sides[side];
        side.publish_count += 1;
        let waits = is_persistent || queues.contains(&QUORUM);
        side.unconfirmed.insert(side.publish_count, waits.then_some(span.after));
        self.note_published(number, &queues, is_persistent, span);
    }

    /// Several publishes and the acks of the client's deliveries, in one transaction.
    fn commit(&mut self) {
        let side = self.random.below(QUEUES.len() as u64) as usize;
        if !self.sides[side].client.may_publish() {
            return;
        }
        if !std::mem::replace(&mut self.sides[side].has_tx, true) {
            self.listen();
            self.sides[side].client.open_channel(2);
            self.sides[side].client.send(2, &tx::Select);
        }
        let messages: Vec<_> = (0..self.random.range(1..4)).map(|_| self.invent()).collect();
        for (number, _, exchange, routing_key) in &messages {
            self.sides[side].client.publish(2, exchange, routing_key, PERSISTENT, &body_of(*number));
        }
        if self.random.percent(20) {
            self.sides[side].client.send(2, &tx::Rollback);
            return;
        }
        let span = self.spanned(|world| world.sides[side].client.send(2, &tx::Commit));
        for (number, queues, ..) in messages {
            self.note_published(number, &queues, true, span);
        }
    }

    fn settle(&mut self, queue: usize, number: Number, settled: Span) {
        if let Some(copy) = self.model.queues[queue].copies.get_mut(&number) {
            copy.settled = Some(settled);
            self.model.seen.settled += 1;
        }
    }

    /// Acks, rejects or requeues something that a consumer holds.
    fn answer(&mut self) {
        let queue = self.random.below(QUEUES.len() as u64) as usize;
        let tags: Vec<u64> = self.sides[queue].unacked.keys().copied().collect();
        let Some(&tag) = self.random.pick(&tags).filter(|_| self.listens(queue)) else { return };
        let multiple = self.random.percent(30);
        let requeue = self.random.percent(25);
        let is_ack = self.random.percent(60);
        let span = self.spanned(|world| {
            let client = &mut world.sides[queue].client;
            match is_ack {
                true => client.ack(1, tag, multiple),
                false => client.send(1, &basic::Nack { delivery_tag: tag, multiple, requeue }),
            }
        });
        let answered: Vec<u64> = tags.into_iter().filter(|&other| other == tag || (multiple && other < tag)).collect();
        for tag in answered {
            let number = self.sides[queue].unacked.remove(&tag).expect("it was listed");
            if is_ack || !requeue {
                self.settle(queue, number, span);
            }
        }
    }

    /// A consumer comes or leaves; it leaves, now and then, without a word.
    fn come_or_go(&mut self) {
        let queue = self.random.below(QUEUES.len() as u64) as usize;
        if !self.listens(queue) {
            return;
        }
        if self.sides[queue].is_consuming {
            self.listen();
            let side = &mut self.sides[queue];
            side.client.session.front.end();
            self.node.broker.connections.remove(side.client.session.front.handle().id);
            *side = Self::side(&self.node);
            return;
        }
        let no_ack = self.random.percent(20);
        let prefetch_count = self.random.below(5) as u16;
        let side = &mut self.sides[queue];
        (side.is_consuming, side.no_ack) = (true, no_ack);
        side.client.send(1, &basic::Qos { prefetch_count, ..Default::default() });
        side.client.consume(1, QUEUES[queue], "c", no_ack);
        if no_ack {
            self.note_vanishing(queue);
        }
    }

    /// What is in the queue may have been sent to a consumer that need not acknowledge it.
    fn note_vanishing(&mut self, queue: usize) {
        let copies = self.model.queues[queue].copies.values_mut();
        copies.filter(|copy| copy.settled.is_none()).for_each(|copy| copy.may_vanish = true);
    }

    /// Takes the head of a queue and acks it at once, or lets the broker do that.
    fn get(&mut self) -> Result<(), Cut> {
        let queue = self.random.below(QUEUES.len() as u64) as usize;
        if !self.listens(GETTER) {
            return Ok(());
        }
        let no_ack = self.random.percent(50);
        let before = self.node.appended();
        self.sides[GETTER].client.get(1, QUEUES[queue], no_ack);
        let got = self.await_got();
        if no_ack && !matches!(got, Ok(Some(_))) {
            self.note_vanishing(queue);
        }
        if let Some((tag, number, _)) = got? {
            let after = self.node.appended();
            if let Some(copy) = self.model.queues[queue].copies.get_mut(&number) {
                copy.is_seen = true;
            }
            let span = match no_ack {
                true => Span { before, after },
                false => self.spanned(|world| world.sides[GETTER].client.ack(1, tag, false)),
            };
            self.settle(queue, number, span);
        }
        Ok(())
    }

    /// Waits for the answer to basic.get.
    fn await_got(&mut self) -> Result<Option<(u64, Number, bool)>, Cut> {
        for _ in 0..1000 {
            let heard = self.sides[GETTER].client.hear();
            let mut answer = None;
            for heard in heard {
                match heard {
                    Heard::Message { tag, redelivered, body } => {
                        answer = Some(Some((tag, number_of(&body), redelivered)))
                    }
                    Heard::Other("basic.get-empty") => answer = Some(None),
                    other => self.confirmed(GETTER, &other),
                }
            }
            if let Some(answer) = answer {
                return Ok(answer);
            }
            self.node.load();
            self.node.step()?;
        }
        panic!("basic.get is never answered");
    }

    fn confirmed(&mut self, side: usize, heard: &Heard) {
        let Heard::Ack { tag, multiple } = *heard else {
            assert!(!matches!(heard, Heard::ChannelClose { .. } | Heard::ConnectionClose { .. }), "{heard:?}");
            return;
        };
        let durable = self.node.broker.engine.store.durable();
        let side = &mut self.sides[side];
        let first = if multiple { 0 } else { tag };
        let tags: Vec<u64> = side.unconfirmed.range(first..=tag).map(|(tag, _)| *tag).collect();
        assert!(tags.last() == Some(&tag), "a confirm for {tag}, which waits for none");
        for tag in tags {
            let needed = side.unconfirmed.remove(&tag).expect("it was listed");
            assert!(needed <= Some(durable), "publish {tag} was confirmed before it was durable");
            self.model.seen.confirmed += 1;
        }
    }

    /// All clients hear what has come.
    fn listen(&mut self) {
        for index in 0..CLIENT_COUNT {
            for heard in self.sides[index].client.hear() {
                let Heard::Message { tag, body, .. } = heard else {
                    self.confirmed(index, &heard);
                    continue;
                };
                let number = number_of(&body);
                let after = self.node.appended();
                let side = &mut self.sides[index];
                let copy = self.model.queues[index].copies.get_mut(&number);
                let copy =
                    copy.unwrap_or_else(|| panic!("message {number} came from queue {index}, which has none such"));
                assert!(copy.settled.is_none(), "message {number} came although it was settled");
                copy.is_seen = true;
                if side.no_ack {
                    copy.settled = Some(Span { before: copy.published.before, after });
                } else {
                    side.unacked.insert(tag, number);
                }
            }
        }
    }

    fn purge_or_delete(&mut self) -> Result<(), Cut> {
        let queue = self.random.below(QUEUES.len() as u64) as usize;
        if !self.listens(GETTER) || self.sides[queue].is_consuming {
            return Ok(());
        }
        let name = QUEUES[queue].as_bytes();
        let is_purge = self.random.percent(60);
        let span = self.spanned(|world| {
            let client = &mut world.sides[GETTER].client;
            match is_purge {
                true => client.send(1, &queue::Purge { queue: name, ..Default::default() }),
                false => client.send(1, &queue::Delete { queue: name, ..Default::default() }),
            }
        });
        if !is_purge {
            self.model.queues[queue].declared = None;
        }
        let numbers: Vec<_> = self.model.queues[queue].copies.keys().copied().collect();
        for number in numbers {
            self.settle_once(queue, number, span);
        }
        while !self.listens(GETTER) {
            self.node.step()?;
            for heard in self.sides[GETTER].client.hear() {
                self.confirmed(GETTER, &heard);
            }
        }
        self.listen();
        if !is_purge {
            self.declare(queue)?;
        }
        Ok(())
    }

    fn settle_once(&mut self, queue: usize, number: Number, span: Span) {
        if self.model.queues[queue].copies.get(&number).is_some_and(|copy| copy.settled.is_none()) {
            self.settle(queue, number, span);
        }
    }

    fn act(&mut self) -> Result<(), Cut> {
        let store = self.node.broker.engine.store.clone();
        match self.random.below(100) {
            0..40 => self.publish(),
            40..44 => self.commit(),
            44..58 => self.answer(),
            58..63 => self.come_or_go(),
            63..68 => self.get()?,
            68..70 => self.purge_or_delete()?,
            70..76 => self.listen(),
            76..86 => self.node.step()?,
            86..89 => self.model.seen.spilled += self.node.retire()?,
            89..91 => self.node.retire_due()?,
            91..93 => _ = self.node.reclaim()?,
            93..94 => self.node.checkpoint()?,
            94..95 => self.node.unload(),
            95..96 => self.node.broker.engine.close_watermarks(false),
            _ => _ = store.load_once(&self.node.residents),
        }
        Ok(())
    }

    /// Takes all there is, compares, and puts it back.
    fn check(&mut self) {
        let end = self.node.recovered;
        assert!(end >= self.model.durable, "recovered up to {end}, but {} was durable", self.model.durable);
        let mut copies_of: BTreeMap<Number, Vec<(bool, Copy)>> = BTreeMap::new();
        for (index, name) in QUEUES.into_iter().enumerate() {
            let is_there = self.node.broker.queue_counts("/", name).is_some();
            let declared = self.model.queues[index].declared;
            assert!(is_there || !declared.is_some_and(|span| span.must_be(end)), "queue {index} is gone");
            let found = if is_there { self.take_all(index) } else { BTreeMap::new() };
            let model = &mut self.model;
            for (number, redelivered) in &found {
                let copy = model.queues[index].copies.get(number);
                let copy = copy.unwrap_or_else(|| panic!("message {number} was not in queue {index}"));
                assert!(copy.lasts, "transient message {number} is back");
                assert!(copy.published.may_be(end), "message {number} is there before it was published");
                assert!(
                    !copy.settled.is_some_and(|span| span.must_be(end)),
                    "message {number} was settled and is back"
                );
                assert!(*redelivered || !copy.is_seen, "message {number} was delivered and is not marked redelivered");
                model.seen.recovered += 1;
                model.seen.redelivered += usize::from(*redelivered);
            }
            for (number, copy) in &model.queues[index].copies {
                let is_found = found.contains_key(number);
                let is_settled = copy.settled.is_some_and(|span| span.may_be(end));
                let must_be = copy.lasts && copy.published.must_be(end) && !is_settled && !copy.may_vanish;
                assert!(is_found || !must_be, "message {number} of queue {index} is lost: {copy:?}, end {end}");
                model.seen.lost_unconfirmed += usize::from(copy.lasts && !copy.published.may_be(end));
                if copy.lasts && !is_settled && !copy.may_vanish {
                    copies_of.entry(*number).or_default().push((is_found, *copy));
                }
            }
            model.queues[index].copies.retain(|number, _| found.contains_key(number));
            for copy in model.queues[index].copies.values_mut() {
                let recovered = Span { before: JournalPosition::START, after: JournalPosition::START };
                *copy = Copy { published: recovered, settled: None, may_vanish: false, is_seen: true, ..*copy };
            }
            // The power may have failed between the queue and its binding.
            let defined = if is_there { self.bind(index) } else { self.declare(index) };
            defined.expect("the disk works");
        }
        for (number, copies) in copies_of {
            let founds: BTreeSet<bool> = copies.iter().map(|(is_found, _)| *is_found).collect();
            assert!(founds.len() == 1, "message {number} is in some of its queues: {copies:?}");
        }
    }

    /// All messages of a queue by basic.get, which has to give them in the order of their numbers.
    fn take_all(&mut self, queue: usize) -> BTreeMap<Number, bool> {
        let mut found = BTreeMap::new();
        self.sides[GETTER].client.open_channel(3);
        loop {
            self.sides[GETTER].client.get(3, QUEUES[queue], false);
            let Some((_, number, redelivered)) = self.await_got().expect("the disk works") else { break };
            assert!(found.last_key_value().is_none_or(|(last, _)| *last < number), "message {number} is out of order");
            found.insert(number, redelivered);
        }
        self.sides[GETTER].client.send(3, &amqp::method::channel::Close::default());
        assert_eq!(self.sides[GETTER].client.hear_one(), Heard::Other("channel.close-ok"));
        found
    }
}

/// One life of a broker, up to a power cut, a kill or just its end.
fn live(home: &Home, model: Model, mut random: Random, is_last: bool) -> (Model, Random) {
    let node = home.begin_again_and_again(&mut random);
    let sides = (0..CLIENT_COUNT).map(|_| World::side(&node)).collect();
    let mut world = World { node, sides, model, random };
    let declare = exchange::Declare { exchange: b"fan", kind: b"fanout", durable: true, ..Default::default() };
    world.sides[GETTER].client.send(1, &declare);
    let heard = world.sides[GETTER].client.hear_defined();
    assert!(matches!(heard, Some(Heard::Other("exchange.declare-ok")) | None), "{heard:?}");
    world.check();
    if is_last {
        return (world.model, world.random);
    }
    home.cut_soon(&mut world.random, 100);
    for _ in 0..world.random.below(250) {
        if let Err(Cut) = world.act() {
            break;
        }
    }
    world.model.durable = world.node.broker.engine.store.durable();
    let World { node, sides, model, mut random } = world;
    drop(sides);
    home.end(node, &mut random);
    (model, random)
}

fn run(home: &Home, seed: u64) -> Seen {
    let mut random = Random::new(seed);
    let mut model =
        Model { queues: Default::default(), next_number: 0, durable: JournalPosition::START, seen: Seen::default() };
    let life_count = random.range(2..5);
    for life in 0..=life_count {
        (model, random) = live(home, model, random, life == life_count);
    }
    model.seen
}

fn test(home_of: fn(u64) -> Home, seed_count: u64) {
    let mut all = Seen::default();
    let is_whole = for_each_home(home_of, seed_count, run, |seen| {
        all.recovered += seen.recovered;
        all.redelivered += seen.redelivered;
        all.lost_unconfirmed += seen.lost_unconfirmed;
        all.settled += seen.settled;
        all.spilled += seen.spilled;
        all.confirmed += seen.confirmed;
    });
    println!("{all:?}");
    let counts =
        [all.recovered, all.redelivered, all.lost_unconfirmed, all.settled, all.spilled as usize, all.confirmed];
    assert!(!is_whole || counts.iter().all(|&count| count > seed_count as usize), "too little happened: {all:?}");
}

#[test]
fn nothing_confirmed_is_lost_and_nothing_settled_returns() {
    test(Home::alone, SEED_COUNT);
}

#[test]
fn nothing_confirmed_is_lost_and_nothing_settled_returns_whoever_leads() {
    test(Home::of_three, GROUP_SEED_COUNT);
}
