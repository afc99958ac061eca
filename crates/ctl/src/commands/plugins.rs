//! Plugins: which the nodes have.

use serde_json::{Value, json};

use crate::command::{Command, required};
use crate::failure::Failure;
use crate::listing::text;
use crate::output::{Output, Table};
use crate::step::{Ask, Step, StepResult, path};

pub(crate) const COMMANDS: &[Command] = &[
    Command::new("plugins list_all", "lists plugins of all nodes", |_| {
        Ask::get("nodes".to_owned()).then(|reply| shown(&reply.list()?))
    }),
    Command::new("plugins list_on_node", "lists a node's plugins", |input| {
        let node = input.text("node").to_owned();
        Ask::get(path(&["nodes", &node])).then(move |reply| {
            let missing = || Failure::data(format!("there is no node '{node}'"));
            shown(&[reply.unless(404, missing)?.value()?])
        })
    })
    .taking(&[required("node").short('N')]),
];

fn shown(nodes: &[Value]) -> StepResult {
    let plugins = |node: &Value| -> Vec<Vec<Value>> {
        let plugins = node["enabled_plugins"].as_array().into_iter().flatten();
        plugins.map(|plugin| vec![json!(text(node, "name")), plugin.clone()]).collect()
    };
    let columns = ["node", "name"].map(str::to_owned).to_vec();
    Ok(Step::Done(Output::Table(Table { columns, rows: nodes.iter().flat_map(plugins).collect() })))
}
