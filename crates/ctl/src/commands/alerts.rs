//! Alerts: what fires, by which rules, and who is told.

use serde_json::{Value, json};

use super::browsing::answered;
use crate::command::{Command, repeated, required};
use crate::failure::Failure;
use crate::given::Given;
use crate::listing::{Listing, converted, json_text, renamed, same, text};
use crate::output::Output;
use crate::step::{Ask, Started, Step, path};

pub(crate) const COMMANDS: &[Command] = &[
    Command::new("list_alerts", "lists alerts that are pending or firing", |given| {
        ALERTS.ask(given, "alerts".to_owned())
    })
    .taking(&[repeated("column")])
    .saying("Listing alerts ..."),
    Command::new("list_alert_history", "lists the last changes of alerts, the latest first", |given| {
        HISTORY.ask(given, path(&["alerts", "history"]))
    })
    .taking(&[repeated("column")])
    .saying("Listing the history of alerts ..."),
    Command::new("list_alert_rules", "lists the rules of alerts", |given| RULES.ask(given, path(&["alerts", "rules"])))
        .taking(&[repeated("column")])
        .saying("Listing alert rules ..."),
    Command::new("set_alert_rule", "sets a rule of alerts, given as JSON", |given| set(given, "rules"))
        .taking(&[required("name"), required("definition")])
        .saying("Setting alert rule \"{name}\" to \"{definition}\" ..."),
    Command::new("delete_alert_rule", "removes a rule of alerts", |given| delete(given, "rules", "alert rule"))
        .taking(&[required("name")])
        .saying("Deleting alert rule \"{name}\" ..."),
    Command::new("list_alert_webhooks", "lists who is told of alerts, and what has become of it", |given| {
        WEBHOOKS.ask(given, path(&["alerts", "webhooks"]))
    })
    .taking(&[repeated("column")])
    .saying("Listing alert webhooks ..."),
    // Its definition may have a secret in it, and is not said again.
    Command::new("set_alert_webhook", "sets whom to tell of alerts, given as JSON", |given| set(given, "webhooks"))
        .taking(&[required("name"), required("definition")])
        .saying("Setting alert webhook \"{name}\" ..."),
    Command::new("delete_alert_webhook", "removes a webhook that no rule names", |given| {
        delete(given, "webhooks", "alert webhook")
    })
    .taking(&[required("name")])
    .saying("Deleting alert webhook \"{name}\" ..."),
    Command::new("test_alert_webhook", "tells a webhook something, to see whether it works", test)
        .taking(&[required("name")])
        .long()
        .saying("Testing alert webhook \"{name}\" ..."),
];

const ALERTS: Listing = Listing {
    columns: &[
        same("state"),
        same("rule"),
        same("kind"),
        same("severity"),
        same("vhost"),
        same("queue"),
        same("value"),
        same("threshold"),
        same("since"),
        same("id"),
    ],
    default: &["state", "severity", "rule", "vhost", "queue", "value", "threshold", "since"],
};

const HISTORY: Listing = Listing {
    columns: &[
        same("at"),
        same("status"),
        same("reason"),
        same("rule"),
        same("kind"),
        same("severity"),
        same("vhost"),
        same("queue"),
        same("value"),
        same("threshold"),
        same("since"),
        same("id"),
    ],
    default: &["at", "status", "severity", "rule", "vhost", "queue", "value"],
};

const RULES: Listing = Listing {
    columns: &[
        same("name"),
        same("source"),
        same("kind"),
        same("vhost"),
        same("queue"),
        same("unacked"),
        same("above"),
        same("clear"),
        same("for"),
        same("clear_for"),
        same("repeat"),
        same("window"),
        same("severity"),
        converted("webhooks", "webhooks", json_text),
        same("untracked"),
        same("problem"),
    ],
    default: &["name", "source", "kind", "vhost", "queue", "above", "for", "severity"],
};

const WEBHOOKS: Listing = Listing {
    columns: &[
        same("name"),
        same("source"),
        same("url"),
        same("timeout"),
        same("signed"),
        same("waiting"),
        same("delivered"),
        same("failed"),
        same("dropped"),
        same("folded"),
        renamed("error", "last_error"),
        same("problem"),
    ],
    default: &["name", "url", "waiting", "delivered", "failed", "dropped", "error"],
};

fn set(given: &Given, family: &str) -> Started {
    let Some(definition @ Value::Object(_)) = given.json("definition")? else {
        return Err(Failure::usage("the definition must be a JSON object"));
    };
    Ask::put(path(&["alerts", family, given.text("name")]), &definition).done()
}

fn delete(given: &Given, family: &str, what: &str) -> Started {
    let missing = format!("there is no {what} '{}'", given.text("name"));
    Ask::delete(path(&["alerts", family, given.text("name")]))
        .then(move |reply| reply.unless(404, || Failure::unavailable(missing))?.done())
}

fn test(given: &Given) -> Started {
    let missing = format!("there is no alert webhook '{}'", given.text("name"));
    Ask::post(path(&["alerts", "webhooks", given.text("name"), "test"]), &json!({})).then(move |reply| {
        let answer = answered(reply, missing)?;
        if answer["delivered"] == json!(false) {
            return Err(Failure::unavailable(format!("the webhook was not told: {}", text(&answer, "error"))));
        }
        let text = format!("The webhook took it within {} ms", answer["duration"]);
        Ok(Step::Done(Output::Document { text, value: answer }))
    })
}
