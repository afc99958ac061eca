//! Limits of vhosts and of users.

use std::sync::Arc;

use broker::view::VhostView;
use model::user::{LimitError, User, UserLimits};
use model::vhost::VhostLimits;
use serde_json::Value;

use super::{users, vhosts};
use crate::answer::Answer;
use crate::call::Call;
use crate::json::Fields;
use crate::listing::{Table, column, list};
use crate::problem::Problem;
use crate::route::Kind::{Integer, Object, Text};
use crate::route::Role::{Administrator, Management, MonitoringOfObject, MonitoringOrInVhost};
use crate::route::{AnswerFuture, Field, LIST, Operation, Route, Shape, at};
use crate::service::Service;
use hyper::StatusCode;
use model::erlang;

pub(super) static ROUTES: &[Route] = &[
    at(
        "/api/vhost-limits",
        &[Operation::list(Management, of_vhosts, "Lists the limits of all vhosts with limits.", Shape::Many(&VHOSTS))
            .query(LIST)],
    ),
    at(
        "/api/vhost-limits/{vhost}",
        &[Operation::list(MonitoringOrInVhost, of_vhost, "Returns the limits of a vhost.", Shape::Many(&VHOSTS))
            .query(LIST)],
    ),
    at(
        "/api/vhost-limits/{vhost}/{name}",
        &[
            Operation::put(Administrator, put_of_vhost, "Sets a limit of a vhost.", VALUE).answers(Shape::NoContent),
            Operation::delete(Administrator, delete_of_vhost, "Removes a limit of a vhost."),
        ],
    ),
    at(
        "/api/user-limits",
        &[Operation::list(Administrator, of_users, "Lists the limits of all users with limits.", Shape::Many(&USERS))
            .query(LIST)],
    ),
    at(
        "/api/user-limits/{user}",
        &[Operation::list(MonitoringOfObject, of_user, "Returns the limits of a user.", Shape::Many(&USERS))
            .query(LIST)],
    ),
    at(
        "/api/user-limits/{user}/{name}",
        &[
            Operation::put(Administrator, put_of_user, "Sets a limit of a user.", VALUE).answers(Shape::NoContent),
            Operation::delete(Administrator, delete_of_user, "Removes a limit of a user."),
        ],
    ),
];

const VALUE: &[Field] = &[Field::required("value", Integer, "The limit; a negative number means no limit.")];

static VHOSTS: Table<VhostView, Service> = Table {
    title: "VhostLimits",
    columns: &[
        column("value", Object, |view: &VhostView, _, cell| {
            cell.object(|limits| view.facts.limits.iter().for_each(|(name, value)| limits.cell(name).signed(value)));
        }),
        column("vhost", Text, |view, _, cell| cell.text(view.facts.name.as_str())),
    ],
    order: |a, b| a.facts.name.cmp(&b.facts.name),
    name: |view| view.facts.name.as_str().into(),
};

static USERS: Table<Arc<User>, Service> = Table {
    title: "UserLimits",
    columns: &[
        column("user", Text, |user: &Arc<User>, _, cell| cell.text(user.name.as_str())),
        column("value", Object, |user, _, cell| {
            cell.object(|limits| user.limits.iter().for_each(|(name, value)| limits.cell(name).signed(value)));
        }),
    ],
    order: |a, b| a.name.cmp(&b.name),
    name: |user| user.name.as_str().into(),
};

fn of_vhosts(call: &Call) -> Result<AnswerFuture, Problem> {
    let mut views = call.broker().vhost_views();
    views.retain(|view| has_any(&view.facts.limits) && call.sees_vhost(view.facts.name.as_str()));
    Ok(list(views, &VHOSTS, &call.service, &call.query))
}

fn of_vhost(call: &Call) -> Result<AnswerFuture, Problem> {
    let view = vhosts::find(call)?;
    let views = if has_any(&view.facts.limits) { vec![view] } else { Vec::new() };
    Ok(list(views, &VHOSTS, &call.service, &call.query))
}

fn has_any(limits: &VhostLimits) -> bool {
    limits.iter().next().is_some()
}

fn of_users(call: &Call) -> Result<AnswerFuture, Problem> {
    let mut users = call.broker().users();
    users.retain(|user| user.limits != UserLimits::default());
    Ok(list(users, &USERS, &call.service, &call.query))
}

fn of_user(call: &Call) -> Result<AnswerFuture, Problem> {
    let user = users::find(call)?;
    let users = if user.limits == UserLimits::default() { Vec::new() } else { vec![user] };
    Ok(list(users, &USERS, &call.service, &call.query))
}

/// RabbitMQ says this of a user, too.
fn nowhere() -> Problem {
    Problem::new(StatusCode::NOT_FOUND, "not_found", "vhost_not_found")
}

fn put_of_vhost(call: &Call) -> Result<Answer, Problem> {
    let mut limits = call.broker().vhost_view(call.vhost()).ok_or_else(nowhere)?.facts.limits;
    let name = call.argument("name");
    let of_limits = |text: String| Problem::validation_failed(&text);
    let value = value(call).map_err(|error| error.into_problem(name, "limits", of_limits))?;
    limits.set(name, value).map_err(|error| InvalidLimit::Limit(error).into_problem(name, "limits", of_limits))?;
    Ok(Answer::done(&call.broker().set_vhost_limits(call.actor(), call.vhost(), |own| *own = limits)?))
}

fn delete_of_vhost(call: &Call) -> Result<Answer, Problem> {
    let mut limits = call.broker().vhost_view(call.vhost()).ok_or_else(nowhere)?.facts.limits;
    if !limits.clear(call.argument("name")) {
        return Ok(Answer::no_content());
    }
    Ok(Answer::done(&call.broker().set_vhost_limits(call.actor(), call.vhost(), |own| *own = limits)?))
}

fn put_of_user(call: &Call) -> Result<Answer, Problem> {
    let name = call.argument("name");
    let user = call.argument("user");
    let value = value(call).map_err(|error| error.into_problem(name, "user-limits", Problem::bad_request))?;
    let Some(found) = call.broker().user(user) else {
        return Err(Problem::bad_request(serde_json::json!(["no_such_user", user])));
    };
    let mut limits = found.limits;
    limits
        .set(name, value)
        .map_err(|error| InvalidLimit::Limit(error).into_problem(name, "user-limits", Problem::bad_request))?;
    Ok(Answer::done(&call.broker().set_user_limits(call.actor(), user, |own| *own = limits)?))
}

fn delete_of_user(call: &Call) -> Result<Answer, Problem> {
    let user = call.argument("user");
    let mut limits = call.broker().user(user).ok_or_else(nowhere)?.limits;
    if !limits.clear(call.argument("name")) {
        return Ok(Answer::no_content());
    }
    Ok(Answer::done(&call.broker().set_user_limits(call.actor(), user, |own| *own = limits)?))
}

/// Why a limit is none.
enum InvalidLimit {
    Body(Problem),
    NotANumber(Value),
    Limit(LimitError),
}

impl InvalidLimit {
    fn into_problem(self, name: &str, of: &str, problem: impl Fn(String) -> Problem) -> Problem {
        match self {
            InvalidLimit::Body(body) => body,
            InvalidLimit::NotANumber(value) => {
                problem(format!("{name} should be a number, actually was {}", erlang::term(&value)))
            }
            InvalidLimit::Limit(LimitError::Unknown(_, value)) => {
                problem(format!("Unrecognised terms [{{<<\"{name}\">>,{value}}}] in {of}"))
            }
            InvalidLimit::Limit(other) => problem(other.to_string()),
        }
    }
}

fn value(call: &Call) -> Result<i64, InvalidLimit> {
    let body = call.object().map_err(InvalidLimit::Body)?;
    let value = Fields(&body).required("value").map_err(|error| InvalidLimit::Body(error.into()))?;
    value.as_i64().ok_or_else(|| InvalidLimit::NotANumber(value.clone()))
}
