//! How nodes become a cluster.

use cluster::ClientSituation;
use cluster::control::Control as _;

use super::world::{World, done, wait_until};

#[test]
fn empty_nodes_with_one_list_become_one_cluster() {
    let mut world = World::of("forming", 3, true);
    world.start_all();
    world.wait_for_cluster_of(&[0, 1, 2]);
    let server = world.put("first");
    let ids: Vec<_> = (0..3).map(|number| world.view(number).cluster).collect();
    assert!(ids[0].is_some() && ids.iter().all(|id| *id == ids[0]), "{ids:?}");
    let leader = world.view(server).leader.clone();
    for number in (0..3).filter(|number| *number != server) {
        wait_until("clients of a follower that go to the leader", || {
            let situation = world.nodes[number].served.situation.lock().clone();
            situation == leader.clone().map(ClientSituation::Following)
        });
    }
}

#[test]
fn what_a_node_had_alone_is_the_clusters() {
    let mut world = World::of("had-alone", 3, false);
    world.start(1);
    world.put("of before");
    world.stop(1);
    world.listed = vec![0, 1, 2];
    world.start_all();
    world.wait_for_cluster_of(&[0, 1, 2]);
    // It leads on, or another one has what it had.
    world.put("of after");
    let server = world.server().unwrap();
    world.stop(server);
    world.put("after it");
    let next = world.server().unwrap();
    assert!(world.has(next, "of before") && world.has(next, "of after"));
}

#[test]
fn a_node_joins_by_an_order_and_loses_nothing_unasked() {
    let mut world = World::of("joining", 2, false);
    world.start_all();
    wait_until("both alone", || world.nodes.iter().all(|node| node.served.own_refusal.lock().is_none()));
    world.put("of the first");
    let name = world.nodes[0].name.clone();
    assert_eq!(
        done(world.control(1).join("nohost", false)).unwrap_err().to_string(),
        "'nohost' is neither a node's name, such as rabbit@host, nor an address, such as host:25672"
    );
    done(world.control(1).join(&name, false)).unwrap();
    world.wait_for_cluster_of(&[0, 1]);
    let again = done(world.control(1).join(&name, true)).unwrap_err().to_string();
    assert!(again.starts_with("this node belongs to cluster ") && again.ends_with(" already"), "{again}");
    done(world.control(0).transfer(None)).unwrap();
    world.put("of both");
    assert_eq!(world.server(), Some(1));
    assert!(world.has(1, "of the first"));
}

#[test]
fn a_node_joins_one_of_which_only_the_address_is_known() {
    let mut world = World::of("by-address", 2, false);
    world.start_all();
    wait_until("the first to serve", || world.server() == Some(0));
    world.put("of the first");
    let [first, second] = [0, 1].map(|number| world.control(number).links().address().to_string());
    let itself = done(world.control(1).join(&second, false)).unwrap_err().to_string();
    assert!(itself.starts_with(&format!("hare1@127.0.0.1 refuses {second}: the two are one node")), "{itself}");
    done(world.control(1).join(&first, false)).unwrap();
    world.wait_for_cluster_of(&[0, 1]);
    done(world.control(0).transfer(None)).unwrap();
    world.put("of both");
    assert!(world.has(1, "of the first"));
}

#[test]
fn who_is_at_an_address_and_has_another_secret_is_joined_by_none() {
    let mut world = World::of("address-secret", 2, false);
    world.start(0);
    world.secret = "another one";
    world.start(1);
    let address = world.control(0).links().address().to_string();
    let refused = done(world.control(1).join(&address, false)).unwrap_err().to_string();
    assert_eq!(
        refused,
        format!("{address} refuses hare1@127.0.0.1: the secrets of the two differ (warren.cluster.secret)")
    );
}

#[test]
fn a_node_with_data_joins_by_force_alone() {
    let mut world = World::of("by-force", 2, false);
    world.start(0);
    world.put("of the first");
    world.stop(0);
    world.start(1);
    world.put("of the second");
    world.stop(1);
    world.start_all();
    wait_until("both serve", || (0..2).all(|number| world.has(number, ["of the first", "of the second"][number])));
    let name = world.nodes[0].name.clone();
    let refused = done(world.control(1).join(&name, false)).unwrap_err().to_string();
    assert_eq!(refused, "this node has 1 queues and 2 messages, which it would lose: --force has it join all the same");
    assert!(world.has(1, "of the second"));
    done(world.control(1).join(&name, true)).unwrap();
    world.wait_for_cluster_of(&[0, 1]);
    done(world.control(0).transfer(None)).unwrap();
    world.put("of both");
    assert!(world.has(1, "of the first") && !world.has(1, "of the second"));
}

#[test]
fn another_secret_is_another_cluster() {
    let mut world = World::of("secret", 2, false);
    world.start(0);
    world.put("of the first");
    world.secret = "another one";
    world.start(1);
    let name = world.nodes[0].name.clone();
    let outcome = world.control(1).join(&name, false);
    // It gives up in a minute; until then nothing is lost and nothing reported.
    wait_until("a refusal", || world.control(0).links().strangers().0 > 0);
    drop(outcome);
    assert!(world.view(1).cluster.is_none() && world.view(0).cluster.is_none());
}

#[test]
fn nodes_of_neighbouring_levels_work_together() {
    let mut world = World::of("levels", 3, true);
    world.start_all();
    world.wait_for_cluster_of(&[0, 1, 2]);
    world.put("of the older");
    let mut last = "of the older".to_owned();
    // All are upgraded, one after the other: then the next level is in use.
    for number in 0..3 {
        world.stop(number);
        world.nodes[number].level = 2;
        world.start(number);
        world.wait_for_cluster_of(&[0, 1, 2]);
        if number == 2 {
            break;
        }
        // The newer ones follow an older one, and the older ones a newer one.
        for leader in [number + 1, number] {
            wait_until("the level that all know", || (0..3).all(|number| world.view(number).level == 1));
            lead(&world, leader);
            assert!(world.has(leader, &last), "{leader} has {last}");
            last = format!("by {leader} when {number} was new");
            assert_eq!(world.put(&last), leader);
        }
    }
    wait_until("the next level", || (0..3).all(|number| world.view(number).level == 2));
    world.put("of one");
    let server = world.server().unwrap();
    world.stop(server);
    world.put("after it");
    let server = world.server().unwrap();
    assert!(world.has(server, "of the older") && world.has(server, &last) && world.has(server, "of one"));
}

/// Has that node serve, whichever does.
fn lead(world: &World, number: usize) {
    wait_until("a server", || world.server().is_some());
    if world.server() != Some(number) {
        done(world.control(number).transfer(Some(&world.nodes[number].name))).unwrap();
        wait_until("the new leader", || world.server() == Some(number));
    }
}

#[test]
fn an_older_program_does_not_join_where_newer_formats_are_in_use() {
    let mut world = World::of("older-level", 2, false);
    world.nodes[0].level = 2;
    world.listed = vec![0];
    world.start(0);
    world.wait_for_cluster_of(&[0]);
    world.put("of the newer");
    world.listed = Vec::new();
    world.start(1);
    let name = world.nodes[0].name.clone();
    let refused = done(world.control(1).join(&name, false)).unwrap_err().to_string();
    let own = &world.nodes[1].name;
    assert_eq!(refused, format!("{name} refuses: {own} knows formats up to level 1, and 2 is in use"));
}
