//! Queues.

use std::collections::HashMap;

use serde_json::{Value, json};

use crate::command::{Command, flag, option, optional, repeated, required};
use crate::failure::{DATA, Failure, USAGE};
use crate::invocation::Invocation;
use crate::listing::{self, Column, Listing, columns, renamed, same, text, untold};
use crate::step::{Ask, StepResult, done, path, remark};

pub(crate) const COMMANDS: &[Command] = &[
    Command::new("list_queues", "lists a virtual host's queues", list_queues)
        .taking(&[repeated("column")])
        .with(&[
            flag("online", "only queues whose node is running"),
            flag("offline", "only queues whose node is not running"),
            flag("local", "only queues of this node"),
        ])
        .saying("Timeout: {timeout|60.0} seconds ...\nListing queues for vhost {vhost} ..."),
    Command::new("delete_queue", "deletes a queue", delete_queue)
        .taking(&[required("queue")])
        .with(&[
            flag("if-empty", "only if the queue has no messages").short("e"),
            flag("if-unused", "only if it has no consumers").short("u"),
            flag("force", "accepted: nothing protects a queue from this user but permissions"),
        ])
        .long()
        .saying("Deleting queue '{queue}' on vhost '{vhost}' ..."),
    Command::new("purge_queue", "removes the ready messages of a queue", |input| {
        let (vhost, queue) = (input.vhost(), input.text("queue"));
        let missing = no_such_queue(vhost, queue);
        Ask::delete(path(&["queues", vhost, queue, "contents"]))
            .then(move |reply| reply.unless(404, || Failure::new(DATA, missing))?.done())
    })
    .taking(&[required("queue")])
    .long()
    .saying("Purging queue '{queue}' in vhost '{vhost}' ..."),
    Command::new("pause_queue", "pauses a queue: its consumers get no messages until it is resumed", |input| {
        set_paused(input, "pause")
    })
    .taking(&[required("queue")])
    .saying("Pausing queue '{queue}' in vhost '{vhost}' ..."),
    Command::new("resume_queue", "resumes a queue that was paused", |input| set_paused(input, "resume"))
        .taking(&[required("queue")])
        .saying("Resuming queue '{queue}' in vhost '{vhost}' ..."),
    Command::new("rebalance", "spreads the leaders of replicated queues over the nodes", rebalance)
        .taking(&[optional("type")])
        .with(&[
            option("vhost-pattern", "PATTERN", "only in virtual hosts with such names"),
            option("queue-pattern", "PATTERN", "only queues with such names"),
        ])
        .saying("Rebalancing leaders ..."),
    Command::new("post_upgrade", "spreads the leaders of replicated queues, as after an upgrade of all nodes", |_| {
        Ask::post("rebalance/queues".to_owned(), &json!({})).done()
    })
    .saying("Rebalancing leaders ..."),
    Command::new(
        "list_unresponsive_queues",
        "lists a virtual host's queues that cannot answer: down, crashed, without a majority",
        list_unresponsive,
    )
    .taking(&[repeated("column")])
    .with(&[
        flag("local", "only queues of this node"),
        flag("all", "accepted: these are all"),
        option("queue-timeout", "MILLISECONDS", "accepted: the server knows their states"),
    ])
    .saying("Listing unresponsive queues for vhost {vhost} ..."),
];

/// Fields that are known at once; others are in statistics, which RabbitMQ gathers every few seconds.
const KNOWN_AT_ONCE: &[&str] = &[
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
    columns: columns! {
        "name" "durable" "auto_delete" "arguments" "policy" "operator_policy" "effective_policy_definition"
        { untold("pid") } { renamed("owner_pid", "owner_pid_details.name") } "exclusive"
        { untold("exclusive_consumer_pid") } "exclusive_consumer_tag" "single_active_consumer_tag" "messages_ready"
        "messages_unacknowledged" "messages" "messages_dlx" "messages_delayed" "messages_deduplicated"
        "messages_dropped" "messages_came_round" "messages_ready_ram" "messages_unacknowledged_ram" "messages_ram" "messages_persistent"
        "message_bytes" "message_bytes_ready" "message_bytes_unacknowledged" "message_bytes_ram"
        "message_bytes_persistent" "head_message_timestamp" { untold("disk_reads") } { untold("disk_writes") }
        "consumers" "consumer_utilisation" "consumer_capacity" "memory" "state" "type" "leader" "members" "online"
        "vhost" "node"
    },
    default: &["name", "messages"],
};

const UNRESPONSIVE: Listing = Listing {
    columns: columns! {
        "name" "durable" "auto_delete" "arguments" "policy" { untold("pid") } { untold("recoverable_mirrors") }
        { untold("recoverable_slaves") } "type" "state"
    },
    default: &["name"],
};

/// The columns by which queues are selected, and entries of two lists matched.
const NEEDED: &[Column] = &[same("name"), same("state"), same("node")];

/// Asks for what is known at once.
pub(crate) const AT_ONCE: &str = "disable_stats=true&enable_queue_totals=true";

/// Whether all of these fields of a queue are known at once.
pub(crate) fn are_known_at_once<'a>(mut fields: impl Iterator<Item = &'a str>) -> bool {
    fields.all(|field| KNOWN_AT_ONCE.contains(&field))
}

fn list_queues(input: &Invocation) -> StepResult {
    let columns = QUEUES.chosen(input)?;
    let names: Vec<&str> = columns.iter().map(|column| column.name).collect();
    let place = path(&["queues", input.vhost()]);
    let at_once = format!("{place}?{AT_ONCE}");
    let with_statistics = listing::with_columns(place, &columns.iter().copied().chain(NEEDED).collect::<Vec<_>>());
    let vhost = input.vhost().to_owned();
    let filter = Filter::of(input);
    let show = move |mut items: Vec<Value>| {
        filter.then(move |is_meant| {
            items.retain(is_meant);
            listing::show(&columns, &items)
        })
    };
    if are_known_at_once(names.iter().copied()) {
        return Ask::get(at_once)
            .then(move |reply| show(reply.unless(404, || Failure::no_such_vhost(&vhost))?.list()?));
    }
    let is_any_known_at_once = names.iter().any(|name| *name != "name" && KNOWN_AT_ONCE.contains(name));
    Ask::get(with_statistics).then(move |reply| {
        let mut items = reply.unless(404, || Failure::no_such_vhost(&vhost))?.list()?;
        if !is_any_known_at_once {
            return show(items);
        }
        // The rest comes from statistics, but counts are those of now.
        Ask::get(at_once).then(move |reply| {
            overlay(&mut items, reply.list()?);
            show(items)
        })
    })
}

/// Puts what is known at once over what statistics say of the same queues.
fn overlay(items: &mut [Value], known: Vec<Value>) {
    let known: HashMap<String, Value> = known.into_iter().map(|item| (text(&item, "name").to_owned(), item)).collect();
    for item in items {
        let fields = known.get(text(item, "name")).and_then(Value::as_object);
        if let (Some(item), Some(fields)) = (item.as_object_mut(), fields) {
            item.extend(fields.clone());
        }
    }
}

/// Which queues are meant.
#[derive(Clone, Copy)]
struct Filter {
    is_online: bool,
    is_offline: bool,
    is_local: bool,
}

impl Filter {
    fn of(input: &Invocation) -> Self {
        Filter { is_online: input.has("online"), is_offline: input.has("offline"), is_local: input.has("local") }
    }

    /// Continues with a function that decides whether a queue is selected.
    fn then(self, next: impl FnOnce(Box<dyn Fn(&Value) -> bool>) -> StepResult + 'static) -> StepResult {
        let is_down = |item: &Value| matches!(text(item, "state"), "down" | "stopped" | "crashed");
        let is_meant = move |item: &Value| !(self.is_online && is_down(item) || self.is_offline && !is_down(item));
        if !self.is_local {
            return next(Box::new(is_meant));
        }
        Ask::get("overview".to_owned()).then(move |reply| {
            let node = text(&reply.value()?, "node").to_owned();
            next(Box::new(move |item| text(item, "node") == node && is_meant(item)))
        })
    }
}

fn list_unresponsive(input: &Invocation) -> StepResult {
    let (columns, vhost) = (UNRESPONSIVE.chosen(input)?, input.vhost().to_owned());
    let filter = Filter { is_online: false, is_offline: false, is_local: input.has("local") };
    Ask::get(format!("{}?{AT_ONCE}", path(&["queues", &vhost]))).then(move |reply| {
        let mut items = reply.unless(404, || Failure::no_such_vhost(&vhost))?.list()?;
        items
            .retain(|item| matches!(text(item, "state"), "down" | "stopped" | "crashed" | "minority" | "unresponsive"));
        filter.then(move |is_meant| {
            items.retain(is_meant);
            listing::show(&columns, &items)
        })
    })
}

/// The HTTP API spreads all leaders or none; on one node there is nothing to spread.
fn rebalance(input: &Invocation) -> StepResult {
    let kind = input.optional("type").unwrap_or("all");
    if !["all", "classic", "quorum", "stream"].contains(&kind) {
        return Err(Failure::usage(format!("the type must be all, classic, quorum or stream, not '{kind}'")));
    }
    let all = |name| input.optional(name).is_none_or(|pattern| pattern == ".*");
    let ask = Ask::post("rebalance/queues".to_owned(), &json!({}));
    if kind == "all" && all("vhost-pattern") && all("queue-pattern") {
        return ask.done();
    }
    Ask::get("nodes".to_owned()).then(move |reply| match reply.list()?.len() {
        0 | 1 => done(),
        _ => Ask::get("warren/cluster".to_owned()).then(|reply| match reply.is_accepted() {
            true => remark(
                "one node leads all queues, so there is nothing to rebalance; transfer_leadership moves the leadership",
            ),
            false => Err(Failure::unavailable("over HTTP all leaders can be rebalanced, but not only some")),
        }),
    })
}

fn delete_queue(input: &Invocation) -> StepResult {
    let (vhost, queue) = (input.vhost().to_owned(), input.text("queue").to_owned());
    let place = path(&["queues", &vhost, &queue]);
    let conditions = [("if-empty", "if-empty=true"), ("if-unused", "if-unused=true")];
    let conditions: Vec<&str> =
        conditions.iter().filter(|(flag, _)| input.has(flag)).map(|(_, query)| *query).collect();
    let query = if conditions.is_empty() { String::new() } else { format!("?{}", conditions.join("&")) };
    Ask::delete(format!("{place}{query}")).then(move |reply| {
        reply.unless(404, || Failure::new(USAGE, no_such_queue(&vhost, &queue)))?.accepted()?;
        remark("Queue was successfully deleted")
    })
}

/// Pauses or resumes a queue. A RabbitMQ can do neither, and answers 404, as a Warren does for a queue that does not exist: whether
/// the queue exists distinguishes the two.
fn set_paused(input: &Invocation, action: &str) -> StepResult {
    let (vhost, queue) = (input.vhost().to_owned(), input.text("queue").to_owned());
    Ask::put(path(&["queues", &vhost, &queue, action]), &json!({})).then(move |reply| match reply.status {
        404 => Ask::get(format!("{}?{AT_ONCE}", path(&["queues", &vhost, &queue]))).then(move |reply| {
            reply.unless(404, || Failure::new(DATA, no_such_queue(&vhost, &queue)))?.accepted()?;
            Err(Failure::not_warren())
        }),
        405 => Err(Failure::not_warren()),
        _ => reply.done(),
    })
}

pub(crate) fn no_such_queue(vhost: &str, queue: &str) -> String {
    format!("no queue '{queue}' in virtual host '{vhost}'")
}
