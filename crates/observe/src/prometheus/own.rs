//! What only Warren tells of the node as a whole.

use std::sync::Arc;

use broker::machine::{ProcessorTimes, processor_times};
use broker::view::{PressureView, StoreView};
use telemetry::exposition::Value;

use super::Subject;
use super::metric::{Table, counter, gauge, nothing, some, write_each};
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
            "Bytes that were appended to the journal since it began",
            |own| some(own.store.journal_appended_len),
            nothing,
        ),
        counter(
            "journal_durable_bytes_total",
            "How many of these last whatever happens",
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
            "Files of messages that were moved out of memory",
            |own| some(own.store.segment_count),
            nothing,
        ),
        gauge("store_segment_bytes", "Bytes of these files", |own| some(own.store.segment_len), nothing),
        gauge(
            "store_segment_messages",
            "Messages in these files that are still wanted",
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
            "Those of these files that are damaged and of which no operator has taken note",
            |own| some(own.store.damaged_segment_count),
            nothing,
        ),
        counter(
            "connections_refused_total",
            "Connections turned away because files or places had run out",
            |own| some(own.pressure.connections_refused),
            nothing,
        ),
        counter(
            "connections_failed_total",
            "Connections that were closed for an error of their client",
            |own| some(own.pressure.connections_failed),
            nothing,
        ),
        counter(
            "channels_failed_total",
            "Channels that were closed for an error of their client",
            |own| some(own.pressure.channels_failed),
            nothing,
        ),
        counter(
            "journal_syncs_total",
            "Syncs of the journal, for which persistent messages wait",
            |own| some(own.pressure.syncs.count),
            nothing,
        ),
        counter(
            "journal_sync_seconds_total",
            "How long these took together",
            |own| some(Value::Real(own.pressure.syncs.total.as_secs_f64())),
            nothing,
        ),
        counter(
            "processor_wait_seconds_total",
            "How long threads of the broker could have run and had no processor; of those that still run",
            |own| some(Value::Real(own.processors.waited.as_secs_f64())),
            nothing,
        ),
        counter(
            "flow_entered_total",
            "How often a connection that publishes had to wait for the store",
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
            "Connections that pause so that consumers can keep up",
            |own| some(own.pressure.pausing_count),
            nothing,
        ),
        counter(
            "otlp_spans_sent_total",
            "Spans that the server of warren.otlp.endpoint has taken",
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
            "Lines that a destination of statistics for InfluxDB has taken",
            |stats| some(stats.written.get()),
            nothing,
        ),
        counter(
            "influxdb_lines_dropped_total",
            "Lines that were lost, because the destination refused them or did not take them for too long",
            |stats| some(stats.dropped.get()),
            nothing,
        ),
        gauge(
            "influxdb_lines_waiting",
            "Lines that wait for the destination to take them",
            |stats| some(stats.waiting.get().cast_unsigned()),
            nothing,
        ),
        gauge(
            "influxdb_last_success_timestamp_seconds",
            "When the destination last took lines, in seconds since 1970",
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
