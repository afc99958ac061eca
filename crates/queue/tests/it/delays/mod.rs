//! Waiting messages: rule by rule, and against a model that keeps one sorted list.

mod disk;
mod rules;
mod world;

use proptest::prelude::*;

use self::world::World;

#[derive(Debug, Clone)]
enum Operation {
    Insert {
        count: u16,
        delay_ms: u64,
        /// Each waits up to so much longer.
        spread_ms: u64,
        journaled: u64,
    },
    /// Lets time pass.
    Advance {
        ms: u64,
    },
    /// Sets the clock back.
    StepBack {
        ms: u64,
    },
    Release {
        count_max: u16,
    },
    Settle {
        pattern: u64,
    },
    PutBack {
        pattern: u64,
    },
    Cancel {
        which: u16,
        /// It is inserted again with this delay.
        reschedule_ms: Option<u64>,
    },
    Find {
        which: u16,
    },
    Page {
        which: u16,
        count_max: u8,
    },
    Purge,
    /// Collects what is old and writes it to segments.
    StartSpill {
        pattern: u64,
        piece: u16,
    },
    /// Reports to the set one segment that was written.
    EndSpill {
        which: u8,
    },
    /// Answers a load with the messages of so many slots; 0 is a failure.
    Answer {
        which: u8,
        slot_count: u16,
    },
    StartCompaction {
        which: u8,
        count: u8,
    },
    EndCompaction,
    Unload,
    Restart,
}

fn operation() -> impl Strategy<Value = Operation> {
    use Operation::*;
    let pattern = || prop_oneof![2 => Just(u64::MAX), 1 => Just(0x5555_5555_5555_5555), 1 => any::<u64>()];
    let delay = || prop_oneof![Just(0u64), Just(1000), 0..6_000u64, 0..60_000u64];
    let count = prop_oneof![4 => 1..20u16, 1 => 100..300u16];
    let spread = prop_oneof![2 => Just(1u64), 1 => Just(10), 2 => Just(5_000), 1 => Just(50_000)];
    prop_oneof![
        8 => (count, delay(), spread, prop_oneof![2 => Just(u64::MAX), 1 => Just(0), 1 => any::<u64>()])
            .prop_map(|(count, delay_ms, spread_ms, journaled)| Insert { count, delay_ms, spread_ms, journaled }),
        6 => prop_oneof![1..10u64, 1..3_000u64, 1..20_000u64].prop_map(|ms| Advance { ms }),
        1 => (1..5_000u64).prop_map(|ms| StepBack { ms }),
        10 => prop_oneof![1..20u16, Just(u16::MAX)].prop_map(|count_max| Release { count_max }),
        6 => pattern().prop_map(|pattern| Settle { pattern }),
        2 => pattern().prop_map(|pattern| PutBack { pattern }),
        4 => (any::<u16>(), prop::option::of(delay()))
            .prop_map(|(which, reschedule_ms)| Cancel { which, reschedule_ms }),
        2 => any::<u16>().prop_map(|which| Find { which }),
        2 => (any::<u16>(), 0..40u8).prop_map(|(which, count_max)| Page { which, count_max }),
        1 => prop::bool::weighted(0.2).prop_map(|purge| if purge { Purge } else { Unload }),
        5 => (pattern(), 1..200u16).prop_map(|(pattern, piece)| StartSpill { pattern, piece }),
        7 => any::<u8>().prop_map(|which| EndSpill { which }),
        10 => (any::<u8>(), prop_oneof![1 => Just(0u16), 2 => 1..10u16, 4 => Just(u16::MAX)])
            .prop_map(|(which, slot_count)| Answer { which, slot_count }),
        2 => (any::<u8>(), 1..5u8).prop_map(|(which, count)| StartCompaction { which, count }),
        3 => Just(EndCompaction),
        1 => Just(Restart),
    ]
}

/// More than usual: the interesting cases need several operations to agree. `PROPTEST_CASES` asks for still more.
fn case_count() -> u32 {
    ProptestConfig::default().cases.max(2_000)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: case_count(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn waiting_messages_do_what_the_model_does(
        operations in prop::collection::vec(operation(), 1..120),
        is_light in any::<bool>(),
    ) {
        let mut world = World::new(is_light);
        for operation in operations {
            world.run(operation);
            world.check();
        }
        world.drain();
    }
}
