//! Messages on their way from queue to queue by dead letters, while the power fails at any operation.
//!
//! What expires in `a`, or is too much there, moves to `b`; what fails too often there, or is rejected, waits until `c` has room; and only
//! rejecting it there makes it leave. So a message that was confirmed is in one of the three, and in no two, until a client has settled it.
//! What is transient lasts as long as it is in `b`, a quorum queue. In a group none is handed out where it was moved to before it is there
//! for good. `BROKER_SEED=n` runs one seed.

use std::collections::{BTreeMap, BTreeSet};

use amqp::content::{ContentHeader, Properties, properties_bytes};
use amqp::method::basic;
use amqp::table::Value;
use model::ids::JournalPosition;
use store::Random;

use super::client::{Client, Heard};
use super::lives::{Cut, Home, for_each_home};
use super::node::{NOW, Node};
use super::power_loss::{Number, Span, body_of, number_of};

const SEED_COUNT: u64 = 200;
/// Of runs over a group, which take longer.
const GROUP_SEED_COUNT: u64 = 60;
const QUEUES: [&str; 3] = ["a", "b", "c"];
const B: usize = 1;
/// Publishes, and looks at the messages left after a restart.
const KEEPER: usize = QUEUES.len();
/// How often a message may fail in `b`.
const FAILED_MAX: i64 = 2;
/// How long a message is in `a` at most.
const TTL_MS: u64 = 40;

#[derive(Debug)]
struct Copy {
    published: Span,
    is_persistent: bool,
    /// Transient, it lasts: it was published to `b`, or has been found there, and nothing has happened by which it may leave.
    stays_in_b: bool,
    is_confirmed: bool,
    /// A full queue has refused it.
    is_refused: bool,
    settled: Option<Span>,
    /// Which queues have handed it out.
    seen_in: BTreeSet<usize>,
    /// When it is over in `a`.
    expires_at_ms: u64,
    /// How often it had failed in `b`, and when it failed since.
    failed_count: i64,
    failed: Vec<Span>,
}

impl Copy {
    fn lasts(&self) -> bool {
        self.is_persistent || self.stays_in_b
    }

    /// It has failed in `b`, and may have failed too often now.
    fn fail(&mut self, span: Span) {
        self.failed.push(span);
        self.stays_in_b &= self.failed_count + self.failed.len() as i64 <= FAILED_MAX;
    }
}

/// What a run has come across, so that the test knows what it tests.
#[derive(Debug, Default, Clone, Copy)]
struct Seen {
    /// By queue.
    recovered: [usize; QUEUES.len()],
    redelivered: usize,
    counted: usize,
    refused: usize,
    settled: usize,
    /// Transient messages that came back.
    kept: usize,
    spilled: u64,
    moved: usize,
}

#[derive(Debug)]
struct Model {
    copies: BTreeMap<Number, Copy>,
    next_number: Number,
    now_ms: u64,
    durable: JournalPosition,
    seen: Seen,
}

struct Side {
    client: Client,
    /// Publishes without a confirm, by their number on the channel.
    unconfirmed: BTreeMap<u64, Number>,
    publish_count: u64,
    unacked: BTreeMap<u64, Number>,
    is_consuming: bool,
}

struct World {
    node: Node,
    sides: Vec<Side>,
    model: Model,
    random: Random,
}

/// A message as it was found after a restart.
struct Found {
    queue: usize,
    is_redelivered: bool,
    failed_count: i64,
}

impl World {
    fn side(node: &Node) -> Side {
        let mut client = node.connect();
        client.select_confirms(1);
        Side { client, unconfirmed: BTreeMap::new(), publish_count: 0, unacked: BTreeMap::new(), is_consuming: false }
    }

    fn spanned(&mut self, act: impl FnOnce(&mut Self)) -> Span {
        let before = self.node.appended();
        act(self);
        Span { before, after: self.node.appended() }
    }

    fn declare(&mut self) {
        let text = |text: &'static str| Value::LongStr(text.as_bytes());
        let to = |name| [("x-dead-letter-exchange", text("")), ("x-dead-letter-routing-key", text(name))];
        let a = [
            ("x-message-ttl", Value::I64(TTL_MS as i64)),
            ("x-max-length", Value::I64(8)),
            ("x-max-priority", Value::I64(3)),
        ];
        let b = [
            ("x-queue-type", text("quorum")),
            ("x-delivery-limit", Value::I64(FAILED_MAX)),
            ("x-overflow", text("reject-publish")),
            ("x-dead-letter-strategy", text("at-least-once")),
        ];
        let c = [("x-max-length", Value::I64(5)), ("x-overflow", text("reject-publish"))];
        let client = &mut self.sides[KEEPER].client;
        client.declare_with("a", &[&to("b")[..], &a].concat());
        client.declare_with("b", &[&to("c")[..], &b].concat());
        client.declare_with("c", &c);
    }

    fn publish(&mut self) {
        let queue = *self.random.pick(&[0, 0, 0, 1, 1, 2]).expect("one of six");
        if !self.sides[KEEPER].client.may_publish() {
            return;
        }
        let number = self.model.next_number;
        self.model.next_number += 1;
        let is_persistent = self.random.percent(85);
        let ttl_ms = self.random.range(10..2 * TTL_MS);
        let expiration = ttl_ms.to_string();
        // Elsewhere than in `a` nothing expires.
        let has_own_ttl = queue == 0 && self.random.percent(30);
        let properties = Properties {
            delivery_mode: Some(if is_persistent { 2 } else { 1 }),
            priority: Some(self.random.below(4) as u8),
            expiration: has_own_ttl.then_some(expiration.as_bytes()),
            ..Properties::default()
        };
        let mut header = Vec::new();
        ContentHeader { class_id: 60, body_len: 0, properties }.encode(&mut header);
        let published = self.spanned(|world| {
            let client = &mut world.sides[KEEPER].client;
            client.publish(1, "", QUEUES[queue], properties_bytes(&header), &body_of(number));
        });
        let side = &mut self.sides[KEEPER];
        side.publish_count += 1;
        side.unconfirmed.insert(side.publish_count, number);
        let ttl_ms = if has_own_ttl { ttl_ms.min(TTL_MS) } else { TTL_MS };
        let copy = Copy {
            published,
            is_persistent,
            stays_in_b: queue == B,
            is_confirmed: false,
            is_refused: false,
            settled: None,
            seen_in: BTreeSet::new(),
            expires_at_ms: self.model.now_ms + ttl_ms,
            failed_count: 0,
            failed: Vec::new(),
        };
        self.model.copies.insert(number, copy);
        // A refusal is said at once.
        for heard in self.sides[KEEPER].client.hear() {
            self.hear_keeper(&heard);
        }
    }

    fn hear_keeper(&mut self, heard: &Heard) {
        let side = &mut self.sides[KEEPER];
        match *heard {
            Heard::Nack { tag } => {
                let number = side.unconfirmed.remove(&tag).expect("a nack for a publish that waits");
                self.model.copies.get_mut(&number).expect("it was published").is_refused = true;
                self.model.seen.refused += 1;
            }
            Heard::Ack { tag, multiple } => {
                let first = if multiple { 0 } else { tag };
                let tags: Vec<u64> = side.unconfirmed.range(first..=tag).map(|(tag, _)| *tag).collect();
                for tag in tags {
                    let number = side.unconfirmed.remove(&tag).expect("it was listed");
                    self.model.copies.get_mut(&number).expect("it was published").is_confirmed = true;
                }
            }
            _ => panic!("{heard:?}"),
        }
    }

    /// All clients hear what has come.
    fn listen(&mut self) {
        for index in 0..self.sides.len() {
            for heard in self.sides[index].client.hear() {
                let Heard::Message { tag, body, redelivered } = heard else {
                    match index {
                        KEEPER => self.hear_keeper(&heard),
                        _ => assert!(matches!(heard, Heard::Other(_)), "{heard:?}"),
                    }
                    continue;
                };
                let number = number_of(&body);
                let now_ms = self.model.now_ms;
                let copy = self.model.copies.get_mut(&number).expect("it was published");
                assert!(copy.settled.is_none() && !copy.is_refused, "message {number} came, but: {copy:?}");
                let has_expired = index == 0 && copy.expires_at_ms <= now_ms;
                assert!(!has_expired, "message {number} came at {now_ms}, but: {copy:?}");
                // A quorum queue of a group hands out what a majority has.
                let durable = self.node.broker.engine.store.durable();
                let may_come = index != B || self.node.group.is_none() || copy.published.must_be(durable);
                assert!(may_come || !copy.lasts(), "message {number} came, {durable} is durable: {copy:?}");
                let is_first = copy.seen_in.insert(index);
                assert!(is_first || redelivered, "message {number} came again without a mark: {copy:?}");
                self.sides[index].unacked.insert(tag, number);
            }
        }
    }

    /// Passes time, once all clients have heard what was sent until now.
    fn pass_time(&mut self, milliseconds: u64) -> Result<(), Cut> {
        while self.node.broker.engine.store.durable() < self.node.appended() {
            self.node.step()?;
            self.listen();
        }
        self.listen();
        self.model.now_ms += milliseconds;
        self.node.at(self.model.now_ms);
        Ok(())
    }

    /// Settles something that a consumer holds, or gives it back.
    fn answer(&mut self) {
        let queue = self.random.below(QUEUES.len() as u64) as usize;
        let tags: Vec<u64> = self.sides[queue].unacked.keys().copied().collect();
        let Some(&tag) = self.random.pick(&tags) else { return };
        if !self.sides[queue].client.session.front.wants_input() {
            return;
        }
        let number = self.sides[queue].unacked.remove(&tag).expect("it was listed");
        let how = self.random.below(100);
        let span = self.spanned(|world| {
            let client = &mut world.sides[queue].client;
            let nack = |requeue| basic::Nack { delivery_tag: tag, multiple: false, requeue };
            match how {
                0..20 => client.ack(1, tag, false),
                20..45 => client.send(1, &nack(false)),
                45..55 => client.send(1, &nack(true)),
                _ => client.send(1, &basic::Reject { delivery_tag: tag, requeue: true }),
            }
        });
        let copy = self.model.copies.get_mut(&number).expect("it was published");
        match how {
            0..20 => copy.settled = Some(span),
            20..45 if queue == 2 => copy.settled = Some(span),
            20..45 => {
                copy.stays_in_b = false;
                self.model.seen.moved += 1;
            }
            45..55 => {}
            _ if queue == B => copy.fail(span),
            _ => {}
        }
        self.model.seen.settled += usize::from(how < 20);
    }

    /// A consumer comes, or leaves without a word.
    fn come_or_go(&mut self) {
        let queue = self.random.below(QUEUES.len() as u64) as usize;
        if !self.sides[queue].client.session.front.wants_input() {
            return;
        }
        if self.sides[queue].is_consuming {
            self.listen();
            let span = self.spanned(|world| world.sides[queue].client.session.front.end());
            let side = &mut self.sides[queue];
            self.node.broker.connections.remove(side.client.session.front.handle().id);
            for number in side.unacked.values().filter(|_| queue == B) {
                self.model.copies.get_mut(number).expect("it was published").fail(span);
            }
            *side = Self::side(&self.node);
            return;
        }
        let prefetch_count = self.random.range(1..4) as u16;
        let side = &mut self.sides[queue];
        side.is_consuming = true;
        side.client.send(1, &basic::Qos { prefetch_count, ..Default::default() });
        side.client.consume(1, QUEUES[queue], "c", false);
    }

    fn act(&mut self) -> Result<(), Cut> {
        let store = self.node.broker.engine.store.clone();
        match self.random.below(100) {
            0..35 => self.publish(),
            35..52 => self.answer(),
            52..57 => self.come_or_go(),
            57..64 => self.listen(),
            64..70 => {
                let milliseconds = self.random.range(1..30);
                self.pass_time(milliseconds)?;
            }
            70..71 => self.pass_time(6000)?,
            71..80 => self.node.step()?,
            80..84 => self.model.seen.spilled += self.node.retire()?,
            84..86 => self.node.retire_due()?,
            86..88 => _ = self.node.reclaim()?,
            88..90 => self.node.checkpoint()?,
            90..92 => self.node.unload(),
            92..93 => self.node.broker.engine.close_watermarks(false),
            _ => _ = store.load_once(&self.node.residents),
        }
        Ok(())
    }

    /// All messages that are there: from the first queue of the chain to the last, so that none is passed on meanwhile.
    fn take_all(&mut self) -> BTreeMap<Number, Found> {
        let mut found = BTreeMap::new();
        let mut clients = Vec::new();
        for (queue, name) in QUEUES.into_iter().enumerate() {
            let mut client = self.node.connect();
            let mut last_tag = 0;
            loop {
                client.get(1, name, false);
                let heard = self.node.listen(&mut client);
                let [Heard::Message { tag, body, redelivered }] = heard.as_slice() else {
                    assert_eq!(heard, [Heard::Other("basic.get-empty")]);
                    break;
                };
                last_tag = *tag;
                let number = number_of(body);
                let failed_count = if queue == B { client.last_number("x-delivery-count").unwrap_or(0) } else { 0 };
                let was_there = found.insert(number, Found { queue, is_redelivered: *redelivered, failed_count });
                if let Some(other) = was_there {
                    panic!("message {number} is in {} and in {name}", QUEUES[other.queue]);
                }
            }
            clients.push((client, last_tag));
        }
        for (mut client, last_tag) in clients {
            if last_tag > 0 {
                client.send(1, &basic::Nack { delivery_tag: last_tag, multiple: true, requeue: true });
            }
            self.node.broker.connections.remove(client.session.front.handle().id);
            client.session.front.end();
        }
        found
    }

    fn check(&mut self) {
        let end = self.node.recovered;
        assert!(end >= self.model.durable, "recovered up to {end}, but {} was durable", self.model.durable);
        self.node.at(self.model.now_ms);
        self.declare();
        let found = self.take_all();
        let is_alone = self.node.group.is_none();
        let Model { copies, seen, now_ms, .. } = &mut self.model;
        for (number, Found { queue, is_redelivered, failed_count }) in &found {
            let copy = copies.get(number).expect("it was never published");
            assert!(copy.is_persistent || *queue == B, "transient message {number} is back");
            seen.kept += usize::from(!copy.is_persistent);
            assert!(copy.published.may_be(end), "message {number} is there before it was published");
            assert!(!copy.is_refused, "message {number} was refused and is there");
            let is_settled = copy.settled.is_some_and(|span| span.must_be(end));
            assert!(!is_settled, "message {number} was settled and is in {}", QUEUES[*queue]);
            let is_marked = *is_redelivered || !copy.seen_in.contains(queue);
            assert!(is_marked, "message {number} was delivered and is not marked redelivered");
            // Nor would it be when it comes there once more.
            let last_seen = copy.seen_in.last();
            let may_be_here = is_alone || last_seen.is_none_or(|seen| seen <= queue);
            assert!(may_be_here, "message {number} is in {} and was handed out behind it: {copy:?}", QUEUES[*queue]);
            assert!(
                *queue != 0 || copy.expires_at_ms > *now_ms,
                "message {number} was handed out though it has expired"
            );
            if *queue == B {
                let known = copy.failed.iter().filter(|span| span.must_be(end)).count() as i64 + copy.failed_count;
                // A message that has failed too often waits for room in `c`, and that it does is written down when it moves there.
                let known = known.min(FAILED_MAX);
                let most = copy.failed.len() as i64 + copy.failed_count;
                let is_right = (known..=most).contains(failed_count);
                assert!(
                    is_right,
                    "message {number} has failed {failed_count} times, not {known} to {most}: {copy:?}, end {end}"
                );
                seen.counted += usize::from(*failed_count > 0);
            }
            seen.recovered[*queue] += 1;
            seen.redelivered += usize::from(*is_redelivered);
        }
        for (number, copy) in copies.iter() {
            let is_settled = copy.settled.is_some_and(|span| span.may_be(end)) || copy.is_refused;
            let must_be = copy.lasts() && (copy.is_confirmed || copy.published.must_be(end)) && !is_settled;
            assert!(found.contains_key(number) || !must_be, "message {number} is lost: {copy:?}, end {end}");
        }
        copies.retain(|number, _| found.contains_key(number));
        for (number, copy) in copies {
            let Found { queue, failed_count, .. } = &found[number];
            copy.published = Span { before: JournalPosition::START, after: JournalPosition::START };
            (copy.settled, copy.failed_count) = (None, *failed_count);
            copy.failed.clear();
            copy.stays_in_b = *queue == B;
            copy.seen_in = BTreeSet::from([*queue]);
        }
    }
}

/// One life of a broker, up to a power cut, a kill or just its end.
fn live(home: &Home, model: Model, mut random: Random, is_last: bool) -> (Model, Random) {
    let node = home.begin_again_and_again(&mut random);
    let sides = (0..=KEEPER).map(|_| World::side(&node)).collect();
    let mut world = World { node, sides, model, random };
    world.check();
    if is_last {
        return (world.model, world.random);
    }
    home.cut_soon(&mut world.random, 120);
    for _ in 0..world.random.below(300) {
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
    let mut model = Model {
        copies: BTreeMap::new(),
        next_number: 0,
        now_ms: NOW,
        durable: JournalPosition::START,
        seen: Seen::default(),
    };
    let life_count = random.range(2..5);
    for life in 0..=life_count {
        (model, random) = live(home, model, random, life == life_count);
    }
    model.seen
}

fn test(home_of: fn(u64) -> Home, seed_count: u64, count_min: u64) {
    let mut all = Seen::default();
    let is_whole = for_each_home(home_of, seed_count, run, |seen| {
        all.recovered.iter_mut().zip(seen.recovered).for_each(|(all, count)| *all += count);
        all.redelivered += seen.redelivered;
        all.counted += seen.counted;
        all.refused += seen.refused;
        all.settled += seen.settled;
        all.kept += seen.kept;
        all.spilled += seen.spilled;
        all.moved += seen.moved;
    });
    println!("{all:?}");
    let [a, b, c] = all.recovered;
    let counts =
        [a, b, c, all.redelivered, all.counted, all.refused, all.settled, all.kept, all.spilled as usize, all.moved];
    assert!(!is_whole || counts.iter().all(|&count| count as u64 > count_min), "too little happened: {all:?}");
}

#[test]
fn what_is_passed_on_is_neither_lost_nor_doubled() {
    test(Home::alone, SEED_COUNT, SEED_COUNT / 2);
}

#[test]
fn what_is_passed_on_is_neither_lost_nor_doubled_whoever_leads() {
    test(Home::of_three, GROUP_SEED_COUNT, GROUP_SEED_COUNT / 4);
}
