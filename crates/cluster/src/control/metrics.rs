//! What is measured of a cluster at one of its nodes.

use crate::wire::{Lane, NodeName};

/// What is measured here.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ClusterMetrics {
    /// The term.
    pub term: u64,
    /// The last entry of this node's log.
    pub last_index: u64,
    /// The last one that its disk has.
    pub last_written_index: u64,
    /// The last one that is committed, as far as it knows.
    pub commit_index: u64,
    /// The last one that has taken effect.
    pub last_applied: u64,
    /// Where its log begins.
    pub snapshot_index: u64,
    /// How long the last entries took from the writer to a majority's disks.
    pub commit_latency_s: f64,
    /// How long the oldest entry waits that is not committed; 0: there is none.
    pub oldest_unacknowledged_s: f64,
    /// How often another node has come to lead, as far as this one knows.
    pub leader_changes: u64,
    /// Whether this node leads.
    pub is_leading: bool,
    /// Peers that cannot be reached.
    pub unreachable_peers: u64,
    /// The other nodes.
    pub members: Vec<MemberMetrics>,
    /// What links have carried.
    pub lanes: Vec<LaneBytes>,
}

/// What is measured of another node.
#[derive(Debug, Clone, PartialEq)]
pub struct MemberMetrics {
    /// Its name.
    pub name: NodeName,
    /// Bytes of the log that it is behind; only a leader knows it.
    pub lag_bytes: Option<u64>,
    /// How long an answer takes.
    pub round_trip_s: Option<f64>,
}

/// What a lane has carried, to and from all others together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaneBytes {
    /// Which.
    pub lane: Lane,
    /// Bytes that were sent.
    pub sent: u64,
    /// Bytes that have come.
    pub received: u64,
}
