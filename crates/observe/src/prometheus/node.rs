//! The node: counts of events, what it uses and what it may use.

use broker::machine;
use broker::view::NodeView;
use telemetry::exposition::{Kind, Value};

use super::metric::{Metric, Table, counter, gauge, nothing, some};
use super::subject::NodeSubject;

/// Numbers of the node, as of one moment.
pub(crate) struct Node {
    view: NodeView,
    open_file_count: Option<u64>,
    open_file_max: Option<u64>,
    thread_count: Option<u64>,
    thread_max: Option<u64>,
    processor_count: usize,
    processor_seconds: Option<f64>,
}

impl Node {
    pub(crate) fn new(subject: &NodeSubject, view: NodeView) -> Node {
        Node {
            view,
            open_file_count: machine::open_file_count(),
            open_file_max: subject.file_max,
            thread_count: machine::thread_count(),
            thread_max: machine::thread_max(),
            processor_count: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
            processor_seconds: machine::processor_seconds(),
        }
    }
}

/// A table of one object, which needs no labels.
const fn of_node(metrics: &'static [Metric<Node>]) -> Table<Node> {
    Table { metrics, labels: |_, _| () }
}

pub(super) static CHURN: Table<Node> = of_node(&[
    counter(
        "connections_opened_total",
        "Connections that were opened",
        |node| some(node.view.churn.connections_opened),
        nothing,
    ),
    counter(
        "connections_closed_total",
        "Connections that were closed, for any reason",
        |node| some(node.view.churn.connections_closed),
        nothing,
    ),
    counter(
        "channels_opened_total",
        "Channels that were opened",
        |node| some(node.view.churn.channels_opened),
        nothing,
    ),
    counter(
        "channels_closed_total",
        "Channels that were closed",
        |node| some(node.view.churn.channels_closed),
        nothing,
    ),
    counter(
        "queues_declared_total",
        "Declarations of queues, including existing queues",
        |node| some(node.view.churn.queues_declared),
        nothing,
    ),
    counter("queues_created_total", "Queues that were created", |node| some(node.view.churn.queues_created), nothing),
    counter("queues_deleted_total", "Queues that were deleted", |node| some(node.view.churn.queues_deleted), nothing),
]);

pub(super) static USED: Table<Node> = of_node(&[
    gauge("process_open_fds", "Open files and sockets", |node| node.open_file_count.map(Value::from), nothing),
    gauge(
        "process_resident_memory_bytes",
        "Resident memory of the process",
        |node| some(node.view.memory_used_len),
        nothing,
    ),
    gauge(
        "disk_space_available_bytes",
        "Free space on the disk of the data directory",
        |node| some(node.view.disk_free_len),
        nothing,
    ),
    gauge(
        "erlang_processes_used",
        "Threads of the process; Warren does not run on Erlang",
        |node| node.thread_count.map(Value::from),
        nothing,
    ),
]);

pub(super) static LIMITS: Table<Node> = of_node(&[
    gauge(
        "process_max_fds",
        "Maximum number of open files and sockets",
        |node| node.open_file_max.map(Value::from),
        nothing,
    ),
    gauge(
        "resident_memory_limit_bytes",
        "Resident memory above which publishers are blocked",
        |node| some(node.view.memory_limit_len),
        nothing,
    ),
    gauge(
        "disk_space_available_limit_bytes",
        "Free disk space below which publishers are blocked",
        |node| some(node.view.disk_free_limit_len),
        nothing,
    ),
    gauge(
        "erlang_processes_limit",
        "Maximum number of threads of the process; Warren does not run on Erlang",
        |node| node.thread_max.map(Value::from),
        nothing,
    ),
    gauge("erlang_uptime_seconds", "Uptime of the node", |node| some(node.view.uptime_ms as f64 / 1e3), nothing),
]);

pub(super) static ALARMS: Table<Node> = of_node(&[
    Metric {
        name: "alarms_free_disk_space_watermark",
        kind: Kind::Untyped,
        help: "1 during a disk alarm, which blocks publishers",
        each: |node| some(node.view.alarms.is_disk_low),
        sum: nothing,
    },
    Metric {
        name: "alarms_memory_used_watermark",
        kind: Kind::Untyped,
        help: "1 during a memory alarm, which blocks publishers",
        each: |node| some(node.view.alarms.is_memory_low),
        sum: nothing,
    },
]);

/// What Prometheus' own libraries report of every process, and dashboards of Erlang that have a meaning here. Nothing comes before
/// these names.
pub(super) static PROCESS: Table<Node> = of_node(&[
    gauge(
        "process_start_time_seconds",
        "When the node started, in seconds since 1970",
        |node| some(node.view.started_at_ms as f64 / 1e3),
        nothing,
    ),
    counter(
        "process_cpu_seconds_total",
        "CPU time of the process",
        |node| node.processor_seconds.map(Value::from),
        nothing,
    ),
    gauge("process_threads", "Threads of the process", |node| node.thread_count.map(Value::from), nothing),
    gauge(
        "erlang_vm_processes",
        "Threads of the process; Warren does not run on Erlang",
        |node| node.thread_count.map(Value::from),
        nothing,
    ),
    gauge(
        "erlang_vm_process_count",
        "The same, with its older name",
        |node| node.thread_count.map(Value::from),
        nothing,
    ),
    gauge(
        "erlang_vm_process_limit",
        "Maximum number of threads of the process",
        |node| node.thread_max.map(Value::from),
        nothing,
    ),
    gauge(
        "erlang_vm_logical_processors",
        "Number of processors that the process may use",
        |node| some(node.processor_count),
        nothing,
    ),
]);

/// What memory is used for, by RabbitMQ's names. Here it is not divided: all of it is in one, as in `/api/nodes/{node}/memory`.
pub(super) static MEMORY: Table<Node> = of_node(&[
    memory("memory_code_module_bytes"),
    memory("memory_client_connection_reader_bytes"),
    memory("memory_client_connection_writer_bytes"),
    memory("memory_client_connection_channel_bytes"),
    memory("memory_client_connection_other_bytes"),
    memory("memory_classic_queue_erlang_process_bytes"),
    memory("memory_quorum_queue_erlang_process_bytes"),
    memory("memory_quorum_queue_dlx_erlang_process_bytes"),
    memory("memory_stream_erlang_process_bytes"),
    memory("memory_stream_replica_reader_erlang_process_bytes"),
    memory("memory_stream_coordinator_erlang_process_bytes"),
    memory("memory_plugin_bytes"),
    memory("memory_modern_metadata_store_bytes"),
    gauge(
        "memory_other_erlang_process_bytes",
        "All memory of the process, without categories",
        |node| some(node.view.memory_used_len),
        nothing,
    ),
    memory("memory_metrics_bytes"),
    memory("memory_management_stats_db_bytes"),
    memory("memory_classic_metadata_store_bytes"),
    memory("memory_quorum_queue_ets_table_bytes"),
    memory("memory_modern_metadata_store_ets_table_bytes"),
    memory("memory_other_ets_table_bytes"),
    memory("memory_binary_heap_bytes"),
    memory("memory_message_index_bytes"),
    memory("memory_atom_table_bytes"),
    memory("memory_other_system_bytes"),
    memory("memory_runtime_allocated_unused_bytes"),
    memory("memory_runtime_reserved_unallocated_bytes"),
]);

const fn memory(name: &'static str) -> Metric<Node> {
    gauge(name, "Always 0: memory has no categories", |_| some(0_u64), nothing)
}
