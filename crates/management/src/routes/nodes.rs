//! The nodes: this one, and those of its cluster, which report what they are at themselves. Histories are of this one alone: the others
//! serve no clients.

use std::sync::Arc;

use broker::machine;
use broker::statistics::numbers::{NODE, NODE_COUNT};
use broker::view::{Alarms, NodeView, Numbers};
use cluster::control::{ClusterView, MemberView, NodeFigures};
use cluster::wire::Lane;
use telemetry::Sample;

use super::memory;
use super::overview::{http_contexts, write_each_context, write_exchange_types};
use crate::answer::Answer;
use crate::call::Call;
use crate::json::{self, Cell, Writer};
use crate::listing::{Table, column, list, single};
use crate::problem::Problem;
use crate::route::Kind::{Any, Boolean, Integer, List, Object, Text};
use crate::route::Role::{Administrator, Monitoring};
use crate::route::{AnswerFuture, Field, LIST, Operation, Parameters, Route, Shape, at};
use crate::service::Service;
use crate::statistics::{Ranges, Stats};

pub(super) static ROUTES: &[Route] = &[
    at("/api/nodes", &[Operation::list(Monitoring, all, "Lists nodes.", Shape::Many(&TABLE)).query(LIST)]),
    at(
        "/api/nodes/{node}",
        &[Operation::get(Monitoring, one, "Returns a node.", Shape::One(&TABLE))
            .query(&[Parameters::Columns, Parameters::Other("memory", "`true`: includes the node's memory use.")])],
    ),
    at(
        "/api/nodes/{node}/memory",
        &[Operation::get(Monitoring, memory::absolute, "Returns a node's memory use by category, in bytes.", MEMORY)],
    ),
    at(
        "/api/nodes/{node}/memory/relative",
        &[Operation::get(Monitoring, memory::relative, "Returns a node's memory use by category, in percent.", MEMORY)],
    ),
    at(
        "/api/nodes/{node}/memory/ets",
        &[Operation::get(Monitoring, ets, "Reports that a node has no Erlang tables.", TABLES)],
    ),
    at(
        "/api/nodes/{node}/memory/ets/relative",
        &[Operation::get(Monitoring, ets, "Reports that a node has no Erlang tables.", TABLES)],
    ),
    at(
        "/api/nodes/{node}/memory/ets/{filter}",
        &[Operation::get(Monitoring, ets, "Reports that a node has no Erlang tables that match.", TABLES)],
    ),
    at(
        "/api/nodes/{node}/memory/ets/{filter}/relative",
        &[Operation::get(Monitoring, ets, "Reports that a node has no Erlang tables that match.", TABLES)],
    ),
    at("/api/reset", &[Operation::delete(Administrator, reset_all, "Resets statistics.")]),
    at("/api/reset/{node}", &[Operation::delete(Administrator, reset, "Resets the statistics of a node.")]),
    at(
        "/api/rebalance/queues",
        &[Operation::post(
            Administrator,
            |_| Ok(Answer::no_content()),
            "Has no effect: one node leads all queues, so there is nothing to rebalance.",
            &[],
        )],
    ),
];

const MEMORY: Shape = Shape::Object(&[Field::required(
    "memory",
    Any,
    "The categories and their total. `not_available` for another node of the cluster.",
)]);

const TABLES: Shape = Shape::Object(&[Field::required("ets_tables_memory", Text, "`no_tables`.")]);

/// A node, and how much of it is shown.
struct Row {
    name: String,
    /// Its part in the cluster; None: it is alone.
    member: Option<MemberView>,
    /// Of this node: how the cluster stands.
    cluster: Option<Arc<ClusterView>>,
    view: Option<NodeView>,
    /// What its process and its machine are at; None: it has not said so.
    figures: Option<Arc<NodeFigures>>,
    /// What it is short of, as far as is known.
    alarms: Option<Alarms>,
    has_memory: bool,
    numbers: Numbers<NODE_COUNT>,
    /// The histories that are wanted; None: no rates either.
    ranges: Option<Arc<Ranges>>,
}

impl Row {
    /// One of the counts of what was opened and closed, or created and deleted.
    fn churn(&self, cell: Cell<'_>, name: &str) {
        if self.figures.is_some() {
            cell.int(self.stats(None).count(&[name]));
        }
    }

    /// The rate of a number, and what it was.
    fn details(&self, service: &Service, cell: Cell<'_>, name: &str) {
        let Some(ranges) = &self.ranges else { return };
        let samples = ranges.node.filter(|_| self.view.is_some()).map(|range| service.broker.node_history(range));
        self.stats(samples.as_deref()).write_details(cell, &[name]);
    }

    /// The other nodes, as this one is linked with them.
    fn links(&self) -> impl Iterator<Item = &MemberView> {
        let cluster = self.cluster.iter();
        cluster.flat_map(|view| view.members.iter().filter(|member| member.name != view.own && member.is_running))
    }

    /// Nodes that a node in a minority cannot reach. With a majority there is no partition: a missing node counts as not running.
    fn partitions(&self) -> impl Iterator<Item = &str> {
        let minority = self.cluster.iter().filter(|view| !view.has_majority);
        minority
            .flat_map(|view| view.members.iter().filter(|member| !member.is_running))
            .map(|member| member.name.as_str())
    }

    fn stats<'a>(&'a self, samples: Option<&'a [Sample<NODE_COUNT>]>) -> Stats<'a, NODE_COUNT> {
        Stats { names: &NODE, numbers: &self.numbers, samples }
    }
}

/// A link as RabbitMQ reports one between its nodes: all lanes together.
fn write_link(peer: &MemberView, members: &mut json::Object<'_>) {
    let sum = |bytes: fn(&cluster::control::LinkView) -> u64| peer.links.iter().map(bytes).sum();
    let (sent, received): (u64, u64) = (sum(|link| link.sent), sum(|link| link.received));
    members.cell("name").text(peer.name.as_str());
    if let Some(address) = &peer.address {
        members.cell("peer_addr").text(address.host());
        members.cell("peer_port").int(address.port().into());
    }
    members.cell("stats").object(|stats| {
        stats.cell("send_bytes").int(sent);
        stats.cell("recv_bytes").int(received);
    });
    members.cell("send_bytes").int(sent);
    members.cell("recv_bytes").int(received);
    let votes = peer.links.iter().find(|link| link.lane == Lane::Votes);
    if let Some(round_trip_us) = votes.and_then(|link| link.round_trip_us) {
        members.cell("round_trip_us").int(round_trip_us);
    }
}

/// There is no Erlang here, but programs that read these want texts, and watch threads as RabbitMQ's processes.
fn without_erlang(row: &Row, _: &Service, cell: Cell<'_>) {
    if row.figures.is_some() {
        cell.text("");
    }
}

static TABLE: Table<Row, Service> = Table {
    title: "Node",
    columns: &[
        column("applications", List, |row: &Row, service, cell| {
            if row.figures.is_some() {
                let plugins = plugins(service).map(|name| (name, name));
                let all: Vec<_> = [("rabbit", &*service.options.product_name)].into_iter().chain(plugins).collect();
                cell.list(&all, |(name, description), writer| {
                    writer.object(|members| {
                        members.cell("name").text(name);
                        members.cell("description").text(description);
                        members.cell("version").text(&service.options.compatible_version);
                    });
                });
            }
        }),
        column("auth_mechanisms", List, |row: &Row, service, cell| {
            if row.figures.is_some() {
                let mechanisms = &service.broker.options().mechanisms;
                cell.list(mechanisms, |mechanism, writer| {
                    writer.object(|members| {
                        members.cell("name").text(mechanism.name());
                        members.cell("description").text(mechanism.name());
                        members.cell("enabled").bool(true);
                    });
                });
            }
        }),
        column("being_drained", Boolean, |row: &Row, _, cell| {
            cell.bool(row.member.as_ref().is_some_and(|member| member.is_draining));
        }),
        column("channel_closed", Integer, |row, _, cell| row.churn(cell, "channel_closed")),
        column("channel_closed_details", Object, |row, service, cell| row.details(service, cell, "channel_closed")),
        column("channel_created", Integer, |row, _, cell| row.churn(cell, "channel_created")),
        column("channel_created_details", Object, |row, service, cell| row.details(service, cell, "channel_created")),
        column("cluster_links", List, |row, _, cell| {
            if row.figures.is_some() {
                cell.list(row.links(), |link, writer| writer.object(|members| write_link(link, members)));
            }
        }),
        column("connection_closed", Integer, |row, _, cell| row.churn(cell, "connection_closed")),
        column("connection_closed_details", Object, |row, service, cell| {
            row.details(service, cell, "connection_closed")
        }),
        column("connection_created", Integer, |row, _, cell| row.churn(cell, "connection_created")),
        column("connection_created_details", Object, |row, service, cell| {
            row.details(service, cell, "connection_created")
        }),
        column("config_files", List, |row, _, cell| {
            if let Some(figures) = &row.figures {
                cell.texts(figures.config_files.iter().map(String::as_str));
            }
        }),
        column("contexts", List, |row, _, cell| {
            if let Some(figures) = &row.figures {
                write_each_context(figures.contexts.iter().cloned(), None, cell);
            }
        }),
        column("crypto_lib_version", Text, without_erlang),
        column("data_loss_alarm", Boolean, |row, _, cell| {
            if let Some(view) = &row.view {
                cell.bool(view.has_data_loss);
            }
        }),
        column("db_dir", Text, |row, _, cell| {
            if let Some(figures) = &row.figures {
                cell.text(&figures.data_dir);
            }
        }),
        column("disk_free", Integer, |row, _, cell| {
            if let Some(figures) = &row.figures {
                cell.int(figures.disk_free_len);
            }
        }),
        column("disk_free_details", Object, |row, service, cell| row.details(service, cell, "disk_free")),
        column("disk_free_alarm", Boolean, |row, _, cell| {
            if let Some(alarms) = &row.alarms {
                cell.bool(alarms.is_disk_low);
            }
        }),
        column("disk_free_limit", Integer, |row, _, cell| {
            if let Some(figures) = &row.figures {
                cell.int(figures.disk_free_limit_len);
            }
        }),
        column("enabled_plugins", List, |row, service, cell| {
            if row.figures.is_some() {
                cell.texts(plugins(service));
            }
        }),
        column("erlang_full_version", Text, without_erlang),
        column("erlang_version", Text, without_erlang),
        column("exchange_types", List, |row, _, cell| {
            if row.figures.is_some() {
                write_exchange_types(cell);
            }
        }),
        column("fd_total", Integer, |row, _, cell| {
            if let Some(figures) = &row.figures {
                cell.int(figures.file_count_max);
            }
        }),
        column("fd_used", Integer, |row, _, cell| {
            if let Some(figures) = &row.figures {
                cell.int(figures.file_count);
            }
        }),
        column("fd_used_details", Object, |row, service, cell| row.details(service, cell, "fd_used")),
        column("log_files", List, |row, _, cell| {
            // There is no other.
            if row.figures.is_some() {
                cell.texts(["<stderr>"]);
            }
        }),
        column("mem_alarm", Boolean, |row, _, cell| {
            if let Some(alarms) = &row.alarms {
                cell.bool(alarms.is_memory_low);
            }
        }),
        column("mem_calculation_strategy", Text, |row, _, cell| {
            if row.figures.is_some() {
                cell.text("rss");
            }
        }),
        column("mem_limit", Integer, |row, _, cell| {
            if let Some(figures) = &row.figures {
                cell.int(figures.memory_limit_len);
            }
        }),
        column("mem_used", Integer, |row, _, cell| {
            if let Some(figures) = &row.figures {
                cell.int(figures.memory_used_len);
            }
        }),
        column("mem_used_details", Object, |row, service, cell| row.details(service, cell, "mem_used")),
        column("memory", Object, |row, service, cell| {
            if row.view.is_some()
                && row.has_memory
                && let Some(writer) = cell.writer()
            {
                memory::write(service, writer);
            }
        }),
        column("name", Text, |row, _, cell| cell.text(&row.name)),
        column("net_ticktime", Integer, |row, _, cell| {
            if row.figures.is_some() {
                cell.int(60);
            }
        }),
        column("os_pid", Text, |row, _, cell| {
            if let Some(figures) = &row.figures {
                cell.text(&figures.pid.to_string());
            }
        }),
        column("partitions", List, |row, _, cell| {
            if row.figures.is_some() {
                cell.texts(row.partitions());
            }
        }),
        column("proc_total", Integer, |row, _, cell| {
            if let Some(figures) = &row.figures {
                cell.int(figures.thread_count_max);
            }
        }),
        column("proc_used", Integer, |row, _, cell| {
            if let Some(figures) = &row.figures {
                cell.int(figures.thread_count);
            }
        }),
        column("processors", Integer, |row, _, cell| {
            if let Some(figures) = &row.figures {
                cell.int(figures.processor_count);
            }
        }),
        column("queue_created", Integer, |row, _, cell| row.churn(cell, "queue_created")),
        column("queue_created_details", Object, |row, service, cell| row.details(service, cell, "queue_created")),
        column("queue_declared", Integer, |row, _, cell| row.churn(cell, "queue_declared")),
        column("queue_declared_details", Object, |row, service, cell| row.details(service, cell, "queue_declared")),
        column("queue_deleted", Integer, |row, _, cell| row.churn(cell, "queue_deleted")),
        column("queue_deleted_details", Object, |row, service, cell| row.details(service, cell, "queue_deleted")),
        column("rabbitmq_version", Text, |row, service, cell| {
            if row.figures.is_some() {
                cell.text(&service.options.compatible_version);
            }
        }),
        column("rates_mode", Text, |row, service, cell| {
            if row.figures.is_some() {
                cell.text(service.broker.options().statistics.rates.name());
            }
        }),
        column("run_queue", Integer, |row, _, cell| {
            if let Some(figures) = &row.figures {
                cell.int(figures.waiting_task_count);
            }
        }),
        column("running", Boolean, |row, _, cell| {
            cell.bool(row.member.as_ref().is_none_or(|member| member.is_running))
        }),
        column("sockets_total", Integer, |row, _, cell| {
            // RabbitMQ no longer has a limit of sockets alone, and reports a zero.
            if row.figures.is_some() {
                cell.int(0);
            }
        }),
        column("sockets_used", Integer, |row, _, cell| {
            if let Some(figures) = &row.figures {
                cell.int(figures.connection_count);
            }
        }),
        column("sockets_used_details", Object, |row, service, cell| row.details(service, cell, "sockets_used")),
        column("type", Text, |_, _, cell| cell.text("disc")),
        column("uptime", Integer, |row, _, cell| {
            if let Some(figures) = &row.figures {
                cell.int(figures.uptime_ms);
            }
        }),
    ],
    order: |_, _| std::cmp::Ordering::Equal,
    name: |_| "".into(),
};

/// What is here of what RabbitMQ has as plugins.
fn plugins(service: &Service) -> impl Iterator<Item = &'static str> {
    let has_metrics = service.listeners().iter().any(|listener| listener.protocol.ends_with("/prometheus"));
    ["rabbitmq_management"].into_iter().chain(has_metrics.then_some("rabbitmq_prometheus"))
}

fn row(call: &Call) -> Row {
    let (name, cluster) = (call.service.node().to_owned(), call.service.cluster());
    let member = cluster.as_ref().and_then(|view| view.member(&name)).cloned();
    let view = call.has_stats().then(|| call.broker().node_view(&call.service.options.data_dir));
    let (has_memory, numbers) = (call.query.is_true("memory"), call.broker().node_numbers());
    let alarms = view.as_ref().map(|view| view.alarms);
    let figures = view.as_ref().map(|view| Arc::new(own_figures(&call.service, view)));
    Row { name, member, cluster, view, figures, alarms, has_memory, numbers, ranges: call.ranges() }
}

fn own_figures(service: &Service, view: &NodeView) -> NodeFigures {
    let options = &service.options;
    NodeFigures {
        memory_used_len: view.memory_used_len,
        memory_limit_len: view.memory_limit_len,
        is_memory_low: view.alarms.is_memory_low,
        disk_free_len: view.disk_free_len,
        disk_free_limit_len: view.disk_free_limit_len,
        is_disk_low: view.alarms.is_disk_low,
        file_count: machine::open_file_count().unwrap_or(0),
        file_count_max: options.file_limit.unwrap_or(0),
        thread_count: machine::thread_count().unwrap_or(0),
        thread_count_max: machine::thread_max().unwrap_or(0),
        connection_count: view.connection_count as u64,
        waiting_task_count: options.runtime.as_ref().map_or(0, |runtime| runtime.metrics().global_queue_depth() as u64),
        processor_count: std::thread::available_parallelism().map_or(1, |count| count.get() as u64),
        uptime_ms: view.uptime_ms,
        pid: std::process::id().into(),
        data_dir: options.data_dir.to_string_lossy().into_owned(),
        config_files: options.config_files.clone(),
        contexts: http_contexts(&service.listeners(), &options.path_prefix).collect(),
    }
}

/// Another node, by its own last report; where it does not run, that it does not.
fn row_of(call: &Call, member: &MemberView) -> Row {
    let peers = call.broker().peer_alarms();
    let alarms = peers.into_iter().find(|peer| peer.node == member.name.as_str()).map(|peer| peer.alarms);
    Row {
        name: member.name.to_string(),
        member: Some(member.clone()),
        cluster: None,
        view: None,
        figures: member.figures.clone().filter(|_| member.is_running && call.has_stats()),
        alarms: member.is_running.then(|| alarms.unwrap_or_default()),
        has_memory: false,
        // It serves no clients.
        numbers: Numbers { now: [0; NODE_COUNT], rates: [0.0; NODE_COUNT] },
        ranges: call.ranges(),
    }
}

fn all(call: &Call) -> Result<AnswerFuture, Problem> {
    let cluster = call.service.cluster();
    let others = cluster
        .iter()
        .flat_map(|view| view.members.iter().filter(|member| member.name != view.own))
        .map(|member| row_of(call, member));
    let mut rows: Vec<Row> = std::iter::once(row(call)).chain(others).collect();
    rows.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(list(rows, &TABLE, &call.service, &call.query))
}

/// Whether the path names this node.
pub(super) fn check_node(call: &Call) -> Result<(), Problem> {
    if call.argument("node") == call.service.node() { Ok(()) } else { Err(Problem::not_found()) }
}

/// Whether the path names another node of the cluster, which alone knows what its memory is used for; an error: it names none.
pub(super) fn is_peer(call: &Call) -> Result<bool, Problem> {
    let name = call.argument("node");
    if name != call.service.node() && call.service.cluster().is_some_and(|view| view.member(name).is_some()) {
        return Ok(true);
    }
    check_node(call).map(|()| false)
}

/// RabbitMQ's answer for a node that does not report.
pub(super) fn memory_not_available() -> Answer {
    let mut out = Vec::new();
    Writer::new(&mut out).object(|members| members.cell("memory").text("not_available"));
    Answer::json(out)
}

fn one(call: &Call) -> Result<Answer, Problem> {
    let of_peer =
        call.service.cluster().and_then(|view| view.member(call.argument("node")).map(|member| row_of(call, member)));
    let row = match of_peer {
        Some(peer) if call.argument("node") != call.service.node() => peer,
        _ => {
            check_node(call)?;
            row(call)
        }
    };
    Ok(single(&row, &TABLE, &*call.service, &call.query))
}

/// What RabbitMQ says where no table has the name that is asked for: here none has any.
fn ets(call: &Call) -> Result<Answer, Problem> {
    is_peer(call)?;
    let mut out = Vec::new();
    Writer::new(&mut out).object(|members| members.cell("ets_tables_memory").text("no_tables"));
    Ok(Answer::json(out))
}

fn reset_all(call: &Call) -> Result<Answer, Problem> {
    call.broker().forget_histories();
    Ok(Answer::no_content())
}

fn reset(call: &Call) -> Result<Answer, Problem> {
    // Of another node there is nothing to forget.
    if is_peer(call)? { Ok(Answer::no_content()) } else { reset_all(call) }
}
