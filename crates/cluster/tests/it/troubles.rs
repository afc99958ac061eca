//! What is wrong with a cluster, in sentences.

use std::sync::Arc;

use cluster::control::{ClusterView, Control as _, LogView, TroubleKind};

use super::fake_control::FakeControl;

#[track_caller]
fn check(change: impl FnOnce(&mut ClusterView), expected: &[(TroubleKind, &str)]) {
    let control = FakeControl::of(&["rabbit@a", "rabbit@b", "rabbit@c"]);
    control.show(change);
    let view: Arc<ClusterView> = control.view();
    let found = view.troubles();
    let shown: Vec<_> = found.iter().map(|trouble| (trouble.kind, trouble.text.as_str())).collect();
    assert_eq!(shown, expected);
}

#[test]
fn a_cluster_that_is_well_has_no_troubles() {
    check(|_| (), &[]);
    check(|view| view.members[1].silent_ms = Some(4_999), &[]);
    check(|view| view.members[1].clock_ahead_ms = Some(-29_999), &[]);
    let alone = |view: &mut ClusterView| {
        view.cluster = None;
        view.members[1].is_running = false;
    };
    check(alone, &[]);
}

#[test]
fn who_is_dead_or_silent_is_named_with_what_is_left() {
    let text = "rabbit@b does not run, or cannot be reached; 2 of 3 nodes are well, and 2 are needed.";
    check(|view| view.members[1].is_running = false, &[(TroubleKind::Down, text)]);
    let text = "rabbit@c is connected and has not answered for 61 s: it is stopped, hangs, or is cut off; 2 of 3 nodes are well, \
                and 2 are needed.";
    check(|view| view.members[2].silent_ms = Some(61_000), &[(TroubleKind::Silent, text)]);
}

#[test]
fn who_does_not_keep_up_is_named() {
    let lag = |change: fn(&mut LogView)| move |view: &mut ClusterView| change(view.members[2].log.as_mut().unwrap());
    let text = "rabbit@c is 40 entries (17 MiB) behind the leader.";
    check(lag(|log| (log.lag_entries, log.lag_bytes) = (40, 17 << 20)), &[(TroubleKind::Lagging, text)]);
    let text = "rabbit@c is 2 entries (0 MiB) behind the leader, and has taken nothing for 9 s: is its disk well?";
    check(lag(|log| (log.lag_entries, log.unacknowledged_ms) = (2, Some(9_000))), &[(TroubleKind::Lagging, text)]);
}

#[test]
fn whose_clock_is_off_is_named() {
    let text = "The clock of rabbit@b is 60 min ahead of that of rabbit@a.";
    check(|view| view.members[1].clock_ahead_ms = Some(3_600_020), &[(TroubleKind::Clock, text)]);
    let text = "The clock of rabbit@b is 31 s behind that of rabbit@a.";
    check(|view| view.members[1].clock_ahead_ms = Some(-31_000), &[(TroubleKind::Clock, text)]);
}

#[test]
fn that_nothing_can_be_decided_comes_first() {
    let text = "rabbit@a reaches 1 of 3 nodes, itself included, which is no majority: it serves nothing.";
    let down = |name| format!("{name} does not run, or cannot be reached; 1 of 3 nodes are well, and 2 are needed.");
    check(
        |view| {
            view.has_majority = false;
            view.leader = None;
            view.members[1..].iter_mut().for_each(|member| member.is_running = false);
        },
        &[
            (TroubleKind::NoLeader, text),
            (TroubleKind::Down, &down("rabbit@b")),
            (TroubleKind::Down, &down("rabbit@c")),
        ],
    );
    check(|view| view.leader = None, &[(TroubleKind::NoLeader, "No node leads the cluster at the moment.")]);
}
