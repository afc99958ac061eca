//! The frame of the tests that cut the power: lives of a broker, one after the other, over one disk. All follows from a seed.

use std::collections::BTreeMap;
use std::fmt::{Debug, Display};
use std::panic::{self, RefUnwindSafe};

use model::ids::JournalPosition;
use store::Random;
use store::file::SimDisk;

use super::client::Heard;
use super::node::{Node, open};
use crate::options::Options;

/// The power is cut: nothing more will come of this life.
#[derive(Debug)]
pub(super) struct Cut;

/// Runs seeds from 0 on, and hands over what each has seen; names the first that fails. `BROKER_SEED=n` runs one seed and shows what
/// it has seen. False then, for that says nothing of how much has been tried.
pub(super) fn for_each_seed<S: Debug>(
    count: u64,
    run: impl Fn(u64) -> S + RefUnwindSafe,
    mut each: impl FnMut(S),
) -> bool {
    if let Some(seed) = std::env::var("BROKER_SEED").ok().and_then(|seed| seed.parse().ok()) {
        println!("{:?}", run(seed));
        return false;
    }
    for seed in 0..count {
        each(panic::catch_unwind(|| run(seed)).unwrap_or_else(|panic| {
            eprintln!("BROKER_SEED={seed} shows it again");
            panic::resume_unwind(panic);
        }));
    }
    true
}

/// Begins a life with what is on the disk; the power is on.
pub(super) fn begin(disk: &SimDisk, random: &mut Random) -> Node {
    disk.cut_power_at(u64::MAX);
    let (store, recovered) = open(disk, random.next()).expect("the store opens");
    Node::over(disk.clone(), store, recovered, Options::default())
}

/// The same, but the power may go while the store opens: then it is opened again.
pub(super) fn begin_again_and_again(disk: &SimDisk, random: &mut Random) -> Node {
    let (store, recovered) = loop {
        if random.percent(20) {
            disk.cut_power_at(disk.operation_count() + random.below(12));
        }
        match open(disk, random.next()) {
            // The power may have gone at something that a start can do without.
            Ok(opened) if disk.is_cut() => drop(opened),
            Ok(opened) => break opened,
            Err(error) => assert!(disk.is_cut(), "the store does not open: {error}"),
        }
        disk.restart();
    };
    disk.cut_power_at(u64::MAX);
    Node::over(disk.clone(), store, recovered, Options::default())
}

/// Mostly the power will go at one of the next operations.
pub(super) fn cut_soon(disk: &SimDisk, random: &mut Random, operation_count: u64) {
    if random.percent(80) {
        disk.cut_power_at(disk.operation_count() + random.below(operation_count));
    }
}

/// Ends a life: by a power cut, or, if the power is still on, perhaps by killing the process. The disk may not be used any more.
pub(super) fn end(disk: &SimDisk, random: &mut Random) {
    match !disk.is_cut() && random.percent(40) {
        true => disk.kill_process(),
        false => disk.restart(),
    }
}

impl Node {
    /// What something came to that fails for want of power only.
    pub(super) fn unless_cut<T, E: Display>(&self, result: Result<T, E>) -> Result<T, Cut> {
        if self.disk.is_cut() {
            return Err(Cut);
        }
        Ok(result.unwrap_or_else(|error| panic!("the disk works, but: {error}")))
    }

    /// A step of the journal.
    pub(super) fn step(&self) -> Result<(), Cut> {
        self.unless_cut(self.broker.engine.store.step_journal())
    }

    /// Where the journal ends.
    pub(super) fn appended(&self) -> JournalPosition {
        self.broker.engine.store.appended()
    }

    /// Moves what is durable to segments, and says how many messages that were.
    pub(super) fn retire(&self) -> Result<u64, Cut> {
        let store = &self.broker.engine.store;
        let retired = self.unless_cut(store.retire_to(store.durable(), u64::MAX, &self.residents))?;
        Ok(retired.message_count)
    }

    /// Gets the space of segments back. Whether there was any.
    pub(super) fn reclaim(&self) -> Result<bool, Cut> {
        Ok(self.unless_cut(self.broker.engine.store.reclaim_once(&self.residents))?.is_some())
    }

    /// Makes a checkpoint.
    pub(super) fn checkpoint(&self) -> Result<(), Cut> {
        self.unless_cut(self.broker.engine.store.checkpoint_once())
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
