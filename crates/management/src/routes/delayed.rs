//! Messages that wait at an exchange until they are due: listed, looked at, cancelled, put off, released at once. RabbitMQ's plugin has
//! none of this.

use amqp::content::Properties;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use broker::view::DelaysView;
use broker::{DelayedFilter, DelayedMessage};
use model::json;

use super::exchanges::name_of_path;
use super::publish::write_properties;
use super::request_params::{RequestParams as _, check_meant, page_count};
use crate::answer::Answer;
use crate::call::Call;
use crate::json::{Fields, Writer};
use crate::listing::{Table, column, paged_list};
use crate::problem::Problem;
use crate::route::Kind::{Integer, List, Text};
use crate::route::Role::{AdministratorInVhost, InVhost, Management};
use crate::route::{AnswerFuture, Field, Kind, Operation, PAGED, Parameters, Route, Shape, at};
use crate::service::Service;

pub(super) static ROUTES: &[Route] = &[
    at(
        "/api/delayed",
        &[Operation::list(Management, all, "Lists exchanges with delayed messages.", Shape::Many(&TABLE)).query(PAGED)],
    ),
    at(
        "/api/delayed/{vhost}",
        &[Operation::list(InVhost, of_vhost, "Lists exchanges with delayed messages in a vhost.", Shape::Many(&TABLE))
            .query(PAGED)],
    ),
    at(
        "/api/delayed/{vhost}/{exchange}/messages",
        &[
            Operation::get(
                AdministratorInVhost,
                never,
                "Lists delayed messages in the order of their due times.",
                PAGE,
            )
            .query(&[DUE_FROM, DUE_TO, ROUTING_KEY, HEADER, HEADER_VALUE, AFTER, COUNT])
            .strict()
            .later(|call| Box::pin(list(call)) as AnswerFuture),
            Operation::delete(AdministratorInVhost, never, "Cancels the delayed messages that match the query.")
                .query(&[DUE_FROM, DUE_TO, ROUTING_KEY, HEADER, HEADER_VALUE, ALL])
                .answers(Shape::Object(&[
                    Field::required("cancelled", Integer, "The number of cancelled messages."),
                    Field::required(
                        "partial",
                        Kind::Boolean,
                        "Whether more messages may match than one request handles.",
                    ),
                ]))
                .strict()
                .later(|call| Box::pin(cancel_all(call)) as AnswerFuture),
        ],
    ),
    at(
        "/api/delayed/{vhost}/{exchange}/messages/{id}",
        &[
            Operation::get(
                AdministratorInVhost,
                never,
                "Returns a delayed message, with its body.",
                Shape::Object(MESSAGE),
            )
            .strict()
            .later(|call| Box::pin(one(call)) as AnswerFuture),
            Operation::put(
                AdministratorInVhost,
                never,
                "Reschedules a delayed message.",
                &[
                    Field::optional("due", Integer, "The new due time, in milliseconds since 1970."),
                    Field::optional("delay", Integer, "The new due time, in milliseconds from now. Instead of `due`."),
                ],
            )
            .answers(RESCHEDULED)
            .strict()
            .later(|call| Box::pin(reschedule(call)) as AnswerFuture),
            Operation::delete(AdministratorInVhost, never, "Cancels a delayed message.")
                .strict()
                .later(|call| Box::pin(cancel(call)) as AnswerFuture),
        ],
    ),
    at(
        "/api/delayed/{vhost}/{exchange}/messages/{id}/release",
        &[Operation::post(AdministratorInVhost, never, "Releases a delayed message now.", &[])
            .answers(RESCHEDULED)
            .strict()
            .later(|call| Box::pin(release(call)) as AnswerFuture)],
    ),
];

const DUE_FROM: Parameters =
    Parameters::Other("due_from", "Only messages due at this time or later, in milliseconds since 1970.");
const DUE_TO: Parameters =
    Parameters::Other("due_to", "Only messages due at this time or earlier, in milliseconds since 1970.");
const ROUTING_KEY: Parameters = Parameters::Other("routing_key", "Only messages with this routing key.");
const HEADER: Parameters = Parameters::Other("header", "Only messages with a header of this name.");
const HEADER_VALUE: Parameters =
    Parameters::Other("header_value", "Only messages whose header `header` has this value.");
const ALL: Parameters = Parameters::Other("all", "`true`: all messages. Required if there is no other filter.");
const AFTER: Parameters = Parameters::Other("after", "Where to continue: `next` of the previous page.");
const COUNT: Parameters = Parameters::Other("count", "The maximum number of messages. Default: 100; at most 1000.");

/// Messages on a page unless the request says how many.
const PAGE_COUNT: u64 = 100;
/// Messages on a page, however many are asked for.
const PAGE_COUNT_MAX: u64 = 1000;

const PAGE: Shape = Shape::Object(&[
    Field::required("messages", List, "The messages without their bodies."),
    Field::required("next", Kind::Any, "Where to continue, or null at the end."),
]);
const RESCHEDULED: Shape = Shape::Object(&[Field::required("id", Text, "The message's new id.")]);
const MESSAGE: &[Field] = &[
    Field::required("id", Text, "The message's id."),
    Field::required("due", Integer, "The due time, in milliseconds since 1970."),
    Field::required("exchange", Text, "The exchange that the message was published to."),
    Field::required("routing_key", Text, "The routing key."),
    Field::required("properties", Kind::Object, "The properties."),
    Field::required("payload_bytes", Integer, "The size of the body."),
    Field::required("durable", Kind::Boolean, "Whether the message survives a restart."),
    Field::optional("payload", Text, "The body."),
    Field::optional("payload_encoding", Text, "The encoding of the body: `string` (UTF-8) or `base64`."),
];

static TABLE: Table<DelaysView, Service> = Table {
    title: "DelayingExchange",
    columns: &[
        column("exchange", Text, |row: &DelaysView, _, cell| cell.text(&row.exchange)),
        column("message_bytes_delayed", Integer, |row, _, cell| cell.int(row.bytes)),
        column("messages_delayed", Integer, |row, _, cell| cell.int(row.count)),
        column("messages_released", Integer, |row, _, cell| cell.int(row.released_count)),
        column("next_due", Integer, |row, _, cell| {
            if let Some(due_ms) = row.next_due_ms {
                cell.int(due_ms);
            }
        }),
        column("vhost", Text, |row, _, cell| cell.text(row.vhost.as_str())),
    ],
    order: |a, b| (&a.vhost, &a.exchange).cmp(&(&b.vhost, &b.exchange)),
    name: |row| row.exchange.as_str().into(),
};

fn all(call: &Call) -> Result<AnswerFuture, Problem> {
    let vhosts = call.context.vhosts();
    let views = vhosts.iter().flat_map(|vhost| call.broker().delays_views(vhost.as_str()));
    paged_list(views.collect::<Vec<_>>(), &TABLE, &call.service, &call.query)
}

fn of_vhost(call: &Call) -> Result<AnswerFuture, Problem> {
    paged_list(call.broker().delays_views(call.vhost()), &TABLE, &call.service, &call.query)
}

/// These operations wait for what has to be read.
fn never(_: &Call) -> Result<Answer, Problem> {
    Err(Problem::not_found())
}

fn exchange_of(call: &Call) -> Result<String, Problem> {
    Ok(name_of_path(call.argument("exchange"))?.as_str().to_owned())
}

fn filter(call: &Call) -> Result<DelayedFilter, Problem> {
    let header = call.query.get("header");
    if header.is_none() && call.query.get("header_value").is_some() {
        return Err(Problem::bad_request("'header_value' needs 'header'"));
    }
    Ok(DelayedFilter {
        due_from_ms: call.query.number("due_from")?,
        due_to_ms: call.query.number("due_to")?,
        routing_key: call.query.get("routing_key").map(|key| key.as_bytes().to_vec()),
        header: header.map(|name| (name.to_owned(), call.query.get("header_value").map(str::to_owned))),
    })
}

async fn list(call: Call) -> Result<Answer, Problem> {
    let (exchange, filter) = (exchange_of(&call)?, filter(&call)?);
    let count = page_count(&call.query, PAGE_COUNT, PAGE_COUNT_MAX)?;
    let after = call.query.get("after");
    let page = call.broker().delayed_page(call.vhost(), &exchange, &filter, after, count).await?;
    let mut out = Vec::new();
    Writer::new(&mut out).object(|object| {
        object.cell("messages").list(&page.messages, write_message);
        object.cell("next").text_or_null(page.next.as_deref());
    });
    Ok(Answer::json(out))
}

async fn one(call: Call) -> Result<Answer, Problem> {
    let exchange = exchange_of(&call)?;
    let message = call.broker().delayed_message(call.vhost(), &exchange, call.argument("id")).await?;
    let mut out = Vec::new();
    write_message(&message, Writer::new(&mut out));
    Ok(Answer::json(out))
}

async fn cancel(call: Call) -> Result<Answer, Problem> {
    let exchange = exchange_of(&call)?;
    let changed = call.broker().cancel_delayed(call.vhost(), &exchange, call.argument("id")).await?;
    Ok(Answer::done(&changed))
}

async fn cancel_all(call: Call) -> Result<Answer, Problem> {
    let (exchange, filter) = (exchange_of(&call)?, filter(&call)?);
    check_meant(&call.query, filter != DelayedFilter::default())?;
    let cancelled = call.broker().cancel_all_delayed(call.vhost(), &exchange, &filter).await?;
    let mut out = Vec::new();
    Writer::new(&mut out).object(|object| {
        object.cell("cancelled").int(cancelled.count);
        object.cell("partial").bool(cancelled.is_partial);
    });
    Ok(Answer::json(out).after(&cancelled.changed))
}

async fn reschedule(call: Call) -> Result<Answer, Problem> {
    let body = call.object()?;
    let fields = Fields(&body);
    let due_ms = match (fields.number("due")?, fields.number("delay")?) {
        (Some(due_ms), None) => due_ms,
        (None, Some(delay_ms)) => call.broker().system_ms().saturating_add(delay_ms),
        _ => return Err(Problem::bad_request("either 'due' or 'delay' is required")),
    };
    put_off(&call, Some(due_ms)).await
}

async fn release(call: Call) -> Result<Answer, Problem> {
    put_off(&call, None).await
}

async fn put_off(call: &Call, due_ms: Option<u64>) -> Result<Answer, Problem> {
    let exchange = exchange_of(call)?;
    let id = call.argument("id");
    let (id, changed) = call.broker().reschedule_delayed(call.vhost(), &exchange, id, due_ms).await?;
    let mut out = Vec::new();
    Writer::new(&mut out).object(|object| object.cell("id").text(&id));
    Ok(Answer::json(out).after(&changed))
}

fn write_message(message: &DelayedMessage, writer: Writer<'_>) {
    writer.object(|object| {
        object.cell("id").text(&message.id);
        object.cell("due").int(message.due_ms);
        object.cell("exchange").text(&json::text(&message.exchange));
        object.cell("routing_key").text(&json::text(&message.routing_key));
        object.cell("properties").object(|members| {
            if let Ok(properties) = Properties::decode(&message.properties) {
                write_properties(&properties, json::from_table, members);
            }
        });
        object.cell("payload_bytes").int(message.body_len);
        object.cell("durable").bool(message.is_durable);
        let Some(body) = &message.body else { return };
        match std::str::from_utf8(body) {
            Ok(text) => {
                object.cell("payload").text(text);
                object.cell("payload_encoding").text("string");
            }
            Err(_) => {
                object.cell("payload").text(&STANDARD.encode(body));
                object.cell("payload_encoding").text("base64");
            }
        }
    });
}
