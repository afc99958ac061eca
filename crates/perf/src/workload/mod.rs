//! Workload files: a TOML file becomes plans, one for each combination of its sweep.
//!
//! ```text
//!  text ─► document   a tree of values that know their place
//!        ─► sweep      overrides and combinations put values into it, through address
//!        ─► topology, phases, groups, users, …   read the tree into the plan
//! ```
//!
//! Reading is strict: an unknown key, a name that nothing has, a value that cannot be are errors with a place. Nothing
//! here runs anything. `docs/perf-workloads.md` describes the format.

mod address;
mod document;
mod error;
mod expect;
mod extras;
mod groups;
mod overrides;
mod pattern;
mod phases;
mod rates;
mod scale;
mod shipped;
mod sweep;
mod table;
mod topology;
mod users;
mod values;

use std::collections::BTreeMap;
use std::time::Duration;

pub(crate) use error::Error;
pub(crate) use overrides::Overrides;
pub(crate) use shipped::{OpenError, find, open, shipped};

use crate::plan::{ExitWhen, Plan};
use crate::results::Variable;
use document::Node;
use error::Fault;
use groups::{Context, group_names};
use phases::Course;
use scale::Scale;
use sweep::Combination;
use table::{Field, Table};
use topology::Topology;

/// What a workload may have at its top, besides `variables` and `sweep`.
const TOP_KEYS: [&str; 19] = [
    "name",
    "description",
    "duration",
    "repeat_phases",
    "warm_up",
    "drain",
    "interval",
    "seed",
    "exit_when",
    "idle_connections",
    "phases",
    "exchanges",
    "queues",
    "publishers",
    "consumers",
    "churn",
    "probes",
    "users",
    "throttles",
];

/// A workload file, read.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Workload {
    /// Its name; the file's if it has none.
    pub name: String,
    /// What it shows, for people.
    pub description: String,
    /// The file as it is written.
    pub text: String,
    /// The runs: one, or one for each combination of the sweep.
    pub runs: Vec<PlannedRun>,
}

/// One run of a workload.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PlannedRun {
    /// Tells it from the others of a sweep: `confirm_window=13, publishers=5`. Empty if there is no sweep.
    pub label: String,
    /// The sweep's values, by name.
    pub variables: BTreeMap<String, Variable>,
    /// What it does.
    pub plan: Plan,
}

/// Reads a workload. `file_name` is what errors call it.
pub(crate) fn read(text: &str, file_name: &str, overrides: &Overrides) -> Result<Workload, Error> {
    let settings = overrides.parse()?;
    let default_name = default_name(file_name);
    read_document(text, default_name, &settings, Scale(overrides.scale))
        .map_err(|fault| fault.into_error(file_name, text))
}

/// `rush-hour` of `load/rush-hour.toml`.
fn default_name(file_name: &str) -> &str {
    let name = file_name.rsplit(['/', '\\']).next().unwrap_or(file_name);
    name.strip_suffix(".toml").unwrap_or(name)
}

fn read_document(
    text: &str,
    default_name: &str,
    settings: &[overrides::Setting],
    scale: Scale,
) -> Result<Workload, Fault> {
    let document = Node::parse(text)?;
    let mut workload =
        Workload { name: String::new(), description: String::new(), text: text.to_owned(), runs: Vec::new() };
    for Combination { label, variables, workload: node } in sweep::combinations(document, settings)? {
        let field = Field::new("", &node);
        let table = field.table(&known_keys())?;
        let name = table.text("name")?.unwrap_or(default_name);
        let mut plan = plan(&table, scale)?;
        plan.name = if label.is_empty() { name.to_owned() } else { format!("{name}: {label}") };
        if workload.runs.is_empty() {
            workload.name = name.to_owned();
            workload.description = table.text("description")?.unwrap_or_default().trim().to_owned();
        }
        workload.runs.push(PlannedRun { label, variables, plan });
    }
    Ok(workload)
}

fn known_keys() -> Vec<&'static str> {
    TOP_KEYS.into_iter().chain(["expect", "variables", "sweep"]).collect()
}

fn plan(table: &Table<'_>, scale: Scale) -> Result<Plan, Fault> {
    const IDLE_MAX: u32 = 1_000_000;
    let topology = Topology::read(table, scale)?;
    let course = Course::read(table)?;
    let publisher_names = group_names(table, "publishers")?;
    let consumer_names = group_names(table, "consumers")?;
    course.check_groups(&publisher_names, &consumer_names)?;
    let context = Context { topology: &topology, course: &course, scale };

    let mut plan = Plan {
        seed: table.get("seed").map(|field| field.whole(0..=u64::MAX)).transpose()?.unwrap_or(1),
        phases: course.marks(),
        duration: course.duration,
        warm_up: table.duration("warm_up")?.unwrap_or_default(),
        drain: table.duration("drain")?.unwrap_or(Duration::from_secs(10)),
        interval: interval(table)?,
        exit_when: exit_when(table)?,
        idle_connections: scale.small_count(table.count("idle_connections", 0..=IDLE_MAX)?.unwrap_or(0)),
        ..Plan::default()
    };
    if course.duration.is_some_and(|duration| plan.warm_up >= duration) {
        return Err(Fault::new(
            table.place_of("warm_up"),
            "warm_up: lasts the whole run, so nothing would be measured",
        ));
    }
    for (name, field) in groups(table, "publishers", &publisher_names)? {
        plan.publishers.extend(context.publishers(&field, name)?);
    }
    for (name, field) in groups(table, "consumers", &consumer_names)? {
        plan.consumers.push(context.consumers(&field, name)?);
    }
    for (name, field) in groups(table, "churn", &group_names(table, "churn")?)? {
        plan.churns.push(context.churn(&field, name)?);
    }
    let probe_names = group_names(table, "probes")?;
    for (name, field) in groups(table, "probes", &probe_names)? {
        plan.probes.push(extras::probe(&field, name)?);
    }
    let throttles = users::throttles(table, &context)?;
    for (name, field) in groups(table, "users", &group_names(table, "users")?)? {
        plan.users.push(context.users(&field, name, &throttles)?);
    }
    if let Some(field) = table.get("expect") {
        plan.expectations = expect::read(&field, &probe_names, scale)?;
    }
    plan.exchanges = topology.exchanges;
    plan.queues = topology.queues;
    if does_nothing(&plan) {
        return Err(table.fault("the workload is empty: it has no publishers, consumers, users, churn or probes"));
    }
    Ok(plan)
}

fn does_nothing(plan: &Plan) -> bool {
    plan.publishers.is_empty()
        && plan.consumers.is_empty()
        && plan.users.is_empty()
        && plan.churns.is_empty()
        && plan.probes.is_empty()
        && plan.idle_connections == 0
}

/// The tables of a kind, by name.
fn groups<'a>(table: &Table<'a>, kind: &str, names: &[&'a str]) -> Result<Vec<(&'a str, Field<'a>)>, Fault> {
    let Some(list) = table.get(kind) else { return Ok(Vec::new()) };
    Ok(names.iter().copied().zip(list.list(kind)?).collect())
}

fn interval(table: &Table<'_>) -> Result<Duration, Fault> {
    const INTERVAL_MIN: Duration = Duration::from_millis(10);
    let Some(field) = table.get("interval") else { return Ok(Duration::from_secs(1)) };
    match field.duration()? {
        interval if interval < INTERVAL_MIN => Err(field.fault("expected at least 10ms")),
        interval => Ok(interval),
    }
}

fn exit_when(table: &Table<'_>) -> Result<Option<ExitWhen>, Fault> {
    let Some(field) = table.get("exit_when") else { return Ok(None) };
    Ok(Some(if field.word(&["empty", "idle"])? == "empty" { ExitWhen::Empty } else { ExitWhen::Idle }))
}

#[cfg(test)]
mod tests;
