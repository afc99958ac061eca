//! Consumers, as they are listed.

use broker::view::{Activity, ConsumerView};
use model::json;
use serde_json::Value;

use super::connections;
use super::deliveries::write_channel;
use crate::call::Call;
use crate::listing::{Table, column, list};
use crate::problem::Problem;
use crate::route::Kind::{Boolean, Integer, Object, Text};
use crate::route::Role::{Management, MonitoringOrInVhost};
use crate::route::{AnswerFuture, LIST, Operation, Route, Shape, at};
use crate::service::Service;

pub(super) static ROUTES: &[Route] = &[
    at(
        "/api/consumers",
        &[Operation::list(
            Management,
            all,
            "Lists consumers. Users without the tag `monitoring` see their own.",
            Shape::Many(&TABLE),
        )
        .query(LIST)],
    ),
    at(
        "/api/consumers/{vhost}",
        &[Operation::list(MonitoringOrInVhost, of_vhost, "Lists the consumers in a vhost.", Shape::Many(&TABLE))
            .query(LIST)],
    ),
];

/// RabbitMQ's default. Its classic queues report it and never act on it, and tools do not understand a consumer without.
const CONSUMER_TIMEOUT_MS: u64 = 30 * 60 * 1000;

pub(super) static TABLE: Table<ConsumerView, Service> = Table {
    title: "Consumer",
    columns: &[
        column("ack_required", Boolean, |consumer: &ConsumerView, _, cell| cell.bool(consumer.is_ack_required())),
        column("active", Boolean, |consumer, service, cell| {
            cell.bool(service.broker.activity_of(consumer) != Activity::Waiting);
        }),
        column("activity_status", Text, |consumer, service, cell| {
            cell.text(match service.broker.activity_of(consumer) {
                Activity::Up => "up",
                Activity::Blocked => "blocked",
                Activity::SingleActive => "single_active",
                Activity::Waiting => "waiting",
            });
        }),
        column("arguments", Object, |consumer, _, cell| {
            cell.value(&Value::Object(json::show_table(consumer.arguments())));
        }),
        column("channel_details", Object, |consumer, service, cell| {
            cell.object(|members| write_channel(&consumer.connection, consumer.channel(), service, members));
        }),
        column("consumer_tag", Text, |consumer, _, cell| cell.text(&consumer.tag())),
        column("consumer_timeout", Integer, |_, _, cell| cell.int(CONSUMER_TIMEOUT_MS)),
        column("exclusive", Boolean, |consumer, _, cell| cell.bool(consumer.is_exclusive())),
        column("prefetch_count", Integer, |consumer, _, cell| cell.int(consumer.prefetch_count().into())),
        column("queue", Object, |consumer, _, cell| {
            let (vhost, name) = consumer.queue();
            cell.object(|members| {
                members.cell("name").text(name);
                members.cell("vhost").text(vhost);
            });
        }),
    ],
    order: |a, b| a.queue().cmp(&b.queue()).then_with(|| a.tag().cmp(&b.tag())),
    name: |consumer| consumer.tag().into(),
};

/// Those of one connection after the other, when it is their turn.
fn seen(call: &Call) -> impl Iterator<Item = ConsumerView> + Send + use<> {
    let broker = call.broker().clone();
    connections::seen(call).into_iter().flat_map(move |connection| broker.consumers_of(&connection))
}

fn all(call: &Call) -> Result<AnswerFuture, Problem> {
    Ok(list(seen(call), &TABLE, &call.service, &call.query))
}

fn of_vhost(call: &Call) -> Result<AnswerFuture, Problem> {
    let vhost = call.vhost().to_owned();
    let consumers = seen(call).filter(move |consumer| consumer.queue().0 == vhost);
    Ok(list(consumers, &TABLE, &call.service, &call.query))
}
