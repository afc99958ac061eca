//! Nothing crosses between clients: many of them, at random, over connections that are slow, lost and cut, and every message says whose it
//! is.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use amqp::frame::put_method;
use amqp::method::{basic, channel, confirm, connection};
use proptest::prelude::*;
use proxy::spool::{self, NextPublish, Spool};
use proxy::switchboard::{ClientId, Options, UpstreamConnectionId};

use store::file::SimDisk;

use crate::broker::{BrokerConnection, PASSWORD};
use crate::fixture::{Heard, World, publish_in};

/// How long clients wait for brokers.
const UPSTREAM_WAIT_MS: u64 = 15_000;

/// A token that every user may have.
fn token_of(number: u8) -> Vec<u8> {
    format!("eyJgood.eyJzdWIiOiJ1In0.sign{number}").into_bytes()
}

#[derive(Debug, Clone)]
enum Step {
    /// A client comes, says hello and opens its channels.
    Join,
    /// A client publishes, in frames of so many bytes, so much of it.
    Publish {
        client: usize,
        channel: u16,
        kind: Kind,
        part_len: usize,
        share: u8,
    },
    /// A client gets the rest of what it has begun to say sent.
    Flush {
        client: usize,
    },
    SelectConfirms {
        client: usize,
        channel: u16,
    },
    /// A client has a newer token, and perhaps the same as another.
    Renew {
        client: usize,
        token: u8,
    },
    Get {
        client: usize,
        channel: u16,
    },
    Consume {
        client: usize,
        channel: u16,
    },
    CloseChannel {
        client: usize,
        channel: u16,
    },
    Leave {
        client: usize,
    },
    Vanish {
        client: usize,
    },
    /// The brokers confirm some.
    Confirm {
        count: usize,
        is_multiple: bool,
    },
    /// What brokers have said arrives.
    Arrive,
    Cut {
        connection: usize,
    },
    Pass {
        ms: u64,
    },
    /// The brokers go away, all of them, or come back.
    Reach {
        is_reachable: bool,
    },
    /// A forwarder sends on what was kept, so much of it.
    SendOn {
        count: usize,
        is_whole: bool,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Plain,
    Mandatory,
    ToNowhere,
}

fn step() -> impl Strategy<Value = Step> {
    let client = 0..6usize;
    let channel = 1..3u16;
    let kind = prop_oneof![6 => Just(Kind::Plain), 2 => Just(Kind::Mandatory), 1 => Just(Kind::ToNowhere)];
    let publish = (client.clone(), channel.clone(), kind, 1..40usize, prop_oneof![3 => Just(100u8), 1 => 0..100u8])
        .prop_map(|(client, channel, kind, part_len, share)| Step::Publish { client, channel, kind, part_len, share });
    let at = (client.clone(), channel);
    prop_oneof![
        3 => Just(Step::Join),
        12 => publish,
        2 => client.clone().prop_map(|client| Step::Flush { client }),
        2 => at.clone().prop_map(|(client, channel)| Step::SelectConfirms { client, channel }),
        1 => (client.clone(), 0..3u8).prop_map(|(client, token)| Step::Renew { client, token }),
        2 => at.clone().prop_map(|(client, channel)| Step::Get { client, channel }),
        1 => at.clone().prop_map(|(client, channel)| Step::Consume { client, channel }),
        2 => at.prop_map(|(client, channel)| Step::CloseChannel { client, channel }),
        1 => client.clone().prop_map(|client| Step::Leave { client }),
        2 => client.prop_map(|client| Step::Vanish { client }),
        6 => (1..5usize, any::<bool>()).prop_map(|(count, is_multiple)| Step::Confirm { count, is_multiple }),
        8 => Just(Step::Arrive),
        1 => (0..4usize).prop_map(|connection| Step::Cut { connection }),
        1 => (0..3_000u64).prop_map(|ms| Step::Pass { ms }),
    ]
}

/// As above, while brokers come and go.
fn step_with_spool() -> impl Strategy<Value = Step> {
    prop_oneof![
        20 => step(),
        1 => prop_oneof![2 => Just(false), 3 => Just(true)].prop_map(|is_reachable| Step::Reach { is_reachable }),
        2 => (1_000..2_500u64).prop_map(|ms| Step::Pass { ms }),
        2 => (0..6usize, any::<bool>()).prop_map(|(count, is_whole)| Step::SendOn { count, is_whole }),
    ]
}

/// What is known of a client's channel.
#[derive(Debug, Default)]
struct Seen {
    is_confirming: bool,
    /// Bodies of the publishes that are counted, in their order: tag 1 first.
    tagged: Vec<String>,
    /// Bodies of those that are not counted.
    untagged: Vec<String>,
    confirmed: BTreeSet<u64>,
    has_failed_to: BTreeSet<String>,
    gets: usize,
    consumes: bool,
    is_closing: bool,
}

/// A client, and what it may hear.
struct Player {
    id: ClientId,
    name: String,
    channels: BTreeMap<u16, Seen>,
    /// Bytes that it has begun to say.
    unsaid: Vec<u8>,
    is_leaving: bool,
    count: usize,
    /// Newer tokens to which it has had no answer.
    renewals: usize,
    joined_ms: u64,
}

struct Play {
    world: World,
    players: Vec<Player>,
    joined: usize,
    /// Bodies that brokers have had, of connections that are closed.
    arrived: BTreeSet<String>,
    /// The last of each client's channel that has arrived.
    last: BTreeMap<(String, u16), usize>,
    cut_count: usize,
    /// When brokers had last answered everything.
    served_ms: u64,
    seen_connections: BTreeMap<UpstreamConnectionId, usize>,
    spool: Option<Arc<Spool>>,
}

impl Play {
    fn new(spool: Option<Arc<Spool>>) -> Self {
        let options = Options {
            upstream_channel_max: 3,
            pool_connection_max: 3,
            client_heartbeat_s: 0,
            upstream_wait_ms: UPSTREAM_WAIT_MS,
            ..Options::default()
        };
        let mut world = World::new(options);
        world.new_broker = BrokerConnection::hesitant;
        world.is_far = true;
        if let Some(spool) = &spool {
            world.board.set_spool(spool.clone());
        }
        Play {
            served_ms: world.now_ms,
            world,
            players: Vec::new(),
            joined: 0,
            arrived: BTreeSet::new(),
            last: BTreeMap::new(),
            cut_count: 0,
            seen_connections: BTreeMap::new(),
            spool,
        }
    }

    fn run(&mut self, step: &Step) {
        match step {
            Step::Join => self.join(),
            Step::Publish { client, channel, kind, part_len, share } => {
                self.publish(*client, *channel, *kind, *part_len, *share);
            }
            Step::Flush { client } => self.flush(*client),
            Step::SelectConfirms { client, channel } => self.tell(*client, *channel, |seen, bytes, number, _| {
                seen.is_confirming = true;
                put_method(bytes, number, &confirm::Select { no_wait: false });
            }),
            Step::Renew { client, token } => self.renew(*client, *token),
            Step::Get { client, channel } => self.tell(*client, *channel, |seen, bytes, number, name| {
                seen.gets += 1;
                put_method(bytes, number, &basic::Get { queue: name.as_bytes(), no_ack: true, ..Default::default() });
            }),
            Step::Consume { client, channel } => self.tell(*client, *channel, |seen, bytes, number, name| {
                if !seen.consumes {
                    seen.consumes = true;
                    let consume = basic::Consume {
                        queue: name.as_bytes(),
                        consumer_tag: b"c",
                        no_ack: true,
                        ..Default::default()
                    };
                    put_method(bytes, number, &consume);
                }
            }),
            Step::CloseChannel { client, channel } => self.tell(*client, *channel, |seen, bytes, number, _| {
                seen.is_closing = true;
                put_method(bytes, number, &channel::Close::default());
            }),
            Step::Leave { client } => self.leave(*client),
            Step::Vanish { client } => self.vanish(*client),
            Step::Confirm { count, is_multiple } => {
                for broker in self.world.brokers.values_mut() {
                    broker.confirm(*count, *is_multiple);
                }
            }
            Step::Arrive => self.world.arrive(),
            Step::Cut { connection } => {
                let connection = self.world.brokers.keys().nth(*connection).copied();
                if let Some(connection) = connection {
                    self.note_arrived();
                    self.cut_count += 1;
                    self.world.cut(connection);
                }
            }
            Step::Pass { ms } => self.world.pass_ms(*ms),
            Step::Reach { is_reachable } => {
                self.world.is_reachable = *is_reachable;
                while !is_reachable && let Some(connection) = self.world.brokers.keys().next().copied() {
                    self.cut_count += 1;
                    self.world.cut(connection);
                }
            }
            Step::SendOn { count, is_whole } => self.send_on(*count, *is_whole),
        }
        self.note_arrived();
        self.check();
    }

    fn join(&mut self) {
        if self.players.len() >= 6 {
            return;
        }
        self.joined += 1;
        let name = format!("client-{}", self.joined);
        let user = if self.joined.is_multiple_of(3) { "other" } else { "user" };
        let secret = if self.joined.is_multiple_of(4) { token_of(0) } else { PASSWORD.to_vec() };
        let id = self.world.open(user, &secret, "/");
        self.world.open_channel(id, 1);
        self.world.open_channel(id, 2);
        let channels = [(1, Seen::default()), (2, Seen::default())].into();
        self.players.push(Player {
            id,
            name,
            channels,
            unsaid: Vec::new(),
            is_leaving: false,
            count: 0,
            renewals: 0,
            joined_ms: self.world.now_ms,
        });
    }

    fn publish(&mut self, client: usize, number: u16, kind: Kind, part_len: usize, share: u8) {
        let Some(player) = self.players.get_mut(client) else { return };
        let Some(seen) = player.channels.get_mut(&number).filter(|seen| !seen.is_closing) else { return };
        if player.is_leaving || !player.unsaid.is_empty() {
            return;
        }
        player.count += 1;
        let body = format!("{} {number} {}", player.name, player.count);
        let exchange = if kind == Kind::ToNowhere { "missing" } else { "" };
        if kind == Kind::ToNowhere {
            seen.has_failed_to.insert(body.clone());
        }
        match seen.is_confirming {
            true => seen.tagged.push(body.clone()),
            false => seen.untagged.push(body.clone()),
        }
        let bytes = publish_in(number, exchange, &body, kind == Kind::Mandatory, body.as_bytes(), part_len);
        let (now, later) = bytes.split_at(bytes.len() * usize::from(share) / 100);
        player.unsaid = later.to_vec();
        let (id, now) = (player.id, now.to_vec());
        self.world.say(id, &now);
    }

    fn renew(&mut self, client: usize, token: u8) {
        let Some(player) = self.players.get_mut(client).filter(|player| !player.is_leaving) else { return };
        if !player.unsaid.is_empty() {
            return;
        }
        player.renewals += 1;
        let (id, new_secret) = (player.id, token_of(token));
        self.world.call(id, 0, &connection::UpdateSecret { new_secret: &new_secret, reason: b"" });
    }

    fn flush(&mut self, client: usize) {
        let Some(player) = self.players.get_mut(client) else { return };
        let (id, bytes) = (player.id, std::mem::take(&mut player.unsaid));
        self.world.say(id, &bytes);
    }

    fn tell(&mut self, client: usize, number: u16, say: impl Fn(&mut Seen, &mut Vec<u8>, u16, &str)) {
        self.flush(client);
        let Some(player) = self.players.get_mut(client).filter(|player| !player.is_leaving) else { return };
        let Some(seen) = player.channels.get_mut(&number).filter(|seen| !seen.is_closing) else { return };
        let mut bytes = Vec::new();
        say(seen, &mut bytes, number, &player.name);
        let id = player.id;
        self.world.say(id, &bytes);
    }

    fn leave(&mut self, client: usize) {
        self.flush(client);
        let Some(player) = self.players.get_mut(client) else { return };
        player.is_leaving = true;
        let id = player.id;
        self.world.call(id, 0, &connection::Close::default());
    }

    fn vanish(&mut self, client: usize) {
        if client < self.players.len() {
            let player = self.players.swap_remove(client);
            self.world.vanish(player.id);
        }
    }

    fn note_arrived(&mut self) {
        for (connection, broker) in &self.world.brokers {
            let seen = self.seen_connections.entry(*connection).or_default();
            for message in &broker.published[*seen..] {
                note_arrived(&message.routing_key, &message.body, &mut self.arrived, &mut self.last);
            }
            *seen = broker.published.len();
        }
    }

    /// Sends on so much of what was kept for one user, and reports then that the connection is lost, or that all was sent.
    fn send_on(&mut self, count: usize, is_whole: bool) {
        let Some(spool) = self.spool.clone() else { return };
        let Some(job) = spool.claim(self.world.now_ms) else { return };
        assert_eq!(&*job.secret, PASSWORD);
        spool.sends(job.spool_queue, self.world.now_ms);
        for _ in 0..count {
            let NextPublish::Publish(seq, publish) = spool.take(job.spool_queue) else { break };
            let mut broker = BrokerConnection::with_channels(&[1, 2]);
            broker.receive(publish.frames());
            assert!(!broker.has_half_a_message() && broker.published.len() <= 1, "a publish that was kept is whole");
            // A publish to nowhere is refused.
            for message in &broker.published {
                note_arrived(&message.routing_key, &message.body, &mut self.arrived, &mut self.last);
            }
            spool.settle(job.spool_queue, &[seq], false, self.world.now_ms);
        }
        let result = if is_whole { Ok(()) } else { Err("it is gone".to_owned()) };
        spool.release(job.spool_queue, result, self.world.now_ms);
        self.world.board.spool_changed(self.world.now_ms);
        self.world.settle();
    }

    /// No client has heard what is not its own.
    fn check(&mut self) {
        let mut gone = Vec::new();
        for (index, player) in self.players.iter_mut().enumerate() {
            for heard in self.world.heard(player.id) {
                let unserved_ms = self.world.now_ms - self.served_ms.max(player.joined_ms);
                check_heard(player, &heard, &self.arrived, self.cut_count, unserved_ms);
                if matches!(heard, Heard::ConnectionClosed { .. }) {
                    gone.push(index);
                }
            }
            if self.world.is_over(player.id) && !gone.contains(&index) {
                assert!(player.is_leaving, "{} was closed without a word", player.name);
                gone.push(index);
            }
        }
        for index in gone.into_iter().rev() {
            self.vanish(index);
        }
    }

    /// Everything comes to rest: what was whole has arrived, what was asked is answered, and nothing is kept for any client.
    fn end(&mut self) {
        self.world.is_reachable = true;
        for client in 0..self.players.len() {
            self.flush(client);
        }
        for number in 0..200 {
            self.send_on(usize::MAX, true);
            self.note_arrived();
            if number % 20 == 0 {
                self.world.pass_ms(500);
            }
            self.note_arrived();
            for broker in self.world.brokers.values_mut() {
                broker.confirm(usize::MAX, false);
            }
            self.world.arrive();
            self.note_arrived();
            self.check();
            // What the first tick gave up is dialled at the second.
            if number % 20 == 19 && number > 20 {
                self.served_ms = self.world.now_ms;
            }
        }
        for player in &self.players {
            assert!(player.is_leaving || player.renewals == 0, "{} is not told of its token", player.name);
            for (number, seen) in &player.channels {
                let open = seen.has_failed_to.is_empty();
                assert!(!open || seen.gets == 0, "{} {number}: {} gets are not answered", player.name, seen.gets);
                let missing = (1..=seen.tagged.len() as u64).find(|tag| !seen.confirmed.contains(tag));
                assert!(!open || missing.is_none(), "{} {number}: {missing:?} is not confirmed", player.name);
                // A client that had something under way on a connection that was cut would be closed. That nothing comes twice, and in
                // which order, is seen as it comes.
                let lost = seen.untagged.iter().find(|body| !self.arrived.contains(*body));
                assert!(
                    !open || lost.is_none(),
                    "{lost:?} was published on a channel that is well, and has not arrived"
                );
            }
        }
        while !self.players.is_empty() {
            self.vanish(0);
        }
        for _ in 0..20 {
            for broker in self.world.brokers.values_mut() {
                broker.confirm(usize::MAX, true);
            }
            self.world.arrive();
            self.note_arrived();
        }
        for broker in self.world.brokers.values() {
            assert!(!broker.has_half_a_message());
            assert_eq!(broker.unconfirmed_count(), 0);
        }
        self.world.is_far = false;
        self.world.pass_ms(700_000);
        assert_eq!(self.spool.as_ref().map_or(0, |spool| spool.report().count()), 0, "all is sent on");
        assert_eq!(self.world.board.upstream_connection_count(), 0, "what no client uses is closed");
    }
}

/// A message is the one that was sent, comes once, and after those that were published before it.
#[track_caller]
fn note_arrived(
    routing_key: &str,
    body: &[u8],
    arrived: &mut BTreeSet<String>,
    last: &mut BTreeMap<(String, u16), usize>,
) {
    assert_eq!(body, routing_key.as_bytes(), "a message is the one that was sent");
    assert!(arrived.insert(routing_key.to_owned()), "{routing_key} came twice");
    let mut words = routing_key.split(' ');
    let (name, number, count) = (words.next().unwrap(), words.next().unwrap(), words.next().unwrap());
    let count = count.parse().unwrap();
    let before = last.insert((name.to_owned(), number.parse().unwrap()), count);
    assert!(before.is_none_or(|before| before < count), "{routing_key} came after {before:?}");
}

#[track_caller]
fn check_heard(player: &mut Player, heard: &Heard, arrived: &BTreeSet<String>, cut_count: usize, unserved_ms: u64) {
    let name = player.name.clone();
    let is_own = |text: &str| text == name || text.starts_with(&format!("{name} "));
    match heard {
        Heard::Method(number, method) => match method.as_str() {
            "channel.close-ok" => drop(player.channels.remove(number)),
            "connection.close-ok" => assert!(player.is_leaving),
            "connection.update-secret-ok" => {
                player.renewals = player.renewals.checked_sub(1).expect("as often as it had one");
            }
            "channel.open-ok" | "confirm.select-ok" | "basic.consume-ok" => {}
            other => panic!("{name} hears {other}"),
        },
        Heard::Ack { channel, tag, is_multiple } => {
            let seen = player.channels.get_mut(channel).expect("a channel that it has");
            assert!(
                seen.is_confirming && *tag as usize <= seen.tagged.len(),
                "{name} hears of {tag} of {:?}",
                seen.tagged
            );
            let first = if *is_multiple { 1 } else { *tag };
            for tag in first..=*tag {
                assert!(
                    arrived.contains(&seen.tagged[tag as usize - 1]),
                    "{name}: {tag} is confirmed and has not arrived"
                );
                assert!(seen.confirmed.insert(tag) || *is_multiple, "{name}: {tag} is confirmed twice");
            }
        }
        Heard::ChannelClosed { channel, code, text } => {
            let seen = player.channels.remove(channel).expect("a channel that it has");
            let of = text.strip_prefix("NOT_FOUND - ").expect("the broker's words");
            assert!(*code == 404 && seen.has_failed_to.contains(of), "{name} hears {text}");
        }
        Heard::ConnectionClosed { code, text } => {
            let is_lost = cut_count > 0 && text.contains("the upstream connection was lost");
            let is_told_late = ["no upstream connection", "could not be forwarded"]
                .iter()
                .any(|what| text.contains(&format!("{what} within")));
            let is_late = is_told_late && unserved_ms >= UPSTREAM_WAIT_MS;
            assert!(*code == 320 && (is_lost || is_late), "{name} hears {text}");
        }
        Heard::Returned { routing_key, body, .. } => {
            assert!(is_own(routing_key) && body == routing_key.as_bytes(), "{name} hears {routing_key}");
        }
        Heard::Got { channel, routing_key, body } => {
            assert!(is_own(routing_key) && body == routing_key.as_bytes(), "{name} hears {routing_key}");
            let seen = player.channels.get_mut(channel).expect("a channel that it has");
            seen.gets = seen.gets.checked_sub(1).expect("as often as it asked");
        }
        Heard::Delivered { channel, routing_key, body } => {
            assert!(player.channels[channel].consumes && is_own(routing_key) && body == routing_key.as_bytes());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, ..ProptestConfig::default() })]

    #[test]
    fn nothing_crosses_between_clients(steps in prop::collection::vec(step(), 1..120)) {
        let mut play = Play::new(None);
        for step in &steps {
            play.run(step);
        }
        play.end();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn nothing_crosses_and_nothing_overtakes_while_brokers_come_and_go(
        steps in prop::collection::vec(step_with_spool(), 1..150),
    ) {
        let of_spool = spool::Options {
            dir: PathBuf::from("/spool"),
            len_max: 2_000,
            age_max_ms: None,
            login_fresh_ms: 600_000,
        };
        let spool = Spool::open(of_spool, Arc::new(SimDisk::new(1))).unwrap();
        let mut play = Play::new(Some(spool));
        for step in &steps {
            play.run(step);
        }
        play.end();
    }
}
