//! What has happened to messages on the whole node: RabbitMQ's global counters, by protocol and by type of queue.
//!
//! Series are there from the start, at zero, so that the first increase is not missed.

use broker::statistics::{DeathStrategy, OfType, REASONS};
use model::arguments::QueueType;
use telemetry::exposition::{Kind, Labels, Name, write_buckets, write_head, write_sample};

use super::metric::{Table, counter, gauge, nothing, some, write_each};
use super::queues::buckets_of_sizes;
use super::sums::Sums;

/// What RabbitMQ calls the one protocol that there is.
pub(super) const PROTOCOL: &str = "amqp091";

/// What clients of a protocol do.
static OF_PROTOCOL: Table<Sums> = Table {
    metrics: &[
        gauge("global_consumers", "Number of consumers", |sums| some(sums.consumer_count()), nothing),
        gauge("global_publishers", "Channels that have published", |sums| some(sums.channels.publisher_count), nothing),
        counter(
            "global_messages_received_total",
            "Messages that were published",
            |sums| some(sums.published_count()),
            nothing,
        ),
        counter(
            "global_messages_received_confirm_total",
            "Messages that were published on channels in confirm mode",
            |sums| some(sums.messages.published_to_confirm),
            nothing,
        ),
        counter(
            "global_messages_routed_total",
            "Messages that were routed to queues, counted once per queue",
            |sums| some(sums.messages.routed),
            nothing,
        ),
        counter(
            "global_messages_confirmed_total",
            "Messages that were confirmed",
            |sums| some(sums.messages.confirmed),
            nothing,
        ),
        counter(
            "global_messages_unroutable_dropped_total",
            "Messages that were routed to no queue and dropped",
            |sums| some(sums.messages.dropped),
            nothing,
        ),
        counter(
            "global_messages_unroutable_returned_total",
            "Mandatory messages that were routed to no queue and returned",
            |sums| some(sums.messages.returned),
            nothing,
        ),
    ],
    labels: |_, labels| labels.put("protocol", PROTOCOL),
};

/// What was handed out of queues of one type.
struct Type {
    kind: QueueType,
    handed: OfType,
}

static OF_TYPE: Table<Type> = Table {
    metrics: &[
        counter(
            "global_messages_delivered_total",
            "Messages that were delivered, by any method",
            |of| some(of.handed.delivered + of.handed.delivered_no_ack + of.handed.got + of.handed.got_no_ack),
            nothing,
        ),
        counter(
            "global_messages_delivered_consume_manual_ack_total",
            "Messages that were delivered to consumers with acknowledgement",
            |of| some(of.handed.delivered),
            nothing,
        ),
        counter(
            "global_messages_delivered_consume_auto_ack_total",
            "Messages that were delivered to consumers without acknowledgement",
            |of| some(of.handed.delivered_no_ack),
            nothing,
        ),
        counter(
            "global_messages_delivered_get_manual_ack_total",
            "Messages that were got with acknowledgement",
            |of| some(of.handed.got),
            nothing,
        ),
        counter(
            "global_messages_delivered_get_auto_ack_total",
            "Messages that were got without acknowledgement",
            |of| some(of.handed.got_no_ack),
            nothing,
        ),
        counter(
            "global_messages_get_empty_total",
            "Gets that found no message",
            |of| some(of.handed.got_empty),
            nothing,
        ),
        counter(
            "global_messages_redelivered_total",
            "Messages that were redelivered",
            |of| some(of.handed.redelivered),
            nothing,
        ),
        counter(
            "global_messages_acknowledged_total",
            "Messages that were acknowledged by clients",
            |of| some(of.handed.acked),
            nothing,
        ),
    ],
    labels: |of, labels| {
        labels.put("protocol", PROTOCOL);
        labels.put("queue_type", of.kind.module());
    },
};

/// Writes all.
pub(super) fn write(out: &mut Vec<u8>, prefix: &'static str, sums: &Sums) {
    let messages = &sums.messages;
    let types = [(QueueType::Classic, messages.classic), (QueueType::Quorum, messages.quorum)]
        .map(|(kind, handed)| Type { kind, handed });
    write_each(out, &OF_PROTOCOL, prefix, std::slice::from_ref(sums));
    write_each(out, &OF_TYPE, prefix, &types);
    for (place, reason) in REASONS.into_iter().enumerate() {
        write_deaths(out, prefix, place, reason, &types);
    }
    let name = Name { prefix, name: "global_messages_dead_lettered_confirmed_total", suffix: "" };
    write_head(out, name, Kind::Counter, "Dead letters of at-least-once queues that a target queue has confirmed");
    let labels = |labels: &mut Labels<'_>| put_death(labels, QueueType::Quorum, DeathStrategy::AtLeastOnce);
    write_sample(out, name, labels, messages.quorum.deaths_confirmed.into());
    write_sizes(out, prefix, sums);
}

fn put_death(labels: &mut Labels<'_>, kind: QueueType, strategy: DeathStrategy) {
    labels.put("queue_type", kind.module());
    labels.put("dead_letter_strategy", strategy.name());
}

fn write_deaths(out: &mut Vec<u8>, prefix: &'static str, place: usize, reason: &str, types: &[Type]) {
    let (name, help) = match reason {
        "rejected" => (
            "global_messages_dead_lettered_rejected_total",
            "Messages that were dead-lettered because they were rejected",
        ),
        "expired" => {
            ("global_messages_dead_lettered_expired_total", "Messages that were dead-lettered because they expired")
        }
        "maxlen" => (
            "global_messages_dead_lettered_maxlen_total",
            "Messages that were dead-lettered because of a queue's length limit",
        ),
        _ => (
            "global_messages_dead_lettered_delivery_limit_total",
            "Messages that were dead-lettered because of the delivery limit",
        ),
    };
    let name = Name { prefix, name, suffix: "" };
    write_head(out, name, Kind::Counter, help);
    for of in types {
        for (strategy, count) in DeathStrategy::ALL.into_iter().zip(of.handed.deaths[place]) {
            if can_die(of.kind, reason, strategy) {
                write_sample(out, name, |labels| put_death(labels, of.kind, strategy), count.into());
            }
        }
    }
}

/// Whether queues of this type give up messages so. Only quorum queues look after dead letters and count deliveries; a queue that looks
/// after dead letters drops none for its length, but refuses what comes.
fn can_die(kind: QueueType, reason: &str, strategy: DeathStrategy) -> bool {
    match kind {
        QueueType::Quorum => reason != "maxlen" || strategy != DeathStrategy::AtLeastOnce,
        _ => reason != "delivery_limit" && strategy != DeathStrategy::AtLeastOnce,
    }
}

fn write_sizes(out: &mut Vec<u8>, prefix: &'static str, sums: &Sums) {
    let name = Name { prefix, name: "message_size_bytes", suffix: "" };
    write_head(out, name, Kind::Histogram, "Messages that were published, by the length of their bodies");
    write_buckets(out, name, |labels| labels.put("protocol", PROTOCOL), &buckets_of_sizes(&sums.messages.sizes));
}
