//! What operators order.

use std::time::{Duration, Instant};

use cluster::NodeAlarms;
use cluster::control::Control as _;

use super::world::{World, done, wait_until};

#[test]
fn leadership_goes_where_it_is_wanted() {
    let mut world = World::of("transfer", 3, true);
    world.start_all();
    world.wait_for_cluster_of(&[0, 1, 2]);
    let server = world.put("before");
    let (to, other) = ((server + 1) % 3, (server + 2) % 3);
    let name = world.nodes[to].name.clone();
    // Ordered of a node that does not lead.
    assert_eq!(done(world.control(other).transfer(Some(&name))).unwrap(), name);
    assert_eq!(world.put("after"), to);
    assert!(world.has(to, "before"));
    let unknown = done(world.control(other).transfer(Some("hare9@x"))).unwrap_err();
    assert_eq!(unknown.to_string(), "there is no node hare9@x in the cluster");
}

#[test]
fn who_cannot_lead_is_told_at_once_why() {
    let mut world = World::of("unfit", 3, true);
    world.start_all();
    world.wait_for_cluster_of(&[0, 1, 2]);
    let server = world.put("before");
    let (down, other) = ((server + 1) % 3, (server + 2) % 3);
    let name = world.nodes[down].name.clone();
    world.stop(down);
    wait_until("its absence", || !world.view(server).member(&name).unwrap().is_running);
    let since = Instant::now();
    let refused = done(world.control(other).transfer(Some(&name))).unwrap_err();
    assert_eq!(refused.to_string(), format!("{name} cannot be reached: there is no connection to it"));
    assert!(since.elapsed() < Duration::from_secs(5), "{:?}", since.elapsed());
    assert_eq!(world.put("after"), server);
}

#[test]
fn a_node_is_drained_and_revived() {
    let mut world = World::of("drain", 3, true);
    world.start_all();
    world.wait_for_cluster_of(&[0, 1, 2]);
    let server = world.put("before");
    let other = (server + 1) % 3;
    // By its name, of another node.
    done(world.control(other).drain(Some(&world.nodes[server].name))).unwrap();
    assert_ne!(world.put("after"), server);
    assert!(world.nodes[server].served.own_refusal.lock().is_some());
    let is_draining = |world: &World, of: usize| world.view(of).member(&world.nodes[server].name).unwrap().is_draining;
    wait_until("others to know it", || is_draining(&world, other));
    done(world.control(server).revive(None)).unwrap();
    assert!(world.nodes[server].served.own_refusal.lock().is_none());
    wait_until("others to know that, too", || !is_draining(&world, other));
}

#[test]
fn nodes_leave_dead_or_alive() {
    let mut world = World::of("leave", 3, true);
    world.start_all();
    world.wait_for_cluster_of(&[0, 1, 2]);
    let server = world.put("of three");
    let (dead, alive) = ((server + 1) % 3, (server + 2) % 3);
    let name = world.nodes[dead].name.clone();
    let running = done(world.control(alive).forget(&name)).unwrap_err();
    assert_eq!(running.to_string(), format!("{name} runs: stop it first, or reset it there"));
    world.stop(dead);
    wait_until("its absence", || !world.view(server).member(&name).unwrap().is_running);
    done(world.control(alive).forget(&name)).unwrap();
    world.wait_for_cluster_of(&[server, alive]);
    // It does not come back by itself.
    world.start(dead);
    wait_until("its refusal", || {
        let standing = world.nodes[dead].served.standing.lock().clone();
        format!("{standing:?}").contains("does not belong to this cluster any more")
    });
    world.put("of two");
    // The leader itself leaves, and what it had stays with the other.
    done(world.control(server).reset(None, false)).unwrap();
    assert!(world.view(server).cluster.is_none());
    world.wait_for_cluster_of(&[alive]);
    world.put("of one");
    assert!(world.has(alive, "of three") && world.has(alive, "of two"));
    assert!(!world.has(server, "of three"));
}

#[test]
fn who_serves_is_told_what_others_are_short_of() {
    let mut world = World::of("alarms", 3, true);
    world.start_all();
    world.wait_for_cluster_of(&[0, 1, 2]);
    let server = world.put("before");
    let other = (server + 1) % 3;
    let low = NodeAlarms { is_disk_low: true, ..NodeAlarms::default() };
    *world.nodes[other].served.alarms.lock() = low;
    let told = |world: &World| world.nodes[server].served.peer_alarms.lock().clone();
    wait_until("an alarm", || told(&world) == [(world.nodes[other].name.clone(), low)]);
    *world.nodes[other].served.alarms.lock() = NodeAlarms::default();
    wait_until("its end", || told(&world).is_empty());
    *world.nodes[other].served.alarms.lock() = low;
    wait_until("another alarm", || !told(&world).is_empty());
    // Who is not there is short of nothing.
    world.stop(other);
    wait_until("its end with the node", || told(&world).is_empty());
}
