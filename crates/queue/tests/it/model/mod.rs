//! A queue against a model that keeps sorted vectors and knows nothing of lanes, ranges or rings.
//!
//! The model does not know either what is in memory: a queue may always stop early to load something, but then it must have said
//! so, and in the end everything must come out.

mod expectation;
mod grouping;
mod world;

use ::model::features::{BackOff, DelayedRetry, RetryOf};
use ::queue::{Credit, Return, Rules};
use proptest::prelude::*;

use self::world::World;

#[derive(Debug, Clone)]
enum Operation {
    Publish {
        count: u16,
        journaled: u64,
        /// Priorities are the lowest bits of it and the seq.
        priorities: u8,
        ttl_ms: Option<u64>,
        /// In how many groups, the messages in none counted as one.
        group_count: u8,
    },
    SetGroups {
        header: Option<&'static str>,
    },
    Dispatch,
    /// So much time passes.
    Pass {
        ms: u64,
    },
    SetRules(Rules),
    SetTtl {
        ttl_ms: Option<u64>,
    },
    Consume {
        no_ack: bool,
        exclusive: bool,
        priority: i32,
        credit: Credit,
        times: u32,
    },
    /// Grants so much more or less than has been delivered.
    Grant {
        which: u8,
        ahead: i64,
        is_draining: bool,
    },
    Cancel {
        which: u8,
    },
    /// Opens a gate for so many messages and reports it.
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
        how: Return,
    },
    Reject {
        pattern: u64,
        end: u16,
    },
    /// What was dropped and set aside is elsewhere; or, where the pattern has a bit, could not be brought there.
    Depart {
        pattern: u64,
    },
    Purge,
    /// Takes ready messages out of the middle.
    Take {
        pattern: u64,
        start: u16,
        end: u16,
    },
    /// Looks at what is ready, so many messages at a time, and reads so many slots at a time.
    Look {
        count_max: u8,
        bytes_max: u8,
    },
    /// Collects what is old and writes it to segments.
    StartSpill {
        old_until: u16,
        pattern: u64,
        piece: u16,
    },
    /// Reports to the queue one segment that was written.
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
        6 => (
            prop_oneof![4 => 1..20u16, 1 => 100..300u16],
            prop_oneof![Just(u64::MAX), Just(0), any::<u64>()],
            prop_oneof![3 => Just(0u8), 1 => Just(3), 1 => Just(4)],
            prop_oneof![3 => Just(None), 1 => (0..30u64).prop_map(Some)],
            prop_oneof![Just(2u8), Just(5), Just(40)],
        )
            .prop_map(|(count, journaled, priorities, ttl_ms, group_count)| Publish {
                count,
                journaled,
                priorities,
                ttl_ms,
                group_count
            }),
        1 => prop_oneof![Just(None), Just(Some("each")), Just(Some("pairs"))].prop_map(|header| SetGroups { header }),
        8 => Just(Dispatch),
        3 => (0..20u64).prop_map(|ms| Pass { ms }),
        1 => rules().prop_map(SetRules),
        1 => prop_oneof![Just(None), (0..40u64).prop_map(Some)].prop_map(|ttl_ms| SetTtl { ttl_ms }),
        2 => (pattern.clone(), 1..200u16).prop_map(|(pattern, end)| Reject { pattern, end }),
        3 => prop_oneof![Just(0), any::<u64>()].prop_map(|pattern| Depart { pattern }),
        3 => (any::<bool>(), prop::bool::weighted(0.05), -1..=1, credit(), prop_oneof![Just(u32::MAX), 0..6u32]).prop_map(
            |(no_ack, exclusive, priority, credit, times)| Consume { no_ack, exclusive, priority, credit, times }
        ),
        8 => (any::<u8>(), prop_oneof![3 => -3..8i64, 1 => 0..400i64, 1 => Just(0)], prop::bool::weighted(0.4))
            .prop_map(|(which, ahead, is_draining)| Grant { which, ahead, is_draining }),
        1 => any::<u8>().prop_map(|which| Cancel { which }),
        3 => (any::<u8>(), prop_oneof![Just(u32::MAX), 0..6u32]).prop_map(|(which, times)| Open { which, times }),
        2 => any::<bool>().prop_map(|no_ack| Get { no_ack }),
        5 => (pattern.clone(), 1..200u16).prop_map(|(pattern, end)| Settle { pattern, end }),
        3 => (pattern.clone(), 1..200u16, how()).prop_map(|(pattern, end, how)| Requeue { pattern, end, how }),
        1 => prop::bool::weighted(0.3).prop_map(|purge| if purge { Purge } else { Dispatch }),
        3 => (pattern.clone(), 0..150u16, 1..100u16)
            .prop_map(|(pattern, start, count)| Take { pattern, start, end: start + count }),
        2 => (1..80u8, 1..80u8).prop_map(|(count_max, bytes_max)| Look { count_max, bytes_max }),
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

fn credit() -> impl Strategy<Value = Credit> {
    prop_oneof![
        4 => (0..5u16).prop_map(Credit::window),
        // Delivery counts of some wrap soon.
        3 => prop_oneof![Just(0), (0..9u32).prop_map(|before| u32::MAX - before)].prop_map(Credit::granted),
    ]
}

fn how() -> impl Strategy<Value = Return> {
    prop_oneof![Just(Return::Failed), Just(Return::Unharmed), Just(Return::Undelivered)]
}

fn rules() -> impl Strategy<Value = Rules> {
    let retry = (
        prop_oneof![Just(RetryOf::All), Just(RetryOf::Failed), Just(RetryOf::Returned)],
        0..10u64,
        prop::option::of(0..30u64),
        prop_oneof![Just(BackOff::Linear), Just(BackOff::Exponential)],
    )
        .prop_map(|(applies_to, min_ms, max_ms, back_off)| DelayedRetry { applies_to, min_ms, max_ms, back_off });
    let limits = (prop::option::of(0..100u64), prop::option::of(0..300u64), any::<bool>(), any::<bool>());
    let returns = (any::<bool>(), prop::option::of(0..4u32), prop::option::of(retry), prop::option::of(1..50u64));
    prop_oneof![
        2 => Just(Rules::default()),
        3 => (limits, returns).prop_map(|(limits, returns)| {
            let (length_max, bytes_max, refuses_beyond, keeps_dropped) = limits;
            let (counts_returns, delivery_limit, retry, expires_after_ms) = returns;
            let limits = Rules { length_max, bytes_max, refuses_beyond, keeps_dropped, ..Rules::default() };
            Rules { counts_returns, delivery_limit, retry, expires_after_ms, ..limits }
        }),
    ]
}

/// Whether messages are in groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Grouping {
    Never,
    Sometimes,
    Always,
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
        is_single_active in prop::bool::weighted(0.2),
        has_times in any::<bool>(),
        grouping in prop_oneof![Just(Grouping::Never), Just(Grouping::Sometimes), Just(Grouping::Always)],
        is_quorum in any::<bool>(),
    ) {
        // The model knows of quorum queues only what they do where there are groups: what came back returns to its place.
        let is_quorum = is_quorum && grouping == Grouping::Always && !is_single_active;
        let mut world = World::new(is_light, is_single_active, is_quorum);
        if grouping == Grouping::Always {
            world.run(Operation::SetGroups { header: Some("each") });
        }
        for operation in operations {
            // Half of the queues have neither rules nor times: what they do is easier to lose sight of among the rest.
            let is_of_times = matches!(operation, Operation::SetRules(_) | Operation::SetTtl { .. });
            if is_of_times && !has_times {
                continue;
            }
            let operation = match operation {
                Operation::Publish { count, journaled, priorities, group_count, .. } if !has_times => {
                    Operation::Publish { count, journaled, priorities, ttl_ms: None, group_count }
                }
                Operation::SetGroups { header } => match (grouping, header) {
                    (Grouping::Never, _) | (Grouping::Always, None) => continue,
                    (_, header) => Operation::SetGroups { header },
                },
                other => other,
            };
            world.run(operation);
            world.check();
        }
        world.drain();
    }
}
