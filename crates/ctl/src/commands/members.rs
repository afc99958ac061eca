//! Members of replicated queues: which nodes hold one.

use serde_json::json;

use crate::command::{Command, Opt, flag, option, required};
use crate::invocation::Invocation;
use crate::step::{Ask, StepResult, path};

pub(crate) const COMMANDS: &[Command] = &[
    Command::new("add_member", "adds a quorum queue's member on a node", |input| {
        member(input, Ask::post(place(input, "add"), &json!({"node": input.text("on-node")})))
    })
    .taking(&[required("queue"), required("on-node")])
    .with(&[option("membership", "KIND", "accepted: the server decides")])
    .saying("Adding a replica for queue {queue} on node {on-node}..."),
    Command::new("delete_member", "removes a quorum queue's member from a node", |input| {
        let body = json!({"node": input.text("on-node")}).to_string();
        member(input, Ask::delete(place(input, "delete")).with_body(body.into_bytes()))
    })
    .taking(&[required("queue"), required("on-node")])
    .saying("Removing a replica of queue {queue} on node {on-node}..."),
    Command::new(
        "grow",
        "has a node hold all quorum queues that fit, or those with an even number of members",
        |input| {
            let body = json!({
                "strategy": input.text("strategy"),
                "vhost_pattern": input.optional("vhost-pattern").unwrap_or(".*"),
                "queue_pattern": input.optional("queue-pattern").unwrap_or(".*"),
            });
            Ask::post(path(&["queues", "quorum", "replicas", "on", input.text("on-node"), "grow"]), &body).done()
        },
    )
    .taking(&[required("on-node"), required("strategy")])
    .with(&[
        option("vhost-pattern", "PATTERN", "only in virtual hosts with such names"),
        option("queue-pattern", "PATTERN", "only queues with such names"),
        option("membership", "KIND", "accepted: the server decides"),
        ERRORS_ONLY,
    ])
    .saying("Growing {strategy} quorum queues on {on-node}..."),
    Command::new("shrink", "removes the members of all quorum queues from a node", |input| {
        Ask::delete(path(&["queues", "quorum", "replicas", "on", input.text("on-node"), "shrink"])).done()
    })
    .taking(&[required("on-node")])
    .with(&[ERRORS_ONLY])
    .saying("Shrinking quorum queues on {on-node}..."),
];

const ERRORS_ONLY: Opt = flag("errors-only", "accepted: the server reports only errors");

fn place(input: &Invocation, what: &str) -> String {
    path(&["queues", "quorum", input.vhost(), input.text("queue"), "replicas", what])
}

fn member(input: &Invocation, ask: Ask) -> StepResult {
    let missing = super::queues::no_such_queue(input.vhost(), input.text("queue"));
    ask.then(move |reply| {
        // So both say it that a queue is added to; what is taken away is 404.
        if reply.status == 503 && reply.reason().as_deref() == Some("not_found") {
            return Err(crate::failure::Failure::data(missing));
        }
        reply.unless(404, || crate::failure::Failure::data(missing))?.done()
    })
}
