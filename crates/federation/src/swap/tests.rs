//! No message is lost, wherever a link dies.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;

#[test]
fn one_is_filled_beside_the_other() {
    let plan = |a, b| plan(Found { a, b });
    assert_eq!(plan(false, false), (vec![Step::Declare(Side::B), Step::Bind(Side::B)], Side::B));
    let swap = vec![Step::Declare(Side::A), Step::Bind(Side::A), Step::Delete(Side::B)];
    assert_eq!(plan(false, true), (swap, Side::A));
    let swap = vec![Step::Declare(Side::B), Step::Bind(Side::B), Step::Delete(Side::A)];
    assert_eq!(plan(true, false), (swap, Side::B));
    assert_eq!(plan(true, true).1, Side::A);
}

/// The upstream: which sides are there, and for which keys each is bound.
#[derive(Debug, Default)]
struct Upstream(BTreeMap<Side, BTreeSet<u8>>);

impl Upstream {
    fn found(&self) -> Found {
        Found { a: self.0.contains_key(&Side::A), b: self.0.contains_key(&Side::B) }
    }

    /// One request after the other: a binding each, so that a link may die between them.
    fn requests(steps: &[Step], keys: &BTreeSet<u8>) -> Vec<(Step, Option<u8>)> {
        let of = |step: &Step| match step {
            Step::Bind(_) => keys.iter().map(|key| (*step, Some(*key))).collect(),
            _ => vec![(*step, None)],
        };
        steps.iter().flat_map(of).collect()
    }

    fn obey(&mut self, (step, key): (Step, Option<u8>)) {
        match step {
            Step::Declare(side) => assert!(self.0.insert(side, BTreeSet::new()).is_none(), "it was there"),
            Step::Lead(side) => assert!(self.0.contains_key(&side), "it was not there"),
            Step::Bind(side) => self.0.get_mut(&side).unwrap().extend(key),
            Step::Delete(side) => assert!(self.0.remove(&side).is_some(), "it was not there"),
        }
    }

    fn brings(&self, key: u8) -> bool {
        self.0.values().any(|keys| keys.contains(&key))
    }
}

proptest! {
    /// Lives of a link: in each the bindings here have changed since the last one, and it dies after so many requests, or lives.
    #[test]
    fn what_is_bound_all_the_time_is_brought_all_the_time(
        lives in prop::collection::vec((prop::collection::btree_set(0..6_u8, 0..6), 0..20_usize), 1..12)
    ) {
        let mut upstream = Upstream::default();
        // Brought since a life was whole, and bound ever since.
        let mut steady: BTreeSet<u8> = BTreeSet::new();
        for (keys, request_count) in lives {
            steady.retain(|key| keys.contains(key));
            let (steps, side) = plan(upstream.found());
            let requests = Upstream::requests(&steps, &keys);
            let is_whole = request_count >= requests.len();
            for request in requests.into_iter().take(request_count) {
                upstream.obey(request);
                for key in &steady {
                    prop_assert!(upstream.brings(*key), "{key} is lost: {upstream:?}");
                }
            }
            if is_whole {
                prop_assert_eq!(&upstream.0, &BTreeMap::from([(side, keys.clone())]));
                steady = keys;
            }
        }
    }
}
