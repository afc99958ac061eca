//! From where messages come, and where they are sent: the lists `publishes`, `incoming`, `outgoing` and `deliveries` of single objects.

use std::sync::Arc;

use broker::statistics::numbers::CONSUMER;
use broker::view::{ConnectionView, ConsumerView, EdgeView, NameView, PublisherView};

use super::channels::write_peer;
use crate::json::{Object, Writer};
use crate::service::Service;
use crate::statistics::{Ranges, Stats};

/// Where messages go; nothing where there are no rates, as in RabbitMQ.
pub(super) fn ways<T>(ranges: Option<&Arc<Ranges>>, found: impl FnOnce() -> Vec<T>) -> Vec<T> {
    ranges.map_or_else(Vec::new, |_| found())
}

/// What has been published on the way.
fn write_published(members: &mut Object<'_>, published: u64, rate: f64) {
    members.cell("stats").object(|stats| {
        stats.cell("publish").int(published);
        stats.cell("publish_details").object(|details| details.cell("rate").float(rate));
    });
}

fn write_name(members: &mut Object<'_>, kind: &str, name: &NameView) {
    members.cell(kind).object(|members| {
        members.cell("name").text(&name.name);
        members.cell("vhost").text(&name.vhost);
    });
}

/// From, or to, an exchange.
pub(super) fn write_exchange(edge: &EdgeView<NameView>, writer: Writer<'_>) {
    writer.object(|members| {
        write_published(members, edge.published, edge.rate);
        write_name(members, "exchange", &edge.other);
    });
}

/// To a queue.
pub(super) fn write_queue(edge: &EdgeView<NameView>, writer: Writer<'_>) {
    writer.object(|members| {
        write_published(members, edge.published, edge.rate);
        write_name(members, "queue", &edge.other);
    });
}

/// From a channel.
pub(super) fn write_publisher(publisher: &PublisherView, service: &Service, writer: Writer<'_>) {
    writer.object(|members| {
        write_published(members, publisher.published, publisher.rate);
        members.cell("channel_details").object(|members| {
            write_channel(&publisher.channel.connection, publisher.channel.number, service, members);
        });
    });
}

fn write_handed(members: &mut Object<'_>, consumer: &ConsumerView) {
    let numbers = consumer.numbers();
    let stats = Stats { names: &CONSUMER, numbers: &numbers, samples: None };
    members.cell("stats").object(|members| stats.write_delivered(members));
}

/// What a consumer has been handed, with its queue.
pub(super) fn write_to_queue(consumer: &ConsumerView, writer: Writer<'_>) {
    writer.object(|members| {
        write_handed(members, consumer);
        let (vhost, name) = consumer.queue();
        write_name(members, "queue", &NameView { vhost: vhost.to_owned(), name: name.to_owned() });
    });
}

/// What a consumer has been handed, with its channel.
pub(super) fn write_to_channel(consumer: &ConsumerView, service: &Service, writer: Writer<'_>) {
    writer.object(|members| {
        write_handed(members, consumer);
        members.cell("channel_details").object(|members| {
            write_channel(&consumer.connection, consumer.channel(), service, members);
        });
    });
}

/// A channel, in few words.
pub(super) fn write_channel(connection: &ConnectionView, number: u16, service: &Service, members: &mut Object<'_>) {
    let name = connection.name();
    members.cell("name").text(&format!("{name} ({number})"));
    members.cell("connection_name").text(&name);
    members.cell("node").text(service.node());
    members.cell("number").int(number.into());
    write_peer(connection, members);
    members.cell("user").text_if(connection.opened().map(|opened| opened.user));
}
