//! The short list of queues, as the plugin rabbitmq-queue-info has it: names, and how many messages are ready.

use broker::view::QueueView;

use crate::answer::Answer;
use crate::call::Call;
use crate::listing::{Table, number, streamed, text};
use crate::problem::Problem;
use crate::route::Role::Configured;
use crate::route::{Operation, Parameters, Route, Shape, at};
use crate::service::Service;
use crate::tags::is_administrator;
use hyper::StatusCode;

pub(super) static ROUTES: &[Route] = &[at(
    "/list_queues",
    &[Operation::get(
        Configured,
        list_queues,
        "Lists the queues of a vhost with their names and numbers of ready messages.",
        Shape::Many(&TABLE),
    )
    .query(&[
        Parameters::Other("max_len", "Only queues with at most this many ready messages."),
        Parameters::Other("vhost", "The vhost. Default: `/`."),
    ])
    .refuses(&[("404", "The vhost does not exist, or the user may not access it.")])],
)];

/// The vhost that the plugin knows, and no other.
const VHOST: &str = "/";

/// A queue, and the count that it had when it was looked at: that count alone decides whether the queue is on the list.
struct Row {
    view: QueueView,
    ready_count: u64,
}

static TABLE: Table<Row, Service> = Table {
    title: "QueueLength",
    columns: &[
        text("name", |row: &Row, _| Some(row.view.definition().name.as_str())),
        number("messages_ready", |row, _| Some(row.ready_count)),
    ],
    order: |a, b| a.view.definition().name.cmp(&b.view.definition().name),
    name: |row| row.view.definition().name.as_str().into(),
};

fn list_queues(call: &Call) -> Result<Answer, Problem> {
    let len_max = len_max(call)?;
    let vhost = vhost(call)?;
    let row = move |view: QueueView| {
        let ready_count = view.ready_count();
        (ready_count <= len_max).then_some(Row { view, ready_count })
    };
    Ok(streamed(call.broker().walk_queues([vhost]).map(row), &TABLE, &call.service))
}

fn len_max(call: &Call) -> Result<u64, Problem> {
    let Some(text) = call.query.get("max_len") else { return Ok(u64::MAX) };
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Problem::bad_request(format!("'max_len' must be a whole number, zero or above, not '{text}'")));
    }
    // What is too large for a number is too large for a queue.
    Ok(text.parse().unwrap_or(u64::MAX))
}

/// The vhost whose queues are asked for, if the user may enter it.
fn vhost(call: &Call) -> Result<&str, Problem> {
    let vhost = call.query.get("vhost").unwrap_or(VHOST);
    if !call.is_logged_in {
        // What is open to all is what the plugin opens to all.
        return if vhost == VHOST { Ok(vhost) } else { Err(Problem::login_required()) };
    }
    let sees_it = is_administrator(call.identity()) || call.context.enter(vhost).is_some();
    if sees_it && call.broker().has_vhost(vhost) {
        return Ok(vhost);
    }
    let reason = format!("no vhost '{vhost}', or no access to it");
    Err(Problem::new(StatusCode::NOT_FOUND, "not_found", reason))
}
