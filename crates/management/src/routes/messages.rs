//! Messages of a queue: browsed without being taken, deleted, moved elsewhere, sent back to where they died. RabbitMQ has none of this.

use amqp::content::Properties;
use broker::{BrowseRequest, BrowsedMessage, Destination, MessageId, MoveReport, RedriveTo, Start, VhostAccess};
use hyper::StatusCode;
use model::json;
use model::name::{ExchangeName, QueueName};
use model::refusal::Refusal;

use super::exchanges::enter;
use super::publish::{write_payload, write_properties};
use super::request_params::{RequestParams as _, page_count};
use super::selection::{filter, id, selection};
use super::{queues, refusals};
use crate::answer::Answer;
use crate::call::Call;
use crate::json::{Fields, Object, Writer};
use crate::problem::Problem;
use crate::route::Kind::{self, Boolean, Integer, List, Text};
use crate::route::Role::InVhost;
use crate::route::{AnswerFuture, Field, Operation, Parameters, Route, Shape, at};
use crate::tags::is_administrator;

pub(super) static ROUTES: &[Route] = &[
    at(
        "/api/queues/{vhost}/{queue}/messages",
        &[
            Operation::get(InVhost, never, "Returns messages of a queue without removing them.", PAGE)
                .query(&[
                    STATE,
                    FROM,
                    TAIL,
                    COUNT,
                    TRUNCATE,
                    ENCODING,
                    HEADER,
                    HEADER_VALUE,
                    ROUTING_KEY,
                    EXCHANGE,
                    BODY,
                    OLDER,
                    YOUNGER,
                    REDELIVERED,
                    DEAD,
                    REASON,
                ])
                .strict()
                .later(|call| Box::pin(browse(call)) as AnswerFuture),
            Operation::delete(InVhost, never, "Deletes the ready messages that match the query.")
                .query(&[
                    IDS,
                    FROM,
                    LIMIT,
                    ALL,
                    HEADER,
                    HEADER_VALUE,
                    ROUTING_KEY,
                    EXCHANGE,
                    BODY,
                    OLDER,
                    YOUNGER,
                    REDELIVERED,
                    DEAD,
                    REASON,
                ])
                .answers(Shape::Object(&[
                    Field::required("deleted", Integer, "The number of deleted messages."),
                    PARTIAL,
                    NEXT,
                ]))
                .strict()
                .later(|call| Box::pin(delete(call)) as AnswerFuture),
        ],
    ),
    at(
        "/api/queues/{vhost}/{queue}/messages/move",
        &[Operation::post(
            InVhost,
            never,
            "Moves ready messages to another queue, or publishes them to an exchange.",
            MOVE,
        )
        .answers(Shape::Object(&[
            Field::required("moved", Integer, "The number of moved messages."),
            UNROUTABLE,
            REFUSED,
            PARTIAL,
            NEXT,
        ]))
        .strict()
        .later(|call| Box::pin(move_on(call)) as AnswerFuture)],
    ),
    at(
        "/api/queues/{vhost}/{queue}/messages/redrive",
        &[Operation::post(InVhost, never, "Moves dead letters back to the queues that dead-lettered them.", REDRIVE)
            .answers(Shape::Object(&[
                Field::required("redriven", Integer, "The number of messages that were moved back."),
                Field::required(
                    "not_dead",
                    Integer,
                    "The number of messages that stay because they are not dead letters.",
                ),
                Field::required(
                    "already_there",
                    Integer,
                    "The number of messages that stay because they are in the target queue already.",
                ),
                UNROUTABLE,
                REFUSED,
                Field::required(
                    "missing_queues",
                    Kind::Object,
                    "Queues that no longer exist, each with the number of messages that would be moved there.",
                ),
                PARTIAL,
                NEXT,
            ]))
            .strict()
            .later(|call| Box::pin(redrive(call)) as AnswerFuture)],
    ),
];

const STATE: Parameters = Parameters::Other("state", "`ready` (the default), or `unacked`.");
const FROM: Parameters =
    Parameters::Other("from", "Where to start: the `id` of a message, or `next` of a previous response.");
const TAIL: Parameters = Parameters::Other("tail", "Starts this many messages before the end instead. At most 10,000.");
const COUNT: Parameters = Parameters::Other("count", "The maximum number of messages. Default: 100; at most 1000.");
const TRUNCATE: Parameters =
    Parameters::Other("truncate", "The maximum number of bytes of each body. Default: 50,000.");
const ENCODING: Parameters = Parameters::Other(
    "encoding",
    "`auto`: bodies as text if they are text, otherwise in base64. `base64`: always in base64. Default: `auto`.",
);
const HEADER: Parameters = Parameters::Other("header", "Only messages with a header of this name.");
const HEADER_VALUE: Parameters =
    Parameters::Other("header_value", "Only messages whose header `header` has this value.");
const ROUTING_KEY: Parameters = Parameters::Other("routing_key", "Only messages with this routing key.");
const EXCHANGE: Parameters = Parameters::Other("exchange", "Only messages from this exchange.");
const BODY: Parameters = Parameters::Other("body", "Only messages whose body contains this text.");
const OLDER: Parameters =
    Parameters::Other("older_than", "Only messages that have been in the queue for at least this many milliseconds.");
const YOUNGER: Parameters = Parameters::Other(
    "younger_than",
    "Only messages that have been in the queue for at most this many \
     milliseconds.",
);
const REDELIVERED: Parameters = Parameters::Other(
    "redelivered",
    "`true`: only messages that were delivered before. `false`: only \
     messages that were not.",
);
const DEAD: Parameters = Parameters::Other("dead", "`true`: only dead letters. `false`: only other messages.");
const REASON: Parameters = Parameters::Other(
    "death_reason",
    "Only messages that were first dead-lettered for this reason: `rejected`, `expired`, `maxlen` or `delivery_limit`.",
);
const IDS: Parameters = Parameters::Other("ids", "The `id`s of messages, separated by commas; at most 1000.");
const LIMIT: Parameters = Parameters::Other("limit", "The maximum number of messages.");
const ALL: Parameters = Parameters::Other("all", "`true`: all messages. Required if there is no other filter.");

const PARTIAL: Field = Field::required("partial", Boolean, "Whether more messages may match than one request handles.");
const NEXT: Field = Field::required("next", Kind::Any, "Where to continue, or null at the end.");
const UNROUTABLE: Field = Field::required(
    "unroutable",
    Integer,
    "The number of messages that stay because they would be routed to no queue, or only to \
         their own.",
);
const REFUSED: Field =
    Field::required("refused", Integer, "The number of messages that stay because a queue is full and refuses them.");

/// Which messages: the members of a body.
macro_rules! selecting {
    ($($own:expr),* $(,)?) => {
        &[
            $($own,)*
            Field::optional("ids", List, "The `id`s of messages; at most 1000."),
            Field::optional("from", Text, "Starts at this message or position."),
            Field::optional("limit", Integer, "The maximum number of messages."),
            Field::optional("all", Boolean, "All messages. Required if there is no other filter."),
            Field::optional("header", Text, "Only messages with a header of this name."),
            Field::optional("header_value", Text, "Only messages whose header `header` has this value."),
            Field::optional("routing_key", Text, "Only messages with this routing key."),
            Field::optional("exchange", Text, "Only messages from this exchange."),
            Field::optional("body", Text, "Only messages whose body contains this text."),
            Field::optional("older_than", Integer, "Only messages that have been in the queue for at least this many milliseconds."),
            Field::optional("younger_than", Integer, "Only messages that have been in the queue for at most this many milliseconds."),
            Field::optional("redelivered", Boolean, "Only messages that were delivered before, or only messages that were not."),
            Field::optional("dead", Boolean, "Only dead letters, or only other messages."),
            Field::optional("death_reason", Text, "Only messages that were first dead-lettered for this reason."),
        ]
    };
}

const MOVE: &[Field] = selecting!(
    Field::optional("to_queue", Text, "The target queue."),
    Field::optional("to_exchange", Text, "The target exchange. Instead of `to_queue`."),
    Field::optional(
        "to_routing_key",
        Text,
        "The routing key to publish with. Default: the messages' own. Only with `to_exchange`."
    ),
    Field::optional("to_vhost", Text, "The vhost of the target. Default: the messages' own."),
);
const REDRIVE: &[Field] = selecting!(Field::optional(
    "to",
    Text,
    "`last`: to the queue that dead-lettered the message last. `first`: to the queue that did so first. Default: `last`."
));

const PAGE: Shape =
    Shape::Object(&[Field::required("messages", List, "The messages, in the order of delivery."), NEXT]);

/// Messages on a page unless the request says how many.
const PAGE_COUNT: u64 = 100;
/// Messages on a page, however many are asked for.
const PAGE_COUNT_MAX: u64 = 1000;
/// Bytes shown of a body unless the request says how many.
const BODY_LEN: u64 = 50_000;

/// These operations wait for what has to be read.
fn never(_: &Call) -> Result<Answer, Problem> {
    Err(Problem::not_found())
}

fn refused(refusal: Box<Refusal>) -> Problem {
    refusals::of_change(&refusal)
}

async fn inside(call: &Call) -> Result<VhostAccess, Problem> {
    call.context.retry_until_authorized(|| enter(call)).await
}

async fn browse(call: Call) -> Result<Answer, Problem> {
    let queue = queues::name_of_path(&call)?;
    let query = &call.query;
    let wants_unacked = match query.get("state").unwrap_or("ready") {
        "ready" => false,
        "unacked" => true,
        other => return Err(Problem::bad_request(format!("'state' must be 'ready' or 'unacked', not '{other}'"))),
    };
    let is_auto = match query.get("encoding").unwrap_or("auto") {
        "auto" => true,
        "base64" => false,
        other => return Err(Problem::bad_request(format!("'encoding' must be 'auto' or 'base64', not '{other}'"))),
    };
    let start = match (query.get("from"), query.number("tail")?) {
        (None, None) => Start::Head,
        (Some(from), None) => Start::At(id(from)?),
        (None, Some(_)) if wants_unacked => {
            return Err(Problem::bad_request("'tail' is supported for ready messages only"));
        }
        (None, Some(count)) => Start::Tail(count),
        (Some(_), Some(_)) => return Err(Problem::bad_request("'from' and 'tail' exclude each other")),
    };
    let body_len = query.number("truncate")?.unwrap_or(BODY_LEN);
    let request = BrowseRequest {
        queue: &queue,
        start,
        count_max: page_count(query, PAGE_COUNT, PAGE_COUNT_MAX)?,
        filter: &filter(&call, query)?,
        body_len_max: usize::try_from(body_len).unwrap_or(usize::MAX),
        wants_unacked,
    };
    let page = inside(&call).await?.browse(&request).await.map_err(refused)?;
    let mut out = Vec::new();
    Writer::new(&mut out).object(|object| {
        object.cell("messages").list(&page.messages, |message, writer| write_message(message, is_auto, writer));
        object.cell("next").text_or_null(page.next.map(|id| id.to_string()).as_deref());
    });
    Ok(Answer::json(out))
}

async fn delete(call: Call) -> Result<Answer, Problem> {
    let queue = queues::name_of_path(&call)?;
    let selection = selection(&call, &call.query)?;
    let removed = inside(&call).await?.delete_messages(&queue, &selection).await.map_err(refused)?;
    let mut out = Vec::new();
    Writer::new(&mut out).object(|object| {
        object.cell("deleted").int(removed.count);
        write_rest(object, removed.next);
    });
    Ok(Answer::json(out).after(&removed.changed))
}

async fn move_on(call: Call) -> Result<Answer, Problem> {
    let queue = queues::name_of_path(&call)?;
    let body = call.object()?;
    let fields = Fields(&body);
    let destination = destination(fields)?;
    let selection = selection(&call, &fields)?;
    let inside = inside(&call).await?;
    let target = match fields.text("to_vhost")? {
        None => inside.clone(),
        Some(vhost) => {
            let entered = call.context.retry_until_authorized(|| call.context.enter(vhost)).await;
            entered.ok_or_else(|| no_entry(&call, vhost))?
        }
    };
    let moved = inside.move_messages(&queue, &selection, &target, &destination).await.map_err(refused)?;
    let mut out = Vec::new();
    Writer::new(&mut out).object(|object| {
        object.cell("moved").int(moved.count);
        write_stay(object, &moved);
    });
    Ok(Answer::json(out).after(&moved.changed))
}

/// Why the user cannot enter another vhost. Only a user who sees all vhosts learns that it does not exist.
fn no_entry(call: &Call, vhost: &str) -> Problem {
    if is_administrator(call.identity()) && !call.broker().has_vhost(vhost) {
        return Problem::new(StatusCode::NOT_FOUND, "not_found", format!("no vhost '{vhost}'"));
    }
    Problem::not_authorised("Access refused.")
}

fn destination(fields: Fields<'_>) -> Result<Destination, Problem> {
    let routing_key = fields.text("to_routing_key")?;
    match (fields.text("to_queue")?, fields.text("to_exchange")?) {
        (Some(_), None) if routing_key.is_some() => Err(Problem::bad_request("'to_routing_key' needs 'to_exchange'")),
        (Some(queue), None) => match QueueName::parse(queue.as_bytes()) {
            Ok(name) => Ok(Destination::Queue(name)),
            Err(_) => Err(Problem::bad_request("'to_queue' must not be longer than 255 bytes")),
        },
        (None, Some(exchange)) => {
            let Ok(exchange) = ExchangeName::parse(exchange.as_bytes()) else {
                return Err(Problem::bad_request("'to_exchange' must not be longer than 255 bytes"));
            };
            if routing_key.is_some_and(|key| key.len() > 255) {
                return Err(Problem::bad_request("'to_routing_key' must not be longer than 255 bytes"));
            }
            Ok(Destination::Exchange { exchange, routing_key: routing_key.map(|key| key.as_bytes().to_vec()) })
        }
        _ => Err(Problem::bad_request("either 'to_queue' or 'to_exchange' is required")),
    }
}

async fn redrive(call: Call) -> Result<Answer, Problem> {
    let queue = queues::name_of_path(&call)?;
    let body = call.object()?;
    let fields = Fields(&body);
    let to = match fields.text("to")?.unwrap_or("last") {
        "last" => RedriveTo::Last,
        "first" => RedriveTo::First,
        other => return Err(Problem::bad_request(format!("'to' must be 'first' or 'last', not '{other}'"))),
    };
    let selection = selection(&call, &fields)?;
    let moved = inside(&call).await?.redrive(&queue, &selection, to).await.map_err(refused)?;
    let mut out = Vec::new();
    Writer::new(&mut out).object(|object| {
        object.cell("redriven").int(moved.count);
        object.cell("not_dead").int(moved.not_dead_count);
        object.cell("already_there").int(moved.already_there_count);
        object.cell("missing_queues").object(|members| {
            moved.missing.iter().for_each(|(name, count)| members.cell(name).int(*count));
        });
        write_stay(object, &moved);
    });
    Ok(Answer::json(out).after(&moved.changed))
}

fn write_stay(object: &mut Object<'_>, moved: &MoveReport) {
    object.cell("unroutable").int(moved.unroutable_count);
    object.cell("refused").int(moved.refused_count);
    write_rest(object, moved.next);
}

fn write_rest(object: &mut Object<'_>, next: Option<MessageId>) {
    object.cell("partial").bool(next.is_some());
    object.cell("next").text_or_null(next.map(|id| id.to_string()).as_deref());
}

fn write_message(message: &BrowsedMessage, is_auto: bool, writer: Writer<'_>) {
    writer.object(|object| {
        object.cell("id").text(&message.id.to_string());
        object.cell("exchange").text(&json::text(&message.exchange));
        object.cell("routing_key").text(&json::text(&message.routing_key));
        object.cell("entered").int(message.entered_ms);
        object.cell("redelivered").bool(message.is_redelivered);
        object.cell("durable").bool(message.is_durable);
        object.cell("properties").object(|members| {
            if let Ok(properties) = Properties::decode(&message.properties) {
                write_properties(&properties, json::from_table, members);
            }
        });
        object.cell("payload_bytes").int(message.body_len);
        write_payload(&message.body, is_auto, object);
        if let Some(held_by) = &message.held_by {
            object.cell("held_by").object(|members| {
                let channel = held_by.channel.as_ref();
                members.cell("connection").text_or_null(channel.map(|(name, _)| name.as_str()));
                match channel {
                    Some((_, number)) => members.cell("channel").int((*number).into()),
                    None => members.cell("channel").null(),
                }
                members.cell("consumer_tag").text_or_null(held_by.consumer_tag.as_deref());
            });
        }
    });
}
