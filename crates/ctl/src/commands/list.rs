//! rabbitmqadmin's lists: any columns that the objects have, or a few, or all; all of them, or a page.

use serde_json::Value;

use crate::command::{Argument, Command, Opt, option, optional, repeated, required};
use crate::commands::queues;
use crate::failure::Failure;
use crate::invocation::Invocation;
use crate::listing::{field, flattened, text};
use crate::output::{Output, Table};
use crate::reply::Reply;
use crate::step::{Ask, Step, StepResult, path};

/// A list by what is listed, in one virtual host if that is said.
macro_rules! listed {
    ($name:literal, $also:expr, $about:literal, $of:expr, $default:expr) => {
        Command::new($name, $about, |input| list(input, $of, $default)).also($also).taking(COLUMNS).with(PAGE)
    };
}

pub(crate) const COMMANDS: &[Command] = &[
    listed!("list queues", &["queues list"], "lists queues", ListOwner::Vhost("queues"), &["name", "messages"]),
    listed!("streams list", &[], "lists streams", ListOwner::Streams, &["name", "messages"]),
    Command::new("queues show", "shows a queue", queue).taking(&[required("name"), COLUMN]),
    Command::new("streams show", "shows a stream", queue).taking(&[required("name"), COLUMN]),
    listed!("list exchanges", &["exchanges list"], "lists exchanges", ListOwner::Vhost("exchanges"), &["name", "type"]),
    listed!(
        "list bindings",
        &["bindings list"],
        "lists bindings",
        ListOwner::Vhost("bindings"),
        &["source", "destination", "routing_key"]
    ),
    listed!(
        "list connections",
        &["connections list"],
        "lists connections",
        ListOwner::VhostOwn("connections"),
        &["name", "user", "channels"]
    ),
    listed!("list channels", &["channels list"], "lists channels", ListOwner::VhostOwn("channels"), &["name", "user"]),
    listed!(
        "list consumers",
        &["consumers list"],
        "lists consumers",
        ListOwner::Vhost("consumers"),
        &["queue.name", "consumer_tag", "ack_required", "prefetch_count", "active"]
    ),
    listed!("list users", &["users list"], "lists users", ListOwner::All("users"), &["name", "tags"]),
    listed!("list vhosts", &["vhosts list"], "lists virtual hosts", ListOwner::All("vhosts"), &["name", "messages"]),
    listed!(
        "list permissions",
        &["permissions list", "users permissions"],
        "lists permissions",
        ListOwner::VhostOwn("permissions"),
        &[]
    ),
    listed!(
        "list topic_permissions",
        &["topic_permissions list"],
        "lists topic permissions",
        ListOwner::VhostOwn("topic-permissions"),
        &[]
    ),
    listed!("list nodes", &["nodes list"], "lists nodes", ListOwner::All("nodes"), &["name", "type", "mem_used"]),
    listed!("list policies", &["policies list"], "lists policies", ListOwner::Vhost("policies"), POLICY),
    listed!(
        "list operator_policies",
        &["operator_policies list"],
        "lists operator policies",
        ListOwner::Vhost("operator-policies"),
        POLICY
    ),
    listed!(
        "list parameters",
        &["parameters list", "parameters list_all", "parameters list_in"],
        "lists parameters",
        ListOwner::Parameters,
        PARAMETER
    )
    .with(OF_COMPONENT),
    listed!(
        "list global_parameters",
        &["global_parameters list"],
        "lists global parameters",
        ListOwner::All("global-parameters"),
        &["name", "value"]
    ),
    listed!(
        "list vhost_limits",
        &["vhosts limits", "vhost_limits list"],
        "lists limits of virtual hosts",
        ListOwner::Vhost("vhost-limits"),
        &["vhost", "value"]
    ),
    Command::new("list user_limits", "lists limits of users", |input| {
        let place = match input.optional("user") {
            Some(user) => path(&["user-limits", user]),
            None => "user-limits".to_owned(),
        };
        show(input, place, &["user", "value"])
    })
    .also(&["users limits", "user_limits list"])
    .taking(&[optional("user").also(&["username"]), COLUMN]),
    Command::new("list user_connections", "lists a user's connections", |input| {
        show(input, path(&["connections", "username", input.text("username")]), &["name", "user", "channels"])
    })
    .also(&["users connections", "connections list_of_user"])
    .taking(&[required("username").short("u"), COLUMN]),
    listed!(
        "list feature_flags",
        &["feature_flags list"],
        "lists feature flags",
        ListOwner::All("feature-flags"),
        &["name", "state", "stability", "provided_by"]
    ),
    listed!(
        "list deprecated_features",
        &["deprecated_features list"],
        "lists deprecated features",
        ListOwner::All("deprecated-features"),
        &["name", "deprecation_phase", "state"]
    ),
    listed!(
        "list deprecated_features_in_use",
        &["deprecated_features list_used"],
        "lists deprecated features that are in use",
        ListOwner::All("deprecated-features/used"),
        &["name", "deprecation_phase", "state"]
    ),
];

const COLUMN: Argument = repeated("column").also(&["columns"]);
const COLUMNS: &[Argument] = &[COLUMN];

/// Lists that the server has in pages. What has none ignores them, as it does in its answer.
const PAGE: &[Opt] = &[
    option("page", "NUMBER", "only this page, from 1 on"),
    option("page-size", "COUNT", "rows per page (default 100, at most 500)"),
];

const OF_COMPONENT: &[Opt] = &[option("component", "NAME", "only those of a component")];

/// As many on a page as both, the server and rabbitmqadmin's successor, have.
const PAGE_SIZE: u64 = 100;

const POLICY: &[&str] = &["vhost", "name", "apply-to", "definition", "pattern", "priority"];
const PARAMETER: &[&str] = &["vhost", "component", "name", "value"];

/// Whose things they are.
#[derive(Clone, Copy)]
enum ListOwner {
    /// The broker's.
    All(&'static str),
    /// A virtual host's: `queues/v`.
    Vhost(&'static str),
    /// A virtual host's queues, if they are streams.
    Streams,
    /// A virtual host's: `vhosts/v/connections`.
    VhostOwn(&'static str),
    /// Of a component, in a virtual host.
    Parameters,
}

fn list(input: &Invocation, of: ListOwner, default: &'static [&'static str]) -> StepResult {
    let vhost = input.said_vhost();
    if let ListOwner::Streams = of {
        return streams(input, default);
    }
    let place = match (of, vhost) {
        (ListOwner::Streams, _) => "queues".to_owned(),
        (ListOwner::All(what), _) => what.to_owned(),
        (ListOwner::Vhost(what) | ListOwner::VhostOwn(what), None) => what.to_owned(),
        (ListOwner::Vhost(what), Some(vhost)) => path(&[what, vhost]),
        (ListOwner::VhostOwn(what), Some(vhost)) => path(&["vhosts", vhost, what]),
        (ListOwner::Parameters, vhost) => match (input.optional("component"), vhost) {
            (Some(component), Some(vhost)) => path(&["parameters", component, vhost]),
            (Some(component), None) => path(&["parameters", component]),
            (None, _) => "parameters".to_owned(),
        },
    };
    show(input, place, default)
}

fn show(input: &Invocation, mut place: String, default: &'static [&'static str]) -> StepResult {
    let columns = chosen(input, default);
    let depth = depth(input)?;
    let mut query: Vec<String> = Vec::new();
    let is_plain = |column: &String| column.chars().all(|char| char.is_ascii_alphanumeric() || "_-.".contains(char));
    let is_of_queues = place == "queues" || place.starts_with("queues/");
    if columns.is_empty() || !columns.iter().all(is_plain) {
        // All that there is.
    } else if is_of_queues && queues::are_known_at_once(columns.iter().map(String::as_str)) {
        query.push(queues::AT_ONCE.to_owned());
    } else {
        query.push(format!("columns={}", columns.join(",")));
    }
    query.extend(page(input)?.map(|(page, size)| format!("page={page}&page_size={size}")));
    if !query.is_empty() {
        place = format!("{place}?{}", query.join("&"));
    }
    let vhost = input.said_vhost().map(str::to_owned);
    Ask::get(place).then(move |reply| {
        let reply = match vhost {
            Some(vhost) => reply.unless(404, || Failure::no_such_vhost(&vhost))?,
            None => reply,
        };
        rows(&items(&reply)?, columns, depth)
    })
}

/// The columns that are asked for, or the usual ones; none are all.
fn chosen(input: &Invocation, default: &[&str]) -> Vec<String> {
    let words = input.all("column").iter().flat_map(|word| word.split(',')).map(|word| word.trim().to_owned());
    let columns: Vec<String> = words.filter(|column| !column.is_empty()).collect();
    if columns.is_empty() { default.iter().map(|column| (*column).to_owned()).collect() } else { columns }
}

fn depth(input: &Invocation) -> Result<usize, Failure> {
    Ok(input.shared_number("depth")?.and_then(|depth| usize::try_from(depth).ok()).unwrap_or(1))
}

/// Which page is asked for, from 1 on, and how many are on one.
fn page(input: &Invocation) -> Result<Option<(u64, u64)>, Failure> {
    Ok(match (input.number("page")?, input.number("page-size")?) {
        (None, None) => None,
        (page, size) => Some((page.unwrap_or(1), size.unwrap_or(PAGE_SIZE))),
    })
}

/// A list, or a page of one.
fn items(reply: &Reply) -> Result<Vec<Value>, Failure> {
    match reply.value()? {
        Value::Object(mut page) if page.contains_key("items") => match page.remove("items") {
            Some(Value::Array(items)) => Ok(items),
            _ => reply.list(),
        },
        _ => reply.list(),
    }
}

fn rows(items: &[Value], columns: Vec<String>, depth: usize) -> StepResult {
    Ok(Step::Done(Output::Table(if columns.is_empty() { all_columns(items, depth) } else { some(items, columns) })))
}

/// Of queues, those that are streams: a page of the others would not show how many there are.
fn streams(input: &Invocation, default: &'static [&'static str]) -> StepResult {
    let (columns, depth, page) = (chosen(input, default), depth(input)?, page(input)?);
    let place = input.said_vhost().map_or("queues".to_owned(), |vhost| path(&["queues", vhost]));
    let vhost = input.vhost().to_owned();
    Ask::get(place).then(move |reply| {
        let mut streams = reply.unless(404, || Failure::no_such_vhost(&vhost))?.list()?;
        streams.retain(|queue| text(queue, "type") == "stream");
        if let Some((page, size)) = page {
            let count = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
            let before = count(page.saturating_sub(1).saturating_mul(size));
            streams = streams.into_iter().skip(before).take(count(size)).collect();
        }
        rows(&streams, columns, depth)
    })
}

/// One queue: all columns that it has, unless some are asked for.
pub(crate) fn queue(input: &Invocation) -> StepResult {
    let (vhost, name, columns, depth) = (input.vhost(), input.text("name"), chosen(input, &[]), depth(input)?);
    let missing = queues::no_such_queue(vhost, name);
    Ask::get(path(&["queues", vhost, name]))
        .then(move |reply| rows(&[reply.unless(404, || Failure::data(missing))?.value()?], columns, depth))
}

fn some(items: &[Value], columns: Vec<String>) -> Table {
    // A name may have dots of its own.
    let cell =
        |item: &Value, column: &str| item.get(column).or_else(|| field(item, column)).cloned().unwrap_or(Value::Null);
    let rows = items.iter().map(|item| columns.iter().map(|column| cell(item, column)).collect()).collect();
    Table { columns, rows }
}

/// All that the objects have, those first that name them.
pub(crate) fn all_columns(items: &[Value], depth: usize) -> Table {
    const FIRST: &[&str] = &["vhost", "component", "name", "user"];
    let flat: Vec<_> = items.iter().map(|item| flattened(item, depth)).collect();
    let mut columns: Vec<String> = Vec::new();
    for name in flat.iter().flat_map(|item| item.keys()) {
        if !columns.contains(name) {
            columns.push(name.clone());
        }
    }
    columns.sort_by_key(|name| (FIRST.iter().position(|first| first == name).unwrap_or(FIRST.len()), name.clone()));
    let row = |item: &serde_json::Map<String, Value>| {
        columns.iter().map(|column| item.get(column).cloned().unwrap_or(Value::Null)).collect()
    };
    let rows = flat.iter().map(row).collect();
    Table { columns, rows }
}
