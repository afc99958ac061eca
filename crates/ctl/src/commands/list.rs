//! rabbitmqadmin's lists: any columns that the objects have, or a few, or all.

use serde_json::Value;

use crate::command::{Command, optional, repeated, required};
use crate::commands::queues;
use crate::failure::Failure;
use crate::given::Given;
use crate::listing::{field, flattened};
use crate::output::{Output, Table};
use crate::step::{Ask, Started, Step, path};

/// A list by what is listed, in one virtual host if that is said.
macro_rules! listed {
    ($name:literal, $also:expr, $about:literal, $of:expr, $default:expr) => {
        Command::new($name, $about, |given| list(given, $of, $default)).also($also).taking(&[repeated("column")])
    };
}

pub(crate) const COMMANDS: &[Command] = &[
    listed!(
        "list queues",
        &["queues list", "queues show", "streams list"],
        "lists queues",
        Of::Vhost("queues"),
        &["name", "messages"]
    ),
    listed!("list exchanges", &["exchanges list"], "lists exchanges", Of::Vhost("exchanges"), &["name", "type"]),
    listed!(
        "list bindings",
        &["bindings list"],
        "lists bindings",
        Of::Vhost("bindings"),
        &["source", "destination", "routing_key"]
    ),
    listed!(
        "list connections",
        &["connections list"],
        "lists connections",
        Of::VhostOwn("connections"),
        &["name", "user", "channels"]
    ),
    listed!("list channels", &["channels list"], "lists channels", Of::VhostOwn("channels"), &["name", "user"]),
    listed!(
        "list consumers",
        &["consumers list"],
        "lists consumers",
        Of::Vhost("consumers"),
        &["queue.name", "consumer_tag", "ack_required", "prefetch_count", "active"]
    ),
    listed!("list users", &["users list"], "lists users", Of::All("users"), &["name", "tags"]),
    listed!("list vhosts", &["vhosts list"], "lists virtual hosts", Of::All("vhosts"), &["name", "messages"]),
    listed!(
        "list permissions",
        &["permissions list", "users permissions"],
        "lists permissions",
        Of::VhostOwn("permissions"),
        &[]
    ),
    listed!(
        "list topic_permissions",
        &["topic_permissions list"],
        "lists topic permissions",
        Of::VhostOwn("topic-permissions"),
        &[]
    ),
    listed!("list nodes", &["nodes list"], "lists nodes", Of::All("nodes"), &["name", "type", "mem_used"]),
    listed!("list policies", &["policies list", "policies list_in"], "lists policies", Of::Vhost("policies"), POLICY),
    listed!(
        "list operator_policies",
        &["operator_policies list"],
        "lists operator policies",
        Of::Vhost("operator-policies"),
        POLICY
    ),
    listed!(
        "list parameters",
        &["parameters list", "parameters list_all"],
        "lists parameters",
        Of::Parameters,
        PARAMETER
    )
    .with(&[crate::command::option("component", "NAME", "only those of a component")]),
    listed!(
        "list global_parameters",
        &["global_parameters list"],
        "lists global parameters",
        Of::All("global-parameters"),
        &["name", "value"]
    ),
    listed!(
        "list vhost_limits",
        &["vhosts limits"],
        "lists limits of virtual hosts",
        Of::Vhost("vhost-limits"),
        &["vhost", "value"]
    ),
    Command::new("list user_limits", "lists limits of users", |given| {
        let place = match given.optional("user") {
            Some(user) => path(&["user-limits", user]),
            None => "user-limits".to_owned(),
        };
        show(given, place, &["user", "value"])
    })
    .also(&["users limits"])
    .taking(&[optional("user"), repeated("column")]),
    Command::new("list user_connections", "lists a user's connections", |given| {
        show(given, path(&["connections", "username", given.text("username")]), &["name", "user", "channels"])
    })
    .also(&["users connections"])
    .taking(&[required("username").short('u'), repeated("column")]),
    listed!(
        "list feature_flags",
        &["feature_flags list"],
        "lists feature flags",
        Of::All("feature-flags"),
        &["name", "state", "stability", "provided_by"]
    ),
    listed!(
        "list deprecated_features",
        &["deprecated_features list"],
        "lists what is going away",
        Of::All("deprecated-features"),
        &["name", "deprecation_phase", "state"]
    ),
    listed!(
        "list deprecated_features_in_use",
        &["deprecated_features list_used"],
        "lists what is going away and in use",
        Of::All("deprecated-features/used"),
        &["name", "deprecation_phase", "state"]
    ),
];

const POLICY: &[&str] = &["vhost", "name", "apply-to", "definition", "pattern", "priority"];
const PARAMETER: &[&str] = &["vhost", "component", "name", "value"];

/// Whose things they are.
#[derive(Clone, Copy)]
enum Of {
    /// The broker's.
    All(&'static str),
    /// A virtual host's: `queues/v`.
    Vhost(&'static str),
    /// A virtual host's: `vhosts/v/connections`.
    VhostOwn(&'static str),
    /// Of a component, in a virtual host.
    Parameters,
}

fn list(given: &Given, of: Of, default: &'static [&'static str]) -> Started {
    let vhost = given.said_vhost();
    let place = match (of, vhost) {
        (Of::All(what), _) => what.to_owned(),
        (Of::Vhost(what) | Of::VhostOwn(what), None) => what.to_owned(),
        (Of::Vhost(what), Some(vhost)) => path(&[what, vhost]),
        (Of::VhostOwn(what), Some(vhost)) => path(&["vhosts", vhost, what]),
        (Of::Parameters, vhost) => match (given.optional("component"), vhost) {
            (Some(component), Some(vhost)) => path(&["parameters", component, vhost]),
            (Some(component), None) => path(&["parameters", component]),
            (None, _) => "parameters".to_owned(),
        },
    };
    show(given, place, default)
}

fn show(given: &Given, mut place: String, default: &'static [&'static str]) -> Started {
    let mut columns: Vec<String> =
        given.all("column").iter().flat_map(|word| word.split(',')).map(str::to_owned).collect();
    columns.retain(|column| !column.is_empty());
    if columns.is_empty() {
        columns = default.iter().map(|column| (*column).to_owned()).collect();
    }
    let depth = given.shared_number("depth")?.and_then(|depth| usize::try_from(depth).ok()).unwrap_or(1);
    let is_plain = |column: &String| column.chars().all(|char| char.is_ascii_alphanumeric() || "_-.".contains(char));
    let is_of_queues = place == "queues" || place.starts_with("queues/");
    if columns.is_empty() || !columns.iter().all(is_plain) {
        // All that there is.
    } else if is_of_queues && queues::are_known_at_once(columns.iter().map(String::as_str)) {
        place.push_str(queues::AT_ONCE);
    } else {
        place = format!("{place}?columns={}", columns.join(","));
    }
    let vhost = given.said_vhost().map(str::to_owned);
    Ask::get(place).then(move |reply| {
        let reply = match vhost {
            Some(vhost) => reply.unless(404, || Failure::no_such_vhost(&vhost))?,
            None => reply,
        };
        let items = reply.list()?;
        Ok(Step::Done(Output::Table(if columns.is_empty() {
            all_columns(&items, depth)
        } else {
            some(&items, columns)
        })))
    })
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
