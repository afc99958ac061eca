//! Messages of a queue: looked at without being taken, deleted, moved elsewhere, sent back to where they died. A request does so much; what
//! is left is asked for again, until all is done.

use std::rc::Rc;

use serde_json::{Map, Value, json};

use super::pages::Pages;
use super::queues::no_such_queue;
use crate::command::{Command, Opt, flag, option, repeated, required, truth};
use crate::failure::Failure;
use crate::invocation::Invocation;
use crate::listing::{Listing, columns, renamed};
use crate::output::Output;
use crate::reply::Reply;
use crate::step::{Ask, Step, StepResult, escaped, path};

/// Options that say which messages are meant, after a command's own.
macro_rules! with_filter {
    ($($own:expr),* $(,)?) => {
        &[
            $($own,)*
            option("header", "name[=value]", "only those with this header"),
            option("routing-key", "key", "only those with this routing key"),
            option("exchange", "name", "only messages from this exchange"),
            option("body", "text", "only those with this text in the body"),
            option("older-than", "time", "only messages in the queue for at least this long: 90s, 10m, 2h, 1d"),
            option("younger-than", "time", "only messages in the queue for at most this long"),
            truth("redelivered", "only those that may have been handed out before; =false: only others"),
            truth("dead", "only dead letters; =false: only others"),
            option("death-reason", "reason", "only those first dead-lettered for this reason"),
        ]
    };
}

/// Options of commands that do something with messages.
macro_rules! with_selection {
    ($($own:expr),* $(,)?) => {
        with_filter!(
            $($own,)*
            option("ids", "id,...", "only these, as browse_queue shows them"),
            option("limit", "count", "the maximum number"),
            flag("all", "all messages, if there is no other filter"),
        )
    };
}

const BROWSE: &[Opt] = with_filter!(
    option("count", "count", "how many at most, by default 100"),
    option("from", "id", "starts at this message"),
    option("tail", "count", "starts this many messages before the end"),
    option("truncate", "bytes", "how much of each body"),
    flag("unacked", "unacked messages, rather than ready ones"),
);
const DELETE: &[Opt] = with_selection!();
const MOVE: &[Opt] = with_selection!(
    option("to-queue", "queue", "to this queue"),
    option("to-exchange", "exchange", "or by this exchange"),
    option("to-routing-key", "key", "with this routing key instead of their own"),
    option("to-vhost", "vhost", "in this virtual host instead of their own"),
);
const REDRIVE: &[Opt] =
    with_selection!(option("to", "first|last", "to the queue where they died first, or last (the default)"));

pub(crate) const COMMANDS: &[Command] = &[
    Command::new("browse_queue", "shows messages of a queue without taking them", browse)
        .taking(&[required("queue"), repeated("column")])
        .with(BROWSE)
        .long()
        .saying("Browsing queue '{queue}' in vhost '{vhost}' ..."),
    Command::new("delete_messages", "deletes ready messages of a queue", |input| {
        let place = place(input, "");
        let body = selection(input)?;
        let from = body.get("from").cloned();
        let query = query(&body);
        repeat(
            Job { given_limit: limit(&body), missing: missing(input), totals: Map::new() },
            from,
            move |from, limit| {
                let mut query = query.clone();
                query.extend(from.map(|from| format!("from={}", escaped(&from))));
                query.extend(limit.map(|limit| format!("limit={limit}")));
                Ask::delete(with_query(&place, &query))
            },
        )
    })
    .taking(&[required("queue")])
    .with(DELETE)
    .long()
    .saying("Deleting messages of queue '{queue}' in vhost '{vhost}' ..."),
    Command::new("move_messages", "moves ready messages of a queue to another one, or by an exchange", |input| {
        if input.has("to-queue") == input.has("to-exchange") {
            return Err(Failure::usage("either --to-queue or --to-exchange is required"));
        }
        let to = ["to-queue", "to-exchange", "to-routing-key", "to-vhost"];
        post(input, "move", to.iter().filter_map(|name| Some((name.replace('-', "_"), json!(input.optional(name)?)))))
    })
    .taking(&[required("queue")])
    .with(MOVE)
    .long()
    .saying("Moving messages of queue '{queue}' in vhost '{vhost}' ..."),
    Command::new("redrive_messages", "sends dead letters in a queue back to the queues in which they died", |input| {
        post(input, "redrive", input.optional("to").map(|to| ("to".to_owned(), json!(to))).into_iter())
    })
    .taking(&[required("queue")])
    .with(REDRIVE)
    .long()
    .saying("Redriving messages of queue '{queue}' in vhost '{vhost}' ..."),
];

const MESSAGES: Listing = Listing {
    columns: columns! {
        "id" "exchange" "routing_key" "entered" "redelivered" "durable" "properties" "payload_bytes" "payload"
        "payload_encoding" { renamed("headers", "properties.headers") }
        { renamed("connection", "held_by.connection") } { renamed("channel", "held_by.channel") }
        { renamed("consumer_tag", "held_by.consumer_tag") }
    },
    default: &["id", "exchange", "routing_key", "redelivered", "payload_bytes", "payload"],
};
const UNACKED_DEFAULT: &[&str] =
    &["id", "routing_key", "payload_bytes", "payload", "connection", "channel", "consumer_tag"];

/// Messages that are shown unless it is said how many.
const COUNT: u64 = 100;

fn place(input: &Invocation, what: &str) -> String {
    let mut parts = vec!["queues", input.vhost(), input.text("queue"), "messages"];
    parts.extend(Some(what).filter(|what| !what.is_empty()));
    path(&parts)
}

fn missing(input: &Invocation) -> String {
    no_such_queue(input.vhost(), input.text("queue"))
}

pub(super) fn with_query(place: &str, query: &[String]) -> String {
    if query.is_empty() { place.to_owned() } else { format!("{place}?{}", query.join("&")) }
}

/// What messages must have, by the API's names.
fn filter(input: &Invocation) -> Result<Map<String, Value>, Failure> {
    let mut body = Map::new();
    if let Some(header) = input.optional("header") {
        let (name, value) = header.split_once('=').map_or((header, None), |(name, value)| (name, Some(value)));
        body.insert("header".to_owned(), json!(name));
        body.extend(value.map(|value| ("header_value".to_owned(), json!(value))));
    }
    for (option, name) in
        [("routing-key", "routing_key"), ("exchange", "exchange"), ("body", "body"), ("death-reason", "death_reason")]
    {
        body.extend(input.optional(option).map(|text| (name.to_owned(), json!(text))));
    }
    for (option, name) in [("older-than", "older_than"), ("younger-than", "younger_than")] {
        body.extend(duration_ms(input, option)?.map(|age_ms| (name.to_owned(), json!(age_ms))));
    }
    for name in ["redelivered", "dead"] {
        body.extend(input.truth(name)?.map(|is| (name.to_owned(), json!(is))));
    }
    Ok(body)
}

/// A time such as `90s`, `10m`, `2h` or `1d`, in milliseconds; without a unit it is in seconds.
pub(super) fn duration_ms(input: &Invocation, name: &str) -> Result<Option<u64>, Failure> {
    let Some(text) = input.optional(name) else { return Ok(None) };
    let time_ms = human::parse_duration_ms(text, 1000);
    time_ms
        .map(Some)
        .ok_or_else(|| Failure::data(format!("{name} must be a time such as 90s, 10m, 2h or 1d, not '{text}'")))
}

/// Which messages are meant. Nothing is done with all of a queue's messages unless that is said.
fn selection(input: &Invocation) -> Result<Map<String, Value>, Failure> {
    let mut body = filter(input)?;
    if let Some(ids) = input.optional("ids") {
        if !body.is_empty() || input.has("limit") || input.has("all") {
            return Err(Failure::usage("--ids and other filters exclude each other"));
        }
        let ids: Vec<&str> = ids.split(',').map(str::trim).filter(|id| !id.is_empty()).collect();
        body.insert("ids".to_owned(), json!(ids));
        return Ok(body);
    }
    body.extend(input.number("limit")?.map(|limit| ("limit".to_owned(), json!(limit))));
    if body.is_empty() && !input.has("all") {
        return Err(Failure::usage("a filter is required: --ids, other filters, --limit, or --all"));
    }
    if input.has("all") {
        body.insert("all".to_owned(), json!(true));
    }
    Ok(body)
}

/// As a query.
fn query(body: &Map<String, Value>) -> Vec<String> {
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        Value::Array(ids) => ids.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(","),
        other => other.to_string(),
    };
    let said = body.iter().filter(|(name, _)| *name != "limit");
    said.map(|(name, value)| format!("{name}={}", escaped(&text(value)))).collect()
}

fn limit(body: &Map<String, Value>) -> Option<u64> {
    body.get("limit").and_then(Value::as_u64)
}

fn post(input: &Invocation, what: &str, to: impl Iterator<Item = (String, Value)>) -> StepResult {
    let place = place(input, what);
    let mut body = selection(input)?;
    let job = Job { given_limit: limit(&body), missing: missing(input), totals: Map::new() };
    body.extend(to);
    repeat(job, None, move |from, limit| {
        let mut body = body.clone();
        body.extend(from.map(|from| ("from".to_owned(), json!(from))));
        body.extend(limit.map(|limit| ("limit".to_owned(), json!(limit))));
        Ask::post(place.clone(), &Value::Object(body))
    })
}

/// Something that takes several requests.
struct Job {
    given_limit: Option<u64>,
    missing: String,
    /// What the answers have counted together.
    totals: Map<String, Value>,
}

/// Asks until there is no more to be done.
fn repeat(job: Job, from: Option<Value>, ask: impl Fn(Option<String>, Option<u64>) -> Ask + 'static) -> StepResult {
    go_on(job, from.and_then(|from| Some(from.as_str()?.to_owned())), Rc::new(ask))
}

type RequestFn = Rc<dyn Fn(Option<String>, Option<u64>) -> Ask>;

fn go_on(mut job: Job, from: Option<String>, ask: RequestFn) -> StepResult {
    let done_count: u64 = DONE.iter().filter_map(|name| job.totals.get(*name)?.as_u64()).sum();
    let limit = job.given_limit.map(|limit| limit.saturating_sub(done_count));
    let missing = job.missing.clone();
    ask(from, limit).then(move |reply| {
        let answer = answered(reply, missing)?;
        let next = answer.get("next").and_then(Value::as_str).map(str::to_owned);
        if let Value::Object(members) = answer {
            members.into_iter().filter(|(name, _)| name != "next" && name != "partial").for_each(|(name, value)| {
                add(&mut job.totals, name, value);
            });
        }
        let done_count: u64 = DONE.iter().filter_map(|name| job.totals.get(*name)?.as_u64()).sum();
        let has_enough = job.given_limit.is_some_and(|limit| done_count >= limit);
        match next.filter(|_| !has_enough) {
            Some(next) => go_on(job, Some(next), ask),
            None => Ok(Step::Done(told(job.totals))),
        }
    })
}

/// What answers call what has been done.
const DONE: [&str; 3] = ["deleted", "moved", "redriven"];

fn add(totals: &mut Map<String, Value>, name: String, value: Value) {
    match (totals.get_mut(&name), value) {
        (Some(Value::Object(before)), Value::Object(more)) => {
            more.into_iter().for_each(|(name, value)| add(before, name, value));
        }
        (Some(before), value) => {
            if let (Some(before_count), Some(count)) = (before.as_u64(), value.as_u64()) {
                *before = json!(before_count + count);
            }
        }
        (None, value) => {
            totals.insert(name, value);
        }
    }
}

fn told(totals: Map<String, Value>) -> Output {
    let count = |name: &str| totals.get(name).and_then(Value::as_u64);
    let mut parts: Vec<String> =
        DONE.iter().filter_map(|name| Some(format!("{} messages {name}", count(name)?))).collect();
    for (name, text) in [
        ("refused", "stay, because a queue is full and refuses them"),
        ("unroutable", "stay, because no queue would receive them"),
        ("not_dead", "stay, because they are not dead letters"),
        ("already_there", "stay, because this queue dead-lettered them"),
    ] {
        parts.extend(count(name).filter(|count| *count > 0).map(|count| format!("{count} {text}")));
    }
    if let Some(Value::Object(missing)) = totals.get("missing_queues") {
        parts.extend(missing.keys().map(|queue| format!("queue '{queue}' no longer exists")));
    }
    Output::Document { text: parts.join("; "), value: Value::Object(totals) }
}

/// The answer of a server that knows what is asked.
pub(super) fn answered(reply: Reply, missing: String) -> Result<Value, Failure> {
    known(reply, missing)?.value()
}

/// An answer, unless the server does not know what is asked, or it is not there.
pub(super) fn known(reply: Reply, missing: String) -> Result<Reply, Failure> {
    if matches!(reply.status, 405 | 501) {
        return Err(Failure::not_warren());
    }
    reply.unless(404, || Failure::data(missing))
}

fn browse(input: &Invocation) -> StepResult {
    let columns = match input.has("unacked") && input.all("column").is_empty() {
        true => UNACKED_DEFAULT
            .iter()
            .filter_map(|name| MESSAGES.columns.iter().find(|column| column.name == *name))
            .collect(),
        false => MESSAGES.chosen(input)?,
    };
    let mut query = query(&filter(input)?);
    if input.has("unacked") {
        query.push("state=unacked".to_owned());
    }
    query.extend(input.number("truncate")?.map(|len| format!("truncate={len}")));
    let mut first = query.clone();
    first.extend(input.number("tail")?.map(|count| format!("tail={count}")));
    first.extend(input.optional("from").map(|id| format!("from={}", escaped(id))));
    let pages = Pages {
        place: place(input, ""),
        behind: "from",
        query,
        missing: missing(input),
        columns,
        count_left: input.number("count")?.unwrap_or(COUNT),
        items: Vec::new(),
    };
    pages.ask(first)
}
