//! Queues.

use std::sync::Arc;

use broker::statistics::{SIZE_COUNT, SIZES, WAITS};
use broker::view::QueueView;
use telemetry::exposition::{Buckets, Kind, Labels, Name, Value, write_head, write_sample};

use super::metric::{Metric, Table, counter, gauge, nothing, some};
use super::sums::Sums;
use crate::shown_capacity;
use http_server::PIECE_LEN;
use http_server::Pieces;

/// What distinguishes a queue from the others.
pub(super) fn put_queue(queue: &QueueView, labels: &mut Labels<'_>) {
    let definition = queue.definition();
    labels.put("vhost", definition.vhost.as_str());
    labels.put("queue", definition.name.as_str());
}

const fn of_queues(metrics: &'static [Metric<QueueView, Sums>]) -> Table<QueueView, Sums> {
    Table { metrics, labels: put_queue }
}

pub(super) static COARSE: Table<QueueView, Sums> = of_queues(&[
    gauge(
        "queue_messages_ready",
        "Messages that are ready to be delivered",
        |queue| some(queue.ready_count()),
        |sums| some(sums.ready_count()),
    ),
    gauge(
        "queue_messages_unacked",
        "Messages that were delivered and are not acknowledged",
        |queue| some(queue.unacked_count()),
        |sums| some(sums.unacked_count()),
    ),
    gauge(
        "queue_messages",
        "Messages that are ready or unacknowledged",
        |queue| some(queue.ready_count() + queue.unacked_count()),
        |sums| some(sums.ready_count() + sums.unacked_count()),
    ),
]);

const CONSUMERS: Metric<QueueView, Sums> = gauge(
    "queue_consumers",
    "Consumers of a queue",
    |queue| some(queue.consumer_count()),
    |sums| some(sums.consumer_count()),
);

pub(super) static CONSUMER_COUNT: Table<QueueView, Sums> = of_queues(&[CONSUMERS]);

pub(super) static METRICS: Table<QueueView, Sums> = of_queues(&[
    CONSUMERS,
    gauge(
        "queue_consumer_capacity",
        "Fraction of the time in which consumers of a queue could accept messages",
        |queue| some(shown_capacity(queue)),
        nothing,
    ),
    gauge(
        "queue_consumer_utilisation",
        "The same as queue_consumer_capacity",
        |queue| some(shown_capacity(queue)),
        nothing,
    ),
    gauge(
        "queue_messages_bytes",
        "Bytes of the bodies of ready and unacknowledged messages",
        |queue| some(queue.ready_bytes() + queue.unacked_bytes()),
        nothing,
    ),
    gauge(
        "queue_messages_ready_bytes",
        "Bytes of the bodies of ready messages",
        |queue| some(queue.ready_bytes()),
        nothing,
    ),
    gauge(
        "queue_messages_unacked_bytes",
        "Bytes of the bodies of unacknowledged messages",
        |queue| some(queue.unacked_bytes()),
        nothing,
    ),
    counter(
        "queue_disk_reads_total",
        "Messages of a queue that were read from disk",
        |queue| number(queue, "disk_reads"),
        |sums| some(sums.messages.read),
    ),
    counter(
        "queue_disk_writes_total",
        "Messages of a queue that were written to disk",
        |queue| number(queue, "disk_writes"),
        |sums| some(sums.messages.written),
    ),
]);

/// One of the numbers that a queue counts, by its name in statistics.
fn number(queue: &QueueView, name: &str) -> Option<Value> {
    let place = broker::statistics::numbers::QUEUE.iter().position(|own| *own == name)?;
    some(queue.numbers().now[place])
}

pub(super) static DELIVERIES: Table<QueueView, Sums> = of_queues(&[
    counter(
        "queue_get_ack_total",
        "Messages that were got from a queue with acknowledgement",
        |queue| number(queue, "get"),
        |sums| some(sums.handed.got),
    ),
    counter(
        "queue_get_total",
        "Messages that were got from a queue without acknowledgement",
        |queue| number(queue, "get_no_ack"),
        |sums| some(sums.handed.got_no_ack),
    ),
    counter(
        "queue_messages_delivered_ack_total",
        "Messages of a queue that were delivered to consumers with acknowledgement",
        |queue| number(queue, "deliver"),
        |sums| some(sums.handed.delivered),
    ),
    counter(
        "queue_messages_delivered_total",
        "Messages of a queue that were delivered to consumers without acknowledgement",
        |queue| number(queue, "deliver_no_ack"),
        |sums| some(sums.handed.delivered_no_ack),
    ),
    counter(
        "queue_messages_redelivered_total",
        "Messages of a queue that were redelivered",
        |queue| number(queue, "redeliver"),
        |sums| some(sums.handed.redelivered),
    ),
    counter(
        "queue_messages_acked_total",
        "Messages of a queue that were acknowledged",
        |queue| number(queue, "ack"),
        |sums| some(sums.handed.acked),
    ),
    counter(
        "queue_get_empty_total",
        "Gets that found no message in a queue",
        |queue| number(queue, "get_empty"),
        |sums| some(sums.handed.got_empty),
    ),
]);

/// From which exchanges messages come to queues; a queue after the other.
pub(super) struct Incoming {
    pub(super) prefix: &'static str,
    pub(super) queues: Arc<Vec<QueueView>>,
    /// How many are done. None: its head is not.
    pub(super) done_count: Option<usize>,
}

/// The same of all queues together: what they are called, and what it means.
pub(super) const INCOMING: (&str, &str) =
    ("queue_exchange_messages_published_total", "Messages that were routed to a queue by an exchange");

impl Pieces for Incoming {
    fn write_next(&mut self, out: &mut Vec<u8>) -> bool {
        let name = Name { prefix: self.prefix, name: INCOMING.0, suffix: "" };
        if self.done_count.is_none() {
            write_head(out, name, Kind::Counter, INCOMING.1);
        }
        let done_count = self.done_count.get_or_insert(0);
        while let Some(queue) = self.queues.get(*done_count) {
            *done_count += 1;
            for edge in queue.incoming() {
                let labels = |labels: &mut Labels<'_>| {
                    labels.put("vhost", queue.definition().vhost.as_str());
                    labels.put("exchange", &edge.other.name);
                    labels.put("queue", queue.definition().name.as_str());
                };
                write_sample(out, name, labels, edge.published.into());
            }
            if out.len() >= PIECE_LEN {
                return true;
            }
        }
        false
    }
}

/// How large messages of a queue were.
pub(super) fn sizes(queue: &QueueView) -> Option<Buckets> {
    let sizes = queue.sizes();
    (sizes.count() > 0).then(|| buckets_of_sizes(&sizes))
}

/// A histogram of sizes, in bytes.
pub(super) fn buckets_of_sizes(sizes: &telemetry::Buckets<SIZE_COUNT>) -> Buckets {
    Buckets {
        bounds: SIZES.bounds().iter().map(|bound| *bound as f64).collect(),
        counts: sizes.counts.to_vec(),
        sum: sizes.sum.into(),
    }
}

/// How long messages waited in a queue that have left it, in seconds.
pub(super) fn waits(queue: &QueueView) -> Option<Buckets> {
    let waits = queue.waits();
    (waits.count() > 0).then(|| Buckets {
        bounds: WAITS.bounds().iter().map(|bound| *bound as f64 / 1e3).collect(),
        counts: waits.counts.to_vec(),
        sum: Value::Real(waits.sum as f64 / 1e3),
    })
}

pub(super) static INFO: Table<QueueView, Sums> = Table {
    metrics: &[Metric {
        name: "queue_info",
        kind: Kind::Gauge,
        help: "Always 1; its labels contain a queue's type",
        each: |_| some(1_u64),
        sum: nothing,
    }],
    labels: |queue, labels| {
        put_queue(queue, labels);
        labels.put("queue_type", queue.definition().arguments.queue_type().module());
        labels.put("membership", "leader");
    },
};

/// What only Warren counts.
pub(super) static OWN: Table<QueueView, Sums> = of_queues(&[
    Metric {
        name: "queue_messages_received_total",
        kind: Kind::Counter,
        help: "Messages that entered a queue",
        each: |queue| number(queue, "publish"),
        sum: |sums| some(sums.messages.routed),
    },
    Metric {
        name: "queue_messages_dropped_total",
        kind: Kind::Counter,
        help: "Messages that a queue dropped or dead-lettered: expired, too many, rejected, or failed too often",
        each: |queue| some(queue.dropped_count()),
        sum: nothing,
    },
    Metric {
        name: "queue_messages_refused_total",
        kind: Kind::Counter,
        help: "Publishes that a queue refused, because it was full",
        each: |queue| some(queue.loss_counts().refused),
        sum: nothing,
    },
    Metric {
        name: "queue_messages_came_round_total",
        kind: Kind::Counter,
        help: "Dead letters that returned to a queue that had dead-lettered them before",
        each: |queue| some(queue.came_round_count()),
        sum: nothing,
    },
    Metric {
        name: "queue_messages_deduplicated_total",
        kind: Kind::Counter,
        help: "Messages that a queue dropped as duplicates",
        each: |queue| queue.deduplicated_count().map(Value::from),
        sum: nothing,
    },
]);
