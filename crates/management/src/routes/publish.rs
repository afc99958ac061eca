//! Publishing one message, and getting some: for trying things out, not for traffic.

use amqp::content::Properties;
use amqp::table::{Table, TableBuf};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use broker::{AckMode, GetRequest, GotMessage, PublishRequest};
use hyper::StatusCode;
use model::json;
use serde_json::{Map, Value, json as value};

use super::exchanges::{enter, name_of_path, table};
use super::{queues, refusals};
use crate::answer::Answer;
use crate::call::Call;
use crate::json::{Fields, Object, Writer, integer_of, wrong_type};
use crate::problem::Problem;
use crate::route::Kind::{self, Any, Boolean, Integer, Text};
use crate::route::Role::InVhost;
use crate::route::{AnswerFuture, Field, Operation, Route, Shape, at};

pub(super) static ROUTES: &[Route] = &[
    at(
        "/api/exchanges/{vhost}/{exchange}/publish",
        &[Operation::post(InVhost, publish, "Publishes a message and waits until it is durable.", MESSAGE).answers(
            Shape::Object(&[Field::required("routed", Boolean, "Whether the message was routed to a queue.")]),
        )],
    ),
    at(
        "/api/queues/{vhost}/{queue}/get",
        &[Operation::post(InVhost, |_| Err(Problem::not_found()), "Gets messages from a queue.", GET)
            .later(|call| Box::pin(get(call)) as AnswerFuture)
            .answers(Shape::List)],
    ),
];

const MESSAGE: &[Field] = &[
    Field::required("routing_key", Text, "The routing key."),
    Field::required(
        "properties",
        Kind::Object,
        "The properties by their AMQP names, such as `delivery_mode` and `headers`.",
    ),
    Field::required("payload", Text, "The body."),
    Field::required("payload_encoding", Text, "The encoding of the body: `string` (UTF-8) or `base64`."),
];

const GET: &[Field] = &[
    Field::required(
        "ackmode",
        Text,
        "What happens to the messages: `ack_requeue_true`, `ack_requeue_false`, `reject_requeue_true` or `reject_requeue_false`.",
    ),
    Field::required("count", Any, "The maximum number of messages."),
    Field::required(
        "encoding",
        Text,
        "`auto`: as text if it is text, otherwise in base64. `base64`: always in base64.",
    ),
    Field::optional("truncate", Integer, "The maximum number of bytes of each body."),
];

/// Properties that are texts.
const TEXTS: [&str; 9] = [
    "content_type",
    "content_encoding",
    "correlation_id",
    "reply_to",
    "expiration",
    "message_id",
    "type",
    "user_id",
    "app_id",
];

fn publish(call: &Call) -> Result<Answer, Problem> {
    let body = call.object()?;
    let fields = Fields(&body);
    fields.require(&["routing_key", "properties", "payload", "payload_encoding"])?;
    let exchange = name_of_path(call.argument("exchange"))?;
    if call.broker().exchange_view(call.vhost(), exchange.as_str()).is_none() {
        return Err(Problem::new(StatusCode::NOT_FOUND, "not_found", "exchange_not_found"));
    }
    let payload = payload(fields)?;
    let parsed = ParsedProperties::parse(properties_object(fields.required("properties")?)?)?;
    let request = PublishRequest {
        exchange: &exchange,
        routing_key: fields.required_text("routing_key")?.as_bytes(),
        properties: parsed.borrow(),
        body: &payload,
    };
    let published = enter(call)?.publish(&request).map_err(|refusal| refusals::of_message(&refusal))?;
    if published.is_refused {
        return Err(Problem::bad_request("rejected Unable to publish message. Check queue limits."));
    }
    let mut out = Vec::new();
    Writer::new(&mut out).object(|object| object.cell("routed").bool(published.is_routed));
    let mut answer = Answer::json(out);
    answer.position = published.position;
    Ok(answer)
}

fn payload(fields: Fields<'_>) -> Result<Vec<u8>, Problem> {
    let Some(payload) = fields.required("payload")?.as_str() else {
        return Err(Problem::bad_request("payload_not_string"));
    };
    match fields.required_text("payload_encoding")? {
        "string" => Ok(payload.as_bytes().to_vec()),
        "base64" => STANDARD.decode(payload).map_err(|_| Problem::bad_request(value!(["not_base64", payload]))),
        other => Err(Problem::bad_request(value!(["unsupported_encoding", other]))),
    }
}

fn properties_object(properties: &Value) -> Result<&Map<String, Value>, Problem> {
    properties.as_object().ok_or_else(|| wrong_type("properties", "an object", properties))
}

/// Properties that own what [`Properties`] borrows.
#[derive(Debug, Default)]
struct ParsedProperties {
    texts: [Option<String>; TEXTS.len()],
    cluster_id: Option<String>,
    headers: Option<TableBuf>,
    delivery_mode: Option<u8>,
    priority: Option<u8>,
    timestamp: Option<u64>,
}

impl ParsedProperties {
    fn parse(members: &Map<String, Value>) -> Result<ParsedProperties, Problem> {
        let mut parsed = ParsedProperties::default();
        for (at, name) in TEXTS.into_iter().enumerate() {
            parsed.texts[at] = text(members, name)?;
        }
        parsed.cluster_id = text(members, "cluster_id")?;
        parsed.headers = match members.get("headers") {
            None => None,
            Some(Value::Object(headers)) => Some(table(headers)?),
            Some(other) => return Err(wrong_type("headers", "an object", other)),
        };
        parsed.delivery_mode = number(members, "delivery_mode")?;
        parsed.priority = number(members, "priority")?;
        parsed.timestamp = number(members, "timestamp")?;
        Ok(parsed)
    }

    fn borrow(&self) -> Properties<'_> {
        let [content_type, content_encoding, correlation_id, reply_to, expiration, message_id, kind, user_id, app_id] =
            self.texts.each_ref().map(|text| text.as_ref().map(String::as_bytes));
        Properties {
            content_type,
            content_encoding,
            headers: self.headers.as_ref().map(TableBuf::as_table),
            delivery_mode: self.delivery_mode,
            priority: self.priority,
            correlation_id,
            reply_to,
            expiration,
            message_id,
            timestamp: self.timestamp,
            kind,
            user_id,
            app_id,
            cluster_id: self.cluster_id.as_ref().map(String::as_bytes),
        }
    }
}

fn text(members: &Map<String, Value>, name: &str) -> Result<Option<String>, Problem> {
    match members.get(name) {
        None => Ok(None),
        // AMQP has one byte for the length.
        Some(Value::String(text)) if text.len() <= 255 => Ok(Some(text.clone())),
        Some(Value::String(text)) => {
            Err(Problem::bad_request(format!("'{name}' must not be longer than 255 bytes, but has {}", text.len())))
        }
        Some(_) => Err(Problem::bad_request(value!(["not_string", name]))),
    }
}

fn number<T: TryFrom<u64>>(members: &Map<String, Value>, name: &str) -> Result<Option<T>, Problem> {
    let Some(given) = members.get(name) else { return Ok(None) };
    let number = given.as_u64().and_then(|number| T::try_from(number).ok());
    number.map(Some).ok_or_else(|| Problem::bad_request(value!(["not_int", name])))
}

async fn get(call: Call) -> Result<Answer, Problem> {
    let queue = queues::name_of_path(&call)?;
    if call.broker().queue_view(call.vhost(), queue.as_str()).is_none() {
        return Err(Problem::new(StatusCode::NOT_FOUND, "not_found", "queue_not_found"));
    }
    let body = call.object()?;
    let fields = Fields(&body);
    fields.require(&["ackmode", "count", "encoding"])?;
    let ack_mode = fields.required_text("ackmode")?;
    let ack_mode = AckMode::parse(ack_mode).ok_or_else(|| {
        Problem::bad_request(format!(
            "Invalid ackmode value: {ack_mode}. Valid values are: ack_requeue_true, ack_requeue_false, \
             reject_requeue_true, reject_requeue_false"
        ))
    })?;
    let is_auto = match fields.required_text("encoding")? {
        "auto" => true,
        "base64" => false,
        _ => return Err(Problem::bad_request("Unsupported encoding. Please use auto or base64.")),
    };
    let count = integer_of("count", fields.required("count")?)?;
    let body_len_max = match fields.integer("truncate")? {
        None => None,
        Some(len) => Some(u64::try_from(len).map_err(|_| Problem::bad_request("'truncate' must not be negative"))?),
    };
    // RabbitMQ takes a negative number for all.
    let count = u64::try_from(count).unwrap_or(u64::MAX);
    let request = GetRequest { queue: &queue, count, ack_mode, body_len_max };
    let inside = call.context.retry_until_authorized(|| enter(&call)).await?;
    let got = inside.get(&request).await;
    let (messages, changed) = got.map_err(|refusal| refusals::of_message(&refusal))?;
    let mut out = Vec::new();
    Writer::new(&mut out).list(&messages, |message, writer| write_message(message, is_auto, writer));
    Ok(Answer::json(out).after(&changed))
}

fn write_message(message: &GotMessage, is_auto: bool, writer: Writer<'_>) {
    writer.object(|object| {
        object.cell("payload_bytes").int(message.body_len);
        object.cell("redelivered").bool(message.is_redelivered);
        object.cell("exchange").text(&String::from_utf8_lossy(&message.exchange));
        object.cell("routing_key").text(&String::from_utf8_lossy(&message.routing_key));
        object.cell("message_count").int(message.remaining_count);
        match Properties::decode(&message.properties) {
            Ok(properties) if properties != Properties::default() => {
                object.cell("properties").object(|members| write_properties(&properties, json::show_table, members));
            }
            // As RabbitMQ writes none.
            _ => object.cell("properties").texts([]),
        }
        write_payload(&message.body, is_auto, object);
    });
}

/// Writes a body as text where it is text and `is_auto` is set, otherwise in base64.
pub(super) fn write_payload(body: &[u8], is_auto: bool, members: &mut Object<'_>) {
    let (payload, encoding) = match std::str::from_utf8(body) {
        Ok(text) if is_auto => (text.into(), "string"),
        _ => (std::borrow::Cow::from(STANDARD.encode(body)), "base64"),
    };
    members.cell("payload").text(&payload);
    members.cell("payload_encoding").text(encoding);
}

/// Writes properties, and headers by `show`: in routes of RabbitMQ as it writes them, elsewhere with null where there is nothing.
pub(super) fn write_properties(
    properties: &Properties<'_>,
    show: impl Fn(Table<'_>) -> Map<String, Value>,
    members: &mut Object<'_>,
) {
    let mut text = |name: &str, value: Option<&[u8]>| {
        if let Some(value) = value {
            members.cell(name).text(&json::text(value));
        }
    };
    text("cluster_id", properties.cluster_id);
    text("app_id", properties.app_id);
    text("user_id", properties.user_id);
    text("type", properties.kind);
    text("message_id", properties.message_id);
    text("expiration", properties.expiration);
    text("reply_to", properties.reply_to);
    text("correlation_id", properties.correlation_id);
    text("content_encoding", properties.content_encoding);
    text("content_type", properties.content_type);
    let numbers = [
        ("timestamp", properties.timestamp),
        ("priority", properties.priority.map(u64::from)),
        ("delivery_mode", properties.delivery_mode.map(u64::from)),
    ];
    for (name, value) in numbers {
        if let Some(value) = value {
            members.cell(name).int(value);
        }
    }
    if let Some(headers) = properties.headers {
        members.cell("headers").value(&Value::Object(show(headers)));
    }
}

#[cfg(test)]
mod tests {
    use amqp::table::Value as Field;

    use super::*;

    #[test]
    fn what_json_cannot_say_is_told_as_the_route_wants_it() {
        let headers = TableBuf::new().with("none", Field::Void).with("bytes", Field::Binary(b"\xff\xfe\0"));
        let properties =
            Properties { headers: Some(headers.as_table()), correlation_id: Some(b"\xff"), ..Properties::default() };
        let written = |show: fn(Table<'_>) -> Map<String, Value>| {
            let mut out = Vec::new();
            Writer::new(&mut out).object(|members| write_properties(&properties, show, members));
            serde_json::from_slice::<Value>(&out).unwrap()
        };
        let expected = |none: Value| {
            value!({
                "correlation_id": "Not UTF-8, base64 is: /w==",
                "headers": {"none": none, "bytes": "Not UTF-8, base64 is: //4A"},
            })
        };
        assert_eq!(written(json::show_table), expected(value!("undefined")));
        assert_eq!(written(json::from_table), expected(Value::Null));
    }
}
