//! The cluster: how it stands, and what operators order. RabbitMQ does these by `rabbitmqctl` alone.

use std::sync::Arc;

use broker::Identity;
use cluster::control::{ClusterView, Control, ControlError, ErrorKind, MemberView, Trouble};
use hyper::StatusCode;
use serde_json::{Map, Value, json};

use super::identity::uncached;
use crate::answer::Answer;
use crate::call::{Call, ForwardedBy};
use crate::json::Fields;
use crate::path::Arguments;
use crate::problem::Problem;
use crate::route::Kind::{Any, Boolean, Integer, List, Text};
use crate::route::Role::{Administrator, Monitoring};
use crate::route::{AnswerFuture, Field, Operation, Route, Shape, at};

const REFUSALS: &[(&str, &str)] = &[
    ("404", "The node does not exist."),
    (
        "503",
        "The node is not in a cluster, reaches no majority, or cannot connect to the other \
         node.",
    ),
];

/// Of an order that is about one node.
const NODE: Field = Field::optional("node", Text, "The node. Default: the node that gets the request.");

const FORCE: Field = Field::optional("force", Boolean, "Whether the data of this node may be lost.");

/// An order: what it does, and with which members of a body.
const fn order(
    act: fn(Call) -> Result<AnswerFuture, Problem>,
    summary: &'static str,
    body: &'static [Field],
) -> Operation {
    Operation::post(Administrator, |_| Err(Problem::not_found()), summary, body).ordered(act).strict().refuses(REFUSALS)
}

const CLUSTER: &str = "/api/warren/cluster";
const JOIN: &str = "/api/warren/cluster/join";
const RESET: &str = "/api/warren/cluster/reset";
const DRAIN: &str = "/api/warren/cluster/drain";
const REVIVE: &str = "/api/warren/cluster/revive";
const STOP_APP: &str = "/api/warren/cluster/stop_app";
const START_APP: &str = "/api/warren/cluster/start_app";
const TRANSFER: &str = "/api/warren/cluster/transfer";
const NODE_PATH: &str = "/api/warren/cluster/nodes/{node}";

pub(super) static ROUTES: &[Route] = &[
    at(
        CLUSTER,
        &[Operation::get(Monitoring, show, "Returns the status of the cluster, also of a node that runs alone.", VIEW)],
    ),
    at(
        JOIN,
        &[order(
            |call| obey(call, JOIN),
            "Makes this node join the cluster of another node, or form one with it.",
            &[Field::required("node", Text, "The name of the other node, or `host:port`."), FORCE],
        )],
    ),
    at(
        RESET,
        &[order(|call| obey(call, RESET), "Makes a node leave its cluster and delete all its data.", &[NODE, FORCE])],
    ),
    at(
        DRAIN,
        &[order(
            |call| obey(call, DRAIN),
            "Puts a node into maintenance: it hands over leadership and accepts no clients until it is \
             revived.",
            &[NODE],
        )],
    ),
    at(
        REVIVE,
        &[order(|call| obey(call, REVIVE), "Ends the maintenance of a node: it accepts clients again.", &[NODE])],
    ),
    at(
        STOP_APP,
        &[order(
            |call| obey(call, STOP_APP),
            "Stops the application of a node: it serves no clients and does not lead, but its process continues.",
            &[NODE],
        )],
    ),
    at(START_APP, &[order(|call| obey(call, START_APP), "Starts the application of a node again.", &[NODE])]),
    at(
        TRANSFER,
        &[order(
            |call| obey(call, TRANSFER),
            "Transfers leadership to another node.",
            &[Field::optional("node", Text, "The name of this node. Default: the most suitable node.")],
        )
        .answers(Shape::Object(&[Field::required("leader", Text, "The new leader.")]))],
    ),
    at(
        NODE_PATH,
        &[Operation::delete(Administrator, |_| Err(Problem::not_found()), "Removes a stopped node from the cluster.")
            .ordered(|call| obey(call, NODE_PATH))
            .refuses(REFUSALS)],
    ),
];

/// Whether a route is one of these.
pub(crate) fn is_about_cluster(path: &str) -> bool {
    ROUTES.iter().any(|route| route.path == path)
}

const VIEW: Shape = Shape::Object(&[
    Field::required("cluster", Any, "The cluster's id. Null if this node runs alone."),
    Field::required("name", Text, "The cluster's name."),
    Field::required("node", Text, "The node that answered."),
    Field::required("leader", Any, "The leader. Null if none is known."),
    Field::required("term", Integer, "The term of the leader's election."),
    Field::required("level", Integer, "The level of formats in use."),
    Field::required("has_majority", Boolean, "Whether the node that answered reaches a majority."),
    Field::required("waiting", Any, "What a node that is not yet in its cluster waits for. Otherwise null."),
    Field::required(
        "nodes",
        List,
        "All nodes: `name`, `member`, `role` (`leader`, `follower` or `learner`), `running`, `draining`, `address`, `version`, \
         `level`, `last_seen_ms`, `silent_ms`, `clock_ahead_ms`; if known, `log` with `last`, `written`, `committed`, `applied`, \
         `base`, `lag_entries`, `lag_bytes` and `unacknowledged_ms`; and `links`: `lane`, `up`, `round_trip_us`, `sent`, `received`.",
    ),
    Field::required(
        "troubles",
        List,
        "The problems that the node that answered knows of, the most important first: `kind` (`no-leader`, `down`, `silent`, `lagging` \
         or `clock`), `severity` (`problem` or `warning`), `node`, which is null if the problem concerns the cluster, and `text`.",
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
            "level": 0, "last_seen_ms": null, "silent_ms": null, "clock_ahead_ms": null, "log": null, "links": [],
        }],
        "troubles": [],
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
        "troubles": shown_troubles(view),
    })
}

/// What is out of order.
pub(super) fn shown_troubles(view: &ClusterView) -> Vec<Value> {
    let shown = |trouble: Trouble| {
        json!({
            "kind": trouble.kind.name(),
            "severity": if trouble.kind.is_problem() { "problem" } else { "warning" },
            "node": trouble.node,
            "text": trouble.text,
        })
    };
    view.troubles().into_iter().map(shown).collect()
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
        "silent_ms": member.silent_ms,
        "clock_ahead_ms": member.clock_ahead_ms,
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

fn control(call: &Call) -> Result<&Arc<dyn Control>, Problem> {
    call.service.control().ok_or_else(|| Problem::bad_request(NO_CLUSTER))
}

const NO_CLUSTER: &str = "this node is alone: its configuration has no cluster keys, such as warren.cluster.secret";

/// What is ordered.
#[derive(Debug)]
enum Order {
    Join { seed: String, force: bool },
    Reset { node: Option<String>, force: bool },
    Drain { node: Option<String> },
    Revive { node: Option<String> },
    App { node: Option<String>, runs: bool },
    Transfer { to: Option<String> },
    Forget { node: String },
}

impl Order {
    /// Reads the order of a route.
    fn read(path: &str, arguments: &Arguments, body: &Map<String, Value>) -> Result<Order, Problem> {
        let fields = Fields(body);
        let node = || fields.text("node").map(|node| node.map(str::to_owned));
        let force = || fields.bool("force", false);
        Ok(match path {
            JOIN => Order::Join { seed: fields.required_text("node")?.to_owned(), force: force()? },
            RESET => Order::Reset { node: node()?, force: force()? },
            DRAIN => Order::Drain { node: node()? },
            REVIVE => Order::Revive { node: node()? },
            STOP_APP | START_APP => Order::App { node: node()?, runs: path == START_APP },
            TRANSFER => Order::Transfer { to: node()? },
            NODE_PATH => Order::Forget { node: arguments.get("node").unwrap_or_default().to_owned() },
            _ => return Err(Problem::not_found()),
        })
    }

    /// As another node was asked it, which leads no clients of its own: it is about that one. What is left to say is an error.
    fn asked_of(self, asked: &str, control: &dyn Control) -> Result<Order, Problem> {
        let of = |node: Option<String>| node.or_else(|| Some(asked.to_owned()));
        Ok(match self {
            // It is a member, or would have no connection to send on.
            Order::Join { .. } => {
                let cluster = control.view().cluster;
                return Err(cluster.map_or_else(Problem::not_found, |id| refused(&ControlError::AlreadyMember(id))));
            }
            Order::Reset { node, force } => Order::Reset { node: of(node), force },
            Order::Drain { node } => Order::Drain { node: of(node) },
            Order::Revive { node } => Order::Revive { node: of(node) },
            Order::App { node, runs } => Order::App { node: of(node), runs },
            other @ (Order::Transfer { .. } | Order::Forget { .. }) => other,
        })
    }

    fn name(&self) -> &'static str {
        match self {
            Order::Join { .. } => "join",
            Order::Reset { .. } => "reset",
            Order::Drain { .. } => "drain",
            Order::Revive { .. } => "revive",
            Order::App { runs: false, .. } => "stop_app",
            Order::App { runs: true, .. } => "start_app",
            Order::Transfer { .. } => "transfer",
            Order::Forget { .. } => "forget",
        }
    }

    /// Has it carried out, and logs who ordered what, and the outcome.
    async fn carry_out(self, control: &dyn Control, user: &str) -> Result<Answer, Problem> {
        let what = self.name();
        let outcome = match self {
            Order::Join { seed, force } => control.join(&seed, force).await.map(|()| None),
            Order::Reset { node, force } => control.reset(node.as_deref(), force).await.map(|()| None),
            Order::Drain { node } => control.drain(node.as_deref()).await.map(|()| None),
            Order::Revive { node } => control.revive(node.as_deref()).await.map(|()| None),
            Order::App { node, runs } => control.run_app(node.as_deref(), runs).await.map(|()| None),
            Order::Transfer { to } => control.transfer(to.as_deref()).await.map(Some),
            Order::Forget { node } => control.forget(&node).await.map(|()| None),
        };
        match outcome {
            Ok(leader) => {
                tracing::info!(user, what, "cluster command executed");
                Ok(leader.map_or_else(Answer::no_content, |leader| {
                    Answer::json(json!({"leader": leader}).to_string().into_bytes())
                }))
            }
            Err(error) => {
                tracing::warn!(user, what, %error, "cluster command failed");
                Err(refused(&error))
            }
        }
    }
}

/// An order that is carried out by what is returned, whatever becomes of the broker.
fn obey(call: Call, path: &'static str) -> Result<AnswerFuture, Problem> {
    let mut order = Order::read(path, &call.arguments, &call.object()?)?;
    let control = control(&call)?.clone();
    if let Some(ForwardedBy(asked)) = &call.forwarded_by {
        order = order.asked_of(asked, &*control)?;
    }
    let user = call.identity().name().to_owned();
    Ok(Box::pin(async move { order.carry_out(&*control, &user).await }))
}

/// The cluster where no broker runs.
pub(crate) fn shown_locally(view: &ClusterView, name: &str) -> Answer {
    uncached(Answer::json(shown(view, name).to_string().into_bytes()))
}

/// An order of the operator of a machine where no broker runs.
pub(crate) async fn carry_out_locally(
    control: &dyn Control,
    path: &str,
    arguments: &Arguments,
    body: &Map<String, Value>,
) -> Result<Answer, Problem> {
    Order::read(path, arguments, body)?.carry_out(control, Identity::local_operator().name()).await
}
