//! What only quorum queues report, and where their replicas are: on all nodes of the cluster, be it one.

use broker::view::QueueView;
use cluster::control::{MemberView, Role};
use hyper::StatusCode;
use model::arguments::QueueType;
use model::features::{BackOff, DelayedRetry, QueueFeatures, RetryOf};

use crate::answer::Answer;
use crate::call::Call;
use crate::json::{Cell, Fields, Writer};
use crate::problem::Problem;
use crate::route::Kind::Text;
use crate::route::Role::{Administrator, InVhost};
use crate::route::{Field, Operation, Route, Shape, at};

pub(super) static ROUTES: &[Route] = &[
    at(
        "/api/queues/quorum/{vhost}/{queue}/status",
        &[Operation::get(InVhost, status, "Returns where the replicas of a quorum queue are.", Shape::List)
            .refuses(&[("503", "The queue is a classic queue.")])],
    ),
    at(
        "/api/queues/quorum/{vhost}/{queue}/replicas/add",
        &[Operation::post(Administrator, add_replica, "Has no effect: a quorum queue is on all nodes.", NODE)
            .refuses(UNAVAILABLE)],
    ),
    at(
        "/api/queues/quorum/{vhost}/{queue}/replicas/delete",
        &[Operation {
            body: NODE,
            ..Operation::delete(Administrator, delete_replica, "Is refused: a quorum queue is on all nodes.")
        }
        .refuses(UNAVAILABLE)],
    ),
    at(
        "/api/queues/quorum/replicas/on/{node}/grow",
        &[Operation::post(Administrator, grow, "Has no effect: quorum queues are on all nodes.", GROWTH)],
    ),
    at(
        "/api/queues/quorum/replicas/on/{node}/shrink",
        &[Operation::delete(Administrator, shrink, "Has no effect, or is refused: quorum queues are on all nodes.")
            .refuses(&[("202", "Nothing had to be done.")])],
    ),
];

const NODE: &[Field] = &[Field::required("node", Text, "The node's name.")];

const GROWTH: &[Field] = &[
    Field::required("vhost_pattern", Text, "A regular expression for the names of vhosts."),
    Field::required("queue_pattern", Text, "A regular expression for the names of queues."),
    Field::required("strategy", Text, "`all`, or `even`: only queues with an even number of replicas."),
];

const UNAVAILABLE: &[(&str, &str)] = &[("503", "The replicas of the queue cannot be changed.")];

/// The version of RabbitMQ 4.3's quorum queues, whose rules these keep.
const MACHINE_VERSION: u64 = 8;

fn find(call: &Call) -> Option<QueueView> {
    call.broker().queue_view(call.vhost(), call.argument("queue"))
}

fn is_quorum(queue: &QueueView) -> bool {
    queue.definition().arguments.queue_type() == QueueType::Quorum
}

const NOT_FOR_CLASSIC: &str = "classic_queue_not_supported";

fn status(call: &Call) -> Result<Answer, Problem> {
    let queue = find(call).ok_or_else(Problem::not_found)?;
    let mut out = Vec::new();
    if !is_quorum(&queue) {
        Writer::new(&mut out).object(|members| {
            members.cell("status").text("failed");
            members.cell("reason").text(NOT_FOR_CLASSIC);
        });
        return Ok(Answer::json(out).with_status(StatusCode::SERVICE_UNAVAILABLE));
    }
    if let Some(cluster) = call.service.cluster() {
        Writer::new(&mut out).list(&cluster.members, |member, writer| write_member(member, cluster.term, writer));
        return Ok(Answer::json(out));
    }
    // One journal is for all queues: none has a log of its own whose indices could be shown.
    Writer::new(&mut out).list([call.service.node()], |node, writer| {
        writer.object(|members| {
            members.cell("Node Name").text(node);
            members.cell("Raft State").text("leader");
            members.cell("Membership").text("voter");
            for name in ["Last Log Index", "Last Written", "Last Applied", "Commit Index"] {
                members.cell(name).int(0);
            }
            members.cell("Snapshot Index").signed(-1);
            members.cell("Term").int(0);
            members.cell("Machine Version").int(MACHINE_VERSION);
        });
    });
    Ok(Answer::json(out))
}

/// A node's part in the one log that all queues are in.
fn write_member(member: &MemberView, term: u64, writer: Writer<'_>) {
    let log = member.log.filter(|_| member.is_running).unwrap_or_default();
    writer.object(|members| {
        members.cell("Node Name").text(member.name.as_str());
        // RabbitMQ's word for a node that does not answer.
        members.cell("Raft State").text(match member.role {
            _ if !member.is_running => "noproc",
            Role::Leader => "leader",
            Role::Follower | Role::Learner => "follower",
        });
        members.cell("Membership").text(if member.role == Role::Learner { "promotable" } else { "voter" });
        members.cell("Last Log Index").int(log.last);
        members.cell("Last Written").int(log.written);
        members.cell("Last Applied").int(log.applied);
        members.cell("Commit Index").int(log.committed);
        members.cell("Snapshot Index").int(log.base);
        members.cell("Term").int(if member.is_running { term } else { 0 });
        members.cell("Machine Version").int(MACHINE_VERSION);
    });
}

fn unavailable(reason: &str) -> Problem {
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, "service_unavailable", reason)
}

fn is_member(call: &Call, node: &str) -> bool {
    node == call.service.node() || call.service.cluster().is_some_and(|view| view.member(node).is_some())
}

/// All queues are on all nodes: to take one from a node is to take the node out.
fn one_group(call: &Call) -> Result<(), Problem> {
    match call.service.cluster().is_some_and(|view| view.members.len() > 1) {
        true => Err(Problem::bad_request(ONE_GROUP)),
        false => Ok(()),
    }
}

const ONE_GROUP: &str = "all queues are on all nodes; forget_cluster_node removes a stopped node";

/// The body names a node of the cluster.
fn check_member(call: &Call) -> Result<(), Problem> {
    let body = call.object()?;
    match is_member(call, Fields(&body).required_text("node")?) {
        true => Ok(()),
        false => Err(Problem::bad_request(NOT_A_MEMBER)),
    }
}

const NOT_A_MEMBER: &str = "Node is not a cluster member";

fn add_replica(call: &Call) -> Result<Answer, Problem> {
    check_member(call)?;
    let queue = find(call).ok_or_else(|| unavailable("not_found"))?;
    if is_quorum(&queue) { Ok(Answer::no_content()) } else { Err(unavailable(NOT_FOR_CLASSIC)) }
}

fn delete_replica(call: &Call) -> Result<Answer, Problem> {
    let queue = find(call).ok_or_else(Problem::not_found)?;
    check_member(call)?;
    one_group(call)?;
    Err(unavailable(if is_quorum(&queue) { "last_node" } else { NOT_FOR_CLASSIC }))
}

fn grow(call: &Call) -> Result<Answer, Problem> {
    if !is_member(call, call.argument("node")) {
        return Err(Problem::bad_request(NOT_A_MEMBER));
    }
    let body = call.object()?;
    let fields = Fields(&body);
    fields.require(&["vhost_pattern", "queue_pattern", "strategy"])?;
    for name in ["vhost_pattern", "queue_pattern"] {
        fields.required_text(name)?;
    }
    match fields.required_text("strategy")? {
        "all" | "even" => Ok(Answer::no_content()),
        _ => Err(Problem::bad_request("Invalid strategy value")),
    }
}

fn shrink(call: &Call) -> Result<Answer, Problem> {
    if !is_member(call, call.argument("node")) {
        return Err(Problem::not_found());
    }
    one_group(call)?;
    Ok(Answer::empty(StatusCode::ACCEPTED))
}

fn features(queue: &QueueView) -> QueueFeatures {
    QueueFeatures::of(&queue.definition().arguments, &queue.policy())
}

/// How often a message may fail. Without a limit RabbitMQ writes a word among the counts, and a number elsewhere.
pub(super) fn put_delivery_limit(queue: &QueueView, is_among_counts: bool, cell: Cell<'_>) {
    match features(queue).delivery_limit {
        Some(limit) => cell.int(limit.into()),
        None if is_among_counts => cell.text("unlimited"),
        None => cell.signed(-1),
    }
}

/// How messages wait that came back: `failed (min: 100ms, max: 500ms)`.
pub(super) fn delayed_retry(queue: &QueueView) -> String {
    features(queue).retry.map_or_else(|| "disabled".to_owned(), shown_retry)
}

fn shown_retry(retry: DelayedRetry) -> String {
    let kind = match retry.applies_to {
        RetryOf::All => "all",
        RetryOf::Failed => "failed",
        RetryOf::Returned => "returned",
    };
    let max = retry.max_ms.map_or_else(String::new, |max| format!(", max: {max}ms"));
    let back_off = match retry.back_off {
        BackOff::Linear => "",
        BackOff::Exponential => ", exponential",
    };
    format!("{kind} (min: {}ms{max}{back_off})", retry.min_ms)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_retry_is_told_as_rabbitmq_tells_it() {
        let retry =
            DelayedRetry { applies_to: RetryOf::Failed, min_ms: 100, max_ms: Some(500), back_off: BackOff::Linear };
        assert_eq!(shown_retry(retry), "failed (min: 100ms, max: 500ms)");
        let ours = DelayedRetry { applies_to: RetryOf::All, max_ms: None, back_off: BackOff::Exponential, ..retry };
        assert_eq!(shown_retry(ours), "all (min: 100ms, exponential)");
    }
}
