//! Connections and channels. RabbitMQ names both by the Erlang process of a channel or connection, in the label `channel`; here it is
//! the name that listings have.

use std::collections::BTreeMap;

use broker::Broker;
use broker::statistics::numbers::{CHANNEL, CONSUMER, CONSUMER_COUNT};
use broker::view::{ChannelView, ConnectionView, EdgeView, NameView};
use telemetry::exposition::{Labels, Value};

use super::metric::{Metric, Table, counter, gauge, nothing, some};
use super::sums::Sums;

const fn of_channels(metrics: &'static [Metric<ChannelView, Sums>]) -> Table<ChannelView, Sums> {
    Table { metrics, labels: |channel, labels| labels.put("channel", &channel.name()) }
}

const fn of_connections(metrics: &'static [Metric<ConnectionView, Sums>]) -> Table<ConnectionView, Sums> {
    fn labels(connection: &ConnectionView, labels: &mut Labels<'_>) {
        labels.put("channel", &connection.name());
    }
    Table { metrics, labels }
}

pub(super) static CHANNELS: Table<ChannelView, Sums> = of_channels(&[
    gauge(
        "channel_consumers",
        "Consumers of a channel",
        |channel| some(channel.consumer_count),
        |sums| some(sums.channels.consumer_count),
    ),
    gauge(
        "channel_messages_unacked",
        "Messages that were delivered to a channel and are not acknowledged",
        |channel| some(channel.unacked_count),
        |sums| some(sums.channels.unacked_count),
    ),
    gauge(
        "channel_messages_unconfirmed",
        "Publishes of a channel that wait for their confirm",
        |channel| some(channel.unconfirmed_count),
        |sums| some(sums.channels.unconfirmed_count),
    ),
    gauge(
        "channel_messages_uncommitted",
        "Publishes of a transaction that has not been committed",
        |channel| some(channel.uncommitted_count),
        |sums| some(sums.channels.uncommitted_count),
    ),
    gauge(
        "channel_acks_uncommitted",
        "Acknowledgements of a transaction that has not been committed",
        |channel| some(channel.uncommitted_ack_count),
        |sums| some(sums.channels.uncommitted_ack_count),
    ),
    gauge(
        "consumer_prefetch",
        "Maximum number of unacknowledged messages of each new consumer of a channel; 0 for no limit",
        |channel| some(channel.prefetch_count),
        |sums| some(sums.channels.prefetch_count),
    ),
    gauge(
        "channel_prefetch",
        "Maximum number of unacknowledged messages of all consumers of a channel together; 0 for no limit",
        |channel| some(channel.global_prefetch_count),
        |sums| some(sums.channels.global_prefetch_count),
    ),
]);

/// One of the numbers that a channel counts, by its name in statistics.
fn number(channel: &ChannelView, name: &str) -> Option<Value> {
    let place = CHANNEL.iter().position(|own| *own == name)?;
    some(channel.numbers().now[place])
}

/// What a channel publishes to one exchange.
pub(super) struct PublishCounts {
    channel: String,
    edge: EdgeView<NameView>,
}

pub(super) fn publishes(broker: &Broker) -> Vec<PublishCounts> {
    let of = |channel: ChannelView| {
        let name = channel.name();
        channel.publishes().into_iter().map(move |edge| PublishCounts { channel: name.clone(), edge })
    };
    broker.channel_views().into_iter().flat_map(of).collect()
}

pub(super) static PUBLISHES: Table<PublishCounts, Sums> = Table {
    metrics: &[counter(
        "channel_messages_published_total",
        "Messages that a channel published to an exchange",
        |publishes| some(publishes.edge.published),
        |sums| some(sums.published_count()),
    )],
    labels: |publishes, labels| {
        labels.put("channel", &publishes.channel);
        labels.put("vhost", &publishes.edge.other.vhost);
        labels.put("exchange", &publishes.edge.other.name);
    },
};

/// What a channel counts for all exchanges together.
pub(super) static ANSWERS: Table<ChannelView, Sums> = of_channels(&[
    counter(
        "channel_messages_confirmed_total",
        "Messages of a channel that were confirmed",
        |channel| number(channel, "confirm"),
        |sums| some(sums.messages.confirmed),
    ),
    counter(
        "channel_messages_unroutable_returned_total",
        "Mandatory messages of a channel that were returned because they were routed to no queue",
        |channel| number(channel, "return_unroutable"),
        |sums| some(sums.messages.returned),
    ),
    counter(
        "channel_messages_unroutable_dropped_total",
        "Messages of a channel that were dropped because they were routed to no queue",
        |channel| number(channel, "drop_unroutable"),
        |sums| some(sums.messages.dropped),
    ),
]);

/// What a channel's gets have fetched, of all queues together.
pub(super) static GETS: Table<ChannelView, Sums> = of_channels(&[
    counter(
        "channel_get_ack_total",
        "Messages that a channel got with acknowledgement",
        |channel| number(channel, "get"),
        |sums| some(sums.handed.got),
    ),
    counter(
        "channel_get_total",
        "Messages that a channel got without acknowledgement",
        |channel| number(channel, "get_no_ack"),
        |sums| some(sums.handed.got_no_ack),
    ),
    counter(
        "channel_get_empty_total",
        "Gets of a channel that found nothing",
        |channel| number(channel, "get_empty"),
        |sums| some(sums.handed.got_empty),
    ),
]);

/// What the consumers of a channel at one queue have been handed.
pub(super) struct ConsumerCounts {
    channel: String,
    vhost: String,
    queue: String,
    numbers: [u64; CONSUMER_COUNT],
}

pub(super) fn consumed(broker: &Broker) -> Vec<ConsumerCounts> {
    let mut found: BTreeMap<(String, String, String), [u64; CONSUMER_COUNT]> = BTreeMap::new();
    for consumer in broker.consumer_views() {
        let channel = format!("{} ({})", consumer.connection.name(), consumer.channel());
        let (vhost, queue) = consumer.queue();
        let sums = found.entry((channel, vhost.to_owned(), queue.to_owned())).or_default();
        sums.iter_mut().zip(consumer.numbers().now).for_each(|(sum, number)| *sum += number);
    }
    let consumed = |((channel, vhost, queue), numbers)| ConsumerCounts { channel, vhost, queue, numbers };
    found.into_iter().map(consumed).collect()
}

fn of_consumer(consumed: &ConsumerCounts, name: &str) -> Option<Value> {
    let place = CONSUMER.iter().position(|own| *own == name)?;
    some(consumed.numbers[place])
}

pub(super) static CONSUMED: Table<ConsumerCounts, Sums> = Table {
    metrics: &[
        counter(
            "channel_messages_delivered_ack_total",
            "Messages that were delivered to consumers with acknowledgement",
            |consumed| of_consumer(consumed, "deliver"),
            |sums| some(sums.handed.delivered),
        ),
        counter(
            "channel_messages_delivered_total",
            "Messages that were delivered to consumers without acknowledgement",
            |consumed| of_consumer(consumed, "deliver_no_ack"),
            |sums| some(sums.handed.delivered_no_ack),
        ),
        counter(
            "channel_messages_redelivered_total",
            "Messages that were redelivered",
            |consumed| of_consumer(consumed, "redeliver"),
            |sums| some(sums.handed.redelivered),
        ),
        counter(
            "channel_messages_acked_total",
            "Messages that were acknowledged",
            |consumed| of_consumer(consumed, "ack"),
            |sums| some(sums.handed.acked),
        ),
    ],
    labels: |consumed, labels| {
        labels.put("channel", &consumed.channel);
        labels.put("vhost", &consumed.vhost);
        labels.put("queue", &consumed.queue);
    },
};

pub(super) static TRAFFIC: Table<ConnectionView, Sums> = of_connections(&[
    counter(
        "connection_incoming_bytes_total",
        "Bytes that were received from clients",
        |connection| some(connection.traffic_len().0),
        |sums| some(sums.messages.received_len),
    ),
    counter(
        "connection_outgoing_bytes_total",
        "Bytes that were sent to clients",
        |connection| some(connection.traffic_len().1),
        |sums| some(sums.messages.sent_len),
    ),
]);

pub(super) static CONNECTIONS: Table<ConnectionView, Sums> = of_connections(&[
    counter(
        "connection_incoming_packets_total",
        "Reads of clients' sockets that returned data",
        |connection| some(connection.traffic_count().0),
        |sums| some(sums.connections.received_count),
    ),
    counter(
        "connection_outgoing_packets_total",
        "Writes to clients' sockets",
        |connection| some(connection.traffic_count().1),
        |sums| some(sums.connections.sent_count),
    ),
    gauge(
        "connection_channels",
        "Channels of a connection",
        |connection| some(connection.channel_count()),
        |sums| some(sums.channels.count),
    ),
]);

/// How many there are of everything; of the node, at every endpoint that reports it.
pub(super) static TOTALS: Table<Sums, Sums> = Table {
    metrics: &[
        gauge("connections", "Open connections", nothing, |sums| some(sums.connections.count)),
        gauge("channels", "Open channels", nothing, |sums| some(sums.channels.count)),
        gauge("consumers", "Consumers of all queues", nothing, |sums| some(sums.consumer_count())),
        gauge("queues", "Number of queues", nothing, |sums| some(sums.queue_count)),
    ],
    labels: |_, _| (),
};
