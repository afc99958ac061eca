//! Everything that can happen to upstreams, at random, beside a model that remembers all of it and derives the rest.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::Strategy::{LeastConnections, Weighted};
use super::{Balance, Choice, Options, State, Transport, UpstreamId, UpstreamOptions};

const NAMES: [&str; 4] = ["a", "b", "c", "d"];
const VHOSTS: [&str; 3] = ["x", "y", "z"];
const FAILURES: u32 = 2;
const BACKOFF_MAX_MS: u64 = 2000;
const TIMEOUT_MS: u64 = 1500;

/// A name, a weight, vhosts, and which address of the name.
type Given = (usize, u32, Vec<usize>, usize);

#[derive(Debug, Clone)]
enum Step {
    /// An upstream connection is wanted, and dialled where it may be.
    Dial {
        vhost: usize,
        random: u64,
    },
    /// An attempt comes to its end.
    End {
        attempt: usize,
        how: How,
        random: u64,
    },
    Lose {
        connection: usize,
    },
    Check {
        passes: bool,
        random: u64,
    },
    Drain {
        name: usize,
    },
    Undrain {
        name: usize,
    },
    Reload {
        upstreams: Vec<Given>,
        least: bool,
    },
    Pass {
        ms: u64,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum How {
    Opens,
    Fails,
    /// The upstream says no for its vhost, if it is of one.
    IsRefused,
    IsAbandoned,
}

fn upstreams() -> impl Strategy<Value = Vec<Given>> {
    let names = proptest::sample::subsequence((0..NAMES.len()).collect::<Vec<_>>(), 1..=NAMES.len());
    let vhosts = prop_oneof![
        2 => Just(Vec::new()),
        1 => proptest::sample::subsequence((0..VHOSTS.len() - 1).collect::<Vec<_>>(), 1..VHOSTS.len())
    ];
    let address = prop_oneof![5 => Just(0), 1 => Just(1)];
    let rest = proptest::collection::vec((0..4u32, vhosts, address), NAMES.len());
    (names, rest).prop_map(|(names, rest)| {
        names.into_iter().zip(rest).map(|(name, (weight, vhosts, address))| (name, weight, vhosts, address)).collect()
    })
}

fn step() -> impl Strategy<Value = Step> {
    let how = prop_oneof![
        2 => Just(How::Opens),
        4 => Just(How::Fails),
        3 => Just(How::IsRefused),
        1 => Just(How::IsAbandoned)
    ];
    prop_oneof![
        10 => (0..=VHOSTS.len(), any::<u64>()).prop_map(|(vhost, random)| Step::Dial { vhost, random }),
        10 => (0..50usize, how, any::<u64>()).prop_map(|(attempt, how, random)| Step::End { attempt, how, random }),
        2 => (0..50usize).prop_map(|connection| Step::Lose { connection }),
        2 => (prop::bool::weighted(0.3), any::<u64>()).prop_map(|(passes, random)| Step::Check { passes, random }),
        1 => (0..NAMES.len()).prop_map(|name| Step::Drain { name }),
        2 => (0..NAMES.len()).prop_map(|name| Step::Undrain { name }),
        1 => (upstreams(), any::<bool>()).prop_map(|(upstreams, least)| Step::Reload { upstreams, least }),
        5 => (0..1000u64).prop_map(|ms| Step::Pass { ms }),
    ]
}

fn options(upstreams: &[Given], least: bool) -> Options {
    let upstream = |(name, weight, vhosts, address): &Given| UpstreamOptions {
        name: NAMES[*name].to_owned(),
        address: format!("{}:{address}", NAMES[*name]),
        transport: Transport::default(),
        weight: *weight,
        vhosts: vhosts.iter().map(|vhost| VHOSTS[*vhost].to_owned()).collect(),
    };
    Options {
        upstreams: upstreams.iter().map(upstream).collect(),
        strategy: if least { LeastConnections } else { Weighted },
        failure_count_max: FAILURES,
        backoff_max_ms: BACKOFF_MAX_MS,
        attempt_timeout_ms: TIMEOUT_MS,
        check_interval_ms: 700,
        ..Options::default()
    }
}

/// What has happened at an upstream, all of it.
#[derive(Debug, Default)]
struct Known {
    log: Log,
    /// And of each vhost there.
    of_vhosts: BTreeMap<String, Log>,
    is_draining: bool,
    is_set: bool,
    weight: u32,
    vhosts: Vec<String>,
    attempts: usize,
    connections: usize,
}

/// What has happened, of which so many failures in a row open the circuit.
#[derive(Debug)]
struct Log {
    happened: Vec<(u64, What)>,
    failures_max: u32,
}

impl Default for Log {
    fn default() -> Self {
        Log { happened: Vec::new(), failures_max: FAILURES }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    Tried,
    Succeeded,
    /// And for how long the circuit opened, if it did.
    Failed(Option<u64>),
    Left,
}

impl Known {
    fn admits(&self, vhost: Option<&str>, now_ms: u64) -> bool {
        let of_vhost = vhost.and_then(|vhost| self.of_vhosts.get(vhost));
        now_ms >= self.log.admits_from_ms() && of_vhost.is_none_or(|log| now_ms >= log.admits_from_ms())
    }

    fn of_vhost(&mut self, vhost: &str) -> &mut Log {
        let new = || Log { happened: Vec::new(), failures_max: 1 };
        self.of_vhosts.entry(vhost.to_owned()).or_insert_with(new)
    }

    /// Of the upstream, and of a vhost there.
    fn push(&mut self, vhost: Option<&str>, now_ms: u64, what: What) {
        self.log.happened.push((now_ms, what));
        self.push_of_vhost(vhost, now_ms, what);
    }

    fn push_of_vhost(&mut self, vhost: Option<&str>, now_ms: u64, what: What) {
        if let Some(vhost) = vhost {
            self.of_vhost(vhost).happened.push((now_ms, what));
        }
    }
}

impl Log {
    /// What happened since the last success.
    fn bad_times(&self) -> &[(u64, What)] {
        let last = self.happened.iter().rposition(|(_, what)| *what == What::Succeeded);
        &self.happened[last.map_or(0, |at| at + 1)..]
    }

    fn failures(&self) -> u32 {
        let failed = self.bad_times().iter().filter(|(_, what)| matches!(what, What::Failed(_)));
        u32::try_from(failed.count()).unwrap()
    }

    /// From when on an attempt is let through: after the last back-off, and where an attempt has used it, after that.
    fn admits_from_ms(&self) -> u64 {
        let mut from_ms = 0;
        let mut somebody_until_ms = 0;
        for (at_ms, what) in self.bad_times() {
            match what {
                What::Failed(Some(backoff_ms)) => (from_ms, somebody_until_ms) = (at_ms + backoff_ms, 0),
                What::Tried if from_ms > 0 && *at_ms >= from_ms.max(somebody_until_ms) => {
                    somebody_until_ms = at_ms + TIMEOUT_MS;
                }
                What::Left => somebody_until_ms = 0,
                _ => {}
            }
        }
        from_ms.max(somebody_until_ms)
    }

    fn backoffs(&self) -> u32 {
        let opened = self.bad_times().iter().filter(|(_, what)| matches!(what, What::Failed(Some(_))));
        u32::try_from(opened.count()).unwrap()
    }

    /// For how long a failure opens the circuit now: from, to; none if it does not.
    fn backoff_after_failure(&self, now_ms: u64) -> Option<(u64, u64)> {
        let is_open = self.backoffs() > 0;
        let is_waited_for = self.bad_times().iter().rev().find_map(|(at_ms, what)| match what {
            What::Failed(Some(backoff_ms)) => Some(now_ms >= at_ms + backoff_ms),
            _ => None,
        });
        if self.failures() + 1 < self.failures_max || (is_open && is_waited_for == Some(false)) {
            return None;
        }
        let full_ms = (250 * 2u64.pow(self.backoffs())).min(BACKOFF_MAX_MS);
        Some((full_ms / 2, full_ms))
    }
}

#[derive(Debug)]
struct World {
    balance: Balance,
    least: bool,
    known: BTreeMap<UpstreamId, Known>,
    attempts: Vec<(UpstreamId, Option<&'static str>)>,
    connections: Vec<UpstreamId>,
    now_ms: u64,
}

impl World {
    fn new(upstreams: &[Given], least: bool) -> Self {
        let balance = Balance::new(options(upstreams, least)).unwrap();
        let mut world =
            World { balance, least, known: BTreeMap::new(), attempts: Vec::new(), connections: Vec::new(), now_ms: 1 };
        world.read(upstreams);
        world
    }

    fn read(&mut self, upstreams: &[Given]) {
        self.known.values_mut().for_each(|known| known.is_set = false);
        for (name, weight, vhosts, _) in upstreams {
            let id = self.balance.id_of(NAMES[*name]).unwrap();
            let known = self.known.entry(id).or_default();
            known.is_set = true;
            known.weight = *weight;
            known.vhosts = vhosts.iter().map(|vhost| VHOSTS[*vhost].to_owned()).collect();
        }
    }

    fn serving(&self, vhost: Option<&str>) -> Vec<UpstreamId> {
        let set: Vec<(&UpstreamId, &Known)> = self.known.iter().filter(|(_, known)| known.is_set).collect();
        let Some(vhost) = vhost else { return set.iter().map(|(id, _)| **id).collect() };
        let naming: Vec<UpstreamId> = set
            .iter()
            .filter(|(_, known)| known.vhosts.iter().any(|named| named == vhost))
            .map(|(id, _)| **id)
            .collect();
        if !naming.is_empty() {
            return naming;
        }
        set.iter().filter(|(_, known)| known.vhosts.is_empty()).map(|(id, _)| **id).collect()
    }

    fn choose(&self, vhost: Option<&str>, except: &[UpstreamId], random: u64) -> Choice {
        let choice = self.balance.choose(vhost, except, self.now_ms, random);
        let serving = self.serving(vhost);
        let usable: Vec<UpstreamId> = serving
            .iter()
            .copied()
            .filter(|id| {
                let known = &self.known[id];
                !known.is_draining && known.admits(vhost, self.now_ms) && !except.contains(id)
            })
            .collect();
        match choice {
            Choice::Nowhere => assert!(serving.is_empty(), "{serving:?} serve {vhost:?}"),
            Choice::Later { at_ms } => {
                assert!(usable.is_empty(), "{usable:?} are usable");
                assert!(!serving.is_empty());
                assert!(at_ms > self.now_ms && at_ms <= self.now_ms + BACKOFF_MAX_MS);
            }
            Choice::Upstream(id) => {
                assert!(usable.contains(&id), "{id:?} is not usable, {usable:?} are");
                let best = usable.iter().any(|other| self.known[other].weight > 0);
                assert!(self.known[&id].weight > 0 || !best, "the spare one although others are usable");
                if self.least {
                    self.check_least(id, &usable);
                }
            }
        }
        choice
    }

    /// None that might have been chosen would have fewer upstream connections for its weight.
    fn check_least(&self, id: UpstreamId, usable: &[UpstreamId]) {
        let load = |id: &UpstreamId| {
            let known = &self.known[id];
            (known.connections + known.attempts + 1) as f64 / f64::from(known.weight.max(1))
        };
        let is_spare = self.known[&id].weight == 0;
        for other in usable.iter().filter(|other| (self.known[other].weight == 0) == is_spare) {
            assert!(load(&id) <= load(other) + 1e-9, "{id:?} has more lines than {other:?}");
        }
    }

    fn dial(&mut self, vhost: Option<&'static str>, random: u64) {
        let mut except = Vec::new();
        while let Choice::Upstream(id) = self.choose(vhost, &except, random) {
            except.push(id);
            if except.len() > NAMES.len() {
                panic!("what is excepted is chosen again: {except:?}");
            }
        }
        if let Choice::Upstream(id) = self.choose(vhost, &[], random) {
            self.balance.dialled(id, vhost, self.now_ms);
            let known = self.known.get_mut(&id).unwrap();
            known.push(vhost, self.now_ms, What::Tried);
            known.attempts += 1;
            self.attempts.push((id, vhost));
        }
    }

    fn fail(&mut self, id: UpstreamId, fail: impl FnOnce(&mut Balance) -> Option<State>) {
        let known = self.known.get_mut(&id).unwrap();
        let expected = known.log.backoff_after_failure(self.now_ms);
        fail(&mut self.balance);
        let backoff_ms = expected.map(|(min_ms, max_ms)| {
            let shown = self.balance.snapshot().into_iter().find(|shown| shown.id == id);
            // One that was removed is forgotten with its last attempt.
            let until_ms = shown.map_or(self.now_ms + min_ms, |shown| shown.open_until_ms.unwrap());
            let backoff_ms = until_ms - self.now_ms;
            assert!((min_ms..=max_ms).contains(&backoff_ms), "{backoff_ms} ms is not in {min_ms} to {max_ms}");
            backoff_ms
        });
        known.log.happened.push((self.now_ms, What::Failed(backoff_ms)));
    }

    fn refuse(&mut self, id: UpstreamId, vhost: &str, random: u64) {
        let now_ms = self.now_ms;
        let known = self.known.get_mut(&id).unwrap();
        let expected = known.of_vhost(vhost).backoff_after_failure(now_ms);
        self.balance.refused(id, vhost, now_ms, random, "it is down");
        let backoff_ms = expected.map(|(min_ms, max_ms)| {
            let shown = self.balance.snapshot().into_iter().find(|shown| shown.id == id);
            let refused = shown.and_then(|shown| shown.refused_vhosts.into_iter().find(|shown| shown.name == vhost));
            // As above.
            let backoff_ms = refused.map_or(min_ms, |refused| refused.until_ms - now_ms);
            assert!((min_ms..=max_ms).contains(&backoff_ms), "{backoff_ms} ms is not in {min_ms} to {max_ms}");
            backoff_ms
        });
        known.log.happened.push((now_ms, What::Succeeded));
        known.of_vhost(vhost).happened.push((now_ms, What::Failed(backoff_ms)));
    }

    fn end(&mut self, at: usize, how: How, random: u64) {
        let (id, vhost) = self.attempts.remove(at % self.attempts.len());
        let now_ms = self.now_ms;
        let known = self.known.get_mut(&id).unwrap();
        known.attempts -= 1;
        match how {
            How::Opens => {
                known.connections += 1;
                known.push(vhost, now_ms, What::Succeeded);
                self.connections.push(id);
                self.balance.opened(id, vhost);
            }
            How::IsAbandoned => {
                if known.attempts == 0 {
                    known.log.happened.push((now_ms, What::Left));
                }
                known.push_of_vhost(vhost, now_ms, What::Left);
                self.balance.abandoned(id, vhost, now_ms);
            }
            How::IsRefused if vhost.is_some() => self.refuse(id, vhost.unwrap(), random),
            How::Fails | How::IsRefused => {
                known.push_of_vhost(vhost, now_ms, What::Left);
                self.fail(id, |balance| balance.failed(id, vhost, now_ms, random, "it fails"));
            }
        }
    }

    fn check(&mut self, passes: bool, random: u64) {
        let Some(id) = self.balance.next_check(self.now_ms) else { return };
        let now_ms = self.now_ms;
        match passes {
            true => {
                self.known.get_mut(&id).unwrap().log.happened.push((now_ms, What::Succeeded));
                self.balance.checked(id, Ok(()), now_ms, random);
            }
            false => self.fail(id, |balance| balance.checked(id, Err("it fails"), now_ms, random)),
        }
    }

    fn run(&mut self, step: Step) {
        match step {
            Step::Dial { vhost, random } => self.dial(VHOSTS.get(vhost).copied(), random),
            Step::End { attempt, how, random } if !self.attempts.is_empty() => self.end(attempt, how, random),
            Step::Lose { connection } if !self.connections.is_empty() => {
                let id = self.connections.remove(connection % self.connections.len());
                self.known.get_mut(&id).unwrap().connections -= 1;
                self.balance.lost(id);
            }
            Step::End { .. } | Step::Lose { .. } => {}
            Step::Check { passes, random } => self.check(passes, random),
            Step::Drain { name } | Step::Undrain { name } => {
                let is_draining = matches!(step, Step::Drain { .. });
                let Some(id) = self.balance.id_of(NAMES[name]) else { return };
                self.known.get_mut(&id).unwrap().is_draining = is_draining;
                let _ = if is_draining { self.balance.drain(id) } else { self.balance.undrain(id) };
            }
            Step::Reload { upstreams, least } => {
                self.least = least;
                let is_draining = |name| self.balance.id_of(name).is_some_and(|id| self.known[&id].is_draining);
                let draining = NAMES.map(is_draining);
                self.balance.set_options(options(&upstreams, least), self.now_ms).unwrap();
                self.read(&upstreams);
                for (name, ..) in &upstreams {
                    // It holds for the name, wherever that leads now.
                    let id = self.balance.id_of(NAMES[*name]).unwrap();
                    self.known.get_mut(&id).unwrap().is_draining = draining[*name];
                }
            }
            Step::Pass { ms } => self.now_ms += ms,
        }
        self.known.retain(|_, known| known.is_set || known.attempts + known.connections > 0);
        self.compare();
    }

    fn compare(&self) {
        let shown = self.balance.snapshot();
        assert_eq!(shown.len(), self.known.len());
        for shown in shown {
            let known = &self.known[&shown.id];
            assert_eq!((shown.dialling_count, shown.connection_count), (known.attempts, known.connections));
            assert_eq!(shown.is_removed, !known.is_set);
            assert_eq!(shown.consecutive_failure_count, known.log.failures());
            let refused = known.of_vhosts.iter().filter(|(_, log)| log.failures() > 0).map(|(vhost, _)| vhost);
            assert!(shown.refused_vhosts.iter().map(|refused| &refused.name).eq(refused));
            let state = match known.log.backoffs() {
                _ if known.is_draining || !known.is_set => State::Draining,
                0 => State::Up,
                _ => State::Down,
            };
            assert_eq!(shown.state, state);
            let counters = shown.counters;
            let ended = counters.opened + counters.failed + counters.abandoned;
            assert_eq!(counters.dialled - ended, shown.dialling_count as u64);
            assert_eq!(counters.opened - counters.lost, shown.connection_count as u64);
        }
    }

    /// An upstream that is wanted, does not drain and is broken is tried again, even if nothing is ever heard of the present attempts.
    fn check_each_is_tried_again(&mut self) {
        let set: Vec<UpstreamId> = self.known.iter().filter(|(_, known)| known.is_set).map(|(id, _)| *id).collect();
        for id in set.iter().copied().filter(|id| !self.known[id].is_draining) {
            let others: Vec<UpstreamId> = set.iter().copied().filter(|other| *other != id).collect();
            let vhosts = [None].into_iter().chain(VHOSTS.map(Some));
            for vhost in vhosts.filter(|vhost| self.serving(*vhost).contains(&id)).collect::<Vec<_>>() {
                let end_ms = self.now_ms + BACKOFF_MAX_MS + TIMEOUT_MS;
                while let Choice::Later { at_ms } = self.choose(vhost, &others, 0) {
                    assert!(at_ms <= end_ms, "{id:?} is not tried again");
                    self.now_ms = at_ms;
                }
                assert_eq!(self.choose(vhost, &others, 0), Choice::Upstream(id));
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn chooses_as_the_model_does(
        given in upstreams(),
        least in any::<bool>(),
        steps in proptest::collection::vec(step(), 1..150),
    ) {
        let mut world = World::new(&given, least);
        for step in steps {
            world.run(step);
        }
        world.check_each_is_tried_again();
    }
}
