//! Three or more stores of one group under one seed: simulated disks, a simulated network, and clocks of different rates.
//!
//! Nodes lose power at any operation, or their process; disks hang; messages are lost, doubled and reordered; links are cut one way or
//! both; leaders make checkpoints, hand over, and add members; followers fetch files, and what they fetch is removed before they have it.
//!
//! Always: a leader has exactly what the leaders before had appended up to where its log ends, and everything that any of them called
//! durable. Now and then: each directory, as a power cut would leave it, opens as an ordinary store and has what the log says up to there.

mod rules;
mod stale;
mod weather;
mod world;

use store::simulation::for_each_seed;

use world::{Seen, World};

const SEED_COUNT: u64 = 60;

fn run(seed: u64) -> Seen {
    let mut world = World::new(seed);
    for _ in 0..2500 {
        world.step();
    }
    world.settle();
    Seen { group: world.group.seen, ..world.seen }
}

#[test]
fn nothing_confirmed_is_lost_whoever_leads() {
    let mut all = Seen::default();
    let is_whole = for_each_seed(SEED_COUNT, |seed| all.add(run(seed)));
    println!("{all:?}");
    assert!(!is_whole || all.is_thorough(SEED_COUNT), "the test has become too tame: {all:?}");
}
