//! The frame of the tests that cut the power: lives of a broker, one after the other, over one disk, or over the stores of a group of
//! three, which is led by one node and another. All follows from a seed.

use std::collections::BTreeMap;
use std::fmt::{Debug, Display};
use std::panic::{self, RefUnwindSafe};
use std::sync::Arc;

use model::ids::JournalPosition;
use parking_lot::Mutex;
use store::file::SimDisk;
use store::{Random, Store, WorkError};

use super::client::Heard;
use super::group::{Moves, Opened, Trio};
use super::node::{Node, open};
use crate::options::Options;

/// The power is cut: nothing more will come of this life.
#[derive(Debug)]
pub(super) struct Cut;

/// Runs seeds from 0 on, and hands over what each has seen; names the first that fails. `BROKER_SEED=n` runs one seed and shows what
/// it has seen. False then, for that says nothing of how much has been tried. `BROKER_SEED_FACTOR=n` runs so many times more than usual.
pub(super) fn for_each_seed<S: Debug>(
    count: u64,
    run: impl Fn(u64) -> S + RefUnwindSafe,
    mut each: impl FnMut(S),
) -> bool {
    let read = |name| std::env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    if let Some(seed) = read("BROKER_SEED") {
        println!("{:?}", run(seed));
        return false;
    }
    for seed in 0..count * read("BROKER_SEED_FACTOR").unwrap_or(1) {
        each(panic::catch_unwind(|| run(seed)).unwrap_or_else(|panic| {
            eprintln!("BROKER_SEED={seed} shows it again");
            panic::resume_unwind(panic);
        }));
    }
    true
}

/// As [`for_each_seed`], over homes. In a group enough must have happened to the leadership.
pub(super) fn for_each_home<S: Debug>(
    home_of: fn(u64) -> Home,
    count: u64,
    run: impl Fn(&Home, u64) -> S + RefUnwindSafe,
    mut each: impl FnMut(S),
) -> bool {
    let mut all: Option<Moves> = None;
    let run = |seed| {
        let home = home_of(seed);
        (run(&home, seed), home.moves())
    };
    let is_whole = for_each_seed(count, run, |(seen, moves)| {
        each(seen);
        all = all.into_iter().chain(moves).reduce(Moves::and);
    });
    println!("{all:?}");
    assert!(!is_whole || all.is_none_or(|all| all.is_thorough(count)), "the leadership moved too seldom: {all:?}");
    is_whole
}

/// What brokers live on, one after the other: a disk, or the disks of a group, of which each life has the one of another leader.
pub(super) enum Home {
    Alone(SimDisk),
    Group(Arc<Mutex<Trio>>),
}

impl Home {
    pub(super) fn alone(seed: u64) -> Self {
        Home::Alone(SimDisk::new(seed))
    }

    pub(super) fn of_three(seed: u64) -> Self {
        Home::Group(Arc::new(Mutex::new(Trio::new(seed))))
    }

    fn moves(&self) -> Option<Moves> {
        match self {
            Home::Alone(_) => None,
            Home::Group(group) => Some(group.lock().moves),
        }
    }

    /// Begins a life with what is on the disk; the power is on.
    pub(super) fn begin(&self, random: &mut Random) -> Node {
        match self {
            Home::Alone(disk) => {
                disk.cut_power_at(u64::MAX);
                let (store, recovered) = open(disk, random.next()).expect("the store opens");
                Node::over(disk.clone(), store, recovered, Options::default())
            }
            Home::Group(group) => Node::leading(group, false),
        }
    }

    /// The same, but the power may fail while the store opens: then it is opened again.
    pub(super) fn begin_again_and_again(&self, random: &mut Random) -> Node {
        let disk = match self {
            Home::Alone(disk) => disk,
            Home::Group(group) => return Node::leading(group, true),
        };
        let (store, recovered) = loop {
            if random.percent(20) {
                disk.cut_power_at(disk.operation_count() + random.below(12));
            }
            match open(disk, random.next()) {
                // The power may have failed at something that a start can do without.
                Ok(opened) if disk.is_cut() => drop(opened),
                Ok(opened) => break opened,
                Err(error) => assert!(disk.is_cut(), "the store does not open: {error}"),
            }
            disk.restart();
        };
        disk.cut_power_at(u64::MAX);
        Node::over(disk.clone(), store, recovered, Options::default())
    }

    /// Mostly the power will fail at one of the next operations. In a group, so may others', links, and the leadership.
    pub(super) fn cut_soon(&self, random: &mut Random, operation_count: u64) {
        match self {
            Home::Alone(disk) if random.percent(80) => {
                disk.cut_power_at(disk.operation_count() + random.below(operation_count));
            }
            Home::Alone(_) => {}
            Home::Group(group) => group.lock().trouble_soon(operation_count),
        }
    }

    /// Ends a life, whose clients have disconnected, in good order: another node of the group leads.
    pub(super) fn hand_over(&self, node: Node) {
        let Home::Group(group) = self else { panic!("a broker that is alone cannot hand over") };
        let handed_over = node.hand_over();
        assert!(handed_over.is_some(), "all is calm");
        drop(node);
        group.lock().end(handed_over);
    }

    /// Ends a life, whose clients have disconnected: by a power cut, or, if the power is still on, perhaps by killing the process. In a
    /// group another node may lead instead, handed over to or not.
    pub(super) fn end(&self, node: Node, random: &mut Random) {
        match self {
            Home::Alone(disk) => {
                drop(node);
                match !disk.is_cut() && random.percent(40) {
                    true => disk.kill_process(),
                    false => disk.restart(),
                }
            }
            Home::Group(group) => {
                let is_to_hand_over = group.lock().draws_hand_over();
                let handed_over = if is_to_hand_over { node.hand_over() } else { None };
                drop(node);
                group.lock().end(handed_over);
            }
        }
    }
}

impl Node {
    /// The broker of the node that a group has elected.
    fn leading(group: &Arc<Mutex<Trio>>, may_fall: bool) -> Self {
        let Opened { disk, store, recovered, end } = group.lock().begin(may_fall);
        let node = Self::over(disk, store, recovered, Options::default());
        Self { recovered: end, group: Some(group.clone()), ..node }
    }

    /// Does what a node does before it lets another one lead, and lets it. Says up to where the other one is to have all; `None`: something
    /// has come between.
    fn hand_over(&self) -> Option<JournalPosition> {
        self.broker.write_down_all();
        let end = self.appended();
        while self.broker.engine.store.durable() < end {
            self.step().ok()?;
        }
        if !self.group.as_ref()?.lock().hand_over() {
            return None;
        }
        // What is said from here on is no longer for this node to write down.
        self.broker.write_down_all();
        let error = self.broker.engine.store.close().expect_err("another node leads");
        assert!(error.is_leadership_lost(), "{error}");
        Some(end)
    }

    /// The power fails at an operation of its disk.
    pub(super) fn cut_power_in(&self, operation_count: u64) {
        match &self.group {
            None => self.disk.cut_power_at(self.disk.operation_count() + operation_count),
            Some(group) => group.lock().cut_power_in(operation_count),
        }
    }

    /// This life has no more effect: the power is cut, or another node leads.
    fn is_over(&self) -> bool {
        self.group.as_ref().map_or_else(|| self.disk.is_cut(), |group| group.lock().is_over())
    }

    /// What something came to that fails for want of power only.
    fn unless_cut<T, E: Display>(&self, result: Result<T, E>) -> Result<T, Cut> {
        if self.is_over() {
            return Err(Cut);
        }
        Ok(result.unwrap_or_else(|error| panic!("the disk works, but: {error}")))
    }

    /// Does something that may have to wait for other members of the group.
    pub(super) fn at_last<T>(&self, act: impl Fn(&Store) -> Result<T, WorkError>) -> Result<T, Cut> {
        let store = &self.broker.engine.store;
        for _ in 0..10 {
            match act(store) {
                Err(_) if self.group.is_some() && !self.is_over() => {}
                result => return self.unless_cut(result),
            }
            while store.durable() < store.appended() {
                self.step()?;
            }
        }
        self.unless_cut(act(store))
    }

    /// A step of the journal; in a group, of all nodes a few.
    pub(super) fn step(&self) -> Result<(), Cut> {
        if let Some(group) = &self.group {
            group.lock().step_on();
            return self.unless_cut(Ok::<_, String>(()));
        }
        self.unless_cut(self.broker.engine.store.step_journal())
    }

    /// Where the journal ends.
    pub(super) fn appended(&self) -> JournalPosition {
        self.broker.engine.store.appended()
    }

    /// Moves what is durable to segments, and says how many messages that were.
    pub(super) fn retire(&self) -> Result<u64, Cut> {
        let retired = self.at_last(|store| store.retire_to(store.durable(), u64::MAX, &self.residents))?;
        Ok(retired.message_count)
    }

    /// Moves what is to be moved by now to segments.
    pub(super) fn retire_due(&self) -> Result<(), Cut> {
        self.at_last(|store| store.retire_once(&self.residents)).map(drop)
    }

    /// Gets the space of segments back. Whether there was any.
    pub(super) fn reclaim(&self) -> Result<bool, Cut> {
        Ok(self.at_last(|store| store.reclaim_once(&self.residents))?.is_some())
    }

    /// Makes a checkpoint.
    pub(super) fn checkpoint(&self) -> Result<(), Cut> {
        self.at_last(Store::checkpoint_once)
    }
}

/// Publishes of one channel that are not confirmed yet: where what they stand for is durable, by their number on it.
#[derive(Debug, Default)]
pub(super) struct Unconfirmed {
    positions: BTreeMap<u64, JournalPosition>,
    publish_count: u64,
}

impl Unconfirmed {
    /// Something has been published; it may be confirmed when the journal is durable up to here.
    pub(super) fn push(&mut self, position: JournalPosition) {
        self.publish_count += 1;
        self.positions.insert(self.publish_count, position);
    }

    /// Takes a confirm, which must not come too early. Says how many publishes it was for.
    #[track_caller]
    pub(super) fn confirm(&mut self, heard: &Heard, node: &Node) -> u64 {
        let Heard::Ack { tag, multiple } = *heard else { panic!("{heard:?}") };
        let durable = node.broker.engine.store.durable();
        let first = if multiple { 0 } else { tag };
        let tags: Vec<_> = self.positions.range(first..=tag).map(|(tag, _)| *tag).collect();
        for tag in &tags {
            let needed = self.positions.remove(tag).expect("it was listed");
            assert!(needed <= durable, "publish {tag} was confirmed before its message was durable");
        }
        tags.len() as u64
    }
}
