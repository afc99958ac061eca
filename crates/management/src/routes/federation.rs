//! Links of federation: listed with what they do, and restarted. Upstreams are parameters; policies say what is fed by them.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use federation::{LinkKind, LinkState, LinkStatus, Links};
use model::name::VhostName;

use super::{channels, vhosts};
use crate::answer::Answer;
use crate::call::Call;
use crate::json::Cell;
use crate::listing::{Table, column, list, text};
use crate::problem::Problem;
use crate::route::Kind::{Object, Text};
use crate::route::Role::{Monitoring, MonitoringOrInVhost, PolicymakerInVhost};
use crate::route::{AnswerFuture, LIST, Operation, Route, Shape, at};
use crate::service::Service;
use crate::statistics::date_and_time;

pub(super) static ROUTES: &[Route] = &[
    at(
        "/api/federation-links",
        &[Operation::list(Monitoring, all, "Lists federation links and their states.", Shape::Many(&TABLE))
            .query(LIST)],
    ),
    at(
        "/api/federation-links/state/down",
        &[Operation::list(Monitoring, all_down, "Lists federation links that are down.", Shape::Many(&TABLE))
            .query(LIST)],
    ),
    at(
        "/api/federation-links/{vhost}",
        &[Operation::list(
            MonitoringOrInVhost,
            of_vhost,
            "Lists the federation links of a vhost.",
            Shape::Many(&TABLE),
        )
        .query(LIST)],
    ),
    at(
        "/api/federation-links/{vhost}/state/down",
        &[Operation::list(
            MonitoringOrInVhost,
            down_of_vhost,
            "Lists the federation links of a vhost that are down.",
            Shape::Many(&TABLE),
        )
        .query(LIST)],
    ),
    at(
        "/api/federation-links/vhost/{vhost}/{id}/{node}/restart",
        &[Operation::delete(PolicymakerInVhost, restart, "Restarts a federation link.")],
    ),
];

/// A link, and the channel by which it publishes here.
struct Row {
    status: LinkStatus,
    channel: Option<channels::Row>,
}

impl Row {
    fn is(&self, kind: LinkKind) -> bool {
        self.status.id.kind == kind
    }
}

fn local_connection(status: &LinkStatus) -> Option<&str> {
    match &status.state {
        LinkState::Running { local_connection } => Some(local_connection),
        LinkState::Starting | LinkState::Shutdown { .. } | LinkState::Error { .. } => None,
    }
}

static TABLE: Table<Row, Service> = Table {
    title: "FederationLink",
    columns: &[
        text("consumer_tag", |row: &Row, _| row.is(LinkKind::Queue).then_some(&*row.status.consumer_tag)),
        text("error", |row, _| row.status.state.reason()),
        text("exchange", |row, _| row.is(LinkKind::Exchange).then_some(&*row.status.id.name)),
        column("id", Text, |row, _, cell| cell.text(&row.status.id.key())),
        column("local_channel", Object, write_channel),
        text("local_connection", |row, _| local_connection(&row.status)),
        text("node", |_, service| Some(service.node())),
        text("queue", |row, _| row.is(LinkKind::Queue).then_some(&*row.status.id.name)),
        text("status", |row, _| Some(row.status.state.name())),
        column("timestamp", Text, |row, _, cell| cell.text(&date_and_time(row.status.since))),
        text("type", |row, _| Some(row.status.id.kind.name())),
        text("upstream", |row, _| Some(&row.status.id.upstream)),
        text("upstream_exchange", |row, _| row.is(LinkKind::Exchange).then_some(&*row.status.id.upstream_name)),
        text("upstream_queue", |row, _| row.is(LinkKind::Queue).then_some(&*row.status.id.upstream_name)),
        text("uri", |row, _| Some(&row.status.uri)),
        text("vhost", |row, _| Some(row.status.id.vhost.as_str())),
    ],
    order: |a, b| a.status.id.cmp(&b.status.id),
    name: |row| Cow::Borrowed(&*row.status.id.name),
};

fn write_channel(row: &Row, service: &Service, cell: Cell<'_>) {
    if let Some(channel) = &row.channel
        && let Some(writer) = cell.writer()
    {
        channels::TABLE.write(channel, service, writer);
    }
}

fn links(call: &Call) -> Result<&Arc<Links>, Problem> {
    call.service.links().ok_or_else(|| Problem::unavailable("federation links do not run on this node"))
}

fn listed(call: &Call, is_meant: impl Fn(&LinkStatus) -> bool) -> Result<AnswerFuture, Problem> {
    let mut meant = links(call)?.statuses();
    meant.retain(is_meant);
    let names: HashSet<&str> = meant.iter().filter_map(local_connection).collect();
    let mut channels: HashMap<String, channels::Row> = channels::first_of_each(call, &names);
    let row =
        |status: LinkStatus| Row { channel: local_connection(&status).and_then(|name| channels.remove(name)), status };
    let rows: Vec<Row> = meant.into_iter().map(row).collect();
    Ok(list(rows, &TABLE, &call.service, &call.query))
}

fn is_down(status: &LinkStatus) -> bool {
    match status.state {
        LinkState::Shutdown { .. } | LinkState::Error { .. } => true,
        LinkState::Starting | LinkState::Running { .. } => false,
    }
}

fn is_seen(call: &Call, vhost: &VhostName) -> bool {
    call.sees_vhost(vhost.as_str())
}

fn all(call: &Call) -> Result<AnswerFuture, Problem> {
    listed(call, |status| is_seen(call, &status.id.vhost))
}

fn all_down(call: &Call) -> Result<AnswerFuture, Problem> {
    listed(call, |status| is_seen(call, &status.id.vhost) && is_down(status))
}

fn of_vhost(call: &Call) -> Result<AnswerFuture, Problem> {
    vhosts::find(call)?;
    listed(call, |status| status.id.vhost.as_str() == call.vhost())
}

fn down_of_vhost(call: &Call) -> Result<AnswerFuture, Problem> {
    vhosts::find(call)?;
    listed(call, |status| status.id.vhost.as_str() == call.vhost() && is_down(status))
}

fn restart(call: &Call) -> Result<Answer, Problem> {
    let is_here = call.argument("node") == call.service.node();
    match is_here && links(call)?.restart(call.vhost(), call.argument("id")) {
        true => Ok(Answer::no_content()),
        false => Err(Problem::not_found()),
    }
}
