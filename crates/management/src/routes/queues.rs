//! Queues: listed, declared, deleted, purged.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use broker::QueueRequest;
use broker::statistics::numbers::{QUEUE, QUEUE_COUNT, READY, UNACKED};
use broker::statistics::{Range, SIZES, WAITS};
use broker::view::{Activity, ConnectionView, ConsumerView, QueueView, SetAsideView};
use hyper::StatusCode;
use model::arguments::QueueType;
use model::ids::QueueId;
use model::json;
use model::name::QueueName;
use serde_json::{Map, Value};

use super::exchanges::{arguments, enter, too_long};
use super::{consumers, deliveries, quorum_queues, refusals};
use crate::answer::Answer;
use crate::call::Call;
use crate::json::{Cell, Fields};
use crate::listing::{Table, column, paged_list, single};
use crate::problem::Problem;
use crate::route::Kind::{Any, Boolean, Integer, List, Object, Text};
use crate::route::Role::{AdministratorInVhost, InVhost, Management};
use crate::route::{COUNTED, Field, Operation, Parameters, Route, Shape, at};
use crate::service::Service;
use crate::statistics::{Ranges, Stats, rfc3339, write_histogram};

pub(super) static ROUTES: &[Route] = &[
    at("/api/queues", &[Operation::get(Management, all, "Lists queues.", Shape::Many(&TABLE)).query(COUNTED)]),
    at(
        "/api/queues/detailed",
        &[Operation::get(Management, all_detailed, "Lists queues with all there is to tell.", Shape::Many(&TABLE))
            .query(COUNTED)],
    ),
    at(
        "/api/queues/{vhost}",
        &[Operation::get(InVhost, of_vhost, "Lists the queues of a vhost.", Shape::Many(&TABLE)).query(COUNTED)],
    ),
    at(
        "/api/queues/{vhost}/{queue}",
        &[
            Operation::get(InVhost, one, "Tells of a queue.", Shape::One(&TABLE))
                .query(&[Parameters::Columns, Parameters::Stats]),
            Operation::put(InVhost, put, "Declares a queue.", FACTS),
            Operation::delete(InVhost, delete, "Deletes a queue.").query(&[
                Parameters::Other("if-empty", "`true`: only if no message is ready in it."),
                Parameters::Other("if-unused", "`true`: only if it has no consumer."),
            ]),
        ],
    ),
    at(
        "/api/queues/{vhost}/{queue}/contents",
        &[Operation::delete(InVhost, purge, "Removes all messages that are ready.")],
    ),
    at(
        "/api/queues/{vhost}/{queue}/actions",
        &[Operation::post(AdministratorInVhost, act, "Nothing any more: RabbitMQ has no actions left either.", ACTION)],
    ),
    at(
        "/api/users/{user}/queues",
        &[Operation::get(
            Management,
            of_user,
            "Lists the queues that a user's connections consume from or own.",
            Shape::Many(&TABLE),
        )
        .query(COUNTED)],
    ),
];

const FACTS: &[Field] = &[
    Field::optional("durable", Boolean, "Whether it outlives a restart."),
    Field::optional("auto_delete", Boolean, "Whether it goes with its last consumer."),
    Field::optional("arguments", Object, "Arguments, such as `x-queue-type`."),
    Field::optional("node", Text, "Where it shall be: this node."),
];

const ACTION: &[Field] = &[Field::required("action", Text, "What to do.")];

/// A queue, and how much of it is told.
struct Row {
    view: QueueView,
    level: Level,
    /// The histories that are wanted; None: no rates either.
    ranges: Option<Arc<Ranges>>,
    /// The tag of the consumer that wants no other beside it.
    exclusive_consumer_tag: Option<String>,
    /// The tag of the one consumer that gets messages, if one at a time does.
    single_active_consumer_tag: Option<String>,
}

/// How much is told of a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
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

    /// Messages that are neither ready nor unacked, as RabbitMQ tells of quorum queues.
    fn set_aside(&self, service: &Service) -> SetAsideView {
        if self.is_quorum() { service.broker.set_aside_of(&self.view) } else { SetAsideView::default() }
    }

    /// Writes its numbers, with what they were in the range that is asked for; nothing where there are no rates.
    fn with_stats(
        &self,
        service: &Service,
        range: impl FnOnce(&Ranges) -> Option<Range>,
        write: impl FnOnce(&Stats<'_, QUEUE_COUNT>),
    ) {
        let Some(ranges) = &self.ranges else { return };
        if self.has_counts() {
            let samples = range(ranges).map(|range| service.broker.queue_history(&self.view, range));
            let numbers = self.view.numbers();
            write(&Stats { names: &QUEUE, numbers: &numbers, samples: samples.as_deref() });
        }
    }

    fn write_lengths(&self, service: &Service, cell: Cell<'_>, names: &[&str]) {
        self.with_stats(service, |ranges| ranges.lengths, |stats| stats.write_details(cell, names));
    }

    /// A text, or `null` or nothing for none.
    fn text(&self, cell: Cell<'_>, text: Option<&str>) {
        match text {
            None if matches!(self.level, Level::Totals | Level::Counts) => {}
            text => cell.text_or_null(text),
        }
    }
}

static TABLE: Table<Row, Service> = Table {
    title: "Queue",
    columns: &[
        column("arguments", Object, |row: &Row, _, cell| {
            cell.value(&Value::Object(shown_arguments(&row.view)));
        }),
        column("auto_delete", Boolean, |row, _, cell| cell.bool(row.view.definition().is_auto_delete)),
        column("consumer_details", List, |row, service, cell| {
            if row.level == Level::Single {
                cell.list(&consumers_of(&row.view, service), |view, writer| {
                    consumers::TABLE.write(view, service, writer)
                });
            }
        }),
        column("consumers", Integer, |row, _, cell| {
            if row.has_counts() {
                cell.int(row.view.consumer_count());
            }
        }),
        column("delayed_retry", Text, |row, _, cell| {
            if row.is_quorum() && row.has_counts() {
                cell.text(&quorum_queues::delayed_retry(&row.view));
            }
        }),
        column("deliveries", List, |row, service, cell| {
            if row.level == Level::Single {
                cell.list(consumers_of(&row.view, service), |consumer, writer| {
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
        column("exclusive_consumer_tag", Text, |row, _, cell| {
            if row.has_counts() && !row.is_quorum() {
                row.text(cell, row.exclusive_consumer_tag.as_deref());
            }
        }),
        column("idle_since", Text, |row, _, cell| {
            if row.has_counts() && row.ranges.is_some() {
                cell.text_if(row.view.idle_since_ms().map(rfc3339).as_deref());
            }
        }),
        column("incoming", List, |row, _, cell| {
            if row.level == Level::Single {
                cell.list(row.view.incoming(), |edge, writer| deliveries::write_exchange(&edge, writer));
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
        column("leader", Text, |row, service, cell| {
            if row.is_quorum() {
                cell.text(service.node());
            }
        }),
        column("members", List, |row, service, cell| {
            if row.is_quorum() {
                cell.texts([service.node()]);
            }
        }),
        column("message_bytes", Integer, |row, _, cell| {
            if row.has_counts() {
                cell.int(row.view.ready_bytes() + row.view.unacked_bytes());
            }
        }),
        column("message_bytes_ready", Integer, |row, _, cell| {
            if row.has_counts() {
                cell.int(row.view.ready_bytes());
            }
        }),
        column("message_bytes_unacknowledged", Integer, |row, _, cell| {
            if row.has_counts() {
                cell.int(row.view.unacked_bytes());
            }
        }),
        column("message_size_histogram", Object, |row, _, cell| {
            if row.level == Level::Single {
                write_histogram(cell, &SIZES, &row.view.sizes());
            }
        }),
        column("message_stats", Object, |row, service, cell| {
            row.with_stats(service, |ranges| ranges.messages, |stats| stats.write_messages(cell, false));
        }),
        column("messages", Integer, |row, service, cell| {
            if row.has_totals() {
                let SetAsideView { dead_letter_count, delayed_count } = row.set_aside(service);
                cell.int(row.view.ready_count() + row.view.unacked_count() + dead_letter_count + delayed_count);
            }
        }),
        column("messages_deduplicated", Integer, |row, _, cell| {
            if let Some(count) = row.view.deduplicated_count()
                && row.has_counts()
            {
                cell.int(count);
            }
        }),
        column("messages_delayed", Integer, |row, service, cell| {
            if row.is_quorum() && row.has_counts() {
                cell.int(row.set_aside(service).delayed_count);
            }
        }),
        column("messages_details", Object, |row, service, cell| row.write_lengths(service, cell, &[READY, UNACKED])),
        column("messages_dlx", Integer, |row, service, cell| {
            if row.is_quorum() && row.has_counts() {
                cell.int(row.set_aside(service).dead_letter_count);
            }
        }),
        column("messages_dropped", Integer, |row, _, cell| {
            let count = row.view.dropped_count();
            if count > 0 && row.has_counts() {
                cell.int(count);
            }
        }),
        column("messages_ready", Integer, |row, _, cell| {
            if row.has_totals() {
                cell.int(row.view.ready_count());
            }
        }),
        column("messages_ready_details", Object, |row, service, cell| row.write_lengths(service, cell, &[READY])),
        column("messages_unacknowledged", Integer, |row, _, cell| {
            if row.has_totals() {
                cell.int(row.view.unacked_count());
            }
        }),
        column("messages_unacknowledged_details", Object, |row, service, cell| {
            row.write_lengths(service, cell, &[UNACKED]);
        }),
        column("name", Text, |row, _, cell| cell.text(row.name())),
        column("node", Text, |_, service, cell| cell.text(service.node())),
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
            if row.is_quorum() {
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
        column("policy", Text, |row, _, cell| {
            row.text(cell, row.view.policy().user.as_ref().map(|policy| &*policy.name));
        }),
        column("publishers", List, |row, service, cell| {
            if row.level == Level::Single {
                cell.list(service.broker.publishers_of(&row.view), |publisher, writer| {
                    deliveries::write_publisher(&publisher, service, writer);
                });
            }
        }),
        column("single_active_consumer_tag", Text, |row, _, cell| {
            if row.has_counts() {
                row.text(cell, row.single_active_consumer_tag.as_deref());
            }
        }),
        column("state", Text, |_, _, cell| cell.text("running")),
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
        column("type", Text, |row, _, cell| cell.text(row.view.definition().arguments.queue_type().name())),
        column("vhost", Text, |row, _, cell| cell.text(row.vhost())),
    ],
    order: |a, b| (a.vhost(), a.name()).cmp(&(b.vhost(), b.name())),
    name: |row| row.name().into(),
};

/// How much a request wants to be told, where it could be told `most`.
fn level(call: &Call, most: Level) -> Level {
    let options = &call.service.options;
    let is_on = |name, option| option || call.query.is_true(name);
    match (is_on("disable_stats", options.disables_stats), is_on("enable_queue_totals", options.enables_queue_totals)) {
        (true, true) => Level::Totals,
        (true, false) => Level::Facts,
        // Whoever names columns can name all of them.
        (false, _) if call.query.get("columns").is_some() => most.max(Level::Detailed),
        (false, _) => most,
    }
}

/// A queue's arguments; its type is always among them, as RabbitMQ has it.
pub(crate) fn shown_arguments(queue: &QueueView) -> Map<String, Value> {
    let arguments = &queue.definition().arguments;
    let mut shown = json::from_table(arguments.table());
    shown.entry("x-queue-type").or_insert_with(|| arguments.queue_type().name().into());
    shown
}

fn consumers_of(queue: &QueueView, service: &Service) -> Vec<ConsumerView> {
    let mut consumers = service.broker.consumer_views();
    consumers.retain(|consumer| consumer.is_of(queue));
    consumers
}

fn answer(call: &Call, views: impl Iterator<Item = QueueView>, most: Level) -> Result<Answer, Problem> {
    let level = level(call, most);
    let mut tags =
        if level >= Level::Counts { ConsumerTags::find(call) } else { ConsumerTags::among(call, Vec::new()) };
    let rows = views.map(|view| tags.row(view, level));
    paged_list(rows.collect(), &TABLE, &call.service, &call.query)
}

/// The tags of consumers that queues name, by queue: found once for a listing, as each may be anywhere.
#[derive(Default)]
struct ConsumerTags {
    exclusive: HashMap<QueueId, String>,
    single_active: HashMap<QueueId, String>,
    ranges: Option<Arc<Ranges>>,
}

impl ConsumerTags {
    fn find(call: &Call) -> Self {
        Self::among(call, call.broker().consumer_views())
    }

    fn among(call: &Call, consumers: Vec<ConsumerView>) -> Self {
        let mut tags = ConsumerTags { ranges: call.ranges(), ..ConsumerTags::default() };
        for consumer in consumers {
            if consumer.is_exclusive() {
                tags.exclusive.insert(consumer.queue_id(), consumer.tag());
            }
            if consumer.is_of_single_active() && call.broker().activity_of(&consumer) == Activity::SingleActive {
                tags.single_active.insert(consumer.queue_id(), consumer.tag());
            }
        }
        tags
    }

    fn row(&mut self, view: QueueView, level: Level) -> Row {
        let id = &view.definition().id;
        let (exclusive_consumer_tag, single_active_consumer_tag) =
            (self.exclusive.remove(id), self.single_active.remove(id));
        Row { view, level, ranges: self.ranges.clone(), exclusive_consumer_tag, single_active_consumer_tag }
    }
}

/// The queues of all vhosts that somebody sees.
fn seen(call: &Call) -> impl Iterator<Item = QueueView> {
    let vhosts = call.presence.vhosts();
    vhosts.into_iter().flat_map(|vhost| call.broker().queue_views(vhost.as_str()))
}

fn all(call: &Call) -> Result<Answer, Problem> {
    answer(call, seen(call), Level::Counts)
}

fn all_detailed(call: &Call) -> Result<Answer, Problem> {
    answer(call, seen(call), Level::Detailed)
}

fn of_vhost(call: &Call) -> Result<Answer, Problem> {
    answer(call, call.broker().queue_views(call.vhost()).into_iter(), Level::Counts)
}

/// RabbitMQ lists the queues that the user's connections consume from or own.
fn of_user(call: &Call) -> Result<Answer, Problem> {
    let (broker, user) = (call.broker(), call.argument("user"));
    let is_of_user = |connection: &ConnectionView| connection.opened().is_some_and(|opened| opened.user == user);
    let mut connections = broker.connection_views();
    connections.retain(is_of_user);
    let consumers = connections.iter().flat_map(|connection| broker.consumers_of(connection));
    let consumed: HashSet<QueueId> = consumers.map(|consumer| consumer.queue_id()).collect();
    let owners: HashSet<String> = connections.iter().map(ConnectionView::name).collect();
    let mut views: Vec<QueueView> = seen(call).collect();
    views.retain(|view| {
        consumed.contains(&view.definition().id)
            || broker.owner_of(view).is_some_and(|owner| owners.contains(&owner.name))
    });
    answer(call, views.into_iter(), Level::Counts)
}

/// The queue of the path.
fn find(call: &Call) -> Result<QueueView, Problem> {
    call.broker().queue_view(call.vhost(), call.argument("queue")).ok_or_else(Problem::not_found)
}

fn one(call: &Call) -> Result<Answer, Problem> {
    let view = find(call)?;
    let row = ConsumerTags::among(call, consumers_of(&view, &call.service)).row(view, level(call, Level::Single));
    Ok(single(&row, &TABLE, &*call.service, &call.query))
}

/// The name of the path.
pub(super) fn name_of_path(call: &Call) -> Result<QueueName, Problem> {
    let name = call.argument("queue");
    QueueName::parse(name.as_bytes()).map_err(|_| too_long("queue", name))
}

fn put(call: &Call) -> Result<Answer, Problem> {
    let body = call.object()?;
    let fields = Fields(&body);
    if let Some(node) = fields.text("node")?.filter(|node| *node != call.service.node()) {
        return Err(Problem::bad_request(format!("Node {node} is not a cluster member")));
    }
    let name = name_of_path(call)?;
    let arguments = arguments(fields)?;
    let request = QueueRequest {
        name: &name,
        is_durable: fields.bool("durable", false)?,
        is_auto_delete: fields.bool("auto_delete", false)?,
        // Nobody could ever use a queue that belongs to a request.
        is_exclusive: false,
        arguments: arguments.as_table(),
    };
    Ok(Answer::changed(&enter(call)?.declare_queue(&request).map_err(|refusal| refusals::of_change(&refusal))?))
}

fn delete(call: &Call) -> Result<Answer, Problem> {
    find(call)?;
    let (if_unused, if_empty) = (call.query.is_true("if-unused"), call.query.is_true("if-empty"));
    let deleted = enter(call)?.delete_queue(&name_of_path(call)?, if_unused, if_empty);
    Ok(Answer::done(&deleted.map_err(|refusal| refusals::of_change(&refusal))?))
}

fn purge(call: &Call) -> Result<Answer, Problem> {
    find(call)?;
    let (_, purged) =
        enter(call)?.purge_queue(&name_of_path(call)?).map_err(|refusal| refusals::of_change(&refusal))?;
    Ok(Answer::done(&purged))
}

fn act(call: &Call) -> Result<Answer, Problem> {
    if find(call).is_err() {
        return Err(Problem::new(StatusCode::NOT_FOUND, "not_found", "queue_not_found"));
    }
    let body = call.object()?;
    let action = Fields(&body).required("action")?;
    Err(Problem::bad_request(serde_json::json!(["unknown", action])))
}
