//! Exchanges.

use std::sync::Arc;

use amqp::table::TableBuf;
use broker::statistics::numbers::EXCHANGE;
use broker::view::ExchangeView;
use broker::{ExchangeRequest, VhostAccess};
use model::json;
use model::name::{DEFAULT_EXCHANGE_ALIAS, ExchangeName};
use serde_json::Value;

use super::{deliveries, refusals};
use crate::answer::Answer;
use crate::call::Call;
use crate::json::Fields;
use crate::listing::{Table, column, number, paged_list, single, text};
use crate::problem::Problem;
use crate::route::Kind::{Boolean, List, Object, Text};
use crate::route::Role::{InVhost, Management};
use crate::route::{AnswerFuture, COUNTED, Field, Operation, Parameters, Route, SINGLE, Shape, at};
use crate::service::Service;
use crate::statistics::{Ranges, Stats, wants_samples};

pub(super) static ROUTES: &[Route] = &[
    at("/api/exchanges", &[Operation::list(Management, all, "Lists exchanges.", Shape::Many(&TABLE)).query(COUNTED)]),
    at(
        "/api/exchanges/{vhost}",
        &[Operation::list(InVhost, of_vhost, "Lists the exchanges of a vhost.", Shape::Many(&TABLE)).query(COUNTED)],
    ),
    at(
        "/api/exchanges/{vhost}/{exchange}",
        &[
            Operation::get(InVhost, one, "Returns an exchange.", Shape::One(&TABLE)).query(SINGLE),
            Operation::put(InVhost, put, "Declares an exchange.", FACTS),
            Operation::delete(InVhost, delete, "Deletes an exchange.")
                .query(&[Parameters::Other("if-unused", "`true`: only if the exchange has no bindings.")]),
        ],
    ),
];

const FACTS: &[Field] = &[
    Field::optional(
        "type",
        Text,
        "`direct`, `fanout`, `topic`, `headers`, or another type that `/api/overview` lists. Default: `direct`.",
    ),
    Field::optional("durable", Boolean, "Whether the exchange survives a restart."),
    Field::optional("auto_delete", Boolean, "Whether the exchange is deleted when its last binding is removed."),
    Field::optional("internal", Boolean, "Whether only other exchanges may publish to it."),
    Field::optional("arguments", Object, "The arguments."),
];

/// An exchange, and whether its publishers and targets are shown.
struct Row {
    view: ExchangeView,
    has_neighbours: bool,
    /// The histories that are wanted; None: no rates either.
    ranges: Option<Arc<Ranges>>,
}

impl Row {
    fn vhost(&self) -> &str {
        self.view.definition.vhost.as_str()
    }

    fn name(&self) -> &str {
        self.view.definition.name.as_str()
    }
}

static TABLE: Table<Row, Service> = Table {
    title: "Exchange",
    columns: &[
        column("arguments", Object, |row: &Row, _, cell| {
            cell.value(&Value::Object(json::show_table(row.view.definition.arguments.table())));
        }),
        column("auto_delete", Boolean, |row, _, cell| cell.bool(row.view.definition.is_auto_delete)),
        column("durable", Boolean, |row, _, cell| cell.bool(row.view.definition.is_durable)),
        column("incoming", List, |row, service, cell| {
            if row.has_neighbours {
                let publishers = || service.broker.publishers_to(row.vhost(), row.name());
                let publishers = deliveries::ways(row.ranges.as_ref(), publishers);
                cell.list(publishers, |publisher, writer| deliveries::write_publisher(&publisher, service, writer));
            }
        }),
        column("internal", Boolean, |row, _, cell| cell.bool(row.view.definition.is_internal)),
        column("message_stats", Object, |row, service, cell| {
            let Some(ranges) = &row.ranges else { return };
            let (vhost, name) = (row.vhost(), row.name());
            let Some(numbers) = service.broker.exchange_numbers(vhost, name) else { return };
            let range = ranges.messages.filter(|_| wants_samples(&cell));
            let samples = range.map(|range| service.broker.exchange_history(vhost, name, range));
            Stats { names: &EXCHANGE, numbers: &numbers, samples: samples.as_deref() }.write_messages(cell, false);
        }),
        number("messages_deduplicated", |row, _| row.view.deduplicated_count),
        number("messages_delayed", |row, _| row.view.messages_delayed),
        text("name", |row, _| Some(row.name())),
        column("outgoing", List, |row, service, cell| {
            if row.has_neighbours {
                let outgoing = || service.broker.outgoing_of(row.vhost(), row.name());
                let outgoing = deliveries::ways(row.ranges.as_ref(), outgoing);
                cell.list(outgoing, |edge, writer| deliveries::write_queue(&edge, writer));
            }
        }),
        column("policy", Text, |row, _, cell| {
            cell.text_if(row.view.policy.user.as_ref().map(|policy| &*policy.name));
        }),
        text("type", |row, _| Some(row.view.definition.exchange_type.name())),
        text("vhost", |row, _| Some(row.vhost())),
    ],
    order: |a, b| (a.vhost(), a.name()).cmp(&(b.vhost(), b.name())),
    name: |row| row.name().into(),
};

/// The exchanges of some vhosts: those of one after the other, when it is their turn.
fn of_vhosts(call: &Call, vhosts: Vec<String>) -> Result<AnswerFuture, Problem> {
    let (broker, ranges) = (call.broker().clone(), call.ranges_of_list());
    let views = vhosts.into_iter().flat_map(move |vhost| broker.exchange_views(&vhost));
    let rows = views.map(move |view| Row { view, has_neighbours: false, ranges: ranges.clone() });
    paged_list(rows, &TABLE, &call.service, &call.query)
}

fn all(call: &Call) -> Result<AnswerFuture, Problem> {
    of_vhosts(call, call.context.vhosts().iter().map(ToString::to_string).collect())
}

fn of_vhost(call: &Call) -> Result<AnswerFuture, Problem> {
    of_vhosts(call, vec![call.vhost().to_owned()])
}

/// The name of an exchange as paths have it: the default exchange has another one there.
pub(super) fn name_of_path(text: &str) -> Result<ExchangeName, Problem> {
    let text = if text == DEFAULT_EXCHANGE_ALIAS { "" } else { text };
    ExchangeName::parse(text.as_bytes()).map_err(|_| too_long("exchange", text))
}

/// A name that is too long, which is all that can be wrong with one.
pub(super) fn too_long(kind: &str, name: &str) -> Problem {
    Problem::bad_request(format!("{kind} should be less than 255 bytes, actually was {}\n", name.len()))
}

/// The vhost of the path, with the rights of the user.
pub(super) fn enter(call: &Call) -> Result<VhostAccess, Problem> {
    call.context.enter(call.vhost()).ok_or_else(|| Problem::not_authorised("Access refused."))
}

/// The exchange of the path.
pub(super) fn find(call: &Call) -> Result<ExchangeView, Problem> {
    let name = name_of_path(call.argument("exchange"))?;
    call.broker().exchange_view(call.vhost(), name.as_str()).ok_or_else(Problem::not_found)
}

fn one(call: &Call) -> Result<Answer, Problem> {
    let row = Row { view: find(call)?, has_neighbours: call.has_stats(), ranges: call.ranges() };
    Ok(single(&row, &TABLE, &*call.service, &call.query))
}

fn put(call: &Call) -> Result<Answer, Problem> {
    let body = call.object()?;
    let fields = Fields(&body);
    let name = name_of_path(call.argument("exchange"))?;
    let arguments = arguments(fields)?;
    let request = ExchangeRequest {
        name: &name,
        kind: fields.text("type")?.unwrap_or("direct").as_bytes(),
        is_durable: fields.bool("durable", false)?,
        is_auto_delete: fields.bool("auto_delete", false)?,
        is_internal: fields.bool("internal", false)?,
        arguments: arguments.as_table(),
    };
    Ok(Answer::changed(&enter(call)?.declare_exchange(&request).map_err(|refusal| refusals::of_change(&refusal))?))
}

/// The member `arguments` as a field table.
pub(super) fn arguments(fields: Fields<'_>) -> Result<TableBuf, Problem> {
    match fields.object("arguments")? {
        None => Ok(TableBuf::new()),
        Some(members) => table(members),
    }
}

/// An object as a field table. RabbitMQ has no JSON `null` in one.
pub(super) fn table(members: &serde_json::Map<String, Value>) -> Result<TableBuf, Problem> {
    if members.values().any(has_null) {
        return Err(Problem::bad_request("null_not_allowed"));
    }
    json::to_table(members).map_err(|error| Problem::bad_request(error.to_string()))
}

fn has_null(value: &Value) -> bool {
    // As deep as the parser lets JSON be.
    match value {
        Value::Null => true,
        Value::Array(items) => items.iter().any(has_null),
        Value::Object(members) => members.values().any(has_null),
        _ => false,
    }
}

fn delete(call: &Call) -> Result<Answer, Problem> {
    let view = find(call)?;
    let if_unused = call.query.is_true("if-unused");
    let deleted = enter(call)?
        .delete_exchange(&view.definition.name, if_unused)
        .map_err(|refusal| refusals::of_change(&refusal))?;
    Ok(Answer::done(&deleted))
}
