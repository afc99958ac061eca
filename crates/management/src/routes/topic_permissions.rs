//! Topic permissions: which routing keys a user may use with a topic exchange.

use std::sync::Arc;

use broker::ControlError;
use model::name::ExchangeName;
use model::user::TopicPermission;
use serde_json::json;

use super::{permissions, users, vhosts};
use crate::answer::Answer;
use crate::call::Call;
use crate::json::Fields;
use crate::listing::{Table, column, list};
use crate::problem::Problem;
use crate::route::Kind::Text;
use crate::route::Role::Administrator;
use crate::route::{AnswerFuture, Field, LIST, Operation, Route, Shape, at};
use crate::service::Service;

pub(super) static ROUTES: &[Route] = &[
    at(
        "/api/topic-permissions",
        &[Operation::list(Administrator, all, "Lists topic permissions.", Shape::Many(&TABLE)).query(LIST)],
    ),
    at(
        "/api/topic-permissions/{vhost}/{user}",
        &[
            Operation::list(Administrator, some, "Lists a user's topic permissions in a vhost.", Shape::Many(&TABLE))
                .query(LIST),
            Operation::put(Administrator, put, "Sets a user's topic permission.", TOPIC_PERMISSION),
            Operation::delete(Administrator, delete, "Deletes a user's topic permissions in a vhost."),
        ],
    ),
    at(
        "/api/topic-permissions/{vhost}/{user}/{exchange}",
        &[
            Operation::list(
                Administrator,
                some,
                "Lists a user's topic permissions in a vhost, including those for other exchanges.",
                Shape::Many(&TABLE),
            )
            .query(LIST),
            Operation::put(Administrator, put, "Sets a user's topic permission.", TOPIC_PERMISSION),
            Operation::delete(Administrator, delete, "Deletes a user's topic permission for an exchange."),
        ],
    ),
    at(
        "/api/users/{user}/topic-permissions",
        &[Operation::list(Administrator, of_user, "Lists a user's topic permissions.", Shape::Many(&TABLE))
            .query(LIST)],
    ),
    at(
        "/api/vhosts/{vhost}/topic-permissions",
        &[Operation::list(Administrator, of_vhost, "Lists the topic permissions in a vhost.", Shape::Many(&TABLE))
            .query(LIST)],
    ),
];

const TOPIC_PERMISSION: &[Field] = &[
    Field::required("exchange", Text, "The topic exchange."),
    Field::required("write", Text, "A regular expression for the routing keys that the user may publish with."),
    Field::required("read", Text, "A regular expression for the routing keys that the user may bind with."),
];

static TABLE: Table<Arc<TopicPermission>, Service> = Table {
    title: "TopicPermission",
    columns: &[
        column("user", Text, |given, _, cell| cell.text(given.user.as_str())),
        column("vhost", Text, |given, _, cell| cell.text(given.vhost.as_str())),
        column("exchange", Text, |given, _, cell| cell.text(given.exchange.as_str())),
        column("write", Text, |given, _, cell| cell.text(given.write())),
        column("read", Text, |given, _, cell| cell.text(given.read())),
    ],
    order: |a, b| (&a.vhost, &a.user, &a.exchange).cmp(&(&b.vhost, &b.user, &b.exchange)),
    name: |given| given.user.as_str().into(),
};

fn answer(call: &Call, wanted: impl Fn(&TopicPermission) -> bool) -> AnswerFuture {
    list(of(call, wanted), &TABLE, &call.service, &call.query)
}

fn of(call: &Call, wanted: impl Fn(&TopicPermission) -> bool) -> Vec<Arc<TopicPermission>> {
    let mut given = call.broker().topic_permissions();
    given.retain(|given| wanted(given));
    given
}

fn all(call: &Call) -> Result<AnswerFuture, Problem> {
    Ok(answer(call, |_| true))
}

fn of_user(call: &Call) -> Result<AnswerFuture, Problem> {
    let user = users::find(call)?;
    Ok(answer(call, |given| given.user == user.name))
}

fn of_vhost(call: &Call) -> Result<AnswerFuture, Problem> {
    vhosts::find(call)?;
    Ok(answer(call, |given| given.vhost.as_str() == call.vhost()))
}

fn is_of_path(call: &Call, given: &TopicPermission) -> bool {
    given.vhost.as_str() == call.vhost() && given.user.as_str() == call.argument("user")
}

fn some(call: &Call) -> Result<AnswerFuture, Problem> {
    users::find(call)?;
    vhosts::find(call)?;
    let given = of(call, |given| is_of_path(call, given));
    if given.is_empty() {
        return Err(Problem::not_found());
    }
    Ok(list(given, &TABLE, &call.service, &call.query))
}

fn put(call: &Call) -> Result<Answer, Problem> {
    let (user, vhost) = permissions::both(call)?;
    let body = call.object()?;
    let fields = Fields(&body);
    fields.require(&["exchange", "write", "read"])?;
    let exchange = fields.required_text("exchange")?;
    if !exchange.is_empty() && call.broker().exchange_view(vhost.as_str(), exchange).is_none() {
        return Err(Problem::bad_request(json!(["no_such_exchange", exchange])));
    }
    let exchange = ExchangeName::parse(exchange.as_bytes()).map_err(|error| Problem::bad_request(error.to_string()))?;
    let (write, read) = (fields.required_text("write")?, fields.required_text("read")?);
    let given = TopicPermission::parse(vhost, user, exchange, write, read)
        .map_err(|error| Problem::bad_request(error.to_string()))?;
    Ok(Answer::changed(&call.broker().put_topic_permission(call.actor(), given)?))
}

fn delete(call: &Call) -> Result<Answer, Problem> {
    users::find(call)?;
    vhosts::find(call)?;
    let exchange = call.arguments.get("exchange");
    let broker = call.broker();
    let deleted = broker.delete_topic_permissions(call.actor(), call.argument("user"), call.vhost(), exchange);
    Ok(Answer::done(&deleted.map_err(|error| match error {
        ControlError::NotFound(_) => Problem::not_found(),
        other => other.into(),
    })?))
}
