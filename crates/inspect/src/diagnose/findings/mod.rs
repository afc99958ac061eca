//! What follows from the facts, in plain words. Nothing here asks or measures.

mod clients;
mod losses;
mod machine;
mod queues;
mod requests;
mod words;

use serde_json::{Value, json};

use super::facts::{Client, Facts, Queue};

pub(super) use words::{bytes, counted, time};

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Weight {
    /// Something does not work, or will soon not.
    Problem,
    /// Something is near a limit, gets worse, or costs messages.
    Warning,
    /// Worth knowing.
    Remark,
}

impl Weight {
    pub(super) fn name(self) -> &'static str {
        match self {
            Weight::Problem => "PROBLEM",
            Weight::Warning => "WARNING",
            Weight::Remark => "REMARK",
        }
    }

    /// With which status the command ends, if nothing matters more.
    fn exit_status(self) -> u8 {
        match self {
            Weight::Problem => 4,
            Weight::Warning => 3,
            Weight::Remark => 0,
        }
    }
}

/// A finding: a sentence or two.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Finding {
    pub(super) weight: Weight,
    /// What it is about, in one word for programs: it stays the same from version to version.
    pub(super) kind: &'static str,
    pub(super) text: String,
    /// The vhost and the name of the queue that it is about.
    pub(super) queue: Option<(String, String)>,
    /// The connection that it is about.
    pub(super) client: Option<String>,
    pub(super) node: Option<String>,
}

impl Finding {
    fn new(weight: Weight, kind: &'static str, text: String) -> Finding {
        Finding { weight, kind, text, queue: None, client: None, node: None }
    }

    fn problem(kind: &'static str, text: String) -> Finding {
        Finding::new(Weight::Problem, kind, text)
    }

    fn warning(kind: &'static str, text: String) -> Finding {
        Finding::new(Weight::Warning, kind, text)
    }

    fn remark(kind: &'static str, text: String) -> Finding {
        Finding::new(Weight::Remark, kind, text)
    }

    fn of_queue(self, queue: &Queue) -> Finding {
        Finding { queue: Some((queue.vhost.clone(), queue.name.clone())), ..self }
    }

    fn of_client(self, client: &Client) -> Finding {
        Finding { client: Some(client.name.clone()), ..self }
    }

    fn of_node(self, node: &str) -> Finding {
        Finding { node: Some(node.to_owned()), ..self }
    }

    /// As programs read it.
    pub(super) fn to_json(&self) -> Value {
        let mut value = json!({"severity": self.weight.name().to_lowercase(), "kind": self.kind, "text": self.text});
        if let Some((vhost, name)) = &self.queue {
            value["queue"] = json!({"vhost": vhost, "name": name});
        }
        if let Some(client) = &self.client {
            value["connection"] = json!(client);
        }
        if let Some(node) = &self.node {
            value["node"] = json!(node);
        }
        value
    }
}

/// Objects that are named, of each kind of finding.
const COUNT_MAX: usize = 10;
/// So many bytes wait for a client that does not read.
const UNREAD_MIN: u64 = 64 << 10;

type Rule = fn(&Facts, &mut Vec<Finding>);

/// Of findings that matter as much, those of the first rule come first: what is found later may follow from it.
const RULES: &[Rule] = &[
    machine::cluster,
    machine::alarms,
    machine::blocked,
    machine::data_loss,
    machine::disk,
    machine::processors,
    machine::resources,
    losses::unroutable,
    queues::growth,
    queues::stalled,
    losses::given_up,
    losses::refused,
    queues::rounds,
    queues::redeliveries,
    queues::held,
    clients::waiting_publishers,
    clients::unread,
    clients::refusals,
    clients::churn,
    clients::channels,
    clients::polling,
    queues::backlogs,
    requests::slow,
    requests::errors,
    queues::unused,
    clients::slowed,
];

/// All findings, those first that matter most.
pub(super) fn findings(facts: &Facts) -> Vec<Finding> {
    let mut found = Vec::new();
    RULES.iter().for_each(|rule| rule(facts, &mut found));
    found.sort_by_key(|finding| finding.weight);
    found
}

/// With which status the command ends: 0, 3 where there are warnings, 4 where there are problems.
pub(super) fn exit_status(findings: &[Finding]) -> u8 {
    findings.iter().map(|finding| finding.weight.exit_status()).max().unwrap_or(0)
}

#[cfg(test)]
mod tests;
