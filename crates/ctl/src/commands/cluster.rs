//! The cluster: its members, and its leader. Orders are Warren's own over HTTP; names and words are rabbitmqctl's.

use serde_json::{Value, json};

use crate::command::{Command, flag, optional, required};
use crate::failure::{DATA, Failure, UNAVAILABLE};
use crate::invocation::Invocation;
use crate::listing::text;
use crate::output::{Output, Table};
use crate::step::{Ask, Step, StepResult, path, remark};

pub(crate) const COMMANDS: &[Command] = &[
    Command::new("join_cluster", "makes this node join the cluster of another node", |input| {
        if input.has("ram") {
            return Err(Failure::unavailable("all nodes store durable data on disk: omit --ram"));
        }
        let body = json!({"node": input.text("existing-cluster-member"), "force": input.has("force")});
        order(Ask::post("warren/cluster/join".to_owned(), &body))
    })
    .taking(&[required("existing-cluster-member")])
    .with(&[
        flag("force", "also if the node has queues and messages, which are lost"),
        flag("disc", "accepted: all nodes are such"),
        flag("disk", "accepted: all nodes are such"),
        flag("ram", "refused: Warren has no such nodes"),
    ])
    .long()
    .saying("Clustering the node with {existing-cluster-member} ..."),
    Command::new("forget_cluster_node", "removes a stopped node from the cluster permanently", |input| {
        if input.has("offline") {
            return Err(Failure::unavailable(
                "a node that does not run forgets no other: leave out --offline and ask one that runs, or, where a majority is lost for \
                 good, see force_boot",
            ));
        }
        order(Ask::delete(path(&["warren", "cluster", "nodes", input.text("cluster-node")])))
    })
    .taking(&[required("cluster-node")])
    .with(&[flag("offline", "refused: a running node is required")])
    .saying("Removing node {cluster-node} from the cluster ..."),
    Command::new(
        "reset",
        "makes this node, or the named node, leave its cluster and delete all its data",
        |input| order(Ask::post("warren/cluster/reset".to_owned(), &about(input, json!({"force": false})))),
    )
    .taking(&[optional("node")])
    .long()
    .saying("Resetting the node ..."),
    Command::new(
        "force_reset",
        "the same, even if the other nodes cannot be reached: they must forget the node",
        |input| order(Ask::post("warren/cluster/reset".to_owned(), &about(input, json!({"force": true})))),
    )
    .taking(&[optional("node")])
    .long()
    .saying("Forcefully resetting the node ..."),
    Command::new(
        "drain",
        "puts this node, or the named node, into maintenance: it hands over leadership and accepts no clients until revive",
        drain,
    )
    .taking(&[optional("node")])
    .long()
    .saying("Will put the node into maintenance mode. The node will no longer serve any client traffic!"),
    Command::new("revive", "ends the maintenance of this node, or the named node: it accepts clients again", revive)
    .taking(&[optional("node")])
    .saying("Will undo maintenance mode for the node. The node will resume serving client traffic."),
    Command::new(
        "stop_app",
        "stops the application of this node, or the named node: it serves no clients and does not lead, but its process continues",
        |input| order(Ask::post("warren/cluster/stop_app".to_owned(), &about(input, json!({})))),
    )
    .taking(&[optional("node")])
    .long()
    .saying("Stopping rabbit application on node ..."),
    Command::new("start_app", "starts the application of this node, or the named node, again", |input| {
        order(Ask::post("warren/cluster/start_app".to_owned(), &about(input, json!({}))))
    })
    .taking(&[optional("node")])
    .saying("Starting node ..."),
    Command::new(
        "transfer_leadership",
        "hands leadership to a node, or to the one that is best for it; with a queue before the node, as rabbitmq-queues has it",
        transfer_leadership,
    )
    .taking(&[optional("queue-or-node"), optional("node-name")])
    .saying("Transferring leadership ..."),
    Command::new(
        "cluster_members",
        "lists the cluster's nodes: the leader, and how far the others are behind; not in RabbitMQ",
        |_| members(),
    )
    .saying("Members of the cluster ..."),
];

/// A node alone has none to hand over to: it takes no more clients, and disconnects those that it has.
fn drain(input: &Invocation) -> StepResult {
    let is_named = input.optional("node").is_some();
    Ask::post("warren/cluster/drain".to_owned(), &about(input, json!({}))).then(move |reply| {
        if is_named || !is_alone(&reply) {
            return answered(reply)?.done();
        }
        Ask::post("warren/listeners/suspend".to_owned(), &json!({})).then(|reply| {
            answered(reply)?.accepted()?;
            super::connections::close_all("the node is in maintenance")
        })
    })
}

fn revive(input: &Invocation) -> StepResult {
    let is_named = input.optional("node").is_some();
    Ask::post("warren/cluster/revive".to_owned(), &about(input, json!({}))).then(move |reply| {
        if is_named || !is_alone(&reply) {
            return answered(reply)?.done();
        }
        Ask::post("warren/listeners/resume".to_owned(), &json!({})).then(|reply| answered(reply)?.done())
    })
}

/// Whether a node says that it is in no cluster and can be in none.
fn is_alone(reply: &crate::reply::Reply) -> bool {
    reply.reason().is_some_and(|reason| reason.starts_with("this node is alone"))
}

/// One node leads all queues: where a queue is named, it has to be one that is led at all.
fn transfer_leadership(input: &Invocation) -> StepResult {
    let (Some(queue), Some(node)) = (input.optional("queue-or-node"), input.optional("node-name")) else {
        return transfer(input.optional("queue-or-node"));
    };
    let (vhost, queue, node) = (input.vhost().to_owned(), queue.to_owned(), node.to_owned());
    Ask::get(path(&["queues", &vhost, &queue])).then(move |reply| {
        let shown = reply.unless(404, || Failure::data(super::queues::no_such_queue(&vhost, &queue)))?.value()?;
        match text(&shown, "type") {
            "quorum" => transfer(Some(&node)),
            _ => Err(Failure::unavailable("cannot transfer leadership of a queue that is not a quorum queue")),
        }
    })
}

fn transfer(node: Option<&str>) -> StepResult {
    let body = node.map_or_else(|| json!({}), |node| json!({"node": node}));
    Ask::post("warren/cluster/transfer".to_owned(), &body).then(|reply| {
        let leader = text(&answered(reply)?.value()?, "leader").to_owned();
        remark(format!("{leader} leads now"))
    })
}

/// What a server says that is not as Warren's would: it is another one's, or the words are the server's own.
fn answered(reply: crate::reply::Reply) -> Result<crate::reply::Reply, Failure> {
    match (reply.status, reply.reason()) {
        (404 | 405, reason) if !reason.as_deref().is_some_and(crate::reply::is_telling) => Err(Failure::not_warren()),
        (404, Some(reason)) => Err(Failure::new(DATA, reason)),
        (400 | 503, Some(reason)) => Err(Failure::new(UNAVAILABLE, reason)),
        _ => Ok(reply),
    }
}

/// A body with the node that the order is about, where one is named.
fn about(input: &Invocation, mut body: Value) -> Value {
    if let Some(node) = input.optional("node") {
        body["node"] = json!(node);
    }
    body
}

fn order(ask: Ask) -> StepResult {
    ask.then(|reply| answered(reply)?.done())
}

/// All nodes, one in a line.
pub(super) fn members() -> StepResult {
    Ask::get("warren/cluster".to_owned()).then(|reply| {
        let cluster = answered(reply)?.value()?;
        let row = |node: &Value| -> Vec<Value> {
            let of_node = ["name", "member", "role", "running", "draining", "address", "version"];
            let of_log = ["committed", "written", "lag_entries", "lag_bytes", "unacknowledged_ms"];
            of_node
                .iter()
                .map(|name| node[*name].clone())
                .chain(of_log.iter().map(|name| node["log"][*name].clone()))
                .collect()
        };
        let columns = [
            "name",
            "member",
            "role",
            "running",
            "draining",
            "address",
            "version",
            "committed",
            "written",
            "lag_entries",
            "lag_bytes",
            "unacknowledged_ms",
        ];
        let rows = cluster["nodes"].as_array().into_iter().flatten().map(row).collect();
        Ok(Step::Done(Output::Table(Table { columns: columns.map(str::to_owned).to_vec(), rows })))
    })
}
