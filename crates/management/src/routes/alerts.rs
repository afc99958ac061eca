//! Alerts: what fires, what has fired, by which rules, and which webhooks are notified. RabbitMQ has none of this.

use std::collections::BTreeSet;
use std::sync::Arc;

use alerts::{HIDDEN, Notice, Phase, Rule};
use serde_json::{Map, Value, json};

use crate::answer::Answer;
use crate::call::Call;
use crate::json::Cell;
use crate::listing::{Table, column, paged_list};
use crate::problem::Problem;
use crate::route::Kind::{Any, Boolean, Integer, List, Object, Text};
use crate::route::Role::{Administrator, Monitoring};
use crate::route::{AnswerFuture, Field, Operation, PAGED, Route, Shape, at};
use crate::service::Service;
use crate::tags::is_administrator;
use observe::alerting::{
    AlertSnapshot, Alerting, DeliveryAttempt, RULES, RuleSetEntry, Source, WEBHOOKS, WebhookTarget, try_once,
};

pub(super) static ROUTES: &[Route] = &[
    at(
        "/api/alerts",
        &[Operation::list(Monitoring, standing, "Lists alerts that are pending or firing.", Shape::Many(&STANDING))
            .query(PAGED)],
    ),
    at(
        "/api/alerts/history",
        &[Operation::list(
            Monitoring,
            history,
            "Lists the latest changes of alerts, the newest first.",
            Shape::Many(&HISTORY),
        )
        .query(PAGED)],
    ),
    at("/api/alerts/rules", &[Operation::get(Monitoring, rules, "Lists the alert rules.", Shape::List)]),
    at(
        "/api/alerts/rules/{name}",
        &[
            Operation::get(Monitoring, rule, "Returns an alert rule.", Shape::Object(RULE)),
            Operation::put(Administrator, put_rule, "Creates or updates an alert rule.", RULE_BODY),
            Operation::delete(Administrator, delete_rule, "Deletes an alert rule."),
        ],
    ),
    at(
        "/api/alerts/webhooks",
        &[Operation::get(Monitoring, webhooks, "Lists the webhooks that are notified of alerts.", Shape::List)],
    ),
    at(
        "/api/alerts/webhooks/{name}",
        &[
            Operation::get(Monitoring, webhook, "Returns a webhook and the counts of its notifications.", WEBHOOK),
            Operation::put(Administrator, put_webhook, "Creates or updates a webhook.", WEBHOOK_BODY),
            Operation::delete(Administrator, delete_webhook, "Deletes a webhook that no rule names."),
        ],
    ),
    at(
        "/api/alerts/webhooks/{name}/test",
        &[Operation::post(Administrator, never, "Sends a test notification.", &[])
            .answers(Shape::Object(&[
                Field::required("delivered", Boolean, "Whether the webhook accepted the notification."),
                Field::required("status", Any, "The status of the webhook's response, or null."),
                Field::required("error", Any, "The error, or null."),
                Field::required("duration", Integer, "The duration in milliseconds."),
            ]))
            .later(|call| Box::pin(test(call)) as AnswerFuture)],
    ),
];

const RULE_BODY: &[Field] = &[
    Field::required(
        "kind",
        Text,
        "What the rule watches: `queue-length`, `no-consumers`, `oldest-age`, `growth`, `memory-alarm`, `disk-alarm`, `data-loss`, \
         `cluster`, `flow`, `lock-outs`, `connections` or `unroutable`.",
    ),
    Field::optional("vhost", Text, "A regular expression for names of vhosts. Default: all."),
    Field::optional("queue", Text, "A regular expression for names of queues. Default: all."),
    Field::optional("unacked", Boolean, "Whether unacked messages count towards a queue's length."),
    Field::optional("above", Any, "The threshold, a number."),
    Field::optional(
        "clear",
        Any,
        "A firing alert ends when the value is this or less. Default: 90 % of the threshold.",
    ),
    Field::optional(
        "for",
        Any,
        "How long the value must be above the threshold before the alert fires, in milliseconds or as a text such as `5m`. Default: 0.",
    ),
    Field::optional(
        "clear_for",
        Any,
        "How long the value must be `clear` or less before the alert is resolved. Default: 0.",
    ),
    Field::optional("repeat", Any, "How often webhooks are notified again while the alert fires. Default: never."),
    Field::optional("window", Any, "The period over which growth and rates are measured. Default: a minute."),
    Field::optional("severity", Text, "`info`, `warning` or `critical`. Default: `warning`."),
    Field::optional("webhooks", List, "Names of the webhooks to notify. Default: all."),
];

const RULE: &[Field] = &[
    Field::required("name", Text, "The name."),
    Field::required("source", Text, "`configuration` or `runtime`."),
    Field::optional("kind", Text, "What the rule watches."),
    Field::optional(
        "problem",
        Text,
        "What is wrong with the rule, if anything is: it is invalid, or names a webhook that does not exist.",
    ),
    Field::optional(
        "untracked",
        Integer,
        "The number of queues that also meet the condition but have no alert of their own.",
    ),
];

const WEBHOOK_BODY: &[Field] = &[
    Field::required("url", Text, "The `http://` or `https://` URL that alerts are posted to."),
    Field::optional("headers", Object, "Headers of every request."),
    Field::optional(
        "timeout",
        Any,
        "How long an answer may take, in milliseconds or as a text such as `2s`. Default: 5 seconds.",
    ),
    Field::optional("secret", Text, "The secret that requests are signed with."),
];

const WEBHOOK: Shape = Shape::Object(&[
    Field::required("name", Text, "The name."),
    Field::required("source", Text, "`configuration` or `runtime`."),
    Field::optional("url", Text, "The URL. Only administrators see the path."),
    Field::optional("headers", Object, "The names of the headers."),
    Field::optional("timeout", Integer, "How long an answer may take, in milliseconds."),
    Field::optional("signed", Boolean, "Whether requests are signed."),
    Field::optional("problem", Text, "Why the webhook is invalid, if it is."),
    Field::required("waiting", Integer, "Notifications that wait to be sent."),
    Field::required("delivered", Integer, "Notifications that the webhook has accepted since the start."),
    Field::required("failed", Integer, "Failed attempts."),
    Field::required("dropped", Integer, "Notifications that were dropped."),
    Field::required("folded", Integer, "Notifications that were merged into others."),
    Field::required("last_error", Any, "Why the last attempt failed, or null."),
]);

/// Something that is listed: its members, and what it is found by.
struct Row {
    /// Its place, from the first.
    at: usize,
    members: Map<String, Value>,
}

macro_rules! member {
    ($name:literal, $kind:expr) => {
        column($name, $kind, |row: &Row, _, cell: Cell<'_>| {
            if let Some(value) = row.members.get($name) {
                cell.value(value);
            }
        })
    };
}

static STANDING: Table<Row, Service> = Table {
    title: "Alert",
    columns: &[
        member!("id", Text),
        member!("state", Text),
        member!("rule", Text),
        member!("kind", Text),
        member!("severity", Text),
        member!("vhost", Any),
        member!("queue", Any),
        member!("value", Any),
        member!("threshold", Any),
        member!("since", Integer),
    ],
    order: |a, b| a.at.cmp(&b.at),
    name: |row| row.members.get("rule").and_then(Value::as_str).unwrap_or_default().into(),
};

static HISTORY: Table<Row, Service> = Table {
    title: "AlertChange",
    columns: &[
        member!("at", Integer),
        member!("status", Text),
        member!("reason", Text),
        member!("id", Text),
        member!("rule", Text),
        member!("kind", Text),
        member!("severity", Text),
        member!("vhost", Any),
        member!("queue", Any),
        member!("value", Any),
        member!("threshold", Any),
        member!("since", Integer),
    ],
    order: |a, b| a.at.cmp(&b.at),
    name: |row| row.members.get("rule").and_then(Value::as_str).unwrap_or_default().into(),
};

fn alerting(call: &Call) -> Result<&Arc<Alerting>, Problem> {
    call.service.alerting().ok_or_else(|| Problem::bad_request("this node has no alerts"))
}

/// This operation waits for its webhook.
fn never(_: &Call) -> Result<Answer, Problem> {
    Err(Problem::not_found())
}

fn rows(members: impl IntoIterator<Item = Map<String, Value>>) -> Vec<Row> {
    members.into_iter().enumerate().map(|(at, members)| Row { at, members }).collect()
}

fn standing(call: &Call) -> Result<AnswerFuture, Problem> {
    let shown = alerting(call)?.snapshot();
    let found = shown.alert_states.iter().map(|standing| {
        let state = match standing.phase {
            Phase::Pending { .. } => "pending",
            Phase::Firing { .. } => "firing",
        };
        let mut members = standing.alert.members();
        members.insert("state".to_owned(), state.into());
        (state == "pending", std::cmp::Reverse(standing.alert.severity), standing.alert.since_ms, members)
    });
    let mut found: Vec<_> = found.collect();
    // What fires first, the worst of it first, then what has done so for longest.
    found.sort_by(|a, b| {
        let of = |members: &Map<String, Value>| members["id"].as_str().map(str::to_owned);
        (a.0, a.1, a.2).cmp(&(b.0, b.1, b.2)).then_with(|| of(&a.3).cmp(&of(&b.3)))
    });
    paged_list(rows(found.into_iter().map(|(.., members)| members)), &STANDING, &call.service, &call.query)
}

fn history(call: &Call) -> Result<AnswerFuture, Problem> {
    let latest = alerting(call)?.history();
    paged_list(rows(latest.iter().map(Notice::members)), &HISTORY, &call.service, &call.query)
}

fn json_answer(value: &Value) -> Answer {
    Answer::json(value.to_string().into_bytes())
}

fn entry(call: &Call, family: observe::alerting::Family) -> Result<RuleSetEntry, Problem> {
    let found = alerting(call)?.rule_set().entry(call.broker(), family, call.argument("name"));
    found.ok_or_else(Problem::not_found)
}

/// What all entries are shown with.
fn shown(entry: &RuleSetEntry, parsed: Result<Map<String, Value>, String>) -> Map<String, Value> {
    let mut shown = parsed.unwrap_or_else(|problem| Map::from_iter([("problem".to_owned(), problem.into())]));
    shown.insert("name".to_owned(), entry.name.clone().into());
    shown.insert("source".to_owned(), entry.source.name().into());
    shown
}

fn shown_rule(entry: &RuleSetEntry, webhooks: &BTreeSet<String>, last: &AlertSnapshot) -> Value {
    let rule = Rule::parse(&entry.name, &entry.given);
    let missing = rule.as_ref().ok().and_then(|rule| missing_webhook(rule, webhooks));
    let mut shown = shown(entry, rule.map(|rule| rule.shown()).map_err(|error| error.to_string()));
    if let Some(problem) = missing {
        shown.insert("problem".to_owned(), problem.into());
    }
    shown.insert("untracked".to_owned(), last.untracked_count(&entry.name).into());
    Value::Object(shown)
}

/// What is wrong with a rule that names a webhook that cannot be notified.
fn missing_webhook(rule: &Rule, webhooks: &BTreeSet<String>) -> Option<String> {
    let missing = rule.webhooks.iter().find(|name| !webhooks.contains(&***name));
    missing.map(|name| format!("no webhook '{name}'"))
}

fn rules(call: &Call) -> Result<Answer, Problem> {
    let alerting = alerting(call)?;
    let entries = alerting.rule_set().entries(call.broker(), RULES);
    let (webhooks, last) = (alerting.rule_set().webhook_names(call.broker()), alerting.snapshot());
    Ok(json_answer(&entries.iter().map(|entry| shown_rule(entry, &webhooks, &last)).collect()))
}

fn rule(call: &Call) -> Result<Answer, Problem> {
    let alerting = alerting(call)?;
    let webhooks = alerting.rule_set().webhook_names(call.broker());
    Ok(json_answer(&shown_rule(&entry(call, RULES)?, &webhooks, &alerting.snapshot())))
}

fn put_rule(call: &Call) -> Result<Answer, Problem> {
    let (alerting, name, given) = (alerting(call)?, call.argument("name"), call.object()?);
    let rule = Rule::parse(name, &given).map_err(|error| Problem::bad_request(error.to_string()))?;
    let book = alerting.rule_set();
    if let Some(problem) = missing_webhook(&rule, &book.webhook_names(call.broker())) {
        return Err(Problem::bad_request(problem));
    }
    let changed = book.put(call.broker(), call.actor(), RULES, name, given).map_err(Problem::bad_request)?;
    alerting.note_change();
    Ok(Answer::changed(&changed))
}

fn delete_rule(call: &Call) -> Result<Answer, Problem> {
    let (alerting, entry) = (alerting(call)?, entry(call, RULES)?);
    let deleted = alerting.rule_set().delete(call.broker(), call.actor(), RULES, &entry.name);
    alerting.note_change();
    Ok(Answer::done(&deleted.map_err(Problem::bad_request)?))
}

fn shown_webhook(call: &Call, alerting: &Alerting, entry: &RuleSetEntry) -> Value {
    let parsed = alerting.rule_set().target(entry).map(|WebhookTarget { webhook, url }| {
        let scheme = if url.is_tls() { "https" } else { "http" };
        // The path is a secret, too, with some services.
        let path = if is_administrator(call.identity()) { url.path() } else { "/***" };
        let mut shown = webhook.shown();
        let user = if url.has_user() { format!("{HIDDEN}@") } else { String::new() };
        shown.insert("url".to_owned(), format!("{scheme}://{user}{url}{path}").into());
        shown
    });
    // Why it cannot be read may quote it.
    let parsed = parsed.map_err(|problem| match is_administrator(call.identity()) {
        true => problem,
        false => "the webhook is invalid; administrators see the reason".to_owned(),
    });
    let mut shown = shown(entry, parsed);
    let state = alerting.receiver(&entry.name).map(|receiver| receiver.state()).unwrap_or_default();
    let stats = state.stats;
    shown.extend(Map::from_iter([
        ("waiting".to_owned(), state.waiting_count.into()),
        ("delivered".to_owned(), stats.delivered.into()),
        ("failed".to_owned(), stats.failed.into()),
        ("dropped".to_owned(), stats.dropped.into()),
        ("folded".to_owned(), stats.folded.into()),
        ("last_error".to_owned(), state.last_error.into()),
    ]));
    Value::Object(shown)
}

fn webhooks(call: &Call) -> Result<Answer, Problem> {
    let alerting = alerting(call)?;
    let entries = alerting.rule_set().entries(call.broker(), WEBHOOKS);
    Ok(json_answer(&entries.iter().map(|entry| shown_webhook(call, alerting, entry)).collect()))
}

fn webhook(call: &Call) -> Result<Answer, Problem> {
    Ok(json_answer(&shown_webhook(call, alerting(call)?, &entry(call, WEBHOOKS)?)))
}

fn put_webhook(call: &Call) -> Result<Answer, Problem> {
    let (alerting, name, given) = (alerting(call)?, call.argument("name"), call.object()?);
    WebhookTarget::parse(name, &given, Source::Runtime).map_err(Problem::bad_request)?;
    let put = alerting.rule_set().put(call.broker(), call.actor(), WEBHOOKS, name, given);
    alerting.note_change();
    Ok(Answer::changed(&put.map_err(Problem::bad_request)?))
}

fn delete_webhook(call: &Call) -> Result<Answer, Problem> {
    let (alerting, entry) = (alerting(call)?, entry(call, WEBHOOKS)?);
    let names_it = |rule: &RuleSetEntry| {
        let rule = Rule::parse(&rule.name, &rule.given).ok()?;
        rule.webhooks.iter().any(|name| **name == *entry.name).then_some(rule.name)
    };
    // A webhook of the configuration is refused by the deletion itself.
    if entry.source == Source::Runtime
        && let Some(rule) = alerting.rule_set().entries(call.broker(), RULES).iter().find_map(names_it)
    {
        return Err(Problem::bad_request(format!("the rule '{rule}' names the webhook '{}'", entry.name)));
    }
    let deleted = alerting.rule_set().delete(call.broker(), call.actor(), WEBHOOKS, &entry.name);
    alerting.note_change();
    Ok(Answer::done(&deleted.map_err(Problem::bad_request)?))
}

async fn test(call: Call) -> Result<Answer, Problem> {
    let (alerting, entry) = (alerting(&call)?, entry(&call, WEBHOOKS)?);
    let target = alerting.rule_set().target(&entry).map_err(Problem::bad_request)?;
    let body = alerting.with_sender(|sender| Notice::test_body(sender, alerting.now_ms()));
    let DeliveryAttempt { outcome, status, error, duration } = try_once(&target, &body).await;
    Ok(json_answer(&json!({
        "delivered": outcome == alerts::DeliveryOutcome::Delivered,
        "status": status.map(|status| status.as_u16()),
        "error": error,
        "duration": u64::try_from(duration.as_millis()).unwrap_or(u64::MAX),
    })))
}
