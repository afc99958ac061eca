//! Queues: listed, declared, deleted, purged.

use std::collections::HashSet;
use std::sync::Arc;

use broker::QueueRequest;
use broker::view::{ConnectionView, QueueView, QueueWalk};
use hyper::StatusCode;
use model::ids::QueueId;
use model::name::{QueueName, VhostName};

use super::exchanges::{arguments, enter, too_long};
use super::queue_rows::{Level, Row, TABLE, level};
use super::refusals;
use crate::answer::Answer;
use crate::call::Call;
use crate::json::Fields;
use crate::listing::{ListWalk, single, walked_list};
use crate::problem::Problem;
use crate::route::Kind::{Boolean, Object, Text};
use crate::route::Role::{AdministratorInVhost, InVhost, Management, PolicymakerInVhost};
use crate::route::{AnswerFuture, COUNTED, Field, Operation, Parameters, Route, Shape, at};
use crate::statistics::Ranges;

pub(super) static ROUTES: &[Route] = &[
    at("/api/queues", &[Operation::list(Management, all, "Lists queues.", Shape::Many(&TABLE)).query(COUNTED)]),
    at(
        "/api/queues/detailed",
        &[Operation::list(Management, all_detailed, "Lists queues with all details.", Shape::Many(&TABLE))
            .query(COUNTED)],
    ),
    at(
        "/api/queues/{vhost}",
        &[Operation::list(InVhost, of_vhost, "Lists the queues of a vhost.", Shape::Many(&TABLE)).query(COUNTED)],
    ),
    at(
        "/api/queues/{vhost}/{queue}",
        &[
            Operation::get(InVhost, one, "Returns a queue.", Shape::One(&TABLE))
                .query(&[Parameters::Columns, Parameters::Stats]),
            Operation::put(InVhost, put, "Declares a queue.", FACTS),
            Operation::delete(InVhost, delete, "Deletes a queue.").query(&[
                Parameters::Other("if-empty", "`true`: only if the queue has no ready messages."),
                Parameters::Other("if-unused", "`true`: only if the queue has no consumers."),
            ]),
        ],
    ),
    at("/api/queues/{vhost}/{queue}/contents", &[Operation::delete(InVhost, purge, "Deletes all ready messages.")]),
    at(
        "/api/queues/{vhost}/{queue}/actions",
        &[Operation::post(
            AdministratorInVhost,
            act,
            "Has no effect: as in RabbitMQ, there are no longer any actions.",
            ACTION,
        )],
    ),
    at(
        "/api/users/{user}/queues",
        &[Operation::list(
            Management,
            of_user,
            "Lists the queues that a user's connections consume from or own.",
            Shape::Many(&TABLE),
        )
        .query(COUNTED)],
    ),
    // By LavinMQ's paths.
    at(
        "/api/queues/{vhost}/{queue}/pause",
        &[Operation::put(
            PolicymakerInVhost,
            |call| pause(call, true),
            "Pauses a queue: its consumers get no messages until it is resumed, also after a restart.",
            &[],
        )
        .answers(Shape::NoContent)
        .refuses(NO_QUEUE)],
    ),
    at(
        "/api/queues/{vhost}/{queue}/resume",
        &[Operation::put(PolicymakerInVhost, |call| pause(call, false), "Resumes a paused queue.", &[])
            .answers(Shape::NoContent)
            .refuses(NO_QUEUE)],
    ),
];

const NO_QUEUE: &[(&str, &str)] = &[("404", "The queue does not exist.")];

fn pause(call: &Call, is_paused: bool) -> Result<Answer, Problem> {
    let changed = call.broker().pause_queue(call.actor(), call.vhost(), call.argument("queue"), is_paused)?;
    Ok(Answer::no_content().after(&changed))
}

const FACTS: &[Field] = &[
    Field::optional("durable", Boolean, "Whether the queue survives a restart."),
    Field::optional("auto_delete", Boolean, "Whether the queue is deleted with its last consumer."),
    Field::optional("arguments", Object, "The arguments, such as `x-queue-type`."),
    Field::optional("node", Text, "The node. Only this node is accepted."),
];

const ACTION: &[Field] = &[Field::required("action", Text, "The action.")];

/// The columns in whose order queues come.
const ORDER: &[&str] = &["vhost", "name"];

/// Rows of queues, made during the walk.
struct Rows {
    walk: QueueWalk,
    level: Level,
    ranges: Option<Arc<Ranges>>,
}

impl Iterator for Rows {
    type Item = Row;

    fn next(&mut self) -> Option<Row> {
        self.walk.next().map(|view| Row::new(view, self.level, self.ranges.clone()))
    }
}

impl ListWalk for Rows {
    fn count_now(&self) -> usize {
        self.walk.queue_count()
    }

    fn pass(&mut self, count: usize) {
        self.walk.pass(count);
    }
}

/// The queues of these vhosts, which come by vhost and name.
fn of_vhosts(call: &Call, vhosts: &[&str], most: Level) -> Result<AnswerFuture, Problem> {
    #[cfg(debug_assertions)]
    crate::planted::before_listing();
    let walk = call.broker().walk_queues(vhosts.iter().copied());
    let rows = Rows { walk, level: level(call, most), ranges: call.ranges_of_list() };
    let order: &[&str] = match (vhosts, call.query.get("sort")) {
        // In one vhost they come by name, too.
        ([_], Some("name")) => &["name"],
        _ => ORDER,
    };
    walked_list(rows, order, &TABLE, &call.service, &call.query)
}

fn seen(call: &Call, most: Level) -> Result<AnswerFuture, Problem> {
    let vhosts = call.context.vhosts();
    let vhosts: Vec<&str> = vhosts.iter().map(VhostName::as_str).collect();
    of_vhosts(call, &vhosts, most)
}

fn all(call: &Call) -> Result<AnswerFuture, Problem> {
    seen(call, Level::Counts)
}

fn all_detailed(call: &Call) -> Result<AnswerFuture, Problem> {
    seen(call, Level::Detailed)
}

fn of_vhost(call: &Call) -> Result<AnswerFuture, Problem> {
    of_vhosts(call, &[call.vhost()], Level::Counts)
}

/// RabbitMQ lists the queues that the user's connections consume from or own.
fn of_user(call: &Call) -> Result<AnswerFuture, Problem> {
    walked_list(rows_of_user(call).into_iter(), ORDER, &TABLE, &call.service, &call.query)
}

fn rows_of_user(call: &Call) -> Vec<Row> {
    let (broker, user) = (call.broker(), call.argument("user"));
    let is_of_user = |connection: &ConnectionView| connection.opened().is_some_and(|opened| opened.user == user);
    let mut connections = broker.connection_views();
    connections.retain(is_of_user);
    let consumers = connections.iter().flat_map(|connection| broker.consumers_of(connection));
    let consumed: HashSet<QueueId> = consumers.map(|consumer| consumer.queue_id()).collect();
    let owners: HashSet<String> = connections.iter().map(ConnectionView::name).collect();
    let is_theirs = |view: &QueueView| {
        consumed.contains(&view.definition().id)
            || broker.owner_of(view).is_some_and(|owner| owners.contains(&owner.name))
    };
    let vhosts = call.context.vhosts();
    let theirs = broker.walk_queues(vhosts.iter().map(VhostName::as_str)).filter(is_theirs);
    let (level, ranges) = (level(call, Level::Counts), call.ranges_of_list());
    theirs.map(|view| Row::new(view, level, ranges.clone())).collect()
}

/// The queue of the path.
pub(super) fn find(call: &Call) -> Result<QueueView, Problem> {
    call.broker().queue_view(call.vhost(), call.argument("queue")).ok_or_else(Problem::not_found)
}

fn one(call: &Call) -> Result<Answer, Problem> {
    let view = find(call)?;
    let row = Row::new(view, level(call, Level::Single), call.ranges());
    Ok(single(&row, &TABLE, &*call.service, &call.query))
}

/// The name of the path.
pub(super) fn name_of_path(call: &Call) -> Result<QueueName, Problem> {
    let name = call.argument("queue");
    QueueName::parse(name.as_bytes()).map_err(|_| too_long("queue", name))
}

fn put(call: &Call) -> Result<Answer, Problem> {
    let body = call.object()?;
    let fields = Fields(&body);
    if let Some(node) = fields.text("node")?.filter(|node| *node != call.service.node()) {
        return Err(Problem::bad_request(format!("Node {node} is not a cluster member")));
    }
    let name = name_of_path(call)?;
    let arguments = arguments(fields)?;
    let request = QueueRequest {
        name: &name,
        is_durable: fields.bool("durable", false)?,
        is_auto_delete: fields.bool("auto_delete", false)?,
        // No client could ever use a queue that belongs to a request.
        is_exclusive: false,
        arguments: arguments.as_table(),
    };
    Ok(Answer::changed(&enter(call)?.declare_queue(&request).map_err(|refusal| refusals::of_change(&refusal))?))
}

fn delete(call: &Call) -> Result<Answer, Problem> {
    find(call)?;
    let (if_unused, if_empty) = (call.query.is_true("if-unused"), call.query.is_true("if-empty"));
    let deleted = enter(call)?.delete_queue(&name_of_path(call)?, if_unused, if_empty);
    Ok(Answer::done(&deleted.map_err(|refusal| refusals::of_change(&refusal))?))
}

fn purge(call: &Call) -> Result<Answer, Problem> {
    find(call)?;
    let (_, purged) =
        enter(call)?.purge_queue(&name_of_path(call)?).map_err(|refusal| refusals::of_change(&refusal))?;
    Ok(Answer::done(&purged))
}

fn act(call: &Call) -> Result<Answer, Problem> {
    if find(call).is_err() {
        return Err(Problem::new(StatusCode::NOT_FOUND, "not_found", "queue_not_found"));
    }
    let body = call.object()?;
    let action = Fields(&body).required("action")?;
    Err(Problem::bad_request(serde_json::json!(["unknown", action])))
}
