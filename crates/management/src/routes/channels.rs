//! Channels, as they are listed.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use broker::statistics::numbers::CHANNEL;
use broker::view::{ChannelView, ConnectionView, ConsumerView};

use super::{connections, consumers, deliveries};
use crate::answer::Answer;
use crate::call::Call;
use crate::json::{Cell, Object};
use crate::listing::{Table, column, list, paged_list, single, text};
use crate::problem::Problem;
use crate::route::Kind::{Boolean, Integer, List, Object as ObjectKind, Text};
use crate::route::Role::{InVhost, Management};
use crate::route::{AnswerFuture, COUNTED, LIST, Operation, Route, SINGLE, Shape, at};
use crate::service::Service;
use crate::statistics::{Ranges, Stats, rfc3339, wants_samples};

pub(super) static ROUTES: &[Route] = &[
    at(
        "/api/channels",
        &[Operation::list(
            Management,
            all,
            "Lists channels. Users without the tag `monitoring` see their own.",
            Shape::Many(&TABLE),
        )
        .query(COUNTED)],
    ),
    at(
        "/api/channels/{channel}",
        &[Operation::get(Management, one, "Returns a channel.", Shape::One(&TABLE)).query(SINGLE)],
    ),
    at(
        "/api/vhosts/{vhost}/channels",
        &[Operation::list(InVhost, of_vhost, "Lists the channels in a vhost.", Shape::Many(&TABLE)).query(COUNTED)],
    ),
    at(
        "/api/connections/{connection}/channels",
        &[Operation::list(Management, of_connection, "Lists the channels of a connection.", Shape::Many(&TABLE))
            .query(LIST)],
    ),
];

/// A channel, and how much of it is shown.
pub(super) struct Row {
    view: ChannelView,
    /// The name of its connection, and its own: each is made once.
    connection: String,
    name: String,
    has_counts: bool,
    is_single: bool,
    /// The histories that are wanted; None: no rates either.
    ranges: Option<Arc<Ranges>>,
}

impl Row {
    fn new(view: ChannelView, has_counts: bool, is_single: bool, ranges: Option<Arc<Ranges>>) -> Row {
        Row { connection: view.connection.name(), name: view.name(), view, has_counts, is_single, ranges }
    }

    fn count(&self, cell: Cell<'_>, count: u64) {
        if self.has_counts {
            cell.int(count);
        }
    }

    fn consumers(&self, service: &Service) -> Vec<ConsumerView> {
        let mut consumers = service.broker.consumers_of(&self.view.connection);
        consumers.retain(|consumer| consumer.channel() == self.view.number);
        consumers
    }
}

pub(super) static TABLE: Table<Row, Service> = Table {
    title: "Channel",
    columns: &[
        column("acks_uncommitted", Integer, |row: &Row, _, cell| row.count(cell, row.view.uncommitted_ack_count)),
        column("confirm", Boolean, |row, _, cell| {
            if row.has_counts {
                cell.bool(row.view.is_confirming);
            }
        }),
        column("connection_details", ObjectKind, |row, _, cell| {
            cell.object(|members| {
                members.cell("name").text(&row.connection);
                write_peer(&row.view.connection, members);
            });
        }),
        column("consumer_count", Integer, |row, _, cell| row.count(cell, row.view.consumer_count)),
        column("consumer_details", List, |row, service, cell| {
            if row.is_single {
                cell.list(&row.consumers(service), |consumer, writer| {
                    consumers::TABLE.write(consumer, service, writer)
                });
            }
        }),
        column("deliveries", List, |row, service, cell| {
            if row.is_single && row.has_counts {
                let consumers = deliveries::ways(row.ranges.as_ref(), || row.consumers(service).to_vec());
                cell.list(consumers, |consumer, writer| deliveries::write_to_queue(&consumer, writer));
            }
        }),
        column("global_prefetch_count", Integer, |row, _, cell| {
            // RabbitMQ has no such member since it denies limits for whole channels; here they can be permitted.
            if row.view.global_prefetch_count > 0 {
                row.count(cell, row.view.global_prefetch_count);
            }
        }),
        column("idle_since", Text, |row, _, cell| {
            if row.ranges.is_some() {
                cell.text_if(row.view.idle_since_ms().map(rfc3339).as_deref());
            }
        }),
        column("message_stats", ObjectKind, |row, service, cell| {
            let Some(ranges) = &row.ranges else { return };
            let range = ranges.messages.filter(|_| wants_samples(&cell));
            let samples = range.map(|range| service.broker.channel_history(&row.view, range));
            let numbers = row.view.numbers();
            Stats { names: &CHANNEL, numbers: &numbers, samples: samples.as_deref() }.write_messages(cell, false);
        }),
        column("messages_unacknowledged", Integer, |row, _, cell| row.count(cell, row.view.unacked_count)),
        column("messages_uncommitted", Integer, |row, _, cell| row.count(cell, row.view.uncommitted_count)),
        column("messages_unconfirmed", Integer, |row, _, cell| row.count(cell, row.view.unconfirmed_count)),
        text("name", |row, _| Some(&row.name)),
        text("node", |_, service| Some(service.node())),
        column("number", Integer, |row, _, cell| cell.int(row.view.number.into())),
        column("prefetch_count", Integer, |row, _, cell| row.count(cell, row.view.prefetch_count)),
        column("publishes", List, |row, _, cell| {
            if row.is_single && row.has_counts {
                let publishes = deliveries::ways(row.ranges.as_ref(), || row.view.publishes());
                cell.list(publishes, |edge, writer| deliveries::write_exchange(&edge, writer));
            }
        }),
        column("state", Text, |row, _, cell| {
            if row.has_counts {
                cell.text("running");
            }
        }),
        column("transactional", Boolean, |row, _, cell| {
            if row.has_counts {
                cell.bool(row.view.is_transactional);
            }
        }),
        text("user", |row, _| row.user()),
        text("user_who_performed_action", |row, _| row.user()),
        text("vhost", |row, _| row.vhost()),
    ],
    order: |a, b| (a.vhost(), &a.connection, a.view.number).cmp(&(b.vhost(), &b.connection, b.view.number)),
    name: |row| row.name.as_str().into(),
};

impl Row {
    fn user(&self) -> Option<&str> {
        self.view.connection.opened().map(|opened| opened.user)
    }

    fn vhost(&self) -> Option<&str> {
        self.view.connection.opened().map(|opened| opened.vhost)
    }
}

/// Where a connection comes from.
pub(super) fn write_peer(connection: &broker::view::ConnectionView, members: &mut Object<'_>) {
    members.cell("peer_host").text(&connection.peer().ip().to_string());
    members.cell("peer_port").int(connection.peer().port().into());
}

/// The channels of some connections: those of one after the other, when it is their turn.
fn rows(call: &Call, connections: Vec<ConnectionView>) -> impl Iterator<Item = Row> + Send + use<> {
    let (broker, has_counts, ranges) = (call.broker().clone(), call.has_stats(), call.ranges_of_list());
    let views = connections.into_iter().flat_map(move |connection| broker.channels_of(&connection));
    views.map(move |view| Row::new(view, has_counts, false, ranges.clone()))
}

/// The first channel of each connection that has one of these names, by the name.
pub(super) fn first_of_each(call: &Call, names: &HashSet<&str>) -> HashMap<String, Row> {
    if names.is_empty() {
        return HashMap::new();
    }
    let mut connections = call.broker().connection_views();
    connections.retain(|connection| names.contains(&*connection.name()));
    // Each row replaces the one before it of the same connection, and the first is to stay.
    let mut found: Vec<Row> = rows(call, connections).collect();
    found.reverse();
    found.into_iter().map(|row| (row.connection.clone(), row)).collect()
}

fn all(call: &Call) -> Result<AnswerFuture, Problem> {
    paged_list(rows(call, connections::seen(call)), &TABLE, &call.service, &call.query)
}

fn of_vhost(call: &Call) -> Result<AnswerFuture, Problem> {
    let mut connections = connections::seen(call);
    connections.retain(|connection| connections::is_in(connection, call.vhost()));
    paged_list(rows(call, connections), &TABLE, &call.service, &call.query)
}

fn of_connection(call: &Call) -> Result<AnswerFuture, Problem> {
    Ok(list(rows(call, vec![connections::find(call)?]), &TABLE, &call.service, &call.query))
}

fn one(call: &Call) -> Result<Answer, Problem> {
    let name = call.argument("channel");
    let mut views = call.broker().channel_views().into_iter();
    let view = views.find(|view| view.name() == name).ok_or_else(Problem::not_found)?;
    if !connections::sees(call, &view.connection) {
        return Err(Problem::not_authorised("User not authorised to access object"));
    }
    let row = Row::new(view, call.has_stats(), true, call.ranges());
    Ok(single(&row, &TABLE, &*call.service, &call.query))
}
