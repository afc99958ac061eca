//! The cluster: how it stands, and what operators order. RabbitMQ does these by `rabbitmqctl` alone.

use cluster::control::{ClusterView, Control, ControlError, ErrorKind, MemberView};
use hyper::StatusCode;
use serde_json::{Value, json};

use super::identity::uncached;
use crate::answer::Answer;
use crate::call::Call;
use crate::json::Fields;
use crate::problem::Problem;
use crate::route::Kind::{Any, Boolean, Integer, List, Text};
use crate::route::Role::{Administrator, Monitoring};
use crate::route::{AnswerFuture, Field, Operation, Route, Shape, at};

const REFUSALS: &[(&str, &str)] =
    &[("404", "There is no such node."), ("503", "There is no cluster, no majority, or no way to the other node.")];

/// Of an order that is about one node.
const NODE: Field = Field::optional("node", Text, "Which node; else the one that is asked.");

const FORCE: Field = Field::optional("force", Boolean, "Whether what this node has may be lost.");

/// An order: what it does, and with which members of a body.
const fn order(act: fn(Call) -> AnswerFuture, summary: &'static str, body: &'static [Field]) -> Operation {
    Operation::post(Administrator, |_| Err(Problem::not_found()), summary, body).later(act).strict().refuses(REFUSALS)
}

pub(super) static ROUTES: &[Route] = &[
    at(
        "/api/warren/cluster",
        &[Operation::get(Monitoring, show, "Returns how the cluster stands; of a node alone, that it is alone.", VIEW)],
    ),
    at(
        "/api/warren/cluster/join",
        &[order(
            |call| Box::pin(join(call)),
            "Has this node join the cluster of another one, or form one with it.",
            &[Field::required("node", Text, "The other node's name, or `host:port`."), FORCE],
        )],
    ),
    at(
        "/api/warren/cluster/reset",
        &[order(
            |call| Box::pin(reset(call)),
            "Has a node leave its cluster and lose all that it has.",
            &[NODE, FORCE],
        )],
    ),
    at(
        "/api/warren/cluster/drain",
        &[order(
            |call| Box::pin(drain(call)),
            "Has a node hand over and take no clients, until it is revived.",
            &[NODE],
        )],
    ),
    at(
        "/api/warren/cluster/revive",
        &[order(|call| Box::pin(revive(call)), "Has a node take clients again.", &[NODE])],
    ),
    at(
        "/api/warren/cluster/transfer",
        &[order(
            |call| Box::pin(transfer(call)),
            "Hands leadership to another node.",
            &[Field::optional("node", Text, "Its name; else the one that is best for it.")],
        )
        .answers(Shape::Object(&[Field::required("leader", Text, "The node that leads now.")]))],
    ),
    at(
        "/api/warren/cluster/nodes/{node}",
        &[Operation::delete(
            Administrator,
            |_| Err(Problem::not_found()),
            "Takes a node that does not run out of the cluster.",
        )
        .later(|call| Box::pin(forget(call)))
        .refuses(REFUSALS)],
    ),
];

const VIEW: Shape = Shape::Object(&[
    Field::required("cluster", Any, "The cluster's id; null where this node is alone."),
    Field::required("name", Text, "The cluster's name."),
    Field::required("node", Text, "The node that answers."),
    Field::required("leader", Any, "The node that leads; null if none is known."),
    Field::required("term", Integer, "Since which election."),
    Field::required("level", Integer, "The level of formats that is in use."),
    Field::required("has_majority", Boolean, "Whether the node that answers reaches a majority."),
    Field::required("waiting", Any, "What a node waits for that is to be in a cluster and is not; else null."),
    Field::required(
        "nodes",
        List,
        "All nodes: `name`, `member`, `role` (`leader`, `follower` or `learner`), `running`, `draining`, `address`, `version`, `level`, \
         `last_seen_ms`; `log`, where it is known, with `last`, `written`, `committed`, `applied`, `base`, `lag_entries`, `lag_bytes` and \
         `unacknowledged_ms`; and `links`: `lane`, `up`, `round_trip_us`, `sent`, `received`.",
    ),
]);

fn show(call: &Call) -> Result<Answer, Problem> {
    let name = call.broker().cluster_name();
    let shown = match call.service.control() {
        Some(control) => shown(&control.view(), &name),
        None => shown_alone(call.service.node(), &call.service.options.product_version, &name),
    };
    Ok(uncached(Answer::json(shown.to_string().into_bytes())))
}

fn shown_alone(node: &str, version: &str, name: &str) -> Value {
    json!({
        "cluster": null, "name": name, "node": node, "leader": node, "term": 0, "level": 0, "has_majority": true, "waiting": null,
        "nodes": [{
            "name": node, "member": null, "role": "leader", "running": true, "draining": false, "address": null, "version": version,
            "level": 0, "last_seen_ms": null, "log": null, "links": [],
        }],
    })
}

fn shown(view: &ClusterView, name: &str) -> Value {
    json!({
        "cluster": view.cluster.map(|cluster| cluster.to_string()),
        "name": name,
        "node": view.own.as_str(),
        "leader": view.leader.as_ref().map(|leader| leader.as_str()),
        "term": view.term,
        "level": view.level,
        "has_majority": view.has_majority,
        "waiting": view.waiting,
        "nodes": view.members.iter().map(shown_member).collect::<Vec<_>>(),
    })
}

fn shown_member(member: &MemberView) -> Value {
    let log = member.log.map(|log| {
        json!({
            "last": log.last, "written": log.written, "committed": log.committed, "applied": log.applied, "base": log.base,
            "lag_entries": log.lag_entries, "lag_bytes": log.lag_bytes, "unacknowledged_ms": log.unacknowledged_ms,
        })
    });
    let links = member.links.iter().map(|link| {
        json!({
            "lane": link.lane.name(), "up": link.is_up, "round_trip_us": link.round_trip_us, "sent": link.sent,
            "received": link.received,
        })
    });
    json!({
        "name": member.name.as_str(),
        // Larger than what all readers of JSON take for a whole number.
        "member": format!("{:016x}", member.member.get()),
        "role": member.role.name(),
        "running": member.is_running,
        "draining": member.is_draining,
        "address": member.address.as_ref().map(ToString::to_string),
        "version": member.version,
        "level": member.level,
        "last_seen_ms": (member.last_seen_ms > 0).then_some(member.last_seen_ms),
        "log": log,
        "links": links.collect::<Vec<_>>(),
    })
}

/// What becomes of a request whose order was not carried out.
pub(super) fn refused(error: &ControlError) -> Problem {
    let (status, name) = match error.kind() {
        ErrorKind::Wrong => (StatusCode::BAD_REQUEST, "bad_request"),
        ErrorKind::NotFound => (StatusCode::NOT_FOUND, "not_found"),
        ErrorKind::Unavailable => (StatusCode::SERVICE_UNAVAILABLE, "service_unavailable"),
    };
    Problem::new(status, name, error.to_string())
}

fn control(call: &Call) -> Result<&dyn Control, Problem> {
    let missing = || Problem::new(StatusCode::SERVICE_UNAVAILABLE, "service_unavailable", NO_CLUSTER);
    call.service.control().map(|control| &**control).ok_or_else(missing)
}

const NO_CLUSTER: &str = "this node is alone: it has no keys of a cluster, such as warren.cluster.secret";

fn is_forced(call: &Call) -> Result<bool, Problem> {
    Fields(&call.object()?).bool("force", false)
}

/// Says in the log who ordered what, and what came of it.
fn told<T>(call: &Call, what: &'static str, outcome: Result<T, ControlError>) -> Result<T, Problem> {
    let user = call.identity().name();
    match outcome {
        Ok(value) => {
            tracing::info!(user, what, "an order to the cluster was carried out");
            Ok(value)
        }
        Err(error) => {
            tracing::warn!(user, what, %error, "an order to the cluster was not carried out");
            Err(refused(&error))
        }
    }
}

async fn join(call: Call) -> Result<Answer, Problem> {
    let (body, force) = (call.object()?, is_forced(&call)?);
    let seed = Fields(&body).required_text("node")?;
    let outcome = control(&call)?.join(seed, force);
    told(&call, "join", outcome.await)?;
    Ok(Answer::no_content())
}

async fn reset(call: Call) -> Result<Answer, Problem> {
    let body = call.object()?;
    let outcome = control(&call)?.reset(Fields(&body).text("node")?, is_forced(&call)?);
    told(&call, "reset", outcome.await)?;
    Ok(Answer::no_content())
}

async fn drain(call: Call) -> Result<Answer, Problem> {
    let body = call.object()?;
    let outcome = control(&call)?.drain(Fields(&body).text("node")?);
    told(&call, "drain", outcome.await)?;
    Ok(Answer::no_content())
}

async fn revive(call: Call) -> Result<Answer, Problem> {
    let body = call.object()?;
    let outcome = control(&call)?.revive(Fields(&body).text("node")?);
    told(&call, "revive", outcome.await)?;
    Ok(Answer::no_content())
}

async fn transfer(call: Call) -> Result<Answer, Problem> {
    let body = call.object()?;
    let outcome = control(&call)?.transfer(Fields(&body).text("node")?);
    let leader = told(&call, "transfer", outcome.await)?;
    Ok(Answer::json(json!({"leader": leader}).to_string().into_bytes()))
}

async fn forget(call: Call) -> Result<Answer, Problem> {
    let outcome = control(&call)?.forget(call.argument("node"));
    told(&call, "forget", outcome.await)?;
    Ok(Answer::no_content())
}
