//! Three members of a group, with engines that are true and journals in memory, over links: they agree, also when connections are lost.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use cluster::wire::{EntryBytes, EntryToSend, FileRequest, Identity, Lane, NodeName};
use cluster::{CallAnswer, FileAnswer, ForwardedClient, LinkHandler, Links, PeerEvent, Setup};
use consensus::{
    Ballot, BallotFile, Base, Body, Engine as _, Entry, GroupId, Index, Kind, Log, LogId, MemberId, Message,
    NumberedBallot, Opening, Proposal, RaftEngine, Ready, Role, Term, Timing,
};
use parking_lot::Mutex;

use super::node::{TIMEOUT, member, place};
use crate::nodes::{identity, local};

const GROUP: GroupId = GroupId(3);
const LETTERS: [char; 3] = ['a', 'b', 'c'];

/// An engine, its journal, and what is committed by it.
struct Member {
    engine: RaftEngine,
    ready: Ready,
    /// Entries after the group's first, and their contents; none of what is no records.
    journal: Vec<(LogId, Option<Vec<u8>>)>,
    /// What came or was proposed, until the engine wants it appended.
    waiting: HashMap<LogId, Vec<u8>>,
    /// So many entries of the journal are committed.
    committed: usize,
    applied: Vec<Vec<u8>>,
    links: Weak<Links>,
}

impl Member {
    fn new(letter: char) -> Self {
        let id = member(letter);
        let ballot = NumberedBallot::first(id, Ballot { term: Term(1), vote: None });
        let engine = RaftEngine::open(Opening {
            group: GROUP,
            member: id,
            ballot: BallotFile::Whole { last: ballot, is_other_torn: false },
            log: Log::new(Base::of_new_group(LETTERS.map(member))),
            checkpoint: Index(1),
            timing: Timing { heartbeat_ticks: 1, election_ticks: 10 },
            seed: id.get(),
        });
        Member {
            engine: engine.unwrap(),
            ready: Ready::default(),
            journal: Vec::new(),
            waiting: HashMap::new(),
            committed: 0,
            applied: Vec::new(),
            links: Weak::new(),
        }
    }

    /// Does all that the engine wants. What is written is durable at once.
    fn drive(&mut self) {
        loop {
            let mut ready = std::mem::take(&mut self.ready);
            self.engine.ready(&mut ready);
            self.append(&ready.append);
            let unreachable: Vec<_> = ready.send.iter().filter_map(|message| self.send(message)).collect();
            unreachable.into_iter().for_each(|peer| self.engine.unreachable(peer));
            self.apply(ready.committed);
            let number = ready.number;
            self.ready = ready;
            match number {
                Some(number) => self.engine.persisted(number),
                None => match self.engine.wanted_mark() {
                    Some(mark) => drop(self.engine.change(&mark).expect("it is wanted")),
                    None => return,
                },
            }
        }
    }

    fn append(&mut self, entries: &[Entry]) {
        if let Some(first) = entries.first() {
            let place = place_of(first.id.index);
            assert!(place >= self.committed, "what is committed is not replaced");
            self.journal.truncate(place);
        }
        for entry in entries {
            let contents = self.waiting.get(&entry.id).cloned();
            assert_eq!(contents.is_some(), entry.kind == Kind::Records, "contents are there when they are wanted");
            self.journal.push((entry.id, contents));
        }
        self.waiting.clear();
    }

    fn apply(&mut self, committed: Index) {
        // The group's first entry is nowhere written.
        let until = (committed.0 as usize).saturating_sub(1).max(self.committed);
        let contents = self.journal[self.committed..until].iter().filter_map(|(_, contents)| contents.clone());
        self.applied.extend(contents);
        self.committed = until;
    }

    /// Returns the receiver, if it could not be sent.
    fn send(&self, message: &Message) -> Option<MemberId> {
        let links = self.links.upgrade()?;
        let entries = match &message.body {
            Body::Append { entries, .. } => &entries[..],
            _ => &[],
        };
        let of_records = entries.iter().filter(|entry| entry.kind == Kind::Records);
        let contents = of_records.map(|entry| {
            let (id, contents) = &self.journal[place_of(entry.id.index)];
            assert_eq!(*id, entry.id);
            EntryToSend { first: id.index.0, metas_len: 0, payload: Arc::new(contents.clone().unwrap()) }
        });
        let name = name_of(message.to);
        let sent = links.send(&name, GROUP, message, &contents.collect::<Vec<_>>());
        sent.err().map(|_| message.to)
    }

    fn hear(&mut self, message: Message, contents: Vec<EntryBytes>) {
        if let Body::Append { entries, .. } = &message.body {
            let of_records = entries.iter().filter(|entry| entry.kind == Kind::Records);
            self.waiting.extend(of_records.zip(contents).map(|(entry, contents)| (entry.id, contents.payload)));
        }
        self.engine.step(message);
        self.drive();
    }

    /// False: it does not lead.
    fn propose(&mut self, contents: &[u8]) -> bool {
        let Ok(id) = self.engine.propose(Proposal { len: contents.len() as u32 }) else { return false };
        self.waiting.insert(id, contents.to_vec());
        self.drive();
        true
    }
}

/// Where an entry stands in a journal: the first is the group's base.
fn place_of(index: Index) -> usize {
    index.0 as usize - 2
}

fn name_of(id: MemberId) -> NodeName {
    let letter = LETTERS.into_iter().find(|letter| member(*letter) == id).unwrap();
    identity(letter).name
}

struct Driver(Arc<Mutex<Member>>);

impl LinkHandler for Driver {
    fn message(&self, _: &Identity, _: GroupId, message: Message, entries: Vec<EntryBytes>) {
        self.0.lock().hear(message, entries);
    }

    fn peer_changed(&self, peer: &NodeName, event: PeerEvent) {
        if let PeerEvent::Lost { lane: Lane::Votes | Lane::Commits, .. } = event {
            let lost = LETTERS.into_iter().find(|letter| identity(*letter).name == *peer).unwrap();
            let mut of = self.0.lock();
            of.engine.unreachable(member(lost));
            of.drive();
        }
    }

    fn file_wanted(&self, _: &Identity, _: FileRequest, _: FileAnswer) {}
    fn called(&self, _: &Identity, _: &str, _: &[u8], _: CallAnswer) {}
    fn forwarded(&self, _: &Identity, _: ForwardedClient) {}
}

/// A member, its links if it has any, and its clock.
struct Seat {
    letter: char,
    member: Arc<Mutex<Member>>,
    links: Option<Arc<Links>>,
    port: u16,
    is_over: Arc<AtomicBool>,
    clock: Option<JoinHandle<()>>,
}

impl Seat {
    fn take(letter: char) -> Self {
        let member = Arc::new(Mutex::new(Member::new(letter)));
        let is_over = Arc::new(AtomicBool::new(false));
        let clock = {
            let (member, is_over) = (Arc::clone(&member), Arc::clone(&is_over));
            thread::spawn(move || {
                while !is_over.load(Ordering::Acquire) {
                    thread::sleep(Duration::from_millis(20));
                    let mut member = member.lock();
                    member.engine.tick();
                    member.drive();
                }
            })
        };
        let mut seat = Seat { letter, member, links: None, port: 0, is_over, clock: Some(clock) };
        seat.connect();
        seat
    }

    fn connect(&mut self) {
        let listen = ([127, 0, 0, 1], self.port).into();
        let setup = Setup { listen, local: local(self.letter), tls: None, peers: Vec::new() };
        let links = Arc::new(Links::start(setup, Arc::new(Driver(Arc::clone(&self.member)))).unwrap());
        self.port = links.address().port();
        self.member.lock().links = Arc::downgrade(&links);
        self.links = Some(links);
    }

    fn leads(&self) -> bool {
        self.member.lock().engine.status().role == Role::Leader
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Release);
        let ended = self.clock.take().map(JoinHandle::join);
        assert!(thread::panicking() || ended.is_none_or(|ended| ended.is_ok()), "a member has failed");
    }
}

fn introduce(seats: &[Seat]) {
    for seat in seats {
        let others = seats.iter().filter(|other| other.letter != seat.letter);
        let places = others.map(|other| place(other.letter, other.port)).collect();
        if let Some(links) = &seat.links {
            links.set_peers(places);
        }
    }
}

/// Proposes all of it until a leader has committed all of it: what is lost with a leader is proposed again.
#[track_caller]
fn commit(seats: &[Seat], all: &[Vec<u8>], cut: impl Fn()) {
    let begun = Instant::now();
    let is_there = |seat: &Seat, contents: &Vec<u8>| seat.member.lock().applied.contains(contents);
    loop {
        assert!(begun.elapsed() < TIMEOUT, "the group does not get on");
        let connected = || seats.iter().filter(|seat| seat.links.is_some());
        let Some(leader) = connected().find(|seat| seat.leads()) else {
            thread::yield_now();
            continue;
        };
        let missing = all.iter().filter(|contents| !is_there(leader, contents));
        for contents in missing {
            leader.member.lock().propose(contents);
        }
        cut();
        let proposed = Instant::now();
        while leader.leads() && proposed.elapsed() < Duration::from_secs(2) {
            if all.iter().all(|contents| is_there(leader, contents)) {
                return;
            }
            thread::yield_now();
        }
    }
}

#[test]
fn a_group_over_links_agrees_though_connections_are_lost() {
    let mut seats = LETTERS.map(Seat::take);
    introduce(&seats);
    let round = |number: u8| -> Vec<Vec<u8>> {
        (0..50_u8).map(|entry| [&[number, entry][..], &vec![entry; usize::from(entry) * 200]].concat()).collect()
    };
    let mut committed = 0;
    for number in 0..9 {
        let all = round(number);
        let seat = &seats[usize::from(number) % 3];
        // All its connections are cut while entries are on their way.
        let cut = || seat.links.as_ref().unwrap().set_local(local(seat.letter));
        commit(&seats, &all, cut);
        committed += all.len();
    }
    // The leader is cut off for longer: another one is elected.
    let old = seats.iter().position(Seat::leads).unwrap();
    seats[old].links.take().unwrap().close();
    let all = round(9);
    commit(&seats, &all, || ());
    committed += all.len();
    seats[old].connect();
    introduce(&seats);
    commit(&seats, &round(10), || ());
    let begun = Instant::now();
    let lens = || seats.each_ref().map(|seat| seat.member.lock().applied.len());
    // Followers learn with the next heartbeat.
    while begun.elapsed() < TIMEOUT && (lens()[0] != lens()[1] || lens()[1] != lens()[2]) {
        thread::yield_now();
    }
    let applied = seats.each_ref().map(|seat| seat.member.lock().applied.clone());
    assert!(applied[0] == applied[1] && applied[1] == applied[2], "{:?} entries are applied", lens());
    assert!(applied[0].len() >= committed + 50, "{:?}", lens());
}
