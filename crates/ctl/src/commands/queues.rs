//! Queues.

use serde_json::json;

use crate::command::{Command, flag, repeated, required};
use crate::failure::{DATA, Failure, USAGE};
use crate::given::Given;
use crate::listing::{self, Listing, renamed, same, untold};
use crate::step::{Ask, Started, path, remark};

pub(crate) const COMMANDS: &[Command] = &[
    Command::new("list_queues", "lists a virtual host's queues", list_queues)
        .taking(&[repeated("column")])
        .with(&[
            flag("online", "only those whose node is there"),
            flag("offline", "only those whose node is not"),
            flag("local", "only those of the node that is asked"),
        ])
        .saying("Timeout: {timeout|60.0} seconds ...\nListing queues for vhost {vhost} ..."),
    Command::new("delete_queue", "deletes a queue", delete_queue)
        .taking(&[required("queue")])
        .with(&[
            flag("if-empty", "only if there are no messages in it").short('e'),
            flag("if-unused", "only if it has no consumers").short('u'),
            flag("force", "accepted: nothing protects a queue from this user but permissions"),
        ])
        .long()
        .saying("Deleting queue '{queue}' on vhost '{vhost}' ..."),
    Command::new("purge_queue", "throws away the messages of a queue that nobody holds", |given| {
        let (vhost, queue) = (given.vhost(), given.text("queue"));
        let missing = no_such_queue(vhost, queue);
        Ask::delete(path(&["queues", vhost, queue, "contents"]))
            .then(move |reply| reply.unless(404, || Failure::new(DATA, missing))?.done())
    })
    .taking(&[required("queue")])
    .long()
    .saying("Purging queue '{queue}' in vhost '{vhost}' ..."),
    Command::new("rebalance", "spreads the leaders of replicated queues over the nodes", |_| {
        Ask::post("rebalance/queues".to_owned(), &json!({})).done()
    })
    .taking(&[crate::command::optional("what")])
    .saying("Rebalancing leaders ..."),
];

/// Fields that are known at once, without waiting for statistics.
const COUNTED: &[&str] = &[
    "name",
    "vhost",
    "durable",
    "auto_delete",
    "exclusive",
    "arguments",
    "type",
    "state",
    "messages",
    "messages_ready",
    "messages_unacknowledged",
    "policy",
    "node",
    "leader",
    "members",
    "online",
];

const QUEUES: Listing = Listing {
    columns: &[
        same("name"),
        same("durable"),
        same("auto_delete"),
        same("arguments"),
        same("policy"),
        same("operator_policy"),
        same("effective_policy_definition"),
        untold("pid"),
        renamed("owner_pid", "owner_pid_details.name"),
        same("exclusive"),
        untold("exclusive_consumer_pid"),
        same("exclusive_consumer_tag"),
        same("messages_ready"),
        same("messages_unacknowledged"),
        same("messages"),
        same("messages_ready_ram"),
        same("messages_unacknowledged_ram"),
        same("messages_ram"),
        same("messages_persistent"),
        same("message_bytes"),
        same("message_bytes_ready"),
        same("message_bytes_unacknowledged"),
        same("message_bytes_ram"),
        same("message_bytes_persistent"),
        same("head_message_timestamp"),
        untold("disk_reads"),
        untold("disk_writes"),
        same("consumers"),
        same("consumer_utilisation"),
        same("consumer_capacity"),
        same("memory"),
        same("state"),
        same("type"),
        same("leader"),
        same("members"),
        same("online"),
        same("vhost"),
        same("node"),
    ],
    default: &["name", "messages"],
};

fn list_queues(given: &Given) -> Started {
    let columns = QUEUES.chosen(given)?;
    let mut place = path(&["queues", given.vhost()]);
    // Statistics are gathered every few seconds; counts alone are those of now.
    let is_counted = columns.iter().all(|column| COUNTED.contains(&column.name));
    if is_counted {
        place.push_str("?disable_stats=true&enable_queue_totals=true");
    }
    if !["online", "offline", "local"].iter().any(|flag| given.has(flag)) {
        return QUEUES.ask(given, place);
    }
    let (is_online, is_offline, is_local) = (given.has("online"), given.has("offline"), given.has("local"));
    let vhost = given.vhost().to_owned();
    Ask::get("overview".to_owned()).then(move |reply| {
        let node = listing::text(&reply.value()?, "node").to_owned();
        Ask::get(place).then(move |reply| {
            let mut items = reply.unless(404, || Failure::no_such_vhost(&vhost))?.list()?;
            let is_down =
                |item: &serde_json::Value| matches!(listing::text(item, "state"), "down" | "stopped" | "crashed");
            items.retain(|item| {
                !(is_local && listing::text(item, "node") != node
                    || is_online && is_down(item)
                    || is_offline && !is_down(item))
            });
            listing::show(&columns, &items)
        })
    })
}

fn delete_queue(given: &Given) -> Started {
    let (vhost, queue) = (given.vhost().to_owned(), given.text("queue").to_owned());
    let place = path(&["queues", &vhost, &queue]);
    let conditions = [("if-empty", "if-empty=true"), ("if-unused", "if-unused=true")];
    let conditions: Vec<&str> =
        conditions.iter().filter(|(flag, _)| given.has(flag)).map(|(_, query)| *query).collect();
    let query = if conditions.is_empty() { String::new() } else { format!("?{}", conditions.join("&")) };
    Ask::delete(format!("{place}{query}")).then(move |reply| {
        reply.unless(404, || Failure::new(USAGE, no_such_queue(&vhost, &queue)))?.accepted()?;
        remark("Queue was successfully deleted")
    })
}

pub(crate) fn no_such_queue(vhost: &str, queue: &str) -> String {
    format!("there is no queue '{queue}' in virtual host '{vhost}'")
}
