//! Queues, as they are listed.

use std::cell::OnceCell;
use std::sync::Arc;

use broker::statistics::numbers::{QUEUE, QUEUE_COUNT, READY, UNACKED};
use broker::statistics::{REASONS, Range, SIZES, WAITS};
use broker::view::{QueueView, SetAsideView};
use cluster::wire::NodeName;
use model::arguments::QueueType;
use model::json;
use serde_json::{Map, Value};

use super::latency::write_stages;
use super::{consumers, deliveries, quorum_queues};
use crate::call::Call;
use crate::json::Cell;
use crate::listing::{Table, column, number, text};
use crate::route::Kind::{Any, Boolean, Integer, List, Number, Object, Text};
use crate::service::Service;
use crate::statistics::{Ranges, Stats, rfc3339, wants_samples, write_histogram};
use observe::shown_capacity;

/// A queue, and how much of it is shown.
pub(super) struct Row {
    pub(super) view: QueueView,
    level: Level,
    /// The histories that are wanted; None: no rates either.
    ranges: Option<Arc<Ranges>>,
    /// Asked for once, if at all: several columns have a part of it.
    set_aside: OnceCell<SetAsideView>,
}

/// How much is shown of a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    /// What it is, and the three totals of its messages.
    Totals,
    /// What it is.
    Facts,
    /// Counts too, without what there is none of.
    Counts,
    /// All, with `null` for what there is none of.
    Detailed,
    /// That of a single queue: its consumers, too.
    Single,
}

impl Row {
    pub(super) fn new(view: QueueView, level: Level, ranges: Option<Arc<Ranges>>) -> Row {
        Row { view, level, ranges, set_aside: OnceCell::new() }
    }

    fn name(&self) -> &str {
        self.view.definition().name.as_str()
    }

    fn vhost(&self) -> &str {
        self.view.definition().vhost.as_str()
    }

    fn is_quorum(&self) -> bool {
        self.view.definition().arguments.queue_type() == QueueType::Quorum
    }

    fn has_counts(&self) -> bool {
        self.level >= Level::Counts
    }

    fn has_totals(&self) -> bool {
        self.level != Level::Facts
    }

    /// Messages that are neither ready nor unacked, as RabbitMQ reports them of quorum queues.
    fn set_aside(&self, service: &Service) -> SetAsideView {
        if !self.is_quorum() {
            return SetAsideView::default();
        }
        *self.set_aside.get_or_init(|| service.broker.set_aside_of(&self.view))
    }

    fn message_count(&self, service: &Service) -> u64 {
        let SetAsideView { dead_letter_count, delayed_count } = self.set_aside(service);
        self.view.ready_count() + self.view.unacked_count() + dead_letter_count + delayed_count
    }

    /// A number that is among the counts.
    fn count(&self, count: impl FnOnce(&QueueView) -> u64) -> Option<u64> {
        self.has_counts().then(|| count(&self.view))
    }

    /// A number that is among the totals.
    fn total(&self, count: impl FnOnce(&QueueView) -> u64) -> Option<u64> {
        self.has_totals().then(|| count(&self.view))
    }

    /// Writes its numbers, with what they were in the range that is asked for; nothing where there are no rates.
    fn with_stats<'a>(
        &self,
        service: &Service,
        cell: Cell<'a>,
        range: impl FnOnce(&Ranges) -> Option<Range>,
        write: impl FnOnce(&Stats<'_, QUEUE_COUNT>, Cell<'a>),
    ) {
        let Some(ranges) = &self.ranges else { return };
        if self.has_counts() {
            let range = range(ranges).filter(|_| wants_samples(&cell));
            let samples = range.map(|range| service.broker.queue_history(&self.view, range));
            let numbers = self.view.numbers();
            write(&Stats { names: &QUEUE, numbers: &numbers, samples: samples.as_deref() }, cell);
        }
    }

    /// How much of the time consumers had room, to the thousandth.
    fn write_capacity(&self, cell: Cell<'_>) {
        match self.view.consumer_count() {
            _ if !self.has_counts() => {}
            0 => cell.int(0),
            _ => cell.float(shown_capacity(&self.view)),
        }
    }

    fn write_lengths(&self, service: &Service, cell: Cell<'_>, names: &[&str]) {
        self.with_stats(service, cell, |ranges| ranges.lengths, |stats, cell| stats.write_details(cell, names));
    }

    /// A text, or `null` or nothing for none.
    fn text(&self, cell: Cell<'_>, text: Option<&str>) {
        match text {
            None if matches!(self.level, Level::Totals | Level::Counts) => {}
            text => cell.text_or_null(text),
        }
    }
}

pub(super) static TABLE: Table<Row, Service> = Table {
    title: "Queue",
    columns: &[
        column("arguments", Object, |row: &Row, _, cell| {
            cell.value(&Value::Object(with_type(json::show_table(row.view.definition().arguments.table()), &row.view)));
        }),
        column("auto_delete", Boolean, |row, _, cell| cell.bool(row.view.definition().is_auto_delete)),
        column("consumer_capacity", Number, |row, _, cell| row.write_capacity(cell)),
        column("consumer_details", List, |row, service, cell| {
            if row.level == Level::Single {
                cell.list(&service.broker.consumers_of_queue(&row.view), |view, writer| {
                    consumers::TABLE.write(view, service, writer)
                });
            }
        }),
        column("consumer_utilisation", Number, |row, _, cell| row.write_capacity(cell)),
        number("consumers", |row, _| row.count(QueueView::consumer_count)),
        column("delayed_retry", Text, |row, _, cell| {
            if row.is_quorum() && row.has_counts() {
                cell.text(&quorum_queues::delayed_retry(&row.view));
            }
        }),
        column("deliveries", List, |row, service, cell| {
            if row.level == Level::Single {
                let consumers = || service.broker.consumers_of_queue(&row.view);
                cell.list(deliveries::ways(row.ranges.as_ref(), consumers), |consumer, writer| {
                    deliveries::write_to_channel(&consumer, service, writer);
                });
            }
        }),
        column("delivery_limit", Any, |row, _, cell| {
            if row.is_quorum() {
                quorum_queues::put_delivery_limit(&row.view, row.has_counts(), cell);
            }
        }),
        column("durable", Boolean, |row, _, cell| cell.bool(row.view.definition().is_durable)),
        column("effective_policy_definition", Object, |row, _, cell| {
            if row.level != Level::Totals || row.is_quorum() {
                cell.value(&Value::Object(row.view.policy().definition().unwrap_or_default()));
            }
        }),
        column("exclusive", Boolean, |row, _, cell| match row.level {
            Level::Totals if row.is_quorum() => cell.null(),
            _ => cell.bool(row.view.definition().is_exclusive),
        }),
        column("exclusive_consumer_tag", Text, |row, service, cell| {
            if row.has_counts() && !row.is_quorum() {
                row.text(cell, service.broker.exclusive_tag_of(&row.view).as_deref());
            }
        }),
        column("head_message_timestamp", Any, |row, service, cell| {
            if row.level >= Level::Detailed {
                match service.broker.head_timestamp_of(&row.view) {
                    Some(timestamp) => cell.int(timestamp),
                    None => cell.null(),
                }
            }
        }),
        column("idle_since", Text, |row, _, cell| {
            if row.has_counts() && row.ranges.is_some() {
                cell.text_if(row.view.idle_since_ms().map(rfc3339).as_deref());
            }
        }),
        column("incoming", List, |row, _, cell| {
            if row.level == Level::Single {
                let incoming = deliveries::ways(row.ranges.as_ref(), || row.view.incoming());
                cell.list(incoming, |edge, writer| deliveries::write_exchange(&edge, writer));
            }
        }),
        column("internal", Boolean, |row, _, cell| {
            if row.level != Level::Totals {
                cell.bool(false);
            }
        }),
        column("internal_owner", Any, |row, _, cell| {
            if row.level != Level::Totals {
                cell.bool(false);
            }
        }),
        column("latency_stages", Object, |row, _, cell| {
            if row.level == Level::Single
                && let Some(stages) = row.view.stages()
            {
                write_stages(cell, &stages);
            }
        }),
        column("leader", Text, |row, service, cell| match service.cluster() {
            Some(cluster) => cell.text_or_null(cluster.leader.as_ref().map(NodeName::as_str)),
            None if row.is_quorum() => cell.text(service.node()),
            None => {}
        }),
        column("members", List, |row, service, cell| match service.cluster() {
            Some(cluster) => cell.texts(cluster.members.iter().map(|member| member.name.as_str())),
            None if row.is_quorum() => cell.texts([service.node()]),
            None => {}
        }),
        number("message_bytes", |row, _| row.count(|view| view.ready_bytes() + view.unacked_bytes())),
        number("message_bytes_ready", |row, _| row.count(QueueView::ready_bytes)),
        number("message_bytes_unacknowledged", |row, _| row.count(QueueView::unacked_bytes)),
        column("message_size_histogram", Object, |row, _, cell| {
            if row.level == Level::Single {
                write_histogram(cell, &SIZES, &row.view.sizes());
            }
        }),
        column("message_stats", Object, |row, service, cell| {
            row.with_stats(service, cell, |ranges| ranges.messages, |stats, cell| stats.write_messages(cell, false));
        }),
        number("messages", |row, service| row.total(|_| row.message_count(service))),
        number("messages_came_round", |row, _| row.count(QueueView::came_round_count).filter(|count| *count > 0)),
        number("messages_deduplicated", |row, _| row.view.deduplicated_count().filter(|_| row.has_counts())),
        number("messages_delayed", |row, service| {
            row.count(|_| row.set_aside(service).delayed_count).filter(|_| row.is_quorum())
        }),
        column("messages_details", Object, |row, service, cell| row.write_lengths(service, cell, &[READY, UNACKED])),
        number("messages_dlx", |row, service| {
            row.count(|_| row.set_aside(service).dead_letter_count).filter(|_| row.is_quorum())
        }),
        number("messages_dropped", |row, _| row.count(QueueView::dropped_count).filter(|count| *count > 0)),
        column("messages_dropped_by_reason", Object, |row, _, cell| {
            let counts = row.view.loss_counts();
            if row.has_counts() && counts.all_given_up() > 0 {
                cell.object(|members| {
                    for (reason, count) in REASONS.into_iter().zip(counts.given_up) {
                        members.cell(reason).int(count);
                    }
                });
            }
        }),
        number("messages_ready", |row, _| row.total(QueueView::ready_count)),
        column("messages_ready_details", Object, |row, service, cell| row.write_lengths(service, cell, &[READY])),
        number("messages_refused", |row, _| row.count(|view| view.loss_counts().refused).filter(|count| *count > 0)),
        number("messages_unacknowledged", |row, _| row.total(QueueView::unacked_count)),
        column("messages_unacknowledged_details", Object, |row, service, cell| {
            row.write_lengths(service, cell, &[UNACKED]);
        }),
        text("name", |row, _| Some(row.name())),
        text("node", |_, service| Some(service.node())),
        column("oldest_ready_age_ms", Integer, |row, service, cell| {
            if row.level >= Level::Detailed
                && let Some(published_at_ms) = service.broker.oldest_ready_of(&row.view)
            {
                cell.int(service.broker.age_ms(published_at_ms));
            }
        }),
        column("oldest_unacked_age_ms", Integer, |row, service, cell| {
            if row.level >= Level::Detailed
                && let Some(published_at_ms) = service.broker.oldest_unacked_of(&row.view)
            {
                cell.int(service.broker.age_ms(published_at_ms));
            }
        }),
        column("online", Any, |row, service, cell| {
            if let Some(cluster) = service.cluster() {
                let running = cluster.members.iter().filter(|member| member.is_running);
                cell.texts(running.map(|member| member.name.as_str()));
            } else if row.is_quorum() {
                cell.texts([service.node()]);
            } else if row.level == Level::Totals {
                // RabbitMQ asks it of every type of queue here, and only replicated ones have an answer.
                cell.null();
            }
        }),
        column("operator_policy", Text, |row, _, cell| {
            let policy = row.view.policy().operator;
            match row.level {
                Level::Totals if row.is_quorum() => cell.text_or_null(policy.as_ref().map(|policy| &*policy.name)),
                Level::Totals => {}
                _ => row.text(cell, policy.as_ref().map(|policy| &*policy.name)),
            }
        }),
        column("owner_pid_details", Object, |row, service, cell| {
            if row.level != Level::Single {
                return;
            }
            if let Some(owner) = service.broker.owner_of(&row.view) {
                cell.object(|members| {
                    members.cell("name").text(&owner.name);
                    members.cell("peer_host").text(&owner.peer.ip().to_string());
                    members.cell("peer_port").int(owner.peer.port().into());
                });
            }
        }),
        column("paused", Boolean, |row, _, cell| {
            // RabbitMQ has no such member: it is there while it says something.
            if row.has_counts() && row.view.is_paused() {
                cell.bool(true);
            }
        }),
        column("policy", Text, |row, _, cell| {
            row.text(cell, row.view.policy().user.as_ref().map(|policy| &*policy.name));
        }),
        column("publishers", List, |row, service, cell| {
            if row.level == Level::Single {
                let publishers = || service.broker.publishers_of(&row.view);
                cell.list(deliveries::ways(row.ranges.as_ref(), publishers), |publisher, writer| {
                    deliveries::write_publisher(&publisher, service, writer);
                });
            }
        }),
        column("single_active_consumer_tag", Text, |row, service, cell| {
            if row.has_counts() {
                row.text(cell, service.broker.single_active_tag_of(&row.view).as_deref());
            }
        }),
        text("state", |_, _| Some("running")),
        column("storage_version", Integer, |row, _, cell| {
            if row.has_counts() && !row.is_quorum() {
                cell.int(2);
            }
        }),
        column("time_in_queue_histogram", Object, |row, _, cell| {
            if row.level == Level::Single {
                write_histogram(cell, &WAITS, &row.view.waits());
            }
        }),
        text("type", |row, _| Some(row.view.definition().arguments.queue_type().name())),
        text("vhost", |row, _| Some(row.vhost())),
    ],
    order: |a, b| (a.vhost(), a.name()).cmp(&(b.vhost(), b.name())),
    name: |row| row.name().into(),
};

/// How much a request wants to have shown, of at most `most`.
pub(super) fn level(call: &Call, most: Level) -> Level {
    let options = &call.service.options;
    let is_on = |name, option| option || call.query.is_true(name);
    match (is_on("disable_stats", options.disables_stats), is_on("enable_queue_totals", options.enables_queue_totals)) {
        (true, true) => Level::Totals,
        (true, false) => Level::Facts,
        // A request that names columns can name all of them.
        (false, _) if call.query.get("columns").is_some() => most.max(Level::Detailed),
        (false, _) => most,
    }
}

/// A queue's arguments; its type is always among them, as RabbitMQ has it.
pub(crate) fn arguments(queue: &QueueView) -> Map<String, Value> {
    with_type(json::from_table(queue.definition().arguments.table()), queue)
}

fn with_type(mut arguments: Map<String, Value>, queue: &QueueView) -> Map<String, Value> {
    let queue_type = queue.definition().arguments.queue_type();
    arguments.entry("x-queue-type").or_insert_with(|| queue_type.name().into());
    arguments
}
