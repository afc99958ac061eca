//! What only Warren reports of the node as a whole.

use std::sync::Arc;

use broker::machine::{ProcessorTimes, processor_times};
use broker::view::{PressureView, StoreView};
use telemetry::exposition::Value;

use super::metric::{Table, counter, gauge, nothing, some, write_each};
use super::subject::Subject;
use crate::influxdb::DeliveryStats;

/// Numbers of the node that RabbitMQ has no name for.
struct Own {
    store: StoreView,
    pressure: PressureView,
    processors: ProcessorTimes,
    panics: u64,
    spans_sent: u64,
    spans_dropped: u64,
}

static NODE: Table<Own> = Table {
    metrics: &[
        counter(
            "journal_appended_bytes_total",
            "Bytes that were appended to the journal since its creation",
            |own| some(own.store.journal_appended_len),
            nothing,
        ),
        counter(
            "journal_durable_bytes_total",
            "Bytes of the journal that are durable",
            |own| some(own.store.journal_durable_len),
            nothing,
        ),
        gauge(
            "journal_unretired_bytes",
            "Bytes of journal files that a start would read",
            |own| some(own.store.journal_unretired_len),
            nothing,
        ),
        gauge("store_chunk_bytes", "Memory of recent messages", |own| some(own.store.chunk_len), nothing),
        gauge(
            "store_segments",
            "Files with messages that were moved out of memory",
            |own| some(own.store.segment_count),
            nothing,
        ),
        gauge("store_segment_bytes", "Bytes of these files", |own| some(own.store.segment_len), nothing),
        gauge(
            "store_segment_messages",
            "Messages in these files that are still in queues",
            |own| some(own.store.segment_message_count),
            nothing,
        ),
        gauge(
            "store_waiting_loads",
            "Reads of messages that wait for a thread",
            |own| some(own.store.waiting_load_count),
            nothing,
        ),
        counter(
            "store_lost_messages_total",
            "Messages that could not be read from these files since the start",
            |own| some(own.store.lost_message_count),
            nothing,
        ),
        gauge(
            "store_damaged_segments",
            "Damaged message files that no operator has acknowledged",
            |own| some(own.store.damaged_segment_count),
            nothing,
        ),
        counter(
            "connections_refused_total",
            "Connections that were refused because file descriptors or connection slots were used up",
            |own| some(own.pressure.connections_refused),
            nothing,
        ),
        counter(
            "connections_failed_total",
            "Connections that were closed because of a client's error",
            |own| some(own.pressure.connections_failed),
            nothing,
        ),
        counter(
            "channels_failed_total",
            "Channels that were closed because of a client's error",
            |own| some(own.pressure.channels_failed),
            nothing,
        ),
        counter(
            "journal_syncs_total",
            "Syncs of the journal, which persistent messages wait for",
            |own| some(own.pressure.syncs.count),
            nothing,
        ),
        counter(
            "journal_sync_seconds_total",
            "Total duration of journal syncs",
            |own| some(Value::Real(own.pressure.syncs.total.as_secs_f64())),
            nothing,
        ),
        counter(
            "processor_wait_seconds_total",
            "Time in which the broker's running threads were runnable without a processor",
            |own| some(Value::Real(own.processors.waited.as_secs_f64())),
            nothing,
        ),
        counter(
            "flow_entered_total",
            "How often a publishing connection had to wait for the store",
            |own| some(own.pressure.flow_entered),
            nothing,
        ),
        counter(
            "publishes_refused_total",
            "Publishes that were answered with basic.nack",
            |own| some(own.pressure.publishes_refused),
            nothing,
        ),
        gauge(
            "connections_pausing",
            "Connections that are paused so that consumers can keep up",
            |own| some(own.pressure.pausing_count),
            nothing,
        ),
        counter(
            "otlp_spans_sent_total",
            "Spans that the server of warren.otlp.endpoint has accepted",
            |own| some(own.spans_sent),
            nothing,
        ),
        counter(
            "otlp_spans_dropped_total",
            "Spans that were lost, because too many waited or the server refused them",
            |own| some(own.spans_dropped),
            nothing,
        ),
        counter("http_panics_total", "Requests of the HTTP API that ended in a panic", |own| some(own.panics), nothing),
    ],
    labels: |_, _| (),
};

/// What becomes of statistics for InfluxDB.
static INFLUXDB: Table<Arc<DeliveryStats>> = Table {
    metrics: &[
        counter(
            "influxdb_lines_written_total",
            "Lines that a destination of statistics for InfluxDB has accepted",
            |stats| some(stats.written.get()),
            nothing,
        ),
        counter(
            "influxdb_lines_dropped_total",
            "Lines that were lost, because the destination refused them or did not accept them in time",
            |stats| some(stats.dropped.get()),
            nothing,
        ),
        gauge(
            "influxdb_lines_waiting",
            "Lines that wait for the destination",
            |stats| some(stats.waiting.get().cast_unsigned()),
            nothing,
        ),
        gauge(
            "influxdb_last_success_timestamp_seconds",
            "When the destination last accepted lines, in seconds since 1970",
            |stats| stats.last_success_s().map(Value::from),
            nothing,
        ),
    ],
    labels: |stats, labels| labels.put("destination", stats.kind.name()),
};

/// Writes them.
pub(super) fn write_node(out: &mut Vec<u8>, prefix: &'static str, subject: &Subject) {
    let broker = &subject.broker;
    let own = Own {
        store: broker.store_view(),
        pressure: broker.pressure_view(),
        processors: processor_times(),
        panics: subject.panics.get(),
        spans_sent: broker.taps().spans_sent.get(),
        spans_dropped: broker.taps().spans_dropped.get(),
    };
    write_each(out, &NODE, prefix, &[own]);
    subject.answers.write(out, prefix);
    let tallies = subject.influxdb.all();
    if !tallies.is_empty() {
        write_each(out, &INFLUXDB, prefix, tallies);
    }
}
