//! Members of replicated queues: which nodes hold one.

use serde_json::json;

use crate::command::{Command, Opt, flag, option, required};
use crate::given::Given;
use crate::step::{Ask, Started, path};

pub(crate) const COMMANDS: &[Command] = &[
    Command::new("add_member", "has a node hold a quorum queue, too", |given| {
        member(given, Ask::post(place(given, "add"), &json!({"node": given.text("on-node")})))
    })
    .taking(&[required("queue"), required("on-node")])
    .with(&[option("membership", "KIND", "accepted: the server decides")])
    .saying("Adding a replica for queue {queue} on node {on-node}..."),
    Command::new("delete_member", "has a node hold a quorum queue no more", |given| {
        let body = json!({"node": given.text("on-node")}).to_string();
        member(given, Ask::delete(place(given, "delete")).with_body(body.into_bytes()))
    })
    .taking(&[required("queue"), required("on-node")])
    .saying("Removing a replica of queue {queue} on node {on-node}..."),
    Command::new(
        "grow",
        "has a node hold all quorum queues that fit, or those with an even number of members",
        |given| {
            let body = json!({
                "strategy": given.text("strategy"),
                "vhost_pattern": given.optional("vhost-pattern").unwrap_or(".*"),
                "queue_pattern": given.optional("queue-pattern").unwrap_or(".*"),
            });
            Ask::post(path(&["queues", "quorum", "replicas", "on", given.text("on-node"), "grow"]), &body).done()
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
    Command::new("shrink", "has a node hold no quorum queue any more", |given| {
        Ask::delete(path(&["queues", "quorum", "replicas", "on", given.text("on-node"), "shrink"])).done()
    })
    .taking(&[required("on-node")])
    .with(&[ERRORS_ONLY])
    .saying("Shrinking quorum queues on {on-node}..."),
];

const ERRORS_ONLY: Opt = flag("errors-only", "accepted: the server tells of errors only");

fn place(given: &Given, what: &str) -> String {
    path(&["queues", "quorum", given.vhost(), given.text("queue"), "replicas", what])
}

fn member(given: &Given, ask: Ask) -> Started {
    let missing = super::queues::no_such_queue(given.vhost(), given.text("queue"));
    ask.then(move |reply| reply.unless(404, || crate::failure::Failure::data(missing))?.done())
}
