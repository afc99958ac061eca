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
    // It does not come back unasked.
    world.start(dead);
    wait_until("its refusal", || {
        let situation = world.nodes[dead].served.situation.lock().clone();
        format!("{situation:?}").contains("no longer belongs to this cluster")
    });
    world.put("of two");
    // The leader itself leaves, and what it had stays with the other. It no longer has a list.
    world.stop(server);
    world.listed = Vec::new();
    world.start(server);
    world.wait_for_cluster_of(&[server, alive]);
    world.put("of two again");
    done(world.control(server).reset(None, false)).unwrap();
    assert!(world.view(server).cluster.is_none());
    world.wait_for_cluster_of(&[alive]);
    world.put("of one");
    wait_until("what the other has", || world.has(alive, "of three") && world.has(alive, "of two"));
    assert!(!world.has(server, "of three"));
}

fn servers(world: &World) -> Vec<usize> {
    (0..3).filter(|number| world.nodes[*number].served.is_serving()).collect()
}

#[test]
fn a_node_that_is_reset_asks_its_peers_again() {
    let mut world = World::of("reset", 3, true);
    world.start_all();
    world.wait_for_cluster_of(&[0, 1, 2]);
    let server = world.put("of three");
    for (round, number) in [(server + 1) % 3, server].into_iter().enumerate() {
        let view = world.view(number);
        let (cluster, before) = (view.cluster, view.member(&world.nodes[number].name).unwrap().member);
        done(world.control(number).reset(None, round == 1)).unwrap();
        wait_until("another member in the same cluster", || {
            assert!(servers(&world).len() <= 1, "{:?} serve", servers(&world));
            let view = world.view(number);
            let member = view.member(&world.nodes[number].name).map(|own| own.member);
            view.cluster == cluster && member != Some(before)
        });
        world.wait_for_cluster_of(&[0, 1, 2]);
        world.stop(number);
        world.start(number);
        world.wait_for_cluster_of(&[0, 1, 2]);
        world.put(&format!("after round {round}"));
    }
}

#[test]
fn nodes_that_are_all_reset_are_one_cluster_or_wait() {
    let mut world = World::of("all-reset", 3, true);
    world.start_all();
    world.wait_for_cluster_of(&[0, 1, 2]);
    let server = world.put("of three");
    // Each is asked once; some are still joining what another one leaves.
    for number in [(server + 1) % 3, server, (server + 2) % 3] {
        let _ = done(world.control(number).reset(None, true));
    }
    for round in 0..2 {
        let until = Instant::now() + Duration::from_secs(3);
        while Instant::now() < until {
            assert!(servers(&world).len() <= 1, "round {round}: {:?} serve", servers(&world));
            std::thread::sleep(Duration::from_millis(5));
        }
        (0..3).for_each(|number| world.stop(number));
        world.start_all();
    }
    let clusters: std::collections::BTreeSet<_> =
        (0..3).filter_map(|number| world.view(number).cluster).map(|cluster| cluster.get()).collect();
    assert!(clusters.len() <= 1, "{clusters:?}");
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
    let alarms = |world: &World| world.nodes[server].served.peer_alarms.lock().clone();
    wait_until("an alarm", || alarms(&world) == [(world.nodes[other].name.clone(), low)]);
    *world.nodes[other].served.alarms.lock() = NodeAlarms::default();
    wait_until("its end", || alarms(&world).is_empty());
    *world.nodes[other].served.alarms.lock() = low;
    wait_until("another alarm", || !alarms(&world).is_empty());
    // A node that does not run is short of nothing.
    world.stop(other);
    wait_until("its end with the node", || alarms(&world).is_empty());
}

#[test]
fn a_node_that_is_nowhere_is_told_within_seconds_with_the_reason() {
    let mut world = World::of("nowhere", 1, false);
    world.start(0);
    wait_until("service", || world.server().is_some());
    for (seed, reason) in [
        ("hare9@no.such.host.invalid=no.such.host.invalid:25672", "no.such.host.invalid"),
        ("hare9@127.0.0.1=127.0.0.1:1", "refused"),
        ("127.0.0.1:1", "refused"),
    ] {
        let since = Instant::now();
        let error = done(world.control(0).join(seed, true)).unwrap_err().to_string();
        assert!(error.contains("cannot be reached: ") && error.contains(reason), "{seed}: {error}");
        assert!(since.elapsed() < Duration::from_secs(40), "{seed}: {:?}", since.elapsed());
    }
}

#[test]
fn a_node_with_another_secret_is_told_so() {
    let mut world = World::of("secrets", 2, false);
    world.start(0);
    world.secret = "what no other node knows";
    world.start(1);
    wait_until("service", || world.nodes.iter().all(|node| node.served.situation.lock().is_none()));
    let port = world.control(0).links().address().port();
    let seed = format!("{}=127.0.0.1:{port}", world.nodes[0].name);
    let since = Instant::now();
    let error = done(world.control(1).join(&seed, true)).unwrap_err().to_string();
    assert!(error.contains("the secrets of the two differ"), "{error}");
    assert!(since.elapsed() < Duration::from_secs(40), "{:?}", since.elapsed());
}

#[test]
fn who_is_reset_by_name_is_out_and_the_order_says_so() {
    let mut world = World::of("reset-by-name", 3, true);
    world.start_all();
    world.wait_for_cluster_of(&[0, 1, 2]);
    let server = world.put("of three");
    let (leaver, asked) = ((server + 1) % 3, (server + 2) % 3);
    let name = world.nodes[leaver].name.clone();
    done(world.control(asked).reset(Some(&name), false)).unwrap();
    assert!(world.view(asked).member(&name).is_none(), "who is asked next does not list it");
}

#[test]
fn the_recipe_by_which_a_node_joins_works_from_its_first_line_to_its_last() {
    let mut world = World::of("recipe", 2, false);
    world.start_all();
    wait_until("service", || world.nodes.iter().all(|node| node.cluster.as_ref().unwrap().view().leader.is_some()));
    let refusal = |world: &World| world.nodes[1].served.own_refusal.lock().clone();
    done(world.control(1).run_app(None, false)).unwrap();
    assert!(refusal(&world).unwrap().contains("start_app"));
    assert_eq!(*world.nodes[1].served.close_count.lock(), 1, "those that it served are closed");
    assert!(done(world.control(1).revive(None)).is_err());
    done(world.control(1).reset(None, false)).unwrap();
    assert!(refusal(&world).is_some(), "it serves no clients after the reset");
    let port = world.control(0).links().address().port();
    let seed = format!("{}=127.0.0.1:{port}", world.nodes[0].name);
    done(world.control(1).join(&seed, false)).unwrap();
    world.wait_for_cluster_of(&[0, 1]);
    assert!(refusal(&world).is_some());
    done(world.control(1).run_app(None, true)).unwrap();
    assert!(refusal(&world).is_none());
}

#[test]
fn a_follower_knows_how_far_all_are() {
    let mut world = World::of("follower-lag", 3, true);
    world.start_all();
    world.wait_for_cluster_of(&[0, 1, 2]);
    let server = world.put("something");
    let follower = (server + 1) % 3;
    let knows = || world.view(follower).members.iter().all(|member| member.log.is_some_and(|log| log.lag_entries == 0));
    wait_until("that no node is behind", knows);
}
