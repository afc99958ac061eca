//! Whole groups in one process, by seed: nodes with clocks of different rates that crash, freeze and lose what was not synced, a network
//! that cuts one way, loses, doubles and reorders, slow disks, shipments that are lost, and members that come and go.
//!
//! After every step: one leader a term, one vote a term, one contents an entry, what is committed is on a majority's disks, the same
//! everywhere and for ever, and no member's commit index falls. Now and then all end, and any majority of the members that starts alone has
//! all that a leader called committed. In the end all heals, and the group must work and agree.
//!
//! `CONSENSUS_SEEDS=from..to` runs these seeds; one that fails says how to run it again. `make sim-consensus` runs ten thousand.

mod disk;
mod facts;
mod majority;
mod random;
mod weather;
mod world;

use std::cell::Cell;
use std::ops::{AddAssign, Range};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

use world::World;

/// Seeds of the ordinary test.
const SEED_COUNT: u64 = 200;
/// Simulated time with weather.
const WEATHER_US: u64 = 4_000_000;
/// Simulated time after it until all must agree.
const HEALING_US: u64 = 20_000_000;

/// A rule that the driver breaks on purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    None,
    /// Says that a write is durable when it has only begun (rule 6).
    AcknowledgeBeforeSync,
    /// Never writes a ballot (rule 6).
    ForgetBallots,
    /// Reports nothing of shipments whose receiver is down (rule 4).
    ForgetShipments,
    /// Starts with what its log's base says is committed, not its checkpoint (rule 3).
    ForgetCheckpoints,
    /// Leaves changes of members without a mark (rule 8).
    ForgetMarks,
    /// Comes back without the last entries that it had acknowledged (rule 5).
    LoseTheTail,
}

/// What happened in a run, counted.
#[derive(Debug, Default, Clone, Copy)]
struct Seen {
    commits: u64,
    leaders: u64,
    starts: u64,
    crashes: u64,
    shipments: u64,
    lost_shipments: u64,
    restores: u64,
    checkpoints: u64,
    /// Members that heard of new members.
    changes: u64,
    /// Entries that took the place of others.
    replaced: u64,
    transfers: u64,
    /// Marks behind changes of members.
    marks: u64,
    /// Majorities that were started alone.
    majorities: u64,
}

impl AddAssign for Seen {
    fn add_assign(&mut self, other: Self) {
        self.commits += other.commits;
        self.leaders += other.leaders;
        self.starts += other.starts;
        self.crashes += other.crashes;
        self.shipments += other.shipments;
        self.lost_shipments += other.lost_shipments;
        self.restores += other.restores;
        self.checkpoints += other.checkpoints;
        self.changes += other.changes;
        self.replaced += other.replaced;
        self.transfers += other.transfers;
        self.marks += other.marks;
        self.majorities += other.majorities;
    }
}

impl Seen {
    fn all(&self) -> [u64; 13] {
        let Seen { commits, leaders, starts, crashes, shipments, lost_shipments, .. } = *self;
        let Seen { restores, checkpoints, changes, replaced, transfers, marks, majorities, .. } = *self;
        [
            commits,
            leaders,
            starts,
            crashes,
            shipments,
            lost_shipments,
            restores,
            checkpoints,
            changes,
            replaced,
            transfers,
            marks,
            majorities,
        ]
    }
}

/// One run.
fn run(seed: u64, fault: Fault) -> Seen {
    let mut world = World::new(seed, fault);
    while world.now < WEATHER_US {
        if world.step() {
            world.change_weather();
        }
    }
    world.calm_down();
    let end = world.now + HEALING_US;
    while !world.is_healed() {
        assert!(world.now < end, "after the weather they never agree: {}", world.describe());
        let until = world.now + 100_000;
        while world.now < until {
            world.step();
        }
    }
    world.seen
}

thread_local! {
    /// Whether panics on this thread are what a test waits for.
    static IS_QUIET: Cell<bool> = const { Cell::new(false) };
}

fn quieten() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !IS_QUIET.get() {
                usual(info);
            }
        }));
    });
    IS_QUIET.set(true);
}

fn seeds() -> Option<Range<u64>> {
    let given = std::env::var("CONSENSUS_SEEDS").ok()?;
    let (from, to) = given.split_once("..").expect("CONSENSUS_SEEDS=from..to");
    Some(from.parse().unwrap()..to.parse().unwrap())
}

#[test]
fn groups_agree_whatever_the_weather() {
    let seeds = seeds().unwrap_or(0..SEED_COUNT);
    let is_whole = seeds.end - seeds.start >= SEED_COUNT;
    let mut all = Seen::default();
    let begin = std::time::Instant::now();
    for seed in seeds.clone() {
        match catch_unwind(|| run(seed, Fault::None)) {
            Ok(seen) => all += seen,
            Err(_) => panic!("CONSENSUS_SEEDS={seed}..{} shows it again", seed + 1),
        }
    }
    let us = begin.elapsed().as_micros() as f64 / all.commits.max(1) as f64;
    eprintln!("seeds {seeds:?}: {all:?}, {us:.1} µs a committed entry");
    assert!(!is_whole || all.all().iter().all(|count| *count > SEED_COUNT / 2), "too little happened: {all:?}");
}

#[test]
fn one_seed_is_one_course_of_events() {
    for seed in 0..8 {
        let [first, second] = [0, 1].map(|_| run(seed, Fault::None));
        assert_eq!(first.all(), second.all(), "seed {seed}");
    }
}

/// Runs seeds until one fails, as it must; says which, and how.
#[track_caller]
fn check_found(fault: Fault, within: u64) {
    quieten();
    for seed in 0..within {
        let Err(panic) = catch_unwind(AssertUnwindSafe(|| run(seed, fault))) else { continue };
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        eprintln!("{fault:?}: seed {seed}: {:.200}", text.unwrap_or_default());
        return;
    }
    panic!("{fault:?} was not found in {within} seeds");
}

#[test]
fn who_acknowledges_before_the_sync_is_found_out() {
    check_found(Fault::AcknowledgeBeforeSync, 50);
}

#[test]
fn who_forgets_a_ballot_is_found_out() {
    check_found(Fault::ForgetBallots, 50);
}

#[test]
fn who_forgets_a_shipment_is_found_out() {
    check_found(Fault::ForgetShipments, 200);
}

#[test]
fn who_starts_below_its_checkpoint_is_found_out() {
    check_found(Fault::ForgetCheckpoints, 50);
}

#[test]
fn who_leaves_a_change_without_a_mark_is_found_out() {
    check_found(Fault::ForgetMarks, 50);
}

#[test]
fn who_comes_back_having_lost_entries_is_found_out() {
    check_found(Fault::LoseTheTail, 50);
}
