//! A queue against a model that keeps sorted vectors and knows nothing of lanes, ranges or rings.
//!
//! The model does not know either what is in memory: a queue may always stop early to load something, but then it must have said
//! so, and in the end everything must come out.

mod expectation;
mod world;

use proptest::prelude::*;

use self::world::World;

#[derive(Debug, Clone)]
enum Operation {
    Publish {
        count: u16,
        journalled: u64,
    },
    Dispatch,
    Consume {
        no_ack: bool,
        exclusive: bool,
        priority: i32,
        prefetch: u16,
        times: u32,
    },
    Cancel {
        which: u8,
    },
    /// Opens a gate for so many messages and says so.
    Open {
        which: u8,
        times: u32,
    },
    Get {
        no_ack: bool,
    },
    Settle {
        pattern: u64,
        end: u16,
    },
    Requeue {
        pattern: u64,
        end: u16,
    },
    Purge,
    /// Collects what is old and writes it to segments.
    StartSpill {
        old_until: u16,
        pattern: u64,
        piece: u16,
    },
    /// Tells the queue of one segment that was written.
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
    Restart {
        is_clean: bool,
    },
}

fn operation() -> impl Strategy<Value = Operation> {
    use Operation::*;
    // Patterns with many bits of one kind make long runs, as in life.
    let pattern = prop_oneof![Just(u64::MAX), Just(0x5555_5555_5555_5555), any::<u64>()];
    prop_oneof![
        6 => (prop_oneof![4 => 1..20u16, 1 => 100..300u16], prop_oneof![Just(u64::MAX), Just(0), any::<u64>()])
            .prop_map(|(count, journalled)| Publish { count, journalled }),
        8 => Just(Dispatch),
        3 => (any::<bool>(), prop::bool::weighted(0.05), -1..=1, 0..5u16, prop_oneof![Just(u32::MAX), 0..6u32]).prop_map(
            |(no_ack, exclusive, priority, prefetch, times)| Consume { no_ack, exclusive, priority, prefetch, times }
        ),
        1 => any::<u8>().prop_map(|which| Cancel { which }),
        3 => (any::<u8>(), prop_oneof![Just(u32::MAX), 0..6u32]).prop_map(|(which, times)| Open { which, times }),
        2 => any::<bool>().prop_map(|no_ack| Get { no_ack }),
        5 => (pattern.clone(), 1..200u16).prop_map(|(pattern, end)| Settle { pattern, end }),
        3 => (pattern.clone(), 1..200u16).prop_map(|(pattern, end)| Requeue { pattern, end }),
        1 => prop::bool::weighted(0.3).prop_map(|purge| if purge { Purge } else { Dispatch }),
        4 => (0..600u16, pattern, 1..200u16)
            .prop_map(|(old_until, pattern, piece)| StartSpill { old_until, pattern, piece }),
        5 => any::<u8>().prop_map(|which| EndSpill { which }),
        8 => (any::<u8>(), prop_oneof![Just(0u16), 1..10u16, Just(u16::MAX)])
            .prop_map(|(which, slot_count)| Answer { which, slot_count }),
        2 => (any::<u8>(), 1..4u8).prop_map(|(which, count)| StartCompaction { which, count }),
        3 => Just(EndCompaction),
        1 => Just(Unload),
        1 => prop::bool::weighted(0.5).prop_map(|is_clean| Restart { is_clean }),
    ]
}

/// More than usual: the interesting cases need several operations to agree. `PROPTEST_CASES` asks for still more.
fn case_count() -> u32 {
    ProptestConfig::default().cases.max(1_000)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: case_count(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_queue_does_what_the_model_does(
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
