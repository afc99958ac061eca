//! Notices to webhooks: something fires, fires still, or is resolved.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use crate::members::{exact, rounded};
use crate::rule::{Kind, Rule, Severity};

/// The version of a notice's JSON. It changes only when a member is removed or changes its meaning.
const VERSION: u64 = 1;

/// Whether the condition holds, or is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Status {
    /// It holds.
    Firing,
    /// It is over.
    Resolved,
}

impl Status {
    /// What it is called.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Status::Firing => "firing",
            Status::Resolved => "resolved",
        }
    }
}

/// Why something no longer fires.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reason {
    /// The condition is over.
    Cleared,
    /// The queue was deleted, or the rule no longer covers it or no longer notifies this webhook.
    OutOfScope,
    /// The rule was deleted.
    RuleRemoved,
}

impl Reason {
    /// What it is called.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Reason::Cleared => "cleared",
            Reason::OutOfScope => "gone",
            Reason::RuleRemoved => "rule_removed",
        }
    }
}

/// A rule and what it is about.
#[derive(Debug, Clone, PartialEq)]
pub struct Alert {
    /// The same for the same node, rule and object, for ever: by which a firing and its resolution, and after a restart the same
    /// alert, are known as one.
    pub id: Arc<str>,
    /// The rule's name.
    pub rule: Arc<str>,
    /// What is watched.
    pub kind: Kind,
    /// How bad it is.
    pub severity: Severity,
    /// Of an alert about a queue, its vhost.
    pub vhost: Option<Arc<str>>,
    /// Its name.
    pub queue: Option<Arc<str>>,
    /// What was counted last.
    pub value: f64,
    /// What was too much.
    pub threshold: f64,
    /// Since when it fires, in milliseconds since 1970.
    pub since_ms: u64,
}

/// One message for webhooks.
#[derive(Debug, Clone, PartialEq)]
pub struct Notice {
    /// What.
    pub status: Status,
    /// About what.
    pub alert: Alert,
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
    /// It has been said before.
    pub(crate) is_reminder: bool,
    /// Why it is over, if it is.
    pub reason: Option<Reason>,
    /// The notice that it fired could not be delivered before, and is part of this one.
    pub(crate) is_folded: bool,
    /// Nothing has changed but the webhooks of the rule: only those that joined or left are notified.
    pub(crate) is_handover: bool,
    /// The webhooks to notify, by name.
    pub webhooks: Arc<[Box<str>]>,
}

/// The sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sender<'a> {
    /// The node's name.
    pub node: &'a str,
    /// The cluster's.
    pub cluster: &'a str,
}

/// The id of an alert.
pub(crate) fn id_of(node: &str, rule: &Rule, vhost: &str, queue: &str) -> Arc<str> {
    let mut hash = Sha256::new();
    for part in [node, &rule.name, vhost, queue] {
        // With its length, so that no two lists of parts are the same bytes.
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    let digest = hash.finalize();
    digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect::<String>().into()
}

impl Alert {
    /// Its members, as in all notices and listings.
    #[must_use]
    pub fn members(&self) -> Map<String, Value> {
        let value = json!({
            "id": &*self.id,
            "rule": &*self.rule,
            "kind": self.kind.name(),
            "severity": self.severity.name(),
            "vhost": self.vhost.as_deref(),
            "queue": self.queue.as_deref(),
            "value": rounded(self.value),
            "threshold": exact(self.threshold),
            "since": self.since_ms,
        });
        let Value::Object(members) = value else { return Map::new() };
        members
    }
}

impl Notice {
    /// Whether something is otherwise than it was before.
    #[must_use]
    pub fn is_change(&self) -> bool {
        !self.is_reminder && !self.is_handover
    }

    /// Whether it is for this webhook.
    #[must_use]
    pub fn notifies(&self, webhook: &str) -> bool {
        self.webhooks.iter().any(|name| **name == *webhook)
    }

    /// Its members, without the sender.
    #[must_use]
    pub fn members(&self) -> Map<String, Value> {
        let mut members = self.alert.members();
        members.insert("status".to_owned(), json!(self.status.name()));
        members.insert("at".to_owned(), json!(self.at_ms));
        if let Some(reason) = self.reason {
            members.insert("reason".to_owned(), json!(reason.name()));
        }
        members
    }

    /// The body that webhooks get.
    #[must_use]
    pub fn body(&self, sender: Sender<'_>) -> Value {
        let mut members = self.members();
        members.insert("version".to_owned(), json!(VERSION));
        members.insert("reminder".to_owned(), json!(self.is_reminder));
        members.insert("folded".to_owned(), json!(self.is_folded));
        members.insert("test".to_owned(), json!(false));
        members.insert("node".to_owned(), json!(sender.node));
        members.insert("cluster".to_owned(), json!(sender.cluster));
        Value::Object(members)
    }

    /// The body that a webhook gets to see whether it works.
    #[must_use]
    pub fn test_body(sender: Sender<'_>, now_ms: u64) -> Value {
        let alert = Alert {
            id: "test".into(),
            rule: "test".into(),
            kind: Kind::QueueLength,
            severity: Severity::Info,
            vhost: Some("/".into()),
            queue: Some("test".into()),
            value: 1.0,
            threshold: 0.0,
            since_ms: now_ms,
        };
        let notice = Notice {
            status: Status::Firing,
            alert,
            at_ms: now_ms,
            is_reminder: false,
            reason: None,
            is_folded: false,
            is_handover: false,
            webhooks: Arc::default(),
        };
        let mut body = notice.body(sender);
        body["test"] = json!(true);
        body
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_differ_where_anything_differs_and_stay_the_same() {
        let rule = |name: &str| Rule::parse(name, json!({"kind": "no-consumers"}).as_object().unwrap()).unwrap();
        let id = id_of("n", &rule("r"), "/", "q");
        assert_eq!(&*id, "93c7f158dc11b294187b288a60b4f2ac", "receivers keep ids");
        let others = [
            id_of("m", &rule("r"), "/", "q"),
            id_of("n", &rule("s"), "/", "q"),
            id_of("n", &rule("r"), "/q", ""),
            id_of("n", &rule("r"), "", "/q"),
        ];
        assert!(others.iter().all(|other| *other != id));
    }

    #[test]
    fn a_body_has_all_that_is_documented() {
        let body = Notice::test_body(Sender { node: "rabbit@a", cluster: "c" }, 7);
        let expected = json!({
            "version": 1, "status": "firing", "id": "test", "rule": "test", "kind": "queue-length", "severity": "info",
            "vhost": "/", "queue": "test", "value": 1, "threshold": 0, "since": 7, "at": 7, "reminder": false,
            "folded": false, "test": true, "node": "rabbit@a", "cluster": "c",
        });
        assert_eq!(body, expected);
    }
}
