//! Alerts: what fires, by which rules, and which webhooks are notified.

use serde_json::{Value, json};

use super::browsing::answered;
use crate::command::{Command, repeated, required};
use crate::failure::Failure;
use crate::invocation::Invocation;
use crate::listing::{Listing, columns, converted, json_text, renamed, text};
use crate::output::Output;
use crate::step::{Ask, Step, StepResult, path};

pub(crate) const COMMANDS: &[Command] = &[
    Command::new("list_alerts", "lists alerts that are pending or firing", |input| {
        ALERTS.ask(input, "alerts".to_owned())
    })
    .taking(&[repeated("column")])
    .saying("Listing alerts ..."),
    Command::new("list_alert_history", "lists the last changes of alerts, the latest first", |input| {
        HISTORY.ask(input, path(&["alerts", "history"]))
    })
    .taking(&[repeated("column")])
    .saying("Listing the history of alerts ..."),
    Command::new("list_alert_rules", "lists the rules of alerts", |input| RULES.ask(input, path(&["alerts", "rules"])))
        .taking(&[repeated("column")])
        .saying("Listing alert rules ..."),
    Command::new("set_alert_rule", "sets an alert rule, given as JSON", |input| set(input, "rules"))
        .taking(&[required("name"), required("definition")])
        .saying("Setting alert rule \"{name}\" to \"{definition}\" ..."),
    Command::new("delete_alert_rule", "removes a rule of alerts", |input| delete(input, "rules", "alert rule"))
        .taking(&[required("name")])
        .saying("Deleting alert rule \"{name}\" ..."),
    Command::new("list_alert_webhooks", "lists the webhooks that are notified of alerts, with counts", |input| {
        WEBHOOKS.ask(input, path(&["alerts", "webhooks"]))
    })
    .taking(&[repeated("column")])
    .saying("Listing alert webhooks ..."),
    // Its definition may have a secret in it, and is not said again.
    Command::new("set_alert_webhook", "sets a webhook that is notified of alerts, given as JSON", |input| {
        set(input, "webhooks")
    })
    .taking(&[required("name"), required("definition")])
    .saying("Setting alert webhook \"{name}\" ..."),
    Command::new("delete_alert_webhook", "removes a webhook that no rule names", |input| {
        delete(input, "webhooks", "alert webhook")
    })
    .taking(&[required("name")])
    .saying("Deleting alert webhook \"{name}\" ..."),
    Command::new("test_alert_webhook", "sends a test notification to a webhook", test)
        .taking(&[required("name")])
        .long()
        .saying("Testing alert webhook \"{name}\" ..."),
];

const ALERTS: Listing = Listing {
    columns: columns! {
        "state" "rule" "kind" "severity" "vhost" "queue" "value" "threshold" "since" "id"
    },
    default: &["state", "severity", "rule", "vhost", "queue", "value", "threshold", "since"],
};

const HISTORY: Listing = Listing {
    columns: columns! {
        "at" "status" "reason" "rule" "kind" "severity" "vhost" "queue" "value" "threshold" "since" "id"
    },
    default: &["at", "status", "severity", "rule", "vhost", "queue", "value"],
};

const RULES: Listing = Listing {
    columns: columns! {
        "name" "source" "kind" "vhost" "queue" "unacked" "above" "clear" "for" "clear_for" "repeat" "window"
        "severity" { converted("webhooks", "webhooks", json_text) } "untracked" "problem"
    },
    default: &["name", "source", "kind", "vhost", "queue", "above", "for", "severity"],
};

const WEBHOOKS: Listing = Listing {
    columns: columns! {
        "name" "source" "url" "timeout" "signed" "waiting" "delivered" "failed" "dropped" "folded"
        { renamed("error", "last_error") } "problem"
    },
    default: &["name", "url", "waiting", "delivered", "failed", "dropped", "error"],
};

fn set(input: &Invocation, family: &str) -> StepResult {
    let Some(definition @ Value::Object(_)) = input.json("definition")? else {
        return Err(Failure::usage("the definition must be a JSON object"));
    };
    Ask::put(path(&["alerts", family, input.text("name")]), &definition).done()
}

fn delete(input: &Invocation, family: &str, what: &str) -> StepResult {
    let missing = format!("no {what} '{}'", input.text("name"));
    Ask::delete(path(&["alerts", family, input.text("name")]))
        .then(move |reply| reply.unless(404, || Failure::unavailable(missing))?.done())
}

fn test(input: &Invocation) -> StepResult {
    let missing = format!("no alert webhook '{}'", input.text("name"));
    Ask::post(path(&["alerts", "webhooks", input.text("name"), "test"]), &json!({})).then(move |reply| {
        let answer = answered(reply, missing)?;
        if answer["delivered"] == json!(false) {
            return Err(Failure::unavailable(format!("the webhook was not notified: {}", text(&answer, "error"))));
        }
        let text = format!("The webhook took it within {} ms", answer["duration"]);
        Ok(Step::Done(Output::Document { text, value: answer }))
    })
}
