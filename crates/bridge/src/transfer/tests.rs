//! The settlements that the source gets, and when.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::Outcome::{Accepted, Refused, Rejected};
use super::*;

fn settlements(transfer: &mut Transfer) -> Vec<(u64, bool, Outcome)> {
    std::iter::from_fn(|| transfer.next_settlement())
        .map(|Settlement { tag, is_multiple, outcome }| (tag, is_multiple, outcome))
        .collect()
}

fn taken(ack_mode: AckMode, count: Option<u64>, deliveries: u64) -> Transfer {
    let mut transfer = Transfer::new(ack_mode, count, 1000);
    for tag in 1..=deliveries {
        transfer.take(tag);
    }
    transfer
}

#[test]
fn nothing_is_acknowledged_before_it_is_confirmed() {
    let mut transfer = taken(AckMode::OnConfirm, None, 5);
    assert_eq!(settlements(&mut transfer), []);
    transfer.confirm(2, false, Accepted);
    assert_eq!(settlements(&mut transfer), []);
    transfer.confirm(1, false, Accepted);
    assert_eq!(settlements(&mut transfer), [(2, true, Accepted)]);
    transfer.confirm(5, true, Accepted);
    assert_eq!(settlements(&mut transfer), [(5, true, Accepted)]);
    assert_eq!(transfer.unconfirmed_count(), 0);
}

#[test]
fn what_goes_nowhere_is_acknowledged_in_its_turn() {
    let mut transfer = taken(AckMode::OnConfirm, None, 1);
    transfer.drop_delivery(2);
    transfer.take(3);
    assert_eq!(settlements(&mut transfer), []);
    transfer.confirm(1, false, Accepted);
    assert_eq!(settlements(&mut transfer), [(2, true, Accepted)]);
    transfer.confirm(2, false, Accepted);
    assert_eq!(settlements(&mut transfer), [(3, false, Accepted)]);
    let mut transfer = taken(AckMode::NoAck, None, 1);
    transfer.drop_delivery(2);
    assert_eq!(settlements(&mut transfer), []);
}

#[test]
fn what_is_refused_goes_back_and_another_is_taken_for_it() {
    let mut transfer = taken(AckMode::OnConfirm, Some(2), 2);
    assert_eq!(transfer.take(3), Taken::Leave);
    transfer.confirm(1, false, Refused);
    assert_eq!(settlements(&mut transfer), [(1, false, Refused)]);
    transfer.confirm(2, false, Accepted);
    assert!(!transfer.is_done());
    assert_eq!(transfer.remaining(), Some((1, 1)));
    assert_eq!(transfer.take(4), Taken::Publish);
    assert_eq!(settlements(&mut transfer), [(2, false, Accepted)]);
    transfer.confirm(3, false, Accepted);
    assert!(transfer.is_done());
    // The third was left, and is not acknowledged with the fourth.
    assert_eq!(settlements(&mut transfer), [(4, false, Accepted)]);
}

#[test]
fn a_shovel_without_confirms_acknowledges_what_it_has_published() {
    let mut transfer = taken(AckMode::OnPublish, None, 3);
    assert_eq!(settlements(&mut transfer), [(3, true, Accepted)]);
    let mut transfer = taken(AckMode::NoAck, Some(3), 3);
    assert_eq!(settlements(&mut transfer), []);
    assert!(transfer.is_done());
}

#[test]
fn one_that_is_never_confirmed_does_not_stop_the_others() {
    let mut transfer = Transfer::new(AckMode::OnConfirm, None, 4);
    for tag in 1..=4 {
        transfer.take(tag);
    }
    for tag in 2..=4 {
        transfer.confirm(tag, false, Accepted);
    }
    assert_eq!(settlements(&mut transfer), [(2, false, Accepted)]);
    transfer.confirm(1, false, Accepted);
    assert_eq!(settlements(&mut transfer), [(1, false, Accepted), (4, true, Accepted)]);
}

/// What happens to a shovel.
#[derive(Clone, Debug)]
enum Step {
    Deliver,
    Confirm { tag: u64, is_multiple: bool, outcome: Outcome },
    Tell,
}

fn outcome() -> impl Strategy<Value = Outcome> {
    prop_oneof![3 => Just(Accepted), 1 => Just(Refused), 1 => Just(Rejected)]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => Just(Step::Deliver),
        2 => (1u64..60, any::<bool>(), outcome())
            .prop_map(|(tag, is_multiple, outcome)| Step::Confirm { tag, is_multiple, outcome }),
        1 => Just(Step::Tell),
    ]
}

proptest! {
    /// A model that knows each delivery's outcome: the source gets each once, and the true one.
    #[test]
    fn the_source_is_told_the_truth_once(
        steps in proptest::collection::vec(step(), 1..300),
        count in proptest::option::of(1u64..40),
        prefetch in 0u16..20,
    ) {
        let mut transfer = Transfer::new(AckMode::OnConfirm, count, prefetch);
        let (mut delivered, mut published) = (0, Vec::new());
        let mut outcomes: BTreeMap<u64, Outcome> = BTreeMap::new();
        let mut reported: BTreeMap<u64, Outcome> = BTreeMap::new();
        for step in steps {
            match step {
                Step::Deliver => {
                    delivered += 1;
                    if transfer.take(delivered) == Taken::Publish {
                        published.push(delivered);
                    }
                }
                Step::Confirm { tag, is_multiple, outcome } => {
                    let at = |tag: u64| published.get(tag as usize - 1).copied();
                    let tags = if is_multiple { 1..=tag } else { tag..=tag };
                    for delivery in tags.filter_map(at) {
                        outcomes.entry(delivery).or_insert(outcome);
                    }
                    transfer.confirm(tag, is_multiple, outcome);
                }
                Step::Tell => while let Some(Settlement { tag, is_multiple, outcome }) = transfer.next_settlement() {
                    let meant: Vec<u64> = if is_multiple {
                        (1..=tag).filter(|tag| !reported.contains_key(tag)).collect()
                    } else {
                        vec![tag]
                    };
                    for tag in meant {
                        prop_assert_eq!(reported.insert(tag, outcome), None, "{} was reported twice", tag);
                        prop_assert_eq!(outcomes.get(&tag), Some(&outcome), "{} was reported wrongly", tag);
                    }
                },
            }
        }
        let accepted = outcomes.values().filter(|outcome| **outcome != Refused).count() as u64;
        prop_assert_eq!(transfer.is_done(), count.is_some_and(|count| accepted >= count));
        prop_assert_eq!(transfer.unconfirmed_count(), published.len() - outcomes.len());
        if let Some(count) = count {
            prop_assert!(accepted <= count);
        }
    }
}
