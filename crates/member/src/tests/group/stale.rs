//! Files that a follower has fetched may have been removed when they are to come into force: it led meanwhile, and a start removes what
//! nothing names.

use std::sync::Arc;

use store::group::Pulled;
use store::simulation::{Broker, History, Legacy, Seen};
use store::{Random, RecoveredStore, Store};

use crate::simulation::Group;
use crate::{Installed, Member, Situation};

const SEED: u64 = 1;

struct Scene {
    group: Group,
    /// Whose store is open.
    open: Option<(usize, Arc<Store>)>,
}

impl Scene {
    fn member(&self, node: usize) -> &Member {
        self.group.nodes[node].member.as_ref().expect("all are up")
    }

    fn step(&mut self) {
        self.group.now += 1;
        for node in 0..self.group.nodes.len() {
            self.group.tick(node);
            match self.group.nodes[node].situation().expect("all are up") {
                Situation::Following { .. } => _ = self.group.follow_without_fetching(node),
                Situation::Failed(reason) => panic!("node {node} has failed: {reason}"),
                Situation::Leading => {
                    if let Some((_, store)) = self.open.as_ref().filter(|(open, _)| *open == node) {
                        store.step_journal().expect("the disk works");
                    }
                }
                Situation::Elected | Situation::Lost => {}
            }
        }
        self.group.deliver();
        self.group.collect();
    }

    /// Steps until `is_so` holds.
    fn step_until(&mut self, is_so: impl Fn(&Scene) -> bool) {
        let has_become = (0..3000).any(|_| {
            self.step();
            is_so(self)
        });
        assert!(has_become, "it has not become so");
    }

    fn elected(&mut self) -> usize {
        let elected =
            |scene: &Scene| scene.group.nodes.iter().position(|node| node.situation() == Some(Situation::Elected));
        self.step_until(|scene| elected(scene).is_some());
        elected(self).expect("it was just seen")
    }

    fn take_over(&mut self, node: usize) -> RecoveredStore {
        let (store, recovered) = self.group.take_over(node).expect("it was elected");
        self.open = Some((node, store));
        recovered
    }

    /// The store that is open is dropped, and its node follows again.
    fn step_back(&mut self) {
        let (node, store) = self.open.take().expect("a store is open");
        drop(store);
        self.group.step_back(node);
    }

    /// All that the leader's checkpoint names is fetched by another node.
    fn pull(&self, leader: usize, to: usize) -> Pulled {
        let announcement = self.member(leader).announcement().expect("the leader has a checkpoint");
        let mut pull = self.member(to).pull(announcement).expect("the disk works");
        while let Some((name, offset)) = pull.next() {
            let piece = self.member(leader).file_reader().read(name, offset, 10_000).expect("the disk works");
            pull.take(&piece.expect("the leader has it")).expect("it is what was announced");
        }
        pull.finish().expect("the disk works")
    }
}

/// A group whose leader has segments, a follower that has caught up, and what that has fetched.
fn scene() -> (Scene, usize, Pulled) {
    let mut group = Group::of_three(SEED, 10);
    group.is_calm = true;
    let mut scene = Scene { group, open: None };
    let leader = scene.elected();
    let recovered = scene.take_over(leader);
    let (_, store) = scene.open.clone().expect("it was just opened");
    let legacy = Legacy {
        seen: Seen::default(),
        random: Random::new(SEED),
        history: History::default(),
        next_queue: 1,
        next_message: 1,
    };
    let broker = Broker::restore(store.clone(), recovered, legacy);
    let follower = (leader + 1) % 3;
    let pulled = loop {
        for _ in 0..30 {
            // What has to wait for the others returns an error.
            let _ = broker.act();
            scene.step();
        }
        for _ in 0..2 {
            scene.step_until(|_| store.durable() == store.appended());
            broker.retire_committed();
        }
        if scene.member(leader).announcement().is_some() {
            let pulled = scene.pull(leader, follower);
            if pulled.segment_count() > 0 {
                break pulled;
            }
        }
    };
    scene.step_until(|scene| scene.member(follower).status().committed == scene.member(leader).status().last.index);
    drop(broker.end());
    drop(store);
    (scene, follower, pulled)
}

/// A follower leads for a moment.
fn lead(scene: &mut Scene, follower: usize) {
    let leader = scene.open.as_ref().expect("a store is open").0;
    scene.group.transfer(leader, follower);
    scene.step_until(|scene| scene.group.nodes[leader].situation() == Some(Situation::Lost));
    scene.step_back();
    assert_eq!(scene.elected(), follower);
    scene.take_over(follower);
    scene.step_back();
}

fn assert_it_opens(scene: &mut Scene, node: usize) {
    scene.group.crash(node);
    scene.group.start(node);
    let disk = Arc::new(scene.group.nodes[node].disk.clone());
    scene.group.nodes[node].member = None;
    let opened = Store::open_stepped(store::Options::small(crate::simulation::dir(), SEED), disk);
    assert!(opened.is_ok(), "{:?}", opened.err());
}

#[test]
fn what_was_fetched_before_a_node_led_is_not_put_in_force_after_it() {
    let (mut scene, follower, pulled) = scene();
    let before = scene.member(follower).announcement();
    lead(&mut scene, follower);
    assert_eq!(scene.member(follower).install(&pulled).unwrap(), Installed::Done);
    assert_eq!(scene.member(follower).announcement(), before);
    assert_it_opens(&mut scene, follower);
}

#[test]
fn what_was_fetched_comes_into_force_if_the_node_has_not_led() {
    let (mut scene, follower, pulled) = scene();
    assert_eq!(scene.member(follower).install(&pulled).unwrap(), Installed::Done);
    assert_eq!(scene.member(follower).announcement().unwrap().base.id, pulled.base().id);
    assert_it_opens(&mut scene, follower);
}
