//! Vhosts.

use std::sync::Arc;

use broker::statistics::Range;
use broker::statistics::numbers::{READY, UNACKED, VHOST, VHOST_COUNT};
use broker::view::{Numbers, VhostView};
use definitions::VhostRequest;
use hyper::StatusCode;
use model::definition::UserPermission;
use model::user::Permission;

use super::latency::write_stages;
use crate::answer::Answer;
use crate::call::Call;
use crate::json::{Cell, Fields};
use crate::listing::{Table, column, paged_list, single};
use crate::problem::Problem;
use crate::route::Kind::{Any, Boolean, Integer, List, Object, Text};
use crate::route::Role::{Administrator, Management};
use crate::route::{AnswerFuture, Field, Operation, PAGED, Route, SINGLE, Shape, at};
use crate::service::Service;
use crate::statistics::{Ranges, Stats, wants_samples};
use crate::tags::is_monitor;

pub(super) static ROUTES: &[Route] = &[
    at("/api/vhosts", &[Operation::list(Management, all, "Lists vhosts.", Shape::Many(&TABLE)).query(PAGED)]),
    at(
        "/api/vhosts/{vhost}",
        &[
            Operation::get(Administrator, one, "Returns a vhost.", Shape::One(&TABLE)).query(SINGLE),
            Operation::put(Administrator, put, "Creates or updates a vhost.", FACTS),
            Operation::delete(Administrator, delete, "Deletes a vhost with all its objects.")
                .refuses(&[("412", "The vhost is protected from deletion.")]),
        ],
    ),
    at(
        "/api/vhosts/{vhost}/deletion/protection",
        &[
            Operation::post(Administrator, protect, "Protects a vhost from deletion.", &[]),
            Operation::delete(Administrator, unprotect, "Removes the protection of a vhost from deletion."),
        ],
    ),
    at(
        "/api/vhosts/{vhost}/start/{node}",
        &[Operation::post(Administrator, start, "Starts a vhost. All vhosts always run.", &[])],
    ),
];

const FACTS: &[Field] = &[
    Field::optional("description", Text, "The description."),
    Field::optional("tags", Any, "The tags: a list of texts, or one text separated by commas."),
    Field::optional("default_queue_type", Text, "The default queue type."),
    Field::optional("protected_from_deletion", Boolean, "Whether the vhost is protected from deletion."),
    Field::optional("tracing", Boolean, "Whether the vhost's messages are traced."),
];

/// A vhost, its numbers, and the histories that are wanted of them.
struct Row {
    view: VhostView,
    numbers: Numbers<VHOST_COUNT>,
    /// It is the only one that is asked for.
    is_single: bool,
    ranges: Option<Arc<Ranges>>,
}

static TABLE: Table<Row, Service> = Table {
    title: "Vhost",
    columns: &[
        column("cluster_state", Object, |_: &Row, service, cell| {
            cell.object(|nodes| nodes.cell(service.node()).text("running"));
        }),
        column("default_queue_type", Text, |row, service, cell| {
            cell.text(service.broker.default_queue_type(&row.view.facts).name());
        }),
        column("description", Text, |row, _, cell| cell.text(&row.view.facts.metadata.description)),
        column("latency_stages", Object, |row, service, cell| {
            if row.is_single
                && let Some(stages) = service.broker.stages_of_vhost(row.view.facts.name.as_str())
            {
                write_stages(cell, &stages);
            }
        }),
        column("message_stats", Object, |row, service, cell| {
            row.with_stats(service, cell, |ranges| ranges.messages, |stats, cell| stats.write_messages(cell, false));
        }),
        column("messages", Integer, |row, _, cell| cell.int(row.view.ready_count + row.view.unacked_count)),
        column("messages_details", Object, |row, service, cell| row.write_lengths(service, cell, &[READY, UNACKED])),
        column("messages_ready", Integer, |row, _, cell| cell.int(row.view.ready_count)),
        column("messages_ready_details", Object, |row, service, cell| row.write_lengths(service, cell, &[READY])),
        column("messages_unacknowledged", Integer, |row, _, cell| cell.int(row.view.unacked_count)),
        column("messages_unacknowledged_details", Object, |row, service, cell| {
            row.write_lengths(service, cell, &[UNACKED]);
        }),
        column("metadata", Object, |row, service, cell| {
            let facts = &row.view.facts;
            cell.object(|metadata| {
                metadata.cell("description").text(&facts.metadata.description);
                metadata.cell("tags").texts(facts.metadata.tags.iter().map(String::as_str));
                metadata.cell("default_queue_type").text(service.broker.default_queue_type(facts).name());
                if facts.is_protected {
                    metadata.cell("protected_from_deletion").bool(true);
                }
            });
        }),
        column("name", Text, |row, _, cell| cell.text(row.view.facts.name.as_str())),
        column("protected_from_deletion", Boolean, |row, _, cell| cell.bool(row.view.facts.is_protected)),
        column("recv_oct", Integer, |row, _, cell| cell.int(row.traffic_len("recv_oct"))),
        column("recv_oct_details", Object, |row, service, cell| row.write_traffic(service, cell, "recv_oct")),
        column("send_oct", Integer, |row, _, cell| cell.int(row.traffic_len("send_oct"))),
        column("send_oct_details", Object, |row, service, cell| row.write_traffic(service, cell, "send_oct")),
        column("tags", List, |row, _, cell| cell.texts(row.view.facts.metadata.tags.iter().map(String::as_str))),
        column("tracing", Boolean, |row, _, cell| cell.bool(row.view.is_traced)),
    ],
    order: |a, b| a.view.facts.name.cmp(&b.view.facts.name),
    name: |row| row.view.facts.name.as_str().into(),
};

impl Row {
    /// Writes numbers of the vhost, with what they were in the range that is asked for; nothing where there are no rates.
    fn with_stats<'a>(
        &self,
        service: &Service,
        cell: Cell<'a>,
        range: impl FnOnce(&Ranges) -> Option<Range>,
        write: impl FnOnce(&Stats<'_, VHOST_COUNT>, Cell<'a>),
    ) {
        let Some(ranges) = &self.ranges else { return };
        let history = |range| service.broker.vhost_history(self.view.facts.name.as_str(), range);
        let samples = range(ranges).filter(|_| wants_samples(&cell)).map(history);
        write(&Stats { names: &VHOST, numbers: &self.numbers, samples: samples.as_deref() }, cell);
    }

    fn traffic_len(&self, name: &str) -> u64 {
        VHOST.iter().position(|own| *own == name).map_or(0, |index| self.numbers.now[index])
    }

    fn write_lengths(&self, service: &Service, cell: Cell<'_>, names: &[&str]) {
        self.with_stats(service, cell, |ranges| ranges.lengths, |stats, cell| stats.write_details(cell, names));
    }

    fn write_traffic(&self, service: &Service, cell: Cell<'_>, name: &str) {
        self.with_stats(service, cell, |ranges| ranges.data, |stats, cell| stats.write_details(cell, &[name]));
    }
}

/// None: it was deleted meanwhile.
fn row(call: &Call, view: VhostView, is_single: bool, ranges: Option<Arc<Ranges>>) -> Option<Row> {
    let numbers = call.broker().vhost_numbers(view.facts.name.as_str())?;
    Some(Row { view, numbers, is_single, ranges })
}

fn rows(call: &Call, views: Vec<VhostView>) -> Vec<Row> {
    let ranges = call.ranges();
    views.into_iter().filter_map(|view| row(call, view, false, ranges.clone())).collect()
}

/// The vhost of the path.
pub(super) fn find(call: &Call) -> Result<VhostView, Problem> {
    call.broker().vhost_view(call.vhost()).ok_or_else(Problem::not_found)
}

fn all(call: &Call) -> Result<AnswerFuture, Problem> {
    let mut views = call.broker().vhost_views();
    views.retain(|view| is_monitor(call.identity()) || call.sees_vhost(view.facts.name.as_str()));
    paged_list(rows(call, views), &TABLE, &call.service, &call.query)
}

fn one(call: &Call) -> Result<Answer, Problem> {
    let row = row(call, find(call)?, true, call.ranges()).ok_or_else(Problem::not_found)?;
    Ok(single(&row, &TABLE, &*call.service, &call.query))
}

/// As in RabbitMQ, the user who makes a vhost gets all permissions there; not a user that only another back end knows.
fn put(call: &Call) -> Result<Answer, Problem> {
    let body = call.object()?;
    let request = VhostRequest::of_body(call.vhost(), Fields(&body))?;
    let vhost = request.name.clone();
    let mut changed = call.broker().put_vhost(call.actor(), request)?;
    if changed.is_new
        && let Some(user) = call.broker().user(call.actor().identity.name())
    {
        let given = UserPermission { vhost, user: user.name.clone(), permission: Permission::all() };
        changed.position.add(call.broker().put_permission(call.actor(), given)?.position);
    }
    Ok(Answer::changed(&changed))
}

fn delete(call: &Call) -> Result<Answer, Problem> {
    let view = find(call)?;
    if view.facts.is_protected {
        let name = call.vhost();
        let reason = format!("Refusing to delete virtual host '{name}' because it is protected from deletion");
        return Err(Problem::precondition_failed(reason));
    }
    Ok(Answer::done(&call.broker().delete_vhost(call.actor(), view.facts.name.as_str())?))
}

fn protect(call: &Call) -> Result<Answer, Problem> {
    let name = call.vhost();
    if !call.broker().has_vhost(name) {
        let reason = format!("Cannot enable deletion protection of virtual host '{name}' because it does not exist");
        return Err(Problem::new(StatusCode::NOT_FOUND, "not_found", reason));
    }
    Ok(Answer::done(&call.broker().protect_vhost(call.actor(), name, true)?))
}

fn unprotect(call: &Call) -> Result<Answer, Problem> {
    find(call)?;
    Ok(Answer::done(&call.broker().protect_vhost(call.actor(), call.vhost(), false)?))
}

fn start(call: &Call) -> Result<Answer, Problem> {
    let node = call.argument("node");
    if node != call.service.node() {
        return Err(Problem::bad_request(format!("Unknown node: {node}")));
    }
    find(call)?;
    Ok(Answer::no_content())
}
