//! rabbitmqadmin's messages: one is published, some are looked at. For trying things out; a client is for more.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::command::{Argument, Command, optional, required};
use crate::failure::{Failure, SOFTWARE};
use crate::invocation::Invocation;
use crate::listing::{field, text};
use crate::output::{Output, Table};
use crate::step::{Ask, Source, Step, StepResult, path, say};

pub(crate) const COMMANDS: &[Command] = &[
    Command::new("publish", "publishes a message; without a payload it is read from standard input", publish).taking(
        &[
            optional("exchange"),
            required("routing-key"),
            optional("payload"),
            optional("properties"),
            optional("payload-encoding"),
        ],
    ),
    Command::new("publish message", "publishes a message; the default payload is 'test'", |input| {
        publish_payload(input, Some("test"))
    })
    .taking(&[
        optional("exchange").short("e"),
        optional("routing-key").short("k"),
        optional("payload").short("m"),
        optional("properties").short("p"),
        optional("payload-encoding"),
    ]),
    Command::new("get", "gets messages from a queue, and returns them to it unless ackmode is set", |input| {
        get(input, "ack_requeue_true")
    })
    .taking(GET),
    Command::new(
        "get messages",
        "gets messages from a queue, and removes them from it unless ack-mode is set",
        |input| get(input, "ack_requeue_false"),
    )
    .taking(GET),
];

const GET: &[Argument] = &[
    required("queue").short("q"),
    optional("count").short("c"),
    optional("ackmode").short("a").also(&["ack-mode"]),
    optional("payload-file"),
    optional("encoding"),
];

/// The default exchange has no name, and none fits into a path.
const DEFAULT_EXCHANGE: &str = "amq.default";

fn publish(input: &Invocation) -> StepResult {
    publish_payload(input, None)
}

fn publish_payload(input: &Invocation, usual: Option<&str>) -> StepResult {
    let exchange = input.optional("exchange").filter(|name| !name.is_empty()).unwrap_or(DEFAULT_EXCHANGE).to_owned();
    let vhost = input.vhost().to_owned();
    let place = path(&["exchanges", &vhost, &exchange, "publish"]);
    let properties = input.json("properties")?.unwrap_or_else(|| json!({}));
    let routing_key = input.optional("routing-key").unwrap_or_default().to_owned();
    let encoding = input.optional("payload-encoding").unwrap_or("string").to_owned();
    let publish = move |payload: String, encoding: &str| {
        let body = json!({
            "properties": properties, "routing_key": routing_key, "payload": payload, "payload_encoding": encoding
        });
        Ask::post(place, &body).then(move |reply| {
            let missing = || Failure::data(format!("no exchange '{exchange}' in virtual host '{vhost}'"));
            let is_routed = reply.unless(404, missing)?.value()?["routed"].as_bool().unwrap_or(false);
            say(if is_routed { "Message published" } else { "Message published but NOT routed" })
        })
    };
    match input.optional("payload").or(usual) {
        Some(payload) => publish(payload.to_owned(), &encoding),
        // JSON has no bytes, so a body that is no text is sent in base64.
        None => Source::Stdin.then(move |bytes| match String::from_utf8(bytes) {
            Ok(text) => publish(text, &encoding),
            Err(error) => publish(STANDARD.encode(error.as_bytes()), "base64"),
        }),
    }
}

fn get(input: &Invocation, default_mode: &str) -> StepResult {
    let (vhost, queue) = (input.vhost(), input.text("queue"));
    let body = json!({
        "count": input.number("count")?.unwrap_or(1),
        "ackmode": input.optional("ackmode").unwrap_or(default_mode),
        "encoding": input.optional("encoding").unwrap_or("auto"),
    });
    let missing = super::queues::no_such_queue(vhost, queue);
    let file = input.optional("payload-file").map(str::to_owned);
    if file.is_some() && input.number("count")?.unwrap_or(1) != 1 {
        return Err(Failure::usage("payload_file is for one message, so count must be 1"));
    }
    Ask::post(path(&["queues", vhost, queue, "get"]), &body).then(move |reply| {
        let messages = reply.unless(404, || Failure::data(missing))?.list()?;
        match (file, messages.first()) {
            (Some(file), Some(message)) => to_file(file, message),
            (Some(_), None) => say("Queue is empty"),
            (None, _) => Ok(Step::Done(Output::Table(table(&messages)))),
        }
    })
}

fn to_file(file: String, message: &Value) -> StepResult {
    let payload = text(message, "payload");
    let bytes = match text(message, "payload_encoding") {
        "base64" => STANDARD
            .decode(payload)
            .map_err(|error| Failure::new(SOFTWARE, format!("the server's payload is not valid base64: {error}")))?,
        _ => payload.as_bytes().to_vec(),
    };
    let text = format!("Payload written to {file}");
    Ok(Step::Done(Output::File { path: file.into(), bytes, text }))
}

fn table(messages: &[Value]) -> Table {
    const COLUMNS: &[&str] = &[
        "routing_key",
        "exchange",
        "message_count",
        "payload",
        "payload_bytes",
        "payload_encoding",
        "properties",
        "redelivered",
    ];
    let cell = |message: &Value, column: &str| field(message, column).cloned().unwrap_or(Value::Null);
    Table {
        columns: COLUMNS.iter().map(|column| (*column).to_owned()).collect(),
        rows: messages.iter().map(|message| COLUMNS.iter().map(|column| cell(message, column)).collect()).collect(),
    }
}
