//! What is written of each kind of object: a measurement, its tags, its fields. Names are the HTTP API's where it has the same number, and
//! RabbitMQ's therefore. `docs/influxdb.md` says what each of them means; they stay as they are.
//!
//! Counts are since the broker's start, as integers: the database's users compute how fast they grow.

use broker::Broker;
use broker::machine;
use broker::statistics::VhostMessages;
use broker::statistics::numbers::{EXCHANGE, EXCHANGE_COUNT, QUEUE, READY, UNACKED, VHOST};
use broker::view::{ExchangeView, NodeView, PressureView, QueueView, StoreView, VhostView};
use influx::{Fields, Tags, Timestamp};

const NODE: &str = "warren_node";
const OF_VHOST: &str = "warren_vhost";
const OF_QUEUE: &str = "warren_queue";
const OF_EXCHANGE: &str = "warren_exchange";

/// The default exchange, which has no name, and cannot be identified by a tag without a value: its name in paths of the HTTP API.
const DEFAULT_EXCHANGE: &str = "amq.default";

/// Lines of one round, which have tags and the time in common.
#[derive(Debug)]
pub(super) struct Lines<'a> {
    pub(super) broker: &'a Broker,
    pub(super) tags: &'a Tags,
    pub(super) at: Timestamp,
}

impl Lines<'_> {
    /// The node as a whole; what is on it is not walked through.
    pub(super) fn node(&self, out: &mut String, view: &NodeView, file_max: Option<u64>) -> bool {
        let fields = |fields: &mut Fields<'_>| {
            fields.count("uptime_ms", view.uptime_ms);
            fields.count("mem_used", view.memory_used_len);
            fields.count("mem_limit", view.memory_limit_len);
            fields.boolean("mem_alarm", view.alarms.is_memory_low);
            fields.count("disk_free", view.disk_free_len);
            fields.count("disk_free_limit", view.disk_free_limit_len);
            fields.boolean("disk_free_alarm", view.alarms.is_disk_low);
            for (name, number) in
                [("fd_used", machine::open_file_count()), ("fd_total", file_max), ("threads", machine::thread_count())]
            {
                if let Some(number) = number {
                    fields.count(name, number);
                }
            }
            if let Some(seconds) = machine::processor_seconds() {
                fields.float("cpu_seconds", seconds);
            }
            self.put_totals(fields, view);
            put_messages(fields, &self.broker.all_messages());
            put_store(fields, &self.broker.store_view());
            put_pressure(fields, &self.broker.pressure_view());
        };
        influx::write(out, NODE, self.at, |tags| tags.put_all(self.tags), fields)
    }

    fn put_totals(&self, fields: &mut Fields<'_>, view: &NodeView) {
        let (vhosts, churn) = (self.broker.vhost_views(), view.churn);
        for (name, count) in [
            ("vhosts", vhosts.len() as u64),
            ("queues", vhosts.iter().map(|vhost| vhost.queue_count as u64).sum()),
            ("exchanges", vhosts.iter().map(|vhost| vhost.exchange_count as u64).sum()),
            ("connections", view.connection_count as u64),
            ("channels", churn.channels_opened.saturating_sub(churn.channels_closed)),
            ("connection_created", churn.connections_opened),
            ("connection_closed", churn.connections_closed),
            ("channel_created", churn.channels_opened),
            ("channel_closed", churn.channels_closed),
            ("queue_declared", churn.queues_declared),
            ("queue_created", churn.queues_created),
            ("queue_deleted", churn.queues_deleted),
        ] {
            fields.count(name, count);
        }
    }

    /// A vhost, if it is still there.
    pub(super) fn vhost(&self, out: &mut String, vhost: &VhostView) -> bool {
        let name = vhost.facts.name.as_str();
        let Some(messages) = self.broker.messages_in(name) else { return false };
        let tags = |tags: &mut Tags| {
            tags.put_all(self.tags);
            tags.put("vhost", name);
        };
        let fields = |fields: &mut Fields<'_>| {
            fields.count("queues", vhost.queue_count as u64);
            fields.count("exchanges", vhost.exchange_count as u64);
            fields.count("connections", vhost.connection_count as u64);
            put_messages(fields, &messages);
        };
        influx::write(out, OF_VHOST, self.at, tags, fields)
    }

    /// A queue.
    pub(super) fn queue(&self, out: &mut String, queue: &QueueView) -> bool {
        let definition = queue.definition();
        let tags = |tags: &mut Tags| {
            tags.put_all(self.tags);
            tags.put("vhost", definition.vhost.as_str());
            tags.put("queue", definition.name.as_str());
            tags.put("type", definition.arguments.queue_type().name());
        };
        let fields = |fields: &mut Fields<'_>| {
            let numbers = queue.numbers().now;
            put_sum(fields, &QUEUE, &numbers);
            put_numbers(fields, &QUEUE, &numbers);
            let (ready, unacked) = (queue.ready_bytes(), queue.unacked_bytes());
            fields.count("message_bytes", ready + unacked);
            fields.count("message_bytes_ready", ready);
            fields.count("message_bytes_unacknowledged", unacked);
            fields.count("consumers", queue.consumer_count());
            fields.count("dropped", queue.dropped_count());
            fields.count("came_round", queue.came_round_count());
            if let Some(count) = queue.deduplicated_count() {
                fields.count("deduplicated", count);
            }
        };
        influx::write(out, OF_QUEUE, self.at, tags, fields)
    }

    /// An exchange, if anything has happened there: every vhost has seven that most applications do without.
    pub(super) fn exchange(&self, out: &mut String, exchange: &ExchangeView) -> bool {
        let definition = &exchange.definition;
        let (vhost, name) = (definition.vhost.as_str(), definition.name.as_str());
        let numbers = self.broker.exchange_numbers(vhost, name).map_or([0; EXCHANGE_COUNT], |numbers| numbers.now);
        if numbers == [0; EXCHANGE_COUNT] && exchange.messages_delayed.is_none() {
            return false;
        }
        let tags = |tags: &mut Tags| {
            tags.put_all(self.tags);
            tags.put("vhost", vhost);
            tags.put("exchange", if name.is_empty() { DEFAULT_EXCHANGE } else { name });
            tags.put("type", definition.exchange_type.name());
        };
        let fields = |fields: &mut Fields<'_>| {
            put_numbers(fields, &EXCHANGE, &numbers);
            let more = [("messages_delayed", exchange.messages_delayed), ("deduplicated", exchange.deduplicated_count)];
            for (name, count) in more {
                if let Some(count) = count {
                    fields.count(name, count);
                }
            }
        };
        influx::write(out, OF_EXCHANGE, self.at, tags, fields)
    }
}

/// What has happened to messages, and how many there are.
fn put_messages(fields: &mut Fields<'_>, messages: &VhostMessages) {
    let numbers = messages.numbers();
    put_sum(fields, &VHOST, &numbers);
    put_numbers(fields, &VHOST, &numbers);
    // Threads do not all count at the same moment: for an instant one may have taken away what another is about to add.
    fields.count("consumers", messages.consumer_count.cast_signed().max(0).cast_unsigned());
}

fn put_numbers<const N: usize>(fields: &mut Fields<'_>, names: &[&str; N], numbers: &[u64; N]) {
    for (name, number) in names.iter().zip(numbers) {
        fields.count(name, *number);
    }
}

/// Messages that are ready or unacknowledged.
fn put_sum<const N: usize>(fields: &mut Fields<'_>, names: &[&str; N], numbers: &[u64; N]) {
    let parts = names.iter().zip(numbers).filter(|(name, _)| [READY, UNACKED].contains(name));
    fields.count("messages", parts.map(|(_, number)| *number).sum());
}

fn put_store(fields: &mut Fields<'_>, store: &StoreView) {
    for (name, number) in [
        ("journal_appended_bytes", store.journal_appended_len),
        ("journal_durable_bytes", store.journal_durable_len),
        ("journal_unretired_bytes", store.journal_unretired_len),
        ("store_chunk_bytes", store.chunk_len),
        ("store_segments", store.segment_count),
        ("store_segment_bytes", store.segment_len),
        ("store_segment_messages", store.segment_message_count),
        ("store_waiting_loads", store.waiting_load_count),
        ("store_lost_messages", store.lost_message_count),
        ("store_damaged_segments", store.damaged_segment_count),
    ] {
        fields.count(name, number);
    }
}

fn put_pressure(fields: &mut Fields<'_>, pressure: &PressureView) {
    for (name, number) in [
        ("connections_refused", pressure.connections_refused),
        ("connections_pausing", pressure.pausing_count),
        ("flow_entered", pressure.flow_entered),
        ("publishes_refused", pressure.publishes_refused),
    ] {
        fields.count(name, number);
    }
}
