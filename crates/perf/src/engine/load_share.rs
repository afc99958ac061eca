//! Which part of a run is done by one of several machines.
//!
//! Connections are dealt out like cards: the plan's consumers, then its publishers, then what churns and what is asked for, one after the
//! other to each machine in turn. So the connections of every group are spread evenly, and so are many groups of one. Nothing is
//! renumbered: which publisher publishes what when does not depend on how many machines there are.

use serde::{Deserialize, Serialize};

use crate::plan::{Plan, Step};

/// One machine's part: `index` of `count`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "(u32, u32)", into = "(u32, u32)")]
pub(crate) struct LoadShare {
    index: u32,
    count: u32,
}

impl TryFrom<(u32, u32)> for LoadShare {
    type Error = String;

    fn try_from((index, count): (u32, u32)) -> Result<Self, Self::Error> {
        if index < count { Ok(LoadShare { index, count }) } else { Err(format!("no part {index} of {count}")) }
    }
}

impl From<LoadShare> for (u32, u32) {
    fn from(share: LoadShare) -> Self {
        (share.index, share.count)
    }
}

/// Members of a group: the group's place in the plan, and their numbers in it.
pub(crate) type Member = (usize, u32);

/// What one machine does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Assignment {
    /// Connections of consumers.
    pub(crate) consumers: Vec<Member>,
    /// Connections of publishers.
    pub(crate) publishers: Vec<Member>,
    /// Workers of churn.
    pub(crate) churns: Vec<Member>,
    /// Probes: their places in the plan, and which of their askers.
    pub(crate) probes: Vec<(usize, u32)>,
    /// How many idle connections.
    pub(crate) idle_connections: u32,
}

impl LoadShare {
    /// All of it.
    pub(crate) const WHOLE: LoadShare = LoadShare { index: 0, count: 1 };

    /// The parts of all of `count` machines.
    pub(crate) fn all(count: u32) -> impl Iterator<Item = LoadShare> {
        (0..count).map(move |index| LoadShare { index, count })
    }

    /// What of a plan is this part's.
    pub(crate) fn of(self, plan: &Plan) -> Assignment {
        let mut dealt = 0;
        let mut deal = |counts: &mut dyn Iterator<Item = u32>| {
            let mut members = Vec::new();
            for (group, count) in counts.enumerate() {
                for number in 0..count {
                    if dealt == self.index {
                        members.push((group, number));
                    }
                    dealt = (dealt + 1) % self.count;
                }
            }
            members
        };
        Assignment {
            consumers: deal(&mut plan.consumers.iter().map(|group| group.connections)),
            publishers: deal(&mut plan.publishers.iter().map(|group| group.connections)),
            churns: deal(&mut plan.churns.iter().map(|churn| churn.workers)),
            probes: deal(&mut plan.probes.iter().map(|probe| probe.count)),
            // The first ones have one more, where it does not come out even.
            idle_connections: plan.idle_connections / self.count
                + u32::from(self.index < plan.idle_connections % self.count),
        }
    }

    /// The number that `number` of this machine has among those of all machines.
    pub(crate) fn lane(self, number: u32) -> u32 {
        number.saturating_mul(self.count).saturating_add(self.index)
    }

    /// From one of this machine's numbers to the next, if it takes every `count`-th.
    pub(crate) fn step(self, count: u32) -> u32 {
        count.saturating_mul(self.count)
    }

    /// The plan as this machine has to keep to it: what all users share of a throttle is divided.
    pub(crate) fn slow_down(self, plan: &mut Plan) {
        plan.users.iter_mut().for_each(|users| self.slow_steps(&mut users.script.steps));
    }

    fn slow_steps(self, steps: &mut [Step]) {
        for step in steps {
            match step {
                Step::Throttle(throttle) | Step::Publish { throttle: Some(throttle), .. } => {
                    throttle.rate /= f64::from(self.count);
                }
                Step::Repeat { steps, .. } => self.slow_steps(steps),
                _ => {}
            }
        }
    }
}

/// The numbers of the publishers of these connections.
pub(crate) fn publishers_of(plan: &Plan, members: &[Member]) -> Vec<u32> {
    let numbers = members.iter().map(|(group, number)| {
        let first = first_publisher(plan, *group) + number * plan.publishers[*group].channels;
        first..first + plan.publishers[*group].channels
    });
    numbers.flatten().collect()
}

/// The number of a group's first publisher, among all of the plan.
pub(crate) fn first_publisher(plan: &Plan, group: usize) -> u32 {
    plan.publishers[..group].iter().map(|group| group.connections * group.channels).sum()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::workload::{Overrides, read};

    /// A plan with groups of these numbers of connections.
    fn plan(publishers: &[u32], consumers: &[u32], churns: &[u32], idle: u32) -> Plan {
        let mut text = format!("idle_connections = {idle}\n[[queues]]\nname = \"q\"\n");
        let mut group = |kind: &str, at: usize, rest: &str| {
            text.push_str(&format!("[[{kind}]]\nname = \"{kind}-{at}\"\n{rest}\n"));
        };
        for (at, _) in publishers.iter().enumerate() {
            group("publishers", at, "queue = \"q\"");
        }
        for (at, _) in consumers.iter().enumerate() {
            group("consumers", at, "queue = \"q\"");
        }
        for (at, _) in churns.iter().enumerate() {
            group("churn", at, "kind = \"connections\"\nrate = 1");
        }
        let mut plan = read(&text, "deal.toml", &Overrides::default()).unwrap().runs.remove(0).plan;
        plan.publishers.iter_mut().zip(publishers).for_each(|(group, count)| {
            (group.connections, group.channels) = (*count, 2);
        });
        plan.consumers.iter_mut().zip(consumers).for_each(|(group, count)| group.connections = *count);
        plan.churns.iter_mut().zip(churns).for_each(|(churn, count)| churn.workers = *count);
        plan
    }

    fn all_of(counts: &[u32]) -> BTreeSet<Member> {
        counts.iter().enumerate().flat_map(|(group, count)| (0..*count).map(move |number| (group, number))).collect()
    }

    /// All machines' members together; none may be there twice.
    fn gather(assignments: &[Assignment], of: impl Fn(&Assignment) -> &Vec<Member>) -> BTreeSet<Member> {
        let mut all = BTreeSet::new();
        for member in assignments.iter().flat_map(of) {
            assert!(all.insert(*member), "{member:?} was dealt twice");
        }
        all
    }

    proptest! {
        #[test]
        fn everybody_is_somewhere_and_nobody_twice(
            publishers in proptest::collection::vec(0u32..9, 0..4),
            consumers in proptest::collection::vec(0u32..9, 0..4),
            churns in proptest::collection::vec(1u32..5, 0..3),
            idle in 1u32..20,
            count in 1u32..7,
        ) {
            let plan = plan(&publishers, &consumers, &churns, idle);
            let assignments: Vec<Assignment> = LoadShare::all(count).map(|share| share.of(&plan)).collect();
            prop_assert_eq!(gather(&assignments, |assignment| &assignment.publishers), all_of(&publishers));
            prop_assert_eq!(gather(&assignments, |assignment| &assignment.consumers), all_of(&consumers));
            prop_assert_eq!(gather(&assignments, |assignment| &assignment.churns), all_of(&churns));
            prop_assert_eq!(assignments.iter().map(|assignment| assignment.idle_connections).sum::<u32>(), idle);
            let mut numbers: Vec<u32> =
                assignments.iter().flat_map(|assignment| publishers_of(&plan, &assignment.publishers)).collect();
            numbers.sort_unstable();
            prop_assert_eq!(numbers, (0..publishers.iter().sum::<u32>() * 2).collect::<Vec<_>>());
            let load = |part: &Assignment| part.publishers.len() + part.consumers.len() + part.churns.len();
            let loads = assignments.iter().map(load);
            let (least, most) = loads.fold((usize::MAX, 0), |(least, most), load| (least.min(load), most.max(load)));
            prop_assert!(most - least <= 1, "{assignments:?}");
        }
    }

    #[test]
    fn groups_of_one_are_spread_too() {
        let plan = plan(&[1, 1], &[1, 1], &[], 0);
        let assignments: Vec<Assignment> = LoadShare::all(2).map(|share| share.of(&plan)).collect();
        assert_eq!((assignments[0].publishers.len(), assignments[0].consumers.len()), (1, 1));
        assert_eq!((assignments[1].publishers.len(), assignments[1].consumers.len()), (1, 1));
    }

    #[test]
    fn part_that_is_none_is_refused() {
        assert!(serde_json::from_str::<LoadShare>("[1,2]").is_ok());
        assert!(serde_json::from_str::<LoadShare>("[2,2]").is_err());
        assert!(serde_json::from_str::<LoadShare>("[0,0]").is_err());
    }

    #[test]
    fn throttle_is_divided_wherever_it_stands() {
        use crate::plan::{Script, Throttle, Users};
        let throttle = Step::Throttle(Throttle { name: "t".to_owned(), rate: 30.0 });
        let repeat = Step::Repeat { count: 2, steps: vec![throttle.clone()] };
        let users = Users {
            name: "u".to_owned(),
            count: 1,
            arrival_rate: 1.0,
            script: Script { steps: vec![throttle, repeat] },
            repeat: false,
            answer_timeout: std::time::Duration::from_secs(1),
        };
        let mut plan = Plan { users: vec![users], ..Plan::default() };
        LoadShare { index: 1, count: 3 }.slow_down(&mut plan);
        let slow = Step::Throttle(Throttle { name: "t".to_owned(), rate: 10.0 });
        let repeat = Step::Repeat { count: 2, steps: vec![slow.clone()] };
        assert_eq!(plan.users[0].script.steps, [slow, repeat]);
    }
}
