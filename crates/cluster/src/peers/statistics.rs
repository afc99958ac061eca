//! What links count.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use telemetry::Counter;

use crate::wire::{Identity, Lane, NodeName};

/// One lane of one peer.
#[derive(Debug, Default)]
pub(super) struct LaneCounters {
    pub(super) frames_sent: Counter,
    pub(super) bytes_sent: Counter,
    pub(super) frames_received: Counter,
    pub(super) bytes_received: Counter,
    pub(super) dropped: Counter,
    pub(super) connects: Counter,
    is_connected: AtomicBool,
}

impl LaneCounters {
    pub(super) fn set_connected(&self, is_connected: bool) {
        self.is_connected.store(is_connected, Ordering::Relaxed);
    }

    fn read(&self, lane: Lane) -> LaneStatistics {
        LaneStatistics {
            lane,
            is_connected: self.is_connected.load(Ordering::Relaxed),
            connects: self.connects.get(),
            frames_sent: self.frames_sent.get(),
            bytes_sent: self.bytes_sent.get(),
            frames_received: self.frames_received.get(),
            bytes_received: self.bytes_received.get(),
            dropped: self.dropped.get(),
        }
    }
}

/// One peer.
#[derive(Debug, Default)]
pub(super) struct PeerCounters {
    lanes: [LaneCounters; Lane::ALL.len()],
    failures: Mutex<(u64, Option<String>)>,
    round_trips: Mutex<RoundTrips>,
}

impl PeerCounters {
    pub(super) fn lane(&self, lane: Lane) -> &LaneCounters {
        &self.lanes[Lane::ALL.iter().position(|other| *other == lane).expect("all lanes are there")]
    }

    pub(super) fn count_failure(&self, reason: &str) {
        let mut failures = self.failures.lock();
        failures.0 += 1;
        failures.1 = Some(reason.to_owned());
    }

    pub(super) fn failures(&self) -> (u64, Option<String>) {
        self.failures.lock().clone()
    }

    pub(super) fn count_round_trip(&self, took: Duration) {
        let mut trips = self.round_trips.lock();
        trips.count += 1;
        trips.total += took;
        trips.longest = trips.longest.max(took);
        trips.last = took;
    }

    pub(super) fn read(&self, name: &NodeName, identity: Option<Identity>) -> PeerStatistics {
        let (failures, last_failure) = self.failures();
        PeerStatistics {
            name: name.clone(),
            identity,
            lanes: Lane::ALL.map(|lane| self.lane(lane).read(lane)),
            failures,
            last_failure,
            round_trips: *self.round_trips.lock(),
        }
    }
}

/// One lane of one peer, since the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaneStatistics {
    /// Which.
    pub lane: Lane,
    /// Whether this node has a connection to the peer. Those of files and clients' streams are opened as needed.
    pub is_connected: bool,
    /// Connections that came about, dialled by this node.
    pub connects: u64,
    /// Frames sent.
    pub frames_sent: u64,
    /// Bytes sent. Of clients' streams: of headers only.
    pub bytes_sent: u64,
    /// Frames received.
    pub frames_received: u64,
    /// Bytes received. Of clients' streams: of headers only.
    pub bytes_received: u64,
    /// Messages that were not sent: too much waited, or there was no connection.
    pub dropped: u64,
}

/// How long answers to calls took.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RoundTrips {
    /// So many answers.
    pub count: u64,
    /// All together.
    pub total: Duration,
    /// The longest.
    pub longest: Duration,
    /// The last.
    pub last: Duration,
}

/// One peer, since the start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerStatistics {
    /// Which.
    pub name: NodeName,
    /// The identity that it reported when it was connected last.
    pub identity: Option<Identity>,
    /// By lane.
    pub lanes: [LaneStatistics; Lane::ALL.len()],
    /// Attempts to connect that came to nothing, refusals by either side included.
    pub failures: u64,
    /// Why the last one did.
    pub last_failure: Option<String>,
    /// Of calls.
    pub round_trips: RoundTrips,
}

impl PeerStatistics {
    /// Whether this node has a connection to the peer on a lane.
    #[must_use]
    pub fn is_connected(&self, lane: Lane) -> bool {
        self.lanes.iter().any(|of| of.lane == lane && of.is_connected)
    }
}
