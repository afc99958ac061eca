//! The overview: what runs here, and how many there are of everything.

use std::collections::{BTreeMap, HashSet};

use broker::statistics::numbers::{NODE, VHOST, VHOST_COUNT};
use broker::statistics::{Range, Retentions};
use broker::view::Numbers;
use cluster::control::Context;
use model::arguments::ExchangeType;
use model::name::VhostName;
use telemetry::Sample;

use super::latency::write_stages;
use crate::answer::Answer;
use crate::call::Call;
use crate::json::{Cell, Object, Writer};
use crate::listing::Selection;
use crate::options::ListenerInfo;
use crate::problem::Problem;
use crate::route::Kind::{Boolean, Object as ObjectKind, Text};
use crate::route::Role::Management;
use crate::route::{Field, Operation, Parameters, Route, Shape, at};
use crate::service::Service;
use crate::statistics::Stats;
use crate::tags::is_monitor;

pub(super) static ROUTES: &[Route] = &[at(
    "/api/overview",
    &[Operation::get(Management, overview, "Returns versions and the numbers of objects.", OVERVIEW)
        .query(&[Parameters::Columns, Parameters::Stats])],
)];

const OVERVIEW: Shape = Shape::Object(&[
    Field::required("rabbitmq_version", Text, "The version of RabbitMQ that Warren is compatible with."),
    Field::required("product_name", Text, "The product's name."),
    Field::required("product_version", Text, "The product's version."),
    Field::required("cluster_name", Text, "The cluster's name."),
    Field::required("disable_stats", Boolean, "Whether statistics are disabled."),
    Field::required(
        "object_totals",
        ObjectKind,
        "The numbers of queues, exchanges, connections, channels and consumers.",
    ),
    Field::optional(
        "churn_rates",
        ObjectKind,
        "The numbers of connections, channels and queues that were opened, closed, created and deleted.",
    ),
    Field::optional("message_stats", ObjectKind, "The counts and rates of messages."),
    Field::optional("queue_totals", ObjectKind, "The numbers of messages in queues."),
    Field::optional("node", Text, "The node's name. Only for users with the tag `monitoring`."),
    Field::optional(
        "latency_stages",
        ObjectKind,
        "How long messages spent in each stage, in microseconds. Only for users with the tag `monitoring`.",
    ),
]);

/// Exchange types that can be declared, by name, and what each does.
pub(super) fn write_exchange_types(cell: Cell<'_>) {
    let mut types: Vec<_> = ExchangeType::ALL.into_iter().filter(|kind| kind.is_built()).collect();
    types.sort_by_key(|kind| kind.name());
    cell.list(types, |kind, writer| {
        writer.object(|members| {
            members.cell("name").text(kind.name());
            members.cell("description").text(kind.description());
            if let Some(purpose) = kind.internal_purpose() {
                members.cell("internal_purpose").text(purpose);
            }
            members.cell("enabled").bool(true);
        });
    });
}

/// Where the API and metrics are, as RabbitMQ's web contexts report it.
pub(super) fn write_contexts(service: &Service, names_node: bool, cell: Cell<'_>) {
    let listeners = service.listeners();
    let contexts = http_contexts(&listeners, &service.options.path_prefix);
    write_each_context(contexts, names_node.then(|| service.node()), cell);
}

/// Listeners of HTTP, of this node or, by its last report, of another one.
pub(super) fn write_each_context(contexts: impl Iterator<Item = Context>, node: Option<&str>, cell: Cell<'_>) {
    cell.list(contexts, |context, writer| {
        writer.object(|members| {
            if let Some(node) = node {
                members.cell("ssl_opts").texts([]);
                members.cell("node").text(node);
            }
            members.cell("description").text(&context.description);
            members.cell("path").text(&context.path);
            members.cell("ip").text(&context.ip);
            members.cell("port").text(&context.port.to_string());
        });
    });
}

/// Which of a node's listeners serve HTTP, as lists of nodes report them.
pub fn http_contexts<'a>(listeners: &'a [ListenerInfo], prefix: &'a str) -> impl Iterator<Item = Context> + 'a {
    let of_http = listeners.iter().filter(|listener| listener.protocol.starts_with("http"));
    of_http.map(move |listener| {
        let is_of_metrics = listener.protocol.ends_with("/prometheus");
        let prefix = if is_of_metrics { "" } else { prefix };
        Context {
            description: if is_of_metrics { "RabbitMQ Prometheus" } else { "Management" }.to_owned(),
            path: if prefix.is_empty() { "/" } else { prefix }.to_owned(),
            ip: listener.ip.to_string(),
            port: listener.port,
        }
    })
}

/// The node's counts of what was opened and closed, or created and deleted.
pub(crate) const CHURN: [&str; 7] = [
    "connection_created",
    "connection_closed",
    "channel_created",
    "channel_closed",
    "queue_declared",
    "queue_created",
    "queue_deleted",
];

/// What was opened and closed, or created and deleted, and how fast.
fn write_churn(call: &Call, members: &mut Object<'_>) {
    let (broker, ranges) = (call.broker(), call.ranges());
    let numbers = broker.node_numbers();
    let range = ranges.as_ref().and_then(|ranges| ranges.messages.or(ranges.lengths));
    let samples = range.map(|range| broker.node_history(range));
    let stats = Stats { names: &NODE, numbers: &numbers, samples: samples.as_deref() };
    members
        .cell("churn_rates")
        .object(|rates| if ranges.is_some() { stats.write(rates, &CHURN) } else { stats.write_counts(rates, &CHURN) });
}

/// How many messages there are in the vhosts that are seen, and what has happened to them: of the node if all are seen.
fn write_messages(call: &Call, seen: &HashSet<VhostName>, members: &mut Object<'_>) {
    let (broker, ranges) = (call.broker(), call.ranges());
    let sees_all = broker.vhost_names().iter().all(|vhost| seen.contains(vhost));
    let numbers = if sees_all { broker.messages_numbers() } else { sum_of(call, seen) };
    let history = |range| if sees_all { broker.messages_history(range) } else { history_of(call, seen, range) };
    let of_lengths = ranges.as_ref().and_then(|ranges| ranges.lengths).map(history);
    let lengths = Stats { names: &VHOST, numbers: &numbers, samples: of_lengths.as_deref() };
    members.cell("queue_totals").object(|totals| lengths.write_totals(totals, 0, ranges.is_some()));
    if let Some(ranges) = &ranges {
        let samples = ranges.messages.map(history);
        let stats = Stats { names: &VHOST, numbers: &numbers, samples: samples.as_deref() };
        stats.write_messages(members.cell("message_stats"), true);
    }
}

fn sum_of(call: &Call, vhosts: &HashSet<VhostName>) -> Numbers<VHOST_COUNT> {
    let mut sum = Numbers { now: [0; VHOST_COUNT], rates: [0.0; VHOST_COUNT] };
    for numbers in vhosts.iter().filter_map(|vhost| call.broker().vhost_numbers(vhost.as_str())) {
        sum.now.iter_mut().zip(numbers.now).for_each(|(sum, number)| *sum += number);
        sum.rates.iter_mut().zip(numbers.rates).for_each(|(sum, rate)| *sum += rate);
    }
    sum
}

/// What the numbers of some vhosts together were, newest first. Before a vhost's history began it is taken to have had nothing.
fn history_of(call: &Call, vhosts: &HashSet<VhostName>, range: Range) -> Vec<Sample<VHOST_COUNT>> {
    let mut sums = BTreeMap::<u64, [u64; VHOST_COUNT]>::new();
    for sample in vhosts.iter().flat_map(|vhost| call.broker().vhost_history(vhost.as_str(), range)) {
        let sum = sums.entry(sample.at_ms).or_insert([0; VHOST_COUNT]);
        sum.iter_mut().zip(sample.numbers).for_each(|(sum, number)| *sum += number);
    }
    sums.into_iter().rev().map(|(at_ms, numbers)| Sample { at_ms, numbers }).collect()
}

/// How many seconds long samples are kept, as RabbitMQ reports it.
fn write_retentions(retentions: &Retentions, policies: &mut Object<'_>) {
    let of = [("global", &retentions.global), ("basic", &retentions.basic), ("detailed", &retentions.detailed)];
    for (name, kept) in of {
        policies.cell(name).list(kept.iter(), |retention, writer| writer.int(retention.age_ms / 1000));
    }
}

fn write_listener(listener: &ListenerInfo, service: &Service, writer: Writer<'_>) {
    writer.object(|members| {
        members.cell("node").text(service.node());
        members.cell("protocol").text(&listener.protocol);
        members.cell("ip_address").text(&listener.ip.to_string());
        members.cell("port").int(listener.port.into());
        members.cell("socket_opts").object(|_| ());
        members.cell("tls").bool(listener.tls.is_some());
    });
}

fn overview(call: &Call) -> Result<Answer, Problem> {
    let (service, options, broker) = (&*call.service, &call.service.options, call.broker());
    let has_stats = call.has_stats();
    let is_monitor = is_monitor(call.identity());
    let seen: HashSet<VhostName> = call.context.vhosts().into_iter().collect();
    let totals = broker.totals(|vhost| seen.contains(vhost));
    let wanted = call.query.get("columns").map_or(Selection::All, Selection::parse);
    let mut out = Vec::new();
    Writer::of(&mut out, &wanted).object(|members| {
        members.cell("management_version").text(&options.compatible_version);
        let statistics = &broker.options().statistics;
        members.cell("rates_mode").text(statistics.rates.name());
        members.cell("sample_retention_policies").object(|policies| write_retentions(&statistics.retentions, policies));
        write_exchange_types(members.cell("exchange_types"));
        members.cell("product_version").text(&options.product_version);
        members.cell("product_name").text(&options.product_name);
        members.cell("rabbitmq_version").text(&options.compatible_version);
        members.cell("cluster_name").text(&broker.cluster_name());
        members.cell("cluster_tags").object(|_| ());
        members.cell("node_tags").object(|_| ());
        // There is no Erlang here, but clients that read these want texts.
        members.cell("erlang_version").text("");
        members.cell("erlang_full_version").text("");
        members.cell("crypto_lib_version").text("");
        members.cell("disable_stats").bool(!has_stats);
        members.cell("default_queue_type").text(broker.options().default_queue_type.name());
        members.cell("is_op_policy_updating_enabled").bool(options.operator_policies_change);
        members
            .cell("enable_queue_totals")
            .bool(options.enables_queue_totals || call.query.is_true("enable_queue_totals"));
        members.cell("require_definition_json_extension").bool(options.requires_json_extension);
        if has_stats {
            write_churn(call, members);
            write_messages(call, &seen, members);
        }
        members.cell("object_totals").object(|objects| {
            if has_stats {
                objects.cell("channels").int(totals.channels);
                if is_monitor {
                    objects.cell("consumers").int(totals.consumers);
                }
            }
            objects.cell("connections").int(totals.connections);
            objects.cell("exchanges").int(totals.exchanges);
            objects.cell("queues").int(totals.queues);
        });
        if has_stats {
            members.cell("statistics_db_event_queue").int(0);
        }
        if is_monitor {
            members.cell("node").text(service.node());
            write_stages(members.cell("latency_stages"), &broker.stages());
            if has_stats {
                members.cell("listeners").list(&service.listeners(), |listener, writer| {
                    write_listener(listener, service, writer);
                });
                write_contexts(service, true, members.cell("contexts"));
            }
        }
    });
    Ok(Answer::json(out))
}
