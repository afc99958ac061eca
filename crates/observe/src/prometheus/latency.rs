//! What the latency of messages consists of: how long they were in each stage, and which clients are far away.

use broker::Broker;
use broker::statistics::{Stage, StageCounts};
use broker::view::SlowConnection;
use telemetry::LatencyCounts;
use telemetry::exposition::{Buckets, Kind, Labels, Name, Value, write_buckets, write_head};

use super::metric::{Table, gauge, nothing, some, write_each};
use super::scope::Scope;

/// Connections that are reported one by one: those with the longest round trips.
const SLOWEST_COUNT: usize = 5;

/// Bounds are so many doublings of a microsecond, as they are counted: from 16 microseconds to 4 seconds.
const POWERS: [u32; 10] = [4, 6, 8, 10, 12, 14, 16, 18, 20, 22];

/// What was counted of one stage somewhere.
pub(super) struct StageOf {
    vhost: String,
    /// None: of the whole vhost.
    queue: Option<String>,
    stage: Stage,
    counts: LatencyCounts,
}

impl StageOf {
    fn all(vhost: &str, queue: Option<&str>, counts: StageCounts) -> impl Iterator<Item = StageOf> {
        let (vhost, queue) = (vhost.to_owned(), queue.map(str::to_owned));
        Stage::ALL.into_iter().zip(counts).map(move |(stage, counts)| StageOf {
            vhost: vhost.clone(),
            queue: queue.clone(),
            stage,
            counts,
        })
    }

    pub(super) fn labels(&self, labels: &mut Labels<'_>) {
        labels.put("vhost", &self.vhost);
        if let Some(queue) = &self.queue {
            labels.put("queue", queue);
        }
        labels.put("stage", self.stage.name());
    }

    /// None where nothing has been counted.
    pub(super) fn buckets(&self) -> Option<Buckets> {
        (self.counts.count() > 0).then(|| buckets_of(&self.counts))
    }
}

fn buckets_of(counts: &LatencyCounts) -> Buckets {
    let mut below = 0;
    let mut each: Vec<u64> = POWERS
        .iter()
        .map(|power| counts.count_below(*power) - std::mem::replace(&mut below, counts.count_below(*power)))
        .collect();
    each.push(counts.count() - below);
    Buckets {
        bounds: POWERS.iter().map(|power| f64::from(1_u32 << power) / 1e6).collect(),
        counts: each,
        sum: Value::Real(counts.sum_ns() as f64 / 1e9),
    }
}

/// Of the vhosts that are asked for.
pub(super) fn of_vhosts(scope: &Scope) -> Vec<StageOf> {
    let broker = &scope.subject.broker;
    let vhosts = broker.vhost_names().into_iter().filter(|vhost| scope.filter.wants_vhost(vhost.as_str()));
    let of = |vhost: model::name::VhostName| {
        broker
            .stage_counts_of_vhost(vhost.as_str())
            .into_iter()
            .flat_map(move |counts| StageOf::all(vhost.as_str(), None, counts).collect::<Vec<_>>())
    };
    vhosts.flat_map(of).collect()
}

/// Of the watched ones of the queues that are asked for.
pub(super) fn of_queues(scope: &Scope) -> Vec<StageOf> {
    let watched = scope.subject.broker.watched_queues().into_iter().filter(|queue| {
        let definition = queue.definition();
        scope.filter.wants_vhost(definition.vhost.as_str()) && scope.filter.wants_queue(definition.name.as_str())
    });
    let of = |queue: broker::view::QueueView| {
        let (vhost, name) = (queue.definition().vhost.as_str(), queue.definition().name.as_str());
        queue.stage_counts().into_iter().flat_map(|counts| StageOf::all(vhost, Some(name), counts)).collect::<Vec<_>>()
    };
    watched.flat_map(of).collect()
}

static SLOWEST: Table<SlowConnection> = Table {
    metrics: &[
        gauge(
            "slowest_connection_round_trip_seconds",
            "The kernel's round-trip time of the connections with the longest",
            |slow| some(Value::Real(slow.tcp.round_trip.as_secs_f64())),
            nothing,
        ),
        gauge(
            "slowest_connection_round_trip_variation_seconds",
            "Variation of the round-trip time",
            |slow| some(Value::Real(slow.tcp.round_trip_variation.as_secs_f64())),
            nothing,
        ),
        gauge(
            "slowest_connection_retransmits",
            "Segments that the kernel has retransmitted to these connections",
            |slow| some(u64::from(slow.tcp.retransmits)),
            nothing,
        ),
    ],
    labels: |slow, labels| labels.put("connection", &slow.connection.name()),
};

/// Writes what is reported of the node as a whole.
pub(super) fn write(out: &mut Vec<u8>, prefix: &'static str, broker: &Broker) {
    let name = Name { prefix, name: "latency_stage_seconds", suffix: "" };
    write_head(out, name, Kind::Histogram, "Time that messages spent in each stage; from a sample");
    for (stage, counts) in Stage::ALL.into_iter().zip(broker.stage_counts()) {
        write_buckets(out, name, |labels| labels.put("stage", stage.name()), &buckets_of(&counts));
    }
    write_each(out, &SLOWEST, prefix, &broker.slowest_connections(SLOWEST_COUNT));
}
