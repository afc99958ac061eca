//! Nodes that end, come back, and come back with another directory.

use cluster::ClientStanding;

use super::world::{World, copy_dir, wait_until};

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
        *world.nodes[server].served.standing.lock() == Some(ClientStanding::Refusing(reaches.to_owned()))
    });
    assert!(!world.view(server).has_majority);
    world.start(others[0]);
    world.put("of two");
    assert!(world.has(world.server().unwrap(), "of three"));
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
    // Two more starts, in which it is told more.
    for round in 0..2 {
        world.start(number);
        world.wait_for_cluster_of(&[0, 1, 2]);
        world.put(&format!("later/{round}"));
        world.stop(number);
    }
    std::fs::remove_dir_all(&world.nodes[number].dir).unwrap();
    std::fs::rename(&kept, &world.nodes[number].dir).unwrap();
    world.start(number);
    let failure = world.failure(number);
    assert!(failure.contains("has come back with an older directory"), "{failure}");
    world.put("without it");
    assert!(world.nodes[(server + 2) % 3].served.failure.lock().is_none());
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
