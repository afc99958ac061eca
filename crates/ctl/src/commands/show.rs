//! rabbitmqadmin's `show`: one object.

use serde_json::{Value, json};

use crate::command::{Command, optional, repeated};
use crate::commands::status;
use crate::invocation::Invocation;
use crate::listing::field;
use crate::output::{Output, Table};
use crate::step::{Ask, Step, StepResult, path};

pub(crate) const COMMANDS: &[Command] = &[
    Command::new("show overview", "shows the broker in one row", |input| {
        let columns: Vec<String> = input.all("column").to_vec();
        Ask::get("overview".to_owned()).then(move |reply| row(&reply.value()?, columns, OVERVIEW))
    })
    .taking(&[repeated("column")]),
    Command::new("show churn", "shows how many objects were created and deleted", |input| {
        let columns: Vec<String> = input.all("column").to_vec();
        Ask::get("overview".to_owned()).then(move |reply| row(&reply.value()?["churn_rates"], columns, CHURN))
    })
    .taking(&[repeated("column")]),
    Command::new("show memory_breakdown_in_bytes", "shows the node's memory use", |input| memory(input, false))
        .also(&["nodes memory_breakdown_in_bytes"])
        .taking(&[optional("node")]),
    Command::new("show memory_breakdown_in_percent", "shows the same in percent", |input| memory(input, true))
        .also(&["nodes memory_breakdown_in_percent"])
        .taking(&[optional("node")]),
];

const OVERVIEW: &[&str] = &["rabbitmq_version", "cluster_name", "queue_totals.messages", "object_totals.queues"];
const CHURN: &[&str] = &[
    "connection_created",
    "connection_closed",
    "channel_created",
    "channel_closed",
    "queue_declared",
    "queue_created",
    "queue_deleted",
];

fn row(object: &Value, columns: Vec<String>, default: &[&str]) -> StepResult {
    let columns = if columns.is_empty() { default.iter().map(|name| (*name).to_owned()).collect() } else { columns };
    let row = columns.iter().map(|column| field(object, column).cloned().unwrap_or(Value::Null)).collect();
    Ok(Step::Done(Output::Table(Table { columns, rows: vec![row] })))
}

fn memory(input: &Invocation, is_percent: bool) -> StepResult {
    status::of_node(input.optional("node"), move |node| {
        Ask::get(path(&["nodes", node, "memory"])).then(move |reply| {
            let answer = reply.value()?;
            let fields = answer["memory"].as_object().into_iter().flatten();
            let mut parts: Vec<(&String, f64)> =
                fields.filter_map(|(name, value)| Some((name, value.as_f64()?))).collect();
            parts.sort_by(|a, b| b.1.total_cmp(&a.1));
            let total: f64 = parts.iter().map(|(_, bytes)| bytes).sum::<f64>().max(1.0);
            let value = |bytes: f64| {
                if is_percent { json!(format!("{:.2}%", bytes / total * 100.0)) } else { json!(bytes as u64) }
            };
            let rows = parts.iter().map(|(name, bytes)| vec![json!(name), value(*bytes)]).collect();
            Ok(Step::Done(Output::Table(Table { columns: vec!["key".to_owned(), "value".to_owned()], rows })))
        })
    })
}
