//! Sweeps: the same workload with other values, one run for each combination.
//!
//! A name of `[sweep]` is a variable, if the workload has `[variables]` of that name or says `"$name"` anywhere, else
//! the address of a field. Values of variables are put in the place of texts `"$name"`.

use std::collections::{BTreeMap, BTreeSet};

use amqp_client::without_passwords;

use super::address;
use super::document::{DocumentEntry, Node, Value};
use super::error::{Fault, suggestion};
use super::overrides::Setting;
use super::table::Field;
use crate::results::Variable;

/// More runs than this are a slip.
const COMBINATIONS_MAX: usize = 1_000;

/// One combination: the values by name, and the workload with them.
pub(super) struct Combination {
    pub(super) label: String,
    pub(super) variables: BTreeMap<String, Variable>,
    pub(super) workload: Node,
}

/// Applies overrides, and makes the combinations.
pub(super) fn combinations(mut workload: Node, settings: &[Setting]) -> Result<Vec<Combination>, Fault> {
    let mut variables = take_variables(&mut workload)?;
    let mut blocks = take_sweep(&mut workload)?;
    for setting in settings {
        apply(setting, &mut workload, &mut variables, &mut blocks)?;
    }
    let mut used = BTreeSet::new();
    collect_used(&workload, &mut used);
    let swept: BTreeSet<&str> = blocks.iter().flatten().map(|axis| axis.name.as_str()).collect();
    if let Some((name, node)) =
        variables.iter().find(|(name, _)| !used.contains(*name) && !swept.contains(name.as_str()))
    {
        return Err(Fault::new(&node.place, format!("unused variable \"{name}\": use it as \"${name}\"")));
    }
    let choices = choices(&blocks)?;
    let mut combinations = Vec::with_capacity(choices.len());
    for choice in choices {
        combinations.push(combination(&workload, &variables, &used, &choice)?);
    }
    Ok(combinations)
}

/// A name of a sweep, and the values it takes.
struct Axis {
    name: String,
    values: Vec<Node>,
}

fn take_variables(workload: &mut Node) -> Result<BTreeMap<String, Node>, Fault> {
    let Some(node) = workload.remove("variables") else { return Ok(BTreeMap::new()) };
    match node.value {
        Value::Table(entries) => Ok(entries.into_iter().map(|entry| (entry.key, entry.node)).collect()),
        _ => Err(Field::new("variables", &node).expected("a table, [variables]")),
    }
}

/// `[sweep]` is one block, `[[sweep]]` several; a run is a combination of one block.
fn take_sweep(workload: &mut Node) -> Result<Vec<Vec<Axis>>, Fault> {
    let Some(node) = workload.remove("sweep") else { return Ok(Vec::new()) };
    let field = Field::new("sweep", &node);
    let mut blocks = Vec::new();
    for block in field.one_or_more() {
        let mut axes = Vec::new();
        collect_axes("", &block, &mut axes)?;
        blocks.push(axes);
    }
    Ok(blocks)
}

/// `publishers.rate = …` is a table within the table, for TOML.
fn collect_axes(prefix: &str, field: &Field<'_>, axes: &mut Vec<Axis>) -> Result<(), Fault> {
    for (key, values) in field.open_table()?.fields() {
        let name = if prefix.is_empty() { key.to_owned() } else { format!("{prefix}.{key}") };
        match values.node.value {
            Value::Table(_) => collect_axes(&name, &values, axes)?,
            _ => axes.push(axis(&name, &values)?),
        }
    }
    Ok(())
}

fn axis(name: &str, field: &Field<'_>) -> Result<Axis, Fault> {
    let values = field.one_or_more();
    if values.is_empty() {
        return Err(field.fault("the list of values is empty"));
    }
    for value in &values {
        if matches!(value.node.value, Value::List(_) | Value::Table(_)) {
            return Err(value.expected("a number, a string, true or false"));
        }
    }
    Ok(Axis { name: name.to_owned(), values: values.iter().map(|value| value.node.clone()).collect() })
}

fn apply(
    setting: &Setting,
    workload: &mut Node,
    variables: &mut BTreeMap<String, Node>,
    blocks: &mut Vec<Vec<Axis>>,
) -> Result<(), Fault> {
    let is_swept = blocks.iter().flatten().any(|axis| axis.name == setting.key);
    if is_swept {
        pin(blocks, &axis(&setting.key, &Field::new(&setting.key, &setting.value))?);
    }
    if let Some(variable) = variables.get_mut(&setting.key) {
        *variable = setting.value.clone();
        return Ok(());
    }
    if is_swept {
        return Ok(());
    }
    address::assign(workload, &setting.key, &setting.value).map_err(|message| Fault::new(&setting.value.place, message))
}

/// Gives a swept name other values. Where several sweeps differ by it, each having one value, those with another are removed.
fn pin(blocks: &mut Vec<Vec<Axis>>, pinned: &Axis) {
    let has_other = |axis: &Axis| {
        let is_among = pinned.values.iter().any(|value| value.value == axis.values[0].value);
        axis.name == pinned.name && axis.values.len() == 1 && !is_among
    };
    if blocks.iter().any(|block| !block.iter().any(has_other)) {
        blocks.retain(|block| !block.iter().any(has_other));
    }
    // Those that are left with one value have one of the pinned, or there is none that has.
    let is_choice = blocks.iter().flatten().any(|axis| axis.name == pinned.name && !has_other(axis));
    for axis in blocks.iter_mut().flatten().filter(|axis| axis.name == pinned.name) {
        if axis.values.len() > 1 || !is_choice {
            axis.values.clone_from(&pinned.values);
        }
    }
}

/// All combinations, the last name going round fastest; a single one without values if there is no sweep.
fn choices(blocks: &[Vec<Axis>]) -> Result<Vec<Vec<(&str, &Node)>>, Fault> {
    let mut all = Vec::new();
    for block in blocks {
        let mut of_block: Vec<Vec<(&str, &Node)>> = vec![Vec::new()];
        for axis in block {
            let longer = of_block.iter().flat_map(|choice| {
                axis.values.iter().map(move |value| {
                    let mut longer = choice.clone();
                    longer.push((axis.name.as_str(), value));
                    longer
                })
            });
            of_block = longer.collect();
            if all.len() + of_block.len() > COMBINATIONS_MAX {
                let message = format!("the sweep has more than {COMBINATIONS_MAX} combinations");
                return Err(Fault::new(&axis.values[0].place, message));
            }
        }
        all.extend(of_block);
    }
    if all.is_empty() {
        all.push(Vec::new());
    }
    Ok(all)
}

fn combination(
    workload: &Node,
    variables: &BTreeMap<String, Node>,
    used: &BTreeSet<String>,
    choice: &[(&str, &Node)],
) -> Result<Combination, Fault> {
    let mut workload = workload.clone();
    let mut values: BTreeMap<&str, &Node> = variables.iter().map(|(name, node)| (name.as_str(), node)).collect();
    for (name, value) in choice {
        if variables.contains_key(*name) || used.contains(*name) {
            values.insert(name, value);
        } else {
            address::assign(&mut workload, name, value)
                .map_err(|message| Fault::new(&value.place, format!("sweep.{name}: {message}")))?;
        }
    }
    substitute(&mut workload, &values)?;
    let label: Vec<String> = choice.iter().map(|(name, node)| format!("{name}={}", plain(&node.value))).collect();
    let variables = choice.iter().map(|(name, node)| ((*name).to_owned(), variable(&node.value))).collect();
    Ok(Combination { label: label.join(", "), variables, workload })
}

/// The name of `"$name"`.
fn variable_name(text: &str) -> Option<&str> {
    let name = text.strip_prefix('$')?;
    let is_name =
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-');
    is_name.then_some(name)
}

fn collect_used(node: &Node, used: &mut BTreeSet<String>) {
    match &node.value {
        Value::Text(text) => used.extend(variable_name(text).map(str::to_owned)),
        Value::List(items) => items.iter().for_each(|item| collect_used(item, used)),
        Value::Table(entries) => entries.iter().for_each(|entry| collect_used(&entry.node, used)),
        Value::Int(_) | Value::Float(_) | Value::Bool(_) => {}
    }
}

fn substitute(node: &mut Node, values: &BTreeMap<&str, &Node>) -> Result<(), Fault> {
    match &mut node.value {
        Value::Text(text) => {
            if let Some(name) = variable_name(text) {
                let Some(value) = values.get(name) else {
                    let hint = suggestion(name, values.keys().copied());
                    return Err(Fault::new(&node.place, format!("unknown variable \"{name}\"{hint}")));
                };
                *node = (*value).clone();
            } else if let Some(escaped) = text.strip_prefix("$$") {
                *text = format!("${escaped}");
            }
            Ok(())
        }
        Value::List(items) => items.iter_mut().try_for_each(|item| substitute(item, values)),
        Value::Table(entries) => entries.iter_mut().try_for_each(|DocumentEntry { node, .. }| substitute(node, values)),
        Value::Int(_) | Value::Float(_) | Value::Bool(_) => Ok(()),
    }
}

/// Without the quotes that errors have, and without passwords: this is what results call a run.
fn plain(value: &Value) -> String {
    match value {
        Value::Text(text) => without_passwords(text),
        other => other.to_string(),
    }
}

fn variable(value: &Value) -> Variable {
    match value {
        Value::Int(number) => Variable::Number(*number as f64),
        Value::Float(number) => Variable::Number(*number),
        other => Variable::Text(plain(other)),
    }
}
