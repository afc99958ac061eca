//! Nodes that end, come back, and come back with another directory.

use std::path::Path;

use cluster::ClientSituation;
use cluster::control::ClusterView;
use consensus::MemberId;

use super::world::{World, copy_dir, roll_back, wait_until};

#[test]
fn nothing_is_lost_with_each_node_in_turn() {
    let mut world = World::of("turns", 3, true);
    world.start_all();
    world.wait_for_cluster_of(&[0, 1, 2]);
    for round in 0..3 {
        let server = world.put(&format!("before/{round}"));
        world.stop(server);
        let next = world.put(&format!("after/{round}"));
        assert_ne!(next, server);
        for earlier in 0..=round {
            assert!(world.has(next, &format!("before/{earlier}")), "round {round} lost before/{earlier}");
        }
        world.start(server);
        world.wait_for_cluster_of(&[0, 1, 2]);
    }
}

#[test]
fn a_minority_serves_nothing_and_heals_by_itself() {
    let mut world = World::of("minority", 3, true);
    world.start_all();
    world.wait_for_cluster_of(&[0, 1, 2]);
    let server = world.put("of three");
    let others: Vec<_> = (0..3).filter(|number| *number != server).collect();
    others.iter().for_each(|number| world.stop(*number));
    wait_until("the end of its leadership", || world.server().is_none());
    let reaches = "this node is in a minority: it reaches 1 of 3 nodes, itself included, and serves nothing until it reaches a majority";
    wait_until("a refusal", || {
        *world.nodes[server].served.situation.lock() == Some(ClientSituation::Refusing(reaches.to_owned()))
    });
    assert!(!world.view(server).has_majority);
    world.start(others[0]);
    world.put("of two");
    assert!(world.has(world.server().unwrap(), "of three"));
}

/// Three nodes form a cluster, and all end; then these two start alone.
fn check_pair(name: &str, pair: [usize; 2]) {
    let mut world = World::of(name, 3, true);
    world.start_all();
    world.wait_for_cluster_of(&[0, 1, 2]);
    world.put("of three");
    (0..3).for_each(|number| world.stop(number));
    pair.iter().for_each(|number| world.start(*number));
    world.put("of two");
    assert!(world.has(world.server().unwrap(), "of three"), "{pair:?}");
}

#[test]
fn the_first_two_of_a_young_cluster_start_alone() {
    check_pair("first-two", [0, 1]);
}

#[test]
fn the_last_two_of_a_young_cluster_start_alone() {
    check_pair("last-two", [1, 2]);
}

#[test]
fn the_first_and_last_of_a_young_cluster_start_alone() {
    check_pair("outer-two", [0, 2]);
}

#[test]
fn an_empty_directory_under_an_old_name_joins_anew() {
    let mut world = World::of("replaced", 3, true);
    world.start_all();
    world.wait_for_cluster_of(&[0, 1, 2]);
    let server = world.put("of three");
    let replaced = (server + 1) % 3;
    let before = world.view(server).member(&world.nodes[replaced].name).unwrap().member;
    world.stop(replaced);
    std::fs::remove_dir_all(&world.nodes[replaced].dir).unwrap();
    world.put("without it");
    world.start(replaced);
    world.wait_for_cluster_of(&[0, 1, 2]);
    let view = world.view(world.server().unwrap());
    assert_ne!(view.member(&world.nodes[replaced].name).unwrap().member, before);
    world.put("with it again");
}

#[test]
fn an_older_directory_is_not_believed() {
    let mut world = World::of("older", 3, true);
    world.start_all();
    world.wait_for_cluster_of(&[0, 1, 2]);
    let server = world.put("early");
    let number = (server + 1) % 3;
    world.stop(number);
    let kept = world.nodes[number].dir.with_extension("kept");
    copy_dir(&world.nodes[number].dir, &kept);
    // Two more starts, in which it learns more.
    for round in 0..2 {
        world.start(number);
        world.wait_for_cluster_of(&[0, 1, 2]);
        world.put(&format!("later/{round}"));
        world.stop(number);
    }
    roll_back(&kept, &world.nodes[number].dir);
    world.start(number);
    let failure = world.failure(number);
    assert!(failure.contains("has come back with an older directory"), "{failure}");
    world.stop(number);
    world.put("without it");
    // Each start fails: a file in its directory records the rollback.
    for _ in 0..10 {
        assert_eq!(world.try_start(number).unwrap_err().to_string(), failure);
    }
    assert!(world.nodes[(server + 2) % 3].served.failure.lock().is_none());
}

/// Up to which entry a member has said to have what is committed, as the node of that directory remembers it on its disk.
fn promised(dir: &Path, member: MemberId) -> Option<u64> {
    let bytes = std::fs::read(dir.join("cluster/memory")).ok()?;
    let (pairs, _) = bytes.strip_prefix(b"WRMEMRY1")?.as_chunks::<8>();
    let numbers: Vec<u64> = pairs.iter().map(|number| u64::from_le_bytes(*number)).collect();
    numbers.chunks_exact(2).find(|pair| pair[0] == member.get()).map(|pair| pair[1])
}

/// How many entries a copy lacks.
const LATE_COUNT: u64 = 5;

/// Three nodes; a copy of a follower's directory was made while it ran, and then something was committed, and all ended. Returns whose.
fn copied_while_it_ran(name: &str) -> (World, usize, usize, std::path::PathBuf) {
    let mut world = World::of(name, 3, true);
    world.start_all();
    world.wait_for_cluster_of(&[0, 1, 2]);
    let server = world.put("early");
    let number = (server + 1) % 3;
    let kept = world.nodes[number].dir.with_extension("kept");
    let view = world.view(server);
    let member = |number: usize| view.member(&world.nodes[number].name).unwrap();
    let (early, copied) = (member(server).log.unwrap().committed, member(number).member);
    copy_dir(&world.nodes[number].dir, &kept);
    for late in 0..LATE_COUNT {
        assert_eq!(world.put(&format!("late/{late}")), server);
    }
    // What others remember of it is written by a thread of its own, once a second.
    wait_until("what others remember of it", || {
        let others = (0..3).filter(|other| *other != number);
        others.map(|other| promised(&world.nodes[other].dir, copied)).all(|entry| entry >= Some(early + LATE_COUNT))
    });
    (0..3).for_each(|number| world.stop(number));
    (world, server, number, kept)
}

#[test]
fn a_copy_of_a_running_member_is_not_used() {
    let (mut world, server, number, kept) = copied_while_it_ran("copied");
    let dir = world.nodes[number].dir.clone();
    let original = dir.with_extension("original");
    std::fs::rename(&dir, &original).unwrap();
    std::fs::rename(&kept, &dir).unwrap();
    let third = (server + 2) % 3;
    world.start(third);
    for _ in 0..10 {
        let error = world.try_start(number).unwrap_err().to_string();
        assert!(error.contains("is a copy of hare") && error.contains("accept_copy"), "{error}");
    }
    world.start(server);
    let leader = world.put("after it");
    (0..LATE_COUNT).for_each(|late| assert!(world.has(leader, &format!("late/{late}"))));
    // What it was a copy of is there again, under its old name.
    std::fs::remove_dir_all(&dir).unwrap();
    std::fs::rename(&original, &dir).unwrap();
    world.start(number);
    world.wait_for_cluster_of(&[0, 1, 2]);
}

#[test]
fn a_disk_that_was_rolled_back_is_found_by_who_was_not_there_then() {
    let (mut world, server, number, kept) = copied_while_it_ran("rolled-back");
    roll_back(&kept, &world.nodes[number].dir);
    let third = (server + 2) % 3;
    world.start(third);
    world.start(number);
    let failure = world.failure(number);
    assert!(failure.contains("has come back with an older directory"), "{failure}");
    world.stop(number);
    for _ in 0..10 {
        assert!(world.try_start(number).is_err());
    }
    world.start(server);
    let leader = world.put("after it");
    (0..LATE_COUNT).for_each(|late| assert!(world.has(leader, &format!("late/{late}"))));
    // Emptied, it joins anew.
    std::fs::remove_dir_all(&world.nodes[number].dir).unwrap();
    world.start(number);
    world.wait_for_cluster_of(&[0, 1, 2]);
}

#[test]
fn a_copy_that_is_accepted_goes_on_as_the_member() {
    let mut world = World::of("accepted", 3, true);
    world.start_all();
    world.wait_for_cluster_of(&[0, 1, 2]);
    let number = (world.put("early") + 1) % 3;
    world.stop(number);
    let dir = world.nodes[number].dir.clone();
    let kept = dir.with_extension("kept");
    copy_dir(&dir, &kept);
    std::fs::remove_dir_all(&dir).unwrap();
    std::fs::rename(&kept, &dir).unwrap();
    assert!(world.try_start(number).is_err());
    let name = world.nodes[number].name.clone();
    assert_eq!(cluster::accept_copy(&store::file::RealDisk, &dir).unwrap(), name);
    world.start(number);
    world.wait_for_cluster_of(&[0, 1, 2]);
    let in_use = cluster::accept_copy(&store::file::RealDisk, &dir).unwrap_err().to_string();
    assert!(in_use.contains("is in use by another process"), "{in_use}");
    let none = dir.with_extension("none");
    let refused = cluster::accept_copy(&store::file::RealDisk, &none).unwrap_err().to_string();
    assert!(refused.contains("belongs to no cluster") && !none.exists(), "{refused}");
}

#[test]
fn a_member_stands_alone_by_force_and_founds_another_cluster() {
    let mut world = World::of("by-force", 3, true);
    world.start_all();
    world.wait_for_cluster_of(&[0, 1, 2]);
    let server = world.put("of three");
    for round in 0..40 {
        world.put(&format!("filler/{round}"));
    }
    let (number, other) = ((server + 1) % 3, (server + 2) % 3);
    let dir = world.nodes[number].dir.clone();
    let in_use = cluster::force_boot(&store::file::RealDisk, &dir).unwrap_err().to_string();
    assert!(in_use.contains("is in use by another process"), "{in_use}");
    (0..3).for_each(|number| world.stop(number));
    let name = world.nodes[number].name.clone();
    assert_eq!(cluster::force_boot(&store::file::RealDisk, &dir).unwrap(), Some(name.clone()));
    assert_eq!(cluster::force_boot(&store::file::RealDisk, &dir).unwrap(), None, "once more");
    world.start(number);
    assert_eq!(world.put("alone"), number);
    assert!(world.has(number, "of three") && world.has(number, "filler/39"));
    // One that is empty joins it, and has all in the end.
    std::fs::remove_dir_all(&world.nodes[other].dir).unwrap();
    world.start(other);
    world.wait_for_cluster_of(&[number, other]);
    let other_name = world.nodes[other].name.clone();
    assert_eq!(super::world::done(control(&world, number).transfer(Some(&other_name))).unwrap(), other_name);
    assert_eq!(world.put("of two"), other);
    assert!(world.has(other, "of three") && world.has(other, "alone") && world.has(other, "filler/39"));
    // A node of the old cluster is not one of the new one.
    world.start(server);
    let clusters = |world: &World| [server, number].map(|number| world.view(number).cluster);
    wait_until("that both know their cluster", || clusters(&world).iter().all(Option::is_some));
    assert_ne!(clusters(&world)[0], clusters(&world)[1]);
    assert_eq!(world.put("without it"), other);
}

fn control(world: &World, number: usize) -> &dyn cluster::control::Control {
    world.control(number)
}

/// What a node keeps of the cluster's time.
fn kept_ahead_ms(dir: &Path) -> Option<i64> {
    let bytes = std::fs::read(dir.join("cluster/time")).ok()?;
    bytes.get(8..16)?.try_into().ok().map(i64::from_le_bytes)
}

/// A time that is five minutes ahead of the system's clock, give or take what a busy machine makes of it.
fn is_five_minutes(ahead_ms: i64) -> bool {
    ahead_ms.abs_diff(300_000) < 5_000
}

#[test]
fn who_takes_over_goes_on_with_the_time_of_the_one_before() {
    let mut world = World::of("time", 3, true);
    world.start_all();
    world.wait_for_cluster_of(&[0, 1, 2]);
    let server = world.put("by a clock that is ahead");
    *world.nodes[server].served.ahead_ms.lock() = 300_000;
    let knows = |number: usize| kept_ahead_ms(&world.nodes[number].dir).is_some_and(is_five_minutes);
    wait_until("that all know the time", || (0..3).all(knows));
    world.stop(server);
    let next = world.put("by another node");
    assert!(is_five_minutes(*world.nodes[next].served.ahead_ms.lock()));
    // All of them begin anew: none learns what time it is.
    (0..3).for_each(|number| world.stop(number));
    world.start_all();
    let first = world.put("after all were stopped");
    assert!(is_five_minutes(*world.nodes[first].served.ahead_ms.lock()));
}

#[test]
fn each_node_knows_how_the_others_are() {
    let mut world = World::of("vitals", 3, true);
    world.start_all();
    world.wait_for_cluster_of(&[0, 1, 2]);
    let is_known = |view: &ClusterView, of: usize| {
        let member = view.member(&world.nodes[of].name).unwrap();
        member.figures.as_ref().is_some_and(|figures| figures.memory_used_len == 7 << 20)
            && member.clock_ahead_ms.is_some_and(|ahead_ms| ahead_ms.abs() < 1000)
            && member.silent_ms.is_some_and(|silent_ms| silent_ms < 10_000)
    };
    for (of, other) in [(0, 1), (1, 2), (2, 0)] {
        wait_until("vitals", || is_known(&world.view(other), of));
    }
    world.stop(2);
    let silent_ms = || world.view(0).member(&world.nodes[2].name).unwrap().silent_ms;
    wait_until("silence", || silent_ms().is_some_and(|silent_ms| silent_ms > 2_500));
}

#[test]
fn a_members_name_is_kept() {
    let mut world = World::of("renamed", 2, true);
    world.start_all();
    world.wait_for_cluster_of(&[0, 1]);
    world.stop(1);
    world.nodes[1].name = "rabbit@127.0.0.1".to_owned();
    let error = world.try_start(1).unwrap_err().to_string();
    assert!(
        error.starts_with("the data directory is hare1@127.0.0.1's, and this node is called rabbit@127.0.0.1"),
        "{error}"
    );
}
