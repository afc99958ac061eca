//! Messages that wait at an exchange until they are due: listed, shown, cancelled, put off, released at once.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Map, Value, json};

use super::browsing::{answered, duration_ms, known, with_query};
use super::pages::Pages;
use crate::command::{Command, Opt, flag, option, optional, repeated, required};
use crate::failure::Failure;
use crate::invocation::Invocation;
use crate::listing::{Listing, columns, converted, renamed, text};
use crate::output::Output;
use crate::step::{Ask, Step, StepResult, escaped, path};

/// Options that say which messages are meant, after a command's own.
macro_rules! with_filter {
    ($($own:expr),* $(,)?) => {
        &[
            $($own,)*
            option("due-from", "ms", "only those due then or later, in milliseconds since 1970"),
            option("due-to", "ms", "only those due then or sooner"),
            option("routing-key", "key", "only those with this routing key"),
            option("header", "name[=value]", "only those with this header"),
        ]
    };
}

const LIST: &[Opt] = with_filter!(option("count", "count", "how many at most, by default 100"));
const CANCEL: &[Opt] = with_filter!(flag("all", "all messages, if there is no other filter"));
const WHEN: &[Opt] = &[
    option("due", "ms", "when, in milliseconds since 1970"),
    option("delay", "time", "or how long from now: 90s, 10m, 2h, 1d"),
];

pub(crate) const COMMANDS: &[Command] = &[
    Command::new("list_delayed_exchanges", "lists exchanges with delayed messages", |input| {
        EXCHANGES.ask(input, path(&["delayed", input.vhost()]))
    })
    .taking(&[repeated("column")])
    .saying("Listing exchanges with delayed messages for vhost {vhost} ..."),
    Command::new(
        "list_delayed_messages",
        "lists an exchange's delayed messages, in the order in which they are due",
        list,
    )
    .taking(&[required("exchange"), repeated("column")])
    .with(LIST)
    .long()
    .saying("Listing delayed messages of exchange '{exchange}' in vhost '{vhost}' ..."),
    Command::new("show_delayed_message", "shows a delayed message, with its body", |input| {
        let missing = no_such_message(input);
        Ask::get(one(input, "")).then(move |reply| {
            let value = answered(reply, missing)?;
            let lines = flattened(&value);
            Ok(Step::Done(Output::Document { text: lines, value }))
        })
    })
    .taking(&[required("exchange"), required("id")])
    .saying("Showing delayed message {id} of exchange '{exchange}' in vhost '{vhost}' ..."),
    Command::new("cancel_delayed_messages", "cancels a delayed message, or all that match", cancel)
        .taking(&[required("exchange"), optional("id")])
        .with(CANCEL)
        .long()
        .saying("Cancelling delayed messages of exchange '{exchange}' in vhost '{vhost}' ..."),
    Command::new("reschedule_delayed_message", "reschedules a delayed message", |input| {
        let body = match (input.number("due")?, duration_ms(input, "delay")?) {
            (Some(due_ms), None) => json!({"due": due_ms}),
            (None, Some(delay_ms)) => json!({"delay": delay_ms}),
            _ => return Err(Failure::usage("either --due or --delay is required")),
        };
        renamed_to(Ask::put(one(input, ""), &body), no_such_message(input), "Message is due then")
    })
    .taking(&[required("exchange"), required("id")])
    .with(WHEN)
    .saying("Rescheduling delayed message {id} of exchange '{exchange}' in vhost '{vhost}' ..."),
    Command::new("release_delayed_message", "releases a delayed message now", |input| {
        renamed_to(Ask::post(one(input, "release"), &json!({})), no_such_message(input), "Message is due now")
    })
    .taking(&[required("exchange"), required("id")])
    .saying("Releasing delayed message {id} of exchange '{exchange}' in vhost '{vhost}' ..."),
];

const EXCHANGES: Listing = Listing {
    columns: columns! {
        { renamed("name", "exchange") } "messages_delayed" "message_bytes_delayed" "messages_released" "next_due"
        "vhost"
    },
    default: &["name", "messages_delayed", "next_due"],
};

const MESSAGES: Listing = Listing {
    columns: columns! {
        "id" { converted("due", "due", moment) } { renamed("due_ms", "due") } "exchange" "routing_key" "durable" "properties"
        "payload_bytes" { renamed("headers", "properties.headers") }
    },
    default: &["id", "due", "routing_key", "payload_bytes"],
};

/// Milliseconds since 1970 as people read them. A time beyond the year 9999 stays a number.
fn moment(value: Value) -> Value {
    let at = value.as_u64().and_then(|ms| UNIX_EPOCH.checked_add(Duration::from_millis(ms)));
    let is_shown = |at: &SystemTime| *at < UNIX_EPOCH + Duration::from_secs(253_402_300_800);
    at.filter(is_shown).map_or(value, |at| Value::String(humantime::format_rfc3339_millis(at).to_string()))
}

/// Messages that are shown unless it is said how many.
const COUNT: u64 = 100;

fn place(input: &Invocation) -> String {
    path(&["delayed", input.vhost(), input.text("exchange"), "messages"])
}

fn one(input: &Invocation, what: &str) -> String {
    let place = format!("{}/{}", place(input), escaped(input.text("id")));
    if what.is_empty() { place } else { format!("{place}/{what}") }
}

fn no_such_exchange(input: &Invocation) -> String {
    format!("exchange '{}' in virtual host '{}' delays no messages", input.text("exchange"), input.vhost())
}

fn no_such_message(input: &Invocation) -> String {
    let (id, exchange, vhost) = (input.text("id"), input.text("exchange"), input.vhost());
    format!("no message '{id}' waits at exchange '{exchange}' in virtual host '{vhost}'")
}

fn query(input: &Invocation) -> Result<Vec<String>, Failure> {
    let mut query = Vec::new();
    for (option, name) in [("due-from", "due_from"), ("due-to", "due_to")] {
        query.extend(input.number(option)?.map(|due_ms| format!("{name}={due_ms}")));
    }
    query.extend(input.optional("routing-key").map(|key| format!("routing_key={}", escaped(key))));
    if let Some(header) = input.optional("header") {
        let (name, value) = header.split_once('=').map_or((header, None), |(name, value)| (name, Some(value)));
        query.push(format!("header={}", escaped(name)));
        query.extend(value.map(|value| format!("header_value={}", escaped(value))));
    }
    Ok(query)
}

fn list(input: &Invocation) -> StepResult {
    let pages = Pages {
        place: place(input),
        behind: "after",
        query: query(input)?,
        missing: no_such_exchange(input),
        columns: MESSAGES.chosen(input)?,
        count_left: input.number("count")?.unwrap_or(COUNT),
        items: Vec::new(),
    };
    let first = pages.query.clone();
    pages.ask(first)
}

/// A message's fields, one a line, its body at the end.
fn flattened(message: &Value) -> String {
    let Value::Object(members) = message else { return message.to_string() };
    let shown = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let line = |(name, value): (&String, &Value)| format!("{name}: {}", shown(value));
    let others: Map<String, Value> = members
        .iter()
        .filter(|(name, _)| *name != "payload")
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    let mut lines: Vec<String> = others.iter().map(line).collect();
    lines.push(format!("payload: {}", text(message, "payload")));
    lines.join("\n")
}

fn cancel(input: &Invocation) -> StepResult {
    let mut query = query(input)?;
    if input.has("id") {
        if !query.is_empty() || input.has("all") {
            return Err(Failure::usage("an id and other filters exclude each other"));
        }
        let missing = no_such_message(input);
        return Ask::delete(one(input, "")).then(move |reply| {
            known(reply, missing)?.accepted()?;
            Ok(Step::Done(cancelled(1, false)))
        });
    }
    if query.is_empty() && !input.has("all") {
        return Err(Failure::usage("an id, a filter or --all is required"));
    }
    query.extend(input.has("all").then(|| "all=true".to_owned()));
    cancel_on(with_query(&place(input), &query), no_such_exchange(input), 0)
}

/// Cancels what is left, until nothing is.
fn cancel_on(place: String, missing: String, before_count: u64) -> StepResult {
    Ask::delete(place.clone()).then(move |reply| {
        let answer = answered(reply, missing.clone())?;
        let new_count = answer.get("cancelled").and_then(Value::as_u64).unwrap_or(0);
        let count = before_count + new_count;
        // What one request has looked at in vain, the next one would look at again.
        if answer["partial"] == json!(true) && new_count > 0 {
            return cancel_on(place, missing, count);
        }
        Ok(Step::Done(cancelled(count, answer["partial"] == json!(true))))
    })
}

/// How many messages are cancelled, and whether there may be more that are meant.
fn cancelled(count: u64, is_partial: bool) -> Output {
    let text = match is_partial {
        true => format!("{count} messages cancelled; more may match"),
        false => format!("{count} messages cancelled"),
    };
    Output::Document { text, value: json!({"cancelled": count, "partial": is_partial}) }
}

/// Asks for a change by which the message gets another id.
fn renamed_to(ask: Ask, missing: String, done: &'static str) -> StepResult {
    ask.then(move |reply| {
        let value = answered(reply, missing)?;
        let text = format!("{done}; its id is {} now", text(&value, "id"));
        Ok(Step::Done(Output::Document { text, value }))
    })
}
