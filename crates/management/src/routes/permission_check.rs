//! Whether a user may do something, and why: which permissions that takes, and what each says. Nothing is done.

use std::sync::Arc;

use broker::{Actor, CheckedRight, LoginRefused, NeededRight, Resource, VhostAccess, WouldRoute};
use model::user::{Access, TopicAccess};

use crate::answer::Answer;
use crate::call::Call;
use crate::json::Writer;
use crate::listing::Query;
use crate::problem::Problem;
use crate::route::Kind::{Boolean, Integer, List};
use crate::route::Role::Management;
use crate::route::{AnswerFuture, Field, Operation, Parameters, Route, Shape, at};
use crate::tags::is_administrator;

pub(super) static ROUTES: &[Route] = &[at(
    "/api/permissions/check",
    &[Operation::get(
        Management,
        |_| Err(Problem::not_found()),
        "Checks whether a user may perform an operation, and which permissions decide this.",
        Shape::Object(&[
            Field::required("allowed", Boolean, "Whether the user may perform the operation."),
            Field::required("checks", List, "The permissions that the operation needs, and whether the user has them."),
            Field::optional("routes_to", List, "The queues that a published message would be routed to, at most 100."),
            Field::optional("routes_to_count", Integer, "The number of these queues."),
        ]),
    )
    .later(|call| Box::pin(check(call)) as AnswerFuture)
    .strict()
    .query(&[
        Parameters::Other(
            "user",
            "The user. Default: the user of the request. Only administrators may name other users.",
        ),
        Parameters::Other("vhost", "The vhost."),
        Parameters::Other("operation", "`publish`, `consume`, `get`, `purge`, `configure`, `bind` or `unbind`."),
        Parameters::Other("exchange", "The exchange. For a binding, its source."),
        Parameters::Other("queue", "The queue. For a binding, its destination."),
        Parameters::Other("destination_exchange", "For a binding, the destination exchange."),
        Parameters::Other("routing_key", "The routing key. Topic permissions and routing depend on it."),
    ])
    .refuses(&[("404", "The vhost or user does not exist.")])],
)];

/// Queues that are named.
const NAMED_COUNT_MAX: usize = 100;

async fn check(call: Call) -> Result<Answer, Problem> {
    let query = &call.query;
    let vhost = query.get("vhost").ok_or_else(|| Problem::bad_request("a vhost is required"))?;
    let rights = needed(query)?;
    let actor = actor(&call).await?;
    let access = call.broker().open_vhost(&actor, vhost).ok_or_else(Problem::not_found)?;
    let checked = inspect(&access, &rights).await;
    // A user that may not enter a vhost must not learn whether it exists, nor what is in it.
    let is_inside = checked.first().is_some_and(|(_, entered)| entered.is_allowed);
    if !is_inside && !is_administrator(call.identity()) {
        return Err(Problem::not_found());
    }
    let is_allowed = checked.iter().all(|(_, checked)| checked.is_allowed);
    let routed = match query.get("operation") {
        Some("publish") if is_allowed => {
            let (exchange, key) = (query.get("exchange").unwrap_or_default(), query.get("routing_key"));
            access.would_route(real_name(exchange), key.unwrap_or_default(), NAMED_COUNT_MAX)
        }
        _ => None,
    };
    Ok(described(is_allowed, &checked, routed.as_ref()))
}

/// The user that is asked about.
async fn actor(call: &Call) -> Result<Actor, Problem> {
    let own = call.actor();
    let Some(name) = call.query.get("user").filter(|name| *name != own.identity.name()) else { return Ok(own.clone()) };
    if !is_administrator(&own.identity) {
        return Err(Problem::not_authorised("Not administrator user"));
    }
    match call.broker().recognize(name, &own.origin).await {
        Ok(identity) => Ok(Actor { identity: Arc::new(identity), origin: own.origin }),
        Err(refused @ LoginRefused::Unavailable { .. }) => Err(Problem::unavailable(refused.to_string())),
        Err(refused) => Err(Problem::new(hyper::StatusCode::NOT_FOUND, "not_found", refused.to_string())),
    }
}

/// Checks each right, as often as back ends have to be asked.
async fn inspect<'a>(access: &VhostAccess, rights: &'a [NeededRight]) -> Vec<(&'a NeededRight, CheckedRight)> {
    loop {
        let checked =
            rights.iter().filter_map(|right| access.inspect(right).map(|checked| (right, checked))).collect::<Vec<_>>();
        if !access.await_authorization().await {
            return checked;
        }
    }
}

/// The default exchange has a name of its own in paths and permissions.
fn real_name(exchange: &str) -> &str {
    if exchange == "amq.default" { "" } else { exchange }
}

fn needed(query: &Query) -> Result<Vec<NeededRight>, Problem> {
    let operation = query.get("operation").ok_or_else(|| Problem::bad_request("an operation is required"))?;
    let given = |name: &str| query.get(name).map(str::to_owned);
    let required = |name: &str| given(name).ok_or_else(|| Problem::bad_request(format!("{operation} needs {name}")));
    let of = |access, resource, name| NeededRight::Resource { resource, name, access };
    let exchange_of = |name: String| real_name(&name).to_owned();
    let topic = |access, exchange: &str| {
        let key = given("routing_key");
        key.map(|routing_key| NeededRight::Topic { exchange: exchange.to_owned(), routing_key, access })
    };
    let mut rights = vec![NeededRight::Enter];
    match operation {
        "publish" => {
            let exchange = exchange_of(required("exchange")?);
            rights.push(of(Access::Write, Resource::Exchange, exchange.clone()));
            rights.extend(topic(TopicAccess::Write, &exchange));
        }
        "consume" | "get" | "purge" => rights.push(of(Access::Read, Resource::Queue, required("queue")?)),
        "configure" => {
            let queue = given("queue").map(|name| of(Access::Configure, Resource::Queue, name));
            let exchange = given("exchange").map(|name| of(Access::Configure, Resource::Exchange, exchange_of(name)));
            if queue.is_none() && exchange.is_none() {
                return Err(Problem::bad_request("configure needs a queue or an exchange"));
            }
            rights.extend(queue.into_iter().chain(exchange));
        }
        "bind" | "unbind" => {
            let source = exchange_of(required("exchange")?);
            rights.push(match (given("queue"), given("destination_exchange")) {
                (Some(queue), None) => of(Access::Write, Resource::Queue, queue),
                (None, Some(exchange)) => of(Access::Write, Resource::Exchange, exchange_of(exchange)),
                _ => return Err(Problem::bad_request(format!("{operation} needs a queue or a destination_exchange"))),
            });
            rights.push(of(Access::Read, Resource::Exchange, source.clone()));
            rights.extend(topic(TopicAccess::Read, &source));
        }
        other => {
            let known = "publish, consume, get, purge, configure, bind or unbind";
            return Err(Problem::bad_request(format!("the operation must be {known}, not '{other}'")));
        }
    }
    Ok(rights)
}

/// What a right is about, and which permission it is.
fn words(right: &NeededRight) -> (&'static str, &str, &'static str) {
    match right {
        NeededRight::Enter => ("vhost", "", "enter"),
        NeededRight::Resource { resource, name, access } => {
            let permission = match access {
                Access::Configure => "configure",
                Access::Write => "write",
                Access::Read => "read",
            };
            (resource.name(), name, permission)
        }
        NeededRight::Topic { routing_key, access, .. } => {
            let permission = if *access == TopicAccess::Write { "write" } else { "read" };
            ("topic", routing_key, permission)
        }
    }
}

fn described(is_allowed: bool, checks: &[(&NeededRight, CheckedRight)], routed: Option<&WouldRoute>) -> Answer {
    let mut out = Vec::new();
    Writer::new(&mut out).object(|members| {
        members.cell("allowed").bool(is_allowed);
        members.cell("checks").list(checks, |(right, checked), writer| {
            let (resource, name, permission) = words(right);
            writer.object(|members| {
                members.cell("resource").text(resource);
                members.cell("name").text(name);
                members.cell("permission").text(permission);
                members.cell("pattern").text_or_null(checked.pattern.as_deref());
                if let Some(exists) = checked.exists {
                    members.cell("exists").bool(exists);
                }
                members.cell("allowed").bool(checked.is_allowed);
                members.cell("reason").text_if(checked.reason.as_deref());
            });
        });
        if let Some(routed) = routed {
            members.cell("routes_to").texts(routed.queues.iter().map(String::as_str));
            members.cell("routes_to_count").int(routed.count as u64);
        }
    });
    Answer::json(out)
}
