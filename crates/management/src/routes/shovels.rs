//! Shovels: listed with what they do, restarted, paused, deleted. Their definitions are parameters of the component `shovel`.

use std::borrow::Cow;
use std::sync::Arc;

use model::name::VhostName;
use model::parameter::{SHOVEL, VhostParameter, without_passwords};
use model::shovel::{Destination, PAUSE_COMPONENT, Shovel, SourceQueue, Target};
use serde_json::{Value, json};
use shovel::{Ends, ShovelId, ShovelStatus, Shovels, State};

use super::vhosts;
use crate::answer::Answer;
use crate::call::Call;
use crate::json::Cell;
use crate::listing::{Table, column, list, single};
use crate::problem::Problem;
use crate::route::Kind::{Any, Integer, Text};
use crate::route::Role::{Monitoring, MonitoringOrInVhost, PolicymakerInVhost};
use crate::route::{AnswerFuture, Field, LIST, Operation, Route, Shape, at};
use crate::service::Service;
use crate::statistics::date_and_time;
use crate::tags::is_administrator;

pub(super) static ROUTES: &[Route] = &[
    at(
        "/api/shovels",
        &[Operation::list(Monitoring, all, "Lists shovels and their states.", Shape::Many(&TABLE)).query(LIST)],
    ),
    at(
        "/api/shovels/{vhost}",
        &[Operation::list(MonitoringOrInVhost, of_vhost, "Lists the shovels of a vhost.", Shape::Many(&TABLE))
            .query(LIST)],
    ),
    at(
        "/api/shovels/vhost/{vhost}/{name}",
        &[
            Operation::get(
                MonitoringOrInVhost,
                one,
                "Returns the definition of a shovel, without passwords.",
                DEFINITION,
            ),
            Operation::delete(PolicymakerInVhost, delete, "Deletes the definition of a shovel."),
        ],
    ),
    at(
        "/api/shovels/vhost/{vhost}/{name}/status",
        &[Operation::get(MonitoringOrInVhost, status, "Returns the state of a shovel.", Shape::One(&TABLE))
            .query(LIST)],
    ),
    at(
        "/api/shovels/vhost/{vhost}/{name}/restart",
        &[Operation::delete(PolicymakerInVhost, restart, "Restarts a shovel.")],
    ),
    at(
        "/api/shovels/vhost/{vhost}/{name}/pause",
        &[Operation::put(
            PolicymakerInVhost,
            pause,
            "Pauses a shovel. It stays paused after a restart of the broker.",
            &[],
        )],
    ),
    at(
        "/api/shovels/vhost/{vhost}/{name}/resume",
        &[Operation::put(PolicymakerInVhost, resume, "Resumes a paused shovel.", &[])],
    ),
];

const DEFINITION: Shape = Shape::Object(&[
    Field::required("value", Any, "The definition without passwords."),
    Field::required("vhost", Text, "The vhost."),
    Field::required("component", Text, "`shovel`."),
    Field::required("name", Text, "The name."),
]);

/// A shovel, and what it does by its definition.
struct Row {
    status: ShovelStatus,
    definition: Option<Arc<Shovel>>,
}

impl Row {
    fn ends(&self) -> Option<&Ends> {
        match &self.status.state {
            State::Running(ends) => Some(ends),
            State::Starting | State::Terminated { .. } | State::Paused => None,
        }
    }

    fn is_running(&self) -> bool {
        self.ends().is_some()
    }

    /// A part of the definition, which those have that run or can be run.
    fn of(&self, cell: Cell<'_>, part: impl for<'a> Fn(&'a Shovel) -> Option<&'a str>) {
        cell.text_if(self.definition.as_deref().and_then(part));
    }

    fn remaining(&self, cell: Cell<'_>, which: impl Fn((u64, u64)) -> u64) {
        match self.status.progress.remaining {
            Some(remaining) if self.is_running() => cell.int(which(remaining)),
            None if self.is_running() => cell.text("unlimited"),
            _ => {}
        }
    }
}

fn source_queue(shovel: &Shovel) -> Option<&str> {
    match &shovel.source.from {
        SourceQueue::Queue { name, .. } => Some(name),
        SourceQueue::Exchange { .. } => None,
    }
}

fn source_exchange(shovel: &Shovel) -> Option<(&str, &str)> {
    match &shovel.source.from {
        SourceQueue::Queue { .. } => None,
        SourceQueue::Exchange { name, key } => Some((name, key)),
    }
}

fn target(shovel: &Shovel) -> Option<&Target> {
    match &shovel.destination {
        Destination::Broker(broker) => Some(&broker.to),
        Destination::Http(_) => None,
    }
}

fn destination_queue(shovel: &Shovel) -> Option<&str> {
    match target(shovel)? {
        Target::Queue { name, .. } => Some(name),
        Target::Exchange { .. } => None,
    }
}

fn destination_exchange(shovel: &Shovel) -> Option<&str> {
    match target(shovel)? {
        Target::Queue { .. } => None,
        Target::Exchange { name, .. } => name.as_deref(),
    }
}

fn destination_key(shovel: &Shovel) -> Option<&str> {
    match target(shovel)? {
        Target::Queue { .. } => None,
        Target::Exchange { key, .. } => key.as_deref(),
    }
}

fn destination_protocol(shovel: &Shovel) -> &'static str {
    match &shovel.destination {
        Destination::Broker(broker) => broker.protocol.name(),
        Destination::Http(_) => model::shovel::Protocol::Http.name(),
    }
}

static TABLE: Table<Row, Service> = Table {
    title: "Shovel",
    columns: &[
        column("blocked_status", Text, |row: &Row, _, cell| {
            if row.is_running() {
                cell.text(row.status.progress.flow.name());
            }
        }),
        column("dest_exchange", Text, |row, _, cell| row.of(cell, destination_exchange)),
        column("dest_exchange_key", Text, |row, _, cell| row.of(cell, destination_key)),
        column("dest_protocol", Text, |row, _, cell| row.of(cell, |shovel| Some(destination_protocol(shovel)))),
        column("dest_queue", Text, |row, _, cell| row.of(cell, destination_queue)),
        column("dest_uri", Text, |row, _, cell| cell.text_if(row.ends().map(|ends| &*ends.destination_uri))),
        column("forwarded", Integer, |row, _, cell| {
            if row.is_running() {
                cell.int(row.status.progress.forwarded_count);
            }
        }),
        column("name", Text, |row, _, cell| cell.text(&row.status.id.name)),
        column("node", Text, |_, service, cell| cell.text(service.node())),
        column("pending", Integer, |row, _, cell| {
            if row.is_running() {
                cell.int(row.status.progress.pending_count);
            }
        }),
        column("reason", Text, |row, _, cell| {
            if let State::Terminated { reason } = &row.status.state {
                cell.text(reason);
            }
        }),
        column("remaining", Any, |row, _, cell| row.remaining(cell, |(to_move, _)| to_move)),
        column("remaining_unacked", Any, |row, _, cell| row.remaining(cell, |(_, to_take)| to_take)),
        column("src_exchange", Text, |row, _, cell| {
            row.of(cell, |shovel| source_exchange(shovel).map(|(name, _)| name))
        }),
        column("src_exchange_key", Text, |row, _, cell| {
            row.of(cell, |shovel| source_exchange(shovel).map(|(_, key)| key))
        }),
        column("src_protocol", Text, |row, _, cell| row.of(cell, |shovel| Some(shovel.source.protocol.name()))),
        column("src_queue", Text, |row, _, cell| row.of(cell, source_queue)),
        column("src_uri", Text, |row, _, cell| cell.text_if(row.ends().map(|ends| &*ends.source_uri))),
        column("state", Text, |row, _, cell| cell.text(row.status.state.name())),
        column("timestamp", Text, |row, _, cell| {
            cell.text(&date_and_time(row.status.since));
        }),
        column("type", Text, |row, _, cell| {
            cell.text(if row.status.id.vhost.is_some() { "dynamic" } else { "static" })
        }),
        column("vhost", Text, |row, _, cell| cell.text_if(row.status.id.vhost.as_ref().map(VhostName::as_str))),
    ],
    order: |a, b| a.status.id.cmp(&b.status.id),
    name: |row| Cow::Borrowed(&*row.status.id.name),
};

fn shovels(call: &Call) -> Result<&Arc<Shovels>, Problem> {
    call.service.shovels().ok_or_else(|| Problem::unavailable("shovels do not run on this node"))
}

fn rows(call: &Call, is_meant: impl Fn(Option<&VhostName>) -> bool) -> Result<Vec<Row>, Problem> {
    let shovels = shovels(call)?;
    let meant = shovels.statuses().into_iter().filter(|status| is_meant(status.id.vhost.as_ref()));
    Ok(meant.map(|status| Row { definition: shovels.definition(&status.id), status }).collect())
}

/// As in RabbitMQ, those of the configuration are for administrators.
fn all(call: &Call) -> Result<AnswerFuture, Problem> {
    let is_seen = |vhost: Option<&VhostName>| match vhost {
        Some(vhost) => call.sees_vhost(vhost.as_str()),
        None => is_administrator(call.identity()),
    };
    Ok(list(rows(call, is_seen)?, &TABLE, &call.service, &call.query))
}

fn of_vhost(call: &Call) -> Result<AnswerFuture, Problem> {
    vhosts::find(call)?;
    let found = rows(call, |vhost| vhost.is_some_and(|vhost| vhost.as_str() == call.vhost()))?;
    Ok(list(found, &TABLE, &call.service, &call.query))
}

fn id(call: &Call) -> Result<ShovelId, Problem> {
    let vhost = VhostName::parse(call.vhost().as_bytes()).map_err(|_| Problem::not_found())?;
    Ok(ShovelId { vhost: Some(vhost), name: call.argument("name").into() })
}

fn parameter(call: &Call) -> Result<VhostParameter, Problem> {
    let mut all = call.broker().vhost_parameters(Some(SHOVEL), Some(call.vhost())).into_iter();
    all.find(|parameter| *parameter.name == *call.argument("name")).ok_or_else(Problem::not_found)
}

fn one(call: &Call) -> Result<Answer, Problem> {
    let VhostParameter { vhost, component, name, value } = parameter(call)?;
    let shown =
        json!({"value": without_passwords(&value), "vhost": vhost.as_str(), "component": component, "name": name});
    Ok(Answer::json(shown.to_string().into_bytes()))
}

fn status(call: &Call) -> Result<Answer, Problem> {
    let (id, shovels) = (id(call)?, shovels(call)?);
    let status = shovels.status(&id).ok_or_else(Problem::not_found)?;
    let row = Row { status, definition: shovels.definition(&id) };
    Ok(single(&row, &TABLE, &*call.service, &call.query))
}

fn delete(call: &Call) -> Result<Answer, Problem> {
    let changed = call.broker().delete_vhost_parameter(call.actor(), call.vhost(), SHOVEL, &parameter(call)?.name)?;
    Ok(Answer::done(&changed))
}

fn restart(call: &Call) -> Result<Answer, Problem> {
    match shovels(call)?.restart(&id(call)?) {
        true => Ok(Answer::no_content()),
        false => Err(Problem::not_found()),
    }
}

/// A parameter of its own says that a shovel waits: the definition stays one that RabbitMQ can read.
fn pause(call: &Call) -> Result<Answer, Problem> {
    let VhostParameter { vhost, name, .. } = parameter(call)?;
    let pause = VhostParameter { vhost, component: PAUSE_COMPONENT.into(), name, value: Value::Bool(true) };
    Ok(Answer::done(&call.broker().put_vhost_parameter(call.actor(), pause)?))
}

fn resume(call: &Call) -> Result<Answer, Problem> {
    let VhostParameter { name, .. } = parameter(call)?;
    let broker = call.broker();
    let paused = broker.vhost_parameters(Some(PAUSE_COMPONENT), Some(call.vhost()));
    if !paused.iter().any(|pause| pause.name == name) {
        return Ok(Answer::no_content());
    }
    Ok(Answer::done(&broker.delete_vhost_parameter(call.actor(), call.vhost(), PAUSE_COMPONENT, &name)?))
}
