//! What a node reports of its cluster: RabbitMQ's `raft_*` of the one group there is, and our own. Alone it reports that it misses none.

use cluster::control::{ClusterMetrics, Control, LaneBytes, MemberMetrics};

use super::families::Owner;
use super::metric::{Table, counter, gauge, nothing, some, write_each};

/// By RabbitMQ's names.
static GROUP: Table<ClusterMetrics> = Table {
    metrics: &[
        gauge("raft_term", "Current Raft term number", |own| some(own.term), nothing),
        gauge("raft_last_index", "Last index of the Raft log", |own| some(own.last_index), nothing),
        gauge(
            "raft_last_written_index",
            "Last index that is on this node's disk",
            |own| some(own.last_written_index),
            nothing,
        ),
        gauge("raft_commit_index", "Highest index that a majority has", |own| some(own.commit_index), nothing),
        gauge("raft_last_applied", "Last applied index", |own| some(own.last_applied), nothing),
        gauge("raft_snapshot_index", "First index of the Raft log", |own| some(own.snapshot_index), nothing),
        gauge(
            "raft_commit_latency_seconds",
            "Time taken for an entry to be written to the Raft log of a majority",
            |own| some(own.commit_latency_s),
            nothing,
        ),
    ],
    labels: |_, _| (),
};

/// What a node alone reports, too.
static PEERS: Table<u64> = Table {
    metrics: &[gauge(
        "unreachable_cluster_peers_count",
        "Nodes of the cluster that this node cannot reach",
        |count| some(*count),
        nothing,
    )],
    labels: |_, _| (),
};

static OWN: Table<ClusterMetrics> = Table {
    metrics: &[
        gauge("cluster_is_leading", "1 on the leader, otherwise 0", |own| some(u64::from(own.is_leading)), nothing),
        counter(
            "cluster_leader_changes_total",
            "How often the leader has changed, as far as this node knows",
            |own| some(own.leader_changes),
            nothing,
        ),
        gauge(
            "cluster_oldest_unacknowledged_seconds",
            "Age of the oldest entry that a majority does not have yet",
            |own| some(own.oldest_unacknowledged_s),
            nothing,
        ),
    ],
    labels: |_, _| (),
};

static MEMBERS: Table<MemberMetrics> = Table {
    metrics: &[
        gauge(
            "cluster_member_lag_bytes",
            "Bytes of the log that a node is behind the leader; only on the leader",
            |member| member.lag_bytes.map(Into::into),
            nothing,
        ),
        gauge(
            "cluster_link_round_trip_seconds",
            "Time that a node takes to answer",
            |member| member.round_trip_s.map(Into::into),
            nothing,
        ),
    ],
    labels: |member, labels| labels.put("peer", member.name.as_str()),
};

static LANES: Table<LaneBytes> = Table {
    metrics: &[
        counter(
            "cluster_link_sent_bytes_total",
            "Bytes that were sent to other nodes",
            |lane| some(lane.sent),
            nothing,
        ),
        counter(
            "cluster_link_received_bytes_total",
            "Bytes that were received from other nodes",
            |lane| some(lane.received),
            nothing,
        ),
    ],
    labels: |lane, labels| labels.put("lane", lane.lane.name()),
};

/// Writes them. None: there can be no cluster.
pub(super) fn write(out: &mut Vec<u8>, control: Option<&dyn Control>) {
    let (rabbitmq, own) = (Owner::Node.prefix(false), Owner::Warren.prefix(false));
    let metrics = control.filter(|control| control.view().cluster.is_some()).map(Control::metrics);
    write_each(out, &PEERS, rabbitmq, &[metrics.as_ref().map_or(0, |metrics| metrics.unreachable_peers)]);
    let Some(metrics) = metrics else { return };
    write_each(out, &MEMBERS, own, &metrics.members);
    write_each(out, &LANES, own, &metrics.lanes);
    let group = [metrics];
    write_each(out, &GROUP, rabbitmq, &group);
    write_each(out, &OWN, own, &group);
}
